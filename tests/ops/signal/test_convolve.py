"""Convolutions of vectors against NumPy, through Fourier space against SciPy."""

import numpy as np
import pytest
from scipy import signal

import agnesi as ag

rng = np.random.default_rng(1)
DTYPES = ("float64", "float32", "complex128", "int8", "int64", "bool")


def vector(n, dtype):
    x = rng.normal(size=n) * 3
    return (x + 1j * rng.normal(size=n)) if dtype == "complex128" else x.astype(dtype)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_as_numpy(name, dtype, mode):
    for n, m in ((1, 1), (1, 4), (4, 1), (5, 3), (3, 6), (4, 4), (7, 2), (2, 8), (600, 513)):
        a, v = vector(n, dtype), vector(m, dtype)
        expected = getattr(np, name)(a, v, mode)
        found = getattr(ag, name)(a, v, mode)
        assert found.dtype == expected.dtype
        tolerance = 2e-3 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(found.numpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_as_scipy(mode):
    for first, second, axes in (
        ((4, 5), (2, 3), None), ((3, 7), (3, 2), 1), ((2, 8, 5), (1, 3, 3), (1, 2)),
        ((2, 1), (1, 6), 1), ((2, 3), (4, 5), None),
    ):
        a, v = rng.normal(size=first), rng.normal(size=second)
        for turn in (1, 1j):
            found = ag.fftconvolve(a * turn, v * turn, mode, axes)
            expected = signal.fftconvolve(a * turn, v * turn, mode, axes)
            np.testing.assert_allclose(found.numpy(), expected, 1e-12, 1e-12)


@pytest.mark.parametrize("n", [6, 700])
def test_gradients_are_correlations(n):
    a, v = ag.tensor(rng.normal(size=n)), ag.tensor(rng.normal(size=n))
    for run in (ag.grad, lambda f: ag.jit(ag.grad(f))):
        found = run(lambda a: (ag.convolve(a, v) * ag.convolve(v, v)).sum())(a)
        expected = np.correlate(np.convolve(v.numpy(), v.numpy()), v.numpy(), "valid")
        np.testing.assert_allclose(found.numpy(), expected, 1e-9, 1e-9)


@pytest.mark.parametrize("call, words", [
    (lambda: ag.convolve(np.ones((2, 2)), [1.0]), "takes vectors"),
    (lambda: ag.convolve([], [1.0]), "there is nothing to sum"),
    (lambda: ag.convolve([1.0], [1.0], "half"), "none of 'full', 'same', 'valid'"),
    (lambda: ag.fftconvolve(np.ones((2, 3)), np.ones(3)), "ranks 2 and 1 differ"),
    (lambda: ag.fftconvolve(np.ones((2, 3)), np.ones((3, 2)), "valid"), "as large as the other"),
])
def test_errors(call, words):
    with pytest.raises(ValueError) as caught:
        call()
    assert words in str(caught.value)


def test_integers_are_not_transformed():
    with pytest.raises(TypeError, match="see convolve"):
        ag.fftconvolve([1, 2], [3])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_long_vectors_of_16_bits_are_transformed_in_float32(dtype):
    x = ag.tensor(np.arange(1200) % 3).astype(dtype)
    exact = np.convolve(*[x.astype("float64").numpy()] * 2)
    for function in (ag.convolve, ag.fftconvolve):
        for run in (function, ag.jit(function)):
            found = run(x, x)
            assert found.dtype == dtype
            np.testing.assert_allclose(found.astype("float64"), exact, rtol=0.01, atol=0.01)
