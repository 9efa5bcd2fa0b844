"""Gradients through calls of jitted functions: the call is one operation of the eager record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.recording import alias, enable_grad
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current, record, record_many
from agnesi.core.node import Node
from agnesi.core.op import Op
from agnesi.core.tensor import Tensor
from agnesi.core.tree import flatten
from agnesi.ops.creation import zeros


class CompiledCall(Op):
    """A call of a jitted function; its derivative is compiled too, at the first backward pass.

    Inputs are the arguments that require grad, then the tensors that the function uses without
    being given them.
    """

    name = "jit"

    def __init__(self, version: Any, leaves: Sequence[Any], arguments: Sequence[int],
                 results: Sequence[Tensor]) -> None:
        self.version = version
        self.types = [(t.shape, t.dtype) for t in results]
        self.leaves = list(leaves)
        self.arguments = list(arguments)
        self.outputs = len(results)  # type: ignore[misc]

    def label(self) -> str:
        return f"jit[{self.version.owner.name}]"

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = [g] if self.outputs == 1 else list(g)
        leaves = list(self.leaves)
        for i, x in zip(self.arguments, xs, strict=False):
            leaves[i] = x
        cotangents = [
            zeros(s, dtype=d) if v is None else v for v, (s, d) in zip(gs, self.types, strict=True)
        ]
        found = self.version.pull(leaves, cotangents, tuple(self.arguments))
        return tuple(found)


def pullback_of(version: Any) -> Any:
    """The function's own derivative: leaves of the arguments and cotangents to gradients."""
    owner, tree, parameters = version.owner, version.argument_tree, version.parameters

    def pull(leaves: list[Any], cotangents: list[Tensor], arguments: tuple[int, ...]) -> Any:
        leaves = list(leaves)
        with enable_grad():
            for i in arguments:
                leaves[i] = alias(leaves[i])
            args, keywords = tree.build(leaves)
            outputs, _ = flatten(owner.function(*args, **keywords))
        results = [v for v in outputs if isinstance(v, Tensor)]
        wrt = [current(leaves[i]) for i in arguments] + [current(p) for p in parameters]
        seeds: dict[Node, Any] = {}
        for result, g in zip(results, cotangents, strict=True):
            node = current(result)
            seeds[node] = seeds[node] + g if node in seeds else g
        found = backprop(seeds, wrt)
        shapes = [(n.shape, n.dtype) for n in wrt]
        return [found[n] if n in found else zeros(s, dtype=d)
                for n, (s, d) in zip(wrt, shapes, strict=True)]

    pull.__name__ = f"gradient of {owner.name}"
    return pull


def recorded(version: Any, leaves: Sequence[Any], results: Sequence[Tensor]) -> None:
    """Put a call into the eager record, so that gradients flow through its results."""
    arguments = [i for i, v in enumerate(leaves) if isinstance(v, Tensor) and v.requires_grad]
    xs = (*(leaves[i] for i in arguments), *version.parameters)
    op = CompiledCall(version, leaves, arguments, results)
    if op.outputs == 1:
        record(results[0], op, xs)
        return
    record_many(results, op, xs)
    for t, flows in zip(results, version.flows, strict=True):
        if not flows:
            t.node, t.requires_grad = None, False
