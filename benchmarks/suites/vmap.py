"""vmap of small solvers over 10 000 problems: each is written for one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result

TITLE = "vmap of small solvers over 10 000 problems"
THREADS = (1,)
MANY = 10_000
SIZE = 8  # unknowns of the systems
STEPS = 50  # of Runge and Kutta
GOAL = 1.5


def run(context: Context) -> list[Result]:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((SIZE, SIZE))
    matrix = root @ root.T + SIZE * np.eye(SIZE)
    b = rng.standard_normal((MANY, SIZE))
    matrices = matrix + rng.uniform(0, 1, (MANY, 1, 1)) * np.eye(SIZE)
    states = rng.standard_normal((MANY, 2))
    roots = rng.uniform(0.5, 9.0, MANY)
    solved = np.linalg.solve(matrices, b[..., None])[..., 0]
    direct = lambda xp, lib: xp.linalg.solve  # noqa: E731
    return context.measure_all([
        _case("linalg.solve, one matrix", direct, (None, 0), (matrix, b),
              lambda: np.linalg.solve(matrix, b.T).T),
        _case("linalg.solve, a matrix each", direct, (0, 0), (matrices, b), lambda: solved),
        _case("linalg.solve, gradient", lambda xp, lib: lib.grad(
            lambda a, b: xp.linalg.solve(a, b).sum()), (0, 0), (matrices, b),
            lambda: -np.linalg.inv(matrices).sum(1)[:, :, None] * solved[:, None]),
        _case("linalg.cholesky, a matrix each", lambda xp, lib: xp.linalg.cholesky, (0,),
              (matrices,), lambda: np.linalg.cholesky(matrices)),
        _case("conjugate gradients, one matrix", conjugate, (None, 0),
              (matrix, b), lambda: np.linalg.solve(matrix, b.T).T),
        _case("conjugate gradients, a matrix each", conjugate, (0, 0),
              (matrices, b), lambda: solved),
        _case("Runge and Kutta, pendulums", pendulum, (0,), (states,),
              lambda: pendulums(states)),
        _case("Newton until it converges", newton, (0,), (roots,),
              lambda: np.sqrt(roots)),
        _case("Newton, gradient", lambda xp, lib: _derived(newton(xp, lib, 6), lib), (0,), (roots,),
              lambda: 0.5 / np.sqrt(roots)),
    ])


class Words:
    """What the solvers ask of a library, in one spelling."""

    def __init__(self, fori: Callable[..., Any], while_loop: Callable[..., Any],
                 grad: Callable[..., Any], vmap: Callable[..., Any]) -> None:
        self.fori, self.while_loop, self.grad, self.vmap = fori, while_loop, grad, vmap


# -- solvers of one problem ---------------------------------------------------------------------
def conjugate(xp: Any, lib: Words) -> Callable[..., Any]:
    """As many steps of conjugate gradients as there are unknowns."""

    def solve(a: Any, b: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            x, r, p, rr = state
            ap = a @ p
            rate = rr / ((p * ap).sum() + 1e-300)
            x, r = x + rate * p, r - rate * ap
            new = (r * r).sum()
            return x, r, r + new / (rr + 1e-300) * p, new

        return lib.fori(0, SIZE, step, (b * 0, b, b, (b * b).sum()))[0]

    return solve


def pendulum(xp: Any, lib: Words) -> Callable[..., Any]:
    """Where a damped pendulum is in the end."""

    def solve(y: Any) -> Any:
        def step(_: Any, y: Any) -> Any:
            return runge(lambda y: xp.stack([y[1], -xp.sin(y[0]) - 0.1 * y[1]]), y)

        return lib.fori(0, STEPS, step, y)

    return solve


def runge(f: Callable[[Any], Any], y: Any, h: float = 0.05) -> Any:
    """One step of the classical method of order four."""
    a = f(y)
    b = f(y + h / 2 * a)
    c = f(y + h / 2 * b)
    return y + h / 6 * (a + 2 * b + 2 * c + f(y + h * c))


def pendulums(y: np.ndarray) -> np.ndarray:
    """All pendulums by NumPy."""
    for _ in range(STEPS):
        y = runge(lambda y: np.stack([y[:, 1], -np.sin(y[:, 0]) - 0.1 * y[:, 1]], 1), y)
    return y


def newton(xp: Any, lib: Words, steps: int | None = None) -> Callable[..., Any]:
    """A square root by Newton's method, for so many steps or until it does not change."""

    def solve(a: Any) -> Any:
        first = (a + 1) / 2
        if steps is not None:
            return lib.fori(0, steps, lambda _, x: (x + a / x) / 2, first)
        return lib.while_loop(
            lambda x: xp.abs(x * x - a) > 1e-12 * a, lambda x: (x + a / x) / 2, first
        )

    return solve


def _derived(solve: Callable[..., Any], lib: Words) -> Callable[..., Any]:
    derivative: Callable[..., Any] = lib.grad(solve)
    return derivative


# -- contenders ---------------------------------------------------------------------------------
def _case(name: str, solver: Callable[[Any, Words], Any], axes: tuple[int | None, ...],
          arrays: tuple[np.ndarray, ...], expect: Callable[[], np.ndarray]) -> Case:
    return Case(
        name, expect,
        {OURS: lambda: _agnesi(solver, axes, arrays), "jax": lambda: _jax(solver, axes, arrays)},
        rtol=1e-7, atol=1e-9, dtype="float64", goal=GOAL,
    )


def _agnesi(solver: Callable[[Any, Words], Any], axes: Any, arrays: Any) -> Contender:
    ag = peers.agnesi()
    solve = solver(ag, Words(ag.fori_loop, ag.while_loop, ag.grad, ag.vmap))
    return Contender(ag.jit(ag.vmap(solve, axes)), tuple(map(ag.tensor, arrays)))


def _jax(solver: Callable[[Any, Words], Any], axes: Any, arrays: Any) -> Contender:
    jax = peers.jax()
    lax = jax.lax
    solve = solver(jax.numpy, Words(lax.fori_loop, lax.while_loop, jax.grad, jax.vmap))
    fn = jax.jit(jax.vmap(solve, axes))
    args = peers.jax_arrays(*arrays)
    return Contender(lambda: jax.block_until_ready(fn(*args)))
