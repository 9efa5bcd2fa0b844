"""Part of a long graph that comes up again and again: one graph, called wherever it stands.

Only the compiler makes these, for what is not differentiated: ``rewrite/outlining.py`` behind all
that does, ``compiler/tracing/trace_reuse.py`` for updates in place.
"""

from __future__ import annotations

from typing import Any

from agnesi.core.op import Op
from agnesi.core.support.record import record
from agnesi.ops.control.body import Body


@record
class Segment(Op):
    """A segment of a graph, ``body``, as one operation.

    Operands may be other segments as a whole: ``reads`` has for each input of the body which
    operand it is, and which of its results; -1 where the operand is a value itself.
    """

    body: Body
    reads: tuple[tuple[int, int], ...]
    name = "segment"
    traits = frozenset(("segment",))
    bodies = ("body",)
    differentiable = False

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.body.outputs)

    def infer(self, *xs: Any) -> Any:
        types = tuple([(y.shape, y.dtype) for y in self.body.outputs])
        return types if len(types) > 1 else types[0]

    def perform(self, *xs: Any) -> Any:
        found = self.body.run([xs[k] if i < 0 else xs[k][i] for k, i in self.reads])
        return tuple(found) if len(found) > 1 else found[0]
