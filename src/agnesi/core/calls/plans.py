"""Plans of public functions: for calls that come again, the operations that they applied before.

The decorator is :func:`agnesi.core.public.planned`; the compiler makes the plans
(``compiler/plans.py``), and native code stands for :func:`replayed` (``runtime/native/eager.ll``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.core.dispatch import apply, apply_many
from agnesi.core.ir.dims import TUPLES
from agnesi.core.op import Item
from agnesi.core.storage.views import taken
from agnesi.core.support.config import HOOKS, MODE, TRACES, config
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import Tensor, wrap

#: Calls that agree before the function is traced, which takes as long as some dozen of them.
CALLS_BEFORE_PLAN = 16
#: The same for each plan that a function has, if that is more: of sizes that grow from call to call
#: none comes often.
_CALLS_FOR_EACH = 2
#: Calls by a plan in native code after which it is compiled: together they take about as long.
CALLS_BEFORE_REGION = 10_000
#: Operands, constants and results of a plan that native code runs.
MOST_VALUES = 128
#: Arguments of a C function that it calls.
MOST_ARGUMENTS = 16
#: Signatures that a function keeps plans for, or counts calls of.
_MAX_PLANS = 512
#: Elements of lists among arguments.
_MAX_LENGTH = 64
#: Types of arguments that are known by their values.
_PLAIN = frozenset((int, float, str, bool, type(None), type(Ellipsis)))
#: Calls of operations without plans from which native code pays for being loaded.
_MANY_CALLS = 4000
_calls = 0


#: An operation, indices of what it reads, and its C function with what that takes besides; None
#: with a stock of random numbers (``core.calls.stocks``), from which native code takes them, or
#: with the layout of a view, encoded as words. An operation with several results is a function of
#: tensors, and each of the results a number, with None in the place of what they take.
Step = tuple[Any, tuple[int, ...], tuple[Any, ...] | None]


class Plan:
    """Operations in order; each reads operands, constants and earlier results by index.

    The third entry of a step is what native code calls instead (``Op.c_call``), or None.
    """

    __slots__ = ("build", "calls_again", "calls_left", "constants", "element", "ends", "quick",
                 "steps")

    def __init__(self, constants: Iterable[Tensor], steps: Iterable[Step],
                 ends: Iterable[int], build: Callable[[list[Tensor]], Any] | None) -> None:
        self.constants, self.steps = tuple(constants), tuple(steps)
        #: Indices of the results among the values of the plan, and a function that packs several
        #: results into the caller's value.
        self.ends, self.build = tuple(ends), build
        #: Whether no operation takes time: native code runs such plans.
        self.quick = False
        #: Whether the result, a view of one element, is taken out of what it looks into.
        self.element = False
        #: Calls before it is to be compiled, an array that is counted down; None where not.
        self.calls_left: np.ndarray | None = None
        #: So many calls again, if a compiler would have to be loaded for it after those; 0 where it
        #: is compiled all the same.
        self.calls_again = 0

    def __call__(self, xs: Sequence[Tensor]) -> Any:
        return self.result(self.values(xs))

    def values(self, xs: Sequence[Tensor]) -> list[Any]:
        """Return the operands, the constants and what each operation gives."""
        values: list[Any] = [*xs, *self.constants]
        for op, operands, _ in self.steps:
            if type(op) is Item:
                values.append(values[operands[0]][op.index])
            else:
                run: Any = apply if op.outputs == 1 else apply_many
                values.append(run(op, *[values[i] for i in operands]))
        return values

    def result(self, values: list[Any]) -> Any:
        """Return the result among such values."""
        if self.build is None:
            found = values[self.ends[0]]
            return taken(found) if self.element else found
        return self.build([values[i] for i in self.ends])


class RegionPlan:
    """A call that is a compiled region (``compiler/regions.py``)."""

    __slots__ = ("build", "direct", "layouts", "orders", "records", "regions")

    def __init__(self, regions: Any, records: bool, orders: Sequence[Sequence[int] | None],
                 layouts: Sequence[bytes | None]) -> None:
        self.regions = regions
        #: Whether gradients flow from an operand.
        self.records = records
        #: For each operand the order of axes in which it is row-major, as the region takes it,
        #: where that is another; and the words by which native code turns it.
        self.orders, self.layouts = orders, tuple(layouts)
        #: The compiled function, once native code may call it, and what makes one value of its
        #: results, if there are several.
        self.direct: Callable[..., tuple[Tensor, ...]] | None = None
        self.build: Callable[[Any], Any] | None = None

    def __call__(self, xs: Sequence[Tensor]) -> Any:
        if self.records:
            return self.regions(tuple(xs), {})
        found = self.regions(tuple(self._apart(xs)), {})
        if self.direct is None:
            self.take_direct()
        return found

    def _apart(self, xs: Sequence[Tensor]) -> list[Tensor]:
        """Return operands for a region: with axes in the region's order, each a different tensor
        that requires no gradient.
        """
        found: list[Tensor] = []
        for x, order in zip(xs, self.orders, strict=True):
            data: Any = x.array
            if order is not None:
                x = wrap(data.transpose(order))
            apart = x._requires_grad or any(x is y for y in found)
            found.append(wrap(data) if apart else x)
        return found

    def take_direct(self) -> None:
        """Store the compiled function, if native code may call it."""
        self.direct, self.build = self.regions.plain()


def signature(args: Sequence[Any], key: list[Any], xs: list[Tensor], depth: int = 0) -> bool:
    """Append the key of arguments to ``key`` and the tensors among them to ``xs``.

    Returns False if there is anything but tensors with values, plain values, slices, and short
    lists and tuples of such.
    """
    for x in args:
        kind = type(x)
        if kind is Tensor:
            data = x.array
            if data is None:
                return False
            key += data.shape, data.strides, data.dtype, x._requires_grad
            xs.append(x)
        elif kind is int or kind in _PLAIN:
            key += kind, x
            if kind is float and x == 0:  # -0.0 is not 0.0
                key.append(str(x))
        elif kind is list or kind in TUPLES:
            key += kind, len(x)
            if depth > 1 or len(x) > _MAX_LENGTH or not signature(x, key, xs, depth + 1):
                return False
        elif kind is slice:
            key.append(kind)
            if not signature((x.start, x.stop, x.step), key, xs, 2):
                return False
        elif isinstance(x, np.dtype):
            key += np.dtype, x
        else:
            return False
    return True


def count_call() -> None:
    """Count a call that native code would answer, which is loaded once there are many."""
    global _calls
    _calls += 1
    if _calls == _MANY_CALLS:
        HOOKS.hasten()


class Plans:
    """Plans of a function by signatures: numbers of calls where there is none yet, None where there
    is none.

    A trace that follows what a closure holds would take a dict for the user's.
    """

    __slots__ = ("found", "function", "made")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.found: dict[Any, Any] = {}
        #: How many were made, or tried.
        self.made = 0
        self.function = function


def replayed(plans: Plans, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the result of a call by its plan, or NotImplemented.

    ``HOOKS.replayed`` is this function or its native version (``runtime/native/eager.ll``).
    """
    floats = config._float_dtype
    mode = MODE.get()
    key: list[Any] = [floats, mode.symbolic, mode.recording, HOOKS.recounts]
    xs: list[Tensor] = []
    if TRACES.running or floats is None or not signature(args, key, xs) or (
            keywords and not signature((*keywords, *keywords.values()), key, xs)):
        return NotImplemented
    return by_plan(plans, tuple(key), xs, args, keywords)


HOOKS.replayed = replayed


def by_plan(plans: Plans, known: Any, xs: list[Tensor], args: tuple[Any, ...],
            keywords: dict[str, Any]) -> Any:
    """The result of a call by the plan for its key and operands, or NotImplemented; counts calls
    that have no plan yet."""
    plan: Any = plans.found.get(known, 0)
    if type(plan) is int:
        if len(plans.found) >= _MAX_PLANS:
            plans.found.clear()
        if plan < max(CALLS_BEFORE_PLAN, _CALLS_FOR_EACH * plans.made):
            plan += 1
        else:
            plan = HOOKS.plan(plans.function, args, keywords, xs)
            plans.made += 1
        plans.found[known] = plan
    elif type(plan) is Plan and plan.calls_left is not None:
        plan.calls_left[0] -= 1
        if plan.calls_left[0] <= 0:
            plan.calls_left = None  # whatever comes of it
            plan = plans.found[known] = HOOKS.compiled_plan(
                plan, plans.function, args, keywords, xs)
    if plan is None or type(plan) is int:
        return NotImplemented
    try:
        return plan(xs)
    except Exception as error:  # the function raises it in the user's words
        raise_if_from_signal(error)
        return NotImplemented
