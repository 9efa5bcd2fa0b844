"""Carries of ``while_loop`` that grow: a list that every step appends to.

How many steps there are is counted first, by the loop without its lists; then a scan does them,
whose stacked results are the rows.  So memory is taken once, for all rows, and nothing is copied
from step to step.  A list that is read in the loop has another size in each step; the steps are
called then, and copy it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from agnesi.api.control.nests import Nest
from agnesi.api.control.steps import Loop
from agnesi.api.control.stepwise import Stepwise, run_eagerly, stepped_while, tried_again, whiled
from agnesi.api.control.traced import can_be_stepwise, traced_while, tracing, variables
from agnesi.autodiff.bodies import stand_in
from agnesi.compiler.specialization.data_dependent_sizes import sizes_in
from agnesi.core.dispatch import current
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.dims import leaves as leaves_of
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Op
from agnesi.core.shapes import fits
from agnesi.core.support import tree
from agnesi.core.support.dtypes import int64
from agnesi.core.support.errors import BodySizeError, TraceError, at, typed
from agnesi.core.support.record import record
from agnesi.core.support.tracing import current_trace, refuse_to_compile
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.control.loop import applied
from agnesi.ops.indexing.join import Concat, concat

Function = Callable[..., Any]


class _MoreThanGrowsError(TraceError):
    """A list is read in the loop, or more is done with it than appending."""


def _refuse(why: str, instead: str) -> NoReturn:
    """Refuse a loop whose list does more than grow."""
    raise _MoreThanGrowsError(at(f"while_loop: {why}: {instead}"))


def _can_be_stepwise() -> bool:
    trace = current_trace()
    return can_be_stepwise(trace)


def growing_leaves(body: Function, carry: Nest) -> list[int]:
    """The places of carries that one step makes longer by what it appends."""
    stepwise = _can_be_stepwise()
    with tracing(*carry.tensors) as trace:
        trace.finds_sizes = stepwise
        inner = variables(trace, carry)
        leaves, shape = tree.flatten(body(carry.build(inner)))
        if shape != carry.shape:
            return []
        found = [k for k, (leaf, x) in enumerate(zip(leaves, inner, strict=True))
                 if isinstance(leaf, Tensor) and _grew(leaf, x)]
        if found and trace.states():
            why, instead = (
                f"{carry.paths[found[0]]} grows, and the body changes tensors in place (drawing "
                "random numbers does so too): the loop runs twice, first to count its steps",
                "carry what it changes")
            refuse_to_compile(why, instead)
            _refuse(why, instead)
    return found


def _grew(new: Tensor, old: Tensor) -> bool:
    if len(new.shape) != len(old.shape) or not old.shape or not fits(new.shape[1:], old.shape[1:]):
        return False
    n, m = new.shape[0], old.shape[0]
    if type(n) is type(m) is int:
        return n > m
    if m == 0:  # the concatenation leaves out a list that is known to be empty
        return True
    return (not fits((n,), (m,)) or _adds(n, m) or bool(_parts_behind(current(new), current(old))))


def _adds(n: Any, m: Any) -> bool:
    """Whether a size is another one and more."""
    return isinstance(n, Dim) and n.op == "+" and (m in n.args or any(_adds(a, m) for a in n.args))


def _parts_behind(node: Node, carry: Node) -> list[Node]:
    """What is appended to a carry along its first axis; nothing where that is not all."""
    parts: list[Node] = []
    while node is not carry and ("conversion" in node.traits or (
            type(node.op) is Concat and node.op.axis == 0)):
        parts = [*node.inputs[1:], *parts]
        node = node.inputs[0]
    return parts if node is carry else []


class _Growing:
    """A while loop whose carries at some places grow."""

    def __init__(self, test: Function, body: Function, carry: Nest, places: Sequence[int]) -> None:
        self.test, self.body, self.carry, self.places = test, body, carry, places
        self.kept = [k for k in range(len(carry.tensors)) if k not in places]

    def _nest(self, small: Sequence[Any]) -> Any:
        """The whole carry, with free variables for what grows."""
        leaves: list[Any] = [None] * len(self.carry.tensors)
        for k, value in zip(self.kept, small, strict=True):
            leaves[k] = value
        self.free = {}
        for k in self.places:
            x = self.carry.tensors[k]
            leaves[k] = stand_in((Dim(), *x.shape[1:]), x.dtype)
            self.free[k] = leaves[k].node
        return self.carry.build(leaves)

    def _unread(self, values: Sequence[Any]) -> None:
        """Refuse what is computed of a carry that grows, or of its size."""
        nodes = [current(v) for v in values if isinstance(v, Tensor)]
        there = set(toposort(nodes))
        sizes = {d for n in sizes_in(nodes) for d in leaves_of(n)}
        for k, node in self.free.items():
            if node in there or node.shape[0] in sizes:
                _refuse(f"{self.carry.paths[k]} grows, and is read in the loop, where its size is "
                        "another one in every step",
                        "carry what is read of it (its last row, how many rows it has) beside it")

    def proceeds(self, state: Any) -> Any:
        """Whether there is another step."""
        _, *small = state
        found = self.test(self._nest(small))
        self._unread([found])
        return found

    def counted(self, state: Any) -> Any:
        """A step that only counts."""
        number, *small = state
        leaves, _ = tree.flatten(self.body(self._nest(small)))
        self._unread([leaves[k] for k in self.kept])
        return (number + 1, *(leaves[k] for k in self.kept))

    def step(self, small: Any, _: Any) -> Any:
        """A step, and the rows that it appends."""
        leaves, _ = tree.flatten(self.body(self._nest(small)))
        rows = tuple(self._appended(k, leaves[k]) for k in self.places)
        return tuple(leaves[k] for k in self.kept), rows

    def _appended(self, k: int, new: Tensor) -> Tensor:
        """Return the part of the next carry that is behind the present one."""
        parts = _parts_behind(current(new), self.free[k])
        if not parts:
            _refuse(f"{self.carry.paths[k]} begins as {typed(self.carry.tensors[k])} and becomes "
                    f"{typed(new)}", "a carry that grows is appended to, and nothing else: "
                    "ag.concat([carry, rows])")
        found = [cast(symbol(n), new.dtype) for n in parts]
        self._unread(found)
        return concat(found) if len(found) > 1 else found[0]

    def run(self) -> Any:
        """The last carry."""
        tensors = self.carry.tensors
        small = tuple(self.carry.leaves[k] for k in self.kept)
        count, *_ = traced_while("while_loop", self.proceeds, self.counted, Nest(
            "while_loop", "init", (as_tensor(0, int64), *small)))
        loop = Loop(self.step, Nest("while_loop", "init", small), Nest("while_loop", "xs", ()), ())
        loop.owner, loop.length = "while_loop", size_of(count, "the number of steps")
        last, rows, _ = loop.traced()
        leaves: list[Any] = [None] * len(tensors)
        for k, value in zip(self.kept, last, strict=True):
            leaves[k] = value
        for k, ys in zip(self.places, rows, strict=True):
            flat = reshape(ys, (ys.shape[0] * ys.shape[1], *ys.shape[2:]))
            leaves[k] = concat([cast(tensors[k], flat.dtype), flat])
        return self.carry.build(leaves)


@record
class GrownSizes(Op):
    """How long carries are behind the last step of a loop of called steps, whatever their size
    before each: those at ``places``."""

    loop: Stepwise
    places: tuple[int, ...]
    name = "grown_sizes"
    traits = frozenset(("sizes",))

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.places)

    def infer(self, *xs: Any) -> Any:
        types = (((), int64),) * len(self.places)
        return types if len(types) > 1 else types[0]

    def perform(self, *xs: Any) -> Any:
        last = self.loop.perform(*xs)
        found = tuple([np.asarray(len(last[k])) for k in self.places])
        return found if len(found) > 1 else found[0]


def _stepped(test: Function, body: Function, carry: Nest, places: Sequence[int]) -> Any:
    """The loop as one of called steps, run twice: how much memory the lists take is found first.

    The lists are the first rows of this memory in the second run, which has gradients.
    """
    free = [stand_in((Dim(), *t.shape[1:]), t.dtype) if k in places else leaf
            for k, (t, leaf) in enumerate(zip(carry.tensors, carry.leaves, strict=True))]
    nest = Nest("while_loop", "init", carry.build(free))
    loop = stepped_while("while_loop", test, body, nest, {k: carry.tensors[k] for k in places})
    if loop.states:  # what checks of its steps find, for one, which a step of unknown sizes has not
        raise _MoreThanGrowsError(at(
            "while_loop: a list grows, and its steps check indices: carry its last rows beside it"))
    count: Any = loop.count
    sizes = applied(GrownSizes(loop.op(), tuple(places)), count, *nest.tensors, *loop.captured)
    total = {k: size_of(n, "the number of rows") for k, n in zip(places, sizes, strict=True)}

    def packed(nest: Any) -> Any:
        leaves, _ = tree.flatten(nest)
        rows = [leaves[k].shape[0] for k in places]
        for k in places:
            x = as_tensor(leaves[k])
            lacking = zeros((total[k] - x.shape[0], *x.shape[1:]), dtype=x.dtype)
            leaves[k] = concat([x, lacking])
        return tuple(leaves), tuple(as_tensor(n, int64) for n in rows)

    def lists(state: Any) -> Any:
        leaves = list(state[0])
        for k, n in zip(places, state[1], strict=True):
            leaves[k] = leaves[k][:n]
        return carry.build(leaves)
    last, _ = whiled("while_loop", lambda state: test(lists(state)),
                     lambda state: packed(body(lists(state))),
                     Nest("while_loop", "init", packed(carry.build(carry.tensors))))
    return carry.build(last)


def growing_while(test: Function, body: Function, carry: Nest) -> Any:
    """A while loop with carries that grow; None where none does."""
    places = growing_leaves(body, carry)
    if not places:
        return None
    try:
        return _Growing(test, body, carry, places).run()
    except (BodySizeError, _MoreThanGrowsError) as error:
        if not _can_be_stepwise():
            run_eagerly(error)
            raise
        try:
            return tried_again(error, lambda: _stepped(test, body, carry, places))
        except _MoreThanGrowsError:
            run_eagerly(error)
            raise

