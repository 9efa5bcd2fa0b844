"""Logarithm, index, sum, mean, mask, cast and sign in any order around what overflows."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.interpret import interpret
from agnesi.rewrite import rewrite

X = np.array([[1000.0, -1000.0, 3.0, 0.5], [-2.0, 999.0, -1000.0, 1000.0], [0.0, 1.0, 2.0, -1.0]])
LABELS = np.array([1, 2, 0])
MASK = np.array([[1, 1, 0, 1], [1, 0, 1, 0], [0, 1, 1, 1]], bool)


def exact(function):
    """An array of exact numbers by a function of one."""
    return lambda x: np.asarray(np.vectorize(function, otypes=[object])(x), object)


def softmax(x):
    e = exact(mpmath.exp)(x)
    return e / e.sum(-1, keepdims=True)


def masked(x):
    mask = MASK[:, : x.shape[-1]] if x.ndim == 2 else MASK[:, 0]
    return mask if x.shape == mask.shape else mask[: x.shape[0]]


#: By name: the step on tensors, and on exact numbers.
CORES = {
    "softmax": (ag.softmax, softmax),
    "composed softmax": (
        lambda x: ag.exp(x) / ag.exp(x).sum(-1, keepdims=True), softmax),
    "sigmoid": (ag.sigmoid, exact(lambda v: 1 / (1 + mpmath.exp(-v)))),
    "composed sigmoid": (
        lambda x: 1 / (1 + ag.exp(-x)), exact(lambda v: 1 / (1 + mpmath.exp(-v)))),
    "exp of logsumexp": (
        lambda x: ag.exp(ag.logsumexp(x, -1, keepdims=True)),
        lambda x: exact(mpmath.exp)(x).sum(-1, keepdims=True)),
    "sum of exp": (
        lambda x: ag.exp(x).sum(-1, keepdims=True),
        lambda x: exact(mpmath.exp)(x).sum(-1, keepdims=True)),
}
STEPS = {
    "index": (
        lambda y: y[ag.arange(3), LABELS % y.shape[-1]] if y.ndim == 2 else y[1:],
        lambda y: y[np.arange(3), LABELS % y.shape[-1]] if y.ndim == 2 else y[1:]),
    "sum": (lambda y: y.sum(-1), lambda y: y.sum(-1)),
    "mean": (lambda y: y.mean(-1), lambda y: y.sum(-1) / y.shape[-1]),
    "where": (
        lambda y: ag.where(masked(y), y, y[..., :1]),
        lambda y: np.where(masked(y), y, y[..., :1])),
    "times mask": (
        lambda y: y * (ag.tensor(masked(y)) & (y == y)).astype(y.dtype) + y * 0.5,
        lambda y: y * masked(y).astype(int) + y * mpmath.mpf(0.5)),
    "cast": (lambda y: y.astype("float32").astype("float64"), lambda y: y),
    "negation": (lambda y: -1 * -y, lambda y: y),
}
CASES = [
    (core, steps) for core in CORES for steps in (
        (), *itertools.permutations(STEPS, 1), *list(itertools.permutations(STEPS, 2))[::6],
        *list(itertools.permutations(STEPS, 3))[::60])
    if len(steps) < 2 or "composed" not in core
]


KNOWN = {}


def core_of(core, x):
    """The exact value, which many programs ask for."""
    if (core, id(x)) not in KNOWN:
        KNOWN[core, id(x)] = x, CORES[core][1](x)
    return KNOWN[core, id(x)][1]


def program(core, steps, log):
    """The functions on tensors and on exact numbers; ``log`` steps come before the logarithm."""
    def of(which, logarithm, x):
        y = core_of(core, x) if which else CORES[core][which](x)
        for i, name in enumerate((*steps, None)):
            if i == log:
                y = logarithm(y)
            if name is not None and y.ndim:
                y = STEPS[name][which](y)
            y = np.asarray(y, object) if which else y
        return -y.sum()
    return lambda x: of(0, ag.log, x), lambda x: of(1, exact(mpmath.log), x)


@pytest.fixture(scope="module")
def points():
    """Operands, a direction, and operands a little off along it, as exact numbers."""
    with mpmath.workdps(950):
        direction = np.random.default_rng(0).integers(-4, 5, X.shape)
        step = mpmath.mpf(10) ** -300
        x = exact(mpmath.mpf)(X)
        return direction, step, x, x + direction * step, x - direction * step


def check(found, true, points, steps):
    """Value and gradient beside exact numbers; the gradient by differences of those."""
    value, gradient = found
    direction, step, x, more, less = points
    rtol = 1e-4 if "cast" in steps else 1e-12  # of logarithms near 1000
    with mpmath.workdps(950):
        np.testing.assert_allclose(float(value), float(true(x)), rtol, rtol, err_msg=str(steps))
        slope = float((true(more) - true(less)) / (2 * step))
    parts = gradient * direction
    scale = max(np.abs(parts).sum(), 1)
    np.testing.assert_allclose(parts.sum(), slope, rtol, rtol * scale, err_msg=str(steps))


@pytest.mark.share(8)
@pytest.mark.parametrize("core", CORES)
def test_orders(core, points, var, graph_of):
    """Graphs as they are rewritten, on NumPy."""
    for steps in [steps for name, steps in CASES if name == core]:
        for log in range(len(steps) + 1):
            function, true = program(core, steps, log)
            x = var("x", X.shape, "float64", True)
            y = function(x)
            graph = rewrite(graph_of(y, T.grad(y, x)), algebra="exact")
            with np.errstate(all="ignore"):
                check(interpret(graph, [X]), true, points, steps)


@pytest.mark.share(4)
@pytest.mark.parametrize("core", CORES)
def test_compiled(core, points):
    function, true = program(core, ("index",), 1)
    value, gradient = ag.jit(ag.value_and_grad(function))(ag.tensor(X))
    check((value.numpy(), gradient.numpy()), true, points, ())


def test_cross_entropy_by_hand():
    z, y = ag.tensor(X), ag.tensor(LABELS)
    loss = ag.jit(ag.value_and_grad(
        lambda z: -ag.log(ag.softmax(z)[ag.arange(3), y]).mean()))
    value, gradient = loss(z)
    same, expected = ag.jit(ag.value_and_grad(lambda z: ag.cross_entropy(z, y)))(z)
    np.testing.assert_allclose(value, same, 1e-14)
    np.testing.assert_allclose(gradient, expected, 1e-14, 1e-16)
