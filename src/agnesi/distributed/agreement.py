"""Whether all processes have the same tensors; all get the values of one."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from typing import Any

from agnesi.autodiff.recording import no_grad
from agnesi.distributed.collectives import broadcast
from agnesi.distributed.processes.group import Group
from agnesi.distributed.processes.world import world
from agnesi.nn.base.module import Module

#: Characters that the tensors may take in a message, beside the user's line.
_SHOWN_CHARACTERS = 110


def compare_tensors(what: str, tensors: Iterable[tuple[str, Any]], group: Group) -> None:
    """Compare names, dtypes and shapes between all processes, which need as many of each.

    :raises CollectiveError: In all processes, with what each has, if they differ.
    """
    texts, total = [], 0
    for name, t in tensors:
        texts.append(f"{name} {t.dtype}{list(t.shape)}".strip())
        total += math.prod(t.shape)
    head = f"{what} of {len(texts)} tensors, {total} elements: "
    listed = ", ".join(texts)
    if len(listed) > _SHOWN_CHARACTERS:
        listed = f"{listed[: _SHOWN_CHARACTERS - 3]}..."
    group.barrier(head + listed, zlib.crc32("\n".join((what, *texts)).encode()))


def same_state(module: Module, group: Group | None = None) -> Module:
    """Copy the weights of rank 0 to all processes, before a module is sharded.

    :param module: Its parameters and buffers change in place.
    :returns: The same one.
    :raises CollectiveError: If a process has another module.
    :see: distributed.broadcast, distributed.data_parallel

    >>> import agnesi as ag
    >>> from agnesi import distributed as dist
    >>> layer = dist.same_state(ag.nn.Linear(2, 1))
    """
    found = world(group)
    tensors = [*module.named_parameters(), *module.named_buffers()]
    compare_tensors(f"same_state({type(module).__name__})", tensors, found)
    with no_grad():
        for _, t in tensors:
            t.copy_(broadcast(t, 0, found))
    return module
