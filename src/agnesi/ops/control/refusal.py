"""Bodies that known sizes do not fit: they raise when they run, as their operation would have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.support.dtypes import bool_
from agnesi.ops.base.creation import constant, spread_constant
from agnesi.ops.base.gather.gather_scatter import Ensured
from agnesi.ops.control.body import Body

#: What operations raise that do not fit their operands' sizes.
FAILURES = (ValueError, IndexError)


def refusing(body: Body, error: Exception, known: Callable[[Any], Any]) -> Body:
    """A body of the same operands and results, with known sizes, that raises the error."""
    def sized(n: Node) -> Any:
        return tuple([known(size) for size in n.shape])

    text = str(error).partition("\n")[0]
    subject, _, message = text.partition("): ")
    subject, message = (f"{subject})", message) if message else (body.outputs[0].op.name, text)
    op = Ensured(message, subject, type(error).__name__)
    inputs = [Node(None, (), sized(n), n.dtype, False, n.requires_grad, n.where, name=n.name)
              for n in body.inputs]
    never = graph_node(constant(False, bool_))
    outputs = []
    for n in body.outputs:
        zeros = graph_node(spread_constant(sized(n), 0, n.dtype))
        outputs.append(Node(op, (zeros, never), zeros.shape, n.dtype, False, n.requires_grad,
                            n.where))
    return Body(FunctionGraph.of(inputs, outputs))
