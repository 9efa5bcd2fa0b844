"""The ways a scan runs: in Python, as one operation, in parts, with a step count from a tensor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from agnesi.api.control.nests import (
    Nest,
    apart,
    call_user_function,
    changes,
    changes_fixed,
    decision,
    is_symbolic,
    next_carries,
    rows_of,
    snapshot,
    whole,
)
from agnesi.api.control.stepwise import SteppedScan, tried_again, whiled
from agnesi.api.control.traced import TracedScan, again, pair_of, stores
from agnesi.autodiff.checkpoint import checkpoint
from agnesi.autodiff.recording import detach
from agnesi.core.ir.dims import Dim, combine, is_static
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.support import tree
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import BodySizeError, ShapeError, TraceError, at
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.parameter_checks import demanded
from agnesi.ops.base.select import minimum, where
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.join import concat, stack
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.random.generators import attempted

Function = Callable[..., Any]


class _Stacks(Exception):  # noqa: N818 - no error
    """A loop has results, so that its number of steps is a size."""


class Loop:
    """The parameters of a scan.

    :ivar owner, form: (str) The public function, and how it calls ``f``, for errors.
    :ivar updates: Takes the new values of tensors that a graph changes in place; None assigns them.
    :ivar symbolic: (bool) Whether to make a graph even of values.
    :ivar cropped: (bool) Whether results of values have the rows of steps that were done, and no
        others.
    """

    owner, form = "scan", "f(carry, x, *non_sequences)"
    reverse = symbolic = cropped = False
    strict: bool | str = False
    updates: dict[Any, Any] | None = None
    until: Function | None = None
    cut: int | None = None
    checkpoint: bool | int = False
    length: Any = 0
    count: Tensor | None = None

    def __init__(self, f: Function, carry: Nest, xs: Nest, given: tuple[Any, ...]) -> None:
        self.f, self.carry, self.xs = f, carry, xs
        self.given = Nest("scan", "non_sequences", given)
        carry.suit((*xs.tensors, *self.given.tensors))

    def count_steps(self, length: Any) -> None:
        """Find out how many steps there are; rows behind them are cut off."""
        rows = rows_of(self.owner, self.xs)
        if length is None:
            if rows is None:
                raise TypeError(at("scan needs xs to run over, or length, the number of steps"))
            self.length = rows
            return
        if isinstance(length, Tensor) and is_symbolic(length):
            self._count(length, rows)
            return
        self.length = whole("scan", "length", length)
        if isinstance(self.length, int) and (
            self.length < 0 or (isinstance(rows, int) and rows < self.length)
        ):
            raise ShapeError(
                at(f"scan: length is {self.length}, but the sequences have {rows} rows")
                if self.length > 0 else at(f"scan: length must not be negative: {self.length}")
            )
        if rows is not None and rows != self.length:
            self.xs.tensors = [x[: self.length] for x in self.xs.tensors]

    def _count(self, length: Tensor, rows: Any) -> None:
        self.length, self.count = rows, counted(cast(whole("scan", "length", length), int64), rows)
        if self.cut is not None or self.checkpoint:
            raise ValueError(
                at("scan: truncate_gradient and checkpoint need a length that is known")
            )

    def called(self, *args: Any) -> Any:
        """Return the results of the body."""
        return call_user_function(self.owner, self.form, self.f, *args)

    def stops(self, carry: Any) -> Tensor:
        """Return whether the loop ends with a carry."""
        found = call_user_function(self.owner, "until(carry)", self.until, carry)
        return decision(self.owner, "what until() returns", found)

    # -- ways to run ----------------------------------------------------------------------
    def run(self) -> tuple[Any, Any, Any]:
        """The last carry, stacked results, number of steps."""
        if self.until is not None and self.checkpoint:
            raise ValueError(at("scan: until does not go with checkpoint, which must know where "
                                "the last step is"))
        if (self.cut is not None or self.checkpoint) and any(self.carry.weak):
            try:
                self._traced()  # which dtypes numbers begin with, before the loop is in parts
            except TraceError:
                if not self._has_values():  # whose first part finds out by itself
                    raise
        if self.cut is not None:
            return self._truncated()
        if self.checkpoint:
            return self._in_segments()
        if self.count is not None and self.length is None:
            return self._open()
        if not self._has_values():
            return self.traced()
        if self.length == 0:
            return self._none()
        if self.strict:
            self._traced()
        return self._eager()

    def _has_values(self) -> bool:
        """Return whether the loop can be Python's: everything has a value."""
        tensors = (*self.carry.tensors, *self.xs.tensors, *self.given.tensors, self.count)
        return not (self.symbolic or isinstance(self.length, Dim) or is_symbolic(*tensors))

    def part(self, carry: Any, xs: Any, length: Any) -> Loop:
        """The same loop over some of the rows."""
        loop = Loop(self.f, Nest("scan", "init", carry), Nest("scan", "xs", xs),
                     self.given.build(self.given.tensors))
        loop.reverse, loop.strict, loop.length = self.reverse, self.strict, length
        loop.updates, loop.symbolic = self.updates, self.symbolic
        return loop

    def _traced(self) -> TracedScan:
        flipped = self.reverse and self.until is not None
        xs = self.xs
        if flipped:
            xs = Nest("scan", "xs", xs.build([reversed_rows(x, self.count) for x in xs.tensors]))

        def traced(kind: type[TracedScan]) -> TracedScan:
            return kind(
                self.f, self.called, self.carry, xs, self.given, self.length, count=self.count,
                reverse=self.reverse and not flipped, stops=self.stops if self.until else None,
                strict=self.strict, owner=self.owner,
            )

        try:
            return traced(TracedScan)
        except BodySizeError as error:
            return tried_again(error, lambda: traced(SteppedScan))

    def traced(self) -> tuple[Any, Any, Any]:
        """Run the loop as one scan operation of the graph.

        :raises BodySizeError: If everything has a value, and steps have sizes of their own.
        """
        made = self._traced()
        carry, ys, steps = made.apply(self.updates or {})
        if self.updates is None:
            stores(self.owner, made.states, made.values)
        else:
            outer = [s.outer for s in made.states]
            self.updates.update(zip(outer, made.values, strict=True))
        if self.reverse and self.until is not None:
            ys = tree.map_leaves(lambda y: reversed_rows(y, self.count), ys)
        return carry, ys, steps

    def _none(self) -> tuple[Any, Any, Any]:
        """No step: the body is traced only for the types of the results."""
        made = self._traced()
        first = len(self.carry.tensors) + len(made.states)
        rows = made.body.outputs[first:first + made.stacked]
        if is_symbolic(*made.captured) or not is_static([n for y in rows for n in y.shape]):
            return self.traced()
        made.clear()
        ys = made.result_shape.build([zeros((0, *y.shape), dtype=y.dtype) for y in rows])
        return self.carry.build([snapshot(c) for c in self.carry.tensors]), ys, as_tensor(0)

    def _eager(self) -> tuple[Any, Any, Any]:
        """A Python loop."""
        found = attempted(lambda: again(self._steps, self.carry))
        return self.traced() if found is None else found

    def _steps(self) -> Any:
        carries = [snapshot(c) for c in self.carry.tensors]
        given = self.given.build(self.given.tensors)
        fixed = [*self.xs.tensors, *self.given.tensors]
        rows: list[list[Any]] = []
        shape: Any = None
        for t in self._order():
            xs = self.xs.build([x[t] for x in self.xs.tensors])
            before = changes(fixed)
            found = self.called(self.carry.build(carries), xs, *given)
            if changes(fixed) != before:
                raise changes_fixed(self.owner)
            following, result = pair_of(self.owner, found)
            leaves, its_shape = tree.flatten(result)
            if is_symbolic(*tree.flatten(following)[0], *leaves):
                return None  # it uses symbolic tensors, so it is written into a graph
            carries = next_carries(self.owner, self.carry, following, ran=not rows)
            carries = [apart(c) for c in carries]
            if shape is not None and its_shape != shape:
                raise TypeError(
                    at(
                        f"{self.owner}: the results of two steps are different nests: "
                        f"{shape.paths('y')}, then {its_shape.paths('y')}"
                    )
                )
            shape = its_shape
            rows.append([snapshot(y) for y in leaves])
            if self.until is not None and bool(self.stops(self.carry.build(carries))):
                break
        steps = len(rows)
        if not self.cropped:
            rows += rows[-1:] * (self.length - steps)
        if self.reverse:
            rows.reverse()
        ys = shape.build([stack(column) for column in zip(*rows, strict=True)])
        return self.carry.build([snapshot(c) for c in carries]), ys, as_tensor(steps)

    def _order(self) -> Iterator[int]:
        return iter(reversed(range(self.length)) if self.reverse else range(self.length))

    # -- kinds of gradients ---------------------------------------------------------------
    def _split(self, at_row: Any) -> tuple[Any, Any]:
        xs = self.xs
        return tuple(
            xs.build([x[rows] for x in xs.tensors])
            for rows in (slice(None, at_row), slice(at_row, None))
        )

    def _parts(self, first: Any) -> tuple[Loop, Any]:
        """The part of the first so many steps, and what makes the part of the others."""
        rest = self.length - first
        low, high = self._split(rest if self.reverse else first)
        if self.reverse:
            low, high = high, low
        before = self.part(self.carry.build(self.carry.tensors), low, first)
        before.carry.weak = self.carry.weak
        return before, lambda carry: self.part(carry, high, rest)

    def _joined(self, first: Any, second: Any) -> Any:
        if self.reverse:
            first, second = second, first
        return tree.map_leaves(lambda a, b: concat([a, b]), first, second)

    def _truncated(self) -> tuple[Any, Any, Any]:
        """Two loops; gradients stop between them."""
        if self.until is not None:
            return self._truncated_at_its_end()
        n: Any = self.cut
        if isinstance(self.length, int) and n >= self.length:
            self.cut = None
            return self.run()
        before, after = self._parts(combine("max", self.length - n, 0))
        before.checkpoint = False
        carry, ys, _ = tree.map_leaves(
            lambda x: detach(x) if isinstance(x, Tensor) else x, before.run()
        )
        last = after(carry)
        last.checkpoint = self.checkpoint
        carry, more, steps = last.run()
        return carry, self._joined(ys, more), steps

    def _truncated_at_its_end(self) -> tuple[Any, Any, Any]:
        """A loop that only counts its steps, and one whose last steps have gradients."""
        cut: Any = self.cut
        until: Any = self.until
        counting = self._like(self.f, self.carry.build(self.carry.tensors))
        counting.until, counting.updates = until, {}
        first = detach(counting.traced()[2]) - cut

        def body(state: Any, *rest: Any) -> Any:
            number, carry = state
            found = pair_of(self.owner, self.called(carry, *rest))
            following, result = tree.map_leaves(lambda y: _from(number >= first, y), found)
            return (number + 1, following), result

        loop = self._like(body, (as_tensor(0, int64), self.carry.build(self.carry.tensors)))
        loop.until, loop.updates = lambda state: until(state[1]), self.updates
        (_, carry), ys, steps = loop.traced()
        return carry, ys, steps

    def _like(self, f: Function, carry: Any) -> Loop:
        """A loop over the same rows."""
        loop = self.part(carry, self.xs.build(self.xs.tensors), self.length)
        loop.f, loop.owner, loop.form, loop.count = f, self.owner, self.form, self.count
        return loop

    def _in_segments(self) -> tuple[Any, Any, Any]:
        """A loop over loops; gradients begin at the first carry of each inner one."""
        known = isinstance(self.length, (int, Extent))
        size = self.checkpoint
        if size is True:
            size = max(1, math.isqrt(guess(self.length))) if known else 64
        if isinstance(self.length, Extent):
            return self._in_counted_segments(size)
        try:
            found = self._in_traced_segments(size)
        except TraceError:
            if not self._has_values():  # by which the body may decide
                raise
            return self._in_checkpoints(size)
        if self._has_values() and is_symbolic(*tree.flatten(found[:2])[0]):
            return self._in_checkpoints(size)  # steps found sizes
        return found

    def _in_checkpoints(self, size: int) -> tuple[Any, Any, Any]:
        """Python's loop in checkpointed segments; the last one is run once."""
        rest, rows = self, []
        while rest.length > size:
            before, after = rest._parts(size)
            carry, ys = before._checkpointed()
            rows.append(ys)
            rest = after(carry)
        rest.checkpoint = False
        carry, ys, _ = rest.run()
        rows.append(ys)
        ys = tree.map_leaves(lambda *parts: concat(parts), *(rows[::-1] if self.reverse else rows))
        return carry, ys, as_tensor(self.length)

    def _checkpointed(self) -> tuple[Any, Any]:
        """The last carry and the stacked results, whose steps run again for gradients."""
        def segment(carry: Any, xs: Any, given: Any) -> tuple[Any, Any]:
            inner = self.part(carry, xs, self.length)
            inner.given, inner.carry.weak = Nest("scan", "non_sequences", given), self.carry.weak
            return inner.run()[:2]

        found: tuple[Any, Any] = checkpoint(segment, *(
            nest.build(nest.tensors) for nest in (self.carry, self.xs, self.given)))
        return found

    def _in_traced_segments(self, size: Any) -> tuple[Any, Any, Any]:
        """The same as two nested operations."""
        known = isinstance(self.length, int)
        number = self.length // size
        covered = number * size
        before, after = self._parts(covered)

        def segment(carry: Any, rows: Any, *given: Any) -> Any:
            inner = before.part(carry, rows, size)
            inner.given = Nest("scan", "non_sequences", given)
            return inner.traced()[:2]

        rows = [x.reshape((number, size, *x.shape[1:])) for x in before.xs.tensors]
        outer = Loop(segment, before.carry, Nest("scan", "xs", self.xs.build(rows)),
                      self.given.build(self.given.tensors))
        outer.reverse, outer.strict, outer.length = self.reverse, self.strict, number
        carry, ys, steps = outer.traced()
        ys = tree.map_leaves(lambda y: y.reshape((covered, *y.shape[2:])), ys)
        if known and covered == self.length:
            return carry, ys, steps
        carry, more, steps = after(carry).traced()
        return carry, self._joined(ys, more), steps

    def _in_counted_segments(self, size: int) -> tuple[Any, Any, Any]:
        """The same for all lengths: the last rows are a segment like the others that does less."""
        length, number = self.length, (self.length + (size - 1)) // size
        places = minimum(arange(number * size), length - 1)
        xs = Nest(self.owner, "xs", self.xs.build([
            take(x, places, 0).reshape((number, size, *x.shape[1:])) for x in self.xs.tensors
        ]))

        def segment(carry: Any, numbered: Any, *given: Any) -> Any:
            place, rows = numbered
            inner = self.part(carry, rows, size)
            inner.given = Nest(self.owner, "non_sequences", given)
            inner.count = minimum(length - place * size, size)
            return inner.traced()[:2]

        rows = (arange(number), xs.build(xs.tensors))
        outer = Loop(segment, self.carry, Nest(self.owner, "xs", rows),
                     self.given.build(self.given.tensors))
        outer.reverse, outer.strict, outer.length = self.reverse, self.strict, number
        carry, ys, steps = outer.traced()
        ys = tree.map_leaves(lambda y: y.reshape((number * size, *y.shape[2:]))[:length], ys)
        return carry, ys, steps

    # -- as many steps as a value says ----------------------------------------------------
    def _open(self) -> tuple[Any, Any, Any]:
        """A while loop that counts; where there are results, as many rows of them as counted."""
        if self.strict:
            self._traced()
        count: Any = self.count
        try:
            return self._counting()
        except _Stacks:
            self.length, self.count = size_of(count, "scan: length"), None
            return self.run()

    def _counting(self) -> tuple[Any, Any, Any]:
        given = self.given.build(self.given.tensors)
        shape: list[Any] = []

        def proceed(state: Any) -> Any:
            number, stop, _ = state
            return (number < self.count) & ~stop

        def body(state: Any) -> Any:
            number, stop, carry = state
            following, result = pair_of("scan", self.called(carry, self.xs.build([]), *given))
            leaves, its_shape = tree.flatten(result)
            if leaves:
                raise _Stacks
            shape.append(its_shape)
            if self.until is not None:
                stop = self.stops(following)
            return number + 1, stop, following

        init = as_tensor(0, int64), as_tensor(False), self.carry.build(self.carry.leaves)
        steps, _, carry = whiled("scan", proceed, body, Nest("scan", "init", init))
        return carry, shape[-1].build([]), steps


def counted(count: Tensor, rows: Any) -> Tensor:
    """A number of steps, which compiled code checks."""
    most = "" if rows is None else " and at most the number of rows"
    found: Tensor
    (found,) = demanded("scan", f"length must be at least 0{most}", lambda n: (n >= 0) if
                        rows is None else (n >= 0) & (n <= rows), length=count)
    return found


def _from(begun: Tensor, y: Any) -> Any:
    """A result of a step whose gradient is 0 before some step."""
    y = as_tensor(y)
    return where(begun, y, detach(y)) if y.dtype.kind in "fc" else y


def reversed_rows(rows: Tensor, count: Tensor | None) -> Tensor:
    """Rows reversed: the first ``count`` of them, where the count is known only at run time."""
    if count is None:
        return rows[::-1]
    number = rows.shape[0]
    return take(rows, (count - 1 - arange(number)) % number, 0)


def filled_up(y: Tensor, rows: Any) -> Tensor:
    """Results with rows of zeros behind those of the steps that were done."""
    lacking = rows - y.shape[0]
    return concat([y, zeros((lacking, *y.shape[1:]), dtype=y.dtype)]) if lacking else y
