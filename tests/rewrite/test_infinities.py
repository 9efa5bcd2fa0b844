"""Infinities that a program holds as numbers."""

from __future__ import annotations

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
    forms = [infinity + x / y, x / y - infinity, (x / y + 1) * infinity, 2 / y + x / y + infinity]
    found = ag.function([x, y], forms, algebra=algebra)([1.0, 2.0], [2.0, 4.0])
    expected = [infinity, -infinity, infinity, infinity]
    np.testing.assert_array_equal(found, [[v, v] for v in expected])
