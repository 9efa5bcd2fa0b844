"""When eager work has been so much that the compiler may be loaded for it.

The first function that is compiled costs as much as some ten others: the compiler's modules and
LLVM are loaded for it.  What is compiled by itself (regions, backward passes, plans, single
operations) therefore waits until all eager work together would have paid for that.  The work is an
estimate from types, no measured time, so that a program is compiled in the same step each time.
"""

from __future__ import annotations

#: Nanoseconds of eager work, as estimated, that take as long as loading the compiler.
LOADING = 200_000_000
#: Nanoseconds of eager work, as guessed, for which a function is traced: few are compiled for less.
TRACING = 6_000_000


class Work:
    """Eager work so far that compiled code could have saved, up to what loading takes."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Count anew."""
        self.left: float = LOADING

    def pays(self, nanoseconds: float) -> bool:
        """Count such work; return whether there was enough."""
        if self.left > 0:
            self.left -= nanoseconds
        return self.left <= 0

    def loaded(self) -> None:
        """The compiler is loaded for another reason, which comes in the same step each time."""
        self.left = 0


WORK = Work()
