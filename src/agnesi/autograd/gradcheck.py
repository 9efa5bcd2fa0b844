"""PyTorch's checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.autograd.differences import check_grads as _check_grads
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.public import renamed as _renamed
from agnesi.core.support.errors import GradientError
from agnesi.core.support.errors import at as _at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor as _as_tensor

#: What PyTorch's checks look at besides values, and where nothing can differ here.
_IDLE = dict.fromkeys(("check_undefined_grad", "check_grad_dtypes", "check_batched_grad",
                       "check_batched_forward_grad", "check_backward_ad", "check_rev_over_rev",
                       "gen_non_contig_grad_outputs", "masked"), "")


@_renamed(**_IDLE)
def gradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], *, eps: float = 1e-6,
              atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
              nondet_tol: float = 0.0, check_forward_ad: bool = False,
              fast_mode: bool = True) -> bool:
    """Compare first derivatives with finite differences, along random directions.

    :param func: A function of tensors; its results are tensors.
    :param inputs: Its operands, in double precision; those that require a gradient are checked.
    :type inputs: Tensor or sequence of Tensor
    :param eps: Step of the differences.
    :param atol, rtol: Tolerances.
    :param raise_exception: Whether a difference is an error; else False is returned.
    :param nondet_tol: Taken from PyTorch's calls; derivatives are computed in one order.
    :param check_forward_ad: Whether derivatives in forward mode are compared, too.
    :param fast_mode: Taken from PyTorch's calls; directions are always random.
    :returns: True where they agree.
    :raises GradientError: If they do not, or no operand requires a gradient.
    :see: testing.check_grads, autograd.gradgradcheck

    >>> x = ag.tensor([0.5, 1.5], dtype="float64", requires_grad=True)
    >>> ag.autograd.gradcheck(ag.sin, x)
    True
    """
    return _checked("gradcheck", func, inputs, 1, eps, atol, rtol, raise_exception,
                    check_forward_ad)


@_renamed(**_IDLE)
def gradgradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any],
                  grad_outputs: Tensor | Sequence[Tensor] | None = None, *, eps: float = 1e-6,
                  atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_fwd_over_rev: bool = False,
                  fast_mode: bool = True) -> bool:
    """Compare first and second derivatives with finite differences, along random directions.

    :like: gradcheck
    :param grad_outputs: What the results are multiplied by, one for each; by default nothing.
    :type grad_outputs: Tensor or sequence of Tensor, optional
    :param check_fwd_over_rev: Whether derivatives in forward mode are compared, too.
    :see: testing.check_grads, autograd.gradcheck

    >>> x = ag.tensor([0.5, 1.5], dtype="float64", requires_grad=True)
    >>> ag.autograd.gradgradcheck(ag.sin, x)
    True
    """
    if grad_outputs is not None:
        func = _weighted(func, grad_outputs)
    return _checked("gradgradcheck", func, inputs, 2, eps, atol, rtol, raise_exception,
                    check_fwd_over_rev)


def _weighted(func: Callable[..., Any], weights: Any) -> Callable[..., Any]:
    """The function with its results multiplied by weights, one for each."""
    def product(*xs: Any) -> Any:
        found = func(*xs)
        ys = [found] if isinstance(found, Tensor) else list(found)
        ws = [weights] if isinstance(weights, Tensor) else list(weights)
        return tuple([y * w for y, w in zip(ys, ws, strict=True)])

    return product


def _checked(name: str, func: Callable[..., Any], inputs: Any, order: int, eps: float, atol: float,
             rtol: float, strict: bool, forward: bool) -> bool:
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    free = [k for k, x in enumerate(given) if isinstance(x, Tensor) and x._requires_grad]
    if not free:
        raise GradientError(_at(f"{name}: no operand requires a gradient"))

    def of_free(*xs: Any) -> Any:
        full = list(given)
        for k, x in zip(free, xs, strict=True):
            full[k] = x
        return func(*full)

    try:
        _check_grads(of_free, [_as_tensor(given[k]).detach() for k in free], order=order,
                     modes=("rev", "fwd") if forward else ("rev",), eps=eps, rtol=rtol, atol=atol)
    except AssertionError as error:
        if strict:
            raise GradientError(_at(f"{name}: {error}")) from None
        return False
    return True


_strictly(__name__)
