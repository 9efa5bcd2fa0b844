"""The report of loading a state: missing, unexpected and misshapen entries."""

from __future__ import annotations

from typing import NamedTuple


class LoadedKeys(NamedTuple):
    """Names that a state lacked, and names that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]
