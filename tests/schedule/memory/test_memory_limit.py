"""Functions that must fit into little memory compute values again: same results, fewer bytes."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.compilation.limits import byte_count
from agnesi.core.ir.kernels import Buffer, Nest, Store
from agnesi.core.ir.loops import Affine, Axis, call, load
from agnesi.core.target import Costs
from agnesi.nn.functional import dropout
from agnesi.ops.random.generators import Generator
from agnesi.schedule.memory.rematerialize import Remaker
from tests.fuzz.program import Program
from tests.fuzz.samples import each
from tests.fuzz.values import REAL
from tests.schedule.memory.test_memory import checked

LAYER = 64 * 32 * 4


def training(n: int, limit: Any = None, b: int = 64, noise: bool = False) -> Any:
    """A compiled step of a net of n layers, its weights and a batch."""
    rng = np.random.default_rng(n)
    ws = [ag.tensor((rng.standard_normal((32, 32)) * 0.2).astype("float32"), requires_grad=True)
          for _ in range(n)]
    g = Generator(3)

    @ag.jit(memory_limit=limit)
    def step(x: Any) -> Any:
        for w in ws:
            w.grad = None
        h = x
        for w in ws:
            h = ag.tanh(h @ w)
            h = dropout(h, 0.3, generator=g) if noise else h
        loss = (h * h).sum()
        loss.backward()
        with ag.no_grad():
            for w in ws:
                w.sub_(0.001 * w.grad)
        return loss

    return step, ws, ag.tensor(rng.standard_normal((b, 32)).astype("float32"))


def three(parts: Any) -> list[np.ndarray]:
    step, ws, x = parts
    losses = [step(x).numpy() for _ in range(3)]
    return [*losses, *(w.numpy() for w in ws)]


@pytest.mark.share(5)
@pytest.mark.parametrize("noise", [False, True])
def test_results_are_the_same_bit_for_bit(noise):
    free = training(24, noise=noise)
    expected = three(free)
    figures = free[0].plan().figures()
    outside = figures["planned"] - figures["arena"]
    for share in (0.8, 0.6, 0.4):
        limit = outside + int(share * figures["arena"])
        tight = training(24, limit, noise=noise)
        for a, b in zip(expected, three(tight), strict=True):
            assert (a == b).all()
        assert tight[0].plan().planned_bytes <= limit
        assert len(tight[0].plan().layout.kernels) > len(free[0].plan().layout.kernels)
        checked(tight[0])


def test_a_limit_that_is_met_anyway_changes_nothing():
    free, same = training(6), training(6, "1GB")
    three(free)
    three(same)
    assert str(free[0].plan()) == str(same[0].plan())


def test_memory_falls_to_about_the_root():
    with pytest.raises(MemoryError, match=r"memory_limit of 1 kB; .* needs .* kB") as error:
        three(training(64, 1000))
    assert "test_memory_limit.py" in str(error.value)
    needed = float(str(error.value).split("it needs ")[1].split(" kB")[0]) * 1e3
    weights = 64 * 32 * 32 * 4
    assert needed < weights + 22 * LAYER
    fits = training(64, int(needed + 1e3))
    three(fits)
    assert fits[0].plan().planned_bytes <= needed + 1e3


def test_weights_that_change_early_are_not_read_late():
    """A value whose kernel reads a state is not computed again behind its update."""
    w = ag.shared(np.full((32, 32), 0.01))
    x = T.matrix("x", shape=(256, 32))
    h = T.tanh(T.dot(x, w))
    y = T.dot(T.exp(T.dot(h, T.ones((32, 32)))), T.ones((32, 32)))
    z = (y * T.dot(h, T.ones((32, 32)))).sum()
    updates = {w: w * 0.5}
    a = np.random.default_rng(0).standard_normal((256, 32))
    plain = ag.function([x], z, updates=updates)
    expected, limit = [plain(a) for _ in range(3)], plain.plan().planned_bytes
    for less in (65536, 131072):
        w.set_value(np.full((32, 32), 0.01))
        try:
            f = ag.function([x], z, updates=updates, memory_limit=limit - less)
            found = [f(a) for _ in range(3)]
        except MemoryError:
            continue
        np.testing.assert_array_equal(found, expected)
        checked(f)


@pytest.mark.long
def test_sizes_that_change():
    free, tight = training(12), training(12, 12 * 4096 + 11 * LAYER)
    for b in (64, 32, 48, 40, 64):
        x = free[2].array[:b]
        # A version for all sizes may add up in another order than one for this size.
        assert float(free[0](x)) == pytest.approx(float(tight[0](x)), rel=1e-6)
        assert tight[0].plan().planned_bytes <= 12 * 4096 + 11 * LAYER


def test_random_programs_in_little_memory():
    def check(program: Program) -> None:
        plain = ag.jit(program.function())
        expected = plain(*map(ag.tensor, program.arrays()))
        planned = plain.plan().planned_bytes
        for share in (0.9, 0.6):
            tight = ag.jit(program.function(), memory_limit=max(int(planned * share), 1))
            try:
                found = tight(*map(ag.tensor, program.arrays()))
            except MemoryError:
                continue
            for a, b in zip(expected, found, strict=True):
                np.testing.assert_array_equal(a.numpy(), b.numpy())
            checked(tight)

    each(check, dtypes=REAL, kind="whole")


@pytest.mark.long
def test_a_long_chain_is_planned_in_seconds():
    """A sixth of the memory of 600 layers, for half as many kernels more."""
    size, n = 256, 600
    i = Axis(0, size)
    at = Affine(0, {i: 1})
    values = [Buffer((size,), np.dtype("float32"), "temporary") for _ in range(2 * n + 1)]

    def kernel(b: Buffer, *operands: Buffer) -> Nest:
        loads = [load(o, "float32", at) for o in operands]
        value = call("multiply" if len(loads) > 1 else "tanh", *loads)
        return Nest([], (i,), [Store(b, at, value)])

    kernels = [kernel(b, a) for a, b in pairwise(values[: n + 1])]
    for t in range(n):
        kernels.append(kernel(values[n + 1 + t], values[n + t], values[n - t]))
    values[0].role, values[-1].role = "argument", "output"
    remaker = Remaker(kernels, {}, lambda kernel, old, new: True, Costs())
    start = time.process_time()
    assert remaker.shrink(n * size * 4 // 6) <= n * size * 4 // 6
    assert time.process_time() - start < 20
    assert len(remaker.remade()) < 1.5 * len(kernels)


def test_limits_as_text():
    assert byte_count("2kb") == 2000 and byte_count("2 KiB") == 2048 and byte_count("7") == 7
    assert byte_count(None) is None and byte_count("0.5G") == 500_000_000
    for wrong in ("much", 0, -1, 2.5, "5 TB"):
        with pytest.raises(ValueError, match="memory_limit"):
            ag.jit(lambda x: x, memory_limit=wrong)


def test_limits_may_be_whole_numbers_of_any_type():
    assert byte_count(2e9) == 2_000_000_000 and byte_count(np.int64(100)) == 100
    for wrong in (True, 0, -1, 2.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="memory_limit must be a number of bytes or text"):
            byte_count(wrong)
