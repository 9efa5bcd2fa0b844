"""Gradients by PyTorch's names: functions with their own derivative, gradients of results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from agnesi.api.custom.contexts import Function as Function
from agnesi.api.custom.contexts import FunctionCtx as FunctionCtx
from agnesi.api.torch.settings import inference_mode as inference_mode
from agnesi.api.torch.settings import set_grad_enabled as set_grad_enabled
from agnesi.autodiff import transforms as _transforms
from agnesi.autodiff.recording import enable_grad as enable_grad
from agnesi.autodiff.recording import no_grad as no_grad
from agnesi.autograd import forward_ad as forward_ad
from agnesi.autograd import function as function
from agnesi.autograd import functional as functional
from agnesi.autograd.gradcheck import gradcheck as gradcheck
from agnesi.autograd.gradcheck import gradgradcheck as gradgradcheck
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import GradientError as _GradientError
from agnesi.core.support.errors import at as _at
from agnesi.core.support.errors import no_attribute as _no_attribute
from agnesi.core.support.paths import add_paths as _add_paths
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor as _as_tensor
from agnesi.ops.indexing.join import stack as _stack


def _listed(given: Any) -> list[Any]:
    return [given] if isinstance(given, Tensor) or not isinstance(given, Iterable) else list(given)


def _with_cotangents(ys: list[Any], given: Any, function: str, results: str, cotangents: str
                     ) -> list[tuple[Any, Any]]:
    """Results beside their cotangents, which are None where none is given."""
    if not ys:
        raise ValueError(_at(f"{function}: {results} must be a tensor, or at least one in a list"))
    gs = _listed(given) if given is not None else [None] * len(ys)
    if len(gs) != len(ys):
        raise ValueError(_at(f"{function}: {results} and {cotangents} must be as many, not "
                             f"{len(ys)} and {len(gs)}; give one for each"))
    return list(zip(ys, gs, strict=True))


def grad(outputs: Tensor | Iterable[Tensor], inputs: Tensor | Iterable[Tensor],
         grad_outputs: TensorLike | None = None, retain_graph: bool | None = None,
         create_graph: bool = False,
         allow_unused: bool = False, only_inputs: bool = True,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """Gradients of results with respect to tensors, as PyTorch's function of this name.

    :param outputs: What to differentiate: the sum of all of them.
    :type outputs: Tensor or iterable of Tensor
    :param inputs: With respect to what.
    :type inputs: Tensor or iterable of Tensor
    :param grad_outputs: Cotangents of the outputs; needed for those that are no scalars.
    :type grad_outputs: Tensor or iterable of Tensor, optional
    :param retain_graph: Taken from PyTorch's calls; records stay as long as their results.
    :param create_graph: Whether the gradients can be differentiated again.
    :param allow_unused: Whether None is given for a tensor that no output depends on, instead of an
        error.
    :param only_inputs: Taken from PyTorch's calls; gradients of other tensors are never added to.
    :param is_grads_batched: Whether the cotangents have one axis more in front, and the gradients,
        too: one for each row.
    :param materialize_grads: Whether zeros are given for a tensor that no output depends on.
    :returns: One for each of the inputs.
    :rtype: tuple of Tensor
    :raises GradientError: If an output does not depend on a tensor, or is no scalar and has no
        cotangent.
    :raises ValueError: If there are not as many cotangents as outputs, no outputs, or no batch.
    :see: value_and_grad, Tensor.backward

    >>> x = ag.tensor(3.0, requires_grad=True)
    >>> ag.autograd.grad(x**2, x)
    (tensor(6.),)
    """
    ys, xs = _listed(outputs), _listed(inputs)
    if is_grads_batched and grad_outputs is None:
        raise ValueError(_at("grad: is_grads_batched needs grad_outputs: several of each output"))
    if is_grads_batched:
        rows = [grad(ys, xs, g, create_graph=create_graph, allow_unused=allow_unused,
                     materialize_grads=materialize_grads)
                for g in zip(*_listed(grad_outputs), strict=True)]
        return tuple(None if g[0] is None else _stack(g) for g in zip(*rows, strict=True))
    pairs = _with_cotangents(ys, grad_outputs, "grad", "outputs", "grad_outputs")
    cost, given = pairs[0]
    if len(pairs) > 1:
        cost = sum((y if g is None else (y * _as_tensor(g)).sum() for y, g in pairs), start=0.0)
        given = None
    try:
        return tuple(_transforms.grad(cost, xs, given, create_graph=create_graph,
                                      disconnected="zero" if materialize_grads else
                                      "none" if allow_unused else "error"))
    except _GradientError as error:  # in the words of this function
        text = str(error).replace("disconnected='zero' (or 'none')", "allow_unused=True")
        raise _GradientError(text) from error.__cause__


def backward(tensors: Tensor | Iterable[Tensor], grad_tensors: TensorLike | None = None,
             retain_graph: bool | None = None, create_graph: bool = False,
             inputs: Tensor | Iterable[Tensor] | None = None) -> None:
    """Add the gradients of results to those of all leaves, as :meth:`Tensor.backward` of each.

    :param tensors: The results.
    :type tensors: Tensor or iterable of Tensor
    :param grad_tensors: Their cotangents; needed for those that are no scalars.
    :type grad_tensors: Tensor or iterable of Tensor, optional
    :param retain_graph: Taken from PyTorch's calls; records stay as long as their results.
    :param create_graph: Whether the gradients can be differentiated again.
    :param inputs: The only leaves whose gradients are added to.
    :type inputs: Tensor or iterable of Tensor, optional
    :raises ValueError: If there are not as many cotangents as results, or no results.
    :see: Tensor.backward

    >>> x = ag.tensor(3.0, requires_grad=True)
    >>> ag.autograd.backward([x**2, 2 * x])
    >>> x.grad
    tensor(8.)
    """
    for y, g in _with_cotangents(_listed(tensors), grad_tensors, "backward", "tensors",
                                 "grad_tensors"):
        y.backward(g, create_graph=create_graph, inputs=inputs)


def Variable(data: TensorLike, requires_grad: bool = False, volatile: bool = False  # noqa: N802
             ) -> Tensor:
    """A tensor: what PyTorch called a variable before tensors had gradients.

    :param data: The value; a tensor is given back as it is, unless it shall require a gradient.
    :param requires_grad: Whether it requires a gradient.
    :param volatile: Taken from old programs; ``no_grad`` says it now.
    :returns: The tensor.
    :see: tensor, no_grad

    >>> ag.autograd.Variable(ag.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """
    found = _as_tensor(data)
    return found.detach().requires_grad_() if requires_grad and not found._requires_grad else found


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise _no_attribute("module 'agnesi.autograd'", name)


_add_paths(__name__, """
    grad_mode variable
""")
_strictly(__name__)
