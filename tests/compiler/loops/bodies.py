"""Bodies of loops written as functions of tensors, and loops run compiled against the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.core.op import Op
from agnesi.core.tensor import symbol
from agnesi.ops.control.body import Body
from agnesi.ops.control.loop import applied

Type = tuple[tuple[int, ...], str]


def body(function: Callable[..., Any], *types: Type) -> Body:
    """The graph of a function of tensors of these shapes and dtypes; it returns a tuple."""
    inputs = [Node(None, (), shape, np.dtype(dtype)) for shape, dtype in types]
    return Body(FunctionGraph(inputs, [graph_node(y) for y in function(*map(symbol, inputs))]))


def results(op: Op, *xs: ag.Tensor) -> tuple[ag.Tensor, ...]:
    """All results of a loop."""
    return applied(op, *xs)


def check(op: Op, *arrays: Any, tolerance: float = 1e-9, **settings: Any) -> Any:
    """The loop compiled, after its values were compared with those of the interpreter."""
    arrays = tuple(np.asarray(a) for a in arrays)
    compiled = ag.jit(lambda *xs: results(op, *xs), **settings)
    found = compiled(*map(ag.tensor, arrays))
    wanted = op.perform(*arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a.numpy(), b, rtol=tolerance, atol=tolerance)
    return compiled


def kinds(compiled: Any) -> list[str]:
    """The kinds of a compiled function's kernels, in order; those of loops are in brackets."""
    return [_kind(k) for k in compiled._last().scheduled.layout.kernels]


def _kind(kernel: Any) -> str:
    inner = [_kind(k) for block in kernel.blocks() for k in block.kernels]
    return type(kernel).__name__ + (f"[{' '.join(inner)}]" if kernel.blocks() else "")


def scans(compiled: Any) -> list[Node]:
    """The scans of a compiled function's graph, in order."""
    return [n for n in compiled.graph.nodes if n.op is not None and n.op.name == "scan"]


def inside(scan: Node) -> list[str]:
    """The names of the operations in a scan's body."""
    return [n.op.name for n in scan.op.body.graph.nodes if n.op is not None]
