"""Containers of Torch7's kind: modules side by side, on tables, and in graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.op import typed
from agnesi.core.shapes import fits
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.containers import ModuleList
from agnesi.nn.base.module import Module
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.ensure import ensured_sizes
from agnesi.ops.indexing.index import select
from agnesi.ops.indexing.join import concat


class Concat(ModuleList):
    """Call several modules on the same input and concatenate their results along an axis.

    :param dim: The axis.
    :param *modules: The modules.
    :see: nn.ConcatTable, nn.Parallel, nn.Sequential

    >>> ag.nn.Concat(1, ag.nn.Linear(3, 2), ag.nn.Linear(3, 4))(ag.ones((5, 3))).shape
    (5, 6)
    """

    def __init__(self, dim: int, *modules: Module) -> None:
        super().__init__(modules)
        self.dim = dim

    def __getitem__(self, i: int | slice) -> Any:
        return type(self)(self.dim, *self.entries[i]) if isinstance(i, slice) else self.entries[i]

    def __add__(self, other: Iterable[Module]) -> Concat:
        return type(self)(self.dim, *self.entries, *other)

    def forward(self, x: Tensor) -> Tensor:
        return concat([module(x) for module in self.entries], self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class ConcatTable(ModuleList):
    """Call several modules on the same input; the result is the tuple of theirs.

    :param *modules: The modules.
    :see: nn.Concat, nn.ParallelTable

    >>> one, two = ag.nn.ConcatTable(ag.nn.Linear(3, 2), ag.nn.Tanh())(ag.ones((5, 3)))
    >>> one.shape, two.shape
    ((5, 2), (5, 3))
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def __getitem__(self, i: int | slice) -> Any:
        return type(self)(*self.entries[i]) if isinstance(i, slice) else self.entries[i]

    def __add__(self, other: Iterable[Module]) -> ConcatTable:
        return type(self)(*self.entries, *other)

    def forward(self, x: Any) -> tuple[Any, ...]:
        return tuple(module(x) for module in self.entries)


class ParallelTable(ConcatTable):
    """Call one module on each entry of a tuple or list; the result is the tuple of theirs.

    :param *modules: The modules.
    :see: nn.Parallel, nn.ConcatTable

    >>> net = ag.nn.ParallelTable(ag.nn.Linear(3, 2), ag.nn.Linear(4, 2))
    >>> [y.shape for y in net((ag.ones((5, 3)), ag.ones((5, 4))))]
    [(5, 2), (5, 2)]
    """

    def forward(self, x: Sequence[Any]) -> tuple[Any, ...]:
        if len(x) != len(self.entries):
            raise ValueError(at(f"ParallelTable: {len(self.entries)} modules need as many entries, "
                                f"not {len(x)}"))
        return tuple(module(part) for module, part in zip(self.entries, x, strict=True))


class Parallel(Concat):
    """Call one module on each slice along an axis, and concatenate the results along another.

    :param input_dim: The axis of the input, which has as many slices as there are modules.
    :param output_dim: The axis of the results, which have no ``input_dim``.
    :param *modules: The modules.
    :see: nn.Concat, nn.ParallelTable

    >>> net = ag.nn.Parallel(1, 1, ag.nn.Linear(3, 2), ag.nn.Linear(3, 4))
    >>> net(ag.ones((5, 2, 3))).shape
    (5, 6)
    """

    def __init__(self, input_dim: int, output_dim: int, *modules: Module) -> None:
        super().__init__(output_dim, *modules)
        self.input_dim = input_dim

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return type(self)(self.input_dim, self.dim, *self.entries[i])
        return self.entries[i]

    def __add__(self, other: Iterable[Module]) -> Parallel:
        return type(self)(self.input_dim, self.dim, *self.entries, *other)

    def forward(self, x: Tensor) -> Tensor:
        x = as_tensor(x)
        text = (f"{len(self.entries)} modules need as many slices along axis {self.input_dim}, "
                f"which {typed(x)} has not")
        sizes, wanted = x.shape[self.input_dim:][:1], (len(self.entries),)
        if not fits(sizes, wanted):
            raise ShapeError(at(f"Parallel: {text}"))
        x = ensured_sizes("Parallel", x, sizes, wanted, text)
        return concat([module(select(x, self.input_dim, i))
                       for i, module in enumerate(self.entries)], self.dim)

    def extra_repr(self) -> str:
        return f"input_dim={self.input_dim}, output_dim={self.dim}"


class Graph(Module):
    """A network of named nodes that take each other's results, also those of the step before.

    Parameters
    ----------
    nodes : mapping of str to tuple
        For each name a module or function, and the names of what it gets: inputs, nodes in any
        order, or ``"name@before"``, a node of the step before.
    inputs : sequence of str
        Names of the arguments of a call.
    outputs : str or sequence of str
        What a call gives.

    Attributes
    ----------
    order : list of str
        The nodes, each behind those that it needs.
    delayed : list of str
        Nodes that are needed in the next step.

    Raises
    ------
    ValueError
        If a name is unknown or there twice, or nodes need each other in one step.
    TypeError
        If a node is no tuple.

    See Also
    --------
    nn.Sequential, nn.ConcatTable

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> net = nn.Graph({
    ...     "left": (nn.Linear(3, 2), "x"), "right": (nn.Linear(3, 2), "x"),
    ...     "sum": (lambda a, b: a + b, "left", "right"),
    ... }, ["x"], "sum")
    >>> net(ag.ones((5, 3))).shape
    (5, 2)

    A loop gives what the next step needs, too:

    >>> loop = nn.Graph({"h": (nn.RNNCell(3, 4), "x", "h@before")}, ["x"], "h")
    >>> y, state = loop(ag.ones((5, 3)), state={"h": ag.zeros((5, 4))})
    >>> y, state = loop(ag.ones((5, 3)), state=state)
    """

    def __init__(self, nodes: Mapping[str, tuple[Any, ...]], inputs: Sequence[str],
                 outputs: str | Sequence[str]) -> None:
        for name, node in nodes.items():
            if not isinstance(node, (tuple, list)) or not node:
                raise TypeError(at(f"Graph: node {name!r} must be (module, *names of what it "
                                   f"gets), not {typed(node)}"))
        self.nodes: dict[str, Callable[..., Any]] = {n: node[0] for n, node in nodes.items()}
        self.edges = {name: tuple(node[1:]) for name, node in nodes.items()}
        self.inputs = tuple(inputs)
        self.outputs = outputs if isinstance(outputs, str) else tuple(outputs)
        wanted = [n for edge in self.edges.values() for n in edge]
        self.delayed = sorted({n.removesuffix("@before") for n in wanted if n.endswith("@before")})
        known = {*self.inputs, *self.nodes}
        given = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        unknown = sorted({*wanted, *given, *self.delayed} - known
                         - {f"{n}@before" for n in self.nodes})
        if unknown or len(known) < len(self.inputs) + len(self.nodes):
            raise ValueError(at(f"Graph: names {unknown or sorted(self.inputs)} are unknown or "
                                f"there twice; known are {sorted(known)}"))
        self.order = self._sorted()

    def _sorted(self) -> list[str]:
        order: list[str] = []
        done = set(self.inputs)
        rest = list(self.nodes)
        while rest:
            ready = [n for n in rest if all(
                e in done or e.endswith("@before") for e in self.edges[n])]
            if not ready:
                raise ValueError(at(f"Graph: {rest} need each other in one step: write "
                                    "'name@before' for the value of the step before"))
            order += ready
            done.update(ready)
            rest = [n for n in rest if n not in done]
        return order

    def forward(self, *inputs: Any, state: Mapping[str, Any] | None = None) -> Any:
        """Return the outputs; with delayed nodes a pair of them and the next state.

        :param *inputs: As many as there are names.
        :param state: The delayed nodes in the step before.
        :type state: mapping of str to Tensor, optional
        :returns: A result, a tuple of several, or a pair of it and the next state.
        :raises ValueError: If there are more or fewer inputs, or the state is incomplete.
        """
        if len(inputs) != len(self.inputs):
            raise ValueError(at(f"Graph: the inputs are {self.inputs}, and {len(inputs)} are "
                                "given"))
        missing = [n for n in self.delayed if n not in (state or {})]
        if missing:
            raise ValueError(at(f"Graph: the first step needs state={{name: value}} for {missing}"))
        found = dict(zip(self.inputs, inputs, strict=True))
        found |= {f"{name}@before": value for name, value in (state or {}).items()}
        for name in self.order:
            found[name] = self.nodes[name](*(found[e] for e in self.edges[name]))
        wanted = self.outputs
        result = found[wanted] if isinstance(wanted, str) else tuple(found[n] for n in wanted)
        return (result, {n: found[n] for n in self.delayed}) if self.delayed else result
