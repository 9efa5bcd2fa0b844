"""Sums of products in Einstein's notation: by diagonals, transpositions and matrix products."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from agnesi.core.dims import Size, is_static, product
from agnesi.core.dispatch import apply
from agnesi.core.errors import ShapeError
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops import arith
from agnesi.ops.convert import common
from agnesi.ops.diagonal import diagonal
from agnesi.ops.matmul import MATMUL, permuted
from agnesi.ops.movement import reshape
from agnesi.ops.reduce import reducer

Label = str | int


class Term:
    """An operand, with a label for each axis."""

    def __init__(self, x: Tensor, labels: Sequence[Label]) -> None:
        self.x = x
        self.labels = tuple(labels)

    def size(self, label: Label) -> Size:
        return self.x.shape[self.labels.index(label)]

    def arranged(self, labels: Sequence[Label]) -> Tensor:
        """The operand with its axes in the order of ``labels``."""
        return permuted(self.x, [self.labels.index(n) for n in labels])

    def summed(self, wanted: Iterable[Label]) -> Term:
        """Summed over the labels that nobody wants."""
        keep = set(wanted)
        axes = tuple(i for i, n in enumerate(self.labels) if n not in keep)
        if not axes:
            return self
        x = apply(reducer("add", axes, False), self.x)
        return Term(x, [n for n in self.labels if n in keep])

    def without(self, labels: Iterable[Label]) -> Term:
        """Without axes of size 1."""
        drop = set(labels)
        left = [(n, s) for n, s in zip(self.labels, self.x.shape, strict=True) if n not in drop]
        return Term(reshape(self.x, tuple(s for _, s in left)), [n for n, _ in left]) \
            if len(left) < len(self.labels) else self


def _labels(text: str, ndim: int, name: str) -> list[Label]:
    """Labels of a subscript; the dots become numbers, counted from the last."""
    before, dots, after = text.partition("...")
    letters = before + after
    if not all(c.isalpha() for c in letters):
        raise ValueError(f"the subscript {text!r} has something else than letters and one '...'")
    hidden = ndim - len(letters)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(
            f"the subscript {text!r} names {len(letters)} axes, but {name} has {ndim}"
        )
    return [*before, *range(hidden - 1, -1, -1), *after]


def _parsed(text: str, operands: Sequence[Tensor]) -> tuple[list[list[Label]], list[Label]]:
    inputs, arrow, output = text.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if len(parts) != len(operands):
        raise ValueError(f"{text!r} is for {len(parts)} operands, but there are {len(operands)}")
    labels = [
        _labels(part, len(x.shape), f"operand {i}")
        for i, (part, x) in enumerate(zip(parts, operands, strict=True))
    ]
    everything = list(itertools.chain(*labels))
    dots = sorted({n for n in everything if isinstance(n, int)}, reverse=True)
    if not arrow:
        once = sorted(n for n in everything if isinstance(n, str) and everything.count(n) == 1)
        return labels, [*dots, *once]
    before, _, after = output.partition("...")
    result: list[Label] = [*before, *(dots if "..." in output else ()), *after]
    for n in result:
        if n not in everything or result.count(n) > 1:
            why = "comes twice" if result.count(n) > 1 else "is in no operand"
            raise ValueError(f"{text!r}: the label {n!r} of the result {why}")
    return labels, result


def _check_sizes(text: str, terms: Sequence[Term]) -> None:
    sizes: dict[Label, Size] = {}
    for term in terms:
        for n, size in zip(term.labels, term.x.shape, strict=True):
            known = sizes.setdefault(n, size)
            if type(known) is int and type(size) is int and known != size:
                if 1 not in (known, size):
                    raise ShapeError(f"{text!r}: label {n!r} has sizes {known} and {size}")
                sizes[n] = max(known, size)


def _without_repeats(term: Term) -> Term:
    """Repeated labels of one operand: its diagonal."""
    for n in dict.fromkeys(term.labels):
        while term.labels.count(n) > 1:
            i = term.labels.index(n)
            j = term.labels.index(n, i + 1)
            rest = [m for k, m in enumerate(term.labels) if k not in (i, j)]
            term = Term(diagonal(term.x, axis1=i, axis2=j), [*rest, n])
    return term


def _pair(a: Term, b: Term, wanted: set[Label]) -> Term:
    """Product of two terms, summed over what nobody wants any more."""
    shared = [n for n in a.labels if n in b.labels]
    a, b = (
        t.without(n for n in shared if t.size(n) == 1 and other.size(n) != 1)
        for t, other in ((a, b), (b, a))
    )
    a, b = a.summed({*wanted, *b.labels}), b.summed({*wanted, *a.labels})
    shared = [n for n in a.labels if n in b.labels]
    batch = [n for n in shared if n in wanted]
    inner = [n for n in shared if n not in wanted]
    rows = [n for n in a.labels if n not in shared]
    columns = [n for n in b.labels if n not in shared]
    labels = [*batch, *rows, *columns]
    sizes = [[t.size(n) for n in group] for t, group in
             ((a, batch), (a, rows), (b, columns), (a, inner))]
    left, right = a.arranged([*batch, *rows, *inner]), b.arranged([*batch, *inner, *columns])
    lead, high, wide, deep = sizes
    if not inner:
        left = reshape(left, (*lead, *high, *(1 for _ in wide)))
        right = reshape(right, (*lead, *(1 for _ in high), *wide))
        return Term(arith.multiply(left, right), labels)
    left = reshape(left, (*lead, product(high), product(deep)))
    right = reshape(right, (*lead, product(deep), product(wide)))
    return Term(reshape(apply(MATMUL, left, right), (*lead, *high, *wide)), labels)


def _cost(a: Term, b: Term, wanted: set[Label]) -> int:
    """By how many elements the result is larger than the operands."""
    if not is_static((*a.x.shape, *b.x.shape)):
        return 0
    sizes = {n: s for t in (a, b) for n, s in zip(t.labels, t.x.shape, strict=True)}
    result: Any = product([s for n, s in sizes.items() if n in wanted])
    return int(result - product(a.x.shape) - product(b.x.shape))


@public
def einsum(subscripts: str, /, *operands: Any, out: Tensor | None = None) -> Tensor:
    """Sums of products after Einstein's convention, as in ``einsum("ij,jk->ik", a, b)``.

    Products of two operands become matrix products; of more operands, the pair whose result is
    smallest beside its operands comes first.

    Parameters
    ----------
    subscripts : str
        A letter for each axis of each operand, and for the result after an arrow; ``...`` stands
        for axes that broadcast.
    operands : array_like
        The factors.

    Examples
    --------
    >>> import agnesi as ag
    >>> a = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ag.einsum("ij,ij->i", a, a)
    tensor([ 5., 25.])
    >>> ag.einsum("ii", a)
    tensor(5.)
    """
    if not operands:
        raise TypeError("einsum needs operands after its subscripts")
    tensors = common(*operands)
    labels, result = _parsed(subscripts, tensors)
    terms = [Term(x, names) for x, names in zip(tensors, labels, strict=True)]
    _check_sizes(subscripts, terms)
    terms = [_without_repeats(t) for t in terms]
    while len(terms) > 1:
        i, j = _next_pair(terms, result)
        b, a = terms.pop(j), terms.pop(i)
        terms.append(_pair(a, b, _wanted(terms, result)))
    return terms[0].summed(result).arranged(result)


def _wanted(others: Iterable[Term], result: Iterable[Label]) -> set[Label]:
    return {*result, *(n for t in others for n in t.labels)}


def _next_pair(terms: list[Term], result: list[Label]) -> tuple[int, int]:
    if len(terms) == 2:
        return 0, 1

    def cost(pair: tuple[int, int]) -> int:
        others = [t for k, t in enumerate(terms) if k not in pair]
        return _cost(terms[pair[0]], terms[pair[1]], _wanted(others, result))

    return min(itertools.combinations(range(len(terms)), 2), key=cost)
