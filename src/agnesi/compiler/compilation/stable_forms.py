"""Stable forms of what is differentiated, by as few files of rules as they take.

To read all rules takes longer than all else that a second process does.  So the disk cache keeps by
which files an equal graph got its stable form; most graphs have none, and then no rule is read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from agnesi.compiler.compilation.build import build
from agnesi.compiler.compilation.fingerprint import fingerprint
from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.ir.node import Node
from agnesi.core.support.config import config, switched
from agnesi.core.support.gc_pause import no_gc
from agnesi.ops.control.excerpt import Excerpt
from agnesi.runtime import disk_cache

#: Bytes of constants, and operations, up to which a graph's name is found soon.
_MAX_CONSTANT_BYTES, _MAX_NODES = 1 << 20, 1 << 12


@no_gc()
def stable(roots: Sequence[Node], ends: Collection[Node], since: int,
           exclude: tuple[str, ...]) -> dict[Node, Node]:
    """Return the stable form of each root that has another one, over the same ``ends``.

    Nodes that no gradient flows through stay as they are, and so do those numbered below ``since``.
    """
    with switched(trace=None, placing=False):
        part = Excerpt(roots, ends, since)
        name = _name(part, exclude)
        files = disk_cache.load(name, _files) if name else None
        if files == []:
            return {}
        from agnesi.rewrite.derived import stable as derived

        settled, needed = derived(part, exclude, files)
        if name and files is None:
            disk_cache.put(name, json.dumps(needed).encode())
        if settled is None:
            return {}
        found = part.back(settled)
    return {old: new for old, new in zip(roots, found, strict=True) if old is not new}


def _files(kept: bytes) -> list[str]:
    """The files in an entry."""
    found = json.loads(kept)
    if not isinstance(found, list):
        raise ValueError("not a list of files")
    return found


def _name(part: Excerpt, exclude: tuple[str, ...]) -> str:
    """The name under which the disk cache has the files; empty where it cannot be kept."""
    nodes = part.nodes
    if not config.cache or len(nodes) > _MAX_NODES:
        return ""
    values = [constant_value(n) for n in nodes if n.op is None]
    if sum([v.nbytes for v in values if v is not None]) > _MAX_CONSTANT_BYTES or not build():
        return ""
    inputs = [n for n in nodes if n.op is None and constant_value(n) is None]
    text = fingerprint(FunctionGraph.of(inputs, part.outputs), ())
    weak = [n.weak for n in nodes]
    return disk_cache.key("stable", build(), text, repr(weak), repr(exclude)) if text else ""
