"""One batch, from the numbers of its samples: what the loader or its workers run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.op import in_user_code, is_accident, typed
from agnesi.core.support.errors import at, call_user
from agnesi.data import collate as collating
from agnesi.data.dataset import as_tensor, gives_batches
from agnesi.data.draws import begin_batch
from agnesi.data.streams import MappedStream
from agnesi.ops.base.convert import check_unmasked


class Task(NamedTuple):
    """A batch to make: its number in the epoch, its seed, and its samples or their numbers."""

    number: int
    seed: tuple[int, ...]
    what: Any


class Fetch:
    """Makes batches of a dataset."""

    def __init__(self, dataset: Any, collate: Callable[..., Any] | None, stream: bool,
                 single: bool) -> None:
        self.stream, self.single = stream, single
        self.functions: list[MappedStream] = []
        while isinstance(dataset, MappedStream):
            self.functions.insert(0, dataset)
            dataset = dataset.dataset
        #: What samples come from.
        self.source = dataset
        self.whole = not stream and not single and collate is None and gives_batches(dataset)
        # By its module: only what stands there can be pickled.
        self.collate = collate or (_alone if single else collating.default_collate)

    def __getstate__(self) -> dict[str, Any]:
        """A stream is read in one place, and not sent to workers."""
        return {**vars(self), "source": None if self.stream else self.source}

    def __call__(self, task: Task) -> Any:
        begin_batch(task.seed)
        what = task.what
        if self.whole:
            if isinstance(what, range):
                what = slice(what.start, what.stop)
            elif not isinstance(what, np.ndarray):
                _check_numbers(what)
            return self.source.take(what)
        samples = list(what) if self.stream else self._samples(what)
        for mapped in self.functions:
            samples = [mapped.changed(sample) for sample in samples]
        batch = samples[0] if self.single else samples
        return call_user(self.collate, (batch,), {}, "DataLoader", "collate_fn(samples)")

    def _samples(self, what: Any) -> list[Any]:
        """The samples of some numbers, one by one."""
        numbers = what.tolist() if isinstance(what, np.ndarray) else what
        _check_numbers(numbers)
        try:
            return [self.source[k] for k in numbers]
        except (IndexError, KeyError, TypeError) as error:
            if in_user_code(error) or not is_accident(error):
                raise
            raise IndexError(at(f"DataLoader: the dataset, {typed(self.source)}, has not all of"
                                f" the samples {typed(list(numbers))}, which are numbers from 0"
                                " on, by the sampler if there is one")) from None


def _check_numbers(what: Any) -> None:
    if not isinstance(what, Iterable):
        raise TypeError(at("DataLoader: batch_sampler must give lists of the numbers of each "
                           f"batch's samples, not {typed(what)}"))


def _alone(sample: Any) -> Any:
    """One sample as a batch is given, without an axis for samples."""
    if isinstance(sample, (np.ndarray, np.generic)):
        check_unmasked(sample)
        return as_tensor(np.asarray(sample))
    if isinstance(sample, (tuple, list)):
        parts = [_alone(part) for part in sample]
        if hasattr(sample, "_fields"):
            return type(sample)(*parts)
        return parts if isinstance(sample, list) else tuple(parts)
    if isinstance(sample, Mapping):
        return {name: _alone(v) for name, v in sample.items()}
    return sample
