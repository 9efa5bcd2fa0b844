"""Random numbers: Philox4x32-10, a counter-based generator, and distributions made from it.

A draw is a pure function of a key and a counter, so eager and compiled code agree bit for bit, and
any part of a draw can be computed alone, on any number of threads.  A generator's state is one
tensor of four uint32: key low, key high, counter low, counter high.  A draw of ``n`` words takes
``ceil(n / 4)`` blocks of the counter.  Word ``i`` is word ``i // blocks`` of block ``i % blocks``:
neighbours then use the same word of neighbouring blocks, which suits vectors.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from agnesi.core import dtypes, loops
from agnesi.core.dims import Dim, Shape, Size, is_static, product
from agnesi.core.dispatch import apply, assign
from agnesi.core.errors import DTypeError, ShapeError
from agnesi.core.op import Op, public
from agnesi.core.record import record
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arith import sqrt
from agnesi.ops.bitwise import bitwise_right_shift, mulhi
from agnesi.ops.convert import as_tensor, cast
from agnesi.ops.creation import sizes_of
from agnesi.ops.explog import log
from agnesi.ops.index import take
from agnesi.ops.movement import reshape
from agnesi.ops.scans import cumsum
from agnesi.ops.select import where
from agnesi.ops.slices import Slice
from agnesi.ops.sort import argsort, searchsorted
from agnesi.ops.trig import cos

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_WORD = 0xFFFFFFFF
#: Blocks at a time in NumPy, so that they stay in the cache.
_CHUNK = 8192
#: Words that one draw may take: positions are computed in 32 bits.
_MOST = 1 << 32
_UINT32 = dtypes.uint32


# -- the generator ----------------------------------------------------------------------------
def philox(key: Any, counter: Any) -> list[np.ndarray]:
    """Four words of each block: Philox4x32-10 of a key of two words and counters of four.

    Examples
    --------
    >>> from agnesi.ops.random import philox
    >>> [hex(int(word)) for word in philox((0, 0), (0, 0, 0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    k0, k1 = (int(k) for k in key)
    x0, x1, x2, x3 = (np.asarray(c, np.uint64) for c in counter)
    m0, m1, low, half = (np.uint64(v) for v in (*_MULTIPLIERS, _WORD, 32))
    for _ in range(_ROUNDS):
        p0, p1 = x0 * m0, x2 * m1
        x0, x2 = (p1 >> half) ^ x1 ^ np.uint64(k0), (p0 >> half) ^ x3 ^ np.uint64(k1)
        x1, x3 = p1 & low, p0 & low
        k0, k1 = (k0 + _WEYL[0]) & _WORD, (k1 + _WEYL[1]) & _WORD
    return [x.astype(_UINT32) for x in (x0, x1, x2, x3)]


def _u32(value: int) -> loops.Expr:
    return loops.const(value, "uint32")


def _philox_expr(key: Any, counter: Any) -> tuple[loops.Expr, ...]:
    """The same in the loop language."""
    (k0, k1), (x0, x1, x2, x3) = key, counter
    call = loops.call
    for turn in range(_ROUNDS):
        key0, key1 = (
            call("add", k, _u32(turn * w & _WORD)) if turn else k
            for k, w in zip((k0, k1), _WEYL, strict=True)
        )
        m0, m1 = map(_u32, _MULTIPLIERS)
        high0, low0 = call("mulhi", x0, m0), call("multiply", x0, m0)
        high1, low1 = call("mulhi", x2, m1), call("multiply", x2, m1)
        x0 = call("bitwise_xor", call("bitwise_xor", high1, x1), key0)
        x2 = call("bitwise_xor", call("bitwise_xor", high0, x3), key1)
        x1, x3 = low1, low0
    return x0, x1, x2, x3


@record
class RandomBits(Op):
    """``size`` random uint32 from a state."""

    size: Size
    name = "random_bits"
    differentiable = False

    def infer(self, state: Any) -> Any:
        if isinstance(self.size, int) and self.size >= _MOST:
            raise ShapeError(f"one draw takes fewer than 2**32 words, not {self.size}")
        return (self.size,), _UINT32

    def perform(self, state: np.ndarray) -> np.ndarray:
        n = self.size
        blocks = -(-n // 4)  # type: ignore[operator]
        result = np.empty((4, blocks), _UINT32)
        first = int(state[2]) | int(state[3]) << 32
        for start in range(0, blocks, _CHUNK):
            stop = min(start + _CHUNK, blocks)
            counts = np.arange(stop - start, dtype=np.uint64) + np.uint64(
                (first + start) & 0xFFFFFFFFFFFFFFFF
            )
            zero = np.uint64(0)
            low, high = counts & np.uint64(_WORD), counts >> np.uint64(32)
            words = philox(state[:2], (low, high, zero, zero))
            for word, row in zip(words, result, strict=True):
                row[start:stop] = word
        return result.reshape(-1)[:n]

    def lower(self, at: Any, state: Any) -> Any:
        call = loops.call
        key0, key1, low, high = (state(loops.Affine(i)) for i in range(4))
        blocks = -(-self.size // 4)  # type: ignore[operator]
        i = loops.cast(loops.index(at[0]), "uint32")
        later = [call("greater_equal", i, _u32(min(w * blocks, _WORD))) for w in (1, 2, 3)]

        def choose(words: Any) -> loops.Expr:
            result = words[0]
            for after, word in zip(later, words[1:], strict=True):
                result = loops.where(after, word, result)
            return result

        block = call("subtract", i, choose([_u32(w * blocks & _WORD) for w in range(4)]))
        count = call("add", low, block)
        carry = loops.cast(call("less", count, block), "uint32")
        zero = _u32(0)
        return choose(_philox_expr((key0, key1), (count, call("add", high, carry), zero, zero)))

    def resolve(self, known: Any) -> Op:
        return RandomBits(known(self.size))


@record
class Advance(Op):
    """The state behind a draw of ``size`` words."""

    size: Size
    name = "advance"
    differentiable = False

    def infer(self, state: Any) -> Any:
        return state.shape, state.dtype

    def perform(self, state: np.ndarray) -> np.ndarray:
        blocks = -(-self.size // 4)  # type: ignore[operator]
        count = (int(state[2]) | int(state[3]) << 32) + blocks
        return np.array([state[0], state[1], count & _WORD, count >> 32 & _WORD], _UINT32)

    def lower(self, at: Any, state: Any) -> Any:
        call = loops.call
        blocks = _u32(-(-self.size // 4))  # type: ignore[operator]
        place = loops.index(at[0])
        low, high = (state(loops.Affine(i)) for i in (2, 3))
        count = call("add", low, blocks)
        carried = call("add", high, loops.cast(call("less", count, blocks), "uint32"))
        is_low, is_high = (call("equal", place, loops.const(i, "int64")) for i in (2, 3))
        return loops.where(is_low, count, loops.where(is_high, carried, state(*at)))

    def resolve(self, known: Any) -> Op:
        return Advance(known(self.size))


# -- from words to numbers ------------------------------------------------------------------------
def _range(x: Tensor, start: Any, stop: Any) -> Tensor:
    return apply(Slice(((start, stop, 1),)), x)


def words_needed(dtype: np.dtype) -> int:
    """Words for one uniform number."""
    return 2 if dtype == dtypes.float64 else 1


def unit(bits: Tensor, n: Size, dtype: np.dtype) -> Tensor:
    """Uniform numbers in [0, 1) with all the digits that the dtype has there."""
    if dtype == dtypes.float64:
        high = cast(cast(_range(bits, 0, n) >> 5, dtypes.int32), dtype)
        low = cast(cast(_range(bits, n, 2 * n) >> 6, dtypes.int32), dtype)
        return (high * 67108864.0 + low) * 2.0**-53
    digits = 24 if dtype == dtypes.float32 else 11
    whole = cast(bitwise_right_shift(bits, 32 - digits), dtypes.int32)
    return cast(cast(whole, dtypes.float32) * 2.0**-digits, dtype)


def above_zero(bits: Tensor, n: Size, dtype: np.dtype) -> Tensor:
    """Uniform numbers in (0, 1], dense near zero: for logarithms."""
    if dtype == dtypes.float64:
        return 1.0 - unit(bits, n, dtype)
    return cast(bits, dtypes.float32) * 2.0**-32 + 2.0**-33


class Generator:
    """A stream of random numbers.

    Its state is a tensor that every draw advances in place; inside ``jit`` it is read and updated
    like any other state.

    Parameters
    ----------
    seed : int, optional
        Equal seeds give equal streams; without one the system's entropy is used.

    Examples
    --------
    >>> from agnesi.ops.random import Generator, uniform
    >>> a, b = Generator(1), Generator(1)
    >>> bool((uniform(3, generator=a) == uniform(3, generator=b)).all())
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        self.state = wrap(np.zeros(4, _UINT32))
        self.manual_seed(seed)

    def manual_seed(self, seed: int | None = None) -> Generator:
        """Begin the stream of a seed."""
        key = np.random.SeedSequence(seed).generate_state(2, np.uint32)
        assign(self.state, wrap(np.array([*key, 0, 0], _UINT32)))
        return self

    def state_dict(self) -> dict[str, Any]:
        """The state, for saving."""
        return {"state": np.array(self.state.data)}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on where the saved generator was."""
        state = np.asarray(saved["state"])
        if state.shape != (4,) or state.dtype != _UINT32:
            raise ValueError(
                f"the saved state is {state.dtype}{state.shape}; it must be uint32(4,), as "
                "Generator.state_dict() gives"
            )
        assign(self.state, wrap(state.copy()))

    def bits(self, size: Size) -> Tensor:
        """``size`` random uint32."""
        words = apply(RandomBits(size), self.state)
        assign(self.state, apply(Advance(size), self.state))
        return words


@functools.cache
def default_generator() -> Generator:
    """The generator of all draws that name none."""
    return Generator()


def manual_seed(seed: int | None = None) -> Generator:
    """Begin the stream of a seed in the default generator.

    Examples
    --------
    >>> import agnesi as ag
    >>> first = ag.random.manual_seed(0), ag.random.uniform(2)
    >>> again = ag.random.manual_seed(0), ag.random.uniform(2)
    >>> bool((first[1] == again[1]).all())
    True
    """
    return default_generator().manual_seed(seed)


def _bits(generator: Generator | None, size: Size) -> Tensor:
    return (generator or default_generator()).bits(size)


def _float(dtype: Any) -> np.dtype:
    found = dtypes.config.float_dtype if dtype is None else dtypes.as_dtype(dtype)
    if found.kind != "f":
        raise DTypeError(f"random floats have a float dtype, not {found}")
    return found


def _scaled(x: Tensor, by: Any, plus: Any, dtype: np.dtype) -> Tensor:
    """``x * by + plus`` in the dtype."""
    if isinstance(by, Tensor) or by != 1:
        x = x * (cast(by, dtype) if isinstance(by, Tensor) else float(by))
    if isinstance(plus, Tensor) or plus != 0:
        x = x + (cast(plus, dtype) if isinstance(plus, Tensor) else float(plus))
    return x


# -- distributions ----------------------------------------------------------------------------
@public
def uniform(shape: Any = (), low: Any = 0.0, high: Any = 1.0, *, dtype: Any = None,
            generator: Generator | None = None) -> Tensor:
    """Uniform numbers in [low, high).

    Parameters
    ----------
    shape : int or tuple of int
    low, high : float or Tensor
    dtype : dtype, optional
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.uniform((2, 3)).shape
    (2, 3)
    """
    sizes, kind = sizes_of(shape), _float(dtype)
    n = product(sizes)
    bits = _bits(generator, n * words_needed(kind))
    return _scaled(reshape(unit(bits, n, kind), sizes), high - low, low, kind)


@public
def normal(shape: Any = (), mean: Any = 0.0, std: Any = 1.0, *, dtype: Any = None,
           generator: Generator | None = None) -> Tensor:
    """Normal numbers (by the transformation of Box and Muller).

    Parameters
    ----------
    shape : int or tuple of int
    mean, std : float or Tensor
    dtype : dtype, optional
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.normal(5).shape
    (5,)
    """
    sizes, kind = sizes_of(shape), _float(dtype)
    n = product(sizes)
    wide = dtypes.float64 if kind == dtypes.float64 else dtypes.float32
    take_ = n * words_needed(wide)
    bits = _bits(generator, 2 * take_)
    radius = sqrt(log(above_zero(_range(bits, 0, take_), n, wide)) * -2.0)
    angle = unit(_range(bits, take_, 2 * take_), n, wide) * (2 * math.pi)
    return _scaled(cast(reshape(radius * cos(angle), sizes), kind), std, mean, kind)


@public
def exponential(shape: Any = (), scale: Any = 1.0, *, dtype: Any = None,
                generator: Generator | None = None) -> Tensor:
    """Exponentially distributed numbers with mean ``scale``.

    Examples
    --------
    >>> import agnesi as ag
    >>> bool((ag.random.exponential(9) >= 0).all())
    True
    """
    sizes, kind = sizes_of(shape), _float(dtype)
    n = product(sizes)
    wide = dtypes.float64 if kind == dtypes.float64 else dtypes.float32
    bits = _bits(generator, n * words_needed(wide))
    return _scaled(cast(reshape(-log(above_zero(bits, n, wide)), sizes), kind), scale, 0, kind)


@public
def gumbel(shape: Any = (), *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """Standard Gumbel numbers; the argmax of logits plus them is a draw of their softmax.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.gumbel(3).shape
    (3,)
    """
    return -log(exponential(shape, dtype=dtype, generator=generator))


@public
def bernoulli(p: Any, shape: Any = None, *, dtype: Any = None,
              generator: Generator | None = None) -> Tensor:
    """Ones with probability ``p``, else zeros.

    Parameters
    ----------
    p : float or Tensor
    shape : int or tuple of int, optional
        By default that of ``p``.
    dtype : dtype, optional
        By default that of ``p``.
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.bernoulli(1.0, 3)
    tensor([1., 1., 1.])
    """
    chance = as_tensor(p)
    kind = _float(chance.dtype if chance.dtype.kind == "f" else None)
    sizes = chance.shape if shape is None else sizes_of(shape)
    drawn = uniform(sizes, dtype=kind, generator=generator) < cast(chance, kind)
    return cast(drawn, kind if dtype is None else dtypes.as_dtype(dtype))


@public
def dropout_mask(shape: Any, p: Any, *, dtype: Any = None,
                 generator: Generator | None = None) -> Tensor:
    """Zeros with probability ``p``, else ``1 / (1 - p)``: the factor of dropout.

    Examples
    --------
    >>> import agnesi as ag
    >>> sorted(set(ag.random.dropout_mask(99, 0.5).tolist()))
    [0.0, 2.0]
    """
    kind = _float(dtype)
    kept = uniform(shape, dtype=dtypes.float32, generator=generator) >= p
    if isinstance(p, Tensor):
        return where(kept, cast(1.0 / (1.0 - p), kind), 0)
    return where(kept, as_tensor(1.0 / (1.0 - p) if p < 1 else 0.0, kind), 0)


@public
def randint(low: Any, high: Any = None, shape: Any = (), *, dtype: Any = "int64",
            generator: Generator | None = None) -> Tensor:
    """Integers in [low, high), or in [0, low).

    Parameters
    ----------
    low, high : int
        At most 2**32 - 1 apart.  A number's chance is off by less than 2**-32.
    shape : int or tuple of int
    dtype : dtype
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> set(ag.random.randint(3, shape=99).tolist()) == {0, 1, 2}
    True
    """
    low, high = (0, low) if high is None else (low, high)
    span = high - low
    if isinstance(span, int) and not 0 < span < _MOST:
        raise ValueError(f"the range [{low}, {high}) must hold 1 to 2**32 - 1 integers")
    sizes, kind = sizes_of(shape), dtypes.as_dtype(dtype)
    if kind.kind not in "iu":
        raise DTypeError(f"random integers have an integer dtype, not {kind}")
    bits = reshape(_bits(generator, product(sizes)), sizes)
    drawn = cast(mulhi(bits, as_tensor(span, _UINT32)), dtypes.int64)
    return cast(drawn + low if isinstance(low, Dim) or low else drawn, kind)


@public
def permutation(x: Any, *, generator: Generator | None = None) -> Tensor:
    """The numbers below ``x`` in random order, or a tensor with its first axis in random order.

    Examples
    --------
    >>> import agnesi as ag
    >>> sorted(ag.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, Dim):
        return argsort(_bits(generator, x))
    if isinstance(x, (int, np.integer)):
        return argsort(_bits(generator, operator.index(x)))
    x = as_tensor(x)
    if x.ndim == 0:
        raise ShapeError("a scalar tensor has no axis to put into random order; pass an int")
    return take(x, argsort(_bits(generator, x.shape[0])), 0)


@public
def shuffle(x: Tensor, *, generator: Generator | None = None) -> None:
    """Put the first axis of a tensor into random order, in place.

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.arange(4)
    >>> ag.random.shuffle(x)
    >>> sorted(x.tolist())
    [0, 1, 2, 3]
    """
    assign(x, permutation(x, generator=generator))


@public
def choice(n: Any, shape: Any = (), *, p: Any = None, replace: bool = True,
           generator: Generator | None = None) -> Tensor:
    """Numbers below ``n``, or elements of a vector, drawn with equal or given probabilities.

    Parameters
    ----------
    n : int or array_like
    shape : int or tuple of int
    p : array_like, optional
        A probability for each number.
    replace : bool
        Whether the same may be drawn again; without, ``p`` must be None.
    generator : Generator, optional

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.random.choice(3, 4, p=[0.0, 1.0, 0.0])
    tensor([1, 1, 1, 1])
    """
    if isinstance(n, np.integer):
        n = int(n)
    if not isinstance(n, (int, Dim)):
        x = as_tensor(n)
        return take(x, choice(x.shape[0], shape, p=p, replace=replace, generator=generator), 0)
    sizes = sizes_of(shape)
    if not replace:
        return _without_replacement(n, sizes, p, generator)
    if p is None:
        return randint(n, shape=sizes, generator=generator)
    edges = cumsum(as_tensor(p, dtypes.float64), 0)
    if edges.shape != (n,) and is_static((*edges.shape, n)):
        raise ShapeError(f"p has shape {edges.shape}; it must have one probability for each of {n}")
    drawn = uniform(sizes, dtype=dtypes.float64, generator=generator) * edges[-1]
    return searchsorted(edges, drawn, side="right")


def _without_replacement(n: Any, sizes: Shape, p: Any, generator: Generator | None) -> Tensor:
    count = product(sizes)
    if p is not None:
        raise ValueError("p and replace=False together are not offered; draw one after the other")
    if is_static((n, count)) and count > n:
        raise ValueError(f"{count} different numbers cannot be drawn from {n}")
    return reshape(_range(permutation(n, generator=generator), 0, count), sizes)
