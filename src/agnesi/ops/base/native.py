"""C functions called on arrays, as compiled code calls them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.ir import foreign
from agnesi.core.ir.foreign import Argument, Call
from agnesi.core.op import Op
from agnesi.core.support.worker_threads import elements

#: Scratch memory begins at multiples of so many bytes.
_ALIGN_BYTES = 64
_NUMBERS: dict[str, Any] = {"i8": ctypes.c_char, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
            "float": ctypes.c_float, "double": ctypes.c_double}


def evaluated(call: Call, arrays: Sequence[np.ndarray], types: Sequence[Any]) -> tuple[Any, ...]:
    """Return the results of a call with these shapes and dtypes, computed as compiled code does."""
    results = [np.empty(shape, dtype) for shape, dtype in types]
    arrays = [np.ascontiguousarray(x) for x in arrays]
    for i, j in call.copies:
        results[i][...] = arrays[j]
    address = foreign.address(call.symbol)
    if address is None or not all(x.size for x in (*arrays, *results)):
        raise ValueError(f"{call.symbol} cannot be called")
    scratch = [np.empty(n + _ALIGN_BYTES, np.uint8) for n in call.scratch]
    batch: Any = call.batch
    if call.units:
        given = [_argument(a, 0, 1, arrays, results, scratch) for a in call.arguments]
        table = np.array([_bits(x) for x in given], np.uint64)
        units = map(ctypes.c_int64, (0, call.units, 0))
        ctypes.CFUNCTYPE(None)(address)(ctypes.c_void_p(table.ctypes.data), *units)
        return tuple(results)
    for index in range(batch):
        given = [_argument(a, index, batch, arrays, results, scratch) for a in call.arguments]
        ctypes.CFUNCTYPE(None)(address)(*given)
    return tuple(results)


def _bits(x: Any) -> int:
    """A pointer or a number as it stands in a table of 64 bits."""
    whole = x if isinstance(x, ctypes.c_void_p) else type(x)(x.value)
    return ctypes.cast(ctypes.byref(whole), ctypes.POINTER(ctypes.c_uint64)).contents.value


def _argument(a: Argument, index: int, batch: int, arrays: Sequence[np.ndarray],
              results: Sequence[np.ndarray], scratch: Sequence[Any]) -> Any:
    if a.kind == "scratch":
        return ctypes.c_void_p(-(-scratch[a.value].ctypes.data // _ALIGN_BYTES) * _ALIGN_BYTES)
    if a.kind in ("operand", "result"):
        x = (arrays if a.kind == "operand" else results)[a.value]
        return ctypes.c_void_p(x.ctypes.data + index * (x.nbytes // batch))
    if a.direct:
        return _NUMBERS[a.kind](a.value)
    if isinstance(a.value, tuple):
        kind = ctypes.c_double if "double" in a.kind else ctypes.c_float
        return (kind * len(a.value))(*a.value)
    return ctypes.byref(_NUMBERS[a.kind](a.value))


class Native(Op):
    """Base of operations that only a C function evaluates."""

    work = elements(4)

    def perform(self, *xs: np.ndarray) -> Any:
        types = self.infer(*xs)
        if self.outputs == 1:
            return evaluated(self.foreign(*xs), xs, [types])[0]  # type: ignore[misc]
        return evaluated(self.foreign(*xs), xs, types)  # type: ignore[misc]
