"""Norms of vectors."""

from __future__ import annotations

import math

from agnesi.core import shapes
from agnesi.core.parameter_types import Axis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith, select
from agnesi.ops.base.convert import as_tensor, cast, exact
from agnesi.ops.base.reduce import reduced, root


@planned
@public
def norm(x: TensorLike, /, ord: float = 2, axis: Axis = None, *, keepdims: bool = False,
         out: Tensor | None = None) -> Tensor:
    """Vector norm over axes (all by default): ``sum(abs(x)**ord)**(1/ord)``.

    ``ord`` is a number, inf or -inf; 0 counts what is not 0.  The gradient at the zero vector
    is zero.

    :param x: Real or complex numbers; integers become the default float dtype.
    :param ord: The order: a number, ``inf`` for the greatest absolute value, ``-inf`` for the
        least, 0 for how many are not 0.
    :returns: Real, the shape of ``x`` without the axes; 0 for no elements.
    :raises ValueError: If ``axis`` is an empty tuple.
    :raises ShapeError: For ``inf`` and ``-inf`` of no elements.
    :see: linalg.norm, linalg.vector_norm, dist, abs

    >>> ag.norm(ag.tensor([3.0, 4.0]))
    tensor(5.)
    """
    x = as_tensor(x)
    if x.dtype.kind in "biu":
        found = norm(exact(x), ord, axis, keepdims=keepdims)
        return cast(found, dtypes.floating(x.dtype))
    if x.dtype in dtypes.HALVES:  # powers of its elements would soon be infinite
        return cast(norm(cast(x, dtypes.float32), ord, axis, keepdims=keepdims), x.dtype)
    axes = shapes.axes_of(axis, x.ndim)
    if isinstance(axis, (tuple, list)) and not axis:
        raise ValueError("axis names no axis, along which there is a norm; see abs")
    if ord == 2:
        squares = arith.square(x) if x.dtype.kind in "fV" else arith.real(x * arith.conj(x))
        return root(reduced("add", squares, axes, keepdims))
    size = arith.abs(x)
    if ord == math.inf:
        return reduced("maximum", size, axes, keepdims)
    if ord == -math.inf:
        return reduced("minimum", size, axes, keepdims)
    if ord == 0:
        return reduced("add", cast(x != 0, size.dtype), axes, keepdims)
    if ord == 1:
        return reduced("add", size, axes, keepdims)
    if 0 < ord < 1:  # the slope of a power at 0 is infinite, that of the norm is taken for 0
        none = size == 0
        powers = select.where(none, 0, arith.power(select.where(none, 1, size), ord))
    else:
        powers = arith.power(size, ord)
    whole = reduced("add", powers, axes, keepdims)
    nothing = whole == 0
    return select.where(nothing, 0, arith.power(select.where(nothing, 1, whole), 1 / ord))
