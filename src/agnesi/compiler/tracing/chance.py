"""Foreign random generators: a trace's draws from them are constants of the compiled code."""

from __future__ import annotations

import sys
from typing import Any

from agnesi.core.support.errors import warn

#: Where generators are in their tables that nobody has drawn from.
_FRESH = {"numpy.random": (623, 624), "random": (624,)}


def states() -> dict[str, Any]:
    """The states of the generators that NumPy and Python keep for everybody."""
    found: dict[str, Any] = {}
    numpys, pythons = sys.modules.get("numpy.random"), sys.modules.get("random")
    if numpys is not None:
        kind, keys, *rest = numpys.get_state()
        found["numpy.random"] = rest, kind, keys.tobytes()
    if pythons is not None:
        version, words, *rest = pythons.getstate()
        found["random"] = [words[-1], *rest], version, words
    return found


def warn_of_draws(name: str, before: dict[str, Any]) -> None:
    """Say that a traced function drew numbers, which all calls have in common."""
    for module, state in states().items():
        fresh = module not in before and state[0][0] in _FRESH[module]
        if state != before.get(module) and not fresh:
            warn(f"{name} draws from the generator of {module} while it is compiled: the numbers "
                 "are drawn once, and are the same in all calls. Draw with ag.random, or give "
                 "them as arguments", RuntimeWarning)
