"""Noise: random numbers of a few plain distributions, four or two from each block of ``philox``.

The numbers are made region by region: number ``j * each + b`` is number ``j`` of block ``b``, where
``each`` is the number of whole blocks; what is left over comes from one more block.  So one pass
over the blocks writes all regions, and every word of a block is used.

How words become numbers is written once, in operations that both NumPy and the loop language have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.ir.dims import Size
from agnesi.core.op import Op
from agnesi.core.storage import memory
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, config
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import results
from agnesi.ops.base.elementwise import TABLE
from agnesi.ops.random import draws_ahead
from agnesi.ops.random.philox import CHUNK, counted, philox_expr, words_of

#: Blocks at a time in native code, and the fewest that it is worth loading for.
_CHUNK_BLOCKS = 1 << 14
#: What a number costs more where it is made in pieces than in code for the whole draw, in
#: multiply-adds.
_WORD_MULTIPLY_ADDS = 4


class _Arrays:
    """The operations on NumPy arrays."""

    @staticmethod
    def call(name: str, *xs: Any) -> Any:
        return TABLE[name].function(*xs)

    @staticmethod
    def cast(x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    @staticmethod
    def const(value: Any, dtype: str) -> Any:
        return np.dtype(dtype).type(value)


#: Something with ``call``, ``cast`` and ``const``: ``_Arrays`` or ``core.ir.loops``.
_Math = Any


def _unit(m: _Math, words: Sequence[Any], dtype: str) -> Any:
    """In [0, 1), with all the digits that the dtype has there."""
    if dtype == "float32":
        whole = m.cast(m.call("bitwise_right_shift", words[0], m.const(8, "uint32")), "int32")
        return m.call("multiply", m.cast(whole, dtype), m.const(2.0**-24, dtype))
    high, low = (
        m.cast(m.cast(m.call("bitwise_right_shift", w, m.const(by, "uint32")), "int32"), dtype)
        for w, by in zip(words, (5, 6), strict=True)
    )
    whole = m.call("add", m.call("multiply", high, m.const(67108864.0, dtype)), low)
    return m.call("multiply", whole, m.const(2.0**-53, dtype))


def _open(m: _Math, words: Sequence[Any], dtype: str) -> Any:
    """In (0, 1], dense near zero: for logarithms."""
    if dtype == "float64":
        return m.call("subtract", m.const(1, dtype), _unit(m, words, dtype))
    scaled = m.call("multiply", m.cast(words[0], dtype), m.const(2.0**-32, dtype))
    return m.call("add", scaled, m.const(2.0**-33, dtype))


#: Exponential numbers are positive, so that they have logarithms: half a digit of a number below 1.
_LEAST = {"float32": 2.0**-26, "float64": 2.0**-55}


def _exponential(m: _Math, words: Sequence[Any], dtype: str) -> Any:
    log = m.call("negative", m.call("log", _open(m, words, dtype)))
    return m.call("maximum", log, m.const(_LEAST[dtype], dtype))


def _normals(m: _Math, first: Sequence[Any], second: Sequence[Any], dtype: str) -> list[Any]:
    """Two normal numbers, by the transformation of Box and Muller (1958)."""
    log = m.call("log", _open(m, first, dtype))
    radius = m.call("sqrt", m.call("multiply", log, m.const(-2, dtype)))
    angle = m.call("multiply", _unit(m, second, dtype), m.const(2 * math.pi, dtype))
    return [m.call("multiply", radius, m.call(name, angle)) for name in ("cos", "sin")]


_SINGLE: dict[str, Callable[..., Any]] = {"unit": _unit, "open": _open, "exponential": _exponential}


def _numbers(m: _Math, kind: str, words: Sequence[Any], dtype: str) -> list[Any]:
    """Return the numbers made of four words: four of float32, or two of float64."""
    per = 1 if dtype == "float32" else 2
    groups = [words[i:i + per] for i in range(0, 4, per)]
    if kind in _SINGLE:
        return [_SINGLE[kind](m, g, dtype) for g in groups]
    pairs = zip(groups[::2], groups[1::2], strict=True)
    return [x for a, b in pairs for x in _normals(m, a, b, dtype)]


def numbers_per_block(dtype: np.dtype) -> int:
    """How many numbers four words give."""
    return 4 if dtype == dtypes.float32 else 2


@record
class Noise(Op):
    """``size`` random numbers from a state: "unit", "open", "exponential" or "normal"."""

    kind: str
    size: Size
    dtype: np.dtype
    work = results(16)
    name = "noise"
    differentiable = False

    def infer(self, state: Any) -> Any:
        return (self.size,), self.dtype

    def perform(self, state: np.ndarray) -> np.ndarray:
        per, n = numbers_per_block(self.dtype), int(self.size)
        each, left = divmod(n, per)
        few = each < draws_ahead.MOST_BLOCKS
        if few:
            made = draws_ahead.blocks(self.ahead(n)[0], state, each + bool(left), self._made)
            if not left:
                return made.flatten()
        native = each >= _CHUNK_BLOCKS and config.compile and HOOKS.compiles()
        whole = HOOKS.run(self, (state,), _WORD_MULTIPLY_ADDS * n) if native else None
        if whole is not None:
            return whole
        first = int(state[2]) | int(state[3]) << 32
        result = memory.empty((n,), self.dtype)
        regions = result[: per * each].reshape(per, each)
        if few:
            regions[...] = made[:, :each]
            result[per * each:] = made[:left, each]
            return result
        step = _CHUNK_BLOCKS if native else CHUNK
        for start in range(0, each + bool(left), step):
            count = min(step, each - start)
            at = counted(state, first + start)
            made = self._native(at) if native else self._made(at, count + bool(left))
            for number, row in zip(made, regions, strict=True):
                row[start:start + count] = number[:count]
            if left and start + count == each and count < step:
                result[per * each:] = [x[count] for x in made[:left]]
        return result

    def ahead(self, size: Any) -> tuple[Any, int]:
        """Return the key of such numbers made ahead, and how many of a row ``size`` takes."""
        return (self.kind, self.dtype.char), size // numbers_per_block(self.dtype)

    def _made(self, state: np.ndarray, blocks: int) -> np.ndarray:
        words, name = words_of(state, blocks), self.dtype.name
        if self.kind in _SINGLE:
            groups = [words] if name == "float32" else [words[::2], words[1::2]]
            return np.asarray(_SINGLE[self.kind](_Arrays, groups, name))
        first, second = ([words[::2]], [words[1::2]]) if name == "float32" else (
            [words[:1], words[1:2]], [words[2:3], words[3:]])
        pairs = np.stack(_normals(_Arrays, first, second, name), 1)
        return pairs.reshape(-1, blocks)

    def _native(self, state: np.ndarray) -> np.ndarray:
        """The numbers of ``_NATIVE`` blocks."""
        per = numbers_per_block(self.dtype)
        assert HOOKS.native is not None
        made = HOOKS.native(Noise(self.kind, per * _CHUNK_BLOCKS, self.dtype), (state,))
        return made(state).reshape(per, _CHUNK_BLOCKS)

    def parts(self, state: Any) -> Any:
        per = numbers_per_block(self.dtype)
        each: Any = self.size // per
        key = state(loops.Affine(0)), state(loops.Affine(1))

        def numbers(block: loops.Affine) -> list[loops.Expr]:
            step = loops.cast(loops.index(block), "uint32")
            low, high = state(loops.Affine(2)), state(loops.Affine(3))
            count, zero = low + step, loops.const(0, "uint32")
            words = philox_expr(key, (count, high + loops.cast(count < step, "uint32"), zero, zero))
            return _numbers(loops, self.kind, words, self.dtype.name)

        def left(at: Any) -> loops.Expr:
            result, *others = numbers(loops.Affine(each))
            index = loops.index(at[0])
            for i, number in enumerate(others, 1):
                result = loops.where(index.eq(i), number, result)
            return result

        def region(j: int) -> loops.Part:
            return loops.Part((j * each,), (1,), (each,), lambda at: numbers(at[0])[j])

        regions = map(region, range(per))
        return [*regions, loops.Part((per * each,), (1,), (self.size - per * each,), left)]
