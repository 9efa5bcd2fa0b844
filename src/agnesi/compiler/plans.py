"""Find the operations that a public function applies, from its graph (``core.public.planned``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from agnesi.autodiff.bodies import Capture, body_trace, is_cut
from agnesi.compiler import regions, warmup
from agnesi.compiler.warmup import WORK
from agnesi.core.calls.plans import (
    CALLS_BEFORE_REGION,
    MOST_ARGUMENTS,
    MOST_VALUES,
    Plan,
    RegionPlan,
    Step,
)
from agnesi.core.dispatch import apply, apply_many, current, laid
from agnesi.core.graph import constant_value
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Item, Op
from agnesi.core.storage.leaves import COPY
from agnesi.core.storage.memory import MIN_POOLED_ELEMENTS
from agnesi.core.storage.views import element_view, root
from agnesi.core.support.config import HOOKS, MODE, switched, witnessed
from agnesi.core.support.numpy_warnings import silently
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.support.tree import flatten
from agnesi.core.support.worker_threads import MIN_ASIDE_NANOSECONDS
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.base.movement import permute_dims
from agnesi.ops.identity import STOP, Identity
from agnesi.ops.random.generators import Draw, repeated

#: Operations beyond which the layers of Python around them count for little.
_MAX_OPERATIONS = 100
#: Operations that compute from which on a compiled region has less to do.
_MIN_COMPILED = 3
#: Traits of what Python's operators do, and of choices between such values.
_ARITHMETIC = frozenset(("cheap", "operator"))
#: How far a compiled result may be off what it is compared with, by dtype.
_ROUNDING = {"e": 1e-2, "f": 1e-5, "d": 1e-12, "F": 1e-5, "D": 1e-12}
#: Elements of results up to which a plan is tried at all, so that it can be compared.
_MAX_ELEMENTS = 1 << 22
#: Elements that take as long as a call, and by how many such an element of a slow loop counts.
_CALL_ELEMENTS, _SLOW_ELEMENTS = 3_000, 10
#: Nanoseconds of the calls of a plan of few operations that were counted.
_FEW_PRICE = 10_000_000
#: Nanoseconds of an operation in native code.
_STEP = 1_000
#: Elements of a constant that a plan keeps, and of a result that is always the same, which is
#: kept and copied: as long as that takes less than the call that fills it.
_MAX_CONSTANT, _MAX_COPIED = 1 << 10, 1 << 14


def plan(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any],
         xs: Sequence[Tensor]) -> Any:
    """The plan of a call, a compiled region if it computes much; None where its graph is not what
    the call does."""
    mode = MODE.get()
    if mode.examples is not None or mode.symbolic or mode.fixed or mode.watch is not None:
        return None
    if len(set(map(id, xs))) < len(xs):
        args, keywords, xs = _apart(args, keywords)
    try:
        tried = _tried(function, args, keywords, xs)
    except Exception as error:  # whatever it is, the function itself will raise it
        raise_if_from_signal(error)
        return None
    if tried is None:
        return None
    made, found, arrays = tried
    computing = [op for op, *_ in made.steps if "movement" not in op.traits]
    apart = not made.element and all(root(y) is not root(x) for y in found for x in xs)
    copies = apart and any(y.size >= MIN_POOLED_ELEMENTS for y in found)
    if not (computing or copies) or any("draws" in op.traits for op, *_ in made.steps):
        return made
    records = _are_recorded(xs)
    much = _is_much(computing) or (not made.quick and _sweep_often(computing))
    if much and not apart:
        return None
    if much and not all(y.array.flags.c_contiguous for y in found):
        return made  # compiled results are in row-major order
    if made.quick and apart and (not records or (much and not _is_taped(made))):
        calls = made.calls_again = _calls_before_region(made, arrays, much)
        made.calls_left = np.array([calls])
        if not much:
            made.calls_again = _calls_before_region(made, arrays, much, False) - calls
    if made.quick or not much:
        return made
    return _region(function, args, keywords, xs, records, made)


def _are_recorded(xs: Sequence[Tensor]) -> bool:
    """Return whether calls on these operands are recorded for gradients."""
    return MODE.get().recording and any(x._requires_grad for x in xs)


def _is_much(computing: Sequence[Op]) -> bool:
    """Return whether operations are many, or one of them makes many calls of NumPy's."""
    return len(computing) >= _MIN_COMPILED or any("composed" in op.traits for op in computing)


def _is_taped(made: Plan) -> bool:
    """Return whether all operations of a plan have one result each while the plan has several.

    Recorded as one operation such a plan is slower than its operations one by one, whose backward
    pass is compiled anyway.
    """
    return made.build is not None and all(op.outputs == 1 and type(op) is not Item
                                          for op, *_ in made.steps)


def _sweep_often(computing: Sequence[Op]) -> bool:
    """Return whether the operations, run one by one, pass over memory more often than fused code
    does.
    """
    return sum([op.pointwise for op in computing]) > 1 or any(
        "multipass" in op.traits for op in computing)


def _tried(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any],
           xs: Sequence[Tensor]) -> tuple[Plan, list[Any], list[Any]] | None:
    """Return the plan of a call, the call's results, and the arrays of all of the plan's values;
    None where there is no plan, or it gives something else.
    """
    made = _traced(function, args, keywords, xs)
    if made is None:
        return None
    compared = (lambda: function(*args, **keywords)), (lambda: made.values(xs))
    draws = any("draws" in op.traits for op, *_ in made.steps)
    results, values = repeated(*compared) if draws else [attempt() for attempt in compared]
    found = flatten(results)[0]
    arrays = _arrays_of(values)  # elements are not taken
    made.element = made.build is None and element_view(found[0]) is not None
    planned = flatten(made.result(values))[0]
    magnitude = _magnitude(made, xs)
    if not _agree(found, planned, xs) or not all(
            a.array.tobytes() == b.array.tobytes() or _is_close(b.array, a.array, magnitude)
            for a, b in zip(found, planned, strict=True)):
        return None  # within rounding: calls within the function may be compiled by now
    made.quick = len(values) <= MOST_VALUES and all(
        _is_quick(op, [arrays[i] for i in numbers]) for op, numbers, _ in made.steps)
    if made.quick:
        records = _are_recorded(xs)
        made.steps = tuple([_directly(step, arrays, y, records) for step, y in zip(
            made.steps, arrays[len(arrays) - len(made.steps):], strict=True)])
    return made, found, arrays


def _arrays_of(values: Sequence[Any]) -> list[Any]:
    """The arrays of a plan's values; None for several results together."""
    return [getattr(v, "array", None) for v in values]


def _is_quick(op: Op, operands: list[Any]) -> bool:
    """Return whether native code may run a step: there is no work for another thread."""
    return type(op) is Item or op.work is None or op.work(*operands) < MIN_ASIDE_NANOSECONDS


def _calls_before_region(made: Plan, arrays: Sequence[np.ndarray], much: bool,
                         several: bool = True) -> int:
    """Return after how many calls a plan is compiled: their total time is about that of
    compilation.

    Plans of few operations wait for more calls, since compiling gains less, but for fewer the more
    calls of NumPy each operation makes (counted if ``several``). Times are estimates, not measured,
    so that a program is compiled in the same step in every run.
    """
    time = elements = 0.0
    first = len(arrays) - len(made.steps)
    for y, (op, numbers, _) in zip(arrays[first:], made.steps, strict=True):
        if y is None:  # several results, which are steps of their own
            time += _STEP
            continue
        if type(op) is Item:
            op, numbers, _ = made.steps[numbers[0] - first]
        operands = [arrays[i].shape for i in numbers]
        time += _STEP + warmup.nanoseconds(op, y.shape, operands)
        most = max(map(math.prod, [y.shape, *operands]))
        elements += _SLOW_ELEMENTS * most if "unvectorized" in op.traits else most
    if much:
        return int(_price(made) // time) + 1
    taken = _CALL_ELEMENTS * (_numpy_calls(made) if several else 1) + elements
    return max(1, int(CALLS_BEFORE_REGION * _CALL_ELEMENTS // taken))


def _price(made: Plan) -> int:
    """About how many nanoseconds a plan takes to be compiled."""
    return regions.PRICE * max(len(made.steps), _MIN_COMPILED)


def _numpy_calls(made: Plan) -> int:
    """About how many calls of NumPy's a plan takes."""
    return sum(warmup.calls_of(op) for op, *_ in made.steps if "movement" not in op.traits)


def compiled_plan(made: Plan, function: Callable[..., Any], args: tuple[Any, ...],
                  keywords: dict[str, Any], xs: Sequence[Tensor]) -> Any:
    """A compiled region instead of a plan, where it gives the same within rounding; else the
    plan."""
    if len(set(map(id, xs))) < len(xs):
        args, keywords, xs = _apart(args, keywords)
    much = _is_much([op for op, *_ in made.steps if "movement" not in op.traits])
    records = _are_recorded(xs)
    if (not much and not all(map(_needs_no_copy, xs))) or any(map(_is_few_repeated, xs)):
        return made  # they would be copied
    if not much:
        if made.calls_again > 0 and not WORK.pays(_FEW_PRICE):
            made.calls_left, made.calls_again = np.array([made.calls_again]), 0
            return made
        WORK.loaded()
    elif not WORK.pays(_price(made)):  # so far
        made.calls_left = np.array([made.calls_again])
        return made
    try:
        plan = _region(function, args, keywords, xs, records, made, True)
        found, known = flatten(plan(xs))[0], flatten(made(xs))[0]
        magnitude = _magnitude(made, xs)
        if (not records and plan.direct is None) or not all(
                _is_close(a.array, b.array, magnitude) for a, b in zip(found, known, strict=True)):
            return made
    except Exception as error:  # whatever it is, the function itself will raise it
        raise_if_from_signal(error)
        return made
    return plan if plan.regions.are_compiled else made


def _region(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any],
            xs: Sequence[Tensor], records: bool, made: Plan, wanted: bool = False) -> RegionPlan:
    """Return a call as a region, which runs by its plan until compilation pays; it is compiled at
    once if ``wanted``.
    """
    orders = [None if records else _order(x.array) for x in xs]
    layouts = [None if order is None else _words(
        x.array.transpose(order), False, 0) for x, order in zip(xs, orders, strict=True)]
    again = _again(function, args, keywords, xs, orders)
    back = _back(orders)

    def meanwhile(*transposed: Tensor) -> Any:
        return made([x if axes is None else wrap(x.array.transpose(axes))
                     for x, axes in zip(transposed, back, strict=True)])

    return RegionPlan(HOOKS.regions(again, wanted, meanwhile), records, orders, layouts)


def _back(orders: Sequence[tuple[int, ...] | None]) -> list[tuple[int, ...] | None]:
    """Return the inverse of each permutation of axes; None stays None."""
    return [None if order is None else tuple(order.index(k) for k in range(len(order)))
            for order in orders]


def _needs_no_copy(x: Tensor) -> bool:
    """Return whether a compiled region takes an operand without a copy."""
    data: Any = x.array
    return bool(data.flags.c_contiguous) or _order(data) is not None


def _is_few_repeated(x: Tensor) -> bool:
    """Return whether an operand is a small broadcast array (a stride of 0), as the gradient of a
    sum is: to repeat its elements takes no longer than a call.
    """
    data: Any = x.array
    return data.size < _CALL_ELEMENTS and 0 in data.strides and not data.flags.c_contiguous


def _order(x: Any) -> tuple[int, ...] | None:
    """Return the permutation of axes that makes an array contiguous; None if it is contiguous, or
    no permutation does.
    """
    order = tuple(sorted(range(x.ndim), key=lambda k: -x.strides[k]))
    contiguous = x.flags.c_contiguous or not x.transpose(order).flags.c_contiguous
    return None if contiguous else order


def _magnitude(made: Plan, xs: Sequence[Tensor]) -> float:
    """Return the largest magnitude among terms that are summed and may cancel; 0 if nothing is
    summed.

    Two products that are subtracted count as well: compiled code fuses one of them with the
    subtraction, without rounding it.
    """
    ops = [op for op, *_ in made.steps if "movement" not in op.traits]
    if all(op.pointwise for op in ops):
        if len(ops) < 2 or not all(op.traits & _ARITHMETIC for op in ops):
            return 0.0
        return max([float(abs(x.array[np.isfinite(x.array)]).max(initial=0)) for x in xs
                    if x.dtype.kind in "fc"], default=0.0)
    sizes = [np.linalg.norm(x.array[np.isfinite(x.array)]) for x in xs if x.dtype.kind in "fc"]
    return float(max(sizes, default=0.0))


def _is_close(found: np.ndarray, known: np.ndarray, magnitude: float) -> bool:
    """Return whether arrays are the same within rounding."""
    rounding = _ROUNDING.get(known.dtype.char, 0.0)
    return (found.dtype == known.dtype and found.strides == known.strides
            and np.allclose(found, known, rounding, rounding * magnitude, equal_nan=True))


def _again(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any],
           xs: Sequence[Tensor], orders: Sequence[tuple[int, ...] | None]) -> Callable[..., Any]:
    """Return the function of the (transposed) operands alone; the other arguments of the call are
    fixed.
    """
    back = _back(orders)
    leaves, tree = flatten((args, keywords))
    numbers = [next((i for i, x in enumerate(xs) if x is leaf), None) for leaf in leaves]
    plain = [None if type(leaf) is Tensor else leaf for leaf in leaves]

    def again(*transposed: Tensor) -> Any:
        operands = [x if axes is None else permute_dims(x, axes)
                    for x, axes in zip(transposed, back, strict=True)]
        given, more = tree.build([
            v if i is None else operands[i] for v, i in zip(plain, numbers, strict=True)])
        return function(*given, **more)

    return again


def _apart(args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return the arguments with a new tensor in place of each operand, since equal operands of this
    call may be different ones in the next; and the list of the new tensors.
    """
    leaves, tree = flatten((args, keywords))
    xs = []
    for i, x in enumerate(leaves):
        if type(x) is Tensor:
            leaves[i] = twin = wrap(x.array)
            twin._requires_grad = x._requires_grad
            xs.append(twin)
    return *tree.build(leaves), xs


def _traced(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any],
            xs: Sequence[Tensor]) -> Plan | None:
    leaves, tree = flatten((args, keywords))
    recording = MODE.get().recording  # without it no gradients flow, also not from parameters
    with witnessed(), switched(symbolic=False), body_trace(recording) as trace:
        trace.plans = True
        known: dict[int, Any] = {}
        for x in xs:
            if id(x) not in known:
                made: Any = trace.variable(x)
                known[id(x)] = made
                made.requires_grad = made.node.requires_grad = x._requires_grad and recording
        given, more = tree.build([known.get(id(x), x) for x in leaves])
        results, shape = flatten(function(*given, **more))
        if not all(isinstance(y, Tensor) for y in results):
            return None
        ends = [current(y) for y in results]  # which takes in those that were computed outside
        constants = {c.inner: c.outer for c in trace.captures.values()}
        for node in constants:
            node.requires_grad = False
        if not all(map(_is_constant, trace.captures.values())) or trace.grads:
            return None
        if [v.node for v in known.values()] != trace.variables:
            return None
        read = set(toposort(ends))
        besides = [n for n in trace.raising if n not in read]
    numbers: dict[Node, int] = {}
    for i, x in enumerate(xs):
        numbers.setdefault(known[id(x)].node, i)
    return _of_graph(ends, besides, numbers, constants, len(xs),
                     None if shape.kind is None else shape.builder())


def _is_constant(capture: Capture) -> bool:
    """Return whether what a public function takes in beside its operands is a small constant, which
    is the same in all such calls."""
    x = capture.outer
    small = x.array is not None and x.array.size <= _MAX_CONSTANT
    return small and not (capture.changed or capture.owner is not None or x._requires_grad
                          or x._placed or hasattr(x, "advance"))


def _of_graph(ends: Sequence[Node], besides: Sequence[Node], numbers: dict[Node, int],
              constants: dict[Node, Tensor], count: int,
              build: Callable[[list[Tensor]], Any] | None) -> Plan | None:
    """Return the plan of a graph: its constants, and one step for each operation; None where an
    operation is not one of a plan, there are too many, or a constant result is large.

    ``besides`` are operations that nothing reads and that may raise; ``numbers`` has those of the
    ``count`` operands, and gets those of all values; ``constants`` are the values of other
    nodes.
    """
    sorted_ = _sorted_nodes(ends, besides, numbers, constants)
    if sorted_ is None:
        return None
    steps, fixed = sorted_
    same = [n for n in ends if n in fixed]
    if any(fixed[n].size > _MAX_COPIED for n in same):
        return None
    read = dict.fromkeys([*(i for n in steps for i in n.inputs if i in fixed), *same])
    stops = [n for n in steps if n.op is STOP]
    repeated = _repetitions(steps, ends)
    steps = [n for n in steps if n.op is not STOP and n not in repeated]
    for i, n in enumerate((*read, *steps)):
        numbers[n] = count + i
    numbers.update((n, numbers[first]) for n, first in repeated.items())
    for n in stops:
        numbers[n] = numbers[n.inputs[0]]
    made: list[Step] = [(n.op, tuple([numbers[i] for i in n.inputs]), None) for n in steps]
    for n in same:  # it must not change for others
        made.append((COPY, (numbers[n],), None))
    copies = iter(range(count + len(read) + len(steps), count + len(read) + len(made)))
    return Plan([fixed[n] for n in read], made,
                [next(copies) if n in fixed else numbers[n] for n in ends], build)


def _repetitions(steps: Sequence[Node], ends: Sequence[Node]) -> dict[Node, Node]:
    """Map each operation of a plan to an earlier one that computes the same.

    Results, random draws and recorded operations are left out: the latter because gradients would
    be summed in another order.
    """
    found: dict[Node, Node] = {}
    known: dict[Any, Node] = {}
    for n in steps:
        if n.requires_grad or n.op is STOP or n in ends or "draws" in n.traits:
            continue
        with suppress(TypeError):  # an operation without a hash
            first = known.setdefault((n.op, *[found.get(i, i) for i in n.inputs]), n)
            if first is not n:
                found[n] = first
    return found


def _sorted_nodes(ends: Sequence[Node], besides: Sequence[Node], operands: Container[Node],
                  constants: dict[Node, Tensor]) -> tuple[list[Any], dict[Node, Tensor]] | None:
    """Return the operations of a plan in order, and the values of what follows from constants
    alone; None where an operation is not one of a plan, or there are too many.
    """
    steps: list[Any] = []
    fixed: dict[Node, Tensor] = {}
    order = [n for n in toposort([*ends, *besides]) if n not in operands]
    if besides or any("draws" in n.traits for n in order):
        order.sort(key=lambda n: n.serial)  # behind the checks, and one draw after the other
    for n in order:
        if n.op is None:
            value = constant_value(n)
            if value is None and n not in constants:
                return None
            fixed[n] = constants[n] if value is None else wrap(value)
        elif is_cut(n) or n.op.bodies or len(steps) >= _MAX_OPERATIONS or (
                isinstance(n.op, Identity) and not (n.op is STOP and n not in ends)):
            return None
        elif (n.outputs is None and type(n.op) is not Item and "draws" not in n.op.traits
              and all(i in fixed for i in n.inputs)):
            fixed[n] = apply(n.op, *[fixed[i] for i in n.inputs])
        else:
            steps.append(n)
    return steps, fixed


def _directly(step: Step, values: Sequence[Any], known: Any, records: bool) -> Step:
    """Return a step of a plan with what native code runs instead of the operation: take numbers
    that were drawn ahead, make a view of a known layout, call a C function, apply an operation with
    several results, or pick one of those.

    Unchanged if there is none of these, or if the C function does not give the bits of ``known`` on
    the ``values`` at hand.
    """
    op, numbers, _ = step
    if type(op) is Item:
        return op, numbers, (None, None, op.index)
    if op.outputs > 1:
        return op, numbers, (partial(apply_many, op) if records else _values_of(op), None)
    if isinstance(op, Draw):
        stock = op.stock()
        return step if stock is None else (op, numbers, (None, (stock,)))
    arrays: Any = [values[i] for i in numbers]
    looks = op.view or "broadcast" in op.traits  # read-only where it repeats
    if looks and (layout := _layout(arrays[0], known)) is not None:
        return op, numbers, (None, (layout,))
    found = None if op.c_call is None else op.c_call(*arrays)
    if found is None or len(arrays) + len(found[1]) > MOST_ARGUMENTS:
        return step
    data = laid(op, silently(found[0], *arrays, *found[1]))
    same = (data.dtype == known.dtype and data.shape == known.shape
            and data.strides == known.strides and data.tobytes() == known.tobytes())
    return (op, numbers, found) if same else step


def _values_of(op: Op) -> Callable[..., tuple[Tensor, ...]]:
    """An operation with several results, where nothing is recorded."""
    perform = op.perform

    def run(*xs: Tensor) -> tuple[Tensor, ...]:
        found = perform(*[x.array for x in xs])
        return tuple([wrap(np.asarray(y, order="C")) for y in found])

    return run


def _layout(x: Any, y: Any) -> bytes | None:
    """Return the layout of a view ``y`` of an array ``x`` as int64 words: whether it is writeable,
    the offset in bytes, the number of axes, sizes and strides.

    None if ``y`` is elsewhere, has another dtype, or ``x`` is read-only.
    """
    owner = y.base
    if owner is None or not x.size or not x.flags.writeable or y.dtype != x.dtype:
        return None
    if owner is not x and owner is not x.base:  # NumPy made it by way of others
        (begin, end), (first, last) = map(byte_bounds, (x, y))
        if not (y.size and begin <= first <= last <= end):
            return None
    return _words(y, y.flags.writeable, y.ctypes.data - x.ctypes.data)


def _words(y: Any, writeable: bool, offset: int) -> bytes:
    """Return the layout of an array as int64 words: whether it is writeable, its offset in bytes,
    the number of axes, sizes and strides.
    """
    return np.array([writeable, offset, y.ndim, *y.shape, *y.strides], np.int64).tobytes()


def _agree(found: Sequence[Any], planned: Sequence[Any], xs: Sequence[Tensor]) -> bool:
    """Return whether the results of a plan have the layouts of the eager ones, and are views,
    operands or new arrays where those are.
    """
    return len(found) == len(planned) and all(
        a.array.size <= _MAX_ELEMENTS and a.array.dtype == b.array.dtype
        and a._requires_grad is b._requires_grad and (a._view is None) is (b._view is None)
        and (element_view(a) is None) is (element_view(b) is None)
        and [a is x for x in xs] == [b is x for x in xs]
        and a.array.shape == b.array.shape and a.array.strides == b.array.strides
        for a, b in zip(found, planned, strict=True))
