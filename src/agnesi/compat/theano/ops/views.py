"""``theano.compile.view_op``: a variable that is another one, under an identity of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.api import functions as F
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.dispatch import graph_node
from agnesi.core.support.errors import at
from agnesi.core.tensor import symbol


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
