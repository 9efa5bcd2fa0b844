"""Address reuse: offsets that differ by a constant share one address computation."""

from __future__ import annotations

from agnesi.codegen.llvm.values import Value, i64


class Distances:
    """Indices of a function that are another index plus a constant."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[Value, int]] = {}

    def note(self, total: Value, a: Value, b: Value) -> None:
        """Record that ``total`` is the sum of an index and a constant."""
        if a.type == "i64" and b.ref[0] != "%" == total.ref[0] and total.ref != a.ref:
            self._of[total.ref] = a, int(b.ref)

    def parted(self, index: Value) -> tuple[Value, int]:
        """Return an index as a base that neighbouring addresses share, and the distance from it."""
        distance = 0
        while index.ref in self._of:
            index, by = self._of[index.ref]
            distance += by
        return (index, distance) if index.ref[0] == "%" else (i64(0), int(index.ref) + distance)
