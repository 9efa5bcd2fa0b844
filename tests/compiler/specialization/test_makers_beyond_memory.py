"""Functions that a number tells how much to make, of more than any machine has: an error of ours at
once, eager and compiled."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

import agnesi as ag
from agnesi.nn import functional as F

X = ag.tensor([1.0, 2.0, 3.0])
MAKERS: dict[str, Callable[[int], Any]] = {
    "zeros": lambda n: ag.zeros((n, 8)), "arange": lambda n: ag.arange(n),
    "linspace": lambda n: ag.linspace(0, 1, n), "logspace": lambda n: ag.logspace(0, 1, n),
    "geomspace": lambda n: ag.geomspace(1, 2, n), "hamming": lambda n: ag.hamming(n),
    "kaiser": lambda n: ag.kaiser(n, X[0]), "fftfreq": lambda n: ag.fft.fftfreq(n),
    "rfftfreq": lambda n: ag.fft.rfftfreq(n), "fft": lambda n: ag.fft.fft(X, n=n),
    "tril_indices": lambda n: ag.tril_indices(n)[0], "vander": lambda n: ag.vander(X, n),
    "histogram": lambda n: ag.histogram(X, bins=n)[0], "repeat": lambda n: ag.repeat(X, n),
    "tile": lambda n: ag.tile(X, n), "pad": lambda n: ag.pad(X, (0, n)),
    "wrap": lambda n: ag.pad(X, n, mode="wrap"), "resize": lambda n: ag.resize(X, (n, 8)),
    "pascal": lambda n: ag.linalg.pascal(n), "dft": lambda n: ag.linalg.dft(n),
    "invhilbert": lambda n: ag.linalg.invhilbert(n), "helmert": lambda n: ag.linalg.helmert(n),
    "invpascal": lambda n: ag.linalg.invpascal(n), "hadamard": lambda n: ag.linalg.hadamard(n),
    "randint": lambda n: ag.randint(0, 5, (n, 8)), "randperm": lambda n: ag.randperm(n),
    "unpackbits": lambda n: ag.unpackbits(ag.tensor([1], dtype="uint8"), count=n),
    "bincount": lambda n: ag.bincount(ag.tensor([0, 1]), minlength=n),
    "one_hot": lambda n: F.one_hot(ag.tensor([0, 1]), n), "diag_embed": lambda n: ag.diag_embed(
        X, n), "roll": lambda n: ag.roll(ag.broadcast_to(X[:1], (n,)), 1),
    "scatter_add": lambda n: ag.scatter_add(ag.zeros((n,)), 0, ag.tensor([0, 1, 1]), X),
    "fromfunction": lambda n: ag.fromfunction(lambda i, j: i + j, (n, 8)),
    "interpolate": lambda n: F.interpolate(X[None, None], size=n),
    "add": lambda n: ag.broadcast_to(X[:1], (n, 8)) + 1,
}
HUGE = (2**44, 2**59, 2**61, 2**63 - 1, 2**64, 10**30)
RUNS: dict[str, Callable[[Any, int], Any]] = {
    "eager": lambda f, n: f(n), "jit": lambda f, n: ag.jit(lambda: f(n))()}


def _stop(*_: Any) -> None:
    raise TimeoutError


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", MAKERS)
def test_a_huge_number_is_an_error_of_ours_at_once(name: str, run: str) -> None:
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        for n in HUGE:
            signal.alarm(20)
            with pytest.raises((MemoryError, ValueError, TypeError)) as caught:
                RUNS[run](MAKERS[name], n)
            told = str(caught.value)
            assert "test_makers_beyond_memory.py" in told
            assert "Unable to allocate" not in told and "OverflowError" not in told, told
            assert isinstance(caught.value, MemoryError) or str(n) in told, told
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
