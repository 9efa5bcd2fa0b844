"""Functions and a descriptor that distributions of a user's own are written with, as PyTorch's are.

Examples
--------
>>> import agnesi as ag
>>> loc, scale = ag.distributions.utils.broadcast_all(0.0, ag.ones(2))
>>> loc
tensor([0., 0.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api.random import randn
from agnesi.api.torch.settings import get_default_dtype
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.public import public
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, floating

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]


@public
def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """All operands in their common shape.

    :param *values: Tensors and numbers; a number takes the dtype of the first tensor.
    :type *values: Tensor or number
    :returns: Views, all of one shape.
    :raises TypeError: If one is neither a tensor nor a number.
    :raises ShapeError: If the shapes do not broadcast.
    :see: broadcast_arrays

    >>> ag.distributions.utils.broadcast_all(2, ag.zeros(2))[0]
    tensor([2., 2.])
    """
    tensors = [v for v in values if isinstance(v, Tensor)]
    dtype = tensors[0].dtype if tensors else get_default_dtype()
    for v in values:
        if not isinstance(v, (Tensor, int, float, complex, np.generic)):
            raise TypeError(f"parameters are tensors and numbers, not {typed(v)}")
    return F.broadcast_arrays(*[v if isinstance(v, Tensor) else as_tensor(v, dtype)
                                for v in values])


@public
def logits_to_probs(logits: TensorLike, is_binary: bool = False) -> Tensor:
    """Probabilities of what logarithms of them, or of odds, are given.

    :param logits: Log-probabilities up to a constant along the last axis, or log-odds.
    :param is_binary: Whether they are log-odds.
    :returns: Of the shape of ``logits``.
    :see: distributions.utils.probs_to_logits

    >>> ag.distributions.utils.logits_to_probs(ag.zeros(2))
    tensor([0.5, 0.5])
    """
    return F.sigmoid(logits) if is_binary else F.softmax(logits, -1)


@public
def clamp_probs(probs: TensorLike) -> Tensor:
    """Probabilities that are neither 0 nor 1, by one step of the dtype at most.

    :param probs: Of any shape.
    :returns: Of the shape and dtype of ``probs``.
    :see: clamp, distributions.utils.probs_to_logits

    >>> ag.distributions.utils.clamp_probs(ag.tensor([0.0, 0.5])) > 0
    tensor([ True,  True])
    """
    p = floating(probs)
    eps = float(np.finfo(p.dtype).eps)
    return F.clip(p, eps, 1 - eps)


@public
def probs_to_logits(probs: TensorLike, is_binary: bool = False) -> Tensor:
    """Logarithms of probabilities, or of their odds; none is infinite.

    :param probs: Probabilities.
    :param is_binary: Whether odds are meant.
    :returns: Of the shape of ``probs``.
    :see: distributions.utils.logits_to_probs

    >>> ag.distributions.utils.probs_to_logits(ag.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    p = clamp_probs(probs)
    return F.log(p) - F.log1p(-p) if is_binary else F.log(p)


@public
def vec_to_tril_matrix(vec: TensorLike, diag: int = 0) -> Tensor:
    """Lower triangular matrices of their elements, row by row.

    :param vec: Of shape (..., k), where k = n * (n + 1) / 2 for ``diag`` of 0.
    :param diag: The highest diagonal that is filled: 0, or a negative number below it.
    :returns: Of shape (..., n, n).
    :raises ShapeError: If so many elements fill no triangle.
    :see: tril, distributions.utils.tril_matrix_to_vec

    >>> ag.distributions.utils.vec_to_tril_matrix(ag.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    v = as_tensor(vec)
    k = v.shape[-1]
    n = (round(np.sqrt(1 + 8 * k)) - 1) // 2 - diag
    rows, columns = np.tril_indices(n, diag)
    if len(rows) != k:
        raise ShapeError(f"{typed(v)}: {k} elements fill no triangle below diagonal {diag}")
    places = np.full((n, n), k)
    places[rows, columns] = np.arange(k)
    padded = F.concat([v, F.zeros((*v.shape[:-1], 1), dtype=v.dtype)], axis=-1)
    return F.take(padded, places, axis=-1)


@public
def tril_matrix_to_vec(mat: TensorLike, diag: int = 0) -> Tensor:
    """The elements of lower triangular matrices, row by row.

    :param mat: Of shape (..., n, n).
    :param diag: The highest diagonal that is read.
    :returns: Of shape (..., k).
    :raises ShapeError: If the matrices are not square.
    :see: tril, distributions.utils.vec_to_tril_matrix

    >>> ag.distributions.utils.tril_matrix_to_vec(ag.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    m = as_tensor(mat)
    if m.ndim < 2 or m.shape[-1] != m.shape[-2]:
        raise ShapeError(f"the matrices must be square, not {typed(m)}")
    rows, columns = np.tril_indices(m.shape[-1], diag)
    return m[..., rows, columns]


class lazy_property:  # noqa: N801
    """A property that is computed once, when it is first requested, and then kept as an attribute.

    :param wrapped: Computes it from the object.
    :see: distributions.Distribution

    >>> class Half(ag.distributions.Distribution):
    ...     @ag.distributions.utils.lazy_property
    ...     def scale(self):
    ...         return ag.tensor(0.5)
    >>> Half.scale.__doc__ is None
    True
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        value = self.wrapped(owner)
        setattr(owner, self.wrapped.__name__, value)
        return value


def _standard_normal(shape: ShapeLike, dtype: DTypeLike = None, device: object = None) -> Tensor:
    """Draws of the normal distribution around 0 with scale 1."""
    return randn(*shape, dtype=dtype)  # type: ignore[misc]


_strictly(__name__)
