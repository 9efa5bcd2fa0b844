"""What code asks of tensors that it has, besides their values: types, names, gradients, memory."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from types import ModuleType
from typing import Any

from agnesi.compiler.tracing.bytecode import read_of
from agnesi.compiler.tracing.module_reads import ModuleReads
from agnesi.compiler.tracing.object_kinds import is_users_object
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.sources import Fact, MemoryType, Source
from agnesi.core.tensor import Tensor

#: An attribute of tensors by which Python may decide.
_FLAG = "requires_grad"


class TensorFacts(ModuleReads):
    """The sources that are facts of tensors."""

    def __init__(self, hidden: Any = ()) -> None:
        super().__init__(hidden)
        #: Names of attributes in code, and of those that code assigns.
        self._names: set[str] = set()
        self._assigned: set[str] = set()
        #: Tensors that code has by attributes, which it may ask for their type, with their memory.
        self._typed: dict[int, tuple[Tensor, str, Any]] = {}
        #: A function that reads the attribute ``array`` of something that is no module.
        self._takes_memory: Any = None

    def _flag(self, value: Tensor, path: str) -> None:
        """Whether a tensor requires a gradient, if code asks for that of any; and its type."""
        if value.array is not None:
            self._typed.setdefault(id(value), (value, path, value.array))
        if _FLAG in self._names and _FLAG not in self._assigned:
            self._fact(value, f"_{_FLAG}", f"{path}.{_FLAG}")

    def fact(self, value: Tensor, name: str) -> None:
        """Code asks a tensor that it has for its name, or whether it requires a gradient."""
        if name == _FLAG and id(value) in self._typed:
            self._fact(value, f"_{_FLAG}", f"{self._typed[id(value)][1]}.{_FLAG}")
        elif name == "name":
            self._fact(value, "_name", "the name of a tensor")

    def is_typed(self, x: Tensor) -> bool:
        """Return whether code has a tensor from outside."""
        return id(x) in self._typed

    def _fact(self, value: Tensor, slot: str, path: str) -> None:
        member = vars(Tensor)[slot]
        self._add((id(value), slot), lambda: Fact(path, value, member, member.__get__(value)))

    def guards(self, leaves: Sequence[Tensor]) -> list[Source]:
        """All that each call compares, where the graph has these tensors as leaves."""
        used = {id(a) for x in leaves for a in (x.array, x.array.base)}
        types = self._types_but(set(map(id, leaves)))
        return [*self.sources.values(), *self.compared(used), *types]

    def _types_but(self, leaves: Container[int]) -> Iterator[Source]:
        """The types of tensors that the graph does not read; it checks those that it does."""
        member = vars(Tensor)["array"]
        for key, (x, path, _) in self._typed.items():
            if key not in leaves and x.array is not None:
                yield MemoryType(f"the type of {path}", x, member, x.array)

    def _memory_taken(self, function: Any, code: Any) -> None:
        """Note a function that looks at memory of tensors, which it may do by ``x.array``."""
        owners = read_of(code, "array")
        if any(n is None or not isinstance(function.__globals__.get(n), ModuleType)
               for n in owners):
            self._takes_memory = function

    def _refuse_memory(self) -> None:
        """Give up a trace whose code reads or assigns ``x.array``, the memory of a tensor. An
        attribute ``array`` of other things that the code assigns, or that the class of an object
        it met has, is another one.
        """
        for x, path, before in self._typed.values() if "array" in self._assigned else ():
            if x.array is not before:
                x.array = before
                raise OnlyEagerError(f"it gives {path} other memory (x.array = ...)",
                                     "Assign x.data, or x.copy_(value)")
        if self._takes_memory is None or not self._typed or "array" in self._assigned:
            return
        if not any(name == "array" for _, name in self._recorded) and not any(
                map(_has_array, self._seen.values())):
            raise OnlyEagerError(
                f"{self._takes_memory.__name__} reads the memory of a tensor (x.array)",
                "Use the tensor itself")


def _has_array(kind: Any) -> bool:
    """Return whether objects of a user's class have an attribute ``array``."""
    return isinstance(kind, type) and kind is not Tensor and is_users_object(kind) and (
        "array" in getattr(kind, "__dataclass_fields__", ()) or hasattr(kind, "array"))
