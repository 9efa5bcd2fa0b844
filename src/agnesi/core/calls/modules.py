"""Modules of PyTorch's programs that have ``import agnesi as torch`` for ``import torch``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.support import dtypes
from agnesi.core.support.errors import PACKAGE, ours
from agnesi.core.tensor import Tensor

#: What calls mean there, by the names of functions; set by the package that has the answers.
answers: Callable[[], dict[str, Callable[..., Any]]] = dict


def users_frame() -> Any:
    """The innermost frame that is not of the library, or the outermost one."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def says_torch(frame: Any) -> bool:
    """Return whether a frame is of a module in which ``torch`` is agnesi."""
    named = frame.f_globals.get("torch")
    return named is not None and getattr(named, "__name__", "") == PACKAGE


def is_pythons(x: Any) -> bool:
    """Return whether something is a number of NumPy's that stands for one of Python's, as in
    PyTorch: in such modules."""
    return (isinstance(x, np.generic) and x.dtype.kind in dtypes.SCALAR_OF
            and x.dtype.char not in "gG" and says_torch(users_frame()))


def as_pythons(xs: tuple[Any, ...], cast: Callable[[Tensor, np.dtype], Tensor]) -> tuple[Any, ...]:
    """Operands with such numbers as Python's beside tensors; those of a trace are cast.

    No plan is kept of calls with numbers of NumPy's (``core.calls.plans.signature``), which would
    give all modules the answer of one.
    """
    numbers = [x._is_number if isinstance(x, Tensor) else isinstance(x, np.generic) for x in xs]
    tensors = [x for x, is_one in zip(xs, numbers, strict=True)
               if isinstance(x, Tensor) and not is_one]
    if not any(numbers) or not tensors:
        return xs
    of_torch = says_torch(users_frame())
    return tuple([
        cast(x, dtypes.promote_scalar(tensors[0].dtype, dtypes.SCALAR_OF[x.dtype.kind]))
        if is_one and isinstance(x, Tensor) and of_torch else x.item() if is_pythons(x) else x
        for x, is_one in zip(xs, numbers, strict=True)])
