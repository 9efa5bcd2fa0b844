"""Activations with corners."""

from __future__ import annotations

from agnesi.api import functions as F
from agnesi.core.options import AnyNumber, NotNegative, NotNegativeBound
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.base.overwriting import Overwriting
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.neural.activations import limited


@planned
@public
def hardtanh(input: TensorLike, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``x``, no smaller and no larger than two bounds.

    :param input: Real numbers.
    :param min_val: The smallest value.
    :param max_val: The largest value.
    :returns: Of the shape and dtype of ``input``; bounds of integers lose their fraction.
    :raises ValueError: If ``min_val`` is above ``max_val``.
    :see: nn.Hardtanh, nn.ReLU6, clip

    >>> ag.nn.functional.hardtanh(ag.tensor([-3.0, 0.5]))
    tensor([-1. ,  0.5])
    """
    if not min_val <= max_val:
        raise ValueError(at(f"hardtanh: min_val must not be above max_val: {min_val}, {max_val}"))
    x = as_tensor(input)
    if x.dtype.kind in "iu":  # stay what they are
        return F.clip(x, int(min_val), int(max_val))
    return limited(x, min_val, max_val)


@planned
@public
def hardsigmoid(input: TensorLike) -> Tensor:
    """``x / 6 + 1 / 2``, no smaller than 0 and no larger than 1.

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.Hardsigmoid, nn.Sigmoid, nn.Hardswish

    >>> ag.nn.functional.hardsigmoid(ag.tensor([-3.0, 0.0]))
    tensor([0. , 0.5])
    """
    return limited(as_tensor(input) / 6 + 0.5, 0.0, 1.0)


@planned
@public
def hardswish(input: TensorLike) -> Tensor:
    """``x * hardsigmoid(x)`` (Howard et al., 2019).

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.Hardswish, nn.SiLU, nn.Hardsigmoid

    >>> ag.nn.functional.hardswish(ag.tensor([-3.0, 3.0]))
    tensor([-0.,  3.])
    """
    x = as_tensor(input)
    return x * hardsigmoid(x)


@planned
@public
def hardshrink(input: TensorLike, lambd: NotNegative = 0.5) -> Tensor:
    """``x``, and 0 where it is no larger than ``lambd`` on either side.

    :param input: Real numbers.
    :param lambd: Half the width of the gap.
    :returns: Of the shape of ``input``.
    :see: nn.Hardshrink, nn.Softshrink, nn.Tanhshrink

    >>> ag.nn.functional.hardshrink(ag.tensor([0.4, -2.0]))
    tensor([ 0., -2.])
    """
    x = as_tensor(input)
    return F.where(F.abs(x) <= lambd, 0.0, x)


@planned
@public
def softshrink(input: TensorLike, lambd: NotNegative = 0.5) -> Tensor:
    """``x`` moved towards 0 by ``lambd``, and 0 where it is nearer.

    :param input: Real numbers.
    :param lambd: How far.
    :returns: Of the shape of ``input``.
    :raises ValueError: If ``lambd`` is negative.
    :see: nn.Softshrink, nn.Hardshrink

    >>> ag.nn.functional.softshrink(ag.tensor([0.4, -2.0]))
    tensor([ 0. , -1.5])
    """
    if lambd < 0:
        raise ValueError(at(f"softshrink: lambd must be at least 0, not {lambd}"))
    x = as_tensor(input)
    return F.where(x > lambd, x - lambd, F.where(x >= -lambd, 0.0, x + lambd))


@planned
@public
def threshold(input: TensorLike, threshold: float, value: float) -> Tensor:
    """``x`` where it is larger than a threshold, and a value elsewhere.

    :param input: Real numbers.
    :param threshold: Larger numbers stay.
    :param value: What the others become.
    :returns: Of the shape of ``input``.
    :see: nn.Threshold, nn.ReLU

    >>> ag.nn.functional.threshold(ag.tensor([0.4, 2.0]), 1.0, -1.0)
    tensor([-1.,  2.])
    """
    x = as_tensor(input)
    return F.where(x <= threshold, value, x)


class Hardtanh(Overwriting):
    """``x``, no smaller and no larger than two bounds.

    :param min_val: The smallest value.
    :param max_val: The largest value.
    :see: nn.functional.hardtanh, nn.ReLU6, clip

    >>> ag.nn.Hardtanh()(ag.tensor([-3.0, 0.5]))
    tensor([-1. ,  0.5])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.min_val = min_val
        self.max_val = max_val

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, hardtanh(x, self.min_val, self.max_val))

    def extra_repr(self) -> str:
        return self._shown(f"min_val={self.min_val}, max_val={self.max_val}")


class Hardsigmoid(Overwriting):
    """``x / 6 + 1 / 2``, no smaller than 0 and no larger than 1 (Courbariaux et al., 2015).

    :see: nn.functional.hardsigmoid, nn.Sigmoid, nn.Hardswish

    >>> ag.nn.Hardsigmoid()(ag.tensor([-3.0, 0.0]))
    tensor([0. , 0.5])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, hardsigmoid(x))


class Hardswish(Overwriting):
    """``x * hardsigmoid(x)`` (Howard et al., 2019).

    :see: nn.functional.hardswish, nn.SiLU, nn.Hardsigmoid

    >>> ag.nn.Hardswish()(ag.tensor([-3.0, 3.0]))
    tensor([-0.,  3.])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, hardswish(x))


class Hardshrink(Module):
    """``x``, and 0 where it is no larger than ``lambd`` on either side.

    :param lambd: Half the width of the gap.
    :see: nn.functional.hardshrink, nn.Softshrink, nn.Tanhshrink

    >>> ag.nn.Hardshrink()(ag.tensor([0.4, -2.0]))
    tensor([ 0., -2.])
    """

    def __init__(self, lambd: NotNegativeBound = 0.5) -> None:
        self.lambd = lambd

    def forward(self, x: TensorLike) -> Tensor:
        return hardshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd}"


class Softshrink(Module):
    """``x`` moved towards 0 by ``lambd``, and 0 where it is nearer.

    :param lambd: How far.
    :see: nn.functional.softshrink, nn.Hardshrink

    >>> ag.nn.Softshrink()(ag.tensor([0.4, -2.0]))
    tensor([ 0. , -1.5])
    """

    def __init__(self, lambd: NotNegativeBound = 0.5) -> None:
        self.lambd = lambd

    def forward(self, x: TensorLike) -> Tensor:
        return softshrink(x, self.lambd)

    def extra_repr(self) -> str:
        return f"lambd={self.lambd}"


class Threshold(Overwriting):
    """``x`` where it is larger than a threshold, and a value elsewhere.

    :param threshold: Larger numbers stay.
    :param value: What the others become.
    :see: nn.functional.threshold, nn.ReLU

    >>> ag.nn.Threshold(1.0, -1.0)(ag.tensor([0.4, 2.0]))
    tensor([-1.,  2.])
    """

    def __init__(self, threshold: float, value: AnyNumber, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, threshold(x, self.threshold, self.value))

    def extra_repr(self) -> str:
        return self._shown(f"threshold={self.threshold}, value={self.value}")
