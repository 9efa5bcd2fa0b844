"""Questions of a trace whose answer follows from layouts: which results are views.

The trace takes the answer for the sizes at hand. Where memory that the question is about is changed
later, the answer has to be the same for all sizes that the calls may have.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from agnesi.core.ir.dims import Dim, Size, leaves, resolve
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.storage.memory_order import Layout, laid_out, special_layout
from agnesi.core.storage.views import looking_through
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.tracing import outermost
from agnesi.core.tensor import Tensor

#: Sizes and bounds that values give are tried at these, and at the sizes around them.
_TRIED_VALUES = (-1, 0, 1, 2, 3, 5)
#: So many values of a size that each call brings along are tried.
_TRIED_SIZES = 3
#: Combinations of sizes that are tried.
_MAX_POINTS = 100


class Query:
    """A query of a trace: whether the result of an operation is a view of its operand or a copy;
    without an operation, whether the operand itself is row-major or is copied.

    It matters only if one of the two is changed later, or if the eager function raises for another
    answer.

    :ivar source: The first value of what the operand looks into.
    """

    def __init__(self, base: Tensor, result: Tensor, op: Op | None, raises: bool, source: Node
                 ) -> None:
        for t in (base, result):
            if t._version is None:
                t._version = [0]
        self.base, self.op, self.source = base, op, source
        self.family: list[Any] = base._version  # type: ignore[assignment]
        self._changed: list[Any] = result._version  # type: ignore[assignment]
        self._then: int = -1 if raises else self.family[0]
        self._count: int = self._changed[0]
        self._shares = self.family is self._changed

    def counts(self) -> bool:
        """Return whether the answer matters."""
        return bool(self.family[0] > self._then or self._changed[0] > self._count)

    def undecided(self) -> list[Dim] | None:
        """Return the sizes that the answer depends on; empty if it depends on values, None if it is
        always the same.
        """
        names, numbers = _sizes_of(self.op, self.base)
        if not names:
            return [] if laid_out(self.base) is None else None
        found = set[bool]()
        for point in _points(names, numbers):
            try:
                answer = self._answer(point)
            except (ShapeError, ValueError, ZeroDivisionError, OverflowError):
                continue  # there are no such sizes
            if answer is not None:
                found.add(answer)
        return None if found == {self._shares} else names

    def _answer(self, point: Mapping[Any, int]) -> bool | None:
        """Return the answer for some values of the sizes; None if it does not matter, or there are
        no such sizes.
        """

        def known(n: Size) -> Size:
            return n.value(point) if isinstance(n, Extent) else resolve(n, point)

        array = laid_out(self.base, known)
        if array is None or not array.size:
            return None
        if self.op is None:
            return bool(array.flags.c_contiguous)
        return self.op.aliases is None or self.op.resolve(known).aliases(array)  # type: ignore[misc]


def _sizes_of(op: Op | None, base: Tensor) -> tuple[list[Dim], list[int]]:
    """The named sizes that decide the memory orders of a tensor and of an operation's result, and
    the known sizes beside them."""
    names: dict[Dim, None] = {}
    numbers: dict[int, None] = {}

    def note_size(n: Size) -> Size:
        if isinstance(n, Dim):
            names.update(dict.fromkeys(n.names() if isinstance(n, Extent) else leaves(n)))
        else:
            numbers[n] = None
        return n

    waiting = [base]
    while waiting:
        x = waiting.pop()
        layout: Layout | None = special_layout(x)
        if layout is not None:
            layout.op.resolve(note_size)
            waiting += layout.operands
        for t in looking_through(x):
            list(map(note_size, t.shape))
            if t._view is not None:
                t._view.op.resolve(note_size)
        root = looking_through(x)[0]
        if root is not x:
            waiting.append(root)
    if op is not None:
        op.resolve(note_size)
    return list(names), list(numbers)


def _points(names: Sequence[Dim], numbers: Sequence[int]) -> list[Mapping[Any, int]]:
    """Values of named sizes to try: all combinations where they are few, else some of them."""
    choices: list[Any] = []
    for n in names:
        if isinstance(n, Extent):
            least = n.least or 0
            found = {*range(least, least + _TRIED_SIZES), n.guess, *numbers}
            choices.append(sorted(v for v in found if v >= least and v <= (n.most or v)))
        else:
            choices.append(sorted({*_TRIED_VALUES, *numbers}))
    if math.prod(map(len, choices)) <= _MAX_POINTS:
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*choices)]
    draw = random.Random(0)
    return [{n: draw.choice(c) for n, c in zip(names, choices, strict=True)}
            for _ in range(_MAX_POINTS)]


def note(base: Tensor, result: Tensor, op: Op | None = None, raises: bool = False) -> None:
    """Let the trace know that the layout of ``base`` decides whose memory ``result`` is; the eager
    function ``raises`` for another layout."""
    trace = outermost()
    queries = getattr(trace, "layout_queries", None)
    if queries is None:
        return
    source = trace.first(looking_through(base)[0])
    queries.append(Query(base, result, op, raises, source))
