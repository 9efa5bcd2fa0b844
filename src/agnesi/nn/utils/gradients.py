"""Gradients that are clipped, and parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.api import functions as F
from agnesi.api.linalg import vector_norm
from agnesi.autodiff.recording import no_grad
from agnesi.core.op import typed
from agnesi.core.options import NotNegativeBound, Order
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import explain_errors, renamed
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import normal
from agnesi.ops.sparse.coordinates import COO
from agnesi.ops.sparse.words import dense


def _listed(parameters: Iterable[Tensor] | Tensor) -> list[Tensor]:
    found = [parameters] if isinstance(parameters, Tensor) or not isinstance(
        parameters, Iterable) else list(parameters)
    for p in found:
        if not isinstance(p, (Tensor, COO)):
            raise TypeError("it takes tensors, such as model.parameters(), not "
                            f"{typed(parameters)}")
    return found


@renamed(foreach="")
def get_total_norm(tensors: Iterable[Tensor] | Tensor, norm_type: Order = 2.0,
                   error_if_nonfinite: bool = False) -> Tensor:
    """The norm of all elements of several tensors.

    :param tensors: Of any shapes.
    :param norm_type: Of the norm; ``inf`` is the largest size.
    :param error_if_nonfinite: Whether a norm that is no finite number is an error.
    :returns: One number; 0 for no tensors.
    :raises TypeError: If what is given is neither a tensor nor an iterable of tensors.
    :raises RuntimeError: If the norm is not finite and ``error_if_nonfinite`` is set.
    :see: nn.utils.clip_grad_norm_

    >>> ag.nn.utils.get_total_norm([ag.tensor([3.0]), ag.tensor([4.0])])
    tensor(5.)
    """
    with no_grad():
        norms = [vector_norm(F.reshape(_elements(t), (-1,)), ord=norm_type)
                 for t in _listed(tensors)]
        total = vector_norm(F.stack(norms), ord=norm_type) if norms else as_tensor(0.0)
        if error_if_nonfinite and not bool(F.isfinite(total)):
            raise RuntimeError(at(f"the norm of the gradients is {float(total)}"))
        return total


@renamed(foreach="")
def clip_grads_with_norm_(parameters: Iterable[Tensor] | Tensor, max_norm: NotNegativeBound,
                          total_norm: Tensor) -> None:
    """Scale gradients, whose total norm is given, down to ``max_norm``.

    :param parameters: Whose ``grad`` is scaled.
    :param max_norm: The largest norm.
    :param total_norm: Their norm.
    :raises TypeError: If what is given is neither a tensor nor an iterable of tensors.
    :see: nn.utils.clip_grad_norm_

    >>> w = ag.zeros(1, requires_grad=True)
    >>> w.grad = ag.tensor([5.0])
    >>> ag.nn.utils.clip_grads_with_norm_(w, 2.5, ag.tensor(5.0))
    >>> w.grad
    tensor([2.499...])
    """
    with no_grad():
        share = F.minimum(max_norm / (total_norm + 1e-6), 1.0)
        for p in _listed(parameters):
            if p.grad is not None:
                p.grad = p.grad * F.astype(share, p.grad.dtype)


@renamed(foreach="")
@explain_errors
def clip_grad_norm_(parameters: Iterable[Tensor] | Tensor, max_norm: NotNegativeBound,
                    norm_type: Order = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Scale all gradients down so that their norm is no larger than ``max_norm``.

    Works inside of a compiled step, too (Pascanu et al., 2013).

    :like: get_total_norm
    :param parameters: Whose ``grad`` is scaled; those without one do not count.
    :param max_norm: The largest norm.
    :returns: The norm before.
    :see: nn.utils.clip_grad_value_, nn.utils.get_total_norm

    >>> w = ag.zeros(2, requires_grad=True)
    >>> w.grad = ag.tensor([3.0, 4.0])
    >>> ag.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.59..., 0.79...])
    """
    held = [p for p in _listed(parameters) if p.grad is not None]
    total = get_total_norm([p.grad for p in held if p.grad is not None], norm_type,
                           error_if_nonfinite)
    clip_grads_with_norm_(held, max_norm, total)
    return total


#: PyTorch's older name.
clip_grad_norm = clip_grad_norm_


@renamed(foreach="")
def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: NotNegativeBound) -> None:
    """Hold every element of all gradients between ``-clip_value`` and ``clip_value``.

    :param parameters: Whose ``grad`` is clipped.
    :param clip_value: The largest size of an element.
    :raises TypeError: If what is given is neither a tensor nor an iterable of tensors.
    :see: nn.utils.clip_grad_norm_

    >>> w = ag.zeros(2, requires_grad=True)
    >>> w.grad = ag.tensor([3.0, -0.5])
    >>> ag.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1. , -0.5])
    """
    with no_grad():
        for p in _listed(parameters):
            if p.grad is not None:
                p.grad = _clipped(p.grad, clip_value)


def add_grad_noise_(parameters: Iterable[Tensor] | Tensor, std: TensorLike, *,
                    generator: Generator | None = None) -> None:
    """Add Gaussian noise to all gradients; also inside of a compiled step.

    Neelakantan et al. (2015) take ``std = (eta / (1 + t) ** 0.55) ** 0.5`` in step t.

    :param parameters: Whose ``grad`` is changed.
    :param std: The noise's standard deviation.
    :type std: float or Tensor
    :raises TypeError: If what is given is neither a tensor nor an iterable of tensors.
    :see: nn.utils.clip_grad_norm_

    >>> w = ag.zeros(3, requires_grad=True)
    >>> w.grad = ag.ones(3)
    >>> ag.nn.utils.add_grad_noise_([w], 0.1)
    >>> bool((w.grad != 1).all())
    True
    """
    with no_grad():
        for p in _listed(parameters):
            if p.grad is not None:
                p.grad = dense(p.grad)
                noise = normal(p.grad.shape, dtype=p.grad.dtype, generator=generator)
                p.grad = p.grad + F.astype(as_tensor(std), p.grad.dtype) * noise


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all parameters into one vector.

    :param parameters: In their order.
    :returns: Their elements, one behind the other.
    :see: nn.utils.vector_to_parameters

    >>> ag.nn.utils.parameters_to_vector([ag.ones(2), ag.zeros((1, 2))])
    tensor([1., 1., 0., 0.])
    """
    return F.concatenate([F.reshape(p, (-1,)) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of one vector into parameters, in place.

    :param vec: As :func:`parameters_to_vector` gives it.
    :param parameters: In the same order.
    :raises ShapeError: If there are more or fewer elements; nothing is changed then.
    :see: nn.utils.parameters_to_vector

    >>> w = ag.zeros((1, 2))
    >>> ag.nn.utils.vector_to_parameters(ag.tensor([1.0, 2.0]), [w])
    >>> w
    tensor([[1., 2.]])
    """
    held = list(parameters)
    count = sum(p.size for p in held)
    if vec.shape != (count,):
        raise ShapeError(at(f"vector_to_parameters: {typed(vec)} does not hold the {count} "
                            "elements of all parameters"))
    begin = 0
    with no_grad():
        for p in held:
            p.copy_(F.reshape(vec[begin: begin + p.size], p.shape))
            begin += p.size


def _elements(g: Any) -> Tensor:
    """Return the elements of a gradient that may differ from 0."""
    return g.coalesce().values() if isinstance(g, COO) else g


def _clipped(g: Any, most: float) -> Any:
    if isinstance(g, COO):
        whole = g.coalesce()
        return whole.with_values(F.clip(whole.values(), -most, most))
    return F.clip(g, -most, most)
