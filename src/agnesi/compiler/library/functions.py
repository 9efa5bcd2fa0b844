"""Functions of ours that compiled code calls by name: sorts, running sums, extremes, indices,
draws.

They are specialized for dtypes, not for sizes, so compiled programs and eager operations share
them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from agnesi.compiler.compilation.build import build
from agnesi.core.support.config import config
from agnesi.core.support.forks import once
from agnesi.core.target import Target
from agnesi.runtime import disk_cache, machine

#: Where the text of a module is made, by the library's name: a file of ``codegen``, a function.
_MAKERS = {
    "sort": ("library.sorting.module", "sort_module"),
    "extreme": ("library.rowwise.extremes", "extremes_module"),
    "first": ("library.sorting.first", "first_module"),
    "running": ("library.rowwise.running", "running_module"),
    "take": ("library.rowwise.indexed", "take_module"),
    "add at": ("library.rowwise.indexed", "add_module"),
    "blocks": ("library.rowwise.blocks", "blocks_module"),
    "chosen": ("library.rowwise.compress", "chosen_module"),
    "mersenne": ("library.mersenne.draws", "mersenne_module"),
}
#: The last line of a cached module, by which a truncated one is found.
_END = b"; end\n"


@once
def _begun(library: str, name: str) -> machine.Begun:
    target = machine.native()
    return machine.Begun(_text(library, name, target), target)


def _text(library: str, name: str, target: Target) -> str:
    """The module's text, from the disk cache where this build made it before: a process that finds
    all code there loads nothing of code generation."""
    entry = ""
    if config.cache and build():
        entry = disk_cache.key("library", build(), str(target), library, name)
        kept = disk_cache.load(entry, _whole)
        if kept is not None:
            return kept
    file, function = _MAKERS[library]
    make: Callable[[str, Target], str] = getattr(import_module(f"agnesi.codegen.{file}"), function)
    text = make(name, target)
    if entry:
        disk_cache.put(entry, text.encode() + _END)
    return text


def _whole(kept: bytes) -> str:
    """The text of a cache entry; raises if it was cut off."""
    if not kept.endswith(_END):
        raise ValueError("a part of a module")
    return kept.removesuffix(_END).decode()


def begin(library: str, name: str) -> bool:
    """Start compiling a function that is about to be used. Returns True: all of them can be
    compiled.
    """
    _begun(library, name)
    return True


def address(library: str, name: str) -> int:
    """Return the address of a function, which is compiled when it is wanted first."""
    return _begun(library, name).code.address("run")
