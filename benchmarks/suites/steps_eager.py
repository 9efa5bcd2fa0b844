"""Training steps of small networks as they stand, without ``jit``, beside PyTorch's eager mode."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Case, Contender, Context, Result
from benchmarks.models import small
from benchmarks.suites import _training
from benchmarks.suites._training import Task

TITLE = "training steps of small networks, eager"
THREADS = (1,)
WARM = 400  # steps


def run(context: Context) -> list[Result]:
    return context.measure_all(_case(model) for model in small.MODELS)


def task_of(model: small.Small) -> Task:
    """Random inputs and labels for a network."""
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal(model.shape).astype(np.float32)
    labels = rng.integers(0, small.CLASSES, model.shape[model.batch_axis])
    return Task(model.name, model.build, (inputs, labels), model.part, images=inputs.ndim == 4)


def warmed(contender: Contender) -> Contender:
    """Behind the steps that are compared, so many that what is called often has been compiled."""
    answer = contender.answer
    assert answer is not None
    checked = answer()
    for _ in range(WARM):
        contender.fn(*contender.args)
    return Contender(contender.fn, contender.args, answer=lambda: checked)


def _case(model: small.Small) -> Case:
    task = task_of(model)
    contenders = _training.contenders(task, compiled=False)
    contenders["agnesi"] = lambda: warmed(_training.with_agnesi(task, jit=False))
    return Case(model.name, _training.expected(task), contenders, rtol=1e-3, goal=1.0)
