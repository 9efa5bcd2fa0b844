"""Rules for loops and branches; what they do is loaded where a graph has some."""

from __future__ import annotations

from collections.abc import Callable

from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.node import Node
from agnesi.rewrite.rules import Book, GraphRule, InsideRule

BOOK = Book()
Improve = Callable[[FunctionGraph], FunctionGraph]


def _loops(graph: FunctionGraph, improve: Improve) -> FunctionGraph:
    from agnesi.rewrite.control.loops import loops

    return loops(graph, improve)


def _loops_again(graph: FunctionGraph, improve: Improve) -> FunctionGraph:
    from agnesi.rewrite.control.loops import loops_again

    return loops_again(graph, improve)


def _branches(graph: FunctionGraph) -> FunctionGraph:
    from agnesi.rewrite.control.branches import branches

    return branches(graph)


BOOK.add(InsideRule("loops", "canonicalize", (), ("scan",), inside=_loops))
BOOK.add(InsideRule("loops_again", "specialize", (), ("scan",), inside=_loops_again))


@BOOK.rewriter("canonicalize", ops=["while_loop"])
def invariants_of_while(node: Node) -> Node | None:
    """Move loop-invariant values out of the body of a while loop."""
    from agnesi.rewrite.control.whiles import without_invariants

    return without_invariants(node)


BOOK.add(GraphRule("branches", "canonicalize", (), ("cond", "while_loop"), _branches))
