"""``jit(mode="precision")``: every call is also computed with many digits, and losses are reported.

The graph as written is evaluated by mpmath, once as it is and twice with operands perturbed by
their own rounding error.  A result that differs from the exact one by more than these has lost
digits.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.binding.call_adapter import MISSED
from agnesi.core.expansion import expanded
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir.node import Node
from agnesi.core.op import Item, typed
from agnesi.core.support.dtypes import real_of
from agnesi.core.support.errors import at, warn
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

#: Digits that are computed with.
_DIGITS = 1000
#: Units in the last place that a result may be off.
_MAX_ULPS = 4
#: Operations that only move elements, or combine them by what exact numbers can, too.
_AS_THEY_ARE = frozenset((
    "reshape", "permute_dims", "broadcast_to", "getitem", "gather", "concat", "copy", "alias",
    "stop_gradient", "diagonal", "unslice",
))
_SUMS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


class PrecisionWarning(UserWarning):
    """A result has lost more digits than the rounding of its operands explains."""


def warn_of_losses(jitted: Any, args: tuple[Any, ...], keywords: dict[str, Any],
                left: Sequence[Any] = ()) -> Any:
    """Run a call, and warn where its results are off."""
    leaves, tree = flatten((args, keywords))
    version = jitted.version(leaves, tree, left)
    if version.tangled(leaves) or version.effects:
        return jitted.function(*args, **keywords)
    given = [np.asarray(getattr(leaves[i], "array", leaves[i])) for i in version.arrays]
    exact, spread = _evaluated(version.compiled.graph, given)
    result = version(leaves)
    if result is MISSED:
        return warn_of_losses(jitted, args, keywords, [*left, version])
    tensors = [t for t in flatten(result)[0] if isinstance(t, Tensor)]
    for i, (t, true, off) in enumerate(zip(tensors, exact, spread, strict=False)):
        if t.dtype.kind == "f":
            _print_error(f"result {i} of {jitted.name}, {typed(t)},", t.array, true, off)
    return result


def _evaluated(graph: FunctionGraph, given: Sequence[np.ndarray]) -> tuple[list[Any], list[Any]]:
    """Exact results, and how far the rounding of operands moves them."""
    try:
        mpmath: Any = importlib.import_module("mpmath")
    except ImportError:
        raise ImportError(at('mode="precision" computes with mpmath: pip install mpmath')) from None
    graph = expanded(graph)
    signs = np.random.default_rng(0)
    with mpmath.workdps(_DIGITS):
        run = _Exact(graph, mpmath)
        exact = run([_numbers(x, mpmath) for x in given])
        spread = [np.zeros(np.shape(x)) for x in exact]
        for _ in range(2):
            moved = run([_moved(x, x.dtype, signs, mpmath) for x in given], signs)
            spread = [np.maximum(s, abs(m - e)) if _is_float(n) else s
                      for s, m, e, n in zip(spread, moved, exact, graph.outputs, strict=True)]
    return exact, spread


def _is_float(node: Node) -> bool:
    return node.dtype.kind == "f"


def _numbers(x: np.ndarray, mpmath: Any) -> Any:
    """An array of exact numbers; of whole numbers itself."""
    if x.dtype.kind not in "fV":
        return x
    return np.asarray(np.frompyfunc(lambda v: mpmath.mpf(float(v)), 1, 1)(x), object)


def _moved(x: Any, dtype: Any, signs: np.random.Generator, mpmath: Any) -> Any:
    """Return the operands, each element moved up or down by half a unit in its last place."""
    if dtype.kind not in "fV":
        return x
    half = mpmath.mpf(float(_epsilon(dtype)) / 2)
    exact = x if x.dtype == object else _numbers(x, mpmath)
    return np.asarray(exact * (1 + half * signs.choice([-1, 1], x.shape)), object)


def _epsilon(dtype: Any) -> Any:
    return np.finfo(real_of(dtype)).eps


def _print_error(what: str, got: np.ndarray, exact: Any, spread: Any) -> None:
    """Warn about the element with the largest error, if that exceeds what rounding of the operands
    explains.
    """
    with np.errstate(all="ignore"):
        size = np.asarray(abs(exact), object)
        near = np.asarray(size, np.float64)
    unit = float(_epsilon(got.dtype))
    least = float(np.finfo(got.dtype).tiny)
    allowed = _MAX_ULPS * (unit * np.maximum(size, least) + 2 * spread)
    known = np.isfinite(near) & (near <= float(np.finfo(got.dtype).max))
    off = np.where(known & ~np.isfinite(got), np.inf, 0.0)
    finite = known & np.isfinite(got)
    if finite.any():
        error = abs(np.where(finite, got, 0).astype(object) - np.where(finite, exact, 0))
        off = np.maximum(off, np.asarray(error / allowed, np.float64))
    if not (off > 1).any():
        return
    index = np.unravel_index(int(np.argmax(off)), off.shape)
    where = f" at {tuple(map(int, index))}" if index else ""
    warn(f"{what} has lost digits: it is {got[index]!s}{where}, exactly "
         f"{float(np.asarray(exact, object)[index])!r}", PrecisionWarning)


class _Exact:
    """A graph that runs on arrays of exact numbers; what they do not know is computed in floats."""

    def __init__(self, graph: FunctionGraph, mpmath: Any) -> None:
        self.graph = graph
        self.mpmath = mpmath
        self.functions = _functions(mpmath)

    def __call__(self, values: Sequence[Any], signs: Any = None) -> list[Any]:
        """Return the exact results.

        With ``signs``, the operands of sums and products are rounded first: no form of the
        expression avoids that rounding.
        """
        known: dict[Node, Any] = dict(zip(self.graph.inputs, values, strict=True))
        for node in self.graph.nodes:
            if node in known:
                continue
            xs = [known[n] for n in node.inputs]
            if signs is not None and node.op_name in ("sum", "matmul"):
                xs = [_moved(x, n.dtype, signs, self.mpmath)
                      for x, n in zip(xs, node.inputs, strict=True)]
            known[node] = self._value(node, xs)
        return [known[n] for n in self.graph.outputs]

    def _value(self, node: Node, xs: list[Any]) -> Any:
        op = node.op
        if op is None:
            t = live_tensor(node)
            return _numbers(np.asarray(constant_value(node) if t is None else t.array), self.mpmath)
        if type(op) is Item:
            return xs[0][op.index]
        if op.outputs == 1 and any(x.dtype == object for x in xs):
            found = self._exactly(node, xs)
            if found is not None:
                return found
        return self._in_floats(node, xs)

    def _exactly(self, node: Node, xs: list[Any]) -> Any:
        op, name = node.op, node.op.name
        if name in _AS_THEY_ARE:
            return np.asarray(op.perform(*xs), object if _is_float(node) else node.dtype)
        if name in _SUMS and _is_float(node):
            return np.asarray(_SUMS[name].reduce(xs[0], op.axes, keepdims=op.keepdims), object)
        if name == "matmul" and _is_float(node):
            return np.asarray(np.matmul(*(x.astype(object) for x in xs)), object)
        if name == "astype" and _is_float(node):
            return xs[0]
        if name == "where":
            return np.where(xs[0], xs[1], xs[2])
        function = self.functions.get(name)
        if function is None or node.dtype.kind not in "fb":
            return None
        try:
            found = np.frompyfunc(function, len(xs), 1)(*xs)
        except (ValueError, ZeroDivisionError, TypeError, OverflowError):
            return None
        return np.asarray(found, object if _is_float(node) else bool)

    def _in_floats(self, node: Node, xs: list[Any]) -> Any:
        rounded = [
            x.astype(n.dtype) if x.dtype == object else x
            for x, n in zip(xs, node.inputs, strict=True)
        ]
        with np.errstate(all="ignore"):
            result = node.op.perform(*rounded)
        if isinstance(result, tuple):
            return tuple(_numbers(np.asarray(r), self.mpmath) for r in result)
        return _numbers(np.asarray(result), self.mpmath)


def _functions(mp: Any) -> dict[str, Callable[..., Any]]:
    """Exact functions of numbers, by the names of operations."""
    def over(a: Any, b: Any) -> Any:
        if b == 0:
            return mp.nan if a == 0 or a != a else mp.inf * mp.sign(a)
        return a / b

    def log(x: Any) -> Any:
        return mp.ninf if x == 0 else mp.log(x) if x > 0 else mp.nan

    plain = "exp expm1 sin cos tan sinh cosh tanh asinh atan erf erfc ceil floor sign"
    return {
        **{name: getattr(mp, name) for name in plain.split()},
        "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "negative": lambda x: -x,
        "multiply": lambda a, b: a * b, "divide": over, "abs": abs, "square": lambda x: x * x,
        "safe_multiply": lambda a, b: a * 0 if a == 0 else a * b,
        "safe_divide": lambda a, b: a * 0 if a == 0 else over(a, b),
        "reciprocal": lambda x: over(mp.mpf(1), x), "log": log,
        "sqrt": lambda x: mp.sqrt(x) if x >= 0 else mp.nan,
        "rsqrt": lambda x: over(mp.mpf(1), mp.sqrt(x)) if x >= 0 else mp.nan,
        "log1p": lambda x: log(1 + x), "log2": lambda x: log(x) / mp.log(2),
        "log10": lambda x: log(x) / mp.log(10), "exp2": lambda x: mp.mpf(2) ** x,
        "sigmoid": lambda x: 1 / (1 + mp.exp(-x)), "softplus": lambda x: log(1 + mp.exp(x)),
        "logaddexp": lambda a, b: log(mp.exp(a) + mp.exp(b)), "ndtr": mp.ncdf,
        "log_ndtr": lambda x: log(mp.ncdf(x)), "log_cosh": lambda x: log(mp.cosh(x)),
        "log_erfc": lambda x: log(mp.erfc(x)), "log_one_minus_exp": lambda x: log(-mp.expm1(x)),
        "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x), "power": lambda a, b: a ** b,
        "acos": lambda x: mp.acos(x) if abs(x) <= 1 else mp.nan,
        "asin": lambda x: mp.asin(x) if abs(x) <= 1 else mp.nan,
        "acosh": lambda x: mp.acosh(x) if x >= 1 else mp.nan,
        "atanh": lambda x: mp.atanh(x) if abs(x) < 1 else mp.nan, "atan2": mp.atan2,
        "maximum": max, "minimum": min, "isinf": lambda x: bool(mp.isinf(x)),
        "isnan": lambda x: bool(mp.isnan(x)), "isfinite": lambda x: bool(mp.isfinite(x)),
        "equal": lambda a, b: bool(a == b), "not_equal": lambda a, b: bool(a != b),
        "less": lambda a, b: bool(a < b), "greater": lambda a, b: bool(a > b),
        "less_equal": lambda a, b: bool(a <= b), "greater_equal": lambda a, b: bool(a >= b),
    }
