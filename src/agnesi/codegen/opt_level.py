"""The optimization level of a program: LLVM's quickest where its kernels do little work.

That takes LLVM half the time or less, for code that is no slower where memory sets the pace, and
10 to 30 % slower in loops that compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agnesi.core.ir.collapse import total_work
from agnesi.core.ir.costs import is_heavy
from agnesi.core.ir.extents import guess
from agnesi.core.ir.foreign import Walk
from agnesi.core.ir.kernels import Convolution, Foreign, Kernel, Loop, Nest, Product, nested, walk
from agnesi.core.ir.mapping import NestPlan

#: Iterations of a loop whose count is unknown.
_UNKNOWN_ITERATIONS = 100
#: Scalar instructions that take as long as an element that is stored.
_INSTRUCTIONS_PER_STORE = 8
#: Those that take as long as a load from anywhere in a table beyond the caches.
_SCATTERED_INSTRUCTIONS = 128
#: Elements that are stored in a nanosecond.
_STORES_PER_NANOSECOND = 2
#: The work of a function of another library, which is unknown, too.
_FOREIGN_INSTRUCTIONS = 1 << 15
#: Share of all work of a kernel that does little.
_MAX_WORK_SHARE = 1 / 200
#: Share of all work of all such kernels.
_MAX_TOTAL_WORK_SHARE = 1 / 32
#: Scalar instructions of a kernel that takes no time, in all and for each of its costly functions.
_NO_WORK, _NO_WORK_EACH = 1 << 14, 1 << 11
#: Costly functions beside the first of their kind from which a kernel calls them, and a program.
_MIN_REPEATED, _MIN_REPEATED_IN_ALL = 6, 24


def work(kernels: Sequence[Kernel], size: Callable[[Kernel], Any] | None = None) -> Any:
    """Estimate how many elements kernels compute, counting bodies of loops in every iteration.

    ``size`` is the work of a kernel besides products; by default the elements that it stores.
    """
    size = size or _stored
    total: Any = 0
    for kernel in kernels:
        if isinstance(kernel, Product):
            batch, m, n, k = kernel.sizes
            total += batch * m * n * k // 16
        elif isinstance(kernel, Convolution):
            total += kernel.sizes.work // 16
        total += size(kernel)
        if isinstance(kernel, Foreign):
            total += _FOREIGN_INSTRUCTIONS
        for block in kernel.blocks():
            total += _iterations(kernel) * work(block.kernels, size)
    return total


def _stored(kernel: Kernel) -> Any:
    """How many elements a kernel stores."""
    return kernel.answer(_stored, lambda: sum([s.buffer.size for s in kernel.stores()]))


def duration(kernels: Sequence[Kernel]) -> Any:
    """About how long kernels take, by all that they compute: in elements, of half a nanosecond."""
    return work(kernels, _computed)


def endless(kernels: Sequence[Kernel]) -> bool:
    """Return whether a loop among kernels ends by a condition alone."""
    return any(isinstance(k, Loop) and k.length is None for k in nested(kernels))


def _computed(kernel: Kernel) -> Any:
    """How many elements a kernel stores, or a nest computes on its way."""
    if isinstance(kernel, Foreign) and isinstance(kernel.call, Walk):
        return kernel.results[0].size * kernel.call.nanoseconds * _STORES_PER_NANOSECOND
    if not isinstance(kernel, Nest):
        return _stored(kernel)
    return kernel.answer(_computed, lambda: _stored(kernel) + total_work(
        kernel.stores(), _SCATTERED_INSTRUCTIONS) // _INSTRUCTIONS_PER_STORE)


def _iterations(kernel: Kernel) -> Any:
    return (kernel.length or _UNKNOWN_ITERATIONS) if isinstance(kernel, Loop) else 1


class Effort:
    """Decides which kernels do a negligible share of the work, even all together."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        total = guess(work(kernels))
        self._most, self._left = total * _MAX_WORK_SHARE, total * _MAX_TOTAL_WORK_SHARE
        self._iterations = 1
        self._written: set[tuple[str, str]] = set()
        self._repeated = 0

    @contextmanager
    def inside(self, kernel: Kernel) -> Iterator[None]:
        """A context for estimates of kernels inside of a loop, whose iterations count."""
        outside, self._iterations = self._iterations, self._iterations * guess(_iterations(kernel))
        yield
        self._iterations = outside

    def little(self, instructions: Any) -> bool:
        """Return whether a kernel of this many scalar instructions is negligible."""
        cost = guess(instructions) * self._iterations
        if cost > min(self._most, self._left):
            return False
        self._left -= cost
        return True

    def repeats(self, plan: NestPlan) -> bool:
        """Return whether a negligible nest calls its costly functions instead of inlining them,
        because it, or the nests before it, has many of few kinds.

        Inlining one takes LLVM about a millisecond; calls take a third longer to run.
        """
        costly = [(v.op, v.dtype) for v in walk([s.value for s in plan.stores]) if is_heavy(v.op)]
        if not costly or guess(plan.work) * self._iterations > max(
                _NO_WORK, _NO_WORK_EACH * len(costly)):
            return False
        kinds = {*costly}
        if len(costly) - len(kinds) >= _MIN_REPEATED:
            return True
        self._repeated += len(costly) - len(kinds - self._written)
        self._written |= kinds
        return self._repeated >= _MIN_REPEATED_IN_ALL
