"""``theano.updates``: new values of shared variables, in order."""

from __future__ import annotations

from typing import Any

from agnesi.compat.theano.variable import SharedVariable
from agnesi.core.support.errors import at, typed


class OrderedUpdates(dict[Any, Any]):
    """A dict whose keys are shared variables, which ``+`` joins."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, SharedVariable):
            raise TypeError(at(f"OrderedUpdates: keys are shared variables, not {typed(key)}"))
        super().__setitem__(key, value)

    def update(self, other: Any = None) -> None:  # type: ignore[override]
        """Take the other ones; two values of one variable are refused."""
        for key, value in dict(other or {}).items():
            if key in self and self[key] is not value:
                raise KeyError(at(f"OrderedUpdates: {key!r} has two new values"))
            self[key] = value

    def __add__(self, other: Any) -> OrderedUpdates:
        found = OrderedUpdates()
        for given in (self, other):
            found.update(given)
        return found

    def __radd__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates() + other + self
