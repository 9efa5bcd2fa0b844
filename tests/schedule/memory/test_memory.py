"""The memory plan, checked by playing it through byte by byte."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.ir.kernels import Buffer, Nest, Product, walk
from agnesi.core.ir.loops import Affine, Axis, Expr
from tests.fuzz.program import Program
from tests.fuzz.samples import each
from tests.fuzz.values import REAL

MOST_POINTS = 4000


class Memory:
    """Which buffer's element lies at each byte."""

    def __init__(self, layout: Any) -> None:
        self.layout = layout
        self.owners: dict[int, np.ndarray] = {}
        self.numbers: dict[Buffer, int] = {}
        self.begun: set[Buffer] = set()
        self.written = {b for kernel in layout.kernels for b in kernel.writes()}
        for slot, buffer in enumerate(layout.table):
            self.owners[slot] = np.full(buffer.nbytes, self.number(buffer))
        self.owners[layout.arena_slot] = np.zeros(layout.arena_bytes, int)

    def number(self, buffer: Buffer) -> int:
        early = buffer in self.layout.shared and buffer not in self.begun
        if early or buffer not in self.written:  # a copy onto itself was left out
            buffer = self.before(buffer)
        return self.numbers.setdefault(buffer, len(self.numbers) + 1)

    def before(self, buffer: Buffer) -> Buffer:
        """Which buffer had the memory until this one took it over."""
        owner, spans = self.owner(buffer), self.layout.lifetimes
        if buffer is owner and buffer.role not in ("output", "temporary"):
            return buffer
        until = spans[buffer][0] if buffer in spans else len(self.layout.kernels)
        others = [b for b in (owner, *self.layout.shared) if self.owner(b) is owner
                  and b in self.written and spans[b][0] < until]
        return max(others, key=lambda b: spans[b][0], default=owner)

    def owner(self, buffer: Buffer) -> Buffer:
        while buffer in self.layout.shared:
            buffer = self.layout.shared[buffer]
        return buffer

    def bytes_of(self, buffer: Buffer, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = buffer.dtype.itemsize
        places = buffer.offset + elements[:, None] * size + np.arange(size)
        owner = self.owners[buffer.slot]
        assert not places.size or (places.min() >= 0 and places.max() < owner.size), "out of bounds"
        return owner, places

    def read(self, buffer: Buffer, elements: np.ndarray) -> None:
        owner, places = self.bytes_of(buffer, elements)
        assert (owner[places] == self.number(buffer)).all(), f"{buffer!r} was overwritten before"

    def write(self, buffer: Buffer, elements: np.ndarray) -> None:
        owner, places = self.bytes_of(buffer, elements)
        self.begun.add(buffer)
        if buffer in self.layout.shared:  # what is not written is what was there
            owner[owner == self.number(self.before(buffer))] = self.number(buffer)
        owner[places] = self.number(buffer)


def whole(buffer: Buffer) -> np.ndarray:
    if 0 in buffer.shape:
        return np.zeros(0, int)
    return elements_at(buffer.offset_of(_axes(buffer.shape)))


def _axes(shape: tuple[int, ...]) -> list[Affine]:
    return [Affine(0, {Axis(100 + d, n): 1}) for d, n in enumerate(shape)]


def elements_at(at: Affine) -> np.ndarray:
    """All values of an index without atoms."""
    total = np.array([at.const])
    for axis, c in at.terms.items():
        total = (total[:, None] + c * np.arange(axis.extent)).reshape(-1)
    return total


def touched(buffer: Buffer, at: Affine) -> np.ndarray:
    return whole(buffer) if at.atoms else np.unique(elements_at(at))


def loads(values: list[Expr]) -> Iterator[tuple[Buffer, Affine]]:
    for value in walk(values):
        if value.op == "load" and value.param[0].role != "sum":
            yield value.param


def play(layout: Any) -> None:
    """Run the plan: what is read must be there still, whole."""
    memory = Memory(layout)
    for kernel in layout.kernels:
        if not isinstance(kernel, (Nest, Product)):
            for b in kernel.reads():
                memory.read(b, whole(b))
            for b in kernel.writes():
                memory.write(b, whole(b))
            continue
        if any(a is not None and a.extent == 0 for a in kernel.axes):
            continue
        own = kernel.writes() if isinstance(kernel, Nest) and kernel.ordered else []
        for buffer, at in loads([s.value for s in kernel.stores()]):
            if not at.atoms and buffer not in own:
                memory.read(buffer, touched(buffer, at))
        if isinstance(kernel, Product):
            for m in (kernel.a, kernel.b):
                memory.read(m.buffer, np.array([m.offset]))
        for s in kernel.stores():
            memory.write(s.buffer, touched(s.buffer, s.offset))
        if isinstance(kernel, Nest) and not own:
            check_order(kernel)


def check_order(kernel: Nest) -> None:
    """Elements written in place are not needed by any other turn of the loops."""
    if not any(spot(a) == spot(b) for a in kernel.reads() for b in kernel.writes()):
        return
    if np.prod([a.extent for a in kernel.axes], dtype=int) > MOST_POINTS:
        return
    writer: dict[Any, Any] = {}
    for turn, s, axes in turns(kernel):
        if not s.offset.atoms:
            writer[spot(s.buffer), position(s.offset, axes)] = turn
    seen: dict[Any, set[Any]] = {}
    for turn, s, axes in turns(kernel):
        known, point = seen.setdefault(turn[0], set()), turn[0]
        for value, total in loads_in_sums(s.value):
            own = axes if total is None else {a: n for a, n in axes.items() if a in total.free}
            for inner in itertools.product(*(range(a.extent) for a in value.free - own.keys())):
                more = dict(zip(value.free - own.keys(), inner, strict=True))
                spot_of = spot(value.param[0]), position(value.param[1], {**own, **more})
                by = writer.get(spot_of)
                if by is None or value in known:
                    continue
                if total is None:
                    assert by[0] == point and by[1] >= turn[1], "read after it was overwritten"
                else:
                    assert own.items() <= dict(by[0]).items(), "a row that was overwritten"
                    assert own and {*total.param[1]} == {*kernel.axes[-len(total.param[1]):]}
            known.add(value)


def loads_in_sums(value: Expr) -> Iterator[tuple[Expr, Expr | None]]:
    """Loads at known places, and the outermost sum that each is in."""
    stack: list[tuple[Expr, Expr | None]] = [(value, None)]
    while stack:
        value, total = stack.pop()
        if value.op == "load" and not value.param[1].atoms:
            yield value, total
        stack += [(a, value if total is None and value.op == "reduce" else total)
                  for a in value.args]


def turns(kernel: Nest) -> Iterator[tuple[Any, Any, dict[Axis, int]]]:
    """Every store of every turn, as ((turn, number of the store), store, indices)."""
    for k, s in enumerate(kernel.body):
        free = [a for a in kernel.axes if a in s.offset.free]
        for values in itertools.product(*(range(a.extent) for a in free)):
            axes = dict(zip(free, values, strict=True))
            point = tuple(sorted(axes.items(), key=lambda at: at[0].slot))
            yield (point, k), s, axes


def spot(buffer: Buffer) -> tuple[int, int]:
    return buffer.slot, buffer.offset


def position(at: Affine, axes: dict[Axis, int]) -> int:
    return at.const + sum(c * axes[a] for a, c in at.terms.items())


def checked(compiled: Any) -> None:
    layout = compiled.plan().layout
    sizes = [layout.arena_bytes, *(b.nbytes for b in layout.table)]
    if all(isinstance(n, int) for n in sizes):  # others are told by values
        play(layout)


def test_plans_of_random_programs():
    def check(program: Program) -> None:
        compiled = ag.jit(program.function())
        compiled(*map(ag.tensor, program.arrays()))
        checked(compiled)

    each(check, dtypes=REAL, kind="whole")


def test_plans_of_random_steps():
    """State that is updated from the results of a program, and from each other."""
    def check(program: Program) -> None:
        states = [ag.tensor(a) for a in program.arrays()]
        expected = [ag.tensor(a) for a in program.arrays()]
        f = program.function()

        def step(*tensors: Any) -> Any:
            results = f(*(t * 1 for t in tensors))
            for t, r in zip(tensors, results, strict=False):
                if r.shape == t.shape and r.dtype == t.dtype:
                    old = t * 1
                    t.copy_(r + tensors[-1].sum().astype(t.dtype))
                    tensors[0].add_(old.sum().astype(tensors[0].dtype))
            return results[-1]

        compiled = ag.jit(lambda: step(*states))
        for _ in range(2):
            try:
                result = step(*expected)
            except ValueError:  # of the program: what the step before left does not suit it
                with pytest.raises(ValueError):
                    compiled()
                return
            found = compiled()
            np.testing.assert_allclose(found.numpy(), result.numpy(), rtol=1e-4, atol=1e-3)
            for a, b in zip(states, expected, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-3)
        checked(compiled)

    each(check, dtypes=["float64", "float32"], first="float64", kind="whole")


def test_what_takes_over_memory_for_the_third_time():
    """A copy that is written nowhere looks into memory that was taken over before."""
    x = ag.tensor(np.ones(1))

    def f():
        y = -ag.concat([x, x])
        z = y * 1
        part = z[:0]
        part *= 2
        return z + 0 * z

    compiled = ag.jit(f)
    assert compiled().tolist() == [-1, -1]
    checked(compiled)


def test_the_program_of_four_arrays():
    """320 bytes for an array each; 160 where the arguments are given up; more where C is wanted."""
    A, B = T.vector("A", shape=(10,)), T.vector("B", shape=(10,))
    C = B * A
    D = C + 1
    a, b = np.ones(10), np.ones(10) * 2
    given_up = [ag.In(A, mutable=True), ag.In(B, mutable=True)]
    only = ag.function(given_up, D)
    assert only(a.copy(), b.copy()).tolist() == [3] * 10
    assert only.plan().eager_bytes == 320 and only.plan().planned_bytes == 160
    assert "320 bytes" in str(only.plan()) and "160 bytes" in str(only.plan())
    both = ag.function([A, B], [D, C])
    d, c = both(a, b)
    assert d.tolist() == [3] * 10 and c.tolist() == [2] * 10
    assert both.plan().planned_bytes == 320
    assert ag.function([A, B], D)(a, b) is not None and a.tolist() == [1] * 10
    inside = ag.function(given_up, [D, C])
    assert [r.tolist() for r in inside(a.copy(), b.copy())] == [[3] * 10, [2] * 10]


def layers(n: int) -> Any:
    x, h = T.matrix("x", shape=(8, 8)), None
    weights = [ag.shared(np.eye(8) * 0.5) for _ in range(n)]
    h = x
    for w in weights:
        h = T.tanh(T.dot(h, w))
    return x, weights, h.sum()


@pytest.mark.parametrize("n", [2, 10, 100])
def test_forward_nets_need_two_buffers(n):
    x, _, y = layers(n)
    f = ag.function([x], y)
    f(np.ones((8, 8)))
    assert f.plan().arena_bytes == 2 * 8 * 8 * 8
    checked(f)


def test_training_needs_memory_for_every_layer():
    sizes = []
    for n in (4, 8, 16):
        x, weights, y = layers(n)
        f = ag.function([x], updates={w: w - 0.1 * g for w, g in
                                      zip(weights, T.grad(y, weights), strict=True)})
        f(np.ones((8, 8)))
        checked(f)
        sizes.append(f.plan().arena_bytes // (8 * 8 * 8))
    assert sizes[1] - sizes[0] >= 4 and sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


def test_updates_are_in_place_only_where_that_is_safe():
    x = T.vector("x")
    for update, in_place in [
        (lambda w: w - 0.1 * x, True), (lambda w: w * w + w, True),
        (lambda w: w[::-1] * 1, False), (lambda w: w + w[::-1], False),
        (lambda w: w / w.sum(), True), (lambda w: w * 0 + w.sum(), True),
    ]:
        w = ag.shared(np.arange(1.0, 9.0))
        f = ag.function([x], updates={w: update(w)})
        values = w.get_value()
        for _ in range(2):
            f(np.ones(8))
            values = ag.function([x, v := T.vector("v")], update(v))(np.ones(8), values)
            np.testing.assert_allclose(w.get_value(), values)
        checked(f)
        if not in_place:
            assert f.plan().layout.kernels[-1].nodes == []  # it ends in a copy


def rows_of_scores(x, labels):
    """Losses, and what the scores should change by: of size 13, so that masks are needed."""
    scores = ag.matmul(x, np.eye(13, dtype=x.dtype))
    return ag.cross_entropy(scores, labels), ag.softmax(scores) - (labels[:, None] == np.arange(13))


def columns(x, labels):
    scores = ag.matmul(x, np.eye(13, dtype=x.dtype))
    return ag.softmax(scores, 0) + labels[:, None]


def across(x, labels):
    """What is read across rows cannot lie where rows are written."""
    scores = ag.matmul(x, np.eye(13, dtype=x.dtype))
    p = scores / scores.sum(1, keepdims=True)
    return p * scores.sum(0) + labels[:, None] + (scores[:1] - scores.max(1, keepdims=True))


@pytest.mark.share(4)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [1, 2, 7, 400])
@pytest.mark.parametrize("function", [rows_of_scores, columns, across])
def test_rows_that_are_read_before_they_are_written(function, rows, threads):
    rng = np.random.default_rng(rows)
    x, labels = rng.standard_normal((rows, 13)), rng.integers(0, 13, rows)
    compiled = ag.jit(function)
    with ag.config(threads=threads):
        found = compiled(ag.tensor(x), ag.tensor(labels))
    exact = function(ag.tensor(x), ag.tensor(labels))
    for a, b in zip(*map(as_tuple, (found, exact)), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)
    checked(compiled)


@pytest.mark.parametrize("n", [13, 33])
def test_rows_are_not_read_behind_what_is_written_over_them(n):
    """The softmax keeps its exponentials from their sum, and does not read the scores before it
    writes over them."""
    def cost(x):
        scores = ag.where(ag.arange(n)[:, None] >= ag.arange(n)[None], x @ x.T, -1e9)
        mean = ag.softmax(scores, axis=-1).mean(-2)
        return ag.where(mean > 0, ag.log(ag.where(mean > 0, mean, 1)), mean).sum()

    x = ag.tensor(np.random.default_rng(0).standard_normal((n, 2)))
    compiled = ag.jit(ag.value_and_grad(cost))
    for a, b in zip(compiled(x), ag.value_and_grad(cost)(x), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10)
    checked(compiled)


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def test_probabilities_lie_where_scores_lay():
    @ag.jit
    def step(x, w, labels):
        scores = ag.matmul(x, w)
        change = ag.softmax(scores) - (labels[:, None] == np.arange(500))
        return ag.cross_entropy(scores, labels), ag.matmul(change, w.T)

    x, w = ag.tensor(np.ones((64, 8))), ag.tensor(np.ones((8, 500)))
    step(x, w, ag.tensor(np.zeros(64, int)))
    assert step.plan().arena_bytes < 2 * 64 * 500 * 8
    checked(step)


@pytest.mark.parametrize("last", [True, False])
def test_what_ends_in_another_order_is_made_there(last):
    """A convolution's result in the order of its memory is the result; in another it is copied."""
    order = (0, 2, 3, 1) if last else (0, 3, 2, 1)

    @ag.jit
    def turned(x, w):
        return ag.permute_dims(ag.conv2d(ag.permute_dims(x, (0, 3, 1, 2)), w, padding=1), order)

    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype("f") for s in ((2, 6, 6, 32), (32, 32, 3, 3)))
    found = turned(ag.tensor(x), ag.tensor(w)).numpy()
    exact = ag.conv2d(x.transpose(0, 3, 1, 2), w, padding=1).numpy().transpose(order)
    np.testing.assert_allclose(found, exact, atol=1e-3)
    assert turned.plan().arena_bytes == (0 if last else exact.nbytes)
    checked(turned)

def test_plans_of_run_time_sizes_say_so():
    f = ag.jit(lambda x, w: ag.softmax(x @ w, axis=1) @ w.T)
    for n in (5, 9, 30):
        f(ag.ones((n, 4)), ag.ones((4, 6)))
    plan = f.plan()
    first, second, *lines = str(plan).splitlines()
    assert first == "n0, axis 0 of argument 0, is any size from 2 to 128"
    assert second == "all bytes are those of n0 = 16, for example:"
    assert "a0 argument 0: float32[n0, 4], 256 bytes, kernels 0 to 0" in lines
    assert plan.sizes["n0"].most == 128
    f = ag.jit(lambda x: x + 1)
    f(ag.ones(3))
    assert not f.plan().sizes and str(f.plan()).startswith("every value in its own array")


def test_plans_tell_whose_memory_is_taken_over():
    f = ag.jit(lambda x, w: ag.softmax(x @ w, axis=1) @ w.T)
    f(ag.ones((300, 4)), ag.ones((4, 300)))
    (place,) = [p for p in f.plan().places if p.shares]
    assert place.what != "matmul" and place.shares.endswith("matmul")
    assert f"takes over the memory of {place.shares}" in str(f.plan())


def test_constant_parts_of_run_time_sizes_are_counted_once() -> None:
    """Sorting asks for 16 n + 264 448 bytes: not 264 464 for each element."""
    f = ag.jit(lambda x: (ag.sort(x), ag.topk(x, 2, 0).indices))
    for n in (100, 101, 102):
        f(ag.tensor(np.arange(float(n))))
    plan = f.plan()
    assert "n0" in str(plan) and plan.arena_bytes < 1 << 20
    assert str(f.graph).count("ensure") == 1  # of k: places that an order has are on its axis


def test_what_each_thread_writes_is_not_written_over_what_it_reads():
    x, b = ag.ones((3, 4)) * 0.5, ag.full((7, 1), 1.2)

    def f(x, b):  # of the sum for b[:1] each thread made a product with what another one had left
        tails = ag.special.chdtr(1 + 4 * ag.sigmoid(x), 0.5 + 1.5 * ag.sigmoid(b[:1]))
        return tails.sum() + ag.atan(ag.logsumexp(x, axis=0)).sum()

    g = ag.value_and_grad(f, (0, 1))
    for found, wanted in zip(ag.jit(g)(x, b)[1], g(x, b)[1], strict=True):
        np.testing.assert_allclose(found, wanted, 1e-4)
