"""Gradients through calls of jitted functions: the call is one operation of the eager record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnesi.autodiff.recording import alias, enable_grad
from agnesi.autodiff.reverse import backprop
from agnesi.core.dispatch import current, record, record_many
from agnesi.core.graph import live_tensor
from agnesi.core.node import Node
from agnesi.core.op import Op
from agnesi.core.tensor import Tensor
from agnesi.core.tree import flatten
from agnesi.ops.creation import zeros


class CompiledCall(Op):
    """A call of a jitted function; its derivative is compiled too, at the first backward pass.

    Inputs are the arguments that require grad, then the tensors to which the function's gradients
    go without being given them, and then all other tensors that it reads.
    """

    name = "jit"

    def __init__(self, version: Any, leaves: Sequence[Any], arguments: Sequence[int],
                 others: Sequence[int], results: Sequence[Tensor]) -> None:
        self.version = version
        self.types = [(t.shape, t.dtype) for t in results]
        self.leaves = list(leaves)
        self.arguments = tuple(arguments)
        self.others = tuple(others)
        self.outputs = len(results)  # type: ignore[misc]

    def label(self) -> str:
        return f"jit[{self.version.owner.name}]"

    def needs(self, i: int, inputs: Any) -> bool:
        """Whether the compiled derivative reads an input; asked where it was changed."""
        cotangents = [zeros(s, dtype=d) for s, d in self.types]
        leaves, tree = flatten(((self.leaves, cotangents, self.arguments), {}))
        pull = self.version.pull.version(leaves, tree)
        graph = pull.compiled.graph
        read = set(graph.nodes)
        count = len(self.arguments)
        if count <= i < len(inputs) - len(self.others):
            tensors = {id(live_tensor(n)) for n in graph.live}
            return id((*self.version.parameters, *self.version.read)[i - count]) in tensors
        place = self.arguments[i] if i < count else self.others[i - len(inputs)]
        return graph.inputs[pull.arrays.index(place)] in read

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs = [g] if self.outputs == 1 else list(g)
        leaves = list(self.leaves)
        for i, x in zip(self.arguments, xs, strict=False):
            if x.data is not None:  # else it was changed, and is not read
                leaves[i] = x
        found = self.version.pull(leaves, gs, self.arguments)
        return (*found, *(None for _ in xs[len(found):]))


def pullback_of(version: Any) -> Any:
    """The function's own derivative: leaves of the arguments and cotangents to gradients."""
    owner, tree, parameters = version.owner, version.argument_tree, version.parameters

    def pull(leaves: list[Any], cotangents: list[Any], arguments: tuple[int, ...]) -> Any:
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
            if g is not None:
                node = current(result)
                seeds[node] = seeds[node] + g if node in seeds else g
        found = backprop(seeds, wrt, wrt)  # on values, one may depend on another
        return [found.get(n) for n in wrt]

    pull.__name__ = f"gradient of {owner.name}"
    return pull


def recorded(version: Any, leaves: Sequence[Any], results: Sequence[Tensor]) -> None:
    """Put a call into the eager record, so that gradients flow through its results."""
    tensors = [i for i, v in enumerate(leaves) if isinstance(v, Tensor)]
    arguments = [i for i in tensors if leaves[i].requires_grad]
    others = [i for i in tensors if not leaves[i].requires_grad]
    xs = (*(leaves[i] for i in arguments), *version.parameters, *version.read,
          *(leaves[i] for i in others))
    op = CompiledCall(version, leaves, arguments, others, results)
    if op.outputs == 1:
        record(results[0], op, xs)
        return
    record_many(results, op, xs)
    for t, flows in zip(results, version.flows, strict=True):
        if not flows:
            t.node, t.requires_grad = None, False
