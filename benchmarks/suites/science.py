"""Scientific programs with gradients in float64, and long graphs of scalars."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result
from benchmarks.models import science

TITLE = "scientific programs with gradients, float64"
THREADS = (1,)
GOAL, CHAIN_GOAL = 1.5, 5.0
CHAINS = (100, 1_000, 3_000, 10_000)
#: Steps of the pendulum, 180 operations each; XLA takes minutes for as many as the second.
PENDULUM = (6, 56)
QUICK_PENDULUM = 6
#: Graphs whose times to compile are compared.
COMPILED = (1_000, 10_000)
#: How many times the time per operation may grow from the short graph to the long one.
LINEAR = 1.5


@dataclass(frozen=True)
class Problem:
    """A program: what to differentiate, over a library's words; operands; the right answer."""

    name: str
    write: Callable[[Any], science.Function]
    arrays: tuple[np.ndarray, ...]
    expect: Callable[[], Any]
    argnums: Any = 0


def run(context: Context) -> list[Result]:
    cases = [_case(problem(), context.quick) for problem in PROBLEMS]
    chains = [_chain(n) for n in CHAINS]
    chains += [_pendulum(n, jax=n <= QUICK_PENDULUM or not context.quick) for n in PENDULUM]
    return [*context.measure_all([*chains, *cases]), *_compile_times(context)]


# -------------------------------------------------------------------------------------- programs
def nbody() -> Problem:
    rng = np.random.default_rng(0)
    places = rng.standard_normal((science.BODIES, 3))
    masses = rng.uniform(0.5, 1.5, science.BODIES)
    return Problem(
        f"N-body, {science.BODIES}, energy and forces", lambda w: science.energy(w.xp),
        (places, masses), lambda: science.energy_by_hand(places, masses),
    )


def heat() -> Problem:
    rng = np.random.default_rng(1)
    plate, target = rng.standard_normal((2, science.PLATE, science.PLATE))
    clock = np.zeros(science.HEAT_STEPS)
    return Problem(
        f"heat on {science.PLATE} x {science.PLATE}, {science.HEAT_STEPS} steps, adjoint",
        lambda w: science.heat(w.xp, w.scan), (plate, target, clock),
        lambda: science.heat_by_hand(plate, target, clock),
    )


def waves() -> Problem:
    rng = np.random.default_rng(4)
    now, before = rng.standard_normal((2, science.PLATE, science.PLATE))
    clock = np.zeros(science.HEAT_STEPS)
    return Problem(
        f"waves on a torus of {science.PLATE} x {science.PLATE}, {science.HEAT_STEPS} steps, "
        "adjoint", lambda w: science.waves(w.xp, w.scan), (now, before, clock),
        lambda: science.waves_by_hand(now, before, clock), argnums=(0, 1),
    )


def kalman() -> Problem:
    rng = np.random.default_rng(2)
    y = np.cumsum(0.3 * rng.standard_normal(science.FILTER_STEPS)) + rng.standard_normal(
        science.FILTER_STEPS
    )
    logs = np.array([0.1, -2.0, -4.0])
    given = (y, np.zeros(2), np.array([[1.0, 1.0], [0.0, 1.0]]), np.eye(2))

    def expect() -> Any:
        def scan(step: Any, state: Any, rows: Any) -> Any:
            results = []
            for row in rows:
                state, result = step(state, row)
                results.append(result)
            return state, np.array(results)

        f, h = science.kalman(np, scan), 1e-3
        g = [(8 * (f(logs + e, *given) - f(logs - e, *given))
              - (f(logs + 2 * e, *given) - f(logs - 2 * e, *given))) / (12 * h)
             for e in h * np.eye(3)]
        return np.asarray(f(logs, *given)), np.array(g)

    return Problem(f"Kalman filter, {science.FILTER_STEPS} steps, gradient",
                   lambda w: science.kalman(w.xp, w.scan), (logs, *given), expect)


def options() -> Problem:
    rng = np.random.default_rng(3)
    n = science.OPTIONS
    arrays = (rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n),
              rng.uniform(0.1, 0.5, n))

    def expect() -> Any:
        from scipy.special import ndtr

        spot, strike, t, v = arrays
        spread = v * np.sqrt(t)
        d = (np.log(spot / strike) + (0.03 + 0.5 * v * v) * t) / spread
        density = np.exp(-0.5 * d * d) / np.sqrt(2 * np.pi)
        paid = strike * np.exp(-0.03 * t) * ndtr(d - spread)
        return (np.asarray((spot * ndtr(d) - paid).sum()), ndtr(d), -paid / strike,
                spot * density * v / (2 * np.sqrt(t)) + 0.03 * paid, spot * density * np.sqrt(t))

    def write(words: Any) -> science.Function:
        price = science.black_scholes(words.xp, words.normal)
        return lambda *given: price(*given).sum()

    return Problem(f"Black and Scholes, {n} options, greeks", write, arrays, expect,
                   argnums=(0, 1, 2, 3))


PROBLEMS = (nbody, heat, waves, kalman, options)


# ------------------------------------------------------------------------------------ contenders
def _case(problem: Problem, quick: bool) -> Case:
    contenders = {
        OURS: lambda: with_agnesi(problem),
        "jax": lambda: _jax(problem),
        "torch": lambda: _torch(problem, compiled=False),
    }
    if not quick:  # these take up to a minute to compile a loop
        contenders["pytensor"] = lambda: _pytensor(problem)
        contenders["torch.compile"] = lambda: _torch(problem, compiled=True)
    return Case(problem.name, problem.expect, contenders, rtol=1e-6, atol=1e-6, dtype="float64",
                goal=GOAL)


def with_agnesi(problem: Problem) -> Contender:
    ag = peers.agnesi()
    words = SimpleNamespace(xp=ag, scan=ag.scan,
                            normal=lambda x: 0.5 + 0.5 * ag.erf(x * 0.5**0.5))
    fn = ag.jit(_flat(ag.value_and_grad(problem.write(words), problem.argnums)))
    return Contender(fn, tuple(map(ag.tensor, problem.arrays)))


def _flat(derived: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a value and gradients with all its results side by side."""

    def both(*args: Any) -> tuple[Any, ...]:
        value, gradients = derived(*args)
        return (value, *(gradients if isinstance(gradients, tuple) else (gradients,)))

    return both


def _jax(problem: Problem) -> Contender:
    jax = peers.jax()
    words = SimpleNamespace(xp=jax.numpy, scan=jax.lax.scan, normal=jax.scipy.special.ndtr)
    fn = jax.jit(_flat(jax.value_and_grad(problem.write(words), problem.argnums)))
    args = peers.jax_arrays(*problem.arrays)
    return Contender(lambda: jax.block_until_ready(fn(*args)))


def _pytensor(problem: Problem) -> Contender:
    pt = peers.pytensor()
    tt = pt.tensor

    def scan(step: Any, first: Any, rows: Any) -> Any:
        several = isinstance(first, tuple)

        def turn(row: Any, *state: Any) -> Any:
            state, result = step(state if several else state[0], row)
            state = list(state) if several else [state]
            return state if result is None else [*state, result]

        firsts = list(first) if several else [first]
        found = pt.scan(turn, sequences=[rows], return_updates=False,
                        outputs_info=[*firsts, None] if several else firsts)
        found = found if isinstance(found, list) else [found]
        return tuple(f[-1] for f in found[: len(firsts)]) if several else found[0][-1], found[-1]

    words = SimpleNamespace(xp=tt, scan=scan, normal=lambda x: 0.5 + 0.5 * tt.erf(x * 0.5**0.5))
    given = [tt.tensor(dtype="float64", shape=a.shape) for a in problem.arrays]
    value = problem.write(words)(*given)
    asked = problem.argnums if isinstance(problem.argnums, tuple) else (problem.argnums,)
    results = [value, *pt.grad(value, [given[i] for i in asked])]
    fn = pt.function([pt.In(x, borrow=True) for x in given],
                     [pt.Out(r, borrow=True) for r in results], mode="NUMBA",
                     on_unused_input="ignore")
    fn.trust_input = True
    return Contender(fn, problem.arrays)


def _torch(problem: Problem, compiled: bool) -> Contender:
    torch = peers.torch()

    def scan(step: Any, state: Any, rows: Any) -> Any:
        results = []
        for row in rows.unbind():
            state, result = step(state, row)
            results.append(result)
        return state, None if results[0] is None else torch.stack(results)

    def pad(x: Any, widths: Any) -> Any:
        return torch.nn.functional.pad(x, [n for pair in reversed(widths) for n in pair])

    names = ("sin", "tanh", "exp", "log", "sqrt", "roll")
    xp = SimpleNamespace(pad=pad, **{n: getattr(torch, n) for n in names})
    function = problem.write(SimpleNamespace(xp=xp, scan=scan, normal=torch.special.ndtr))
    function = torch.compile(function) if compiled else function
    given = [torch.from_numpy(a) for a in problem.arrays]
    asked = problem.argnums if isinstance(problem.argnums, tuple) else (problem.argnums,)
    for i in asked:
        given[i].requires_grad_(True)

    def both() -> Any:
        with torch.enable_grad():
            value = function(*given)
            gradients = torch.autograd.grad(value, [given[i] for i in asked])
        return (value.detach(), *gradients)

    return Contender(both)


# ---------------------------------------------------------------------------------------- chains
def _chain(operations: int) -> Case:
    """The derivative of a long chain of scalars."""
    contenders = {
        OURS: lambda: chain_of_agnesi(operations),
        "jax": lambda: _numbers_of_jax(science.chain(peers.jax().numpy, operations), 0.3),
    }
    return _numbers(f"{operations} scalar operations, gradient", contenders,
                    lambda: science.chain_by_hand(0.3, operations), CHAIN_GOAL)


def _pendulum(steps: int, jax: bool) -> Case:
    """The derivatives of steps through time that are written out."""
    at, argnums = (0.4, 0.2), (0, 1)
    contenders = {OURS: lambda: _numbers_of_agnesi(
        science.pendulum(peers.agnesi(), steps), *at, argnums=argnums)}
    if jax:
        contenders["jax"] = lambda: _numbers_of_jax(
            science.pendulum(peers.jax().numpy, steps), *at, argnums=argnums)
    return _numbers(f"{steps} steps of Runge-Kutta written out, gradient", contenders,
                    lambda: science.pendulum_by_hand(*at, steps), CHAIN_GOAL if jax else None)


def _numbers(name: str, contenders: dict[str, Callable[[], Contender]],
             expect: Callable[[], Sequence[float]], goal: float | None) -> Case:
    return Case(name, lambda: [np.asarray(v) for v in expect()], contenders, rtol=1e-9, atol=1e-12,
                dtype="float64", goal=goal)


def chain_of_agnesi(operations: int) -> Contender:
    return _numbers_of_agnesi(science.chain(peers.agnesi(), operations), 0.3)


def _numbers_of_agnesi(function: science.Function, *at: float, argnums: Any = 0) -> Contender:
    ag = peers.agnesi()
    fn = ag.jit(_flat(ag.value_and_grad(function, argnums)))
    return Contender(fn, tuple(ag.tensor(np.asarray(x)) for x in at))


def _numbers_of_jax(function: science.Function, *at: float, argnums: Any = 0) -> Contender:
    jax = peers.jax()
    fn = jax.jit(_flat(jax.value_and_grad(function, argnums)))
    args = peers.jax_arrays(*map(np.asarray, at))
    return Contender(lambda: jax.block_until_ready(fn(*args)))


def _compile_times(context: Context) -> list[Result]:
    """What a long graph takes to compile: in proportion to a short one."""
    ag = peers.agnesi()
    results = []
    for operations in COMPILED:
        result = Result.empty(context, f"{operations} scalar operations, compile")
        samples = []
        for _ in range(3 if operations == COMPILED[0] else 1):
            contender = chain_of_agnesi(operations)
            with ag.config(cache=False):
                start = time.perf_counter()
                contender.fn(*contender.args)
                samples.append(time.perf_counter() - start)
        result.add(OURS, samples)
        results.append(result)
    results[1].limit = LINEAR * results[0].seconds[OURS] * COMPILED[1] / COMPILED[0]
    return results
