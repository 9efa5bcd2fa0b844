"""The report of loading a state: missing, unexpected and misshapen entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class LoadedKeys(NamedTuple):
    """Names that a state lacked, and names that the module lacks."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        fields = (f"{name}={value}" for name, value in self._asdict().items())
        return f"LoadedKeys({', '.join(fields)})"


def renaming(missing: Sequence[str], unknown: Sequence[str]) -> str:
    """How to rename a state all of whose names have a prefix too much or too few, or nothing."""
    for mine, theirs, form in ((missing, unknown, "name.removeprefix({0!r})"),
                               (unknown, missing, "{0!r} + name")):
        for name in theirs[:1]:
            prefix = next((name.removesuffix(m) for m in mine if name.endswith("." + m)), "")
            if prefix and sorted(prefix + m for m in mine) == sorted(theirs):
                return (f"give {{{form.format(prefix)}: value for name, value in state.items()}}; ")
    return ""
