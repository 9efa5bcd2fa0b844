"""Whether operands have a ``__torch_function__`` of their own, as copies of PyTorch's code ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor

__all__ = ["handle_torch_function", "has_torch_function", "has_torch_function_unary",
           "has_torch_function_variadic", "is_tensor_like"]


def _overrides(x: Any) -> bool:
    return hasattr(type(x), "__torch_function__")


@strict
def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether one of the operands has a ``__torch_function__``; tensors of ours have none.

    :param relevant_args: The operands.
    :returns: False where all are tensors or numbers.
    :see: has_torch_function_unary, has_torch_function_variadic, handle_torch_function

    >>> import agnesi as ag
    >>> from agnesi.overrides import has_torch_function
    >>> has_torch_function((ag.ones(2), 1.0))
    False
    """
    return any(map(_overrides, relevant_args))


@strict
def has_torch_function_unary(tensor: object) -> bool:
    """Return whether the operand has a ``__torch_function__``.

    :param tensor: The operand.
    :returns: False of a tensor or number.
    :see: has_torch_function

    >>> import agnesi as ag
    >>> from agnesi.overrides import has_torch_function_unary
    >>> has_torch_function_unary(ag.ones(2))
    False
    """
    return _overrides(tensor)


@strict
def has_torch_function_variadic(*args: Any) -> bool:
    """Return whether one of the operands has a ``__torch_function__``.

    :param *args: The operands.
    :returns: False where all are tensors or numbers.
    :see: has_torch_function

    >>> import agnesi as ag
    >>> from agnesi.overrides import has_torch_function_variadic
    >>> has_torch_function_variadic(ag.ones(2), 1.0)
    False
    """
    return has_torch_function(args)


@strict
def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
                          **kwargs: Any) -> Any:
    """Return the result of the first operand's ``__torch_function__`` that gives one.

    :param public_api: The function that was called.
    :param relevant_args: Operands that may have one.
    :param *args: The function's arguments.
    :param **kwargs: Those by name.
    :returns: What it gives.
    :raises TypeError: If none gives anything but NotImplemented.
    :see: has_torch_function

    >>> import agnesi as ag
    >>> from agnesi.overrides import handle_torch_function
    >>> class Masked:
    ...     def __torch_function__(self, function, types, args, kwargs):
    ...         return f"{function.__name__} of something masked"
    >>> handle_torch_function(ag.sum, (Masked(),), Masked())
    'sum of something masked'
    """
    asked = [x for x in relevant_args if _overrides(x)]
    kinds = tuple({type(x): None for x in asked})
    for x in asked:
        found = x.__torch_function__(public_api, kinds, args, kwargs)
        if found is not NotImplemented:
            return found
    raise TypeError(at(f"{public_api.__name__}: no operand's __torch_function__ took the call: "
                       f"{typed(asked)}"))


@strict
def is_tensor_like(inp: Any) -> bool:
    """Return whether something is a tensor, or has a ``__torch_function__``.

    :param inp: Anything.
    :returns: Whether so.
    :see: is_tensor

    >>> ag.overrides.is_tensor_like(ag.ones(2)), ag.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or _overrides(inp)
