"""The workspace of a function for one call: small arrays on the stack, the others in one block.

Threads of users may have small stacks.  So a function keeps at most :data:`MAX_STACK_BYTES` bytes
of arrays there, the smallest ones, which LLVM may put into registers.  The others are in one block,
which it takes from the runtime when it begins and gives back wherever it returns
(``runtime/native/scratch.ll``).  Where there is none, it returns at once, and the runtime, which
has counted that, makes it a MemoryError of the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agnesi.codegen.llvm.type_names import nbytes
from agnesi.core.ir.foreign import external

#: Bytes of arrays that a function may keep on the stack.
MAX_STACK_BYTES = 16 << 10
#: All arrays begin at multiples of this, which is a line of the caches.
ALIGN_BYTES = 64
_TAKE, _GIVE = (external(f"runtime:scratch_{n}") for n in ("take", "give"))
_ALL = "%scratch.all"
#: What is declared where there is a block: names, results, parameters.
DECLARED = ((_TAKE, f"noalias align {ALIGN_BYTES} ptr", ("i64",)), (_GIVE, "void", ("ptr",)))
#: The call that returns the block of scratch memory.
GIVEN = f"  call void @{_GIVE}(ptr {_ALL})"


class Workspace(NamedTuple):
    """An array: its address, the type of its elements, and how many it has."""

    ref: str
    type: str
    elements: int

    @property
    def bytes(self) -> int:
        """Return the bytes of the array, with padding behind it."""
        return -(-nbytes(self.type) * self.elements // ALIGN_BYTES) * ALIGN_BYTES


class Allocated(NamedTuple):
    """The lines of text that allocate arrays: ``first`` at the beginning of the function, ``then``
    in its first block.

    For arrays that are not on the stack the first lines are a block of their own.
    """

    first: list[str]
    then: list[str]
    taken: bool


def allocated(workspaces: Iterable[Workspace], result: str) -> Allocated:
    """The lines that make arrays of a function with this result."""
    arrays = list(workspaces)
    on_stack, stack, block, size = _on_stack(arrays), [], [], 0
    for array in arrays:
        if array in on_stack:
            stack.append(
                f"  {array.ref} = alloca {array.type}, i64 {array.elements}, align {ALIGN_BYTES}"
            )
        else:
            block.append(f"  {array.ref} = getelementptr inbounds i8, ptr {_ALL}, i64 {size}")
            size += array.bytes
    if not block:
        return Allocated([], stack, False)
    taken = [
        f"  {_ALL} = call noalias align {ALIGN_BYTES} ptr @{_TAKE}(i64 {size})",
        f"  %scratch.lack = icmp eq ptr {_ALL}, null",
        "  br i1 %scratch.lack, label %scratch.none, label %entry",
        "scratch.none:",
        "  ret void" if result == "void" else f"  ret {result} zeroinitializer",
    ]
    return Allocated(["scratch.take:", *stack, *taken], block, True)


def _on_stack(arrays: list[Workspace]) -> set[Workspace]:
    """The smallest arrays, as many as fit on the stack."""
    found, used = set(), 0
    for array in sorted(arrays, key=lambda array: array.bytes):
        used += array.bytes
        if used > MAX_STACK_BYTES:
            break
        found.add(array)
    return found
