"""Batches made of samples: stacked, or padded to the longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.core.op import typed
from agnesi.core.options import AnyNumber, Count
from agnesi.core.public import renamed
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor, wrap
from agnesi.data.dataset import as_tensor
from agnesi.ops.base.convert import check_unmasked
from agnesi.ops.base.creation import tensor


@renamed(batch="samples")
def default_collate(samples: Sequence[Any]) -> Any:
    """Make a batch of samples: arrays and numbers are stacked, texts listed, containers kept.

    :param samples: Samples of the same kind: tensors, arrays, numbers, texts, and tuples, lists and
        dicts of them.
    :type samples: sequence
    :returns: A batch of the samples' structure, with tensors of shape (samples, ...).
    :raises ShapeError: If arrays have different shapes.
    :raises ValueError: If containers have different lengths, or dicts different keys.
    :raises TypeError: If samples are None, or one dict.
    :see: data.PadCollate, data.DataLoader

    >>> from agnesi import data
    >>> data.default_collate([([1.0, 2.0], "one"), ([3.0, 4.0], "two")])
    ([tensor([1., 3.]), tensor([2., 4.])], ['one', 'two'])
    """
    return _collated(samples, _stacked)


def _collated(samples: Sequence[Any], stack: Any) -> Any:
    """A batch whose arrays ``stack`` makes of a list of arrays."""
    if not samples:
        raise ValueError(at("DataLoader: there are no samples to make a batch of"))
    if isinstance(samples, Mapping):
        raise TypeError(at("DataLoader: a batch is made of a list of samples, not of "
                           f"{typed(samples)}"))
    first = samples[0]
    if isinstance(first, (Tensor, np.ndarray)) and (
            unlike := [s for s in samples if s is None or isinstance(s, (str, Mapping))]):
        raise TypeError(at("DataLoader: samples of one batch are of different kinds: "
                           f"{typed(first)} and {typed(unlike[0])}; give a collate_fn"))
    if isinstance(first, Tensor):
        return stack([t.array for t in samples])
    if isinstance(first, (np.ndarray, np.generic)):
        for a in samples:
            check_unmasked(a)
        return stack([np.asarray(a) for a in samples])
    if isinstance(first, (bool, int, float, complex)):
        if other := [s for s in samples if isinstance(s, (str, Mapping, tuple, list)) or s is None]:
            raise TypeError(at("DataLoader: samples of one batch are of different kinds: "
                               f"{typed(first)} and {typed(other[0])}; give a collate_fn"))
        return tensor(list(samples))
    if isinstance(first, Mapping):
        if wrong := next((s for s in samples if s.keys() != first.keys()), None):
            raise ValueError(at("DataLoader: samples of one batch have different keys: "
                                f"{sorted(map(str, first))} and {sorted(map(str, wrong))}; give a "
                                "collate_fn"))
        return {name: _collated([s[name] for s in samples], stack) for name in first}
    if isinstance(first, (tuple, list)):
        if any(len(s) != len(first) for s in samples):
            raise ValueError(at("DataLoader: samples of one batch have different lengths: "
                                f"{sorted({len(s) for s in samples})}; give a collate_fn"))
        parts = [_collated(part, stack) for part in zip(*samples, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*parts)
        return parts if isinstance(first, list) else tuple(parts)
    if first is None:
        raise TypeError(at("DataLoader: samples of a batch are None: the dataset's __getitem__ "
                           "returns nothing; let it return a sample, or give a collate_fn"))
    return list(samples)


def _stacked(arrays: list[np.ndarray]) -> Any:
    shape = arrays[0].shape
    if any(a.shape != shape for a in arrays):
        raise ShapeError(at("DataLoader: samples of one batch have different shapes: "
                            f"{', '.join(sorted({typed(a) for a in arrays})[:4])}; "
                            "collate_fn=data.PadCollate() pads them"))
    return as_tensor(np.stack(arrays))


class PadCollate:
    """Makes batches of samples of different lengths: arrays are padded behind, to the longest.

    :param padding_value: What is written behind the shorter ones.
    :param multiple_of: Lengths are rounded up to a multiple, so that fewer sizes occur.
    :param lengths: Whether a batch is a pair of the padded batch and the lengths of its samples
        (those of their first arrays).
    :raises ValueError: If ``multiple_of`` is less than 1.
    :see: data.default_collate, data.BucketBatchSampler

    >>> import numpy as np
    >>> from agnesi import data
    >>> data.PadCollate(lengths=True)([np.array([1, 2, 3]), np.array([4])])
    (tensor([[1, 2, 3],
           [4, 0, 0]]), tensor([3, 1]))
    """

    def __init__(self, padding_value: AnyNumber = 0, multiple_of: Count = 1,
                 lengths: bool = False) -> None:
        if multiple_of < 1:
            raise ValueError(at(f"PadCollate: multiple_of must be at least 1, not {multiple_of}"))
        self.padding_value, self.multiple_of, self.lengths = padding_value, multiple_of, lengths

    def __call__(self, samples: Sequence[Any]) -> Any:
        batch = _collated(samples, self._padded)
        if not self.lengths:
            return batch
        return batch, wrap(np.array([_length(s) for s in samples], np.int64))

    def _padded(self, arrays: list[np.ndarray]) -> Any:
        ndim = {a.ndim for a in arrays}
        if len(ndim) > 1:
            raise ShapeError(at(f"DataLoader: samples of one batch have {sorted(ndim)} axes"))
        if ndim == {0}:
            return as_tensor(np.stack(arrays))
        shapes = np.array([a.shape for a in arrays], np.int64).reshape(len(arrays), -1)
        uneven = shapes.min(0) != shapes.max(0)
        size = [-(-int(n) // self.multiple_of) * self.multiple_of
                if k == 0 or uneven[k] else int(n) for k, n in enumerate(shapes.max(0))]
        dtype = np.result_type(*arrays)
        found = np.full((len(arrays), *size), self.padding_value, dtype)
        for row, a in zip(found, arrays, strict=True):
            row[tuple(map(slice, a.shape))] = a
        return as_tensor(found)


def _length(sample: Any) -> int:
    while isinstance(sample, (tuple, list, Mapping)) and not hasattr(sample, "shape"):
        sample = next(iter(sample.values())) if isinstance(sample, Mapping) else sample[0]
    return len(sample)
