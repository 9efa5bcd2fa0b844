"""Full unrolling of nests over a few points: each element becomes a value that can be in a
register.
"""

from __future__ import annotations

import itertools
import math

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Nest, Store, reductions
from agnesi.core.ir.loops import Affine, Expr, PointSubstitution, Substitution

#: Points of a nest, or terms of its sums, that are written out.
_MAX_UNROLLED = 4


def written_out(nest: Nest) -> Nest:
    """The nest without axes if it has few points; else itself."""
    sizes = [a.extent for a in nest.axes]
    if (
        nest.ordered
        or not all(isinstance(n, int) for n in sizes)
        or math.prod(sizes) > _MAX_UNROLLED
    ):
        return nest
    sums = ShortSums(_MAX_UNROLLED)
    body = [Store(s.buffer, sums.index(s.offset), sums(s.value)) for s in nest.body]
    values = [v for s in body for v in (s.value, *s.offset.atoms)]
    if any({*v.param[1]} & {*nest.axes} for v in reductions(values)):
        return nest  # loops for what all points have in common
    stores: dict[tuple[object, Affine, Expr], Store] = {}
    for point in itertools.product(*map(range, sizes)):
        at = Substitution({a: Affine(i) for a, i in zip(nest.axes, point, strict=True)})
        for s in body:
            offset, value = at.index(s.offset), at(s.value)
            stores.setdefault((s.buffer, offset, value), Store(s.buffer, offset, value))
    return Nest(nest.nodes, (), list(stores.values()))


class ShortSums(Substitution):
    """Writes out reductions of few terms, wherever they stand: in the indices of loads, too."""

    def __init__(self, most_terms: int) -> None:
        super().__init__({})
        self._most_terms = most_terms

    def _rebuilt(self, value: Expr) -> Expr:
        value = super()._rebuilt(value)
        return _term_by_term(value, self._most_terms) if value.op == "reduce" else value


def _term_by_term(value: Expr, most_terms: int) -> Expr:
    kind, bound = value.param
    sizes = [a.extent for a in bound]
    if not (all(isinstance(n, int) for n in sizes) and 0 < math.prod(sizes) <= most_terms):
        return value
    terms = [
        PointSubstitution({a: Affine(i) for a, i in zip(bound, point, strict=True)})(value.args[0])
        for point in itertools.product(*map(range, sizes))
    ]
    total = terms[0]
    for term in terms[1:]:
        total = loops.call(kind, total, term)
    return total
