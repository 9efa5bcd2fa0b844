"""Functions of functions, in one place: derivatives, batches, compilation."""

from __future__ import annotations

from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import ParamSpec as _ParamSpec
from typing import TypeVar as _TypeVar

from agnesi.api.control.loops import cond as cond
from agnesi.api.control.loops import fori_loop as fori_loop
from agnesi.api.control.loops import map as map
from agnesi.api.control.loops import scan as scan
from agnesi.api.control.loops import while_loop as while_loop
from agnesi.autodiff.checkpoint import checkpoint as checkpoint
from agnesi.autodiff.custom import custom_jvp as custom_jvp
from agnesi.autodiff.custom import custom_vjp as custom_vjp
from agnesi.autodiff.jacobians import hessian as hessian
from agnesi.autodiff.jacobians import hvp as hvp
from agnesi.autodiff.jacobians import jacfwd as jacfwd
from agnesi.autodiff.jacobians import jacobian as jacobian
from agnesi.autodiff.jacobians import jacrev as jacrev
from agnesi.autodiff.jacobians import linearize as linearize
from agnesi.autodiff.recording import stop_gradient as stop_gradient
from agnesi.autodiff.transforms import grad as grad
from agnesi.autodiff.transforms import jvp as jvp
from agnesi.autodiff.transforms import value_and_grad as value_and_grad
from agnesi.autodiff.transforms import vjp as vjp
from agnesi.autodiff.vmap import vmap as vmap
from agnesi.compiler.jit import jit as jit
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.transformed import transformed as _transformed
from agnesi.nn.utils.stateless import functional_call as functional_call
from agnesi.nn.utils.stateless import stack_module_state as stack_module_state

_P = _ParamSpec("_P")
_R = _TypeVar("_R")


def grad_and_value(func: _Callable[_P, _R], argnums: int | _Sequence[int] = 0,
                   has_aux: bool = False) -> _Callable[_P, tuple[_Any, _R]]:
    """:func:`value_and_grad` with its results in PyTorch's order.

    :param func: A function whose result is a scalar.
    :param argnums: Which arguments to differentiate.
    :param has_aux: Whether the function gives a pair, of which the second is handed on.
    :returns: It gives the gradient and the value, which is a pair with ``has_aux``.
    :rtype: callable
    :see: value_and_grad

    >>> ag.func.grad_and_value(lambda x: x**2)(ag.tensor(3.0))
    (tensor(6.), tensor(9.))
    """
    both = value_and_grad(func, argnums, has_aux=has_aux)

    def call(*args: _P.args, **keywords: _P.kwargs) -> tuple[_Any, _R]:
        value, gradient = both(*args, **keywords)
        return gradient, value

    return _transformed(call, "func.grad_and_value", grad_and_value, func, argnums, has_aux)


_strictly(__name__)
