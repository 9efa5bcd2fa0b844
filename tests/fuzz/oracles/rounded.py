"""Python programs whose inexact operations are rounded otherwise: Monte Carlo arithmetic.

``divmod(math.sqrt(3.0)**2, 3)[0]`` is 0 or 1, whichever way the root is rounded. A comparison, a
floor or an index that decides by a number within rounding of the step may have either outcome; what
exact operations give is not changed, so that their outcomes are.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.storage.views import root
from tests.fuzz.oracles.noise import epsilon

#: Calls whose results are rounded.
_INEXACT = frozenset("sqrt hypot sin cos sum cumsum grad mean".split())
#: Names of layers.
_LAYER = re.compile(r"[mN]\d+$")
#: How far off a result may be, in roundings.
_ROUNDINGS = 4
#: Sums of multiples of this, as far as they are smaller than its reciprocal, have no rounding.
_EXACT = 2.0**-20
_OPERATORS: dict[type, tuple[Callable[[Any, Any], Any], str]] = {
    ast.Add: (operator.add, "+"), ast.Sub: (operator.sub, "-"), ast.Mult: (operator.mul, "*"),
    ast.Div: (operator.truediv, "/"), ast.Pow: (operator.pow, "**"),
}
_BY_SIGN = {sign: function for function, sign in _OPERATORS.values()}


class _Marked(ast.NodeTransformer):
    """Calls around all that may be rounded; with ``every``, around all calls of methods, of the
    library's functions and of layers."""

    def __init__(self, every: bool) -> None:
        self.every = every

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if type(node.op) not in _OPERATORS:
            return node
        sign = ast.Constant(_OPERATORS[type(node.op)][1])
        return ast.Call(ast.Name("operated_", ast.Load()), [sign, node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        layer = isinstance(node.func, ast.Name) and _LAYER.match(node.func.id)
        if called not in _INEXACT and not layer and (
                not self.every or not called or called.endswith("_")):
            return node
        return ast.Call(ast.Name("rounded_", ast.Load()), [node], [])


def marked(source: str, every: bool = False) -> str:
    """A program with calls of ``operated_`` and ``rounded_`` in it, which :func:`names` has."""
    return ast.unparse(ast.fix_missing_locations(_Marked(every).visit(ast.parse(source))))


def names(rng: np.random.Generator | None) -> dict[str, Callable[..., Any]]:
    """The functions that a marked program calls, of random roundings; of none without ``rng``."""
    rng = np.random.default_rng(0) if (still := rng is None) else rng

    def moved(x: Any) -> Any:
        if type(x) is float and math.isfinite(x):
            few = 0 if still else int(rng.integers(-_ROUNDINGS, _ROUNDINGS + 1))
            return x + math.ulp(x) * few
        if isinstance(x, ag.Tensor) and x.array is not None and x.dtype.kind in "fcV" and (
                root(x) is x):
            step = epsilon(x.dtype) * rng.integers(-_ROUNDINGS, _ROUNDINGS + 1, x.shape)
            wide = x.detach().numpy().astype("complex128")
            return x * ag.asarray(np.where(
                still | _is_short(wide.real) & _is_short(wide.imag), 1, 1 + step).astype(x.dtype))
        return x

    def rounded(x: Any) -> Any:
        return x if type(x) is float and _is_short(x) else moved(x)

    def operated(sign: str, a: Any, b: Any) -> Any:
        found = _BY_SIGN[sign](a, b)
        return found if type(found) is float and _is_exact(sign, a, b, found) else moved(found)

    return {"rounded_": rounded, "operated_": operated}


def _is_short(x: Any) -> Any:
    """Whether numbers are such that sums of them are exact."""
    with np.errstate(all="ignore"):
        return (np.abs(x) < 1 / _EXACT) & (np.asarray(x) / _EXACT % 1 == 0)


def _is_exact(sign: str, a: Any, b: Any, found: float) -> bool:
    """Whether a result is the operation's own, without rounding."""
    if sign == "**" and (b != int(b) or abs(b) > 8):
        return False
    try:
        wanted = _BY_SIGN[sign](Fraction(a), int(b) if sign == "**" else Fraction(b))
        return bool(wanted == Fraction(found))
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        return True  # there is none
