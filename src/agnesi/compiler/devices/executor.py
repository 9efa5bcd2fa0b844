"""Operations and jitted functions on tensors of a device: compiled once for each signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.compilation.compiled import Compiled, Settings
from agnesi.compiler.tracing.closing import closed
from agnesi.compiler.tracing.trace import Trace, stand_in, tracing
from agnesi.core.backend import BACKENDS, Storage
from agnesi.core.dispatch import current, node_of_type
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node, next_serial
from agnesi.core.op import Op, item_of, typed
from agnesi.core.storage.device_tensors import PlacedTensor, device_of, moved
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import DeviceError, at, call_user
from agnesi.core.support.tree import Tree, flatten
from agnesi.core.tensor import Tensor

#: Shape and dtype of an operand.
Type = tuple[tuple[int, ...], np.dtype]
#: Programs that are kept.
_KEPT = 512


def execute(op: Op, xs: Sequence[Tensor]) -> Any:
    """The result of an operation, on the device of its operands; a tuple where it has several."""
    device = _device(xs)
    if STATE.recording and op.differentiable and any(x._requires_grad for x in xs):
        raise DeviceError(at(f"{op.name}: gradients on the device {device!r} are computed inside "
                             "of a jitted function"))
    run = _of_op(device, op, tuple([(x.shape, x.dtype) for x in xs]))
    return run(*[_memory(x, device) for x in xs])


def call(function: Callable[..., Any], settings: Settings, name: str, leaves: Sequence[Any],
         tree: Tree, known: dict[Any, Any]) -> Any:
    """The result of a function on arguments of which some are on a device.

    Programs are kept in ``known``.
    """
    device = _device([x for x in leaves if isinstance(x, Tensor)])
    key = device, tree, tuple([(x.shape, x.dtype) if isinstance(x, Tensor) else (type(x), x)
                               for x in leaves])
    if key not in known:
        known[key] = _of_function(device, function, settings, name, leaves, tree)
    run, built = known[key]
    return built(run(*[_memory(x, device) for x in leaves if isinstance(x, Tensor)]))


def _device(xs: Sequence[Tensor]) -> str:
    """The device that all operands are on, but for numbers."""
    found = dict.fromkeys([device_of(x) for x in xs if isinstance(x, PlacedTensor) or x.shape])
    if len(found) > 1:
        raise DeviceError(at(
            f"operands are on the devices {' and '.join(map(repr, found))}: "
            f"{', '.join(map(typed, xs))}; move them to one with .to(...)"))
    return next(iter(found))


def _memory(x: Tensor, device: str) -> Storage:
    """The memory of an operand; numbers come from the host."""
    return moved(x.detach() if x.requires_grad else x, device).storage  # type: ignore[attr-defined]


@functools.lru_cache(_KEPT)
def _of_op(device: str, op: Op, types: tuple[Type, ...]) -> Callable[..., Any]:
    inputs = tuple([Node(None, (), shape, dtype) for shape, dtype in types])
    node = node_of_type(op, inputs, op.infer(*inputs), None)
    if op.outputs == 1:
        return _program(device, Settings(), op.name, FunctionGraph(inputs, [node]))
    items = [item_of(node, i) for i in range(op.outputs)]
    return _program(device, Settings(), op.name, FunctionGraph(inputs, items), "tuple")


def _of_function(device: str, function: Callable[..., Any], settings: Settings, name: str,
                 leaves: Sequence[Any], tree: Tree) -> tuple[Any, Any]:
    """Trace a function of ``leaves`` and return its program for the device, and the function that
    builds the user's results from those of the program."""
    symbols = [stand_in(x.shape, x.dtype) if isinstance(x, Tensor) else x for x in leaves]
    args, keywords = tree.build(symbols)
    inputs: list[Any] = [s.node for s in symbols if isinstance(s, Tensor)]
    trace, since = Trace([s for s in symbols if isinstance(s, Tensor)], name), next_serial()
    with tracing(trace):
        outputs, shape = flatten(call_user(function, args, keywords, "jit"))
        indices = [i for i, v in enumerate(outputs) if isinstance(v, Tensor)]
        nodes = [current(outputs[i]) for i in indices]
    changed = any(s.node is not n for s, n in zip(
        [s for s in symbols if isinstance(s, Tensor)], inputs, strict=True))
    if changed or [*trace.changed()]:
        raise DeviceError(at(f"{name} changes tensors in place, which the device {device!r} does "
                             "not do: return new ones"))
    run = _program(device, settings, name, closed(inputs, nodes, since), "tuple")

    def built(found: Sequence[Any]) -> Any:
        made = [*outputs]
        for i, v in zip(indices, found, strict=True):
            made[i] = v
        return shape.build(made)

    return run, built


def _program(device: str, settings: Settings, name: str, graph: FunctionGraph,
             result: str = "single") -> Callable[..., Any]:
    from agnesi.runtime.entry import Arg

    count = len(graph.outputs)
    arguments = [Arg("array", n.dtype.name, n.shape) for n in graph.inputs]
    made = Compiled(arguments, graph, count, [], result, [True] * count, settings, None, name,
                    on=BACKENDS[device]())
    run: Callable[..., Any] = made.run
    return run
