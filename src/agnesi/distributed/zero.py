"""Optimizer states, gradients and parameters in shards: each process keeps its part (ZeRO)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.core.support.errors import StateError, at, typed
from agnesi.core.tensor import Tensor, wrap
from agnesi.distributed.agreement import same_state
from agnesi.distributed.collectives import all_gather, all_reduce, reduce_scatter
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.distributed.shares import Shares, led_in
from agnesi.nn.base.module import Module
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import reshape
from agnesi.ops.indexing.join import concat
from agnesi.ops.sparse.words import dense
from agnesi.optim.optimizer import Optimizer
from agnesi.optim.states import flat_state

#: Optimizers that look at a whole parameter, for which a shard is too little.
_WHOLE = ("Lamb", "Adafactor", "Muon", "SparseAdam", "LBFGS")


class Zero(Shares):
    """Training state in shards, one for each process: ZeRO's stages 1 to 3.

    Parameters
    ----------
    model : Module
        What is trained; weights begin as those of rank 0.
    optimizer : callable
        Makes the optimizer of a list of parameters, as ``lambda ps: Adam(ps, lr=1e-3)``.  It must
        treat elements alone, as SGD and Adam do.
    stage : int
        What each process keeps only its part of.  1: the optimizer's state; 2: gradients, too,
        which are added up only where they are needed; 3: parameters, too, which are gathered when
        :meth:`module` is used, and whose gradients come back in parts.
    group : Group, optional
        Which processes; all by default.

    Attributes
    ----------
    optimizer : Optimizer
        Of this process's shards: of each parameter, an equal part of its elements.

    Raises
    ------
    TypeError
        If ``model`` is no module.
    ValueError
        If there is no such stage, or the optimizer looks at whole parameters.

    See Also
    --------
    distributed.data_parallel, distributed.shard

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> net = ag.nn.Linear(3, 1)
    >>> zero = dist.Zero(net, lambda ps: ag.optim.Adam(ps, lr=0.1), stage=3)
    >>> @ag.jit
    ... def step(x, y):
    ...     x, y = zero.split(x, y)
    ...     loss = ((zero.module()(x) - y) ** 2).mean()
    ...     loss.backward()
    ...     zero.step()
    ...     return zero.mean(loss)
    >>> step(ag.ones((5, 3)), ag.ones((5, 1))).shape
    ()
    """

    def __init__(self, model: Module, optimizer: Callable[[list[Tensor]], Optimizer],
                 stage: int = 1, group: Group | None = None) -> None:
        if stage not in (1, 2, 3):
            raise ValueError(at(f"Zero: stage must be 1, 2 or 3, not {stage!r}"))
        if not isinstance(model, Module):
            raise TypeError(at(f"Zero: model must be a module, not {typed(model)}"))
        self.model, self.stage, found = model, stage, world(group)
        self._owners = dict(model.named_parameters())
        self._shapes = {name: tuple(p.shape) for name, p in self._owners.items()}
        same_state(model, found)
        self.shards: dict[str, Any] = {
            name: wrap(_part(p.array, found)) for name, p in self._owners.items()}
        for name, p in self._owners.items():
            self.shards[name]._requires_grad = p._requires_grad
        # gradients of stage 3 are weighted while they come
        super().__init__(found, [] if stage == 3 else list(self._owners.values()))
        self.optimizer = optimizer(list(self.shards.values()))
        kinds = {k.__name__ for k in type(self.optimizer).__mro__}
        if kinds & {*_WHOLE}:
            raise ValueError(at(f"Zero: {type(self.optimizer).__name__} looks at whole parameters, "
                                "of which each process has a shard; take SGD, Adam, or another one "
                                "that treats elements alone"))
        if stage == 3:
            for p in self._owners.values():
                p.array = np.broadcast_to(np.zeros((), p.dtype), p.shape)

    def module(self) -> Module:
        """The model to be called: of stage 3 with parameters that are gathered for it.

        :returns: Losses of it give gradients to the shards.
        """
        if self.stage < 3:
            return self.model
        return self.model.with_parameters(
            {name: led_in(self._whole(name, s), self.share) for name, s in self.shards.items()})

    def _whole(self, name: str, shard: Tensor) -> Tensor:
        shape = self._shapes[name]
        return reshape(all_gather(shard, 0, self.group)[: math.prod(shape)], shape)

    def _share_of(self, g: Tensor) -> Tensor:
        """This process's part of the whole batch's gradient."""
        size, n = self.group.size, math.prod(g.shape)
        flat = reshape(self.weighted_gradient(g), (-1,))
        more = -n % size
        if more:
            flat = concat([flat, zeros(more, dtype=flat.dtype)])
        if self.stage == 2:
            return reduce_scatter(flat, "sum", 0, self.group)
        room = (n + more) // size
        start = room * self.group.rank
        return all_reduce(flat, "sum", self.group)[start: start + room]

    def zero_grad(self) -> None:
        """Drop gradients without a step; :meth:`step` drops them itself.

        Examples
        --------
        See :class:`Zero`.
        """
        for p in (*self._owners.values(), *self.shards.values()):
            p.grad = None

    @no_grad()
    def step(self) -> None:
        """Update the shards by the whole batch's gradients, then forget these.

        Examples
        --------
        See :class:`Zero`.
        """
        for name, shard in self.shards.items():
            owner = shard if self.stage == 3 else self._owners[name]
            if owner.grad is None:
                continue
            if self.stage < 3:
                shard.grad = self._share_of(dense(owner.grad))
                owner.grad = None
        self.optimizer.step()
        for name, shard in self.shards.items():
            shard.grad = None
            if self.stage < 3:
                self._owners[name].copy_(self._whole(name, shard))

    # -- saving -------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, np.ndarray]:
        """All parameters, gathered, and what the optimizer remembers; all processes take part.

        :returns: Equal in all processes, and of no number of them: ``load_state_dict`` of another
            number takes it.
        :rtype: dict of str to numpy.ndarray
        """
        found: dict[str, np.ndarray] = {}
        with no_grad():
            for name, shard in self.shards.items():
                found[f"model.{name}"] = np.array(self._whole(name, shard).array)
            for name, t in self.model.named_buffers():
                found[f"model.{name}"] = np.array(t.array)
            for key, value in self._slots():
                owner = self._owner_of(key, value)
                whole = value if owner is None else self._whole(owner, wrap(value)).array
                found[f"optimizer.{key}"] = np.array(whole)
        return found

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave, in this or another number of processes.

        :param state: The same in all processes.
        :raises KeyError: If names are missing.
        """
        mine = {}
        for key, value in self._slots():
            if f"optimizer.{key}" not in state:
                raise StateError(at(f"the state has no {f'optimizer.{key}'!r}"))
            given = np.asarray(state[f"optimizer.{key}"])
            owner = self._owner_of(key, value)
            mine[key] = given if owner is None else _part(given, self.group)
        with no_grad():
            for name, shard in self.shards.items():
                whole = np.asarray(state[f"model.{name}"])
                shard.copy_(wrap(_part(whole, self.group)))
                if self.stage < 3:
                    self._owners[name].copy_(wrap(whole))
            for name, t in self.model.named_buffers():
                t.copy_(wrap(np.asarray(state[f"model.{name}"])))
        self.optimizer.load_state_dict(mine)

    def own_state(self) -> dict[str, np.ndarray]:
        """Return the state that only this process keeps: its shards, and their part of the
        optimizer's slots.

        :returns: With the names of :meth:`state_dict`; buffers of the model are those of this
            process.
        :rtype: dict of str to numpy.ndarray
        """
        found = {f"model.{name}": shard.array for name, shard in self.shards.items()}
        found.update((f"model.{name}", t.array) for name, t in self.model.named_buffers())
        found.update((f"optimizer.{k}", v) for k, v in self._slots())
        return found

    def whole_shapes(self) -> dict[str, tuple[int, ...] | None]:
        """The shapes of what is in shards; None for what each process has as a whole.

        :returns: With the names of :meth:`state_dict`.
        :rtype: dict of str to tuple of int, or None
        """
        found: dict[str, tuple[int, ...] | None] = {
            f"model.{name}": shape for name, shape in self._shapes.items()}
        found.update((f"model.{name}", None) for name, _ in self.model.named_buffers())
        for key, value in self._slots():
            owner = self._owner_of(key, value)
            found[f"optimizer.{key}"] = None if owner is None else self._shapes[owner]
        return found

    def _slots(self) -> list[tuple[str, np.ndarray]]:
        """Copies of what the optimizer remembers, by flat names."""
        return [(key, np.array(t.array)) for key, t in flat_state(self.optimizer).items()]

    def _owner_of(self, key: str, value: np.ndarray) -> str | None:
        """The parameter of which a slot is about, if it is one."""
        last = key.rpartition(".")[2]
        names = list(self.shards)
        if not last.isdigit() or int(last) >= len(names):
            return None
        name = names[int(last)]
        return name if value.shape == self.shards[name].shape else None


def _part(value: Any, group: Group) -> np.ndarray:
    """An equal part of the elements for this process, filled up with zeros at the end."""
    flat = np.asarray(value).reshape(-1)
    room = -(-flat.size // group.size)
    found = np.zeros(room, flat.dtype)
    mine = flat[room * group.rank: room * (group.rank + 1)]
    found[: mine.size] = mine
    return found
