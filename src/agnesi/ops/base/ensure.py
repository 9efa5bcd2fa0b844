"""ensure: a condition that must hold when a value is computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Shape, Size
from agnesi.core.op import Op, called, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, error_named
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.support.worker_threads import elements
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import depends_on_value
from agnesi.ops.base.compare import logical_and
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import Reshape
from agnesi.ops.base.reduce import reducer

#: Relations between a size and the one required, by name.
RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "equal": operator.eq,
    "one or equal": lambda n, m: (n == 1) | (n == m),
    "at most": operator.le,
    "at least": operator.ge,
    "other": operator.ne,
    "multiple": lambda n, m: n % m == 0,
}


@record
class Ensure(Op):
    """The first operand, if all of the second is true; else an error.

    ``caller`` is the function that requests it, if not ``ensure``, and ``error`` the error's name.
    Where the condition says that each of some ``sizes`` is the ``wanted`` one, a graph of other
    sizes is refused when they are known, whether or not the value is needed.
    """

    message: str
    caller: str = ""
    error: str = "ValueError"
    sizes: Shape = ()
    wanted: Shape = ()
    relation: str = "equal"
    work = elements(2)
    name = "ensure"
    traits = frozenset(("cheap", "raises"))
    keep_inputs = (1,)
    view = True

    def infer(self, x: Any, condition: Any) -> Any:
        if condition.dtype.kind != "b":
            raise DTypeError(
                f"the condition must be bool, not {typed(condition)}; compare it (x != 0)"
            )
        fit = RELATIONS[self.relation]
        if any(type(n) is type(m) is int and not fit(n, m)
               for n, m in zip(self.sizes, self.wanted, strict=True)):
            raise error_named(self.error)(
                f"{self.message} (at the call {self.sizes} beside {self.wanted})")
        return x.shape, x.dtype

    def perform(self, x: np.ndarray, condition: np.ndarray) -> np.ndarray:
        if not condition.all():
            raise error_named(self.error)(self.message)
        return x.copy()

    def view_layout(self, x: np.ndarray, shape: Any) -> np.ndarray:
        return x

    def undo(self, shape: Shape) -> Op:
        """The operation that leads back: used when the result is changed in place."""
        return Reshape(shape)

    def decompose(self, x: Tensor, condition: Tensor) -> Tensor:
        from agnesi.ops.base.gather.gather_scatter import Ensured

        subject = called(self.caller, (x,)) if self.caller else called(self.name, (x, condition))
        axes = tuple(range(len(condition.shape)))
        holds = apply(reducer("logical_and", axes, False), condition) if axes else condition
        return apply(Ensured(self.message, subject, self.error), x, holds)

    def vjp(self, g: Tensor, y: Tensor, x: Tensor, condition: Tensor) -> tuple[Any, ...]:
        from agnesi.ops.base.gather.gather_scatter import passed

        return passed(self, g, condition), None

    def jvp(self, ts: Any, y: Tensor, x: Tensor, condition: Tensor) -> Any:
        from agnesi.ops.base.gather.gather_scatter import passed

        return passed(self, ts[0], condition)


def ensured_by(caller: str, x: Tensor, condition: Tensor, message: str,
               error: str = "ValueError") -> Tensor:
    """``x``, once a condition holds that something of another name requests."""
    return apply(Ensure(message, caller, error), x, HOOKS.behind_effects(condition))


def ensured_sizes(caller: str, x: Tensor, sizes: Sequence[Size], wanted: Sequence[Size],
                  message: str, relation: str = "equal", error: str = "ShapeError") -> Tensor:
    """``x``, once its sizes are known and each stands so to the one that is wanted; sizes that
    follow from values are left to the run."""
    pairs = [(n, m) for n, m in zip(sizes, wanted, strict=True)
             if n != m and not type(n) is type(m) is int
             and not depends_on_value(n) and not depends_on_value(m)]
    if not pairs:
        return x
    fit = RELATIONS[relation]
    holds = reduce(logical_and, [as_tensor(fit(as_tensor(n), as_tensor(m))) for n, m in pairs])
    few, many = zip(*pairs, strict=True)
    op = Ensure(message, caller, error, few, many, relation)
    return apply(op, x, HOOKS.behind_effects(holds))


HOOKS.ensured, HOOKS.ensured_sizes = ensured_by, ensured_sizes


@public
def ensure(x: TensorLike, condition: TensorLike, message: str = "the condition does not hold", *,
           out: Tensor | None = None) -> Tensor:
    """``x``, once it is sure that all of ``condition`` is true; else ValueError with the message.

    In compiled functions it is checked whenever the result is needed, under every preset, unless
    ``include=["unsafe"]`` drops it.

    :param x: What is given on; of any shape.
    :param condition: What must hold, all of it.
    :type condition: array_like of bool
    :param message: What the error says.
    :returns: ``x``.
    :raises TypeError: If the message is no string.
    :raises ValueError: If the condition does not hold; compiled functions raise it when they run.
    :see: print, callback, all

    >>> x = ag.tensor([1.0, 4.0])
    >>> ag.sqrt(ag.ensure(x, x >= 0, "roots of negative numbers"))
    tensor([1., 2.])
    """
    x, condition = as_tensor(x), as_tensor(condition)
    if not isinstance(message, str):
        raise TypeError(f"message must be a string, not {typed(message)}")
    op = Ensure(message)
    if is_known(x, condition):
        op.infer(x, condition)
        if not condition.array.all():
            raise ValueError(message)
        return x
    return apply(op, x, HOOKS.behind_effects(condition))
