"""NumPy's old generators: their states as vectors, and draws that go on from one.

A thread has one generator, which is put into the state of each draw: to make one takes longer than
most draws.  Compiled code makes the usual ones itself (``core/ir/calls/mersenne.py``).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

#: Words of the state of MT19937.
_KEY_WORDS = 624

Draw = Callable[[np.random.RandomState], Any]


def packed(state: np.random.RandomState) -> np.ndarray:
    """The state of a generator as a vector of uint32."""
    _, key, position, left, normal = state.get_state()
    return np.concatenate([key, [position, left], _as_words(normal)]).astype(np.uint32)


def unpacked(words: np.ndarray) -> np.random.RandomState:
    """A generator in a state."""
    state = np.random.RandomState(0)
    state.set_state(("MT19937", words[:624], int(words[624]), int(words[625]), _normal_left(words)))
    return state


def _normal_left(words: np.ndarray) -> float:
    """The second one of two normal numbers, which the last words of a state hold."""
    return float(words[626:].astype("<u4").view("<f8")[0])


def _as_words(normal: Any) -> np.ndarray:
    return np.array([normal], "<f8").view("<u4")


class _Bits:
    """A Mersenne Twister that ``RandomState`` takes and copies no state of: NumPy copies the key
    word by word in Python, which takes longer than most draws."""

    def __init__(self) -> None:
        self.made = np.random.MT19937(0)
        self.capsule, self.lock = self.made.capsule, self.made.lock

    @property
    def state(self) -> dict[str, Any]:
        return {"bit_generator": "MT19937"}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        pass


class _Engine(threading.local):
    """A thread's generator, whose key and position are written and read in its own memory."""

    def __init__(self) -> None:
        bits: Any = _Bits()
        self.generator = np.random.RandomState(bits)
        memory: Any = (ctypes.c_uint32 * (_KEY_WORDS + 1)).from_address(
            bits.made.ctypes.state_address)
        self.words = np.frombuffer(memory, np.uint32)

    def drawn(self, state: np.ndarray, draw: Draw) -> tuple[np.ndarray, Any]:
        """The state behind a draw, and the draw."""
        self.words[:] = state[: len(self.words)]
        self.generator.set_state({
            "bit_generator": "MT19937", "state": None, "has_gauss": int(state[625]),
            "gauss": _normal_left(state)})
        found = draw(self.generator)
        left = self.generator.get_state(legacy=False)
        after = state.copy()
        after[: len(self.words)] = self.words
        after[625] = left["has_gauss"]
        after[626:] = _as_words(left["gauss"])
        return after, found


_ENGINE = _Engine()


def drawn(state: np.ndarray, draw: Draw) -> tuple[np.ndarray, Any]:
    """The state behind a draw, and what ``draw(generator)`` gives."""
    return _ENGINE.drawn(state, draw)
