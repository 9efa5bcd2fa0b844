"""Kernels from expressions: values, derivatives, graphs, batches, errors."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

X = np.random.default_rng(0).normal(size=(3, 5))
Y = np.random.default_rng(1).normal(size=(3, 5))


@pytest.mark.share(16)
@pytest.mark.parametrize(("expression", "reference"), [
    ("x * y", lambda x, y: x * y),
    ("d = x - y; d * d", lambda x, y: (x - y) ** 2),
    ("\n    s = x + y\n    exp(s) / (1 + exp(s))\n", lambda x, y: 1 / (1 + np.exp(-x - y))),
    ("x if x < y else y * 2", lambda x, y: np.where(x < y, x, 2 * y)),
    ("1.0 if -1 < x < y and not y > 1 or x == 2 else pi * y",
     lambda x, y: np.where((x > -1) & (x < y) & ~(y > 1), 1.0, np.pi * y)),
    ("max(x, y) - min(x, 0) + fabs(y)", lambda x, y: np.maximum(x, y) - np.minimum(x, 0) + abs(y)),
    (lambda x, y: ag.tanh(x) * y, lambda x, y: np.tanh(x) * y),
])
def test_expressions(expression, reference):
    f = ag.elementwise(expression)
    np.testing.assert_allclose(f(X, Y).numpy(), reference(X, Y), rtol=1e-12)
    ag.testing.check_op(f, [[X, Y], [X[:1], Y[:, :1]], [X[:0], Y[0]]])


def test_several_results():
    f = ag.elementwise("x + y, x - y")
    plus, minus = f(X, 2.0)
    np.testing.assert_allclose(plus.numpy(), X + 2)
    np.testing.assert_allclose(minus.numpy(), X - 2)


def test_parameters_in_another_order():
    f = ag.elementwise("b - a", parameters="a, b")
    assert f(1.0, 3.0).item() == 2.0


def test_it_shares_a_kernel_with_what_stands_around():
    f = ag.elementwise("x * y + 1", name="muladd")
    g = ag.jit(lambda x, y: ag.exp(f(x, y)) * 2)
    np.testing.assert_allclose(g(ag.tensor(X), ag.tensor(Y)).numpy(), np.exp(X * Y + 1) * 2)
    assert len(g.plan().steps) == 1


def test_graphs_and_batches():
    f = ag.elementwise("x * y + 1")
    x = T.dvector("x")
    np.testing.assert_allclose(ag.function([x], f(x, x))(X[0]), X[0] ** 2 + 1)
    np.testing.assert_allclose(ag.vmap(f)(ag.tensor(X), ag.tensor(Y)).numpy(), X * Y + 1)


@pytest.mark.parametrize("text", [
    "x +", "x[0]", "f(x)", "x = 2", "x.y", "lambda: x", "import os", "exp(x, where=y)", "[x]",
    "__import__('os')", "x; (y := 2)",
])
def test_what_is_no_expression(text):
    with pytest.raises(SyntaxError, match=r"cannot be read(.|\n)*test_kernels"):
        ag.elementwise(text)


def test_wrong_uses():
    with pytest.raises(SyntaxError, match="'z' is not among its parameters"):
        ag.elementwise("x + z", parameters="x")
    with pytest.raises(TypeError, match="muladd takes 2 operands, not 1"):
        ag.elementwise("x * y", name="muladd")(X)
    with pytest.raises(ValueError, match="operations on single elements"):
        ag.elementwise(lambda x: x[None])(X)
    with pytest.raises(TypeError, match="reduce takes two values"):
        ag.reduction("x", lambda a: a)


@pytest.mark.share(3)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize(("kernel", "reference"), [
    (ag.reduction("x * x", "a + b", 0), lambda x, axis: (x * x).sum(axis)),
    (ag.reduction("x", "max(a, b)"), lambda x, axis: x.max(axis)),
    (ag.reduction("x", "a * b", 1), lambda x, axis: x.prod(axis)),
    (ag.reduction("exp(x)", post="log(s)"), lambda x, axis: np.log(np.exp(x).sum(axis))),
    (ag.reduction("x", "logaddexp(a, b)"), lambda x, axis: np.log(np.exp(x).sum(axis))),
    (ag.reduction(lambda x: x, lambda a, b: a + b - a * b, 0),
     lambda x, axis: 1 - (1 - x).prod(axis)),
    (ag.reduction("x", "a + b", 10), lambda x, axis: x.sum(axis) + 10),
])
def test_reductions(kernel, reference, axis):
    def f(x):
        return kernel(x, axis=axis)

    np.testing.assert_allclose(f(ag.tensor(X)).numpy(), reference(X, axis), rtol=1e-12)
    if axis in (None, 1):
        ag.testing.check_op(f, [[X]], order=1)


def test_rows_of_unknown_number():
    x = T.matrix("x")
    f = ag.function([x], ag.reduction("x", "logaddexp(a, b)")(x, axis=0))
    for rows in (1, 2, 3):
        np.testing.assert_allclose(f(X[:rows]), np.log(np.exp(X[:rows]).sum(0)))


def test_keepdims_and_dtype():
    f = ag.reduction("x", "a + b", 0, dtype="float64")
    assert f(ag.ones((2, 3)), axis=1, keepdims=True).shape == (2, 1)
    assert f(ag.ones((2, 3))).dtype == "float64"


def test_without_elements_there_is_the_identity():
    empty = ag.zeros((2, 0))
    np.testing.assert_array_equal(ag.reduction("x", "a + b", 0)(empty, axis=1).numpy(), [0, 0])
    greatest = ag.reduction("x", "max(a, b)", -1)
    np.testing.assert_array_equal(greatest(empty, axis=1).numpy(), [-1, -1])
    with pytest.raises(ValueError, match="no elements to reduce, and no identity"):
        ag.reduction("x", "hypot(a, b)")(empty, axis=1)
