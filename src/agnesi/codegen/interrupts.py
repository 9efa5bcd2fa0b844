"""Polls for signals in long-running code, for Ctrl-C to end it (``runtime/native/interrupts.ll``).

A program polls between kernels, a long loop from iteration to iteration, and a long kernel between
chunks of its units, about every millisecond of work.  Shorter code has no poll.  A poll that comes
before the next one is due costs one comparison with the processor's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.opt_level import duration, endless
from agnesi.core.ir.extents import guess
from agnesi.core.ir.foreign import Call, external
from agnesi.core.ir.kernels import Contraction, Foreign, Kernel, Loop, Product, nested

_POLL, _WRITING = (external(f"runtime:{n}") for n in ("poll", "writing_begins"))
#: Elements that take about a millisecond.
POLL_ELEMENTS = 1 << 21
#: Elements of a chunk of a kernel.
_CHUNK_ELEMENTS = 1 << 21
#: Elements of a product from which it polls between its units, and between blocks of its sums.
_POLLED_PRODUCT_ELEMENTS = 1 << 24
#: Elements of a chunk of a convolution, which takes several times as long where channels are few,
#: and of a product that does not poll by itself.
_CONTRACTION_CHUNK_ELEMENTS = 1 << 25
#: Elements of rows below which no function of ours polls.
_LOOK_ELEMENTS = 1 << 13
#: Elements between two polls of a loop.
_ITERATION_WORK = 1 << 17


def poll(b: Builder, thread: Value | None = None) -> Value:
    """The code by which to return, or 0."""
    return b.call("i32", _POLL, thread or i64(0))


def writing_begins(b: Builder) -> None:
    """Emit a mark that the program writes in place from here on: it is then completed, if that does
    not take long.
    """
    b.call("void", _WRITING)


def iterations_between(loop: Loop) -> int:
    """Return the iterations of a loop between two polls, a power of two; 0 if it needs none."""
    work = max(1, guess(sum(duration(block.kernels) for block in loop.blocks())))
    if loop.length is not None and guess(loop.length) * work < POLL_ELEMENTS:
        return 0
    return 1 << max(0, (_ITERATION_WORK // work).bit_length() - 1)


def chunk(kernel: Kernel, units: Any) -> int:
    """Return the units of a kernel that run between two polls; 0 for all of them."""
    size = _CONTRACTION_CHUNK_ELEMENTS if isinstance(kernel, Contraction) else _CHUNK_ELEMENTS
    total, count = guess(duration([kernel])), guess(units)
    if total < 2 * size or count < 2:
        return 0
    return max(1, count * size // total)


def polls(product: Product) -> bool:
    """Return whether a product polls for signals itself.

    Run in chunks it would pack its operands for each of them.
    """
    total = duration([product])
    return not isinstance(total, int) or total >= _POLLED_PRODUCT_ELEMENTS


def looks(kernel: Kernel) -> bool:
    """Return whether a kernel calls a function that may poll for signals, or polls after each call
    of one that cannot (LAPACK's, on a stack of matrices).
    """
    if not (isinstance(kernel, Foreign) and isinstance(kernel.call, Call)):
        return False
    sizes = [x.size for x in (*kernel.inputs, *kernel.results)]
    return not all(isinstance(n, int) and n < _LOOK_ELEMENTS for n in sizes)


class Pace:
    """Where a program polls for signals between its steps, and where it begins to write in place.

    A program that takes less than a millisecond never polls.
    """

    def __init__(self, steps: Sequence[Sequence[Kernel]]) -> None:
        kernels = [k for step in steps for k in step]
        self._work = [guess(duration(step)) for step in steps]
        self.short = (sum(self._work) < POLL_ELEMENTS and not endless(kernels)
                      and not any(map(looks, nested(kernels))))
        leaves = {b.slot for k in kernels for b in (*k.reads(), *k.writes())
                  if b.role in ("argument", "state")}
        self.first_write = next(
            (i for i, step in enumerate(steps)
             if any(b.slot in leaves for k in step for b in k.writes())), len(steps))
        self._since = 0

    def is_due(self, first: int, last: int) -> bool:
        """Return whether a poll belongs behind the steps from ``first`` to before ``last``."""
        self._since += sum(self._work[first:last])
        due = not self.short and self._since >= POLL_ELEMENTS
        if due:
            self._since = 0
        return due
