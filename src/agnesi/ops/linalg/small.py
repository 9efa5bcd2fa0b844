"""Many small systems at once, by generated code (see ``codegen/library/lanes/systems.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir import foreign
from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import Extent, surely
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.record import record
from agnesi.ops.linalg import library
from agnesi.ops.linalg.base import count
from agnesi.ops.linalg.routines import Routine

#: Rows of the largest matrices.
_MAX_ORDER = 16
#: Columns beside them, at most.
_MAX_COLUMNS = 16
#: Matrices from which it pays.
_MIN_MATRICES = 4
#: From how many right-hand sides of one small matrix on they fill lanes.
_MIN_LANE_COLUMNS = 16


def many_small(a: Any, columns: Any = 1) -> bool:
    """Return whether matrices, with so many columns beside each, are for generated code."""
    n, number = a.shape[-1], count(a.shape)
    if a.dtype.name not in ("float32", "float64") or not HOOKS.compiles():
        return False
    if not isinstance(n, int) or not isinstance(columns, int):
        return False
    if not (0 < n <= _MAX_ORDER and 0 < columns <= _MAX_COLUMNS) or number == 0:
        return False
    alone = not library.has("getrf", a.dtype)
    return isinstance(number, Extent) or bool(number >= _MIN_MATRICES) or alone


def _call(kind: str, a: Any, columns: int, options: str, results: int, operands: int = 1
          ) -> foreign.Call:
    given = [*map(foreign.operand, range(operands)), *map(foreign.result, range(results))]
    number = count(a.shape)
    units = foreign.shared_units(product(a.shape), number)
    return foreign.Call(
        f"generated:{kind} {a.dtype.name} {a.shape[-1]} {columns} {options} {units} 0",
        (*given, foreign.number(number)), units=units,
    )


def many_columns(b: Any) -> bool:
    """Return whether right-hand sides, the rows of ``b``, are enough for generated code."""
    k, n = b.shape[-2:]
    if b.dtype.name not in ("float32", "float64") or not HOOKS.compiles():
        return False
    return isinstance(n, int) and n <= _MAX_ORDER and surely(lambda: k >= _MIN_LANE_COLUMNS)


def factored_call(b: Any, transposed: bool) -> foreign.Call:
    """The call that solves with factors of small matrices."""
    options = "t" * transposed + "w" * (library.index_type() == "int64")
    k, n = b.shape[-2:]
    given = *map(foreign.operand, range(3)), foreign.result(0)
    return foreign.Call(
        f"generated:factored {b.dtype.name} {n} 1 {options} 0 0",
        (*given, foreign.number(count(b.shape)), foreign.number(k)),
    )


@record
class SmallSolve(Routine):
    """Solutions, and which matrices are regular."""

    transposed: bool
    name = "solve"
    outputs = 2

    def infer(self, a: Any, b: Any) -> Any:
        return (b.shape, b.dtype), (a.shape[:-2], dtypes.bool_)

    def foreign(self, a: Any, b: Any) -> Any:
        return _call("solve", a, b.shape[-1], "t" if self.transposed else "", 2, 2)


@record
class SmallInv(Routine):
    """Inverses, and which matrices are regular."""

    name = "inv"
    outputs = 2

    def infer(self, a: Any) -> Any:
        return (a.shape, a.dtype), (a.shape[:-2], dtypes.bool_)

    def foreign(self, a: Any) -> Any:
        return _call("inv", a, a.shape[-1], "", 2)


@record
class SmallDiagonal(Routine):
    """Diagonals of upper factors, and 1 or -1 for the exchanges of rows."""

    name = "diagonal of factors"
    outputs = 2

    def infer(self, a: Any) -> Any:
        return (a.shape[:-1], a.dtype), (a.shape[:-2], a.dtype)

    def foreign(self, a: Any) -> Any:
        return _call("diagonal", a, 1, "", 2)


@record
class SmallTriangle(Routine):
    """Solutions of triangular systems."""

    low: bool
    transposed: bool
    unit: bool
    name = "solve_triangular"

    def infer(self, a: Any, b: Any) -> Any:
        return b.shape, b.dtype

    def foreign(self, a: Any, b: Any) -> Any:
        options = "l" * self.low + "t" * self.transposed + "u" * self.unit
        return _call("triangle", a, b.shape[-1], options, 1, 2)


@record
class SmallCholesky(Routine):
    """Cholesky's factors, and which matrices have them."""

    name = "cholesky"
    outputs = 2

    def infer(self, a: Any) -> Any:
        return (a.shape, a.dtype), (a.shape[:-2], np.dtype(bool))

    def foreign(self, a: Any) -> Any:
        return _call("cholesky", a, 1, "", 2)
