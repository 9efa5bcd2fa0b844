"""What one call of a compiled function costs: one operation on 10 float32 values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "compiled call, one op on 10 float32 values"
THREADS = (1,)
LIMIT = 0.3e-6
GOAL = 10.0  # over the compilers; NumPy and PyTorch eager stand beside them to be seen
COMPILERS = ("jax", "pytensor numba", "pytensor c")


def run(context: Context) -> list[Result]:
    return context.measure_all(
        [_case("jit: x + 1", _jit), _case("function: x + 1", _function)]
    )


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
