"""Names of tensors, changed from one library's to another's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from agnesi.core.support.errors import StateError, at

V = TypeVar("V")


def rename(state: Mapping[str, V],
           names: Mapping[str, str | None] | Callable[[str], str | None]) -> dict[str, V]:
    """Rename the keys of a state, as when another library's model is loaded.

    :param state: Values by name; nothing of an open file is read.
    :type state: mapping of str to array_like
    :param names: New names by old ones.  A name may be the beginning of others, up to a dot, which
        may be written: all of them change.  ``*`` stands for one part between dots, which the new
        name's ``*`` repeats.  None leaves tensors out.  The first that fits counts; what fits
        none stays.  Or a function of a name that gives the new one, or None.
    :type names: mapping of str to (str or None), or callable
    :returns: The same values in the same order.
    :rtype: dict
    :raises KeyError: If two names become one, or a name of the mapping fits nothing.
    :raises ValueError: If a new name has more ``*`` than the old one.
    :see: saving.load_file, saving.open_file

    >>> from agnesi import saving
    >>> saving.rename({"h.0.attn.w": 1, "h.1.attn.w": 2, "head.w": 3, "mask": 4},
    ...               {"h.*.attn": "layers.*.attention", "mask": None})
    {'layers.0.attention.w': 1, 'layers.1.attention.w': 2, 'head.w': 3}
    """
    change = names if callable(names) else _Map(names)
    found: dict[str, V] = {}
    came: dict[str, str] = {}
    for name, value in state.items():
        new = change(name)
        if new is None:
            continue
        if new in found:
            raise StateError(at(f"rename: {came[new]!r} and {name!r} both become {new!r}"))
        found[new], came[new] = value, name
    if isinstance(change, _Map) and change.unused:
        raise StateError(at(f"rename: {sorted(change.unused)} fit none of {list(state)}"))
    return found


class _Map:
    """Changes names by patterns, and knows which of those never did."""

    def __init__(self, names: Mapping[str, str | None]) -> None:
        self.rules = [(old, old.removesuffix(".").split("."), new and new.removesuffix("."))
                      for old, new in names.items()]
        self.unused = set(names)
        for old, new in names.items():
            if new is not None and new.count("*") > old.count("*"):
                raise ValueError(at(f"rename: {new!r} has more * than {old!r}"))

    def __call__(self, name: str) -> str | None:
        parts = name.split(".")
        for old, pattern, new in self.rules:
            if len(pattern) <= len(parts) and all(
                    p in ("*", part) for p, part in zip(pattern, parts, strict=False)):
                self.unused.discard(old)
                if new is None:
                    return None
                stars = iter([part for p, part in zip(pattern, parts, strict=False) if p == "*"])
                begin = [next(stars) if p == "*" else p for p in new.split(".")] if new else []
                return ".".join([*begin, *parts[len(pattern):]])
        return name
