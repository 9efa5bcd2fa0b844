"""Axes that passes make are none that a kernel has already: a reduction there would bind them."""

import numpy as np
import pytest

from agnesi.core.ir import loops
from agnesi.core.ir.interning import interning
from agnesi.core.ir.kernels import Buffer, Nest, Store, axes_in
from agnesi.core.ir.loops import Affine, Axis, fresh_axes, fresh_axis
from agnesi.schedule.lowering import batches
from agnesi.schedule.transforms import split_reductions

FLOAT = np.dtype("float64")


def total_of(buffer, extent, taken, slot):
    """The sum of a vector, over an axis of this slot."""
    def element(k):
        return loops.load(buffer, "float64", buffer.offset_of((k,)))

    return loops.reduce_("add", [extent], element, taken, [slot])


@pytest.fixture(autouse=True)
def _interned():
    with interning():
        yield


def test_fresh_axes_are_not_taken():
    first = fresh_axis(5, ())
    other = fresh_axis(5, {first})
    assert fresh_axis(5, ()) is first is not other
    assert fresh_axis(6, {first}).slot == first.slot  # another extent is another axis
    three = fresh_axes((5, 5, 5), {first, other})
    assert len({first, other, *three}) == 5 and [a.extent for a in three] == [5, 5, 5]
    assert fresh_axes((5, 5, 5), {first, other}) == three


def test_all_axes_of_stores_are_found():
    x, y = Buffer((6,), FLOAT, "argument"), Buffer((4,), FLOAT, "temporary")
    i = Axis(0, 4)
    place = y.offset_of((i.index,))
    value = loops.call("add", total_of(x, 6, (), 3), loops.load(y, "float64", place))
    assert axes_in([Store(y, place, value)]) == {i, Axis(3, 6)}


def test_a_batch_that_becomes_one_axis_is_not_bound_by_a_sum_behind_it():
    """Axes of 2 and 3 become one of 6, and the epilogue has a sum over an axis of 6 there."""
    outer, inner, summed = Axis(0, 2), Axis(1, 3), Axis(1, 6)
    w, result = Buffer((2, 3, 6), FLOAT, "argument"), Buffer((2, 3), FLOAT, "temporary")
    element = loops.load(w, "float64", w.offset_of((outer.index, inner.index, summed.index)))
    left = frozenset((outer, inner))
    total = loops.make("reduce", (element,), "float64", ("add", (summed,)), left)
    place = result.offset_of((outer.index, inner.index))
    (merged,), (store,) = batches.cut_batch((outer, inner), [], [Store(result, place, total)])
    (bound,) = store.value.param[1]
    assert merged is not bound and store.value.free == {merged}
    assert store.value.args[0].param[1] == Affine(0, {merged: 6, bound: 1})


@pytest.mark.parametrize("slot", range(90, 140))
def test_parts_of_a_sum_are_not_bound_by_another(slot):
    """Wherever another sum of 16 terms has its axis, the axis that counts the parts is not that."""
    n = 1 << 19
    x, few, out = (Buffer((m,), FLOAT, "argument") for m in (n, 16, 1))
    own = total_of(few, 16, (), slot)
    value = loops.call("add", total_of(x, n, (), 0), own)
    nest = Nest([], (), [Store(out, Affine(), value)])
    first, last = split_reductions._cut(nest, 1 << 15)
    (part,) = (a for a in first.axes if a.extent == 16)
    assert part is not own.param[1][0]
    assert {a.extent for a in axes_in(last.body)} == {16} and len(axes_in(last.body)) == 2


def test_steps_in_steps_have_axes_of_their_own():
    i = Axis(0, 3)
    one = loops.const(1.0, "float64")
    start = loops.cast(loops.index(i.index), "float64")

    def step(t, values):
        return [loops.call("add", values[0], one)], loops.const(False, "bool")

    outer = loops.in_steps((i.index,), 9, loops.const(True, "bool"), [start], step)

    def nested(t, values):
        again = loops.in_steps((i.index,), 9, loops.const(True, "bool"), [values[0]], step)
        assert again.free == values[0].free  # its own axis is gone, the one around it is not
        return [again], loops.const(False, "bool")

    assert outer.free == {i}
    assert loops.in_steps((i.index,), 9, loops.const(True, "bool"), [start], nested).free == {i}
