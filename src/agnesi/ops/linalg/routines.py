"""LAPACK's routines that have no derivatives of their own: what decompositions are made of.

Matrices come and go column by column, as LAPACK keeps them: an operand of shape (..., n, m) stands
for matrices of m rows.  Memory to work in is as LAPACK's manual requires, enough for blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir import foreign
from agnesi.core.ir.dims import Size, is_static
from agnesi.core.ir.foreign import Argument
from agnesi.core.support import dtypes
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import cast
from agnesi.ops.base.native import Native
from agnesi.ops.linalg import library
from agnesi.ops.linalg.base import MatrixOp, count, smaller

#: Columns that routines work on at a time.
_BLOCK_COLUMNS = 64


class Routine(Native, MatrixOp):
    """Base of operations on matrices that only a C function evaluates."""


def callable_for(name: str, *xs: Any) -> bool:
    """Return whether a routine is there and has something to do."""
    return library.has(name, xs[0].dtype) and not any(
        is_static((n,)) and n == 0 for x in xs for n in x.shape
    )


def doubled(a: Tensor) -> Tensor:
    """Matrices in double precision, in which NumPy decomposes all of them."""
    return cast(a, dtypes.complex128 if a.dtype.kind == "c" else dtypes.float64)


def _info(front: Any) -> Any:
    """The type of a routine's status: 0 where it did."""
    return front, np.dtype(library.index_type())


class _Workspace:
    """Memory to work in: the arguments that say how much, and how many bytes there are."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.arguments: list[Argument] = []
        self.scratch: list[Size] = []

    def numbers(self, n: Size, *, counted: bool = True) -> _Workspace:
        """Memory for numbers of the matrix's dtype; then how many, if that is ``counted``."""
        return self._add(n, self.dtype.itemsize, counted)

    def reals(self, n: Size, *, counted: bool = False) -> _Workspace:
        """Memory for real numbers, which complex matrices need beside."""
        return self._add(n, dtypes.real_of(self.dtype).itemsize, counted)

    def integers(self, n: Size, *, counted: bool = False) -> _Workspace:
        """Memory for integers."""
        return self._add(n, np.dtype(library.index_type()).itemsize, counted)

    def _add(self, n: Size, itemsize: int, counted: bool) -> _Workspace:
        self.arguments.append(foreign.scratch(len(self.scratch)))
        self.scratch.append(n * itemsize)
        if counted:
            self.arguments.append(library.size(n))
        return self


def _call(name: str, a: Any, before: Any, workspace: _Workspace, after: Any, copies: Any
          ) -> foreign.Call:
    return foreign.Call(
        library.symbol(name, a.dtype), (*before, *workspace.arguments, *after),
        batch=count(a.shape), copies=copies, scratch=tuple(workspace.scratch),
    )


@record
class Geqrf(Routine):
    """Reflectors below the triangle, and their factors."""

    name = "geqrf"
    outputs = 2

    def infer(self, a: Any) -> Any:
        *front, n, m = a.shape
        return (a.shape, a.dtype), ((*front, smaller(m, n)), a.dtype)

    def foreign(self, a: Any) -> Any:
        n, m = a.shape[-2:]
        rows = library.size(m)
        workspace = _Workspace(a.dtype).numbers(n * _BLOCK_COLUMNS).integers(1)
        before = rows, library.size(n), foreign.result(0), rows, foreign.result(1)
        return _call("geqrf", a, before, workspace, (), ((0, 0),))


@record
class Orgqr(Routine):
    """The orthonormal columns that reflectors stand for, as many as there is workspace for."""

    name = "orgqr"

    def infer(self, a: Any, tau: Any) -> Any:
        return a.shape, a.dtype

    def foreign(self, a: Any, tau: Any) -> Any:
        p, m = a.shape[-2:]
        rows = library.size(m)
        workspace = _Workspace(a.dtype).numbers(p * _BLOCK_COLUMNS).integers(1)
        before = (rows, library.size(p), library.size(tau.shape[-1]), foreign.result(0), rows,
                  foreign.operand(1))
        name = "ungqr" if a.dtype.kind == "c" else "orgqr"
        return _call(name, a, before, workspace, (), ((0, 0),))


@record
class Gesdd(Routine):
    """Singular values, whether they were found, and vectors: ``wanted`` is "N", "S" or "A"."""

    wanted: str
    name = "gesdd"
    outputs = 5

    def infer(self, a: Any) -> Any:
        *front, n, m = a.shape
        k = smaller(m, n)
        u, vh = {"N": ((1, 1), (1, 1)), "S": ((k, m), (n, k)), "A": ((m, m), (n, n))}[self.wanted]
        values = (*front, k), dtypes.real_of(a.dtype)
        return ((a.shape, a.dtype), values, _info(tuple(front)), ((*front, *u), a.dtype),
                ((*front, *vh), a.dtype))

    def foreign(self, a: Any) -> Any:
        n, m = a.shape[-2:]
        k = smaller(m, n)
        rows = library.size(m)
        workspace = _Workspace(a.dtype)
        most = _BLOCK_COLUMNS * (m + n) + 9 * k
        if a.dtype.kind == "c":
            workspace.numbers(most + (0 if self.wanted == "N" else 2 * k * k))
            workspace.reals(9 * k if self.wanted == "N" else k * (7 * k + 2 * (m + n) + 7))
        else:
            workspace.numbers(most + (0 if self.wanted == "N" else 4 * k * k))
        workspace.integers(8 * k)
        before = (foreign.letter(self.wanted), rows, library.size(n), foreign.result(0), rows,
                  foreign.result(1), foreign.result(3), rows, foreign.result(4),
                  library.size({"N": 1, "S": k, "A": n}[self.wanted]))
        return _call("gesdd", a, before, workspace, (foreign.result(2),), ((0, 0),))


@record
class Syevd(Routine):
    """Eigenvectors (if ``vectors``) and values of Hermitian matrices, and whether they were found.

    The lower triangle is read if ``low``.
    """

    vectors: bool
    low: bool
    name = "syevd"
    outputs = 3

    def infer(self, a: Any) -> Any:
        front, n = a.shape[:-2], a.shape[-1]
        return (a.shape, a.dtype), ((*front, n), dtypes.real_of(a.dtype)), _info(front)

    def foreign(self, a: Any) -> Any:
        n = a.shape[-1]
        size = library.size(n)
        workspace = _Workspace(a.dtype)
        wide = 2 * n * n if self.vectors else 0
        workspace.numbers(wide + (_BLOCK_COLUMNS + 6) * n + 1)
        if a.dtype.kind == "c":
            workspace.reals(wide + 5 * n + 1, counted=True)
        workspace.integers(5 * n + 3, counted=True)
        before = (foreign.letter("V" if self.vectors else "N"),
                  foreign.letter("L" if self.low else "U"), size, foreign.result(0), size,
                  foreign.result(1))
        name = "heevd" if a.dtype.kind == "c" else "syevd"
        return _call(name, a, before, workspace, (foreign.result(2),), ((0, 0),))


@record
class Geev(Routine):
    """Eigenvalues and vectors, whether they were found, and what is imaginary of the values.

    Vectors of real matrices are LAPACK's: real parts, then imaginary parts of a pair.
    """

    vectors: bool
    name = "geev"
    outputs = 5

    def infer(self, a: Any) -> Any:
        front, n = a.shape[:-2], a.shape[-1]
        values = (*front, n), a.dtype
        vectors = a.shape if self.vectors else (*front, 1, 1)
        return (a.shape, a.dtype), values, values, (vectors, a.dtype), _info(front)

    def foreign(self, a: Any) -> Any:
        n = a.shape[-1]
        size, one = library.size(n), library.size(1)
        workspace = _Workspace(a.dtype).numbers((2 * _BLOCK_COLUMNS + 4) * n)
        values = [foreign.result(1), foreign.result(2)]
        if a.dtype.kind == "c":
            workspace.reals(2 * n)
            del values[1]
        # The vectors of the other side are not requested; any memory will do.
        before = (foreign.letter("N"), foreign.letter("V" if self.vectors else "N"), size,
                  foreign.result(0), size, *values, foreign.result(3), size, foreign.result(3),
                  size if self.vectors else one)
        return _call("geev", a, before, workspace, (foreign.result(4),), ((0, 0),))


@record
class Gees(Routine):
    """Schur's triangles and bases, and whether they were found."""

    name = "gees"
    outputs = 3

    def infer(self, a: Any) -> Any:
        return (a.shape, a.dtype), (a.shape, a.dtype), _info(a.shape[:-2])

    def foreign(self, a: Any) -> Any:
        n = a.shape[-1]
        size = library.size(n)
        workspace = _Workspace(a.dtype).numbers((2 * _BLOCK_COLUMNS + 4) * n)
        if a.dtype.kind == "c":
            workspace.reals(n)
        workspace.integers(n)
        work = list(workspace.arguments)
        workspace.integers(1).numbers(n, counted=False).numbers(n, counted=False)
        count_, first, second = workspace.arguments[len(work):]  # of sorted values; the values
        values = [first] if a.dtype.kind == "c" else [first, second]
        workspace.arguments = work
        before = (foreign.letter("V"), foreign.letter("N"), count_, size, foreign.result(0), size,
                  count_, *values, foreign.result(1), size)
        return _call("gees", a, before, workspace, (foreign.result(2),), ((0, 0),))


@record
class Trsyl(Routine):
    """LAPACK's ``trsyl``: solves ``a @ x + x @ b = scale * c`` for Schur's triangles."""

    name = "trsyl"
    outputs = 3

    def infer(self, a: Any, b: Any, c: Any) -> Any:
        return (c.shape, c.dtype), (c.shape[:-2], dtypes.real_of(c.dtype)), _info(c.shape[:-2])

    def foreign(self, a: Any, b: Any, c: Any) -> Any:
        n, m = map(library.size, c.shape[-2:])
        plain = foreign.letter("N")
        before = (plain, plain, library.size(1), m, n, foreign.operand(0), m, foreign.operand(1), n,
                  foreign.result(0), m, foreign.result(1), foreign.result(2))
        return _call("trsyl", c, before, _Workspace(c.dtype), (), ((0, 2),))


@record
class Laswp(Routine):
    """Rows of one matrix, exchanged one after another by pivots, counted from 1."""

    name = "laswp"

    def infer(self, a: Any, pivots: Any) -> Any:
        return a.shape, a.dtype

    def foreign(self, a: Any, pivots: Any) -> Any:
        n, m = a.shape[-2:]
        rows = library.size(m)
        first, last = library.size(1), library.size(pivots.shape[-1])
        before = (library.size(n), foreign.result(0), rows, first, last, foreign.operand(1), first)
        return _call("laswp", a, before, _Workspace(a.dtype), (), ((0, 0),))


LASWP = Laswp()
GEQRF = Geqrf()
ORGQR = Orgqr()
GEES = Gees()
TRSYL = Trsyl()
