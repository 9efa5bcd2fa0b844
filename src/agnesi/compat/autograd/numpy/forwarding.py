"""NumPy's functions, which are agnesi's where an operand is inside of a derivative."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.api.tensor.array_function import __array_function__ as dispatched
from agnesi.compat.autograd.values import getval, mapped
from agnesi.core.op import in_user_code
from agnesi.core.support.errors import at, no_attribute, typed
from agnesi.core.support.tree import map_leaves
from agnesi.core.tensor import Tensor

Function = Callable[..., Any]
_TYPES = (Tensor,)
#: What NumPy's functions raise about their arguments.
_KINDS = (np.linalg.LinAlgError, np.exceptions.AxisError, IndexError, TypeError, ValueError)


def has_tensor(x: Any) -> bool:
    """Return whether a value is inside of a derivative, or holds one that is."""
    if isinstance(x, Tensor):
        return True
    return type(x) in (list, tuple) and any(map(has_tensor, x))


def held(args: Any, keywords: dict[str, Any]) -> bool:
    """Return whether arguments are inside of a derivative."""
    return any(map(has_tensor, args)) or (bool(keywords) and
                                          any(map(has_tensor, keywords.values())))


def discrete(found: Any) -> Any:
    """Results that have no gradient as arrays, which index and count."""
    return map_leaves(lambda x: x.array[()] if isinstance(x, Tensor) and x.array is not None
                      and x.dtype.kind in "biu" else x, found)


def lifted(theirs: Function, own: Function | None = None) -> Function:
    """A function of NumPy's or SciPy's, for values inside of derivatives, too.

    Parameters
    ----------
    theirs : callable
        What arrays go to.
    own : callable, optional
        What tensors go to; by default what agnesi has for NumPy's.

    Returns
    -------
    callable
    """
    if own is None and isinstance(theirs, np.ufunc):
        own = theirs

    def called(*args: Any, **keywords: Any) -> Any:
        try:
            if not held(args, keywords):
                return theirs(*args, **keywords)
            if own is not None:
                return discrete(own(*args, **keywords))
            return discrete(dispatched(
                Tensor, theirs, _TYPES, args, keywords))  # type: ignore[arg-type]
        except _KINDS as error:
            if "\n  at " in str(error) or in_user_code(error):
                raise
            kind = next(k for k in _KINDS if isinstance(error, k))
            named = (f"{word}={typed(value)}" for word, value in keywords.items())
            given = ", ".join((*map(typed, args), *named))
            text = re.sub(r"^\S+\(\) (takes|missing|got) ", r"\1 ", str(error))
            if text.startswith(("ufunc ", "loop of ufunc ")) and (wrong := [
                    x for x in args if np.asarray(getval(x)).dtype.kind in "OSUM"]):
                text = f"{typed(wrong[0])} is neither a number nor an array of numbers"
            if "only integer scalar arrays" in text and len(args) > 1:
                text += f"; arrays to join are one list or tuple: {theirs.__name__}((a, b), axis)"
            raise kind(at(f"{theirs.__name__}({given}): {text}")) from None

    functools.update_wrapper(called, theirs, updated=())
    return called


def of_values(theirs: Function) -> Function:
    """A function of the values alone, such as ``shape``."""
    def called(*args: Any, **keywords: Any) -> Any:
        return theirs(*mapped(getval, args), **keywords)

    return functools.update_wrapper(called, theirs, updated=())


def forwarding(where: str, module: Any, plain: frozenset[str] = frozenset(),
         ours: Any = None) -> Function:
    """The ``__getattr__`` of a module that has another one's names.

    They are kept aside: in the module's namespace they would hide Python's ``any`` from its code.

    Parameters
    ----------
    where : str
        The module's own name.
    module : module
        Whose names it has.
    plain : frozenset of str
        Names of functions that only look at values.
    ours : module, optional
        Whose functions of the same names tensors go to.
    """
    @functools.cache
    def found(name: str) -> Any:
        if name.startswith("__") or not hasattr(module, name):
            raise no_attribute(f"module {where!r}", name)
        value = getattr(module, name)
        if callable(value) and not isinstance(value, type):
            counterpart = None if ours is None else getattr(ours, name, None)
            value = of_values(value) if name in plain else lifted(value, counterpart)
        return value

    return found
