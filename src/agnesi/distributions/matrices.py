"""Distributions of matrices, and of vectors whose covariances have few parts."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.api.torch.numbers import mvlgamma
from agnesi.core.options import Count
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.distributions.vectors import Beta
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.linalg.cholesky import cholesky
from agnesi.ops.linalg.det import slogdet
from agnesi.ops.linalg.solve import inv
from agnesi.ops.linalg.triangular import solve_triangular


def _log_diagonal(factor: Tensor) -> Tensor:
    """The sum of the logarithms on a diagonal: half the logarithm of a determinant."""
    return F.sum(F.log(F.diagonal(factor, 0, -2, -1)), -1)


@described(">>> D = ag.distributions\n"
           ">>> D.LowRankMultivariateNormal(ag.zeros(2), ag.ones((2, 1)), ag.ones(2)).variance\n"
           "tensor([2., 2.])",
           loc="array_like\n    The mean, of shape (..., n).",
           cov_factor="array_like\n    Of shape (..., n, m).",
           cov_diag="array_like\n    What is added to the variances, of shape (..., n); positive.")
class LowRankMultivariateNormal(Distribution):
    """Multivariate normal distribution whose covariance is of low rank plus a diagonal.

    Covariance: ``cov_factor @ cov_factor.T + diag(cov_diag)``.
    """

    arg_constraints: ClassVar = {"cov_diag": C.positive}
    has_rsample = True
    support: Any = C.real_vector
    _inner: ClassVar = {"loc": 1, "cov_factor": 2, "cov_diag": 1}
    loc: Tensor
    cov_factor: Tensor
    cov_diag: Tensor

    def __init__(self, loc: TensorLike, cov_factor: TensorLike, cov_diag: TensorLike,
                 validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)
        self._event_shape = self.loc.shape[-1:]
        scaled = self.cov_factor / expand_dims(self.cov_diag, -1)
        inner = matmul(self.cov_factor.mT, scaled)
        self._scaled = scaled
        self._inner_factor = cholesky(inner + F.eye(inner.shape[-1], dtype=inner.dtype))

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        n = self.loc.shape[-1]
        diagonal = expand_dims(self.cov_diag, -1) * F.eye(n, dtype=self.loc.dtype)
        return matmul(self.cov_factor, self.cov_factor.mT) + diagonal

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return inv(self.covariance_matrix)

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariances."""
        return cholesky(self.covariance_matrix)

    def half_log_det(self) -> Tensor:
        """Half the logarithm of the covariances' determinant.

        :returns: Of the batch's shape.
        """
        return _log_diagonal(self._inner_factor) + F.sum(F.log(self.cov_diag), -1) / 2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, kind = self._extended_shape(sample_shape), self.loc.dtype
        few = random.normal(size=(*shape[:-1], self.cov_factor.shape[-1], 1), dtype=kind)
        many = random.normal(size=shape, dtype=kind)
        return self.loc + matmul(self.cov_factor, few)[..., 0] + F.sqrt(self.cov_diag) * many

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return F.sum(F.square(self.cov_factor), -1) + self.cov_diag

    def log_prob(self, value: Any) -> Tensor:
        away = self._value(value) - self.loc
        n = away.shape[-1]
        across = self._scaled.mT
        across = F.broadcast_to(across, (*away.shape[:-1], *across.shape[-2:]))
        inner = matmul(across, expand_dims(away, -1))
        factor = F.broadcast_to(self._inner_factor,
                                (*away.shape[:-1], *self._inner_factor.shape[-2:]))
        z = solve_triangular(factor, inner, lower=True)[..., 0]
        square = F.sum(F.square(away) / self.cov_diag, -1) - F.sum(F.square(z), -1)
        return -0.5 * (n * math.log(2 * math.pi) + square) - self.half_log_det()

    def entropy(self) -> Tensor:
        n = self.loc.shape[-1]
        return 0.5 * n * (1 + math.log(2 * math.pi)) + self.half_log_det()


@described(">>> D = ag.distributions\n>>> D.Wishart(3.0, ag.eye(2)).mean\n"
           "tensor([[3., 0.],\n        [0., 3.]])",
           df="array_like\n    Degrees of freedom; above n - 1.",
           covariance_matrix="array_like, optional\n    Of shape (..., n, n).",
           precision_matrix="array_like, optional\n    Its inverse, in its place.",
           scale_tril="array_like, optional\n    Its Cholesky factor, in its place.")
class Wishart(Distribution):
    """Wishart distribution, of the sum of ``df`` outer products of normal vectors with themselves.

    Density: ``det(x)**((df - p - 1) / 2) * exp(-trace(inv(covariance_matrix) @ x) / 2) / (2**(df *
    p / 2) * det(covariance_matrix)**(df / 2) * exp(multigammaln(df / 2, p)))``.
    """

    arg_constraints: ClassVar = {"df": C.positive, "covariance_matrix": C.positive_definite,
                                 "precision_matrix": C.positive_definite,
                                 "scale_tril": C.lower_cholesky}
    has_rsample = True
    support: Any = C.positive_definite
    _inner: ClassVar = {"scale_tril": 2}
    df: Tensor
    scale_tril: Tensor

    def __init__(self, df: TensorLike, covariance_matrix: TensorLike | None = None,
                 precision_matrix: TensorLike | None = None, scale_tril: TensorLike | None = None,
                 validate_args: bool | None = None) -> None:
        given = (covariance_matrix, precision_matrix, scale_tril)
        if sum(x is not None for x in given) != 1:
            raise ValueError(at("Wishart takes one of covariance_matrix, precision_matrix and "
                                "scale_tril"))
        if scale_tril is None:
            scale_tril = cholesky(as_tensor(covariance_matrix) if precision_matrix is None
                                  else inv(precision_matrix))
        self._take(validate_args, df=df, scale_tril=scale_tril)
        self._event_shape = self.scale_tril.shape[-2:]
        self._size = int(self._event_shape[0])
        self._check("df - n + 1", self.df - self._size + 1, C.positive)

    @property
    def covariance_matrix(self) -> Tensor:
        """The matrix of which the mean is a multiple."""
        return matmul(self.scale_tril, self.scale_tril.mT)

    @property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        return inv(self.covariance_matrix)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape, n, kind = self._extended_shape(sample_shape), self._size, self.df.dtype
        below = F.tril(random.normal(size=shape, dtype=kind), -1)
        half: Any = F.broadcast_to((expand_dims(self.df, -1) - F.arange(n, dtype=kind)) / 2,
                                   shape[:-1])
        squares = 2 * random.standard_gamma(half, dtype=kind)
        factor = below + expand_dims(F.sqrt(squares), -1) * F.eye(n, dtype=kind)
        factor = matmul(self.scale_tril, factor)
        return matmul(factor, factor.mT)

    def _of_df(self, x: Tensor) -> Tensor:
        return expand_dims(expand_dims(x, -1), -1)

    @property
    def mean(self) -> Tensor:
        return self._of_df(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._size - 1
        return self._of_df(F.where(factor > 0, factor, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        d = F.diagonal(v, 0, -2, -1)
        return self._of_df(self.df) * (F.square(v) + expand_dims(d, -1) * expand_dims(d, -2))

    def _half_log_det(self) -> Tensor:
        return self._size * math.log(2) / 2 + _log_diagonal(self.scale_tril)

    def log_prob(self, value: Any) -> Tensor:
        n = self._size
        factor, value = F.broadcast_tensors(self.scale_tril, self._value(value))
        inner = solve_triangular(factor, value, lower=True)
        inner = solve_triangular(factor, inner, lower=True, trans="T")
        trace = F.sum(F.diagonal(inner, 0, -2, -1), -1)
        return (-self.df * self._half_log_det() - mvlgamma(self.df / 2, n)
                + (self.df - n - 1) / 2 * slogdet(value)[1] - trace / 2)

    def entropy(self) -> Tensor:
        n = self._size
        half = expand_dims(self.df / 2, -1) - F.arange(n, dtype=self.df.dtype) / 2
        return ((n + 1) * self._half_log_det() + mvlgamma(self.df / 2, n)
                - (self.df - n - 1) / 2 * F.sum(F.digamma(half), -1) + self.df * n / 2)


@described(">>> ag.distributions.LKJCholesky(2).sample().shape\n(2, 2)",
           dim="int\n    The size of the matrices, 2 or more.",
           concentration="array_like\n    1 for all correlations alike; more, for smaller ones.")
class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices (Lewandowski, Kurowicka and Joe, 2009).

    The density of a correlation matrix is ``det(matrix)**(concentration - 1)`` times a constant.
    """

    arg_constraints: ClassVar = {"concentration": C.positive}
    concentration: Tensor

    def __init__(self, dim: Count, concentration: TensorLike = 1.0,
                 validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(at(f"LKJCholesky: dim must be 2 or more, not {dim}"))
        self._take(validate_args, concentration=concentration)
        self.dim, self._event_shape = dim, (dim, dim)

    @property
    def support(self) -> Any:
        return C.corr_cholesky

    def expand(self, batch_shape: Any) -> Any:
        return LKJCholesky(self.dim, F.broadcast_to(self.concentration, tuple(batch_shape)),
                           self._validate_args)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        n, kind = self.dim, self.concentration.dtype
        before = F.clip(F.arange(n, dtype=kind) - 1, min=0)
        middle = expand_dims(self.concentration + 0.5 * (n - 2), -1)
        lengths = Beta(before + 0.5 + 0 * middle, middle - before / 2, False).sample(sample_shape)
        directions = F.tril(random.normal(size=self._extended_shape(sample_shape), dtype=kind), -1)
        sizes = F.sqrt(F.sum(F.square(directions), -1, keepdims=True))
        directions = F.where(sizes > 0, directions / F.where(sizes > 0, sizes, 1.0), 0.0)
        below = F.sqrt(expand_dims(lengths, -1)) * directions
        left = F.clip(1 - F.sum(F.square(below), -1), min=1e-30)
        return (below + expand_dims(F.sqrt(left), -1) * F.eye(n, dtype=kind)).detach()

    def log_prob(self, value: Any) -> Tensor:
        value, n, a = self._value(value), self.dim, self.concentration
        diagonal = F.diagonal(value, 0, -2, -1)[..., 1:]
        powers = expand_dims(2 * (a - 1), -1) + n - F.arange(2, n + 1, dtype=a.dtype)
        full = a + 0.5 * (n - 1)
        norm = (0.5 * (n - 1) * math.log(math.pi) + mvlgamma(full - 0.5, n - 1)
                - F.lgamma(full) * (n - 1))
        return F.sum(powers * F.log(diagonal), -1) - norm
