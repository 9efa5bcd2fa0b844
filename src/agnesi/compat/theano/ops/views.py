"""Variables of classes of one's own, and ``theano.compile.view_op``, by which one is another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import (
    Constant,
    SharedVariable,
    Variable,
    bare,
    wrapped,
)
from agnesi.core.dispatch import graph_node
from agnesi.core.support.errors import at
from agnesi.core.tensor import symbol


class _Computed(type):
    """The type of :class:`TensorVariable`: constants and shared variables do not belong to it."""

    def __instancecheck__(cls, x: Any) -> bool:
        if cls.__dict__.get("plain"):
            return isinstance(x, Variable) and not isinstance(x, (Constant, SharedVariable))
        return super().__instancecheck__(x)


class TensorVariable(Variable, metaclass=_Computed):
    """An input, or what is computed; what programs derive classes of their own from."""

    __slots__ = ()
    plain = True

    def __init_subclass__(cls) -> None:
        cls.plain = False


class View:
    """The identity; ``Apply(view_op, [x], [y])`` makes ``y``, a new variable of x's type, be x."""

    def __call__(self, x: Any) -> Variable:
        made: Variable = wrapped(F.positive(bare(as_tensor_variable(x))))
        return made

    def __repr__(self) -> str:
        return "ViewOp"

    def join(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Let the output, which has been an input so far, be computed from the input."""
        if len(inputs) != 1 or len(outputs) != 1:
            raise ValueError(at(f"{self}: one variable is another one, not {len(outputs)} of "
                                f"{len(inputs)}"))
        x, y = as_tensor_variable(inputs[0]), outputs[0]
        if (x.dtype, x.ndim) != (y.dtype, y.ndim):
            raise TypeError(at(f"{self}: {y!r} is {y.type} and cannot be {x!r}, {x.type}"))
        y.rebind(F.positive(symbol(graph_node(bare(x)))), y.name)


view_op = View()
