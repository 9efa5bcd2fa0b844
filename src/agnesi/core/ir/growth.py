"""How sizes grow with the run-time sizes that they are made of."""

from __future__ import annotations

from collections import Counter

from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent

Powers = Counter[Extent]


def grows_no_faster(size: Size, *others: Size) -> bool:
    """Return whether each monomial of a size has one of the others that is of no lower power in any
    name.

    So ``n**2 + n*m`` grows no faster than ``n**2 * m`` does; that grows faster than the sum.
    """
    most = [p for other in others for p in powers(other)]
    return all(any(own <= bound for bound in most) for own in powers(size))


def powers(size: Size) -> list[Powers]:
    """The powers of named sizes in each monomial; those of quotients are their dividends'.

    A size that data decides is that of a part of something, and so has no power of its own.
    """
    if not isinstance(size, Extent) or (not size.op and size.least == 0):
        return [Counter()]
    if not size.op:
        return [Counter([size])]
    if size.op == "sum":
        found = []
        for monomial, _ in size.terms:
            products: list[Powers] = [Counter()]
            for atom in monomial:
                products = [a + b for a in products for b in powers(atom)]
            found += products
        return found
    parts = size.args[:1] if size.op == "//" else size.args
    return [p for part in parts for p in powers(part)]
