"""NumPy's numbers among the arguments of a traced function: each call gives other values.

They compute with each other, with Python's numbers and with arrays as NumPy does, whose rules for
dtypes are not those of tensors (``np.int64(3) / 2`` is float64); with tensors as tensors do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compiler.tracing.containers.borrowed_arrays import BorrowedArray
from agnesi.compiler.tracing.numbers import Number, number_of
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.core.support import dtypes
from agnesi.core.support.errors import location, user_where
from agnesi.core.tensor import Tensor, as_kind, symbol
from agnesi.ops.base.convert import cast

_PLAIN = (bool, int, float, complex)
_ARRAYS = (np.ndarray, BorrowedArray)


class NumPyNumber(Tensor):
    """A NumPy scalar whose value is known when the compiled code runs."""

    __slots__ = ()

    _is_number = True

    def __hash__(self) -> int:
        raise OnlyEagerError(f"it looks for a number of NumPy's by its value at "
                             f"{location(user_where(2))}", "Give a Python number: x.item()")

    def __array_ufunc__(self, ufunc: Any, method: str, *xs: Any, **keywords: Any) -> Any:
        one = method == "__call__" and not keywords and ufunc.nout == 1
        if not one or not all(map(_is_numpys, xs)) or (kind := _loop(ufunc, xs)) is None:
            return Tensor.__array_ufunc__(self, ufunc, method, *xs, **keywords)
        return numpys(cast(ufunc(*[_of_kind(x, kind) for x in xs]), kind))

    def __round__(self, digits: Any = None) -> Any:  # type: ignore[override]
        round(_example(self))  # which NumPy may refuse
        if digits is not None:
            return numpys(Tensor.__round__(symbol(self.node), digits))  # type: ignore[arg-type]
        kind = dtypes.float64 if self.dtype.kind == "f" else dtypes.int64
        return round(number_of(symbol(self.node), kind))  # type: ignore[arg-type]


#: How a result of this class is read from its tensor.
NUMBERS = {Number: ".array.item()", NumPyNumber: ".array[()]"}


def numpys(x: Tensor) -> Tensor:
    """Return a tensor as a traced NumPy scalar if it has no axes."""
    return x if x.shape else as_kind(NumPyNumber, x)


def _is_numpys(x: Any) -> bool:
    """Return whether NumPy, and no tensor, would compute with this operand."""
    return isinstance(x, (NumPyNumber, Number, np.generic, *_ARRAYS)) or type(x) in _PLAIN


def _example(x: Any) -> Any:
    """Return a value of the operand's type, from which NumPy infers the result's dtype."""
    if isinstance(x, Number):
        return x.python_type(1)
    if isinstance(x, NumPyNumber):
        return x.dtype.type(1)
    return np.ones((1,) * x.ndim, x.dtype) if isinstance(x, _ARRAYS) else x


def _loop(ufunc: Any, xs: Any) -> np.dtype | None:
    """Return the single dtype in which NumPy evaluates a ufunc on these operands; None if operands
    and result have several.
    """
    given = [np.result_type(v) if isinstance(v, (np.generic, np.ndarray)) else type(v)
             for v in map(_example, xs)]
    kinds = {np.dtype(d) for d in ufunc.resolve_dtypes((*given, None))}
    return kinds.pop() if len(kinds) == 1 else None


def _of_kind(x: Any, kind: np.dtype) -> Any:
    """Return a NumPy operand as a tensor's operand of this dtype; Python numbers stay as they are.
    """
    if isinstance(x, (NumPyNumber, Number)):
        return cast(symbol(x.node), kind)  # type: ignore[arg-type]
    return x if isinstance(x, _ARRAYS) or type(x) in _PLAIN else kind.type(x)


def _operator(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    """An operator of a number of NumPy's."""
    apply, of_tensors = getattr(operator, name), f"__{'r' * reflected}{name.strip('_')}__"

    def method(self: Any, other: Any) -> Any:
        if not _is_numpys(other):
            return getattr(Tensor, of_tensors)(self, other)
        pair = (other, self) if reflected else (self, other)
        kind = np.result_type(apply(*map(_example, pair)))
        return numpys(cast(apply(*[_of_kind(x, kind) for x in pair]), kind))

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    apply = getattr(operator, name)

    def method(self: Any) -> Any:
        apply(_example(self))  # which NumPy may refuse
        return numpys(apply(symbol(self.node)))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _reflected in (False, True):
        setattr(NumPyNumber, f"__{'r' * _reflected}{_name}__", _operator(_name, _reflected))
for _name in ("lshift", "rshift", "and_", "or_", "xor"):
    for _reflected in (False, True):
        setattr(NumPyNumber, f"__{'r' * _reflected}{_name.strip('_')}__",
                _operator(_name, _reflected))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(NumPyNumber, f"__{_name}__", _unary(_name))
NumPyNumber.__divmod__ = lambda self, other: (self // other, self % other)  # type: ignore
NumPyNumber.__rdivmod__ = lambda self, other: (other // self, other % self)  # type: ignore
