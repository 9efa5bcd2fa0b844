"""Call derivative rules, and check the results of those that users wrote."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from agnesi.core.ir.node import Node
from agnesi.core.op import Op, title_of, typed
from agnesi.core.shapes import fits
from agnesi.core.support.config import HOOKS, STATE, switched
from agnesi.core.support.errors import (
    DTypeError,
    GradientError,
    ShapeError,
    TraceError,
    Where,
    at,
    call_user,
    ours,
)
from agnesi.core.tensor import Tensor
from agnesi.ops.base.compare import equal
from agnesi.ops.base.convert import as_tensor, cast

Rule = Callable[..., Any]

#: Functions that read variables by their names.
_LOOKS_UP = frozenset(("locals", "vars", "eval", "exec"))


class Deferral:
    """The hook by which a rule is deferred, ``rule(op, moves, xs, forward)``; ``agnesi.api`` sets
    it.
    """

    rule: ClassVar[Callable[..., Any]] = staticmethod(lambda op, moves, xs, forward: NotImplemented)


class Unknown:
    """A cotangent that could not be computed; it raises ``error`` where it is needed."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def cotangents(op: Op, g: Any, y: Any, xs: Sequence[Tensor]) -> tuple[Any, ...]:
    """Cotangents of an operation's operands, from its reverse rule."""
    if not op.user_defined:
        found: Any = op.vjp(g, y, *xs)  # type: ignore[misc]
        return found
    with switched(line=None):
        found = call_user(op.vjp, (g, y, *xs), {}, f"the vjp of {title_of(op)}",
                          "vjp(g, y, *operands): cotangent, result, operands")
    parts = tuple(found) if isinstance(found, tuple | list) else (found,)
    if len(parts) != len(xs):
        raise ValueError(at(
            f"the vjp of {title_of(op)} returned {len(parts)} cotangents for {len(xs)} operands",
            location_of(op.vjp)))
    parts = tuple([
        part if part is None else fitted(
            part, x, f"the vjp of {title_of(op)}", f"operand {i}", op.vjp)
        for i, (part, x) in enumerate(zip(parts, xs, strict=True))
    ])
    check_linked(parts, g if op.outputs > 1 else (g,), op.name)
    return parts


def check_linked(parts: Sequence[Any], gs: Sequence[Any], name: str) -> None:
    """Raise if a user's rule computed cotangents outside of tensors, and their derivatives are
    wanted.

    Cotangents are linear in ``gs``: they are zero or depend on them.
    """
    if not any(g is not None and g._requires_grad for g in gs):
        return
    for part in parts:
        if part is not None and not part._requires_grad and (
                part.array is not None and part.array.any()):
            raise GradientError(at(
                f"the derivative rule of {name} returned {typed(part)} that does not depend on the "
                "gradients it was given, so that it has no derivative, and the function no "
                "forward-mode and no second one: compute it in operations of tensors, without "
                "detach() and NumPy, or mark it once_differentiable"))


def at_known_sizes(error: TraceError, op: Op, moves: Any, xs: Sequence[Tensor], forward: bool
                  ) -> Any:
    """What a rule gives once the sizes are known that it requested in a program; else the error.
    """
    found = Deferral.rule(op, moves, xs, forward)
    if found is NotImplemented:
        raise error
    return found


def tangents(op: Op, ts: Any, y: Any, xs: Sequence[Tensor], node: Node) -> Sequence[Any]:
    """Tangents of an operation's results, from its forward rule."""
    with switched(line=None if op.user_defined else STATE.line):
        found: Any = op.jvp(ts, y, *xs)  # type: ignore[misc]
    moves = found if op.outputs > 1 else (found,)
    if not op.user_defined:
        return tuple(moves)
    if not isinstance(moves, tuple | list) or len(moves) != op.outputs:
        count = len(moves) if isinstance(moves, tuple | list) else 1
        raise ValueError(at(
            f"the jvp of {title_of(op)} returned {count} tangents for {op.outputs} results",
            location_of(op.jvp)))
    types = node.outputs or ((node.shape, node.dtype),)
    return tuple([
        None if t is None or kind.kind not in "fcV"
        else fitted(t, Node(None, (), shape, kind), f"the jvp of {title_of(op)}",
                    f"result {i}", op.jvp)
        for i, (t, (shape, kind)) in enumerate(zip(moves, types, strict=True))
    ])


def fitted(found: Any, like: Any, what: str, role: str, rule: Rule | None,
           error: type[Exception] | None = None) -> Tensor:
    """Return what a user's rule returned, as a tensor of the shape and dtype of ``like``.

    Numbers and arrays are converted; any other difference is an error at the rule's line.
    """
    t = as_tensor(found, None if isinstance(found, Tensor) else like.dtype)
    if t.weak:
        t = cast(t, like.dtype)
    if not fits(t.shape, like.shape):
        raise (error or ShapeError)(at(
            f"{what} returned {typed(t)} for {role}, which is {typed(like)}; their shapes must "
            "agree", location_of(rule)))
    if t.dtype != like.dtype:
        raise (error or DTypeError)(at(
            f"{what} returned {typed(t)} for {role}, which is {typed(like)}; their dtypes must "
            f"agree: convert it with .astype({like.dtype.name!r})", location_of(rule)))
    for axis, (m, n) in enumerate(zip(t.shape, like.shape, strict=True)):
        if m != n:  # one is open: they are compared when both are known
            t = HOOKS.ensured(what, t, equal(as_tensor(m), as_tensor(n)),
                           f"it returned {typed(t)} for {role}, which is {typed(like)}; their "
                           f"sizes of axis {axis} must agree")
    return t


def location_of(rule: Any) -> Where:
    """Return where a rule is defined, if that is known."""
    while isinstance(rule, functools.partial):
        rule = rule.func
    code = getattr(rule, "__code__", None)
    return None if code is None or ours(code.co_filename) else (code, 0, "")


def reads_result(rule: Any, position: int = 1) -> bool:
    """Return whether a rule may read the result, its argument at ``position``; judged by its code.
    """
    if rule is None:
        return False
    while isinstance(rule, functools.partial):
        rule = rule.func
    code = getattr(rule, "__code__", None)
    if code is None or position >= code.co_argcount:
        return True
    name = code.co_varnames[position]
    if name in code.co_cellvars or not _LOOKS_UP.isdisjoint(code.co_names):
        return True
    loaded = [i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_FAST")]
    return any(name == found or (isinstance(found, tuple) and name in found) for found in loaded)
