"""One of two graphs, chosen at run time: the other one does not run."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.support.record import record, replace
from agnesi.ops.control.body import Body, check_types
from agnesi.ops.control.refusal import FAILURES, refusing


@record
class Cond(Op):
    """``then`` or ``otherwise``, by a bool scalar.

    Operands: the bool, then those that both graphs take.  Results: those of the graph chosen.
    """

    then: Body
    otherwise: Body
    name = "cond"
    traits = frozenset(("control",))
    bodies = ("then", "otherwise")
    first_values = range(0)  # of carries, as loops have them

    def __post_init__(self) -> None:
        self.__dict__["outputs"] = len(self.then.outputs)

    def needs(self, i: int, inputs: Any) -> bool:
        """Nothing that must not change: only a run shows which branch reads its operands."""
        return False

    def resolve(self, known: Any) -> Cond:
        """A branch that known sizes do not fit raises when it is taken, and no sooner."""
        found: list[Body] = []
        for body in (self.then, self.otherwise):
            try:
                found.append(body.resolve(known))
            except FAILURES as error:
                found.append(refusing(body, error, known))
        if found[0] is self.then and found[1] is self.otherwise:
            return self
        new: Cond = replace(self, then=found[0], otherwise=found[1])
        return new

    def infer(self, decision: Any, *xs: Any) -> Any:
        if decision.shape != () or decision.dtype != dtypes.bool_:
            raise ShapeError("the condition must be a bool scalar")
        first, second = self.then, self.otherwise
        why = check_types("operands of the first branch", first.inputs, xs)
        why = why or check_types("operands of the second branch", second.inputs, xs)
        why = why or check_types("results of the second branch", first.outputs, second.outputs)
        if why:
            raise ShapeError(why)
        types = tuple((y.shape, y.dtype) for y in first.outputs)
        return types if len(types) > 1 else types[0]

    def perform(self, decision: Any, *xs: Any) -> Any:
        found = (self.then if decision else self.otherwise).run(xs)
        values = tuple(np.array(v) for v in found)
        return values if len(values) > 1 else values[0]
