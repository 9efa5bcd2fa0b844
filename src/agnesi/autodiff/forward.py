"""Forward mode: tangents flow from inputs to results, over records and graphs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from agnesi.autodiff.recording import alias
from agnesi.autodiff.reverse import backprop, beginnings, missing_rule, read_by_rules, seed
from agnesi.autodiff.rules import at_known_sizes, cotangents, tangents
from agnesi.autodiff.stable import stable_roots
from agnesi.core.dispatch import current
from agnesi.core.ir.node import Node, executed, toposort
from agnesi.core.op import Item, typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import higher
from agnesi.core.support.config import STATE, switched
from agnesi.core.support.errors import GradientError, TraceError, at
from agnesi.core.support.tracing import current_trace, is_tracing
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, number
from agnesi.ops.base.creation import filled, zeros_like
from agnesi.ops.base.elementwise import Elementwise
from agnesi.ops.base.parameter_checks import of_shape

#: Operations from which on the derivative of a number to a number is taken forwards.
_MIN_OPERATIONS = 16


def push(roots: Iterable[Node], tangents: Mapping[Node, Tensor],
         flags: Any = None) -> dict[Node, Any]:
    """Return the tangents of ``roots``, and of the nodes between them and those in ``tangents``, by
    node.

    ``flags`` (``flows.Flags``) records which do not exist in some steps of a loop.
    """
    known: dict[Node, Any] = dict(tangents)
    roots = list(roots)
    order = _leading(roots, known)
    better = stable_roots(roots, order, lambda: known)
    if better:
        order = _leading([better.get(n, n) for n in roots], known)
    for node in order:
        ts = [known.get(n) for n in node.inputs]
        found = _tangent(node, ts) if flags is None else flags.through(node, ts, _tangent)
        if found is not None:
            known[node] = found
    if flags is not None:
        flags.of |= {old: flags.of[new] for old, new in better.items() if new in flags.of}
    return known | {old: known[new] for old, new in better.items() if new in known}


def _leading(roots: Iterable[Node], known: Collection[Node]) -> list[Node]:
    """Return the operations through which tangents flow from ``known`` nodes to ``roots``, in
    topological order.
    """
    order = executed(roots, lambda n: n in known or not n.requires_grad)
    return [n for n in order if n not in known and n.op is not None and n.requires_grad]


def _tangent(node: Node, ts: list[Any]) -> Any:
    op = node.op
    if all(t is None for t in ts):
        return None
    if type(op) is Item:
        return ts[0][op.index]
    xs, y = read_by_rules(node)
    if op.jvp is None:
        return _by_two_pullbacks(node, ts, y, xs)
    if not op.user_defined:
        try:
            return op.jvp(ts, y, *xs)
        except TraceError as error:
            return at_known_sizes(error, op, ts, xs, True)
    found = tangents(op, ts, y, xs, node)
    return found if op.outputs > 1 else found[0]


def _by_two_pullbacks(node: Node, ts: list[Any], y: Any, xs: list[Tensor]) -> Any:
    """Return the tangent of a node from its reverse rule alone, as the transpose of the pullback,
    which is linear.
    """
    op = node.op
    if op.vjp is None:
        raise missing_rule(node, "forward-mode derivative rule (jvp)")
    if getattr(op, "hears", False):
        raise GradientError(at(
            f"forward-mode derivatives of {op.label()} would call the hooks on gradients that it "
            "registers, which belong to the reverse mode: take them of the function before jit"))
    with switched(recording=True):
        types = node.outputs or ((node.shape, node.dtype),)
        us = [alias(filled(shape, 1, dtype)) if dtype.kind in "fcV" else None
              for shape, dtype in types]  # of ones: a rule that loses them is seen
        parts = cotangents(op, us if op.outputs > 1 else us[0], y, xs)
        seeds: dict[Node, Tensor] = {
            current(p): t
            for p, t in zip(parts, ts, strict=True)
            if p is not None and t is not None and p.requires_grad
        }
    sources = [None if u is None else current(u) for u in us]
    found = backprop(seeds, [s for s in sources if s is not None])
    moves = [None if s is None else found.get(s) for s in sources]
    return moves if op.outputs > 1 else moves[0]


def _listed(xs: Any) -> list[Any]:
    return [xs] if isinstance(xs, Tensor) or not isinstance(xs, Sequence) else list(xs)


def _tensors(xs: Any, name: str) -> list[Tensor]:
    """Return the tensors of an argument of Rop or Lop; raise TypeError for anything else."""
    found = _listed(xs)
    if not all([isinstance(x, Tensor) for x in found]):
        raise TypeError(at(f"{name} must be a tensor or a list of tensors, not {typed(xs)}"))
    return found


@higher
def Rop(  # noqa: N802 - Theano's name
    f: Tensor | Sequence[Tensor], wrt: Tensor | Sequence[Tensor], eval_points: TensorLike,
) -> Any:
    """Jacobian of a computed (or symbolic) ``f`` times a vector: ``df/dwrt @ eval_points``.

    :param f: Results.
    :type f: Tensor or list of Tensor
    :param wrt: What they were computed from.
    :type wrt: Tensor or list of Tensor
    :param eval_points: A tangent for each ``wrt``, of its shape.
    :type eval_points: array_like or list
    :returns: Like ``f``; zeros where it does not depend on ``wrt``.
    :rtype: Tensor or list of Tensor
    :raises GradientError: If a tangent has another shape than its argument.
    :raises TypeError: If ``f`` or ``wrt`` holds anything but tensors.
    :see: Lop, jvp

    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> ag.Rop(x * x, x, [1.0, 1.0])
    tensor([2., 4.])
    """
    roots = [current(y) for y in _tensors(f, "Rop: f")]
    targets = _tensors(wrt, "Rop: wrt")
    points = [eval_points] if isinstance(wrt, Tensor) else [*_listed(eval_points)]
    begins = beginnings(targets, roots, any(y.array is None for y in _listed(f)))
    tangents = {n: tangent_for(x, t, "Rop")
                for x, t, nodes in zip(targets, points, begins, strict=True) for n in nodes}
    with _recording_of(f):
        found = push(roots, tangents)
        results = [found[n] if n in found else zeros_like(y)
                   for n, y in zip(roots, _listed(f), strict=True)]
    return results[0] if isinstance(f, Tensor) else results


@higher
def Lop(  # noqa: N802 - Theano's name
    f: Tensor | Sequence[Tensor], wrt: Tensor | Sequence[Tensor], eval_points: TensorLike,
) -> Any:
    """A vector times the Jacobian of a computed (or symbolic) ``f``: ``eval_points @ df/dwrt``.

    :like: Rop
    :param eval_points: A cotangent for each ``f``, of its shape.
    :type eval_points: array_like or list
    :returns: Like ``wrt``; zeros where ``f`` does not depend on it.
    :rtype: Tensor or list of Tensor
    :raises GradientError: If a cotangent has another shape than its result.
    :raises TypeError: If ``f`` or ``wrt`` holds anything but tensors.
    :see: Rop, vjp, grad

    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> ag.Lop(x * x, x, [1.0, 1.0])
    tensor([2., 4.])
    """
    points = [eval_points] if isinstance(f, Tensor) else [*_listed(eval_points)]
    results, ys, xs = [], _tensors(f, "Lop: f"), _tensors(wrt, "Lop: wrt")
    with _recording_of(f):
        seeds = {current(y): seed(y, g, "Lop") for y, g in zip(ys, points, strict=True)}
        begins = beginnings(xs, [*seeds], any(y.array is None for y in ys))
        found = backprop(seeds, [n for nodes in begins for n in nodes])
        for x, nodes in zip(xs, begins, strict=True):
            parts = [found[n] for n in nodes if n in found]
            results.append(functools.reduce(operator.add, parts) if parts else zeros_like(x))
    return results[0] if isinstance(wrt, Tensor) else results


def _recording_of(f: Any) -> switched:
    """A context that keeps recording for derivatives of symbolic results, which can be
    differentiated again.
    """
    return switched(recording=STATE.recording and any(y.array is None for y in _listed(f)))


def tangent_for(x: Tensor, tangent: Any, owner: str = "jvp") -> Tensor:
    """Return a tangent as a tensor of the type of ``x``; raise GradientError if its shape differs.
    """
    t = as_tensor(tangent, x.dtype)
    if t.shape == x.shape:
        return t
    return of_shape(owner, t, x.shape, at(
        f"{owner}: the tangent is {typed(t)}, but the value is {typed(x)}; their shapes must "
        "agree"), "GradientError")


def slope(y: Tensor, nodes: Iterable[Node]) -> dict[Node, Tensor] | None:
    """Return the derivative of a symbolic scalar ``y`` with respect to one other scalar, by node;
    None if reverse mode is to compute it.

    Forward mode takes no more operations here, keeps no values, and each step's derivative can be
    computed beside the step.
    """
    root, sources = current(y), list(nodes)
    if y.array is not None or len(sources) > 1 or not sources:
        return None
    (x,) = sources
    between = toposort([root], lambda n: n is x or not n.requires_grad)
    steps = [n for n in between if n.requires_grad and n is not x]
    if len(steps) < _MIN_OPERATIONS or x.shape != () or not all(map(_is_step, steps)):
        return None
    found = push([root], {x: number(1, x.dtype)})
    if root not in found:
        return None
    if is_tracing():
        current_trace().derived([found[root]])
    return {x: found[root]}


def _is_step(node: Node) -> bool:
    """Return whether a node is a differentiable elementwise function of real scalars; ``where`` is
    not, because it jumps.
    """
    return (
        isinstance(node.op, Elementwise) and "selection" not in node.op.traits
        and node.shape == () and node.dtype.kind == "f"
    )
