"""Methods of binary operations as NumPy's have them, and reductions of some elements."""

import functools
import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi.testing import check_op

rng = np.random.default_rng(5)
X = rng.uniform(0.5, 1.5, (3, 4))
WHOLE = rng.integers(1, 60, (3, 4))
FLOATS = ("add subtract multiply divide maximum minimum fmax fmin logaddexp logaddexp2 hypot "
          "arctan2 copysign remainder power").split()
INTEGERS = "gcd lcm bitwise_and bitwise_or bitwise_xor add subtract maximum".split()
CASES = [(n, X) for n in FLOATS] + [(n, WHOLE) for n in INTEGERS]


def folded(name, rows):
    """From the first to the last; NumPy's own arctan2.reduce is not, along contiguous axes."""
    return functools.reduce(getattr(np, name), rows)


@pytest.mark.share(3)
@pytest.mark.parametrize("name, x", CASES)
@pytest.mark.parametrize("axis", [0, -1])
def test_folds(name, x, axis):
    f, rows = getattr(ag, name), list(np.moveaxis(x, axis, 0))
    expected = folded(name, rows)
    running = np.stack(list(itertools.accumulate(rows, getattr(np, name))))
    for run in (lambda g: g, ag.jit):
        found = run(lambda v: f.reduce(v, axis=axis))(ag.tensor(x))
        np.testing.assert_allclose(found.numpy(), expected, 1e-13)
        found = run(lambda v: f.accumulate(v, axis=axis))(ag.tensor(x))
        np.testing.assert_allclose(np.moveaxis(found.numpy(), axis, 0), running, 1e-13)
    kept = f.reduce(ag.tensor(x), axis=axis, keepdims=True)
    assert kept.shape == np.expand_dims(expected, axis).shape


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "logaddexp"])
def test_their_derivatives(name):
    f = getattr(ag, name)
    check_op(lambda x: f.reduce(x, axis=1), ((X,),))
    check_op(lambda x: f.accumulate(x, axis=1), ((X,),))
    check_op(lambda x, y: f.outer(x, y), ((X[0], X[1:]),))
    check_op(lambda x: f.reduceat(x, [0, 2, 1], axis=1), ((X,),))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "hypot"])
def test_outer_at_and_reduceat(name):
    f, reference = getattr(ag, name), getattr(np, name)
    found = f.outer(ag.tensor(X), X[0])
    np.testing.assert_allclose(found.numpy(), reference.outer(X, X[0]), 1e-15)
    for places, values in (([0, 2, 0], 2.5), ([1, 1, 1], X[:, :4]), (np.array([2, 0]), X[0])):
        changed, wanted = ag.tensor(X.copy()), X.copy()
        f.at(changed, places, values)
        reference.at(wanted, places, values)
        np.testing.assert_allclose(changed.numpy(), wanted, 1e-14)
    for axis in (0, 1):
        found = f.reduceat(ag.tensor(X), [0, 2, 1, 1], axis=axis)
        np.testing.assert_allclose(found.numpy(), reference.reduceat(X, [0, 2, 1, 1], axis), 1e-14)
    with pytest.raises(IndexError, match="index 7 is out of range for 4 elements"):
        f.reduceat(ag.tensor(X), [7], axis=1)


def test_folds_of_some_elements_and_of_none():
    mask = X > 0.9
    found = ag.logaddexp.reduce(ag.tensor(X), axis=1, where=mask, initial=0.0)
    expected = np.logaddexp.reduce(X, axis=1, where=mask, initial=0.0)
    np.testing.assert_allclose(found.numpy(), expected, 1e-14)
    assert ag.bitwise_or.reduce(ag.tensor(WHOLE[:0])).tolist() == [0] * 4
    for call, told in (
        (lambda: ag.subtract.reduce(ag.tensor(X), axis=(0, 1)), "has an order"),
        (lambda: ag.arctan2.reduce(ag.tensor(X[:0])), "of no elements"),
        (lambda: ag.divide.reduce(ag.tensor(X), where=mask), "has nothing to put"),
    ):
        with pytest.raises(ValueError, match=told):
            call()


def _answer(f, *operands):
    """Values, or the kind of error."""
    try:
        return np.asarray(f(*operands))
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


LOGICAL = "logical_and logical_or logical_xor less equal".split()


@pytest.mark.share(4)
@pytest.mark.parametrize("name", [*FLOATS, "gcd", "lcm", "bitwise_and", *LOGICAL])
def test_folds_as_numpy_also_of_no_elements_and_from_a_number(name):
    f = getattr(np, name)
    x = WHOLE if name in INTEGERS else X
    folds = [lambda v: f.reduce(v, 0), lambda v: f.accumulate(v, 0),
             lambda v: f.reduce(v, 0, initial=2)]
    for fold in folds[: 2 if name in ("less", "equal") else 3]:
        for operand in (x, x[:1], x[:0], *((x[:0] > 1, x > 1) if name in LOGICAL else ())):
            expected = _answer(fold, operand)
            symbol = ag.symbolic.tensor(operand.dtype, (None, None))
            for found in (
                _answer(fold, ag.tensor(operand)), _answer(ag.jit(fold), ag.tensor(operand)),
                _answer(lambda v, s=symbol: ag.function([s], fold(s))(v), operand),  # noqa: B023
            ):
                if isinstance(expected, type):
                    assert found is expected
                else:
                    assert found.dtype == expected.dtype
                    np.testing.assert_allclose(found, expected, 1e-13)


def test_numpy_finds_them():
    x = ag.tensor(X).requires_grad_()
    found = np.add.reduce(x, axis=1)
    assert isinstance(found, ag.Tensor) and found.requires_grad
    np.testing.assert_allclose(np.multiply.outer(x, X[0]).numpy(), np.multiply.outer(X, X[0]))
    np.testing.assert_allclose(np.maximum.accumulate(x, axis=1).numpy(),
                               np.maximum.accumulate(X, axis=1))


@pytest.mark.share(4)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any"])
def test_reductions_of_some_elements(name):
    mask = X > 0.8
    mask[0] = True
    extra = {"initial": 1.1} if name in ("sum", "prod", "max", "min") else {}
    for axis, keepdims, where in ((1, False, mask), (None, False, mask), (0, True, mask[0])):
        words = {"axis": axis, "keepdims": keepdims, "where": where, **extra}
        expected = getattr(np, name)(X, **words)
        for run in (lambda g: g, ag.jit):
            found = run(lambda x, w=words: getattr(ag, name)(x, **w))(ag.tensor(X))
            np.testing.assert_allclose(found.numpy(), expected, 1e-14)
    if name not in ("all", "any"):
        check_op(lambda x: getattr(ag, name)(x, axis=1, where=mask, **extra), ((X,),))


def test_extremes_of_some_elements_need_one():
    with pytest.raises(ValueError, match="max of some elements needs initial="):
        ag.max(ag.tensor(X), where=X > 1)
    assert ag.max(ag.zeros((0, 2)), axis=0, initial=3.0).tolist() == [3.0, 3.0]
    assert float(ag.sum(ag.tensor(X), initial=1.0)) == pytest.approx(X.sum() + 1)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(name):
    reference = (np.maximum if name == "cummax" else np.minimum).accumulate
    f = getattr(ag, name)
    for x in (X, np.array([1.0, np.nan, 3.0]), WHOLE, X > 1, X.astype(np.float16)):
        for found in (f(ag.tensor(x), axis=0), ag.jit(lambda v: f(v, axis=0))(ag.tensor(x))):
            np.testing.assert_array_equal(found[0], reference(x, axis=0))
            np.testing.assert_array_equal(np.take_along_axis(x, found[1].numpy(), 0), found[0])
    np.testing.assert_array_equal(f(ag.tensor(X)).values, reference(X.reshape(-1)))
    ties = ag.tensor([2.0, 2.0, 1.0])
    slope = ag.grad(lambda x: ag.sum(ag.cummax(x).values))(ties)
    assert slope.tolist() == [1.0, 2.0, 0.0]


def test_running_logarithms_of_sums():
    many = ag.tensor(np.linspace(-800.0, 900.0, 50_000))  # in no loop of Python's
    np.testing.assert_array_equal(
        ag.logcumsumexp(many, 0).numpy(), np.logaddexp.accumulate(many.numpy()))
    inf = np.inf
    for values, slopes in (([-inf, 1.0], [1.0, 1.0]), ([0.0, -inf, 0.0], [2.5, 0.0, 0.5]),
                           ([1.0, inf, inf], [1.0, 1.5, 0.5]), ([0.0, 1000.0], [1.0, 1.0])):
        x = ag.tensor(values)
        for call in (ag.grad(lambda x: ag.logcumsumexp(x, 0).sum()),
                     ag.jit(ag.grad(lambda x: ag.logaddexp.accumulate(x).sum()))):
            np.testing.assert_allclose(call(x).numpy(), slopes, 1e-6)
    x, weights = ag.tensor([0.5, -1.0, 2.0]), np.array([0.0, 1.0, -3.0], np.float32)
    formula = ag.hessian(lambda x: (ag.log(ag.cumsum(ag.exp(x), 0)) * weights).sum())(x)
    found = ag.hessian(lambda x: (ag.logcumsumexp(x, 0) * weights).sum())(x)
    np.testing.assert_allclose(found.numpy(), formula.numpy(), 1e-4, 1e-6)


@pytest.mark.parametrize("extreme", [ag.max, ag.min])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_of_extremes_that_are_nan_are_nan(extreme, dtype):
    """As in PyTorch and JAX; what is the only element of its axis has all of the gradient."""
    x = ag.tensor(np.array([[np.nan, 1.0], [2.0, 2.0]], dtype))
    assert ag.jvp(lambda x: extreme(x, axis=0), (x,), (x,))[1].dtype == dtype
    for wrap in (lambda f: f, ag.jit):
        over_rows = wrap(ag.grad(lambda x: extreme(x, axis=1).sum()))(x)
        np.testing.assert_array_equal(over_rows.numpy(), [[np.nan, np.nan], [0.5, 0.5]])
        alone = wrap(ag.grad(lambda x: extreme(x[None], axis=0).sum()))(x)
        assert alone.tolist() == [[1.0, 1.0], [1.0, 1.0]]
