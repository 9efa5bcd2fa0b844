"""Infinities that a program holds as numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import agnesi as ag


@pytest.mark.parametrize("algebra", ["exact", "real"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_infinity_that_is_written_stays(algebra, sign):
    """Over one denominator all other terms are nothing beside it, and it is no term to be left."""
    x, y = ag.symbolic.vectors("x", "y")
    infinity = sign * math.inf
    forms = [infinity + x / y, x / y - infinity, (x / y + 1) * infinity, 2 / y + x / y + infinity,
             x - y - (x + infinity), (x - y) / infinity - (x + y) * infinity]
    found = ag.function([x, y], forms, algebra=algebra)([1.0, 2.0], [2.0, 4.0])
    expected = [infinity, -infinity, infinity, infinity, -infinity, -infinity]
    np.testing.assert_array_equal(found, [[v, v] for v in expected])


@pytest.mark.parametrize("function", [
    lambda x, y: ag.sqrt(ag.exp(x) + ag.exp(y)), lambda x, y: x * x - y * y,
    lambda x, y: ag.square(x + y) - ag.square(x - y),
    lambda x, y: ag.special.gammaln(x + 1) - ag.special.gammaln(x) + y,
    lambda x, y: ag.special.gammaln(x) + ag.special.gammaln(y) - ag.special.gammaln(x + y),
    lambda x, y: x * ag.log(x / y) - (x - y), lambda x, y: (1 + x / y) ** y,
    lambda x, y: y / ag.special.ndtr(ag.expm1(x)), lambda x, y: ag.log(y * 2 / ag.expm1(x)),
    lambda x, y: ag.special.log_ndtr(x ** 3) + y, lambda x, y: ag.hypot(y ** 2, ag.maximum(y, x)),
], ids=range(11))
def test_slopes_at_zeros_and_infinities_are_numbers_where_eager_ones_are(function):
    some = [0.0, math.inf, -math.inf, 1e-300, 1.0, -2.0, 3.0]
    points = [ag.tensor(np.array(v)) for v in zip(*itertools.product(some, some), strict=True)]

    def slopes(x, y):
        return ag.vjp(function, x, y)[1](ag.ones_like(x))

    with np.errstate(all="ignore"):
        for before, after in zip(slopes(*points), ag.jit(slopes)(*points), strict=True):
            lost = np.isnan(after.numpy()) & ~np.isnan(before.numpy())
            assert not lost.any(), [float(p.numpy()[lost][0]) for p in points]
