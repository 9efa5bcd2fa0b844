"""Foreign random generators: a trace's draws from them are constants of the compiled code."""

from __future__ import annotations

from typing import Any

from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.core.support.foreign import imported

#: Where generators are in their tables from which nothing was drawn.
_FRESH = {"numpy.random": (623, 624), "random": (624,)}


def states() -> dict[str, Any]:
    """Return the states of the global generators of NumPy and Python."""
    found: dict[str, Any] = {}
    numpys, pythons = imported("numpy.random"), imported("random")
    if numpys is not None:
        found["numpy.random"] = numpys.get_state()
    if pythons is not None:
        found["random"] = pythons.getstate()
    return found


def refuse_draws(before: dict[str, Any]) -> None:
    """Raise OnlyEagerError if the function drew from them during the trace; the states are restored
    first.
    """
    for module in undone_draws(before):
        raise OnlyEagerError(f"it draws from the generator of {module}",
                             "Draw with ag.random, or give the numbers as arguments")


def undone_draws(before: dict[str, Any]) -> list[str]:
    """Restore the generators' states; return the names of those that had changed."""
    drawn = []
    for module, state in states().items():
        then = before.get(module)
        if then is None and _compared(module, state)[0][0] in _FRESH[module]:
            continue
        if then is not None and _compared(module, then) == _compared(module, state):
            continue
        if then is not None:
            found = imported(module)
            (found.set_state if module == "numpy.random" else found.setstate)(then)
        drawn.append(module)
    return drawn


def _compared(module: str, state: Any) -> Any:
    """Return a generator's state with its position first, which differs most often."""
    if module == "numpy.random":
        kind, keys, *rest = state
        return rest, kind, keys.tobytes()
    version, words, *rest = state
    return [words[-1], *rest], version, words
