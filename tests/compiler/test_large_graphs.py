"""Graphs of thousands of nodes: time that grows with their size, no recursion, bounded kernels."""

import math
import sys
import time

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.fingerprint import fingerprint
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.rewrite import rewrite


@pytest.fixture
def small_stack():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(600)
    yield
    sys.setrecursionlimit(before)


def chain(n):
    x = T.vector("x", shape=(8,))
    y = x
    for i in range(n // 4):
        y = ag.tanh(y * (1.0 + i % 7) + x) * 0.5
    return x, y


def tree(n):
    x = T.vector("x", shape=(8,))
    parts = [ag.exp(x * float(i)) + x - float(i) for i in range(n // 5)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + (
            [parts[-1]] if len(parts) % 2 else []
        )
    return x, parts[0]


def front(make, n):
    """Processor seconds to write, differentiate, close, name and rewrite a graph, and its size."""
    start = time.process_time()
    x, y = make(n)
    (g,) = T.grad(y.sum(), [x])
    graph = FunctionGraph([graph_node(x)], [graph_node(y), graph_node(g)]).specialise({})
    assert fingerprint(graph, [])
    rewrite(graph)
    return time.process_time() - start, len(graph)


@pytest.mark.parametrize("make", [chain, tree])
def test_the_front_half_takes_time_in_proportion(make, small_stack):
    front(make, 400)
    small, few = min(front(make, 500) for _ in range(3))
    large, many = min(front(make, 8_000) for _ in range(2))
    slope = math.log(large / small) / math.log(many / few)
    assert slope < 1.25, "1.1 on a quiet machine"
    assert large / many < 1e-3


def unrolled(n, size):
    x = ag.tensor(np.random.default_rng(1).standard_normal(size).astype("float32"))
    w = [ag.tensor(np.float32(1 + i % 5)) for i in range(5)]

    def f(x):
        y = x
        for i in range(n):
            y = ag.tanh(y * w[i % 5] + x)
        return y.sum()

    return f, x


def test_kernels_of_an_unrolled_loop_are_few(small_stack):
    f, x = unrolled(600, 64)
    compiled = ag.jit(f)
    result = compiled(x)
    np.testing.assert_allclose(result.numpy(), f(x).numpy(), rtol=1e-4)
    steps = compiled.plan().steps
    assert len(steps) > 3 * len({s.name for s in steps})


def test_sums_of_thousands_of_terms_are_cut(small_stack):
    x, y = tree(4_000)
    f = ag.function([x], y)
    values = np.linspace(-1e-3, 1e-3, 8)
    expected = sum(np.exp(values * i) + values - i for i in range(800))
    np.testing.assert_allclose(f(values), expected)
    assert len(f.plan().steps) > 4


def test_hundreds_of_sines_compile_quickly():
    x = ag.tensor(np.linspace(-3, 3, 1000).astype("float32"))

    def f(x):
        y = x
        for i in range(300):
            y = ag.sin(y * 1.01 + 0.1 * i) * 0.9 + x
        return y

    compiled = ag.jit(f)
    start = time.process_time()
    result = compiled(x)
    assert time.process_time() - start < 4, "about one second on a quiet machine"
    np.testing.assert_allclose(result.numpy(), f(x).numpy(), rtol=1e-3, atol=1e-4)
    assert compiled.ir().count("sin.far") < 2000
    text = compiled.specialisations[-1].compiled.recipe.text
    assert text.count("define internal <16 x float> @sin.far") <= 1


@pytest.mark.parametrize("preset", ["None", "fast_compile", "fast_run"])
def test_presets_agree(preset):
    f, x = unrolled(40, 37)
    expected = f(x).numpy()
    compiled = ag.jit(f, optimizer=preset)
    np.testing.assert_allclose(compiled(x).numpy(), expected, rtol=1e-5)


def test_fast_compile_makes_less_code():
    rng = np.random.default_rng(2)
    a, b = (ag.tensor(rng.standard_normal(s).astype("float32")) for s in ((60, 784), (784, 500)))

    def f(a, b):
        return ag.maximum(a @ b, 0), ag.exp(a[:, 5:])

    fast, small = ag.jit(f), ag.jit(f, optimizer="fast_compile")
    for one, other in zip(fast(a, b), small(a, b), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)
    sizes = [len(j.specialisations[-1].compiled.recipe.text) for j in (fast, small)]
    assert sizes[1] < sizes[0]
