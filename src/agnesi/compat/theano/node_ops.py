"""Operations of nodes as Theano's programs read them: ``x.owner.op == T.exp``."""

from __future__ import annotations

from functools import cache
from typing import Any

from agnesi.api.symbolic import variable
from agnesi.compat.theano.variable import wrapped

#: How many operands functions are tried with, to find out which operation they make.
_MOST_OPERANDS = 3


class OpOfGraph:
    """An operation of a graph; equal to the functions that make it.

    Parameters
    ----------
    op : Op
        Agnesi's, whose attributes this has, too.
    """

    __slots__ = ("op",)

    def __init__(self, op: Any) -> None:
        self.op = op

    def __getattr__(self, name: str) -> Any:
        if name == "op":  # a copy that has nothing yet
            raise AttributeError(name)
        return getattr(self.op, name)

    @property
    def scalar_op(self) -> OpOfGraph:
        """What an elementwise operation does with single numbers: the operation itself."""
        if not self.op.pointwise:
            raise AttributeError(f"{self.op.name} does not go element by element")
        return self

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, OpOfGraph):
            return bool(self.op == other.op)
        return self.op.name == name_of(other) if callable(other) else bool(self.op == other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)

    def __str__(self) -> str:
        return str(self.op)


def name_of(function: Any) -> str | None:
    """Name of the operation that a function of ``theano.tensor`` makes, if it is one."""
    own = str(getattr(function, "__module__", "")).startswith("agnesi.")
    return _made_name(function) if own else None


@cache
def _made_name(function: Any) -> str | None:
    operands: list[Any] = []
    for _ in range(_MOST_OPERANDS):
        operands.append(wrapped(variable(None, "float64", (None, None))))
        try:
            made = function(*operands).owner
        except (TypeError, ValueError, AttributeError):
            continue
        if made is not None and [*map(id, made.inputs)] == [*map(id, operands)]:
            return str(made.op.name)
    return None
