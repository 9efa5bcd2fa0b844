"""Running a program in a way: what both expressions gave, in numbers."""

from __future__ import annotations

import pickle
import re
import sys
import types
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.support.tree import flatten
from tests.fuzz.oracles import declared, reference
from tests.fuzz.program import Program, defined
from tests.fuzz.steps.births import DECIDED
from tests.fuzz.values import is_float
from tests.fuzz.ways import COMPLEX, DECIDING, PRELUDE, UNKNOWN_SIZES, Way

#: Methods that change tensors, gradients, writes through a reshape that may be a copy.
_UNLIKE = re.compile(r"\w_\(|grad\(|ag\.jvp|reshape\(-1\)\S* [-+*]?= |sample\(")
#: The most numbers that a Jacobian is taken of.
FORWARD = 4000
#: Floats that are made of integers, in symbolic programs, too.
FLOAT = "float32"


@dataclass
class Case:
    """A program, a way to run it, and names of rules and passes that are switched off."""

    program: Program
    way: Way
    exclude: tuple[str, ...] = ()
    _space: dict[str, Any] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether the way is one for the program."""
        program, way = self.program, self.way
        return (program.kind in way.kinds and (way.writes or not program.changes)
                and (not way.gradients or (bool(self.argnums) and not program.changes_inputs))
                and (way.name != "numpy" or _like_numpy(program))
                and (way.name != "theano" or declared.fits(program))
                and (way.name in DECIDING or not DECIDED.search(program.source))
                and (way.prelude != COMPLEX or any(
                    x.array.dtype.kind == "c" and not x.number for x in program.inputs))
                # forward mode takes memory for each input's tangent beside each value
                and (way.name != "jacobians" or self._floats() <= FORWARD)
                # which axes of shared variables, or of open sizes, have size 1 is not known
                and (way.name not in UNKNOWN_SIZES
                     or "ag.squeeze(" not in program.source))

    def _floats(self) -> int:
        """How many numbers a Jacobian is about."""
        return sum(self.program.inputs[i].array.size for i in self.argnums)

    @property
    def argnums(self) -> tuple[int, ...]:
        """The inputs that have gradients."""
        return tuple(i for i, x in enumerate(self.program.inputs)
                     if not x.number and x.array.dtype.kind == "f")

    def expected(self, function: Any = None) -> list[np.ndarray]:
        """What the first expression gives, perhaps of another function, and the arguments then."""
        names = {"ag": ag} if self.way.bits else None
        return self._run(self.way.expected, function or self.program.function(names))

    def found(self) -> list[np.ndarray]:
        """What the second one gives."""
        return self._run(self.way.found, self.program.function({"ag": ag}))

    def _run(self, text: str, function: Any) -> list[np.ndarray]:
        args = self.program.arguments(ag)
        space = {**self._names(), "f": function, "eagerly": self.program.function(), "args": args,
                 "argnums": self.argnums}
        exec(PRELUDE + self.way.prelude, space)
        with np.errstate(all="ignore"), ag.config(symbolic_float=FLOAT):
            if text == "by_numpy()":
                return arrays(by_numpy(self.program))
            if text == "by_theano()":
                return arrays(declared.by_theano(self.program))
            return arrays((eval(text, space), args))

    def _names(self) -> dict[str, Any]:
        options = {"exclude": list(self.exclude)} if self.exclude else {}
        return {
            "ag": ag, "np": np, "jit": partial(ag.jit, **options),
            "function": partial(ag.function, **options), "pickled": pickled,
        }

    @property
    def source(self) -> str:
        """Python that shows the two results."""
        way = self.way
        names = f"{way.prelude}{way.expected}{way.found}"
        prelude = needed(PRELUDE + way.prelude, names)
        given = ", ".join(self.program.body.parameters)
        lines = [self.program.source, f"args = [{given}]"]
        if "argnums" in names + prelude:
            lines.append(f"argnums = {self.argnums}")
        if "eagerly" in prelude:
            lines.append("eagerly = f")
        if way.name in ("numpy", "theano"):
            lines.append(f"# compared with the same in {way.name}")
        floats = f"with ag.config(symbolic_float={FLOAT!r}): " * ("symbolic" in way.prelude)
        tail = [prelude, f"{floats}expected = {way.expected}", f"{floats}found = {way.found}",
                "print(expected, found, sep='\\n')"]
        return re.sub(r"(?<![\w.])(jit|function)\b(?=[(),])", r"ag.\1", "\n".join([*lines, *tail]))


def needed(prelude: str, used: str) -> str:
    """The functions of a prelude that a text uses, and those that they use; all else in it."""
    parts = [p for p in re.split(r"\n(?=\S)", prelude) if p.strip()]
    rest = [p for p in parts if not p.startswith("def ")]
    named = {p[4: p.index("(")]: p for p in parts if p not in rest}
    wanted: list[str] = []
    texts = [used]
    while texts:
        text = texts.pop()
        for name, part in named.items():
            if name not in wanted and re.search(rf"\b{name}\b", text):
                wanted.append(name)
                texts.append(part)
    return "\n".join([*rest, *(named[n] for n in named if n in wanted)])


def arrays(tree: Any) -> list[np.ndarray]:
    """All that a nest of results holds, as arrays of their own."""
    return [np.array(t.numpy() if isinstance(t, ag.Tensor) else t) for t in flatten(tree)[0]]


def pickled(compiled: Any, args: Any) -> Any:
    """A compiled function that went through a pickle."""
    module = sys.modules["fuzzed"] = types.ModuleType("fuzzed")
    compiled.function.__module__ = "fuzzed"
    module.f = compiled.function
    copies = [ag.copy(a) if isinstance(a, ag.Tensor) else a for a in args]
    compiled(*copies)
    return pickle.loads(pickle.dumps(compiled))


def _like_numpy(program: Program) -> bool:
    """Whether dtypes mix as NumPy's do, and NumPy's numbers without axes are not written into."""
    names = {x.array.dtype.name for x in program.inputs} | set(
        re.findall(r"'(float16|bfloat16|u?int\d+|float32)'", program.source))
    names -= {"int64"}
    if re.search(_UNLIKE, program.source) or not all(
            hasattr(getattr(reference, space[:-1]) if space else reference, name)
            for space, name in re.findall(r"\bag\.(linalg\.|fft\.)?(\w+)", program.source)):
        return False
    return names <= {"float64", "bool"} or (program.smooth and all(is_float(n) for n in names))


def by_numpy(program: Program) -> list[np.ndarray]:
    """Results and inputs of a program that NumPy runs."""
    lines = "\n".join(program.body.lines(
        lambda s: f"{', '.join(s.out)} = same_({s.text})" if s.out else s.text))
    given = program.arguments(np)

    def array(value: Any) -> np.ndarray:
        found = np.asarray(value)  # without elements, tiles of what is read-only are that, too
        return found if found.size or found.flags.writeable else found.copy()

    def same(value: Any) -> Any:
        return tuple(map(array, value)) if isinstance(value, (tuple, list)) else array(value)

    results = defined(lines, "f", {"ag": reference, "same_": same})(*given)
    return [*results, *given]
