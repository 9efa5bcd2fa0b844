"""When eager work has been so much that the compiler may be loaded for it.

The first function that is compiled costs as much as some ten others: the compiler's modules and
LLVM are loaded for it.  What is compiled by itself (regions, backward passes, plans, single
operations) therefore waits until all eager work together would have paid for that.  The work is an
estimate from types, no measured time, so that a program is compiled in the same step each time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agnesi.core.ir import loops
from agnesi.core.op import Item, Op
from agnesi.ops.base.elementwise import Elementwise

if TYPE_CHECKING:
    from agnesi.ops.control.body import Body

#: Nanoseconds of eager work, as estimated, that take as long as loading the compiler.
LOADING = 200_000_000
#: Nanoseconds of eager work, as guessed, for which a function is traced: few are compiled for less.
TRACING = 6_000_000

#: Nanoseconds that an eager operation takes at least, and those of an element, of a product, and of
#: an element of a matrix that is multiplied, which memory brings at its own speed.
CALL, _ELEMENT, _PRODUCT, _READ = 8_000, 3.0, 0.1, 0.25
#: The same of one that makes many calls of NumPy's.
_COMPOSED_NANOSECONDS = 20_000
#: Nanoseconds of a call of NumPy's in an elementwise operation of many, how many there are in one
#: that is no formula, and traits of those of a single one.
_NUMPY_CALL, _FEW_CALLS, _SINGLE = 500, 5, frozenset(("cheap", "operator"))


class Work:
    """Nanoseconds of eager work that compiled code could have saved, until they pay for loading the
    compiler.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Restart the count."""
        self.left: float = LOADING

    def pays(self, nanoseconds: float) -> bool:
        """Add ``nanoseconds``; return whether the total pays for loading the compiler."""
        if self.left > 0:
            self.left -= nanoseconds
        return self.left <= 0

    def loaded(self) -> None:
        """Record that the compiler is loaded for another reason, which occurs in the same step in
        every run.
        """
        self.left = 0


WORK = Work()


def of_body(body: Body, call: float) -> int:
    """Estimate the nanoseconds that the operations of a graph take eagerly, given the cost of a
    ``call``.
    """
    return int(sum(
        call + nanoseconds(n.op, n.shape, [i.shape for i in n.inputs], call)
        for n in body.graph.nodes if n.op is not None and type(n.op) is not Item))


def nanoseconds(op: Op, shape: Sequence[int], operands: Sequence[Sequence[int]],
                call: float = CALL) -> float:
    """Estimate the nanoseconds that an operation takes eagerly besides its call, for these shapes
    of result and operands.
    """
    composed = _COMPOSED_NANOSECONDS * ("composed" in op.traits) + _NUMPY_CALL * (calls_of(op) - 1)
    return composed + _ELEMENT * math.prod(shape) + _products(op, shape, operands, call)


def calls_of(op: Op) -> int:
    """Estimate how many calls of NumPy an elementwise operation makes on arrays; 1 for other
    operations.
    """
    return _calls_of_row(op) if isinstance(op, Elementwise) else 1


@functools.cache
def _calls_of_row(row: Elementwise) -> int:
    if isinstance(row.function, np.ufunc) or row.traits & _SINGLE:
        return 1
    if row.expand is None:
        return _FEW_CALLS
    operand = loops.cast(loops.index(loops.Axis(0, 2).index), "float32")
    found, waiting = set(), [row.expand(*[operand] * row.arity)]
    while waiting:
        part = waiting.pop()
        if part.args and part not in found:
            found.add(part)
            waiting += part.args
    return max(_FEW_CALLS, len(found))


def _products(op: Any, shape: Sequence[int], operands: Sequence[Sequence[int]], call: float
              ) -> float:
    """Estimate the nanoseconds of an operation's products, or of the steps of a loop."""
    if op.bodies:
        step = sum(of_body(getattr(op, b), call) for b in op.bodies)
        return float(step * getattr(op, "length", 1))
    count = op.multiply_adds(shape, operands)
    return _PRODUCT * count + _READ * max(map(math.prod, operands)) if count else 0.0
