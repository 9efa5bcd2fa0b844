"""Calls whose sizes are not known yet: the call is recorded, and expanded when they are known.

A public function that looks at sizes in Python (how many rows to loop over, which method to choose)
raises where they are unknown.  In a symbolic program its call then becomes one operation, of which
only the types are found out, by trying it on sizes; it dissolves into what the function does when
the graph is specialised.  Its derivatives are such calls, too.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import numpy as np

from agnesi.autodiff.bodies import body_trace, close, stand_in
from agnesi.autodiff.flows import listed, pushed, seeds_of
from agnesi.autodiff.reverse import backprop
from agnesi.autodiff.vmap import vmap
from agnesi.core.dispatch import apply, apply_many, current
from agnesi.core.ir.dims import (
    CalledDim,
    Dim,
    broadcast_parts,
    is_open,
    is_settled,
    leaves,
    parts_first,
)
from agnesi.core.op import EXPLAINED, Op
from agnesi.core.programs import has_no_run, in_program
from agnesi.core.substitution import size_with
from agnesi.core.support import tree
from agnesi.core.support.config import config, switched
from agnesi.core.support.errors import GradientError, TraceError
from agnesi.core.support.record import record, replace
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import constant, zeros_like

#: Sizes that calls are tried with, what is the same for all of them is a number; and others for
#: calls whose arguments, as positions, do not fit those.
_TRIED = ((6, 11, 2), (300, 307))
_SMALL = (1, 2)
#: How many sizes and numbers that are known are tried for all sizes after these.
_MOST_FIXED = 3
#: Types of calls that were tried, and how many are kept.
_MET: dict[Any, Any] = {}
_MOST_MET = 256
#: Where a call is tried, others inside of it are not put off.
_TRYING: ContextVar[bool] = ContextVar("agnesi trying", default=False)


@record
class Call:
    """A call of a public function, without the tensors among its arguments."""

    function: Callable[..., Any]
    shape: tree.Tree
    #: Leaves of the arguments; None where a tensor comes.
    given: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Call and self._exactly == other._exactly)

    def __hash__(self) -> int:
        return hash(self._exactly)

    @property
    def _exactly(self) -> Any:
        return self.function, self.shape, tree.exact(self.given)

    @property
    def name(self) -> str:
        """The function's name."""
        found: str = self.function.__name__
        return found

    def __call__(self, *xs: Tensor) -> list[Any]:
        left = iter(xs)
        args, keywords = self.shape.build([next(left) if v is None else v for v in self.given])
        return tree.flatten(self.function(*args, **keywords))[0]

    def sizes(self) -> list[Dim]:
        """Return the unknown sizes among the arguments."""
        return [v for v in self.given if isinstance(v, Dim)]

    def with_sizes(self, known: Callable[[Any], Any]) -> Call:
        """Return the call with values for its unknown sizes."""
        if not self.sizes():
            return self
        return replace(self, given=tuple(known(v) if isinstance(v, Dim) else v for v in self.given))


@record
class Applied:
    """An operation, as a call whose derivatives are deferred."""

    op: Op

    def __call__(self, *xs: Tensor) -> list[Tensor]:
        return list(apply_many(self.op, *xs)) if self.op.outputs > 1 else [apply(self.op, *xs)]

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.op.name

    def sizes(self) -> list[Dim]:
        """Return the unknown sizes among the operation's parameters."""
        found: list[Dim] = []

        def noted(n: Any) -> Any:
            if isinstance(n, Dim):
                found.append(n)
            return n

        self.op.resolve(noted)
        return found

    def with_sizes(self, known: Callable[[Any], Any]) -> Applied:
        """Return the operation with values for its unknown sizes."""
        return replace(self, op=self.op.resolve(known))


@record
class Pull:
    """The reverse derivative of a call.

    Operands: cotangents of the results that have one (``seeds``), then the operands of the call.
    Results: gradients of the operands of the call that are ``wanted``.
    """

    call: Any
    seeds: tuple[bool, ...]
    wanted: tuple[bool, ...]

    def __call__(self, *given: Tensor) -> list[Any]:
        gs, xs = given[: sum(self.seeds)], given[sum(self.seeds):]
        left, ys = iter(gs), [as_tensor(y) for y in self.call(*xs)]
        cotangents = [next(left) if s else None for s in self.seeds]
        nodes = [current(x) for x in xs]
        found = backprop(seeds_of(ys, cotangents), nodes)
        return [found.get(n, zeros_like(x)) for n, x, w in
                zip(nodes, xs, self.wanted, strict=True) if w]

    def sizes(self) -> list[Dim]:
        """Return the unknown sizes among the arguments."""
        found: list[Dim] = self.call.sizes()
        return found

    def with_sizes(self, known: Callable[[Any], Any]) -> Pull:
        """Return the derivative with values for its unknown sizes."""
        return replace(self, call=self.call.with_sizes(known))


@record
class Push:
    """The forward derivative of a call.

    Operands: tangents of the operands that have one (``moved``), then the operands of the call.
    Results: tangents of the results of the call, zeros where there are none.
    """

    call: Any
    moved: tuple[bool, ...]

    def __call__(self, *given: Tensor) -> list[Any]:
        left, xs = iter(given[: sum(self.moved)]), list(given[sum(self.moved):])
        moves = [next(left) if m else None for m in self.moved]
        ys = [as_tensor(y) for y in self.call(*xs)]
        found = pushed(ys, xs, moves)
        return [zeros_like(y) if t is None else t for y, t in zip(ys, found, strict=True)]

    sizes = Pull.sizes
    with_sizes = Pull.with_sizes


@record
class Many:
    """A call batched over examples; ``rows`` says which operands have an axis of examples."""

    call: Any
    rows: tuple[bool, ...]
    length: Any

    def __call__(self, *xs: Tensor) -> list[Any]:
        axes = tuple(0 if r else None for r in self.rows)
        return list(vmap(lambda *given: tuple(self.call(*given)), axes, axis_size=self.length)(*xs))

    def sizes(self) -> list[Dim]:
        """Return the unknown sizes among the arguments, and the number of examples."""
        own = [self.length] if isinstance(self.length, Dim) else []
        return [*own, *self.call.sizes()]

    def with_sizes(self, known: Callable[[Any], Any]) -> Many:
        """Return the batched call with values for its unknown sizes."""
        return replace(self, call=self.call.with_sizes(known), length=known(self.length))


def _called(call: Any) -> Call | Applied:
    """Return the call or operation below any calls that wrap it."""
    while not isinstance(call, Call | Applied):
        call = call.call
    return call


@record
class Deferred(Op):
    """A call that is expanded when its sizes are known; ``types`` are the shapes and dtypes of its
    results.
    """

    call: Any
    types: tuple[Any, ...]
    #: Sizes that its results have may be new ones.
    bears = True

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.types)
        self.__dict__["name"] = _called(self.call).name
        self.__dict__["_bodies"] = {}

    def infer(self, *xs: Any) -> Any:
        types = self.types
        if self._is_settled(xs):
            body, _ = self._body(xs)
            types = tuple((y.shape, y.dtype) for y in body.outputs)
        return types if len(types) > 1 else types[0]

    def _is_settled(self, xs: Sequence[Any]) -> bool:
        return is_settled([*itertools.chain(*(x.shape for x in xs)), *self.call.sizes()])

    def _body(self, xs: Sequence[Any]) -> tuple[Any, list[Tensor]]:
        """Return the graph that the call expands to for operands of these types."""
        key = tuple((tuple(x.shape), x.dtype.name) for x in xs)
        known: dict[Any, Any] = self.__dict__["_bodies"]
        if key not in known:
            known[key] = _written(self.call, xs)
        body, captured = known[key]
        return body, captured

    def decompose(self, *xs: Tensor) -> Any:
        if not self._is_settled(xs):
            return None
        body, captured = self._body(xs)
        found = body(*xs, *(constant(t.array, t.dtype) for t in captured))
        return tuple(found) if len(found) > 1 else found[0]

    def perform(self, *xs: np.ndarray) -> Any:
        body, captured = self._body(xs)
        values = tuple(np.array(v) for v in body.run([*xs, *(t.array for t in captured)]))
        return values if len(values) > 1 else values[0]

    def resolve(self, known: Any) -> Op:
        types = tuple((tuple(map(known, shape)), dtype) for shape, dtype in self.types)
        return Deferred(self.call.with_sizes(known), types)

    def batch(self, node: Any, xs: Sequence[Tensor], rows: Sequence[bool], length: Any) -> Any:
        types = tuple(((length, *shape), dtype) for shape, dtype in self.types)
        done = _applied(Deferred(Many(self.call, tuple(rows), length), types), *xs)
        return done if self.outputs > 1 else done[0]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = listed(g, self)
        wanted = tuple(x._requires_grad for x in xs)
        pull = Pull(self.call, tuple(v is not None for v in gs), wanted)
        types = tuple((x.shape, x.dtype) for x in xs if x._requires_grad)
        done = iter(_applied(Deferred(pull, types), *(v for v in gs if v is not None), *xs))
        return tuple(next(done) if w else None for w in wanted)

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        push = Push(self.call, tuple(t is not None for t in ts))
        done = _applied(Deferred(push, self.types), *(t for t in ts if t is not None), *xs)
        return done if self.outputs > 1 else done[0]


def _applied(op: Deferred, *xs: Tensor) -> tuple[Tensor, ...]:
    return apply_many(op, *xs) if op.outputs > 1 else (apply(op, *xs),)


def _written(call: Any, xs: Sequence[Any]) -> tuple[Any, list[Tensor]]:
    """Expand a call into a body, and return the concrete tensors that the body captures."""
    trying = _TRYING.set(True)
    try:
        with in_program(), switched(examples=None), body_trace() as trace:
            values = [trace.variable(x) for x in xs]
            begin = [v.node for v in values]
            ends = [current(as_tensor(y)) for y in call(*values)]
        if trace.states() or any(v.node is not n for v, n in zip(values, begin, strict=True)):
            raise TraceError("it changes what it is given, or state, and not only computes")
        return close(trace, begin, ends)  # type: ignore[arg-type]
    finally:
        _TRYING.reset(trying)


# -- putting off ------------------------------------------------------------------------------
def deferred(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the results of a call as a deferred operation, because it failed for unknown sizes.

    NotImplemented if the call fails for known sizes too.
    """
    if _TRYING.get():
        return NotImplemented
    given, shape = tree.flatten((args, keywords))
    xs = [v for v in given if isinstance(v, Tensor)]
    call = Call(function, shape, tuple(None if isinstance(v, Tensor) else v for v in given))
    names = _names([*itertools.chain(*(x.shape for x in xs)), *call.sizes()])
    if not names:
        return NotImplemented
    try:
        types, result = _known_types(call, xs, names)
    except EXPLAINED:
        return NotImplemented
    if not types:
        return NotImplemented
    return result.build(list(_applied(Deferred(call, types), *xs)))


def deferred_rule(op: Op, moves: Any, xs: Sequence[Tensor], forward: bool) -> Any:
    """Return the results of a derivative rule as a deferred operation, because the rule failed for
    unknown sizes; NotImplemented if it fails for known sizes too.

    ``moves`` are cotangents of the results, or, with ``forward``, tangents of the operands ``xs``.
    """
    if _TRYING.get() or not has_no_run():
        return NotImplemented
    if forward:
        given = [t is not None for t in moves]
        rule: Any = Push(Applied(op), tuple(given))
        found = op.infer(*xs)
        types = found if op.outputs > 1 else (found,)
    else:
        moves = listed(moves, op)
        wanted = tuple(x._requires_grad for x in xs)
        rule = Pull(Applied(op), tuple(g is not None for g in moves), wanted)
        types = tuple((x.shape, x.dtype) for x in xs if x._requires_grad)
    operands = [*(v for v in moves if v is not None), *xs]
    if not _goes(rule, operands):
        return NotImplemented
    done = _applied(Deferred(rule, tuple(types)), *operands)
    if forward:
        return done if op.outputs > 1 else done[0]
    left = iter(done)
    return tuple(next(left) if w else None for w in wanted)


def _goes(rule: Any, xs: Sequence[Tensor]) -> bool:
    """Return whether a derivative rule succeeds for any example sizes."""
    names = _names([*itertools.chain(*(x.shape for x in xs)), *rule.sizes()])
    for first in _TRIED[0] if names else ():
        for step in (1, 0):
            known = {name: first + step * i for i, name in enumerate(names)}
            values = [stand_in(tuple(size_with(n, known) for n in x.shape), x.dtype) for x in xs]
            with suppress(*EXPLAINED, GradientError):
                _written(rule.with_sizes(lambda n, known=known: size_with(n, known)), values)
                return True
    return False


def _names(sizes: Sequence[Any]) -> list[Dim]:
    """Return the unknown sizes in terms of which other sizes are written."""
    return list(dict.fromkeys(n for size in sizes for n in leaves(size) if is_open(n)))


def _known_types(call: Call, xs: Sequence[Tensor], names: list[Dim]) -> tuple[Any, Any]:
    """Return the types of a call's results, cached by equal calls, with symbols for sizes that are
    new.
    """
    floats = config.symbolic_float
    key = (call, floats, tuple((x.shape, x.dtype) for x in xs))
    try:
        found = _MET.get(key)
    except TypeError:  # arguments that do not hash
        return _types(call, xs, names)
    if found is None:
        while len(_MET) >= _MOST_MET:
            _MET.pop(next(iter(_MET)), None)
        found = _MET[key] = _types(call, xs, names)
    return found


def _types(call: Call, xs: Sequence[Tensor], names: list[Dim]) -> tuple[Any, Any]:
    """Infer the types of a call's results from example calls with known sizes, and their
    structure.
    """
    known, tried = _trials(call, xs, names)
    (first, result), *_ = tried
    if any(r != result or [len(s) for s, _ in t] != [len(s) for s, _ in first] for t, r in tried):
        return (), result
    columns = [[n for s, _ in t for n in s] for t, _ in tried]
    operands = tuple((tuple(x.shape), x.dtype) for x in xs)
    sizes = iter([_size(column, known, names, _ExampleCalls(call, operands, tuple(names), number))
                  for number, column in enumerate(zip(*columns, strict=True))])
    return tuple((tuple(next(sizes) for _ in s), d) for s, d in first), result


def _trials(call: Call, xs: Sequence[Tensor], names: list[Dim]) -> tuple[list[Any], list[Any]]:
    """Return example sizes with which the call succeeds, and the result types for each of them."""
    shapes = [x.shape for x in xs] + [v.shape for v in call.given if isinstance(v, np.ndarray)]
    fixed = {n for n in [*itertools.chain(*shapes), *call.given] if type(n) is int and n > 1}
    trials = [*_TRIED, *((n,) for n in sorted(fixed)[:_MOST_FIXED])]
    for sizes in trials:
        apart = [{name: first + step * i for i, name in enumerate(names)}
                 for first, step in zip(sizes[:2], (1, 3), strict=False)]
        alike = [dict.fromkeys(names, n) for n in sizes]
        for numbers in (*apart, *alike):
            _fit_broadcasts(xs, numbers)
        with suppress(*EXPLAINED):  # where it fails, sizes must be equal, perhaps
            known, tried = apart, [_tried(call, xs, k) for k in apart]
            known, tried = _in_another_order(call, xs, names, known, tried)
            return _with_small_sizes(call, xs, names, known, tried)
        try:
            known, tried = alike[:1], [_tried(call, xs, alike[0])]
        except EXPLAINED:
            if sizes is trials[-1]:
                raise
            continue
        for k in alike[1:]:
            with suppress(*EXPLAINED):
                tried.append(_tried(call, xs, k))
                known.append(k)
        break
    return known, tried


def _fit_broadcasts(xs: Sequence[Tensor], known: dict[Dim, int]) -> None:
    """Change example sizes so that operands broadcast where they have to."""
    found = [n for x in xs for size in x.shape if isinstance(size, Dim) for n in parts_first(size)
             if n.op == "broadcast"]
    fixed: set[Dim] = set()
    for first, *rest in map(broadcast_parts, dict.fromkeys(found)):
        for part in rest:
            every = dict.fromkeys((*leaves(part), *leaves(first)))
            names = sorted([n for n in every if n not in fixed], key=(first, part).__contains__)
            if (wanted := size_with(first, known)) != size_with(part, known):
                known.update(_fitting(first, part, known, names, 2 * wanted))
            fixed.update(names)


def _fitting(first: Any, part: Any, known: dict[Dim, int], names: Sequence[Dim],
             most: int) -> dict[Dim, int]:
    """Return a change of one symbol's example value that makes two sizes equal, or one of them 1.
    """
    for numbers, may_be_one in ((range(1, most), False), ((1,), True), ((0,), False)):
        for name in names:
            for number in numbers:
                sizes = [size_with(n, {**known, name: number}) for n in (first, part)]
                if sizes[0] == sizes[1] or (may_be_one and 1 in sizes):
                    return {name: number}
    return {}


def _in_another_order(call: Call, xs: Sequence[Tensor], names: list[Dim], known: list[Any],
                      tried: list[Any]) -> tuple[list[Any], list[Any]]:
    """Add an example in which two sizes compare the other way round."""
    if len(names) > 1 < len(known):
        other = dict(zip(names, [known[1][n] for n in names][::-1], strict=True))
        with suppress(*EXPLAINED):
            _fit_broadcasts(xs, other)
            return [*known, other], [*tried, _tried(call, xs, other)]
    return known, tried


def _with_small_sizes(call: Call, xs: Sequence[Tensor], names: list[Dim], known: list[Any],
                      tried: list[Any]) -> tuple[list[Any], list[Any]]:
    """Add an example in which sizes are smaller than the numbers among the arguments."""
    ranks = [len(s) for s, _ in tried[0][0]]
    for n in _SMALL:
        sizes = dict.fromkeys(names, n)
        with suppress(*EXPLAINED):
            found = _tried(call, xs, sizes)
            if [len(s) for s, _ in found[0]] == ranks:
                return [*known, sizes], [*tried, found]
    return known, tried


def _tried(call: Call, xs: Sequence[Tensor], known: dict[Dim, int]) -> Any:
    def sized(n: Any) -> Any:
        return size_with(n, known)

    values = [stand_in(tuple(map(sized, x.shape)), x.dtype) for x in xs]
    nests: list[Any] = []
    trial = call.with_sizes(sized)

    def watched(*args: Any, **keywords: Any) -> Any:
        found = call.function(*args, **keywords)
        nests.append(tree.flatten(found)[1])
        return found

    body, _ = _written(replace(trial, function=watched), values)
    return [(tuple(y.shape), y.dtype) for y in body.outputs], nests[0]


@record
class _ExampleCalls:
    """One size of a call's results as a function of its operands' sizes, found by example calls."""

    call: Any
    #: Shapes and dtypes.
    operands: tuple[Any, ...]
    names: tuple[Dim, ...]
    number: int

    def __call__(self, *sizes: Any) -> Any:
        try:
            found = _sizes_of_call(self.call, self.operands, self.names, sizes)
        except TypeError:  # arguments that do not hash
            found = _sizes_of_call.__wrapped__(self.call, self.operands, self.names, sizes)
        return found[self.number]

    def __str__(self) -> str:
        return f"{_called(self.call).name}_size{self.number}"


@functools.lru_cache(maxsize=_MOST_MET)
def _sizes_of_call(call: Any, operands: Sequence[Any], names: Sequence[Dim],
                   sizes: Sequence[Any]) -> list[Any]:
    """Return all sizes of a call's results for known operand sizes."""
    found, _ = _tried(call, [stand_in(s, d) for s, d in operands],
                      dict(zip(names, sizes, strict=True)))
    return [n for s, _ in found for n in s]


def _size(column: tuple[int, ...], known: list[dict[Dim, int]], names: list[Dim],
          naming: _ExampleCalls) -> Any:
    """Return the size that has the values ``column`` over the example calls: an unknown size with
    the same values, a number if all are equal, else a new size that is computed by a call.
    """
    for name in names if len(column) > 1 else ():
        if all(k[name] == n for k, n in zip(known, column, strict=True)) and any(
                list(k.values()).count(n) == 1 for k, n in zip(known, column, strict=True)):
            return name
    return column[0] if len(set(column)) == 1 and len(column) > 1 else CalledDim(
        naming, naming.names)
