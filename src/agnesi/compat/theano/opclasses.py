"""Operations of graphs as Theano's programs ask for them: ``x.owner.op == T.exp``, ``Elemwise``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from agnesi.api.symbolic import variable
from agnesi.compat.theano.variable import wrapped

__all__ = ["AdvancedSubtensor", "AdvancedSubtensor1", "All", "CAReduce", "DimShuffle", "Dot",
           "Elemwise", "IncSubtensor", "Join", "Max", "Min", "Prod", "Reshape", "Softmax",
           "Subtensor", "Sum"]

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

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OpOfGraph):
            return bool(self.op == other.op)
        return self.op.name == name_of(other) if callable(other) else bool(self.op == other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return repr(self.op)

    def __str__(self) -> str:
        return str(self.op)


def op_of(op: Any) -> Any:
    """What a node says its operation is: the user's own, or a name for agnesi's."""
    return getattr(getattr(op, "function", None), "made_by", None) or OpOfGraph(op)


@cache
def name_of(function: Any) -> str | None:
    """Name of the operation that a function of ``theano.tensor`` makes, if it is one."""
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


class _Kind(type):
    """A class of operations, by what they are."""

    test: Callable[[Any], bool]

    def __instancecheck__(cls, op: Any) -> bool:
        return isinstance(op, OpOfGraph) and cls.test(op.op)

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"{cls.__name__} is for isinstance(x.owner.op, {cls.__name__}) here; "
                        "expressions are made by the functions of theano.tensor")


def kind(name: str, test: Callable[[Any], bool]) -> type:
    """A class whose instances are the operations for which a test holds."""
    return _Kind(name, (), {"test": staticmethod(test)})


def named(name: str, *names: str) -> type:
    """A class of the operations of some names."""
    return kind(name, lambda op: op.name in names)


Elemwise = kind("Elemwise", lambda op: bool(op.pointwise))
DimShuffle = named("DimShuffle", "permute_dims")
Reshape = named("Reshape", "reshape")
Dot = named("Dot", "matmul")
Join = named("Join", "concat")
CAReduce = kind("CAReduce", lambda op: hasattr(op, "axes") and hasattr(op, "keepdims"))
Sum, Prod, Max, Min, All = (
    named(n, n.lower()) for n in ("Sum", "Prod", "Max", "Min", "All"))
Softmax = named("Softmax", "softmax")
Subtensor = kind("Subtensor", lambda op: type(op).__name__ == "Slice")
AdvancedSubtensor = AdvancedSubtensor1 = kind(
    "AdvancedSubtensor", lambda op: type(op).__name__ in ("Index", "Picked"))
IncSubtensor = named("IncSubtensor", "setitem", "index_add", "index_put")
