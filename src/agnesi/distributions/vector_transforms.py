"""Transforms of vectors and matrices, and of parts of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from agnesi.api import functions as F
from agnesi.core.options import Size
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.distributions.scalar_transforms import ComposeTransform, Transform
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.linalg.cholesky import cholesky

_T = ">>> T = ag.distributions.transforms\n"


def _summed(x: Tensor, count: int) -> Tensor:
    return F.sum(x, tuple(range(-count, 0))) if count else x


def _with_diagonal(x: Tensor, diagonal: Tensor) -> Tensor:
    """The part below the diagonal of matrices, with another diagonal."""
    return F.tril(x, -1) + expand_dims(diagonal, -1) * F.eye(x.shape[-1], dtype=x.dtype)


@described(_T + ">>> T.AbsTransform()(-2.0)\ntensor(2.)")
class AbsTransform(Transform):
    """The absolute value; its inverse gives the positive one."""

    codomain: Any = C.positive

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return F.abs(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return y


@described(_T + ">>> T.SoftmaxTransform()(ag.zeros(2))\ntensor([0.5, 0.5])")
class SoftmaxTransform(Transform):
    """Shares of exponentials; the inverse gives one of the vectors that have these shares."""

    domain: Any = C.real_vector
    codomain: Any = C.simplex
    event_dim = 1

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return F.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.log(y)


@described(_T + ">>> T.StickBreakingTransform()(ag.zeros(1))\ntensor([0.5, 0.5])")
class StickBreakingTransform(Transform):
    """Vectors of n numbers to n + 1 shares, one of what the ones before left after the other."""

    domain: Any = C.real_vector
    codomain: Any = C.simplex
    event_dim = 1

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*shape[:-1], shape[-1] - 1)

    def _logits(self, x: Tensor) -> Tensor:
        n = x.shape[-1]
        return x - F.log(F.arange(n, 0, -1, dtype=x.dtype))

    def _call(self, x: Tensor) -> Tensor:
        part = F.sigmoid(self._logits(x))
        left = F.cumprod(1 - part, -1)
        one = F.ones_like(part[..., :1])
        return F.concat([part, one], -1) * F.concat([one, left], -1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = 1 - F.cumsum(y[..., :-1], -1)
        n = rest.shape[-1]
        return F.log(y[..., :-1]) - F.log(rest) + F.log(F.arange(n, 0, -1, dtype=y.dtype))

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        logits = self._logits(x)
        return F.sum(-logits - F.softplus(-logits) + F.log(y[..., :-1]), -1)


@described(_T + ">>> T.LowerCholeskyTransform()(ag.zeros((1, 1)))\ntensor([[1.]])")
class LowerCholeskyTransform(Transform):
    """Matrices to lower triangles with a positive diagonal."""

    domain: Any = C.independent(C.real, 2)
    codomain: Any = C.lower_cholesky
    event_dim = 2

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return _with_diagonal(x, F.exp(F.diagonal(x, 0, -2, -1)))

    def _inverse(self, y: Tensor) -> Tensor:
        return _with_diagonal(y, F.log(F.diagonal(y, 0, -2, -1)))


@described(_T + ">>> T.PositiveDefiniteTransform()(ag.zeros((1, 1)))\ntensor([[1.]])")
class PositiveDefiniteTransform(LowerCholeskyTransform):
    """Matrices to positive definite ones, by their Cholesky factors."""

    codomain: Any = C.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = super()._call(x)
        return matmul(factor, factor.mT)

    def _inverse(self, y: Tensor) -> Tensor:
        return super()._inverse(cholesky(y))


@described(_T + ">>> T.CorrCholeskyTransform()(ag.zeros(1))\ntensor([[1., 0.],\n        [0., 1.]])")
class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of n x n matrices of correlations."""

    domain: Any = C.real_vector
    codomain: Any = C.corr_cholesky
    event_dim = 1

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(f"a vector of {shape[-1]} numbers fills no triangle below a diagonal")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)

    def _places(self, n: int) -> tuple[Any, Any]:
        rows = [i for i in range(n) for _ in range(i)]
        return F.asarray(rows), F.asarray([j for i in range(n) for j in range(i)])

    def _call(self, x: Tensor) -> Tensor:
        shape = self.forward_shape(x.shape)
        n = shape[-1]
        rows, columns = self._places(n)
        below = F.index_put(F.zeros(shape, dtype=x.dtype), (..., rows, columns), F.tanh(x))
        left = F.cumprod(F.sqrt(1 - F.square(below)), -1)
        left = F.concat([F.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (below + F.eye(n, dtype=x.dtype)) * left

    def _inverse(self, y: Tensor) -> Tensor:
        rows, columns = self._places(y.shape[-1])
        left = 1 - F.cumsum(F.square(y), -1)
        left = F.concat([F.ones_like(left[..., :1]), left[..., :-1]], -1)
        return F.atanh(y[..., rows, columns] / F.sqrt(left[..., rows, columns]))

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        rows, columns = self._places(y.shape[-1])
        left = 1 - F.cumsum(F.square(y), -1)
        inside = (rows > columns + 1).nonzero()[0]
        rest = left[..., rows[inside], columns[inside]]
        slopes = -2 * F.sum(x + F.softplus(-2 * x) - math.log(2), -1)
        return 0.5 * F.sum(F.log(rest), -1) + slopes


@described(_T + ">>> T.ReshapeTransform((4,), (2, 2))(ag.ones(4)).shape\n(2, 2)",
           in_shape="tuple of int\n    The shape of what is taken.",
           out_shape="tuple of int\n    The shape of what is given.")
class ReshapeTransform(Transform):
    """Values in another shape."""

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int],
                 cache_size: Size = 0) -> None:
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(f"{self.in_shape} and {self.out_shape} have other numbers of elements")
        self.event_dim = len(self.in_shape)

    @property
    def domain(self) -> Any:
        return C.independent(C.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        return C.independent(C.real, len(self.out_shape))

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*shape[: len(shape) - len(self.in_shape)], *self.out_shape)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        return (*shape[: len(shape) - len(self.out_shape)], *self.in_shape)

    def _call(self, x: Tensor) -> Tensor:
        return reshape(x, self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return reshape(y, self.inverse_shape(y.shape))

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return F.zeros(x.shape[: x.ndim - len(self.in_shape)], dtype=x.dtype)


@described(_T + ">>> t = T.IndependentTransform(T.ExpTransform(), 1)\n"
           ">>> t.log_abs_det_jacobian(ag.ones(3), t(ag.ones(3)))\ntensor(3.)",
           base_transform="Transform\n    What is done to each number.",
           reinterpreted_batch_ndims="int\n    How many more axes belong to one value.")
class IndependentTransform(Transform):
    """Another one, of which axes at the end belong to one value."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: Size,
                 cache_size: Size = 0) -> None:
        self.base_transform, self.sign = base_transform, base_transform.sign
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.event_dim = base_transform.event_dim + reinterpreted_batch_ndims

    @property
    def domain(self) -> Any:
        return C.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        return C.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        return self.base_transform.inverse_shape(shape)

    def _call(self, x: Tensor) -> Tensor:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.base_transform.inv(y)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return _summed(self.base_transform.log_abs_det_jacobian(x, y),
                       self.reinterpreted_batch_ndims)


class _Parts(Transform):
    """Several, each of a part of an axis."""

    def __init__(self, parts: Sequence[Transform], axis: int) -> None:
        self.transforms, self._axis = list(parts), axis
        self.event_dim = max((t.event_dim for t in self.transforms), default=0)

    @property
    def domain(self) -> Any:
        return None  # one for each part

    @property
    def codomain(self) -> Any:
        return None

    def _cut(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([t(p) for t, p in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t.inv(p) for t, p in zip(self.transforms, self._cut(y), strict=True)])

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        slopes = [t.log_abs_det_jacobian(p, q) for t, p, q in zip(
            self.transforms, self._cut(x), self._cut(y), strict=True)]
        return self._joined([_summed(s, self.event_dim - t.event_dim)
                             for t, s in zip(self.transforms, slopes, strict=True)])


@described(_T + ">>> t = T.CatTransform([T.ExpTransform(), T.AbsTransform()], lengths=[1, 1])\n"
           ">>> t(ag.tensor([0.0, -2.0]))\ntensor([1., 2.])",
           tseq="sequence of Transform\n    One for each part.",
           dim="int\n    Along which axis.",
           lengths="sequence of int, optional\n    The parts' lengths; 1 by default.")
class CatTransform(_Parts):
    """Several, each of some of the elements along an axis."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0,
                 lengths: Sequence[int] | None = None, cache_size: Size = 0) -> None:
        super().__init__(tseq, dim)
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.transforms)

    def _cut(self, x: Tensor) -> list[Tensor]:
        ends = [sum(self.lengths[:i]) for i in range(1, len(self.lengths))]
        return list(F.split(x, ends, axis=self._axis))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return F.concat(parts, self._axis)


@described(_T + ">>> T.StackTransform([T.ExpTransform(), T.AbsTransform()])(ag.tensor([0.0, -2.0]))"
           "\ntensor([1., 2.])",
           tseq="sequence of Transform\n    One for each element.",
           dim="int\n    Along which axis.")
class StackTransform(_Parts):
    """Several, each of one element along an axis."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: Size = 0) -> None:
        super().__init__(tseq, dim)

    def _cut(self, x: Tensor) -> list[Tensor]:
        return list(F.unstack(x, axis=self._axis))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return F.stack(parts, self._axis)


@described(_T + ">>> T.CumulativeDistributionTransform(ag.distributions.Normal(0.0, 1.0))(0.0)\n"
           "tensor(0.5)", distribution="Distribution\n    Whose ``cdf`` and ``icdf`` are taken.")
class CumulativeDistributionTransform(Transform):
    """Values to the probabilities of what is not greater."""

    def __init__(self, distribution: Distribution, cache_size: Size = 0) -> None:
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    @property
    def codomain(self) -> Any:
        return C.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


identity_transform = ComposeTransform([])
