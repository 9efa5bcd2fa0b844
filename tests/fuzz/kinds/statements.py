"""Random functions of ordinary Python: numbers, branches, loops, errors, lists, and state.

The tables say what is drawn.  Capital letters are filled: ``N`` is a number, ``C`` a condition,
``V`` a vector of three, ``L`` a list, ``I`` a place, ``K`` a key, ``J`` a way out of a loop, ``B``
a block; ``Nx``, ``Vx`` and ``Lx`` are bound, which ``F``, ``A`` and ``Q`` are later, ``Z`` at once;
``Tx`` counts turns.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

import agnesi as ag
from tests.fuzz.oracles import rounded
from tests.fuzz.values import Draw
from tests.fuzz.ways import BY_NAME, Way

LITERALS = ("0", "1", "2", "3", "(-1)", "0.5", "1.5", "(-0.25)")
NUMBERS = (
    "(N + N)", "(N - N)", "(N * N)", "(N / (N or 0.5))", "(N // (1 + abs(N)))", "int(C)",
    "(N % (1 + abs(N)))", "abs(N)", "min(N, N)", "max(N, N, N)", "round(N)", "round(N, 1)",
    "math.sqrt(abs(N))", "math.floor(N)", "(N if C else N)", "int(N)", "float(N)", "-(N)",
    "(N) ** 2", "(V).sum().item()", "float((V)[I])", "divmod(N, 3)[0]", "int((V)[I] * 2)",
    "float(ag.max(V))", "t.shape[1]", "x.size", "int(ag.argmax(V))", "sum(L)", "len(L)", "L[-1]",
    "sorted(L)[0]", "held.count", "held.best", "g(N, N)", "sum(k * N for k in L)",
    "math.hypot(N, N)", "len([k for k in L if k < N])", "(V).tolist()[I]", "dict(a=N, b=N)['a']",
    "(lambda k: k + N)(N)", "y.shape[0]", "len(y)", "y.size % 3", "{1: N, 3: N}.get(len(y), N)",
    "held.names.setdefault(y.shape, N)", "[N, N, 0.5, N, 1, N][len(y)]", "int(y.shape[0] ** 0.5)",
)
CONDITIONS = (
    "N < N", "N >= N", "N < N <= N", "not C", "(C and C)", "(C or C)", "N == N", "bool(N)",
    "N in (1, 2, 0.5)", "bool((V > N).any())", "ag.sum(V) > N", "isinstance(N, int)", "N in L",
    "any(k > N for k in L)", "held.last is None", "'%.1f' % N == '1.0'", "ag.all(V > N)",
    "len(y) > N", "y.shape == (3,)", "isinstance(y.shape[0], int)", "y.shape[0] in (1, 3)",
    "hash(len(y)) % 2 == 0",
)
VECTORS = (
    "(V + N)", "(V * N)", "(N - V)", "(V * V)", "ag.where(V > N, V, N)", "ag.full((3,), N)",
    "ag.sin(V)", "(V)[::-1]", "ag.tensor([N, N, 1.5])", "h(V, N)", "ag.cumsum(V, 0)",
    "ag.roll(V, n)", "(V / (1 + V ** 2))", "ag.clip(V, -1, N)", "t[n % 2]", "(ag.arange(3) * N)",
    "ag.maximum(V, N)", "ag.concat([(V)[:1], (V)[1:]])", "(V if C else V)", "held.rows",
    "ag.stack([V, V]).sum(0)", "ag.tensor([float(k) * N for k in V])", "ag.sort(V)",
    "(held.last if held.last is not None else V)", "(t @ V)[[0, 1, 0]]",
    "(V + y)", "y.reshape(3)", "y[[0, -1, 0]]", "(y.mean() * V)", "ag.concat([y, V])[-3:]",
    "(ag.ones((3, 2)) @ y)", "ag.stack([k + N for k in V])",
    "ag.fori_loop(0, 2, lambda k, w: w * s + k, V * 1.0)",
)
STATEMENTS = (
    *4 * ("Vx = V",), *4 * ("Nx = N",), "Lx = [N, N]", "Q.append(N)", "Q[0] = N", "A = V", "F = N",
    "F += N", "F *= N", "if C:B", "if C:B\nelse:B", "if C:B\nelif C:B\nelse:B",
    "for Nx in range(n):B", "for Nx in [0.5, N]:B", "for Vx in t:B",
    "for Nx, Nx in zip(L, range(2)):B", "for Nx, Vx in enumerate(t):B",
    "for Nx in range(3):\n    if C: J\n    Vx = V\nelse:B",
    "Tx = 3\nwhile Z and C:\n    Z -= 1;B",
    "try:\n    Vx = V + y\nexcept ValueError:B",
    "try:\n    Vx = y.reshape(-1, 3)[0]B\nexcept Exception:B",
    "try:\n    Vx = V[n:][K]\nexcept (IndexError, KeyError):B", "try:B\nexcept ValueError:B",
    "try:B\nexcept Exception as error:B\nfinally:B",
    "if C: return V, N", "if C: raise ValueError('no')", "assert N < 4",
    "Vx = ag.copy(V) * 1.0\nZ[K] = N", "Vx = ag.copy(V) * 1.0\nZ[K] += N",
    "def inner(p, k=N):\n    return p * N + k\nNx = inner(N)",
    "held.count += 1", "held.best = max(held.best, N)", "held.last = ag.copy(V)",
    "held.rows[K] += N", "held.rows = held.rows * 0.5 + V", "held.seen.append(N)",
    "held.names['k'] = N", "Nx = held.names.get('k', N)", "Nx = sum(held.seen[-2:])",
    "Lx = [k * 2 for k in L]", "Nx = next((k for k in L if k > N), 0.5)", "with ag.no_grad():B",
    "Vx = ag.grad(lambda w: (w * V * N).sum())(V * 1.0)", "if (Nx := N) > N:B",
)
KEYS = ("0", "1", "n % 3", ":2", "::2", "-1")
#: What the function finds around it.
AROUND = '''
held = types.SimpleNamespace(count=0, best=0.5, last=None, rows=ag.zeros(3, dtype="float64"),
                             seen=[], names={})

@jit
def g(p, q):
    return p * 2 + q if p > q else q

@jit
def h(w, p):
    return w * p if w[0] > p else ag.cos(w) + g(p, 1.5)
'''
WAY = BY_NAME["statements"]
CALLS = 4
#: Errors that a program may end with.
ERRORS = (ArithmeticError, LookupError, TypeError, ValueError, AssertionError, NameError)
_HOLE = re.compile(r"\b(?:[A-Z]|[NVLT]x)\b")


class _Writer(Draw):
    """A function under way, and what is known in it."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.known = {"N": ["s", "n"], "V": ["x", "t[0]", "t[1]"], "L": ["[1, 0.5]"],
                      "T": []}  # what counts turns, which nothing else changes
        self.count = self.blocks = 0

    def statement(self) -> list[str]:
        """The lines of one statement, which reads what there is."""
        while True:
            text = self.one(STATEMENTS)
            if (all(self._own(h) for h in _HOLE.findall(text) if h in "FAQ")
                    and ("B" not in text or self.blocks < 3)):
                return self._filled(text, 3).split("\n")

    def _own(self, hole: str) -> list[str]:
        """Names of the function's own."""
        return [n for n in self.known[{"F": "N", "A": "V", "Q": "L"}[hole]] if n[0] == "a"]

    def _filled(self, text: str, depth: int) -> str:
        bound: list[tuple[str, str]] = []

        def fill(found: re.Match[str]) -> str:
            hole = found[0]
            if hole[1:]:
                self.count += 1
                bound.append((hole[0], f"a{self.count}"))
                return bound[-1][1]
            if hole in "ZB":
                return bound[-1][1] if hole == "Z" else self._block(bound)
            return self._expression(hole, depth)

        text = _HOLE.sub(fill, text)
        self._bind(bound)
        return text

    def _bind(self, bound: list[tuple[str, str]]) -> None:
        for kind, name in bound:
            self.known[kind].append(name)

    def _expression(self, hole: str, depth: int) -> str:
        if hole in "NV" and (depth <= 0 or self.chance(0.3)):
            return self.one((*self.known[hole], *self.known[hole][-2:],
                             *[self.one(LITERALS) for _ in range(3 if hole == "N" else 0)]))
        table = {"N": NUMBERS, "V": VECTORS, "K": KEYS, "L": self.known["L"], "I": "012",
                 "C": CONDITIONS[: 3 if depth <= 0 else None], "J": ("break", "continue")}
        return self._filled(self.one(table.get(hole) or self._own(hole)), depth - 1)

    def _block(self, bound: list[tuple[str, str]]) -> str:
        """Indented statements; what they bind is not known behind them."""
        before = {kind: list(names) for kind, names in self.known.items()}
        self._bind(bound)
        self.blocks += 1
        lines = [line for _ in range(1 + self.below(2)) for line in self.statement()]
        self.blocks -= 1
        self.known = before
        return "".join("\n    " + line for line in lines)


@dataclass(frozen=True)
class Text:
    """The lines of a function, where its arguments come from, and what it finds around it."""

    lines: tuple[str, ...]
    seed: int
    around: tuple[str, ...] = tuple(AROUND.split("\n"))
    nudge: float = 1e-9  # which numbers of the coarsest floats see
    near: float = 1e-5  # how near results are to each other, relatively

    @property
    def source(self) -> str:
        """Python that defines it."""
        body = "\n".join("    " + line for line in self.lines)
        around = "\n".join(self.around)
        return f"import math, types\nimport agnesi as ag\n{around}\ndef f(x, t, n, s, y):\n{body}\n"

    def arguments(self, call: int, nudge: float = 0) -> tuple[Any, ...]:
        """Tensors and numbers of a call, all of them moved a little."""
        rng = np.random.default_rng([self.seed, call])
        x, t = (np.round(rng.normal(size=size) * 2, int(rng.integers(3))) for size in (3, (2, 3)))
        s = round(float(rng.normal() * 2), int(rng.integers(2)))
        n, y = int(rng.integers(4)), rng.normal(size=int(rng.integers(1, 6)))
        return (ag.tensor(x * (1 + nudge)), ag.tensor(t * (1 + nudge)), n, s * (1 + nudge),
                ag.tensor(y * (1 + nudge)))

    def smaller(self) -> Iterator[Text]:
        """Without some statement, or with its block in its place."""
        for i in reversed(range(len(self.lines))):
            depth = _indent(self.lines[i])
            end = next((j for j in range(i + 1, len(self.lines))
                        if _indent(self.lines[j]) <= depth), len(self.lines))
            before, inside, behind = self.lines[:i], self.lines[i + 1: end], self.lines[end:]
            for middle in ((), tuple(line[4:] for line in inside), (" " * depth + "pass",)):
                if middle != self.lines[i: end]:
                    yield replace(self, lines=(*before, *middle, *behind))
        for i in reversed(range(len(self.around))):
            yield replace(self, around=(*self.around[:i], *self.around[i + 1:]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


@dataclass(frozen=True)
class Script:
    """A text, called some times eagerly and compiled: results, errors and state are the same."""

    program: Text
    way: Way = WAY
    exclude: tuple[str, ...] = ()
    fits = True
    #: How often a program is rounded otherwise before something is called wrong.
    roundings: ClassVar[int] = 24

    @property
    def source(self) -> str:
        """Python that shows the results of compiled calls, or of eager ones by another ``jit``."""
        calls = ", ".join("(" + ", ".join(
            f"ag.tensor({x.tolist()}, {x.dtype.name!r})" if isinstance(x, ag.Tensor) else repr(x)
            for x in self.program.arguments(call)) + ")" for call in range(CALLS))
        text = self.program.source.replace("as ag\n", "as ag\njit = ag.jit  # or lambda f: f\n", 1)
        return f"{text}\nrun = jit(f)\nfor call in {calls}:\n    print(run(*call))\nprint(held)"

    def expected(self, nudge: float = 0) -> Any:
        return self._ran(lambda f: f, nudge)

    def found(self) -> Any:
        return self._ran(partial(ag.jit, exclude=self.exclude) if self.exclude else ag.jit)

    def rounded(self, number: int) -> Any:
        """What the eager program gives where its operations are rounded in other ways."""
        source = rounded.marked(self.program.source)
        return self._ran(lambda f: f, source=source,
                         names=rounded.names(np.random.default_rng(number)))

    def _ran(self, jit: Callable[[Any], Any], nudge: float = 0, source: str = "",
             names: dict[str, Any] | None = None) -> list[Any]:
        space: dict[str, Any] = {"jit": jit, "ag": ag, "math": math, "types": types,
                                 **(names or {})}
        exec(compile(source or self.program.source, "<program>", "exec"), space)
        run, told = jit(space["f"]), []
        for call in range(CALLS):
            try:
                told.append(deepcopy(run(*self.program.arguments(call, nudge))))
            except ERRORS as error:
                told.append(type(error))
        return [told, vars(space["held"])]

    def difference(self, expected: Any, found: Any) -> str:
        """How results differ, unless those of numbers that are a little different do, too, or the
        eager program has the results found where it is rounded otherwise."""
        near = self.program.near
        told = unlike(expected, found, near)
        if not told or unlike(expected, self.expected(self.program.nudge), near):
            return ""
        other = any(not unlike(self.rounded(n), found, near) for n in range(self.roundings))
        return "" if other else told


def script(seed: Any) -> Script:
    """A random function of some statements that Python takes."""
    rng = np.random.default_rng([*np.ravel(seed), 2])
    writer = _Writer(rng)
    lines = [line for _ in range(3 + writer.below(7)) for line in writer.statement()]
    own = [n for kind in "VNL" for n in writer.known[kind] if n[0] == "a"][-5:]
    return Script(Text((*lines, f"return ({', '.join([*own, 'x'])},)"), writer.below(1 << 30)))


def unlike(a: Any, b: Any, near: float) -> str:
    """How two nests of results differ; empty where they are so near to each other."""
    if type(a) is not type(b) or (isinstance(a, type) and a is not b):
        return f"{a!r} and {b!r}"
    if isinstance(a, dict):
        return unlike(list(a.items()), list(b.items()), near)
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return f"{a!r} and {b!r}"
        return next(filter(None, (unlike(x, y, near) for x, y in zip(a, b, strict=True))), "")
    if isinstance(a, ag.Tensor) and (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{a!r} and {b!r}"
    if type(a) is int:  # of any size, which NumPy does not compare
        return "" if 10**5 * abs(a - b) <= abs(b) else f"{a!r} and {b!r}"
    if isinstance(a, (ag.Tensor, float, int)):
        a, b = (x.detach() if isinstance(x, ag.Tensor) else x for x in (a, b))
        same = np.allclose(np.asarray(a), np.asarray(b), near, near / 10, equal_nan=True)
        return "" if same else f"{a!r} and {b!r}"
    return "" if a == b or isinstance(a, type) else f"{a!r} and {b!r}"
