"""A sequence of layers over several processes, through which parts of a batch go one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from agnesi.core.integers import is_integer
from agnesi.core.support.dtypes import as_dtype, name_of
from agnesi.core.support.errors import Explained, at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.collectives import broadcast, recv, send
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.nn.base.module import Module
from agnesi.nn.layers.sequential import Sequential
from agnesi.ops.base.convert import as_tensor

#: The head of a letter: how many axes, their sizes, the dtype's name.
_AXES, _NAME = 8, 16


class Pipeline(Explained):
    """A ``Sequential`` whose layers are distributed over processes, as stages of a pipeline.

    A batch is cut into pieces.  They go forward through all processes one after the other, so that
    all work at the same time, then backward.  Gradients are those of the mean over the whole batch.

    Parameters
    ----------
    model : Sequential
        The same in all processes; each keeps the layers of ``stage``.
    pieces : int
        How many pieces a batch is cut into.
    ends : sequence of int, optional
        Behind which layer each process ends; by default numbers of layers differ by one at most.
    group : Group, optional
        Which processes; all by default.

    Attributes
    ----------
    stage : Sequential
        This process's layers, whose parameters it optimises.

    Raises
    ------
    TypeError
        If ``model`` is no ``Sequential``.
    ValueError
        If there are fewer layers than processes.

    See Also
    --------
    distributed.send, distributed.ColumnLinear

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> net = ag.nn.Sequential(ag.nn.Linear(3, 4), ag.nn.Tanh(), ag.nn.Linear(4, 1))
    >>> pipeline = dist.Pipeline(net, pieces=2)
    >>> optimizer = ag.optim.SGD(pipeline.stage.parameters(), lr=0.1)
    >>> loss = pipeline.backward(ag.ones((4, 3)), ag.ones((4, 1)), ag.nn.functional.mse_loss)
    >>> optimizer.step()
    """

    def __init__(self, model: Sequential, pieces: int = 1, ends: Any = None,
                 group: Group | None = None) -> None:
        if not isinstance(model, Sequential):
            raise TypeError(at(f"Pipeline: model must be a Sequential, not {typed(model)}"))
        if not is_integer(pieces) or pieces < 1:
            raise ValueError(at(f"Pipeline: pieces must be a number of parts, not {pieces!r}"))
        self.group, self.pieces = world(group), pieces
        layers: list[Module] = list(model)
        size, rank = self.group.size, self.group.rank
        bounds = [0, *(ends or [len(layers) * (r + 1) // size for r in range(size)])]
        if len(bounds) != size + 1 or bounds[-1] != len(layers) or any(
                a >= b for a, b in pairwise(bounds)):
            raise ValueError(at(f"Pipeline: {len(layers)} layers cannot end at {bounds[1:]} in "
                                f"{size} processes"))
        self.stage = Sequential(*layers[bounds[rank]: bounds[rank + 1]])
        self.first, self.last = rank == 0, rank == size - 1

    def backward(self, x: Any, target: Any, loss: Callable[[Any, Any], Tensor]) -> Tensor:
        """Forward and backward pass of a batch; gradients are added to the parameters'.

        :param x, target: The batch, first axis first; those of ``x`` count in the first process,
            those of ``target`` in the last.
        :type x, target: array_like
        :param loss: ``loss(output, target)``: the mean over examples.
        :returns: The mean loss over the batch, in all processes.
        :raises CollectiveError: If a process is missing.
        """
        x, target = as_tensor(x), as_tensor(target)
        n: Any = x.shape[0]
        pieces = max(1, min(self.pieces, n))
        bounds = [n * i // pieces for i in range(pieces + 1)]
        done: list[tuple[Tensor | None, Tensor]] = []
        total = 0.0
        for begin, end in pairwise(bounds):
            entry = None if self.first else self._receive()
            given = x[begin:end] if entry is None else entry
            y = self.stage(given)
            if self.last:
                y = loss(y, target[begin:end]) * ((end - begin) / n)
                total += float(y)
            else:
                self._send(y.detach(), 1)
            done.append((entry, y))
        for entry, y in reversed(done):
            if self.last:
                y.backward()
            else:
                y.backward(recv(y.detach(), self.group.rank + 1, self.group))
            if entry is not None and entry.grad is not None:
                send(entry.grad, self.group.rank - 1, self.group)
        return broadcast(wrap(np.array(total)), self.group.size - 1, self.group)

    def __call__(self, x: Any) -> Tensor | None:
        """The output, without gradients, in the last process; None in the others."""
        given = as_tensor(x) if self.first else self._receive().detach()
        y = self.stage(given).detach()
        if self.last:
            return y
        self._send(y, 1)
        return None

    def _send(self, x: Tensor, step: int) -> None:
        """A tensor with its type before it."""
        head = np.zeros(1 + _AXES + _NAME, np.int64)
        head[: 1 + x.ndim] = (x.ndim, *x.shape)
        name = name_of(x.dtype).encode()
        head[1 + _AXES: 1 + _AXES + len(name)] = np.frombuffer(name, np.uint8)
        send(wrap(head), self.group.rank + step, self.group)
        send(x, self.group.rank + step, self.group)

    def _receive(self) -> Tensor:
        source = self.group.rank - 1
        head: Any = recv(wrap(np.zeros(1 + _AXES + _NAME, np.int64)), source, self.group).array
        shape = tuple(int(n) for n in head[1: 1 + head[0]])
        name = bytes(int(c) for c in head[1 + _AXES:] if c).decode()
        found = recv(wrap(np.zeros(shape, as_dtype(name))), source, self.group)
        return found.detach().requires_grad_()
