"""Which results may be written over which operands of a kernel."""

import numpy as np
import pytest

from agnesi.core.ir.kernels import Buffer, Nest, Store
from agnesi.core.ir.loops import Affine, Axis, load, reduce_
from agnesi.schedule.memory.overwriting import Overwriting, overwrites_safely

AXIS = Axis(0, 6)
PLACE = Affine(0, {AXIS: 1})


def buffer(n=6, dtype="int64"):
    return Buffer((n,), np.dtype(dtype), "temporary")


def read(source, at=PLACE):
    return load(source, source.dtype.name, at)


def test_elements_are_read_where_they_are_written():
    source, target, other = buffer(), buffer(), buffer()
    plain = Store(target, PLACE, read(source) + 1)
    assert overwrites_safely(Nest([], (AXIS,), [plain]), source, target)
    assert not overwrites_safely(Nest([], (AXIS,), [plain]), source, other)
    moved = Store(target, PLACE, read(source, PLACE + 1))
    assert not overwrites_safely(Nest([], (AXIS,), [moved]), source, target)
    small = buffer(dtype="int32")
    assert not overwrites_safely(
        Nest([], (AXIS,), [Store(small, PLACE, read(source))]), source, small)


def test_what_is_read_first_behind_the_store_is_needed():
    source, target, other = buffer(), buffer(), buffer()
    writes, reads = Store(target, PLACE, read(other)), Store(other, PLACE, read(source))
    assert not overwrites_safely(Nest([], (AXIS,), [writes, reads]), source, target)
    assert overwrites_safely(Nest([], (AXIS,), [reads, writes]), source, target)
    again = Store(target, PLACE, read(source) * 2)
    assert overwrites_safely(Nest([], (AXIS,), [again, reads]), source, target)


def test_places_that_are_read_from_memory_are_needed():
    source, target, other = buffer(), buffer(), buffer()
    scattered = Store(other, Affine(0, {read(source): 1}), read(target))
    plain = Store(target, PLACE, read(other) + 1)
    assert not overwrites_safely(Nest([], (AXIS,), [plain, scattered]), source, target)


def test_sums_read_at_steps_of_their_own():
    source, target = buffer(), buffer()
    summed = reduce_("add", (6,), lambda k: load(source, "int64", k), (AXIS,), (1,))
    assert not overwrites_safely(Nest([], (AXIS,), [Store(target, PLACE, summed)]), source, target)


@pytest.mark.parametrize("count", [20, 40])
def test_a_kernel_of_many_stores_is_walked_once(count, monkeypatch):
    from agnesi.schedule.memory import overwriting

    walked = 0
    real = overwriting.walk

    def walk(values, done=None):
        nonlocal walked
        for value in real(values, done):
            walked += 1
            yield value

    monkeypatch.setattr(overwriting, "walk", walk)
    sources, targets = [buffer() for _ in range(count)], [buffer() for _ in range(count)]
    value, stores = read(sources[0]), []
    for source, target in zip(sources, targets, strict=True):
        value = value * 2 + read(source)
        stores.append(Store(target, PLACE, value))
    overwriting = Overwriting(Nest([], (AXIS,), stores))
    safe = {(i, k) for i, s in enumerate(sources) for k, t in enumerate(targets)
            if overwriting.safely(s, t)}
    assert safe == {(i, k) for i in range(count) for k in range(i, count)}
    assert walked < 5 * count
