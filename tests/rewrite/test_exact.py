"""Compiled functions have NaN, infinities and signs of zero where the eager ones have them."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

SPECIAL = np.array([0.0, -0.0, 1.0, -2.0, 0.5, 1e-320, -1e300, 1e300, np.inf, -np.inf, np.nan])
UNDEFINED = {
    "x / x": lambda x: x / x,
    "isnan": lambda x: ag.where(ag.isnan(x / x), 1.0, 0.0),
    "exp of log": lambda x: ag.exp(ag.log(x)),
    "square of sqrt": lambda x: ag.sqrt(x) ** 2,
    "over and times": lambda x: x / (x - 1) * (x - 1),
    "times a quotient": lambda x: x * ((x + 1) / x),
    "expm1 of log1p": lambda x: ag.expm1(ag.log1p(x)),
    "exp of log1p": lambda x: ag.exp(ag.log1p(x)),
    "expm1 of log": lambda x: ag.expm1(ag.log(x)),
    "powers": lambda x: x ** 2 * x ** -2,
    "plus zero": lambda x: x + 0.0,
    "zero minus": lambda x: 0.0 - x,
    "minus a difference": lambda x: -(x - x),
    "difference": lambda x: x - x,
    "minus minus zero": lambda x: x - -0.0,
    "times zero": lambda x: x * 0.0,
    "squares over": lambda x: x * x / x,
    "reciprocal twice": lambda x: 1 / (1 / x),
    "one over a root": lambda x: x ** -0.5,
    "power one half": lambda x: x ** 0.5,
    "powers one half": lambda x: ag.power(x, ag.tensor(np.full(11, 0.5))),
    "log of exp": lambda x: ag.log(ag.exp(x)),
    "log of one plus": lambda x: ag.log(1 + x),
    "log of one minus": lambda x: ag.log(1 - x),
    "exp minus one": lambda x: ag.exp(x) - 1,
    "one minus exp": lambda x: 1 - ag.exp(x),
    "sigmoid minus one": lambda x: ag.sigmoid(x) - 1,
    "log of sigmoid": lambda x: ag.log(ag.sigmoid(x)),
    "log of one over": lambda x: ag.log(1 / x),
    "negative exp plus zero": lambda x: -ag.exp(x) + 0.0,
    "zero minus exp": lambda x: 0.0 - ag.exp(x),
    "common number": lambda x: x * 0.5 + x[::-1] * 0.5,
    "common negative number": lambda x: x * -3.0 - x * -3.0,
}


@pytest.mark.share(3)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("name", UNDEFINED)
def test_what_is_undefined_stays_so(name, optimizer):
    x = ag.tensor(SPECIAL)
    eager = UNDEFINED[name](x).numpy()
    found = ag.jit(UNDEFINED[name], optimizer=optimizer)(x).numpy().copy()
    if name == "powers":  # what over- or underflows in between has the exact value 1
        found[np.isnan(eager) & np.isfinite(SPECIAL) & (SPECIAL != 0) & (found == 1)] = np.nan
    np.testing.assert_array_equal(np.isnan(found), np.isnan(eager))
    zero = (eager == 0) & (found == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(eager[zero]))


def test_nan_arrives_where_a_factor_cancels():
    f = ag.jit(lambda x, y: ag.exp(x) * y / ag.exp(x))
    assert np.isnan(f(ag.tensor(np.nan), ag.tensor(2.0)).numpy())


@pytest.mark.parametrize(("function", "gone"), [
    (lambda x: ag.exp(ag.log(ag.exp(x) + 1)), "log"),
    (lambda x: ag.exp(ag.log(ag.abs(x))), "log"),
    (lambda x: ag.sqrt(ag.abs(x)) ** 2, "sqrt"),
    (lambda x: ag.log(ag.exp(x)), "exp"),
    (lambda x: x * ag.exp(x) / ag.exp(x), "divide"),
    (lambda x: (1 + x * x) * x / (1 + x * x), "divide"),
    (lambda x: ag.sigmoid(x) * x / ag.sigmoid(x), "divide"),
])
def test_what_is_proved_is_simplified(function, gone):
    x = ag.tensor(np.array([0.0, 0.5, -3.0, np.nan]))
    f = ag.jit(function)
    np.testing.assert_allclose(f(x), function(x), rtol=1e-12, atol=1e-15)
    assert gone not in [n.op.name for n in f.graph.nodes if n.op is not None]


@pytest.mark.parametrize("name", ["x / x", "exp of log", "powers"])
def test_real_numbers_on_request(name):
    x = ag.tensor(np.array([0.0, -2.0]))
    found = ag.jit(UNDEFINED[name], algebra="real")(x).numpy()
    assert not np.isnan(found).any()
    with ag.config(algebra="real"):
        np.testing.assert_array_equal(ag.jit(UNDEFINED[name])(x), found)
    v = ag.symbolic.vector()
    np.testing.assert_array_equal(ag.function([v], UNDEFINED[name](v))(x), found)
    exact = ag.function([v], UNDEFINED[name](v), algebra="exact")
    assert np.isnan(np.asarray(exact(x))).any()


def test_unknown_algebra():
    with pytest.raises(ValueError, match="algebra must be one of"):
        ag.jit(lambda x: x, algebra="complex")


def test_large_integers_are_rounded_by_floats():
    x = ag.tensor(np.array([2**62 + 1, 3, 2**53 + 1]))
    f = lambda x: x.astype("float64").astype("int64")  # noqa: E731
    np.testing.assert_array_equal(ag.jit(f)(x), f(x))


def test_what_was_made_small_for_a_sum_in_half_precision_stays_so():
    x = ag.tensor(np.full(4096, 100.0, np.float16))
    assert float(ag.jit(lambda x: (x * (1 / 4096)).sum())(x)) == 100


@pytest.mark.parametrize("dtype", [f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)])
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_what_integers_cannot_hold(source, dtype):
    x = ag.tensor(np.tile([np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, 2.5, -2.5], 3).astype(source))
    f = lambda x: (x * 1).astype(dtype)  # noqa: E731
    np.testing.assert_array_equal(ag.jit(f)(x), f(x))


@pytest.mark.parametrize("f", [
    lambda a, b: ag.sum(b * a, axis=0), lambda a, b: ag.sum(a * b, axis=0, keepdims=True),
    lambda a, b: ag.sum(a / b, axis=0), lambda a, b: ag.mean(a * b[0]),
    lambda a, b: ag.sum(a / b[1]),
])
def test_factors_that_may_be_infinite_stay_in_the_sum(f):
    """One term is NaN; the sum of the others times the factor would be infinite."""
    a, b = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([-np.inf, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ag.jit(f)(a, b).numpy(), f(*map(ag.tensor, (a, b))).numpy())


def test_positive_numbers_and_bounded_factors_leave_the_sum():
    for f in (lambda a, b: ag.sum(a * 2.5), lambda a, b: ag.sum(a * (2 + ag.tanh(b)), axis=0),
              lambda a, b: ag.mean(a / 3)):
        jitted = ag.jit(f)
        jitted(np.ones((3, 2)), np.ones(2))
        assert "sum_of_product" in str(jitted.rewrites())


_CONTRACTIONS = {
    "matmul": lambda a, b: a @ b.T, "inner": ag.inner, "vecdot": ag.vecdot, "kron": ag.kron,
    "tensordot": ag.tensordot, "einsum": lambda a, b: ag.einsum("ik,jk->ij", a, b),
    "transposed": lambda a, b: a.T @ b, "scaled": lambda a, b: (a * -0.5) @ b.T,
    "batched": lambda a, b: a[None] @ b[None].mT, "vector": lambda a, b: a @ b[0],
}
_SUMS = {
    "sum": lambda a: a.sum(0), "negative": lambda a: (-a).sum(0),
    "scaled": lambda a: (a * -2).sum(),
    "factor": lambda a: (a * ag.tanh(a[0] - 1)).sum(0), "mean": lambda a: ag.mean(a / -3),
    "clip": lambda a: ag.clip(a, 0, 1), "maximum": lambda a: ag.maximum(a, 0.0),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 3), (3, 2), (40, 2)])
def test_zeros_have_the_signs_of_eager_ones(shape):
    zeros = np.zeros(shape)
    zeros.flat[0] = -0.0
    operands = [zeros, -zeros, np.zeros(shape), np.full(shape, -0.0), np.full(shape, -1.0)]
    cases = [(name, f, (a, b)) for name, f in _CONTRACTIONS.items() for a in operands[:4]
             for b in operands]
    cases += [(name, f, (a,)) for name, f in _SUMS.items() for a in operands]
    compiled = {f: ag.jit(f) for _, f, _ in cases}
    for name, f, arrays in cases:
        expected, found = f(*map(ag.tensor, arrays)), compiled[f](*map(ag.tensor, arrays))
        same = np.signbit(expected.numpy()) == np.signbit(found.numpy())
        assert same.all(), (name, arrays)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_no_zero_of_a_product_is_negative(dtype):
    for terms in (1, 2):
        a, b = ag.full((2, terms), -0.0, dtype=dtype), ag.ones((terms, 2), dtype=dtype)
        assert not ag.signbit(ag.jit(ag.matmul)(a, b)).any()
        image, filters = (x.reshape(1, terms, 2) for x in (a, b))
        assert not ag.signbit(ag.jit(ag.conv1d)(image, filters)).any()


QUOTIENTS = {
    "reciprocal twice": lambda x, y: 1 / (1 / x),
    "times a reciprocal": lambda x, y: y * (1 / x),
    "over a reciprocal": lambda x, y: y / (1 / x),
    "reciprocal of a quotient": lambda x, y: 1 / (y / x),
    "log of a root": lambda x, y: ag.log(ag.sqrt(x)),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_complex_numbers_over_zero_stay_undefined(name):
    """They are NaN in both parts, of which no rule makes a number again."""
    few = [complex(a, b) for a in (0.0, 1.0, -2.0) for b in (0.0, -1.0)]
    x, y = (ag.tensor(v.ravel()) for v in np.meshgrid(few, few))
    eager, found = QUOTIENTS[name](x, y).numpy(), ag.jit(QUOTIENTS[name])(x, y).numpy()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(eager))
    np.testing.assert_allclose(found[~np.isnan(eager)], eager[~np.isnan(eager)])


def test_products_of_complex_numbers_with_one_and_signs_are_products():
    few = [complex(a, b) for a in (0.0, -0.0, -2.0, np.inf)
           for b in (0.0, -0.0, 1.0, -np.inf, np.nan)]
    x, y = (ag.tensor(v.ravel()) for v in np.meshgrid(few, few))

    def f(x, y):
        return (x * 1, x * -1, -x * y, 1 / -x, x**3, x**5, x**-2, x**-3, x**0.5, x**1.5,
                x - -0.0)

    for found, eager in zip(ag.jit(f)(x, y), f(x, y), strict=True):
        for part in (ag.real, ag.imag):
            np.testing.assert_allclose(part(found), part(eager), 1e-14)
            known = ~ag.isnan(part(eager))
            np.testing.assert_array_equal(
                ag.signbit(part(found))[known], ag.signbit(part(eager))[known])


def test_ranges_are_joined_to_rows() -> None:
    def f(*xs: ag.Tensor) -> ag.Tensor:
        return ag.concat([x.reshape(-1)[:4] for x in (*xs, *xs[::-1])])

    xs = [ag.ones((2, 1, 2)), ag.ones((2, 2)), ag.ones((2, 2))]
    for found, wanted in zip(ag.jit(ag.jacfwd(f, (0, 1, 2)))(*xs), ag.jacrev(f, (0, 1, 2))(*xs),
                             strict=True):
        np.testing.assert_array_equal(found, wanted)
