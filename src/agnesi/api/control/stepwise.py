"""Loops whose steps find sizes that only data decides: one compiled function for each step.

Where the body of a loop makes what has another size in every step (``v[v > carry]``) and reads that
size, no loop of compiled code can hold it.  Its step is a compiled function of its own then, which
Python calls for each row; gradients call another one, from the last step to the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.api.control.nests import Nest, decision, next_carries
from agnesi.api.control.traced import Row, again, pair_of, traced_while, tracing, variables
from agnesi.autodiff.bodies import copied_leaf, stand_in
from agnesi.autodiff.flows import listed, seeds_of
from agnesi.autodiff.replay import replayed
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current
from agnesi.core.ir.dims import Dim, Size
from agnesi.core.ir.dims import leaves as leaves_of
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Op
from agnesi.core.substitution import open_sizes
from agnesi.core.support import tree
from agnesi.core.support.cached import cached_property
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import BodySizeError
from agnesi.core.support.record import record, replace
from agnesi.core.support.tracing import current_trace
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.valuedims import ValueDim
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros, zeros_like
from agnesi.ops.control.loop import applied


class _Step:
    """The graph of a step: of rows, carries and what it takes from outside, in this order."""

    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node]) -> None:
        self.inputs, self.outputs = inputs, outputs

    @cached_property
    def forward(self) -> Callable[..., Any]:
        """The next carries, and the rows of results."""
        return _compiled([*map(symbol, self.inputs)], [*map(symbol, self.outputs)],
                         "step of a loop")

    @cached_property
    def backward(self) -> Callable[..., Any]:
        """Cotangents of all inputs that have some, of those of the outputs behind these."""
        results = [symbol(n) for n in self.outputs]
        seeds = [stand_in(y.shape, y.dtype) for y in results]
        flowing = [n for n in self.inputs if n.requires_grad]
        given = [s if y.requires_grad else None
                 for s, y in zip(seeds, results, strict=True)]
        found = backprop(seeds_of(results, given), flowing)
        return _compiled([*map(symbol, self.inputs), *seeds],
                         [found.get(n, zeros_like(symbol(n))) for n in flowing],
                         "gradient of a step of a loop")


def _compiled(inputs: Sequence[Tensor], outputs: Sequence[Tensor], name: str) -> Any:
    from agnesi.compiler.function import function  # late: it loads the compiler

    return function(inputs, outputs, name=name)


@record
class Stepwise(Op):
    """A loop whose steps are calls of a compiled function: a scan, or with ``test`` a while loop.

    Operands: sequences, first carries, constants.  Results: the last carries, stacked results.
    """

    step: _Step
    length: Size
    sequences: int
    carries: int
    rows: tuple[tuple[tuple[Any, ...], np.dtype], ...]
    reverse: bool = False
    test: _Step | None = None
    name = "scan_stepwise"

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = self.carries + len(self.rows)

    def infer(self, *xs: Any) -> Any:
        carries = xs[self.sequences: self.sequences + self.carries]
        types = [*((x.shape, x.dtype) for x in carries),
                 *(((self.length, *shape), dtype) for shape, dtype in self.rows)]
        return tuple(types) if len(types) > 1 else types[0]

    def steps(self, xs: Sequence[Any]) -> Iterator[tuple[int, list[Any], Sequence[Any]]]:
        """Run the steps; each yields its row, its inputs, and its carries and results."""
        length: Any = self.length
        first, second = self.sequences, self.sequences + self.carries
        carries, constants = list(xs[first:second]), xs[second:]
        if self.test is not None:
            rows: Any = itertools.count()
        else:
            rows = reversed(range(length)) if self.reverse else range(length)
        for t in rows:
            if self.test is not None and not self.test.forward(*carries, *constants)[0]:
                return
            given = [*(x[t] for x in xs[:first]), *carries, *constants]
            found = self.step.forward(*given)
            carries = [np.array(c) for c in found[: self.carries]]
            yield t, given, [*carries, *found[self.carries:]]

    def perform(self, *xs: Any) -> Any:
        length: Any = self.length
        last: Sequence[Any] = xs[self.sequences: self.sequences + self.carries]
        stacks = [np.zeros((length, *shape), dtype) for shape, dtype in self.rows]
        for t, _, found in self.steps(xs):
            last = found[: self.carries]
            for stack, row in zip(stacks, found[self.carries:], strict=True):
                stack[t] = row
        results = (*map(np.array, last), *stacks)
        return results if len(results) > 1 else results[0]

    def resolve(self, known: Any) -> Op:
        rows = tuple([(tuple(map(known, shape)), dtype) for shape, dtype in self.rows])
        return replace(self, length=known(self.length), rows=rows)

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        types = listed(self.infer(*xs), self)
        gs = [zeros(shape, dtype=dtype) if v is None else v
              for v, (shape, dtype) in zip(listed(g, self), types, strict=True)]
        found = iter(applied(StepwiseVjp(self), *gs, *xs))
        return tuple([next(found) if n.requires_grad else None for n in self.step.inputs])


@record
class StepwiseVjp(Op):
    """Cotangents of the operands of a :class:`Stepwise`; it has no gradient itself."""

    scan: Stepwise
    name = "scan_stepwise_vjp"
    no_rule = "sum up in the steps what has another size in each of them"

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len([n for n in self.scan.step.inputs if n.requires_grad])

    def infer(self, *xs: Any) -> Any:
        types = [(x.shape, x.dtype) for x, n in zip(
            xs[self.scan.outputs:], self.scan.step.inputs, strict=True) if n.requires_grad]
        return tuple(types) if len(types) > 1 else types[0]

    def perform(self, *xs: Any) -> Any:
        scan = self.scan
        carries, rows = list(xs[: scan.carries]), xs[scan.carries: scan.outputs]
        operands = xs[scan.outputs:]
        flowing = [k for k, n in enumerate(scan.step.inputs) if n.requires_grad]
        totals = {k: np.zeros_like(operands[k]) for k in flowing}
        first, second = scan.sequences, scan.sequences + scan.carries
        for t, given in reversed([(t, given) for t, given, _ in scan.steps(operands)]):
            found = scan.step.backward(*given, *carries, *(g[t] for g in rows))
            done = dict(zip(flowing, found, strict=True))
            carries = [np.array(done[k]) if k in done else c
                       for k, c in enumerate(carries, first)]
            for k, v in done.items():
                if k < first:
                    totals[k][t] = v
                elif k >= second:
                    totals[k] = totals[k] + v
        for k in flowing:
            if first <= k < second:
                totals[k] = carries[k - first]
        found = tuple(totals.values())
        return found if len(found) > 1 else found[0]

    def resolve(self, known: Any) -> Op:
        return StepwiseVjp(self.scan.resolve(known))  # type: ignore[arg-type]


def stepwise(f: Callable[..., Any], carry: Nest, xs: Nest, given: Nest, length: Size,
             reverse: bool, owner: str, test: Callable[..., Any] | None = None) -> Any:
    """The last carry and the stacked results; None where a loop cannot be such a one, either.

    With ``test`` it is a while loop, of no rows and results.
    """

    def attempt() -> Any:
        with tracing(*xs.tensors, *carry.tensors, *given.tensors) as trace:
            trace.finds_sizes = True
            rows = [trace.variable(Row(x)) for x in xs.tensors]
            inner = variables(trace, carry)
            begin = [t.node for t in (*rows, *inner)]
            tests = [] if test is None else [decision(owner, "the condition",
                                                      test(carry.build(inner)))]
            found = f(carry.build(inner), xs.build(rows), *given.build(given.tensors))
            following, result = pair_of(owner, found)
            next_ = next_carries(owner, carry, following)
            leaves, form = tree.flatten(result)
            ends = [current(y) for y in (*next_, *map(as_tensor, leaves), *tests)]
            changed = trace.states() or [t.node for t in (*rows, *inner)] != begin
            taken = {c.inner: c.outer for c in trace.captures.values()}
            taken |= {n: symbol(n) for n in _tellers(ends) if not trace.is_own(n)}
            return changed, begin, taken, ends, form

    changed, begin, taken, ends, form = again(attempt, carry)
    if changed:
        return None
    operands = [*xs.tensors, *carry.tensors, *taken.values()]
    known = {d for x in operands for size in x.shape for d in leaves_of(size)}
    n, end = len(carry.tensors), len(ends) - (test is not None)
    if any(d not in known for y in ends[n:end] for size in y.shape for d in leaves_of(size)):
        return None  # rows of many sizes are no stack
    sizes: dict[Size, Size] = {}
    copies = {n: _copied(n, sizes) for n in (*begin, *taken)}
    made = [current(y) for y in replayed(ends, {n: symbol(copy) for n, copy in copies.items()})]
    inputs = [*copies.values()]
    op = Stepwise(
        _Step(inputs, made[:end]), length, len(xs.tensors), n,
        tuple([(y.shape, y.dtype) for y in ends[n:end]]), reverse,
        None if test is None else _Step(inputs, made[end:]),
    )
    done = applied(op, *operands)
    return carry.build(done[:n]), form.build(done[n:])


def whiled(owner: str, condition: Callable[..., Any], body: Callable[..., Any], carry: Nest) -> Any:
    """A while loop of compiled code; one whose steps are called where that cannot be."""
    try:
        return traced_while(owner, condition, body, carry)
    except BodySizeError:
        if not can_be_stepwise():
            raise
        found = stepwise(lambda c, _: (body(c), None), carry, Nest(owner, "xs", None),
                         Nest(owner, "xs", ()), 0, False, owner, condition)
        if found is None:
            raise
        return found[0]


def _tellers(outputs: Sequence[Node]) -> list[Node]:
    """The scalars that tell sizes in a graph."""
    sizes = {d for n in open_sizes(*toposort(outputs)) for d in leaves_of(n)}
    return [d.node for d in sizes if isinstance(d, ValueDim)]


def can_be_stepwise() -> bool:
    """Whether this is a declared graph, and no body in it but those of such loops."""
    trace = current_trace()
    return STATE.examples is None and (trace is None or getattr(trace, "finds_sizes", False))


def _copied(node: Node, sizes: dict[Size, Size]) -> Node:
    """A free variable of the same type; sizes that values tell outside are sizes of its own."""
    copy = copied_leaf(node)
    copy.shape = tuple([sizes.setdefault(n, Dim()) if isinstance(n, ValueDim) else n
                        for n in node.shape])
    return copy
