"""Loops whose body is a graph: ``Scan`` over a known number of steps, ``While`` a condition holds.

The public functions are in ``api/control/loops.py``, the derivatives in ``autodiff/loops.py`` and
``autodiff/whiles.py``.  The gradient of a scan makes a second scan on the same operands, in the
same order, whose body has the outputs of the first and, behind its stacked results, the values
that the reverse steps read; a compiler merges the two by their common operands.

An operation with a single result has it directly, without an ``Item``, like all operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, apply_many, graph_node
from agnesi.core.ir.dims import Shape, Size, is_settled
from agnesi.core.ir.loops import Part, const
from agnesi.core.op import Op
from agnesi.core.shapes import Typed, fits, need_shape
from agnesi.core.support import dtypes
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.linearity import LinearOp
from agnesi.ops.control.body import Body, check_types

_INT64 = dtypes.int64


def applied(op: Op, *xs: Tensor) -> tuple[Tensor, ...]:
    """All results of an operation, however many there are."""
    if xs and not is_tracing() and (_has_unknown_sizes(op) or _has_examples(op)):
        xs = (symbol(graph_node(xs[0])), *xs[1:])  # it cannot run yet, whatever values there are
    return apply_many(op, *xs) if op.outputs > 1 else (apply(op, *xs),)


def _has_unknown_sizes(op: Op) -> bool:
    inside = [n for name in op.bodies for n in getattr(op, name).graph.sizes]
    return not is_settled((getattr(op, "length", 0), *inside))


def _has_examples(op: Op) -> bool:
    """Whether bodies read examples of a ``vmap``, as draws in them do: they have values together
    only."""
    if STATE.examples is None:
        return False
    inside = [n.op for name in op.bodies for n in getattr(op, name).graph.nodes if n.op is not None]
    return any(not hasattr(o, "perform") or _has_examples(o) for o in inside)


def _results(values: Sequence[Any]) -> Any:
    return tuple(values) if len(values) > 1 else values[0]


@record
class Scan(Op):
    """A body repeated for ``length`` steps.

    Operands: the number of steps to do (int64, at most ``length``) if ``counted``; sequences,
    whose leading axis is ``length``; first values of the carries; constants.

    The body takes a row of each sequence, the carries and the constants, and gives the next
    carries, a row of each stacked result, and, if ``until``, whether to stop behind this step.

    Results: the last carries, the stacked results, and, if ``until``, how many steps were done
    (int64).  Rows of stacked results behind the last step repeat that of the last step; rows
    behind the count of a counted scan are zero.  With ``reverse``, steps run from the last row
    (of those that count) to the first, and row ``t`` of a stacked result belongs to row ``t`` of
    the sequences.

    Attributes
    ----------
    body : Body
    length : int or Dim
    sequences, carries, stacked : int
        How many there are of each.
    reverse, until, counted : bool
        See above; ``until`` and ``reverse`` do not come together.
    kept : int
        How many of the last sequences are what another scan keeps for this one, its pullback.
    """

    body: Body
    length: Size
    sequences: int
    carries: int
    stacked: int
    reverse: bool = False
    until: bool = False
    counted: bool = False
    kept: int = 0
    name = "scan"
    traits = frozenset(("control",))
    bodies = ("body",)

    def __post_init__(self) -> None:
        if self.until and self.reverse:
            raise ValueError("a scan that may stop early does not run in reverse: flip its rows")
        self.__dict__["outputs"] = self.carries + self.stacked + self.until

    @property
    def first_values(self) -> range:
        """The operands that carries begin with: each must be in contiguous memory."""
        start = self.counted + self.sequences
        return range(start, start + self.carries)

    def linked(self, result: int) -> Sequence[int]:
        """Return the operands that gradients of a result may arrive at, by position; without steps
        a carry is what it begins with.
        """
        if self.length != 0 or self.counted:
            return range(self.counted + len(self.body.inputs))
        return self.first_values[result:result + 1]

    # -- operands -------------------------------------------------------------------------
    def split(self, xs: Sequence[Any]) -> tuple[Any, list[Any], list[Any], list[Any]]:
        """Operands (or what belongs to them): count or None, sequences, carries, constants."""
        xs = list(xs)
        count = xs.pop(0) if self.counted else None
        first, second = self.sequences, self.sequences + self.carries
        return count, xs[:first], xs[first:second], xs[second:]

    def infer(self, *xs: Any) -> Any:
        count, sequences, carries, constants = self.split(xs)
        if count is not None and (count.shape != () or count.dtype != _INT64):
            raise ShapeError("the number of steps must be an int64 scalar")
        rows = [_Row(x) for x in sequences]
        for i, row in enumerate(rows):
            if not fits((row.length,), (self.length,)):
                raise ShapeError(f"sequence {i} has {row.length} rows, not {self.length}")
        body = self.body
        why = check_types("operands of the body", body.inputs, [*rows, *carries, *constants])
        why = why or check_types("next carries", carries, body.outputs[: self.carries])
        if why:
            raise ShapeError(why)
        stacked = body.outputs[self.carries: self.carries + self.stacked]
        types = [(x.shape, x.dtype) for x in carries]
        types += [((self.length, *y.shape), y.dtype) for y in stacked]
        return _results([*types, ((), _INT64)] if self.until else types)

    # -- evaluation -----------------------------------------------------------------------
    def perform(self, *xs: Any) -> Any:
        count, sequences, carries, constants = self.split(xs)
        length: Any = self.length
        steps = length if count is None else min(max(int(count), 0), length)
        stacked = self.body.outputs[self.carries: self.carries + self.stacked]
        rows = [np.zeros((length, *y.shape), y.dtype) for y in stacked]
        done = 0
        for t in reversed(range(steps)) if self.reverse else range(steps):
            found = self.body.run([*(x[t] for x in sequences), *carries, *constants])
            carries = found[: self.carries]
            for stack, row in zip(rows, found[self.carries:], strict=False):
                stack[t] = row
            done += 1
            if self.until and found[-1]:
                break
        if 0 < done < steps:
            for stack in rows:
                stack[done:steps] = stack[done - 1]
        values = [*(np.array(c) for c in carries), *rows]
        return _results([*values, np.asarray(done)] if self.until else values)


class _Row:
    """The type of one row of a sequence."""

    def __init__(self, x: Any) -> None:
        if not x.shape:
            raise ShapeError("a sequence needs an axis to run along, not a scalar")
        self.length = x.shape[0]
        self.shape = tuple(x.shape[1:])
        self.dtype = x.dtype


@record
class FirstRows(LinearOp):
    """The first so many rows of a result that has at least as many: those of steps that ran."""

    size: Size
    name = "first_rows"

    def infer(self, x: Any) -> Any:
        if not x.shape:
            raise ShapeError("a number has no rows")
        return (self.size, *x.shape[1:]), x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        if len(x) < self.size:  # not earlier: a trace for all sizes has another example of it
            raise ShapeError(f"there are no {self.size} rows in shape {x.shape}")
        return x[: self.size]

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(RowsBefore(x.shape), g),)

    def lower(self, at: Any, x: Any) -> Any:
        return x(*at)


@record
class RowsBefore(LinearOp):
    """The operand's rows, and zeros behind them: the adjoint of :class:`FirstRows`."""

    shape: Shape
    name = "rows_before"

    def infer(self, x: Any) -> Any:
        FirstRows(x.shape[0]).infer(Typed(self.shape, x.dtype))
        need_shape(x.shape[1:], self.shape[1:], "a row")
        return self.shape, x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        result = np.zeros(self.shape, x.dtype)
        result[: x.shape[0]] = x
        return result

    def vjp(self, g: Tensor, y: Tensor, x: Tensor) -> tuple[Any, ...]:
        return (apply(FirstRows(x.shape[0]), g),)

    def parts(self, x: Any) -> list[Part]:
        zero, rank = const(0, x.dtype), len(self.shape)
        return [
            Part.whole(self.shape, lambda at: zero),
            Part((0,) * rank, (1,) * rank, tuple(x.shape), lambda at: x(*at)),
        ]


@record
class While(Op):
    """A body repeated as long as a condition holds, which is evaluated before each step.

    Operands: first values of the carries, constants.  Both graphs take both: ``test`` gives a bool,
    ``body`` the next carries.  Results: the last carries.
    """

    test: Body
    body: Body
    carries: int
    name = "while_loop"
    traits = frozenset(("control",))
    bodies = ("test", "body")

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = self.carries

    @property
    def first_values(self) -> range:
        """The operands that carries begin with: each must be in contiguous memory."""
        return range(self.carries)

    def infer(self, *xs: Any) -> Any:
        carries = xs[: self.carries]
        (decision,) = self.test.outputs
        why = check_types("operands of the condition", self.test.inputs, xs)
        why = why or check_types("operands of the body", self.body.inputs, xs)
        why = why or check_types("next carries", carries, self.body.outputs)
        if why or decision.shape != () or decision.dtype != dtypes.bool_:
            raise ShapeError(why or "the condition must be a bool scalar")
        return _results([(x.shape, x.dtype) for x in carries])

    def perform(self, *xs: Any) -> Any:
        carries, constants = list(xs[: self.carries]), xs[self.carries:]
        while self.test.run([*carries, *constants])[0]:
            carries = self.body.run([*carries, *constants])
        return _results([np.array(c) for c in carries])
