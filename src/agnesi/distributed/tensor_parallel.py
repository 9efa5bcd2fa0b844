"""Layers whose weights are cut over processes that compute one result together."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.autodiff.custom import custom_vjp
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.collectives import all_gather, all_reduce
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.nn.base.module import Module
from agnesi.nn.layers.embedding import Embedding
from agnesi.nn.layers.linear import Linear
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.select import where


class _Shared:
    """Collectives among processes that compute one loss together, which counts once.

    The derivative of a sum that all have is what each has; where a tensor that all have is used by
    each in its own way, the gradients are added up.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.summed, self.entered = custom_vjp(self._sum), custom_vjp(lambda x: x * 1)
        self.gathered = custom_vjp(self._gather)
        self.summed.defvjp(lambda x: (self._sum(x), ()), lambda _, g: (g,))
        self.entered.defvjp(lambda x: (x * 1, ()), lambda _, g: (self._sum(g),))
        self.gathered.defvjp(lambda x: (self._gather(x), ()), lambda _, g: (self._mine(g),))

    def _sum(self, x: Tensor) -> Tensor:
        return all_reduce(x, "sum", self.group)

    def _gather(self, x: Tensor) -> Tensor:
        return all_gather(x, x.ndim - 1, self.group)

    def _mine(self, x: Tensor) -> Tensor:
        room = x.shape[-1] // self.group.size
        found: Tensor = x[..., room * self.group.rank: room * (self.group.rank + 1)]
        return found

    def rows(self, x: Any, name: str) -> Tensor:
        """This process's part of the first axis, as a parameter."""
        n = x.shape[0]
        if n % self.group.size:
            raise ShapeError(at(f"{name}: {n} cannot be cut in {self.group.size} equal parts"))
        room = n // self.group.size
        part = np.array(x.array[room * self.group.rank: room * (self.group.rank + 1)])
        found = wrap(part)
        found._requires_grad = True
        return found


class ColumnLinear(Module):
    """A linear layer split by outputs: each process has some rows of the weight.

    :param layer: The whole layer, the same in all processes.
    :param gather: Whether all get the whole output; else each keeps its part, as :class:`RowLinear`
        takes it.
    :raises ShapeError: If the outputs cannot be shared out equally.
    :see: distributed.RowLinear, distributed.Mesh

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> layer = dist.ColumnLinear(ag.nn.Linear(3, 4))
    >>> layer(ag.ones((2, 3))).shape  # of one process
    (2, 4)
    """

    def __init__(self, layer: Linear, gather: bool = True, group: Group | None = None) -> None:
        self._shared = _Shared(world(group))
        self.gather = gather
        self.weight = self._shared.rows(layer.weight, "ColumnLinear")
        self.bias = None if layer.bias is None else self._shared.rows(layer.bias, "ColumnLinear")

    def forward(self, x: Tensor) -> Tensor:
        y = self._shared.entered(as_tensor(x)) @ self.weight.T
        if self.bias is not None:
            y = y + self.bias
        found: Tensor = self._shared.gathered(y) if self.gather else y
        return found


class RowLinear(Module):
    """A linear layer split by inputs: each process has some columns of the weight.

    :param layer: The whole layer, the same in all processes.
    :raises ShapeError: If the inputs cannot be shared out equally.
    :see: distributed.ColumnLinear

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> first = dist.ColumnLinear(ag.nn.Linear(3, 4), gather=False)
    >>> second = dist.RowLinear(ag.nn.Linear(4, 2))
    >>> second(first(ag.ones((5, 3))).tanh()).shape
    (5, 2)
    """

    def __init__(self, layer: Linear, group: Group | None = None) -> None:
        self._shared = _Shared(world(group))
        self.weight = self._shared.rows(layer.weight.T, "RowLinear")
        self.bias = layer.bias

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self._shared.summed(as_tensor(x) @ self.weight)
        return y if self.bias is None else y + self.bias


class ShardedEmbedding(Module):
    """An embedding table whose rows are distributed over the processes.

    :param layer: The whole table, the same in all processes.
    :raises ShapeError: If the rows cannot be shared out equally.
    :see: distributed.ColumnLinear

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> layer = dist.ShardedEmbedding(ag.nn.Embedding(10, 3))
    >>> layer(ag.tensor([1, 7])).shape
    (2, 3)
    """

    def __init__(self, layer: Embedding, group: Group | None = None) -> None:
        self._shared = _Shared(world(group))
        self.weight = self._shared.rows(layer.weight, "ShardedEmbedding")

    def forward(self, indices: Tensor) -> Tensor:
        n = self.weight.shape[0]
        places = as_tensor(indices) - n * self._shared.group.rank
        mine = (places >= 0) & (places < n)
        found = self.weight[where(mine, places, 0)] * cast(mine, self.weight.dtype)[..., None]
        total: Tensor = self._shared.summed(found)
        return total
