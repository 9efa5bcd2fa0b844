"""C functions that native code calls in place of ``perform``: they give the same, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import laid
from agnesi.ops.base.gather.elements import Index
from agnesi.ops.base.scans import CumProd, CumSum
from agnesi.ops.indexing.diagonal import Triangle
from agnesi.ops.reductions.positions import ArgReduce
from agnesi.ops.sorting.sort import ArgSort, TopIndices

OPERATIONS = [
    *(CumSum(axis) for axis in (0, 1)), *(ArgSort(axis, False) for axis in (0, 1)),
    *(Triangle(k, upper) for k in (-1, 0, 2, 9) for upper in (False, True)),
]


def arrays() -> list[np.ndarray]:
    few = np.array([[2.0, -0.0, np.nan, 0.0], [0.0, 2.0, -np.inf, 1.0], [1e3, 2.0, 3.0, -4.0]])
    whole = np.nan_to_num(few, neginf=-7).astype
    return [few, few.astype(np.float32), few.astype(np.float16), few.T, few[:, ::2], few[:0],
            whole(np.int8), whole(np.int32), whole(np.uint64), few > 1]


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.label())
def test_c_calls_do_what_operations_do(op: Any) -> None:
    for x in arrays():
        call = op.c_call(x)
        assert call is not None
        function, rest = call
        with np.errstate(all="ignore"):
            found, known = laid(op, function(x, *rest)), laid(op, op.perform(x))
        assert (found.dtype, found.shape, found.strides) == (
            known.dtype, known.shape, known.strides)
        assert found.tobytes() == known.tobytes()


@pytest.mark.parametrize("op", [
    ArgSort(1, True), TopIndices(2, 1, True), ArgReduce("maximum", 0), ArgReduce("minimum", 1),
    CumProd(0), CumProd(1)], ids=lambda op: op.label())
def test_those_of_few_elements_do_too(op: Any) -> None:
    for x in arrays():
        call = op.c_call(x) if op.c_call is not None and x.size else None
        if call is None:
            continue
        with np.errstate(all="ignore"):
            found, known = (laid(op, y) for y in (call[0](x, *call[1]), op.perform(x)))
        assert (found.dtype, found.shape) == (known.dtype, known.shape)
        assert found.tobytes() == known.tobytes()


def test_others_are_left_to_the_operations() -> None:
    large = np.ones((100, 100))
    assert CumSum(0, True).c_call(large) is None
    assert ArgSort(0, True).c_call(np.ones((3, 3))) is None
    assert Index((0,), 0).c_call(np.ones((0, 3)), np.zeros(0, int)) is None
    assert CumProd(0, True).c_call(np.ones(3)) is None
    assert ArgSort(0, False).c_call(large) is None
    assert Triangle(0, False).c_call(large) is None


def test_plans_take_them() -> None:
    x = ag.tensor([[3.0, 1.0], [2.0, 4.0]])
    for _ in range(40):
        assert ag.cumsum(x, 1).tolist() == [[3.0, 4.0], [2.0, 6.0]]
        assert ag.triu(x).tolist() == [[3.0, 1.0], [0.0, 4.0]]
        assert ag.argsort(x, axis=1).tolist() == [[1, 0], [0, 1]]
