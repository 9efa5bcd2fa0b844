"""Versions for all sizes have the kernels of those for one size."""

import re

import numpy as np
import pytest

import agnesi as ag


def _net(x, w):
    y = ag.maximum(x @ w, 0.0)
    return (y ** 2).mean()


def _images(x, w):
    y = ag.relu(ag.conv2d(x, w, padding=1))
    return (y ** 2).mean()


def _arrays(n, shape, other):
    rng = np.random.default_rng(n)
    sizes = ((n, *shape), other)
    return [ag.tensor(rng.normal(size=s).astype(np.float32)) for s in sizes]


@pytest.mark.parametrize(("loss", "shape", "other"), [
    (_net, (32,), (32, 64)), (_images, (8, 6, 6), (16, 8, 3, 3))])
def test_what_is_computed_of_sizes_joins_no_kernels(loss, shape, other):
    def made(sizes):
        f = ag.jit(ag.value_and_grad(loss, argnums=1))
        for n in sizes:
            f(*_arrays(n, shape, other))
        return f

    def kernels(f):
        return re.findall(r"^\d+: (.*?): ", str(f.plan()), re.MULTILINE)

    f, alone = made((48, 60)), made((60,))
    assert kernels(f) == kernels(alone)
    for n in (2, 7, 60, 61):
        args = _arrays(n, shape, other)
        for got, wanted in zip(f(*args), ag.value_and_grad(loss, argnums=1)(*args), strict=True):
            np.testing.assert_allclose(got.array, wanted.array, rtol=1e-4, atol=1e-4)
    assert len(f.specialisations) == 2
