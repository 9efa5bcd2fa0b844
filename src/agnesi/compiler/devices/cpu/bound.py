"""Machine code bound to the present memory of its live tensors, behind the native entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from agnesi.compiler.binding.aliasing import pairs
from agnesi.compiler.binding.call_adapter import missed
from agnesi.compiler.compilation.failures import raiser
from agnesi.compiler.compilation.pipeline import Call, is_dense
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.kernels import DECIDES
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.config import config
from agnesi.core.support.record import replace
from agnesi.core.tensor import Tensor
from agnesi.runtime import entry
from agnesi.runtime.guards import ArrayHeads
from agnesi.runtime.machine import Code

_IN_BUFFERS = ("array", "scalar", "float", "int", "bool")
#: How native code reads tensors and makes new ones.
_WRAPPER = entry.Wrapper(
    Tensor, "array", required={"_requires_grad": False},
    fresh={"node": None, "_requires_grad": False, "_grad": None, "_view": None,
           "_version": None, "_name": None},
    counter="_version",
)


class Bound:
    """Machine code bound to the present memory of its live tensors.

    :ivar launch: For arguments that Python has made ready; anything else is an error.
    :ivar direct: For the user's own calls: looks at the guards, and hands what does not fit to
        ``slow``.
    :ivar attempt: The same, which answers ``MISSED`` to what does not fit.
    """

    def __init__(self, code: Code, call: Call) -> None:
        self.code = code
        recipe, live, written, graph = call.recipe, call.live, call.written, call.graph
        back = None
        if recipe.callbacks:
            from agnesi.runtime.callbacks import Callbacks

            back = Callbacks(recipe.callbacks)
        changed = {id(t) for t in written if isinstance(t, Tensor)}
        self.states = [
            entry.State(live[i].array, live[i], "array", id(live[i]) in changed)
            for i in recipe.states
        ]
        read = {id(s.owner) for s in self.states}
        #: Those of which the code needs nothing: if they are empty, for one, but not otherwise.
        self.unread = [entry.Guard(t, "array", t.array) for t in live if id(t) not in read]
        arrays = [s.array for s in self.states]
        self._heads = ArrayHeads(arrays)
        spec = entry.EntrySpec(
            arguments=_marked(call.arguments, written),
            outputs=tuple(entry.Out(*call.outputs[i]) for i in recipe.results),
            result="tuple" if recipe.reused else call.result,  # type: ignore[arg-type]
            arena_bytes=recipe.arena_bytes,
            release_gil=recipe.long,
            scratch=entry.Scratch() if call.own_scratch else None,
            sizes=graph.extents,
        )
        common: dict[str, Any] = {
            "failed": raiser(recipe, graph, call.name, back.failed if back else _unexpected,
                             bool(written)),
            "states": self.states, "heads": self._heads,
            "constants": recipe.constants, "wrapper": _WRAPPER, "callback": back,
            "foreign": recipe.foreign, "name": call.name, "counters": call.counters,
        }
        #: Whether Python decides by what it computes: a call may turn out to be another's.
        self.decides = any(kind == DECIDES for kind, _, _ in recipe.failures)
        self.launch = entry.bind(self.code, spec, slow=missed if self.decides else _unfit, **common)
        self.direct = None
        apart = self._apart(written, call.arguments, arrays)
        whole = not apart or all(
            a.flags.c_contiguous or is_dense(a.shape, [s // a.itemsize for s in a.strides])
            for a in arrays
        )
        if call.slow is not None and not recipe.reused and whole:
            guards = [*call.guards, *self.unread, entry.Guard(config, "_compiles", True)]
            self._bind = partial(
                entry.bind, self.code, spec, guards=guards, watched=call.watched, apart=apart,
                **common
            )
            self.direct = self._bind(slow=call.slow)

    def _apart(self, written: Sequence[Tensor | int], arguments: Sequence[Any],
               arrays: Sequence[np.ndarray]) -> list[tuple[int, int, int, int]]:
        """Return the pairs of buffers that must not overlap where native code is called directly.
        """
        sizes = [_bytes_of(a, i) for i, a in enumerate(arguments) if a.kind in _IN_BUFFERS]
        states = {id(s.owner): len(sizes) + i for i, s in enumerate(self.states)}
        slots = [t if isinstance(t, int) else states[id(t)] for t in written]
        return pairs(slots, sizes, arrays)

    @cached_property
    def attempt(self) -> Any:
        return None if self.direct is None else self._bind(slow=missed)

    def present(self) -> bool:
        """Return whether all live tensors have the memory that the code knows."""
        return (all([s.owner.array is s.array for s in self.states]) and self._heads.holds()
                and all([g.owner.array is g.value for g in self.unread]))


def _bytes_of(argument: Any, slot: int) -> int:
    """Return an argument's bytes; where its shape is dynamic, -1 less its position, by which the
    call finds them.
    """
    if argument.kind != "array":
        return 0
    if not is_static(argument.shape):
        return -1 - slot
    return math.prod(argument.shape) * np.dtype(argument.dtype).itemsize


def _marked(arguments: Sequence[Any], written: Sequence[Tensor | int]) -> tuple[Any, ...]:
    """Return the descriptions of the arguments, with those that the code writes marked as written.
    """
    slots = [i for i, a in enumerate(arguments) if a.kind in _IN_BUFFERS]
    changed = {slots[t] for t in written if isinstance(t, int)}
    return tuple(replace(a, written=True) if i in changed else a for i, a in enumerate(arguments))


def _unfit(*args: Any) -> Any:
    raise RuntimeError("compiled code refused arguments that were made ready for it")


def _unexpected(code: int) -> Any:
    raise RuntimeError(f"compiled code stopped with code {code}")
