"""Data-dependent sizes: the size that an integer scalar of a program is.

Wherever a size is taken, an integer scalar is one.  What is computed from sizes alone stays an
expression over these; all else becomes a :class:`ValueDim`, which a compiled function computes
before anything else (``compiler.specialization.data_dependent_sizes``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.core.ir.dims import Dim, combine
from agnesi.core.ir.node import Node, answer
from agnesi.core.support.config import HOOKS, MODE, switched
from agnesi.core.support.errors import BodySizeError, ExampleSizeError, typed
from agnesi.core.support.tracing import current_trace, refuse_to_compile
from agnesi.core.tensor import Tensor, symbol

_IN_A_BODY = (
    "{name} is computed in the body of a loop or branch, where sizes cannot change from step to "
    "step: sum it up there, or compute on all elements, and leave some out by ag.where")

#: Returns the function ``map``, by which ``vmap`` falls back to one example after the other; set by
#: the API.
row_loop: Callable[[], Callable[..., Any]]


class ValueDim(Dim):
    """The size that the value of an integer scalar is.

    :ivar node: The scalar: an input, or what is computed of inputs before anything else.
    :ivar most: Of a size that data decides, such as how many elements a mask selects, the most that
        it may be; such a size is another one in every call.
    """

    __slots__ = ("most", "node")

    def __init__(self, node: Node, most: Any = None) -> None:
        super().__init__(node.name or f"value{abs(node.serial)}")
        self.key = ("value", id(node))
        self.node, self.most = node, most

    def __reduce__(self) -> Any:
        return _pickled, (self.args[0], self.key)


def depends_on_value(size: Any) -> bool:
    """Return whether a size follows from values that the run computes."""
    if isinstance(size, ValueDim):
        return True
    return isinstance(size, Dim) and bool(size.op) and any(map(depends_on_value, size.args))


def _pickled(name: str, key: Any) -> ValueDim:
    new = ValueDim.__new__(ValueDim)
    new.op, new.args, new.key, new.most = "", (name,), key, None
    return new


def size_of(x: Tensor, name: str = "a size", most: Any = None, given: Tensor | None = None) -> Any:
    """Return the size that the value of an integer scalar stands for: an int where the value is
    known, a dimension in a trace.

    ``most`` is an upper bound of a size that depends on data, such as the number of nonzeros, and
    ``given`` that data: values behind the size are computed from it, too.
    """
    if x.shape != () or x.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an integer scalar, not {typed(x)}")
    if x.array is not None:
        return int(x.array)
    node: Any = x.node
    size = _of_sizes(node)
    if size is not None:
        return size
    refuse(x, name)
    examples = MODE.get().examples
    if examples is not None:
        return examples.size(_around(x, examples), lambda x: size_of(x, name, most, given))
    trace = current_trace()
    while trace is not None:
        if trace.around is None and trace.of_values:
            with switched(trace=trace):  # what decides the size is no body's
                return trace.size(node, most, None if given is None else given.node)
        if trace.finds_sizes:
            break
        node = trace.outward(node)
        trace, given = trace.around, None  # the body makes its data by itself
    return ValueDim(node, most)


def _around(x: Tensor, examples: Any) -> Any:
    """The value of a scalar outside the bodies that were begun in a ``vmap``; None if that differs
    from step to step."""
    node, trace = x.node, current_trace()
    while node is not None and getattr(trace, "examples", None) is examples:
        node, trace = trace.outward(node), trace.around
    return x if node is x.node else None if node is None else symbol(node)


def refuse(x: Any, name: str = "a size") -> None:
    """Refuse what cannot be a size here; ``jit`` runs a function eagerly whose loops need it."""
    why = refusal(x, name)
    if why is None:
        return
    if MODE.get().examples is not None:
        raise ExampleSizeError(why)
    if not _is_tried_again():
        refuse_to_compile(*why.split(": ", 1))
    raise BodySizeError(why)


def _is_tried_again() -> bool:
    """Return whether a loop around calls its steps where they find sizes of their own."""
    trace = current_trace()
    while trace is not None and not getattr(trace, "is_tried_again", False):
        trace = getattr(trace, "around", None)
    return trace is not None


def refusal(x: Any, name: str = "a size") -> str | None:
    """Why an integer scalar cannot be a size here, where it is another one in each step of a loop
    or for each example of ``vmap``; None where it can."""
    if not isinstance(x, Tensor) or x.array is not None:
        return None
    node: Any = x.node
    if _of_sizes(node) is not None:
        return None
    examples = MODE.get().examples
    if examples is not None:
        outer = _around(x, examples)
        if outer is None:
            return _IN_A_BODY.format(name=name)
        found = examples.size(outer, lambda x: refusal(x, name) or "")
        return (
            f"{name} differs between the examples of vmap, whose results have one shape: sum "
            "it up inside, or compute on all elements and leave some out by ag.where"
        ) if found is None else found or None
    trace = current_trace()
    while trace is not None and not (trace.around is None and trace.of_values):
        if trace.finds_sizes:
            return None
        node = trace.outward(node)
        if node is None:
            return _IN_A_BODY.format(name=name)
        trace = trace.around
    return None


def _of_sizes(node: Node) -> Any:
    """Return the value of a node that is computed from sizes and numbers alone, as a size; None for
    others.
    """
    return answer(node, _size_from, None)


def _size_from(node: Node, size: Callable[[Node], Any]) -> Any:
    op = node.op
    if op is None:
        fixed = node.value is not None and node.handle is None
        return int(node.value) if fixed else None  # type: ignore[arg-type]
    if "shape" in op.traits:
        return op.size
    if "conversion" in op.traits and node.dtype.kind in "iu" and node.inputs[0].dtype.kind in "iu":
        return size(node.inputs[0])
    rule = _RULES.get(op.name)
    if rule is None or node.dtype.name != "int64":
        return None
    sizes = [size(n) for n in node.inputs]
    return None if None in [s if s is None else 0 for s in sizes] else rule(*sizes)


_RULES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: combine("+", a, b), "subtract": lambda a, b: combine("-", a, b),
    "multiply": lambda a, b: combine("*", a, b), "negative": lambda a: combine("-", 0, a),
    "maximum": lambda a, b: combine("max", a, b),
    "minimum": lambda a, b: combine("-", 0, combine("max", combine("-", 0, a), combine("-", 0, b))),
}


HOOKS.size = size_of
