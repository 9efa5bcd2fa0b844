"""Symbolic sparse matrices, as inputs of ``ag.function``."""

from __future__ import annotations

from typing import Any

from agnesi.api.sparse.layout import guarded
from agnesi.api.sparse.tensors import CSC, CSR
from agnesi.api.symbolic import variable
from agnesi.core.ir.dims import Dim
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike
from agnesi.core.public import explain_errors


def _variable(kind: Any, name: str | None, dtype: Any, shape: Any) -> Any:
    """Symbolic parts, whose names are that of the matrix and their own."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string or None, not {typed(name)}: it is a matrix to "
                        f"come; {kind.__name__.lower()}_from_dense(x) makes one of a dense matrix, "
                        "from_scipy(x) of one of SciPy's")
    count = Dim()
    lines, columns = shape[kind.major], shape[1 - kind.major]
    start = lines + 1 if isinstance(lines, int) else None
    data, indices, indptr, width = (
        variable(None if name is None else f"{name}_{part}", kind_, sizes)
        for part, kind_, sizes in (
            ("data", dtype, (count,)), ("indices", "int32", (count,)),
            ("indptr", "int32", (start,)), ("width", "bool", (columns, 0)),
        )
    )
    sizes = [width.shape[0], width.shape[0]]
    sizes[kind.major] = indptr.shape[0] - 1 if start is None else lines
    new = kind._made(data, *guarded(indices, indptr, width.shape[0]), sizes)
    new._given = data, indices, indptr, width
    return new


@explain_errors
def csr_matrix(name: str | None = None, dtype: DTypeLike = None, shape: ShapeLike = (None, None)
               ) -> CSR:
    """A symbolic sparse matrix by rows, for ``ag.function``, which takes its ``inputs``.

    :param name: Names of its inputs begin with it.
    :param dtype: ``config.symbolic_float`` by default.
    :param shape: A number, a name or None for both axes.
    :type shape: sequence
    :returns: Symbolic.
    :raises TypeError: If ``name`` is no string: a matrix is to come.
    :see: sparse.csc_matrix, symbolic.matrix, function

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> A, x = ag.sparse.csr_matrix("A"), T.vector("x")
    >>> f = ag.function([*A.inputs, x], A @ x)
    >>> f(*ag.sparse.eye(2).inputs, [1.0, 2.0])
    array([1., 2.])
    """
    found: CSR = _variable(CSR, name, dtype, shape)
    return found


@explain_errors
def csc_matrix(name: str | None = None, dtype: DTypeLike = None, shape: ShapeLike = (None, None)
               ) -> CSC:
    """A symbolic sparse matrix by columns; see :func:`csr_matrix`.

    :like: csr_matrix
    :see: sparse.csr_matrix, symbolic.matrix, function

    >>> ag.sparse.csc_matrix("A", "float32").format
    'csc'
    """
    return _variable(CSC, name, dtype, shape)
