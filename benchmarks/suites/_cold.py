"""In a process of its own: how long one library takes until the first MLP step is done.

`python -m benchmarks.suites._cold LIBRARY` prints the seconds and the loss as JSON.  Imports and
the making of the model come before the clock starts; compiling and one step come after.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import peers
from benchmarks.suites import _mlp

SIZES, BATCH = (784, 500, 10), 60


def _agnesi(problem: _mlp.Problem) -> Callable[[], Any]:
    ag = peers.agnesi()
    step = ag.jit(_mlp.agnesi_step(problem))
    args = ag.tensor(problem.x), ag.tensor(problem.y)
    return lambda: step(*args)


def _jax(problem: _mlp.Problem) -> Callable[[], Any]:
    step = _mlp.jax_step(problem)
    args = peers.jax_arrays(problem.x, problem.y)
    return lambda: step(*args)


def _torch(problem: _mlp.Problem) -> Callable[[], Any]:
    torch = peers.torch()
    step = _mlp.torch_compiled_step(problem)
    args = torch.from_numpy(problem.x), torch.from_numpy(problem.y)
    return lambda: step(*args)


def _pytensor(problem: _mlp.Problem, linker: str) -> Callable[[], Any]:
    peers.pytensor()
    return lambda: _mlp.pytensor_step(problem, linker)(problem.x, problem.y)


LIBRARIES: dict[str, Callable[[_mlp.Problem], Callable[[], Any]]] = {
    "agnesi": _agnesi,
    "jax": _jax,
    "torch.compile": _torch,
    "pytensor numba": lambda problem: _pytensor(problem, "numba"),
    "pytensor c": lambda problem: _pytensor(problem, "cvm"),
}


def main(library: str) -> None:
    first = LIBRARIES[library](_mlp.make(SIZES, BATCH))
    start = time.perf_counter()
    loss = float(first())
    print(json.dumps({"seconds": time.perf_counter() - start, "loss": loss}))


if __name__ == "__main__":
    main(sys.argv[1])
