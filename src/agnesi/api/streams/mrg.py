"""``MRG_RandomStreams``: the generator MRG31k3p in symbolic graphs, many streams side by side.

L'Ecuyer and Touzin: Fast combined multiple recursive generators with multipliers of the form
``a = ±2^q ± 2^r`` (2000).  Two recurrences of order three, modulo ``2^31 - 1`` and
``2^31 - 21069``, are combined; streams are places of one sequence, ``2^72`` apart, and variables
``2^134``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.api.control.loops import scan
from agnesi.api.streams.common import RandomVariable, sizes_in
from agnesi.api.streams.distributions import FLOATS, INTEGERS, KINDS, method
from agnesi.api.streams.seeded import KEY_NUMBERS, draw
from agnesi.api.streams.simple import Simple
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Size, is_static, product
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import sqrt
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.base.select import where
from agnesi.ops.base.slices import Slice
from agnesi.ops.elementwise.explog import log
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import argsort, topk

#: The moduli of MRG31k3p (L'Ecuyer and Touzin 2000).
M1, M2 = 2**31 - 1, 2**31 - 21069
#: What takes (x[n-1], x[n-2], x[n-3]) of each recurrence to the next three.
_A1 = np.array([[0, 1 << 22, (1 << 7) + 1], [1, 0, 0], [0, 1, 0]], np.uint64)
_A2 = np.array([[1 << 15, 0, (1 << 15) + 1], [1, 0, 0], [0, 1, 0]], np.uint64)
_STREAM, _VARIABLE = 72, 134
_MOST_STREAMS = 60 * 256


# -- jumps ------------------------------------------------------------------------------------
def _times(a: np.ndarray, b: np.ndarray, m: int) -> np.ndarray:
    """A product modulo ``m``; terms are reduced before they are added, so nothing overflows."""
    terms = a[:, :, None] * b[None, :, :] % np.uint64(m)
    return np.asarray(terms.sum(1, dtype=np.uint64) % np.uint64(m))


def _jump(power: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of ``2**power`` steps."""
    first, second = _A1, _A2
    for _ in range(power):
        first, second = _times(first, first, M1), _times(second, second, M2)
    return first, second


def _jumped(states: np.ndarray, by: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """States as columns of six numbers, after a jump."""
    return np.concatenate([_times(by[0], states[:3], M1), _times(by[1], states[3:], M2)])


def streams_from(state: np.ndarray, count: int) -> np.ndarray:
    """States of ``count`` streams from the first: columns of six numbers.

    >>> from agnesi.api.streams.mrg import streams_from
    >>> import numpy as np
    >>> streams_from(np.full(6, 12345, np.uint64), 4).shape
    (6, 4)
    """
    states, jump = state.astype(np.uint64)[:, None], _jump(_STREAM)
    while states.shape[1] < count:
        states = np.concatenate([states, _jumped(states, jump)], axis=1)
        jump = _times(jump[0], jump[0], M1), _times(jump[1], jump[1], M2)
    return states[:, :count].astype(np.int64)


# -- steps ------------------------------------------------------------------------------------
def _modulo(x: Tensor, m: int) -> Tensor:
    """``x`` modulo ``2^31 - c``, for ``x`` below ``2^54``: its upper bits count ``c`` each."""
    x = (x & M1) + (x >> 31) * (2**31 - m)
    x = (x & M1) + (x >> 31) * (2**31 - m)
    return where(x >= m, x - m, x)


def _step(state: Any) -> tuple[Any, Tensor]:
    """The next state, and a number in [1, 2^31 - 1]."""
    x1, x2, x3, y1, y2, y3 = state
    x = _modulo((x2 << 22) + x3 * 129, M1)
    y = _modulo((y1 << 15) + y3 * 32769, M2)
    z = x - y
    return (x, x1, x2, y, y1, y2), where(z <= 0, z + M1, z)


def numbers(state: Any, count: int, n: Size) -> tuple[Tensor, Any, Tensor]:
    """``n`` numbers from ``count`` streams in turn, the streams' states, and those after that."""
    rows: Any = n // count
    left: Any = n - rows * count
    start = tuple(state[i] for i in range(6))
    last, found = scan(lambda s, _: _step(s), start, length=rows)
    found = reshape(found, (rows * count,))
    if not (is_static((left,)) and left == 0):
        after, more = _step(last)
        found = concat([found, apply(Slice(((0, left, 1),)), more)])
        drawn = arange(count) < left
        last = tuple(where(drawn, a, b) for a, b in zip(after, last, strict=True))
    return found, state, stack(list(last))


def _uniform(z: Tensor, dtype: np.dtype) -> Tensor:
    """Numbers in (0, 1), from those in [1, 2^31 - 1]; of float32 their upper 23 bits."""
    if dtype == dtypes.float64:
        return cast(z, dtype) * 2.0**-31
    return cast((cast(z >> 8, dtypes.float32) + 0.5) * 2.0**-23, dtype)


class MRG_RandomStreams(Simple):  # noqa: N801 - Theano's name
    """Random variables of symbolic graphs by MRG31k3p, compiled, on many streams.

    Number ``i`` of a variable is the next one of stream ``i % nstreams``.

    :param seed: Where the first stream begins.
    :type seed: int or sequence of six int
    :raises ValueError: If there is no such seed.
    :see: symbolic.RandomStreams, random.Generator

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> streams = T.MRG_RandomStreams(seed=234)
    >>> f = ag.function([], streams.uniform((2, 2)))
    >>> bool((f() == f()).any())
    False
    """

    def __init__(self, seed: int | Sequence[int] = 12345) -> None:
        super().__init__()
        self.set_rstate(seed)

    def set_rstate(self, seed: int | Sequence[int]) -> None:
        """Let the next variable's first stream begin at a seed.

        :param seed: One number, or the six words of a state.
        :raises ValueError: If there is no such seed.
        """
        state = [seed] * 6 if isinstance(seed, int) else [int(s) for s in seed]
        if len(state) != 6 or not all(0 <= s < M2 for s in state) or not any(state[:3]) \
                or not any(state[3:]):
            raise ValueError(
                at(f"a seed is a number in [1, {M2 - 1}] or six of [0, {M2 - 1}], of which neither "
                   f"the first nor the last three are 0; it is {seed}")
            )
        self._default = state
        self.rstate = np.array(state, np.uint64)

    def seed(self, seed: int | Sequence[int] | None = None) -> None:
        """Restart all streams, from a seed or from that of the start.

        :param seed: As for :meth:`set_rstate`.
        """
        self.set_rstate(self._default if seed is None else seed)
        self.begin_anew()

    def _streams(self, count: int) -> np.ndarray:
        """States for a variable; the next one begins elsewhere."""
        found = streams_from(self.rstate, count)
        self.rstate = _jumped(self.rstate[:, None], _jump(_VARIABLE))[:, 0]
        return found

    def _draw(self, size: Any, nstreams: int | None, most: Size | None = None) -> RandomVariable:
        """Numbers in a row; inside ``vmap``, others for each example."""
        made: list[RandomVariable] = []

        def draw(n: Size) -> Tensor:
            count = nstreams
            if count is None:
                count = min(n, _MOST_STREAMS) if isinstance(n, int) else _MOST_STREAMS
            rng = self.state(functools.partial(self._streams, max(count, 1)))
            made.append(self.drawn(*numbers(rng, max(count, 1), n)))
            return made[0]

        n = product(size) if most is None else most
        found = draw(n) if STATE.examples is None else STATE.examples.drawn(draw, n)
        return self.seen(found, made[0])

    def uniform(self, size: ShapeLike = (), low: TensorLike = 0.0, high: TensorLike = 1.0,
                dtype: DTypeLike = None, nstreams: int | None = None) -> RandomVariable:
        """Uniform numbers between ``low`` and ``high``, both excluded.

        :param size: Shape of the draw.
        :type size: int, Dim or tuple, optional
        :param low, high: The bounds.
        :type low, high: number or Tensor
        :param dtype: A float type; ``config.default_float`` by default.
        :returns: Its numbers are other ones in each call of a function.
        """
        sizes, kind = sizes_in(size) or (), self._float(dtype)
        found = self._draw(sizes, nstreams)
        u = reshape(_uniform(found, kind), sizes)
        ends: tuple[Any, Any] = low, high
        return self.seen(_moved(u, ends[1] - ends[0], low, kind), found)

    def normal(self, size: ShapeLike = (), avg: TensorLike = 0.0, std: TensorLike = 1.0,
               dtype: DTypeLike = None,
               nstreams: int | None = None) -> RandomVariable:
        """Normal numbers, by the transformation of Box and Muller: cosines, then sines.

        :like: MRG_RandomStreams.uniform
        :param avg, std: Mean and standard deviation.
        :type avg, std: number or Tensor
        """
        sizes, kind = sizes_in(size) or (), self._float(dtype)
        n = product(sizes)
        half: Any = (n + 1) // 2
        found = self._draw(sizes, nstreams, 2 * half)
        u = reshape(_uniform(found, kind), (2, half))
        radius, angle = sqrt(log(u[0]) * -2.0), u[1] * (2 * math.pi)
        both = concat([radius * cos(angle), radius * sin(angle)])
        x = reshape(apply(Slice(((0, n, 1),)), both), sizes)
        return self.seen(_moved(x, std, avg, kind), found)

    def binomial(self, size: ShapeLike = (), n: int = 1, p: TensorLike = 0.5,
                 dtype: DTypeLike = "int64",
                 nstreams: int | None = None) -> RandomVariable:
        """Numbers of successes in ``n`` trials of chance ``p``.

        :like: MRG_RandomStreams.uniform
        :param n: Number of trials.
        :param p: Chance of a success.
        :type p: number or Tensor
        :param dtype: Type of the result.
        """
        sizes = sizes_in(size) or ()
        found = self._draw((*sizes, n), nstreams)
        u = reshape(_uniform(found, np.dtype("float64")), (*sizes, n))
        p = as_tensor(p)
        below = u < (reshape(p, (*p.shape, 1)) if p.ndim else p)
        return self.seen(cast(sum_(below, -1), dtypes.as_dtype(dtype)), found)

    def multinomial(self, size: ShapeLike | None = None, n: int = 1,
                    pvals: TensorLike | None = None, dtype: DTypeLike = "int64",
                    nstreams: int | None = None) -> RandomVariable:
        """How often each thing comes up in ``n`` trials: a row for each row of ``pvals``.

        :like: MRG_RandomStreams.binomial
        :param size: Nothing else is taken.
        :type size: None
        :param pvals: A matrix with the chances of each draw in a row.
        :type pvals: Tensor
        :raises ValueError: If ``pvals`` is no matrix, or ``size`` is given.
        """
        pvals = as_tensor(pvals)
        if pvals.ndim != 2 or size is not None:
            raise ValueError(at("pvals must be a matrix with a row for each draw, and size None"))
        rows, kinds = pvals.shape
        found = self._draw((n, rows), nstreams)
        u = reshape(_uniform(found, np.dtype("float64")), (n, rows, 1))
        edges = cumsum(cast(pvals, dtypes.float64), 1)
        before = concat([edges[:, :1] * 0.0, edges[:, :-1]], 1)
        # Uniform numbers above the last edge, by rounding, count as the last category.
        past = (u < edges) | (arange(kinds) == kinds - 1)
        hits = (u >= before) & past
        return self.seen(cast(sum_(hits, 0), dtypes.as_dtype(dtype)), found)

    def choice(self, size: int = 1, a: TensorLike | None = None, replace: bool = False,
               p: TensorLike | None = None,
               nstreams: int | None = None) -> RandomVariable:
        """``size`` different numbers for each row of chances ``p``, or elements of ``a``.

        :param size: How many for each row.
        :param a: Nothing else than the number of columns is taken.
        :type a: int or None
        :param replace: Whether the same may be drawn again.
        :param p: A matrix with the chances of each draw in a row.
        :returns: Its numbers are other ones in each call of a function.
        :raises ValueError: If the arguments are others than these.
        """
        if replace:
            raise ValueError(at("choice draws without replacement; use multinomial"))
        p = as_tensor(p)
        found = self._draw(p.shape, nstreams)
        u = reshape(_uniform(found, np.dtype("float64")), p.shape)
        # The greatest of log(p) plus Gumbel noise (Vieira, 2014).
        chosen = topk(log(cast(p, dtypes.float64)) - log(-log(u)), size).indices
        return self.seen(chosen if a is None else take(as_tensor(a), chosen, 0), found)

    def permutation(self, size: ShapeLike = (), n: Size = 1, nstreams: int | None = None
                    ) -> RandomVariable:
        """The numbers below ``n`` in random order, once for each place of ``size``.

        :param size: Shape of the draw.
        :type size: int, Dim or tuple, optional
        :param n: How many numbers.
        :type n: int or Dim
        :returns: Of int64; its numbers are other ones in each call of a function.
        """
        sizes = (*(sizes_in(size) or ()), *(sizes_in(n) or ()))
        found = self._draw(sizes, nstreams)
        return self.seen(argsort(reshape(found, sizes), -1), found)

    def tomaxint(self, size: ShapeLike = (), dtype: DTypeLike = "int64", nstreams: int | None = None
                 ) -> RandomVariable:
        """Integers from 0 to the greatest of int64.

        :like: MRG_RandomStreams.binomial
        """
        sizes = sizes_in(size) or ()
        found = self._draw((3, *sizes), nstreams)
        high, middle, low = reshape(cast(found, dtypes.int64) >> 10, (3, *sizes))
        return self.seen(cast((high << 42) | (middle << 21) | low, dtypes.as_dtype(dtype)), found)

    def bytes(self, length: Size, nstreams: int | None = None) -> RandomVariable:
        """Random bytes, as small integers.

        :param length: How many.
        :type length: int or Dim
        :returns: A vector of uint8; its numbers are other ones in each call of a function.
        """
        found = self._draw(sizes_in(length), nstreams)
        return self.seen(cast(found >> 23, dtypes.as_dtype("uint8")), found)

    def _distributed(self, name: str, size: Any, params: tuple[Any, ...], dtype: Any
                    ) -> RandomVariable:
        """A draw from a distribution by name: its generator is seeded by the next four numbers.

        :param name: NumPy's method.
        :param size: Shape of the draw.
        :type size: int, Dim, tuple or None
        :param params: The parameters.
        :type params: tuple of array_like
        :param dtype: Type of the draw.
        :type dtype: dtype, optional
        :returns: Its numbers are other ones in each call of a function.
        """
        if name in ("random_sample", "standard_normal"):
            plain = self.uniform if name == "random_sample" else self.normal
            return plain(size, dtype=dtype)
        whole = name in KINDS
        kind = dtypes.as_dtype(dtype or KINDS[name]) if whole else self._float(dtype)
        rng = self.state(functools.partial(self._streams, KEY_NUMBERS))
        found = self.drawn(*numbers(rng, KEY_NUMBERS, KEY_NUMBERS))
        how = {} if whole else {"dtype": kind}
        return self.seen(cast(draw(name, found, sizes_in(size), params, **how), kind), found)

    def _vectors(self, name: str, size: Any, params: tuple[Any, ...], like: Any, *, dtype: Any
                 ) -> RandomVariable:
        return self._distributed(name, size, params, dtype)

    @staticmethod
    def _float(dtype: Any) -> np.dtype:
        return dtypes.as_dtype(dtypes.config.symbolic_float if dtype is None else dtype)


def _moved(x: Tensor, by: Any, plus: Any, dtype: np.dtype) -> Tensor:
    by, plus = (cast(p, dtype) if isinstance(p, Tensor) else float(p) for p in (by, plus))
    return x * by + plus


for _name, _params in {**FLOATS, **INTEGERS}.items():
    if not hasattr(MRG_RandomStreams, _name):
        setattr(MRG_RandomStreams, _name, method(_name, _params))
