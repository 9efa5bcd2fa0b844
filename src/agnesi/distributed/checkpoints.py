"""Checkpoints in shards: each process writes its own, and any number of processes reads them."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from agnesi.core.support.errors import FileFormatError, at
from agnesi.distributed.zero import Zero
from agnesi.saving.files import load_file, open_file, save_file

#: What a folder is called until all of it is there.
_UNFINISHED = ".unfinished"


def save_sharded(path: str | os.PathLike[str], zero: Zero) -> None:
    """Write the state of a sharded training; each process writes its part at the same time.

    The folder has its name only when all of it is there: a job that ends before leaves what was
    there before.

    :param path: A folder, which must not be there; the same in all processes.
    :param zero: What is trained.
    :raises FileExistsError: If the folder is there.
    :raises CollectiveError: If a process is missing.
    :see: distributed.load_sharded, distributed.Zero

    >>> import os, tempfile
    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> zero = dist.Zero(ag.nn.Linear(3, 1), lambda ps: ag.optim.Adam(ps, lr=0.1))
    >>> path = os.path.join(tempfile.mkdtemp(), "step100")
    >>> dist.save_sharded(path, zero)
    >>> dist.load_sharded(path, zero)
    """
    target, group = Path(path), zero.group
    if target.exists():
        raise FileExistsError(at(f"save_sharded: {target} is there already; each checkpoint has a "
                                 "folder of its own"))
    place = target.with_name(target.name + _UNFINISHED)
    place.mkdir(parents=True, exist_ok=True)
    group.barrier("save_sharded")
    save_file(zero.own_state(), place / _name(group.rank, group.size),
              {"processes": str(group.size)})
    group.barrier("save_sharded")
    if group.rank == 0:
        mine = {_name(r, group.size) for r in range(group.size)}
        for old in place.iterdir():  # of a job that ended before it had all
            if old.name not in mine:
                old.unlink()
        os.rename(place, target)
    group.barrier("save_sharded")


def load_sharded(path: str | os.PathLike[str], zero: Zero) -> None:
    """Take over what :func:`save_sharded` wrote, in this or another number of processes.

    :param path: The folder; all processes read it.
    :param zero: Made as the one that was saved.
    :raises FileNotFoundError: If there is no such folder.
    :raises FileFormatError: If a shard is missing or damaged.
    :see: distributed.save_sharded
    """
    folder = Path(path)
    files = sorted(folder.glob("shard-*.safetensors"))
    if not files:
        raise FileNotFoundError(at(f"load_sharded: {folder} holds no shards"))
    with open_file(files[0]) as first:
        size = int(first.metadata.get("processes", "0"))
    missing = [r for r in range(size) if not (folder / _name(r, size)).exists()]
    if missing or not size:
        raise FileFormatError(at(f"load_sharded: {folder} lacks the shards of ranks {missing}"))
    parts = [load_file(folder / _name(r, size)) for r in range(size)]
    state: dict[str, Any] = {}
    for name, shape in zero.whole_shapes().items():
        if name not in parts[0]:
            raise FileFormatError(at(f"load_sharded: the shards in {folder} have no {name}"))
        if shape is None:
            state[name] = np.asarray(parts[0][name].array)
        else:
            flat = np.concatenate([np.asarray(p[name].array).reshape(-1) for p in parts])
            state[name] = flat[: math.prod(shape)].reshape(shape)
    zero.load_state_dict(state)


def _name(rank: int, size: int) -> str:
    return f"shard-{rank:05d}-of-{size:05d}.safetensors"
