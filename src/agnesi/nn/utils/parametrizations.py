"""Parametrizations that are often wanted: orthogonal weights, norms of 1, lengths apart."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from agnesi.api import functions as F
from agnesi.api import linalg
from agnesi.autodiff.recording import no_grad
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import typed
from agnesi.core.options import Count, NotNegative
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.base.module import Module
from agnesi.nn.functional import normalize
from agnesi.nn.utils.parametrize import register_parametrization
from agnesi.nn.utils.weights import (
    as_matrix,
    length_of,
    normalised,
    power_steps,
    singular_vectors,
    spectral_share,
)

M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    """A direction times a length."""

    def __init__(self, dim: int | None) -> None:
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return normalised(v, g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return length_of(weight, self.dim), weight


class _SpectralNorm(Module):
    """A weight over its largest singular value."""

    def __init__(self, weight: Tensor, steps: Count, dim: int, eps: NotNegative) -> None:
        self.steps, self.dim, self.eps = steps, dim, eps
        if weight.ndim > 1:
            self._u, self._v = singular_vectors(weight, dim, eps, 15)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim < 2:
            return normalize(weight, dim=0, eps=self.eps)
        if self.training:
            power_steps(as_matrix(weight.detach(), self.dim), self._u, self._v, self.steps,
                        self.eps)
        return spectral_share(weight, self._u, self._v, self.dim)

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


class _Orthogonal(Module):
    """A matrix with orthonormal columns or rows, from a base turned by a skew matrix."""

    def __init__(self, weight: Tensor, orthogonal_map: str, trivial: bool) -> None:
        self.orthogonal_map, self.shape = orthogonal_map, tuple(weight.shape)
        if trivial:
            self.register_buffer("base", wrap(_completed(weight.array)))
        else:
            self.base = None

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = F.swapaxes(x, -1, -2) if wide else x
        n, k = x.shape[-2:]
        x = F.tril(x)
        if n != k:
            x = F.concatenate([x, F.zeros((*x.shape[:-1], n - k), dtype=x.dtype)], -1)
        skew = x - F.swapaxes(x, -1, -2)
        if self.orthogonal_map == "matrix_exp":
            q = linalg.expm(skew)
        else:
            one = F.eye(n, dtype=skew.dtype)
            q = linalg.solve(one - skew / 2, one + skew / 2)
        q = q[..., :k]
        q = q if self.base is None else F.matmul(self.base, q)
        return F.swapaxes(q, -1, -2) if wide else q

    @no_grad()
    def right_inverse(self, value: Tensor) -> Tensor:
        if self.base is None:
            raise NotImplementedError(at("orthogonal: without use_trivialization nobody knows what "
                                         "a value is computed from"))
        if tuple(value.shape) != self.shape:
            raise ShapeError(at(f"orthogonal: a value must be of shape {self.shape}, not "
                                f"{typed(value)}"))
        self.base.copy_(wrap(_completed(value.array)))
        return F.zeros_like(value)


def _completed(q: np.ndarray) -> np.ndarray:
    """The nearest orthonormal columns, completed to a square matrix."""
    q = np.swapaxes(q, -1, -2) if q.shape[-2] < q.shape[-1] else q
    n, k = q.shape[-2:]
    rng = np.random.default_rng(0)
    q = np.concatenate([q, rng.standard_normal((*q.shape[:-1], n - k)).astype(q.dtype)], -1)
    full, r = np.linalg.qr(q)
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return full * np.where(signs == 0, 1, signs)[..., None, :].astype(q.dtype)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Let a weight be a direction times a length (Salimans and Kingma, 2016).

    :param module: Whose weight it is.
    :param name: Of the weight; ``original0`` is the length, ``original1`` the direction.
    :param dim: The axis along which each part has a length of its own; None for one length.
    :type dim: int, optional
    :returns: The module itself.
    :see: nn.utils.parametrize.remove_parametrizations, nn.utils.weight_norm

    >>> layer = ag.nn.utils.parametrizations.weight_norm(ag.nn.Linear(3, 2))
    >>> [n for n, _ in layer.named_parameters()][1:]
    ['parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(module: M, name: str = "weight", n_power_iterations: int = 1,
                  eps: float = 1e-12, dim: int | None = None) -> M:
    """Divide a weight by its largest singular value at each use (Miyato et al., 2018).

    :param module: Whose weight it is.
    :param name: Of the weight.
    :param n_power_iterations: Steps of the power method whenever the weight is read in training.
    :param eps: The least norm that vectors are divided by.
    :param dim: The axis of the outputs: 0, but 1 for transposed convolutions.
    :returns: The module itself.
    :raises ValueError: If there is no such tensor.
    :see: nn.utils.spectral_norm

    >>> layer = ag.nn.utils.parametrizations.spectral_norm(ag.nn.Linear(20, 4)).eval()
    >>> bool(ag.linalg.norm(layer.weight, 2) < 1.5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(at(f"spectral_norm: {type(module).__name__} has no tensor {name!r}"))
    dim = dim if dim is not None else int("ConvTranspose" in type(module).__name__)
    return register_parametrization(module, name,
                                    _SpectralNorm(weight, n_power_iterations, dim, eps))


def orthogonal(module: M, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> M:
    """Let a weight have orthonormal columns, or rows where it is wide (Lezcano-Casado, 2019).

    :param module: Whose weight it is.
    :param name: Of the weight, a matrix or a batch of them.
    :param orthogonal_map: How a skew matrix becomes an orthogonal one: by its exponential, as by
        default, or by Cayley's map.
    :type orthogonal_map: {"matrix_exp", "cayley"}, optional
    :param use_trivialization: Whether it turns a base, so that values may be assigned.
    :returns: The module itself.
    :raises ValueError: If there is no such matrix, or no such map.
    :see: nn.init.orthogonal_, nn.utils.parametrize.register_parametrization

    >>> layer = ag.nn.utils.parametrizations.orthogonal(ag.nn.Linear(3, 3))
    >>> bool(ag.allclose(layer.weight @ layer.weight.T, ag.eye(3), atol=1e-5))
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim < 2:
        raise ValueError(at(f"orthogonal: {type(module).__name__} has no matrix {name!r}"))
    if orthogonal_map not in (None, "matrix_exp", "cayley"):
        raise ValueError(at("orthogonal: orthogonal_map must be 'matrix_exp' or 'cayley', not "
                            f"{orthogonal_map!r}"))
    return register_parametrization(
        module, name, _Orthogonal(weight, orthogonal_map or "matrix_exp", use_trivialization),
        unsafe=True)


_strictly(__name__)
