"""Derivatives of functions, by name: grad, jacobian, hessian and their kin."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import agnesi.compat.autograd.numpy as np
from agnesi.autodiff.checkpoint import checkpoint as our_checkpoint
from agnesi.compat.autograd.modes import make_jvp as _make_jvp
from agnesi.compat.autograd.modes import make_vjp as _make_vjp
from agnesi.compat.autograd.modes import vspace
from agnesi.compat.autograd.values import Parts, isbox
from agnesi.compat.autograd.wrap_util import get_name, unary_to_nary
from agnesi.core.support import tree
from agnesi.core.support.errors import at, typed

Function = Callable[..., Any]

make_vjp = unary_to_nary(_make_vjp)
make_jvp = unary_to_nary(_make_jvp)


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """
    Returns a function which computes the gradient of `fun` with respect to positional argument
    number `argnum`: of the argument's type, from the same arguments. `fun` has one real number
    as its result.
    """
    vjp, ans = _make_vjp(fun, x)
    return vjp(_one(ans))


def _one(ans: Any) -> Any:
    space = vspace(ans)
    nest = ans is None or isinstance(ans, (list, tuple, dict))
    if nest or space.size != 1 or not Parts(ans).places:
        raise TypeError(at("Grad only applies to real scalar-output functions. "
                           "Try jacobian, elementwise_grad or holomorphic_grad. "
                           f"This one returned {typed(ans)}"))
    return space.ones()


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> Any:
    """Returns a function that computes both the value and the gradient, as SciPy requests."""
    vjp, ans = _make_vjp(fun, x)
    return ans, vjp(_one(ans))


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """Returns a function that computes the sums of columns of the Jacobian, in one pass: where it
    is diagonal, its diagonal."""
    vjp, ans = _make_vjp(fun, x)
    if ans is None or vspace(ans).iscomplex:
        raise TypeError(at("Elementwise_grad only applies to real-output functions. This one "
                           f"returned {typed(ans)}"))
    return vjp(vspace(ans).ones())


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """Returns a function that computes the derivative along ones, by forward mode."""
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """Returns a function which computes the Jacobian, of the shape of the result followed by that
    of the argument, which are arrays or numbers."""
    vjp, ans = _make_vjp(fun, x)
    if isinstance(ans, (list, tuple, dict, type(None))):
        raise TypeError(at(f"jacobian: the function must return an array, not {typed(ans)}: "
                           "np.array or np.stack makes one of several numbers"))
    space = vspace(ans)
    rows = [vjp(e) for e in space.standard_basis()]
    return np.reshape(np.stack(rows), space.shape + np.shape(x))


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """Returns a function which computes the derivative of a holomorphic function."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return grad(lambda x: np.real(fun(x)))(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient with respect to an argument of this name."""
    names = inspect.getfullargspec(fun).args
    if argname not in names:
        raise ValueError(at(f"grad_named: {get_name(fun)} has no argument {argname!r}, but "
                            f"{', '.join(names)}"))
    gradient: Function = grad(fun, names.index(argname))
    return gradient


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """Returns a function that computes all second derivatives."""
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """Returns a function that gives, at a point, that of products with the Hessian there."""
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """The function of ``(*args, tensor)`` that computes the Hessian's product with a tensor."""
    gradient = grad(fun, argnum)

    def along(*args: Any, **keywords: Any) -> Any:
        *args, vector = args  # type: ignore[assignment]
        return np.tensordot(gradient(*args, **keywords), vector, np.ndim(vector))

    product: Function = grad(along, argnum)
    return product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """The function of ``(*args, tensor)`` that computes a tensor's product with the Jacobian."""
    def along(*args: Any, **keywords: Any) -> Any:
        *args, vector = args  # type: ignore[assignment]
        return np.tensordot(vector, fun(*args, **keywords), axes=np.ndim(vector))

    product: Function = jacobian(along, argnum)
    return product


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Any:
    """Returns a function that gives, at a point, that of products with the Jacobian there."""
    vjp, y = _make_vjp(fun, x)
    return _make_vjp(vjp, vspace(y).zeros())[0]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Products with the generalized Gauss-Newton matrix of ``g`` behind ``f``, at a point."""
    @unary_to_nary
    def make(f: Function, x: Any) -> Any:
        f_vjp, f_x = _make_vjp(f, x)
        g_hvp, grad_g_x = _make_vjp(grad(g), f_x)
        f_jvp, _ = _make_vjp(f_vjp, vspace(grad_g_x).zeros())
        return lambda v: f_vjp(g_hvp(f_jvp(v)))

    product: Function = make(f, f_argnum)
    return product


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> Any:
    """Returns a function that computes the gradient of the first of two results, and the second."""
    vjp, (ans, aux) = _make_vjp(lambda x: tuple(fun(x)), x)
    return vjp((vspace(ans).ones(), vspace(aux).zeros())), aux


def multigrad_dict(fun: Function) -> Function:
    """The function that computes the gradients of all arguments, as a dict by their names."""
    signature = inspect.signature(fun)

    def gradients(*args: Any, **keywords: Any) -> Any:
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()

        def of_dict(values: dict[str, Any]) -> Any:
            again = signature.bind(*args, **keywords)
            again.arguments.update(values)
            return fun(*again.args, **again.kwargs)

        return grad(of_dict)(dict(bound.arguments))

    return gradients


def checkpoint(fun: Function) -> Function:
    """A function whose intermediate values are computed again for the gradient, not kept."""
    @functools.wraps(fun)
    def checked(*args: Any, **keywords: Any) -> Any:
        if any(map(isbox, tree.flatten((args, keywords))[0])):
            return our_checkpoint(fun, *args, **keywords)
        return fun(*args, **keywords)

    return checked
