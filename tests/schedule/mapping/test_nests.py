"""How loop nests are mapped to lanes, units of work and blocks, as code generators are told."""

import numpy as np

from agnesi.core.ir.kernels import Buffer, Nest, Store, walk
from agnesi.core.ir.loops import Affine, Axis, call, const, load, make
from agnesi.core.ir.mapping import BLOCK_ELEMENTS
from agnesi.core.support.policy import FAST_COMPILE
from agnesi.core.target import Target
from agnesi.schedule.mapping.full_unroll import written_out
from agnesi.schedule.mapping.nests import LoopMapping


def doubled(*shape: int, turned: bool = False, offset: int = 0) -> Nest:
    """The nest of ``x + x``, or of ``x.T + x.T`` stored in rows."""
    axes = tuple(Axis(i, n) for i, n in enumerate(shape))
    target = Buffer(shape, np.dtype("float32"), "output")
    source = Buffer(shape[::-1] if turned else shape, np.dtype("float32"), "input")
    source.offset = offset
    places = [Affine(0, {a: 1}) for a in axes]
    read = load(source, "float32", source.offset_of(places[::-1] if turned else places))
    return Nest([], axes, [Store(target, target.offset_of(places), call("add", read, read))])


def test_axes_that_follow_each_other_in_memory_run_as_one():
    plan = LoopMapping(Target(512)).nest(doubled(64, 1024))
    assert [a.extent for a in plan.axes] == [64 * 1024]
    assert plan.along is plan.axes[-1]
    assert plan.units * plan.block == 64 * 1024


def test_what_is_read_across_is_cut_into_blocks_unless_the_policy_wants_little_code():
    nest = doubled(256, 512, turned=True)
    plan = LoopMapping(Target(512)).nest(nest)
    assert plan.across is not None
    assert plan.across is not plan.along
    assert plan.block == BLOCK_ELEMENTS
    assert LoopMapping(Target(512), FAST_COMPILE).nest(nest).across is None


def test_plans_do_not_depend_on_addresses():
    mapping = LoopMapping(Target(256))
    one, other = (mapping.nest(doubled(8, 100, offset=at)) for at in (0, 4096))
    assert (one.axes, one.along, one.units, one.work) == (
        other.axes, other.along, other.units, other.work)


def test_lanes_are_those_of_the_target():
    nest = doubled(4096)
    (axis,), (store,) = nest.axes, nest.body
    for bits in (0, 128, 256, 512):
        mapping = LoopMapping(Target(bits))
        native = mapping.native_lanes([store.value])
        assert native == max(1, bits // 32)
        assert mapping.lanes([store.value], axis) == (4 * native if bits else 1)


def test_a_sum_in_an_index_along_an_axis_of_the_nest_is_written_out():
    axis = Axis(0, 3)
    target, source, counts = (Buffer((3,), np.dtype(d), kind) for d, kind in (
        ("float32", "output"), ("float32", "input"), ("int64", "input")))
    total = make("reduce", (load(counts, "int64", axis.index),), "int64", ("add", (axis,)),
                 frozenset())
    read = load(source, "float32", Affine(0, {call("remainder", total, const(3, "int64")): 1}))
    body = [Store(target, axis.index, call("add", load(source, "float32", axis.index), read))]
    found = written_out(Nest([], (axis,), body))
    values = [*walk([s.value for s in found.body])]
    assert found.axes == () and len(found.body) == 3
    assert not [v for v in values if v.op == "reduce"]
    assert {int(v.param[1].const) for v in values if v.op == "load" and v.dtype == "int64"} == {
        0, 1, 2}


def test_a_long_sum_in_a_short_one_along_the_same_axis_stays_whole():
    a, b = Axis(0, 2), Axis(1, 3)
    target, source, table = (Buffer(shape, np.dtype("float32"), kind) for shape, kind in (
        ((), "output"), ((2,), "input"), ((2, 3), "input")))
    cell = load(table, "float32", Affine(0, {a: 3, b: 1}))
    long = make("reduce", (cell,), "float32", ("add", (a, b)), frozenset())
    term = call("multiply", load(source, "float32", a.index), long)
    short = make("reduce", (term,), "float32", ("add", (a,)), frozenset())
    found = written_out(Nest([], (), [Store(target, Affine(), short)]))
    (store,) = found.body
    sums = [v for v in walk([store.value]) if v.op == "reduce"]
    assert sums == [long] and store.value.op == "add"
