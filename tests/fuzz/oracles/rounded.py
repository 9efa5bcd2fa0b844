"""Python programs whose inexact operations are rounded otherwise: Monte Carlo arithmetic.

``divmod(math.sqrt(3.0)**2, 3)[0]`` is 0 or 1, whichever way the root is rounded. A comparison, a
floor or an index that decides by a number within rounding of the step may have either outcome; what
exact operations give is not changed, so that their outcomes are.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import agnesi as ag

#: Calls whose results are rounded.
_INEXACT = frozenset("sqrt hypot sin cos sum cumsum grad".split())
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
    """Calls around all that may be rounded."""

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        if type(node.op) not in _OPERATORS:
            return node
        sign = ast.Constant(_OPERATORS[type(node.op)][1])
        return ast.Call(ast.Name("operated_", ast.Load()), [sign, node.left, node.right], [])

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if called not in _INEXACT:
            return node
        return ast.Call(ast.Name("rounded_", ast.Load()), [node], [])


def marked(source: str) -> str:
    """A program with calls of ``operated_`` and ``rounded_`` in it, which :func:`names` has."""
    return ast.unparse(ast.fix_missing_locations(_Marked().visit(ast.parse(source))))


def names(rng: np.random.Generator) -> dict[str, Callable[..., Any]]:
    """The functions that a marked program calls, of random roundings."""

    def moved(x: Any) -> Any:
        if type(x) is float and math.isfinite(x):
            return x + math.ulp(x) * int(rng.integers(-_ROUNDINGS, _ROUNDINGS + 1))
        if isinstance(x, ag.Tensor) and x.array is not None and x.dtype.kind == "f":
            step = float(np.finfo(x.dtype).eps) * rng.integers(-_ROUNDINGS, _ROUNDINGS + 1, x.shape)
            return x * ag.asarray(np.where(_is_short(x.numpy()), 1, 1 + step).astype(x.dtype))
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
