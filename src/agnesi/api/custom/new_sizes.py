"""Results of users' operations whose sizes are known only at run time, in programs.

Such an operation is two there: one runs it, keeps what it returned, and gives the sizes; the other
one, whose types are known by these, hands the results on.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.api.custom.probing import has_unknown
from agnesi.core.dispatch import apply
from agnesi.core.op import Op, title_of
from agnesi.core.support.dtypes import int64
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of
from agnesi.ops.control.loop import applied

#: So many results wait for who takes them; further ones are computed again.
_MOST_KEPT = 8
_NUMBERS = itertools.count(1)
#: What was computed: a number, the operation with its operands, and the results.
_KEPT: deque[tuple[int, Any, Any]] = deque(maxlen=_MOST_KEPT)


def completed(shape: Any, found: np.ndarray) -> tuple[Any, ...]:
    """A declared shape, with an array's sizes where that is None."""
    if len(shape) != found.ndim:
        return tuple(shape)
    return tuple(n if m is None else m for m, n in zip(shape, found.shape, strict=True))


@record
class Performed(Op):
    """Run an operation and keep its results: their number, and the sizes that ``types`` lack."""

    op: Any
    types: tuple[Any, ...]
    name = "performed"
    traits = frozenset(("raises",))
    differentiable = False
    keep_inputs = ()

    def infer(self, *xs: Any) -> Any:
        return (1 + sum(n is None for shape, _ in self.types for n in shape),), int64

    def perform(self, *xs: np.ndarray) -> np.ndarray:
        call = self.op, [(x.shape, x.dtype, x.tobytes()) for x in xs]
        kept = next((k for k in [*_KEPT] if k[1] == call), None)
        if kept is None:
            kept = next(_NUMBERS), call, _performed(self.op, xs)
            _KEPT.append(kept)
        number, _, results = kept
        return np.array([number, *(n for y, (shape, _) in zip(results, self.types, strict=True)
                                   for m, n in zip(shape, y.shape, strict=True) if m is None)],
                        np.int64)


def _performed(op: Any, xs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    found = op.perform(*xs)
    return found if op.outputs > 1 else (found,)


@record
class Kept(Op):
    """What an operation returned that was run before; its operands are for its gradients."""

    op: Any
    types: tuple[Any, ...]
    user_defined = True
    traits = frozenset(("raises",))

    def __post_init__(self) -> None:
        self.__dict__.update(name=self.op.name, outputs=self.op.outputs,
                             differentiable=self.op.differentiable, no_rule=self.op.no_rule,
                             keep_output=self.op.keep_output)
        for rule in ("vjp", "jvp"):
            if getattr(self.op, rule) is None:
                self.__dict__[rule] = None

    def label(self) -> str:
        return self.op.label()

    def infer(self, number: Any, *xs: Any) -> Any:
        return self.types if self.outputs > 1 else self.types[0]

    def perform(self, number: np.ndarray, *xs: np.ndarray) -> Any:
        kept = next((k for k in [*_KEPT] if k[0] == number[0]), None)
        if kept is None:
            found = _performed(self.op, xs)
        else:
            found = kept[2]
            if kept in _KEPT:
                _KEPT.remove(kept)
        return found if self.outputs > 1 else found[0]

    def vjp(self, g: Any, y: Any, number: Any, *xs: Any) -> tuple[Any, ...]:
        found = self.op.vjp(g, y, *xs)
        return (None, *(found if isinstance(found, (tuple, list)) else [found]))

    def jvp(self, ts: Any, y: Any, number: Any, *xs: Any) -> Any:
        return self.op.jvp(ts[1:], y, *xs)


def in_program(op: Any, xs: Sequence[Tensor]) -> Any:
    """The results of an operation on tensors of which some have no values yet."""
    found = op.infer(*xs)
    if not has_unknown(op, found):
        return apply(op, *xs) if op.outputs == 1 else applied(op, *xs)
    types = found if op.outputs > 1 else (found,)
    sizes = apply(Performed(op, types), *xs)
    places = itertools.count(1)
    what = f"a size of {title_of(op)}'s result"
    known = tuple((tuple(size_of(sizes[next(places)], what, given=sizes)
                         if n is None else n for n in shape), dtype) for shape, dtype in types)
    done = applied(Kept(op, known), sizes, *xs)
    return done if op.outputs > 1 else done[0]
