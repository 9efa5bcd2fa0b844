"""Methods of variables whose meaning in Theano differs from that of agnesi's tensors."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from agnesi.api import functions as F
from agnesi.api import symbolic
from agnesi.compat.theano import tensor
from agnesi.compat.theano.functions import function
from agnesi.compat.theano.graphs.fgraph import inputs as leaves_of
from agnesi.compat.theano.variable import METHODS, Variable, bare, wrapped
from agnesi.core.support.errors import at, typed


def _eval(x: Variable, inputs_to_values: Mapping[Any, Any] | None = None, **options: Any) -> Any:
    """The value, for values of the inputs; ``options`` are those of ``function``."""
    if inputs_to_values is not None and not isinstance(inputs_to_values, Mapping):
        raise TypeError(at("eval takes a dict of values by variables, as in y.eval({x: value}), "
                           f"not {typed(inputs_to_values)}"))
    values = dict(inputs_to_values or {})
    if any(isinstance(key, str) for key in values):
        known = {v.name: v for v in leaves_of([x])}
        values = {known.get(k, k) if isinstance(k, str) else k: v for k, v in values.items()}
    for key in values:
        if not isinstance(key, Variable):
            raise TypeError(at(f"eval takes values by variables, as in y.eval({{x: value}}), not "
                               f"by {typed(key)}"))
    return function(list(values), x, **{"on_unused_input": "ignore", **options})(*values.values())


def _flatten(x: Variable, ndim: int | None = None, outdim: int | None = None) -> Variable:
    """The last axes joined, so that ``ndim`` are left."""
    return tensor.flatten(x, ndim or outdim or 1)


def _dimshuffle(x: Variable, *pattern: Any) -> Variable:
    """Axes in another order, "x" for new ones of size 1."""
    if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)):
        pattern = tuple(pattern[0])
    for a in pattern:
        if isinstance(a, int) and not -x.ndim <= a < x.ndim:
            raise ValueError(at(f"dimshuffle{pattern}: axis {a} is out of range for {x.ndim} "
                                f"dimensions of {x.type}"))
    kept = [a % x.ndim if isinstance(a, int) and x.ndim else a for a in pattern]
    for a, one in enumerate(x.broadcastable):
        if a not in kept and not one:
            raise ValueError(at(f"dimshuffle{pattern}: axis {a} of {x.type} is left out, whose "
                                "size need not be 1"))
    return wrapped(symbolic.dimshuffle(x._value, *pattern))


def _reshape(x: Variable, shape: Any, *more: Any, ndim: int | None = None) -> Variable:
    """The elements in another shape."""
    return tensor.reshape(x, (shape, *more) if more else shape, ndim)


def _repeat(x: Variable, repeats: Any, axis: int | None = None) -> Variable:
    """Every element (or slice of an axis) several times."""
    return wrapped(F.repeat(x._value, bare(repeats), axis))


def _norm(x: Variable, L: Any, axis: Any = None, keepdims: bool = False) -> Variable:
    """The L-norm; L = 0 counts what is not zero."""
    value = x._value
    if L == 0:
        return wrapped(F.sum(value != 0, axis, keepdims=keepdims))
    if float("inf") == L:
        return wrapped(F.max(abs(value), axis, keepdims=keepdims))
    return wrapped(F.sum(abs(value) ** L, axis, keepdims=keepdims) ** (1.0 / L))


def _cast(x: Variable, dtype: Any) -> Variable:
    """The elements as another type."""
    return tensor.cast(x, dtype)


def _copy(x: Variable, name: str | None = None) -> Variable:
    """A new variable of the same value."""
    found = tensor.tensor_copy(x)
    if name is not None:
        found.name = name
    return found


def _transpose(x: Variable, *axes: Any) -> Variable:
    """Axes in another order; in reverse order if none are given."""
    one = len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (list, tuple)))
    return tensor.transpose(x, axes[0] if one else axes or None)


def _set(x: Variable, y: Any, **options: Any) -> Variable:
    """The tensor of which this is a part, with the part replaced."""
    return tensor.set_subtensor(x, y, **options)


def _inc(x: Variable, y: Any, **options: Any) -> Variable:
    """The tensor of which this is a part, with something added to the part."""
    return tensor.inc_subtensor(x, y, **options)


def _dprint(x: Variable, **options: Any) -> Any:
    """Print its graph."""
    return importlib.import_module("agnesi.compat.theano.printing").debugprint(x, **options)


def _of(name: str) -> Callable[..., Any]:
    """A method that is the function of that name in ``theano.tensor``."""
    def method(x: Variable, *args: Any, **keywords: Any) -> Any:
        return getattr(tensor, name)(x, *args, **keywords)

    return method



METHODS.update({
    "eval": _eval, "flatten": _flatten, "dimshuffle": _dimshuffle, "reshape": _reshape,
    "repeat": _repeat, "norm": _norm, "astype": _cast, "copy": _copy, "clone": _copy,
    **{name: _of(name) for name in (
        "sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all",
        "argsort", "sort", "cumsum", "cumprod", "dot", "nonzero", "nonzero_values", "take", "fill",
        "zeros_like", "ones_like", "ptp", "round", "clip", "choose", "compress", "diagonal",
        "trace", "swapaxes", "squeeze", "conj", "transfer", "searchsorted", "ravel")},
    "transpose": _transpose, "set": _set, "inc": _inc, "dprint": _dprint,
    "vector": lambda sizes: tensor.as_tensor_variable(sizes, dtype="int64"),
})
