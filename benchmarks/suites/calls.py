"""What one call of a compiled function costs: one operation on 10 float32 values; and what guards,
and a branch of Python's on a computed value, add to it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result, time_in_turn
from benchmarks.suites import _guards

TITLE = "compiled call, one op on 10 float32 values"
THREADS = (1,)
LIMIT = 0.3e-6
GOAL = 10.0  # over the compilers; NumPy and PyTorch eager stand beside them to be seen
COMPILERS = ("jax", "pytensor numba", "pytensor c")
BRANCH = "a step with one Python branch on its loss"
WITHOUT = "agnesi without"
ADDED = 1e-6  # seconds that the branch may cost
GUARDED = 0.25e-6  # seconds that guards may cost


def run(context: Context) -> list[Result]:
    cases = [_case("jit: x + 1", _jit), _case("function: x + 1", _function)]
    guarded = [_guarded(context, *case) for case in _guards.cases().items()]
    return [*context.measure_all(cases), *guarded, _branch(context)]


def _guarded(context: Context, what: str, case: tuple[_guards.Case, _guards.Case]) -> Result:
    """A function that reads what may change, beside one that does not: the shortest rounds count,
    for the difference is less than what a busy machine adds."""
    context.note(f"guards: {what}")
    (reads, given), (plain, few) = case
    for _ in range(3):
        reads(*given), plain(*few)
    samples = time_in_turn(
        {OURS: Contender(reads, given), WITHOUT: Contender(plain, few)}, context.quick)
    least = {who: [min(seconds)] for who, seconds in samples.items()}
    result = Result.empty(context, f"guards: {what}", limit=least[WITHOUT][0] + GUARDED)
    for who, seconds in least.items():
        result.add(who, seconds)
    return result


def _branch(context: Context) -> Result:
    """The step whose both ways are compiled, on the way that it takes, beside the one without."""
    context.note(BRANCH)
    ag = peers.agnesi()
    x = ag.tensor(np.linspace(-1, 1, 640, dtype=np.float32).reshape(64, 10))
    plain, branched = _step(ag, False), _step(ag, True)
    for scale in (1, 100, 1):
        plain(x * scale), branched(x * scale)
    samples = time_in_turn(
        {OURS: Contender(branched, (x,)), WITHOUT: Contender(plain, (x,))}, context.quick)
    result = Result.empty(context, BRANCH, limit=statistics.median(samples[WITHOUT]) + ADDED)
    for who, seconds in samples.items():
        result.add(who, seconds)
    return result


def _step(ag: Any, branches: bool) -> Callable[[Any], Any]:
    """A step of gradient descent, which with the branch leaves batches of large loss out."""
    w = ag.ones(10)

    @ag.jit
    def step(x: Any) -> Any:
        loss, grad = ag.value_and_grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
        if branches and loss > 10:
            return loss
        w.sub_(0.01 * grad)
        return loss

    return step


def _case(name: str, ours: Callable[[np.ndarray], Contender]) -> Case:
    x = np.arange(10, dtype=np.float32)
    contenders = {
        "agnesi": lambda: ours(x),
        "numpy": lambda: Contender(np.add, (x, np.float32(1))),
        "torch": lambda: _torch(x),
        "jax": lambda: Contender(peers.jax_waiting(lambda x: x + 1), peers.jax_arrays(x)),
        "pytensor numba": lambda: _pytensor(x, "numba"),
        "pytensor c": lambda: _pytensor(x, "cvm"),
    }
    return Case(name, lambda: x + 1, contenders, goal=GOAL, limit=LIMIT, rivals=COMPILERS)


def _jit(x: np.ndarray) -> Contender:
    ag = peers.agnesi()
    return Contender(ag.jit(lambda x: x + 1), (ag.tensor(x),))


def _function(x: np.ndarray) -> Contender:
    ag = peers.agnesi()
    from agnesi import symbolic as T

    v = T.fvector("v")
    return Contender(ag.function([v], v + 1), (x,))


def _torch(x: np.ndarray) -> Contender:
    torch = peers.torch()
    return Contender(torch.add, (torch.from_numpy(x), 1))


def _pytensor(x: np.ndarray, linker: str) -> Contender:
    v = peers.pytensor().tensor.fvector("v")
    return Contender(peers.pytensor_function([v], v + 1, linker), (x,))
