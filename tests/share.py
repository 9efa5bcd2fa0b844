"""A share of many cases that are alike: always the same ones, unless all are asked for."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
#: What ``make test-all`` sets.
EVERY = bool(os.environ.get("AGNESI_EVERY_CASE"))


def counts(name: str, n: int) -> bool:
    """Whether a case is among the one in n that run."""
    return EVERY or zlib.crc32(name.encode()) % n == 0


def share(cases: Iterable[T], n: int, *which: object) -> list[T]:
    """One in n of some cases, others for each ``which``; never none."""
    every = list(cases)
    found = [c for k, c in enumerate(every) if counts(f"{which}{k}", n)]
    return found or [every[zlib.crc32(str(which).encode()) % len(every)]]
