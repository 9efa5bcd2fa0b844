"""Calls of NumPy's own tests that once gave something else than NumPy: eager and compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support import tree

A = np.arange(36.0).reshape(6, 6) ** 1.3
D = np.array([0, 0.5, 1, 3, 5, 7])
N = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
M = np.array([[True, True, False]] * 2)
WHOLE = np.array([337, 404, 739, 806, 1007, 1811, 2012])

Call = Callable[..., Any]
CASES: dict[str, tuple[Call, tuple[Any, ...]]] = {
    "average, axes in another order": (
        lambda xp, x, w: xp.average(x, axis=(1, 0), weights=w),
        (A.reshape(3, 3, 4), np.arange(9.0).reshape(3, 3))),
    "gradient, axes in another order": (
        lambda xp, x, d: xp.gradient(x, d, np.arange(6.0), axis=(1, 0)), (A, D)),
    "cov of nothing": (lambda xp, x: xp.cov(x), (np.zeros((2, 0)),)),
    "histogram at edges": (
        lambda xp, x: xp.histogram(x, bins=8296, range=(2, 2280)), (WHOLE * 1.0,)),
    "histogram, whole weights": (
        lambda xp, x, w: xp.histogram(x, bins=3, range=(0, 2100), weights=w), (WHOLE, WHOLE)),
    "interp beside inf": (
        lambda xp, y: xp.interp(np.array([1, 2, 2.5, 3, 4]), np.array([1.0, 2, 3, 4]), y),
        (np.array([1, 2, np.inf, 4]),)),
    "interp from inf": (
        lambda xp, x, y: xp.interp(0.5, x, y), (np.array([-np.inf, np.inf]), np.array([9.0, 9.0]))),
    "setdiff1d in its order": (
        lambda xp, x: xp.setdiff1d(x, np.array([7, 5, 2]), assume_unique=True),
        (np.array([3, 2, 1], np.int16),)),
    "intersect1d with places": (
        lambda xp, x, y: xp.intersect1d(x, y, return_indices=True),
        (np.array([3, 1, 3, 4]), np.array([4, 6, 3, 3]))),
    "rfftn, an axis twice": (
        lambda xp, x: xp.fft.rfftn(x, s=(10, 20, 40), axes=(0, 0, 1)), (N[1:].T @ N[1:],)),
    "irfftn, an axis twice": (
        lambda xp, x: xp.fft.irfftn(x, s=(3, 7, 8), axes=(0, 0, 1)), (A,)),
    "fftn, some sizes": (
        lambda xp, x: xp.fft.ifftn(x, s=(10, -1), axes=(0, 1)), (A,)),
    "take_along_axis broadcasts": (
        lambda xp, x, i: xp.take_along_axis(x, i, 1),
        (A.reshape(9, 4, 1), np.array([[[1, 3, 0]]]))),
    "insert before one place": (
        lambda xp, x: xp.insert(x, [1], [1, 2, 3], axis=1), (A,)),
    "beside integers that do not fit": (
        lambda xp, x: (x >= -1, x < 300, x == -1, xp.not_equal(x, 1000), x > -1, x.clip(-1, 300)),
        (np.array([1, 200], np.uint8),)),
    "beside integers beyond 64 bits": (
        lambda xp, x: (x >= -1, x < 2**64, x <= 2**64, xp.equal(x, 2**64), x > 10**400),
        (np.array([1, 2**64 - 1], np.uint64),)),
    "NumPy's numbers beside Python's": (
        lambda xp: (xp.add(np.float16(1), 2.0), xp.power(2, np.int8(3))), ()),
    "geomspace on a circle": (lambda xp: xp.geomspace(-1, 1, 3, dtype=complex), ()),
    "nansum": (lambda xp, x, m: xp.nansum(x, 1, where=m, initial=2), (N, M)),
    "nanmax": (lambda xp, x, m: xp.nanmax(x, 1, where=m, initial=4.5), (N, M)),
    "nanstd": (lambda xp, x, m: xp.nanstd(x, 1, where=m, dtype=np.float32), (N, M)),
    "nanmean": (lambda xp, x: xp.nanmean(x, where=np.array([True, False, True])), (WHOLE[:3],)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str) -> None:
    call, operands = CASES[name]
    with np.errstate(all="ignore"), ag.config(default_float="float64"):
        expected = call(np, *operands)
        for run in (partial(call, ag), ag.jit(partial(call, ag))):
            found = tree.leaves(run(*map(ag.tensor, operands)))
            for a, b in zip(found, tree.leaves(expected), strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a.numpy(), b, 1e-6 if b.dtype == "f4" else 1e-12, 1e-12)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: ag.cov([[1.0, 2.0]], fweights=[1.5, 2]), "fweights must be whole"),
    (lambda: ag.cov([[1.0, 2.0]], aweights=[[1, 2]]), "aweights must be a vector"),
    (lambda: ag.histogram([1.0], bins=2.4), "bins must be an integer"),
    (lambda: ag.digitize([1j], [1, 2]), "complex numbers have no order"),
    (lambda: ag.var([1.0], ddof=1, correction=1), "correction and ddof are the same"),
    (lambda: ag.nanvar([1.0], ddof=1, correction=1), "correction and ddof are the same"),
    (lambda: ag.nanmean([1.0], dtype=bool), "must be floating"),
    (lambda: ag.trim_zeros([0, 1], trim="front"), "trim must be"),
    (lambda: ag.ravel_multi_index((0.1, 0.0), (2, 2)), "must be integers"),
    (lambda: ag.ravel_multi_index(([0], [0]), (2**62, 2)), "more positions"),
    (lambda: ag.ravel_multi_index(([0], [0]), (2, 0), mode="clip"), "no positions"),
    (lambda: ag.unravel_index(0.5, (2, 2)), "must be integers"),
    (lambda: ag.insert([1, 2], [1.0], [3]), "must be integers or booleans"),
    (lambda: ag.interp(0, [0, 1], [1, 2], period=0), "period must not be zero"),
])
def test_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError), match=text):
        call()
