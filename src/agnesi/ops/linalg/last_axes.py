"""Functions of the main namespace as the array API's linear algebra has them: of the last axes."""

from __future__ import annotations

from agnesi.core.integers import known_integer
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.contractions import composite
from agnesi.ops.indexing import diagonal as diagonals
from agnesi.ops.indexing.join import pad
from agnesi.ops.reductions.running import cumprod


@planned
@public
def diagonal(x: TensorLike, /, *, offset: int = 0, out: Tensor | None = None) -> Tensor:
    """A diagonal of matrices on the last two axes.

    :param x: Of shape (..., m, n).
    :param offset: Which diagonal: 0 the main one, positive ones above it.
    :returns: Of shape (..., length of the diagonal).
    :raises ShapeError: If ``x`` has fewer than 2 axes.
    :see: agnesi.diagonal, linalg.trace, diag

    >>> ag.linalg.diagonal(ag.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return diagonals.diagonal(x, offset, -2, -1)


@planned
@public
def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike = None,
             out: Tensor | None = None) -> Tensor:
    """The sum of a diagonal of matrices on the last two axes.

    :like: diagonal
    :param dtype: What to compute in and to give; small integers are summed in 64 bits by default.
    :returns: Of shape (...).
    :see: agnesi.trace, linalg.diagonal

    >>> ag.linalg.trace(ag.tensor([[1, 2], [3, 4]])).item()
    5
    """
    return diagonals.diagonal(x, offset, -2, -1).sum(-1, dtype=dtype)


@planned
@public
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: Tensor | None = None
          ) -> Tensor:
    """Cross product of vectors of three elements.

    :param x1, x2: They broadcast.
    :param axis: The axis of size 3 in both and in the result.
    :returns: Of the broadcast shape.
    :raises ShapeError: If the axis has another size than 3, or the shapes do not broadcast.
    :see: agnesi.cross, linalg.outer

    >>> ag.linalg.cross(ag.tensor([1, 0, 0]), ag.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    return composite.cross(x1, x2, axis=axis)


@planned
@public
def vander(x: TensorLike, /, *, n: int | None = None, out: Tensor | None = None) -> Tensor:
    """Rows of the powers of each element, the lowest first.

    :param x: Of shape (..., m).
    :param n: Number of powers, also written ``N``; m by default.
    :returns: Of shape (..., m, n); of integers int64.
    :raises ValueError: If ``n`` is less than 1.
    :see: agnesi.vander, polyval

    >>> ag.linalg.vander(ag.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    x = as_tensor(x)
    x = cast(x, dtypes.int64) if x.dtype.kind in "biu" else x
    count = known_integer(x.shape[-1] if n is None else n, "n", 1)
    powers = broadcast_to(expand_dims(x, -1), (*x.shape, count - 1))
    return cumprod(pad(powers, ((0, 0),) * x.ndim + ((1, 0),), "constant", 1), -1)
