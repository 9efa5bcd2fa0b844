"""Random functions of states: nests of tensors of many types through loops, branches, transforms.

A program is some functions ``f(c, x) -> (c, y)`` of a dictionary ``c`` and a vector ``x``, each of
those before: ``F`` and ``G`` in the tables.  A function reads and writes parts of the state at
computed places, through views, and hands the state to the transformations ``T``: the library's
own, or the plain ones of ``nested.py`` with loops of Python.

Capital letters are filled: ``V`` is a vector of three, ``S`` a number, ``M`` a matrix of two rows,
``I`` an integer, ``C`` a condition, ``B`` a mask of a vector, ``Q`` four integers, ``Z`` two
complex numbers, ``Y`` what a function returns beside its state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

import agnesi as ag
from agnesi.core.support.tree import flatten, leaves, map_leaves
from tests.fuzz.check import EXPECTED, Slow, Unclear, watched
from tests.fuzz.kinds import nested
from tests.fuzz.kinds.statements import Script, unlike
from tests.fuzz.values import Draw
from tests.fuzz.ways import BY_NAME

WAY = BY_NAME["carried states"]
TABLES: dict[str, tuple[str, ...]] = {
    "V": ("c['v']", "c['v']", "c['v']", "x", "x", "c['m'][I % 2]", "(V * V)", "(V + V)", "(V * S)",
          "ag.where(B, V, V)", "ag.sin(V)", "(V)[::-1]", "ag.sort(V)", "c['m'].sum(0)",
          "ag.take(V, ag.argsort(V, stable=True))", "(V)[(Q)[1:] % 3]", "ag.cumsum(V, 0)",
          "(M)[(Q)[:3] % 2, ag.arange(3)]", "ag.roll(V, 1)", "(V - ag.mean(V))", "(B).astype(D)",
          "ag.clip(V, -1, S)", "ag.maximum(V, V)", "((V) * 4).astype('int32').astype(D)",
          "ag.stack([S, S, S])", "ag.softmax(V, 0)", "(V)[[0, 0, 2]]", "ag.concat([V, V])[1:4]",
          "((Q)[:3] % 3).astype(D)", "as_(ag.real(Z))[[0, 1, 0]]",
          "ag.take_along_axis(M, ((Q)[None, :3]"
          " % 2), 0)[0]", "ag.einsum('ij,j->i', ag.outer(V, V), V)", "(M).max(0)",
          "ag.index_add(V, 0, (Q) % 3, ag.concat([V, V[:1]]))", "ag.searchsorted(ag.sort(V), V)"
          ".astype(D)", "(V).astype('float64').astype(D)", "ag.concat([V, c['e']])",
          "ag.zeros(3, dtype=D)", "ag.topk(V, 3)[0]", "ag.cummax(V, 0)[0]", "ag.tanh(V)",
          "ag.repeat(V[:2], ag.tensor([1, 2]))", "ag.pad(V[1:], (1, 0))", "ag.tril(ag.outer(V, V))"
          ".sum(0)", "ag.logcumsumexp(V, 0)", "ag.diagonal(ag.outer(V, V))", "ag.stop_gradient(V)"),
    "S": ("c['s']", "c['s']", "0.5", "(V)[I % 3]", "(V).sum()", "ag.max(V)", "(M).mean()",
          "(I).astype(D)", "(S * S)", "(S + S)", "(V)[1]", "(M)[I % 2, I % 3]",
          "ag.sum(V, where=B)",
          "as_(ag.imag(Z))[I % 2]", "as_(ag.abs(Z).sum())", "(V @ V)", "ag.median(V)", "ag.prod(V)",
          "ag.where(C, S, S)", "(V)[ag.argmax(V)]", "ag.sum(c['e'])", "ag.var(V)", "(-1.5)",
          "ag.logsumexp(V)", "ag.tanh(S)", "(V)[B].sum()", "(V)[-(I % 3) - 1]"),
    "M": ("c['m']", "c['m']", "ag.stack([V, V])", "(M * V)", "(M + S)", "(M)[::-1]", "ag.sin(M)",
          "ag.where(B, M, V)", "(M)[ag.stack([I, I]) % 2]", "ag.outer(V[:2], V)", "(M * M)",
          "ag.sort(M, axis=0)", "(M - (M).mean(1, keepdims=True))", "ag.cumsum(M, 1)",
          "(M)[:, (Q)[1:] % 3]", "ag.softmax(M, 0)", "ag.flip(M, 1)", "ag.roll(M, I % 2, 0)",
          "ag.reshape(ag.concat([V, V]), (2, 3))", "(M).T.reshape(2, 3)", "ag.tanh(M)"),
    "I": ("c['i']", "c['i']", "(Q)[0]", "(B).sum()", "ag.argmax(V)", "(I + I)", "(I // 2)",
          "ag.argmin(M)", "(Q).sum()", "(I * 2)", "ag.where(C, I, I)", "ag.count_nonzero(B)",
          "(Q).max()", "(Q)[I % 4]", "ag.searchsorted(ag.sort(V), S)", "ag.abs(I)"),
    "C": ("(S > 0)", "(I % 2 == 0)", "(B).any()", "c['b'][0]", "~C", "(C & C)", "(S < S)",
          "(C | C)", "ag.all(V > S)", "(I > I)", "(B)[I % 3]", "(C ^ C)"),
    "B": ("c['b']", "(V > 0)", "(V > S)", "~B", "(B & B)", "(V < V)", "((Q)[1:] % 2 == 0)",
          "(B | C)", "ag.isfinite(V)", "(ag.arange(3) == I % 3)", "(ag.cumsum(V) > S - 0.37)"),
    "Q": ("c['q']", "c['q']", "(Q)[::-1]", "(Q + I)", "ag.arange(4)", "ag.where(Q > 2, Q, I)",
          "ag.sort(Q)", "ag.cumsum(Q)", "(Q * Q)", "(Q)[ag.argsort(Q, stable=True)]",
          "ag.concat([ag.argsort(V, stable=True), (Q)[:1]])", "(Q ^ 3)", "ag.abs(Q)", "(Q >> 1)",
          "ag.roll(Q, I % 4)"),
    "Z": ("c['z']", "c['z']", "(Z * Z)", "(Z * S)", "ag.conj(Z)", "(Z)[::-1]", "ag.exp(Z * 1j)",
          "((V)[:2] + 1j * (V)[1:])", "ag.where(C, Z, Z)", "ag.fft.fft(Z)", "(Z / (2 + ag.abs(Z)))",
          "(Z + S)", "(Z)[(Q)[:2] % 2]"),
    "Y": ("V", "S", "M", "B", "(V, S)", "{'v': V, 'q': [Q, (I,)]}", "[M, {'b': B}]", "Z",
          "{'n': None, 's': S}", "(c['e'], I)", "(V, V, S, M, B, Q)"),
}
STATEMENTS = (
    *2 * ("c['v'] = V", "c['s'] = as_(S)", "c['m'] = M", "c['v'][I % 3] = S", "c['m'][I % 2] = V"),
    "c['i'] = whole(I)", "c['q'] = small(Q)", "c['b'] = B", "c['z'] = Z", "c['v'] += V",
    "c['v'][B] = S", "r = B\nc['v'][r] = (V)[r]", "c['m'][:, I % 3] = S",
    "c['m'][I % 2, I % 3] += S",
    "c['m'][:, B] *= 0.5", "c['v'][1:] = (V)[:-1]", "c['v'][::-1] = V", "c['q'][I % 4] = I",
    "c['v'][(Q)[:3] % 3] = S", "r = c['m'][I % 2]\nr[...] += V", "r = c['m'].T\nr[I % 3] = S",
    "r = c['m'].reshape(-1)\nr[I % 5:][:1] = S",
    "r = c['v'][1:]\nc['v'][...] *= S\nc['s'] = r.sum()",
    "r = c['m'][:, 1:]\nr[B[1:].any().astype('int64')] = S", "c['z'][I % 2] = (Z)[0]",
    "r = c['z'].real\nr[...] *= 0.5", "c['v'], c['m'] = (M).sum(0), ag.outer((V)[:2], V)",
    "c['v'] = ag.where(B, V, c['v'])", "c['m'][ag.arange(2), (Q)[:2] % 3] = S",
    "c['v'].mul_(S)", "c['v'].masked_fill_(B, S)", "c['m'].index_add_(0, (Q)[:2] % 2, M)",
    "c['v'].clamp_(-1, 1)", "c['b'][I % 3] = C", "c['b'][...] ^= B", "c['i'] += I % 2",
    "c['m'].T[B] = (V)[:2]", "r = c['v'] * 1\nfor k in range(2):\n    r[k] = r[k + 1] * S\n"
    "c['v'] = r", "rows = [V]\nfor k in range(3):\n    rows.append(rows[-1] * (V)[k])\n"
    "c['v'] = sum(rows[I_:])", "c['s'] = as_(ag.sum(c['e'] * S))", "c['v'][...] = V",
)
CALLS = (
    "c, y = F(c, V)\nc['s'] = as_(total(y))", "c, y = T.scan(F, c, M)\nc['v'] = V + total(y)",
    "c, y = T.scan(F, c, ag.outer(V, V), reverse=True)\nc['s'] = as_(total(y))",
    "c, y = T.scan(lambda c, u: F(c, u[0] * S), c, (M, (Q)[:2]))\nc['s'] = as_(total(y))",
    "c, y = T.scan(lambda c, u: F(c, u['a'] + u['k'].astype(D)), c, {'a': M, 'k': (Q)[2:]}, "
    "checkpoint=True)\nc['s'] = as_(total(y))",
    "c = T.fori_loop(0, 3, lambda j, c: F(c, (M)[j % 2])[0], c)",
    "c = T.fori_loop(0, I % 3, lambda j, c: F(c, x * S)[0], c)",
    "k, c = T.while_loop(lambda s: (s[0] < 3) & (s[1]['v'].sum() < 1), lambda s: (s[0] + 1, "
    "F(s[1], V)[0]), (0, c))\nc['i'] = whole(k + I)",
    "c = T.while_loop(lambda s: s['n'] < 2, lambda s: {**F(s, V)[0], 'n': s['n'] + 1}, "
    "{**c, 'n': ag.zeros((), dtype='int32')})\ndel c['n']",
    "c = T.cond(C, lambda c: F(c, V)[0], lambda c: G(c, V)[0], c)",
    "c, y = T.cond(C, F, lambda c, u: F(c, u * S), c, V)\nc['s'] = as_(total(y))",
    "c['v'], c['m'] = T.cond(C, lambda: (F(c, V)[0]['v'], M), lambda: (V, G(c, V)[0]['m']))",
    "c = T.switch(I % 3, [lambda c: F(c, x)[0], lambda c: G(c, x)[0], lambda c: c], c)",
    "y = T.vmap(lambda u: F(c, u)[1])(M)\nc['s'] = as_(total(y))",
    "d = T.vmap(lambda u: F({**c, 'v': u}, x)[0])(M)\nc = tree(lambda a: a[I % 2], d)",
    "d = T.vmap(lambda u, k: F({**c, 'v': u, 'i': k}, x)[0])(M, whole(Q)[:2])\nc = tree(lambda a: "
    "a[1], d)", "d, y = T.vmap(F, (None, 0))(c, M)\nc['v'] = d['m'][I % 2, 0] + total(y)",
    "c, y = jit(F)(c, V)\nc['s'] = as_(total(y))", "c, y = T.checkpoint(F, c, V)",
    "c['v'] = V + T.grad(lambda u: total(F({**c, 'v': u}, x)))(c['v'])",
    "d = T.grad(lambda d: total(F({**c, **d}, x)))({'v': c['v'], 'm': c['m']})\n"
    "c['m'] = d['m'] * 0.5\nc['v'] = c['v'] + d['v']",
    "k, d = T.value_and_grad(lambda u, w: total(F({**c, 'v': u, 'm': w}, x)), (0, 1))"
    "(c['v'], c['m'])\nc['m'], c['s'] = d[1], as_(k)",
    "c['v'] = T.jvp(lambda u: F({**c, 'v': u}, x)[0]['v'], (c['v'],), (V,))[1]",
    "c['v'] = T.jacrev(lambda u: F({**c, 'v': u}, x)[0]['v'])(c['v']) @ (V)",
    "y = T.map(lambda u: F(c, u)[1], M)\nc['s'] = as_(total(y))",
    "for k in range(2):\n    c, y = F(c, (M)[k])",
    "c, y = T.scan(lambda c, u: T.cond(u[I_] > 0, F, F, c, u), c, M)\nc['s'] = as_(total(y))",
    "c, y = T.scan(lambda c, u: (tree(lambda a, b: ag.where(u[0] > 0, a, b), F(c, u)[0], c), S), "
    "c, M)\nc['v'] = c['v'] + y.sum()",
)
HEAD = '''
D = {dtype!r}

def as_(u):
    return ag.asarray(u).astype(D)

def whole(u):
    return ag.asarray(u).astype("int64") % 5

def small(u):
    return ag.asarray(u).astype("int32") % 7

def total(nest):
    """A number that all floats of a nest are in."""
    found = [ag.asarray(u) for u in leaves(nest) if u is not None]
    found = [ag.real(u) if u.dtype.kind == "c" else u for u in found if u.dtype.kind in "fcV"]
    return sum([(u * ag.cos(ag.arange(u.size).reshape(u.shape)).astype(u.dtype)).sum().astype(D)
                for u in found], ag.zeros((), dtype=D))

def own(c):
    return {k: ag.copy(u) for k, u in c.items()}

def kept(c):
    """Of the types that a state has, with numbers that stay small."""
    c = dict(c)
    c["v"], c["m"], c["s"] = (ag.tanh(c[k]).astype(D) for k in "vms")
    c["i"], c["q"] = whole(c["i"]), small(c["q"])
    c["z"] = (c["z"] / (1 + ag.abs(c["z"]))).astype(K)
    return c

K = (ag.zeros(1, dtype=D) * 1j).dtype

def start(v, m):
    n = (v[0] * 0).astype("int32")  # of the arguments: graphs write into no tensors with values
    return {"v": v, "m": m, "s": v.sum(), "i": n.astype("int64") + 2, "b": v * m[0] > m[1] * n,
            "q": n + ag.tensor([3, 0, 5, 1], dtype="int32"), "e": v[3:],
            "z": (v[:2] + 1j * m[:, 0]).astype(K)}
'''
TAIL = '''
def main(v, m):
    c, y = last(start(v, m), m[1])
    return c, y

def cost(v, m):
    return total(main(v, m)).astype("float64")

def updated():
    """Calls of a declared graph whose states depend on each other."""
    return states(main, v, m)
'''
#: What is made of the program ``main`` at ``v`` and ``m``.
USES = (
    "main(v, m)", *2 * ("jit(main)(v, m)",), "jit(T.grad(cost, (0, 1)))(v, m)",
    "T.grad(cost, (0, 1))(v, m)", "jit(T.value_and_grad(cost))(v, m)",
    "jit(T.vmap(main, (0, None)))(ag.stack([v, v[::-1] * 0.5]), m)", "T.vmap(main)(ag.stack([v, "
    "-v]), ag.stack([m, m * 0.5]))", "jit(T.vmap(T.grad(cost), (0, None)))(ag.stack([v, -v]), m)",
    "jit(lambda v, m: T.jvp(cost, (v, m), (ag.cos(v), ag.sin(m))))(v, m)", "graph(main)(v, m)",
    "graph(T.grad(cost, (0, 1)))(v, m)", "jit(lambda v: T.scan(lambda s, u: (s + cost(u, m), "
    "main(u, m)[1]), ag.zeros((), dtype='float64'), ag.stack([v, -v])))(v)", "states(main, v, m)",
    "jit(T.grad(lambda v, m: sum((g * g).sum().astype('float64') for g in T.grad(cost, (0, 1))"
    "(v, m)), 1))(v, m)",
)
#: How far numbers of a dtype are moved, and how near results are.
ROUNDED = {"float64": (1e-9, 1e-6), "float32": (3e-5, 2e-3), "float16": (1e-2, 1e-1),
           "bfloat16": (4e-2, 3e-1)}
LONG, LARGE = 4, 1e5
#: What transformations refuse, besides: writes of graphs into values, floats of other types.
REFUSED = ("into a tensor that has a value", "the dtype must stay", "both must be of one type")
HOLES = re.compile(r"\b(?:[VSMICBQZY]|I_)\b")


# -- transformations of nests -------------------------------------------------------------------
def _stacked(rows: list[Any], axis: int = 0) -> Any:
    return map_leaves(lambda *us: ag.stack([ag.asarray(u) for u in us], axis), *rows)


def _scan(f: Any, carry: Any, xs: Any, reverse: bool = False, checkpoint: bool = False) -> Any:
    out, count = [], leaves(xs)[0].shape[0]
    for i in range(count)[:: -1 if reverse else 1]:
        carry, y = f(carry, map_leaves(lambda u, i=i: u[i], xs))
        out.append(y)
    return carry, _stacked(out[::-1] if reverse else out)


def _vmap(f: Any, in_axes: Any = 0, out_axes: int = 0) -> Any:
    def of(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        count = next(a.shape[x] for a, x in zip(args, axes, strict=True) if x is not None)
        return _stacked([f(*[a if x is None else ag.moveaxis(a, x, 0)[i] for a, x in zip(
            args, axes, strict=True)]) for i in range(count)], out_axes)
    return of


def _fori_loop(first: Any, last: Any, f: Any, carry: Any) -> Any:
    for i in range(int(first), int(last)):
        carry = f(ag.tensor(i), carry)
    return carry


def _jacobian(f: Any) -> Any:
    return lambda w: ag.stack([ag.grad(lambda u, i=i: f(u)[i])(w) for i in range(3)])


def _along(f: Any, xs: Any, ts: Any) -> Any:
    """A derivative along a direction, by a pullback of a pullback."""
    y = f(*xs)

    def by(g: Any) -> Any:
        pulled = ag.grad(lambda *us: (f(*us) * g).sum(), range(len(xs)))(*xs)
        return sum((p * t).sum() for p, t in zip(pulled, ts, strict=True))

    return y, ag.grad(by)(ag.ones_like(ag.stop_gradient(y)))


PLAIN = SimpleNamespace(**{**vars(nested.PLAIN), "scan": _scan, "vmap": _vmap, "jvp": _along,
                           "map": lambda f, xs: _vmap(f)(xs), "fori_loop": _fori_loop,
                           "jacrev": _jacobian})


def graph(f: Any, **options: Any) -> Any:
    """A function of two tensors by a declared graph of it."""
    def run(*args: Any) -> Any:
        given = [ag.symbolic.tensor(a.dtype, a.shape) for a in args]
        found, _ = flatten(f(*given))
        wanted = [i for i, u in enumerate(found) if isinstance(u, ag.Tensor)]
        made = ag.function(given, [found[i] for i in wanted], algebra="exact", **options)
        for i, u in zip(wanted, made(*[a.numpy() for a in args]), strict=True):
            found[i] = ag.asarray(u)
        return found
    return run


def _states(f: Any, v: Any, m: Any, **options: Any) -> Any:
    """Calls of a declared graph, each of which changes two states at once."""
    a, b = ag.shared(v.numpy().copy()), ag.shared(m.numpy().copy())
    c, _ = f(a.reshape(v.shape), b.reshape(m.shape))  # sizes of shared variables are open
    run = ag.function([], [a * 2, c["s"]], updates={a: c["v"] + b[0], b: c["m"] * a},
                      algebra="exact", **options)
    return [[ag.asarray(u) for u in run()] for _ in range(2)], a.get_value(), b.get_value()


def _states_by_hand(f: Any, v: Any, m: Any) -> Any:
    out = []
    for _ in range(2):
        c, _ = f(v, m)
        out.append([v * 2, c["s"]])
        v, m = c["v"] + m[0], c["m"] * v
    return out, v.numpy(), m.numpy()


@dataclass(frozen=True)
class States:
    """Functions of a state, each a row of statements; the last one is the program."""

    bodies: tuple[tuple[str, ...], ...]
    returns: tuple[str, ...]
    seed: int
    dtype: str
    use: str

    @property
    def source(self) -> str:
        """Python that defines ``main``."""
        made = [HEAD.replace("{dtype!r}", repr(self.dtype))]
        for i, (body, y) in enumerate(zip(self.bodies, self.returns, strict=True)):
            lines = ["c = own(c)", *(line for text in body for line in text.split("\n")),
                     f"return kept(c), {y}"]
            made.append("\n".join([f"def f{i}(c, x):", *("    " + line for line in lines)]))
        return "\n\n".join([*made, f"last = f{len(made) - 2}{TAIL}"])

    @property
    def near(self) -> float:
        return ROUNDED[self.dtype][1]

    def point(self, number: int = 0) -> list[Any]:
        """The arguments; those of numbers above 0 are moved a little."""
        rng = np.random.default_rng(self.seed)
        arrays = [rng.normal(size=size).round(2) for size in ((3,), (2, 3))]
        if number:
            noise = np.random.default_rng(number)
            arrays = [a * (1 + ROUNDED[self.dtype][0] * noise.uniform(-1, 1, a.shape))
                      for a in arrays]
        return [ag.tensor(a).astype(self.dtype) for a in arrays]

    def smaller(self) -> Iterator[States]:
        """With the last functions or some statements left out, returning something simple."""
        for count in range(1, len(self.bodies)):
            yield replace(self, bodies=self.bodies[:count], returns=self.returns[:count])
        for use in ("main(v, m)", "jit(main)(v, m)", "jit(T.grad(cost, (0, 1)))(v, m)"):
            if len(use) < len(self.use):
                yield replace(self, use=use)
        for i, body in enumerate(self.bodies):
            for j in reversed(range(len(body))):
                less = (*body[:j], *body[j + 1:])
                yield replace(self, bodies=(*self.bodies[:i], less, *self.bodies[i + 1:]))
            if self.returns[i] != "c['s']":
                yield replace(self, returns=(*self.returns[:i], "c['s']", *self.returns[i + 1:]))
            for j, text in enumerate(body):
                for plainer in _plainer(text):
                    more = (*body[:j], plainer, *body[j + 1:])
                    yield replace(self, bodies=(*self.bodies[:i], more, *self.bodies[i + 1:]))


def _plainer(text: str) -> Iterator[str]:
    """A statement whose inner expressions in parentheses are numbers or parts of the state."""
    for found in re.finditer(r"(?:[\w.]+)?\([^()]{5,}\)", text):
        for simple in ("c['v']", "c['m']", "c['s']", "c['i']", "c['q']", "c['b']"):
            yield text[: found.start()] + simple + text[found.end():]


@dataclass(frozen=True)
class Carried(Script):
    """Functions of states, by plain transformations and by the library's."""

    roundings = 0
    #: How often arguments are moved before something is called wrong.
    moved: ClassVar[int] = 6

    @property
    def source(self) -> str:
        """Python that shows the result; ``T`` is the library, or the plain transformations."""
        v, m = (f"ag.tensor({u.astype('float64').tolist()}, dtype={self.program.dtype!r})"  # type: ignore[attr-defined]
                for u in self.program.point())  # type: ignore[attr-defined]
        return ("import agnesi as ag\nfrom agnesi.core.support.tree import leaves, map_leaves as "
                "tree\nfrom tests.fuzz.kinds.carried import _states as states, graph\n"
                "from tests.fuzz.kinds.nested import OWN as T  # or PLAIN of carried\n"
                f"jit = ag.jit{self.program.source}\nv, m = {v}, {m}\n"
                f"run = lambda: {self.program.use}\nprint(run())")  # type: ignore[attr-defined]

    def expected(self, nudge: float = 0) -> Any:
        return self._plain(0)

    def _plain(self, number: int) -> Any:
        try:
            with watched(LONG):
                found = self._of(number, T=PLAIN, jit=lambda f: f, graph=lambda f: f,
                                 states=_states_by_hand)
        except (Slow, MemoryError):
            raise ValueError("derivatives by loops take long") from None
        for u in found:
            if isinstance(u, np.ndarray) and u.dtype.kind in "fcV":
                wide = u.astype("complex128")
                if not np.isfinite(wide).all() or abs(wide).max(initial=0) > LARGE:
                    raise ValueError("numbers too large to tell")
        return found

    def found(self) -> Any:
        options = {"exclude": list(self.exclude)} if self.exclude else {}
        try:
            return self._of(0, T=nested.OWN, jit=partial(ag.jit, **options),
                            graph=partial(graph, **options), states=partial(_states, **options))
        except (TypeError, ag.TraceError, ag.GradientError) as error:
            if any(text in str(error) for text in (*EXPECTED, *REFUSED)):
                raise Unclear from error
            raise

    def _of(self, number: int, **names: Any) -> Any:
        v, m = self.program.point(number)  # type: ignore[attr-defined]
        space: dict[str, Any] = {"ag": ag, "v": v, "m": m, "leaves": leaves, "tree": map_leaves,
                                 **names}
        with np.errstate(all="ignore"):
            exec(compile(self.program.source, "<program>", "exec"), space)
            found = leaves(eval(self.program.use, space))  # type: ignore[attr-defined]
        return [np.array(u.detach().numpy()) if isinstance(u, ag.Tensor) else u for u in found]

    def difference(self, expected: Any, found: Any) -> str:
        """How results differ, unless those of arguments moved a little do, too."""
        near = self.program.near
        told = _unlike(expected, found, near)
        if told:
            for number in range(1, self.moved):
                try:
                    moved = self._plain(number)
                except ValueError:
                    return ""
                if _unlike(expected, moved, near):
                    return ""
        return told


def _unlike(a: list[Any], b: list[Any], near: float) -> str:
    if len(a) != len(b):
        return f"{len(a)} and {len(b)} results"
    for x, y in zip(a, b, strict=True):
        if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
            if (x.dtype, x.shape) != (y.dtype, y.shape):
                return f"{x!r} and {y!r}"
            wide = [u.astype("complex128") for u in (x, y)]
            if not np.allclose(*wide, near, near / 10, equal_nan=True):
                return f"{x!r} and {y!r}"
        elif told := unlike(x, y, near):
            return told
    return ""


def carried(seed: Any) -> Carried:
    """A random program of states."""
    d = Draw(np.random.default_rng([*np.ravel(seed), 6]))
    bodies: list[tuple[str, ...]] = []
    returns = []
    for i in range(1 + d.below(4)):
        body = []
        for _ in range(1 + d.below(5)):
            text = d.one(CALLS if i and d.chance(0.45) else STATEMENTS)
            for hole in "FG":
                text = re.sub(rf"\b{hole}\b", f"f{d.below(i)}", text)
            body.append(_filled(d, text, 2))
        if i and not any(re.search(r"\bf\d", text) for text in body):
            text = re.sub(r"\bF\b", f"f{i - 1}", d.one(CALLS))
            body.append(_filled(d, re.sub(r"\bG\b", "f0", text), 1))
        bodies.append(tuple(body))
        returns.append(_filled(d, d.one(TABLES["Y"]), 2))
    dtype = d.one(("float64",) * 6 + ("float32",) * 2 + ("float16", "bfloat16"))
    made = States(tuple(bodies), tuple(returns), d.below(1 << 30), dtype, d.one(USES))
    return Carried(made, WAY)  # type: ignore[arg-type]


def _filled(d: Draw, text: str, depth: int) -> str:
    def fill(found: re.Match[str]) -> str:
        if found[0] == "I_":
            return str(d.below(2))
        table = TABLES[found[0]]
        return _filled(d, d.one(table if depth > 0 else table[:1]), depth - 1)

    return HOLES.sub(fill, text)
