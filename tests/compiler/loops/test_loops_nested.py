"""Random programs with loops and branches in each other mean the same in every way to run them.

``AGNESI_FUZZ=1000 pytest tests/compiler/loops/test_loops_nested.py`` tries that many programs per
test.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import agnesi as ag
from tests.compiler.ways import interpreted
from tests.share import EVERY

COUNT = int(os.environ.get("AGNESI_FUZZ", "24" if EVERY else "4"))
fuzz = settings(
    max_examples=COUNT, deadline=None, derandomize="AGNESI_FUZZ" not in os.environ, database=None,
    suppress_health_check=list(HealthCheck),
)
N = 3
W = np.random.default_rng(0).normal(size=(N, N))
ROWS = np.random.default_rng(1).normal(size=(6, N))

PLAIN = [
    lambda a, b: ag.tanh(a + b), lambda a, b: a * 0.5 - b, lambda a, b: ag.sin(a) * b,
    lambda a, b: ag.where(a > b, a, b * 0.3), lambda a, b: a.sum() * 0.1 + b,
    lambda a, b: ag.tanh(a @ ag.tensor(W)) + b, lambda a, b: ag.exp(-a * a) + b,
    lambda a, b: ag.flip(a) * b, lambda a, b: ag.softmax(a) - b, lambda a, b: ag.sort(a) + b,
]
number = st.integers(0, 7)
plain = st.tuples(st.just("plain"), st.integers(0, len(PLAIN) - 1), number, number)
#: Changes a tensor from outside in place, or draws random numbers.
effect = st.tuples(st.just("effect"), st.sampled_from(["random", "kept", "local"]), number)
#: What effects change, made anew for every run.
KEPT: dict[str, Any] = {}


WAYS = ["", "", "reverse", "until", "checkpoint", "cut", "counted"]


def blocks(inner: Any, ways: list[str]) -> Any:
    body = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("scan"), body, st.integers(0, 6), st.integers(1, 2),
                  st.sampled_from(ways)),
        st.tuples(st.just("while"), body, number),
        st.tuples(st.just("cond"), body, body, number),
    )


def programs_of(simple: Any, ways: list[str] = WAYS) -> Any:
    nested = st.recursive(
        simple, lambda inner: st.one_of(simple, blocks(inner, ways)), max_leaves=7
    )
    return st.lists(nested, min_size=2, max_size=5)


programs = programs_of(plain)


def run(program: Any, values: list[Any]) -> list[Any]:
    """The values that there are behind a program."""
    values = list(values)
    for kind, *rest in program:
        values += globals()[f"_{kind}"](values, *rest)
    return values


def _plain(values: list[Any], which: int, i: int, j: int) -> list[Any]:
    return [PLAIN[which](values[i % len(values)], values[j % len(values)])]


def _effect(values: list[Any], what: str, i: int) -> list[Any]:
    if what == "random":
        return [values[i % len(values)] * ag.random.uniform(size=N, dtype="float64")]
    if what == "local":
        here = values[i % len(values)] * 1
        part = here[1:]
        part.add_(values[0][:-1])
        here[0] = 0.5
        return [here, part.sum() + here]
    KEPT["sum"].add_(ag.tanh(values[i % len(values)]))
    KEPT["last"][1:] = values[i % len(values)][:-1]
    return [KEPT["sum"] * 0.1 + KEPT["last"]]


def _scan(values: list[Any], body: Any, length: int, carries: int, how: str) -> list[Any]:
    def step(carry: Any, row: Any) -> Any:
        if how == "change":
            carry[0].mul_(0.5)
        found = run(body, [*values[:2], *carry, row])
        return tuple(ag.tanh(v) for v in found[-carries:]), {"last": found[-1], "row": row.sum()}

    options: dict[str, Any] = {
        "reverse": {"reverse": True}, "until": {"until": lambda c: c[0].sum() > 0.5},
        "checkpoint": {"checkpoint": True}, "cut": {"truncate_gradient": 2},
    }.get(how, {})
    xs = ag.tensor(ROWS[:length]) * values[-1]
    init = tuple(values[-carries:]) if len(values) >= carries else (values[0],) * carries
    if how == "counted":
        return _counted(step, init, xs, (values[0].sum() * 3).astype("int64").clip(0, length))
    last, ys, *_ = ag.scan(step, init, xs, **options)
    return [*last, (ys["last"] * ag.arange(1.0, length + 1, dtype="float64")[:, None]).sum(0)
            + ys["row"].sum()]


def _counted(step: Any, init: Any, xs: Any, count: Any) -> list[Any]:
    """Eagerly a length is a number, and the results have as many rows."""
    last, ys = ag.scan(step, init, xs, count)
    return [*last, ys["last"].sum(0) + ys["row"].sum()]


def _while(values: list[Any], body: Any, limit: int) -> list[Any]:
    def step(state: Any) -> Any:
        i, v = state
        return i + 1, ag.tanh(run(body, [values[0], v])[-1])

    stop = values[-1].sum() * 0.5 + limit % 5
    return [ag.while_loop(lambda s: s[0] < stop, step, (0.0, values[-1]))[1]]


def _cond(values: list[Any], first: Any, second: Any, i: int) -> list[Any]:
    return [ag.cond(values[i % len(values)].sum() > 0, lambda v: run(first, [values[0], v])[-1],
                    lambda v: run(second, [values[0], v])[-1], values[-1])]


def starts() -> list[np.ndarray]:
    return [np.random.default_rng(s).normal(size=N) for s in (2, 3)]


def check(f: Any, optimizer: str | None = None) -> None:
    found = []
    for way in ("eager", "interpreted", "compiled"):
        ag.manual_seed(5)
        KEPT.update({k: ag.zeros(N, dtype="float64") for k in ("sum", "last")})
        with interpreted(way == "interpreted"):
            g = f if way == "eager" else ag.jit(f, optimizer=optimizer)
            values = [np.asarray(v) for _ in range(2) for v in g(*map(ag.tensor, starts()))]
        found.append([*values, *map(np.asarray, KEPT.values())])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(b, a, 1e-8, 1e-9)


@fuzz
@given(programs, st.sampled_from([None, None, "fast_compile", "None"]))
def test_values(program, optimizer):
    check(lambda *xs: run(program, list(xs))[-4:], optimizer)


changing = programs_of(st.one_of(plain, effect, effect), [*WAYS, "change", "change"])


@fuzz
@given(changing, st.sampled_from([None, None, "None"]))
def test_state(program, optimizer):
    """Tensors that loops and branches change, and random numbers in them, as in eager code."""
    check(lambda *xs: run(program, list(xs))[-4:], optimizer)


@pytest.mark.long
@settings(fuzz, max_examples=max(COUNT // 2, 3))
@given(programs)
def test_gradients(program):
    def loss(*xs):
        return sum((v.sum() for v in run(program, list(xs))[-3:]), xs[0].sum() * 0)

    check(ag.grad(loss, argnums=(0, 1)))


@settings(fuzz, max_examples=max(COUNT // 4, 2))
@given(programs)
def test_tangents_of_gradients(program):
    def loss(*xs):
        return sum((v.sum() for v in run(program, list(xs))[-2:]), xs[0].sum() * 0)

    def product(*xs):
        return ag.jvp(ag.grad(loss, argnums=(0, 1)), xs, [x * 0 + 1 for x in xs])[1]

    check(product)
