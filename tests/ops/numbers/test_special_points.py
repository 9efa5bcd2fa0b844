"""Gradients where the textbook formula has none: kinks, ties, poles, zeros, infinities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.elementwise.explog import xlogy

INF, NAN = np.inf, np.nan

#: Function, argument, gradient.
POINTS: list[tuple[str, Callable[[Any], Any], Any, Any]] = [
    ("abs at 0", ag.abs, 0.0, 0.0),
    ("sign anywhere", ag.sign, 3.0, 0.0),
    ("sqrt at 0", ag.sqrt, 0.0, INF),
    ("sqrt at 0, not wanted", lambda x: ag.sqrt(x) * 0, 0.0, 0.0),
    ("sqrt of a square at 0", lambda x: ag.sqrt(x * x), 0.0, NAN),
    ("rsqrt at 0, not wanted", lambda x: ag.where(x > 0, ag.rsqrt(x), x), 0.0, 1.0),
    ("cbrt at 0, not wanted", lambda x: ag.cbrt(x) * 0, 0.0, 0.0),
    ("log at 0, not wanted", lambda x: ag.where(x > 0, ag.log(x), x), 0.0, 1.0),
    ("log1p at -1, not wanted", lambda x: ag.where(x > -1, ag.log1p(x), x), -1.0, 1.0),
    ("reciprocal at 0, not wanted", lambda x: ag.where(x > 0, 1 / x, x), 0.0, 1.0),
    ("x / x at 0, not wanted", lambda x: ag.where(x > 0, x / x, 2 * x), 0.0, 2.0),
    ("relu at 0", ag.relu, 0.0, 0.0),
    ("relu below 0", ag.relu, -1.0, 0.0),
    ("maximum, tie", lambda x: ag.maximum(x, 1.0), 1.0, 0.5),
    ("maximum of itself", lambda x: ag.maximum(x, x), 1.0, 1.0),
    ("minimum, tie", lambda x: ag.minimum(x, 1.0), 1.0, 0.5),
    ("fmax beside NaN", lambda x: ag.fmax(x, NAN), 2.0, 1.0),
    ("fmax, tie, the first", lambda x: ag.fmax(x, 2.0), 2.0, 1.0),
    ("fmax, tie, the second", lambda x: ag.fmax(2.0, x), 2.0, 0.0),
    ("fmin, tie, the first", lambda x: ag.fmin(x, 2.0), 2.0, 1.0),
    ("fmin, tie, the second", lambda x: ag.fmin(2.0, x), 2.0, 0.0),
    ("clip at the lower limit", lambda x: ag.clip(x, 0.0, 1.0), 0.0, 1.0),
    ("clip at the upper limit", lambda x: ag.clip(x, 0.0, 1.0), 1.0, 1.0),
    ("clip outside", lambda x: ag.clip(x, 0.0, 1.0), 1.5, 0.0),
    ("power 2 at 0", lambda x: x**2, 0.0, 0.0),
    ("power 1 at 0", lambda x: x**1, 0.0, 1.0),
    ("power 0 at 0", lambda x: x**0, 0.0, 0.0),
    ("power 0 at 2", lambda x: x**0, 2.0, 0.0),
    ("power 3 of a negative number", lambda x: x**3, -2.0, 12.0),
    ("power 2.5 at 0", lambda x: x**2.5, 0.0, 0.0),
    ("exponent, base 0", lambda x: ag.power(0.0, x), 2.0, 0.0),
    ("exponent 0, base 0", lambda x: ag.power(0.0, x), 0.0, 0.0),
    ("x ** x at 1", lambda x: x**x, 1.0, 1.0),
    ("hypot at the origin", lambda x: ag.hypot(x, 0.0), 0.0, 0.0),
    ("atan2 at the origin", lambda x: ag.atan2(x, 0.0), 0.0, 0.0),
    ("logaddexp of -inf", lambda x: ag.logaddexp(x, -INF), -INF, 0.5),
    ("logaddexp beside -inf", lambda x: ag.logaddexp(x, -INF), 1.0, 1.0),
    ("xlogy of 0 and 0", lambda x: xlogy(0.0, x), 0.0, 0.0),
    ("softplus, large", ag.softplus, 1000.0, 1.0),
    ("sigmoid, very negative", ag.sigmoid, -1000.0, 0.0),
    ("tanh, large", ag.tanh, 1000.0, 0.0),
    ("floor", ag.floor, 0.5, 0.0),
    ("remainder by itself", lambda x: ag.remainder(5.0, x), 2.0, -2.0),
    ("copysign turned", lambda x: ag.copysign(x, -1.0), 2.0, -1.0),
    ("norm of zeros", ag.norm, [0.0, 0.0], [0.0, 0.0]),
    ("norm 1 of zeros", lambda x: ag.norm(x, 1), [0.0, 0.0], [0.0, 0.0]),
    ("norm 3 of zeros", lambda x: ag.norm(x, 3), [0.0, 0.0], [0.0, 0.0]),
    ("greatest norm, tie", lambda x: ag.norm(x, INF), [2.0, -2.0], [0.5, -0.5]),
    ("std of equals", ag.std, [1.0, 1.0], [0.0, 0.0]),
    ("max, tie", ag.max, [3.0, 3.0, 1.0], [0.5, 0.5, 0.0]),
    ("min, tie of all", ag.min, [3.0, 3.0, 3.0], [1 / 3, 1 / 3, 1 / 3]),
    ("prod with a zero", ag.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    ("prod with zeros", ag.prod, [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ("cumprod with a zero", lambda x: ag.cumprod(x).sum(), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    ("logsumexp of -inf", ag.logsumexp, [-INF, -INF], [0.0, 0.0]),
    ("logsumexp beside -inf", ag.logsumexp, [-INF, 0.0], [0.0, 1.0]),
    ("softmax beside -inf", lambda x: ag.softmax(x)[1], [-INF, 0.0], [0.0, 0.0]),
    ("log_softmax, large", lambda x: ag.log_softmax(x)[1], [1000.0, 0.0], [-1.0, 1.0]),
    ("where, branch of NaN", lambda x: ag.where(x > 1, ag.log(x - 1), x), 0.5, 1.0),
    ("mean of one", ag.mean, [7.0], [1.0]),
    ("abs at -0", ag.abs, -0.0, 0.0),
    ("acos at 1", ag.acos, 1.0, -INF),
    ("acosh at 1", ag.acosh, 1.0, INF),
    ("asin at 1, not wanted", lambda x: ag.where(x < 1, ag.asin(x), x), 1.0, 1.0),
    ("atanh at 1, not wanted", lambda x: ag.where(x < 1, ag.atanh(x), x), 1.0, 1.0),
    ("log at 0", ag.log, 0.0, INF),
    ("log at inf", ag.log, INF, 0.0),
    ("log1p at -1", ag.log1p, -1.0, INF),
    ("exp at -inf", ag.exp, -INF, 0.0),
    ("sqrt at inf", ag.sqrt, INF, 0.0),
    ("sqrt below 0", ag.sqrt, -1.0, NAN),
    ("reciprocal at 0", lambda x: 1 / x, 0.0, -INF),
    ("reciprocal at inf", lambda x: 1 / x, INF, 0.0),
    ("power 0.5 at 0", lambda x: x**0.5, 0.0, INF),
    ("power of a tensor, 0 at 0", lambda x: ag.power(x, ag.zeros_like(x)), 0.0, 0.0),
    ("power of a tensor, 1 at 0", lambda x: ag.power(x, ag.ones_like(x)), 0.0, 1.0),
    ("exponent, base below 0", lambda x: ag.power(-2.0, x), 2.0, NAN),
    ("round at a half", ag.round, 0.5, 0.0),
    ("ceil at an integer", ag.ceil, 1.0, 0.0),
    ("remainder at a multiple", lambda x: ag.remainder(x, 2.0), 4.0, 1.0),
    ("atan2 on the cut", lambda x: ag.atan2(x, -1.0), 0.0, -1.0),
    ("logaddexp of inf", lambda x: ag.logaddexp(x, INF), INF, 0.5),
    ("xlogy at 0", lambda x: xlogy(x, 2.0), 0.0, np.log(2.0)),
    ("clip of NaN", lambda x: ag.clip(x, 0.0, 1.0), NAN, 0.0),
    ("minimum of NaN", lambda x: ag.minimum(x, 1.0), NAN, 1.0),
    ("where, both branches NaN elsewhere", lambda x: ag.where(x > 0, ag.log(x), ag.log(-x)),
     -2.0, -0.5),
    ("max of NaN", ag.max, [NAN, 1.0], [NAN, NAN]),
    ("least norm, tie", lambda x: ag.norm(x, -INF), [2.0, -2.0], [0.5, -0.5]),
    ("std of one", ag.std, [3.0], [0.0]),
    ("sum of none", lambda x: x[:0].sum(), [1.0], [0.0]),
    ("cumprod of zeros", lambda x: ag.cumprod(x).sum(), [0.0, 0.0], [1.0, 0.0]),
    ("sort, tie", lambda x: ag.sort(x)[0], [1.0, 1.0], [1.0, 0.0]),
    ("argmax, tie", lambda x: x[ag.argmax(x)], [3.0, 3.0], [1.0, 0.0]),
    ("nextafter, the number", lambda x: ag.nextafter(x, 3.0), 2.0, 1.0),
    ("nextafter, the direction", lambda x: ag.nextafter(2.0, x), 2.0, 0.0),
    ("gammainc of a shape, at 0", lambda x: ag.special.gammainc(x, 0.0), 2.0, 0.0),
    ("gammainc of a shape, at inf", lambda x: ag.special.gammainc(x, INF), 2.0, 0.0),
    ("gammaincc of a negative shape", lambda x: ag.special.gammaincc(x, 1.0), -2.0, NAN),
    ("betainc of a shape, at 0", lambda x: ag.special.betainc(x, 2.0, 0.0), 2.0, 0.0),
    ("betainc of a shape, at 1", lambda x: ag.special.betainc(2.0, x, 1.0), 2.0, 0.0),
    ("gammaincinv at 0", lambda x: ag.special.gammaincinv(2.0, x), 0.0, INF),
    ("polar factor of a multiple of 1", lambda x: ag.linalg.polar(ag.eye(2) * x).u[0, 0], 2.0,
     0.0),
    ("nuclear norm of equal values", lambda x: ag.linalg.norm(ag.eye(2) * x, "nuc"), 2.0, 2.0),
    ("root of a multiple of 1", lambda x: ag.linalg.sqrtm(ag.eye(2) * x)[0, 0], 4.0, 0.25),
    ("index named twice", lambda x: x[[0, 0]].sum(), [1.0, 2.0], [2.0, 0.0]),
]

#: Where a product with zero comes first in one mode and last in the other.
FORWARD = {
    "sqrt at 0, not wanted": NAN, "cbrt at 0, not wanted": NAN, "sqrt of a square at 0": 0.0,
}


@pytest.mark.share(2)
@pytest.mark.parametrize(("name", "function", "x", "expected"), POINTS, ids=[p[0] for p in POINTS])
def test_gradient(name: str, function: Any, x: Any, expected: Any) -> None:
    x = ag.tensor(x, dtype="float64")
    value, pullback = ag.vjp(function, x)
    (found,) = pullback(ag.ones_like(value))
    np.testing.assert_allclose(found.numpy(), expected, 1e-12)
    many = ag.vmap(lambda x: ag.vjp(function, x)[1](ag.ones_like(value))[0])(ag.stack([x, x]))
    np.testing.assert_allclose(many.numpy(), [expected] * 2, 1e-12)
    expected = FORWARD.get(name, expected)
    for i in range(x.shape[0] if x.ndim else 1):
        along = ag.zeros_like(x)
        along[(i,) if x.ndim else ()] = 1.0
        _, moved = ag.jvp(function, (x,), (along,))
        np.testing.assert_allclose(moved.numpy(), expected[i] if x.ndim else expected, 1e-12)


def test_forward_mode_keeps_zero_tangents() -> None:
    _, t = ag.jvp(lambda x: ag.sqrt(x), (ag.tensor([0.0, 4.0]),), (ag.tensor([0.0, 1.0]),))
    np.testing.assert_allclose(t.numpy(), [0.0, 0.25])


def test_second_derivative_of_a_square_at_zero() -> None:
    for n, expected in ((2, 2.0), (2.0, 2.0), (3, 0.0), (1, 0.0)):
        second = ag.grad(ag.grad(lambda x, n=n: x**n))(0.0)
        assert second.item() == expected


def test_a_constant_exponent_needs_no_logarithm() -> None:
    x = ag.tensor([-2.0, 0.0], requires_grad=True)
    (x**3).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [12.0, 0.0])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_whole_numbers_without_sign_do_not_hang_on_the_length(dtype: str) -> None:
    x = ag.tensor([np.nan, np.inf, -np.inf, -5.0, -0.5, 3e9, 5e9, 7.0] * 5, dtype=dtype)
    one_by_one = [v.astype("uint32").item() for v in x]
    assert x.astype("uint32").tolist() == one_by_one
    assert ag.jit(lambda x: x.astype("uint32"))(x).tolist() == one_by_one
