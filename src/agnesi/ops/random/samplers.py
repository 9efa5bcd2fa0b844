"""Random numbers by steps of which each element takes as many as it needs: rejection, and counting.

A kind says how an element begins and what a step does, once for arrays and for the loop language.
Step ``t`` of element ``i`` uses words of its own: blocks of ``philox`` whose counter is the index
of the element behind the state, and ``t``.  So neither the order of elements nor threads matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.op import Op
from agnesi.core.shapes import need_shape
from agnesi.core.storage import memory
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.record import record
from agnesi.core.support.worker_threads import elements
from agnesi.ops.base.elementwise import TABLE
from agnesi.ops.elementwise.formula import _SCALARS
from agnesi.ops.random.noise import _Arrays, _unit
from agnesi.ops.random.philox import CHUNK, WORD, philox, philox_expr

#: Most attempts of a rejection sampler: each accepts with a probability above 1/2, so that 2**-120
#: fail.
_MAX_REJECTIONS = 120
#: Counts beyond which the probability under a small mean underflows.
_MAX_SMALL_COUNT = 110
#: What a call and a number cost NumPy, in multiply-adds.
_CALL_MULTIPLY_ADDS, _DRAW_MULTIPLY_ADDS = 2_000_000, 300


class _OnArrays:
    """The namespace of formulas on arrays of any dtype."""

    def __getattr__(self, name: str) -> Any:
        if name not in TABLE:
            raise AttributeError(name)
        return TABLE[name].function


_ARRAYS = _OnArrays()

#: ``step(m, uniform, t, values, *params)`` gives the next values and whether there is another step.
Step = Callable[..., tuple[tuple[Any, ...], Any]]


class Kind(NamedTuple):
    """How the numbers of a kind are made; ``blocks`` of words serve one step."""

    start: Callable[..., tuple[Any, ...]]
    step: Step
    most: int = _MAX_REJECTIONS
    blocks: int = 1


def _rejection(attempt: Callable[..., tuple[Any, Any]], blocks: int = 1) -> Kind:
    """A kind that draws by rejection; the first operand after those of the operation is the result
    where no attempt is accepted."""

    def step(m: Any, u: Any, t: Any, values: Any, start: Any, *params: Any) -> Any:
        value, good = attempt(m, u, *params)
        return (m.where(good, value, values[0]),), m.logical_not(good)

    return Kind(lambda m, start, *params: (start,), step, blocks=blocks)


# -- formulas -----------------------------------------------------------------------------------
def _factorial(m: Any, k: Any) -> Any:
    """The logarithm of k!, by Stirling's series eight steps further on: faster than lgamma."""
    x = k + 9.0
    beyond = k + 1.0
    for i in range(2, 9):
        beyond = beyond * (k + float(i))
    r = 1.0 / (x * x)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x
    return (x - 0.5) * m.log(x) - x + (0.5 * math.log(2 * math.pi)) + series - m.log(beyond)


def _poisson(m: Any, u: Any, lam: Any) -> Any:
    """PTRS of Hörmann (1993): The transformed rejection method for Poisson variables."""
    b = 0.931 + 2.53 * m.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2.0)
    x, v = u[0] - 0.5, 1.0 - u[1]
    us = m.maximum(0.5 - m.abs(x), 1e-300)
    k = m.floor((2.0 * a / us + b) * x + lam + 0.43)
    weight = m.log(v * inverse / (a / (us * us) + b))
    fits = weight <= k * m.log(lam) - lam - _factorial(m, m.maximum(k, 0.0))
    good = (us >= 0.07) & (v <= quick) | (k >= 0.0) & ((us >= 0.013) | (v <= us)) & fits
    return k, good


def _binomial(m: Any, u: Any, n: Any, p: Any) -> Any:
    """BTRS of Hörmann (1993): The generation of binomial random variates."""
    spread = m.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    mode = m.floor((n + 1.0) * p)
    height = _factorial(m, mode) + _factorial(m, n - mode)
    x, v = u[0] - 0.5, 1.0 - u[1]
    us = m.maximum(0.5 - m.abs(x), 1e-300)
    k = m.floor((2.0 * a / us + b) * x + n * p + 0.5)
    inside = (k >= 0.0) & (k <= n)
    k = m.minimum(m.maximum(k, 0.0), n)
    weight = m.log(v * alpha / (a / (us * us) + b))
    odds = m.log(p / (1.0 - p))
    fits = weight <= height - _factorial(m, k) - _factorial(m, n - k) + (k - mode) * odds
    return k, inside & ((us >= 0.07) & (v <= 0.92 - 4.2 / b) | fits)


def _hypergeometric(m: Any, u: Any, drawn: Any, rare: Any, total: Any) -> Any:
    """HRUA of Stadlober (1990): The ratio of uniforms approach for discrete variates."""
    share = rare / total
    center = drawn * share + 0.5
    spread = m.sqrt((total - drawn) * drawn * share * (1.0 - share) / (total - 1.0) + 0.5)
    width = 2.0 * math.sqrt(2 / math.e) * spread + (3 - 2 * math.sqrt(3 / math.e))
    mode = m.floor((drawn + 1.0) * (rare + 1.0) / (total + 2.0))
    most = m.minimum(m.minimum(drawn, rare) + 1.0, m.floor(center + 16.0 * spread))

    def height(k: Any) -> Any:
        parts = (k, rare - k, drawn - k, total - rare - drawn + k)
        first, *others = (_factorial(m, m.maximum(x, 0.0)) for x in parts)
        return sum(others, first)

    x = center + width * (u[1] - 0.5) / (1.0 - u[0])
    inside = (x >= 0.0) & (x < most)
    k = m.floor(m.minimum(m.maximum(x, 0.0), most - 1.0))
    return k, inside & (2.0 * m.log(1.0 - u[0]) <= height(mode) - height(k))


def _zipf(m: Any, u: Any, less: Any) -> Any:
    """Devroye (1986): Non-uniform random variate generation, X.6.1; ``less`` is a - 1."""
    b = m.exp(less * math.log(2.0))
    x = m.floor(m.exp(m.minimum(-m.log(1.0 - u[0]) / less, 60.0)))
    t = m.exp(less * m.log1p(1.0 / x))
    good = u[1] * x * (t - 1.0) / (b - 1.0) <= t / b
    return x, good & (x < 2.0**62)


def _von_mises(m: Any, u: Any, k: Any, s: Any) -> Any:
    """Best and Fisher (1979): Efficient simulation of the von Mises distribution."""
    z = m.cos(u[0] * math.pi)
    w = (1.0 + s * z) / (s + z)
    y, v = k * (s - w), 1.0 - u[1]
    good = (y * (2.0 - y) > v) | (m.log(y / v) + 1.0 - y >= 0.0)
    return m.acos(m.minimum(m.maximum(w, -1.0), 1.0)), good


def _gamma(m: Any, u: Any, third: Any) -> Any:
    """Marsaglia and Tsang (2000): A simple method for generating gamma variables."""
    c = 1.0 / (3.0 * m.sqrt(third))
    x = m.sqrt(-2.0 * m.log(1.0 - u[0])) * m.cos(u[1] * (2 * math.pi))
    v = 1.0 + c * x
    v = v * v * v
    good = v > 0.0
    v = m.where(good, v, v * 0.0 + 1.0)
    bound = 0.5 * x * x + third * (1.0 - v + m.log(v))
    return third * v, good & (m.log(1.0 - u[2]) < bound)


def _counting(ratio: Callable[..., Any]) -> Kind:
    """The count up to which chances sum to a uniform number.

    Operands are that number, the chance of 0, and those of ``ratio(k, ...)``: the chance of ``k``
    divided by that of ``k - 1``.
    """
    def start(m: Any, rest: Any, probability: Any, *params: Any) -> tuple[Any, ...]:
        return probability * 0.0, rest, probability

    def step(m: Any, u: Any, t: Any, values: Any, rest: Any, probability: Any, *params: Any) -> Any:
        count, rest, probability = values
        rest, k = rest - probability, t + 1.0
        more = rest >= 0.0
        return (m.where(more, count * 0.0 + k, count), rest, probability * ratio(k, *params)), more

    return Kind(start, step, _MAX_SMALL_COUNT, 0)


def _singly(m: Any, u: Any, t: Any, values: Any, rare: Any, drawn: Any, total: Any) -> Any:
    """One step of a hypergeometric draw by simulation: one item is drawn; returns how many of the
    rarer kind are left."""
    (left,) = values
    hit = u[0] * (total - t) < left
    return (m.where(hit, left - 1.0, left),), t + 1.0 < drawn


KINDS = {
    "poisson": _rejection(_poisson),
    "binomial": _rejection(_binomial),
    "hypergeometric": _rejection(_hypergeometric),
    "zipf": _rejection(_zipf),
    "gamma": _rejection(_gamma, 2),
    "von mises": _rejection(_von_mises),
    "few events": _counting(lambda k, lam: lam / k),
    "few successes": _counting(lambda k, n, odds: (n - k + 1.0) / k * odds),
    "single draws": Kind(lambda m, rare, *params: (rare,), _singly, 10),
}


# -- the operation ------------------------------------------------------------------------------
def _uniforms(m: Any, words: Sequence[Any], dtype: str) -> list[Any]:
    """Numbers in [0, 1)."""
    per = 1 if dtype == "float32" else 2
    return [_unit(m, words[i:i + per], dtype) for i in range(0, len(words), per)]


@record
class Sampler(Op):
    """Numbers of a kind, from a state, indices of elements, which of them are wanted, and more.

    All but the state have the same shape.
    """

    kind: str
    work = elements(64)
    name = "sampler"
    differentiable = False
    inlines = True

    def infer(self, state: Any, positions: Any, wanted: Any, *params: Any) -> Any:
        for x in (wanted, *params):
            need_shape(x.shape, positions.shape, "an operand")
        if len({p.dtype for p in params}) != 1 or wanted.dtype.kind != "b":
            raise DTypeError("the parameters are floats of one dtype, and what is wanted bools")
        return positions.shape, params[0].dtype

    def perform(self, state: np.ndarray, positions: np.ndarray, wanted: np.ndarray,
                *params: np.ndarray) -> np.ndarray:
        arrays = (state, positions, wanted, *params)
        work = _CALL_MULTIPLY_ADDS + _DRAW_MULTIPLY_ADDS * positions.size
        made = HOOKS.run(self, arrays, work) if HOOKS.compiles() else None
        if made is not None:
            return made
        result = memory.empty(positions.shape, params[0].dtype)
        flat = [np.broadcast_to(x, positions.shape).reshape(-1)
                for x in (positions, wanted, *params)]
        for start in range(0, positions.size, CHUNK):
            own, use, *rest = (x[start:start + CHUNK] for x in flat)
            result.reshape(-1)[start:start + CHUNK] = silently(self._stepped, state, own, use, rest)
        return result

    def _stepped(self, state: np.ndarray, positions: np.ndarray, wanted: np.ndarray,
                 params: list[np.ndarray]) -> np.ndarray:
        kind, dtype = KINDS[self.kind], params[0].dtype
        values = [np.array(v, dtype) for v in kind.start(_ARRAYS, *params)]
        result = values[0]
        open_ = np.flatnonzero(wanted)
        values, params = ([v[open_] for v in xs] for xs in (values, params))
        positions = positions[open_]
        for t in range(kind.most):
            if not open_.size:
                break
            words = self._words(state, positions, t)
            u = _uniforms(_Arrays, words, dtype.name)
            following, more = kind.step(_ARRAYS, u, float(t), values, *params)
            values = [np.asarray(v, dtype) for v in following]
            result[open_] = values[0]
            open_, positions = open_[more], positions[more]
            values, params = ([v[more] for v in xs] for xs in (values, params))
        return result

    def _words(self, state: np.ndarray, positions: np.ndarray, t: int) -> list[np.ndarray]:
        blocks = KINDS[self.kind].blocks
        first = np.uint64(int(state[2]) | int(state[3]) << 32)
        words = []
        for block in range(blocks):
            count = first + positions.astype(np.uint64) * np.uint64(blocks) + np.uint64(block)
            low, high = count & np.uint64(WORD), count >> np.uint64(32)
            words += philox(state[:2], (low, high, np.uint64(t), np.uint64(0)))
        return words

    def parts(self, state: Any, positions: Any, *operands: Any) -> list[Any]:
        return [loops.Part.whole(positions.shape,
                                 lambda at: self._element(at, state, positions, *operands))]

    def _element(self, at: Any, state: Any, positions: Any, wanted: Any, *params: Any) -> Any:
        kind, dtype = KINDS[self.kind], params[0].dtype
        own = [p(*at) for p in params]
        starts = kind.start(_SCALARS, *own)
        position = loops.cast(positions(*at), "uint32")

        def step(iteration: Any, values: Any) -> Any:
            words = self._word_expressions(state, position, loops.cast(iteration, "uint32"))
            u = _uniforms(loops, words, dtype)
            return kind.step(_SCALARS, u, loops.cast(iteration, dtype), values, *own)

        return loops.in_steps(at, kind.most, wanted(*at), starts, step)

    def _word_expressions(self, state: Any, position: Any, t: Any) -> list[Any]:
        blocks = KINDS[self.kind].blocks
        key0, key1, low, high = (state(loops.Affine(i)) for i in range(4))
        words: list[Any] = []
        for block in range(blocks):
            further = position * blocks + block
            count = low + further
            carry = loops.cast(count < further, "uint32")
            zero = loops.const(0, "uint32")
            words += philox_expr((key0, key1), (count, high + carry, t, zero))
        return words


