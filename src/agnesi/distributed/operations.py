"""Collectives as operations: what each gives, how compiled code calls it, and its derivatives."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from agnesi.api.custom.effects import ordered
from agnesi.autodiff.recompute import After
from agnesi.compiler.control import pooled_empty
from agnesi.compiler.library import collectives as native
from agnesi.core.dispatch import apply, graph_node
from agnesi.core.ir import foreign
from agnesi.core.op import Op
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import CollectiveError, ShapeError, at, location, user_where
from agnesi.core.support.record import record, replace
from agnesi.core.support.tracing import is_known, is_tracing
from agnesi.core.tensor import Tensor, symbol, wrap
from agnesi.distributed.processes.group import GROUPS, KINDS, Group, closed
from agnesi.distributed.processes.signatures import shown_text
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.base.movement import moveaxis
from agnesi.ops.base.select import where
from agnesi.ops.control.loop import applied
from agnesi.ops.elementwise.complexes import view_as_complex, view_as_real

#: Kinds in which each process has something for each, row by row.
_BY_ROWS = ("reduce_scatter", "all_to_all")
_WITH_PEERS = ("broadcast", "send", "recv")
_EXTREMES = ("max", "min")


@record
class Collective(Op):
    """One collective of a group: all its processes run it, each in the same order.

    It takes and gives what keeps the order (``api/custom/effects.py``), then the tensor.

    Attributes
    ----------
    kind, how : str
        Which one, and the reduction of those that reduce.
    group, rank, size : int
        The group's number here, and which process of how many this is.
    peer : int
        The process that gives, to which something is sent, or for which something is reduced;
        -1 where that is every one.
    line : str
        The user's line, which others are shown.
    asked : str
        What the user requested, where several names mean one operation; it must agree, too.
    declared : bool
        Whether a declared graph has it: it runs when that does, whatever is known before.
    """

    kind: str
    how: str
    group: int
    rank: int
    size: int
    peer: int
    line: str
    asked: str
    declared: bool = False
    keep_inputs = ()
    outputs = 2

    def __post_init__(self) -> None:
        self.__dict__["name"] = self.kind
        self.__dict__["traits"] = frozenset({"waits", "meets"} if self.declared else {"waits"})
        if self.how in _EXTREMES:
            self.__dict__.update(keep_inputs=(1,), keep_output=True)

    def label(self) -> str:
        return f"{self.kind}[{self.how}]" if self.how else self.kind

    def infer(self, token: Any, x: Any) -> Any:
        shape = tuple(x.shape)
        if self.kind in _BY_ROWS and (not shape or shape[0] != self.size):
            raise ShapeError(f"there must be a row for each of {self.size} processes")
        if self.kind == "all_gather":
            shape = (self.size, *shape)
        elif self.kind == "reduce_scatter":
            shape = shape[1:]
        return (((), token.dtype), (shape, x.dtype))

    def _numbers(self, x: Any) -> tuple[Any, ...]:
        """Kind, reduction, what must agree, peer, bytes of an element, all bytes of a part."""
        how = 0
        if self.how:
            how = native.REDUCTIONS.index(f"{self.how} {x.dtype}")
        n: Any = x.dtype.itemsize
        for size in x.shape[1:] if self.kind in _BY_ROWS else x.shape:
            n = n * size
        agreed = ord(x.dtype.char) | how << 16 | zlib.crc32(self.asked.encode()) << 24
        return KINDS.index(self.kind), how, agreed, self.peer, x.dtype.itemsize, n

    def _text(self, x: Any) -> bytes:
        """Return the text that other processes see: label and dtype, then the line; its end, where
        it is long.
        """
        return shown_text(f"{self.asked or self.label()} {x.dtype}", self.line)

    def perform(self, token: np.ndarray, x: np.ndarray) -> Any:
        group = GROUPS.get(self.group)
        if group is None:
            raise CollectiveError(at(f"{self.kind}: {closed()}"))
        _, (shape, dtype) = self.infer(token, x)
        result, sizes = pooled_empty()(shape, dtype), x.shape
        x = np.ascontiguousarray(x)  # of which a number has an axis
        _, how, code, peer, item, n = self._numbers(x)
        if self.kind in ("barrier", "send"):
            result[...] = x.reshape(shape)
        group.run(self.kind, how, code, peer, item, x.ctypes.data, result.ctypes.data, n, sizes,
                  self._text(x))
        return token, result

    def foreign(self, token: Any, x: Any) -> foreign.Call:
        """The native entry, all of whose arguments are integers."""
        *numbers, n = self._numbers(x)
        copies = [(0, 0)] + [(1, 1)] * (self.kind in ("barrier", "send"))
        return foreign.Call(
            "collective:run",
            (foreign.number(self.group), *map(foreign.number, numbers), foreign.operand(1),
             foreign.result(1), foreign.number(n), foreign.SIZES, foreign.number(len(x.shape)),
             foreign.words(self._text(x), native.TEXT_BYTES)),
            copies=tuple(copies), status=True, error="CollectiveError")

    def vjp(self, gs: Any, ys: Any, token: Tensor, x: Tensor) -> tuple[Any, ...]:
        g = gs[1]
        if g is None:
            return None, None
        if self.how in _EXTREMES:
            mine, count = self._winners(ys[1], x)
            return None, self._back(g) * mine / count
        return None, self._back(g)

    def _back(self, g: Tensor) -> Any:
        if self.kind == "all_reduce" and self.peer >= 0:
            return self._also("broadcast", g, "", self.peer)
        if self.kind == "all_reduce":
            return self._also("all_reduce", g, "sum")
        if self.kind == "all_gather":
            return self._also("reduce_scatter", g, "sum")
        if self.kind == "reduce_scatter":
            return self._also("all_gather", g, "")
        if self.kind == "all_to_all":
            return self._also("all_to_all", g)
        if self.kind == "broadcast":
            return self._also("all_reduce", g, "sum", self.peer)
        if self.kind == "send":
            return g + self._also("recv", g)
        if self.kind == "recv":
            sent = self._also("send", g)
            if sent._requires_grad or sent.array is None:  # it is needed, and so are derivatives
                return apply(After(), where(False, sent, zeros_like(g)), sent)
        return None

    def _also(self, kind: str, x: Tensor, how: str | None = None, peer: int = -1) -> Tensor:
        """Another collective of the same processes, on behalf of the same line."""
        line = self.line if self.line.startswith("the gradient") else f"the gradient of {self.line}"
        peer = self.peer if kind in _WITH_PEERS and peer < 0 else peer
        op = Collective(kind, self.how if how is None else how, self.group, self.rank, self.size,
                        peer, line, "", self.declared)
        return issue(op, x)

    def jvp(self, ts: Any, ys: Any, token: Tensor, x: Tensor) -> Any:
        t = zeros_like(x) if ts[1] is None else ts[1]
        if self.how in _EXTREMES:
            mine, count = self._winners(ys[1], x)
            return None, self._also("all_reduce", t * mine, "sum") / count
        return None, self._also(self.kind, t, self.how, self.peer)

    def _winners(self, y: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Where this process has the extreme, and how many have it."""
        mine = cast(x == y, x.dtype)
        return mine, self._also("all_reduce", mine, "sum")


def issue(op: Collective, x: Tensor) -> Tensor:
    """The result of a collective, at its place in the order of all.

    Sums of which native code knows no dtype are those of parts of complex numbers, or of floats
    that are wide enough.
    """
    if op.how == "sum" and f"sum {x.dtype}" not in native.REDUCTIONS:
        if x.dtype.kind == "c":
            return view_as_complex(issue(op, view_as_real(x)))
        return cast(issue(op, cast(x, np.dtype("float32"))), x.dtype)
    if STATE.examples is not None and x.array is None:
        found: list[Tensor] = STATE.examples.outside(
            lambda rows, whole: [_for_all(op, rows[0], whole)], op, [x], each=False)
        return found[0]
    if is_tracing() or (is_known(x) and not op.declared):
        return ordered(op, (x,))[0]
    op, x = replace(op, declared=True), symbol(graph_node(x))
    return applied(op, wrap(np.zeros((), np.int8)), x)[1]  # whose results are requested


def _for_all(op: Collective, many: bool, x: Tensor) -> Tensor:
    """One collective for all examples, whose axis comes behind that of the processes."""
    if many and op.kind in _BY_ROWS:
        x = moveaxis(x, 0, 1)
    y = issue(op, x)
    return moveaxis(y, 1, 0) if many and op.kind in ("all_gather", "all_to_all") else y


def collective(kind: str, x: Tensor, group: Group, how: str = "", peer: int = -1,
               asked: str = "") -> Tensor:
    """A collective at the user's line."""
    op = Collective(kind, how, group.number, group.rank, group.size, peer, location(user_where(3)),
                    asked)
    return issue(op, x)
