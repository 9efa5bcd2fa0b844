"""Programs as data: inputs and steps, each step one line of Python over the names before it.

The text is the program: it runs with agnesi or NumPy as ``ag``, with noise put into it, and is what
a report prints.  Values are named v1, v2..., inputs x1, x2...
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes  # noqa: F401 - lets NumPy know bfloat16
import numpy as np

from tests.fuzz.oracles.eagerly import KNOWN

NAME = re.compile(r"\b[vx]\d+\b")


@dataclass(frozen=True, eq=False)
class Input:
    """What a program is given: an array seen through ``view``, or a view of the input ``of``.

    A view is text behind the array, or text around the place ``@`` of it.

    An array of random numbers may have a text that makes it; one without axes may be given as the
    ``number`` of Python that it holds.
    """

    name: str
    array: np.ndarray
    view: str = ""
    of: str = ""
    made: str = ""
    number: bool = False

    def value(self, others: dict[str, Any], lib: Any) -> Any:
        """A fresh tensor, array or number."""
        if self.of:
            return lib.asarray(eval(self.seen("y"), {"y": others[self.of]}))
        if self.number:
            return self.array.item()
        return lib.asarray(eval(self.seen("y"), {"y": self.array.copy(), "np": np}))

    def seen(self, array: str) -> str:
        """The text of an array, with the view around it."""
        return self.view.replace("@", array) if "@" in self.view else array + self.view

    @property
    def source(self) -> str:
        """Python that makes it."""
        if self.of:
            return self.seen(self.of)
        if self.number:
            return repr(self.array.item())
        return f"ag.asarray({self.seen(self.made or literal(self.array))})"


def literal(array: np.ndarray) -> str:
    """Python that makes an array."""
    name = array.dtype.name
    if not array.size:
        return f"np.zeros({array.shape}, {name!r})"
    wide = array.astype("float64") if name in ("bfloat16", "float16") else array
    return f"np.array({wide.tolist()}).astype({name!r})"


@dataclass(frozen=True)
class Step:
    """A line: names that it binds and an expression; a statement that changes values binds none.

    ``exact``: of whole numbers it makes whole numbers, however it is computed.  ``view``: what it
    binds may lie in the memory of its operand.  Functions that the text uses have names f1, f2...
    """

    out: tuple[str, ...]
    text: str
    exact: bool = True
    view: bool = False
    functions: tuple[Body, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of values that it uses, once each."""
        inner = [n for f in self.functions for n in f.reads]
        return tuple(dict.fromkeys([*NAME.findall(self.text), *inner]))

    def renamed(self, names: dict[str, str]) -> Step:
        """The same of other values."""
        def change(found: re.Match[str]) -> str:
            return names.get(found[0], found[0])

        return replace(self, text=NAME.sub(change, self.text),
                       functions=tuple(f.renamed(names) for f in self.functions))


@dataclass(frozen=True)
class Body:
    """A function: parameters, steps, what it returns (several values as a tuple, or the text)."""

    name: str
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]
    returns: tuple[str, ...]
    form: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names that it takes from around it."""
        own = {*self.parameters, *(n for s in self.steps for n in s.out)}
        every = [n for s in self.steps for n in s.reads] + [*self.returns]
        return tuple(n for n in dict.fromkeys(every) if n not in own)

    def renamed(self, names: dict[str, str]) -> Body:
        """The same with other values from around it."""
        return replace(self, steps=tuple(s.renamed(names) for s in self.steps),
                       returns=tuple(names.get(n, n) for n in self.returns))

    def lines(self, line: Callable[[Step], str] | None = None,
              inner: Callable[[Step], str] | None = None,
              returned: Callable[[str], str] | None = None) -> Iterator[str]:
        """Its source; ``line`` writes a step, ``inner`` those of functions in it, and ``returned``
        what these return."""
        yield f"def {self.name}({', '.join(self.parameters)}):"
        for step in self.steps:
            for f in step.functions:
                *body, last = f.lines(inner, inner, returned)
                text = last.removeprefix("    return ")
                yield from ("    " + text for text in body)
                yield "        return " + (returned(text) if returned else text)
            yield "    " + (line or written)(step)
        yield "    return " + (self.form.format(*self.returns) if self.form
                               else f"({', '.join(self.returns)},)")


def written(step: Step) -> str:
    """A step as a line of Python."""
    return f"{', '.join(step.out)} = {step.text}" if step.out else step.text


@dataclass(frozen=True, eq=False)
class Program:
    """Inputs, and a function of them; ``kind`` is that of its numbers: whole, smooth or wild."""

    inputs: tuple[Input, ...]
    body: Body
    kind: str = "whole"

    @property
    def smooth(self) -> bool:
        return self.kind == "smooth"

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.body.steps

    @property
    def changes(self) -> bool:
        """Whether it writes into a value."""
        return any(not s.out for s in self.steps)

    @property
    def changes_inputs(self) -> bool:
        """Whether it writes into an input, or into what looks into one."""
        near = {*self.body.parameters}
        for step in self.steps:
            if step.out and step.view and near & {*step.reads}:
                near |= {*step.out}
            elif not step.out and NAME.findall(step.text)[0] in near:
                return True
        return False

    def arguments(self, lib: Any) -> list[Any]:
        """Fresh inputs; those that share memory do so anew."""
        made: dict[str, Any] = {}
        for given in self.inputs:
            made[given.name] = given.value(made, lib)
        return list(made.values())

    def arrays(self) -> list[np.ndarray]:
        """The inputs as arrays of their own."""
        return [np.array(a, order="C") for a in self.arguments(np)]

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """What it returns of inputs."""
        return self.function()(*values)

    def function(self, names: dict[str, Any] | None = None,
                 line: Callable[[Step], str] | None = None,
                 first: Sequence[str] = (), last: str = "",
                 inner: Callable[[Step], str] | None = None,
                 returned: Callable[[str], str] | None = None) -> Any:
        """The function; ``names`` are known in it, ``line`` and ``inner`` write its steps, and
        ``returned`` what functions in it return."""
        body = replace(self.body, form=last) if last else self.body
        lines = list(body.lines(line, inner, returned))
        lines[1:1] = ["    " + text for text in first]
        return defined("\n".join(lines), "f", names)

    @property
    def source(self) -> str:
        """Python that makes the inputs and the function."""
        lines = [f"{x.name} = {x.source}" for x in self.inputs]
        header = [] if "nan" not in str(lines) and "inf" not in str(lines) else [
            "nan, inf = np.nan, np.inf"]
        header = ["import ml_dtypes", *header] if "bfloat16" in str(lines) else header
        header += ["from tests.fuzz.oracles.eagerly import sample"] * any(
            "sample(" in line for line in self.body.lines())
        return "\n".join(["import numpy as np", "import agnesi as ag", *header, *lines, "",
                          *self.body.lines(), ""])


def defined(source: str, name: str, names: dict[str, Any] | None = None) -> Any:
    """What a source binds to a name; without ``ag`` among the names it is run eagerly."""
    space = {**KNOWN, **(names or {})}
    exec(compile(source, "<program>", "exec"), space)
    return space[name]
