"""How ``backward`` of a function of arrays depends on its inputs, found out by tracing it.

It is called with symbols in the place of arrays, behind ``forward``, which keeps symbols for it
then.  Where both are made of what tensors can do, that gives a graph, which has any derivative.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.bodies import BodyTrace, body_trace, close
from agnesi.autodiff.opgraph import GraphOp
from agnesi.autodiff.reverse import transposed
from agnesi.core.dispatch import current
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.control.body import Body

#: A graph of gradients, and the tensors from outside that are its last operands.
Traced = tuple[GraphOp, list[Tensor]]
Backward = Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]


def pulled(function: Any, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> Traced:
    """The gradients of inputs that can have one, as a graph of the inputs and cotangents.

    Raises what a function raises that is not made of operations on tensors.
    """
    def ends(trace: BodyTrace) -> tuple[list[Tensor], list[Tensor]]:
        xs, gs = _variables(trace, inputs), _variables(trace, results)
        return [*xs, *gs], _backward(function)(xs, gs)

    return _traced(type(function).__name__, ends)


def pushed(function: Any, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> Traced:
    """The tangents of the results, as a graph of the inputs and the tangents of some of them."""
    def ends(trace: BodyTrace) -> tuple[list[Tensor], list[Tensor]]:
        xs = _variables(trace, inputs)
        moves = _variables(trace, [x for x in inputs if x.dtype.kind in "fcV"])
        like = _variables(trace, results)
        run = _backward(function)
        found = transposed(lambda us: run(xs, us), like, moves)
        return [*xs, *moves], [zeros_like(v) if t is None else t
                               for t, v in zip(found, like, strict=True)]

    return _traced(type(function).__name__, ends)


def _variables(trace: BodyTrace, like: Sequence[Tensor]) -> list[Tensor]:
    return [trace.variable(x) for x in like]


def _backward(function: Any) -> Backward:
    """``backward`` on tensors, for which ``forward`` runs on them, too, on a copy of the object."""
    def run(xs: Sequence[Tensor], gs: Sequence[Tensor]) -> list[Tensor]:
        own = copy.copy(function)
        own.forward(tuple(xs))
        found = own.backward(tuple(xs), tuple(gs))
        return [zeros_like(x) if g is None else cast(as_tensor(g), x.dtype)
                for x, g in zip(xs, found, strict=True) if x.dtype.kind in "fcV"]

    return run


def _traced(name: str, ends: Callable[[BodyTrace], tuple[list[Tensor], list[Tensor]]]) -> Traced:
    (body, captured), (again, others) = (_closed(ends) for _ in range(2))
    if body != again or not all(map(_same, captured, others)):
        raise ValueError("it does not compute the same each time")
    return GraphOp(body, f"{name}_backward"), captured


def _closed(ends: Callable[[BodyTrace], tuple[list[Tensor], list[Tensor]]]
            ) -> tuple[Body, list[Tensor]]:
    with body_trace() as trace:
        variables, found = ends(trace)
        nodes = [current(y) for y in found]
    return close(trace, variables, nodes)


def _same(a: Tensor, b: Tensor) -> bool:
    """Return whether tensors from outside are one, or hold the same numbers."""
    if a is b or a.array is None or b.array is None:
        return a is b
    return np.array_equal(a.array, b.array, equal_nan=is_inexact(a.dtype))
