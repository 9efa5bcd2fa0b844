"""Loops as operations: scans of scalars, a tanh recurrence, and what unrolling costs to compile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result

TITLE = "scans: forward, gradient, compile time"
THREADS = (1,)
STEPS = 1000
CARRIES = (3, 8, 20, 40)
CLIFF = 20  # carries from which XLA leaves its loop fusion
RECURRENCES = ((16, 1, 1000, 3.0), (32, 8, 200, 3.0), (128, 16, 100, 1.3))
LENGTHS = (16, 128, 1024)
SAME = 1.1  # compile times of scans of different lengths


def run(context: Context) -> list[Result]:
    cases = []
    for n in CARRIES:
        problem = Coupled.make(n)
        cases += [_forward(problem), _gradient(problem)]
    cases += [_recurrence(Recurrence.make(*sizes), goal) for *sizes, goal in RECURRENCES]
    return [*context.measure_all(cases), *_compile_times(context)]


# --------------------------------------------------------------------------- coupled scalars


@dataclass(frozen=True)
class Coupled:
    """Scalars that each depend on the next: `c[i] * 0.9 + sin(c[i + 1]) * u * 0.1` a step."""

    first: tuple[np.ndarray, ...]
    u: np.ndarray

    @classmethod
    def make(cls, n: int) -> Coupled:
        rng = np.random.default_rng(n)
        return cls(tuple(np.asarray(v) for v in rng.standard_normal(n)),
                   rng.standard_normal(STEPS))

    @property
    def n(self) -> int:
        return len(self.first)

    def step(self, xp: Any, c: Sequence[Any], u: Any) -> tuple[Any, ...]:
        """One step over any library's functions."""
        n = self.n
        return tuple(c[i] * 0.9 + xp.sin(c[(i + 1) % n]) * u * 0.1 for i in range(n))

    def history(self) -> np.ndarray:
        """Carries before every step and behind the last one, by NumPy."""
        rows = [np.array(self.first)]
        for u in self.u:
            c = rows[-1]
            rows.append(c * 0.9 + np.sin(np.roll(c, -1)) * u * 0.1)
        return np.array(rows)

    def expect(self) -> list[np.ndarray]:
        rows = self.history()
        return [*map(np.asarray, rows[-1]), rows[1:, 0].copy()]

    def expect_gradient(self) -> list[np.ndarray]:
        """Of the sum of the last carries and all rows, by hand."""
        rows = self.history()
        g = np.ones(self.n)
        for t in reversed(range(STEPS)):
            g[0] += 1.0
            g = g * 0.9 + np.roll(g * self.u[t] * 0.1, 1) * np.cos(rows[t])
        return list(map(np.asarray, g))


def _forward(problem: Coupled) -> Case:
    return Case(
        f"{problem.n} scalars, forward",
        problem.expect,
        {
            OURS: lambda: _agnesi_coupled(problem, gradient=False),
            "jax": lambda: _jax_coupled(problem, gradient=False),
            "pytensor": lambda: _pytensor_coupled(problem),
            "torch": lambda: _torch_coupled(problem),
        },
        goal=_goal(problem),
        rivals=("jax",),
        dtype="float64",
    )


def _gradient(problem: Coupled) -> Case:
    return Case(
        f"{problem.n} scalars, gradient",
        problem.expect_gradient,
        {
            OURS: lambda: _agnesi_coupled(problem, gradient=True),
            "jax": lambda: _jax_coupled(problem, gradient=True),
        },
        goal=_goal(problem),
        dtype="float64",
    )


def _goal(problem: Coupled) -> float:
    return 10.0 if problem.n >= CLIFF else 1.2


def _looped(scan: Callable[..., Any], xp: Any, problem: Coupled) -> Callable[..., Any]:
    """The scan as a function of the sequence and the first carries; `scan` is jax's or ours."""

    def loop(u: Any, *first: Any) -> Any:
        def step(c: Any, u: Any) -> Any:
            new = problem.step(xp, c, u)
            return new, new[0]

        last, rows = scan(step, first, u)
        return (*last, rows)

    return loop


def _derived(grad: Callable[..., Any], loop: Callable[..., Any], n: int) -> Callable[..., Any]:
    """The gradient to the first carries of the sum of all results."""

    def loss(*args: Any) -> Any:
        *last, rows = loop(*args)
        return rows.sum() + sum(last)

    return grad(loss, tuple(range(1, n + 1)))


def _agnesi_coupled(problem: Coupled, gradient: bool) -> Contender:
    ag = peers.agnesi()
    loop = _looped(ag.scan, ag, problem)
    fn = ag.jit(_derived(ag.grad, loop, problem.n) if gradient else loop)
    return Contender(fn, tuple(map(ag.tensor, (problem.u, *problem.first))))


def _jax_coupled(problem: Coupled, gradient: bool) -> Contender:
    jax = peers.jax()
    loop = _looped(jax.lax.scan, jax.numpy, problem)
    fn = jax.jit(_derived(jax.grad, loop, problem.n) if gradient else loop)
    args = peers.jax_arrays(problem.u, *problem.first)
    return Contender(lambda: jax.block_until_ready(fn(*args)))


def _pytensor_coupled(problem: Coupled) -> Contender:
    pt = peers.pytensor()
    first = [pt.tensor.scalar(dtype="float64") for _ in problem.first]
    u = pt.tensor.vector(dtype="float64")
    results, _ = pt.scan(
        lambda u, *c: list(problem.step(pt.tensor, c, u)), sequences=[u], outputs_info=first
    )
    results = results if isinstance(results, list) else [results]
    fn = pt.function([*first, u], [*(r[-1] for r in results), results[0]])
    return Contender(fn, (*problem.first, problem.u))


def _torch_coupled(problem: Coupled) -> Contender:
    torch = peers.torch()
    first = [torch.tensor(float(v), dtype=torch.float64) for v in problem.first]
    sequence = torch.from_numpy(problem.u)

    def loop() -> Any:
        c, rows = tuple(first), []
        for u in sequence.unbind():
            c = problem.step(torch, c, u)
            rows.append(c[0])
        return (*c, torch.stack(rows))

    return Contender(loop)


# --------------------------------------------------------------------------- tanh recurrence


@dataclass(frozen=True)
class Recurrence:
    """`h = tanh(x[t] + h @ w)`, with the gradient of the sum of squares of all h."""

    w: np.ndarray
    x: np.ndarray
    h: np.ndarray

    @classmethod
    def make(cls, width: int, batch: int, steps: int) -> Recurrence:
        rng = np.random.default_rng(width)
        w = rng.standard_normal((width, width)).astype(np.float32) / np.float32(width**0.5)
        x = rng.standard_normal((steps, batch, width)).astype(np.float32) * np.float32(0.3)
        return cls(w, x, np.zeros((batch, width), np.float32))

    @property
    def name(self) -> str:
        steps, batch, width = self.x.shape
        return f"tanh recurrence, gradient, width {width} batch {batch} steps {steps}"

    @property
    def flops(self) -> int:
        steps, batch, width = self.x.shape
        return 2 * 3 * steps * batch * width * width

    def expect(self) -> list[np.ndarray]:
        w = self.w.astype(np.float64)
        rows = [self.h.astype(np.float64)]
        for x in self.x:
            rows.append(np.tanh(x + rows[-1] @ w))
        dw, back = np.zeros_like(w), np.zeros_like(rows[0])
        for before, h in zip(rows[-2::-1], rows[:0:-1], strict=True):
            delta = (2 * h + back) * (1 - h * h)
            dw += before.T @ delta
            back = delta @ w.T
        return [dw.astype(np.float32)]


def _recurrence(problem: Recurrence, goal: float) -> Case:
    return Case(
        problem.name,
        problem.expect,
        {
            OURS: lambda: _agnesi_recurrence(problem),
            "jax": lambda: _jax_recurrence(problem),
            "torch": lambda: _torch_recurrence(problem),
        },
        rtol=1e-3,
        atol=1e-3,
        flops=problem.flops,
        goal=goal,
    )


def _loss(scan: Callable[..., Any], xp: Any) -> Callable[..., Any]:
    def loss(w: Any, x: Any, h: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(x + h @ w)
            return h, h

        return (scan(step, h, x)[1] ** 2).sum()

    return loss


def _agnesi_recurrence(problem: Recurrence) -> Contender:
    ag = peers.agnesi()
    fn = ag.jit(ag.grad(_loss(ag.scan, ag)))
    return Contender(fn, tuple(map(ag.tensor, (problem.w, problem.x, problem.h))))


def _jax_recurrence(problem: Recurrence) -> Contender:
    jax = peers.jax()
    fn = peers.jax_waiting(jax.grad(_loss(jax.lax.scan, jax.numpy)))
    return Contender(fn, peers.jax_arrays(problem.w, problem.x, problem.h))


def _torch_recurrence(problem: Recurrence) -> Contender:
    torch = peers.torch()
    w, x, h = map(torch.from_numpy, (problem.w.copy(), problem.x, problem.h))
    w.requires_grad_(True)

    def gradient() -> Any:
        with torch.enable_grad():
            rows, now = [], h
            for row in x.unbind():
                now = torch.tanh(row + now @ w)
                rows.append(now)
            (g,) = torch.autograd.grad((torch.stack(rows) ** 2).sum(), w)
        return g

    return Contender(gradient)


# ------------------------------------------------------------------------------ compile times


def _compile_times(context: Context) -> list[Result]:
    """Gradients of a recurrence of several lengths, unrolled and scanned, compiled anew."""
    problems = [Recurrence.make(16, 1, steps) for steps in LENGTHS]
    scanned = _compiled_in_turn(context, problems, unrolled=False, rounds=7)
    if scanned[0].ours is not None:
        for result in scanned:
            result.limit = SAME * scanned[0].ours
    some = problems[:1] if context.quick else problems
    return [*scanned, *_compiled_in_turn(context, some, unrolled=True, rounds=1)]


def _compiled_in_turn(context: Context, problems: Sequence[Recurrence], unrolled: bool,
                      rounds: int) -> list[Result]:
    kind = "unrolled" if unrolled else "scanned"
    results = [
        Result.empty(context, f"compile, {len(p.x)} steps {kind}") for p in problems
    ]
    for name, seconds in ((OURS, _agnesi_compiles), ("jax", _jax_compiles)):
        context.note(f"compile, {kind}, {name}")
        seconds(problems[0], unrolled)  # what the first of all compiles loads does not count
        samples = [[seconds(p, unrolled) for p in problems] for _ in range(rounds)]
        for result, mine in zip(results, zip(*samples, strict=True), strict=True):
            result.add(name, mine)
    return results


def _unrolling(step: Callable[..., Any], h: Any, x: Any) -> Any:
    """A scan of one result as a loop of Python's, whose rows are the last one's sum."""
    total = 0
    for t in range(x.shape[0]):
        h, y = step(h, x[t])
        total = total + (y**2).sum()
    return h, total**0.5


def _agnesi_compiles(problem: Recurrence, unrolled: bool) -> float:
    ag = peers.agnesi()
    fn = ag.jit(ag.grad(_loss(_unrolling if unrolled else ag.scan, ag)))
    args = tuple(map(ag.tensor, (problem.w, problem.x, problem.h)))
    with ag.config(cache=False):
        start = time.perf_counter()
        fn(*args)
        return time.perf_counter() - start


def _jax_compiles(problem: Recurrence, unrolled: bool) -> float:
    jax = peers.jax()
    fn = peers.jax_waiting(jax.grad(_loss(_unrolling if unrolled else jax.lax.scan, jax.numpy)))
    args = peers.jax_arrays(problem.w, problem.x, problem.h)
    start = time.perf_counter()
    fn(*args)
    return time.perf_counter() - start
