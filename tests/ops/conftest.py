"""The loop language, evaluated element by element: what ``lower`` and ``parts`` say."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from agnesi.core import loops
from agnesi.core.loops import Affine, Axis, Expr, Part, Read
from agnesi.ops.elementwise import TABLE


def _lowered(op: Any, *arrays: np.ndarray) -> np.ndarray:
    """The result of an operation by its lowering."""
    shape, dtype = op.infer(*arrays)
    reads = [_read(k, a) for k, a in enumerate(arrays)]
    if op.parts is not None:
        parts = op.parts(*reads)
    else:
        parts = [Part.whole(shape, lambda at: op.lower(at, *reads))]
    result = np.empty(shape, dtype)
    filled = np.zeros(shape, bool)
    for part in parts:
        at = tuple(Affine(0, {Axis(k, n): 1}) for k, n in enumerate(part.shape))
        if 0 in part.shape:
            continue
        expr = part.function(at)
        assert expr.dtype == dtype.name, f"{op}: {expr.dtype} instead of {dtype}"
        for place in itertools.product(*map(range, part.shape)):
            axes = {Axis(k, n): i for k, (n, i) in enumerate(zip(part.shape, place, strict=True))}
            to = tuple(a + s * i for a, s, i in zip(part.start, part.step, place, strict=True))
            result[to] = evaluate(expr, axes, arrays)
            filled[to] = True
    assert filled.all()
    return result


def _read(k: int, array: np.ndarray) -> Read:
    def element(at: Any) -> Expr:
        assert len(at) == array.ndim
        return loops.load(k, array.dtype.name, loops.ravel(at, array.shape))

    return Read(array.shape, array.dtype.name, element)


def evaluate(e: Expr, axes: dict[Axis, int], arrays: Any) -> Any:
    """The value of an expression where the axes have these values."""
    kind = np.dtype(e.dtype).type

    def position(at: Affine) -> int:
        return at.const + sum(
            c * (axes[a] if isinstance(a, Axis) else int(evaluate(a, axes, arrays)))
            for a, c in at.terms.items()
        )

    with np.errstate(all="ignore"):
        if e.op == "load":
            buffer, offset = e.param
            flat = arrays[buffer].reshape(-1)
            where = position(offset)
            assert 0 <= where < flat.size, "a load out of bounds"
            return flat[where]
        if e.op == "index":
            return np.int64(position(e.param))
        if e.op == "const":
            return kind(e.param)
        values = [evaluate(a, axes, arrays) for a in e.args]
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
