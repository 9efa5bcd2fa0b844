"""The summary of a model for an input: shapes, parameters, multiply-adds and bytes by layer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agnesi.autodiff.recording import enable_grad
from agnesi.core.ir.dims import product
from agnesi.core.ir.node import Node, next_serial
from agnesi.core.support import tree
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module

_HEADS = ("layer", "output", "parameters", "multiply-adds", "bytes")


class Line(NamedTuple):
    """One call of a layer.

    :param name: Its path from the model; empty for the model itself.
    :type name: str
    :param kind: Its class.
    :type kind: str
    :param shapes: Of the tensors that it gives.
    :type shapes: list of tuple of int
    :param parameters: Elements of its parameters, with those inside.
    :type parameters: int
    :param multiply_adds: In matrix products and convolutions, with those inside.
    :type multiply_adds: int
    :param nbytes: Of what it gives.
    :type nbytes: int
    :see: nn.summary

    >>> ag.nn.summary(ag.nn.Linear(2, 3), ag.ones((1, 2))).lines[0].multiply_adds
    6
    """

    name: str
    kind: str
    shapes: list[tuple[int, ...]]
    parameters: int
    multiply_adds: int
    nbytes: int


class Summary(NamedTuple):
    """All calls of layers, in the order in which they ended; the model itself comes last.

    :param lines: One for each call.
    :type lines: list of Line
    :see: nn.summary

    >>> ag.nn.summary(ag.nn.Sequential(ag.nn.Linear(2, 3), ag.nn.Tanh()), ag.ones((1, 2)))
    layer       output  parameters  multiply-adds  bytes
    0 (Linear)  (1, 3)           9              6     12
    1 (Tanh)    (1, 3)           0              0     12
    Sequential  (1, 3)           9              6     12
    """

    lines: list[Line]

    @property
    def parameters(self) -> int:
        """How many elements all parameters have."""
        return self.lines[-1].parameters

    @property
    def multiply_adds(self) -> int:
        """How many multiply-adds matrix products and convolutions of the whole model do."""
        return self.lines[-1].multiply_adds

    @property
    def nbytes(self) -> int:
        """Bytes of the outputs of all layers that hold no other layers."""
        outer = {line.name.rpartition(".")[0] for line in self.lines}
        return sum(line.nbytes for line in self.lines if line.name not in outer)

    def __str__(self) -> str:
        rows = [_HEADS, *map(_row, self.lines)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(w) if k < 2 else cell.rjust(w)
                      for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip()
            for row in rows)

    def __repr__(self) -> str:
        return str(self)


def _row(line: Line) -> tuple[str, ...]:
    name = f"{line.name} ({line.kind})" if line.name else line.kind
    shapes = ", ".join(map(str, line.shapes))
    return name, shapes, f"{line.parameters:,}", f"{line.multiply_adds:,}", f"{line.nbytes:,}"


def summary(model: Module, *inputs: Any, **keywords: Any) -> Summary:
    """Call a model once, and list the outputs and the costs of every layer.

    :param model: The model; it is called as in evaluation mode, and nothing of it changes.
    :param *inputs: Its arguments.
    :param **keywords: Its arguments by name.
    :returns: A table when printed.
    :raises TypeError: If arguments are missing, or sizes are given for them.
    :see: nn.Module

    >>> net = ag.nn.Sequential(ag.nn.Conv2d(1, 4, 3), ag.nn.ReLU(), ag.nn.Flatten())
    >>> found = ag.nn.summary(net, ag.ones((1, 1, 5, 5)))
    >>> found.parameters, found.multiply_adds, found.lines[0].shapes
    (40, 324, [(1, 4, 3, 3)])
    """
    _check_inputs(model, inputs, keywords)
    lines: list[Line] = []
    began: list[int] = []
    handles = []
    modes = [(m, m.training) for m in model.modules()]

    def begin(module: Module, args: Any) -> None:
        began.append(next_serial())

    def watched(name: str) -> Any:
        def end(module: Module, args: Any, output: Any) -> None:
            tensors = [t for t in tree.flatten(output)[0] if isinstance(t, Tensor)]
            lines.append(Line(
                name, type(module).__name__, [tuple(t.shape) for t in tensors],
                sum(int(product(p.shape)) for p in module.parameters()),
                _multiply_adds(tensors, began.pop()),
                sum(int(product(t.shape)) * t.dtype.itemsize for t in tensors)))

        return end

    try:
        for module, _ in modes:
            module._training = False
        for name, module in model.named_modules():
            handles.append(module.register_forward_pre_hook(begin))
            handles.append(module.register_forward_hook(watched(name)))
        with enable_grad():
            model(*(_followed(x) for x in inputs), **keywords)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module._training = training
    return Summary(lines)


def _check_inputs(model: Module, inputs: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
    """Refuse a call without inputs, and the sizes that torchinfo and Keras take for them."""
    sizes = [x for x in (*inputs, keywords.get("input_size"))
             if isinstance(x, (tuple, list)) and x and all(type(n) is int for n in x)]
    wanted = f"summary({type(model).__name__}): give the model's inputs themselves, as in "
    if sizes:
        raise TypeError(at(f"{wanted}summary(model, ag.zeros({tuple(sizes[0])})), not their sizes"))
    if not inputs and not keywords and "forward" not in vars(model):
        try:
            inspect.signature(model.forward).bind()
        except TypeError:
            raise TypeError(at(f"{wanted}summary(model, x)")) from None


def _followed(x: Any) -> Any:
    """An input whose uses are recorded."""
    if isinstance(x, Tensor) and x.dtype.kind in "fcV" and not x._requires_grad:
        return x.detach().requires_grad_()
    return x


def _multiply_adds(outputs: list[Tensor], began: int) -> int:
    """Those of all recorded operations behind a moment that outputs depend on."""
    return sum(map(_cost, _behind([t.node for t in outputs if t.node is not None], began)))


def _behind(nodes: list[Node], began: int) -> Iterator[Node]:
    seen: set[int] = set()
    while nodes:
        node = nodes.pop()
        if id(node) in seen or abs(node.serial) <= began or node.op is None:
            continue
        seen.add(id(node))
        yield node
        nodes.extend(node.inputs)


def _cost(node: Node) -> int:
    """Products of one operation that are added up."""
    shapes = [i.shape for i in node.inputs]
    name = node.op.name
    if name in ("matmul", "linear"):
        return int(product(node.shape)) * int(shapes[0][-1])
    if name == "conv":
        return int(product(node.shape)) * int(product(shapes[1][1:]))
    return 0
