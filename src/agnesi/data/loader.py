"""The loader: batches of a dataset, shuffled, made ahead, and to be gone on with anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from types import GenericAlias
from typing import Any, Literal

import numpy as np

from agnesi.core.op import in_user_code, typed
from agnesi.core.options import Count, NotNegativeBound, Size, Written
from agnesi.core.support.errors import StateError, at
from agnesi.core.tensor import Tensor
from agnesi.data.dataset import TensorDataset
from agnesi.data.fetch import Fetch, Task
from agnesi.data.processes import Workers
from agnesi.data.samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    ordered,
    seeded,
)
from agnesi.data.streams import IterableDataset
from agnesi.data.threads import in_threads
from agnesi.ops.arrays.loading import check_state
from agnesi.ops.random.generators import Generator, default_generator

#: Libraries whose tables have columns by their names, and no samples by number.
_TABLES = ("pandas", "polars", "pyarrow")
#: Options that decide how a loader is made.
_FIXED = frozenset(("batch_sampler", "batch_size", "collate_fn", "dataset", "drop_last", "sampler",
                    "shuffle"))


class DataLoader(Written):
    """Iterate over a dataset in batches; each iteration is one epoch.

    Batches of arrays are taken at once: in order they are read-only views, shuffled ones one gather
    each; nothing runs for each sample.  Any other object with ``len`` and ``[]`` is a dataset, too,
    whose samples ``collate_fn`` makes batches of; an iterable without them is a stream.

    The order and all random numbers of transforms follow from the generator, whatever makes the
    batches: with equal seeds they are equal in each run, with any number of workers.

    Parameters
    ----------
    dataset : Dataset, IterableDataset, array_like or iterable
        Where samples come from; of one array, its rows.
    batch_size : int or None
        Samples of a batch; None: samples come one by one, as they are.
    shuffle : bool
        Whether each epoch has an order of its own.
    sampler : Sampler or iterable of int, optional
        The order of samples, instead of ``shuffle``.
    batch_sampler : Sampler or iterable of sequences of int, optional
        The numbers of each batch's samples, instead of all that says how batches are made.
    num_workers : int
        How many processes (or threads) make batches ahead; 0: they are made when they are asked
        for.
    collate_fn : callable, optional
        Makes a batch of a list of samples; :func:`agnesi.data.default_collate` by default.
    pin_memory : bool
        For PyTorch's users; there is one kind of memory here.
    drop_last : bool
        Whether a last batch that is not full is left out.
    timeout : float
        Seconds to wait for a worker's batch; 0: for as long as the worker lives.
    worker_init_fn : callable, optional
        Called in each worker process first, with the worker's number.
    multiprocessing_context : str, optional
        How processes start: "fork", "spawn" or "forkserver"; Python's default by default.
    generator : Generator or int, optional
        Where the order comes from, or its seed; by default
        :func:`agnesi.random.default_generator`.
    prefetch_factor : int
        How many batches each worker is ahead.
    persistent_workers : bool
        Whether processes stay between epochs.
    pin_memory_device : str
        For PyTorch's users, as ``pin_memory``.
    in_order : bool
        For PyTorch's users; batches always come in order.
    worker_type : {"process", "thread"}
        Threads share the dataset and need no pickling, but run Python one at a time: they serve
        where reading or NumPy takes the time, processes where Python does.

    Attributes
    ----------
    epoch : int
        How many epochs are over.

    Raises
    ------
    TypeError
        If the dataset is none, or a function cannot be called.
    ValueError
        If a number is out of its range, or arguments exclude each other.

    See Also
    --------
    data.TensorDataset, data.Dataset, data.PadCollate, data.BucketBatchSampler

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import data
    >>> dataset = data.TensorDataset(ag.arange(5), ag.arange(5) % 2)
    >>> for x, y in data.DataLoader(dataset, batch_size=2):
    ...     print(x.tolist(), y.tolist())
    [0, 1] [0, 1]
    [2, 3] [0, 1]
    [4] [0]
    >>> loader = data.DataLoader(dataset, batch_size=2, shuffle=True, generator=0)
    >>> sorted(n for x, y in loader for n in x.tolist())
    [0, 1, 2, 3, 4]
    """

    __class_getitem__ = classmethod(GenericAlias)  # type: ignore[var-annotated]

    def __init__(self, dataset: object, batch_size: Count | None = 1, shuffle: bool = False,
                 sampler: Iterable[Any] | None = None,
                 batch_sampler: Iterable[Any] | None = None, num_workers: Size = 0,
                 collate_fn: Callable[..., Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: NotNegativeBound = 0,
                 worker_init_fn: Callable[[int], Any] | None = None,
                 multiprocessing_context: str | None = None,
                 generator: Generator | int | None = None, *, prefetch_factor: Count = 2,
                 persistent_workers: bool = False,
                 pin_memory_device: str = "", in_order: bool = True,
                 worker_type: Literal["process", "thread"] = "process") -> None:
        if isinstance(dataset, (np.ndarray, Tensor)):
            dataset = _Rows(dataset)
        self.dataset: Any = dataset
        self.batch_size, self.drop_last = batch_size, drop_last
        self.is_stream = (isinstance(dataset, IterableDataset)
                          or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")))
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.collate_fn, self.multiprocessing_context = collate_fn, multiprocessing_context
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.worker_type = worker_type
        ordering = batch_sampler if sampler is None else sampler
        if generator is None and isinstance(ordering, Sampler):
            generator = ordering.generator
        self.generator = seeded(generator)
        self._check(shuffle, sampler, batch_sampler)
        self.sampler: Any = None
        self.batch_sampler: Any = None
        if not self.is_stream:
            self.sampler = sampler if sampler is not None else (
                RandomSampler if shuffle else SequentialSampler)(self.dataset)  # type: ignore[arg-type]
            self.batch_sampler = batch_sampler if batch_sampler is not None else (
                None if batch_size is None else BatchSampler(self.sampler, batch_size, drop_last))
        self.epoch = 0
        self._words: np.ndarray | None = None  # the stream of random numbers of this epoch
        self._batch = 0  # how many batches of this epoch were given
        self._goes_on = False  # whether the next iteration goes on in the middle
        self._fetch = Fetch(dataset, collate_fn, self.is_stream,
                            batch_size is None and batch_sampler is None)
        self._workers: Workers | None = None

    def _check(self, shuffle: bool, sampler: Any, batch_sampler: Any) -> None:
        """Refuse arguments that say nothing, or exclude each other."""
        if isinstance(self.dataset, (str, bytes)):
            raise TypeError(at(f"DataLoader takes a dataset, not a text, {typed(self.dataset)}; "
                               "data.read_csv, data.ImageFolder and data.TextDataset make ones of "
                               "files and texts"))
        if hasattr(self.dataset, "columns") and (
                type(self.dataset).__module__.split(".")[0] in _TABLES):
            raise TypeError(at(f"DataLoader takes a dataset, not a {type(self.dataset).__name__}; "
                               "data.from_frame(frame, target=...) makes one"))
        if self.is_stream and not isinstance(self.dataset, Iterable):
            raise TypeError(at("DataLoader takes a dataset, which has len and [], or an iterable, "
                               f"not {typed(self.dataset)}"))
        if self.is_stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(at("DataLoader: a stream comes in its own order; shuffle and samplers "
                                "need a dataset with len and []"))
        if isinstance(self.dataset, type):
            raise TypeError(at(f"DataLoader: the dataset is the class {self.dataset.__name__}: "
                               f"make one of it, {self.dataset.__name__}(...)"))
        try:
            _ = 0 if self.is_stream else len(self.dataset)
        except (TypeError, ValueError) as error:
            raise TypeError(at(f"DataLoader: len() of the dataset, {typed(self.dataset)}, fails: "
                               f"{error}; its __len__ returns how many samples there are")
                            ) from error
        if shuffle and sampler is not None:
            raise ValueError(at("DataLoader: give shuffle or sampler, not both"))
        if batch_sampler is not None and (self.batch_size != 1 or shuffle or sampler is not None
                                          or self.drop_last):
            raise ValueError(at("DataLoader: batch_sampler stands for batch_size, shuffle, sampler "
                                "and drop_last"))
        if not (self.generator is None or isinstance(self.generator, Generator)):
            raise TypeError(at("DataLoader: generator must be an agnesi.random.Generator or a "
                               f"seed, not {typed(self.generator)}"))

    def __setattr__(self, name: str, value: Any) -> None:
        if "_workers" in vars(self) and name in _FIXED:
            raise AttributeError(at(f"DataLoader.{name} was used when the loader was made, and "
                                    f"cannot be set: make another one, with {name}=..."))
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if self.is_stream:
            return self._stream_length()
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _stream_length(self) -> int:
        """How many batches a stream gives that says how many samples it has."""
        if not hasattr(type(self.dataset), "__len__"):
            raise TypeError(at("a DataLoader of a stream without len() has no length"))
        if self.batch_size is None:
            return len(self.dataset)
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    # -- going on -------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The position of the loader, also in the middle of an epoch.

        :returns: The epoch, how many of its batches were given, what its order follows from, and
            the state of a generator of its own.
        """
        words = None if self._words is None else self._words.copy()
        own = None if self.generator is None else self.generator.state_dict()
        return {"epoch": self.epoch, "batch": self._batch, "words": words, "generator": own}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where a loader of the same dataset was: the next iteration gives the rest.

        :param state: As :meth:`state_dict` gives it.
        :raises KeyError: If it is no such state.
        """
        check_state("DataLoader", state)
        if missing := [n for n in ("epoch", "batch", "words", "generator") if n not in state]:
            raise StateError(at("DataLoader.load_state_dict: the state is none of a loader: it "
                                f"lacks {missing}"))
        epoch, batch, words = int(state["epoch"]), int(state["batch"]), state["words"]
        own = state["generator"]
        if own is not None and self.generator is not None:
            self.generator.load_state_dict(own)
        self._words = None if words is None else np.array(words, np.uint32)
        self.epoch, self._batch, self._goes_on = epoch, batch, self._words is not None

    # -- iterating ------------------------------------------------------------------------
    def __iter__(self) -> Iterator[Any]:
        if not self._goes_on:
            generator = default_generator() if self.generator is None else self.generator
            self._words, self._batch = generator.beginning(), 0
        self._goes_on = False
        words: Any = self._words
        return self._run(words, self._batch)

    def _run(self, words: np.ndarray, first: int) -> Iterator[Any]:
        """The batches of an epoch from some batch on."""
        state = vars(self)  # as written by the loader itself, without the checks of users' writes
        for batch in self._made(self._tasks(words, first)):
            first += 1
            state["_batch"] = first
            yield batch
        self.epoch += 1
        self._words, self._batch = None, 0

    def _tasks(self, words: np.ndarray, first: int) -> Iterator[Task]:
        """Yield the work of an epoch, from some batch on."""
        seed = int(words[0]), int(words[1])
        batches = self._batches(words)
        if isinstance(batches, Iterator):
            for number, what in enumerate(islice(batches, first, None), first):
                yield Task(number, (*seed, number), what)
        else:
            for number in range(first, len(batches)):
                yield Task(number, (*seed, number), batches[number])

    def _batches(self, words: np.ndarray) -> Any:
        """Samples, or their numbers, of each batch."""
        if self.is_stream:
            return _groups(_begun(self._fetch.source), self.batch_size, self.drop_last)
        own = Generator(0)
        own.load_state_dict({"state": words})
        each = BatchSampler(self.sampler, 1) if self.batch_sampler is None else self.batch_sampler
        return ordered(each, own)

    def _made(self, tasks: Iterator[Task]) -> Iterator[Any]:
        if not self.num_workers:
            return map(self._fetch, tasks)
        if self.worker_type == "thread":
            return in_threads(self._fetch, tasks, self.num_workers,
                              self.num_workers * self.prefetch_factor, self.timeout)
        return self._in_processes(tasks)

    def _in_processes(self, tasks: Iterator[Task]) -> Iterator[Any]:
        workers = self._workers or Workers(
            self._fetch, self.num_workers, self.multiprocessing_context, self.worker_init_fn)
        self._workers = workers if self.persistent_workers else None
        try:
            yield from workers.results(tasks, self.prefetch_factor, self.timeout)
        finally:
            if workers.broken is not None or not self.persistent_workers:
                self._workers = None
                workers.stop()

    def __repr__(self) -> str:
        return (f"DataLoader({self.dataset!r}, batch_size={self.batch_size}, "
                f"num_workers={self.num_workers})")


def _begun(stream: Any) -> Iterator[Any]:
    """An iterator of a stream, whose ``__iter__`` is the user's."""
    try:
        return iter(stream)
    except TypeError as error:
        if in_user_code(error):
            raise
        raise TypeError(at(f"DataLoader: __iter__ of the dataset, {typed(stream)}, must give an "
                           f"iterator, as with yield: {error}")) from None


def _groups(samples: Iterator[Any], size: int | None, drop_last: bool) -> Iterator[list[Any]]:
    """Samples of a stream, batch by batch."""
    count = size or 1
    while group := list(islice(samples, count)):
        if len(group) == count or not drop_last:
            yield group


class _Rows(TensorDataset):
    """One array, whose batches are bare tensors."""

    def _shaped(self, parts: list[Any]) -> Any:
        return parts[0]
