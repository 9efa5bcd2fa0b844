"""Functions of the main namespace as the array API's linear algebra has them: of the last axes."""

from __future__ import annotations

from agnesi.core.accepted import DTypeLike, TensorLike
from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.contractions import composite
from agnesi.ops.indexing import diagonal as diagonals


@public
def diagonal(x: TensorLike, /, *, offset: int = 0, out: Tensor | None = None) -> Tensor:
    """A diagonal of matrices on the last two axes.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    offset : int
        Which diagonal: 0 the main one, positive ones above it.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of shape (..., length of the diagonal).

    Raises
    ------
    ShapeError
        If ``x`` has fewer than 2 axes.

    See Also
    --------
    agnesi.diagonal, linalg.trace, diag

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.linalg.diagonal(ag.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return diagonals.diagonal(x, offset, -2, -1)


@public
def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike = None,
             out: Tensor | None = None) -> Tensor:
    """The sum of a diagonal of matrices on the last two axes.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).
    offset : int
        Which diagonal: 0 the main one, positive ones above it.
    dtype : dtype, optional
        What to compute in and to give; small integers are summed in 64 bits by default.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of shape (...).

    Raises
    ------
    ShapeError
        If ``x`` has fewer than 2 axes.

    See Also
    --------
    agnesi.trace, linalg.diagonal

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.linalg.trace(ag.tensor([[1, 2], [3, 4]])).item()
    5
    """
    return diagonals.diagonal(x, offset, -2, -1).sum(-1, dtype=dtype)


@public
def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1, out: Tensor | None = None
          ) -> Tensor:
    """Cross product of vectors of three elements.

    Parameters
    ----------
    x1, x2 : array_like
        They broadcast.
    axis : int
        The axis of size 3 in both and in the result.
    out : Tensor, optional
        Takes the result: a tensor of its shape, of a dtype that holds it.

    Returns
    -------
    Tensor
        Of the broadcast shape.

    Raises
    ------
    ShapeError
        If the axis has another size than 3, or the shapes do not broadcast.

    See Also
    --------
    agnesi.cross, linalg.outer

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.linalg.cross(ag.tensor([1, 0, 0]), ag.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    return composite.cross(x1, x2, axis)
