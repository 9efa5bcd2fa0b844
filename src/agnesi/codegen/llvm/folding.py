"""Constant folding of size and address arithmetic while code is written.

LLVM would find it out too, but has to read it first, and at its quickest level it does not try.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

_Exact = Callable[[int, int], int]

_EXACT: dict[str, _Exact] = {
    "add": operator.add, "add nsw": operator.add, "sub": operator.sub, "mul": operator.mul,
    "mul nsw": operator.mul, "smin": min, "smax": max,
    "udiv": operator.floordiv, "urem": operator.mod, "and": operator.and_,
}
_UNSIGNED = ("udiv", "urem")
#: Constants that are identities of an instruction as its right operand, and as its left one.
_RIGHT_IDENTITY = {("add", 0), ("add nsw", 0), ("sub", 0), ("mul", 1), ("mul nsw", 1), ("udiv", 1)}
_LEFT_IDENTITY = {("add", 0), ("add nsw", 0), ("mul", 1), ("mul nsw", 1)}
_ZERO = {("mul", 0), ("mul nsw", 0), ("urem", 1)}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le,
    "sgt": operator.gt, "sge": operator.ge,
}
#: Bounds of int64, the upper one exclusive.
_MIN_INT64, _INT64_END = -(1 << 63), 1 << 63


def _number(text: str) -> int | None:
    return int(text) if text[0] != "%" and text.lstrip("-").isdigit() else None


def folded(name: str, a: str, b: str) -> str:
    """Return the result of an operation on 64-bit integers as text if it is a constant or an
    operand; else an empty text.
    """
    if a[0] == "%" == b[0]:
        return "0" if name == "sub" and a == b else ""
    left, right = _number(a), _number(b)
    if left is not None and right is not None and name in _EXACT:
        if name in _UNSIGNED and (left < 0 or right <= 0):
            return ""
        found = _EXACT[name](left, right)
        return str(found) if _MIN_INT64 <= found < _INT64_END else ""
    if (name, right) in _RIGHT_IDENTITY:
        return a
    if (name, left) in _LEFT_IDENTITY:
        return b
    return "0" if (name, right) in _ZERO or (left == 0 and name[:3] == "mul") else ""


def compared(predicate: str, a: str, b: str) -> str:
    """A comparison of 64-bit integers, as text, where both are numbers."""
    if a[0] == "%" or b[0] == "%" or predicate not in _COMPARED:
        return ""
    left, right = _number(a), _number(b)
    if left is None or right is None:
        return ""
    return "true" if _COMPARED[predicate](left, right) else "false"


def one_iteration(start: str, stop: str, step: int) -> bool:
    """Return whether a loop certainly runs exactly once."""
    first, last = _number(start), _number(stop)
    return first is not None and last is not None and first < last <= first + step
