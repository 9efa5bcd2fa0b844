"""What code reads of tensors besides their values: types, names, gradients, memory, and the
attributes that programs give them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

from agnesi.compiler.tracing.arguments.attributes import is_own
from agnesi.compiler.tracing.bytecode import read_of
from agnesi.compiler.tracing.containers.contents import Answer
from agnesi.compiler.tracing.introspection import LIST_ALL
from agnesi.compiler.tracing.module_reads import ModuleReads
from agnesi.compiler.tracing.object_kinds import is_users_object
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.sources import MISSING, Attribute, Fact, MemoryType, Source
from agnesi.core.tensor import Tensor

#: An attribute of tensors by which Python may decide.
_FLAG = "requires_grad"


class TensorFacts(ModuleReads):
    """The sources that are properties of tensors."""

    def __init__(self, hidden: Any = ()) -> None:
        super().__init__(hidden)
        #: Names of attributes in code, of those that code assigns, and of those whose absence it
        #: may catch.
        self._names: set[str] = set()
        self._assigned: set[str] = set()
        self._missed: set[str] = set()
        #: Tensors that code has, their names, and the attributes that programs gave them before.
        self._attributed: dict[int, tuple[Tensor, str, dict[str, Any]]] = {}
        #: Tensors that code has by attributes, whose type it may query, with their memory.
        self._typed: dict[int, tuple[Tensor, str, Any]] = {}
        #: A function that reads the attribute ``array`` of something that is no module.
        self._takes_memory: Any = None

    def _flag(self, value: Tensor, path: str) -> None:
        """Whether a tensor requires a gradient, if code requests that of any; and its type."""
        if value.array is not None:
            self._typed.setdefault(id(value), (value, path, value.array))
            if id(value) not in self._attributed:
                self._attributed[id(value)] = value, path, dict(vars(value))
                self._paths.setdefault(id(value), path)
                self._of_tensor(value, self._names)
        if _FLAG in self._names and _FLAG not in self._assigned:
            self._fact(value, f"_{_FLAG}", f"{path}.{_FLAG}")

    def fact(self, value: Tensor, name: str) -> None:
        """Record that code queries a tensor's name, or whether it requires a gradient."""
        if name == _FLAG and id(value) in self._typed:
            self._fact(value, f"_{_FLAG}", f"{self._typed[id(value)][1]}.{_FLAG}")
        elif name == "name":
            self._fact(value, "_name", "the name of a tensor")

    def _of_tensor(self, x: Tensor, names: Collection[str]) -> None:
        """The attributes of these names that a program gave a tensor; where none has been given, a
        miss, if code may catch it."""
        before = self._attributed[id(x)][2]
        if not LIST_ALL.isdisjoint(names):
            self._all_of_tensor(x)
        found = [n for n in before if n in names] if before else []
        found += [n for n in self._missed if n in names and not is_own(Tensor, n)]
        for name in found:
            self._attribute(x, name)

    def _all_of_tensor(self, x: Tensor) -> None:
        _, path, before = self._attributed[id(x)]
        for name in before:
            self._attribute(x, name)
        self._add((id(vars(x)), "names"), lambda: Answer(
            f"the attributes of {path}", lambda: tuple(vars(x)), tuple))

    def _attribute(self, x: Tensor, name: str) -> None:
        _, path, before = self._attributed[id(x)]
        path, value = f"{path}.{name}", before.get(name, MISSING)
        self._add((id(x), name), lambda: Attribute(path, x, name, value))
        if value is not MISSING:
            self.meet(value, path)

    def asks_tensor(self, x: Tensor, name: str | None) -> None:
        """Code reads an attribute of a tensor, or all, by ``getattr`` or its kin."""
        if id(x) in self._attributed:
            if name is None:
                self._all_of_tensor(x)
            elif not is_own(Tensor, name):
                self._attribute(x, name)

    def _attributes_put(self) -> None:
        """Record the attributes that code gave tensors, or took from them."""
        for x, path, before in self._attributed.values():
            now = vars(x)
            for name in {**before, **now} if before or now else ():
                then = before.get(name, MISSING)
                if now.get(name, MISSING) is not then:
                    self.source((id(x), name), functools.partial(
                        Attribute, f"{path}.{name}", x, name, then), name in now)

    def queried(self, names: Iterable[str]) -> set[str]:
        """Return which of these attributes code names, with those whose absence it may catch."""
        return {*names} & self._names | {n for n in self._missed if not is_own(Tensor, n)}

    def is_typed(self, x: Tensor) -> bool:
        """Return whether the type of a tensor from outside is guarded."""
        return id(x) in self._typed

    def _fact(self, value: Tensor, slot: str, path: str) -> None:
        member = vars(Tensor)[slot]
        self._add((id(value), slot), lambda: Fact(path, value, member, member.__get__(value)))

    def guards(self, leaves: Sequence[Tensor]) -> list[Source]:
        """Return all guards that each call checks, for a graph with these tensors as leaves."""
        used = {id(a) for x in leaves for a in (x.array, x.array.base)}
        types = self._types_but(set(map(id, leaves)))
        return [*self.sources.values(), *self.compared(used), *types]

    def _types_but(self, leaves: Container[int]) -> Iterator[Source]:
        """Return guards on the types of tensors that are not leaves of the graph; the code checks
        those that are.
        """
        member = vars(Tensor)["array"]
        for key, (x, path, _) in self._typed.items():
            if key not in leaves and x.array is not None:
                yield MemoryType(f"the type of {path}", x, member, x.array)

    def _memory_taken(self, function: Any, code: Any) -> None:
        """Record a function that reads the memory of tensors, possibly by ``x.array``."""
        owners = read_of(code, "array")
        if any(n is None or not isinstance(function.__globals__.get(n), ModuleType)
               for n in owners):
            self._takes_memory = function

    def _refuse_memory(self) -> None:
        """Raise if traced code reads or assigns ``x.array``, the memory of a tensor.

        An attribute ``array`` of other objects is not meant: one that the code assigns, or that a
        class of an object it met defines.
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
