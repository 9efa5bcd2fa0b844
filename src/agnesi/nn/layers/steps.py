"""Recurrent layers in eager code: all steps of a layer as one operation, by NumPy.

Written out step by step, as :func:`agnesi.scan` does it, a step is a dozen operations, each of them
recorded, and has as many rules.  Here a step is the same functions of NumPy's on the same operands;
what the gradients read of it is kept.  Compiled code and derivatives of gradients are those of
the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current, record_many
from agnesi.core.op import Op
from agnesi.core.support.config import MODE, switched
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.contractions.matmul import dot2
from agnesi.ops.elementwise.explog import SIGMOID

_DTYPES = frozenset("fd")
Arrays = Sequence[Any]
#: States from before the first step to behind the last one, and what the gradients read besides.
Forward = Callable[..., tuple[Arrays, Arrays]]
_sigmoid: Callable[[np.ndarray], np.ndarray] = SIGMOID.function


def steps(kind: str, reverse: bool, xs: Sequence[Tensor], composed: Callable[..., Any]
          ) -> tuple[tuple[Tensor, ...], Tensor] | None:
    """The last states of a layer and the outputs of its steps; None where the loop has to be run.

    ``xs`` are the input's share in the gates, the state's weights, their bias where it belongs into
    the loop, and the first states; ``composed`` gives the outputs and the last states by the loop.
    """
    mode = MODE.get()
    if is_tracing() or not (mode.watch is mode.examples is None and not mode.fixed):
        return None
    arrays = [x.array for x in xs]
    if any(a is None or a.dtype.char not in _DTYPES or not a.size for a in arrays) or (
            len({a.dtype for a in arrays}) > 1):
        return None
    given = arrays[0][::-1] if reverse else arrays[0]
    states, kept = silently(_FORWARD[kind], given, *arrays[1:])
    outputs = states[0][:0:-1] if reverse else states[0][1:]
    results = [wrap(np.ascontiguousarray(outputs)), *(wrap(s[-1].copy()) for s in states)]
    if mode.recording and any(x._requires_grad for x in xs):
        record_many(results, Steps(kind, reverse, composed, states, kept), tuple(xs))
    return tuple(results[1:]), results[0]


class Steps(Op):
    """All steps of one call of a recurrent layer."""

    name = "recurrent_steps"

    def __init__(self, kind: str, reverse: bool, composed: Callable[..., Any], states: Arrays,
                 kept: Arrays) -> None:
        self.kind, self.reverse, self.composed = kind, reverse, composed
        self.states, self.kept = states, kept
        self.outputs = 1 + len(states)  # type: ignore[misc]

    def label(self) -> str:
        return f"{self.name}[{self.kind}]"

    def vjp(self, gs: Any, ys: Any, *xs: Tensor) -> tuple[Any, ...]:
        known = [x.array for x in (*xs, *[g for g in gs if g is not None])]
        if MODE.get().recording or is_tracing() or any(a is None for a in known):
            return self._by_loop(gs, xs)
        outer = None if gs[0] is None else gs[0].array[::-1] if self.reverse else gs[0].array
        ends = [np.zeros_like(s[-1]) if g is None else g.array
                for g, s in zip(gs[1:], self.states, strict=True)]
        found = silently(_BACKWARD[self.kind], outer, ends, self.states, self.kept,
                         *known[1 : len(xs) - len(self.states)])
        given = np.ascontiguousarray(found[0][::-1]) if self.reverse else found[0]
        return tuple([wrap(a) if x._requires_grad else None
                      for x, a in zip(xs, (given, *found[1:]), strict=True)])

    def _by_loop(self, gs: Any, xs: Sequence[Tensor]) -> tuple[Any, ...]:
        """The gradients of the loop, which have derivatives of their own."""
        with switched(recording=True):
            results = self.composed(*xs)
        seeds: dict[Any, Any] = {}
        for y, g in zip(results, gs, strict=True):
            if g is not None and y._requires_grad:
                node = current(y)
                seeds[node] = seeds[node] + g if node in seeds else g
        nodes = [current(x) if x._requires_grad else None for x in xs]
        found = backprop(seeds, [n for n in nodes if n is not None])
        return tuple([None if n is None else found.get(n) for n in nodes])


def _room(first: np.ndarray, count: int) -> np.ndarray:
    """States from the first one on."""
    states = np.empty((count + 1, *first.shape), first.dtype)
    states[0] = first
    return states


def _by_rows(d: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The gradient of the state's weights from that of its share in the gates at each step."""
    found: np.ndarray = np.dot(d.reshape(-1, d.shape[-1]).T,
                               states[:-1].reshape(-1, states.shape[-1]))
    return found


# -- simple layers ------------------------------------------------------------------------------
def _simple(function: Callable[..., Any]) -> Forward:
    def forward(given: np.ndarray, weight: np.ndarray, h: np.ndarray) -> tuple[Arrays, Arrays]:
        hs = _room(h, len(given))
        for t, row in enumerate(given):
            h = function(row + dot2(h, weight.T))
            hs[t + 1] = h
        return (hs,), ()

    return forward


def _simple_back(slope: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Arrays]:
    def backward(outer: Any, ends: Arrays, states: Arrays, kept: Arrays, weight: np.ndarray
                 ) -> Arrays:
        (hs,), (dh,) = states, ends
        d = slope(hs[1:])
        for t in range(len(d) - 1, -1, -1):
            d[t] *= dh if outer is None else dh + outer[t]
            dh = dot2(d[t], weight)
        return d, _by_rows(d, hs), dh

    return backward


# -- LSTM ---------------------------------------------------------------------------------------
def _lstm(given: np.ndarray, weight: np.ndarray, h: np.ndarray, c: np.ndarray
          ) -> tuple[Arrays, Arrays]:
    n = h.shape[-1]
    hs, cs = _room(h, len(given)), _room(c, len(given))
    gates, curves = np.empty(given.shape, given.dtype), np.empty_like(hs[1:])
    for t, row in enumerate(given):
        inner, own = row + dot2(h, weight.T), gates[t]
        own[:] = _sigmoid(inner)
        g = np.tanh(inner[:, 2 * n : 3 * n], own[:, 2 * n : 3 * n])
        c = np.add(own[:, n : 2 * n] * c, own[:, :n] * g, cs[t + 1])
        h = np.multiply(own[:, 3 * n :], np.tanh(c, curves[t]), hs[t + 1])
    return (hs, cs), (gates, curves)


def _lstm_back(outer: Any, ends: Arrays, states: Arrays, kept: Arrays, weight: np.ndarray
               ) -> Arrays:
    (hs, cs), (gates, curves), (dh, dc) = states, kept, ends
    count, batch, n = curves.shape
    i, f, g, o = (gates[..., k * n : (k + 1) * n] for k in range(4))
    d = np.empty((count, batch, 4, n), gates.dtype)  # first what the cotangents are multiplied by
    for k, (other, slope) in enumerate((
            (g, i * (1 - i)), (cs[:-1], f * (1 - f)), (i, 1 - g * g), (curves, o * (1 - o)))):
        np.multiply(other, slope, d[:, :, k])
    through = o * (1 - curves * curves)
    for t in range(count - 1, -1, -1):
        dh = dh if outer is None else dh + outer[t]
        dc = dc + dh * through[t]
        own = d[t]
        own[:, :3] *= dc[:, None]
        own[:, 3] *= dh
        dh = dot2(own.reshape(batch, 4 * n), weight)
        dc = dc * f[t]
    d = d.reshape(gates.shape)
    return d, _by_rows(d, hs), dh, dc


# -- gated recurrent units ----------------------------------------------------------------------
def _gru(given: np.ndarray, weight: np.ndarray, *rest: np.ndarray) -> tuple[Arrays, Arrays]:
    *bias, h = rest
    n = h.shape[-1]
    hs = _room(h, len(given))
    gates, news = np.empty((len(given), len(h), 2 * n), h.dtype), np.empty_like(hs[1:])
    shares = np.empty_like(news)
    for t, row in enumerate(given):
        inner = dot2(h, weight.T)
        if bias:
            inner += bias[0]
        own = gates[t]
        own[:] = _sigmoid(row[:, : 2 * n] + inner[:, : 2 * n])
        shares[t] = inner[:, 2 * n :]
        new = np.tanh(row[:, 2 * n :] + own[:, :n] * shares[t], news[t])
        h = np.add(new, own[:, n:] * (h - new), hs[t + 1])
    return (hs,), (gates, news, shares)


def _gru_back(outer: Any, ends: Arrays, states: Arrays, kept: Arrays, weight: np.ndarray,
              *bias: np.ndarray) -> Arrays:
    (hs,), (gates, news, shares), (dh,) = states, kept, ends
    n = news.shape[-1]
    reset, update = gates[..., :n], gates[..., n:]
    d = np.empty((*news.shape[:2], 3 * n), news.dtype)
    inner = np.empty_like(d)
    to_new = (1 - update) * (1 - news * news)
    to_reset = shares * (reset * (1 - reset))
    to_update = (hs[:-1] - news) * (update * (1 - update))
    for t in range(len(d) - 1, -1, -1):
        dh = dh if outer is None else dh + outer[t]
        own = d[t]
        new = np.multiply(dh, to_new[t], own[:, 2 * n :])
        np.multiply(new, to_reset[t], own[:, :n])
        np.multiply(dh, to_update[t], own[:, n : 2 * n])
        inner[t, :, : 2 * n] = own[:, : 2 * n]
        np.multiply(new, reset[t], inner[t, :, 2 * n :])
        dh = dh * update[t] + dot2(inner[t], weight)
    rows = inner.reshape(-1, 3 * n)
    return d, _by_rows(inner, hs), *(rows.sum(0) for _ in bias), dh


_FORWARD: dict[str, Forward] = {
    "RNN_TANH": _simple(np.tanh), "RNN_RELU": _simple(lambda x: np.maximum(x, x.dtype.type(0))),
    "LSTM": _lstm, "GRU": _gru,
}
_BACKWARD: dict[str, Callable[..., Arrays]] = {
    "RNN_TANH": _simple_back(lambda h: 1 - h * h),
    "RNN_RELU": _simple_back(lambda h: np.greater(h, 0).astype(h.dtype)),
    "LSTM": _lstm_back, "GRU": _gru_back,
}
