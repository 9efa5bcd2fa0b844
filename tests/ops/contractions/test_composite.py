"""Composites against NumPy."""

import numpy as np
import pytest

import agnesi as ag

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))
ODD = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(equal_nan):
    other = ODD + np.array([0, 0, 0, 1e-9, 1e-3])
    expected = np.isclose(ODD, other, equal_nan=equal_nan)
    np.testing.assert_array_equal(ag.isclose(ODD, other, equal_nan=equal_nan), expected)
    assert bool(ag.allclose(A, A + 1e-9)) and not ag.allclose(A, B)
    assert bool(ag.isclose(ag.tensor(2**40), ag.tensor(2**40)))


def test_array_equal():
    assert bool(ag.array_equal(A, A)) and not ag.array_equal(A, A[:2]) and not ag.array_equal(A, B)


@pytest.mark.parametrize(("name", "args"), [
    ("diff", (A,)), ("diff", (A, 2, 0)), ("cross", (A, B)), ("inner", (A, B)),
    ("inner", (A[0], B)), ("nan_to_num", (ODD,)),
])
def test_against_numpy(name, args):
    np.testing.assert_allclose(getattr(ag, name)(*args), getattr(np, name)(*args))


def test_the_rest():
    assert ag.nan_to_num(ODD, 7, 8, 9).tolist() == [7, 8, 9, 0, 1]
    a, b = ag.asarray(A), ag.asarray(B)
    np.testing.assert_allclose(ag.dist(a, b, 1), np.abs(A - B).sum())
    np.testing.assert_allclose(ag.lerp(a, b, 0.25), A + 0.25 * (B - A))
    np.testing.assert_allclose(a.addcmul(a, b, value=2), A + 2 * A * B)
    np.testing.assert_allclose(a.addcdiv(a, b, value=2), A + 2 * A / B)
    np.testing.assert_array_equal(a.masked_fill(a > 0, -1), np.where(A > 0, -1, A))
    with pytest.raises(ag.ShapeError, match="must have size 3, not 2 and 3"):
        ag.cross(ag.ones(2), ag.ones(3))


def test_array_equal_compares_sizes_that_only_the_run_knows():
    x, y = ag.symbolic.matrix("x"), ag.symbolic.matrix("y")
    same = ag.function([x, y], ag.array_equal(x, y))
    one, many = np.ones((1, 2)), np.ones((3, 2))
    none = np.ones((0, 2))
    for a in (none, one, many, many.T, 2 * one):
        for b in (none, one, many, many.T):
            assert same(a, b) == np.array_equal(a, b), (a.shape, b.shape)
    chosen = ag.jit(lambda x: ag.array_equal(x[x > 0], x[x < 2]))
    assert bool(chosen(ag.tensor([1.0, 1.5]))) and not bool(chosen(ag.tensor([1.0, -0.5])))
