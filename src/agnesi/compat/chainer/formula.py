"""Functions whose values and gradients are agnesi's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.autodiff.transforms import vjp
from agnesi.compat.chainer.function import Arrays, Function
from agnesi.compat.chainer.variable import as_variable
from agnesi.core.support import tree
from agnesi.core.support.errors import ShapeError, at, typed
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor

Compute = Callable[..., Any]


class Formula(Function):
    """A function of tensors as a function of variables.

    Parameters
    ----------
    name : str
        Its label.
    compute : callable
        Takes tensors, returns one or a tuple of them.
    """

    def __init__(self, name: str, compute: Compute) -> None:
        self.name, self.compute = name, compute
        self._pull: Any = None

    @property
    def label(self) -> str:
        return self.name

    def forward(self, inputs: Arrays) -> Arrays:
        floats = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]
        tensors = [as_tensor(x) for x in inputs]
        if not self.followed or not floats:
            with no_grad():
                return _arrays(self.compute(*tensors))

        def of_floats(*xs: Any) -> list[Tensor]:
            for i, x in zip(floats, xs, strict=True):
                tensors[i] = x
            return tree.flatten(self.compute(*tensors))[0]

        try:
            ys, pull = vjp(of_floats, *[tensors[i] for i in floats])
        except (TypeError, ValueError, IndexError) as error:
            inner, text = str(error).startswith("vjp("), str(error).partition("): ")[2]
            if not inner:
                raise
            raise type(error)(text) from error.__cause__  # the user called no vjp
        self._pull = pull, floats
        self._types = [(y.shape, y.dtype) for y in ys]
        return _arrays(ys)

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        if any(g is None for g in grad_outputs):  # nothing came from some of the results
            shapes = self._types
            grad_outputs = tuple([np.zeros(*t) if g is None else g
                                  for g, t in zip(grad_outputs, shapes, strict=True)])
        if self._pull is None:  # of integers, through which no gradient flows
            return (None,) * len(inputs)
        pull, floats = self._pull
        found = dict(zip(floats, pull([as_tensor(g) for g in grad_outputs]), strict=True))
        return tuple([found[i].data if i in found else None for i in range(len(inputs))])


def _arrays(ys: Any) -> Arrays:
    return tuple([y.data for y in tree.flatten(ys)[0]])


def alike(name: str, **given: Any) -> None:
    """Refuse arguments of different shapes, which Chainer's losses do not repeat."""
    arrays = [as_variable(x).data for x in given.values()]
    if len({x.shape for x in arrays}) > 1:
        raise ShapeError(at(f"{name}: {' and '.join(given)} must have the same shape, not "
                            f"{' and '.join(map(typed, arrays))}"))


def applied(name: str, compute: Compute, *xs: Any) -> Any:
    """The results of a function of tensors on variables."""
    return Formula(name, compute)(*xs)
