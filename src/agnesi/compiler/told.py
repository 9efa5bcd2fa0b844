"""Sizes of jitted functions that values tell: computed before a call, and then sizes like others.

Where a trace needs the size that an integer scalar is (``x[:n]`` with a tensor ``n``), it is given
up, and what computes the scalar from the arguments becomes a function of its own.  From then on
that runs before each call; its result is the size of one more argument, without elements, so that a
version is for a size, or takes it at run time, as with all sizes.  Where Python has decided by
values before (``compiler.decisions``), the function does so, too, and tells nothing on other ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from agnesi.compiler.compiled import Compiled
from agnesi.compiler.containers import CARRIERS, MISSED, missed
from agnesi.compiler.leaves import plain
from agnesi.core.errors import ShapeError, at
from agnesi.core.graph import FunctionGraph, alike, constant_value
from agnesi.core.node import Node


class SizeWanted(BaseException):
    """A trace needs a size that a value tells."""

    def __init__(self, outputs: Sequence[Node], place: int, most: Any) -> None:
        super().__init__()
        #: The scalar, and what exists on the way only on which it is asked for (``Decisions``).
        self.outputs, self.most = outputs, most
        #: Which of the sizes that values tell it is, in the order in which they are asked for.
        self.place = place
        #: The arguments before it; and what makes the function that computes it, of exact sizes.
        self.inputs: Sequence[Node] = ()
        self.make: Callable[[], Computed] | None = None


class Told:
    """The sizes that values tell, one by one as a trace asks for them.

    Parameters
    ----------
    arguments : sequence
        What native code takes.
    symbols : sequence
        The arguments in the trace, behind them those without elements whose sizes are told.
    inputs : sequence of Node
        Those that are tensors.
    known : sequence of Computed
        What computes the sizes.
    exact : bool
        Whether sizes are the numbers that they were when the computations were found.
    """

    def __init__(self, arguments: Sequence[Any], symbols: Sequence[Any], inputs: Sequence[Node],
                 known: Sequence[Computed], exact: bool) -> None:
        self.arguments, self.inputs, self.known, self.exact = arguments, inputs, known, exact
        self.sizes = [s.shape[0] for s in symbols[len(symbols) - len(known):]]
        #: The scalars of which the size was asked, and that.
        self.asked: list[tuple[Node, Any]] = []

    def next(self, node: Node, most: Any, token: Node | None) -> Any:
        """The size that a scalar tells; the same for scalars that are computed alike.

        ``token`` exists where Python decides as it did so far (``Decisions.token``).
        """
        for asked, size in self.asked:
            if alike(asked, node):
                return size
        place = len(self.asked)
        outputs = [node] if token is None else [node, token]
        if place < len(self.sizes) and self.known[place].computes(self.inputs, outputs, self.exact):
            self.asked.append((node, self.sizes[place]))
            return self.sizes[place]
        raise SizeWanted(outputs, place, most)

    @contextmanager
    def found(self, owner: Any) -> Iterator[None]:
        """A block in which a trace runs, behind which a size that is wanted can be computed."""
        try:
            yield
        except SizeWanted as wanted:
            if self.exact:
                later = len(self.known) - wanted.place
                wanted.inputs = self.inputs[: len(self.inputs) - later]
                wanted.make = partial(Computed, self.arguments[: len(self.arguments) - later],
                                      wanted.inputs, wanted.outputs, owner, wanted.most)
            raise


class Computed:
    """The function that computes a size from the arguments of a call.

    Parameters
    ----------
    arguments : sequence
        What native code takes.
    inputs : sequence of Node
        The arguments that are tensors.
    outputs : sequence of Node
        The scalar, and what exists only where Python decides as it did until it was asked for.
    owner : object
        The jitted function.
    most : int, optional
        Of a size that data decides, the most that it may be.
    """

    def __init__(self, arguments: Sequence[Any], inputs: Sequence[Node], outputs: Sequence[Node],
                 owner: Any, most: int | None = None) -> None:
        self.most = most
        self.graph = graph = FunctionGraph(inputs, outputs)
        #: Which of the computations it is that are alike but for sizes of arguments.
        self.number = 0
        #: Whether tensors that it reads are made anew in each trace, and so known by their values.
        self.fresh = False
        self.places = [i for i, a in enumerate(arguments) if a.kind != "identity"]
        self.compiled = Compiled(
            arguments, graph, 1, [], result="single", wrap=[False], settings=owner.settings,
            name=f"sizes of {owner.name}", slow=missed,
        )

    def computes(self, inputs: Sequence[Node], outputs: Sequence[Node], exact: bool) -> bool:
        """Whether it computes what nodes of a later trace do."""
        graph = FunctionGraph(inputs, outputs)
        return len(graph.nodes) == len(self.graph.nodes) and _text(
            graph, exact, self.fresh) == _text(self.graph, exact, self.fresh)

    def carrier(self, leaves: Sequence[Any]) -> np.ndarray | None:
        """An argument without elements whose size is the value now; None where Python decides
        otherwise before it asks for that."""
        self.compiled.follow()
        values = list(leaves)
        for i in self.places:
            values[i] = plain(leaves[i])
        size = self.compiled.run(*values)
        if size is MISSED:
            return None
        found: np.ndarray | None = CARRIERS[int(size)]
        if found is None:
            raise ShapeError(at(f"{size} decides the size of a result, so it must not be negative"))
        return found


def _text(graph: FunctionGraph, exact: bool, fresh: bool) -> list[Any]:
    """What a graph computes; not exactly, where sizes are others."""
    numbers = {n: i for i, n in enumerate(graph.nodes)}
    places = {n: i for i, n in enumerate(graph.inputs)}
    found: list[Any] = []
    for node in graph.nodes:
        if node.op is not None:
            what: Any = node.op.label() if exact else node.op.name
        elif node in places:
            what = places[node]
        else:
            value = constant_value(node)
            t: Any = node.handle() if value is None else None  # type: ignore[misc]
            what = (t.data.tobytes() if fresh else id(t)) if value is None else value.tobytes()
        found.append((what, [numbers[n] for n in node.inputs], node.dtype))
    return found
