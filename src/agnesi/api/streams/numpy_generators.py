"""NumPy's old generators: their states as vectors, and draws that go on from one.

A thread has one generator, which is put into the state of each draw: to make one takes longer than
most draws.  Binomial numbers of one trial, the masks and samples of networks, are one comparison of
a uniform number each, where NumPy begins a general method anew for each chance.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_KEY_WORDS = 624
#: Methods that neither use nor leave the second one of two normal numbers.
_PLAIN = ("random_sample", "binomial", "randint", "standard_exponential", "permutation")
#: Numbers that are closer to a bound than this are drawn by NumPy itself.
_DOUBTFUL_DISTANCE = 1e-15

Draw = Callable[[np.random.RandomState], Any]


def packed(state: np.random.RandomState) -> np.ndarray:
    """The state of a generator as a vector of uint32."""
    _, key, position, left, normal = state.get_state()
    tail = np.array([normal], "<f8").view("<u4")
    return np.concatenate([key, [position, left], tail]).astype(np.uint32)


def unpacked(words: np.ndarray) -> np.random.RandomState:
    """A generator in a state."""
    state = np.random.RandomState(0)
    _put(state, words)
    return state


def _put(state: np.random.RandomState, words: np.ndarray) -> None:
    normal = float(words[626:].astype("<u4").view("<f8")[0])
    state.set_state(("MT19937", words[:624], int(words[624]), int(words[625]), normal))


class _Engine(threading.local):
    """A thread's generator, in whose own memory are the key and the position; between draws it has
    no normal number left."""

    def __init__(self) -> None:
        bits = np.random.MT19937(0)
        self.generator = np.random.RandomState(bits)
        memory: Any = (ctypes.c_uint32 * (_KEY_WORDS + 1)).from_address(bits.ctypes.state_address)
        self.words = np.frombuffer(memory, np.uint32)

    def plain(self, state: np.ndarray, draw: Draw) -> tuple[np.ndarray, Any]:
        """The state behind a draw that has nothing to do with normal numbers, and the draw."""
        self.words[:] = state[: len(self.words)]
        found = draw(self.generator)
        after = state.copy()
        after[: len(self.words)] = self.words
        return after, found

    def any(self, state: np.ndarray, draw: Draw) -> tuple[np.ndarray, Any]:
        """The same for all draws."""
        left = True
        try:
            _put(self.generator, state)
            found = draw(self.generator)
            after = packed(self.generator)
            left = bool(after[625])
        finally:
            if left:
                self.generator.set_state(("MT19937", state[:_KEY_WORDS], 0, 0, 0.0))
        return after, found


_ENGINE = _Engine()


def drawn(state: np.ndarray, method: str, draw: Draw) -> tuple[np.ndarray, Any]:
    """The state behind a draw by a method, and what ``draw(generator)`` gives."""
    return (_ENGINE.plain if method in _PLAIN else _ENGINE.any)(state, draw)


def one_trial(state: np.ndarray, sizes: Any, p: Any) -> tuple[np.ndarray, Any] | None:
    """The state behind ``binomial(1, p, size)``, and that draw; None where NumPy does more than to
    compare a number with each chance."""
    p = np.asarray(p, np.float64)
    if not ((p > 0) & (p <= 1)).all():
        return None
    after, u = _ENGINE.plain(state, lambda g: g.random_sample(p.shape if sizes is None else sizes))
    over = u - (1 - np.minimum(p, 1 - p))
    if u.size and (np.abs(over).min() < _DOUBTFUL_DISTANCE or u.max() > 1 - _DOUBTFUL_DISTANCE):
        return None
    return after, (over > 0) ^ (p > 0.5)
