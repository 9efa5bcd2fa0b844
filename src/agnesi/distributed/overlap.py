"""Collectives that go on beside the compiled program: one operation begins each, one waits for it.

A thread of each process does them in a group of their own (``runtime/native/overlap.ll``), while
the program goes on; the scheduler runs what begins one as early as it can, and what waits for it as
late as it can (``schedule/transforms/communication.py``).  Where nothing is compiled, or without
such a thread, they are done at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.api.custom.effects import ordered
from agnesi.compiler.control import pooled_empty
from agnesi.compiler.library import collectives as native
from agnesi.core.ir import foreign
from agnesi.core.op import Op
from agnesi.core.support.config import HOOKS, STATE
from agnesi.core.support.errors import CollectiveError, at, location, user_where
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.distributed.operations import collective
from agnesi.distributed.processes.group import GROUPS, KINDS, Group, closed
from agnesi.distributed.processes.signatures import shown_text


@record
class Begin(Op):
    """A sum or gathering of a row of numbers begins.

    It takes and gives what keeps the order; then it takes the row, and gives where the result will
    be, and the number by which :class:`Finish` waits for it.
    """

    kind: str
    group: int
    size: int
    line: str
    keep_inputs = ()
    outputs = 3

    def __post_init__(self) -> None:
        self.__dict__["name"] = f"{self.kind}_begin"

    def infer(self, token: Any, x: Any) -> Any:
        shape = (self.size, *x.shape) if self.kind == "all_gather" else tuple(x.shape)
        return ((), token.dtype), (shape, x.dtype), ((), np.dtype("int64"))

    def _numbers(self, x: Any) -> tuple[Any, ...]:
        """Kind, reduction, what must agree, bytes of an element; bytes and elements of the row."""
        how = native.REDUCTIONS.index(f"sum {x.dtype}") if self.kind == "all_reduce" else 0
        item, n = x.dtype.itemsize, x.shape[0]
        return KINDS.index(self.kind), how, ord(x.dtype.char) | how << 16, item, n * item, n

    def _text(self, x: Any) -> bytes:
        label = "all_reduce[sum]" if self.kind == "all_reduce" else self.kind
        return shown_text(f"{label} {x.dtype}", self.line)

    def perform(self, token: np.ndarray, x: np.ndarray) -> Any:
        group = GROUPS.get(self.group)
        if group is None:
            raise CollectiveError(at(f"{self.name}: {closed()}"))
        _, (shape, dtype), _ = self.infer(token, x)
        x, found = np.ascontiguousarray(x), pooled_empty()(shape, dtype)
        kind, how, code, item, nbytes, _ = self._numbers(x)
        group.rest()
        group.run(KINDS[kind], how, code, -1, item, x.ctypes.data, found.ctypes.data, nbytes,
                  x.shape, self._text(x))
        return token, found, np.zeros((), np.int64)

    def foreign(self, token: Any, x: Any) -> foreign.Call:
        """The native entry, which hands it to the thread."""
        *numbers, nbytes, n = map(foreign.number, self._numbers(x))
        return foreign.Call(
            "collective:begin",
            (foreign.number(self.group), *numbers, foreign.operand(1), foreign.result(1),
             foreign.result(2), nbytes, n, foreign.words(self._text(x), native.TEXT_BYTES)),
            copies=((0, 0),), status=True, error="CollectiveError", when="early",
            leave="collective:drain")


@record
class Finish(Op):
    """Ends a collective that was begun: its row and the result keep their memory until then."""

    group: int
    name = "collective_finish"
    keep_inputs = ()

    def infer(self, token: Any, *given: Any) -> Any:
        return (), token.dtype

    def perform(self, token: np.ndarray, *given: np.ndarray) -> np.ndarray:
        group = GROUPS.get(self.group)
        if group is not None:
            group.rest()
        return token

    def foreign(self, token: Any, *given: Any) -> foreign.Call:
        """The native entry, which waits for the thread."""
        return foreign.Call(
            "collective:finish", (foreign.number(self.group), foreign.operand(3)),
            copies=((0, 0),), status=True, error="CollectiveError", when="late",
            leave="collective:drain")


class Pending:
    """The result of a collective that may not be done yet."""

    def __init__(self, kind: str, x: Tensor, group: Group, overlap: bool) -> None:
        """Begin a sum ("all_reduce") or "all_gather" of a row."""
        self._beside = group.beside if overlap else None
        native_kind = kind != "all_reduce" or f"sum {x.dtype}" in native.REDUCTIONS
        if (self._beside is None or not is_tracing() or STATE.examples is not None
                or not native_kind):
            self._found = collective(kind, x, group, "sum" if kind == "all_reduce" else "")
            self._beside = None
            return
        line = location(user_where(3))
        op = Begin(kind, self._beside.number, group.size, line)
        self._found, ticket = ordered(op, (x,))
        self._given = x, ticket

    def result(self) -> Tensor:
        """The result of all processes; the program waits for it here, or later."""
        if self._beside is None:
            return self._found
        x, ticket = self._given
        ordered(Finish(self._beside.number), (self._found, x, ticket))
        found: Tensor = HOOKS.behind_effects(self._found)
        return found
