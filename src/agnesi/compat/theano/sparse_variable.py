"""Sparse matrices as Theano's variables: inputs and outputs of functions, as SciPy's matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agnesi.api.sparse import (
    csc_from_dense,
    csc_matrix,
    csr_from_dense,
    csr_matrix,
    from_scipy,
    sp_sum,
)
from agnesi.api.sparse.tensors import CSC, CSR, SparseTensor
from agnesi.compat.theano.variable import OTHERS, Sizes, Variable, as_size, wrapped
from agnesi.compiler.inputs import In as OurIn
from agnesi.compiler.inputs import check_used
from agnesi.compiler.shared import shared
from agnesi.core.dispatch import graph_node
from agnesi.core.support.config import config
from agnesi.core.support.errors import UnusedInputError, at
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.indexing.join import stack

_MAKE = {"csr": csr_matrix, "csc": csc_matrix}
_FROM_DENSE = {"csr": csr_from_dense, "csc": csc_from_dense}


@dataclass(frozen=True)
class SparseType:
    """A format and a dtype; calling it makes a variable.

    Parameters
    ----------
    format : {"csr", "csc"}
    dtype : str, optional
        ``config.floatX`` by default.
    """

    format: str
    dtype: str

    ndim = 2
    broadcastable = (False, False)

    def __init__(self, format: str, dtype: Any = None) -> None:
        if format not in _MAKE:
            raise ValueError(f"format must be 'csr' or 'csc', not {format!r}")
        floats = dtype is None or dtype == "floatX"
        object.__setattr__(self, "format", format)
        object.__setattr__(self, "dtype", np.dtype(config.symbolic_float if floats else dtype).name)

    def __call__(self, name: str | None = None) -> SparseVariable:
        """A new input of this type."""
        found = SparseVariable(_MAKE[self.format](name, self.dtype))
        found.name = name
        return found

    make_variable = __call__

    def __str__(self) -> str:
        return f"Sparse({self.dtype}, {self.format})"


class SparseVariable(Variable):
    """A sparse matrix; functions take SciPy's matrices for it, and return them."""

    __slots__ = ("_name",)

    def __init__(self, tensor: SparseTensor) -> None:
        super().__init__(tensor)
        self._name: str | None = None

    def __repr__(self) -> str:
        return self._name or repr(self.tensor)

    @property
    def _value(self) -> Any:
        return self.tensor

    @property
    def name(self) -> str | None:
        """Its name, for printing, or None."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        self._name = name

    @property
    def format(self) -> str:
        """The axis that it is kept by: "csr" or "csc"."""
        found: str = self.tensor.format
        return found

    @property
    def type(self) -> SparseType:
        """Its format and dtype."""
        return SparseType(self.format, self.dtype)

    @property
    def shape(self) -> Sizes:
        """The sizes: an integer variable for each axis."""
        return Sizes(wrapped(as_size(n)) for n in self.tensor.shape)

    def toarray(self) -> Variable:
        """The matrix with all its zeros."""
        found: Variable = wrapped(self.tensor.todense())
        return found

    todense = toarray

    def sum(self, axis: int | None = None, sparse_grad: bool = False) -> Variable:
        """The sum of all entries, or along an axis."""
        found: Variable = wrapped(sp_sum(self.tensor, axis))
        return found

    def __getitem__(self, key: Any) -> Any:
        """A block of rows and columns or a list of rows, sparse; an element or, by two lists, some.

        :raises NotImplementedError: For a row or a column alone, of which there is no type.
        """
        entries = key if isinstance(key, tuple) else (key,)
        single = [not isinstance(e, (slice, list)) and not getattr(e, "ndim", 0) for e in entries]
        lists = [not isinstance(e, slice) for e in entries]
        if len(entries) > 2:
            raise IndexError(at(f"a sparse matrix has two axes, not {len(entries)}"))
        if any(single) and single != [True, True]:
            raise NotImplementedError(at(
                f"there is no sparse vector: {self!r}[i:i+1] and [:, j:j+1] are matrices of one "
                "row or column, [i, j] is an element"))
        found = self.toarray()[key]
        if lists == [True, True]:
            return found
        return wrapped(_FROM_DENSE[self.format](found._value))

    def dot(self, other: Any) -> Any:
        """The matrix product."""
        return wrapped(self.tensor @ (other.tensor if isinstance(other, Variable) else other))


class SparseShared(SparseVariable):
    """A sparse matrix that lasts between calls.

    Parameters
    ----------
    value : scipy.sparse matrix
    name : str, optional
    """

    __slots__ = ("_shared",)

    def __init__(self, value: Any, name: str | None = None) -> None:
        parts = from_scipy(value).inputs[:3]
        self._shared = [shared(np.array(p.array), None if name is None else f"{name}_{part}")
                        for p, part in zip(parts, ("data", "indices", "indptr"), strict=True)]
        data, indices, indptr = self._shared
        kind = CSR if value.format == "csr" else CSC
        super().__init__(kind._made(data, indices, indptr, value.shape))
        self.name = name

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """The matrix, as SciPy's: a copy, or with ``borrow`` on the same memory."""
        import scipy.sparse

        parts = [s.get_value(borrow=borrow) for s in self._shared]
        kind = getattr(scipy.sparse, f"{self.format}_matrix")
        return kind(tuple(map(np.asarray, parts)), shape=self.tensor.shape)

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Take another matrix of the same shape and dtype."""
        if tuple(value.shape) != tuple(self.tensor.shape):
            raise ValueError(f"{self!r} has shape {self.tensor.shape}, not {value.shape}")
        parts = values_of(self, value)
        for held, part in zip(self._shared, parts, strict=False):
            held.set_value(np.asarray(part, held.dtype))


OTHERS.append((SparseTensor, SparseVariable))


def inputs_of(x: SparseVariable) -> list[OurIn]:
    """The inputs of our function that stand for a matrix."""
    return [OurIn(part) for part in x.tensor.inputs]


def values_of(x: SparseVariable, value: Any) -> list[Any]:
    """The values of these, from a matrix of SciPy's or of ours."""
    if getattr(value, "format", None) is None:
        raise TypeError(f"{x!r} is {x.type} and takes a sparse matrix, not {type(value).__name__}: "
                        f"scipy.sparse.{x.format}_matrix(value)")
    if not np.can_cast(value.dtype, x.dtype):
        raise TypeError(f"{x!r} is {x.type} and takes no {value.dtype}: cast the value")
    ours = value if isinstance(value, SparseTensor) else from_scipy(value.asformat(x.format))
    ours = ours.asformat(x.format)
    ours = ours if ours.dtype == x.dtype else ours.astype(np.dtype(x.dtype))
    data, indices, indptr, width = ours.inputs
    return [data, indices.astype("int32"), indptr.astype("int32"), width]


def check_inputs(given: Sequence[Variable], outputs: Sequence[Any], policy: str) -> None:
    """Deal with inputs that nothing depends on; of a matrix one part suffices."""
    nodes = [graph_node(as_tensor(t)) for t in outputs]
    left = []
    for k, x in enumerate(given):
        parts = x.tensor.inputs if isinstance(x, SparseVariable) else [x.tensor]
        if not any(_is_used(graph_node(p), nodes) for p in parts):
            left.append((x.name or f"number {k}", graph_node(parts[0])))
    check_used(left, nodes, policy)


def _is_used(node: Any, outputs: Sequence[Any]) -> bool:
    try:
        check_used([("", node)], outputs, "raise")
    except UnusedInputError:
        return False
    return True


def outputs_of(x: SparseVariable) -> list[Any]:
    """What our function computes for a matrix: its parts and its sizes."""
    return [*x.tensor.parts, stack([as_tensor(as_size(n)) for n in x.tensor.shape])]


def matrix_of(x: SparseVariable, found: Sequence[Any]) -> Any:
    """The matrix of SciPy's that these values make."""
    import scipy.sparse

    data, indices, indptr, shape = (np.asarray(v) for v in found)
    kind = getattr(scipy.sparse, f"{x.format}_matrix")
    return kind((data, indices, indptr), shape=tuple(shape.tolist()))
