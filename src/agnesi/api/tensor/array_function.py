"""NumPy's functions on tensors (NEP 18): ``np.concatenate([t, u])`` is a tensor.

``np.asarray``, ``np.array`` and what else libraries make arrays of anything with give arrays, since
those are handed to code in C next; so do functions, and parameters, that agnesi does not have.
Where a gradient would be lost by that, it is an error.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from agnesi.api.tensor import host
from agnesi.core.op import typed
from agnesi.core.storage.consumed_results import is_followed
from agnesi.core.support.errors import DTypeError, at
from agnesi.core.support.tracing import is_known, is_tracing
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor

_ROOMS = {"numpy": "agnesi", "numpy.linalg": "agnesi.api.linalg", "numpy.fft": "agnesi.api.fft",
          "numpy.lib.stride_tricks": "agnesi"}
#: Names of NumPy's parameters that have another one here, and those that change no value.
_OTHER = {"ddof": "correction", "a_min": "min", "a_max": "max", "default": "index",
          "N": "n"}
_IDLE = frozenset("assume_unique kind overwrite_input sorted subok".split())
#: Functions that write into their first operand, and those that take numbers only here.
_WRITING = frozenset("copyto fill_diagonal place put put_along_axis putmask".split())
_OF_NUMBERS = frozenset("arange geomspace linspace logspace".split())
#: By these, libraries make arrays of anything, to be handed to code in C.
_MAKING = frozenset("asarray_chkfinite atleast_1d atleast_2d atleast_3d copy".split())
#: Names that mean something else here.
_OTHERWISE = frozenset(("save",))
#: Stands for a dtype that the result is converted to.
_CAST = "the result's dtype"

Call = tuple[tuple[Any, ...], dict[str, Any]]


def __array_function__(  # noqa: N807
    self: Tensor, function: Callable[..., Any], types: Any, args: Any, keywords: Any
) -> Any:
    """The function of the same name on tensors; NumPy's own on the values where there is none."""
    if not all(issubclass(t, (Tensor, np.ndarray)) for t in types):
        return NotImplemented
    own, plain, translate = _counterpart(function)
    if function.__name__ in _MAKING and _no_array(args, keywords):
        own, plain, translate = _counterpart(function, True)
    call = None
    if any(t is not np.ndarray and issubclass(t, np.ndarray) for t in types):
        own = None  # masked arrays and other kinds know more than we do
    elif len(args) <= plain and not keywords:
        call = args, keywords
    elif own is not None and not _for_arrays(function.__name__, args, keywords):
        call = translate(args, keywords)
    if call is None:
        return _on_values(function, own is not None, args, keywords)
    try:
        return _called(own, *call)
    except DTypeError:
        if not _has_values(args, keywords):
            raise
    return _on_values(function, True, args, keywords)  # strings, None and the like


def _called(own: Callable[..., Any], args: Any, keywords: dict[str, Any]) -> Any:
    dtype = keywords.pop(_CAST, None)
    result = own(*args, **keywords)
    return result if dtype is None else result.astype(dtype)


def _has_values(args: Any, keywords: Any) -> bool:
    """Return whether NumPy can have all values, and no gradient is requested."""
    tensors = [x for x in flatten((tuple(args), dict(keywords)))[0] if isinstance(x, Tensor)]
    return not is_tracing() and all(x.array is not None and not x._requires_grad for x in tensors)


def _for_arrays(name: str, args: Any, keywords: Any) -> bool:
    """Return whether a call writes into an array, or wants what the function of this name does not
    do."""
    if isinstance(keywords.get("out"), np.ndarray) or (name in _WRITING and args
                                                       and isinstance(args[0], np.ndarray)):
        return True
    if name == "pad":
        modes = import_module("agnesi.ops.numerics.padding").PAD_MODES
        return (args[2] if len(args) > 2 else keywords.get("mode", "constant")) not in modes
    return name in _OF_NUMBERS and any(np.ndim(x) for x in args)


def _no_array(args: Any, keywords: Any) -> bool:
    """Return whether an operand must not become an array: it is followed, or has no value yet."""
    return any(isinstance(x, Tensor) and (not is_known(x) or is_followed(x))
               for x in flatten((tuple(args), dict(keywords)))[0])


@functools.lru_cache(maxsize=512)
def _counterpart(function: Callable[..., Any], making: bool = False) -> tuple[Any, int, Any]:
    """Our function of this name, and how a call of NumPy's becomes one of ours.

    The number says how many operands, and nothing else, can be handed on as they are.
    """
    room = _ROOMS.get(function.__module__)
    own = getattr(import_module(room), function.__name__, None) if room else None
    if own is None or function.__name__ in _OTHERWISE or (
            function.__name__ in _MAKING and not making):
        return None, -1, None
    try:
        theirs, ours = inspect.signature(function), inspect.signature(own)
    except ValueError:  # a function of C's without a signature
        return own, -1, lambda args, keywords: (args, keywords)
    plain = -1
    if function.__name__ not in (*_WRITING, *_OF_NUMBERS):
        operands = [_is_operand(p) for p in theirs.parameters.values()]
        plain = [*operands, False].index(False)
    return own, plain, functools.partial(_translated, theirs, ours)


def _is_operand(parameter: inspect.Parameter) -> bool:
    """Return whether a parameter of NumPy's is one of ours by its place."""
    return parameter.kind is inspect.Parameter.POSITIONAL_ONLY or (
        parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        and parameter.default is inspect.Parameter.empty
    )


def _translated(theirs: inspect.Signature, ours: inspect.Signature, args: Any,
                keywords: Any) -> Call | None:
    """A call in our parameters: operands by place, others by name; None where one is unknown."""
    try:
        given = theirs.bind(*args, **keywords).arguments
    except TypeError:
        return None
    places: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in given.items():
        parameter = theirs.parameters[name]
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            places += value
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        elif _is_operand(parameter):
            places.append(value)
        elif _counts(parameter, value):
            named[name if name in ours.parameters else _OTHER.get(name, name)] = value
    cast = {_CAST: named.pop("dtype")} if named.keys() - ours.parameters.keys() == {"dtype"} else {}
    try:
        ours.bind(*places, **named)
    except TypeError:
        return None
    return tuple(places), {**named, **cast}


def _counts(parameter: inspect.Parameter, value: Any) -> bool:
    """Return whether a value says more than leaving it out."""
    return parameter.name not in _IDLE and not (value is None or value is parameter.default)


def _bound(name: str, function: Callable[..., Any], args: Any, keywords: Any) -> None:
    """Refuse a call that NumPy's function does not take."""
    try:
        shape = inspect.signature(function)
    except (TypeError, ValueError):  # it names none
        return
    try:
        shape.bind(*args, **keywords)
    except TypeError as error:
        form = f"{function.__name__}{shape}"
        raise TypeError(at(f"{name}: {error}; it is called as {form}")) from None


def _on_values(function: Callable[..., Any], known: bool, args: Any, keywords: Any) -> Any:
    """Return NumPy's result on the values: an array."""
    name = f"{function.__module__}.{function.__name__}"
    _bound(name, function, args, keywords)
    leaves, tree = flatten((tuple(args), dict(keywords)))
    for x in leaves:
        if known and isinstance(x, Tensor) and x._requires_grad:
            raise TypeError(
                at(
                    f"{name} with these parameters would lose the gradient of {typed(x)}: use a "
                    "function of agnesi, or x.detach()"
                )
            )
    values = [host.value(x, name) if isinstance(x, Tensor) else x for x in leaves]
    arguments, named = tree.build(values)
    result = function(*arguments, **named)
    followed = [x for x in leaves if isinstance(x, Tensor) and is_followed(x)]
    if followed and any(_is_inexact(r) for r in flatten(result)[0]):
        host.exported(followed[0], name)
    return result


def _is_inexact(result: Any) -> bool:
    """Return whether a result has elements that a gradient could flow to."""
    return isinstance(result, (float, complex)) or (
        isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind in "fcV")
