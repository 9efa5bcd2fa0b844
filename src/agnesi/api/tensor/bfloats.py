"""bfloat16 through DLPack, which NumPy does not speak: exchanged as uint16 under another label."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from agnesi.core.support import dtypes

#: ``DLDataTypeCode`` of DLPack's header.
_UINT, _BFLOAT = 1, 4
#: Where the code is in a capsule's structure, by the capsule's name.
_PLACES = {b"dltensor": 20, b"dltensor_versioned": 52}


def _code(capsule: Any) -> ctypes.c_uint8 | None:
    """The code of the dtype in a capsule, if the elements have 16 bits."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = api.PyCapsule_GetName(capsule)
    if name not in _PLACES:
        return None
    at = api.PyCapsule_GetPointer(capsule, name) + _PLACES[name]
    bits = ctypes.c_uint8.from_address(at + 1).value
    return ctypes.c_uint8.from_address(at) if bits == 16 else None


def exported(array: np.ndarray, **request: Any) -> Any:
    """The capsule of a bfloat16 array."""
    capsule = array.view(np.uint16).__dlpack__(**request)
    code = _code(capsule)
    assert code is not None
    code.value = _BFLOAT
    return capsule


class Producer:
    """Another library's array whose bfloat16 elements are offered to NumPy as uint16."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.found = False

    def __dlpack__(self, **request: Any) -> Any:
        capsule = self.source.__dlpack__(**request)
        code = _code(capsule)
        if code is not None and code.value == _BFLOAT:
            code.value, self.found = _UINT, True
        return capsule

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()

    def labelled(self, array: np.ndarray) -> np.ndarray:
        """Return an array that NumPy made with its dtype set to bfloat16."""
        return array.view(dtypes.as_dtype("bfloat16")) if self.found else array
