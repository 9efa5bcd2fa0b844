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

from agnesi.autodiff.reached import GIVEN
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
    """What a traced function may defer to run time, and whether the last trace did: numbers
    computed from tensors (``numbers.py``) instead of values by which Python decides, and tensors in
    place of arrays that it changes or passes on (``containers/borrowed_arrays.py``).
    """

    def __init__(self) -> None:
        self.allowed, self.used = True, False
        self.borrows, self.borrowed = True, False
        self.exposes, self.exposed = True, False
        #: By identity, the array with which code did what tensors do not, and all such.
        self.spoiled: int | None = None
        self.refused: set[int] = set()

    def borrow_less(self) -> bool:
        """Stop passing tensors in place of arrays, first of those that code only passes on, then of
        all, because a trace with them failed; return whether there is anything left to try.
        """
        if self.exposes and self.exposed:
            self.exposes = self.spoiled is not None and len(self.refused) < _MAX_REFUSED
            self.refused.add(self.spoiled or 0)
            return True
        found = self.borrows and self.borrowed
        self.borrows = self.borrows and not found
        return found


class OtherWayError(BaseException):
    """A trace diverges from the code that was called before it: computed numbers differ in their
    last digits.
    """


@record
class Decision:
    """A decision of Python: the use of a tensor, and the value that Python got."""

    where: str
    use: str
    value: Any

    def __str__(self) -> str:
        return f"{self.use} at {self.where}"


class Decisions:
    """The decisions of a trace, in order.

    :param known: The arguments of the present call.
    :type known: mapping of Node to ndarray
    :param sizes: The values of dynamic sizes in the present call.
    :type sizes: mapping
    :param numbers: Arguments that stand for numbers which Python stores somewhere.
    :type numbers: collection of Node
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
        """Return the value that Python gets for a use of a node, and record the decision; None if
        the value is not known in this call.
        """
        kind = "truth" if use in ("bool()", GIVEN) else "whole" if use in _WHOLE else "value"
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
        """Raise LookedAtError for one of Python's own numbers where a size is expected: -1 may have
        another meaning than 1.
        """
        if node.weak and self._is_given(toposort([node])):
            raise LookedAtError(symbol(node))

    def defer(self, x: Tensor, use: str) -> Number | None:
        """Return a symbolic number for a use of a tensor; None if Python needs the value."""
        dtype = _NUMBERS[use](x.dtype)
        if not self.numbers.allowed or dtype is None or not _is_one(x) or not from_user_code():
            return None
        self.numbers.used = True
        return number_of(x, dtype)

    def refuse_text(self, x: Tensor) -> None:
        """Raise OnlyEagerError if user code converts a computed value to text, which differs in
        each call.
        """
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
        """Return the value of a node in the present call, without recording a decision."""
        return self._values.of(node)

    def token(self) -> Node | None:
        """Return a token that exists only if all decisions are the same as in this trace; None if
        there were none.
        """
        return token_of(self._tests) if self._tests else None


def token_of(tests: Sequence[tuple[Node, str, Any]], sizes: bool = False) -> Node:
    """Return a token that exists only if each node has the value of the earlier decision; with
    ``sizes``, sizes of later results may depend on it.
    """
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
        """Return the value of a node; None if it depends on anything but arguments."""
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
        """Return the node with dynamic sizes replaced by their values."""
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
    """Return whether the innermost frame that uses a number, instead of passing it on, is the
    user's. The search begins ``depth`` callers up.
    """
    frame: Any = sys._getframe(depth + 1)
    while frame is not None and frame.f_code.co_qualname in _ASKING:
        frame = frame.f_back
    return frame is not None and not ours(frame.f_code.co_filename)


def _has_effect(node: Node) -> bool:
    """Return whether evaluating a node has side effects."""
    op = node.op
    return op is not None and (getattr(op, "effect", False) or any(
        map(_has_effect, (n for name in op.bodies for n in getattr(op, name).graph.nodes))))


# -- what compiled code checks -------------------------------------------------------------------
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
    """Return a boolean tensor, true where numbers are identical: NaN equals NaN, and zeros of
    different sign differ.
    """
    value = constant(answer.astype(x.dtype), x.dtype)
    if x.dtype.kind != "f":
        return equal(x, value)
    like = logical_and(equal(x, value), equal(signbit(x), signbit(value)))
    return logical_or(like, logical_and(isnan(x), isnan(value)))


def _all(flag: Tensor) -> Tensor:
    axes = tuple(range(flag.ndim))
    return apply(reducer("logical_and", axes, False), flag) if axes else flag
