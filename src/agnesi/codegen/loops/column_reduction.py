"""Column reductions: sums over rows, which are read in the order of memory.

With sums in registers, a few columns at a time would be read out of all rows, and neither the
memory nor the processor that looks ahead likes such steps.  Sums of whole rows stay close instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.codegen.llvm.builder import i64
from agnesi.codegen.loops.evaluate import _ITEM, IDENTITY, ROW, Scope
from agnesi.codegen.loops.slp_stores import store_all
from agnesi.core.ir.extents import is_some
from agnesi.core.ir.kernels import Buffer, Store, reductions, walk
from agnesi.core.ir.loops import Axis, Expr, call, const, load

#: Bytes of a row, so that it does not fit registers as a whole.
_MIN_ROW_BYTES = 2 << 10


def store_along(nest: Any, scope: Scope, along: Axis, stores: list[Store]) -> None:
    """Make stores along the lanes, behind the sums for each lane that are taken row by row."""
    values = [v for s in stores for v in (s.value, *s.offset.atoms)]
    sums = _sums(scope, values, along) if nest.b.module.policy.row_sums else []
    if sums:
        _sweep(nest, scope, along, sums)
    _rows(nest, scope, (), along, stores)


def _sums(scope: Scope, values: Sequence[Expr], along: Axis) -> list[Expr]:
    """Sums over the same axes, for each lane, of what lies in rows that come from afar."""
    found = [v for v in reductions(values) if _is_far(scope, v, along)]
    first = [v for v in found if v.param[1] == found[0].param[1]]
    near_bytes = scope.b.module.target.costs.near_bytes
    close = sum(_ITEM[v.dtype] for v in first) * along.extent <= near_bytes
    return first if close else []


def _is_far(scope: Scope, value: Expr, along: Axis) -> bool:
    costs = scope.b.module.target.costs
    bound, known = value.param[1], scope.axes.keys() | {along}
    if along not in value.free or not value.free <= known or scope.has(value):
        return False
    if not isinstance(along.extent, int) or along.extent * _ITEM[value.dtype] < _MIN_ROW_BYTES:
        return False
    inside = [*walk(list(value.args))]
    if not known.isdisjoint(bound) or any(v.op in ("reduce", "steps") for v in inside):
        return False
    rows = [v for v in inside if v.op == "load" and along in v.free]
    return all(v.param[1].terms.get(along) == 1 for v in rows) and any(
        isinstance(v.param[0].nbytes, int) and v.param[0].nbytes >= costs.far_row_bytes
        and not v.free.isdisjoint(bound) for v in rows
    )


def _sweep(nest: Any, scope: Scope, along: Axis, sums: list[Expr]) -> None:
    """Take the sums of columns, row by row."""
    at = along.index
    clear, add = [], []
    for v in sums:
        row = Buffer((along.extent,), np.dtype(v.dtype), ROW)
        nest.keep(row, along.extent)
        total = scope.kept[v] = load(row, v.dtype, at)
        clear.append(Store(row, at, const(IDENTITY[v.param[0]](v.dtype), v.dtype)))
        add.append(Store(row, at, call(v.param[0], total, v.args[0])))
    _rows(nest, scope, (), along, clear)
    _rows(nest, scope, sums[0].param[1], along, add)


def _rows(nest: Any, scope: Scope, axes: tuple[Axis, ...], along: Axis,
          stores: list[Store]) -> None:
    """Make stores for all points of axes, each time along a row."""
    values = [v for s in stores for v in (s.value, *s.offset.atoms)]
    if not axes:
        nest._lane_loop(scope, along, values, nest.share,
                        lambda inner, _: store_all(inner, stores), [])
        return
    inner = scope.inside({})
    scope.hoist(values, {*axes, along}, inner)
    n = axes[0].extent
    with nest.b.loop(i64(0), nest.b.size(n), 1, nonempty=is_some(n)) as loop:
        inner.axes[axes[0]] = loop.index
        _rows(nest, inner, axes[1:], along, stores)
