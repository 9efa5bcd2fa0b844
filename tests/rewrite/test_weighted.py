"""Sums of exponentials with weights, their logarithms and quotients: value and gradient."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

MASK = np.array([1.0, 1.0, 0.0])
Z = (np.array([1000.0, 0.0, -1000.0]), np.array([-1000.0, -1001.0, -1003.0]),
     np.array([0.3, -1.2, 2.5]), np.array([800.0, 801.0, 1900.0]))


def _shares(z):
    e = np.exp(np.where(MASK > 0, z - z[:2].max(), -np.inf))
    return e / e.sum()


PROPORTIONS = {
    "mask": lambda z: MASK * ag.exp(z) / ag.sum(MASK * ag.exp(z)),
    "where": lambda z: ag.where(MASK > 0, ag.exp(z), 0) / ag.sum(
        ag.where(MASK > 0, ag.exp(z), 0)),
    "softmax": lambda z: ag.softmax(z, 0) * MASK / ag.sum(ag.softmax(z, 0) * MASK),
}


@pytest.mark.parametrize("z", Z, ids=str)
def test_logarithm_of_masked_sum(z):
    f = lambda z: ag.log(ag.sum(MASK * ag.exp(z)))  # noqa: E731
    value, slope = ag.jit(ag.value_and_grad(f))(ag.tensor(z))
    np.testing.assert_allclose(value, np.logaddexp(z[0], z[1]), 1e-14)
    np.testing.assert_allclose(slope, _shares(z), 1e-12, 1e-300)


@pytest.mark.parametrize("z", Z, ids=str)
@pytest.mark.parametrize("name", PROPORTIONS)
def test_proportions(name, z):
    np.testing.assert_allclose(ag.jit(PROPORTIONS[name])(ag.tensor(z)), _shares(z), 1e-12, 1e-300)


def test_mean_by_exponentials():
    f = lambda z, v: ag.sum(ag.exp(z) * v) / ag.sum(ag.exp(z))  # noqa: E731
    z, v = np.array([800.0, 801.0, 799.5]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ag.jit(f)(ag.tensor(z), ag.tensor(v)), 1.9090204855439394, 1e-14)


def test_product_of_many():
    for x, y in (([1e200, 1e250, 1e100], 550 * np.log(10)), ([-1.0, -2.0], np.log(2.0)),
                 ([-1.0, 2.0], np.nan), ([0.0, 2.0], -np.inf), ([np.nan, 2.0], np.nan)):
        found = ag.jit(lambda x: ag.log(ag.prod(x)))(ag.tensor(np.array(x)))
        np.testing.assert_allclose(found, y, 1e-14)
