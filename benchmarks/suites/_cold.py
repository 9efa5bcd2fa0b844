"""In a process of its own: how long one library takes to compile a training step.

`python -m benchmarks.suites._cold LIBRARY MODEL` prints, as JSON, the seconds of the first step
over those of a later one, the later one's, and the first loss.  Imports and the making of the model
come before the clock starts, and so does what the host of a virtual machine takes to find memory.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.models import convnets, language
from benchmarks.suites import _language_jax, _mlp, _training, convnets_small
from benchmarks.suites import language as texts
from benchmarks.suites._training import Task

First = Callable[[], Any]
SIZES, BATCH = (784, 500, 10), 60
MLP = "MLP"
_LATER = 0.5  # seconds of steps behind the first
_MEMORY, _PAGE = 1 << 30, 4096


def _text(name: str, **changes: Any) -> Task:
    text = next(t for t in language.MODELS if t.name == name)
    return texts.text_task(dataclasses.replace(text, **changes))


def _net(nets: tuple[convnets.Net, ...], name: str) -> Task:
    return convnets_small.task_of(next(n for n in nets if n.name == name))


#: The models beside the MLP, by name.
TASKS: dict[str, Callable[[], Task]] = {
    "LeNet": lambda: convnets_small.task_of(
        next(n for n in convnets.TORCH7 if n.pixels == 32 and n.batch == 60)
    ),
    "LSTM": lambda: _text("LSTM small"),
    "AlexNet": lambda: _net(convnets.IMAGENET, "AlexNet"),
    "GoogLeNet": lambda: _net(convnets.IMAGENET, "GoogLeNet"),
    "transformer, 12 layers": lambda: _text("transformer", layers=12),
}


def _agnesi(problem: Any, **settings: Any) -> First:
    if isinstance(problem, Task):
        return _step(_training.with_agnesi(problem, **settings))
    ag = peers.agnesi()
    step = ag.jit(_mlp.agnesi_step(problem), **settings)
    args = ag.tensor(problem.x), ag.tensor(problem.y)
    return lambda: step(*args)


def _jax(problem: Any) -> First:
    if isinstance(problem, Task):
        if problem.images:
            net = next(n for n in convnets.TORCH7 if problem.name.startswith(n.name))
            return _step(convnets_small.with_jax(net, problem))
        return _step(_training.with_jax(problem, _language_jax.loss_of(problem.model)))
    step = _mlp.jax_step(problem)
    args = peers.jax_arrays(problem.x, problem.y)
    return lambda: step(*args)


def _torch(problem: Any) -> First:
    torch = peers.torch()
    if isinstance(problem, Task):
        return _step(_training.with_torch(problem, compiled=True))
    step = _mlp.torch_compiled_step(problem)
    args = torch.from_numpy(problem.x), torch.from_numpy(problem.y)
    return lambda: step(*args)


def _pytensor(problem: Any, linker: str) -> First:
    peers.pytensor()
    return lambda: _mlp.pytensor_step(problem, linker)(problem.x, problem.y)


def _step(contender: Any) -> First:
    return lambda: contender.fn(*contender.args)


LIBRARIES: dict[str, Callable[[Any], First]] = {
    "agnesi": _agnesi,
    "fast_compile": functools.partial(_agnesi, optimizer="fast_compile"),
    "jax": _jax,
    "torch.compile": _torch,
    "pytensor numba": functools.partial(_pytensor, linker="numba"),
    "pytensor c": functools.partial(_pytensor, linker="cvm"),
}


def problem_of(model: str) -> Any:
    """What the libraries train."""
    return _mlp.make(SIZES, BATCH) if model == MLP else TASKS[model]()


def main(library: str, model: str) -> None:
    first = LIBRARIES[library](problem_of(model))
    np.empty(_MEMORY, np.uint8)[::_PAGE] = 0  # at a host's first touch up to 3 s, later 0.1 s
    start = time.perf_counter()
    loss = float(first())
    seconds = time.perf_counter() - start
    steps, end = [], time.perf_counter() + _LATER
    while not steps or time.perf_counter() < end:
        start = time.perf_counter()
        first()
        steps.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds - min(steps), "step": min(steps), "loss": loss}))


if __name__ == "__main__":
    main(*sys.argv[1:])
