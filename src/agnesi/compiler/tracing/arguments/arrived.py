"""What a traced function does to gradients of its arguments, where each of its calls does so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnesi.autodiff.accumulation import leave
from agnesi.autodiff.recording import no_grad
from agnesi.core.tensor import Tensor
from agnesi.ops.sparse.words import dense


class Left(dict[int, tuple[Tensor, bool]]):
    """The arguments whose ``grad`` a traced function changes, by identity: each with whether the
    function only adds to the gradient that it has at the call.

    :ivar reached: Whether native code cannot leave these gradients, so that the Python function
        runs.
    :ivar own: All arguments, by identity.
    :ivar thawed: Arguments that the function makes require a gradient.
    """

    def __init__(self, arguments: Iterable[Tensor]) -> None:
        super().__init__()
        self.reached = False
        self.own = set(map(id, arguments))
        self.thawed: list[Tensor] = []


class Arrived:
    """The arguments whose ``grad`` a function assigns or adds to, or that it makes require a
    gradient, by position.

    :ivar gradients: The gradients, which are further results of the compiled code.
    """

    def __init__(self, trace: Any, symbols: Sequence[Any]) -> None:
        changed = [(i, x._grad, trace.left[id(x)][1]) for i, x in enumerate(symbols)
                   if id(x) in trace.left]
        #: Those that are cleared, assigned and added to.
        self._cleared = [i for i, g, _ in changed if g is None]
        self._given = [(i, adds) for i, g, adds in changed if g is not None]
        self._thawed = [i for i, x in enumerate(symbols) if any(x is t for t in trace.left.thawed)]
        self.gradients = [dense(g) for _, g, _ in changed if g is not None]

    def __bool__(self) -> bool:
        return bool(self._given or self._cleared or self._thawed)

    def takes(self, arguments: Sequence[int]) -> bool:
        """Return whether it assigns or adds to gradients of all these."""
        return {i for i, _ in self._given}.issuperset(arguments)

    def leave(self, gradients: Sequence[Tensor], leaves: Sequence[Any]) -> None:
        """Apply the computed gradients and flags to the arguments of a call, among its ``leaves``.
        """
        for i in self._thawed:
            if isinstance(leaves[i], Tensor):  # else there is no wrapper to keep
                leaves[i].requires_grad_()
        for i in self._cleared:
            if isinstance(leaves[i], Tensor):
                leaves[i]._grad = None
        added: dict[int, tuple[Tensor, Tensor]] = {}
        for (i, adds), g in zip(self._given, gradients, strict=False):
            x = leaves[i]
            if not isinstance(x, Tensor):
                continue
            if adds and x._grad is not None:  # one may be two arguments
                added[id(x)] = x, added[id(x)][1] + g if id(x) in added else g
            else:
                x._grad = g
        if added:
            with no_grad():
                leave([*added.values()], lambda g: g)
