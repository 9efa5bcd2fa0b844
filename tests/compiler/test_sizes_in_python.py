"""Sizes that change as Python's numbers: factors and places."""

from __future__ import annotations

import pytest

import agnesi as ag
from tests.compiler.sizes import agree, rows


def test_quotients_of_sizes_are_as_precise_as_numbers():
    f = ag.jit(lambda x: (x * (1 / x.shape[0]), ag.ones(2) * (x.shape[0] / 3)))
    for n in (5, 6, 9):
        agree(f, f.function, rows(n, dtype="float64"), tolerance=1e-15)
    assert len(f.specialisations) == 2


def test_places_that_sizes_name_are_views():
    def function(x):
        y = x * 1
        for at in (x.shape[0] - 1, x.shape[0] - 3, 8 % x.shape[0]):
            part = y[at]
            part += 1
        y[x.shape[0] - 2, 1] = 5
        return y, y[None, x.shape[0] - 2, :2], y[x.shape[0] - 2, [1, 0]]

    f = ag.jit(function)
    for n in (5, 4, 9, 3, 17, 2):
        agree(f, function, rows(n, 3))
    with pytest.raises(IndexError):
        f(rows(1, 3))
