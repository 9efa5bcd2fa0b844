"""Numbers of a plan: constants in code of its own, entries of a table where code is shared."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import Extent


class ParameterTable:
    """A plan, or a part of one, whose numbers are values of the code that is being written."""

    def __init__(self, thing: Any, number: Callable[[str, Size], Value], path: str = "") -> None:
        self._thing, self._number, self._path = thing, number, path

    def __getattr__(self, name: str) -> Any:
        found = self._parameter(f".{name}", getattr(self._thing, name))
        setattr(self, name, found)
        return found

    def __getitem__(self, i: int) -> Any:
        return self._parameter(f"[{i}]", self._thing[i])

    def _parameter(self, name: str, found: Any) -> Any:
        if isinstance(found, int | Extent):
            return self._number(self._path + name, found)
        return ParameterTable(found, self._number, self._path + name)


def constants(b: Builder, plan: Any) -> Any:
    """The numbers of a plan as they are."""
    return ParameterTable(plan, lambda _, n: b.size(n))


def call_with_table(b: Builder, prefix: str, key: Hashable, plan: Any, body: Callable[..., None],
              *given: Value) -> None:
    """Call a function that all plans of this key share, with the plan's numbers in a table.

    ``body`` takes the function's builder, the plan as :class:`ParameterTable`, and what is given.
    """
    module = b.module
    if (prefix, key) not in module.tables:
        parameters = [("ptr", "table"), *((v.type, f"x{i}") for i, v in enumerate(given))]
        own = Builder(module, module.fresh(prefix), parameters)
        table, *values = own.parameters
        loads: dict[str, Value] = {}

        def number(path: str, _: Size) -> Value:
            if path not in loads:
                with own.beginning():
                    loads[path] = own.load("i64", own.gep("i64", table, i64(len(loads))))
            return loads[path]

        body(own, ParameterTable(plan, number), *values)
        own.ret()
        numbers = eval(f"lambda plan: [{', '.join(f'plan{path}' for path in loads)}]")
        module.tables[prefix, key] = module.shared(own), numbers
    name, numbers = module.tables[prefix, key]
    b.call("void", name, _table(b, numbers(plan)), *given)


def _table(b: Builder, numbers: list[Size]) -> Value:
    """A table of numbers, some of which may be known at run time only."""
    if all(isinstance(n, int) for n in numbers):
        return b.module.table("i64", numbers)  # type: ignore[arg-type]
    table = b.alloca("i64", len(numbers))
    for i, n in enumerate(numbers):
        b.store(b.size(n), b.gep("i64", table, i64(i)))
    return table
