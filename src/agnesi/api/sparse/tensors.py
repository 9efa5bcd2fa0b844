"""Sparse matrices: three tensors and a shape, by rows (CSR) or by columns (CSC)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from agnesi.api.sparse import layout
from agnesi.api.tensor import methods
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, Sizes, is_open
from agnesi.core.op import renamed_error, typed
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import F, explain_errors
from agnesi.core.shapes import axis_of, fits
from agnesi.core.support import tree
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.convert import as_tensor, beside, cast, pair
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.base.gather.elements import IndexSum
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.select import minimum
from agnesi.ops.sparse.patterns import Pick, is_known, rows_of, transposed_pattern
from agnesi.ops.sparse.products import ROWS, ColumnProduct
from agnesi.ops.sparse.words import Words


def _named_in_errors(name: str) -> Callable[[F], F]:
    """Let errors of an operator name the function that it is."""

    def named(function: F) -> F:
        function.__name__ = name
        return explain_errors(function)

    return named


def _only_values(*xs: Tensor) -> bool:
    """Return whether values are all that counts: nothing is traced or recorded."""
    if is_tracing():
        return False
    return all(x.array is not None and not (x._requires_grad and STATE.recording) for x in xs)


class SparseTensor(Words):
    """A matrix that keeps some elements: ``data``, at the positions in ``indices`` and ``indptr``.

    Entry ``k`` of ``data`` belongs to row (CSR) or column (CSC) ``i`` where ``indptr[i] <= k <
    indptr[i + 1]``, and to column (row) ``indices[k]``.  Entries at one place count together, in
    any order.  Gradients are *structured*: there is one for every entry, none for other places;
    take them with respect to ``data`` (see :meth:`with_data`).

    It is a container of the three tensors: ``jit``, ``vmap`` and ``ag.tree`` take it as an argument
    and give it as a result.  Indices cannot be changed in place.

    :param data, indices, indptr: Entries of any dtype; int32 or int64.
    :param shape: Sizes.
    :type shape: (int, int)
    :raises TypeError: If the shape is no pair.
    :raises ShapeError, DTypeError, IndexError: Where the three do not make a matrix of this shape.
    :see: sparse.CSR, sparse.CSC, sparse.csr

    >>> A = ag.sparse.CSR([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))
    >>> A
    CSR(float32, shape=(2, 3), nnz=2)
    >>> A @ ag.ones(3)
    tensor([1., 2.])
    """

    __slots__ = ("_given", "data", "indices", "indptr", "shape")
    __array_ufunc__ = None
    #: The axis that ``indptr`` runs along.
    major: ClassVar[int]
    format: ClassVar[str]

    def __init__(self, data: TensorLike, indices: TensorLike, indptr: TensorLike,
                 shape: Sequence[int | Dim]) -> None:
        self._given: tuple[Tensor, Tensor, Tensor, Tensor] | None = None
        try:
            if not isinstance(shape, (tuple, list)):
                raise TypeError(f"shape must be (rows, columns), not {typed(shape)}")
            self.data, self.indices, self.indptr = layout.checked(
                as_tensor(data), as_tensor(indices), as_tensor(indptr), shape, self.major
            )
        except (ValueError, TypeError, IndexError) as error:
            raise renamed_error(
                error, type(self).__name__, (data, indices, indptr, shape)
            ) from None
        self.shape = Sizes(shape)

    def __reduce__(self) -> Any:
        return self._made, (self.data, self.indices, self.indptr, self.shape)

    @classmethod
    def _made(cls, data: Tensor, indices: Tensor, indptr: Tensor, shape: Any) -> Any:
        """Of parts that are known to fit."""
        new = object.__new__(cls)
        new.data, new.indices, new.indptr, new.shape = data, indices, indptr, Sizes(shape)
        new._given = None
        return new

    @_named_in_errors("with_data")
    def with_data(self, data: Tensor) -> Any:
        """The same pattern with other entries, as many as there are.

        :param data: The entries.
        :returns: Of the same format.
        :rtype: SparseTensor
        :raises ShapeError: If there are more entries or fewer.

        >>> A = ag.sparse.csr([[0.0, 2.0], [3.0, 0.0]])
        >>> ag.grad(lambda data: (A.with_data(data) @ ag.ones(2)).sum())(A.data)
        tensor([1., 1.])
        """
        data = layout.of_length("data and indices", as_tensor(data), self.indices.shape)
        return self._made(data, self.indices, self.indptr, self.shape)

    _with = with_data

    @property
    def _held(self) -> Tensor:
        return self.data

    # -- what it is -----------------------------------------------------------------------
    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """``data, indices, indptr``."""
        return self.data, self.indices, self.indptr

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The parts, and an array without elements that has the columns (CSC: rows) as its size.

        They are what ``ag.function`` takes for a symbolic matrix, and what its calls hand over.
        """
        if self._given is not None:
            return self._given
        return *self.parts, wrap(np.empty((self._minor, 0), bool))

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def nnz(self) -> Any:
        """How many entries there are."""
        return self.data.shape[0]

    ndim = 2

    def __repr__(self) -> str:
        sizes = f"{', '.join(map(str, self.shape))}"
        return f"{self.format.upper()}({self.dtype}, shape=({sizes}), nnz={self.nnz})"

    __hash__ = object.__hash__

    @property
    def _minor(self) -> Any:
        return self.shape[1 - self.major]

    def _lines(self) -> Tensor:
        return rows_of(self.indptr, self.indices.shape[0])

    @property
    def rows(self) -> Tensor:
        """The row of every entry."""
        return self._lines() if self.major == 0 else self.indices

    @property
    def cols(self) -> Tensor:
        """The column of every entry."""
        return self.indices if self.major == 0 else self._lines()

    # -- conversions ----------------------------------------------------------------------
    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose, of the other format, with the same three tensors."""
        return _KINDS[1 - self.major]._made(*self.parts, self.shape[::-1])

    def transpose(self) -> Any:
        """The transpose, of the other format, with the same three tensors.

        :returns: CSC of CSR and the other way round.
        :rtype: SparseTensor
        """
        return self.T

    def _turned(self) -> Any:
        order, indices, indptr = transposed_pattern(self.indices, self.indptr, self._minor)
        return _KINDS[1 - self.major]._made(self.data[order], indices, indptr, self.shape)

    def tocsr(self) -> CSR:
        """The same matrix by rows.

        :returns: The matrix itself where it is one.
        """
        return self if isinstance(self, CSR) else self._turned()

    def tocsc(self) -> CSC:
        """The same matrix by columns.

        :returns: The matrix itself where it is one.
        """
        return self if isinstance(self, CSC) else self._turned()

    def asformat(self, format: str) -> Any:
        """The same matrix as "csr" or "csc".

        :param format: "csr" or "csc".
        :returns: The matrix itself where it is so.
        :rtype: SparseTensor
        :raises ValueError: For another format.
        """
        if format not in ("csr", "csc"):
            raise ValueError(f"format must be 'csr' or 'csc', not {format!r}")
        return self.tocsr() if format == "csr" else self.tocsc()

    def todense(self) -> Tensor:
        """The matrix with all its zeros.

        :returns: Of its shape and dtype.
        """
        found: Tensor = apply(IndexSum((0, 1), 0, self.shape), self.data, self.rows, self.cols)
        return found

    to_dense = todense

    def values(self) -> Tensor:
        """The entries (PyTorch's).

        :returns: ``data``.
        """
        return self.data

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.csr_array`` or ``csc_array`` on the same memory.

        :returns: Changes of one show in the other.
        :rtype: scipy.sparse.csr_array or csc_array
        """
        import scipy.sparse

        kind = getattr(scipy.sparse, f"{self.format}_array")
        parts = tuple(p.numpy() for p in (self.data.detach(), self.indices, self.indptr))
        return kind(parts, shape=self.shape)

    def astype(self, dtype: DTypeLike) -> Any:
        """The same matrix with entries of another dtype.

        :param dtype: Their type.
        :returns: Of the same pattern.
        :rtype: SparseTensor
        """
        return self.with_data(self.data.astype(dtype))

    def sum_duplicates(self) -> Any:
        """The same matrix with one entry at each place, in order (eager patterns only).

        :returns: The matrix itself where it is so.
        :rtype: SparseTensor
        """
        found = layout.unique(self.indices, self.indptr, self._minor, "sum_duplicates")
        if found is None:
            return self
        number, indices, indptr = found
        data = apply(IndexSum((0,), 0, indices.shape), self.data, number)
        return self._made(data, indices, indptr, self.shape)

    # -- entries --------------------------------------------------------------------------
    def map(self, function: Callable[[Tensor], Tensor]) -> Any:
        """The matrix with a function of its entries, which leaves zeros alone.

        Entries at one place are added up first where the pattern is known.

        :param function: Of the entries, a vector; it keeps their number.
        :returns: Of the same pattern.
        :rtype: SparseTensor

        >>> A = ag.sparse.CSR([1.0, 4.0], [0, 2], [0, 1, 2], (2, 3))
        >>> A.map(ag.sqrt).data
        tensor([1., 2.])
        """
        one = layout.is_unique(self.indices, self.indptr, self._minor)
        matrix = self if one else self.sum_duplicates()
        return matrix.with_data(function(matrix.data))

    def conj(self) -> Any:
        """The matrix of conjugates.

        :returns: Of the same pattern.
        :rtype: SparseTensor
        """
        return self.with_data(self.data.conj())

    def __neg__(self) -> Any:
        return self.with_data(-self.data)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.map(abs)

    @_named_in_errors("power")
    def __pow__(self, power: Any) -> Any:
        if not isinstance(power, (int, float)) or power <= 0:
            raise ValueError(f"zeros stay zeros only for a positive power, not {power!r}")
        return self.map(lambda x: x**power)

    @_named_in_errors("divide")
    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, SparseTensor):
            return NotImplemented
        return self.with_data(self.data / self._there(other))

    def _there(self, other: Any) -> Tensor:
        """Elements of a dense operand, which broadcasts, at the places of the entries."""
        x = beside(other, self.data)
        if x.ndim == 0:
            return x if isinstance(other, Tensor) else other
        text = f"{typed(x)} does not broadcast to {self.shape}"
        wanted = [1 if n == 1 else m for n, m in zip(x.shape, self.shape[-x.ndim:], strict=False)]
        if not fits(x.shape, tuple(wanted)):
            raise ShapeError(text)
        x = ensured_sizes("", x, x.shape, wanted, text, "one or equal")
        places = (self.rows, self.cols)[2 - x.ndim:]
        return x[tuple(0 if n == 1 else minimum(p, n - 1) if is_open(n) else p
                       for n, p in zip(x.shape, places, strict=True))]

    @_named_in_errors("multiply")
    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            return self.with_data(self.data * self._there(other))
        other = self._like(other)
        matrix = self
        if is_known(*self.parts[1:], *other.parts[1:]):
            keep = layout.common(self, other)
            order, indices, indptr = layout.chosen(self.indices, self.indptr, keep)
            matrix = self._made(self.data[order], indices, indptr, self.shape)
        a, b = pair(matrix.data, other.data)
        picked = apply(Pick(self._minor), b, *other.parts[1:], *matrix.parts[1:])
        return matrix.with_data(a * picked)

    __rmul__ = __mul__

    def _like(self, other: SparseTensor) -> Any:
        """Another matrix of this shape, in this format."""
        layout.same_shape(self.shape, other.shape)
        return other.asformat(self.format)

    @_named_in_errors("add")
    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseTensor):
            return self.todense() + self._whole(other)
        other = self._like(other)
        data = layout.behind(*pair(self.data, other.data))
        order, indices, indptr = layout.merged(self, other)
        found = self._made(data[order], indices, indptr, self.shape)
        return found.sum_duplicates() if is_known(indices, indptr) else found

    def _whole(self, other: Any) -> Any:
        x = beside(other, self.data)
        if x.ndim == 0:
            raise TypeError(
                f"a sparse matrix plus {typed(x)} has no zeros left: use A.todense() + x, or "
                "A.map(lambda d: d + x) for its entries alone"
            )
        return other

    __radd__ = __add__

    @_named_in_errors("subtract")
    def __sub__(self, other: Any) -> Any:
        return self + (-other if isinstance(other, (SparseTensor, Tensor)) else -np.asarray(other))

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    # -- products -------------------------------------------------------------------------
    @explain_errors
    def dot(self, other: TensorLike) -> Any:
        """The product with a dense vector or matrix (dense), or a sparse one (sparse).

        :param other: A vector or matrix.
        :type other: SparseTensor or array_like
        :returns: Of the promoted dtype.
        :rtype: SparseTensor or Tensor
        :raises ShapeError: If the inner sizes differ, or ``other`` is neither.

        >>> A = ag.sparse.CSR([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))
        >>> A.dot(ag.eye(3))
        tensor([[1., 0., 0.],
                [0., 0., 2.]])
        """
        if isinstance(other, SparseTensor):
            return layout.product(self, other)
        x = beside(other, self.data)
        if x.ndim not in (1, 2):
            raise ShapeError(f"a sparse matrix is multiplied by a vector or matrix, not {typed(x)}")
        n, m = self.shape[1], x.shape[0]
        if n != m:
            text = (f"inner sizes differ: {n} (last axis of {self.shape}) and {m} (first axis of "
                    f"{x.shape})")
            if not fits((n,), (m,)):
                raise ShapeError(text)
            x = ensured_sizes("matmul", x, (m,), (n,), text)
        data, x = pair(self.data, x)
        op = ROWS if self.major == 0 else ColumnProduct(self.shape[0])
        if x.ndim == 1 and _only_values(data, x, self.indices):  # the short way
            arrays: Any = data.array, x.array[:, None], self.indices.array, self.indptr.array
            return wrap(op.perform(*arrays)[:, 0])
        columns = x if x.ndim == 2 else reshape(x, (m, 1))
        found: Tensor = apply(op, data, columns, self.indices, self.indptr)
        return found if x.ndim == 2 else reshape(found, found.shape[:1])

    @explain_errors
    def matmul(self, other: TensorLike) -> Any:
        """The product, as :meth:`dot` gives it.

        :param other: A vector or matrix.
        :type other: SparseTensor or array_like
        :returns: Of the promoted dtype.
        :rtype: SparseTensor or Tensor
        """
        return self.dot(other)

    __matmul__ = matmul

    def __rmatmul__(self, other: Any) -> Any:
        x = beside(other, self.data)
        found = self.T.dot(x.T if x.ndim == 2 else x)
        return found.T if x.ndim == 2 else found

    # -- reductions -----------------------------------------------------------------------
    def sum(self, axis: int | None = None) -> Tensor:
        """The sum of all elements, or of those along an axis (dense).

        :param axis: 0 or 1; all elements by default.
        :returns: One number, or a vector.
        :raises IndexError: If there is no such axis.
        """
        if axis is None:
            return self.data.sum()
        along = axis_of(axis, 2)
        places = self.rows if along else self.cols
        size = self.shape[1 - along]
        found: Tensor = apply(IndexSum((0,), 0, (size,)), self.data, places)
        return found

    def mean(self, axis: int | None = None) -> Tensor:
        """The mean of all elements, zeros too, or of those along an axis (dense).

        :param axis: 0 or 1.
        :returns: One number, or a vector.
        :raises IndexError: If there is no such axis.
        """
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis_of(axis, 2)]
        return self.sum(axis) / count

    def diagonal(self) -> Tensor:
        """The main diagonal (dense).

        :returns: A vector.
        """
        n, m = self.shape
        size = n - layout.excess(n, m)
        rows, cols = self.rows, self.cols
        on = cast(rows == cols, self.dtype)
        inside = rows if size is n else rows * (rows == cols)
        found: Tensor = apply(IndexSum((0,), 0, (size,)), self.data * on, inside)
        return found

    @_named_in_errors("getitem")
    def __getitem__(self, key: Any) -> Any:
        """Rows, columns or blocks (sparse); ``A[i]`` and ``A[:, j]`` are vectors, ``A[i, j]`` a
        number (dense)."""
        entries = key if isinstance(key, tuple) else (key, slice(None))
        if len(entries) != 2:
            raise IndexError(f"a matrix has two axes, not {len(entries)}")
        order, indices, indptr, shape = layout.sliced(self, entries)
        found = self._made(self.data[order], indices, indptr, shape)
        single = [isinstance(e, (int, np.integer)) for e in entries]
        if all(single):
            return found.data.sum()
        return found.sum(axis=single.index(True)) if any(single) else found

    def __bool__(self) -> bool:
        raise TypeError("a sparse matrix is neither true nor false; compare its parts")

    def __len__(self) -> int:
        raise TypeError("the length of a sparse matrix is ambiguous: use .nnz or .shape")


class CSR(SparseTensor):
    """A sparse matrix by rows; see :class:`SparseTensor`.

    :param data, indices, indptr: Entries of any dtype, their rows (CSC) or columns (CSR), and where
        those of each column (row) begin; the latter are int32 or int64.
    :param shape: Sizes.
    :type shape: (int, int)
    :see: sparse.CSC, sparse.csr, sparse.coo, sparse.SparseTensor

    >>> A = ag.sparse.CSR([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))
    >>> A.T
    CSC(float32, shape=(3, 2), nnz=2)
    """

    __slots__ = ()
    major, format, layout = 0, "csr", "sparse_csr"

    def crow_indices(self) -> Tensor:
        """Where the entries of each row begin, and the end (PyTorch's).

        :returns: ``indptr``.
        """
        return self.indptr

    def col_indices(self) -> Tensor:
        """The columns of the entries (PyTorch's).

        :returns: ``indices``.
        """
        return self.indices


class CSC(SparseTensor):
    """A sparse matrix by columns; see :class:`SparseTensor`.

    :like: CSR
    :see: sparse.CSR, sparse.csc, sparse.SparseTensor

    >>> A = ag.sparse.CSC([1.0, 2.0], [0, 1], [0, 1, 1, 2], (2, 3))
    >>> A.todense()
    tensor([[1., 0., 0.],
            [0., 0., 2.]])
    """

    __slots__ = ()
    major, format, layout = 1, "csc", "sparse_csc"

    def ccol_indices(self) -> Tensor:
        """Where the entries of each column begin, and the end (PyTorch's).

        :returns: ``indptr``.
        """
        return self.indptr

    def row_indices(self) -> Tensor:
        """The rows of the entries (PyTorch's).

        :returns: ``indices``.
        """
        return self.indices


_KINDS: tuple[Any, Any] = (CSR, CSC)


def _join_containers(kind: Any) -> None:
    tree.register(kind, lambda a: (a.parts, a.shape),
                  lambda shape, parts: kind._made(*parts, shape))


_join_containers(CSR)
_join_containers(CSC)
methods.FOREIGN.update(_KINDS)
