"""The text of a module of LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from agnesi.codegen.llvm.literals import literal
from agnesi.codegen.llvm.values import Value
from agnesi.core.ir.dims import Size
from agnesi.core.ir.mapping import Mapping
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.target import Target


class Module:
    """The text of one LLVM module: functions, declarations, read-only tables.

    Emitters read in ``target`` what there is, in ``policy`` the effort of the compilation, and in
    ``mapping``, which modules with loop nests have, how loops run.
    """

    mapping: Mapping

    def __init__(self, target: Target, policy: CompilePolicy = FAST_RUN,
                 mapping: Mapping | None = None) -> None:
        self.target = target
        self.policy = policy
        if mapping is not None:
            self.mapping = mapping
        self._functions: dict[str, str] = {}
        self._declarations: dict[str, str] = {}
        self._globals: dict[str, str] = {}
        self._metadata: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self.apart: dict[tuple[str, Hashable], str] = {}  # functions by what they are for
        #: The same of those that find numbers in a table, with what makes these of a plan.
        self.tables: dict[tuple[str, Hashable], tuple[str, Callable[[Any], list[Size]]]] = {}
        self._announced = 0

    def declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        """Declare an external function once."""
        self._declarations.setdefault(name, f"declare {result} @{name}({', '.join(parameters)})")

    def table(self, element: str, values: Sequence[float | int]) -> Value:
        """A private read-only array, shared by content; returns its address."""
        if element == "i64":  # the long ones
            return self._table(element, [*map(str, map(int, values))])
        return self._table(element, [literal(element, v) for v in values])

    def pointers(self, names: Sequence[str]) -> Value:
        """A private read-only array with the addresses of functions of this module, or nulls."""
        return self._table("ptr", [f"@{name}" if name else "null" for name in names])

    def _table(self, element: str, literals: Sequence[str]) -> Value:
        body = f", {element} ".join(literals)
        kind = f"[{len(literals)} x {element}]"
        text = f"private unnamed_addr constant {kind} [{element} {body}], align 64"
        return Value(self._globals.setdefault(text, f"@.t{len(self._globals)}"), "ptr")

    def metadata(self, name: str, text: str) -> None:
        """Define ``!name``."""
        self._metadata[name] = text

    def add(self, name: str, text: str) -> None:
        self._functions[name] = text

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def fresh(self, prefix: str) -> str:
        """A name for a function that is to be :meth:`shared`."""
        return f"{prefix}{len(self._texts)}"

    def shared(self, b: Any) -> str:
        """The name of a builder's function: of one with the same text, if there is any."""
        text = b.text().replace(f"@{b.name}(", "@(", 1)
        if text not in self._texts:
            self._texts[text] = b.name
            self.add(b.name, b.text())
        return self._texts[text]

    def new(self) -> list[str]:
        """The texts of the functions that were added behind the last call of this."""
        first, self._announced = self._announced, len(self._functions)
        return [*self._functions.values()][first:]

    def __str__(self) -> str:
        return "\n".join([*self.outside(), *self._functions.values()]) + "\n"

    def outside(self) -> list[str]:
        """The lines that are in no function, so far."""
        parts = [f"{name} = {text}" for text, name in self._globals.items()]
        parts += [t for n, t in self._declarations.items() if n not in self._functions]
        return parts + [f"!{name} = {text}" for name, text in self._metadata.items()]
