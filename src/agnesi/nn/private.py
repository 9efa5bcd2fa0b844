"""Private names of PyTorch that its programs import all the same, as ``nn.modules.utils._pair``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.containers import ModuleList
from agnesi.nn.base.module import Module
from agnesi.nn.layers.convs import _Conv as _ConvNd
from agnesi.nn.layers.norms import _BatchNorm, _InstanceNorm

__all__ = ["_BatchNorm", "_ConvNd", "_InstanceNorm", "_Loss", "_WeightedLoss",
           "_get_activation_fn", "_get_clones", "_ntuple", "_pair", "_quadruple",
           "_reverse_repeat_tuple", "_single", "_triple"]


class _Loss(Module):
    """Base of a loss of one's own: what becomes of the losses of the elements."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None,
                 reduction: str = "mean") -> None:
        if size_average is not None or reduce is not None:
            whole = reduce is None or reduce
            reduction = ("mean" if size_average is None or size_average else "sum") if whole else (
                "none")
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """The same with a weight of each class, or None."""

    def __init__(self, weight: Tensor | None = None, size_average: bool | None = None,
                 reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _ntuple(n: int, name: str = "") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of ``n`` of one value, and one of several as they are."""
    return lambda x: tuple(x) if isinstance(x, Iterable) else (x,) * n


_single, _pair, _triple, _quadruple = map(_ntuple, range(1, 5))


def _reverse_repeat_tuple(values: Iterable[Any], n: int) -> tuple[Any, ...]:
    """Each value ``n`` times, the last one first."""
    return tuple(x for x in reversed(tuple(values)) for _ in range(n))


def _get_clones(module: Module, n: int) -> ModuleList:
    """So many copies of a module."""
    return ModuleList(deepcopy(module) for _ in range(n))


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """``relu`` or ``gelu`` by its name."""
    found: Callable[[Tensor], Tensor] = getattr(functional, activation)
    return found
