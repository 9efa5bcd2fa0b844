"""Random transformations in each other: what agnesi makes of them beside loops and reverse mode.

A program is some functions of a vector ``w`` of three, each of those before: ``F`` and ``G`` in the
tables.  ``T`` has the transformations: agnesi's own, or plain ones: loops of Python, functions that
a derivative rule is written for as they are, and all derivatives by ``ag.grad`` on values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import agnesi as ag
from tests.fuzz.check import Slow, watched
from tests.fuzz.kinds.statements import Script
from tests.fuzz.values import Draw
from tests.fuzz.ways import BY_NAME

WAY = BY_NAME["nested transforms"]
LEAVES = (
    "ag.tanh(w) * 0.9", "w[::-1] * w", "ag.softmax(w, 0)", "w - w.mean()", "ag.cumsum(w, 0) * 0.3",
    "ag.where(w > 0, w, ag.exp(w) - 1)", "ag.sort(w)", "M @ w", "w / (1 + (w * w).sum())",
    "ag.stack([w[0] * w[1], w[1], ag.sin(w[2])])", "ag.roll(w, 1) * 0.5 + w", "w * k", "cut(w)",
    "ag.sin(w + k)", "ag.maximum(w, k * 0.5)", "ag.concat([w[1:], w[:1] * w[2]])", "ag.flip(w)",
    "ag.outer(w, w).sum(0) * 0.3", "ag.einsum('i,ij,j->i', w, M, w) * 0.3", "ag.prod(w) + w",
    "ag.logsumexp(w) * w", "ag.clip(w, -0.7, 0.7)", "ag.real(ag.exp(1j * w) * w)", "w * w",
    "ag.abs(ag.fft.fft(w)) * 0.3", "ag.linalg.solve(M + ag.eye(3) * 3, w)", "ag.var(w) + w",
    "ag.take(w, ag.argsort(w))", "w[[0, 0, 2]] * 0.7", "ag.stop_gradient(w) * w", "through(w)",
    "T.bent(w, k)", "T.energy(w, c) * w * 0.2", "T.called(w, c)", "T.bent(w[:, None], w).mean(0)",
)
FORMS = (
    *3 * ("G(F(w))",), "F(w) + G(w)", "F(w) * G(w)", "jit(F)(w)", "T.checkpoint(F, w)",
    "T.vmap(F)(ag.outer(w, c)).mean(0)", "T.vmap(lambda u: u * F(w))(w).sum(0)",
    "T.vmap(lambda u: F(u) * G(w), 1, 1)(ag.outer(w, w)).sum(1)",
    "T.vmap(lambda u, v: F(u * v), (0, None))(ag.outer(c, w), w)[1]",
    "T.vmap(jit(F), 0, 1)(ag.stack([w, w * 2])).sum(1)", "T.vmap(lambda u: F(w * u))(w)[:, 1]",
    "T.scan(lambda c, x: (ag.tanh(F(c)), G(c) * x), w, w)[1].sum(0)",
    "T.scan(lambda c, x: (ag.tanh(F(c)) + x, c[0]), w, ag.stack([w, w * 2]))[0]",
    "T.scan(lambda c, x: ((ag.tanh(F(c[1])), ag.sin(c[0]), c[2] + 1), c[2] * x * G(c[0])), "
    "(w, w * k, 0), w, reverse=True)[1].mean(0)",
    "T.scan(lambda c, x: (ag.tanh(jit(F)(c) + G(w)), x), w, ag.arange(3.0), checkpoint=True)[0]",
    "T.fori_loop(0, 3, lambda i, c: c + F(w)[i] * w, w)",
    "T.fori_loop(1, 3, lambda i, c: (c[1], ag.tanh(F(c[0])) * G(w)), (w, w * 2))[1]",
    "T.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, ag.tanh(F(c[1]))), (0, w))[1]",
    "T.cond(w.sum() > 0, F, G, w)", "T.cond(w[0] > k, lambda: F(w), lambda: G(w) * 2)",
    "T.switch(ag.argmax(w), [F, G, lambda w: w], w)", "T.map(F, ag.stack([w, w * 2, c])).sum(0)",
    "T.grad(lambda u: (F(u) * c).sum())(w)", "T.grad(lambda u: (F(u) * G(w)).sum())(c)",
    "T.grad(lambda u, v: (F(u) * G(v)).sum(), argnums=(0, 1))(w, w)[1]",
    "jit(T.grad(lambda u: F(u).sum() * k))(w)", "T.grad(lambda u: (F(u * w) * c).sum())(c)",
    "T.grad(lambda d: (F(d['a']) * d['b'][0]).sum())({'a': w, 'b': [w, w]})['b'][0]",
    "T.value_and_grad(lambda u: ag.tanh(F(u) * c).sum())(w)[1]", "T.jvp(F, (w,), (G(w),))[1]",
    "T.jvp(lambda u, v: F(u) * v, (w, w), (c, w))[1]", "T.vjp(F, w)[1](G(w))[0]",
    "T.vjp(lambda u: F(u) * w, c)[1](G(w))[0]", "T.linearize(F, w)[1](G(w))",
    "T.jacfwd(F)(w) @ w", "T.jacrev(F)(w) @ G(w)", "T.hessian(lambda u: F(u).sum())(w) @ c",
    "T.custom_vjp(F)(w)", "T.custom_jvp(F)(w)", "T.Function(F)(w)",
    "T.vmap(T.grad(lambda u: (F(u) * c).sum()))(ag.outer(c, w)).sum(0)",
    "(lambda k: T.vmap(lambda k: F(w * k))(w).sum(1))(0.5)", "ag.stack([F(w), G(w)]).max(0)",
    "T.op(F)(w)", "T.Pair(F, G)(w, 2, c)[1]", "sum(T.Pair(F, G)(w, 0.5, w))", "T.fixed(F)(2, w)",
    "T.vmap(T.op(F))(ag.outer(c, w)).sum(0)", "T.vmap(T.Function(F))(ag.outer(w, c)).sum(1)",
    "T.vmap(lambda u: T.while_loop(lambda s: (s[0] < 3) & (ag.abs(s[1]).max() > 0.4), lambda s: "
    "(s[0] + 1, ag.tanh(F(s[1])) * 0.7), (0, u))[1])(ag.outer(c, w)).sum(0)",
    "T.scan(lambda s, x: (ag.tanh(s + T.hessian(lambda u: F(u).sum() * x)(s) @ c), s[0]), w, c)[0]",
    "T.grad(lambda u: T.vmap(jit(lambda v: T.scan(lambda s, x: (ag.tanh(F(s) * x), s[0]), v, c)[1]"
    "))(ag.outer(c, u)).sum())(w)",
    "T.vmap(T.hessian(lambda u: F(u).sum()))(ag.outer(c, w))[0] @ c",
    "T.vmap(lambda u: T.cond(u.sum() > 0, F, G, u))(ag.outer(c, w)).sum(0)",
    "T.vmap(lambda u, i: T.switch(i, [F, G], u))(ag.outer(c, w), ag.arange(3) % 2)[1]",
    "T.scan(lambda s, x: T.cond(x > 0, lambda: (F(s), x), lambda: (s * 0.5, G(s)[0])), w, c)[0]",
    "T.map(lambda u: T.grad(lambda v: (F(v) * u).sum())(w), ag.outer(c, w)).sum(0)",
    "T.jacfwd(T.grad(lambda u: F(u).sum()))(w) @ c",
    "T.scan(lambda s, x: (T.op(F)(s), x), w, c)[0]",
    "T.checkpoint(lambda u: T.fori_loop(0, 2, lambda i, s: ag.tanh(F(s) * u), u), w)",
    "T.jvp(T.grad(lambda u: (F(u) * G(u)).sum()), (w,), (c,))[1]",
    "T.vmap(lambda u: T.jvp(F, (u,), (w,))[1])(ag.outer(c, w)).sum(0)",
    "T.linearize(lambda u: T.scan(lambda s, x: (F(s) * 0.5, x * G(s)), u, u)[1].sum(0), w)[1](c)",
)
HEAD = '''
M = ag.tensor([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [-0.1, 0.2, 0.7]], dtype="float64")
c = ag.tensor([1.0, -0.5, 2.0], dtype="float64")
k = 0.6

def cut(w):
    v = w * 1.0
    v[1] = w[0] * w[2]
    v[1:] += w[:2]
    return v

def through(w):
    v = ag.outer(w, w)
    d, flat = v.T[1], v.reshape(-1)
    d[...] = d * w  # names of declared graphs are bound anew by d *= w
    flat[::4] += 1.5 * w
    v[1:].T[0] -= w[:2] * v[0, 1:]
    return v.sum(0) * 0.3

def cost(u):
    return (f(u) * ag.tensor([0.3, 1.0, -0.7], dtype="float64")).sum()
'''
#: What is made of the program ``f`` at the point ``w``.
USES = (
    "f(w)", "jit(f)(w)", "T.grad(cost)(w)", "jit(T.grad(cost))(w)", "T.vmap(f)(ag.outer(c, w))",
    "jit(T.vmap(f))(ag.outer(c, w))", "jit(T.vmap(T.grad(cost)))(ag.outer(c, w))",
    "jit(lambda w: T.jvp(f, (w,), (ag.cos(w),))[1])(w)", "T.jvp(f, (w,), (ag.cos(w),))[1]",
    "jit(T.grad(lambda u: (T.grad(cost)(u) * ag.cos(u)).sum()))(w)", "T.jacrev(f)(w)",
    "jit(T.jacfwd(f))(w)", "jit(lambda w: T.scan(lambda s, b: (s, f(w * b)), 0, c)[1])(w)",
    "jit(T.grad(lambda w: T.scan(lambda s, b: (s + cost(w * b), b), 0.0 * w[0], c)[0]))(w)",
    "jit(T.vjp(f, w)[1])(c)[0]", "graph(f)(w)", "graph(T.grad(cost))(w)",
)
LARGE = 1e6
LONG = 4  # seconds of the plain program
#: Derivatives of derivatives at most: each makes the program some times as long.
ORDERS = 4
DERIVED = re.compile(r"hessian|grad\(|jvp\(|vjp\(|jac\w+\(|linearize")


# -- plain transformations ----------------------------------------------------------------------
def _stacked(rows: list[Any], axis: int = 0) -> Any:
    if isinstance(rows[0], tuple):
        return tuple(_stacked(list(column), axis) for column in zip(*rows, strict=True))
    return ag.stack([ag.asarray(r) for r in rows], axis)


def _vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
    def of(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        count = next(a.shape[x] for a, x in zip(args, axes, strict=True) if x is not None)
        return _stacked([f(*[a if x is None else ag.moveaxis(a, x, 0)[i]
                             for a, x in zip(args, axes, strict=True)])
                         for i in range(count)], out_axes)
    return of


def _scan(f: Any, carry: Any, xs: Any, reverse: bool = False, checkpoint: bool = False) -> Any:
    out = []
    for i in range(xs.shape[0])[:: -1 if reverse else 1]:
        carry, y = f(carry, xs[i])
        out.append(y)
    return carry, _stacked(out[::-1] if reverse else out)


def _fori_loop(first: int, last: int, f: Any, carry: Any) -> Any:
    for i in range(first, last):
        carry = f(i, carry)
    return carry


def _while_loop(go_on: Any, f: Any, carry: Any) -> Any:
    while bool(go_on(carry)):
        carry = f(carry)
    return carry


def _vjp(f: Any, *xs: Any) -> Any:
    return f(*xs), lambda g: ag.grad(lambda *us: (f(*us) * g).sum(), range(len(xs)))(*xs)


def _jvp(f: Any, xs: Any, ts: Any) -> Any:
    """By two pullbacks."""
    def along(g: Any) -> Any:
        return sum((p * t).sum() for p, t in zip(_vjp(f, *xs)[1](g), ts, strict=True))

    y = f(*xs)
    return y, ag.grad(along)(ag.ones_like(ag.stop_gradient(y)))


def _jacobian(f: Any) -> Any:
    return lambda w: ag.stack([ag.grad(lambda u, i=i: f(u)[i])(w) for i in range(3)])


PLAIN = SimpleNamespace(
    vmap=_vmap, scan=_scan, fori_loop=_fori_loop, while_loop=_while_loop, vjp=_vjp, jvp=_jvp,
    cond=lambda p, f, g, *xs: f(*xs) if bool(p) else g(*xs),
    switch=lambda i, fs, *xs: fs[int(i)](*xs), checkpoint=lambda f, *xs: f(*xs),
    map=lambda f, xs: _vmap(f)(xs), grad=ag.grad, value_and_grad=ag.value_and_grad,
    linearize=lambda f, w: (f(w), lambda t: _jvp(f, (w,), (t,))[1]), jacrev=_jacobian,
    jacfwd=_jacobian, hessian=lambda f: _jacobian(ag.grad(f)), custom_vjp=lambda f: f,
    custom_jvp=lambda f: f, Function=lambda f: f, op=lambda f: f,
    Pair=lambda f, g: lambda x, n, y: (f(x) * n, g(y) + f(x)),
    fixed=lambda f: lambda n, x: f(x) * n,
    bent=lambda x, y: ag.where(x > y, x * ag.sin(y * x), x),
    energy=lambda x, y: (x * x + y).sum(), called=lambda w, c: ag.outer(w, c) @ c + w)


# -- the library's ------------------------------------------------------------------------------
def _custom_vjp(f: Any) -> Any:
    made = ag.custom_vjp(f)
    made.defvjp(lambda x: (f(x), {"x": x}), lambda kept, g: ag.vjp(f, kept["x"])[1](g))
    return made


def _custom_jvp(f: Any) -> Any:
    made = ag.custom_jvp(f)
    made.defjvp(lambda xs, ts: ag.jvp(f, xs, ts))
    return made


def _function(f: Any) -> Any:
    class Made(ag.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return f(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ag.vjp(f, *ctx.saved_tensors)[1](g)[0]

    return Made.apply


def _op(f: Any) -> Any:
    """A function of arrays, whose rule leads through tensors."""
    return ag.op(vjp=lambda g, y, x: ag.vjp(f, x)[1](g), like=0)(
        lambda x: np.array(f(ag.asarray(x)).detach().numpy()))


def _pair(f: Any, g: Any) -> Any:
    class Made(ag.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            ctx.n = n
            return f(x) * n, g(y) + f(x)

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            x, y = ctx.saved_tensors
            return ag.vjp(f, x)[1](a * ctx.n + b)[0], None, ag.vjp(g, y)[1](b)[0]

    return Made.apply


def _fixed(f: Any) -> Any:
    made = ag.custom_jvp(lambda n, x: f(x) * n, nondiff_argnums=(0,))
    made.defjvp(lambda n, xs, ts: ag.jvp(lambda x: f(x) * n, xs, ts))
    return made


_LAYER = ag.nn.Linear(3, 3).double()
OWN = SimpleNamespace(
    **{name: getattr(ag, name) for name in vars(PLAIN) if hasattr(ag, name)} | {
        "custom_vjp": _custom_vjp, "custom_jvp": _custom_jvp, "Function": _function, "op": _op,
        "Pair": _pair, "fixed": _fixed, "bent": ag.elementwise("x * sin(y * x) if x > y else x"),
        "energy": ag.reduction("x * x + y", "a + b", 0), "called": lambda w, c: (
            ag.func.functional_call(_LAYER, {"weight": ag.outer(w, c), "bias": w}, (c,)))})


def graph(f: Any, **options: Any) -> Any:
    """A function by a declared graph of it."""
    x = ag.symbolic.tensor("float64", (3,))
    run = ag.function([x], f(x), algebra="exact", **options)
    return lambda w: ag.asarray(run(w.numpy()))


@dataclass(frozen=True)
class Nest:
    """Functions, each of those before; the last one is the program, at a point, for a use."""

    bodies: tuple[str, ...]
    point: tuple[float, ...]
    use: str
    nudge: float = 1e-9
    near: float = 1e-6

    @property
    def source(self) -> str:
        """Python that defines ``f``."""
        made = [f"def f{i}(w):\n    return {body}" for i, body in enumerate(self.bodies)]
        return "\n".join([HEAD, *made, f"f = f{len(made) - 1}"])

    @property
    def order(self) -> int:
        """How many derivatives are taken of each other."""
        found: list[int] = []
        for body in self.bodies:
            own = len(DERIVED.findall(body)) + body.count("hessian")
            below = [found[int(i)] for i in re.findall(r"\bf(\d+)", body)]
            found.append(own + max(below, default=0))
        return found[-1] + len(DERIVED.findall(self.use))

    def smaller(self) -> Iterator[Nest]:
        """With the last functions left out, or something simple in the place of one."""
        for count in range(1, len(self.bodies)):
            yield replace(self, bodies=self.bodies[:count])
        for i, body in enumerate(self.bodies):
            for simple in ("w", "w * w"):
                if len(simple) < len(body):
                    yield replace(self, bodies=(*self.bodies[:i], simple, *self.bodies[i + 1:]))


@dataclass(frozen=True)
class Nested(Script):
    """A nest, by plain transformations and by the library's."""

    roundings = 0

    @property
    def source(self) -> str:
        """Python that shows the result; ``T`` is the library, but for rules that it is given."""
        return ("import agnesi as ag\n"
                "from tests.fuzz.kinds.nested import OWN as T, graph  # or PLAIN\n"
                f"jit = ag.jit{self.program.source}\nw = ag.tensor({list(self.program.point)}, "
                f"dtype='float64')\nrun = lambda: {self.program.use}\nprint(run())")

    def expected(self, nudge: float = 0) -> Any:
        if self.program.order > ORDERS:  # type: ignore[attr-defined]
            raise ValueError("derivatives of so many orders take long to compile")
        try:
            with watched(LONG):
                found = self._of(nudge, T=PLAIN, jit=lambda f: f, graph=lambda f: f)
        except (Slow, MemoryError):
            raise ValueError("derivatives by loops take long") from None
        if not np.isfinite(found.numpy()).all() or abs(found).max().item() > LARGE:
            raise ValueError("numbers too large to tell")
        return found

    def found(self) -> Any:
        options = {"exclude": list(self.exclude)} if self.exclude else {}
        return self._of(0, T=OWN, jit=partial(ag.jit, **options), graph=partial(graph, **options))

    def _of(self, nudge: float, **names: Any) -> Any:
        w = ag.tensor(np.array(self.program.point) * (1 + nudge))
        space: dict[str, Any] = {"ag": ag, "w": w, **names}
        with np.errstate(all="ignore"):
            exec(compile(self.program.source, "<program>", "exec"), space)
            return eval(self.program.use, space).detach()


def nested(seed: Any) -> Nested:
    """A random nest."""
    d = Draw(np.random.default_rng([*np.ravel(seed), 4]))
    bodies: list[str] = []

    def made(depth: int) -> str:
        text = d.one(FORMS if depth > 0 and d.chance(0.9) else LEAVES)
        for hole, below in (("F", depth - 1), ("G", d.below(depth))):
            if re.search(rf"\b{hole}\b", text):
                text = re.sub(rf"\b{hole}\b", made(below), text)
        bodies.append(text)
        return f"f{len(bodies) - 1}"

    made(2 + d.below(3))
    point = tuple(float(x) for x in d.rng.normal(size=3).round(2))
    return Nested(Nest(tuple(bodies), point, d.one(USES)), WAY)  # type: ignore[arg-type]
