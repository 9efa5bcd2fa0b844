"""Keep what a traced function checks of values that are not used.

Eager code raises where an index is out of range, whether or not the element is used.
Compiled code computes what results need, so operations that refuse some values, and that no result
needs, leave their conditions behind; those of users run, as it is unknown what they refuse. Bodies
of loops and branches leave them in a state of the trace around, the witness, which nothing else
changes.  ``vmap`` drops what is not read in both modes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.recompute import After
from agnesi.core.dispatch import apply, assign, current
from agnesi.core.expansion import decomposed
from agnesi.core.ir.node import Node, creation, toposort
from agnesi.core.op import Item
from agnesi.core.support.config import MODE, switched
from agnesi.core.support.tracing import current_trace
from agnesi.core.tensor import Tensor, symbol
from agnesi.ops.base.creation import constant
from agnesi.ops.base.gather.gather_scatter import Ensured
from agnesi.ops.control.body import Body

#: Operations that may raise which are looked at before all that results need is.
_MAX_RAISING = 64


def with_dead_checks(trace: Any, results: Sequence[Node], token: Node | None) -> list[Node]:
    """Return the results, followed, if it is needed, by a token that exists only if ``token`` does
    and no check of the trace fails that the results do not depend on.
    """
    if trace.witness is not None:
        after = trace.witness if token is None else apply(After(), symbol(token), trace.witness)
        token = current(after)
    token = checked(token, trace.raising, [*results] if token is None else [*results, token])
    return [*results] if token is None else [*results, token]


def checked(token: Node | None, raising: Sequence[Node], results: Sequence[Node]) -> Node | None:
    """Return a token that exists, equal to ``token``, only if no check fails that the results do
    not depend on.
    """
    if not raising or (len(raising) <= _MAX_RAISING and not any(map(_may_raise, raising))):
        return token
    oldest = min(map(creation, raising))
    live = set(toposort(results, lambda n: creation(n) < oldest))  # which reads none of them
    dead = [n for n in raising if n not in live]
    if any(map(_is_result, dead)):
        made = {key for n in live if _is_result(n) for key in _checks_inside(n)}
        dead = [n for n in dead if not _is_result(n) or not _checks_inside(n) <= made]
    return _with_checks(token, dead, [n for n in raising if n in live]) if dead else token


def _may_raise(node: Node) -> bool:
    """Return whether an operation checks something on operands of its types."""
    return _is_result(node) or getattr(node.op, "user_defined", False) or any(
        [True for _ in checks_of(node)])


def keep_body_checks(results: Iterable[Node]) -> None:
    """Keep checks of values that no result of a traced loop body needs from being removed as dead
    code: they become a state of the outermost trace.
    """
    trace = around = current_trace()
    while getattr(around, "around", None) is not None:
        around = around.around
    if not trace.raising or not hasattr(around, "witness") or MODE.get().examples is not None:
        return
    ends = [*results, *[c.now for c in trace.captures.values() if c.changed]]
    with switched(recording=False):
        before = around.witness
        if before is None:
            before = symbol(around.begun_witness)
        token = checked(current(before), trace.raising, ends)
        if token is not None and token is not current(before):
            around.witness = before
            assign(before, symbol(token), checked=True, state=True)


def note_body_checks(bodies: Sequence[Body], found: Sequence[Tensor]) -> None:
    """Record which results of a loop or branch contain a check that must run even if the result is
    not used.
    """
    trace = current_trace()
    if trace is None or MODE.get().examples is not None:
        return
    for k, x in enumerate(found):
        if any(_raising(toposort([b.outputs[k]])) for b in bodies if k < len(b.outputs)):
            trace.raising.append(x.node)


def _raising(nodes: Iterable[Node]) -> set[Node]:
    return {n for n in nodes if "raises" in n.traits}


def _with_checks(token: Node | None, dead: Sequence[Node], live: Sequence[Node]) -> Node | None:
    """Return a token that exists only if ``token`` does and no check of the ``dead`` operations
    fails that ``live`` ones do not make too.
    """
    with switched(recording=False):
        done = {_checked(c) for n in live for c in checks_of(n)}
        for node in dead:
            if _is_result(node) or getattr(node.op, "user_defined", False):
                start = constant(0, np.dtype(np.int8)) if token is None else symbol(token)
                token = apply(After(), start, symbol(node)).node
                continue
            for check in checks_of(node):
                if _checked(check) not in done:
                    done.add(_checked(check))
                    token = _checking(check, token, node.where)
    return token


def _is_result(node: Node) -> bool:
    """Return whether a node is a result of a loop or branch."""
    made = _maker(node)
    return "control" in made.traits and node.outputs is None


def _maker(node: Node) -> Node:
    return node.inputs[0] if type(node.op) is Item else node


def _checks_inside(result: Node) -> set[Any]:
    """Return keys of the checks inside a loop or branch for one result; its derivatives contain the
    same checks.
    """
    index = result.op.index if type(result.op) is Item else 0
    bodies = [v for v in vars(_maker(result).op).values() if type(v) is Body]
    needed = toposort([b.outputs[min(index, len(b.outputs) - 1)] for b in bodies])
    inner = [n for n in needed if _is_result(n)]
    return {(n.op, n.where) for n in _raising(needed)}.union(*map(_checks_inside, inner))


def _checking(check: Node, token: Node | None, where: Any) -> Node:
    """Return a token that exists only if ``token`` does and ``check`` does not fail."""
    before = constant(0, np.dtype(np.int8)) if token is None else symbol(token)
    found: Any = apply(check.op, before, symbol(check.inputs[1])).node
    found.where = where
    return found


def checks_of(node: Node) -> Iterator[Node]:
    """The checks in an operation's expansion."""
    own = set(node.inputs)
    stack = [node]
    seen = set(stack)
    while stack:
        made = stack.pop()
        if type(made.op) is Ensured:
            yield made
        simpler = decomposed(made, made.inputs) if made.op and made.op.decompose else ()
        new = [n for n in simpler or made.inputs if n not in seen and n not in own]
        seen.update(new)
        stack.extend(new)


def _checked(check: Node) -> Any:
    """Return the key of a check: the values and the bounds that it compares."""
    op: Any = check.op
    return check if op.bounds is None else (check.inputs[0], op.bounds)
