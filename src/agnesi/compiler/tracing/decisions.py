"""Record the decisions that Python makes by computed values while ``jit`` traces a function.

A trace follows the branches that the values of the present call select: the value is evaluated by
the operations' own NumPy code, and Python gets the number.  The compiled code computes the same
value before anything else, and where it selects another branch, the call goes to another version
(``Versions``), which was traced for that branch.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.tracing.numbers import TEXT_INSTEAD, Number, number_of
from agnesi.compiler.tracing.obstacles import LookedAtError, OnlyEagerError
from agnesi.core.dispatch import apply
from agnesi.core.graph import constant_value, live_tensor
from agnesi.core.interpret import computed
from agnesi.core.ir.dims import is_static, product
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import typed
from agnesi.core.substitution import inferred
from agnesi.core.support import dtypes
from agnesi.core.support.config import switched
from agnesi.core.support.errors import Where, location, ours, user_where
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.arith import imag, real
from agnesi.ops.base.compare import (
    equal,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    signbit,
)
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import constant
from agnesi.ops.base.reduce import reducer
from agnesi.ops.base.select import trunc
from agnesi.ops.control.decided import Decided

#: The dtype of the result that a use of a tensor gives, if a result is a number like it.
_NUMBERS: dict[str, Callable[[np.dtype], np.dtype | None]] = {
    "float()": lambda d: dtypes.float64 if d.kind in "biufV" else None,
    "int()": lambda d: dtypes.int64 if d.kind in "bi" or (d.kind == "u" and d.itemsize < 8)
    else None,
    "item()": lambda d: dtypes.float64 if d.kind in "fV" else None if d.kind in "bc" else
    _NUMBERS["int()"](d),
}
#: How often one line may decide in a trace: longer loops had better run than be unrolled.
_MAX_DECISIONS_PER_LINE = 100
#: So many ways may lead on from one line.
MAX_BRANCHES = 8
#: Arrays one by one of which code itself reads elements, before it gets all others itself, too.
_MAX_REFUSED = 4
#: Functions between a use of a tensor and ``Decisions``.
_ASKING = ("Trace.defer", "_deferred", "item", "_listed", "tolist", "_converted.<locals>.call",
           "Trace.refuse_text", "__repr__", "__format__", "Hyper.__get__",
           "Reads.attribute", "_reading.<locals>.read", "ParameterGroup.__getitem__",
           "Scheduler.get_last_lr", "Scheduler.get_last_lr.<locals>.<listcomp>",
           "strict.<locals>.call")
_WHOLE = ("int()", "use as an index")
INSTEAD = ("Choose with ag.cond or ag.where, loop with ag.while_loop, and return a value that is "
           "only reported as a tensor")


class Deferral:
    """Whether a function's computed numbers are results (``numbers.py``), or values by which Python
    decides, and whether a trace had such; whether arrays that it changes, or hands on, are tensors
    meanwhile (``containers/borrowed_arrays.py``), and whether there were some."""

    def __init__(self) -> None:
        self.allowed, self.used = True, False
        self.borrows, self.borrowed = True, False
        self.exposes, self.exposed = True, False
        #: By identity, the array with which code did what tensors do not, and all such.
        self.spoiled: int | None = None
        self.refused: set[int] = set()

    def borrow_less(self) -> bool:
        """Let code have the arrays that it hands on, or also those that it changes, from now on: it
        failed with tensors."""
        if self.exposes and self.exposed:
            self.exposes = self.spoiled is not None and len(self.refused) < _MAX_REFUSED
            self.refused.add(self.spoiled or 0)
            return True
        found = self.borrows and self.borrowed
        self.borrows = self.borrows and not found
        return found


class OtherWayError(BaseException):
    """A trace goes a way whose code found that the call is not its own: numbers differ in their
    last digits."""


@record
class Decision:
    """One decision of Python: the use of a tensor, and the value that Python got."""

    where: str
    use: str
    value: Any

    def __str__(self) -> str:
        return f"{self.use} at {self.where}"


class Decisions:
    """The decisions of a trace, in their order.

    :param known: The arguments of the present call.
    :type known: mapping of Node to ndarray
    :param sizes: What run-time sizes are in it.
    :type sizes: mapping
    :param numbers: Arguments that stand for numbers which Python keeps somewhere.
    :type numbers: collection of Node
    :param used: Whether results may stand for Python's numbers.
    """

    def __init__(self, known: Mapping[Node, Any], sizes: Mapping[Any, int],
                 numbers: Sequence[Node], used: Deferral) -> None:
        self.made: list[Decision] = []
        self.numbers = used
        self._values = _Values(known, sizes)
        self._given = frozenset(numbers)
        self._tests: list[tuple[Node, str, Any]] = []
        self._known: dict[Any, np.ndarray] = {}
        self._per_line: Counter[str] = Counter()

    def decide(self, node: Node, weak: bool, use: str) -> np.ndarray | None:
        """The value that Python gets for a use of a node; None if this call has none."""
        kind = "truth" if use == "bool()" else "whole" if use in _WHOLE else "value"
        if (node, kind) in self._known:
            return self._known[node, kind]
        behind = toposort([node])
        if kind != "truth" and weak and self._is_given(behind):
            return None  # Python's own number: there is a version for each value
        where = user_where(3)
        if any(_has_effect(n) for n in behind):
            raise OnlyEagerError(f"Python decides by what an effect returned, with {use} at "
                                 f"{location(where)}", INSTEAD)
        value = self._values.of(node)
        if value is None:
            return None
        self._note(node, kind, use, value, where)
        self._known[node, kind] = value
        return value

    def _is_given(self, behind: Sequence[Node]) -> bool:
        return not self._given.isdisjoint(behind)

    def check_size(self, node: Node) -> None:
        """Let Python look at a number of its own where a whole number is needed: -1 may mean
        another thing than 1."""
        if node.weak and self._is_given(toposort([node])):
            raise LookedAtError(symbol(node))

    def defer(self, x: Tensor, use: str) -> Number | None:
        """A symbolic number for the value that a use returns; None if Python needs the value."""
        dtype = _NUMBERS[use](x.dtype)
        if not self.numbers.allowed or dtype is None or not _is_one(x) or not from_user_code():
            return None
        self.numbers.used = True
        return number_of(x, dtype)

    def refuse_text(self, x: Tensor) -> None:
        """Raise if the user's code makes text of a computed value: each call makes its own."""
        if from_user_code():
            raise OnlyEagerError(f"Python makes text of a computed value ({typed(x)}) at "
                                 f"{location(user_where(3))}", TEXT_INSTEAD)

    def _note(self, node: Node, kind: str, use: str, value: np.ndarray, where: Where) -> None:
        answer: Any = value
        if kind == "truth":
            answer = bool(value.item())
        elif kind == "whole":
            answer = int(value.item())
        line = location(where)
        self._per_line[line] += 1
        if self._per_line[line] > _MAX_DECISIONS_PER_LINE:
            raise OnlyEagerError(
                f"Python decides more than {_MAX_DECISIONS_PER_LINE} times at {line} by computed "
                "values",
                INSTEAD,
            )
        shown = value.tolist() if kind == "value" else answer
        self.made.append(Decision(line, use, exactly(shown)))
        self._tests.append((node, kind, answer))

    def value_of(self, node: Node) -> np.ndarray | None:
        """The value of a node in the present call, by which nothing is decided."""
        return self._values.of(node)

    def token(self) -> Node | None:
        """A value that exists where all decisions are as they were; None if there were none."""
        return token_of(self._tests) if self._tests else None


def token_of(tests: Sequence[tuple[Node, str, Any]], sizes: bool = False) -> Node:
    """A value that exists only if each node has the value of the earlier decision; with ``sizes``,
    sizes of later results may depend on it."""
    with switched(recording=False):
        token = constant(0, np.dtype(np.int8))
        for i, test in enumerate(tests):
            token = apply(Decided(i, sizes), token, _holds(*test))
    found: Any = token.node
    return found


def exactly(value: Any) -> Any:
    """Return nested numbers as a key that is equal only for identical ones; -0.0 and 0.0 differ."""
    if isinstance(value, list):
        return tuple(map(exactly, value))
    if isinstance(value, float):
        return float.__repr__(value)
    return repr(value) if isinstance(value, complex) else value


class _Values:
    """The values of a trace's nodes in the present call."""

    def __init__(self, known: Mapping[Node, Any], sizes: Mapping[Any, int]) -> None:
        self._known = dict(known)
        self._sizes = sizes
        self._sized: dict[Node, Node] = {}

    def of(self, node: Node) -> np.ndarray | None:
        """The value of a node; None if it depends on what is no argument."""
        with switched(trace=None, reads=None, examples=None, recording=False), \
                np.errstate(all="ignore"):
            for n in toposort([node], self._known.__contains__):
                if n not in self._known:
                    value = _leaf(n) if n.op is None else computed(self._with_sizes(n), self._known)
                    if value is None:
                        return None
                    self._known[n] = value
        return self._known[node]

    def _with_sizes(self, node: Node) -> Node:
        """The node with numbers instead of run-time sizes."""
        if not self._sizes:
            return node
        for n in node.inputs:
            if n not in self._sized:
                value = self._known[n]
                self._sized[n] = Node(None, (), value.shape, value.dtype)
        inputs = tuple([self._sized[n] for n in node.inputs])
        new = self._sized[node] = inferred(node, inputs, self._size)
        for inner, outer in zip(inputs, node.inputs, strict=True):
            self._known[inner] = self._known[outer]
        return new

    def _size(self, size: Any) -> Any:
        return size.value(self._sizes) if isinstance(size, Extent) else size


def _leaf(node: Node) -> np.ndarray | None:
    t = live_tensor(node)
    return constant_value(node) if t is None else t.array


def _is_one(x: Tensor) -> bool:
    return is_static(x.shape) and product(x.shape) == 1


def from_user_code(depth: int = 2) -> bool:
    """Return whether the innermost code that does not just hand on a number is the user's; ours
    wants Python's.  It is sought from some callers on."""
    frame: Any = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_qualname in _ASKING:
        frame = frame.f_back
    return frame is not None and not ours(frame.f_code.co_filename)


def _has_effect(node: Node) -> bool:
    """Return whether evaluating a node does more than compute its value."""
    op = node.op
    return op is not None and (getattr(op, "effect", False) or any(
        map(_has_effect, (n for name in op.bodies for n in getattr(op, name).graph.nodes))))


# -- what compiled code asks ---------------------------------------------------------------------
def _holds(node: Node, kind: str, answer: Any) -> Tensor:
    """Return a boolean tensor: whether Python would get the same value from this node again."""
    x = symbol(node)
    if x.dtype in dtypes.HALVES:
        x = cast(x, dtypes.float32)
    if kind == "truth":
        flag = x if x.dtype.kind == "b" else not_equal(x, constant(0, x.dtype))
        return _all(flag if answer else logical_not(flag))
    if kind == "whole":
        whole = trunc(x) if x.dtype.kind == "f" else x
        return _all(equal(whole, constant(answer, x.dtype)))
    if x.dtype.kind == "c":
        parts = [_same(real(x), answer.real), _same(imag(x), answer.imag)]
        return _all(logical_and(*parts))
    return _all(_same(x, answer))


def _same(x: Tensor, answer: np.ndarray) -> Tensor:
    """Return where numbers are identical: NaN equals NaN, and zeros differ by sign."""
    value = constant(answer.astype(x.dtype), x.dtype)
    if x.dtype.kind != "f":
        return equal(x, value)
    like = logical_and(equal(x, value), equal(signbit(x), signbit(value)))
    return logical_or(like, logical_and(isnan(x), isnan(value)))


def _all(flag: Tensor) -> Tensor:
    axes = tuple(range(flag.ndim))
    return apply(reducer("logical_and", axes, False), flag) if axes else flag
