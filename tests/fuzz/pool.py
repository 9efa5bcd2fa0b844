"""The values of a program under way, from which the next step is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import agnesi as ag
from tests.fuzz.oracles.eagerly import KNOWN
from tests.fuzz.program import Body, Step, defined
from tests.fuzz.values import Draw, is_float

#: Results of exact steps up to this are whole numbers of which sums and products are exact, too.
WHOLE = {"float64": 2.0**20, "complex128": 2.0**20, "float32": 64, "complex64": 64,
         "float16": 64, "bfloat16": 16}
#: Errors by which an eager operation refuses what it is given.
REFUSED = (TypeError, ValueError, IndexError, ArithmeticError, ag.GradientError)


@dataclass
class Value:
    """A value: what it is called and holds, whether it is exact, whether places share memory."""

    name: str
    data: Any
    exact: bool = True
    spread: bool = False

    def __post_init__(self) -> None:
        self.number = not isinstance(self.data, ag.Tensor)
        self.shape = () if self.number else self.data.shape
        self.dtype = np.dtype(type(self.data)) if self.number else self.data.dtype
        self.kind = "f" if is_float(self.dtype) else self.dtype.kind

    def __str__(self) -> str:
        return self.name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass
class Line:
    """What a step may become: an expression, or a statement, and the functions that it uses."""

    text: str
    exact: bool = True
    view: bool = False
    spread: bool = False
    statement: bool = False
    outs: int = 1
    functions: tuple[Body, ...] = ()


class Pool(Draw):
    """Values so far, and how to choose among them."""

    def __init__(self, rng: np.random.Generator, kind: str, most: int, first: int = 1) -> None:
        super().__init__(rng)
        self.kind, self.most = kind, most
        self.values: list[Value] = []
        self.steps: list[Step] = []
        self.read: set[str] = set()
        self.count = first
        self.functions = 0

    @property
    def smooth(self) -> bool:
        return self.kind == "smooth"

    def give(self, name: str, data: Any) -> None:
        """Add an input, or a parameter of a function."""
        value = Value(name, data)
        value.exact = small_whole(value)
        value.spread = not value.number and 0 in np.asarray(data).strides and value.size > 1
        self.values.append(value)

    def pick(self) -> Value:
        """A tensor, rather a late one, or one that nothing was made of so far."""
        tensors = [v for v in self.values if not v.number]
        new = [v for v in tensors if v.name not in self.read]
        which = self.below(4)
        return self.one(tensors[-4:] if which == 0 else new if new and which < 3 else tensors)

    def other(self) -> Value:
        """Any value, or one that nothing was made of so far."""
        new = [v for v in self.values if v.name not in self.read]
        return self.one(new if new and self.chance(0.4) else self.values)

    def alike(self, x: Value) -> Value:
        """Another value of the type of ``x``, or ``x`` itself."""
        same = [v for v in self.values if not v.number and (v.shape, v.dtype) == (x.shape, x.dtype)]
        return self.one(same)

    def fitting(self, x: Value) -> tuple[str, Value]:
        """Another value, as text, cut until it broadcasts with ``x``."""
        y = self.other()
        if y.number:
            return y.name, y
        key, cut = [], False
        for axis, n in enumerate(y.shape):
            at = x.ndim - y.ndim + axis
            m = x.shape[at] if at >= 0 else n
            clash = n != m and 1 not in (n, m)
            if clash and not n:
                return x.name, x
            cut |= clash
            key.append(":1" if clash else ":")
        return (f"{y}[{', '.join(key)}]" if cut else y.name), y

    def axes(self, x: Value) -> tuple[int, ...]:
        """Some axes of a value, or all."""
        some = tuple(a for a in range(x.ndim) if self.chance(0.5))
        return some or tuple(range(x.ndim))

    def axis(self, x: Value) -> int:
        """One axis, sometimes counted from behind."""
        found = self.below(x.ndim)
        return found - x.ndim if self.chance(0.3) else found

    # -- steps ------------------------------------------------------------------------------
    def add(self, line: Line | None) -> bool:
        """Run a line and keep it, if it runs and what it makes is small enough."""
        if line is None:
            return False
        names = tuple(f"v{self.count + i}" for i in range(line.outs))
        step = Step(() if line.statement else names, line.text, line.exact, line.view,
                    line.functions)
        if line.statement:
            return self._change(step)
        try:
            found = self._run(step)
        except (*REFUSED, MemoryError):
            return False
        found = found if line.outs > 1 else (found,)
        if any(not hasattr(v, "size") or v.size > self.most for v in found):
            return False  # numbers of Python alone make one
        before = [v for v in self.values if v.name in step.reads]
        exact = line.exact and all(v.exact for v in before)
        for name, data in zip(names, found, strict=True):
            value = Value(name, data)
            value.exact = (exact and small_whole(value)) or (value.kind in "bui" and all(
                v.exact for v in before))
            value.spread = line.spread or (any(v.spread for v in before) and line.view)
            self.values.append(value)
        self.count += line.outs
        self.steps.append(step)
        self.read.update(step.reads)
        return True

    def _run(self, step: Step) -> Any:
        space = {v.name: v.data for v in self.values}
        for f in step.functions:
            space[f.name] = defined("\n".join(f.lines()), f.name, space)
        with np.errstate(all="ignore"):
            return eval(step.text, {**KNOWN, **space})

    def _change(self, step: Step) -> bool:
        """A statement: what it changes is tried on the values themselves."""
        space = {**KNOWN, **{v.name: v.data for v in self.values}}
        kept = [None if v.number else v.data.numpy().copy() for v in self.values]
        reads = [v for v in self.values if v.name in step.reads]
        try:
            with np.errstate(all="ignore"):
                exec(step.text, space)
        except REFUSED:
            return False
        exact = all(v.exact for v in reads)
        for value in self.values:
            value.data = space[value.name]
        for value, before in zip(self.values, kept, strict=True):
            if before is not None and not np.array_equal(value.data.numpy(), before):
                value.exact = exact and small_whole(value)
        self.steps.append(step)
        return True

    def function(self, parameters: Sequence[str], steps: Sequence[Step], returns: Sequence[str],
                 form: str = "") -> Body:
        """A function with a name of its own."""
        self.functions += 1
        return Body(f"f{self.functions}", tuple(parameters), tuple(steps), tuple(returns), form)


def small_whole(value: Value) -> bool:
    """Whether sums and products of the elements do not depend on the order."""
    if value.kind not in "fc":
        return True
    data = np.asarray(value.data)
    if data.dtype.kind == "c":
        parts = np.stack([data.real, data.imag]).astype("float64")
    else:
        parts = data.astype("float64")
    known = parts[np.isfinite(parts)]
    return bool(np.all(known * 4 == np.round(known * 4)) and np.all(
        np.abs(known) <= WHOLE[value.dtype.name]))
