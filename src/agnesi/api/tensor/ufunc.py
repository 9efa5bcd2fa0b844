"""NumPy's universal functions on tensors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from agnesi.api import functions
from agnesi.api.lazy_names import NAMES
from agnesi.api.tensor import host
from agnesi.core.op import typed
from agnesi.core.support.errors import TraceError, at
from agnesi.core.tensor import Tensor

#: Where NumPy's name is not among ours.
_OTHER = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "rint": "round",
}


def __array_ufunc__(  # noqa: N807
    self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any
) -> Any:
    """The function of the same name on tensors; without one, NumPy's own on the values."""
    name = ufunc.__name__
    function = getattr(functions, _OTHER.get(name, name), None)
    if function is None and name in NAMES:
        function = getattr(import_module("agnesi"), name)
    if function is None:
        function = getattr(import_module("agnesi.api.special"), name, None)
    if method == "__call__" and not keywords and function is not None:
        return function(*inputs)
    own = getattr(function, method, None)
    if own is not None and not isinstance(keywords.get("out", (None,))[0], np.ndarray):
        if "out" in keywords:
            keywords["out"] = keywords["out"][0]
        return own(*inputs, **_given(keywords))
    for x in inputs:
        if isinstance(x, Tensor) and x._requires_grad:
            if not keywords.get("out"):
                raise host.lost(x, f"numpy.{name}")
            raise TypeError(
                at(f"numpy.{name} would lose the gradient of {typed(x)}: an array cannot take the "
                   "result in place: write y = y + x in the place of y += x"))
    if any(isinstance(x, Tensor) for x in keywords.get("out", ())):
        return NotImplemented
    for x in inputs if keywords.get("out") else ():
        if isinstance(x, Tensor) and x.array is None:
            raise TraceError(at(f"numpy.{name}(..., out=...): a NumPy array cannot take {typed(x)},"
                                f" whose value does not exist yet: write y = numpy.{name}(...), or "
                                "give a tensor as out"))
    arrays = [host.value(x, f"numpy.{name}") if isinstance(x, Tensor) else x for x in inputs]
    return getattr(ufunc, method)(*arrays, **keywords)


def _given(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords without those that say what is so anyway."""
    return {k: v for k, v in keywords.items() if v is not None and not (k == "where" and v is True)}
