"""Loops and branches as machine code: values against the reference, and what the code is like."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.support.record import record
from agnesi.ops.control.branch import Cond
from agnesi.ops.control.loop import Scan, While
from tests.compiler.loops.bodies import body, check, kinds, results

SIZES = [(), (1,), (0,), (5,), (64,), (100,), (3, 33)]


def normal(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape), dtype)


def weighted(shape: tuple[int, ...], dtype: str = "float64") -> Any:
    """A sum that decays, its double stacked."""
    return body(lambda x, c, k: (c * k + x, c * 2), (shape, dtype), (shape, dtype), ((), dtype))


@pytest.mark.share(2)
@pytest.mark.parametrize("preset", ["fast_run", "None"])
@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(shape, reverse, preset):
    op = Scan(weighted(shape), 7, 1, 1, 1, reverse=reverse)
    check(op, normal(7, *shape), normal(*shape), 0.5, optimizer=preset)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16"])
def test_dtypes(dtype):
    op = Scan(body(lambda x, c: (c + x, c), ((4,), dtype), ((4,), dtype)), 5, 1, 1, 1)
    check(op, np.arange(20).reshape(5, 4).astype(dtype), np.ones(4, dtype), tolerance=1e-3)


def test_bools_and_complex_numbers():
    op = Scan(body(lambda x, c: (c != x, c), ((), "bool"), ((), "bool")), 6, 1, 1, 1)
    check(op, np.array([1, 0, 0, 1, 1, 0], bool), np.array(True))
    op = Scan(body(lambda x, c: (c * x, c), ((2,), "complex128"), ((2,), "complex128")), 3, 1, 1, 1)
    check(op, normal(3, 2) + 1j * normal(3, 2, seed=1), normal(2) + 0j)


@pytest.mark.parametrize("length", [0, 1, 2])
@pytest.mark.parametrize("shape", [(), (100,)], ids=str)
def test_few_steps(length, shape):
    check(Scan(weighted(shape), length, 1, 1, 1), normal(length, *shape), normal(*shape), 0.5)


@pytest.mark.parametrize("count", [-1, 0, 1, 4, 7, 9])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(), (100,)], ids=str)
def test_counted(count, reverse, shape):
    op = Scan(weighted(shape), 7, 1, 1, 1, reverse=reverse, counted=True)
    check(op, np.int64(count), normal(7, *shape), normal(*shape), 0.5)


@pytest.mark.parametrize("limit", [-1.0, 2.5, 1e9])
@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize("count", [None, 0, 2])
def test_until(limit, size, count):
    step = body(lambda x, c, m: (c + x, c * 2, c[0] + x[0] > m), ((size,), "float64"),
                ((size,), "float64"), ((), "float64"))
    op = Scan(step, 6, 1, 1, 1, until=True, counted=count is not None)
    counts = [] if count is None else [np.int64(count)]
    check(op, *counts, np.ones((6, size)), np.zeros(size), limit)


@pytest.mark.parametrize("shape", [(), (4,), (100,)], ids=str)
def test_carries_change_places(shape):
    kind = (shape, "float64")
    check(Scan(body(lambda a, b: (b, a, a), kind, kind), 5, 0, 2, 1), normal(*shape),
          normal(*shape, seed=1))
    check(Scan(body(lambda a, b: (b, a + b, a), kind, kind), 9, 0, 2, 1), normal(*shape),
          normal(*shape, seed=1))
    check(Scan(body(lambda a, b, c: (b, c, a), kind, kind, kind), 4, 0, 3, 0), normal(*shape),
          normal(*shape, seed=1), normal(*shape, seed=2))
    check(Scan(body(lambda a, b: (c := a[..., ::-1] + b if shape else a - b, c, c), kind, kind),
               4, 0, 2, 1), normal(*shape), normal(*shape, seed=1))


@pytest.mark.share(2)
@pytest.mark.parametrize(("width", "rows", "steps"), [(16, 1, 9), (7, 3, 5), (32, 8, 6),
                                                      (128, 16, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recurrence_of_products(width, rows, steps, dtype):
    h = ((rows, width), dtype)
    step = body(lambda x, h, w: (y := ag.tanh(x + h @ w), y), h, h, ((width, width), dtype))
    check(Scan(step, steps, 1, 1, 1), normal(steps, rows, width, dtype=dtype),
          normal(rows, width, dtype=dtype, seed=1),
          normal(width, width, dtype=dtype, seed=2) / width, tolerance=1e-5)


def test_operands_are_read_where_they_lie():
    op = Scan(weighted((4,)), 5, 1, 1, 1)
    a, c, k = normal(4, 10), normal(4), np.asarray(0.5)
    compiled = ag.jit(lambda a, c, k: results(op, a.T[::-2], c, k))
    found = compiled(*map(ag.tensor, (a, c, k)))
    for x, y in zip(found, op.perform(a.T[::-2], c, k), strict=True):
        np.testing.assert_allclose(x.numpy(), y)
    assert kinds(compiled) == ["Loop[Nest]"]


def test_nested_scans():
    inner = Scan(weighted(()), 6, 1, 1, 1)
    step = body(lambda x, c, k: results(inner, x, c, k), ((6,), "float64"), ((), "float64"),
                ((), "float64"))
    compiled = check(Scan(step, 5, 1, 1, 1), normal(5, 6), 1.0, 0.5)
    assert kinds(compiled) == ["Loop[Loop[Nest]]"]
    assert "0: loop scan: " in str(compiled.plan())
    assert "\n  - loop scan\n    - loops " in str(compiled.plan())


def test_python_inside_a_loop():
    step = body(lambda x, c: (c + ag.sort(x), c * 2), ((6,), "float64"), ((6,), "float64"))
    check(Scan(step, 5, 1, 1, 1), normal(5, 6), normal(6, seed=1))
    a = normal(3, 10)
    step = body(lambda x, c: (c + ag.sort(x), c * 2), ((3,), "float64"), ((3,), "float64"))
    op = Scan(step, 10, 1, 1, 1)
    found = ag.jit(lambda a, c: results(op, a.T, c))(ag.tensor(a), ag.zeros(3, "float64"))
    for x, y in zip(found, op.perform(a.T, np.zeros(3)), strict=True):
        np.testing.assert_allclose(x.numpy(), y)


@pytest.mark.parametrize("size", [1, 3, 300])
def test_while(size):
    kind = ((size,), "float64")
    test = body(lambda a, k: (ag.sum(a) < k,), kind, ((), "float64"))
    step = body(lambda a, k: (a * 2 + a[::-1],), kind, ((), "float64"))
    for limit in (-1.0, 10.0, 1e7):
        check(While(test, step, 1), np.ones(size), limit)


@pytest.mark.parametrize("size", [1, 7, 300])
@pytest.mark.parametrize("choice", [False, True])
def test_cond(size, choice):
    kind = ((size,), "float64")
    first = body(lambda x, y: (ag.sin(x) + y, x), kind, kind)
    second = body(lambda x, y: (x, x), kind, kind)
    check(Cond(first, second), np.array(choice), normal(size), normal(size, seed=1))


def test_cond_in_a_loop_in_a_branch():
    kind = ((), "float64")
    grow, shrink = body(lambda c: (c * 2,), kind), body(lambda c: (c - 10,), kind)
    choice = Cond(grow, shrink)
    step = body(lambda x, c: (y := results(choice, c < 20.0, c)[0] + x, y), kind, kind)
    loop = Scan(step, 8, 1, 1, 1)
    check(loop, normal(8), 3.0)
    outer = Cond(body(lambda x, c: results(loop, x, c), ((8,), "float64"), kind),
                 body(lambda x, c: (c, x), ((8,), "float64"), kind))
    for decision in (True, False):
        check(outer, np.array(decision), normal(8), 3.0)


# -- what the code is like ------------------------------------------------------------------
def test_small_carries_live_in_registers():
    kind = ((), "float64")
    step = body(lambda x, a, b: (a * 0.5 + b, b * x, a), kind, kind, kind)
    compiled = check(Scan(step, 50, 1, 2, 1), normal(50), 1.0, 2.0)
    loop = _loop_of(compiled.ir())
    assert len(re.findall(r"phi double", loop)) >= 2
    assert loop.count("load double") == 1  # the row of the sequence
    assert loop.count("store double") == 1  # the row of the result
    assert "alloca" not in compiled.ir().partition("define i32 @body")[0]


@pytest.mark.native_plans
def test_rows_are_written_in_place():
    h = ((16, 64), "float32")
    step = body(lambda x, h, w: (y := ag.tanh(x + h @ w), y), h, h, ((64, 64), "float32"))
    op = Scan(step, 4, 1, 1, 1)
    compiled = check(op, normal(4, 16, 64, dtype="float32"), normal(16, 64, dtype="float32"),
                     normal(64, 64, dtype="float32") / 8, tolerance=1e-5)
    assert kinds(compiled) == ["Loop[Product]"]
    (loop,) = compiled._last().scheduled.layout.kernels
    (carry,) = loop.carries
    assert carry.following is loop.rows[0][0]


def test_large_accumulators_stay_in_place():
    kind = ((1000,), "float64")
    compiled = check(Scan(body(lambda x, c: (c * 0.5 + x,), kind, kind), 4, 1, 1, 0),
                     normal(4, 1000), normal(1000))
    (loop,) = compiled._last().scheduled.layout.kernels
    (carry,) = loop.carries
    assert (carry.following.slot, carry.following.offset) == (carry.inside.slot, 0)


def test_compile_time_and_code_do_not_grow_with_the_steps():
    def code(steps: int) -> str:
        op = Scan(weighted(()), steps, 1, 1, 1)
        return check(op, normal(steps), 1.0, 0.5)._last().recipe.text

    assert len(code(10)) == len(code(90))
    assert code(10).replace("10", "90") == code(90).replace("10", "90")


def _loop_of(text: str) -> str:
    """The body of the only loop of a module."""
    block = re.search(r"\n(loop\d+):.*?br i1 [^\n]*label %\1[^\n]*", text, re.DOTALL)
    assert block is not None
    return block[0]


def test_lengths_are_run_time_values():
    def loss(x: Any, h: Any, w: Any) -> Any:
        return (ag.scan(lambda h, x: ((y := ag.tanh(x + h @ w)), y), h, x)[1] ** 2).sum()

    step = ag.jit(ag.grad(loss, (0, 1, 2)))
    h, w = ag.tensor(normal(3, 40)), ag.tensor(normal(40, 40, seed=1) / 7)
    for steps in (3, 4, 5, 6, 9, 30, 2):
        x = ag.tensor(normal(steps, 3, 40))
        for a, b in zip(step(x, h, w), ag.grad(loss, (0, 1, 2))(x, h, w), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-10)
    assert len(step.specialisations) <= 3


def test_rows_of_carries_are_run_time_values():
    def loss(h: Any, w: Any) -> Any:
        return (ag.scan(lambda h, _: ((y := ag.tanh(h @ w + 1)), y), h, None, length=4)[1]).sum()

    step = ag.jit(ag.grad(loss, (0, 1)))
    w = ag.tensor(normal(6, 6, seed=1))
    for rows in (2, 3, 4, 5, 9, 100, 7):
        h = ag.tensor(normal(rows, 6))
        for a, b in zip(step(h, w), ag.grad(loss, (0, 1))(h, w), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=1e-10)
    assert len(step.specialisations) <= 3


def test_few_elements_are_values_in_registers():
    kind = ((3,), "float64")
    step = body(lambda c: (y := ag.stack([c[1] * c[2], c[0] - c[2], c.sum()]) * 0.1, y), kind)
    compiled = check(Scan(step, 9, 0, 1, 1), normal(3))
    code = compiled.ir().partition("define i32 @body")[0]
    assert "alloca" not in code
    assert "x double>" not in _loop_of(code)


def test_threads_share_the_work_of_a_step():
    h = ((256, 256), "float32")
    step = body(lambda x, h, w: (y := ag.tanh(x + h @ w), y), h, h, h)
    op = Scan(step, 3, 1, 1, 1)
    arrays = [normal(*s, dtype="float32") / 16 for s in ((3, 256, 256), (256, 256), (256, 256))]
    check(op, *arrays, tolerance=1e-5)
    threads = ag.get_num_threads()
    compiled = ag.jit(lambda *xs: results(op, *xs))
    try:
        found = []
        for n in (1, 2):
            ag.set_num_threads(n)
            found.append([y.numpy() for y in compiled(*map(ag.tensor, arrays))])
    finally:
        ag.set_num_threads(threads)
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


class Calls(list):
    """A list that is equal to itself alone."""

    def __init__(self, calls: list[float]) -> None:
        self.append = calls.append

    __hash__ = object.__hash__


@record
class Root(Op):
    """A square root that refuses negative numbers, and counts its calls."""

    calls: Any
    name = "root"

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        self.calls.append(float(x))
        if x < 0:
            raise ValueError("a negative number")
        return np.sqrt(x)


def test_errors_of_python_inside_stop_the_loop():
    calls: list[float] = []
    kind = ((), "float64")
    step = body(lambda x, c: (c + apply(Root(Calls(calls)), x),), kind, kind)
    op = Scan(step, 5, 1, 1, 0)
    compiled = ag.jit(lambda x, c: results(op, x, c)[0])
    c = ag.zeros((), "float64")
    assert float(compiled(ag.tensor([4.0, 9.0, 1.0, 0.0, 1.0], "float64"), c)) == 7.0
    calls.clear()
    with pytest.raises(ValueError, match="a negative number"):
        compiled(ag.tensor([4.0, -9.0, 1.0, 0.0, 1.0], "float64"), c)
    assert calls == [4.0, -9.0]


def test_only_the_chosen_branch_runs():
    calls: list[float] = []
    kind = ((), "float64")
    choice = Cond(body(lambda x: (apply(Root(Calls(calls)), x),), kind), body(lambda x: (x,), kind))
    compiled = ag.jit(lambda x: results(choice, x > 0, x)[0])
    assert float(compiled(ag.tensor(-1.0, "float64"))) == -1.0
    assert calls == []
    assert float(compiled(ag.tensor(4.0, "float64"))) == 2.0
    assert calls == [4.0]
