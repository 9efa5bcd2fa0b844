"""The common part of losses: conversion of operands, and the reduction over all elements."""

from __future__ import annotations

from typing import Any

from agnesi.api import functions as F
from agnesi.core.op import typed
from agnesi.core.shapes import fits
from agnesi.core.support.errors import ShapeError, at, warn
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.ops.base.convert import as_tensor, beside
from agnesi.ops.base.parameter_checks import of_shape, within_shape


def as_floats(x: Any) -> Tensor:
    """A tensor of floats: whole numbers become the default one."""
    found = as_tensor(x)
    return found if found.dtype.kind in "fcV" else F.astype(found, F.result_type(found, 1.0))


#: What helps where one operand has an axis of size 1 that the other has not.
_HOW = "give both one shape, as by input.squeeze(-1), or target.unsqueeze(-1)"


def pair(name: str, input: Any, target: Any, strict: bool = False) -> tuple[Tensor, Tensor]:
    """Both operands; a ShapeError where they do not broadcast, and a warning, or a ShapeError if
    ``strict``, where the input is the one that becomes larger."""
    x = as_floats(beside(input, target))
    t = beside(target, x)
    try:
        common = F.broadcast_shapes(x.shape, t.shape)
    except (ShapeError, ValueError):
        raise ShapeError(at(f"{name}({typed(x)}, {typed(t)}): the shapes of input and target do "
                            "not broadcast")) from None
    if strict and x.shape:
        t = within_shape(name, t, x.shape, at(
            f"{name}: the target must have the shape of the input, {x.shape}, or one that "
            f"broadcasts to it, not {t.shape}; {_HOW}"))
    elif common != x.shape and x.shape and not fits(common, x.shape):
        types = f"{typed(x)} and {typed(t)}"
        warn(f"{name} of {types} broadcasts them to {common}, so that other pairs are compared "
             f"than were probably meant; {_HOW}")
    return x, t if t.dtype.kind in "fcV" else F.astype(t, x.dtype)


def labels(name: str, x: Tensor, target: Any, shape: tuple[Any, ...]) -> Tensor:
    """Labels of a shape; a ShapeError where they have another one."""
    t = as_tensor(target)
    return of_shape(name, t, shape, at(f"{name}({typed(x)}, {typed(t)}): the labels must have the "
                                       f"shape {tuple(shape)}"))


def not_negative(function: str, name: str, value: float) -> None:
    """A ValueError where a number is below 0."""
    if value < 0:
        raise ValueError(at(f"{function}: {name} must be at least 0, not {value}"))


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or all losses."""
    if reduction == "mean":
        return F.mean(losses)
    if reduction == "sum":
        return F.sum(losses)
    if reduction == "none":
        return losses
    raise ValueError(at(f"reduction must be 'mean', 'sum' or 'none', not {reduction!r}"))


class Loss(Module):
    """Base of losses: a subclass has the attributes that its function takes."""

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in vars(self).items()
                         if isinstance(value, (bool, int, float, str)) and name[0] != "_")
