"""Elementwise operations on symbols whose types agree become nodes at once.

What `elementwise.call` decides on its way (what begins a program, what is converted to which dtype,
what views which memory) has one answer there. Most nodes of a trace are made so.
"""

from __future__ import annotations

from typing import Any

from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node
from agnesi.core.storage.memory_order import note_memory_order
from agnesi.core.support import dtypes
from agnesi.core.support.config import MODE, Mode
from agnesi.core.support.errors import user_where
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.convert import number

#: By type of a Python number: the kinds of dtypes that it takes on in an operation with an array.
_TAKING = {float: "fcV", int: "iufcV"}


def node_at_once(op: Any, xs: tuple[Any, ...]) -> Tensor | None:
    """The result of an elementwise operation as a symbol; None where the long way has to look.

    :param op: The operation.
    :type op: Elementwise
    :param xs: Its operands as the user gave them.
    """
    mode = MODE.get()
    trace = mode.trace
    if mode.examples is not None or op.whole or "raises" in op.traits or (
            trace is not None and not (trace.keeps_nodes and trace.of_values)):
        return None
    operands = xs if type(xs[0]) is type(xs[-1]) is Tensor else _with_number(xs, trace)
    if operands is None:
        return None
    nodes: list[Node] = []
    shape: Any = ()
    dtype: Any = None
    for x in operands:
        node = _held(x) if x.array is None or trace is None else current(x)
        if node is None or (dtype is not None and node.dtype is not dtype):
            return None
        dtype = node.dtype
        if node.shape != shape and node.shape:
            if shape:
                return None
            shape = node.shape
        nodes.append(node)
    if dtype.kind not in op.kinds and not (dtype.kind == "V" and "f" in op.kinds):
        return None
    return _noted(op, operands, tuple(nodes), shape, dtype, mode)


def _held(x: Tensor) -> Node | None:
    """The node that a symbol holds; None where it is to be looked for, or decides over no dtype."""
    node = x.node
    if x.array is not None or x._view is not None or node is None or node.weak or (
            x._requires_grad and not node.requires_grad):
        return None
    return node


def _with_number(xs: tuple[Any, ...], trace: Any) -> tuple[Tensor, ...] | None:
    """A tensor and a number of Python's that takes its dtype, as tensors; None for all else."""
    if trace is None or len(xs) != 2:
        return None
    first, second = xs
    position = 1 if type(first) is Tensor else 0
    x, scalar = (first, second) if position else (second, first)
    if type(x) is not Tensor or x.weak or x.dtype.kind not in _TAKING.get(type(scalar), ""):
        return None
    key = x.dtype, type(scalar), scalar or str(scalar)  # -0.0 is not 0.0
    found = trace.numbers.get(key)
    if found is None:
        try:
            found = trace.numbers[key] = number(scalar, x.dtype)
        except OverflowError:
            return None
    return (x, found) if position else (found, x)


def _noted(op: Any, operands: tuple[Tensor, ...], nodes: tuple[Node, ...], shape: Any, dtype: Any,
           mode: Mode) -> Tensor:
    """The result, as the trace under way takes it down."""
    result = op.result
    if result != "same":
        dtype = dtypes.bool_ if result == "bool" else dtypes.real_of(dtype)
    flows = mode.recording and op.differentiable and dtype.kind in "fcV" and (
        True in [n.requires_grad for n in nodes])
    where = mode.line or user_where(4) if mode.placing else None
    t = symbol(Node(op, nodes, shape, dtype, False, flows, where))
    trace = mode.trace
    if trace is not None:
        if trace.laid or [x for x in operands if x.array is not None]:
            note_memory_order(t, op, operands)
        if flows:
            trace.reads.kept[t.node] = *operands, t
    return t
