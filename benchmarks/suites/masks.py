"""Results whose size is data: sums under masks, places, different elements, minibatches, and lists
that grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "x[x > 0].sum(), x[x > 0], nonzero, unique, minibatches by an index; float32; growing lists"
THREADS = (1,)
SIZES, QUICK_SIZES = (1000, 10_000, 100_000, 1_000_000, 10_000_000), (1000, 100_000)
GOAL, OF_UNIQUE = 1.5, 1.0
#: Steps of a loop that appends to a list, and what Python's loop takes over ours.
STEPS, OF_PYTHON = (10_000, 100_000), 20.0

#: How a library says it; ``xp`` is its namespace, ``x`` an operand, ``i`` an index.
Call = Callable[..., Any]
OF_NUMPY: dict[str, Call] = {
    "masked sum": lambda xp, x, i: x[x > 0].sum(),
    "mask": lambda xp, x, i: x[x > 0],
    "nonzero": lambda xp, x, i: xp.nonzero(x)[0],
    "unique": lambda xp, x, i: xp.unique(x),
    "minibatch": lambda xp, x, i: x[i * (x.shape[0] // 10):(i + 1) * (x.shape[0] // 10)].sum(),
}
OF_TORCH: dict[str, Call] = {
    **OF_NUMPY,
    "nonzero": lambda xp, x, i: xp.nonzero(x, as_tuple=True)[0],
}


def run(context: Context) -> list[Result]:
    return context.measure_all([
        *_cases(QUICK_SIZES if context.quick else SIZES), *map(_growing, STEPS)])


def _cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    for name in OF_NUMPY:
        for n in sizes:
            rng = np.random.default_rng(n)
            x = rng.standard_normal(n).astype(np.float32)
            if name == "unique":
                x = rng.integers(0, n, n).astype(np.float32)
            if name == "nonzero":
                x *= rng.random(n) < 0.5
            i = np.asarray(3)
            expected = np.asarray(OF_NUMPY[name](np, x.astype(np.float64), 3))
            expected = expected if name == "nonzero" else expected.astype(np.float32)
            yield Case(
                f"{name} {n}", lambda e=expected: e, _contenders(name, x, i),
                rtol=1e-3, atol=1e-3 * n ** 0.5, bytes=x.nbytes + expected.nbytes,
                goal=OF_UNIQUE if name == "unique" else GOAL,
            )  # fmt: skip


def _contenders(name: str, x: np.ndarray, i: np.ndarray) -> dict[str, Callable[[], Contender]]:
    def ours() -> Contender:
        ag = peers.agnesi()
        function = ag.jit(lambda x, i: OF_NUMPY[name](ag, x, i))
        return Contender(function, (ag.tensor(x), ag.tensor(i)))

    def of_torch() -> Contender:
        torch = peers.torch()
        return Contender(lambda x, i: OF_TORCH[name](torch, x, i),
                         (torch.from_numpy(x), torch.from_numpy(i)))

    def of_pytensor(linker: str) -> Contender:
        pt = peers.pytensor().tensor
        a, k = pt.fvector(), pt.lscalar()
        made = pt.extra_ops.Unique()(a) if name == "unique" else OF_NUMPY[name](pt, a, k)
        used = [a, k] if name == "minibatch" else [a]
        return Contender(peers.pytensor_function(used, made, linker), (x, i)[: len(used)])

    return {
        "agnesi": ours,
        "numpy": lambda: Contender(lambda x, i: OF_NUMPY[name](np, x, i), (x, i)),
        "torch": of_torch,
        "pytensor C": lambda: of_pytensor("cvm"),
        "pytensor numba": lambda: of_pytensor("numba"),
    }


def _growing(steps: int) -> Case:
    """A list that each step appends to; that the time is linear shows beside the other lengths."""
    return Case(
        f"a list of {steps} steps in while_loop", lambda: _appended(steps),
        {"agnesi": lambda: _agnesi_growing(steps),
         "python": lambda: Contender(_appended, (steps,))},
        bytes=steps * 8, dtype="float64", goal=OF_PYTHON)


def _appended(steps: int) -> np.ndarray:
    """The list, by Python's loop over its numbers."""
    found, x = [], 0.5
    for _ in range(steps):
        found.append(x)
        x = x * 0.9 + 0.1
    return np.array(found)


def _agnesi_growing(steps: int) -> Contender:
    ag = peers.agnesi()

    def step(state: Any) -> Any:
        i, found, x = state
        return i + 1, ag.concatenate([found, x.reshape(1)]), x * 0.9 + 0.1

    def loop(n: Any) -> Any:
        first = (ag.tensor(0), ag.zeros(0, dtype="float64"), ag.tensor(0.5, dtype="float64"))
        return ag.while_loop(lambda state: state[0] < n, step, first)[1]

    return Contender(ag.jit(loop), (ag.tensor(steps),))
