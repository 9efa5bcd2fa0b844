"""Bodies of compiled programs called directly, without an entry."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.runtime.entry import context
from agnesi.runtime.machine import Code


def call_body(code: Code, bufs: Sequence[Any], *, body: str = "body") -> int:
    """Run a body on arrays or addresses."""
    table = context()
    addresses = [b.ctypes.data if isinstance(b, np.ndarray) else b for b in bufs]
    array = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(code.address(body))
    return int(run(ctypes.addressof(array), ctypes.addressof(table)))
