"""Weights as a length and a direction, and weights of norm 1, under PyTorch's names."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

import numpy as np

from agnesi.api import functions as F
from agnesi.autodiff.recording import no_grad
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor, wrap
from agnesi.nn.base.module import Module
from agnesi.nn.functional import normalize
from agnesi.nn.utils.computed import compute, held, is_computed

M = TypeVar("M", bound=Module)


def length_of(v: Tensor, dim: int | None) -> Tensor:
    """The norms of all parts along an axis, or of the whole, of a shape that broadcasts."""
    axes = tuple(a for a in range(v.ndim) if dim is None or dim == -1 or a != dim % v.ndim)
    return F.sqrt(F.sum(v * v, axes, keepdims=dim is not None and dim != -1))


def normalised(v: Tensor, g: Tensor, dim: int | None) -> Tensor:
    """The direction of ``v`` with the length ``g``."""
    return v * (g / length_of(v, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with one axis in front and all others as one."""
    return F.reshape(F.moveaxis(weight, dim, 0), (weight.shape[dim], -1))


@no_grad()
def power_steps(matrix: Tensor, u: Any, v: Any, steps: int, eps: float) -> None:
    """Bring two vectors nearer to the singular vectors of the largest value, in place, ``u`` first;
    with the transposed matrix and ``v`` in its place, the other one first."""
    for _ in range(steps):
        u.copy_(normalize(F.matmul(matrix, v), dim=0, eps=eps))
        v.copy_(normalize(F.matmul(F.swapaxes(matrix, 0, 1), u), dim=0, eps=eps))


def singular_vectors(weight: Tensor, dim: int, eps: float, steps: int) -> tuple[Tensor, Tensor]:
    """Vectors to begin :func:`power_steps` with."""
    matrix = as_matrix(weight.detach(), dim)
    rng = np.random.default_rng(0)
    u, v = (normalize(wrap(np.asarray(rng.standard_normal(n), weight.dtype)), dim=0, eps=eps)
            for n in matrix.shape)
    power_steps(matrix, u, v, steps, eps)
    return u, v


def spectral_share(weight: Tensor, u: Tensor, v: Tensor, dim: int) -> Tensor:
    """The weight over its largest singular value, estimated from two vectors."""
    u, v = F.copy(u), F.copy(v)  # later steps change them
    return weight / F.sum(u * F.matmul(as_matrix(weight, dim), v))


def _weight(module: Module, name: str, what: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or is_computed(module, name):
        raise no_parameter(module, name, what)
    return weight


def no_parameter(module: Module, name: str, what: str) -> ValueError:
    """The error where a module has no such parameter, or computes it already."""
    return ValueError(at(f"{what}: {type(module).__name__} has no parameter {name!r} that is not "
                         f"computed already, but {[n for n, _ in module.named_parameters()]}"))


def _of_length(module: Any, name: str, dim: int | None) -> Tensor:
    return normalised(getattr(module, f"{name}_v"), getattr(module, f"{name}_g"), dim)


@no_grad()
def _set_length(module: Any, value: Tensor, name: str, dim: int | None) -> None:
    getattr(module, f"{name}_v").copy_(value)
    getattr(module, f"{name}_g").copy_(length_of(value, dim))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split a weight into a direction and a length, two parameters (Salimans and Kingma, 2016).

    :param module: Whose weight it is.
    :param name: Of the weight; the parameters are ``weight_v`` and ``weight_g``.
    :param dim: The axis along which each part has a length of its own; None for one length.
    :type dim: int, optional
    :returns: The module itself.
    :raises ValueError: If there is no such parameter.
    :see: nn.utils.remove_weight_norm, nn.utils.parametrizations.weight_norm

    >>> layer = ag.nn.utils.weight_norm(ag.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    weight = _weight(module, name, "weight_norm")
    with no_grad():
        length = length_of(weight, dim).detach()
    compute(module, name, partial(_of_length, name=name, dim=dim),
            partial(_set_length, name=name, dim=dim))
    setattr(module, f"{name}_g", wrap(np.array(length.array)).requires_grad_())
    setattr(module, f"{name}_v", weight)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make a weight a plain parameter again, with its present value.

    :param module: As :func:`weight_norm` gave it.
    :param name: Of the weight.
    :returns: The module itself.
    :raises ValueError: If it is no weight with a length of its own.
    :see: nn.utils.weight_norm

    >>> layer = ag.nn.utils.weight_norm(ag.nn.Linear(3, 2))
    >>> [n for n, _ in ag.nn.utils.remove_weight_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    return _removed(module, name, ("_v", "_g"), "weight_norm")


def _removed(module: M, name: str, parts: tuple[str, ...], what: str) -> M:
    if not is_computed(module, name) or (parts[-1] and not hasattr(module, name + parts[-1])):
        raise ValueError(at(f"{what}: {type(module).__name__}.{name} is not computed so"))
    training, module.training = module.training, False  # reading in training moves the norm on
    with no_grad():
        value = np.array(getattr(module, name).array)
    module.training = training
    for part in parts:
        vars(module).pop(name + part)
        module._owned.pop(name + part, None)
        module._learned.discard(name + part)
    held(module, name, wrap(value).requires_grad_())
    return module


def _of_norm_one(module: Any, name: str, dim: int, steps: int, eps: float) -> Tensor:
    weight = getattr(module, f"{name}_orig")
    u, v = (getattr(module, name + part) for part in ("_u", "_v"))
    if module.training:
        power_steps(as_matrix(weight.detach(), dim).mT, v, u, steps, eps)
    return spectral_share(weight, u, v, dim)


@no_grad()
def _set_original(module: Any, value: Tensor, name: str) -> None:
    getattr(module, f"{name}_orig").copy_(value)


def spectral_norm(module: M, name: str = "weight", n_power_iterations: int = 1,
                  eps: float = 1e-12, dim: int | None = None) -> M:
    """Divide a weight by its largest singular value at each use (Miyato et al., 2018).

    The norm is followed by a step of the power method whenever the weight is read in training.

    :like: weight_norm
    :param name: Of the weight; the parameter is ``weight_orig``.
    :param n_power_iterations: Steps for each reading.
    :param eps: The least norm that vectors are divided by.
    :param dim: The axis of the outputs: 0, but 1 for transposed convolutions.
    :see: nn.utils.remove_spectral_norm, nn.utils.parametrizations.spectral_norm

    >>> layer = ag.nn.utils.spectral_norm(ag.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_orig']
    """
    weight = _weight(module, name, "spectral_norm")
    dim = dim if dim is not None else int("ConvTranspose" in type(module).__name__)
    vectors = singular_vectors(weight, dim, eps, 15)
    compute(module, name, partial(_of_norm_one, name=name, dim=dim, steps=n_power_iterations,
                                  eps=eps), partial(_set_original, name=name))
    setattr(module, f"{name}_orig", weight)
    for part, vector in zip(("_u", "_v"), vectors, strict=True):
        module.register_buffer(name + part, vector)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make a weight a plain parameter again, with its present value.

    :param module: As :func:`spectral_norm` gave it.
    :param name: Of the weight.
    :returns: The module itself.
    :raises ValueError: If it is no weight of norm 1.
    :see: nn.utils.spectral_norm

    >>> layer = ag.nn.utils.spectral_norm(ag.nn.Linear(3, 2))
    >>> [n for n, _ in ag.nn.utils.remove_spectral_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    return _removed(module, name, ("_u", "_v", "_orig"), "spectral_norm")
