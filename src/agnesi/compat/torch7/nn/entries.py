"""Modules of tables of tensors."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.torch7.nn.module import Module
from agnesi.compat.torch7.tensor import axis_of, places_of
from agnesi.core.support.errors import ShapeError

__all__ = [
    "MM",
    "MV",
    "CAddTable",
    "CAddTensorTable",
    "CDivTable",
    "CMaxTable",
    "CMinTable",
    "CMulTable",
    "CSubTable",
    "CosineDistance",
    "DotProduct",
    "FlattenTable",
    "Index",
    "JoinTable",
    "MaskedSelect",
    "MixtureTable",
    "NarrowTable",
    "PairwiseDistance",
    "SelectTable",
    "SplitTable",
    "ZipTable",
    "ZipTableOneToMany",
]


class CAddTable(Module):
    """The sum of the entries; that the first is overwritten changes no result."""

    _table = _elementwise = True

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def compute(self, x: Any) -> Any:
        return functools.reduce(operator.add, x)


class CMulTable(Module):
    """The product of the entries, element by element."""

    _table = _elementwise = True

    def compute(self, x: Any) -> Any:
        return functools.reduce(operator.mul, x)


class CSubTable(Module):
    """The first entry minus the second."""

    _table = _elementwise = True

    def compute(self, x: Any) -> Any:
        return x[0] - x[1]


class CDivTable(Module):
    """The first entry over the second."""

    _table = _elementwise = True

    def compute(self, x: Any) -> Any:
        return x[0] / x[1]


class CMaxTable(Module):
    """The largest of the entries, element by element."""

    _table = _elementwise = True

    def compute(self, x: Any) -> Any:
        return functools.reduce(ag.maximum, x)


class CMinTable(Module):
    """The smallest of the entries, element by element."""

    _table = _elementwise = True

    def compute(self, x: Any) -> Any:
        return functools.reduce(ag.minimum, x)


class CAddTensorTable(Module):
    """The first entry added to each entry of the second, a table."""

    _table = True

    def compute(self, x: Any) -> Any:
        return [x[0] + v for v in x[1]]


class MM(Module):
    """The matrix product of two entries, each perhaps transposed."""

    _table = True

    def __init__(self, transA: bool = False, transB: bool = False) -> None:
        super().__init__()
        self.turned = transA, transB

    def compute(self, x: Any) -> Any:
        a, b = (ag.swapaxes(v, -1, -2) if t else v for v, t in zip(x, self.turned, strict=True))
        return a @ b


class MV(Module):
    """The product of a matrix, perhaps transposed, and a vector, or of batches of both."""

    _table = True

    def __init__(self, trans: bool = False) -> None:
        super().__init__()
        self.trans = trans

    def compute(self, x: Any) -> Any:
        m = ag.swapaxes(x[0], -1, -2) if self.trans else x[0]
        return (m @ x[1][..., None])[..., 0]


class JoinTable(Module):
    """The entries behind each other along an axis; of samples with ``nInputDims`` axes."""

    _table = True

    def __init__(self, dimension: int, nInputDims: int | None = None) -> None:
        super().__init__()
        self.dimension, self.nInputDims = dimension, nInputDims

    def compute(self, x: Any) -> Any:
        more = self.nInputDims is not None and x[0].ndim > self.nInputDims
        return ag.concatenate(x, axis_of(self.dimension, x[0].ndim, more))


class SplitTable(JoinTable):
    """Slices along an axis as a table."""

    _table = False

    def compute(self, x: Any) -> Any:
        more = self.nInputDims is not None and x.ndim > self.nInputDims
        return list(ag.moveaxis(x, axis_of(self.dimension, x.ndim, more), 0))


class SelectTable(Module):
    """The entry of a number."""

    _table = True

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def compute(self, x: Any) -> Any:
        return x[self.index - 1 if self.index > 0 else self.index]


class NarrowTable(Module):
    """The entries from a number on, as many as wanted."""

    _table = True

    def __init__(self, offset: int, length: int = 1) -> None:
        super().__init__()
        self.offset, self.length = offset, length

    def compute(self, x: Any) -> Any:
        last = self.offset + self.length - 1
        if not 1 <= self.offset <= last <= len(x):
            raise IndexError(f"{self.offset} to {last} is out of range: the table has {len(x)} "
                             "entries, counted from 1")
        return list(x[self.offset - 1:last])


class ZipTable(Module):
    """Tables of a table turned: the first entries, the second ones, ..."""

    _table = True

    def compute(self, x: Any) -> Any:
        return [list(row) for row in zip(*x, strict=True)]


class ZipTableOneToMany(Module):
    """Pairs of the first entry and each entry of the second, a table."""

    _table = True

    def compute(self, x: Any) -> Any:
        return [[x[0], v] for v in x[1]]


class Index(Module):
    """The slices of the first entry at the numbers, from 1, of the second along an axis."""

    _table = True

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def compute(self, x: Any) -> Any:
        axis = axis_of(self.dimension, x[0].ndim)
        return ag.take(x[0], places_of(ag.stop_gradient(x[1]), x[0].shape[axis], axis + 1), axis)


class MaskedSelect(Module):
    """The elements of the first entry where the second is not zero, as a vector."""

    _table = True

    def compute(self, x: Any) -> Any:
        return x[0].reshape(-1)[np.flatnonzero(np.asarray(ag.stop_gradient(x[1])))]


class FlattenTable(Module):
    """Tables in tables as one."""

    _table = True

    def compute(self, x: Any) -> Any:
        return [w for v in x for w in (self.compute(v) if isinstance(v, list) else [v])]


class MixtureTable(Module):
    """Results of experts, the second entry, weighted by a gater's, the first one."""

    _table = True

    def compute(self, x: Any) -> Any:
        gates, experts = x
        count = len(experts) if isinstance(experts, (list, tuple)) else experts.shape[0]
        if gates.shape[-1] != count:
            raise ShapeError(f"there are {gates.shape[-1]} weights and {count} experts; the second "
                             "entry is a table of them")
        return functools.reduce(operator.add, [
            gates[..., i, None] * e for i, e in enumerate(experts)])


class PairwiseDistance(Module):
    """The p-norm of the difference of two entries."""

    _table = True

    def __init__(self, p: float = 2) -> None:
        super().__init__()
        self.p = p

    def compute(self, x: Any) -> Any:
        found = ag.linalg.vector_norm(x[0] - x[1], ord=self.p, axis=-1)
        return found if found.ndim else found.reshape(1)


class DotProduct(Module):
    """The dot product of two entries."""

    _table = True

    def compute(self, x: Any) -> Any:
        found = ag.sum(x[0] * x[1], -1)
        return found if found.ndim else found.reshape(1)


class CosineDistance(Module):
    """The cosine of the angle between two entries."""

    _table = True

    def compute(self, x: Any) -> Any:
        a, b = x
        found = ag.sum(a * b, -1) / ag.sqrt(ag.sum(a * a, -1) * ag.sum(b * b, -1))
        return found if found.ndim else found.reshape(1)
