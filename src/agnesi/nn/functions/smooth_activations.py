"""Smooth activations."""

from __future__ import annotations

from agnesi.api import functions as F
from agnesi.core.integers import known_integer
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.base.overwriting import Overwriting
from agnesi.nn.functions.forms import scores_axis
from agnesi.ops.base.convert import as_tensor, floating
from agnesi.ops.base.elementwise import call
from agnesi.ops.base.ensure import ensured_by
from agnesi.ops.neural.shrinks import SOFTSIGN, TANHSHRINK

#: Scale and slope of selu, to more digits than a double has.
_SCALE, _ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717

@planned
@public
def celu(input: TensorLike, alpha: float = 1.0) -> Tensor:
    """``x``, and ``alpha * (exp(x / alpha) - 1)`` where it is negative (Barron, 2017).

    :param input: Real numbers.
    :param alpha: Minus the value far below.
    :returns: Of the shape of ``input``.
    :raises ValueError: If ``alpha`` is 0.
    :see: nn.CELU, nn.ELU, nn.SELU

    >>> ag.nn.functional.celu(ag.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """
    if alpha == 0:
        raise ValueError(at("celu: alpha must not be 0"))
    x = as_tensor(input)
    return F.where(x > 0, x, alpha * F.expm1(F.where(x > 0, 0.0, x) / alpha))


@planned
@public
def selu(input: TensorLike) -> Tensor:
    """A scaled :func:`elu` that keeps mean and variance (Klambauer et al., 2017).

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.SELU, nn.ELU, nn.CELU

    >>> ag.nn.functional.selu(ag.tensor([0.0, 1.0]))
    tensor([0.      , 1.050701])
    """
    x = as_tensor(input)
    return _SCALE * F.where(x > 0, x, _ALPHA * F.expm1(F.where(x > 0, 0.0, x)))


@planned
@public
def mish(input: TensorLike) -> Tensor:
    """``x * tanh(softplus(x))`` (Misra, 2019).

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.Mish, nn.SiLU, nn.GELU

    >>> ag.nn.functional.mish(ag.tensor([0.0, 20.0]))
    tensor([ 0., 20.])
    """
    x = as_tensor(input)
    return x * F.tanh(F.softplus(x))


@planned
@public
def softsign(input: TensorLike) -> Tensor:
    """``x / (1 + abs(x))``.

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.Softsign, nn.Tanh

    >>> ag.nn.functional.softsign(ag.tensor([0.0, -3.0]))
    tensor([ 0.  , -0.75])
    """
    return call(SOFTSIGN, (input,))


@planned
@public
def tanhshrink(input: TensorLike) -> Tensor:
    """``x - tanh(x)``.

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.Tanhshrink, nn.Tanh, nn.Softshrink

    >>> ag.nn.functional.tanhshrink(ag.tensor([0.0]))
    tensor([0.])
    """
    return call(TANHSHRINK, (input,))


@planned
@public
def logsigmoid(input: TensorLike) -> Tensor:
    """The logarithm of the sigmoid, without underflow.

    :param input: Real numbers.
    :returns: Of the shape of ``input``.
    :see: nn.LogSigmoid, nn.Sigmoid, nn.LogSoftmax

    >>> ag.nn.functional.logsigmoid(ag.tensor([0.0, -100.0]))
    tensor([  -0.6931472, -100.       ])
    """
    return -F.softplus(-floating(input))


@planned
@public
def softmin(input: TensorLike, dim: int | None = None) -> Tensor:
    """The softmax of ``-x``.

    :param input: Real numbers.
    :param dim: The axis along which the results sum to 1; of vectors and matrices the last one.
    :returns: Of the shape of ``input``.
    :see: nn.Softmin, nn.Softmax

    >>> ag.nn.functional.softmin(ag.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """
    x, axis = scores_axis("softmin", input, dim)
    return F.softmax(-floating(x), axis)


@planned
@public
def glu(input: TensorLike, dim: int = -1) -> Tensor:
    """The first half along an axis times the sigmoid of the second (Dauphin et al., 2017).

    :param input: Real numbers.
    :param dim: The axis that is halved.
    :returns: Of the shape of ``input`` with half the size.
    :raises ShapeError: If the size is not even.
    :see: nn.GLU, nn.SiLU

    >>> ag.nn.functional.glu(ag.tensor([2.0, 0.0]))
    tensor([1.])
    """
    x, dim = as_tensor(input), known_integer(dim, "dim")
    size = x.shape[dim]
    if isinstance(size, int) and size % 2:
        raise ShapeError(at(f"glu({typed(x)}): the size {size} of axis {dim} is not even"))
    if not isinstance(size, int):
        x = ensured_by("glu", x, as_tensor(size) % 2 == 0, f"the size of axis {dim} is not even",
                       "ShapeError")
    first, second = F.split(x, 2, dim)
    return first * F.sigmoid(second)


class CELU(Overwriting):
    """``x``, and ``alpha * (exp(x / alpha) - 1)`` where it is negative (Barron, 2017).

    :param alpha: Minus the value far below.
    :see: nn.functional.celu, nn.ELU, nn.SELU

    >>> ag.nn.CELU()(ag.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, celu(x, self.alpha))

    def extra_repr(self) -> str:
        return self._shown(f"alpha={self.alpha}")


class SELU(Overwriting):
    """A scaled :func:`elu` that keeps mean and variance (Klambauer et al., 2017).

    :see: nn.functional.selu, nn.ELU, nn.CELU

    >>> ag.nn.SELU()(ag.tensor([0.0, 1.0]))
    tensor([0.      , 1.050701])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, selu(x))


class Mish(Overwriting):
    """``x * tanh(softplus(x))`` (Misra, 2019).

    :see: nn.functional.mish, nn.SiLU, nn.GELU

    >>> ag.nn.Mish()(ag.tensor([0.0, 20.0]))
    tensor([ 0., 20.])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, mish(x))


class Softsign(Module):
    """``x / (1 + abs(x))`` (Bergstra et al., 2009).

    :see: nn.functional.softsign, nn.Tanh

    >>> ag.nn.Softsign()(ag.tensor([0.0, -3.0]))
    tensor([ 0.  , -0.75])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return softsign(x)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    :see: nn.functional.tanhshrink, nn.Tanh, nn.Softshrink

    >>> ag.nn.Tanhshrink()(ag.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return tanhshrink(x)


class LogSigmoid(Module):
    """The logarithm of the sigmoid, without underflow.

    :see: nn.functional.logsigmoid, nn.Sigmoid, nn.LogSoftmax

    >>> ag.nn.LogSigmoid()(ag.tensor([0.0, -100.0]))
    tensor([  -0.6931472, -100.       ])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return logsigmoid(x)


class Softmin(Module):
    """The softmax of ``-x``.

    :param dim: The axis along which the results sum to 1; of vectors and matrices the last one.
    :see: nn.functional.softmin, nn.Softmax

    >>> ag.nn.Softmin()(ag.tensor([0.0, 0.0]))
    tensor([0.5, 0.5])
    """

    def __init__(self, dim: int | None = None) -> None:
        self.dim = dim

    def forward(self, x: TensorLike) -> Tensor:
        return softmin(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GLU(Module):
    """The first half along an axis times the sigmoid of the second (Dauphin et al., 2017).

    :param dim: The axis that is halved.
    :see: nn.functional.glu, nn.SiLU

    >>> ag.nn.GLU()(ag.tensor([2.0, 0.0]))
    tensor([1.])
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: TensorLike) -> Tensor:
        return glu(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """The softmax over the channels of images: axis -3.

    :see: nn.Softmax

    >>> ag.nn.Softmax2d()(ag.zeros((1, 2, 1, 1)))[0, :, 0, 0]
    tensor([0.5, 0.5])
    """

    def forward(self, x: TensorLike) -> Tensor:
        return F.softmax(as_tensor(x), -3)
