"""Layers on pairs of vectors: how alike, how far apart, and what they make together."""

from __future__ import annotations

import math

from agnesi.core.ir.dims import is_settled
from agnesi.core.options import Bound, Count, NotNegative
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError
from agnesi.core.tensor import Tensor
from agnesi.nn.base.aliases import also
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.renewed import Renewed
from agnesi.nn.functions.elementary import uniform
from agnesi.ops.arrays.replicate import broadcast_arrays
from agnesi.ops.base.arith import add, divide, multiply, subtract
from agnesi.ops.base.convert import cast, floating, pair
from agnesi.ops.base.movement import sized
from agnesi.ops.base.reduce import sum
from agnesi.ops.base.select import maximum
from agnesi.ops.contractions.einsum import einsum
from agnesi.ops.neural.normalize import widened
from agnesi.ops.reductions.vector_norms import norm


class CosineSimilarity(Module):
    """Cosine of the angle between vectors.

    :param dim: The axis that holds the vectors.
    :param eps: The least length to divide a vector by.
    :see: nn.PairwiseDistance, vecdot

    >>> ag.nn.CosineSimilarity()(ag.tensor([[1.0, 0.0]]), ag.tensor([[1.0, 1.0]]))
    tensor([0.70710677])
    """

    def __init__(self, dim: int = 1, eps: NotNegative = 1e-8) -> None:
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        x1, x2 = broadcast_arrays(*pair(x1, x2))
        cosine = sum(multiply(*map(self._direction, (widened(x1), widened(x2)))), self.dim)
        return cast(cosine, dtypes.floating(x1.dtype))

    def _direction(self, x: Tensor) -> Tensor:
        """Vectors of length 1: products of long ones would soon be infinite."""
        return divide(x, maximum(norm(x, axis=self.dim, keepdims=True), self.eps))

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class PairwiseDistance(Module):
    """Distance between vectors along the last axis, by the norm of degree ``p``.

    :param p: The degree.
    :param eps: Added to each difference.
    :param keepdim: Whether the last axis stays, with size 1.
    :see: nn.CosineSimilarity, dist, norm

    >>> ag.nn.PairwiseDistance(eps=0.0)(ag.zeros((1, 2)), ag.tensor([[3.0, 4.0]]))
    tensor([5.])
    """

    norm = also("p")

    def __init__(self, p: Bound = 2.0, eps: NotNegative = 1e-6, keepdim: bool = False) -> None:
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        difference = subtract(floating(x1), floating(x2))
        return norm(add(difference, self.eps), self.p, -1, keepdims=self.keepdim)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Bilinear(Renewed, Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for every output k.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
        Sizes of the last axes of both inputs and of the output.
    bias : bool
        Whether to add a bias.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape (out_features, in1_features, in2_features).
    bias : Tensor or None
        Of shape (out_features,).

    Raises
    ------
    ValueError
        If a size is not positive.

    See Also
    --------
    nn.Linear, einsum

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.Bilinear(2, 3, 4)(ag.ones((5, 2)), ag.ones((5, 3))).shape
    (5, 4)
    """

    _rules = rules(
        out_features=sizes_of("weight", 0), in1_features=sizes_of("weight", 1),
        in2_features=sizes_of("weight", 2))

    def __init__(self, in1_features: Count, in2_features: Count, out_features: Count,
                 bias: bool = True, *, dtype: DTypeLike = None) -> None:
        for value, what in ((in1_features, "in1_features"), (in2_features, "in2_features"),
                            (out_features, "out_features")):
            size_of(self, value, what)
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in1_features)
        shape = (out_features, in1_features, in2_features)
        self.weight = uniform(shape, bound, dtype)
        self.bias = uniform((out_features,), bound, dtype) if bias else None

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        y = bilinear_product(x1, x2, self.weight)
        return y if self.bias is None else add(y, self.bias)

    def extra_repr(self) -> str:
        outputs, first, second = self.weight.shape
        return f"{first}, {second}, {outputs}" + ", bias=False" * (self.bias is None)


def bilinear_product(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    """Products of all pairs of two vectors' features, weighted."""
    features = (*a.shape[-1:], *b.shape[-1:])
    if weight.ndim != 3 or (features != weight.shape[1:] and is_settled(
            (*features, *weight.shape[1:]))):
        raise ShapeError(f"the weight {weight.shape} must be (outputs, features of input1, features"
                         f" of input2), which are {a.shape} and {b.shape}")
    a, b = sized(a, -1, weight.shape[1]), sized(b, -1, weight.shape[2])
    return einsum("...i,kij,...j->...k", a, weight, b)
