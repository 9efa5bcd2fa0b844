"""Dynamic sizes as values of the function that needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agnesi.core.ir.extents import Extent, UnknownSizeError, surely


class Sizes:
    """Values of dynamic sizes in one function; ``positions`` has the table and entry of those that
    calls pass.

    Others are computed at the beginning of the function.
    """

    def __init__(self, positions: Mapping[Extent, tuple[Any, int]]) -> None:
        self._positions = positions
        self._known: dict[Extent, Any] = {}

    def number(self, b: Any, n: Extent) -> Any:
        """Return the value of a size."""
        if n not in self._known:
            self._known[n] = self._worked_out(b, n)
        return self._known[n]

    def _worked_out(self, b: Any, n: Extent) -> Any:
        if not n.op:
            table, position = self._positions[n]
            return b.load("i64", b.gep("i64", table, b.size(position)))
        if n.op == "sum":
            return _total(b, n)
        first, second = map(b.size, n.args)
        if n.op == "max":
            return b.intrinsic("smax", first, second)
        if not surely(lambda: n.args[0] >= 0 and n.args[1] > 0):
            raise UnknownSizeError(f"the sign of {n} is not known before the call")
        return b.op("udiv" if n.op == "//" else "urem", first, second)


def _total(b: Any, n: Extent) -> Any:
    """A sum of products of sizes."""
    total = b.size(0)
    for monomial, factor in n.terms:
        part = b.size(factor)
        for atom in monomial:
            part = b.op("mul nsw", part, b.size(atom))
        total = b.op("add nsw", total, part)
    return total
