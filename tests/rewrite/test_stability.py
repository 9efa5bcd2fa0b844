"""Composed formulas are computed as well as the operations that they stand for."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.rewrite import Report, rewrite


def gradient(y, *xs):
    return T.grad(y, list(xs))


FORMS = {
    "log1p": (lambda x: ag.log(1 + x), "log1p(x)"),
    "softplus": (lambda x: ag.log(1 + ag.exp(x)), "softplus(x)"),
    "expm1": (lambda x: ag.exp(x) - 1, "expm1(x)"),
    "sigmoid": (lambda x: 1 / (1 + ag.exp(-x)), "sigmoid(x)"),
    "sigmoid_by_layers": (lambda x: ag.divide(1, ag.exp(-x) + 1), "sigmoid(x)"),
    "sigmoid_of_exp": (lambda x: ag.exp(x) / (1 + ag.exp(x)), "sigmoid(x)"),
    "sigmoid_reversed": (lambda x: 1 / (1 + ag.exp(x)), "sigmoid(negative(x))"),
    "one_minus_sigmoid": (lambda x: 1 - 1 / (1 + ag.exp(-x)), "sigmoid(negative(x))"),
    "log_sigmoid": (lambda x: ag.log(1 / (1 + ag.exp(-x))), "negative(softplus(negative(x)))"),
    "log_rest": (lambda x: ag.log(1 - 1 / (1 + ag.exp(-x))), "negative(softplus(x))"),
    "silu": (lambda x: x / (1 + ag.exp(-x)), "multiply(x, sigmoid(x))"),
    "logaddexp": (lambda x: ag.log(ag.exp(x) + ag.exp(2 * x)), "logaddexp(x, multiply(x, 2))"),
    "abs": (lambda x: ag.sqrt(x * x), "abs(x)"),
    "tanh": (lambda x: (ag.exp(x) - ag.exp(-x)) / (ag.exp(x) + ag.exp(-x)), "tanh(x)"),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name, var, rewritten):
    build, form = FORMS[name]
    assert rewritten(build(var("x"))).replace("multiply(2, x)", "multiply(x, 2)") == form


def test_log1p_keeps_small_numbers(var, values):
    x = var("x", ())
    before, after = values([ag.log(1 + x)], {"x": np.asarray(1e-20)})
    assert before[0] == 0 and after[0] == 1e-20


def test_softplus_neither_overflows_nor_vanishes(var, values):
    x = var("x", requires_grad=True)
    y = ag.log(1 + ag.exp(x))
    before, after = values([y, *gradient(y.sum(), x)], {"x": np.asarray([710.0, -800.0, 1000.0])})
    assert not np.isfinite(before[0]).all()
    np.testing.assert_array_equal(after[0], [710.0, 0.0, 1000.0])
    np.testing.assert_array_equal(after[1], [1.0, 0.0, 1.0])


def figure_2(var):
    """The logistic regression of the Theano paper, with its logits as a weight each."""
    X, y = var("X", (4, 3), "float32"), var("y", (4,), "float32")
    w, b = var("w", (3,), "float32", True), var("b", (), "float32", True)
    p_1 = 1 / (1 + ag.exp(-ag.dot(X, w) - b))
    xent = -y * ag.log(p_1) - (1 - y) * ag.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    given = {
        "X": np.asarray([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32),
        "y": np.asarray([0, 1, 0, 1], np.float32),
        "w": np.asarray([1000, -1000, 0.5], np.float32),
        "b": np.asarray(0, np.float32),
    }
    return [cost, *gradient(cost, w, b)], given


def test_logistic_regression_is_finite_at_extreme_logits(var, values):
    outputs, given = figure_2(var)
    before, (cost, gw, gb) = values(outputs, given)
    assert not np.isfinite(before[0])
    logits = (given["X"] @ given["w"]).astype(np.float64)
    y, w = given["y"], given["w"].astype(np.float64)
    loss = np.logaddexp(0, logits) - y * logits
    off = (1 / (1 + np.exp(-np.clip(logits, -700, 700))) - y) / 4
    np.testing.assert_allclose(cost, loss.mean() + 0.01 * (w**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(gw, given["X"].T @ off + 0.02 * w, rtol=1e-5)
    np.testing.assert_allclose(gb, off.sum(), rtol=1e-5)


def test_logistic_regression_fails_without_stabilisation(var, values):
    outputs, given = figure_2(var)
    _, after = values(outputs, given, preset="fast_compile")
    assert not np.isfinite(after[0])


def losses(x, t, labels):
    e = ag.exp(x)
    p = e / e.sum(1, keepdims=True)
    return {
        "dense": lambda: -(t * ag.log(p)).sum(),
        "labels": lambda: -ag.take_along_axis(ag.log(p), labels.reshape((2, 1)), 1).sum(),
        "logsumexp": lambda: (ag.log(e.sum(1)) - (t * x).sum(1)).sum(),
        "mean": lambda: 2 * -(t * ag.log(p)).sum(1).mean(),
    }


@pytest.mark.parametrize("name", ["dense", "labels", "logsumexp", "mean"])
def test_composed_cross_entropy_is_stable(name, var, values):
    x = var("x", (2, 3), "float64", True)
    t, labels = var("t", (2, 3)), var("labels", (2,), "int64")
    loss = losses(x, t, labels)[name]()
    logits = np.asarray([[1000.0, -1000, 0], [1, 2, 3]])
    truth = np.asarray([[0.0, 1, 0], [0, 0, 1]])
    given = {"x": logits, "t": truth, "labels": np.asarray([1, 2])}
    before, (value, g) = values([loss, *gradient(loss, x)], given)
    assert not (np.isfinite(before[0]) and np.isfinite(before[1]).all())
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    np.testing.assert_allclose(value, 2000 + np.log(np.exp([-2.0, -1, 0]).sum()), rtol=1e-12)
    np.testing.assert_allclose(g, p - truth, rtol=1e-12, atol=1e-15)


def test_composed_softmax_is_one_operation(var, graph_of):
    x = var("x", (2, 3))
    e = ag.exp(x)
    report = Report()
    rewrite(graph_of(e / e.sum(1, keepdims=True)), report=report)
    assert report.firings["pair_factors"] == 1
    shifted = ag.exp(x - ag.max(x, axis=1, keepdims=True))
    one = str(rewrite(graph_of(shifted / shifted.sum(1, keepdims=True))))
    assert one == str(rewrite(graph_of(ag.softmax(x, axis=1))))


def test_sigmoid_and_its_gradient_equal_the_operation(var, values):
    x = var("x", requires_grad=True)
    composed, whole = 1 / (1 + ag.exp(-x)), ag.sigmoid(x)
    outputs = [composed, whole, *gradient(composed.sum(), x), *gradient(whole.sum(), x)]
    _, (a, b, ga, gb) = values(outputs, {"x": np.asarray([-1000.0, 0.3, 800.0])})
    np.testing.assert_allclose(a, b, rtol=1e-14)
    np.testing.assert_allclose(ga, gb, rtol=1e-14)


def test_unknown_sizes_do_not_hinder(rewritten):
    x, y = T.variable("x", "float64", (None,)), T.variable("y", "float64", (None,))
    z = ag.matmul(T.variable("X", "float64", (None, 3)), T.variable("w", "float64", (3,)))
    assert rewritten(-y * ag.log(1 / (1 + ag.exp(-x)))) == (
        "multiply(softplus(negative(x)), y)"
    )
    assert "softplus" in rewritten((-y * ag.log(1 / (1 + ag.exp(-z)))).mean())


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_zero_cotangents_stay_zero_through_what_overflows(way):
    x = ag.tensor(np.array([1000.0, 0.5]))
    for function in (ag.exp, ag.exp2, ag.expm1, ag.sinh, ag.cosh):
        slopes = way(ag.grad(lambda x, f=function: ag.where(x > 1, 3 * x, f(x)).sum()))(x)
        np.testing.assert_allclose(slopes, [3, ag.grad(function)(x[1])], rtol=1e-15)
    for function in (lambda x: 1 / ag.cosh(x), lambda x: 1 / (1 + ag.exp(x)),
                     lambda x: x / (ag.exp(x) - 1), lambda x: x / ag.sinh(x)):
        assert way(ag.grad(lambda x, f=function: f(x).sum()))(x)[0] == 0


def test_roots_that_cancel_have_slopes_at_zero():
    for function in (lambda x: ag.sqrt(x * x + 1) - x, lambda x: x + ag.sqrt(x * x + 4)):
        assert ag.jit(ag.grad(function))(0.0) == ag.grad(function)(0.0) != 0


def test_differences_of_exponentials_keep_their_digits_in_quotients():
    """exp(x) / expm1(exp(x)), which once was 1 / (exp(exp(x) - x) - exp(-x))."""
    x = ag.tensor(np.array([-100.0, -20.0]))
    found = ag.jit(lambda x: ag.exp(x) / (ag.exp(ag.exp(x)) - 1))(x)
    np.testing.assert_allclose(found, 1 - np.exp(x.numpy()) / 2, rtol=1e-15)


def test_quotients_of_sums_of_exponentials_are_taken_below_the_greatest():
    a, b = np.array([1000.0, 0, -1000]), np.array([1000.0, 1, -990])
    found = ag.jit(lambda a, b: (2 * ag.exp(a) + 3 * ag.exp(b)) / (ag.exp(a) + ag.exp(b)))(a, b)
    np.testing.assert_allclose(found, 2 + 1 / (1 + np.exp(a - b)), rtol=1e-12)


@pytest.mark.parametrize("c", [np.nan, -np.inf, 1e308, 5e-324])
def test_sums_with_numbers_that_have_no_series_are_compiled_as_they_stand(c):
    x = ag.tensor(np.array([0.5, -2.0]))
    for f in (lambda x: ag.sin(x) * c / x - ag.cos(x) * c, lambda x: 1 / (x - c) - 1 / ag.sin(x)):
        np.testing.assert_allclose(ag.jit(f)(x).numpy(), f(x).numpy())


@pytest.mark.parametrize("f", [
    lambda x: 1 + ag.tanh(x), lambda x: ag.tanh(x) ** 2 + ag.tanh(x),
    lambda x: x - ag.nn.functional.softplus(x), lambda x: x - ag.nn.functional.silu(x),
    lambda x: ag.sigmoid(x) - ag.exp(x), lambda x: ag.tanh(x) - ag.sigmoid(x)])
def test_sums_of_which_layers_and_losses_are_made_stay_short(f):
    jitted = ag.jit(f)
    jitted(ag.ones(3, dtype=ag.float32))
    assert len(str(jitted.graph).splitlines()) <= 9
