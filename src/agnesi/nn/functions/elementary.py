"""The elementary layers of Torch7: shifts, scales, and distances to learned points."""

from __future__ import annotations

import math
from operator import index
from typing import Any, ClassVar

from agnesi.core.options import Count
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.base.module import Module
from agnesi.ops.base.arith import add, multiply, subtract
from agnesi.ops.base.creation import empty, ones
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.reductions.vector_norms import norm


def uniform(shape: tuple[int, ...], bound: float, dtype: Any) -> Tensor:
    """A parameter, drawn uniformly between ``-bound`` and ``bound``."""
    weight = empty(shape, dtype=dtype)
    weight._requires_grad = True
    return init.uniform_(weight, -bound, bound)


def _sizes(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(index, shape)) if isinstance(shape, (tuple, list)) else (index(shape),)


class Identity(Module):
    """Return the argument unchanged.  It takes the place of any layer, and any arguments of one.

    :see: nn.Sequential, nn.Module

    >>> ag.nn.Identity(3, inplace=True)(ag.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: object, **keywords: object) -> None:
        pass

    def forward(self, x: Any) -> Any:
        return x


class _Placewise(Module):
    """A learned number for each place, in the attribute that ``learned`` names."""

    learned: ClassVar[str]

    def __init__(self, shape: Count | tuple[Count, ...], *, dtype: DTypeLike = None) -> None:
        sizes = _sizes(shape)
        bound = 1 / math.sqrt(max(math.prod(sizes), 1))
        setattr(self, self.learned, uniform(sizes, bound, dtype))

    def extra_repr(self) -> str:
        return ", ".join(map(str, getattr(self, self.learned).shape))


class Add(_Placewise):
    """Add a learned tensor to the input, one number for each element.

    Parameters
    ----------
    shape : int or tuple of int
        Sizes of the shift, which is broadcast over the axes in front.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    bias : Tensor
        Of that shape.

    See Also
    --------
    nn.CMul, nn.Mul, nn.Linear

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.Add(3)(ag.ones((2, 3))).shape
    (2, 3)
    """

    learned = "bias"
    bias: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return add(x, self.bias)


class CMul(_Placewise):
    """Multiply the input by a learned tensor, one number for each element.

    Parameters
    ----------
    shape : int or tuple of int
        Sizes of the factors, which are broadcast over the axes in front.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of that shape.

    See Also
    --------
    nn.Add, nn.Mul, multiply

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.CMul(3)(ag.ones((2, 3))).shape
    (2, 3)
    """

    learned = "weight"
    weight: Tensor

    def forward(self, x: Tensor) -> Tensor:
        return multiply(x, self.weight)


class Mul(CMul):
    """Multiply all elements by one learned number.

    Parameters
    ----------
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape ().

    See Also
    --------
    nn.CMul, nn.Add

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.Mul()(ag.ones((2, 3))).shape
    (2, 3)
    """

    def __init__(self, *, dtype: DTypeLike = None) -> None:
        super().__init__((), dtype=dtype)


class Euclidean(Module):
    """Distances of vectors along the last axis to learned points: ``||x - weight[j]||``.

    Parameters
    ----------
    in_features : int
        Length of the vectors.
    out_features : int
        Number of points.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        The points, of shape (out_features, in_features).

    See Also
    --------
    nn.WeightedEuclidean, nn.PairwiseDistance, nn.Linear

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.Euclidean(3, 5)(ag.ones((2, 3))).shape
    (2, 5)
    """

    def __init__(self, in_features: Count, out_features: Count, *, dtype: DTypeLike = None) -> None:
        bound = 1 / math.sqrt(in_features)
        self.weight = uniform((out_features, in_features), bound, dtype)

    def _ways(self, x: Tensor) -> Tensor:
        """From the points to the vectors."""
        return subtract(expand_dims(x, -2), self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return norm(self._ways(x), axis=-1)

    def extra_repr(self) -> str:
        points, length = self.weight.shape
        return f"{length}, {points}"


class WeightedEuclidean(Euclidean):
    """Distances in a learned scale of each point: ``||scale[j] * (x - weight[j])||``.

    Parameters
    ----------
    in_features : int
        Length of the vectors.
    out_features : int
        Number of points.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        The points, of shape (out_features, in_features).
    scale : Tensor
        One at first, of the same shape.

    See Also
    --------
    nn.Euclidean

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.WeightedEuclidean(3, 5)(ag.ones((2, 3))).shape
    (2, 5)
    """

    def __init__(self, in_features: Count, out_features: Count, *, dtype: DTypeLike = None) -> None:
        super().__init__(in_features, out_features, dtype=dtype)
        self.scale = ones((out_features, in_features), dtype=self.weight.dtype)
        self.scale._requires_grad = True

    def forward(self, x: Tensor) -> Tensor:
        return norm(multiply(self.scale, self._ways(x)), axis=-1)
