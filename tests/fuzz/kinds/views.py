"""Random programs of views and writes: eager beside NumPy, compiled beside eager, to the bit.

A program is a function of a tensor ``a`` of any dtype and layout, of ``b``, which may look into
it, of ``c``, a tensor of its own, and of two places, ``m`` of Python's and the tensor ``k``.
In the tables ``W`` is a name, ``E`` what is written, ``I`` is a place, ``A`` an axis.
All names that the program binds are returned, so that what views see is known, and arguments are
compared afterwards, too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import agnesi as ag
from tests.fuzz.check import Unclear
from tests.fuzz.kinds.statements import Script
from tests.fuzz.oracles import reference
from tests.fuzz.pool import REFUSED
from tests.fuzz.run import needed
from tests.fuzz.values import Draw
from tests.fuzz.ways import BY_NAME

WAY = BY_NAME["views"]
#: Views that NumPy has, too, and those that it has not.
VIEWS = (
    "W[I:]", "W[:I]", "W[::-1]", "W[::2]", "W[I]", "W[..., I]", "W[..., I:]", "W[None]",
    "W[:, None]", "W.T", "W.T", "W.reshape(-1)", "W.reshape(-1)", "W.reshape((-1, 2))",
    "ag.moveaxis(W, 0, -1)", "ag.swapaxes(W, 0, -1)", "W.real", "W.imag", "W.squeeze()",
    "ag.expand_dims(W, A)", "ag.split(W, [1])[I]", "W.ravel()", "W[m:]", "W[..., m]",
    "W[m:].reshape(-1)", "W.transpose()", "ag.atleast_2d(W)", "W[:, ::-1]", "W[m]", "W[1:][:1]",
    "W.T.reshape(-1)", "ag.ravel(W)", "W[..., ::-1].T", "W[-1:, ..., I]", "W[::-1].reshape(-1)",
    "ag.flip(W, A)", "ag.rollaxis(W, -1)", "W.reshape(W.shape[::-1])",
)
OTHERS = (
    "W.diagonal(I)", "ag.diagonal(W, A)", "W.mT", "W.unfold(A, 2, 1)", "W.narrow(A, 0, 1)",
    "W.select(A, I)", "W.view(-1)", "W.unsqueeze(A)", "W.unbind(A)[I]", "W.chunk(2)[I]",
    "W.detach()", "W[int(k):]", "W[int(k)]", "W[..., int(k):].T", "W.permute(1, 0)", "W[k]",
    "ag.view_as_real(W)", "ag.sliding_window_view(W, 2, -1)", "W.expand(2, *W.shape)",
    "W.narrow(A, k, 1)", "W.flatten()", "W.contiguous()", "W[int(k):].reshape(-1)",
    "W.unflatten(A, (-1, 1))", "ag.unstack(W)[I]", "ag.broadcast_to(W, (2, *W.shape))",
    "ag.as_strided(W, (2,), (1,))", "W.movedim(0, -1)", "W.view(W.shape)", "W.data",
    "W.swapaxes(0, 1)[I]", "ag.tensor_split(W, 2)[I]", "W.split(1)[I]",
    "W.index_select(A, ag.arange(2))", "ag.squeeze(W, A)",
)
WRITES = (
    *3 * ("W += E", "W[...] = E", "W[I] = E", "W[I:] = E"), "W -= E", "W *= 2", "W[..., I] += E",
    "W[W > 1] = 2", "W[::-1] = W", "W[1:] = W[:-1]", "W[:-1] += W[1:]", "W[[0, -1]] = E",
    "W[[0, 0]] += 1", "W[m] = E", "W[m:] -= E", "W.T[...] = E", "W[None, I] = E",
    "ag.add(W, E, out=W)", "W[..., ::-1] = E", "W.reshape(-1)[I:] = E", "W[I], W[m] = W[m], W[I]",
    "W.T[I:] *= 3", "W.real[...] = E", "W.imag[...] = E", "W[W == W] = E", "W[1:] += W[:1]",
    "for i in range(2):\n    W[i] = E", "if m:\n    W[...] = E", "ag.copyto(W, E)",
    "for row in W:\n    row += E", "W[ag.arange(2)] = E", "W //= 2", "ag.negative(W, out=W)",
)
METHODS = (
    "W.fill_(3)", "W.copy_(E)", "W.neg_()", "jit(bump)(W)", "jit(bump)(W)", "jit(shift)(W, E)",
    "jit(shift)(W, E)", "W.add_(E, alpha=2)", "W[int(k)] = E", "W[int(k):] += E", "W.zero_()",
    "W.T.mul_(2)", "W.clamp_(-2, 2)", "W[k] = E", "W.reshape(-1).sub_(1)",
    "W.masked_fill_(W > 2, 1)", "W.index_fill_(A, ag.arange(1), 2)",
    "W.index_add_(A, ag.arange(1), W[:1])", "W.narrow(A, 0, 1).fill_(5)", "W.diagonal().fill_(4)",
    "W.cumsum_(A)", "W.data[...] = E", "W.select(A, I).copy_(E)", "W.unfold(A, 2, 1)[0] += 1",
    "ag.fori_loop(0, 2, lambda i, u: u + W.sum(), 0 * W.sum())", "swap(W, W)",
    "looped(W, E, k)", "scanned(W, E, k)", "turned(W, E, k)", "chosen(W, W, k)", "picked(W, W, k)",
)
VALUES = (
    "W * 2 + 1", "W.sum(0)", "ag.copy(W)", "W.astype('float64')", "ag.concat([W, W])",
    "ag.cumsum(W.reshape(-1))", "W + W", "ag.stack([W, W])", "W.copy()",
    "W[[0, -1]]", "ag.where(W > 1, W, 0)", "W.max(axis=-1)", "W - W", "W.real + W.imag",
    "ag.zeros((2, 3), dtype='float64') + W", "ag.asarray(W)", "+W", "W[W > 0].sum()",
    "ag.zeros_like(W)",
)
#: Values of loops and branches that write; copies, and what lies in rows where NumPy's does not.
CONTROLLED = ("looped(W, E, k)", "scanned(W, W, k)[1][0]", "scanned(W, E, k)[1][2]",
              "turned(W, E, k)", "chosen(W, W, k)[0]", "picked(W, W, k)[1]",
              "ag.array(W)", "ag.tensor(W)", "ag.sort(W, axis=-1)")
WRITTEN = ("W", "W", "W * 2", "W.sum()", "3", "W[::-1]", "W + W", "W[I]", "ag.where(W > 1, W, 0)",
           "W.T", "W[:1]", "W[..., :1]", "1.5", "-W", "W.real", "W.imag", "True", "W[I:]")
HEAD = '''
def bump(u):
    u += 1

def shift(u, w):
    u[1:] = u[:-1] * 1
    u[:1] = w
    return u

def swap(u, w):
    u[...], w[...] = ag.copy(w), ag.copy(u)

def looped(u, w, k):
    def step(i, s):
        v = u.T
        u[(i + k) % 2] = w
        s = s + v.sum()
        v[...] += 1
        return s + u.reshape(-1)[0]
    return ag.fori_loop(0, 2, step, 0 * u.sum())

def scanned(u, w, k):
    def step(s, x):
        v = u[::-1]
        before = u[k] * 1
        v[...] = x
        v[1:][:1] -= s
        return s + u.sum(), (before, v[0], u[k])
    return ag.scan(step, 0 * u.sum(), w)

def turned(u, w, k):
    def step(c):
        v = u[1:]
        v[...] = c[1]
        u.T[0] += 1
        return c[0] + 1, v.sum()
    return ag.while_loop(lambda c: c[0] < k + 2, step, (0 * k, 0 * u[1:].sum()))[1]

def chosen(u, w, k):
    def one():
        v = u.reshape(-1)
        v[1:] = v[:-1] * 1
        return u.sum(), w.sum()
    def other():
        w[...] = u
        u[::-1][:1] = 3
        return w.sum(), u.sum()
    return ag.cond(k > 0, one, other)

def picked(u, w, k):
    def step(s, x):
        ag.cond(x.sum() > 1, lambda: (bump(u), 0)[1], lambda: (shift(w, x), 0)[1])
        return s + w.sum(), u[k] * 1
    return ag.scan(step, 0 * w.sum(), u * 1)
'''
#: Arguments that look into ``a``, and layouts of it.
ALIASES = ("", "", "", "a", "a[1:]", "a.T", "a.reshape(-1)", "a[::-1]", "a[..., 0]", "a[:1]",
           "a[..., ::2]")
LAYOUTS = ("@", "@", "@", "@.T", "@[::-1]", "@.T.copy().T", "@[..., ::-1]", "@[::2]", "@[1:]")
DTYPES = ("float64", "float64", "int64", "float32", "int32", "complex128", "bool", "uint8",
          "complex64", "float16")
#: What is made of the program ``f``.
USES = (
    *4 * ("call(jit(f))",), "call(jit(lambda *xs: jit(f)(*xs)))", "closed(jit)",
    "call(jit(f, optimizer='fast_compile'))", "call(f)", "call(f)", "call(f)", "slopes(jit)",
    "call(jit(f, optimizer='None'))", "held(jit)", "mapped(ag.vmap)", "mapped(jitted_vmap)",
)
TAIL = '''
def jitted_vmap(g, *axes):
    return jit(ag.vmap(g, *axes))

def call(run):
    out = []
    for turn in range(3):
        args = arguments(turn)
        out.append([copied(run(*args)), copied(args)])
    return out

def closed(jit):
    """What is written are tensors from outside of the function."""
    out, args = [], arguments(0)
    run = jit(lambda: f(*args))
    for turn in range(3):
        out.append([copied(run()), copied(args)])
    return out

def held(jit):
    """They are views that a thing holds, which are made anew between the calls."""
    class Thing: pass
    thing, out = Thing(), []
    run = jit(lambda: f(thing.a, thing.b, *thing.rest))
    for turn in (0, 0, 1):
        args = arguments(turn)
        thing.a, thing.b, thing.rest = args[0], args[1], args[2:]
        out += [[copied(run()), copied(args)] for _ in range(2)]
    return out

def cost(a, b, c, m, k):
    parts = [ag.real(r * ag.conj(r) * (ag.arange(r.size).reshape(r.shape) % 3 + 1)).sum()
             for r in f(a * 1, b * 1, c * 1, m, k) if r.dtype.kind in "fc"]
    return sum([p.astype("float64") for p in parts], ag.zeros((), dtype="float64"))

def slopes(jit):
    run = jit(ag.grad(cost, tuple(i for i in range(3) if arguments(0)[i].dtype.kind in "fc")))
    return [copied(run(*arguments(turn))) for turn in range(2)]

def mapped(vmap):
    """Each example is a copy, so that eager writes into it are its own."""
    rows = [arguments(turn) for turn in (0, 0)]
    given = [ag.stack([r[i] * 1 for r in rows]) for i in range(3)]
    def g(a, b, c): return f(ag.copy(a), ag.copy(b), ag.copy(c), *rows[0][3:])
    return copied(vmap(g)(*given))
'''


@dataclass(frozen=True)
class Views:
    """Lines of the function, its arguments, and what is made of it."""

    lines: tuple[str, ...]
    shape: tuple[int, ...]
    dtypes: tuple[str, str]
    layout: str
    alias: str
    use: str
    nudge: float = 0
    near: float = 0

    @property
    def source(self) -> str:
        """Python that defines ``f``."""
        body = [f"    {line}" for text in self.lines for line in text.split("\n")]
        names = ", ".join(dict.fromkeys(
            n for text in self.lines for n in re.findall(r"^(v\d+) = ", text)))
        return "\n".join([needed(HEAD, "\n".join(body)), "", "def f(a, b, c, m, k):", *body,
                          f"    return [{names}]", "", needed(TAIL, self.use)])

    def arrays(self, turn: int) -> list[Any]:
        """Arrays of a call: the last one has more rows."""
        rng = np.random.default_rng(turn)
        shape = (self.shape[0] + (turn > 1), *self.shape[1:]) if self.shape else ()

        def drawn(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
            whole = rng.integers(0 if dtype in ("bool", "uint8") else -3, 4, shape)
            found = whole + 1j * rng.integers(-3, 4, shape) if dtype[0] == "c" else whole
            return np.asarray(found.astype(dtype))

        a = eval(self.layout.replace("@", "y"), {"y": drawn(self.dtypes[0], shape)})
        return [a, drawn(self.dtypes[1], shape), turn % 2]

    def arguments(self, turn: int, lib: Any) -> list[Any]:
        """Those of a call."""
        a, c, m = self.arrays(turn)
        a, c = lib.asarray(a), lib.asarray(c)
        b = eval(self.alias, {"a": a}) if self.alias else lib.asarray(self.arrays(turn + 7)[1])
        return [a, b, c, m, lib.asarray(1 - m)]

    def smaller(self) -> Iterator[Views]:
        """Without some lines, plainer."""
        for i in reversed(range(len(self.lines))):
            yield replace(self, lines=self.lines[:i] + self.lines[i + 1:])
        for i, line in enumerate(self.lines):
            bound = re.match(r"v\d+ = ([abcv]\d*)", line)
            if bound and line != bound[0]:
                yield replace(self, lines=(*self.lines[:i], bound[0], *self.lines[i + 1:]))
        for plainer in ({"layout": "@"}, {"alias": ""}, {"dtypes": ("float64",) * 2},
                        {"use": "call(jit(f))"}, {"shape": (2, 3)}, {"shape": (2,)}):
            if any(getattr(self, k) != v for k, v in plainer.items()):
                yield replace(self, **plainer)  # type: ignore[arg-type]


def _copied(found: Any) -> Any:
    """All arrays of a nest, as they are now."""
    if isinstance(found, (list, tuple)):
        return [_copied(x) for x in found]
    return np.array(found.detach().numpy() if isinstance(found, ag.Tensor) else found)


class _Numpy:
    """NumPy's functions, and those that a program has besides."""

    concat, unstack = np.concatenate, staticmethod(lambda x: list(x))

    def __getattr__(self, name: str) -> Any:
        return getattr(reference, name)


@dataclass(frozen=True)
class Written(Script):
    """Views and writes: eager beside NumPy for plain calls, compiled beside eager."""

    roundings = 0

    @property
    def source(self) -> str:
        """Python that shows the result."""
        p = self.program
        lines = []
        for turn in range(3):
            a, c, m = p.arrays(turn)  # type: ignore[attr-defined]
            b = p.alias or f"ag.asarray({_text(p.arrays(turn + 7)[1])})"  # type: ignore[attr-defined]
            lines.append(f"    a, c = ag.asarray({_text(a)}), ag.asarray({_text(c)})\n"
                         f"    if turn == {turn}: return [a, {b}, c, {m}, ag.asarray({1 - m})]")
        made = "\n".join(lines)
        return ("import numpy as np\nimport agnesi as ag\njit = ag.jit  # or lambda f: f\n"
                f"# a lies in memory as {p.layout} of one in rows\n"  # type: ignore[attr-defined]
                "from tests.fuzz.kinds.views import _copied as copied\n"
                f"def arguments(turn):\n{made}\n"
                f"{p.source}\nrun = lambda: {p.use}\nprint(run())")

    def expected(self, nudge: float = 0) -> Any:
        eager: Callable[..., Any] = lambda f, **_: f  # noqa: E731
        if self.program.use == "call(f)":  # type: ignore[attr-defined]
            return self._of(_Numpy(), eager)
        return self._of(ag, eager, vmap=_looped)

    def found(self) -> Any:
        options = {"exclude": list(self.exclude)} if self.exclude else {}
        try:
            return self._of(ag, partial(ag.jit, **options))
        except REFUSED as error:
            if re.search(r"chosen\(|picked\(", "".join(self.program.lines)):  # type: ignore[attr-defined]
                raise Unclear from error  # a branch that is not taken does not fit
            raise

    def _of(self, lib: Any, jit: Any, vmap: Any = None) -> Any:
        program: Any = self.program
        space: dict[str, Any] = {"ag": lib, "np": np, "jit": jit, "copied": _copied,
                                 "arguments": lambda turn: program.arguments(turn, lib)}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            exec(compile(program.source, "<program>", "exec"), space)
            use = re.sub(r"mapped\(.*\)", "mapped(looped)", program.use) if vmap else program.use
            space["looped"] = vmap
            return eval(use, space)

    def difference(self, expected: Any, found: Any) -> str:
        """How results differ, by a bit."""
        return _unlike(expected, found)


def _text(array: np.ndarray) -> str:
    return f"np.array({array.tolist()}, {array.dtype.name!r}).reshape({array.shape})"


def _looped(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(*rows: Any) -> Any:
        found = [f(*[r[i] for r in rows]) for i in range(2)]
        return [ag.stack([ag.asarray(x) for x in column]) for column in zip(*found, strict=True)]
    return run


def _unlike(a: Any, b: Any) -> str:
    if isinstance(a, list):
        if len(a) != len(b):
            return f"{a} and {b}"
        return next(filter(None, (_unlike(x, y) for x, y in zip(a, b, strict=True))), "")
    same = a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=True)
    return "" if same else f"{a!r} and {b!r}"


def views(seed: Any) -> Written:
    """A random program of views and writes that runs eagerly."""
    d = Draw(np.random.default_rng([*np.ravel(seed), 5]))
    use = d.one(USES)
    plain = use == "call(f)"
    shape = tuple(d.one((0, 1, 2, 2, 3, 3, 3, 4)) for _ in range(d.one((1, 1, 2, 2, 2, 3))))
    dtypes = (d.one(DTYPES), d.one(DTYPES))
    dtypes = (dtypes[0], dtypes[0]) if plain or d.chance(0.6) else dtypes
    made = Views((), shape, dtypes, d.one(LAYOUTS), d.one(ALIASES), use)
    tables = (VIEWS, WRITES, VALUES) if plain else (
        VIEWS + OTHERS, WRITES + METHODS, (*VALUES, *CONTROLLED))
    count, wanted, known = 0, 4 + d.below(15), ["a", "a", "b", "c"]
    for _ in range(90):
        which = d.one((0, 0, 0, 1, 1, 1, 1, 2))
        text = _filled(d, d.one(tables[which]), known)
        bound = f"ag.asarray({text})" if plain else text  # NumPy's numbers are no arrays
        line = text if which == 1 else f"v{count + 1} = {bound}"
        more = replace(made, lines=(*made.lines, line))
        if not _runs(more):
            continue
        made = more
        if which != 1:
            count += 1
            known += [f"v{count}"] * 2
        if len(made.lines) >= wanted:
            break
    return Written(made, WAY)  # type: ignore[arg-type]


def _filled(d: Draw, text: str, known: list[str]) -> str:
    """A line with its holes filled."""
    def fill(found: re.Match[str]) -> str:
        hole = found[0]
        if hole == "E":
            return re.sub(r"\b[WIA]\b", fill, d.one(WRITTEN))
        return str(d.below(2) if hole in "IA" else d.one(known))

    first = d.one(known)
    text = re.sub(r"\bW\b", first, text) if d.chance(0.5) and "E" not in text else text
    return re.sub(r"\b[WIAE]\b", fill, text)


def _runs(program: Views) -> bool:
    """Whether a program runs eagerly, and what it makes is small, in all calls."""
    try:
        found = Written(program, WAY)._of(ag, lambda f, **_: f)  # type: ignore[arg-type]
    except (*REFUSED, AttributeError, RuntimeError, NotImplementedError):
        return False
    return all(x.size < 500 for x in _flat(found))


def _flat(found: Any) -> list[Any]:
    return [y for x in found for y in _flat(x)] if isinstance(found, list) else [found]
