"""Random programs of the whole library: lines of its functions, methods, layers and streams.

A program is a function ``main(v, m)`` of a vector and a matrix, a row of lines of ``library.py``
each of which is kept if it runs.  What is made of it (compiled calls, gradients, ``vmap``, graphs,
loops) is compared with what plain transformations and eager calls give, as those of ``carried.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.core.support.tree import leaves, map_leaves
from tests.fuzz.check import Slow, watched
from tests.fuzz.kinds import library, nested
from tests.fuzz.kinds.carried import LARGE, LONG, PLAIN, ROUNDED, Carried, _unlike
from tests.fuzz.oracles import rounded
from tests.fuzz.values import Draw
from tests.fuzz.ways import BY_NAME

WAY = BY_NAME["library"]
HEAD = '''
D = {dtype!r}
nn = ag.nn
ag.manual_seed(7)

def total(nest):
    """A number that all floats of a nest are in."""
    found = [ag.asarray(u) for u in leaves(nest) if u is not None]
    found = [ag.real(u) if u.dtype.kind == "c" else u for u in found if u.dtype.kind in "fcV"]
    return sum([(u * ag.cos(ag.arange(u.size).reshape(u.shape)).astype(u.dtype)).sum().astype(D)
                for u in found], ag.zeros((), dtype=D))

def first(layer):
    return lambda x: layer(x)[0]
'''
START = '''
    s, i, b, z = v.mean() + 0.1, ag.argmax(v), v > 0.1, v + 1j * v[::-1]
    j = ag.arange(v.shape[0]) * 5 % 4 - 1
    a = ag.matmul(m, m.T) + 2 * ag.eye(m.shape[0], dtype=D)
    l = ag.sin(ag.outer(ag.arange(1, 7, dtype=D), v)).reshape(2, 3, v.shape[0])
    p = ag.sin(ag.outer(ag.arange(1, 81, dtype=D), v[:1])).reshape(2, 2, 5, 4) + m.mean()
'''.strip("\n")
TAIL = '''
def cost(v, m):
    return total(main(v, m)).astype("float64")

def taped(v, m):
    v, m = v.detach().clone(), m.detach().clone()
    v.requires_grad_(), m.requires_grad_()
    cost(v, m).backward()
    return [ag.zeros_like(u) if u.grad is None else u.grad for u in (v, m)]

ag.manual_seed(5)
R = ag.random.Generator(3)
'''
#: What is made of ``main``: of programs that draw, those that call it as often.
DRAWING = (
    *3 * ("jit(main)(v, m)", "jit(T.grad(cost, (0, 1)))(v, m)"),
    "jit(T.value_and_grad(cost))(v, m)",
    "jit(main, optimizer='fast_compile')(v, m)", "T.grad(jit(cost), (0, 1))(v, m)",
    "(lambda g: [g(v, m), g(v * 0.5, m[::-1])])(jit(main))", "jit(taped)(v, m)",
    "(lambda g: [g(v, m), g(v[:-1], m[:, :-1]), g(v, m)])(jit(main))",
    "jit(T.grad(lambda v, m: T.checkpoint(cost, v, m), (0, 1)))(v, m)",
    "jit(lambda: [main(v, m), main(v * 0.7, m)])()",
)
USES = (
    *DRAWING, *DRAWING, "T.vmap(main, (0, None))(ag.stack([v, v[::-1] * 0.5]), m)",
    "jit(T.vmap(main))(ag.stack([v, -v]), ag.stack([m, m * 0.5]))", "graph(main)(v, m)",
    "jit(T.vmap(T.grad(cost), (0, None)))(ag.stack([v, v * 0.5]), m)", "graph(main)(v, m)",
    "jit(lambda v, m: T.jvp(cost, (v, m), (ag.cos(v), ag.sin(m))))(v, m)",
    "graph(T.grad(cost, (0, 1)))(v, m)", "warm(main)(v, m)", "warm(T.grad(cost, (0, 1)))(v, m)",
    "jit(lambda v: T.scan(lambda s, u: (s + cost(u, m), main(u, m)), ag.zeros((), "
    "dtype='float64'), ag.stack([v, v * 0.5])))(v)",
    "jit(lambda v, m: T.cond(v.sum() > 0, main, lambda v, m: main(v * 0.5, m), v, m))(v, m)",
    "jit(T.grad(lambda v, m: T.fori_loop(0, 2, lambda k, c: c + cost(v * (k + 1), m), "
    "ag.zeros((), dtype='float64')), (0, 1)))(v, m)",
    "jit(T.grad(lambda v, m: sum((g * g).sum().astype('float64') for g in T.grad(cost, (0, 1))"
    "(v, m)), 1))(v, m)",
)
#: Values that a line may make at most: how many, how large.
MOST, BOUND = 400, 1e3
WARM = 40
HOLES = re.compile(r"\b[VMALPSZJIBXNHE]\b")


#: The sections of lines by the kinds of what they make.
SECTIONS = {"v": "vectors", "m": "matrices", "l": "higher", "p": "images", "s": "numbers",
            "j": "integers", "i": "counts", "b": "masks", "z": "complex", "a": "squares",
            "x": "sparse"}


@cache
def tables() -> dict[str, tuple[str, ...]]:
    """The lines by the kinds of what they make; those of ``w`` are statements."""
    found = {kind: library.sections()[name] for kind, name in SECTIONS.items()}
    return found | {"e": (*library.everywhere(),), "w": (*library.writes(),)}


@cache
def in_turn() -> tuple[tuple[str, str], ...]:
    """Lines and their kinds, and what makes layers, whose kind is ``n``, shuffled."""
    lines = [(kind, text) for kind, texts in tables().items() for text in texts]
    lines += [("n", made) for made in library.sections()["layers"]]
    order = np.random.default_rng(0).permutation(len(lines))
    return tuple(lines[i] for i in order)


#: What differs from call to call, and what asks for values, which graphs and ``vmap`` have not.
OFTEN = re.compile(
    r"\bR\.|dropout|Dropout|rrelu|gumbel_s|random|rsample|bernoulli|multinomial|cauchy_|normal_\(|"
    r"uniform_|exponential_|geometric_|fractional|BatchNorm|running|spectral| if |\bfloat\(|item\(|"
    r"\blen\(")
#: Lines of each program that are those next in turn, so that few programs use each of them.
IN_TURN = 6
#: Seeds that follow each other, of which one is of such a program.
APART = 7
#: How often lines of a kind are drawn.
KINDS = "vvvvvmmmmmeeeewwwwlppssjjibzax"


@dataclass(frozen=True)
class Lines:
    """A program of lines, with layers around, at a point, for a use."""

    around: tuple[str, ...]
    body: tuple[str, ...]
    returns: tuple[str, ...]
    seed: int
    size: tuple[int, int]
    dtype: str
    use: str

    @property
    def source(self) -> str:
        """Python that defines ``main``."""
        body = [START, *("    " + line for text in self.body for line in text.split("\n"))]
        return "\n".join([HEAD.replace("{dtype!r}", repr(self.dtype)), *self.around, "",
                          "def main(v, m):", *body,
                          f"    return ({', '.join(self.returns)},)", TAIL])

    @property
    def near(self) -> float:
        return ROUNDED[self.dtype][1]

    def point(self, number: int = 0) -> list[Any]:
        """The arguments; those of numbers above 0 are moved a little."""
        rng = np.random.default_rng(self.seed)
        arrays = [rng.normal(size=size).round(2) for size in (self.size[1:], self.size)]
        if number:
            noise = np.random.default_rng(number)
            arrays = [a * (1 + ROUNDED[self.dtype][0] * noise.uniform(-1, 1, a.shape))
                      for a in arrays]
        return [ag.tensor(a).astype(self.dtype) for a in arrays]

    def smaller(self) -> Iterator[Lines]:
        """With fewer results or lines, or a simpler use."""
        for name in self.returns:
            if len(self.returns) > 1:
                yield replace(self, returns=(name,))
        for use in ("main(v, m)", "jit(main)(v, m)", "jit(T.grad(cost, (0, 1)))(v, m)"):
            if len(use) < len(self.use):
                yield replace(self, use=use)
        for i in reversed(range(len(self.body))):
            yield replace(self, body=(*self.body[:i], *self.body[i + 1:]))
        for i in range(len(self.around)):
            yield replace(self, around=(*self.around[:i], *self.around[i + 1:]))


@dataclass(frozen=True)
class Broad(Carried):
    """A program of lines, eagerly and by the library's transformations."""

    def _plain(self, number: int, source: str = "", names: dict[str, Any] | None = None) -> Any:
        try:
            with watched(LONG):
                found = self._of(number, source=source, T=PLAIN, jit=lambda f, **_: f,
                                 graph=lambda f: f, warm=lambda f: f, **(names or {}))
        except (Slow, MemoryError):
            raise ValueError("derivatives by loops take long") from None
        for u in found:
            if isinstance(u, np.ndarray) and u.dtype.kind in "fcV":
                wide = u.astype("complex128")
                if not np.isfinite(wide).all() or abs(wide).max(initial=0) > LARGE:
                    raise ValueError("numbers too large to tell")
        return found

    def _of(self, number: int, source: str = "", **names: Any) -> Any:
        names.setdefault("warm", lambda f: lambda *a: [f(*a) for _ in range(WARM)][-1])
        v, m = self.program.point(number)  # type: ignore[attr-defined]
        space: dict[str, Any] = {"ag": ag, "v": v, "m": m, "leaves": leaves, "tree": map_leaves,
                                 **names}
        with np.errstate(all="ignore"):
            exec(compile(source or self.program.source, "<program>", "exec"), space)
            found = leaves(eval(self.program.use, space))  # type: ignore[attr-defined]
        return [np.array(u.detach().numpy()) if isinstance(u, ag.Tensor) else u for u in found]

    @property
    def source(self) -> str:
        """Python that shows the result."""
        return Carried.source.fget(self).replace(  # type: ignore[attr-defined]
            "\nv, m = ", "\nwarm = lambda f: lambda *a: [f(*a) for _ in range(40)][-1]\nv, m = ")

    def difference(self, expected: Any, found: Any) -> str:
        """How results differ, unless those of arguments moved a little do, or those of a program
        whose operations are rounded otherwise."""
        near, told = self.program.near, super().difference(expected, found)  # type: ignore[attr-defined]
        if not told:
            return ""
        source = rounded.marked(self.program.source, every=True)
        try:
            if _unlike(expected, self._plain(0, source, rounded.names(None)), near):
                return told  # it writes into what a mark copies
            other = (self._plain(0, source, rounded.names(np.random.default_rng(n)))
                     for n in range(self.moved))
            return "" if any(_unlike(expected, u, near) for u in other) else told
        except ValueError:
            return ""


def broad(seed: Any) -> Broad:
    """A random program of the library's lines, some of which are those whose turn it is."""
    d = Draw(np.random.default_rng([*np.ravel(seed), 8]))
    first = int(np.ravel(seed)[-1]) // APART * IN_TURN
    return Broad(_Writer(d).program(first), WAY)  # type: ignore[arg-type]


class _Writer:
    """Writes lines that run."""

    def __init__(self, d: Draw) -> None:
        self.d = d
        dtype = d.one(("float64",) * 7 + ("float32",) * 2 + ("float16", "bfloat16"))
        size = (d.one((1, 2, 2, 2, 3)), d.one((1, 2, 3, 3, 3, 3, 3, 3, 4)))
        self.made = Lines((), (), ("s",), d.below(1 << 30), size, dtype, d.one(USES))
        self.known = {k: [k] for k in "vmsibzjalp"}
        self.around: list[str] = []
        self.body: list[str] = []
        self.own: list[str] = []
        self.count = 0
        #: Lines that did not run, and how.
        self.refused: list[tuple[str, Exception]] = []

    def program(self, first: int) -> Lines:
        """The program, with lines in turn from the first one."""
        v, m = self.made.point()
        self.space: dict[str, Any] = {
            "ag": ag, "leaves": leaves, "tree": map_leaves, "T": nested.OWN,
            "jit": lambda f, **_: f, "v": v, "m": m}
        start = "\n".join(line[4:] for line in START.split("\n"))
        exec(HEAD.replace("{dtype!r}", repr(self.made.dtype)) + start + TAIL, self.space)
        lines = in_turn()
        for i in range(first, first + IN_TURN):
            any(self._line(*lines[i % len(lines)]) for _ in range(3))
        for _ in range(1 + self.d.below(4)):
            any(self._line() for _ in range(6))
        names = self.own[-1 - self.d.below(4):] or ["s"]
        found = replace(self.made, around=tuple(self.around), body=tuple(self.body),
                        returns=tuple(names))
        if found.use not in DRAWING and OFTEN.search(found.source.replace(TAIL, "")):
            return replace(found, use=self.d.one(DRAWING))
        return found

    def _line(self, kind: str = "", text: str = "") -> bool:
        kind = kind or self.d.one(KINDS)
        text = text or self.d.one(tables()[kind])
        made = text if kind == "n" else ""
        text = self.d.one(("N(M)", "N(L)", "N(P)")) if made else text
        for _ in range(text.count("U")):
            text = text.replace("U", self.d.one(("", "", *library.sections()["views"])), 1)
        each = self.d.one("VVVVMMMMSLP" if kind != "w" else "VVVMMML")
        layer: list[str] = []
        if re.search(r"\bX\b", text) and "x" not in self.known:
            return False

        def fill(found: re.Match[str]) -> str:
            hole = each if found[0] == "E" else found[0]
            if hole == "H":
                return str(self.d.below(4))
            if hole == "N":
                return self._layer(layer, made)
            names = self.known[hole.lower()]
            return self.d.one(names[-3:] if self.d.chance(0.6) else names)

        text = HOLES.sub(fill, text)
        self.count += 1
        name = f"{kind}{self.count}"
        if kind == "w":
            text = re.sub(r"\b([wr])\b(?!\()", rf"\g<1>{self.count}", text)
        else:
            text = f"{name} = {text}"
        return self._kept(name, layer, text)

    def _layer(self, new: list[str], made: str) -> str:
        wrapped = not made and self.d.chance(0.15)
        made = made or self.d.one(library.sections()["wrapped" if wrapped else "layers"])
        name = f"N{len(self.around) + len(new)}"
        new.append(f"{name} = " + (f"first({made}.to(D))" if wrapped else f"{made}.to(D)"))
        return name

    def _kept(self, name: str, layer: list[str], text: str) -> bool:
        space = dict(self.space)
        try:
            with watched(2), np.errstate(all="ignore"):
                exec("\n".join([*layer, text]), space)
        except (Slow, MemoryError):
            return False
        except Exception as error:
            self.refused.append((text, error))
            return False
        value = space[name]
        kind = _kind(value)
        if not kind:
            return False
        self.space = space
        self.known.setdefault(kind, []).append(name)
        self.around += layer
        self.body.append(text)
        if kind != "x":
            self.own.append(name)
        return True


def _kind(value: Any) -> str:
    """What holes a value fills; empty where it is none to go on with."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "s" if isinstance(value, float) and math.isfinite(value) else ""
    if isinstance(value, ag.sparse.SparseTensor):
        return "x"
    if not isinstance(value, ag.Tensor) or not 0 < value.size <= MOST:
        return ""
    number = value.detach().numpy()
    if number.dtype.kind in "fcV":
        wide = number.astype("complex128")
        if not np.isfinite(wide).all() or abs(wide).max() > BOUND:
            return ""
        kinds = "z" if number.dtype.kind == "c" else "svmlp"
        if number.dtype.kind == "c":
            return "z" if value.ndim == 1 else ""
        return kinds[value.ndim] if value.ndim < len(kinds) else ""
    if abs(number.astype("int64")).max() > BOUND or value.ndim > 1:
        return ""
    if number.dtype.kind == "b":
        return "b" if value.ndim else ""
    return "j" if value.ndim else "i"
