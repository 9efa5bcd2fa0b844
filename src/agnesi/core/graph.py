"""Closed graphs: what a function computes, with duplicates merged and all sizes known.

In: output nodes, and which nodes are inputs. Out: a ``FunctionGraph``. Nodes that a trace has just
made are changed where they are; older ones, which users may hold, are copied.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from agnesi.core.ir.dims import Dim, Shape, Size
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.node import Node, executed, toposort
from agnesi.core.op import item_of, typed
from agnesi.core.substitution import (
    born,
    copied,
    inferred,
    open_sizes,
    size_with,
    substituted,
    unify,
)
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.errors import MissingInputError, ShapeError, at
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.tensor import Tensor

#: Bytes of a constant up to which equal ones are merged.
_MERGED_BYTES = 1 << 16


# -- leaves ---------------------------------------------------------------------------------
class Held:
    """The handle of a leaf that was found to stand for a live tensor when its graph was closed."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __call__(self) -> Tensor:
        return self.tensor


def live_tensor(node: Node) -> Tensor | None:
    """The tensor that a leaf stands for; None for constants and declared inputs.

    A tensor around memory that cannot be written is as good as a constant, unless it could be when
    the graph was closed.
    """
    handle = node.handle
    if type(handle) is Held:
        return handle.tensor
    t = handle() if handle is not None else None
    if t is None or t.array is None or t._requires_grad or not _is_frozen(t.array):
        return t
    return None


def _is_frozen(memory: Any) -> bool:
    """Return whether an array and all its bases are read-only."""
    while isinstance(memory, np.ndarray):
        if memory.flags.writeable:
            return False
        memory = memory.base
    return True


def constant_value(node: Node) -> np.ndarray | None:
    """The value of a constant leaf; None for everything else."""
    if node.op is not None or live_tensor(node) is not None:
        return None
    if node.value is None and node.handle is not None:
        t = node.handle()
        return None if t is None else t.array
    return node.value


def alike(a: Node, b: Node) -> bool:
    """Return whether two nodes are the same computation on the same values."""
    pairs, seen = [(a, b)], set()
    while pairs:
        a, b = pair = pairs.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if a.op is None or b.op is None:
            first, second = constant_value(a), constant_value(b)
            if first is None or second is None or a.shape != () or b.shape != () or (
                    a.dtype != b.dtype or first.tobytes() != second.tobytes()):
                return False
        elif a.op != b.op or len(a.inputs) != len(b.inputs):
            return False
        else:
            pairs += zip(a.inputs, b.inputs, strict=True)
    return True


def constant(value: np.ndarray, where: Any = None) -> Node:
    """A constant leaf."""
    return Node(None, (), value.shape, value.dtype, value=value, where=where)


# -- merging --------------------------------------------------------------------------------
class Interner:
    """Hash consing: nodes with equal operation and inputs become one object.

    :ivar known: These objects.
    """

    def __init__(self) -> None:
        self._nodes: dict[Any, Node] = {}
        self.known: set[Node] = set()
        #: For operations by identity the first one that is equal: to compare them takes long.
        self._ops: dict[int, Any] = {}
        self._first: dict[Any, Any] = {}
        self._held: list[Any] = []

    def add(self, node: Node) -> Node:
        """The one node that computes what ``node`` does; its inputs are in here already."""
        if node in self.known:
            return node
        found = self._nodes.setdefault(self._key(node), node)
        if found is node:
            self.known.add(node)
        elif found.name is None and node.name is not None and found.op is not None:
            found.name = node.name
        return found

    def rebuilt(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """The one node for ``node``'s operation on ``inputs``, which are of the same types."""
        if inputs == node.inputs:
            return self.add(node)
        return self.add(copied(node, inputs))

    def _key(self, node: Node) -> Any:
        op = node.op
        if op is None:
            return _leaf_key(node)
        inputs = node.inputs
        if len(inputs) == 2 and "commutative" in op.traits and id(inputs[0]) > id(inputs[1]):
            inputs = inputs[::-1]
        first = self._ops.get(id(op))
        if first is None:
            first = self._first_equal(op)
        node.op = first
        return (id(first), inputs, node.shape, node.dtype)

    def _first_equal(self, op: Any) -> Any:
        """Return the representative of all operations equal to ``op``: the first that was seen."""
        try:
            first = self._first.setdefault(op, op)
        except TypeError:  # it has no hash
            first = op
        self._ops[id(op)] = first
        self._held.append(op)  # lest another one gets its identity
        return first


def _leaf_key(node: Node) -> Any:
    t = live_tensor(node)
    if t is not None:
        return ("live", id(t))
    value = constant_value(node)
    if value is None:
        return ("input", id(node))
    if value.nbytes > _MERGED_BYTES:
        return ("constant", id(value), node.shape, node.dtype)
    return ("constant", value.tobytes(), node.shape, node.dtype)


def frozen_leaf(node: Node) -> Node:
    """Return a leaf that a rewrite rule made, with a tensor that it computed or holds as a
    constant: the compiled code's arguments are known before."""
    t = None if type(node.handle) is Held else live_tensor(node)
    if t is None:
        return node
    value = t.array.copy()
    value.setflags(write=False)
    return Node(None, (), node.shape, node.dtype, value=value)


def _closed_leaf(node: Node) -> Node:
    """Return a leaf for a closed graph: a live tensor, held strongly, or a constant."""
    t = live_tensor(node)
    value = None if t is not None else constant_value(node)
    if t is None and value is None:
        missing = MissingInputError(at(_what_is_missing(node), node.where))
        missing.variable = node
        raise missing
    return Node(
        None, (), node.shape, node.dtype, requires_grad=node.requires_grad, where=node.where,
        value=value, handle=None if t is None else Held(t), name=node.name,
    )


def _what_is_missing(leaf: Node) -> str:
    """The message about a leaf without a value: a declared variable, or a forgotten constant."""
    if leaf.op is None and isinstance(leaf.handle, weakref.ref):
        return (
            f"the outputs compute again what was recorded eagerly, from a constant ({typed(leaf)}) "
            "that is gone: no derivative reads it and nothing holds it any more. Keep that tensor "
            "in a variable, or use the value of the result with .detach()"
        )
    return (
        f"the outputs depend on {leaf.name or 'a variable without a name'} ({typed(leaf)}), which "
        "is not among the inputs: add it to the inputs, or give it a value with givens"
    )


# -- closed graphs --------------------------------------------------------------------------
class FunctionGraph:
    """A closed graph: inputs, and outputs that depend on no other unknown value.

    The user's nodes are cloned, unless no one else holds them (``since``); equal computations,
    equal constants and leaves of one tensor are merged.  Graphs are immutable: every operation
    on one returns a new one.

    Parameters
    ----------
    inputs : sequence of Node
        Free variables of the function; they may be intermediate nodes of the user's graph.
    outputs : sequence of Node
        Results, updates included.
    givens : mapping of Node to Node, optional
        Replacements made first.
    since : int, optional
        Nodes with this serial number or a later one have no other owner: they are not cloned.

    Attributes
    ----------
    inputs, outputs : tuple of Node
        The graph's own nodes, in the order given.

    Raises
    ------
    MissingInputError
        If the outputs depend on a variable that is no input.

    See Also
    --------
    rewrite.rewrite, function, inspect.listing

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import rewrite, symbolic as T
    >>> x = T.vector("x")
    >>> graph = rewrite.FunctionGraph([rewrite.node_of(x)], [rewrite.node_of(x * 1 + 0)])
    >>> len(graph.outputs)
    1
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    @no_gc()
    def __init__(self, inputs: Sequence[Node], outputs: Sequence[Node],
                 givens: Mapping[Node, Node] | None = None, since: int | None = None) -> None:
        if givens:
            outputs = substituted(outputs, givens)
        interner = Interner()
        own = tuple(
            Node(None, (), n.shape, n.dtype, requires_grad=n.requires_grad, where=n.where,
                 name=n.name)
            for n in inputs
        )
        done: dict[Node, Node] = {}
        tensors: dict[int, Node] = {}
        for old, new in zip(inputs, own, strict=True):
            done.setdefault(old, interner.add(new))
            t = live_tensor(old) if old.op is None else None
            if t is not None:
                tensors.setdefault(id(t), new)
        order = toposort(outputs, done.__contains__)
        ops = {id(n.op): n.op for n in order}  # there are fewer
        meets = any([op is not None and "meets" in op.traits for op in ops.values()])
        if meets:
            order = executed(outputs, done.__contains__)
        merged: dict[Any, tuple[Node, ...]] = {}  # those that wait for processes, in order
        last: Node | None = None
        for node in order:
            if node in done:
                continue
            if node.op is not None:
                operands = tuple([done[n] for n in node.inputs])
                if meets and "meets" in node.op.traits:
                    key = node.op, operands
                    if key not in merged:
                        behind = [interner.add(item_of(done[last], 0))] if last else operands[:1]
                        merged[key] = *behind, *operands[1:]
                        last = node
                    operands = merged[key]
                if since is None or node.serial < since:
                    new = copied(node, operands)
                else:
                    new = node
                    new.inputs, new.value, new.version, new.handle = operands, None, None, None
                new.weak = False
                done[node] = interner.add(new)
            else:
                t = live_tensor(node)
                found = None if t is None else tensors.get(id(t))
                done[node] = found if found is not None else interner.add(_closed_leaf(node))
        self.inputs = own
        self.outputs = tuple(done[n] for n in outputs)
        if not merged:
            self.__dict__["nodes"] = tuple(dict.fromkeys([done[n] for n in order]))

    @classmethod
    def of(cls, inputs: Iterable[Node], outputs: Iterable[Node],
           nodes: Iterable[Node] | None = None) -> FunctionGraph:
        """A graph of nodes that are closed and merged already.

        :param inputs: Free variables.
        :type inputs: sequence of Node
        :param outputs: Results.
        :type outputs: sequence of Node
        :param nodes: All that the outputs need, operands first, where that is known.
        :type nodes: sequence of Node
        :returns: Of these very nodes.
        """
        graph = cls.__new__(cls)
        graph.inputs, graph.outputs = tuple(inputs), tuple(outputs)
        if nodes is not None:
            graph.__dict__["nodes"] = tuple(dict.fromkeys(nodes))
        return graph

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that the outputs need, inputs first."""
        return tuple(toposort(self.outputs))

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all operations."""
        return frozenset([n.op.name for n in self.nodes if n.op is not None])

    @cached_property
    def uses(self) -> Counter[Node]:
        """Number of uses of each node, as an operand or as a result."""
        return Counter(chain(*[n.inputs for n in self.nodes], self.outputs))

    @cached_property
    def clients(self) -> dict[Node, list[tuple[Node | None, int]]]:
        """The users of each node with their operand index; a graph output is the user None."""
        found: dict[Node, list[tuple[Node | None, int]]] = {n: [] for n in self.nodes}
        for node in self.nodes:
            for position, read in enumerate(node.inputs):
                found[read].append((node, position))
        for position, read in enumerate(self.outputs):
            found[read].append((None, position))
        return found

    @cached_property
    def sizes(self) -> tuple[Dim, ...]:
        """Return all sizes in shapes and parameters that are not numbers, those in bodies included.
        """
        return tuple(dict.fromkeys(open_sizes(*dict.fromkeys((*self.inputs, *self.nodes)))))

    @property
    def leaves(self) -> list[Node]:
        """The inputs, and all other leaves that the outputs need."""
        return [n for n in dict.fromkeys((*self.inputs, *self.nodes)) if n.op is None]

    @property
    def live(self) -> list[Node]:
        """Leaves that stand for live tensors: the function's implicit inputs."""
        return [n for n in self.nodes if n.op is None and n.handle is not None]

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The run-time sizes that the inputs bring along, in order."""
        return tuple(dict.fromkeys(
            name for node in self.inputs for n in node.shape if isinstance(n, Extent)
            for name in sorted(n.names(), key=str)
        ))

    def __len__(self) -> int:
        """Number of operations."""
        return sum([n.op is not None for n in self.nodes])

    def __str__(self) -> str:
        return text(self)

    @no_gc()
    def specialise(self, shapes: Mapping[Node, Sequence[int]] | None = None) -> FunctionGraph:
        """The graph for concrete sizes.

        ``shapes`` gives shapes of leaves; leaves it does not have keep theirs (live tensors: the
        present one).  All other nodes are inferred again, and complain with the user's line.

        :param shapes: Shapes of leaves.
        :returns: With numbers instead of sizes; this one where it has numbers only.
        :raises ShapeError: If a shape does not fit its leaf, or sizes that are one differ.
        """
        known: dict[Dim, Size] = {}
        done: dict[Node, Node] = {}
        same = True
        for leaf in self.leaves:
            shape = _shape_now(leaf, shapes or {})
            if not unify(leaf.shape, shape, known):
                raise ShapeError(_unfit(leaf, shape, known))
            same = same and shape == leaf.shape
            done[leaf] = _leaf_of(leaf, shape)
        if same and not self.sizes:
            return self
        sized = partial(size_with, known=known)

        def rebuild(node: Node, inputs: tuple[Node, ...]) -> Node:
            new = inferred(node, inputs, sized)
            born(node, new, known)
            return new

        before = len(known)
        found = self._mapped(done, rebuild)
        return found._with_births(known) if len(known) > before else found

    @no_gc()
    def merged(self, interner: Interner) -> FunctionGraph:
        """Return the same graph with every node interned in ``interner``.

        :param interner: Knows nodes that are equal.
        :returns: This one where nothing changed.
        :raises MissingInputError: If a leaf has no value.
        """
        done: dict[Node, Node] = {n: interner.add(n) for n in self.inputs}
        for node in toposort(self.outputs, interner.known.__contains__):
            if node in interner.known:
                done[node] = node
            elif node.op is None:
                done[node] = interner.add(_closed_leaf(node))
            else:
                node.weak = False
                done[node] = interner.rebuilt(node, tuple([done[n] for n in node.inputs]))
        outputs = tuple([done[n] for n in self.outputs])
        return self if outputs == self.outputs else FunctionGraph.of(self.inputs, outputs)

    @no_gc()
    def resolve(self, known: Callable[[Size], Size]) -> FunctionGraph:
        """The graph with ``known(size)`` instead of every size.

        :param known: The size to put instead of a size.
        :returns: This one where nothing changed.
        """
        if all(known(n) == n for n in self.sizes):
            return self
        done = {n: _leaf_of(n, tuple(map(known, n.shape))) for n in self.leaves}
        births: dict[Dim, Size] = {}

        def sized(n: Size) -> Size:
            return size_with(known(n), births) if births else known(n)

        def rebuild(node: Node, inputs: tuple[Node, ...]) -> Node:
            new = inferred(node, inputs, sized)
            born(node, new, births)
            return new

        return self._mapped(done, rebuild)._with_births(births)

    def _with_births(self, births: Mapping[Dim, Size]) -> FunctionGraph:
        """Substitute sizes that operations define by their values, which are known now."""
        if not births or all(size_with(n, births) == n for n in self.sizes):
            return self
        return self.resolve(lambda n: size_with(n, births))

    def _mapped(self, done: dict[Node, Node],
                rebuild: Callable[[Node, tuple[Node, ...]], Node]) -> FunctionGraph:
        interner = Interner()
        for leaf, new in done.items():
            done[leaf] = interner.add(new)
        for node in self.nodes:
            if node not in done:
                done[node] = interner.add(rebuild(node, tuple([done[n] for n in node.inputs])))
        return FunctionGraph.of([done[n] for n in self.inputs], [done[n] for n in self.outputs])


def _leaf_of(leaf: Node, shape: Shape) -> Node:
    return Node(None, (), shape, leaf.dtype, False, leaf.requires_grad, leaf.where, leaf.value,
                leaf.handle, leaf.name)


def _shape_now(leaf: Node, shapes: Mapping[Node, Sequence[int]]) -> tuple[int, ...]:
    given = shapes.get(leaf)
    if given is not None:
        return tuple(given)
    t = live_tensor(leaf)
    return t.shape if t is not None else leaf.shape


def _unfit(leaf: Node, shape: Shape, known: Mapping[Dim, Size]) -> str:
    sizes = ", ".join(f"{d} = {n}" for d, n in known.items() if d in leaf.shape)
    return at(
        f"{leaf.name or 'an input'} has shape {shape}, but {typed(leaf)} is declared"
        + (f" and {sizes} from elsewhere" if sizes else ""),
        leaf.where,
    )


def text(graph: FunctionGraph) -> str:
    """A line for each node: number, operation, operands, type."""
    numbers: dict[Node, str] = {}
    lines = []
    for node in toposort((*graph.inputs, *graph.outputs)):
        numbers[node] = label = f"%{len(numbers)}"
        value = constant_value(node)
        if node.op is not None:
            what = f"{node.op.label()}({', '.join(numbers[n] for n in node.inputs)})"
        elif value is not None:
            what = f"constant {value}" if value.size == 1 else "constant"
        else:
            what = f"{'input' if node in graph.inputs else 'tensor'} {node.name or ''}".rstrip()
        lines.append(f"{label} = {what} : {node.dtype}{list(node.shape)}")
        for name in node.op.bodies if node.op is not None else ():
            inner = text(getattr(node.op, name).graph).splitlines()
            lines += [f"    {name}:", *(f"    {line}" for line in inner)]
    lines.append("return " + ", ".join(numbers[n] for n in graph.outputs))
    return "\n".join(lines)
