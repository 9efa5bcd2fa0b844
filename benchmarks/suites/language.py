"""Training steps of language models: LSTM, GRU, the attention captioner, a small transformer."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from benchmarks.harness import Case, Contender, Context, Result
from benchmarks.models import language
from benchmarks.models.language import VOCABULARY, Captions, Text
from benchmarks.suites import _language_jax, _training
from benchmarks.suites._training import Task

TITLE = "language models, training step, jit"
THREADS = (1, 2)
GOAL = 1.4


def run(context: Context) -> list[Result]:
    tasks = [text_task(text) for text in language.MODELS]
    tasks += [caption_task(sizes) for sizes in language.CAPTIONERS]
    return [context.measure(_case(task)) for task in tasks]


def _case(task: Task) -> Case:
    contenders: dict[str, Callable[[], Contender]] = _training.contenders(task)
    contenders["jax"] = lambda: _training.with_jax(task, _language_jax.loss_of(task.model))
    return Case(
        task.name, _training.expected(task), contenders, rtol=1e-3, goal=GOAL,
        items=task.inputs[-1].size,
    )  # fmt: skip


def text_task(text: Text) -> Task:
    """A batch of random words and those that follow them."""
    rng = np.random.default_rng(text.width)
    first = text.kind == "transformer"
    shape = (text.batch, text.length) if first else (text.length, text.batch)
    words, labels = rng.integers(0, VOCABULARY, (2, *shape))
    return Task(
        text.name, functools.partial(language.build, text=text), (words, labels.reshape(-1)),
        dropout=text.dropout, model=text,
    )  # fmt: skip


def caption_task(sizes: Captions) -> Task:
    """Random frames with a caption each."""
    rng = np.random.default_rng(sizes.batch)
    frames = rng.standard_normal((sizes.batch, sizes.frames, sizes.features)).astype(np.float32)
    words, labels = rng.integers(0, VOCABULARY, (2, sizes.length, sizes.batch))
    return Task(
        sizes.name, functools.partial(language.captioner, sizes=sizes),
        (frames, words, labels.reshape(-1)), model=sizes,
    )  # fmt: skip
