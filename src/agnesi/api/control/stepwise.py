"""Loops whose steps find sizes that only data decides: one compiled function for each step.

Where the body of a loop makes what has another size in every step (``v[v > carry]``) and reads that
size, no loop of compiled code can hold it.  Its step is a compiled function of its own then, which
Python calls for each row.  Derivatives are such loops, too: the reverse one runs over the rows, the
carries that another one keeps, and the cotangents of results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.api.control.nests import Nest, decision
from agnesi.api.control.traced import Row, TracedScan, can_be_stepwise, stores, traced_while
from agnesi.autodiff.bodies import BodyTrace, copied_leaf, stand_in
from agnesi.autodiff.flows import both, listed, pushed, seeds_of
from agnesi.autodiff.recording import enable_grad
from agnesi.autodiff.replay import replayed
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current
from agnesi.core.ir.dims import Dim, Size
from agnesi.core.ir.dims import leaves as leaves_of
from agnesi.core.ir.extents import UnknownSizeError
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Op
from agnesi.core.substitution import open_sizes, substituted
from agnesi.core.support import tree
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import BodySizeError, TraceError, at, typed
from agnesi.core.support.record import record, replace
from agnesi.core.support.tracing import current_trace, refuse_to_compile, within
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.value_sizes import ValueDim, size_of
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros, zeros_like
from agnesi.ops.base.select import minimum, where
from agnesi.ops.control.loop import applied
from agnesi.ops.indexing.index import take
from agnesi.ops.indexing.ranges import arange

#: The bound of a loop that only a condition ends.
_ENDLESS = 1 << 62


def _by_itself(step: Callable[[_Step], _Step]) -> Any:
    """A graph that belongs to nothing around."""
    @functools.wraps(step)
    def made(self: _Step) -> _Step:
        with within(None), enable_grad():
            return step(self)
    return cached_property(made)


class _Step:
    """The graph of a step: of rows, carries and what it takes from outside, in this order.

    :ivar sequences, carries, stacked: (int) How many there are of each.
    """

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node], sequences: int,
                 carries: int, stacked: int) -> None:
        self.inputs, self.outputs = inputs, outputs
        self.sequences, self.carries, self.stacked = sequences, carries, stacked

    @cached_property
    def run(self) -> Callable[..., Any]:
        """The compiled step: the next carries, rows of results, and whether to stop."""
        from agnesi.compiler.declaration import function  # late: it loads the compiler

        return function([*map(symbol, self.inputs)], [*map(symbol, self.outputs)],
                        name="step of a loop")

    def split(self, xs: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Inputs, or what belongs to them: rows, carries, constants."""
        first, second = self.sequences, self.sequences + self.carries
        return [*xs[:first]], [*xs[first:second]], [*xs[second:]]

    @cached_property
    def keeping(self) -> _Step:
        """The step whose results are its carries."""
        _, before, _ = self.split(self.inputs)
        stops = self.outputs[self.carries + self.stacked:]
        return _Step(self.inputs, [*self.outputs[: self.carries], *before, *stops],
                     self.sequences, self.carries, self.carries)

    @_by_itself
    def pulled(self) -> _Step:
        """The step of the reverse loop.

        Its rows are those of the sequences, carries and cotangents of results, its carries are the
        cotangents of carries and the sums of those of constants.
        """
        rows, carries, constants = self.split(self.inputs)
        results = [symbol(n) for n in self.outputs]
        seeds = [_like(y) for y in results]
        found = backprop(
            seeds_of(results, [g if n.requires_grad else None
                               for g, n in zip(seeds, self.outputs, strict=True)]),
            [n for n in self.inputs if n.requires_grad])
        sums = [_like(n) for n in constants]

        def pulled(n: Node) -> Tensor:
            return found[n] if n in found else zeros_like(symbol(n))

        last, others = seeds[: self.carries], seeds[self.carries:]
        before = [*rows, *carries, *_nodes(others)]
        begin = _nodes([*last, *sums])
        ends = [*(pulled(n) for n in carries if _flows(n)),
                *(s + found[n] if n in found else s
                  for n, s in zip(constants, sums, strict=True) if s is not None),
                *(pulled(n) for n in rows if _flows(n))]
        return _Step([*before, *begin, *constants], [*map(current, ends)], len(before), len(begin),
                     len(ends) - len(begin))

    @_by_itself
    def pushed(self) -> _Step:
        """The step of values and tangents, in turn: those of rows, of carries, of constants."""
        values, results = [*map(symbol, self.inputs)], [*map(symbol, self.outputs)]
        moves = [_like(x) for x in values]
        found = [(zeros_like(y) if t is None else t) if _flows(y) else None
                 for y, t in zip(results, pushed(results, values, moves), strict=True)]
        rows, carries, constants = map(both, self.split(values), self.split(moves))
        n, end = self.carries, self.carries + self.stacked
        first, rest = both(results[:n], found[:n]), both(results[n:end], found[n:end])
        return _Step(_nodes([*rows, *carries, *constants]),
                     _nodes([*first, *rest, *results[end:]]),
                     len(rows), len(carries), len(rest))


def _flows(x: Any) -> bool:
    return x.dtype.kind in "fcV"


def _like(x: Any) -> Any:
    """A free variable for a cotangent or tangent of what may have one."""
    return stand_in(x.shape, x.dtype) if _flows(x) else None


def _nodes(xs: Sequence[Any]) -> list[Node]:
    return [current(x) for x in xs if x is not None]


@record
class Stepwise(Op):
    """A scan whose steps are calls of a compiled function.

    Operands and results are those of :class:`Scan`, but that all rows of steps that were not done
    are zero.
    """

    step: _Step
    length: Size
    rows: tuple[tuple[tuple[Any, ...], np.dtype], ...]
    reverse: bool = False
    until: bool = False
    counted: bool = False
    name = "scan_stepwise"
    traits = frozenset(("sizes",))

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = self.step.carries + len(self.rows) + self.until

    def infer(self, *xs: Any) -> Any:
        _, carries, _ = self.step.split(xs[self.counted:])
        types = [*((x.shape, x.dtype) for x in carries),
                 *(((self.length, *shape), dtype) for shape, dtype in self.rows),
                 *[((), int64)] * self.until]
        return tuple(types) if len(types) > 1 else types[0]

    def perform(self, *xs: Any) -> Any:
        length: Any = self.length
        steps = min(int(xs[0]), length) if self.counted else length
        sequences, carries, constants = self.step.split(xs[self.counted:])
        stacks = [np.zeros((length, *shape), dtype) for shape, dtype in self.rows]
        done = 0
        for t in reversed(range(steps)) if self.reverse else range(steps):
            found = self.step.run(*(x[t] for x in sequences), *carries, *constants)
            carries = [np.array(c) for c in found[: len(carries)]]
            for stack, row in zip(stacks, found[len(carries):], strict=False):
                stack[t] = row
            done += 1
            if self.until and found[-1]:
                break
        results = [*map(np.array, carries), *stacks, *[np.asarray(done)] * self.until]
        return tuple(results) if len(results) > 1 else results[0]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        count, rest = [*xs[: self.counted]], xs[self.counted:]
        sequences, carries, constants = self.step.split(rest)
        again = replace(self, step=self.step.keeping, rows=_types(carries))
        if self.until and not sequences and not self.rows:  # it may be one without a bound
            steps = applied(self, *xs)[-1]
            again = replace(again, length=size_of(steps, "the number of steps"), until=False,
                            counted=False)
            count = []
        kept = [*applied(again, *count, *rest)[len(carries):]] if again.outputs else []
        if again.until:
            steps = kept.pop()
            again, count = replace(again, until=False, counted=True), [steps]
        types = listed(self.infer(*xs), self)
        gs = [zeros(shape, dtype=dtype) if v is None else v
              for v, (shape, dtype) in zip(listed(g, self), types, strict=True)
              if dtype.kind in "fcV"]
        n = sum(map(_flows, carries))
        back = replace(again, step=self.step.pulled, reverse=not self.reverse,
                       rows=_types(Row(x) for x in sequences if _flows(x)))
        found = applied(
            back, *count, *sequences, *kept, *gs[n:], *gs[:n],
            *(zeros_like(c) for c in constants if _flows(c)),
            *constants)
        sums = iter(found[: back.step.carries])
        others = iter(found[back.step.carries:])
        placed = {k: next(sums) for k in range(len(sequences), len(rest)) if _flows(rest[k])}
        placed |= {k: next(others) for k in range(len(sequences)) if _flows(rest[k])}
        return (*[None] * self.counted, *map(placed.get, range(len(rest))))

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        count, rest = xs[: self.counted], xs[self.counted:]
        moves = [zeros_like(x) if t is None and _flows(x) else t
                 for x, t in zip(rest, ts[self.counted:], strict=True)]
        parts = map(both, self.step.split(rest), self.step.split(moves))
        step = self.step.pushed
        flowing = tuple([row for row in self.rows if row[1].kind in "fcV"])
        found = applied(replace(self, step=step, rows=(*self.rows, *flowing)), *count,
                        *(x for part in parts for x in part))
        n = self.step.carries
        tangents = iter([*found[n: step.carries], *found[step.carries + len(self.rows):]])
        made = [next(tangents) if dtype.kind in "fcV" else None
                for _, dtype in listed(self.infer(*xs), self)]
        return made if self.outputs > 1 else made[0]


def _types(rows: Iterable[Any]) -> Any:
    """The types of rows, as a field."""
    return tuple([(tuple(x.shape), x.dtype) for x in rows])


class SteppedScan(TracedScan):
    """A scan whose steps are functions of their own."""

    finds_sizes = True
    body: Any

    def _close(self, trace: BodyTrace, inputs: Sequence[Node],
               outputs: Sequence[Node]) -> list[Tensor]:
        outputs = substituted(outputs, trace.views())
        taken = {c.inner: c.outer for c in trace.captures.values() if c.inner not in inputs}
        taken |= {n: symbol(n) for n in _tellers(outputs) if not trace.is_own(n)}
        first, end = len(self.carry.tensors) + len(self.states), len(outputs)
        end -= self.stops is not None
        operands = [*self.xs.tensors, *self.carry.tensors, *self.given.tensors, *taken.values()]
        known = {d for x in operands for size in x.shape for d in leaves_of(size)}
        if open_ones := [y for y in outputs[first:end] if any(
                d not in known for size in y.shape for d in leaves_of(size))]:
            raise BodySizeError(at(
                f"{self.owner}: a step's result is {typed(symbol(open_ones[0]))}, whose size only "
                "the step knows, and such rows are no stack: sum them up in the body"))
        self.rows = _types(outputs[first:end])
        sizes: dict[Size, Size] = {}
        copies = {n: _copied(n, sizes) for n in (*inputs, *taken)}
        with within(None), enable_grad():
            made = replayed(outputs, {n: symbol(copy) for n, copy in copies.items()})
        self.body = _Step([*copies.values()], [*map(current, made)], len(self.xs.tensors), first,
                          end - first)
        return [*taken.values()]

    def op(self) -> Any:
        """The operation."""
        return Stepwise(self.body, self.length, self.rows, self.reverse,
                        self.stops is not None, self.count is not None)

    @staticmethod
    def _flowing(op: Any, operands: Sequence[Tensor]) -> list[bool]:
        return [True] * op.outputs

    def apply(self, known: Mapping[Tensor, Tensor]) -> tuple[Any, Any, Tensor | None]:
        carry, ys, steps = super().apply(known)
        if steps is not None:  # rows behind the last step repeat it
            ys = tree.map_leaves(lambda y: self._repeated(y, steps), ys)
        return carry, ys, steps

    def _repeated(self, y: Tensor, steps: Tensor) -> Tensor:
        places = arange(self.length)
        last = minimum(places, steps - 1)
        return take(y, last if self.count is None else where(places < self.count, last, places), 0)


def run_eagerly(error: TraceError) -> None:
    """Let ``jit`` run its function eagerly for an error; nothing happens elsewhere."""
    refuse_to_compile(*str(error).partition("\n")[0].rsplit(": ", 2)[-2:])


def tried_again(error: TraceError, traced: Callable[[], Any]) -> Any:
    """The loop with steps that are called, where it may be one; else ``jit`` runs its function
    eagerly, or this is the error."""
    if not can_be_stepwise(current_trace()):
        raise error
    try:
        return traced()
    except UnknownSizeError:  # a version for single sizes may serve
        raise
    except (TypeError, ValueError):  # what else the body does may need to know the sizes
        run_eagerly(error)
        raise


def whiled(owner: str, condition: Callable[..., Any], body: Callable[..., Any], carry: Nest) -> Any:
    """A while loop of compiled code; one whose steps are called where that cannot be."""
    try:
        return traced_while(owner, condition, body, carry)
    except BodySizeError as error:
        loop = tried_again(error, lambda: stepped_while(owner, condition, body, carry))
    found, *_ = loop.apply({})
    stores(owner, loop.states, loop.values)
    return found


def stepped_while(owner: str, condition: Callable[..., Any], body: Callable[..., Any], carry: Nest,
                  begin: Mapping[int, Tensor] | None = None) -> SteppedScan:
    """A while loop as a scan; ``begin`` are first carries, by place, of other sizes than
    ``carry`` says that they may have."""

    def proceeds(carries: Any) -> Any:
        return decision(owner, "the condition", condition(carries))

    def step(carries: Any, _: Any) -> Any:
        return body(carries), None

    nothing = Nest(owner, "xs", None)
    loop = SteppedScan(step, step, carry, nothing, Nest(owner, "xs", ()), _ENDLESS,
                       stops=lambda carries: ~proceeds(carries), owner=owner)
    for k, x in (begin or {}).items():
        carry.tensors[k] = x
    loop.count = where(proceeds(carry.build(carry.tensors)), as_tensor(_ENDLESS), as_tensor(0))
    return loop


def _tellers(outputs: Sequence[Node]) -> list[Node]:
    """The scalars of a graph whose values are sizes."""
    sizes = {d for n in open_sizes(*toposort(outputs)) for d in leaves_of(n)}
    return [d.node for d in sizes if isinstance(d, ValueDim)]


def _copied(node: Node, sizes: dict[Size, Size]) -> Node:
    """A free variable of the same type; sizes that depend on values outside get new names."""
    copy = copied_leaf(node)
    copy.shape = tuple([
        sizes.setdefault(n, Dim()) if any(isinstance(d, ValueDim) for d in leaves_of(n)) else n
        for n in node.shape])
    return copy
