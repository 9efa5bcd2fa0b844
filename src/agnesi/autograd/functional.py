"""Derivatives by PyTorch's functions of a function and its operands, under its names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from agnesi.autodiff import jacobians as _jacobians
from agnesi.autodiff import transforms as _transforms
from agnesi.autodiff.recording import enable_grad as _enable_grad
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support import tree as _tree
from agnesi.core.support.errors import GradientError
from agnesi.core.support.errors import at as _at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor as _as_tensor
from agnesi.ops.base.creation import ones_like as _ones_like

_Operands = Tensor | Sequence[Tensor]
_MODES = {"reverse-mode": "reverse", "forward-mode": "forward"}


def _opened(inputs: _Operands) -> tuple[tuple[Tensor, ...], int | range]:
    """The operands, and which of them are differentiated as ``argnums`` say it."""
    if isinstance(inputs, Tensor):
        return (inputs,), 0
    return tuple(_as_tensor(x) for x in inputs), range(len(inputs))


def _given(nest: Any, create_graph: bool) -> Any:
    """Results, cut from what they were computed of unless that is wanted."""
    return nest if create_graph else _tree.map_leaves(
        lambda x: x.detach() if isinstance(x, Tensor) else x, nest)


def _mode(strategy: str) -> str:
    if strategy not in _MODES:
        raise ValueError(_at(f"the strategy must be 'reverse-mode' or 'forward-mode', not "
                             f"{strategy!r}"))
    return _MODES[strategy]


def _vectors(v: _Operands | None, like: Any, name: str) -> tuple[Tensor, ...]:
    """The vector of a product; that of a scalar is 1 where none is given."""
    if v is not None:
        return _opened(v)[0]
    wanted = _opened(like)[0]
    if len(wanted) != 1 or wanted[0].ndim:
        raise GradientError(_at(f"{name}: v may be left out for a scalar only"))
    return (_ones_like(wanted[0]),)


def _dependent(func: Callable[..., Any], xs: tuple[Tensor, ...], strict: bool, name: str) -> None:
    """Refuse operands that no result depends on, if that is requested."""
    if not strict:
        return
    with _enable_grad():
        given = tuple(x.detach().requires_grad_() for x in xs)
        found = func(*given)
    found = (found,) if isinstance(found, Tensor) else tuple(found)
    ys = [y for y in found if isinstance(y, Tensor) and y.requires_grad]
    slopes: tuple[Any, ...] = (None,) * len(given)
    if ys:
        total: Any = sum(y.sum() for y in ys)
        slopes = tuple(_transforms.grad(total, list(given), disconnected="none"))
    for i, slope in enumerate(slopes):
        if slope is None:
            raise GradientError(_at(f"autograd.functional.{name}: no result depends on operand {i};"
                                    " strict=False takes its derivatives as zeros"))


def jacobian(func: Callable[..., Any], inputs: _Operands, create_graph: bool = False,
             strict: bool = False, vectorize: bool = False,
             strategy: Literal["reverse-mode", "forward-mode"] = "reverse-mode") -> Any:
    """All first derivatives of a function.

    :param func: A function of tensors; its results are tensors.
    :param inputs: Its operand, or all of them.
    :param create_graph: Whether the derivatives can be differentiated again.
    :param strict: Whether an operand that no result depends on is an error, and not zeros.
    :param vectorize: Taken from PyTorch's calls; rows are always computed together.
    :param strategy: Whether rows or columns are computed.
    :returns: Of the result's shape and then the operand's; tuples for several operands, and tuples
        of these for several results.
    :raises GradientError: If ``strict``, and no result depends on an operand.
    :raises ValueError: If there is no such strategy.
    :see: agnesi.jacobian, autograd.functional.hessian

    >>> ag.autograd.functional.jacobian(lambda x: x * x, ag.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    xs, argnums = _opened(inputs)
    _dependent(func, xs, strict, "jacobian")
    return _given(_jacobians.jacobian(func, argnums, mode=_mode(strategy))(*xs), create_graph)


def hessian(func: Callable[..., Any], inputs: _Operands, create_graph: bool = False,
            strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: Literal["reverse-mode", "forward-mode"] = "reverse-mode"
            ) -> Any:
    """All second derivatives of a scalar function.

    :like: jacobian
    :param func: A function of tensors; its result is a scalar.
    :param outer_jacobian_strategy: Whether rows or columns of the gradient's Jacobian are computed.
    :returns: Of the operand's shape twice; tuples of tuples for several operands.
    :raises GradientError: If ``strict``, and the result does not depend on an operand.
    :see: agnesi.hessian, autograd.functional.hvp

    >>> ag.autograd.functional.hessian(lambda x: (x**3).sum(), ag.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    xs, argnums = _opened(inputs)
    _dependent(func, xs, strict, "hessian")
    slope = _transforms.gradient_function(func, argnums, owner="hessian")
    found = _jacobians.jacobian(slope, argnums, mode=_mode(outer_jacobian_strategy))(*xs)
    return _given(found, create_graph)


def vjp(func: Callable[..., Any], inputs: _Operands, v: _Operands | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The results of a function, and a vector times its Jacobian.

    :param func: A function of tensors; its results are tensors.
    :param inputs: Its operand, or all of them.
    :param v: Of the results' shapes; needed unless the only result is a scalar.
    :param create_graph: Whether the product can be differentiated again.
    :param strict: Whether an operand that no result depends on is an error, and not zeros.
    :returns: The results, and the product, which is like the operands.
    :raises GradientError: If the vector is missing; or ``strict``, and no result depends on an
        operand.
    :see: agnesi.vjp, autograd.functional.jvp

    >>> ag.autograd.functional.vjp(lambda x: (x * x).sum(), ag.tensor([1.0, 2.0]))
    (tensor(5.), tensor([2., 4.]))
    """
    xs, argnums = _opened(inputs)
    _dependent(func, xs, strict, "vjp")
    ys, pullback = _transforms.vjp(func, *xs)
    cotangents = _vectors(v, ys, "autograd.functional.vjp")
    found = pullback(cotangents[0] if isinstance(ys, Tensor) else type(ys)(cotangents))
    return _given((ys, found[0] if argnums == 0 else tuple(found)), create_graph)


def jvp(func: Callable[..., Any], inputs: _Operands, v: _Operands | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The results of a function, and its Jacobian times a vector.

    :like: vjp
    :param v: Of the operands' shapes; needed unless the only operand is a scalar.
    :returns: The results, and the product, which is like them.
    :see: agnesi.jvp, autograd.functional.vjp

    >>> x, v = ag.tensor([1.0, 2.0]), ag.tensor([1.0, 0.0])
    >>> ag.autograd.functional.jvp(lambda x: x * x, x, v)
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    xs, _ = _opened(inputs)
    _dependent(func, xs, strict, "jvp")
    tangents = _vectors(v, inputs, "autograd.functional.jvp")
    return _given(_transforms.jvp(func, xs, tangents), create_graph)


def hvp(func: Callable[..., Any], inputs: _Operands, v: _Operands | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The result of a scalar function, and its Hessian times a vector.

    :like: jvp
    :param func: A function of tensors; its result is a scalar.
    :returns: The result, and the product, which is like the operands.
    :see: agnesi.hvp, autograd.functional.vhp

    >>> x, v = ag.tensor([1.0, 2.0]), ag.tensor([1.0, 0.0])
    >>> ag.autograd.functional.hvp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([6., 0.]))
    """
    _dependent(func, _opened(inputs)[0], strict, "hvp")
    return _second(func, inputs, v, create_graph, "hvp")


def vhp(func: Callable[..., Any], inputs: _Operands, v: _Operands | None = None,
        create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The result of a scalar function, and a vector times its Hessian, which is symmetric.

    :like: hvp
    :see: hvp, autograd.functional.hvp

    >>> x, v = ag.tensor([1.0, 2.0]), ag.tensor([1.0, 0.0])
    >>> ag.autograd.functional.vhp(lambda x: (x**3).sum(), x, v)
    (tensor(9.), tensor([6., 0.]))
    """
    _dependent(func, _opened(inputs)[0], strict, "vhp")
    return _second(func, inputs, v, create_graph, "vhp")


def _second(func: Callable[..., Any], inputs: _Operands, v: _Operands | None, create_graph: bool,
            name: str) -> tuple[Any, Any]:
    """The result and the product with the Hessian, from one run of the gradient."""
    xs, argnums = _opened(inputs)
    tangents = _vectors(v, inputs, f"autograd.functional.{name}")
    both = _transforms.value_and_grad(func, argnums)
    (y, _), (_, product) = _transforms.jvp(both, xs, tangents)
    return _given((y, product), create_graph)


_strictly(__name__)
