"""Modules of tables of tensors."""

from __future__ import annotations

import functools
import operator
from typing import Any

import agnesi as ag
from agnesi.compat.torch7.nn.module import Module

__all__ = [
    "MM",
    "CAddTable",
    "CDivTable",
    "CMulTable",
    "CSubTable",
    "CosineDistance",
    "DotProduct",
    "FlattenTable",
    "JoinTable",
    "MixtureTable",
    "PairwiseDistance",
    "SelectTable",
    "SplitTable",
]


class CAddTable(Module):
    """The sum of the entries."""

    def compute(self, x: Any) -> Any:
        return functools.reduce(operator.add, x)


class CMulTable(Module):
    """The product of the entries, element by element."""

    def compute(self, x: Any) -> Any:
        return functools.reduce(operator.mul, x)


class CSubTable(Module):
    """The first entry minus the second."""

    def compute(self, x: Any) -> Any:
        return x[0] - x[1]


class CDivTable(Module):
    """The first entry over the second."""

    def compute(self, x: Any) -> Any:
        return x[0] / x[1]


class MM(Module):
    """The matrix product of two entries, each perhaps transposed."""

    def __init__(self, transA: bool = False, transB: bool = False) -> None:
        super().__init__()
        self.turned = transA, transB

    def compute(self, x: Any) -> Any:
        a, b = (ag.swapaxes(v, -1, -2) if t else v for v, t in zip(x, self.turned, strict=True))
        return a @ b


class JoinTable(Module):
    """The entries behind each other along an axis; of samples with ``nInputDims`` axes."""

    def __init__(self, dimension: int, nInputDims: int | None = None) -> None:
        super().__init__()
        self.dimension, self.nInputDims = dimension, nInputDims

    def compute(self, x: Any) -> Any:
        more = self.nInputDims is not None and x[0].ndim > self.nInputDims
        return ag.concatenate(x, self.dimension - 1 + more)


class SplitTable(JoinTable):
    """Slices along an axis as a table."""

    def compute(self, x: Any) -> Any:
        more = self.nInputDims is not None and x.ndim > self.nInputDims
        return list(ag.moveaxis(x, self.dimension - 1 + more, 0))


class SelectTable(Module):
    """The entry of a number."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def compute(self, x: Any) -> Any:
        return x[self.index - 1 if self.index > 0 else self.index]


class FlattenTable(Module):
    """Tables in tables as one."""

    def compute(self, x: Any) -> Any:
        return [w for v in x for w in (self.compute(v) if isinstance(v, list) else [v])]


class MixtureTable(Module):
    """Results of experts, the second entry, weighted by a gater's, the first one."""

    def compute(self, x: Any) -> Any:
        gates, experts = x
        return functools.reduce(operator.add, [
            gates[..., i, None] * e for i, e in enumerate(experts)])


class PairwiseDistance(Module):
    """The p-norm of the difference of two entries."""

    def __init__(self, p: float = 2) -> None:
        super().__init__()
        self.p = p

    def compute(self, x: Any) -> Any:
        found = ag.linalg.vector_norm(x[0] - x[1], ord=self.p, axis=-1)
        return found if found.ndim else found.reshape(1)


class DotProduct(Module):
    """The dot product of two entries."""

    def compute(self, x: Any) -> Any:
        found = ag.sum(x[0] * x[1], -1)
        return found if found.ndim else found.reshape(1)


class CosineDistance(Module):
    """The cosine of the angle between two entries."""

    def compute(self, x: Any) -> Any:
        a, b = x
        found = ag.sum(a * b, -1) / ag.sqrt(ag.sum(a * a, -1) * ag.sum(b * b, -1))
        return found if found.ndim else found.reshape(1)
