"""What copies of expressions have in common with them: names, and what hangs on their tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agnesi.compat.theano.types import variable_of
from agnesi.compat.theano.variable import Variable


def keep_names(pairs: Iterable[tuple[Variable, Variable]]) -> None:
    """Give copies, and what they are computed from, the names and tags of what they copy.

    :param pairs: Expressions and their copies.
    """
    waiting = [(_node(a), _node(b)) for a, b in pairs]
    met: set[Any] = set()
    while waiting:
        old, new = waiting.pop()
        if old is new or old is None or new is None or new in met or old.op is None or (
                new.op is None or old.op.name != new.op.name or len(old.inputs) != len(new.inputs)):
            continue
        met.add(new)
        if old.op.outputs == 1:
            copied, copy = variable_of(old), variable_of(new)
            copy.name = copy.name or copied.name
            for name, value in copied.tag.__dict__.items():
                setattr(copy.tag, name, value)
        waiting += zip(old.inputs, new.inputs, strict=True)


def _node(x: Variable) -> Any:
    """What computes a variable; None for a size."""
    return getattr(x.tensor, "node", None)
