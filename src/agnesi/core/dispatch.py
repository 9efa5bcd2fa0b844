"""Compute or record an operation: ``apply`` decides which (others call ``core.support.tracing``).

In: an operation and its operands. Out: tensors. Where no trace runs and all operands have values,
the operation's own NumPy code (``Op.perform``) computes the result; a node is recorded besides if
an operand requires a gradient. Else only the node is made.

**What a record keeps.** The values of the inputs that the rules of those with gradients read
(``keep_inputs``, ``Op.needs``), and of the result if ``keep_output``, if they read it; of all else
shape and dtype only. A kept value comes with the count of changes of its memory at that time. A
later change in place that is recorded, too, copies it first; after one that is not (``no_grad``) it
is an error to read the value. Compiled code counts its changes, too (``number_changes`` in
``runtime/native/entry.ll``), and a trace notes the same (``Reads`` in ``autodiff/recording.py``). A
recorded call of a jitted function that changes state keeps copies of what it changes; its
derivative is traced with these copies instead of the tensors (``Trace.borrow`` in
``compiler/tracing/trace.py``). Where gradients lead into changed state, or through what was
computed before the call, ``notice`` marks the specialization, and the function runs eagerly.

**Views.** A tensor that views another knows its base and the operation between them
(``core/storage/views.py``). Tensors on one memory share a counter of changes. A change in place
gives the base a new node (through ``Op.put`` of the view's operation), and other views are made
again from it when they are next used. Whether a reshape is a view follows from the memory order,
also while tracing (``core/storage/memory_order.py``).

Nodes are numbered as they are made, those of eager operations with negative numbers: checkpoints
know by the sign what existed before them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.ir.node import Node, next_serial
from agnesi.core.op import EXPLAINED, Op, explain, item_of, title_of, typed
from agnesi.core.shapes import MOST_AXES, check_axes
from agnesi.core.storage.assignment import read_only, written_value
from agnesi.core.storage.changes import note_change
from agnesi.core.storage.layout_queries import note
from agnesi.core.storage.leaves import COPY, LEAF_ELEMENTS, node_of
from agnesi.core.storage.memory_order import looks_into, note_memory_order
from agnesi.core.storage.views import (
    View,
    element_view,
    keep_old,
    let_go,
    looking_through,
    root,
    share,
    views_of,
)
from agnesi.core.support.config import HOOKS, MODE, TRACES, switched
from agnesi.core.support.errors import (
    LIBRARY_FILES,
    USER_FILES,
    GradientError,
    TraceError,
    at,
    ours,
    oversized,
    user_where,
)
from agnesi.core.support.tracing import caught_errors
from agnesi.core.support.worker_threads import aside
from agnesi.core.tensor import Tensor, keep, register, symbol, wrap

_new_node = Node.__new__
_getframe = sys._getframe
_ndarray = np.ndarray


def apply(op: Op, *xs: Tensor) -> Tensor:
    """The result of an operation on tensors: computed at once, recorded, or put into a graph."""
    if TRACES.running and MODE.get().trace is not None:
        return symbolic(op, xs)
    arrays = []
    for x in xs:
        data = x.array
        if data is None:
            return symbolic(op, xs)
        arrays.append(data)
    try:
        data = op.perform(*arrays) if op.work is None else aside(
            op.work(*arrays), op.perform, *arrays)
    except EXPLAINED as error:
        if type(error) is TraceError:  # a parameter is a size that is not known yet
            return symbolic(op, xs)
        raise why(op, xs, error) from None
    if type(data) is not _ndarray or not data.flags.c_contiguous:
        data = laid(op, data)
    return HOOKS.finished(data, op, xs)


def laid(op: Op, data: Any) -> np.ndarray:
    """Return an operation's result as an array, made contiguous unless the operation is a view or
    declares another layout.
    """
    data = np.asarray(data)
    if data.flags.c_contiguous or op.view or op.layout_of is not None:
        return data
    return aside(data.size, data.copy)


def apply_many(op: Op, *xs: Tensor) -> tuple[Tensor, ...]:
    """Like :func:`apply` for operations with several results."""
    if MODE.get().trace is not None or any(x.array is None for x in xs):
        return _symbolic_many(op, xs)
    try:
        arrays = [x.array for x in xs]
        found = aside(op.work(*arrays) if op.work else 0, op.perform, *arrays)
        results = [wrap(np.asarray(r, order="C")) for r in found]
    except EXPLAINED as error:
        if type(error) is TraceError:  # a parameter is a size that is not known yet
            return _symbolic_many(op, xs)
        raise why(op, xs, error) from None
    if MODE.get().recording and op.differentiable and any(x._requires_grad for x in xs):
        record_many(results, op, xs)
    return tuple(results)


def _symbolic_many(op: Op, xs: Any) -> Any:
    if any(x._placed for x in xs):
        return HOOKS.execute(op, xs)
    parent = make_node(op, xs)
    return tuple(symbol(item_of(parent, i)) for i in range(op.outputs))


def why(op: Op, xs: Any, error: Exception) -> Exception:
    """The operation's own complaint about its operands, else NumPy's, with the user's line."""
    try:
        types = _checked_types(op, xs)
        for shape, dtype in types if op.outputs > 1 else (types,):
            error = oversized(error, shape, dtype)
    except (ValueError, TypeError, IndexError) as better:
        error = better
    return explain(error, title_of(op), xs)


# -- eager record ---------------------------------------------------------------------------
def finished(data: np.ndarray, op: Op, xs: tuple[Tensor, ...]) -> Tensor:
    """Return the tensor of an operation's result, recorded if gradients flow.

    ``HOOKS.finished`` is this function or its native version (``runtime/native/eager.ll``).
    """
    t = wrap(data)
    if op.view:
        share(t, op, xs[0])
    if True in [x._requires_grad for x in xs] and MODE.get().recording and op.differentiable:
        record(t, op, xs)
    return t


HOOKS.finished = finished


def record(t: Tensor, op: Op, xs: tuple[Tensor, ...]) -> None:
    """Record how ``t`` was computed. Written without calls, because every recorded operation passes
    here.
    """
    data: Any = t.array
    dtype = data.dtype
    if dtype.kind not in "fcV":
        return
    if len(xs) == 1:
        a = xs[0]
        inputs: Any = (node_of(a) if a._view is None else current(a),)
    elif len(xs) == 2:
        a, b = xs
        new = (other := b if a._requires_grad else a).node is None
        inputs = (node_of(a) if a._view is None else current(a),
                  node_of(b) if b._view is None else current(b))
    else:
        inputs = tuple([node_of(x) if x._view is None else current(x) for x in xs])
    node: Any = _new_node(Node)
    node.op = op
    node.inputs = inputs
    node.shape = data.shape
    node.dtype = dtype
    node.weak = False
    node.requires_grad = True
    node.serial = -next_serial()
    node.value = node.version = node.handle = node.name = node.outputs = None
    frame: Any = _getframe(2)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file in USER_FILES or not (file in LIBRARY_FILES or ours(file)):
            break
        frame = frame.f_back
    node.where = None if frame is None else (code, frame.f_lasti, "")
    t.node = node
    t._requires_grad = True
    kept: Any = op.keep_inputs
    one = len(xs) == 2 and not other._requires_grad  # of the two needs a gradient
    if one and op.kept_by_one:
        kept = op.kept_by_one[last := other is b]
        if new and last not in kept and other._view is None and (
                other.array.size > LEAF_ELEMENTS):
            inputs[last].value = None  # of a new leaf; ``node_of`` fills it in
    for i in range(len(xs)) if kept is None else kept:
        x = xs[i]
        counter = x._version
        if counter is None:
            counter = x._version = [0]
        source = inputs[i]
        source.value = x.array
        source.version = counter
        if len(counter) > 1:
            register(counter, source)
    if op.keep_output and (not one or op.result_by_one[other is b]):
        keep(t, node)


def _keep_inputs(op: Op, xs: tuple[Tensor, ...], inputs: tuple[Node, ...]) -> None:
    kept = op.keep_inputs
    for i in range(len(xs)) if kept is None else kept:
        keep(xs[i], inputs[i])


def record_many(results: Sequence[Tensor], op: Op, xs: tuple[Tensor, ...]) -> None:
    """Like :func:`record` for operations with several results."""
    inputs = tuple([current(x) for x in xs])
    parent = Node(op, inputs, (), results[0].dtype, requires_grad=True, where=user_where(3))
    parent.outputs = tuple((r.shape, r.dtype) for r in results)
    _keep_inputs(op, xs, inputs)
    items = [item_of(parent, i) for i in range(op.outputs)]
    for r, item in zip(results, items, strict=True):
        if op.keep_output:
            keep(r, item)
        if r.dtype.kind in "fcV":
            r.node = item
            r._requires_grad = True
    if op.keep_output:  # not the items themselves, which hold on to their parent
        parent.value = tuple((i.value, i.version) for i in items)  # type: ignore[assignment]


# -- views ----------------------------------------------------------------------------------
def _spread(root: Tensor) -> None:
    """Set ``requires_grad`` of views that will be recomputed, by what ``root`` is now, or by a view
    of it between that was written.
    """
    now = root._version[0]  # type: ignore[index]
    for view in views_of(root):
        if view._view.seen != now:
            *bases, _ = looking_through(view)
            view._requires_grad = next(t._requires_grad for t in reversed(bases)
                                       if t._view is None or t._view.seen == now)


def current(x: Tensor) -> Node:
    """The node for a tensor's present value, in the record, graph or trace under way."""
    view = x._view
    trace = MODE.get().trace if TRACES.running else None
    if view is not None:
        if trace is not None:
            let_go(x)
        if view.seen != x._version[0]:  # type: ignore[index]
            _refresh(x)
    if trace is not None:
        return trace.node_of(x)
    return node_of(x)


def _refresh(x: Tensor) -> None:
    """Recompute a view whose base has changed, and the stale views between."""
    let_go(x)
    stale = [t for t in looking_through(x) if t._view is not None
             and t._view.seen != t._version[0]]  # type: ignore[index]
    live = [t for t in stale if t.array is not None]
    if live and MODE.get().trace is not None:
        with switched(trace=None):  # the trace's end does not inform the record outside
            for t in live:
                _look_again(t)
    for t in stale:
        _look_again(t)


def _look_again(x: Tensor) -> None:
    """Refresh a view of a base that is up to date."""
    view: Any = x._view
    base_node = current(view.base)
    view.seen = x._version[0]  # type: ignore[index]
    begins = x._requires_grad and _begins(x)
    if x.array is not None and MODE.get().trace is None and not base_node.requires_grad:
        x.node, x._requires_grad = None, begins
        return
    operands = operands_of(view)
    shape, dtype = view.op.infer(base_node, *operands)
    x_node = Node(
        view.op, (base_node, *operands), shape, dtype, where=user_where(3),
        requires_grad=base_node.requires_grad and view.op.differentiable,
    )
    rebind(x, x_node, recorded=not begins)


def operands_of(view: View) -> tuple[Node, ...]:
    """The operands of a view's operation behind the base, in the record or trace under way."""
    return tuple([graph_node(symbol(n)) for n in view.operands])


def rebind(x: Tensor, node: Node, recorded: bool = True) -> None:
    """Make a tensor refer to another node."""
    if MODE.get().trace is not None:
        MODE.get().trace.rebind(x, node, recorded)
        return
    x.node = node
    x._requires_grad = node.requires_grad


# -- symbolic -------------------------------------------------------------------------------
def symbolic(op: Op, xs: tuple[Tensor, ...]) -> Tensor:
    """The result as a node of the graph under construction."""
    if op.outputs > 1:
        raise TypeError(f"{op.name} has {op.outputs} results: use apply_many")
    for x in xs:
        if x._placed:
            return HOOKS.execute(op, xs)
        if x._lazy and (found := x.through(op, xs)) is not None:  # type: ignore[attr-defined]
            return found
    t = symbol(make_node(op, xs))
    if op.view:
        if looks_into(op, xs[0]):
            share(t, op, xs[0], t.node.inputs[1:])  # type: ignore[union-attr]
        if op.aliases is not None:
            note(xs[0], t, op)
    trace = MODE.get().trace
    if trace is not None:
        if op.layout_of is not None and not op.view:
            note_memory_order(t, op, xs)
        if t._requires_grad:
            trace.reads.kept[t.node] = *xs, t
    return t


def make_node(op: Op, xs: tuple[Tensor, ...]) -> Node:
    """A checked node for an operation on tensors."""
    mode = MODE.get()
    as_held = mode.examples is None and (mode.trace is None or mode.trace.keeps_nodes)
    known = _known_nodes(xs) if as_held else None
    if known is None and True in [x.weak for x in xs]:
        xs = HOOKS.strong(op, xs)
    try:
        types = _checked_types(op, xs if known is None or not op.of_types else known)
    except (ValueError, TypeError, IndexError) as error:
        raise explain(error, title_of(op), xs) from None
    inputs = tuple([graph_node(x) for x in xs] if known is None else known)
    where = mode.line or user_where(3) if mode.placing else None
    node = node_of_type(op, inputs, types, where)
    if "raises" in op.traits and mode.trace is not None:
        if (caught := caught_errors()) is not None:
            caught.note_check(op)
        if mode.examples is None:
            mode.trace.raising.append(node)
    return node


def _known_nodes(xs: tuple[Tensor, ...]) -> list[Node] | None:
    """The nodes of symbols, as ``graph_node`` returns them; None if any operand needs the slow
    path."""
    found = []
    for x in xs:
        node = x.node
        if x.array is not None or x._view is not None or node is None or node.weak or (
                x._requires_grad and not node.requires_grad):
            return None
        found.append(node)
    return found


def _checked_types(op: Op, xs: Any) -> Any:
    """The types of an operation's results, which have no more axes than arrays may have."""
    types = op.infer(*xs)
    if op.outputs > 1:
        for shape, _ in types:
            check_axes(shape)
    elif len(types[0]) > MOST_AXES:
        check_axes(types[0])
    return types


def node_of_type(op: Op, inputs: tuple[Node, ...], types: Any, where: Any) -> Node:
    """Make the node of an operation from its inferred ``types``: (shape, dtype), or a sequence of
    such pairs for an operation with several results."""
    several = op.outputs > 1
    shape, dtype = types[0] if several else types
    flows, weak = False, bool(inputs)
    for n in inputs:
        flows = flows or n.requires_grad
        weak = weak and n.weak
    flows = flows and MODE.get().recording and op.differentiable
    node = Node(
        op, inputs, shape, dtype,
        weak=weak,
        requires_grad=flows and (several or dtype.kind in "fcV"),
        where=where,
    )
    if several:
        node.outputs = tuple(types)
    return node


def graph_node(x: Tensor) -> Node:
    """The node of a tensor in a symbolic graph; a concrete tensor enters as a live leaf."""
    if x.array is None or MODE.get().trace is not None or x.node is not None:
        node = current(x)
    else:
        node = Node(
            None, (), x.array.shape, x.array.dtype, requires_grad=x._requires_grad,
            handle=lambda: x, name=x._name,
        )
    if MODE.get().examples is not None and x.array is not None:
        MODE.get().examples.meet(node, x)
    return node


# -- in place -------------------------------------------------------------------------------
def notice(what: str) -> None:
    """Record an event in the running traces: "derived", "passing", "spilled", or "acted" where
    Python provides values once.
    """
    trace = MODE.get().trace
    while trace is not None:
        trace.noticed.add(what)
        trace = trace.around


def assign(target: Tensor, value: Tensor, *, checked: bool = False, state: bool = False) -> Tensor:
    """Perform ``target[...] = value`` in place; the shapes and dtypes already agree.

    ``checked`` says that the change was checked where it was traced; ``state``, that the caller
    passes on the new value of a shared variable.
    """
    value = written_value(target, value)
    traced = MODE.get().trace is not None
    view = element_view(target)
    if view is not None:
        assign(apply(view.op, view.base), value, checked=checked, state=state)
    if target._view is not None:
        let_go(target)
    if target.array is None and not state:
        refuse_declared(target)
    if MODE.get().examples is not None and value.array is None:
        value = MODE.get().examples.common(target, value)
    if not traced and target.array is not None and value.array is None:
        raise TypeError(
            "a symbolic value cannot be written into a tensor that has a value; hold the state in "
            "ag.shared and give updates= to ag.function"
        )
    recorded = MODE.get().recording and not (checked and target._requires_grad and _begins(target))
    if traced or target.array is None:
        if traced and recorded and not checked:
            _refuse_leaf(target)
        node = graph_node(value)
        silent = traced and not (recorded and (node.requires_grad or current(target).requires_grad))
        _assign_node(target, node, recorded)
        if silent:
            MODE.get().trace.reads.changed(target)
        return target
    flows = recorded and (value._requires_grad or target._requires_grad)
    if flows:
        _refuse_leaf(target)
        source = current(value) if value._requires_grad else graph_node(wrap(value.array.copy()))
        node = node_of_type(COPY, (source,), (source.shape, source.dtype), user_where(2))
        keep_old(target)
    if MODE.get().watch is not None:
        MODE.get().watch(target)
    if not target.array.flags.writeable:
        raise ValueError(read_only(target))
    if value.array is not target.array:
        np.copyto(target.array, value.array)
    if flows:
        _assign_node(target, node)
        _spread(root(target))
    else:
        touch(target)
    return target


def refuse_declared(target: Tensor) -> None:
    """Raise for a change in place of a declared input, whose expressions would not see it."""
    mode = MODE.get()
    node: Any = root(target).node
    if node is None or node.op is not None or mode.examples is not None:
        return
    if mode.trace is not None and (mode.trace.of_values or mode.trace.is_own(node)):
        return
    kind = "input" if node.handle is None else "shared variable"
    raise TraceError(
        at(f"{typed(target)} belongs to the {kind} {node.name or '_'} of a symbolic program, which "
           "cannot be changed in place; make a new expression of it: "
           "y = T.set_subtensor(x[key], value), or x = x + ..., and give new values of shared "
           "variables to updates= of ag.function")
    )


def _refuse_leaf(target: Tensor) -> None:
    while not (target._requires_grad and _begins(target)):
        view = target._view
        if view is None or not view.op.differentiable:  # nothing flows to where it looks
            return
        target = view.base
    traced = MODE.get().trace is not None
    if not traced or target.array is None or target.node is None or target.node.op is None:
        raise GradientError(at(f"{typed(target)} requires grad and was not computed: it cannot be "
                               "changed in place while operations are recorded; wrap the change "
                               "in `with ag.no_grad():`"))
    notice("spilled")  # it was computed before the trace, and its record goes on


def _begins(x: Tensor) -> bool:
    """Return whether gradients end at this tensor, because it is a leaf or ``requires_grad`` was
    set on it.
    """
    if MODE.get().trace is None:
        return x.node is None or x.node.op is None or "alias" in x.node.op.traits
    if x.array is None:
        return not x.node.requires_grad  # type: ignore[union-attr]
    if not MODE.get().trace.of_values and x.node is not None and x.node.op is not None:
        return False
    node = current(x)
    return node.op is None or ("alias" in node.op.traits and node.handle is not None)


def touch(target: Tensor, part: np.ndarray | None = None) -> int:
    """Increment the version counter of a tensor's memory, so that older records that need the value
    notice.

    ``part`` is the part of the memory that was written, if not all that the tensor refers to.
    """
    counter = target._version = target._version or [0]
    mode = MODE.get()
    if target.array is not None:
        if mode.trace is not None:
            mode.trace.count(counter)  # for the call itself changes it
        if mode.examples is not None:
            mode.examples.acted = True  # which is not done again for each example
    before, counter[0] = counter[0], next_serial()
    if len(counter) > 1:  # others look into the memory, maybe into the rest of it
        if part is None and target._view is not None:
            part = target.array
        if part is not None:
            note_change(counter, before, part)
    return counter[0]


def _assign_node(target: Tensor, node: Node, recorded: bool = True) -> None:
    """Make ``target`` and its bases refer to the new value."""
    views: list[tuple[Tensor, Node]] = []
    while (view := target._view) is not None:
        views.append((target, node))
        old = current(view.base)
        undo = getattr(view.op, "undo", None)
        if undo is None and not hasattr(view.op, "put"):
            raise ValueError(
                f"a result of {view.op.name} lies in read-only memory and cannot be changed "
                "in place; change a copy"
            )
        op, inputs = (view.op.put, (old, node, *operands_of(view))) if undo is None else (
            undo(old.shape), (node,))
        node = node_of_type(op, inputs, (old.shape, old.dtype), user_where(3))
        target = view.base
    touch(target)
    rebind(target, node, recorded)
    for target, node in reversed(views):
        view = target._view
        if view.base.requires_grad and not recorded:
            continue  # it looks again when next used
        view.seen = target._version[0]  # type: ignore[index]
        rebind(target, node, recorded)
