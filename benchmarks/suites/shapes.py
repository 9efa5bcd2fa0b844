"""Batch sizes and lengths that change from call to call: a pass over 100, compiling included.

Then passes again, where nothing is left to compile; and versions for all sizes against versions
for each size.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Context, Result
from benchmarks.models import convnets, language
from benchmarks.suites import _language_jax, _mlp, _training, convnets_small
from benchmarks.suites import language as texts
from benchmarks.suites._training import Task

TITLE = "100 batch sizes and lengths"
THREADS = (1,)
MOST_COMPILES = 3
ROUNDS, SECONDS = 5, 0.5  # passes: so many at least, and as many as fit
NET = (784, 500, 10)

Make = Callable[[], Callable[..., Any]]
Batches = list[tuple[np.ndarray, np.ndarray]]


def run(context: Context) -> list[Result]:
    with _empty_caches():
        return _results(context)


@contextmanager
def _empty_caches() -> Iterator[None]:
    """Nothing of earlier runs in disk caches: ours, and that of `torch.compile`; JAX's is off."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor"
        with peers.agnesi().config(cache_dir=f"{folder}/agnesi"):
            yield


def _results(context: Context) -> list[Result]:
    sizes = range(1, 101, 5 if context.quick else 1)
    rng = np.random.default_rng(0)
    batches = [
        (rng.standard_normal((n, NET[0])).astype(np.float32), rng.integers(0, NET[-1], n))
        for n in rng.permutation(sizes)
    ]
    problem = _mlp.make(NET, 1)
    lengths = rng.permutation(sizes)
    return [
        *_measured(context, "tanh and softmax", batches, _rows_makers()),
        *_measured(context, "MLP step 784-500-10", batches, {
            OURS: lambda: peers.agnesi().jit(_mlp.agnesi_step(problem)),
            "torch": lambda: _torched(_mlp.torch_step(problem)),
            "torch.compile": lambda: _torched(_mlp.torch_compiled_step(problem)),
            "jax": lambda: _mlp.jax_step(problem),
        }),
        *_measured(context, "LeNet step", *_by_batch(lengths)),
        *_measured(context, "LSTM step by length", *_by_length(lengths)),
        *_measured(context, "attention by length", [
            (x, x) for x in (rng.standard_normal((8, n, 64), np.float32) for n in lengths)
        ], _attention_makers()),
    ]  # fmt: skip


def _by_batch(sizes: Sequence[int]) -> tuple[Batches, dict[str, Make]]:
    nets = [n for n in convnets.TORCH7 if n.pixels == 32]
    batches = [convnets_small.task_of(dataclasses.replace(nets[0], batch=int(n))).inputs
               for n in sizes]
    task = convnets_small.task_of(nets[0])
    return batches, _step_makers(task, lambda: convnets_small.with_jax(nets[0], task))


def _by_length(sizes: Sequence[int]) -> tuple[Batches, dict[str, Make]]:
    text = language.Text("LSTM", "LSTM", 1, 100, 20, batch=8)
    batches = [texts.text_task(dataclasses.replace(text, length=int(n))).inputs for n in sizes]
    loss_of = _language_jax.loss_of(text)
    task = texts.text_task(text)
    return batches, _step_makers(task, lambda: _training.with_jax(task, loss_of))


def _step_makers(task: Task, with_jax: Callable[[], Any]) -> dict[str, Make]:
    step = _training.agnesi_function(task)[1]

    def torched(compiled: bool) -> Callable[..., Any]:
        contender = _training.with_torch(task, compiled=compiled, dynamic=None)
        return _torched(lambda *batch: contender.fn(*batch).detach())

    return {
        OURS: lambda: peers.agnesi().jit(step),
        "torch": lambda: torched(False),
        "torch.compile": lambda: torched(True),
        "jax": lambda: with_jax().fn,
    }


def _attention_makers() -> dict[str, Make]:
    def attend(lib: Any, x: Any) -> Any:
        return lib.softmax(x @ x.swapaxes(1, 2) * np.float32(0.125), -1) @ x

    def jax_attend() -> Any:
        jax = peers.jax()
        return peers.jax_waiting(lambda x, _: attend(jax.nn, x))

    return {
        OURS: lambda: peers.agnesi().jit(lambda x, _: attend(peers.agnesi(), x)),
        "torch": lambda: _torched(lambda x, _: attend(peers.torch(), x)),
        "torch.compile": lambda: _torched(
            peers.torch().compile(lambda x, _: attend(peers.torch(), x))),
        "jax": jax_attend,
    }


def _rows_makers() -> dict[str, Make]:
    def ours() -> Any:
        ag = peers.agnesi()
        return ag.jit(lambda x, y: ag.softmax(ag.tanh(x), axis=1))

    def torch_rows(x: Any, y: Any) -> Any:
        return peers.torch().softmax(peers.torch().tanh(x), 1)

    def jax_rows() -> Any:
        jax = peers.jax()
        return peers.jax_waiting(lambda x, y: jax.nn.softmax(jax.numpy.tanh(x), axis=1))

    return {
        OURS: ours,
        "torch": lambda: _torched(torch_rows),
        "torch.compile": lambda: _torched(peers.torch().compile(torch_rows)),
        "jax": jax_rows,
    }


def _torched(step: Callable[..., Any]) -> Callable[..., Any]:
    torch = peers.torch()
    return lambda x, y: step(torch.from_numpy(x), torch.from_numpy(y))


def _measured(
    context: Context, name: str, batches: Batches, makers: dict[str, Make]
) -> Iterator[Result]:
    first = Result.empty(context, f"{name}, first pass", goal=1.0, rivals=("jax", "torch.compile"))
    again = Result.empty(context, f"{name}, again", goal=1.0)
    ready = {}
    for library, make in makers.items():
        context.note(f"{name}: {library}")
        try:
            step = make()
            first.add(library, [_pass([step] * len(batches), batches)])
            ready[library] = [step] * len(batches)
        except Exception as error:  # a peer's own failure must not end the run; it is reported
            first.absent[library] = again.absent[library] = f"{type(error).__name__}: {error}"
    ours = ready[OURS][0]
    compiles = len(ours.specialisations)
    if compiles > MOST_COMPILES:
        first.absent[OURS] = f"{compiles} compiles"
        del first.seconds[OURS]
    for library, samples in _in_turn(ready, batches).items():
        again.add(library, samples)
    own = Result.empty(context, f"{name}, against versions of their own", goal=0.95)
    steps = [makers[OURS]() for _ in batches]
    _pass(steps, batches)
    both = {OURS: ready[OURS], "specialised": steps}
    for library, samples in _in_turn(both, batches).items():
        own.add(library, samples)
    return iter((first, again, own))


def _in_turn(ready: dict[str, list[Any]], batches: Batches) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {name: [] for name in ready}
    rounds, end = 0, time.perf_counter() + SECONDS
    while rounds < ROUNDS or time.perf_counter() < end:
        rounds += 1
        for name, steps in ready.items():
            samples[name].append(_pass(steps, batches))
    return samples


def _pass(steps: Sequence[Callable[..., Any]], batches: Batches) -> float:
    """Seconds for a step on each batch."""
    start = time.perf_counter()
    for step, (x, y) in zip(steps, batches, strict=True):
        np.asarray(step(x, y))
    return time.perf_counter() - start
