"""vmap: every operation's batching against a loop over examples; loops, transformations, nests."""

from __future__ import annotations

import copy
import itertools
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.core.op import Op
from agnesi.core.tensor import wrap
from agnesi.testing.samples import cases

CASES = cases()


def varied(x: np.ndarray) -> np.ndarray:
    """Another operand like x, of whole numbers if that is: orders are."""
    if x.dtype.kind in "fc" and (x % 1 if x.dtype.kind == "f" else x).any():
        return np.asarray(x * 0.875)
    return np.asarray(x.ravel()[::-1].reshape(x.shape))


def examples(x: np.ndarray) -> list[np.ndarray]:
    return [x, varied(x), x]


def agree(found: Any, expected: Any) -> None:
    eps = 256 * float(np.finfo(expected.dtype).eps) if expected.dtype.kind in "fc" else 0
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, eps, eps)


@pytest.mark.share(6)
@pytest.mark.parametrize("name", CASES)
def test_operations_agree_with_a_loop(name: str) -> None:
    case = CASES[name]
    for sample in case.samples:
        arrays = [np.asarray(a) for a in sample]
        columns = [examples(a) for a in arrays]
        ways = [w for w in itertools.product((True, False), repeat=len(arrays)) if any(w)]
        for number, way in enumerate(ways):
            axis = 0 if number % 2 == 0 else -1
            operands = [
                np.stack(c, axis) if w else a for c, w, a in zip(columns, way, arrays, strict=True)
            ]
            expected = np.stack([
                case.function(*[
                    wrap(c[i]) if w else wrap(a)
                    for c, w, a in zip(columns, way, arrays, strict=True)
                ]).numpy()
                for i in range(3)
            ], axis)
            axes = tuple(axis if w else None for w in way)
            found = ag.vmap(case.function, axes, axis)(*map(wrap, operands))
            agree(found.numpy(), expected)


@pytest.mark.share(8)
@pytest.mark.parametrize("name", [n for n in CASES if CASES[n].grads])
def test_gradients_of_batched_operations(name: str) -> None:
    case = CASES[name]
    arrays = [np.asarray(a) for a in case.samples[0]]
    numbers = tuple(i for i, a in enumerate(arrays) if a.dtype.kind == "f")
    value = case.function(*map(wrap, arrays))
    if not numbers or value.dtype.kind != "f":
        return

    def loss(*xs: Any) -> Any:
        return ag.sin(case.function(*xs)).sum()

    gradient = ag.grad(loss, argnums=numbers)
    try:
        expected = [gradient(*[wrap(examples(a)[i]) for a in arrays]) for i in range(3)]
    except ag.GradientError:
        return
    stacked = [wrap(np.stack(examples(a))) for a in arrays]
    for found in (
        ag.vmap(gradient)(*stacked),
        ag.grad(lambda *xs: ag.vmap(loss)(*xs).sum(), argnums=numbers)(*stacked),
    ):
        for g, column in zip(found, zip(*expected, strict=True), strict=True):
            agree(g.numpy(), np.stack([c.numpy() for c in column]))


# -- arguments --------------------------------------------------------------------------------
Pair = namedtuple("Pair", "a b")


def test_axes_are_nests() -> None:
    x, y = ag.arange(6.0).reshape((2, 3)), ag.arange(3.0)
    f = ag.vmap(lambda d, p: {"s": d["x"] + p.a, "t": Pair(p.b * 2, d["x"].sum())},
                in_axes=({"x": 1}, Pair(0, None)), out_axes={"s": -1, "t": Pair(None, 0)})
    found = f({"x": x}, Pair(y, ag.tensor(4.0)))
    np.testing.assert_array_equal(found["s"].numpy(), x.numpy() + y.numpy())
    assert found["t"].a.item() == 8.0
    np.testing.assert_array_equal(found["t"].b.numpy(), x.numpy().sum(0))


def test_what_does_not_differ_is_repeated() -> None:
    w = ag.tensor([1.0, 2.0])
    np.testing.assert_array_equal(ag.vmap(lambda x: w)(ag.zeros(3)).numpy(), [[1.0, 2.0]] * 3)
    assert ag.vmap(lambda x: w, out_axes=None)(ag.zeros(3)) is w
    assert ag.vmap(lambda: ag.ones(2), axis_size=4)().shape == (4, 2)


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: ag.vmap(ag.add)(ag.zeros(2), ag.zeros(3)), ag.ShapeError, "has 3 examples on axis 0"),
    (lambda: ag.vmap(ag.sin)(1.0), ag.ShapeError, "has no axis 0 for examples"),
    (lambda: ag.vmap(ag.sin, None)(1.0), ValueError, "give axis_size"),
    (lambda: ag.vmap(ag.sin, out_axes=None)(ag.zeros(2)), ValueError, "differs between examples"),
    (lambda: ag.vmap(ag.add, (0,))(ag.zeros(2), ag.zeros(2)), ValueError, "1 entries for 2"),
    (lambda: ag.vmap(ag.sin, ((0, 0),))(ag.zeros(2)), ValueError, "no nest of axes like"),
    (lambda: ag.vmap(ag.sin, randomness="no")(ag.zeros(2)), ValueError, "'different' or 'same'"),
    (lambda: ag.vmap(lambda x: x if x > 0 else -x)(ag.zeros(2)), TypeError, "where"),
])
def test_errors(call: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_python_looks_at_what_does_not_differ() -> None:
    def f(x: Any, k: Any) -> Any:
        return x * k if float((k * 2).sum()) > 3 else x - k

    x = ag.arange(3.0)
    np.testing.assert_array_equal(ag.vmap(f, (0, None))(x, ag.tensor(2.0)).numpy(), [0, 2, 4])
    np.testing.assert_array_equal(ag.vmap(f, (0, None))(x, ag.tensor(1.0)).numpy(), [-1, 0, 1])


def test_changes_in_place() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[0] += x[1]
        y[1:] = 0.0
        return y

    x = np.arange(6.0).reshape(3, 2)
    expected = np.stack([x[:, 0] * 2 + x[:, 1], np.zeros(3)], 1)
    np.testing.assert_array_equal(ag.vmap(f)(wrap(x)).numpy(), expected)
    np.testing.assert_array_equal(ag.jit(ag.vmap(f))(wrap(x)).numpy(), expected)
    counter = ag.zeros(())

    def counting(x: Any) -> Any:
        counter.copy_(counter + 1)
        return x + counter

    assert ag.vmap(counting)(ag.zeros(2)).tolist() == [1.0, 1.0] and counter.item() == 1.0

    def leaking(x: Any) -> Any:
        counter.copy_(counter + x)
        return x

    with pytest.raises(TypeError, match="differs between examples"):
        ag.vmap(leaking)(ag.zeros(2))


# -- random numbers ---------------------------------------------------------------------------

#: Draws for each example by functions, and loops, that are given nothing of the examples.
SAME_FOR_ALL = {
    "scan": lambda: ag.scan(lambda c, _: (c + ag.random.uniform(), c), ag.zeros(()), None, 3),
    "fori_loop": lambda: ag.fori_loop(0, 3, lambda i, c: c + ag.random.uniform(), ag.zeros(())),
    "while_loop": lambda: ag.while_loop(lambda c: c < 1, lambda c: c + ag.random.uniform(), 0.0),
    "map": lambda: ag.map(lambda row: row + ag.random.uniform(), ag.ones(2)),
    "gamma": lambda: ag.random.gamma(ag.tensor([0.5, 3.0])),
    "beta": lambda: ag.random.beta(2.0, ag.tensor([1.0])),
    "multinomial": lambda: ag.random.multinomial(5, ag.tensor([0.2, 0.8])),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", SAME_FOR_ALL)
def test_what_is_drawn_for_each_example_is_the_same_in_both_modes(name: str) -> None:
    f = ag.vmap(lambda x: (SAME_FOR_ALL[name](), x))
    found = []
    for run in (f, ag.jit(f)):
        ag.manual_seed(1)
        leaves = ag.tree.leaves(run(ag.zeros(3)))
        found.append([np.asarray(leaf) for leaf in leaves] + [ag.random.uniform().numpy()])
    for eager, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, eager, 1e-6)
    assert len(np.unique(found[0][0], axis=0)) > 1


@pytest.mark.parametrize("compiled", [False, True])
def test_random_numbers(compiled: bool) -> None:
    def run(f: Any, *args: Any) -> np.ndarray:
        ag.manual_seed(3)
        return (ag.jit(f) if compiled else f)(*args).numpy()

    x = ag.zeros(4)
    drawn = run(ag.vmap(lambda x: ag.random.normal(size=3) + x), x)
    assert len(np.unique(drawn)) == 12
    same = run(ag.vmap(lambda x: ag.random.normal(size=3) + x, randomness="same"), x)
    assert (same == same[0]).all() and len(np.unique(same)) == 3
    inner = ag.vmap(lambda x: ag.random.uniform() + x)
    assert len(np.unique(run(ag.vmap(inner), ag.zeros((2, 3))))) == 6
    mixed = run(ag.vmap(ag.vmap(lambda x: ag.random.uniform() + x, randomness="same")),
                ag.zeros((2, 3)))
    assert len(np.unique(mixed)) == 2 and (mixed == mixed[:, :1]).all()

    def summed(x: Any) -> Any:
        return ag.scan(lambda c, _: (c + ag.random.uniform(), None), x, length=5)[0]

    assert len(np.unique(run(ag.vmap(summed), x))) == 4

    def walk(x: Any) -> Any:
        return ag.while_loop(lambda c: c < 1.0, lambda c: c + ag.random.uniform(), x)

    walked = run(ag.vmap(walk), x)
    assert len(np.unique(walked)) == 4 and (walked >= 1).all() and (walked < 2).all()

    def coin(x: Any) -> Any:
        return ag.cond(x > 0, lambda: ag.random.uniform(), lambda: x)

    tossed = run(ag.vmap(coin), ag.tensor([0.0, 1.0, 1.0]))
    assert tossed[0] == 0 and len(np.unique(tossed)) == 3


def test_states_move_on() -> None:
    generator = ag.random.Generator(0)
    other = ag.random.Generator(0)
    drawn = ag.vmap(lambda x: ag.random.uniform(size=4, generator=generator) + x)(ag.zeros(3))
    words = other.bits(12)
    np.testing.assert_array_equal(other.state.numpy(), generator.state.numpy())
    assert words.shape == (12,) and drawn.shape == (3, 4)


# -- loops and branches -----------------------------------------------------------------------
def newton(a: Any) -> Any:
    return ag.while_loop(lambda x: ag.abs(x * x - a) > 1e-9, lambda x: (x + a / x) / 2, a + 0.0)


def collatz(n: Any) -> Any:
    def body(state: Any) -> Any:
        n, steps = state
        return ag.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return ag.while_loop(lambda s: s[0] != 1, body, (n, ag.zeros((), dtype="int64")))[1]


def filtered(x: Any, w: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        c = ag.tanh(w * c + row)
        return c, c * row

    last, rows = ag.scan(step, ag.zeros((), dtype=x.dtype), x)
    return last + rows.sum()


def sided(x: Any) -> Any:
    return ag.cond(x > 0, lambda x: ag.sqrt(x) * 2, lambda x: -x * x, x)


def stopping(x: Any) -> Any:
    return ag.scan(lambda c, r: (c + r, c), x, ag.ones(6), until=lambda c: c > 3)[0]


LOOPS = {
    "newton": (newton, (np.array([2.0, 9.0, 0.5]),)),
    "collatz": (collatz, (np.array([1, 6, 7, 27]),)),
    "filtered": (filtered, (np.linspace(-1, 1, 12).reshape(3, 4), np.array([0.5, -1.0, 2.0]))),
    "sided": (sided, (np.array([4.0, -2.0, 0.25]),)),
    "stopping": (stopping, (np.array([0.0, 2.5, -9.0], "float32"),)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    f, arrays = LOOPS[name]
    xs = [wrap(a) for a in arrays]
    expected = np.stack([f(*[wrap(a[i]) for a in arrays]).numpy() for i in range(len(arrays[0]))])
    for run in (ag.vmap(f), ag.jit(ag.vmap(f))):
        agree(run(*xs).numpy(), expected)
    first = (0, *(None,) * (len(xs) - 1))
    if len(xs) > 1:
        rest = [wrap(a[1]) for a in arrays[1:]]
        loop = np.stack([f(wrap(r), *rest).numpy() for r in arrays[0]])
        agree(ag.vmap(f, first)(xs[0], *rest).numpy(), loop)


def test_loops_that_count_or_stop_for_each_example() -> None:
    def counted(x: Any, n: Any) -> Any:
        return ag.scan(lambda c, r: (c * r, c + r), x, ag.arange(5.0) + 1, length=n)

    def last(x: Any, n: Any) -> Any:
        return ag.scan(lambda c, r: (c * r, c), x, ag.arange(5.0) + 1, length=n, reverse=True)

    x, n = ag.tensor([1.0, 2.0, 0.5]), ag.tensor([2, 0, 5])
    for f in (counted, last):
        for run in (ag.vmap(f), ag.jit(ag.vmap(f))):
            found = run(x, n)
            for i in range(3):
                for part, plain in zip(found, ag.jit(f)(x[i], n[i]), strict=True):
                    agree(part[i].numpy(), plain.numpy())
    gradient = ag.vmap(ag.grad(lambda x, n: counted(x, n)[0]))
    assert gradient(x, n).tolist() == [2.0, 1.0, 120.0]
    assert gradient(ag.zeros(0), ag.zeros(0, dtype="int64")).shape == (0,)


@pytest.mark.parametrize("name", ["filtered", "sided", "newton"])
def test_gradients_through_loops(name: str) -> None:
    f, arrays = LOOPS[name]
    xs = [wrap(a) for a in arrays]
    n = len(arrays[0])
    expected = np.stack([ag.grad(f)(*[wrap(a[i]) for a in arrays]).numpy() for i in range(n)])
    inside = ag.vmap(ag.grad(f))
    outside = ag.grad(lambda *xs: ag.vmap(f)(*xs).sum())
    for run in (inside, outside, ag.jit(inside), ag.jit(outside)):
        agree(run(*xs).numpy(), expected)


# -- closures ---------------------------------------------------------------------------------
def test_parameters_and_recorded_tensors() -> None:
    net = ag.nn.Linear(3, 2)
    x = ag.tensor(np.random.default_rng(0).normal(size=(5, 3)), dtype="float32")
    scale = net.weight.sum() * 2

    def loss(run: Any) -> Any:
        for p in net.parameters():
            p.grad = None
        (run() ** 2).sum().backward()
        return [p.grad.numpy() for p in net.parameters()]

    many = loss(lambda: ag.vmap(lambda r: net(r) * (net.weight.sum() * 2))(x))
    plain = loss(lambda: net(x) * (net.weight.sum() * 2))
    for a, b in zip(many, plain, strict=True):
        np.testing.assert_allclose(a, b, 2e-5, 1e-5)
    found = ag.vmap(lambda r: net(r) * scale)(x)
    assert found.requires_grad
    np.testing.assert_allclose(found.numpy(), (net(x) * scale).numpy(), 1e-5)


def test_nothing_is_recorded_that_nobody_wants() -> None:
    found = ag.vmap(ag.grad(lambda w, x: (w * x) ** 2), (None, 0))(3.0, ag.tensor([1.0, 2.0]))
    assert not found.requires_grad and found.tolist() == [6.0, 24.0]
    w, rows = ag.tensor([1.0, 2.0]), ag.ones((3, 2))
    assert not ag.vmap(ag.grad(lambda w, r: (r @ w) ** 2), (None, 0))(w, rows).requires_grad
    inner = ag.vmap(lambda x: ag.grad(lambda w: ag.vmap(lambda r: (r @ w) * x)(rows).sum())(w))
    assert inner(w).tolist() == [[3.0, 3.0], [6.0, 6.0]]
    with ag.no_grad():
        w = ag.ones(2, requires_grad=True)
        assert not ag.vmap(lambda x: x * w)(ag.ones((3, 2))).requires_grad


def test_stop_gradient_and_no_grad_inside() -> None:
    def f(x: Any) -> Any:
        with ag.no_grad():
            y = x * x
        return x * y + ag.stop_gradient(x) * x

    x = ag.tensor([1.0, 2.0])
    expected = [2.0, 6.0]
    assert ag.grad(lambda x: ag.vmap(f)(x).sum())(x).tolist() == expected
    assert ag.vmap(ag.grad(f))(x).tolist() == expected


def test_indices_differ() -> None:
    table, i = ag.arange(12.0).reshape((4, 3)), ag.tensor([2, 0, 1])

    def write(x: Any, i: Any) -> Any:
        y = x * 1
        y[i] = 9.0
        return y

    expected = table.numpy()[:3].copy()
    expected[[0, 1, 2], [2, 0, 1]] = 9.0
    for jit in (ag.jit, lambda f: f):
        assert jit(ag.vmap(lambda i: table[i]))(i).tolist() == table.numpy()[[2, 0, 1]].tolist()
        assert jit(ag.vmap(lambda r, i: r[i]))(table[:3], i).tolist() == [2.0, 3.0, 7.0]
        np.testing.assert_array_equal(jit(ag.vmap(write))(table[:3], i).numpy(), expected)
    counts = ag.vmap(lambda n: ag.fori_loop(0, n, lambda i, c: c + i, n * 0))(ag.tensor([3, 0, 5]))
    assert counts.tolist() == [3, 0, 10]


def test_filters_differ() -> None:
    rng = np.random.default_rng(0)
    x, w = wrap(rng.normal(size=(3, 2, 4, 6, 6))), wrap(rng.normal(size=(3, 5, 4, 3, 3)))

    def energy(w: Any, x: Any) -> Any:
        return (ag.conv2d(x, w, padding=1) ** 2).sum()

    found = ag.vmap(ag.conv2d)(x, w)
    single = ag.vmap(ag.grad(energy), (None, 0))(w[0], x)
    both = ag.vmap(ag.grad(energy, argnums=(0, 1)))(w, x)
    for i in range(3):
        agree(found[i].numpy(), ag.conv2d(x[i], w[i]).numpy())
        agree(single[i].numpy(), ag.grad(energy)(w[0], x[i]).numpy())
        for part, plain in zip(both, ag.grad(energy, argnums=(0, 1))(w[i], x[i]), strict=True):
            agree(part[i].numpy(), plain.numpy())


class Squared(Op):
    """An operation of a user's, without a batching rule."""

    name = "squared"

    def infer(self, x: Any) -> Any:
        return x.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x * x)

    def vjp(self, g: Any, y: Any, x: Any) -> Any:
        return (2 * g * x,)


def test_operations_without_a_rule() -> None:
    x = ag.arange(3.0)
    for jit in (ag.jit, lambda f: f):
        assert jit(ag.vmap(lambda x: apply(Squared(), x)))(x).tolist() == [0.0, 1.0, 4.0]
        assert jit(ag.vmap(ag.grad(lambda x: apply(Squared(), x))))(x).tolist() == [0.0, 2.0, 4.0]


def test_no_examples() -> None:
    assert ag.vmap(lambda x: ag.tanh(x).sum())(ag.zeros((0, 3))).shape == (0,)
    assert ag.vmap(lambda x: apply(Squared(), x))(ag.zeros((0, 3))).shape == (0, 3)
    assert ag.vmap(newton)(ag.zeros(0)).shape == (0,)


def test_a_compiled_function_of_what_is_the_same() -> None:
    drawn = ag.jit(lambda k: k * ag.random.uniform())
    found = ag.vmap(lambda x, k: x + drawn(k), (0, None))(ag.zeros(3), ag.ones(()))
    assert len(np.unique(found.numpy())) == 1


def test_gradients_of_each_example() -> None:
    nn = ag.nn
    net, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), ag.ones((5, 3)) * 0.5

    def loss(net: Any, x: Any) -> Any:
        return (net(x) ** 2).sum()

    found = ag.jit(ag.vmap(lambda x: ag.grad(loss)(net, x)))(x)
    plain = ag.grad(loss)(net, x[0])
    for name, g in plain.items():
        assert found[name].shape == (5, *g.shape)
        np.testing.assert_allclose(found[name][3].detach().numpy(), g.detach().numpy(), 1e-5, 1e-6)


def test_symbolic() -> None:
    from agnesi import symbolic as T

    x = T.matrix("x")
    y = ag.vmap(lambda r: ag.tanh(r).sum() * r)(x)
    value = np.linspace(-1, 1, 6).reshape(2, 3)
    expected = np.tanh(value).sum(1, keepdims=True) * value
    np.testing.assert_allclose(ag.function([x], y)(value), expected)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_a_tensor_told_to_require_a_gradient_is_first_used_inside(way: Any) -> None:
    def step(x, w):
        w = w.detach().requires_grad_()
        for _ in range(2):
            ag.vmap(lambda r: ag.vmap(lambda a: a * (w * w).sum())(r).sum())(x).sum().backward()
        return w.grad

    found = way(step)(ag.tensor([[1.0, 2.0], [3.0, -1.0]]), ag.tensor([2.0, 0.5]))
    assert found.tolist() == [40.0, 10.0]


@pytest.mark.share(4)
@pytest.mark.parametrize("f", [
    lambda v: ag.linalg.eigvalsh(ag.outer(v, v) + ag.diag(v)).sum(),
    lambda v: (ag.linalg.eigh(ag.outer(v, v) + ag.diag(v))[1] ** 4).sum(),
    lambda v: ag.linalg.svdvals(ag.outer(v, v) + ag.eye(3, dtype="float64")).prod(),
    lambda v: ag.linalg.qr(ag.outer(v, v) + ag.eye(3, dtype="float64"))[1].sum(),
    lambda v: ag.scan(lambda c, r: (ag.sin(c * r), c), v, ag.stack([v, v]))[1].sum(),
])
def test_rules_inside_read_results_from_outside(f: Any) -> None:
    """Operations with several results, in a graph, with gradients of many cotangents."""
    x = ag.tensor([0.3, -0.5, 1.2], dtype="float64")
    steps = 1e-5 * np.eye(3)
    expected = [(ag.grad(f)(x + s) - ag.grad(f)(x - s)).numpy() / 2e-5 for s in steps]
    for hessian in (ag.hessian(f), ag.jacrev(ag.grad(f))):
        for way in (hessian, ag.jit(hessian)):
            np.testing.assert_allclose(way(x).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_results_that_are_the_same_for_all_examples_may_be_changed():
    w = ag.tensor([1.0, 2.0])
    for run in (lambda f: f, ag.jit):
        def f(x):
            y = ag.vmap(lambda row: w * 1)(x)
            y[0] += x[0, 0]
            return y

        np.testing.assert_array_equal(run(f)(ag.ones((2, 3))).numpy(), [[2, 3], [1, 2]])


@pytest.mark.parametrize("reduce", [ag.max, ag.min, lambda x: ag.logsumexp(x, 0)])
def test_extremes_under_a_mask_in_a_branch(reduce):
    """What the branch asks of values around it stays out of the examples' values."""
    def f(v):
        return ag.cond(v.sum() > 3, lambda: reduce(v[v > 0.1]), lambda: reduce(v[v > 0.2] * 2))

    x = ag.tensor([[0.5, 2.0, 0.0], [0.3, 1.0, 4.0]])
    wanted = np.stack([ag.grad(f)(x[i]).numpy() for i in range(2)])
    for run in (ag.vmap(ag.grad(f)), ag.jit(ag.vmap(ag.grad(f))), ag.vmap(ag.jit(ag.grad(f)))):
        np.testing.assert_allclose(run(x).numpy(), wanted, rtol=1e-6)


def test_writes_into_what_all_examples_share_are_not_done_again_for_each():
    def f(x, s):
        s[0] = s[0] * 2
        return ag.cumsum(x[x > 0])[-1:].sum() + s.sum()

    x, s = ag.tensor([[1.0, 2.0], [3.0, -1.0], [1.0, 1.0]]), ag.tensor([1.0, 1.0])
    with pytest.raises(ag.TraceError, match="differs between the examples of vmap"):
        ag.vmap(f, (0, None))(x, s)
    assert s.tolist() == [2.0, 1.0]


INSIDE = {
    "no arguments": lambda u, w: ag.jit(lambda: u.sum())(),
    "arguments that are no examples": lambda u, w: ag.jit(lambda w: w * u)(w),
    "a number": lambda u, w: ag.jit(lambda k: u * k)(2.0),
    "a gradient": lambda u, w: ag.grad(ag.jit(lambda w: (w * u).sum()))(w),
    "a loop": lambda u, w: ag.jit(lambda: ag.scan(lambda c, x: (c * u + x, c), w, w)[0])(),
    "two vmaps": lambda u, w: ag.vmap(lambda v: ag.jit(lambda w: u * v + w)(w))(w),
    "a change in place": lambda u, w: (lambda y: (ag.jit(lambda: y.mul_(2))(), y)[1])(u * 1),
}


@pytest.mark.parametrize("inside", INSIDE)
def test_a_compiled_function_may_read_an_example_from_outside(inside):
    f, x, w = INSIDE[inside], ag.tensor([[0.5, 1.0], [1.5, 0.25]]), ag.tensor([2.0, 3.0])
    expected = [f(x[0], w).tolist(), f(x[1], w).tolist()]
    assert ag.vmap(lambda u: f(u, w))(x).tolist() == expected
    assert ag.jit(ag.vmap(lambda u: f(u, w)))(x).tolist() == expected
    assert ag.vmap(ag.jit(lambda u: f(u, w)))(x).tolist() == expected


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy([x])[0],
                                    lambda x: x.clone()])
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_flow_through_copies_of_examples(copied, compiled):
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    def step():
        w.grad = None
        ag.vmap(lambda x: copied(x) * 3 * (5 if x.is_leaf else 1))(w).sum().backward()
        return w.grad * 1

    assert (ag.jit(step) if compiled else step)().tolist() == [3.0, 3.0]


def test_data_of_an_example_is_its_value_without_gradient():
    x = ag.tensor([1.0, 2.0])
    assert ag.grad(lambda v: ag.vmap(lambda r: r.data * r)(v).sum())(x).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("seen", [lambda a: a.detach(), lambda a: a.data, lambda a: a[:].data])
@pytest.mark.parametrize("value", [1.5, 0])
def test_one_value_for_all_examples_is_written_without_gradient(seen, value):
    def f(r, w):
        a = r * w
        seen(a)[...] = value
        return a + r * 0, a

    x, w = ag.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ag.tensor([2.0, 3.0])
    expected = np.full((3, 2), value)
    for way in (ag.vmap(f, (0, None)), ag.jit(ag.vmap(f, (0, None)))):
        for found in way(x, w):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("body", [
    lambda u, z: z, lambda u, z: z * 2 + 1, lambda u, z: ag.jacobian(lambda q: q * z)(u) @ z,
])
def test_loops_select_by_example_where_a_step_is_the_same_for_all(body):
    """As many examples as elements: flags of examples must not meet the elements' axis."""
    x = ag.tensor([[1.0, 2.0, 3.0], [0.1, 0.2, 0.3], [4.0, 5.0, 6.0]])
    z = ag.tensor([0.0, 1.0, 0.5])

    def loop(u):
        return ag.while_loop(lambda s: (s[0] < 3) & (ag.abs(s[1]).max() > 0.4),
                             lambda s: (s[0] + 1, body(s[1], z)), (0, u))[1]

    expected = ag.stack([loop(row) for row in x])
    np.testing.assert_allclose(ag.vmap(loop)(x), expected, 1e-6)
    np.testing.assert_allclose(ag.jit(ag.vmap(loop))(x), expected, 1e-6)
    gradient = ag.stack([ag.grad(lambda u: loop(u).sum())(row) for row in x])
    np.testing.assert_allclose(ag.vmap(ag.grad(lambda u: loop(u).sum()))(x), gradient, 1e-6)
