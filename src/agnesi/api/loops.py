"""Loops and branches that are values: ``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``map``.

On tensors that have values they are Python's own loops over the given functions, recorded like any
other code.  Inside ``jit`` and on symbolic tensors the functions run once, and the loop becomes
one operation that is compiled to a native loop.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from agnesi.api.nests import Nest, decision, is_symbolic, next_carries, rows_of, snapshot
from agnesi.api.steps import counted, filled_up, turned
from agnesi.api.traced import TracedScan, again, pair_of, stores, traced_cond, traced_while
from agnesi.autodiff.recording import detach
from agnesi.core import tree
from agnesi.core.dims import Dim, combine
from agnesi.core.dispatch import COPY, apply
from agnesi.core.dtypes import int64
from agnesi.core.errors import ShapeError, at
from agnesi.core.op import typed
from agnesi.core.tensor import Tensor
from agnesi.ops.convert import as_tensor, cast
from agnesi.ops.join import concat, stack
from agnesi.ops.ranges import arange

Function = Callable[..., Any]


def scan(
    f: Function,
    init: Any,
    xs: Any = None,
    length: Any = None,
    *,
    non_sequences: tuple[Any, ...] = (),
    reverse: bool = False,
    until: Function | None = None,
    strict: bool = False,
    truncate_gradient: int | None = None,
    checkpoint: bool | int = False,
) -> Any:
    """Run ``carry, y = f(carry, x)`` over the rows of ``xs``: the last carry, all ``y`` stacked.

    Carries, rows and results may be nests (tuples, lists, dicts, dataclasses) of tensors; None is
    a nest without tensors.  On values this is a Python loop; inside ``jit`` and on symbolic tensors
    ``f`` runs once, and the loop is compiled.  Gradients of any order flow through, also to tensors
    that ``f`` uses without being given them.  Tensors that ``f`` changes in place, the state of
    random numbers among them, are carried along.

    Parameters
    ----------
    f : callable
        ``f(carry, x, *non_sequences) -> (next carry, y)``; the next carry is of the carry's types.
    init : nest of array_like
        The first carry.  The dtype of a Python number follows from what ``f`` makes of it.
    xs : nest of array_like, optional
        Sequences, of one number of rows; ``f`` gets a row of each.  Without them, ``x`` is None.
    length : int, Dim or Tensor, optional
        How many steps to do: at most the number of rows.  Where a tensor tells it, later rows of
        the results are zero; without ``xs``, compiled code can stack no results then.
    non_sequences : tuple
        What ``f`` gets in every step, behind the row.
    reverse : bool
        Whether to run from the last row to the first; ``y`` of row ``t`` stays in row ``t``.
    until : callable, optional
        ``until(carry) -> bool`` ends the loop behind the step that made this carry.  Later rows of
        the results repeat those of the last step, so that they have the same shape in every mode
        (those of ``agnesi.symbolic.scan`` have the rows of the steps that were done).
    strict : bool
        Refuse what ``f`` uses without being given it.
    truncate_gradient : int, optional
        Let gradients flow through the last so many steps only.
    checkpoint : bool or int
        Keep the carries of every so many steps only (True: about the square root of their number),
        and compute what else gradients need again.

    Returns
    -------
    carry : nest of Tensor
        The last carry.
    ys : nest of Tensor
        What ``f`` returned in all steps, stacked along a new first axis.
    steps : Tensor
        With ``until`` only: how many steps were done.

    Raises
    ------
    ShapeError, DTypeError, TypeError
        If the next carry is of other types than the carry, or sequences differ in length.
    TraceError
        If the body is ``strict`` and uses something else.

    Examples
    --------
    >>> import agnesi as ag
    >>> total, sums = ag.scan(lambda c, x: (c + x, c + x), 0.0, ag.tensor([1.0, 2.0, 3.0]))
    >>> total, sums
    (tensor(6.), tensor([1., 3., 6.]))
    """
    loop = Loop(f, Nest("scan", "init", init), Nest("scan", "xs", xs), non_sequences)
    loop.reverse, loop.until, loop.strict = reverse, until, strict
    loop.cut, loop.checkpoint = truncate_gradient, checkpoint
    rows = rows_of("scan", loop.xs)
    loop.count_steps(length)
    carry, ys, steps = loop.run()
    if isinstance(length, Tensor) and loop.count is None and rows is not None:
        ys = tree.map_leaves(lambda y: filled_up(y, rows), ys)
    return (carry, ys) if until is None else (carry, ys, steps)


class Loop:
    """What a scan is asked to do.

    Attributes
    ----------
    updates : dict or None
        Takes the new values of tensors that a graph changes in place; None assigns them.
    symbolic : bool
        Whether to make a graph even of values.
    cropped : bool
        Whether results of values have the rows of steps that were done, and no others.
    """

    reverse = strict = symbolic = cropped = False
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
        rows = rows_of("scan", self.xs)
        if length is None:
            if rows is None:
                raise TypeError(at("scan needs xs to run over, or length, the number of steps"))
            self.length = rows
            return
        if isinstance(length, Tensor) and is_symbolic(length):
            self._count(length, rows)
            return
        self.length = length if isinstance(length, Dim) else operator.index(length)
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
        if length.shape != () or length.dtype.kind not in "iu":
            raise TypeError(at(f"scan: length must be an integer scalar, not {typed(length)}"))
        self.length, self.count = rows, counted(cast(length, int64), rows)
        if self.cut is not None or self.checkpoint:
            raise ValueError(
                at("scan: truncate_gradient and checkpoint need a length that is known")
            )

    # -- ways to run ----------------------------------------------------------------------
    def run(self) -> tuple[Any, Any, Any]:
        """The last carry, stacked results, number of steps."""
        if self.until is not None and (self.cut is not None or self.checkpoint):
            raise ValueError(
                at("scan: until does not go with truncate_gradient and checkpoint, which must "
                   "know where the last step is")
            )
        if self.cut is not None:
            return self._truncated()
        if self.checkpoint:
            return self._in_segments()
        if self.count is not None and self.length is None:
            return self._open()
        tensors = (*self.carry.tensors, *self.xs.tensors, *self.given.tensors, self.count)
        graph = self.symbolic or isinstance(self.length, Dim) or self.length == 0
        if graph or is_symbolic(*tensors):
            return self.traced()
        if self.strict:
            self._traced()
        return self._eager()

    def part(self, carry: Any, xs: Any, length: Any) -> Loop:
        """The same loop over some of the rows."""
        loop = Loop(self.f, Nest("scan", "init", carry), Nest("scan", "xs", xs),
                     self.given.build(self.given.tensors))
        loop.reverse, loop.strict, loop.length = self.reverse, self.strict, length
        return loop

    def _traced(self) -> TracedScan:
        flipped = self.reverse and self.until is not None
        xs = self.xs
        if flipped:
            xs = Nest("scan", "xs", xs.build([turned(x, self.count) for x in xs.tensors]))
        return TracedScan(
            self.f, self.carry, xs, self.given, self.length, count=self.count,
            reverse=self.reverse and not flipped, until=self.until, strict=self.strict,
        )

    def traced(self) -> tuple[Any, Any, Any]:
        """One operation."""
        made = self._traced()
        carry, ys, steps = made.apply()
        if self.updates is None:
            stores("scan", made.states, made.values)
        else:
            outer = [s.outer for s in made.states]
            self.updates.update(zip(outer, made.values, strict=True))
        if self.reverse and self.until is not None:
            ys = tree.map_leaves(lambda y: turned(y, self.count), ys)
        return carry, ys, steps

    def _eager(self) -> tuple[Any, Any, Any]:
        """A Python loop."""
        found = again(self._steps, self.carry)
        return self.traced() if found is None else found

    def _steps(self) -> Any:
        carries = [snapshot(c) for c in self.carry.tensors]
        given = self.given.build(self.given.tensors)
        rows: list[list[Any]] = []
        shape: Any = None
        for t in self._order():
            xs = self.xs.build([x[t] for x in self.xs.tensors])
            following, result = pair_of("scan", self.f(self.carry.build(carries), xs, *given))
            leaves, its_shape = tree.flatten(result)
            if is_symbolic(*tree.flatten(following)[0], *leaves):
                return None  # it uses symbolic tensors, so it is written into a graph
            carries = next_carries("scan", self.carry, following, ran=not rows)
            if shape is not None and its_shape != shape:
                raise TypeError(
                    at(
                        "scan: the results of two steps are different nests: "
                        f"{shape.paths('y')}, then {its_shape.paths('y')}"
                    )
                )
            shape = its_shape
            rows.append([snapshot(y) for y in leaves])
            if self.until is not None:
                asked = self.until(self.carry.build(carries))
                if bool(decision("scan", "what until() returns", asked)):
                    break
        steps = len(rows)
        if not self.cropped:
            rows += rows[-1:] * (self.length - steps)
        if self.reverse:
            rows.reverse()
        ys = shape.build([stack(column) for column in zip(*rows, strict=True)])
        return self.carry.build(carries), ys, as_tensor(steps)

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
        return before, lambda carry: self.part(carry, high, rest)

    def _joined(self, first: Any, second: Any) -> Any:
        if self.reverse:
            first, second = second, first
        return tree.map_leaves(lambda a, b: concat([a, b]), first, second)

    def _truncated(self) -> tuple[Any, Any, Any]:
        """Two loops; gradients stop between them."""
        n = operator.index(self.cut)  # type: ignore[arg-type]
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

    def _in_segments(self) -> tuple[Any, Any, Any]:
        """A loop over loops; gradients begin at the first carry of each inner one."""
        known = isinstance(self.length, int)
        size = self.checkpoint
        if size is True:
            size = max(1, math.isqrt(self.length)) if known else 64
        number = self.length // size
        whole = number * size
        before, after = self._parts(whole)

        def segment(carry: Any, rows: Any, *given: Any) -> Any:
            inner = before.part(carry, rows, size)
            inner.given = Nest("scan", "non_sequences", given)
            return inner.traced()[:2]

        rows = [x.reshape((number, size, *x.shape[1:])) for x in before.xs.tensors]
        outer = Loop(segment, before.carry, Nest("scan", "xs", self.xs.build(rows)),
                      self.given.build(self.given.tensors))
        outer.reverse, outer.strict, outer.length = self.reverse, self.strict, number
        carry, ys, steps = outer.traced()
        ys = tree.map_leaves(lambda y: y.reshape((whole, *y.shape[2:])), ys)
        if known and whole == self.length:
            return carry, ys, steps
        carry, more, steps = after(carry).traced()
        return carry, self._joined(ys, more), steps

    # -- as many steps as a value says ----------------------------------------------------
    def _open(self) -> tuple[Any, Any, Any]:
        """A while loop that counts."""
        given = self.given.build(self.given.tensors)
        until, shape = self.until, []

        def proceed(state: Any) -> Any:
            number, stop, _ = state
            return (number < self.count) & ~stop

        def body(state: Any) -> Any:
            number, stop, carry = state
            following, result = pair_of("scan", self.f(carry, self.xs.build([]), *given))
            leaves, its_shape = tree.flatten(result)
            if leaves:
                raise TypeError(
                    at(
                        "scan: how many steps there are is only known when it runs, so their "
                        "results cannot be stacked; give a bound, with xs=ag.arange(bound), or "
                        "return None and use the last carry"
                    )
                )
            shape.append(its_shape)
            if until is not None:
                stop = decision("scan", "what until() returns", until(following))
            return number + 1, stop, following

        init = as_tensor(0, int64), as_tensor(False), self.carry.build(self.carry.leaves)
        steps, _, carry = traced_while("scan", proceed, body, Nest("scan", "init", init))
        return carry, shape[-1].build([]), steps


def map(f: Function, xs: Any) -> Any:
    """Apply ``f`` to every row of ``xs`` and stack the results: a scan without a carry.

    Parameters
    ----------
    f : callable
        ``f(x) -> y``, on nests of tensors.
    xs : nest of array_like
        Sequences of one length.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.map(lambda x: x.sum(), ag.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([3., 7.])
    """
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def while_loop(condition: Function, body: Function, init: Any) -> Any:
    """Run ``carry = body(carry)`` as long as ``condition(carry)`` holds.

    Parameters
    ----------
    condition : callable
        ``condition(carry) -> bool``, asked before each step.
    body : callable
        ``body(carry) -> carry``, of the same types.
    init : nest of array_like
        The first carry.

    Returns
    -------
    nest of Tensor
        The last carry.

    Raises
    ------
    TypeError
        If the condition is not a bool scalar.
    ShapeError, DTypeError
        If the next carry is of other types than the carry.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.while_loop(lambda x: x < 100.0, lambda x: x * 2, 1.0)
    tensor(128.)
    """
    carry = Nest("while_loop", "init", init)
    carry.suit(())

    def attempt() -> Any:
        carries = [snapshot(c) for c in carry.tensors]
        while True:
            nest = carry.build(carries)
            proceed = decision("while_loop", "the condition", condition(nest))
            if is_symbolic(proceed):
                return None
            if not bool(proceed):
                return nest
            carries = next_carries("while_loop", carry, body(nest), ran=True)

    found = None if is_symbolic(*carry.tensors) else again(attempt, carry)
    return traced_while("while_loop", condition, body, carry) if found is None else found


def fori_loop(lower: Any, upper: Any, body: Function, init: Any) -> Any:
    """Run ``carry = body(i, carry)`` for ``i`` from ``lower`` to ``upper - 1``.

    Parameters
    ----------
    lower, upper : int, Dim or Tensor
        Bounds, as of ``range``.
    body : callable
        ``body(i, carry) -> carry``, of the same types; ``i`` is an int64 scalar.
    init : nest of array_like
        The first carry.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.fori_loop(1, 6, lambda i, product: product * i, 1)
    tensor(120)
    """
    if not any(isinstance(n, Tensor) and is_symbolic(n) for n in (lower, upper)):
        rows = arange(*(n if isinstance(n, Dim) else operator.index(n) for n in (lower, upper)))
        return scan(lambda carry, i: (body(i, carry), None), init, rows)[0]

    def step(state: Any) -> Any:
        i, carry = state
        return i + 1, body(i, carry)

    start = cast(as_tensor(lower), int64)
    carry = Nest("fori_loop", "init", (start, init))
    return traced_while("fori_loop", lambda state: state[0] < upper, step, carry)[1]


def cond(condition: Any, then: Function, otherwise: Function, *operands: Any) -> Any:
    """``then(*operands)`` or ``otherwise(*operands)``; only the one that is chosen runs.

    To choose between values that are there anyway, element by element, use :func:`where`.

    Parameters
    ----------
    condition : bool or Tensor
        A bool scalar.
    then, otherwise : callable
        The branches; inside ``jit`` and on symbolic tensors both run once on symbols, and return
        nests of the same types.
    operands : nests of array_like
        What the branches get.

    Returns
    -------
    nest of Tensor

    Raises
    ------
    TypeError
        If the condition is not a bool scalar, or the branches return different nests.
    ShapeError, DTypeError
        If the branches return different types.

    Examples
    --------
    >>> import agnesi as ag
    >>> x = ag.tensor(-2.0)
    >>> ag.cond(x > 0, lambda x: x, lambda x: -x, x)
    tensor(2.)
    """
    known = isinstance(condition, bool)
    chosen = decision("cond", "the condition", condition)
    if known or not is_symbolic(chosen):
        found = Nest("cond", "the result", (then if condition else otherwise)(*operands))
        return found.build([apply(COPY, t) for t in found.tensors])
    return traced_cond(chosen, then, otherwise, Nest("cond", "operands", operands))
