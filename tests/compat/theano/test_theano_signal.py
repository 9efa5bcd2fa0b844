"""``tensor.signal.conv`` in PyTensor's words, and modules of PyTensor's that are others here."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import scipy.signal

from agnesi.compat import theano
from agnesi.compat.theano import tensor as T
from agnesi.compat.theano.tensor.signal.conv import convolve1d, convolve2d


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_convolutions_are_scipys(mode, n):
    rng = np.random.default_rng(n)
    x, w, a, b = T.dvector(), T.dvector(), T.dmatrix(), T.dmatrix()
    values = [rng.normal(size=s) for s in (6, n, (6, 5), (n, 2))]
    row, image = theano.function([x, w, a, b], [convolve1d(x, w, mode), convolve2d(a, b, mode)])(
        *values)
    np.testing.assert_allclose(row, scipy.signal.convolve(*values[:2], mode), atol=1e-12)
    np.testing.assert_allclose(image, scipy.signal.convolve2d(*values[2:], mode), atol=1e-12)
    rows = theano.function([a, w], convolve1d(a, w, mode))(values[2], values[1])
    for found, one in zip(rows, values[2], strict=True):
        np.testing.assert_allclose(found, scipy.signal.convolve(one, values[1], mode), atol=1e-12)


@pytest.mark.parametrize(("module", "name"), [
    ("tensor.pad", "pad"), ("tensor.einsum", "einsum"), ("tensor.shape", "specify_shape"),
    ("tensor.functional", "vectorize"), ("raise_op", "Assert"), ("graph.traversal", "ancestors"),
    ("link.c.op", "COp"), ("tensor.random.op", "RandomStream"),
    ("tensor.rewriting.math", "register_specialize")])
def test_other_modules_of_pytensors(module, name):
    assert callable(getattr(import_module(f"agnesi.compat.theano.{module}"), name))
    assert callable(T.pad) and callable(T.einsum)
