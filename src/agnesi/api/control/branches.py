"""``switch``: one of several functions; ``associative_scan``: running combinations in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agnesi.api.control.loops import cond, scan
from agnesi.core.ir.dims import is_open
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import higher, keyworded
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import moveaxis, reshape
from agnesi.ops.base.slices import flip
from agnesi.ops.indexing.join import concat, stack

Function = Callable[..., Any]
R = TypeVar("R")


@higher
@keyworded
def switch(index: TensorLike, branches: Sequence[Callable[..., R]], *operands: Any) -> R:
    """``branches[index](*operands)``; only the one that is chosen runs.

    :param index: An integer scalar; below 0 it chooses the first branch, beyond the end the last.
    :type index: int or Tensor
    :param branches: In compiled code all run once on symbols, and return nests of the same types.
    :param *operands: What the branches get.
    :returns: What the branch returned.
    :rtype: nest of Tensor
    :raises TypeError: If there are no branches, or they return different nests.
    :see: cond, choose, symbolic.switch

    >>> ag.switch(2, [ag.sin, ag.cos, ag.negative], ag.tensor(3.0))
    tensor(-3.)
    """
    if not branches:
        raise TypeError(at("switch: there are no branches"))
    if type(index) is not int:  # those that are there already choose as Python does
        index = as_tensor(index)
        if index.dtype.kind not in "iu" or index.ndim:
            raise TypeError(at(f"switch: the index must be an integer scalar, not {typed(index)}"))

    def chosen(first: int, end: int) -> Any:
        if end - first == 1:
            return branches[first](*operands)
        middle = (first + end) // 2
        return cond(index < middle, lambda: chosen(first, middle), lambda: chosen(middle, end))

    return chosen(0, len(branches))


@higher
@keyworded
def associative_scan(f: Callable[..., R], xs: object, reverse: bool = False, axis: int = 0) -> R:
    """Running combinations of elements along an axis, in about ``2 log2(n)`` steps.

    ``f`` gets many pairs at once, so that each step is one operation of whole tensors, as in JAX.

    :param f: ``f(a, b)``, associative, of nests like ``xs`` with any size of the axis, which it
        keeps.
    :param xs: The elements are along the axis, of which all tensors have one size.
    :type xs: nest of Tensor
    :param reverse: Whether to begin at the end: what comes later is the first operand.
    :param axis: The axis.
    :returns: Like ``xs``: element ``i`` combines all elements up to there.
    :rtype: nest of Tensor
    :raises IndexError: If the axis is out of range.
    :raises ShapeError: If there are no tensors, or sizes of the axis differ.
    :see: scan, cumsum, cumprod, logcumsumexp

    >>> ag.associative_scan(ag.add, ag.tensor([1.0, 2.0, 3.0]))
    tensor([1., 3., 6.])
    """
    leaves, form = tree.flatten(xs)
    rows = [moveaxis(as_tensor(x), axis, 0) for x in leaves]
    if len({x.shape[0] for x in rows}) != 1:
        raise ShapeError(at(f"associative_scan: xs must be tensors of one size on axis {axis}, not "
                            f"{', '.join(map(typed, leaves)) or 'an empty nest'}"))

    def pairs(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        given = [form.build([moveaxis(x, 0, axis) for x in side]) for side in (a, b)]
        found = [as_tensor(x) for x in tree.flatten(f(*given))[0]]
        if [x.shape for x in found] != [x.shape for x in tree.flatten(given[0])[0]]:
            raise ShapeError(at("associative_scan: f returns a nest like its operands, of "
                                f"{', '.join(map(typed, tree.flatten(given[0])[0]))}, not of "
                                f"{', '.join(map(typed, found)) or 'nothing'}"))
        return [moveaxis(x, axis, 0) for x in found]

    turned = [flip(x, 0) for x in rows] if reverse else rows
    found = (_one_by_one if is_open(rows[0].shape[0]) else _running)(pairs, turned)
    found = [flip(x, 0) for x in found] if reverse else found
    return form.build([moveaxis(x, 0, axis) for x in found])


def _running(f: Function, rows: list[Tensor]) -> list[Tensor]:
    """Combinations of neighbours are scanned, which gives those of every other place."""
    count = rows[0].shape[0]
    if count < 2:
        return rows
    odd = _running(f, f([x[:-1:2] for x in rows], [x[1::2] for x in rows]))
    even = [x[:1] for x in rows]
    if count > 2:
        before = [x[:-1] for x in odd] if count % 2 == 0 else odd
        after = f(before, [x[2::2] for x in rows])
        even = [concat([a, b], 0) for a, b in zip(even, after, strict=True)]
    return [_woven(a, b) for a, b in zip(even, odd, strict=True)]


def _one_by_one(f: Function, rows: list[Tensor]) -> list[Tensor]:
    """The same of a length that the run knows: each row is combined with all before it."""
    def step(before: list[Tensor], xs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        after = [x[0] for x in f([b[None] for b in before], [x[None] for x in xs])]
        return after, after

    first = [concat([x, zeros((1, *x.shape[1:]), dtype=x.dtype)], 0)[0] for x in rows]
    _, found = scan(step, first, [x[1:] for x in rows])
    return [concat([x[:1], y], 0) for x, y in zip(rows, found, strict=True)]


def _woven(even: Tensor, odd: Tensor) -> Tensor:
    count = odd.shape[0]
    both = reshape(stack([even[:count], odd], 1), (2 * count, *odd.shape[1:]))
    return both if even.shape[0] == count else concat([both, even[count:]], 0)
