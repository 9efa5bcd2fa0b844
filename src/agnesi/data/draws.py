"""Random numbers of a batch: the same in every run, whichever process makes the batch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.support.foreign import parameters_of


class _Batch(threading.local):
    """The batch that a thread makes now: its seed, and the generator once it was requested."""

    seed: tuple[int, ...] | None = None
    generator: np.random.Generator | None = None


_BATCH = _Batch()


def begin_batch(seed: tuple[int, ...] | None) -> None:
    """This thread makes the batch of a seed from now on."""
    _BATCH.seed, _BATCH.generator = seed, None


def batch_generator() -> np.random.Generator:
    """The generator of the batch that this thread makes; outside of loaders, some generator."""
    if _BATCH.generator is None:
        _BATCH.generator = np.random.default_rng(_BATCH.seed)
    return _BATCH.generator


def accepts_generator(function: Callable[..., Any]) -> bool:
    """Return whether a function has a parameter ``generator``."""
    return "generator" in (parameters_of(function) or ())
