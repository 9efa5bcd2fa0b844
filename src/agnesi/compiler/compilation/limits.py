"""Memory limits as users write them."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

from agnesi.core.support.errors import at, shown

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}


def byte_count(limit: Any, name: str = "memory_limit") -> int | None:
    """A number of bytes, given as such or as text with a unit; None stays None.

    >>> from agnesi.compiler.compilation.limits import byte_count
    >>> byte_count("1.5 GB"), byte_count("512MiB"), byte_count(1e3)
    (1500000000, 536870912, 1000)
    """
    if limit is None:
        return None
    number = isinstance(limit, Real) and not isinstance(limit, bool)
    if number and limit > 0 and limit % 1 == 0:
        return int(limit)
    text = limit.upper() if isinstance(limit, str) else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]?I?)B?\s*", text)
    if found is None or found[2] not in _UNITS:
        raise ValueError(
            at(f"{name} must be a number of bytes or text such as '512MB', not {shown(limit)}")
        )
    return int(float(found[1]) * _UNITS[found[2]])
