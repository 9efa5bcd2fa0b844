"""Sums of products in Einstein's notation: by diagonals, transpositions and matrix products."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agnesi.core import shapes
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Size, is_settled, product
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.convert import as_tensor, common
from agnesi.ops.base.ensure import ensure
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape
from agnesi.ops.base.reduce import reducer
from agnesi.ops.contractions.matmul import MATMUL, permuted
from agnesi.ops.contractions.paths import (
    Path,
    best_path,
    cost,
    greedy_path,
    optimal_path,
    path_cost,
)
from agnesi.ops.indexing.diagonal import diagonal

Label = str | int
#: Labels of axes that are given by numbers.
_LETTERS = "".join(map(chr, [*range(97, 123), *range(65, 91)]))


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
        """Summed over the labels without uses."""
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

    def broadcast(self, sizes: Mapping[Label, Size]) -> Term:
        """With axes repeated to these sizes."""
        shape = tuple(sizes.get(n, s) for n, s in zip(self.labels, self.x.shape, strict=True))
        return Term(broadcast_to(self.x, shape), self.labels)


def _labels(text: str, ndim: int, name: str) -> list[Label]:
    """Labels of a subscript; the dots become numbers, counted from the last."""
    before, dots, after = text.partition("...")
    letters = before + after
    if not all(c.isalpha() for c in letters):
        raise ValueError(f"the subscript {text!r} has something else than letters and one '...'")
    hidden = ndim - len(letters)
    if hidden < 0 or (hidden and not dots):
        raise ShapeError(f"the subscript {text!r} names {len(letters)} axes, but {name} has {ndim}")
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


def _without_repeats(text: str, term: Term) -> Term:
    """Repeated labels of one operand: its diagonal, of axes of the same size."""
    for n in dict.fromkeys(term.labels):
        while term.labels.count(n) > 1:
            i = term.labels.index(n)
            j = term.labels.index(n, i + 1)
            term = Term(_square(text, term, i, j), term.labels)
            rest = [m for k, m in enumerate(term.labels) if k not in (i, j)]
            term = Term(diagonal(term.x, axis1=i, axis2=j), [*rest, n])
    return term


def _square(text: str, term: Term, i: int, j: int) -> Tensor:
    """The operand of a term, whose two axes with the same label are as long as each other."""
    first, second = term.x.shape[i], term.x.shape[j]
    if first == second:
        return term.x
    why = f"{text!r}: the axes of one operand with the label {term.labels[i]!r} differ in size"
    if is_settled((first, second)):
        raise ShapeError(f"{why}: {first} and {second}")
    return ensure(term.x, as_tensor(first) == as_tensor(second), why)


def _pair(a: Term, b: Term, wanted: set[Label]) -> Term:
    """Product of two terms, summed over labels without further uses."""
    shared = [n for n in a.labels if n in b.labels]
    a, b = (
        t.without(n for n in shared if t.size(n) == 1 and other.size(n) != 1)
        for t, other in ((a, b), (b, a))
    )
    a, b = _of_common_sizes(a, b)
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


def _of_common_sizes(a: Term, b: Term) -> tuple[Term, Term]:
    """Two terms with shared axes of one size, where sizes are unknown: either may be 1."""
    common = {n: shapes.broadcast((a.size(n),), (b.size(n),))[0]
              for n in a.labels if n in b.labels and not is_settled((a.size(n), b.size(n)))}
    return a.broadcast(common), b.broadcast(common)


def _summary(terms: Sequence[Term], result: Iterable[Label]) -> Any:
    """Terms and result as sets of labels, and sizes; those that are unknown count as 32."""
    sizes: dict[Label, int] = {}
    for t in terms:
        for n, s in zip(t.labels, t.x.shape, strict=True):
            sizes[n] = max(sizes.get(n, 1), s if isinstance(s, int) else 32)
    return [frozenset(t.labels) for t in terms], frozenset(result), sizes


def _path(optimize: Any, terms: Sequence[Term], result: Iterable[Label]) -> Path:
    """The path that ``optimize`` requests."""
    n = len(terms)
    if isinstance(optimize, (tuple, list)) and optimize and not isinstance(optimize[0], str):
        optimize = ["einsum_path", *optimize]
    if isinstance(optimize, (tuple, list)) and optimize[:1] == ["einsum_path"]:
        path = [tuple(pair) for pair in optimize[1:]]
        if len(path) != n - 1 or any(len(pair) != 2 for pair in path):
            raise ValueError(f"a path of {n} operands has {n - 1} pairs, not {path}")
        return path
    if not optimize:
        return [(0, 1), *((0, k) for k in range(n - 2, 0, -1))][: n - 1]
    method = optimize[0] if isinstance(optimize, (tuple, list)) else optimize
    known = {True: best_path, "optimal": optimal_path, "greedy": greedy_path}
    if method not in known:
        raise ValueError(
            f"optimize must be a bool, 'optimal', 'greedy' or a path, not {optimize!r}"
        )
    return known[method](*_summary(terms, result))


@planned
@public
def einsum(subscripts: str | TensorLike, /, *operands: Any,
           optimize: bool | str | Sequence[Any] = True, out: Tensor | None = None) -> Tensor:
    """Sums of products after Einstein's convention, as in ``einsum("ij,jk->ik", a, b)``.

    Products of two operands become matrix products; of more operands, pairs are multiplied in the
    order that needs the fewest multiplications.

    :param subscripts: A letter for each axis of each operand, and for the result after an arrow;
        ``...`` stands for axes that broadcast.
    :type subscripts: str
    :param *operands: The factors.  Without a string before them, each has a list of numbers below
        52, one for each axis, behind it, and the result one at the end.  Also one list of them.
    :type *operands: array_like
    :param optimize: In which order: the best one, or nearly the best for many operands; as they
        stand if False; or pairs as :func:`einsum_path` gives them.
    :type optimize: bool, {"optimal", "greedy"} or path
    :returns: Of the axes that the result names; without an arrow those that occur once, in
        alphabetic order.
    :raises ValueError: If the letters do not match the operands' axes, or the result names others.
    :raises ShapeError: If a letter has two sizes.
    :raises TypeError: If operands without a string have no list of axes behind each.
    :see: einsum_path, tensordot, matmul

    >>> a = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> ag.einsum("ij,ij->i", a, a)
    tensor([ 5., 25.])
    >>> ag.einsum("ii", a)
    tensor(5.)
    >>> ag.einsum(a, [0, 1], a, [0, 1], [0])
    tensor([ 5., 25.])
    """
    if isinstance(subscripts, str) and len(operands) == 1 and type(operands[0]) in (list, tuple) \
            and "," in subscripts:
        operands = tuple(operands[0])  # as PyTorch takes them, too
    subscripts, operands = _in_letters(subscripts, operands)
    terms, result = _terms(subscripts, operands)
    for pair in _path(optimize, terms, result):
        a, b = (terms[k] for k in pair)
        for k in sorted(pair, reverse=True):
            terms.pop(k)
        terms.append(_pair(a, b, _wanted(terms, result)))
    return terms[0].summed(result).arranged(result)


def _in_letters(first: Any, others: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts as a string, and the operands, where lists of numbers stand behind operands."""
    if isinstance(first, str):
        return first, others
    given = (first, *others)
    if word := next((x for x in others if isinstance(x, str)), ""):
        raise TypeError(f"the subscripts come first: write einsum({word!r}, ...)")
    if not all(isinstance(x, (list, tuple)) for x in given[1::2]):
        raise TypeError("the subscripts come first, as in einsum('ij,jk->ik', a, b), or a list of "
                        "numbers behind each operand, as in einsum(a, [0, 1], b, [1, 2])")
    lists = given[1::2] if len(given) % 2 == 0 else (*given[1::2], given[-1])
    words = ["".join(map(_letter, numbers)) for numbers in lists]
    arrow = "->" + words.pop() if len(given) % 2 else ""
    return ",".join(words) + arrow, given[: len(given) // 2 * 2 : 2]


def _letter(number: Any) -> str:
    return "..." if number is Ellipsis else _LETTERS[operator.index(number)]


def _terms(subscripts: str, operands: Sequence[Any]) -> tuple[list[Term], list[Label]]:
    if not operands:
        raise TypeError("einsum needs operands after its subscripts")
    tensors = common(*operands)
    labels, result = _parsed(subscripts, tensors)
    terms = [Term(x, names) for x, names in zip(tensors, labels, strict=True)]
    _check_sizes(subscripts, terms)
    return [_without_repeats(subscripts, t) for t in terms], result


def _wanted(others: Iterable[Term], result: Iterable[Label]) -> set[Label]:
    return {*result, *(n for t in others for n in t.labels)}


@public
def einsum_path(subscripts: str | TensorLike, /, *operands: Any,
                optimize: bool | str | Sequence[Any] = True) -> tuple[Any, str]:
    """In which order :func:`einsum` would multiply, and what that costs.

    :param subscripts: As for :func:`einsum`.
    :type subscripts: str
    :param *operands: As for :func:`einsum`; only their shapes count.
    :type *operands: array_like
    :param optimize: As for :func:`einsum`.
    :type optimize: bool, {"optimal", "greedy"} or path
    :returns path: For ``optimize``: "einsum_path", then pairs of indices into the operands, to
        the end of which each product goes.
    :rtype: list
    :returns text: Multiplications, of all at once and along the path.
    :rtype: str
    :raises ValueError: If the letters do not match the operands' axes.
    :raises TypeError: If operands without a string have no list of axes behind each.
    :see: einsum

    >>> a = ag.ones((9, 9))
    >>> path, text = ag.einsum_path("ij,jk,k->i", a, a, a[0])
    >>> path
    ['einsum_path', (1, 2), (0, 1)]
    >>> print(text)
    ij,jk,k->i: 1458 multiplications at once, 162 along the path
    """
    subscripts, operands = _in_letters(subscripts, operands)
    terms, result = _terms(subscripts, operands)
    path = _path(optimize, terms, result)
    labels, wanted, sizes = _summary(terms, result)
    at_once = cost(frozenset().union(*labels), sizes) * max(len(terms) - 1, 1)
    found = path_cost(path, labels, wanted, sizes)
    return ["einsum_path", *path], (
        f"{subscripts}: {at_once} multiplications at once, {found} along the path"
    )
