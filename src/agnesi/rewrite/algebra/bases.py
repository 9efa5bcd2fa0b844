"""Values near 0 in which sums are expanded, and what others are in terms of them.

``r * exp(r * t) / t - (exp(r * t) - 1) / t**2`` is a function of ``u = r * t`` alone over ``t**2``,
once ``u / t`` stands for r; ``2 * (j * x)`` and ``(2 * j) * x`` are multiples of ``j * x``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from decimal import Decimal

from agnesi.core.ir.node import Node
from agnesi.rewrite.algebra.power_series import Series, constant, digits, expandable, operands
from agnesi.rewrite.algebra.quotients import Product, Side, factors
from agnesi.rewrite.pattern import scalar

#: Factors of a base, and leaves that it is tried to stand for.
_MOST_FACTORS, _MOST_LEAVES = 6, 2


class Base:
    """A value near 0; the leaf is its power plus a number, or a product of it and of others."""

    __slots__ = ("instead", "leaf", "node", "power", "product", "value")

    def __init__(self, node: Node, leaf: Node, value: float = 0.0, power: int = 1,
                 instead: Product | None = None) -> None:
        self.node, self.leaf, self.value, self.power = node, leaf, value, power
        #: The base as a product, and what stands beside it in the product that the leaf is.
        self.product = factors(node, _MOST_FACTORS)
        self.instead = instead

    @property
    def plain(self) -> bool:
        """Return whether the leaf is the base itself."""
        return not self.value and self.power == 1 and self.instead is None

    def substitute(self, product: Product) -> None:
        """Replace the leaf in a product by ``instead``, which expresses it by the base and the
        other factors of the base.
        """
        if self.instead is None:
            return
        for side in (product.first, product.then):
            for own, other in ((side.above, side.below), (side.below, side.above)):
                for _ in range(own.count(self.leaf)):
                    own.remove(self.leaf)
                    own += self.instead.above()
                    other += self.instead.below()
                    factor = self.instead.number
                    product.number *= factor if own is side.above else 1 / factor
        for n in product.above():
            if n in product.below():
                product.remove(n, True)
                product.remove(n, False)

    def multiples(self, nodes: Iterable[Node]) -> dict[Node, float]:
        """Return the nodes that are a number times the base, each with its number."""
        above, below = Counter(self.product.above()), Counter(self.product.below())
        if not self.product.number or not expandable(self.node):
            return {}
        found, seen, stack = dict[Node, float](), {self.node}, [*nodes]
        while stack:
            n = stack.pop()
            if n in seen or scalar(n) is not None or not expandable(n):
                continue
            seen.add(n)
            if n.op_name in ("multiply", "divide", "negative"):
                p = factors(n, _MOST_FACTORS)
                if Counter(p.above()) == above and Counter(p.below()) == below:
                    found[n] = p.number / self.product.number
                    continue
            stack += operands(n)
        return found

    def known(self, multiples: dict[Node, float], count: int) -> dict[Node, Series]:
        """Return the power series known at the start: of the base, its multiples and the leaf."""
        with digits():
            x = Series(1, constant(Decimal(1), count).c, positive=self.power > 1)
            found = {n: x.times(Decimal(c)) for n, c in multiples.items()}
            if self.instead is None and self.leaf is not self.node:
                leaf = x * x if self.power > 1 else x
                found[self.leaf] = leaf + constant(Decimal(self.value), count)
            found[self.node] = x
        return found


def bases_of(node: Node, leaves: Collection[Node]) -> list[Base]:
    """Return the bases that a node gives: itself, and for each of some factors of it that are
    leaves, one by which that leaf is expressed.
    """
    found = [Base(node, node)]
    product = found[0].product
    above, below = product.above(), product.below()
    for n in [n for n in dict.fromkeys((*above, *below)) if n in leaves][:_MOST_LEAVES]:
        if above.count(n) + below.count(n) != 1 or not product.number:
            continue
        over, under = [m for m in above if m is not n], [m for m in below if m is not n]
        if n in above:
            instead = Product(Side([node, *under], over), Side(), 1 / product.number)
        else:
            instead = Product(Side(over, [node, *under]), Side(), product.number)
        found.append(Base(node, n, instead=instead))
    return found
