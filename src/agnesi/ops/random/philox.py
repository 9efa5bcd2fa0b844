"""Random bits: Philox4x32-10, a counter-based generator.

A draw is a pure function of a key and a counter, so eager and compiled code agree bit for bit, and
any part of a draw can be computed alone, on any number of threads.  A generator's state is one
tensor of four uint32: key low, key high, counter low, counter high.  A draw of ``n`` words takes
``ceil(n / 4)`` blocks of the counter.  Word ``i`` is word ``i // blocks`` of block ``i % blocks``:
neighbours then use the same word of neighbouring blocks, which suits vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.ir.dims import Size
from agnesi.core.op import Op
from agnesi.core.shapes import need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ShapeError, check_allocatable
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import results
from agnesi.ops.random import draws_ahead

#: Constants of Philox 4x32 with 10 rounds (Salmon et al. 2011): multipliers, key increments,
#: rounds.
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
WORD = 0xFFFFFFFF
#: Blocks at a time in NumPy, so that they stay in the cache.
CHUNK = 8192
#: Multiply-adds that take as long as NumPy's words: a call, and each.
_CALL_MULTIPLY_ADDS, _WORD_MULTIPLY_ADDS = 2_000_000, 200
#: Words that one draw may take: positions are computed in 32 bits.
MOST_WORDS = 1 << 32
_UINT32 = dtypes.uint32


def philox(key: Any, counter: Any) -> list[np.ndarray]:
    """Four words of each block: Philox4x32-10 of a key of two words and counters of four.

    >>> from agnesi.ops.random.philox import philox
    >>> [hex(int(word)) for word in philox((0, 0), (0, 0, 0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    k0, k1 = (int(k) for k in key)
    x0, x1, x2, x3 = (np.asarray(c, np.uint64) for c in counter)
    m0, m1, low, half = (np.uint64(v) for v in (*_MULTIPLIERS, WORD, 32))
    for _ in range(_ROUNDS):
        p0, p1 = x0 * m0, x2 * m1
        x0, x2 = (p1 >> half) ^ x1 ^ np.uint64(k0), (p0 >> half) ^ x3 ^ np.uint64(k1)
        x1, x3 = p1 & low, p0 & low
        k0, k1 = (k0 + _WEYL[0]) & WORD, (k1 + _WEYL[1]) & WORD
    return [x.astype(_UINT32) for x in (x0, x1, x2, x3)]


def _u32(value: Any) -> loops.Expr:
    return loops.const(value, "uint32")


def philox_expr(key: Any, counter: Any) -> tuple[loops.Expr, ...]:
    """Four words of Philox4x32-10 as expressions of the loop language."""
    (k0, k1), (x0, x1, x2, x3) = key, counter
    call = loops.call
    for round_ in range(_ROUNDS):
        key0, key1 = (
            k + _u32(round_ * w & WORD) if round_ else k
            for k, w in zip((k0, k1), _WEYL, strict=True)
        )
        m0, m1 = map(_u32, _MULTIPLIERS)
        high0, low0 = call("mulhi", x0, m0), x0 * m0
        high1, low1 = call("mulhi", x2, m1), x2 * m1
        x0 = call("bitwise_xor", call("bitwise_xor", high1, x1), key0)
        x2 = call("bitwise_xor", call("bitwise_xor", high0, x3), key1)
        x1, x3 = low1, low0
    return x0, x1, x2, x3


def counted(state: np.ndarray, count: int) -> np.ndarray:
    """The state with another count."""
    return np.array([state[0], state[1], count & WORD, count >> 32 & WORD], _UINT32)


def behind(state: np.ndarray, words: int) -> tuple[int, int]:
    """The two words of the count behind a draw of so many words."""
    _, _, low, high = state.tolist()
    count = (low | high << 32) + -(-words // 4)
    return count & WORD, count >> 32 & WORD


@record
class RandomBits(Op):
    """``size`` random uint32 from a state."""

    size: Size
    work = results(32)
    name = "random_bits"
    differentiable = False

    def infer(self, state: Any) -> Any:
        if isinstance(self.size, int) and self.size >= MOST_WORDS:
            check_allocatable((self.size,), _UINT32)
            raise ShapeError(f"one draw takes fewer than 2**32 words, not {self.size}")
        return (self.size,), _UINT32

    def perform(self, state: np.ndarray) -> np.ndarray:
        n = self.size
        blocks = -(-n // 4)
        if blocks <= draws_ahead.MOST_BLOCKS:
            return draws_ahead.blocks(self.ahead(n)[0], state, blocks, words_of).flatten()[:n]
        return words_of(state, blocks).reshape(-1)[:n]

    def ahead(self, size: Any) -> tuple[Any, int]:
        """Return the key of such words made ahead, and how many of a row ``size`` takes."""
        return "words", -(-size // 4)

    def lower(self, at: Any, state: Any) -> Any:
        key0, key1, low, high = (state(loops.Affine(i)) for i in range(4))
        blocks: Any = (self.size + 3) // 4
        i = loops.cast(loops.index(at[0]), "uint32")
        later = [i >= min(w * blocks, WORD) for w in (1, 2, 3)]

        def choose(words: Any) -> loops.Expr:
            result = words[0]
            for after, word in zip(later, words[1:], strict=True):
                result = loops.where(after, word, result)
            return result

        block = i - choose([_u32(_low_word(w * blocks)) for w in range(4)])
        count = low + block
        carry = loops.cast(count < block, "uint32")
        zero = _u32(0)
        return choose(philox_expr((key0, key1), (count, high + carry, zero, zero)))


def words_of(state: np.ndarray, blocks: int) -> np.ndarray:
    """The words of so many blocks from a state, a row for each of the four."""
    n = 4 * blocks
    found = HOOKS.run(RandomBits(n), (state,), _CALL_MULTIPLY_ADDS + _WORD_MULTIPLY_ADDS * n)
    if found is not None:
        return found.reshape(4, blocks)
    result = np.empty((4, blocks), _UINT32)
    first = int(state[2]) | int(state[3]) << 32
    for start in range(0, blocks, CHUNK):
        stop = min(start + CHUNK, blocks)
        counts = np.arange(stop - start, dtype=np.uint64) + np.uint64(
            (first + start) & 0xFFFFFFFFFFFFFFFF
        )
        zero = np.uint64(0)
        low, high = counts & np.uint64(WORD), counts >> np.uint64(32)
        words = philox(state[:2], (low, high, zero, zero))
        for word, row in zip(words, result, strict=True):
            row[start:stop] = word
    return result


def _low_word(n: Any) -> Any:
    """The lower 32 bits of a size; a run-time size must not have others."""
    if isinstance(n, int):
        return n & WORD
    if n > WORD:
        raise ShapeError(f"{n} words are too many for one draw")
    return n


@record
class Advance(Op):
    """The state behind a draw of ``size`` words."""

    size: Size
    name = "advance"
    differentiable = False

    def infer(self, state: Any) -> Any:
        need_shape(state.shape, (4,), "the state")
        return state.shape, state.dtype

    def perform(self, state: np.ndarray) -> np.ndarray:
        size: Any = self.size
        return np.array([state[0], state[1], *behind(state, size)], _UINT32)

    def lower(self, at: Any, state: Any) -> Any:
        blocks = _u32((self.size + 3) // 4)
        index = loops.index(at[0])
        low, high = (state(loops.Affine(i)) for i in (2, 3))
        count = low + blocks
        carried = high + loops.cast(count < blocks, "uint32")
        is_low, is_high = (index.eq(i) for i in (2, 3))
        return loops.where(is_low, count, loops.where(is_high, carried, state(*at)))
