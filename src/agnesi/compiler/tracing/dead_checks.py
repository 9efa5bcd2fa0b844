"""Keep what a traced function checks of values that nobody reads.

Eager code raises where an index is out of range, whether or not somebody looks at what was there.
Compiled code computes what results need, so operations that refuse some values, and that no result
needs, leave their conditions behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.tracing.trace import Trace
from agnesi.core.dispatch import apply
from agnesi.core.expansion import decomposed
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.config import switched
from agnesi.core.tensor import symbol
from agnesi.ops.base.creation import constant
from agnesi.ops.base.gather.gather_scatter import Ensured


def with_dead_checks(trace: Trace, results: Sequence[Node], token: Node | None) -> list[Node]:
    """The results, and where it is needed a value that exists where ``token`` does and no check of
    the trace fails that they do not depend on."""
    live = set(toposort(results)) if trace.raising else set()
    dead = [n for n in trace.raising if n not in live]
    if dead:
        token = _with_checks(token, dead, [n for n in trace.raising if n in live])
    return [*results] if token is None else [*results, token]


def _with_checks(token: Node | None, dead: Sequence[Node], live: Sequence[Node]) -> Node | None:
    """A value that exists where ``token`` does and no check of ``dead`` operations fails; the
    ``live`` ones check by themselves."""
    with switched(recording=False):
        checked = {_checked(c) for n in live for c in checks_of(n)}
        for node in dead:
            for check in checks_of(node):
                if _checked(check) not in checked:
                    checked.add(_checked(check))
                    token = _checking(check, token, node.where)
    return token


def _checking(check: Node, token: Node | None, where: Any) -> Node:
    """A value that exists where ``token`` does and a check does not fail."""
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
    """What tells two checks of the same values by the same bounds apart from others."""
    op: Any = check.op
    return check if op.bounds is None else (check.inputs[0], op.bounds)
