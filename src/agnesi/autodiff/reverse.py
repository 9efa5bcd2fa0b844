"""Reverse mode: cotangents flow from results to what they depend on, over records and graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from agnesi.autodiff.accumulation import Apart, leave
from agnesi.autodiff.hooks import HOOKED
from agnesi.autodiff.pullbacks import pulled, shared
from agnesi.autodiff.reached import asked
from agnesi.autodiff.recording import Settled, alias, is_leaf
from agnesi.autodiff.rules import Unknown, at_known_sizes, cotangents, tangents
from agnesi.autodiff.stable import stable_roots
from agnesi.core.calls.autocasting import casting
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node, executed, toposort, waiting
from agnesi.core.op import Item, explain, item_of, title_of, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import renamed
from agnesi.core.storage.changes import is_late
from agnesi.core.storage.leaves import earlier
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, MODE, STATE, switched
from agnesi.core.support.errors import (
    GradientError,
    MissingRuleError,
    TraceError,
    at,
    location,
    user_where,
)
from agnesi.core.support.gc_pause import no_gc
from agnesi.core.support.tracing import current_trace, is_tracing, query_fact
from agnesi.core.tensor import CONSUMED, Tensor, symbol, wrap
from agnesi.ops.base.convert import as_tensor, cast, number
from agnesi.ops.base.creation import filled
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.parameter_checks import of_shape
from agnesi.ops.identity import ALIAS, STOP
from agnesi.ops.sparse.words import is_sparse

_new = Tensor.__new__
#: The array of a one of each dtype, which cannot be written.
_ONES: dict[Any, Any] = {}


def _carrying(roots: Collection[Node]) -> list[Node]:
    """Return the nodes through which gradients flow from ``roots``, in topological order."""
    order: list[Node] = []
    done: set[Node] = set()
    stack = [n for n in roots if n.requires_grad]
    while stack:
        node = stack[-1]
        if node not in done:
            ready = True
            for n in node.inputs:
                if n.requires_grad and n not in done:
                    stack.append(n)
                    ready = False
            if not ready:
                continue
            done.add(node)
            order.append(node)
        stack.pop()
    if waiting(order):
        return [n for n in executed(roots, lambda n: not n.requires_grad) if n.requires_grad]
    return order


def between(roots: Iterable[Node], wrt: Sequence[Node], constants: Collection[Node]) -> list[Node]:
    """Return the nodes through which gradients flow from ``roots`` to ``wrt``, in topological
    order.
    """
    reached = set(wrt)
    kept = []
    for node in executed(roots, lambda n: not n.requires_grad or n in constants):
        if node in reached or (
            node.requires_grad
            and node not in constants
            and any(n in reached for n in node.inputs)
        ):
            reached.add(node)
            kept.append(node)
    return kept


def overwritten(node: Node) -> GradientError:
    """Return the error for a value that a gradient needs and that was changed in place."""
    made = f"made by {node.op.name} at {location(node.where)}" if node.op else "a leaf"
    return GradientError(
        at(
            f"the gradient needs the value of {typed(node)} ({made}), but it was changed in "
            "place afterwards; change a copy instead (x = x + 1 rather than x += 1)"
        )
    )


def tensor_of(node: Node, since: int) -> Tensor:
    """Return a tensor for a node, with its value if that was kept, to be passed to derivative
    rules.

    ``since`` is the serial number of the operation that read the value; a later change of it raises
    GradientError.
    """
    value, version = node.value, node.version
    if value is None:
        version = None
    elif version is not None and is_late(node, since):
        raise overwritten(node)
    t = _new(Tensor)  # ``wrap``, written out: every rule's operands pass here
    t.array = value
    t.node = node
    t._requires_grad = node.requires_grad
    t._grad = t._view = None
    t._version = version
    t._name = node.name
    return t


def backprop(seeds: Mapping[Node, Tensor], wrt: Sequence[Node] | None = None,
             constants: Collection[Node] = (), sparse: bool = False,
             flags: Any = None) -> dict[Node, Tensor]:
    """Cotangents by node: of ``wrt``, or of all leaves and retained nodes.

    Leaves may get sparse ones (``COO``) if ``sparse``; all others are dense.

    ``seeds`` maps result nodes to their cotangents; gradients stop at the nodes in ``constants``.
    ``flags`` (``flows.Flags``) marks those that are absent in some steps of a loop.
    """
    if MODE.get().autocast is not None:  # rules have operands of the dtypes that were computed in
        with casting(None):
            return backprop(seeds, wrt, constants, sparse, flags)
    if not is_tracing():
        for n, g in seeds.items():
            if n.serial > 0 or (type(g) is Tensor and g.array is None):
                break
        else:
            return _backprop(seeds, wrt, constants, sparse, True)
    with no_gc(), switched(line=STATE.line or user_where()):
        return _backprop(seeds, wrt, constants, sparse, False, flags)


def existing(seeds: Mapping[Node, Tensor], wrt: Sequence[Node] | None = None,
             constants: Collection[Node] = (), sparse: bool = False) -> dict[Node, Tensor]:
    """Return the cotangents as :func:`backprop`, but without those that exist only if a branch
    runs which does not run in this call of the function that is traced.
    """
    reached = asked() if is_tracing() else None
    found = backprop(seeds, wrt, constants, sparse, reached)
    return found if reached is None else reached.existing(found)


def _backprop(seeds: Mapping[Node, Tensor], wrt: Sequence[Node] | None,
              constants: Collection[Node], sparse: bool, eager: bool,
              flags: Any = None) -> dict[Node, Tensor]:
    order = _carrying(seeds) if wrt is None else between(seeds, wrt, constants)
    goals = None if wrt is None else set(wrt)
    if eager:
        rows = [g for g in seeds.values() if type(g) is not Tensor and is_sparse(g)]
        found = None if constants or rows else HOOKS.taped(order, seeds, wrt)
        return swept(order, seeds, goals, constants, sparse, _pullback) if found is None else found
    better = stable_roots(seeds, order, lambda: {*constants, *(goals or ()), *HOOKED.among(order)})
    if better:
        seeds = _moved(seeds, better) if flags is None else flags.moved(seeds, better)
        order = _carrying(seeds) if wrt is None else between(seeds, wrt, constants)
    results = swept(order, seeds, goals, constants, sparse, _pullback, flags)
    if is_tracing():
        current_trace().derived(g.values() if is_sparse(g) else g for g in results.values())
        # arguments may have hooks once there are some, which only the function itself calls
        owners = [_owner(n, heard=HOOKED.any) for n in results if n not in constants]
        current_trace().unheard.extend(o for o in owners if o is not None)
    return results


def swept(order: Sequence[Node], seeds: Mapping[Node, Tensor], goals: Collection[Node] | None,
          constants: Collection[Node], sparse: bool,
          pull: Callable[[Node, Any], Sequence[Any]], flags: Any = None) -> dict[Node, Tensor]:
    """Return the cotangents of ``goals``, or of leaves and retained nodes.

    ``pull`` returns the cotangents of an operation's inputs; ``order`` lists the nodes that
    gradients flow through, in topological order.
    """
    allowed = set(order)
    grads: dict[Node, Any] = dict(seeds)
    results: dict[Node, Tensor] = {}
    halves: set[Node] = set()  # whose cotangents add up in float32
    mode = MODE.get()
    line = mode.line
    for node in reversed(order):
        g = grads.pop(node, None)
        if g is None:
            continue
        op = node.op
        if node in halves:
            g = cast(g, node.dtype)
        if type(g) is not Tensor and is_sparse(g) and not (sparse and _takes_rows(node)):
            g = g.to_dense()
        if HOOKED.any and type(g) is Tensor and node not in constants:
            with switched(line=None):
                g = HOOKED.changed(node, _owner(node, heard=True), g)
        if (node.handle is not None or op is None) if goals is None else (node in goals):
            results[node] = g
        if op is None or node in constants:
            continue
        if type(op) is Item:
            (parent,) = node.inputs
            slots = grads.setdefault(parent, [None] * parent.op.outputs)
            if flags is not None:
                g = flags.put(slots, node, g)
            slots[op.index] = g if slots[op.index] is None else slots[op.index] + g
            continue
        if line is not None:  # where a gradient checks indices, errors name the operation's line
            indexed = any([n.dtype.kind in "iu" for n in node.inputs])
            mode.line = node.where or line if indexed else line
        for source, part in zip(node.inputs, pull(node, g), strict=True):
            if part is not None and source in allowed:
                if type(part) is Unknown:
                    raise part.error
                if flags is not None:
                    flags.add(grads, source, part, flags.behind(node, source))
                    continue
                if (before := grads.get(source)) is not None and source.dtype in dtypes.HALVES and (
                        type(before) is Tensor is type(part)):
                    halves.add(source)
                    before, part = cast(before, dtypes.float32), cast(part, dtypes.float32)
                grads[source] = part if before is None else before + part
    mode.line = line
    return results


def _takes_rows(node: Node) -> bool:
    """Return whether the gradient of a node may be sparse (rows and their indices): a leaf without
    hooks, that no outer trace reads.
    """
    if not (node.op is None or (node.op is ALIAS and node.handle is not None)):
        return False
    return not HOOKED.listen(node, _owner(node)) and (
        not is_tracing() or current_trace().around is None)


def _moved(seeds: Mapping[Node, Tensor], better: Mapping[Node, Node]) -> dict[Node, Tensor]:
    """Return cotangents by the stable forms of their nodes."""
    moved: dict[Node, Tensor] = {}
    for old, g in seeds.items():
        node = better.get(old, old)
        moved[node] = moved[node] + g if node in moved else g
    return moved


def beginnings(xs: Sequence[Tensor], roots: Sequence[Node], symbolic: bool) -> list[list[Node]]:
    """Return, for each tensor, the nodes at which its gradients arrive.

    There are several if a trace has changed it, or if ``symbolic`` roots have a leaf for each use.
    """
    found = [_beginnings(x, roots) for x in xs]
    if symbolic and any([x.array is not None for x in xs]):
        leaves: dict[int, list[Node]] = {}
        for n in toposort(roots, lambda n: not n.requires_grad):
            if n.op is None and n.handle is not None:
                leaves.setdefault(id(n.handle()), []).append(n)
        for x, nodes in zip(xs, found, strict=True):
            nodes += [n for n in leaves.get(id(x), ()) if n not in nodes]
    return found


def _beginnings(x: Tensor, roots: Iterable[Node]) -> list[Node]:
    node = current(x)
    while node.op is STOP.put:
        node = node.inputs[0]
    if node.op is not ALIAS or node.handle is None:
        return [node, *earlier(node)]
    order = toposort(roots, lambda n: not n.requires_grad)
    return [node, *(n for n in order if n is not node and n.handle and n.handle() is x)]


def goes_outside(root: Node, targets: Sequence[Tensor], constants: Collection[Node]) -> bool:
    """Return whether gradients reach targets through what was computed before the present trace, or
    may do so through an argument that was.
    """
    if not is_tracing() or not current_trace().of_values:
        return False
    order = toposort([root], lambda n: not n.requires_grad or n in constants)
    if _through_arguments([n for n in order if n.requires_grad and n not in constants], targets):
        return True
    handles = [n.handle() for n in order if n.op is None and n.requires_grad and n.handle]
    captured = [x.node for x in handles if x.node is not None and x.array is not None]
    before = set(toposort([n for node in captured for n in node.inputs])) if captured else set()
    return any(x.array is not None and x.node in before for x in targets)


def _through_arguments(order: Sequence[Node], targets: Sequence[Tensor]) -> bool:
    """Return whether one of the nodes is an argument that was computed, possibly from a target that
    is another argument or is outside; the call's arguments are checked for that.
    """
    arguments = getattr(current_trace(), "arguments", {})
    outside = [None if x.array is not None else _aliased(x.node) for x in targets]
    outside = [n for n in outside if n is None or n in arguments]
    given = [arguments[n] for n in order if n in arguments and any(n is not t for t in outside)]
    for x in given:
        query_fact(x, "identity")
    return not all(map(is_leaf, given))


def _aliased(node: Any) -> Any:
    """Return the node behind aliases."""
    while node.op is ALIAS:
        node, = node.inputs
    return node


def _pullback(node: Node, g: Any) -> Sequence[Any]:
    op = node.op
    if op.vjp is None and op.jvp is None:
        if not op.differentiable:
            return (None,) * len(node.inputs)
        raise missing_rule(node, "reverse-mode derivative rule (vjp)")
    if is_tracing() and isinstance(op, Elementwise) and not op.user_defined and (
            found := pulled(node, g)) is not None:
        return found
    if op.vjp is not None and not op.user_defined and len(node.inputs) == 1 and is_tracing():
        return shared(node, g, lambda: _by_rule(node, g))
    return _by_rule(node, g)


def _by_rule(node: Node, g: Any) -> Sequence[Any]:
    """Return the cotangents of operands by the operation's own rule."""
    op = node.op
    xs, y = read_by_rules(node)
    if op.vjp is not None:
        if op.user_defined:
            return cotangents(op, g, y, xs)
        try:
            return op.vjp(g, y, *xs)
        except TraceError as error:
            return at_known_sizes(error, op, g, xs, False)
    return transposed(lambda us: tangents(op, us, y, xs, node), xs, g if op.outputs > 1 else [g])


def missing_rule(node: Node, what: str) -> GradientError:
    """Return the error for an operation without the rule that is needed."""
    op = node.op
    hint = op.no_rule or (
        "give it vjp= or jvp=, or differentiable=False where gradients end" if op.user_defined
        else "ag.stop_gradient(x) keeps gradients out")
    return MissingRuleError(at(f"{title_of(op)} has no {what}: {hint}", node.where))


def transposed(push: Callable[[list[Any]], Sequence[Any]], xs: Sequence[Tensor],
               gs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the cotangents of ``xs`` by transposing ``push``, a linear function from tangents to
    tangents of results; ``gs`` are the results' cotangents.
    """
    with switched(recording=True):
        us = [alias(filled(x.shape, 0, x.dtype)) if x.dtype.kind in "fcV" else None for x in xs]
        moves = push(us)
    seeds: dict[Node, Any] = {}
    for move, g in zip(moves, gs, strict=True):
        if move is not None and g is not None and move.requires_grad:
            node = current(move)
            seeds[node] = seeds[node] + g if node in seeds else g
    nodes = [None if u is None else current(u) for u in us]
    found = backprop(seeds, [n for n in nodes if n is not None])
    return tuple(None if n is None else found.get(n) for n in nodes)


def read_by_rules(node: Node) -> tuple[list[Tensor], Any]:
    """Return the operands and the result of an operation as its rules may read them; values that no
    rule reads may have been changed.
    """
    op, since = node.op, abs(node.serial)
    if is_tracing():
        for n in current_trace().reads.lost(node):
            raise overwritten(n)
    xs = []
    for i, n in enumerate(node.inputs):
        unread = is_late(n, since) and not op.needs(i, node.inputs)
        xs.append(symbol(n) if unread else tensor_of(n, since))
    if op.outputs > 1:
        return xs, results_of(node) if op.keep_output else None
    if is_late(node, since) and not op.needs_result(node.inputs):
        return xs, symbol(node)
    return xs, tensor_of(node, since)


def results_of(node: Node) -> tuple[Tensor, ...]:
    """Return the results of an operation that has several, as its rules may read them."""
    found = []
    for i in range(node.op.outputs):
        item = item_of(node, i)
        if node.value is not None:
            item.value, item.version = node.value[i]
        found.append(tensor_of(item, abs(node.serial)))
    return tuple(found)


def seed(y: Tensor, g: Any = None, owner: str = "backward") -> Tensor:
    """Return the initial cotangent: 1 for a single element, otherwise the one that the user passed.
    """
    if g is None:
        if (data := y.array) is not None and not data.shape and not is_tracing():
            found = _ONES.get(data.dtype)
            if found is None:
                found = _ONES[data.dtype] = number(1, data.dtype).array
            return wrap(found)
        if y.shape != () and any(n != 1 for n in y.shape):
            raise GradientError(
                at(
                    f"{owner}: the gradient of {typed(y)}, which is not a scalar, needs a "
                    "cotangent of that shape: reduce it first (y.sum()), or pass one ("
                    + ("y.backward(grad))" if owner == "backward" else "grad_outputs=)")
                )
            )
        one = number(1, y.dtype)
        return broadcast_to(one, y.shape) if y.shape else one
    if type(g) is Tensor and (data := g.array) is not None and (
            data.shape == y.shape and data.dtype is y.dtype):
        return g
    try:
        g = as_tensor(g, y.dtype)
    except (TypeError, ValueError) as error:
        raise explain(error, owner, (y, g)) from None
    if g.shape == y.shape:
        return g
    return of_shape(owner, g, y.shape, at(
        f"{owner}: the cotangent is {typed(g)}, but the result is {typed(y)}; give one number for "
        "each of its elements"), "GradientError")


@renamed(gradient="grad", retain_graph="")
def backward(y: Tensor, grad: TensorLike | None = None, *, create_graph: bool = False,
             inputs: Tensor | Iterable[Tensor] | None = None) -> None:
    """Accumulate gradients of ``y`` in the ``grad`` of every leaf that it depends on.

    A gradient that is there already is added to in place, as in PyTorch, unless it has a history,
    ``create_graph`` gives it one, or its memory is another gradient's or a parameter's, too.

    :param grad: Cotangent, of y's shape; PyTorch's ``gradient``.  Records live as long as their
        results, so ``retain_graph`` is taken and says nothing.
    :type grad: array_like, optional
    :param create_graph: Record the gradient computation itself, so that it can be differentiated
        again.
    :param inputs: The only leaves whose gradients are added to.
    :type inputs: Tensor or iterable of Tensor, optional
    :raises GradientError: If the tensor depends on nothing that requires grad, has several
        elements and ``grad`` is missing or of another shape, or a value was changed in place
        since.
    """
    if not y._requires_grad:
        raise GradientError(
            at(
                f"{typed(y)} does not depend on anything that requires grad; make the parameters "
                "with requires_grad=True and compute outside of no_grad()"
            )
        )
    node = current(y)
    mode = MODE.get()
    other = Settled(mode, create_graph)
    try:
        MODE.set(other.mode)
        g = seed(y, y._grad if grad is None and y._grad is not None and _has_seed(y) else grad)
        found = existing({node: g}, sparse=not create_graph)
        if y.array is None and not is_tracing() and all(_owner(n) is None for n in found):
            raise GradientError(at(f"backward: {typed(y)} is computed from symbols of a declared "
                                   "graph, which keep no grad; ag.grad(cost, wrt) gives the "
                                   "derivatives as symbols"))
        _accumulate(found if inputs is None else _of_leaves(found, inputs), g)
    finally:
        MODE.set(mode)
        other.mode = None


def _of_leaves(found: dict[Node, Tensor], inputs: Tensor | Iterable[Tensor]) -> dict[Node, Tensor]:
    """Return the gradients of these leaves only."""
    wanted = [inputs] if isinstance(inputs, Tensor) else [*inputs]
    for t in wanted:
        if not isinstance(t, Tensor) or not is_leaf(t) or not t._requires_grad:
            raise GradientError(at(
                f"backward: inputs= takes leaves that require grad, not {typed(t)}; "
                "ag.autograd.grad(y, x) differentiates with respect to other tensors"))
    ids = {id(t) for t in wanted}
    return {n: g for n, g in found.items() if id(_owner(n)) in ids}


def _has_seed(y: Tensor) -> bool:
    """Return whether the user set ``y.grad`` as the initial cotangent, as in Chainer."""
    node = y.node
    return (
        isinstance(y._grad, Tensor) and node is not None and node.op is not None
        and node.handle is None  # else it may be what an earlier backward retained
    )


def _accumulate(found: Mapping[Node, Tensor], seed: Tensor) -> None:
    """Add gradients to the tensors' ``grad``; one of them may be the cotangent ``seed`` itself."""
    gradients: dict[int, tuple[Tensor, Tensor]] = {}
    for n, g in found.items():
        target = _owner(n)
        if target is not None and (target._requires_grad or n.op is not None):
            # there are several of one that was changed in a trace, or by assignment
            known = gradients.get(id(target))
            gradients[id(target)] = target, g if known is None else known[1] + g
    leave([pair for pair in gradients.values()
           if pair[0]._grad is not CONSUMED or not _is_lost(pair[0])], Apart(seed))


def _is_lost(x: Tensor) -> bool:
    """Return whether the present gradient was consumed by a compiled step; anything added to it is
    lost too, and reading it raises.
    """
    if x._grad is not CONSUMED:
        return False
    return current_trace().keeps_overwritten(x) if is_tracing() else True


def _owner(node: Node, heard: bool = False) -> Tensor | None:
    """Return the tensor that the gradient at a node belongs to, possibly an argument of a traced
    function.

    If hooks may see it (``heard``), the argument's hooks are called only by the Python function.
    """
    if node.handle is not None:
        owner: Tensor | None = node.handle()
        return owner
    return current_trace().target_of(node, heard) if is_tracing() else None
