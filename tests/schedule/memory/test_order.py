"""Order of kernels and places in the arena: valid, circles refused, memory low, time linear."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.ir.kernels import Buffer, Kernel
from agnesi.schedule.dependence import Dependence
from agnesi.schedule.memory import arena
from agnesi.schedule.memory.order import least_memory, peak
from tests.fuzz.program import Program
from tests.fuzz.samples import each
from tests.share import EVERY


class Plain(Kernel):
    """A kernel that only has operands and results."""

    def __init__(self, reads: list[Buffer], writes: list[Buffer]) -> None:
        self.operands, self.results, self.waits, self.nodes = reads, writes, [], []

    def reads(self) -> list[Buffer]:
        return self.operands

    def writes(self) -> list[Buffer]:
        return self.results


def random_kernels(rng: Any, count: int, near: int = 1000) -> list[Kernel]:
    """Kernels of two operands each, among the last ``near`` results."""
    buffers: list[Buffer] = []
    kernels: list[Kernel] = []
    for _ in range(count):
        window = buffers[-near:]
        reads = [window[i] for i in rng.integers(0, len(window), 2)] if window else []
        size = int(rng.choice([1, 10, 100, 1000]))
        buffers.append(Buffer((size,), np.dtype("float32"), "temporary"))
        kernels.append(Plain(reads, [buffers[-1]]))
    return kernels


def touched(kernels: list[Kernel]) -> list[dict[Buffer, int]]:
    return [{b: b.nbytes for b in (*k.reads(), *k.writes())} for k in kernels]


def respects(order: list[int], needs: list[set[int]]) -> bool:
    place = {k: i for i, k in enumerate(order)}
    return sorted(order) == list(range(len(needs))) and all(
        place[n] < place[k] for k, ns in enumerate(needs) for n in ns
    )


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_circles_are_refused_and_nothing_else_is(seed, count):
    rng = np.random.default_rng(seed)
    dependence = Dependence(random_kernels(rng, count))
    for _ in range(10):
        kernel, others = int(rng.integers(count)), set(map(int, rng.integers(0, count, 3)))
        before = [set(n) for n in dependence.needs]

        def reaches(start: int, goal: int, edges: Any = before) -> bool:
            stack, seen = [start], {start}
            while stack:
                for n in edges[stack.pop()] - seen:
                    seen.add(n)
                    stack.append(n)
            return goal in seen

        circular = any(reaches(other, kernel) for other in others - {kernel})
        assert dependence.put_behind(kernel, others) is not circular
        assert (dependence.needs == before) if circular else others - {kernel} <= dependence.needs[
            kernel
        ]
        assert respects(dependence.order, dependence.needs)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_the_order_is_valid_and_never_worse(seed, count):
    kernels = random_kernels(np.random.default_rng(seed), count, 8)
    dependence = Dependence(kernels)
    order = least_memory(kernels, dependence)
    assert respects(order, dependence.needs)
    assert peak(order, touched(kernels)) <= peak(list(range(count)), touched(kernels))


def test_no_order_is_sought_where_none_needs_less(monkeypatch):
    """Each kernel of a chain has its operand and its result alive, in any order."""
    buffers = [Buffer((3,), np.dtype("float32"), "temporary") for _ in range(40)]
    kernels: list[Kernel] = [Plain([a], [b]) for a, b in pairwise(buffers)]
    monkeypatch.setattr("agnesi.schedule.memory.order._greedy", None)
    assert least_memory(kernels, Dependence(kernels)) == list(range(39))


def test_wide_graphs_are_reordered():
    """Branches that are large inside and small at the end run one after another."""
    small, large = (np.dtype("float32"),) * 2
    kernels: list[Kernel] = []
    stages = [[Buffer((1000,), large, "temporary") for _ in range(20)] for _ in range(3)]
    ends = [Buffer((1,), small, "temporary") for _ in range(20)]
    for i, stage in enumerate(stages):
        for j, b in enumerate(stage):
            kernels.append(Plain([stages[i - 1][j]] if i else [], [b]))
    kernels += [Plain([b], [e]) for b, e in zip(stages[-1], ends, strict=True)]
    kernels.append(Plain(ends, [Buffer((1,), small, "output")]))
    order = least_memory(kernels, Dependence(kernels))
    assert peak(list(range(len(kernels))), touched(kernels)) > 80_000
    assert peak(order, touched(kernels)) < 10_000


def test_a_compiled_wide_graph_needs_few_of_its_branches_at_a_time():
    x = T.matrix("x", shape=(64, 64))
    total: Any = None
    for i in range(1, 40):
        branch = T.dot(T.dot(T.tanh(x * i), x), x).sum(axis=0)
        total = branch if total is None else total + branch
    f = ag.function([x], total)
    a = np.random.default_rng(0).standard_normal((64, 64))
    expected = sum(np.tanh(a * i) @ a @ a for i in range(1, 40)).sum(axis=0)
    np.testing.assert_allclose(f(a), expected, rtol=1e-9)
    assert f.plan().arena_bytes < 16 * 64 * 64 * 8


@pytest.mark.long
def test_many_kernels_take_seconds():
    kernels = random_kernels(np.random.default_rng(0), 100_000 if EVERY else 10_000, 50)
    start = time.process_time()
    order = least_memory(kernels, Dependence(kernels))
    spans: dict[Buffer, tuple[int, int]] = {}
    for place, k in enumerate(order):
        for b in touched([kernels[k]])[0]:
            spans[b] = spans.get(b, (place, place))[0], place
    blocks = [arena.Block(arena.rounded(b.nbytes), *span) for b, span in spans.items()]
    assert arena.assign_offsets(blocks)[1] < 2 * arena.most_alive(blocks)
    assert time.process_time() - start < 30


# -- places -----------------------------------------------------------------------------------
spans = st.tuples(st.integers(1, 40), st.integers(0, 30), st.integers(0, 12))


@settings(deadline=None)
@given(st.lists(spans, max_size=60))
def test_what_lives_at_the_same_time_does_not_overlap(found):
    blocks = [arena.Block(64 * size, first, first + more) for size, first, more in found]
    for offsets, total in (arena.assign_offsets(blocks), arena._in_time(blocks)):
        assert total >= arena.most_alive(blocks) and all(o % 64 == 0 for o in offsets)
        for i, (a, at) in enumerate(zip(blocks, offsets, strict=True)):
            assert at + a.size <= total
            for b, bt in list(zip(blocks, offsets, strict=True))[:i]:
                if a.first <= b.last and b.first <= a.last:
                    assert at + a.size <= bt or bt + b.size <= at


# -- in place ---------------------------------------------------------------------------------
def test_memory_taken_over_changes_no_result_and_no_argument():
    """Arguments given up, or kept as they are, or nothing in place: the same results."""
    def check(program: Program) -> None:
        arrays = [np.array(a, order="C") for a in program.arrays()]

        def built(mutable: bool) -> Any:
            symbols = [T.tensor(a.dtype, shape=a.shape) for a in arrays]
            results = program(*(s * 1 for s in symbols))
            return ag.function([ag.In(s, mutable=mutable) for s in symbols], list(results))

        with ag.config(compile=False):
            expected = built(False)(*arrays)
        kept = built(False)
        given_up = [a.copy() for a in arrays]
        for found in (kept(*arrays), built(True)(*given_up)):
            for e, f in zip(expected, found, strict=True):
                np.testing.assert_allclose(f, e, rtol=1e-4, atol=1e-3)
        for a, b in zip(arrays, program.arrays(), strict=True):
            np.testing.assert_array_equal(a, b)

    each(check, dtypes=["float64", "float32", "int64"], kind="whole")


def test_cases_of_a_rejected_circle():
    """Two states that take each other's values: one is copied, none is lost."""
    a, b = ag.shared(np.arange(4.0)), ag.shared(np.arange(4.0) * 10)
    swap = ag.function([], [], updates={a: b * 1, b: a * 1})
    for first, second in (((0, 10, 20, 30), (0, 1, 2, 3)), ((0, 1, 2, 3), (0, 10, 20, 30))):
        swap()
        assert a.get_value().tolist() == list(first) and b.get_value().tolist() == list(second)


@pytest.mark.parametrize("preset", ["fast_run", "fast_compile"])
def test_fast_compile_needs_little_more_memory(preset):
    x = T.matrix("x", shape=(128, 32))
    ws = [ag.shared(np.eye(32) * 0.5) for _ in range(8)]
    h = x
    for w in ws:
        h = T.tanh(T.dot(h, w))
    gradients = T.grad((h**2).sum(), ws)
    updates = {w: w - 0.1 * g for w, g in zip(ws, gradients, strict=True)}
    f = ag.function([x], h.sum(), updates=updates, optimizer=preset)
    f(np.ones((128, 32)))
    assert f.plan().arena_bytes <= 1.2 * 10 * 128 * 32 * 8
