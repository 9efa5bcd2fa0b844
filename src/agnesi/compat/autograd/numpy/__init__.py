"""``autograd.numpy``: NumPy, whose functions are agnesi's inside of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as _np

import agnesi as _agnesi
from agnesi.compat.autograd.numpy import fft as fft
from agnesi.compat.autograd.numpy import linalg as linalg
from agnesi.compat.autograd.numpy import random as random
from agnesi.compat.autograd.numpy.forwarding import forwarding as _forwarding
from agnesi.compat.autograd.numpy.forwarding import has_tensor as _has_tensor
from agnesi.compat.autograd.numpy.forwarding import held as _held
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.values import getval as _getval
from agnesi.core.support.errors import at as _at
from agnesi.core.tensor import Tensor as _Tensor

__version__ = _np.__version__

#: Functions that look at values, or at what arrays they are.
_PLAIN = frozenset("allclose array_equal iscomplexobj isrealobj isscalar ndim result_type shape "
                   "size".split())


def array(a: Any, *args: Any, **keywords: Any) -> Any:
    """An array of numbers, sequences, and values inside of derivatives."""
    if not _has_tensor(a):
        return _np.array(a, *args, **keywords)
    dtype = args[0] if args else keywords.get("dtype")
    found = _stacked(a)
    found = found if dtype is None else found.astype(dtype)
    missing = keywords.get("ndmin", 0) - found.ndim
    return found.reshape((1,) * missing + found.shape) if missing > 0 else found


def _stacked(a: Any) -> Any:
    if isinstance(a, (list, tuple)):
        return _agnesi.stack([_stacked(x) if _has_tensor(x) else _agnesi.asarray(_np.asarray(x))
                              for x in a])
    return a


asarray = asanyarray = array


def where(condition: Any, *args: Any, **keywords: Any) -> Any:
    """Elements of two arrays; where none of the three is an array, a number or list."""
    if not args and not keywords:
        return _np.where(_getval(condition))
    if len(args) + len(keywords) != 2:
        raise TypeError(_at("where takes the condition alone, or with both x and y"))
    x, y = [*args, *(keywords[name] for name in ("x", "y")[len(args):])]
    if any(map(_has_tensor, (condition, x, y))):
        return _agnesi.where(condition, x, y)
    found = _np.where(condition, x, y)
    arrays = any(isinstance(v, (_np.ndarray, _np.generic)) for v in _flat((condition, x, y)))
    return found if arrays else found.tolist()


def _flat(x: Any) -> Any:
    return [v for part in x for v in _flat(part)] if isinstance(x, (list, tuple)) else [x]


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Elements of the first choice whose condition holds."""
    if not _held((condlist, choicelist), {}):
        return _np.select(condlist, choicelist, default)
    found = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1], strict=True):
        found = where(_getval(condition), choice, found)
    return found


class _Joined:
    """``r_`` and ``c_``, for values inside of derivatives, too."""

    def __init__(self, plain: Any, columns: bool) -> None:
        self._plain, self._columns = plain, columns

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if not _has_tensor(keys):
            return self._plain[key]
        parts = [_stacked(k) if _has_tensor(k) else _np.r_[k] for k in keys]
        parts = [_agnesi.atleast_1d(p) for p in parts]
        return _agnesi.column_stack(parts) if self._columns else _agnesi.concatenate(parts)


r_, c_ = _Joined(_np.r_, False), _Joined(_np.c_, True)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Arrays with given diagonals along two new last axes, zero elsewhere."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal knows offset=0, axis1=-1, axis2=-2 only")
    return D[..., None] * _np.eye(D.shape[-1])


real_if_close = _lifted(_np.real_if_close, lambda a, tol=100: (
    a.real if _np.isrealobj(_np.real_if_close(_getval(a), tol)) else a))


def _extreme(name: str) -> Any:
    """``max`` or ``min``, which order complex numbers by their real parts first."""
    plain, ours, places = getattr(_np, name), getattr(_agnesi, name), getattr(_np, f"arg{name}")

    def complexes(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if not isinstance(a, _Tensor) or a.dtype.kind != "c":
            return ours(array(a), axis, keepdims=keepdims)
        at = _np.expand_dims(places(_getval(a), axis), 0 if axis is None else axis)
        if axis is None:
            found = a.reshape(-1)[at[0]]
            return found.reshape((1,) * a.ndim) if keepdims else found
        found = _agnesi.take_along_axis(a, at, axis)
        return found if keepdims else _agnesi.squeeze(found, axis)

    return _lifted(plain, complexes)


max = amax = _extreme("max")
min = amin = _extreme("min")


def _integers(kind: type) -> type:
    """A type of integers, which may query the value of what is inside of a derivative."""
    def new(cls: Any, x: Any = 0) -> Any:
        return kind(_getval(x))

    return type(kind.__name__, (kind,), {"__new__": new})


int8, int16, int32, int64 = map(_integers, (_np.int8, _np.int16, _np.int32, _np.int64))

_lookup = _forwarding(__name__, _np, _PLAIN)


def __getattr__(name: str) -> Any:
    return _lookup(name)


def __dir__() -> list[str]:
    return __all__


__all__ = [_n for _n in dir(_np) if not _n.startswith("_")]
