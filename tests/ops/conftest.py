"""The loop language, evaluated element by element: what ``lower`` and ``parts`` say."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from agnesi.core.ir import loops
from agnesi.core.ir.loops import Affine, Axis, Expr, Part, Read, Sequential
from agnesi.ops.base.elementwise import TABLE


def _lowered(op: Any, *arrays: np.ndarray) -> np.ndarray:
    """The result of an operation by its lowering."""
    shape, dtype = op.infer(*arrays)
    reads = [_read(k, a) for k, a in enumerate(arrays)]
    if op.parts is not None:
        parts = op.parts(*reads)
    else:
        parts = [Part.whole(shape, lambda at: op.lower(at, *reads))]
    result: Any = np.empty(shape, dtype)
    filled = np.zeros(shape, bool)
    for part in parts:
        at = tuple(Affine(0, {Axis(k, n): 1}) for k, n in enumerate(part.shape))
        if 0 in part.shape:
            continue
        if isinstance(part, Sequential):
            _in_order(part, at, result, arrays)
            continue
        expr = part.function(at)
        assert expr.dtype == dtype.name, f"{op}: {expr.dtype} instead of {dtype}"
        for place in itertools.product(*map(range, part.shape)):
            axes = {Axis(k, n): i for k, (n, i) in enumerate(zip(part.shape, place, strict=True))}
            to = tuple(a + s * i for a, s, i in zip(part.start, part.step, place, strict=True))
            with np.errstate(all="ignore"):
                result[to] = Element(axes, arrays).value(expr)
            filled[to] = True
    assert filled.all()
    return result


def _in_order(part: Sequential, at: Any, result: np.ndarray, arrays: Any) -> None:
    own = _read(len(arrays), result)
    to, expr = part.target(at), part.value(own, at)
    for place in itertools.product(*map(range, part.shape)):
        axes = {Axis(k, n): i for k, (n, i) in enumerate(zip(part.shape, place, strict=True))}
        here = Element(axes, (*arrays, result))
        result[tuple(map(here.position, to))] = here.value(expr)


def _read(k: int, array: np.ndarray) -> Read:
    def element(at: Any) -> Expr:
        assert len(at) == array.ndim
        return loops.load(k, array.dtype.name, loops.ravel(at, array.shape))

    return Read(array.shape, array.dtype.name, element)


class Element:
    """Values of expressions for one setting of the axes; what is shared is computed once."""

    def __init__(self, axes: dict[Axis, int], arrays: Any) -> None:
        self.axes, self.arrays = axes, arrays
        self.known: dict[Expr, Any] = {}

    def value(self, e: Expr) -> Any:
        if e not in self.known:
            self.known[e] = self._compute(e)
        return self.known[e]

    def position(self, at: Affine) -> int:
        return at.const + sum(
            c * (self.axes[a] if isinstance(a, Axis) else int(self.value(a)))
            for a, c in at.terms.items()
        )

    def _compute(self, e: Expr) -> Any:
        kind = np.dtype(e.dtype).type
        if e.op == "load":
            buffer, offset = e.param
            flat = self.arrays[buffer].reshape(-1)
            where = self.position(offset)
            assert 0 <= where < flat.size, "a load out of bounds"
            return flat[where]
        if e.op == "index":
            return np.int64(self.position(e.param))
        if e.op == "const":
            return kind(e.param)
        values = [self.value(a) for a in e.args]
        if e.op == "cast":
            return np.asarray(values[0]).astype(e.dtype)[()]
        return kind(SCALARS[e.op](*values))


def _mulhi(a: Any, b: Any) -> Any:
    return np.uint32((int(a) * int(b)) >> 32)


class _Scalars(dict):  # type: ignore[type-arg]
    def __missing__(self, name: str) -> Any:
        return TABLE[name].function


SCALARS = _Scalars(mulhi=_mulhi, where=np.where)


@pytest.fixture
def lowered() -> Any:
    """``lowered(op, *arrays)``: the result of an operation by its lowering."""
    return _lowered
