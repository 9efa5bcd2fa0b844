"""PyTorch's comparison of tensors, numbers and collections of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.support.dtypes import name_of
from agnesi.core.tensor import Tensor

#: rtol and atol by dtype; integers and bools are to be equal.
_CLOSE = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: object, expected: object, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
    check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless tensors, numbers or collections of them are close.

    :param actual, expected: What to compare: both tensors, arrays or numbers; or sequences or
        mappings of them, compared element by element.
    :type actual, expected: tensor, array, number, sequence or mapping
    :param allow_subclasses: Taken from PyTorch's calls, and not needed.
    :param rtol, atol: Close means ``abs(actual - expected) <= atol + rtol * abs(expected)``; both
        or none are given. By default those of the dtype, 1.3e-6 and 1e-5 for float32, 1e-7 for
        float64, 0 for integers; of two dtypes the greater ones.
    :param equal_nan: Whether NaN is close to NaN.
    :param check_device: Taken from PyTorch's calls, and not needed.
    :param check_dtype: Whether dtypes must be the same.
    :param check_layout, check_stride: Taken from PyTorch's calls, and not needed.
    :param msg: The message, or a function that makes it of the usual one.
    :type msg: str or callable, optional
    :raises AssertionError: If kinds, shapes, dtypes or values differ.
    :raises ValueError: If only one of ``rtol`` and ``atol`` is given.
    :see: testing.assert_allclose, allclose

    >>> ag.testing.assert_close(ag.tensor([1.0]), ag.tensor([1.000001]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol are given both, or none of them")
    found = _difference(actual, expected, "", rtol, atol, equal_nan, check_dtype)
    if found:
        raise AssertionError(msg(found) if callable(msg) else found if msg is None else msg)


def _difference(a: Any, b: Any, place: str, rtol: float | None, atol: float | None,
                *rules: bool) -> str:
    """What the first difference is, or nothing."""
    given = f" of {place}" if place else ""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if set(a) != set(b):
            return f"keys{given} differ: {list(a)} and {list(b)}"
        pairs = [(key, a[key], b[key]) for key in b]
    elif _is_sequence(a) and _is_sequence(b):
        if len(a) != len(b):
            return f"lengths{given} differ: {len(a)} and {len(b)}"
        pairs = [(i, *both) for i, both in enumerate(zip(a, b, strict=True))]
    else:
        return _of_values(a, b, given, rtol, atol, *rules)
    return next(filter(None, (_difference(x, y, f"{place}[{key!r}]", rtol, atol, *rules)
                              for key, x, y in pairs)), "")


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _of_values(a: Any, b: Any, given: str, rtol: float | None, atol: float | None,
               equal_nan: bool, check_dtype: bool) -> str:
    alike = next((kinds for kinds in (Tensor, (np.ndarray, np.generic), (bool, int, float, complex))
                  if isinstance(a, kinds) and isinstance(b, kinds)), None)
    if alike is None:
        if type(a) is type(b) and a is not None:
            raise TypeError(f"tensors, arrays and numbers are compared, not {type(a).__name__}")
        return "" if a is b else (f"kinds{given} differ: {type(a).__name__} and {type(b).__name__}")
    x, y = (np.asarray(v.detach().numpy() if isinstance(v, Tensor) else v) for v in (a, b))
    if x.shape != y.shape:
        return f"shapes{given} differ: {x.shape} and {y.shape}"
    if check_dtype and x.dtype != y.dtype:
        return f"dtypes{given} differ: {name_of(x.dtype)} and {name_of(y.dtype)}"
    usual = [_CLOSE.get(name_of(v.dtype), (0.0, 0.0)) for v in (x, y)]
    rtol, atol = (max(c[i] for c in usual) if t is None else t for i, t in enumerate((rtol, atol)))
    wide = np.result_type(*(np.float64 if v.dtype.kind in "fV" else v.dtype for v in (x, y)))
    x, y = x.astype(wide), y.astype(wide)
    close = x == y if rtol == atol == 0 and not equal_nan else np.isclose(
        x, y, rtol, atol, equal_nan)
    if close.all():
        return ""
    at = np.unravel_index(int(np.argmin(close)), close.shape)
    where = f", first at {tuple(map(int, at))}" if at else ""
    shown = typed(b) if isinstance(b, Tensor) else type(b).__name__
    return (f"{int((~close).sum())} of {close.size} values{given} ({shown}) differ by more than "
            f"atol={atol} and rtol={rtol}{where}: {x[at]} and {y[at]}")
