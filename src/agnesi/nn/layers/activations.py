"""Layers of one function: activations."""

from __future__ import annotations

from typing import Literal

from agnesi.core.ir.dims import is_static
from agnesi.core.op import typed
from agnesi.core.options import Count, Positive
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn import functional
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.overwriting import Overwriting
from agnesi.nn.base.renewed import Renewed
from agnesi.nn.functions.piecewise_activations import Hardtanh
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import float_dtype, full
from agnesi.ops.base.movement import reshape, sized
from agnesi.ops.base.select import where


class Tanh(Module):
    """Hyperbolic tangent.

    :see: tanh, nn.Sigmoid

    >>> ag.nn.Tanh()(ag.zeros(1))
    tensor([0.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return functional.tanh(x)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    :see: sigmoid, nn.Tanh, nn.Softmax

    >>> ag.nn.Sigmoid()(ag.zeros(1))
    tensor([0.5])
    """

    def forward(self, x: Tensor) -> Tensor:
        return functional.sigmoid(x)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``.

    :param beta: How sharp the bend at 0 is.
    :param threshold: Taken from PyTorch's calls, and not needed.
    :see: nn.functional.softplus, nn.ReLU

    >>> ag.nn.Softplus()(ag.tensor([100.0, 1000.0]))
    tensor([ 100., 1000.])
    """

    def __init__(self, beta: Positive = 1.0, threshold: float = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        return functional.softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return "" if self.beta == 1 else f"{self.beta}"


class ReLU(Overwriting):
    """Zero for negative elements, the others as they are (Nair and Hinton, 2010).

    :see: relu, nn.ReLU6, nn.LeakyReLU, nn.GELU

    >>> ag.nn.ReLU()(ag.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, functional.relu(x))


class ReLU6(Hardtanh):
    """Elements limited to [0, 6] (Krizhevsky, 2010).

    :see: nn.ReLU, nn.functional.relu6

    >>> ag.nn.ReLU6()(ag.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def forward(self, x: TensorLike) -> Tensor:
        return self._given(x, functional.relu6(x))

    def extra_repr(self) -> str:
        return self._shown()


class SiLU(Overwriting):
    """``x * sigmoid(x)``, also called swish (Elfwing et al., 2018).

    :see: nn.functional.silu, nn.GELU, nn.Sigmoid

    >>> ag.nn.SiLU()(ag.zeros(1))
    tensor([0.])
    """

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, functional.silu(x))


class GELU(Module):
    """``x * Phi(x)``, Phi the normal distribution function (Hendrycks and Gimpel, 2016).

    :param approximate: "tanh" is an approximation by a hyperbolic tangent.
    :see: nn.functional.gelu, nn.SiLU, nn.ReLU

    >>> ag.nn.GELU()(ag.tensor([0.0, 10.0]))
    tensor([ 0., 10.])
    """

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return "" if self.approximate == "none" else repr(self.approximate)


class LeakyReLU(Overwriting):
    """Each element, or a multiple of it where it is not positive (Maas et al., 2013).

    :param negative_slope: The factor.
    :see: nn.functional.leaky_relu, nn.PReLU, nn.ELU, nn.ReLU

    >>> ag.nn.LeakyReLU(0.5)(ag.tensor([-2.0, 2.0]))
    tensor([-1.,  2.])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, functional.leaky_relu(x, self.negative_slope))

    def extra_repr(self) -> str:
        return f"{self.negative_slope}{', inplace=True' * self.inplace}"


class PReLU(Renewed, Module):
    """Each element, or a learned multiple of it where it is not positive (He et al. 2015).

    Parameters
    ----------
    num_parameters : int
        1 for one factor, or the number of channels (the second axis) for one each.
    init : float
        The first value of the factors.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        The factors.

    See Also
    --------
    nn.LeakyReLU, nn.ReLU

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.PReLU()(ag.tensor([-2.0, 2.0])).detach()
    tensor([-0.5,  2. ])
    """

    _rules = rules("init", num_parameters=sizes_of("weight", 0))

    def __init__(self, num_parameters: Count = 1, init: float = 0.25, *, dtype: DTypeLike = None
                 ) -> None:
        self.num_parameters = size_of(self, num_parameters, "num_parameters")
        self.init = init
        self.weight = full((self.num_parameters,), init, float_dtype(dtype), requires_grad=True)

    def forward(self, x: Tensor) -> Tensor:
        x = as_tensor(x)
        factor = self.weight
        if self.num_parameters != 1:
            channels = x.shape[1:2]
            if channels != (self.num_parameters,) and is_static(channels):
                raise ShapeError(at(f"PReLU: {typed(x)} has no {self.num_parameters} channels in "
                                    "its second axis"))
            x = sized(x, 1, self.num_parameters)
            factor = reshape(factor, (-1, *(1,) * (x.ndim - 2)))
        elif x.ndim == 0:
            factor = reshape(factor, ())
        return where(x > 0, x, x * factor)

    def extra_repr(self) -> str:
        return f"{self.num_parameters}"


class ELU(Overwriting):
    """Each element, or ``alpha * (exp(x) - 1)`` where it is not positive (Clevert et al., 2016).

    :param alpha: The factor.
    :see: nn.functional.elu, nn.LeakyReLU, nn.ReLU

    >>> ag.nn.ELU()(ag.tensor([-100.0, 2.0]))
    tensor([-1.,  2.])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return self._given(x, functional.elu(x, self.alpha))

    def extra_repr(self) -> str:
        return f"{self.alpha}{', inplace=True' * self.inplace}"


class _Softmax(Module):
    """What softmax and its logarithm have in common."""

    def __init__(self, dim: int | None = None) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return functional.softmax(x, self.dim)

    def extra_repr(self) -> str:
        return f"{self.dim}"


class Softmax(_Softmax):
    """Exponentials along an axis, divided by their sum.

    :param dim: The axis; of vectors and matrices the last one by default.
    :see: nn.LogSoftmax, softmax

    >>> ag.nn.Softmax(-1)(ag.zeros(2))
    tensor([0.5, 0.5])
    """


class LogSoftmax(_Softmax):
    """The logarithm of the softmax along an axis.

    :param dim: The axis; of vectors and matrices the last one by default.
    :see: nn.Softmax, log_softmax, nll_loss

    >>> ag.nn.LogSoftmax(-1)(ag.zeros(2))
    tensor([-0.6931472, -0.6931472])
    """

    def forward(self, x: Tensor) -> Tensor:
        return functional.log_softmax(x, self.dim)
