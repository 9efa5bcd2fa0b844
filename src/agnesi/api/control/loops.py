"""Loops and branches that are values: ``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``map``.

On tensors that have values they are Python's own loops over the given functions, recorded like any
other code.  Inside ``jit`` and on symbolic tensors the functions run once, and the loop becomes
one operation that is compiled to a native loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar, overload

from agnesi.api.control.growing import growing_while
from agnesi.api.control.nests import (
    Nest,
    apart,
    call_user_function,
    decision,
    is_symbolic,
    next_carries,
    rows_of,
    snapshot,
    whole,
)
from agnesi.api.control.steps import Loop, filled_up
from agnesi.api.control.stepwise import whiled
from agnesi.api.control.traced import CALLED, again, recording_for, traced_cond, traced_while
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Dim, is_open
from agnesi.core.op import typed
from agnesi.core.options import Rule
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import higher, keyworded
from agnesi.core.storage.leaves import COPY
from agnesi.core.support import tree
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import BodySizeError, ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.random.generators import attempted

Function = Callable[..., Any]
C = TypeVar("C")
Y = TypeVar("Y")
#: Values where computations are taken have another function.
Branch: TypeAlias = Annotated[Callable[..., Any], Rule(
    "a function (lambda: x gives a value, ag.where chooses between two)", callable, early=True)]


@overload
def scan(
    f: Callable[..., tuple[C, Y]], init: Any, xs: Any = ..., length: Any = ..., *,
    non_sequences: tuple[Any, ...] = ..., reverse: bool = ..., until: None = ...,
    strict: bool = ..., truncate_gradient: int | None = ..., checkpoint: bool | int = ...,
) -> tuple[C, Y]: ...


@overload
def scan(
    f: Callable[..., tuple[C, Y]], init: Any, xs: Any = ..., length: Any = ..., *,
    non_sequences: tuple[Any, ...] = ..., reverse: bool = ..., until: Function,
    strict: bool = ..., truncate_gradient: int | None = ..., checkpoint: bool | int = ...,
) -> tuple[C, Y, Tensor]: ...


@higher
@keyworded
def scan(
    f: Function,
    init: object,
    xs: object = None,
    length: TensorLike | None = None,
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
    ``f`` runs once, and the loop is compiled; where its steps need sizes that only they know, as of
    ``v[v > carry]``, a :func:`function` calls a compiled step for each row instead.  Gradients of
    any order flow through, also to tensors that ``f`` uses without being given them.  Tensors that
    ``f`` changes in place, the state of random numbers among them, are carried along.

    :param f: ``f(carry, x, *non_sequences) -> (next carry, y)``; the next carry is of the carry's
        types.
    :param init: The first carry.  The dtype of a Python number follows from what ``f`` makes of it.
    :type init: nest of array_like
    :param xs: Sequences, of one number of rows; ``f`` gets a row of each.  Without them, ``x`` is
        None.
    :type xs: nest of array_like, optional
    :param length: How many steps to do: at most the number of rows.  Where it is a tensor, later
        rows of the results are zero; without ``xs`` there are as many rows as steps.
    :type length: int, Dim or Tensor, optional
    :param non_sequences: What ``f`` gets in every step, behind the row.
    :param reverse: Whether to run from the last row to the first; ``y`` of row ``t`` stays in row
        ``t``.
    :param until: ``until(carry) -> bool`` ends the loop behind the step that made this carry.
        Later rows of the results repeat those of the last step, so that they have the same shape in
        every mode (those of ``agnesi.symbolic.scan`` have the rows of the steps that were done).
    :param strict: Refuse what ``f`` uses without being given it.
    :param truncate_gradient: Let gradients flow through the last so many steps only.
    :param checkpoint: Keep the carries of every so many steps only (True: about the square root of
        their number), and compute what else gradients need again.
    :type checkpoint: bool or int
    :returns carry: The last carry.
    :rtype: nest of Tensor
    :returns ys: What ``f`` returned in all steps, stacked along a new first axis.
    :rtype: nest of Tensor
    :returns steps: With ``until`` only: how many steps were done.
    :raises ShapeError: If the next carry is of other types than the carry, or sequences differ in
        length.
    :raises DTypeError: If the next carry is of other types than the carry, or sequences differ in
        length.
    :raises TypeError: If neither ``xs`` nor ``length`` is given, or the next carry is another nest.
    :raises TraceError: If the body changes a row or non-sequence in place, or is ``strict`` and
        uses something else than what it is given.
    :raises ValueError: If ``truncate_gradient`` or ``checkpoint`` is negative.
    :see: map, fori_loop, while_loop, symbolic.scan

    >>> total, sums = ag.scan(lambda c, x: (c + x, c + x), 0.0, ag.tensor([1.0, 2.0, 3.0]))
    >>> total, sums
    (tensor(6.), tensor([1., 3., 6.]))
    """
    loop = Loop(f, Nest("scan", "init", init), Nest("scan", "xs", xs), _given(non_sequences))
    loop.reverse, loop.until, loop.strict = reverse, until, strict
    loop.cut = _at_least(0, "truncate_gradient", truncate_gradient)
    loop.checkpoint = _at_least(1, "checkpoint", checkpoint)
    rows = rows_of("scan", loop.xs)
    loop.count_steps(length)
    carry, ys, steps = loop.run()
    if isinstance(length, Tensor) and loop.count is None and rows is not None:
        ys = tree.map_leaves(lambda y: filled_up(y, rows), ys)
    return (carry, ys) if until is None else (carry, ys, steps)


def _given(non_sequences: Any) -> tuple[Any, ...]:
    if not isinstance(non_sequences, (tuple, list)):
        raise TypeError(at("scan: non_sequences must be a tuple, as (w,) is one, not "
                           f"{typed(non_sequences)}"))
    return tuple(non_sequences)


def _at_least(least: int, name: str, number: Any) -> Any:
    """A number of steps, unless it is None or a bool."""
    if number is None or isinstance(number, bool):
        return number
    found = whole("scan", name, number)
    if isinstance(found, int) and found < least:
        raise ValueError(at(f"scan: {name} must be at least {least}, not {found}; leave it out "
                            "for none"))
    return found


@higher
@keyworded
def map(f: Callable[..., Y], xs: object) -> Y:
    """Apply ``f`` to every row of ``xs`` and stack the results: a scan without a carry.

    :param f: ``f(x) -> y``, on nests of tensors.
    :param xs: Sequences of one length.
    :type xs: nest of array_like
    :returns: What ``f`` returned, stacked along a new first axis.
    :rtype: nest of Tensor
    :raises ShapeError: If sequences differ in length, or rows give results of other types.
    :see: scan, vmap

    >>> ag.map(lambda x: x.sum(), ag.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([3., 7.])
    """
    loop = Loop(
        lambda carry, x: (carry, call_user_function("map", "f(x)", f, x)),
        Nest("map", "init", ()),
        Nest("map", "xs", xs),
        (),
    )
    loop.owner = "map"
    loop.count_steps(None)
    return loop.run()[1]


@higher
@keyworded
def while_loop(condition: Function, body: Callable[..., C], init: object) -> C:
    """Run ``carry = body(carry)`` as long as ``condition(carry)`` holds.

    :param condition: ``condition(carry) -> bool``, asked before each step.
    :param body: ``body(carry) -> carry``, of the same types.  A leaf may grow: ``ag.concat([rows,
        new])`` appends to it, which takes memory once, for all rows.  Where the loop is compiled,
        it does nothing else with that leaf (in a :func:`function` it may read it: compiled steps
        are called then), and is run twice, first to count its steps.
    :param init: The first carry.
    :type init: nest of array_like
    :returns: The last carry.
    :rtype: nest of Tensor
    :raises TypeError: If the condition is not a bool scalar.
    :raises ShapeError, DTypeError: If the next carry is of other types than the carry.
    :see: fori_loop, scan, cond

    >>> ag.while_loop(lambda x: x < 100.0, lambda x: x * 2, 1.0)
    tensor(128.)
    >>> def step(carry):
    ...     n, seen = carry
    ...     return n * 3 % 11, ag.concat([seen, n[None]])
    >>> begin = (3, ag.tensor([1]))
    >>> ag.jit(lambda: ag.while_loop(lambda carry: carry[0] != 1, step, begin)[1])()
    tensor([1, 3, 9, 5, 4])
    """
    carry = Nest("while_loop", "init", init)
    carry.suit(())
    test, step = (
        functools.partial(
            call_user_function, "while_loop", f"{name}(carry): a nest is one argument", f
        )
        for name, f in (("condition", condition), ("body", body))
    )

    def attempt() -> Any:
        carries = [snapshot(c) for c in carry.tensors]
        while True:
            nest = carry.build(carries)
            proceed = decision("while_loop", "the condition", test(nest))
            if is_symbolic(proceed):
                return None
            if not bool(proceed):
                return carry.build([snapshot(c) for c in carries])
            found = next_carries("while_loop", carry, step(nest), ran=True, grows=True)
            carries = [apart(c) for c in found]

    if not is_symbolic(*carry.tensors):
        found = attempted(lambda: again(attempt, carry))
        if found is not None:
            return found
    if any(x.shape and (is_open(x.shape[0]) or x.shape[0] == 0) for x in carry.tensors):
        found = growing_while(test, step, carry)  # no size is seen to change
        if found is not None:
            return found
    try:
        return traced_while("while_loop", test, step, carry)
    except (ShapeError, BodySizeError):
        found = growing_while(test, step, carry)
    return whiled("while_loop", test, step, carry) if found is None else found


@higher
@keyworded
def fori_loop(lower: int | Dim | Tensor, upper: int | Dim | Tensor, body: Callable[..., C],
              init: object) -> C:
    """Run ``carry = body(i, carry)`` for ``i`` from ``lower`` to ``upper - 1``.

    :like: while_loop
    :param lower, upper: Bounds, as of ``range``.
    :type lower, upper: int, Dim or Tensor
    :param body: ``body(i, carry) -> carry``, of the same types; ``i`` is an int64 scalar.
    :returns: The last carry; ``init`` where there is no step.
    :rtype: nest of Tensor
    :raises TypeError: If a bound is no integer.
    :see: while_loop, scan

    >>> ag.fori_loop(1, 6, lambda i, product: product * i, 1)
    tensor(120)
    """
    if not callable(body):
        raise TypeError(at(f"fori_loop: body must be a function, not {typed(body)}; the order is "
                           "fori_loop(lower, upper, body, init)"))
    call = functools.partial(call_user_function, "fori_loop", "body(i, carry)", body)
    lower, upper = whole("fori_loop", "lower", lower), whole("fori_loop", "upper", upper)
    if not (isinstance(lower, Tensor) or isinstance(upper, Tensor)):
        loop = Loop(lambda carry, i: (call(i, carry), None), Nest("fori_loop", "init", init),
                    Nest("fori_loop", "i", arange(lower, upper)), ())
        loop.owner = "fori_loop"
        loop.count_steps(None)
        return loop.run()[0]

    def step(state: Any) -> Any:
        i, carry = state
        return i + 1, call(i, carry)

    start = cast(as_tensor(lower), int64)
    carry = Nest("fori_loop", "init", (start, init))
    return whiled("fori_loop", lambda state: state[0] < upper, step, carry)[1]


@higher
@keyworded
def cond(condition: TensorLike, then: Branch, otherwise: Branch, *operands: Any) -> Any:
    """``then(*operands)`` or ``otherwise(*operands)``; only the one that is chosen runs.

    To choose between values that are there anyway, element by element, use :func:`where`.

    :param condition: A bool scalar.
    :type condition: bool or Tensor
    :param then, otherwise: The branches; inside ``jit`` and on symbolic tensors both run once on
        symbols, and return nests of the same types. Eagerly only the one that is chosen runs, so
        that what the other one would return is not looked at: ``jit`` the function to check both.
        ``backward()`` leaves nothing at what only the other branch reads, also inside ``jit``,
        which has a version for each branch then; :func:`grad` of functions gives zeros.
    :type then, otherwise: callable
    :param *operands: What the branches get, as it is: they may as well use what they find around
        them.
    :returns: What the branch returned, in memory of its own.
    :rtype: nest of Tensor
    :raises TypeError: If the condition is not a bool scalar, or the branches return different
        nests.
    :raises ShapeError, DTypeError: If the branches return different types.
    :see: where, while_loop, symbolic.ifelse

    >>> x = ag.tensor(-2.0)
    >>> ag.cond(x > 0, lambda x: x, lambda x: -x, x)
    tensor(2.)
    """
    known = isinstance(condition, bool)
    chosen = decision("cond", "the condition", condition)
    if known or not is_symbolic(chosen):
        found = Nest(
            "cond",
            "the result",
            call_user_function("cond", CALLED, then if condition else otherwise, *operands),
        )
        with recording_for([t.node for t in found.tensors if t.node is not None]):
            return found.build([apply(COPY, t) for t in found.tensors])
    return traced_cond(chosen, then, otherwise, operands)
