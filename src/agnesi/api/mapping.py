"""Functions of rows and elements, applied to all of them at once."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.autodiff.vmap import vmap
from agnesi.core import shapes
from agnesi.core.ir.dims import product
from agnesi.core.keywords import strict
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import public
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, TraceError, at, typed
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.core.transformed import transformed
from agnesi.ops.arrays.replicate import broadcast_to
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import expand_dims, moveaxis, reshape
from agnesi.ops.indexing.join import stack, unstack

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]


@public
def apply_along_axis(func1d: Callable[..., Any], axis: int, x: TensorLike, *args: Any,
                     out: Tensor | None = None, **keywords: Any) -> Tensor:
    """A function of vectors, for all vectors along an axis at once (by :func:`agnesi.vmap`).

    One that decides by the values of a vector is called for each of them, where there are values.

    :param func1d: Of a vector, and ``args`` and ``keywords``; its result stands in the place of the
        axis.
    :param x: At least one axis.
    :param *args: Further arguments of ``func1d``.
    :param **keywords: Further keywords of ``func1d``.
    :returns: As ``x``, with the axes of the function's result in the place of the axis.
    :see: vmap, apply_over_axes, vectorize

    >>> ag.apply_along_axis(lambda row: row.sum(), 1, ag.tensor([[1, 2], [3, 4]]))
    tensor([3, 7])
    """
    x = as_tensor(x)
    axis = shapes.axis_of(axis, x.ndim)
    rows = moveaxis(x, axis, -1)
    kept = rows.shape[:-1]
    if not kept:
        return as_tensor(func1d(x, *args, **keywords))
    flat = reshape(rows, (product(kept), rows.shape[-1]))

    def of_row(row: Tensor) -> Tensor:
        return as_tensor(func1d(row, *args, **keywords))

    try:
        found = vmap(of_row)(flat)
    except TraceError:  # code that needs the values of a row, which eager ones have
        if is_tracing():
            raise
        found = stack([of_row(row) for row in unstack(flat)])
    width = found.ndim - 1
    whole = reshape(found, (*kept, *found.shape[1:]))
    source = tuple(range(len(kept), len(kept) + width))
    return moveaxis(whole, source, tuple(range(axis, axis + width)))


@public
def apply_over_axes(func: Callable[..., Any], x: TensorLike, axes: Axis, *,
                    out: Tensor | None = None) -> Tensor:
    """A reduction over one axis after another; the axes stay, with size 1.

    :param func: ``func(x, axis)``, which drops the axis or leaves it with size 1, as
        :func:`agnesi.sum`.
    :param axes: One after another.
    :type axes: int or sequence of int
    :returns: With as many axes as ``x``.
    :raises IndexError: If an axis is out of range.
    :see: apply_along_axis, sum

    >>> ag.apply_over_axes(ag.sum, ag.ones((2, 3)), [0, 1])
    tensor([[6.]])
    """
    x = as_tensor(x)
    for axis in axes if isinstance(axes, (list, tuple)) else (axes,):
        place = shapes.axis_of(axis, x.ndim)
        found = as_tensor(func(x, place))
        x = found if found.ndim == x.ndim else expand_dims(found, place)
    return x


@strict
def vectorize(pyfunc: Callable[..., Any], *, signature: str | None = None) -> Callable[..., Any]:
    """A function of numbers, for arrays that broadcast (by :func:`agnesi.vmap`).

    :param pyfunc: Of numbers; or of arrays with the axes that ``signature`` names.
    :param signature: Such as "(n),(n)->()", as in NumPy.
    :returns: It takes arrays that broadcast but for the axes of the signature.
    :raises ShapeError: By that function, if an operand has too few axes.
    :raises TypeError: If the signature does not fit the operands.
    :see: vmap, elementwise, apply_along_axis

    >>> step = ag.vectorize(lambda x, y: ag.where(x > y, x, 0))
    >>> step(ag.tensor([1.0, 3.0]), 2.0)
    tensor([0., 3.])
    """

    def call(*args: Any, **keywords: Any) -> Any:
        tensors = [as_tensor(a) for a in args]
        own = _axes(signature, len(tensors))
        for t, n in zip(tensors, own, strict=True):
            if t.ndim < n:
                raise ShapeError(at(f"vectorize: an operand of shape {t.shape} needs {n} axes: "
                                    f"{signature}"))
        outer = [t.shape[: t.ndim - n] for t, n in zip(tensors, own, strict=True)]
        try:
            common = shapes.broadcast(*outer)
        except ShapeError as error:
            raise ShapeError(at(f"vectorize of {typed(pyfunc)}: {error}")) from None
        if not common:
            return pyfunc(*tensors, **keywords)
        rows = [
            reshape(broadcast_to(t, (*common, *t.shape[t.ndim - n:])),
                    (product(common), *t.shape[t.ndim - n:]))
            for t, n in zip(tensors, own, strict=True)
        ]
        found = vmap(lambda *row: pyfunc(*row, **keywords))(*rows)
        return tree.map_leaves(lambda v: reshape(v, (*common, *v.shape[1:])), found)

    again = functools.partial(vectorize, signature=signature)
    return transformed(call, "vectorize", again, pyfunc)


def _axes(signature: str | None, count: int) -> Sequence[int]:
    """How many axes of each operand belong to the function."""
    if signature is None:
        return [0] * count
    operands = re.findall(r"\(([^()]*)\)", signature.replace(" ", "").partition("->")[0])
    if len(operands) != count:
        raise TypeError(at(f"vectorize: {signature!r} is for {len(operands)} operands, not "
                           f"{count}"))
    return [len([n for n in o.split(",") if n]) for o in operands]
