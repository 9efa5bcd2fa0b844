"""Sparse tensors in coordinate format (COO): values, and the indices of each.

They are PyTorch's COO tensors, and the gradients of tables of which a step uses a few rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.integers import check_integer
from agnesi.core.ir.dims import Sizes
from agnesi.core.keywords import strict_class
from agnesi.core.op import renamed_error, typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import explain_errors
from agnesi.core.shapes import axes_of
from agnesi.core.support import tree
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.compare import not_equal
from agnesi.ops.base.convert import as_tensor, beside, cast, pair
from agnesi.ops.base.creation import checked_sizes, zeros
from agnesi.ops.base.gather.elements import IndexSum
from agnesi.ops.base.gather.gather_scatter import within
from agnesi.ops.base.movement import expand_dims, permute_dims, reshape
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.scatter import index_add
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import argsort
from agnesi.ops.sparse import pairs
from agnesi.ops.sparse.patterns import fixed, is_known, lined_up
from agnesi.ops.sparse.products import ROWS
from agnesi.ops.sparse.words import FOREIGN, Words


@strict_class
class COO(Words):
    """A sparse tensor: values, and the index of each on the first axes.

    Values at one index count together, in any order.  Gradients are structured: there is one for
    every value, none for other indices.  It is a container of its two tensors, which ``jit`` and
    ``ag.tree`` take and give.

    :param indices: Of shape (axes with indices, values): where each value is.
    :type indices: array_like of int
    :param values: Of shape (values, *other axes).
    :param shape: All sizes.
    :type shape: tuple of int
    :param is_coalesced: Whether indices are known to be in order, none twice.
    :raises ShapeError, DTypeError, IndexError: Where they do not make a tensor of this shape.
    :see: sparse_coo_tensor, sparse.CSR

    >>> A = ag.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    >>> A
    COO(float32, shape=(2, 3), nnz=3)
    >>> A @ ag.ones(3)
    tensor([3., 9.])
    """

    __slots__ = ("_coalesced", "_coordinates", "_entries", "_lines", "shape")
    __array_ufunc__ = None
    layout = "sparse_coo"
    _joined = staticmethod(pairs.joined)  # as ``concat`` finds it

    def __array__(self, *args: Any, **keywords: Any) -> NoReturn:
        raise TypeError(at(f"a sparse tensor, {typed(self)}, is no array: todense() is one of "
                           "ours, todense().numpy() one of NumPy's"))

    def __init__(self, indices: TensorLike, values: TensorLike, shape: ShapeLike,
                 is_coalesced: bool = False) -> None:
        given = (indices, values, shape)
        self.shape: Any = ()
        indices, self._entries = as_tensor(indices), as_tensor(values)
        self._coalesced = is_coalesced
        self._lines: tuple[Tensor, Tensor, Tensor] | None = None
        try:
            self.shape = Sizes(checked_sizes(shape))
            self._coordinates = self._checked(indices)
        except (ValueError, TypeError, IndexError) as error:
            raise renamed_error(error, "sparse_coo_tensor", given) from None

    def _checked(self, indices: Tensor) -> Tensor:
        text = (f"indices must be (axes, values) beside values (values, ...), but are "
                f"{typed(indices)} and {typed(self._entries)}")
        if indices.ndim != 2 or not self._entries.ndim:
            raise ShapeError(text)
        count = indices.shape[1]
        self._entries = of_shape("", self._entries, (count, *self._entries.shape[1:]), text)
        text = (f"{typed(indices)} and {typed(self._entries)} do not make a tensor of shape "
                f"{self.shape}")
        axes = self.ndim - self._entries.ndim + 1
        if axes < 0:
            raise ShapeError(text)
        indices = of_shape("sparse_coo_tensor", indices, (axes, count), text)
        coordinates, rest = self.shape[:axes], self.shape[axes:]
        self._entries = of_shape("", self._entries, (count, *rest), text)
        if indices.dtype.kind not in "iu":
            if not indices.shape[1]:
                return cast(indices, np.dtype("int64"))
            raise DTypeError(f"indices must be integers, not {typed(indices)}")
        if indices.array is None:
            rows = [within(indices[k:k + 1], n, "sparse_coo_tensor", least=0)
                    for k, n in enumerate(coordinates)]
            return concat(rows, 0) if rows else indices
        for row, n in zip(indices.array, coordinates, strict=True):
            if row.size and not 0 <= row.min() <= row.max() < n:
                raise IndexError(f"indices run from {row.min()} to {row.max()} on an axis of size "
                                 f"{n}")
        return indices if is_tracing() else fixed(indices.array.copy())

    @classmethod
    def _made(cls, indices: Tensor, values: Tensor, shape: Any, coalesced: bool = False) -> COO:
        """A sparse tensor from indices and values that were checked before."""
        new = object.__new__(cls)
        new._coordinates, new._entries, new.shape = indices, values, Sizes(shape)
        new._coalesced, new._lines = coalesced, None
        return new

    def __reduce__(self) -> Any:
        return COO._made, (self._coordinates, self._entries, self.shape, self._coalesced)

    def with_values(self, values: Tensor) -> COO:
        """The same indices with other values.

        :param values: As many as there are.
        :returns: Of their dtype, and of their sizes behind the first axis.
        """
        shape = (*self.shape[: self.sparse_dim()], *values.shape[1:])
        new = COO._made(self._coordinates, values, shape, self._coalesced)
        new._lines = self._lines
        return new

    _with = with_values

    @property
    def _held(self) -> Tensor:
        return self._entries

    def map(self, function: Callable[[Tensor], Tensor]) -> COO:
        """The same indices with other values, computed from those that count.

        :param function: Of the values, which gives 0 for 0.
        :returns: Indices in order, none twice.
        """
        whole = self.coalesce()
        return whole.with_values(function(whole._entries))

    # -- what it is -----------------------------------------------------------------------
    def indices(self) -> Tensor:
        """The indices, of shape (axes with indices, values).

        :returns: Of integers.
        """
        return self._coordinates

    def values(self) -> Tensor:
        """The values, of shape (values, *other axes).

        :returns: Gradients flow to it.
        """
        return self._entries

    def _nnz(self) -> int:
        return self.nnz

    _indices, _values = indices, values  # PyTorch's for tensors that are not coalesced

    def sparse_dim(self) -> int:
        """How many axes have indices.

        :returns: The first ones.
        """
        return self.ndim - self._entries.ndim + 1

    def dense_dim(self) -> int:
        """How many axes have none.

        :returns: Those of each value.
        """
        return len(self.shape) - self.sparse_dim()

    def is_coalesced(self) -> bool:
        """Return whether indices are known to be in order, none twice.

        :returns: True behind :meth:`coalesce`.
        """
        return self._coalesced

    @property
    def nnz(self) -> Any:
        """How many values there are."""
        return self._entries.shape[0]

    @property
    def dtype(self) -> np.dtype:
        return self._entries.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def requires_grad(self) -> bool:
        return self._entries._requires_grad

    @property
    def grad(self) -> COO | None:
        """The gradient of the values, at their indices; None before ``backward``."""
        g = self._entries.grad
        return None if g is None else self.with_values(g)

    def __repr__(self) -> str:
        return f"COO({self.dtype}, shape=({', '.join(map(str, self.shape))}), nnz={self.nnz})"

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TypeError("a sparse tensor is neither true nor false; compare its values()")

    def __len__(self) -> int:
        return int(self.shape[0])

    # -- conversions ----------------------------------------------------------------------
    def to_dense(self) -> Tensor:
        """The tensor with all its zeros.

        :returns: Of its shape and dtype.

        >>> ag.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).to_dense()
        tensor([3., 0.])
        """
        coordinates = [self._coordinates[k] for k in range(self.sparse_dim())]
        if not coordinates:
            return self._entries.sum(0)
        op = IndexSum(tuple(range(len(coordinates))), 0, self.shape)
        found: Tensor = apply(op, self._entries, *coordinates)
        return found

    todense = to_dense

    def coalesce(self) -> COO:
        """The same tensor with one value for each index, indices in order.

        In compiled code, where the number of indices is unknown, there are as many values as
        before: each the sum for its index at the first, 0 at others.

        :returns: The tensor itself where it is so.

        >>> ag.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce().values()
        tensor([2., 4.])
        """
        if self._coalesced:
            return self
        order, number, first = self._grouped()
        if is_tracing() or not is_known(self._coordinates):
            total = _added(self._entries, number, self.nnz)[number]
            shown = reshape(first, (-1,) + (1,) * (self._entries.ndim - 1))
            return self.with_values(total * cast(shown, total.dtype))
        starts = order.array[np.flatnonzero(first.array[order.array])]
        indices = wrap(np.ascontiguousarray(self._coordinates.array[:, starts]))
        return COO._made(indices, _added(self._entries, number, len(starts)), self.shape, True)

    def totals(self) -> Tensor:
        """For each value the sum of all that are at its index.

        :returns: Of the shape of the values.
        """
        if self._coalesced:
            return self._entries
        _, number, _ = self._grouped()
        return _added(self._entries, number, self.nnz)[number]

    def firsts(self) -> Tensor:
        """For each value whether it is the first one at its index.

        :returns: Of booleans, a vector.
        """
        return not_equal(self._grouped()[2], 0)

    def _grouped(self) -> tuple[Tensor, Tensor, Tensor]:
        """The order of indices, the number of each value's index in it, and whether it is the first
        one there."""
        flat: Any = cast(self._coordinates[0], np.dtype("int64"))
        for k in range(1, self.sparse_dim()):
            flat = flat * self.shape[k] + self._coordinates[k]
        order = argsort(flat)
        there = flat[order]
        steps = cast(not_equal(there[1:], there[:-1]), there.dtype)
        new = concat([there[:1] * 0, steps])
        ones = concat([there[:1] * 0 + 1, steps])
        nothing = zeros(flat.shape, dtype=there.dtype)
        return order, index_add(nothing, 0, order, cumsum(new, 0)), index_add(
            nothing, 0, order, ones)

    def astype(self, dtype: DTypeLike) -> COO:
        """The same tensor with values of another dtype.

        :param dtype: Their type.
        :returns: At the same indices.
        """
        return self.with_values(self._entries.astype(dtype))

    def detach(self) -> COO:
        """The same tensor without a history.

        :returns: On the same memory.
        """
        return self.with_values(self._entries.detach())

    def clone(self) -> COO:
        """A copy.

        :returns: In other memory.
        """
        return self.with_values(self._entries.clone())

    def zero_(self) -> COO:
        """Let all values be 0, in place.

        :returns: The tensor itself.
        """
        self._entries.zero_()
        return self

    @property
    def T(self) -> COO:  # noqa: N802 - NumPy's name
        """The transpose of a matrix."""
        return self.transpose(0, 1)

    def t(self) -> COO:
        """The transpose of a matrix.

        :returns: On the same values.
        """
        return self.transpose(0, 1)

    def transpose(self, dim0: int, dim1: int) -> COO:
        """The tensor with two of the axes that have indices exchanged.

        :param dim0, dim1: The axes.
        :returns: On the same values.
        :raises IndexError: If an axis has no indices.
        """
        order, count = list(range(self.ndim)), self.sparse_dim()
        one, two = (d + self.ndim if d < 0 else d for d in (dim0, dim1))
        if not (0 <= one < count and 0 <= two < count):
            raise IndexError(at(f"transpose: axes {dim0} and {dim1} are not both among the {count} "
                                f"that have places, of shape {self.shape}"))
        order[one], order[two] = order[two], order[one]
        return self.permute(*order)

    def permute(self, *dims: Any) -> COO:
        """The tensor with its axes in another order; those without indices stay behind.

        :param *dims: The axes.
        :type *dims: int, or one tuple of int
        :returns: On the same values.
        :raises ValueError: If an axis is missing, or would have to change its kind.
        """
        given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
        order, count = [d + self.ndim if d < 0 else d for d in given], self.sparse_dim()
        if sorted(order[:count]) != list(range(count)) or order[count:] != list(
                range(count, self.ndim)):
            raise ValueError(at(f"permute: {list(given)} is no order of the axes of shape "
                                f"{self.shape}, of which the first {count} have places"))
        return COO._made(self._coordinates[order[:count]], self._entries,
                         [self.shape[k] for k in order])

    # -- arithmetic -----------------------------------------------------------------------
    def __neg__(self) -> COO:
        return self.with_values(-self._entries)

    def _scaled(self, other: Any, by: Any) -> COO:
        x = beside(other, self._entries)
        if x.ndim:
            x = of_shape("multiply", x, self.shape, at(
                f"multiply: {typed(x)} beside a sparse tensor of shape {self.shape}: shapes must "
                "be equal, or it a number"))
            other = x[tuple(self._coordinates[k] for k in range(self.sparse_dim()))]
        return self.with_values(by(self._entries, other))

    def __mul__(self, other: Any) -> COO:
        if isinstance(other, COO):
            return pairs.elementwise_product(self, other)
        return self._scaled(other, lambda v, x: v * x)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> COO:
        return self._scaled(other, lambda v, x: v / x)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, COO):
            return self.to_dense() + beside(other, self._entries)
        if self.shape != other.shape or self.sparse_dim() != other.sparse_dim():
            raise ShapeError(at(f"add: sparse tensors of shapes {self.shape} and {other.shape} "
                                f"with {self.sparse_dim()} and {other.sparse_dim()} axes of "
                                "places"))
        values = concat(list(pair(self._entries, other._entries)))
        indices = concat(list(pair(self._coordinates, other._coordinates)), 1)
        return COO._made(indices, values, self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    mul, div, add, sub, neg = __mul__, __truediv__, __add__, __sub__, __neg__

    @explain_errors
    def matmul(self, other: TensorLike) -> Any:
        """The product of a sparse matrix with a vector or matrix, or of batches of them.

        :param other: A vector or matrix, dense or sparse.
        :type other: array_like or COO
        :returns: Of the promoted dtype; sparse if ``other`` is.
        :rtype: Tensor or COO
        :raises TraceError: If both are sparse, and compiled code does not know their indices.
        :raises ShapeError: If the inner sizes differ, or one is no matrix.

        >>> ag.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).matmul(ag.eye(2))
        tensor([[0., 2.],
                [3., 0.]])
        """
        if isinstance(other, COO):
            return pairs.matrix_product(self, other)
        x = beside(other, self._entries)
        if self.sparse_dim() == self.ndim == x.ndim == 3:
            return pairs.batched_product(self, x)
        if self.sparse_dim() != 2 or self.dense_dim() or x.ndim not in (1, 2):
            raise ShapeError(f"a sparse matrix is multiplied by a vector or matrix, not "
                             f"{self.shape} by {typed(x)}")
        x = of_shape("matmul", x, (self.shape[1], *x.shape[1:]),
                     f"inner sizes differ: {self.shape[1]} (last axis of {self.shape}) and "
                     f"{x.shape[0]} (first axis of {x.shape})")
        values, x = pair(self._entries, x)
        order, columns, starts = self._by_rows()
        found: Tensor = apply(ROWS, values[order], x if x.ndim == 2 else expand_dims(x, 1),
                              columns, starts)
        return found if x.ndim == 2 else reshape(found, found.shape[:1])

    __matmul__ = mm = mv = bmm = matmul

    def __rmatmul__(self, other: Any) -> Tensor:
        x = beside(other, self._entries)
        flipped = permute_dims(x, (1, 0)) if x.ndim == 2 else x
        found = self.t().matmul(flipped)
        return permute_dims(found, (1, 0)) if x.ndim == 2 else found

    def _by_rows(self) -> tuple[Tensor, Tensor, Tensor]:
        """The values' order by rows, their columns, and where rows begin; kept where known."""
        if self._lines is not None:
            return self._lines
        coordinates: Any = self._coordinates
        if is_known(coordinates):  # of constants, while a graph is traced, too
            rows, columns = map(fixed, coordinates.array)
            self._lines = lined_up(rows, columns, self.shape[0])
            return self._lines
        return lined_up(coordinates[0], coordinates[1], self.shape[0])

    def sum(self, dim: int | Sequence[int] | None = None) -> Any:
        """The sum of all, or along axes with indices (sparse).

        :param dim: Which axes; all by default.
        :type dim: int or tuple of int, optional
        :returns: A number, or a sparse tensor without the axis.
        :rtype: Tensor or COO
        :raises IndexError: If the axis has no indices.
        :raises ValueError: If an axis is named twice.
        """
        if dim is None:
            return self._entries.sum()
        check_integer(0 if isinstance(dim, Sequence) else dim, "axis")
        if isinstance(dim, Sequence):
            found: Any = self
            for axis in sorted(axes_of(tuple(dim), self.ndim), reverse=True):
                found = found.sum(axis)
            return found
        axis = dim + self.ndim if dim < 0 else dim
        if not 0 <= axis < self.sparse_dim():
            raise IndexError(at(f"sum: axis {dim} has no places in a sparse tensor of shape "
                                f"{self.shape} with {self.sparse_dim()} axes of places"))
        kept = [k for k in range(self.sparse_dim()) if k != axis]
        shape = [n for k, n in enumerate(self.shape) if k != axis]
        if not kept:
            return self._entries.sum(0)
        return COO._made(self._coordinates[kept], self._entries, shape)


def _added(values: Tensor, number: Tensor, count: Any) -> Tensor:
    """Sums of the values that belong to the same segment number."""
    nothing = zeros((count, *values.shape[1:]), dtype=values.dtype)
    return index_add(nothing, 0, number, values)


tree.register(COO, lambda a: ((a._coordinates, a._entries), (a.shape, a._coalesced)),
              lambda extra, parts: COO._made(*parts, *extra))


FOREIGN.add(COO)
