"""NumPy's linear algebra without its layers of Python, and without the interpreter's lock.

The layers take three times as long as a matrix of three rows: the universal functions under them
are called directly.  Besides, NumPy keeps the lock where the results have fewer than 500 elements,
however large the matrices are: the eigenvalues of 499 rows stop all other threads for 0.3 s.  There
the C function that does the work is called as NumPy calls it (``core/ir/calls/ufuncs.py``).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core import shapes
from agnesi.core.ir.calls.ufuncs import loop_of
from agnesi.core.support.record import record

_REAL, _COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)
#: Elements of results from which NumPy gives the lock back.
_UNLOCKED_ELEMENTS = 500
#: Elements of matrices, times rows, from which they take a millisecond where they are iterated.
_LONG_WORK = 1 << 18


def function_of(name: str) -> Any:
    """A function under NumPy's linear algebra, or None."""
    return getattr(getattr(np.linalg, "_umath_linalg", None), name, None)


def double(dtype: np.dtype) -> np.dtype:
    """The dtype that such functions compute in."""
    return _COMPLEX if dtype.kind == "c" else _REAL


@record
class _Plan:
    """How the C function of a generalized universal function is called.

    :ivar known: What the function is given beside, an address.
    :ivar cores: Names of the last axes of each operand, then of each result.
    """

    call: Callable[..., None]
    known: int
    types: str
    cores: tuple[tuple[str, ...], ...]


def _plan(name: str, letters: str) -> _Plan | None:
    """The function of NumPy's linear algebra that takes operands of these dtypes."""
    found = function_of(name)
    if not isinstance(found, np.ufunc) or found.signature is None:
        return None
    types = next((t for t in found.types if t.partition("->")[0] == letters), "")
    loop = loop_of(found, types)
    if loop is None:
        return None
    pieces = found.signature.replace("->", ",")[1:-1].split("),(")
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop[0])
    cores = tuple([tuple(p.split(",")) if p else () for p in pieces])
    return _Plan(call, loop[1], types.replace("->", ""), cores)


def unlocked(name: str, *operands: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """The results of ``name`` of NumPy's module of C functions, computed in double precision as
    NumPy does; None where NumPy may as well be called, or has to say why there are none."""
    a = operands[0]
    if a.size * min(a.shape[-2:]) < _LONG_WORK:
        return directly(name, *operands)
    plan = _plan(name, "".join("D" if a.dtype.kind == "c" and x.ndim else "d" for x in operands))
    if plan is None:
        return None
    sizes = {"p": min(a.shape[-2:])}
    own = plan.cores[:len(operands)]
    for core, x in zip(own, operands, strict=True):
        sizes.update(zip(core, x.shape[x.ndim - len(core):], strict=True))
    front = shapes.broadcast(*(x.shape[:x.ndim - len(core)]
                               for core, x in zip(own, operands, strict=True)))
    wanted = [(*front, *(sizes[n] for n in core)) for core in plan.cores]
    if max(math.prod(s) for s in wanted[len(operands):]) >= _UNLOCKED_ELEMENTS:
        return None
    given = [np.ascontiguousarray(np.broadcast_to(x, shape), t)
             for x, shape, t in zip(operands, wanted, plan.types, strict=False)]
    if not all(np.isfinite(x).all() for x in given):
        return None
    results = [np.empty(shape, t) for shape, t in zip(wanted, plan.types, strict=True)][len(given):]
    _run(plan, math.prod(front), sizes, [*given, *results])
    return None if np.isnan(results[0]).any() else (*results,)


def directly(name: str, *operands: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """The results of a LAPACK routine in double precision; None if NumPy must run instead, to raise
    its error or handle special cases."""
    run = function_of(name)
    if run is None or not all([x.size for x in operands]):
        return None
    kind = double(operands[0].dtype)
    found = run(*[x if x.dtype == kind or not x.ndim else x.astype(kind) for x in operands])
    several = found if type(found) is tuple else (np.asarray(found),)
    flat = several[0].ravel()
    total = flat.dot(flat)
    return None if total != total else several  # what cannot be computed is NaN


def _run(plan: _Plan, count: int, sizes: dict[str, int], arrays: list[np.ndarray]) -> None:
    """Call the C function for ``count`` parts of arrays in row-major order."""
    names = list(dict.fromkeys(n for core in plan.cores for n in core))
    outer = [x.nbytes // max(count, 1) for x in arrays]
    inner = [s for x, core in zip(arrays, plan.cores, strict=True)
             for s in x.strides[x.ndim - len(core):]]
    plan.call(_words([x.ctypes.data for x in arrays]), _words([count, *(sizes[n] for n in names)]),
              _words(outer + inner), plan.known)


def _words(values: list[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)
