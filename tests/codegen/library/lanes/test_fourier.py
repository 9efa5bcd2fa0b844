"""Transforms in compiled code: generated, without Python, as exact as NumPy's, for all sizes."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.roots import roots

pytestmark = pytest.mark.native_plans
RNG = np.random.default_rng(3)
#: Powers of two, other small factors, large prime factors, one number.
SIZES = (1, 2, 5, 6, 31, 37, 60, 256, 509, 1000, 4096)
EXACT = {"float32": 1e-6, "float64": 3e-15}


def _compare(function: Any, expected: Any, x: np.ndarray, exact: float) -> None:
    compiled = ag.jit(function)
    found = compiled(ag.asarray(x)).numpy()
    wide = x.astype("complex128" if x.dtype.kind == "c" else "float64")
    wanted = expected(wide)
    assert found.shape == wanted.shape
    assert found.dtype.itemsize == (x.dtype.itemsize if x.dtype.kind == found.dtype.kind else
                                    2 * x.dtype.itemsize if found.dtype.kind == "c" else
                                    x.dtype.itemsize // 2)
    assert np.linalg.norm(found - wanted) <= exact * np.linalg.norm(wanted)
    assert not re.search(r"^ *\d+: python", str(compiled.plan()), re.MULTILINE), x.shape


def _complex(shape: Any, dtype: str) -> np.ndarray:
    x = RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)
    return x.astype({"float32": "complex64", "float64": "complex128"}[dtype])


@pytest.mark.share(12)
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("n", SIZES)
def test_sizes(n: int, dtype: str) -> None:
    x = _complex((n,), dtype)
    _compare(lambda x: ag.fft.fft(x), np.fft.fft, x, EXACT[dtype])
    _compare(lambda x: ag.fft.ifft(x, norm="ortho"), lambda x: np.fft.ifft(x, norm="ortho"), x,
             EXACT[dtype])
    _compare(lambda x: ag.fft.rfft(x, norm="forward"), lambda x: np.fft.rfft(x, norm="forward"),
             x.real.copy(), EXACT[dtype])
    half = x[: n // 2 + 1]
    _compare(lambda x: ag.fft.irfft(x, n), lambda x: np.fft.irfft(x, n), half, EXACT[dtype])


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("shape", [(9, 64), (3, 5, 37), (2, 6, 5, 4), (16, 33)])
def test_shapes_and_axes(shape: tuple[int, ...], dtype: str) -> None:
    x = _complex(shape, dtype)
    for axis in range(len(shape)):
        _compare(lambda x, a=axis: ag.fft.fft(x, axis=a), lambda x, a=axis: np.fft.fft(x, axis=a),
                 x, EXACT[dtype])
        _compare(lambda x, a=axis: ag.fft.rfft(x, axis=a),
                 lambda x, a=axis: np.fft.rfft(x, axis=a), x.real.copy(), EXACT[dtype])
    _compare(lambda x: ag.fft.fftn(x), np.fft.fftn, x, EXACT[dtype])
    _compare(lambda x: ag.fft.irfftn(x, norm="ortho"), lambda x: np.fft.irfftn(
        x, s=(*shape[:-1], 2 * (shape[-1] - 1)), axes=range(len(shape)), norm="ortho"), x,
        EXACT[dtype])


@pytest.mark.parametrize("n", [6, 7, 16, 37])
def test_gradients_are_those_of_values(n: int) -> None:
    x = ag.asarray(RNG.standard_normal((3, n)))
    weights = ag.asarray(RNG.standard_normal((3, n // 2 + 1)))

    def loss(x: Any) -> Any:
        spectrum = ag.fft.rfft(x)
        power = (ag.abs(spectrum) ** 2 * weights).sum()
        return power + (ag.fft.irfft(spectrum * weights, n) ** 3).sum()

    gradient = ag.grad(loss)
    np.testing.assert_allclose(ag.jit(gradient)(x).numpy(), gradient(x).numpy(), 1e-9, 1e-9)


def test_numbers_of_rows_that_change() -> None:
    compiled = ag.jit(lambda x: ag.fft.fft2(x))
    for rows in (3, 5, 8, 2, 17):
        x = _complex((rows, 8, 12), "float64")
        np.testing.assert_allclose(compiled(ag.asarray(x)).numpy(), np.fft.fft2(x), 1e-10, 1e-10)


def test_strange_numbers_stay_in_their_rows() -> None:
    x = _complex((20, 16), "float32")
    x[4, 3] = np.nan
    found = ag.jit(lambda x: ag.fft.fft(x))(ag.asarray(x)).numpy()
    assert np.isnan(found[4]).all()
    assert np.isfinite(np.delete(found, 4, 0)).all()


@pytest.mark.parametrize("n", [1, 3, 12, 1000, 1 << 20])
def test_roots_are_exact(n: int) -> None:
    places = np.unique(np.linspace(0, 3 * n, 200).astype(int))
    with mpmath.workdps(40):
        for place, root in zip(places.tolist(), roots(n, places), strict=True):
            exact = mpmath.expjpi(mpmath.mpf(-2 * (place % n)) / n)
            assert abs(mpmath.mpc(complex(root)) - exact) < 2e-16


@pytest.mark.share(4)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", EXACT)
def test_large_arrays_are_shared_by_threads(dtype: str, threads: int) -> None:
    before = ag.get_num_threads()
    ag.set_num_threads(threads)
    try:
        rows, square = _complex((1003, 66), dtype), _complex((250, 261), dtype)
        _compare(lambda x: ag.fft.fft(x), np.fft.fft, rows, EXACT[dtype])
        _compare(lambda x: ag.fft.rfft(x), np.fft.rfft, rows.real.copy(), EXACT[dtype])
        _compare(lambda x: ag.fft.irfft(x), np.fft.irfft, rows, EXACT[dtype])
        _compare(lambda x: ag.fft.ifft2(x), np.fft.ifft2, square, EXACT[dtype])
        _compare(lambda x: ag.fft.fft(x, axis=1), lambda x: np.fft.fft(x, axis=1),
                 square.reshape(2, 125, 261), EXACT[dtype])
    finally:
        ag.set_num_threads(before)


def test_shared_functions_are_evaluated_without_compiled_code() -> None:
    from agnesi.ops.signal.transforms import Columns, Lines

    x = _complex((1003, 64), "float64")
    np.testing.assert_allclose(Lines((1, 64), False, 1.0).perform(x), np.fft.fft(x), 1e-10, 1e-10)
    found = Columns(16, True, 1.0).perform(x[:1000])
    np.testing.assert_allclose(found, np.fft.ifft(x[:1000], axis=0) * 1000, 1e-10, 1e-10)
