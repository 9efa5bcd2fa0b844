"""Processes as a grid with named axes, and tensors cut along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import Explained, ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.distributed.collectives import all_gather
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.ops.base.convert import as_tensor


class Mesh(Explained):
    """All processes arranged as a grid; neighbouring ranks are along the last axis.

    Parameters
    ----------
    shape : sequence of int
        How many processes along each axis; -1 for what is left.
    names : sequence of str
        A name for each axis.
    group : Group, optional
        Which processes; all by default.

    Attributes
    ----------
    shape : dict of str to int
        How many processes along each axis.
    at : dict of str to int
        Where this process is.

    Raises
    ------
    ValueError
        If the numbers do not give that of the processes.

    See Also
    --------
    distributed.shard, distributed.ColumnLinear

    Examples
    --------
    >>> from agnesi import distributed as dist
    >>> mesh = dist.Mesh((1, -1), ("data", "model"))
    >>> mesh.shape, mesh.at
    ({'data': 1, 'model': 1}, {'data': 0, 'model': 0})
    """

    def __init__(self, shape: Sequence[int], names: Sequence[str], group: Group | None = None
                 ) -> None:
        found = world(group)
        sizes = [int(n) for n in shape]
        if sizes.count(-1) == 1:
            rest = math.prod(n for n in sizes if n != -1)
            sizes[sizes.index(-1)] = found.size // rest if rest else 0
        if len(sizes) != len(names) or math.prod(sizes) != found.size or min(sizes) < 1:
            raise ValueError(at(f"Mesh: {tuple(shape)} with names {tuple(names)} is no grid of "
                                f"{found.size} processes"))
        grid = np.arange(found.size).reshape(sizes)
        place = [int(i) for i in np.argwhere(grid == found.rank)[0]]
        self.shape = dict(zip(names, sizes, strict=True))
        self.at = dict(zip(names, place, strict=True))
        self._groups: dict[str, Any] = {}
        for axis, name in enumerate(names):
            for row in np.moveaxis(grid, axis, -1).reshape(-1, sizes[axis]):
                made = found.part([int(r) for r in row])
                if found.rank in row:
                    self._groups[name] = made

    def group(self, axis: str) -> Group:
        """The processes along one axis, this one among them.

        :param axis: Its name.
        :returns: For collectives.
        :raises ValueError: If there is no such axis.
        """
        if axis not in self._groups:
            raise ValueError(at(f"the mesh has axes {list(self._groups)}, not {axis!r}"))
        found: Group = self._groups[axis]
        return found

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{n}={k}' for n, k in self.shape.items())})"


def shard(x: TensorLike, axes: Sequence[str | None], mesh: Mesh) -> Tensor:
    """The part of a tensor that this process keeps.

    :param x: The same in all processes.
    :param axes: For each axis of ``x``, the axis of the mesh along which it is cut; None for none.
    :type axes: sequence of str or None
    :param mesh: The processes.
    :returns: Axes are as long as those of ``x`` over the processes along the mesh's.
    :raises ValueError: If two axes are cut along the same one of the mesh.
    :raises ShapeError: If an axis cannot be cut in equal parts, or there are not as many as
        ``axes`` names.
    :see: distributed.unshard

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> mesh = dist.Mesh((-1,), ("model",))
    >>> dist.shard(ag.ones((4, 2)), ("model", None), mesh).shape  # of one process
    (4, 2)
    """
    x = as_tensor(x)
    if len(axes) != x.ndim:
        raise ShapeError(at(f"shard: {tuple(axes)} must name an axis of the mesh, or None, for "
                            f"each of {x.ndim} axes"))
    named = [name for name in axes if name is not None]
    if len({*named}) < len(named):
        raise ValueError(at(f"shard: {tuple(axes)} cuts two axes along the same one of the mesh"))
    key = []
    for n, name in zip(x.shape, axes, strict=True):
        if name is None:
            key.append(slice(None))
            continue
        group = mesh.group(name)
        if n % group.size:
            raise ShapeError(at(f"shard: an axis of {n} elements is no multiple of {group.size} "
                                f"processes along {name!r}"))
        room = n // group.size
        key.append(slice(room * group.rank, room * (group.rank + 1)))
    found: Tensor = x[tuple(key)]
    return found


def unshard(x: TensorLike, axes: Sequence[str | None], mesh: Mesh) -> Tensor:
    """The whole tensor of which each process keeps a part.

    :param x: What :func:`shard` gave.
    :param axes: As there.
    :type axes: sequence of str or None
    :param mesh: The processes.
    :returns: The same in all processes.
    :see: distributed.shard

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> mesh = dist.Mesh((-1,), ("model",))
    >>> dist.unshard(ag.ones((4, 2)), ("model", None), mesh).shape  # of one process
    (4, 2)
    """
    x = as_tensor(x)
    for axis, name in enumerate(axes):
        if name is not None:
            x = all_gather(x, axis, mesh.group(name))
    return x
