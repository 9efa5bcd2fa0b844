"""Datasets: samples by number, whole batches of arrays at once, streams."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from types import GenericAlias
from typing import Annotated, Any, TypeAlias

import numpy as np

from agnesi.core.op import typed
from agnesi.core.options import Rule
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import ShapeError, at, call_user
from agnesi.core.support.foreign import has
from agnesi.core.tensor import Tensor, wrap
from agnesi.data.draws import accepts_generator, batch_generator
from agnesi.data.samplers import seeded, shuffled
from agnesi.ops.base.convert import check_unmasked
from agnesi.ops.base.gather.elements import Index
from agnesi.ops.random.generators import Generator, default_generator

_ROWS = Index((0,), 0)


def is_numeric(dtype: np.dtype) -> bool:
    """Return whether tensors can have a dtype; texts and objects stay arrays."""
    return dtype in dtypes.ALL or dtype in dtypes.HALVES


def as_tensor(array: Any) -> Any:
    """A tensor around an array, where tensors can have its dtype."""
    return wrap(array) if is_numeric(array.dtype) else array


class Dataset:
    """Base of datasets: a subclass has ``__len__`` and ``__getitem__``, which gives one sample.

    Where whole batches can be had at once, ``take(indices)`` gives them, and the loader calls no
    Python for each sample.

    :see: data.DataLoader, data.TensorDataset, data.IterableDataset

    >>> from agnesi import data
    >>> class Squares(data.Dataset):
    ...     def __len__(self):
    ...         return 5
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> next(iter(data.DataLoader(Squares(), batch_size=3)))
    tensor([0, 1, 4])
    """

    __class_getitem__ = classmethod(GenericAlias)  # type: ignore[var-annotated]

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(at(f"{type(self).__name__} has no __getitem__(self, index), "
                                     "which gives one sample"))

    def __add__(self, other: Any) -> Dataset:
        return ConcatDataset([self, other])

    def map(self, function: Callable[..., Any], batched: bool = False) -> MappedDataset:
        """The same samples, each changed by a function when it is fetched.

        :param function: Takes what a sample consists of, one argument each, and gives a sample.
            Where it has a parameter ``generator``, it gets a :class:`numpy.random.Generator` of the
            batch, which is the same in every run, on any number of workers.
        :param batched: Whether it takes and gives whole batches.
        :returns: Of the same length.
        """
        return MappedDataset(self, function, batched)


def gives_batches(dataset: Any) -> bool:
    """Return whether ``take(indices)`` gives batches; arrays, tables and others have their own."""
    return isinstance(dataset, Dataset) and hasattr(dataset, "take")


class TensorDataset(Dataset):
    """Arrays whose rows are the samples; batches are taken from all of them at once.

    Batches in order are read-only views; others are one gather each.  Memory-mapped arrays
    (``numpy.load(path, mmap_mode="r")``) stay on disk, and their rows are read when they are taken.

    Parameters
    ----------
    *arrays : array_like, or one dict of them
        Of the same length along their first axis.

    Attributes
    ----------
    arrays : tuple of numpy.ndarray
        The arrays, not copied.
    classes : list of str or None
        Names of labels, where a reader of files knows them.

    Raises
    ------
    TypeError
        If a list of arrays is given in the place of the arrays.
    ValueError
        If there are none, or lengths differ.
    ShapeError
        If the rows of an array differ in shape.

    See Also
    --------
    data.DataLoader, data.Dataset

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import data
    >>> pairs = data.TensorDataset(ag.arange(6).reshape(3, 2), ag.arange(3))
    >>> pairs[2]
    (tensor([4, 5]), tensor(2))
    >>> pairs.take([2, 0])
    (tensor([[4, 5],
           [0, 1]]), tensor([2, 0]))
    """

    def __init__(self, *arrays: Any) -> None:
        named = arrays[0] if len(arrays) == 1 and isinstance(arrays[0], Mapping) else None
        if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) and any(
                isinstance(a, (Tensor, np.ndarray)) and a.ndim for a in arrays[0]):
            raise TypeError(at("TensorDataset takes arrays one by one, not a list of them: write "
                               "TensorDataset(*arrays), or stack samples with ag.stack"))
        self._names = None if named is None else list(named)
        self.arrays = tuple(map(_array, arrays if named is None else named.values()))
        sizes = [a.shape[:1] for a in self.arrays]
        if not sizes or () in sizes or len(set(sizes)) > 1:
            raise ValueError(at("TensorDataset takes arrays with the same number of rows, not "
                                f"{', '.join(map(typed, self.arrays)) or 'none'}"))
        self._count = sizes[0][0]
        self._made = [wrap if is_numeric(a.dtype) else np.asarray for a in self.arrays]
        self.classes: list[str] | None = None

    @property
    def tensors(self) -> tuple[Any, ...]:
        """The arrays as tensors around the same memory.

        Returns
        -------
        tuple of Tensor
            Arrays of texts and objects as they are.
        """
        return tuple(map(as_tensor, self.arrays))

    @tensors.setter
    def tensors(self, value: Sequence[Any]) -> None:
        TensorDataset.__init__(self, *value)

    def __len__(self) -> int:
        return int(self._count)

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, (str, float)) or index is None:
            raise TypeError(at(f"TensorDataset: a sample has a number, not {index!r}"))
        if isinstance(index, int) and not -self._count <= index < self._count:
            raise IndexError(at(f"TensorDataset: there are {self._count} samples, and no sample "
                                f"{index}"))
        return self._shaped([as_tensor(_locked(a[index, ...])) for a in self.arrays])

    def take(self, indices: TensorLike) -> Any:
        """A batch of samples.

        :param indices: Which ones.
        :type indices: slice or array_like of int
        :returns: Of shape (samples, ...) each.
        :rtype: tuple of Tensor, or dict of Tensor
        :raises IndexError: If there is no such sample.
        """
        if isinstance(indices, slice):
            return self._shaped([made(_locked(a[indices]))
                                 for a, made in zip(self.arrays, self._made, strict=True)])
        places = np.asarray(indices)
        try:
            return self._shaped([made(_ROWS.perform(a, places))
                                 for a, made in zip(self.arrays, self._made, strict=True)])
        except IndexError:
            raise IndexError(at(f"TensorDataset: there are {self._count} samples, numbered from 0 "
                                f"on, and not all of {places.tolist()[:8]}")) from None

    def _shaped(self, parts: list[Any]) -> Any:
        return tuple(parts) if self._names is None else dict(zip(self._names, parts, strict=True))

    def __repr__(self) -> str:
        shown = [typed(a) for a in self.arrays]
        if self._names is not None:
            shown = [f"{n}: {t}" for n, t in zip(self._names, shown, strict=True)]
        return f"TensorDataset({', '.join(shown)})"


def _array(value: Any) -> np.ndarray:
    try:
        found = np.asanyarray(value.array if isinstance(value, Tensor) else value)
    except ValueError:
        raise ShapeError(at(f"TensorDataset: the rows of {typed(value)} differ in shape; a list of "
                            "samples is a dataset, too, and data.PadCollate() pads them")) from None
    check_unmasked(found)
    return found.view(np.ndarray)  # also of a memory-mapped array, whose rows are copied as others


def _locked(view: np.ndarray) -> np.ndarray:
    """A view through which the dataset cannot be changed."""
    view.flags.writeable = False
    return view


class MappedDataset(Dataset):
    """A dataset whose samples a function changes when they are fetched: :meth:`Dataset.map`.

    :param dataset: Where samples come from.
    :type dataset: Dataset
    :param function: Takes what a sample consists of, one argument each, and perhaps ``generator``.
    :param batched: Whether it takes and gives whole batches.
    :raises TypeError: If ``function`` cannot be called, or whole batches cannot be had.
    :see: data.Dataset, data.DataLoader

    >>> import numpy as np
    >>> from agnesi import data
    >>> def noisy(x, generator):
    ...     return x + generator.normal(size=x.shape)
    >>> noised = data.TensorDataset(np.zeros((4, 3))).map(noisy)
    >>> next(iter(data.DataLoader(noised, batch_size=2))).shape
    (2, 3)
    """

    def __init__(self, dataset: object, function: Callable[..., Any], batched: bool = False
                 ) -> None:
        if not callable(function):
            raise TypeError(at(f"a dataset is mapped by a function, not by {typed(function)}"))
        if batched and not gives_batches(dataset):
            raise TypeError(at(f"{type(dataset).__name__} is no data.Dataset with take(indices), "
                               "which gives whole batches; map with batched=False"))
        self.dataset: Any = dataset
        self.function, self.batched = function, batched
        self._draws = accepts_generator(function)
        if batched:
            whole: Any = dataset
            self.take = lambda indices: self._changed(whole.take(indices))

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        if not self.batched:
            return self._changed(self.dataset[index])
        batch = self.take(np.array([index]))
        return tuple(v[0] for v in batch) if isinstance(batch, tuple) else batch[0]

    def __reduce__(self) -> Any:
        return MappedDataset, (self.dataset, self.function, self.batched)

    def _changed(self, sample: Any) -> Any:
        args = sample if type(sample) is tuple else (sample,)
        form = "function(batch)" if self.batched else "function(sample)"
        if type(sample) is tuple:
            form = f"function(*sample), and a sample has {len(sample)} parts"
        return call_user(self.function, args,
                         {"generator": batch_generator()} if self._draws else {}, "map", form)


class Subset(Dataset):
    """Some samples of a dataset.

    :param dataset: Where they come from.
    :type dataset: Dataset
    :param indices: Which ones.
    :type indices: array_like of int
    :raises IndexError: If one is out of range.
    :raises TypeError: If ``indices`` is no list.
    :see: data.random_split, data.ConcatDataset

    >>> import numpy as np
    >>> from agnesi import data
    >>> data.Subset(data.TensorDataset(np.arange(5)), [4, 2])[0]
    (tensor(4),)
    """

    def __init__(self, dataset: Sized, indices: object) -> None:
        given: Any = indices
        if not np.ndim(given):
            raise TypeError(at("Subset: indices must be a list of integers, not "
                               f"{typed(indices)}"))
        self.dataset: Any = dataset
        if np.asarray(indices).dtype.kind not in "iu" and np.size(given):
            mask = np.asarray(indices).dtype == bool
            raise TypeError(at(f"Subset: indices must be integers, not {typed(indices)}"
                               f"{'; numpy.flatnonzero(mask) gives those of a mask' * mask}"))
        self.indices = np.asarray(indices, np.int64).reshape(-1)
        if self.indices.size and not (
                self.indices.min() >= 0 and self.indices.max() < len(dataset)):
            raise IndexError(at(f"Subset: indices are from 0 to {len(dataset) - 1}, not "
                                f"{self.indices.min()} to {self.indices.max()}"))
        if gives_batches(dataset):
            self.take = self._take

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[int(self.indices[index])]

    def __reduce__(self) -> Any:
        return Subset, (self.dataset, self.indices)

    def _take(self, indices: Any) -> Any:
        return self.dataset.take(self.indices[indices])


class ConcatDataset(Dataset):
    """Concatenate datasets.

    :param datasets: At least one.
    :type datasets: sequence of Dataset
    :raises ValueError: If there are none.
    :see: data.Subset

    >>> import numpy as np
    >>> from agnesi import data
    >>> a, b = data.TensorDataset(np.arange(2)), data.TensorDataset(np.arange(3))
    >>> both = data.ConcatDataset([a, b])
    >>> len(both), both[-1]
    (5, (tensor(2),))
    """

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError(at("ConcatDataset takes at least one dataset"))
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(at(f"ConcatDataset: there are {len(self)} samples, and no sample "
                                f"{index}"))
        which = bisect.bisect_right(self.cumulative_sizes, place)
        return self.datasets[which][place - (self.cumulative_sizes[which - 1] if which else 0)]


class StackDataset(Dataset):
    """Datasets side by side: a sample is a tuple, or dict, of a sample of each.

    :param *datasets: Of the same length.
    :type *datasets: Dataset or array_like
    :param **named: Instead of these, datasets by name.
    :type **named: Dataset or array_like
    :raises ValueError: If there are none, or both, or lengths differ.
    :raises TypeError: If one has no length.
    :see: data.TensorDataset, data.ConcatDataset

    >>> from agnesi import data
    >>> data.StackDataset(images=[10, 20], labels=["a", "b"])[1]
    {'images': 20, 'labels': 'b'}
    """

    def __init__(self, *datasets: Any, **named: Any) -> None:
        self.datasets: Any = named or datasets
        for d in (*datasets, *named.values()):
            if not has(d, "__len__"):
                raise TypeError(at(f"StackDataset takes datasets with a length, not {typed(d)}"))
        sizes = [len(d) for d in (*datasets, *named.values())]
        if not sizes or len(set(sizes)) > 1 or (datasets and named):
            raise ValueError(at("StackDataset takes datasets of the same length, either in order "
                                f"or by name; lengths are {sizes}"))
        self._count = sizes[0]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)


#: Numbers of samples, or shares.
Lengths: TypeAlias = Annotated[Sequence[float], Rule(
    "numbers of samples, or shares of 1",
    lambda lengths: not isinstance(lengths, str) and isinstance(lengths, Iterable) and all(
        isinstance(n, (int, float, np.number)) for n in lengths), early=True)]


def random_split(dataset: Sized, lengths: Lengths,
                 generator: Generator | int | None = None) -> list[Subset]:
    """Cut a dataset at random into parts that do not overlap.

    :param dataset: What to cut.
    :type dataset: Dataset
    :param lengths: Samples of each part; or its share, where they sum to 1.
    :type lengths: sequence of int or of float
    :param generator: Where random numbers come from, or a seed; by default
        :func:`agnesi.random.default_generator`.
    :returns: One for each length.
    :raises ValueError: If they do not sum to the length of the dataset, or to 1.
    :raises TypeError: If they are no numbers.
    :see: data.Subset

    >>> import numpy as np
    >>> from agnesi import data
    >>> [len(part) for part in data.random_split(data.TensorDataset(np.arange(10)), [0.75, 0.25])]
    [8, 2]
    """
    count = len(dataset)
    if min(lengths, default=0) < 0:
        raise ValueError(at(f"random_split: lengths must be at least 0, and must sum to {count} or "
                            f"1, not {list(lengths)}"))
    sizes = [int(n) for n in lengths]
    if any(n != size for n, size in zip(lengths, sizes, strict=True)) or sum(sizes) != count:
        if abs(sum(lengths) - 1) > 1e-6 or min(lengths) < 0:
            raise ValueError(at(f"random_split: lengths must sum to {count}, or to 1, not "
                                f"{list(lengths)}"))
        sizes = [int(count * share) for share in lengths]
        for k in range(count - sum(sizes)):
            sizes[k % len(sizes)] += 1
    order = shuffled(count, seeded(generator) or default_generator())
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
