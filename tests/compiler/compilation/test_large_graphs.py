"""Graphs of thousands of nodes: time that grows with their size, no recursion, bounded kernels."""

import sys
import time

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.compilation.fingerprint import fingerprint
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.rewrite import rewrite
from agnesi.rewrite.intervals import interval


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


def calls_of(f, *args):
    """How many functions, Python's and C's, are called while one runs."""
    count = 0

    def tell(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tell)
    try:
        f(*args)
    finally:
        sys.setprofile(before)
    return count


def front(make, n):
    """Write, differentiate, close, name and rewrite a graph."""
    x, y = make(n)
    (g,) = T.grad(y.sum(), [x])
    graph = FunctionGraph([graph_node(x)], [graph_node(y), graph_node(g)]).specialise({})
    assert fingerprint(graph, [])
    rewrite(graph)


def test_texts_tell_which_values_are_read():
    a, b = ag.tensor([1.0, 2.0]), ag.tensor([3.0, 4.0])
    texts = []
    for f in (lambda x: a - b, lambda x: b - a, lambda x: x - a, lambda x: x - b, lambda x: a - x,
              lambda x: (a - b) - (b - a), lambda x: (a - b) - (x - a), lambda x: a - b):
        step = ag.jit(f)
        step(ag.ones(2))
        texts.append(fingerprint(step.graph, [a, b]))
    assert texts[0] == texts[-1] and len(set(texts)) == len(texts) - 1


@pytest.mark.share(5)
@pytest.mark.parametrize("make", [chain, tree])
def test_the_front_half_calls_functions_in_proportion(make, small_stack):
    front(make, 200)
    few, many = calls_of(front, make, 200), calls_of(front, make, 800)
    assert many < 4.4 * few


def test_bounds_of_a_value_that_is_read_often_are_found_once():
    y = T.vector("x", shape=(8,))
    for _ in range(12):
        y = y * y + y
    interval(graph_node(y))
    assert calls_of(interval, graph_node(y)) < 1000


def gradient_of_chain(n, step=lambda x: x * x - 1):
    def f(x):
        for _ in range(n):
            x = step(x)
        return x.sum()

    return ag.jit(ag.grad(f)), ag.ones(8)


def sgd_step(n):
    ps = [ag.tensor([0.1, 0.2, 0.3], requires_grad=True) for _ in range(n)]
    optimizer = ag.optim.SGD(ps, lr=0.1)

    def step(x):
        loss = x.sum()
        for p in ps:
            loss = loss + ((p - x) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return ag.jit(step), ag.ones(3)


def sums(n):
    return ag.jit(lambda x: [ag.exp(x + float(i)) for i in range(n)]), ag.ones(5)


def irregular(n):
    """Each operation takes the last value and any earlier one, so that no two kernels are equal."""
    rng = np.random.default_rng(1)
    operations = [
        lambda a, b: a * b, lambda a, b: a + b, lambda a, b: ag.sin(a) * 0.5 + b,
        lambda a, b: ag.tanh(a - b), ag.maximum, lambda a, b: ag.where(a > b, a, b * 0.9),
    ]
    program = [(operations[rng.integers(6)], int(rng.integers(i + 1))) for i in range(n)]

    def f(x):
        values = [x]
        for operation, place in program:
            values.append(operation(values[-1], values[place]))
        return values[-1]

    return ag.jit(f), ag.tensor(np.linspace(0.1, 0.9, 8).astype("float32"))


def nested(n):
    nest = ag.ones(3)
    for i in range(30 * n):
        nest = [nest] if i % 2 else {"inner": nest}
    return ag.jit(lambda nest: None), nest


@pytest.mark.share(5)
@pytest.mark.parametrize(
    ("make", "n"),
    [(nested, 20), (gradient_of_chain, 60), (sgd_step, 12), (sums, 12), (irregular, 100)])
def test_compiling_calls_functions_in_proportion(make, n):
    f, x = make(n // 2)
    f(x)
    counts = []
    for size in (n, 2 * n, 4 * n):
        f, x = make(size)
        counts.append(calls_of(f, x))
    first, second, third = counts
    assert third - second < 2.2 * (second - first)


def test_steps_of_a_long_gradient_are_few_kernels():
    f, x = gradient_of_chain(300, lambda x: ag.sin(x) + 1)
    f(x)
    steps = f.plan().steps
    assert len(steps) > 12 and len({s.name for s in steps}) <= 8


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


@pytest.mark.long
def test_sums_of_thousands_of_terms_are_cut(small_stack):
    x, y = tree(4_000)
    f = ag.function([x], y)
    values = np.linspace(-1e-3, 1e-3, 8)
    expected = sum(np.exp(values * i) + values - i for i in range(800))
    np.testing.assert_allclose(f(values), expected)
    assert len(f.plan().steps) > 4


@pytest.mark.long
def test_hundreds_of_sines_compile_quickly():
    x = ag.tensor(np.linspace(-3, 3, 1000).astype("float32"))

    def f(x):
        y = x
        for i in range(150):
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


@pytest.mark.native_plans
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
