"""Edges of operations, eagerly and compiled: empty, infinite, complex, boolean."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy import special

import agnesi as ag

INF = np.inf


def _both(function, *xs):
    xs = [ag.tensor(np.asarray(x)) for x in xs]
    return function(*xs), ag.jit(function)(*xs)


def test_complex_numbers_are_true_where_any_part_is_not_zero():
    x = np.array([1j, 0, 1, -0.0 + 0j, complex(0, np.nan)])
    for found in _both(lambda x: x.astype(bool), x):
        np.testing.assert_array_equal(found, x.astype(bool))


@pytest.mark.parametrize("shape", [(6, 6), (2, 3), (1,), ()])
def test_pairs_have_two_parts(shape):
    with pytest.raises(ag.ShapeError if hasattr(ag, "ShapeError") else ValueError, match="size 2"):
        ag.view_as_complex(ag.tensor(np.ones(shape)))


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_medians_of_nothing(shape):
    for found in _both(lambda x: ag.median(x, axis=-1), np.zeros(shape)):
        assert np.isnan(found.numpy()).all() and found.shape == shape[:-1]


def test_ranges_between_tensors():
    a, b = ag.tensor(0.0, dtype="float64"), ag.tensor(2.0, dtype="float64")
    for function in (ag.linspace, ag.logspace):
        found = function(a, b, 5)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, getattr(np, function.__name__)(0.0, 2.0, 5))
    assert ag.geomspace(a + 1, b, 3).dtype == np.float64
    assert ag.linspace(0, 1, 3).dtype == ag.linspace(ag.tensor(0), 1, 3).dtype == np.float32


@pytest.mark.parametrize("lam", [np.inf, 1e300, np.nan, -1.0])
def test_counts_are_integers(lam):
    draw = lambda x: ag.random.poisson(x)  # noqa: E731
    for f in (draw, ag.jit(draw)):
        with pytest.raises(ValueError, match=r"at least 0|less than 2"):
            f(ag.tensor(np.array([lam])))


@pytest.mark.parametrize("function", [lambda x: -x, lambda x: x - x, lambda x: +x,
                                      lambda x: ag.subtract(x, True)])
def test_booleans_have_no_sign(function):
    x = ag.tensor([True, False])
    for f in (function, ag.jit(function)):
        with pytest.raises(TypeError, match="takes numbers, not bool"):
            f(x)


def test_zeta_below_one():
    x = np.array([-3.5, -2.0, -1.0, 0.0, 0.5, 0.99, 1.01, 2.0, 30.0])
    for found in _both(ag.special.zeta, x):
        np.testing.assert_allclose(found, special.zeta(x), rtol=1e-13)


def test_the_sign_of_zero_fills():
    x = ag.ones(3)
    for f in (lambda x: ag.full_like(x, -0.0), lambda x: ag.full((3,), -0.0)):
        for found in (f(x), ag.jit(f)(x)):
            assert np.signbit(found.numpy()).all()


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "divmod"])
def test_quotients_with_infinities(name, dtype):
    values = [-2.5, -0.0, 0.0, 1.0, 2.5, 7, -7, np.inf, -np.inf, np.nan]
    a, b = (x.ravel() for x in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        expected = np.array(getattr(np, name)(a, b))
    f = lambda a, b: getattr(ag, name)(a.astype(dtype), b.astype(dtype))  # noqa: E731
    for found in _both(f, a, b):
        found = np.stack([np.asarray(x.astype("float64")) for x in
                          (found if name == "divmod" else [found])]).reshape(expected.shape)
        np.testing.assert_array_equal(found, expected)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 0), (0, 3), (1, 4)])
def test_correlations_of_nothing(shape):
    for found in _both(lambda x: ag.corrcoef(x), np.zeros(shape)):
        assert np.isnan(found.numpy()).all()


@pytest.mark.parametrize(("f", "x", "expected"), [
    (lambda x: ag.median(x), [1, INF, INF, INF], INF),
    (lambda x: ag.quantile(x, 0.1), [-INF, 1.0], -INF),
    (lambda x: ag.quantile(x, 0.25), [-1.5e308, 1.5e308], -0.75e308),
    (lambda x: ag.nanmedian(x), [1, INF, np.nan, INF, INF], INF),
    (lambda x: ag.median(x), [-INF, INF], np.nan),
    (lambda x: ag.nanvar(x), [1, np.nan, INF], np.nan),
    (lambda x: ag.nanstd(x), [1, np.nan, -INF], np.nan),
    (lambda x: ag.nan_to_num(x), [complex(np.nan, 1), complex(2, np.nan)], [1j, 2]),
    (lambda x: ag.nan_to_num(x, posinf=3, neginf=-3), [complex(INF, -INF)], [3 - 3j]),
])
def test_what_is_infinite_or_missing_stays_what_it_is(f, x, expected):
    for found in _both(f, x):
        np.testing.assert_allclose(found, expected)


@pytest.mark.share(3)
@pytest.mark.parametrize("name", ["geomspace", "linspace", "logspace"])
def test_ranges_have_the_dtype_of_their_ends_in_both_modes(name):
    ends = [1, 2.0, np.array(1, "int64"), *(np.array(2, d) for d in ("float16", "float64"))]
    for a, b in itertools.product(ends, ends):
        given = [ag.asarray(e) if isinstance(e, np.ndarray) else e for e in (a, b)]
        f = functools.partial(getattr(ag, name), num=3)
        runs = [f(*given), ag.jit(f)(*given), ag.jit(lambda f, xs: f(*xs))(f, given)]
        assert len({r.dtype for r in runs}) == 1, (a, b)


@pytest.mark.parametrize("build", [
    lambda x, i: ag.index_add(x, 0, i, ag.ones((1, 0))), lambda x, i: x[i], lambda x, i: x[:, i],
    lambda x, i: ag.bincount(i - 6),
])
def test_results_without_elements_are_checked_in_compiled_code(build):
    """What has no elements reads nothing, and once asked nothing of its indices either."""
    x, i = ag.zeros((3, 0)), ag.tensor([5])
    for run in (build, ag.jit(build)):
        with pytest.raises((IndexError, ValueError)):
            run(x, i)


def test_numbers_beyond_all_sizes_neither_crash_nor_hang() -> None:
    x = ag.rand((1, 2, 3))
    with pytest.raises(ValueError, match=r"kernel 10+ must be at most"):
        ag.max_pool(x, 10**30, cover_all=True)
    with pytest.raises(TypeError, match="kernel True must be an integer"):
        ag.avg_pool(x, True)
    assert ag.diff(ag.ones(3), n=10**30).shape == ag.polyder([1, 2, 3], 10**30).shape == (0,)
    assert ag.allclose(ag.nn.functional.local_response_norm(x, 10**6, alpha=1e6),
                       x / (1 + (x * x).sum(1, keepdims=True)) ** 0.75)


@pytest.mark.parametrize("f", [
    lambda x: x.max(0), lambda x: x[x.sum(1) > 1e9].min(0),
    lambda x: ag.nn.functional.grid_sample(x[None, None], ag.zeros((1, 2, 2, 2))),
    lambda x: ag.vmap(lambda row: row.max())(x),
])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_axes_without_elements_are_refused_or_taken_in_both_modes(f, shape):
    found = []
    for way in (lambda f: f, ag.jit):
        try:
            found.append(way(f)(ag.ones(shape)).shape)
        except ValueError as error:
            found.append(str(error).split("\n")[0])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_of_two_zeros_in_half_precision_the_first_is_taken_as_by_numpy(name):
    a, b = np.array([[0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, 0.0, -0.0]], np.float16)
    expected = np.signbit(getattr(np, name)(a, b))
    for found in _both(getattr(ag, name), a, b):
        np.testing.assert_array_equal(np.signbit(found), expected)
