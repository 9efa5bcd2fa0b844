"""Reductions of few numbers: NumPy is called before any other layer looks at the operands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from agnesi.core.dispatch import record
from agnesi.core.op import Op
from agnesi.core.spellings import WATCHED
from agnesi.core.support.config import MODE, TRACES
from agnesi.core.tensor import Tensor
from agnesi.ops.base.elementwise import silently

F = TypeVar("F", bound=Callable[..., Any])

_new = Tensor.__new__
_empty = np.empty
_ndarray = np.ndarray
_BOOL = np.dtype(bool)
_KEEP = "keepdims", "keepdim"
#: Elements from which a reduction is computed as all operations are.
_MANY = 1 << 12


def of_few(kind: str, chars: str, make: Callable[[str, Any, int, bool], Op],
           after: Callable[[Tensor, int], Tensor] | None = None) -> Callable[[F], F]:
    """A public reduction whose calls on few elements are those of NumPy's ufunc ``kind``.

    ``chars`` are those of the dtypes for which it is, and ``make`` gives the operation to record:
    of the kind, an axis or None, the number of axes, and whether they stay.  ``after`` makes the
    result of that and of how many elements each was reduced from.
    """
    reduce: Any = getattr(np, kind).reduce
    truth = kind.startswith("logical")
    # Sums of floats begin with -0.0, to which adding changes nothing (``totals.add_up``).
    first = (-0.0,) if kind == "add" else ()

    def decorated(function: F) -> F:
        watched = function.__name__ in WATCHED  # PyTorch's means something else
        places, axis_words = (1, ("axis",)) if watched else (2, ("axis", "dim"))

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            given = len(args)
            if not (0 < given <= places and type(x := args[0]) is Tensor
                    and (data := x.array) is not None and (dtype := data.dtype).char in chars
                    and 0 < data.size < _MANY and (not TRACES.running or MODE.get().trace is None)):
                return function(*args, **keywords)
            axis, keepdims, n = args[1] if given == 2 else None, False, data.ndim
            for word, value in keywords.items():
                if word in _KEEP and type(value) is bool:
                    keepdims = value
                elif word in axis_words and given == 1:
                    axis = value
                    given = 2
                else:
                    return function(*args, **keywords)
            if axis is not None:
                if type(axis) is not int or not -n <= axis < n:
                    return function(*args, **keywords)
                out = None
            else:
                out = None if keepdims else _empty((), _BOOL if truth else dtype)
            data = silently(reduce, data, axis, None, out, keepdims, *first)
            t = _new(Tensor)
            t.array = data = data if type(data) is _ndarray else np.asarray(data)
            if n > 2 and not data.flags.c_contiguous:
                t.array = data.copy()
            t.node = t._grad = t._view = t._version = t._name = None
            t.requires_grad = False
            if x.requires_grad and not truth and MODE.get().recording:
                record(t, make(kind, axis, n, keepdims), (x,))
            return t if after is None else after(t, x.array.size // data.size)

        return call  # type: ignore[return-value]

    return decorated
