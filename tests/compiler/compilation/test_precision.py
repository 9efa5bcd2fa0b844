"""``jit(mode="precision")`` tells which results have lost digits, and is silent about others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.reports.precision import PrecisionWarning
from tests.rewrite.test_unstable import TENSORS
from tests.rewrite.unstable import EXCEPTIONS, UNSTABLE


def told(function, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ag.jit(function, mode="precision")(*args)
    return [str(w.message) for w in found if w.category is PrecisionWarning]


def both(name):
    """What is told about an expression and its derivative."""
    function, points = UNSTABLE[name]

    def run(x):
        y, pull = ag.vjp(lambda x: function(TENSORS, x), x)
        return y, *pull(ag.ones_like(y))

    return told(run, ag.tensor(np.array(points)))


@pytest.mark.native_plans
@pytest.mark.share(2)
@pytest.mark.parametrize("name", sorted(EXCEPTIONS))
def test_what_is_off_is_told(name):
    found = both(name)
    assert found and "has lost digits: it is" in found[0]


@pytest.mark.share(8)
@pytest.mark.parametrize("name", sorted(UNSTABLE.keys() - EXCEPTIONS)[::6])
def test_what_is_right_is_not(name):
    assert both(name) == []


def test_networks_are_silent():
    rng = np.random.default_rng(0)
    x, w, v = (ag.tensor(rng.normal(size=s).astype("f")) for s in ((3, 4), (4, 5), (5, 2)))
    y = ag.tensor([0, 1, 1])

    def loss(w, v):
        h = ag.softmax(ag.tanh(x @ w), -1) + ag.relu(x @ w)
        return ag.cross_entropy(h @ v, y)

    assert told(ag.value_and_grad(loss, (0, 1)), w, v) == []


def test_the_place_is_told():
    x = ag.tensor(np.array([1.0, 18.0, 2.0]))
    (message,) = told(lambda x: ag.tanh(x) - ag.tanh(x) ** 3, x)
    assert "result 0" in message and "at (1,)" in message and "exactly 9.27809132097" in message
