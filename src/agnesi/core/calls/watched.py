"""Calls that NumPy and PyTorch answer differently: which ones are NumPy's, with a warning where
PyTorch is used, and which are refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.calls.modules import says_torch, users_frame
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import ours, warn
from agnesi.core.tensor import Tensor

#: Functions that answer a call by position as NumPy does and PyTorch does not, and what that gives;
#: with a number, from so many arguments on; 0 where the function says it itself.
WATCHED: dict[str, tuple[int, str, str]] = {
    "std": (1, "divides by n", "divides by n - 1; write correction=0 or correction=1"),
    "var": (1, "divides by n", "divides by n - 1; write correction=0 or correction=1"),
    "max": (2, "gives values", "gives values and indices; write axis= or dim="),
    "min": (2, "gives values", "gives values and indices; write axis= or dim="),
    "median": (1, "gives the mean of two in the middle", "gives the lower one, and with an axis "
               "its index; write axis= or dim="),
    "nanmedian": (1, "gives the mean of two in the middle", "gives the lower one, and with an "
                  "axis its index; write axis= or dim="),
    "sort": (1, "gives values", "gives values and indices; write axis= or dim="),
    "split": (2, "takes the number of parts or where to cut", "takes sizes; write axis= or dim="),
    "repeat": (0, "repeats each element", "repeats the tensor; write axis=, or x.tile(...)"),
    "nonzero": (1, "gives a tuple of indices", "gives a matrix; write as_tuple=True or False"),
    "meshgrid": (2, "lets the first operand run along axis 1", "lets it run along axis 0; write "
                 "indexing='xy' or indexing='ij'"),
    "gradient": (1, "gives a tensor for one axis", "always gives a tuple; write axis= or dim="),
    "histogram": (1, "counts in integers, in 10 bins", "counts in floats, in 100 bins; write "
                  "bins="),
    "triu_indices": (2, "takes a number of diagonals second", "takes a number of columns; write "
                     "k= or m="),
}
#: Positional calls that both answer, differently, and that users of NumPy hardly write: whether the
#: arguments make one, and what is to be written instead.
REFUSED: dict[str, tuple[Callable[[tuple[Any, ...]], bool], str]] = {
    "tril_indices": (lambda args: len(args) > 1 and args[1] > 0,
                     "by position, the second argument is NumPy's diagonal or PyTorch's number of "
                     "columns; write k= or m="),
    "cross": (lambda args: len(args) > 2 and args[2] not in (-1, getattr(args[0], "ndim", 1) - 1),
              "by position, the third argument is NumPy's axis of the first operand alone or "
              "PyTorch's of both; write axisa= or axis="),
    "logspace": (lambda args: len(args) > 3 and not _is_ten(args[3]),
                 "by position, the fourth argument is NumPy's endpoint or PyTorch's base; write "
                 "endpoint= or base="),
}
#: The error of ``meshgrid`` given tensors of one shape in a list.
LISTED = ("tensors of one shape in a list are one operand in NumPy and several in PyTorch; write "
          "meshgrid(*tensors, indexing='xy') or indexing='ij'")
#: The error of ``std`` and ``var`` in PyTorch's words, without a divisor.
UNSAID = ("{} divides by n - 1 in PyTorch and by n in NumPy; write correction=1 or correction=0")
_SAID: set[str] = set()
#: The modules whose wrappers are outermost around a function: of reductions, and of all functions.
_IN_FRONT = "agnesi.ops.base.totals", "agnesi.core.public"


def _is_pytorchs(frame: Any) -> bool:
    """Return whether code is of a program that has imported PyTorch, or us under its name."""
    return "torch" in sys.modules or says_torch(frame)


def warn_of(name: str, keyworded: bool = False) -> None:
    """Warn once that a result is NumPy's, in a program that has imported PyTorch, where it calls
    the function itself."""
    if not keyworded and name not in _SAID and not ours(_caller(name).f_code.co_filename):
        _say(name)


def _caller(name: str) -> Any:
    """Return the frame that called the outermost wrapper of a function, which runs."""
    frame = caller = sys._getframe(2)
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        if frame.f_code.co_name == name:
            caller = frame.f_back
        frame = frame.f_back
    return caller


def _say(name: str) -> None:
    if _is_to_be_said(name):
        _, here, there = WATCHED[name]
        warn(f"{name} {here}, as in NumPy; PyTorch's {there}")


def warn_of_number(dtype: np.dtype) -> None:
    """Warn once that a NumPy float64 scalar promotes narrower floats, as a Python number does not.
    """
    if _is_to_be_said("numpy.float64"):
        warn(f"numbers of NumPy's float64 make float64 of {dtype.name}, as in NumPy; in PyTorch "
             "they are like Python's: write float(...), or math.sqrt")


def warn_of_single_elements() -> None:
    """Likewise of a list of tensors with axes and one element each."""
    if _is_to_be_said("tensors of one element"):
        warn("lists of tensors with axes are stacked; PyTorch takes those of one element for "
             "numbers: write x.item()")


def _is_to_be_said(name: str) -> bool:
    if name in _SAID or not _is_pytorchs(users_frame()):
        return False
    _SAID.add(name)
    return True


def watched(function: Any, name: str) -> Any:
    """Wrap a function to warn once that PyTorch's result differs, or to refuse such calls; methods
    (first parameter ``self``) stay as they are, as they return PyTorch's result."""
    if function.__code__.co_varnames[:1] == ("self",):
        return function
    if name in REFUSED:
        return _refusing(function, *REFUSED[name])
    least = WATCHED[name][0] if name in WATCHED else 0
    if not least:
        return function

    def look(*args: Any, **keywords: Any) -> Any:
        if name in ("std", "var") and _is_listed(args, keywords):
            raise TypeError(UNSAID.format(name))
        of_two = (name in ("max", "min") and len(args) > 1 and hasattr(args[1], "ndim")
                  and not getattr(args[1], "weak", False))  # Python's numbers are axes
        if of_two and isinstance(args[1], Tensor) and len(args) == 2:  # which is no axis
            found = HOOKS.foreign_forms()[name](function, args, keywords)
            if found is not NotImplemented:
                return found
        if (not keywords and len(args) >= least and name not in _SAID and not of_two
                and type(args[-1]) is not bool):
            frame: Any = sys._getframe(2)
            while frame.f_globals.get("__name__") in _IN_FRONT:
                frame = frame.f_back
            if _is_pytorchs(frame) and not ours(frame.f_code.co_filename):
                _say(name)
        return function(*args, **keywords)

    return look


def _is_listed(args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Return whether axes are a list, which only PyTorch takes, and nothing says what divides."""
    axes = args[1] if len(args) > 1 else keywords.get("axis")
    named = {"correction", "unbiased", "ddof"} & keywords.keys() or type(args[-1]) is bool
    return type(axes) is list and not named


def _is_ten(base: Any) -> bool:
    """Return whether it is the base that both libraries use by default."""
    return type(base) in (int, float) and base == 10


def _refusing(function: Any, means_two: Any, text: str) -> Any:
    def look(*args: Any, **keywords: Any) -> Any:
        if means_two(args):
            raise TypeError(text)
        return function(*args, **keywords)

    return look
