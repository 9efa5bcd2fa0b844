"""More initial values of parameters: scaled for activations, orthogonal, sparse, identities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.autodiff.recording import no_grad
from agnesi.core.op import typed
from agnesi.core.options import NotNegative, Share
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.ops.linalg.qr import qr
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import normal, uniform
from agnesi.ops.special.normal import ndtri

#: Gains of activations, as PyTorch gives them.
_GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2.0), "selu": 0.75,
          **{f"conv{how}{n}d": 1.0 for how in ("", "_transpose") for n in (1, 2, 3)}}


def written(name: str, tensor: Any) -> None:
    """Refuse what is no tensor with a value, as a layer is none."""
    if not isinstance(tensor, Tensor):
        advice = "; give its weight" if hasattr(tensor, "weight") else ""
        raise TypeError(at(f"nn.init.{name} fills a tensor, not {typed(tensor)}{advice}"))


def filled(tensor: Tensor, value: Any) -> Tensor:
    """The tensor with other values, in place; nothing is recorded."""
    with no_grad():
        tensor.copy_(value)
    return tensor


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights are larger to make up for an activation.

    :param nonlinearity: "linear", "conv1d" and its kin, "sigmoid", "tanh", "relu", "leaky_relu" or
        "selu".
    :param param: Slope of "leaky_relu" on its negative side, 0.01 by default.
    :returns: The factor.
    :raises ValueError: If there is no such activation.
    :see: nn.init.kaiming_normal_, nn.init.xavier_normal_

    >>> ag.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope * slope))
    if nonlinearity not in _GAINS:
        names = ", ".join(["leaky_relu", *_GAINS])
        raise ValueError(at(f"calculate_gain: nonlinearity {nonlinearity!r} is none of {names}"))
    return _GAINS[nonlinearity]


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation that keeps values, or gradients, at their size (He et al., 2015)."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(at(f"mode must be 'fan_in' or 'fan_out', not {mode!r}"))
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output depends on, and how many outputs an input reaches.

    :param tensor: A weight, of shape (outputs, inputs, ...).
    :returns inputs, outputs: Each times the number of taps, which the further axes make.
    :rtype: int
    :raises ValueError: If ``tensor`` has fewer than 2 axes.
    :see: nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    >>> ag.nn.init.fans(ag.zeros((8, 3, 5, 5)))
    (75, 200)
    """
    if tensor.ndim < 2:
        raise ValueError(at(f"{typed(tensor)} has no inputs and outputs: a weight of 2 axes or "
                            "more has"))
    taps = math.prod(tensor.shape[2:])
    return tensor.shape[1] * taps, tensor.shape[0] * taps

def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers that keep their size both ways (Glorot and Bengio, 2010).

    :param tensor: A parameter; it is changed in place, and no gradient notices.
    :param gain: Multiplies the standard deviation ``sqrt(2 / (inputs + outputs))``.
    :returns: ``tensor`` itself.
    :raises ValueError: If ``tensor`` has fewer than 2 axes.
    :raises TypeError: If ``tensor`` is no tensor.
    :see: nn.init.xavier_uniform_, nn.init.kaiming_normal_

    >>> w = ag.nn.init.xavier_normal_(ag.zeros((300, 100)))
    >>> round(float(w.std()), 2)
    0.07
    """
    written("xavier_normal_", tensor)
    std = gain * math.sqrt(2 / max(sum(fans(tensor)), 1))
    return filled(tensor, normal(tensor.shape, 0.0, std, dtype=tensor.dtype, generator=generator))


def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in",
                    nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Normal numbers that keep their size behind an activation (He et al., 2015).

    :like: xavier_normal_
    :param a: Slope of the leaky ReLU on its negative side.
    :param mode: Whether values keep their size on the way forward, or gradients on the way back.
    :type mode: {"fan_in", "fan_out"}
    :param nonlinearity: What :func:`calculate_gain` knows.
    :raises ValueError: If ``tensor`` has fewer than 2 axes, or there is no such mode or activation.
    :see: nn.init.kaiming_uniform_, nn.init.calculate_gain

    >>> w = ag.nn.init.kaiming_normal_(ag.zeros((300, 200)), nonlinearity="relu")
    >>> round(float(w.std()), 1)
    0.1
    """
    written("kaiming_normal_", tensor)
    std = kaiming_std(tensor, a, mode, nonlinearity)
    return filled(tensor, normal(tensor.shape, 0.0, std, dtype=tensor.dtype, generator=generator))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0,
                  b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Normal numbers, drawn between two bounds.

    :like: xavier_normal_
    :param mean, std: Of the normal distribution before it is cut.
    :param a, b: The bounds.
    :raises ValueError: If ``a`` is not below ``b``, or ``std`` not above 0.
    :see: nn.init.normal_

    >>> w = ag.nn.init.trunc_normal_(ag.zeros(100), std=5.0)
    >>> bool((abs(w) <= 2).all())
    True
    """
    written("trunc_normal_", tensor)
    if not a < b:
        raise ValueError(at(f"trunc_normal_: a must be below b, not {a} and {b}"))
    if not std > 0:
        raise ValueError(at(f"trunc_normal_: std must be above 0, not {std}"))
    low, high = (0.5 * (1 + math.erf((x - mean) / std / math.sqrt(2))) for x in (a, b))
    share = uniform(tensor.shape, low, high, dtype="float64", generator=generator)
    return filled(tensor, F.clip(mean + std * ndtri(share), a, b).astype(tensor.dtype))


def orthogonal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """A matrix with orthonormal rows or columns (Saxe et al., 2014).

    :like: xavier_normal_
    :param gain: Multiplies it.
    :see: nn.init.eye_, nn.init.xavier_normal_

    >>> w = ag.nn.init.orthogonal_(ag.zeros((2, 4)))
    >>> bool(ag.allclose(w @ w.T, ag.eye(2), atol=1e-6))
    True
    """
    written("orthogonal_", tensor)
    fans(tensor)
    rows = tensor.shape[0]
    size: Any = (rows, math.prod(tensor.shape[1:]))
    wide = size[1] > rows
    drawn = normal(size[::-1] if wide else size, dtype="float64", generator=generator)
    q, r = qr(drawn)
    q = q * F.sign(F.diagonal(r))
    return filled(tensor, F.reshape(gain * (q.T if wide else q), tensor.shape).astype(tensor.dtype))


def eye_(tensor: Tensor) -> Tensor:
    """The identity, cut off where the array is smaller.

    :like: xavier_normal_
    :raises ValueError: If ``tensor`` does not have 2 axes.
    :see: nn.init.dirac_, nn.init.orthogonal_

    >>> ag.nn.init.eye_(ag.zeros((2, 3)))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    written("eye_", tensor)
    if tensor.ndim != 2:
        raise ValueError(at(f"eye_: {typed(tensor)} is no matrix"))
    return filled(tensor, F.eye(tensor.shape[0], tensor.shape[1], dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Filters of a convolution that gives its input (Zagoruyko and Komodakis, 2017).

    :like: xavier_normal_
    :param groups: Groups of the convolution.
    :raises ValueError: If ``tensor`` has other than 3 to 5 axes, or ``groups`` does not divide the
        filters.
    :see: nn.init.eye_

    >>> w = ag.nn.init.dirac_(ag.zeros((2, 2, 3)))
    >>> w[0]
    tensor([[0., 1., 0.],
            [0., 0., 0.]])
    """
    written("dirac_", tensor)
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(at(f"dirac_: {typed(tensor)} is no filter of 3 to 5 axes"))
    if groups < 1 or tensor.shape[0] % groups:
        raise ValueError(at(f"dirac_: {groups} groups do not divide {tensor.shape[0]} filters"))
    value, each = np.zeros(tensor.shape, tensor.dtype), tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    for g in range(groups):
        for k in range(min(each, tensor.shape[1])):
            value[(g * each + k, k, *middle)] = 1
    return filled(tensor, value)


def sparse_(tensor: Tensor, sparsity: Share, std: NotNegative = 0.01,
            generator: Generator | None = None) -> Tensor:
    """Normal numbers, of which a share of each column is 0 (Martens, 2010).

    :like: eye_
    :param sparsity: The share.
    :param std: Standard deviation of the others.
    :see: nn.init.normal_

    >>> w = ag.nn.init.sparse_(ag.zeros((10, 4)), 0.3)
    >>> int((w == 0).sum())
    12
    """
    written("sparse_", tensor)
    if tensor.ndim != 2:
        raise ValueError(at(f"sparse_: {typed(tensor)} is no matrix"))
    order = F.argsort(F.argsort(uniform(tensor.shape, generator=generator), 0), 0)
    drawn = normal(tensor.shape, 0.0, std, dtype=tensor.dtype, generator=generator)
    return filled(tensor, F.where(order < math.ceil(sparsity * tensor.shape[0]), 0.0, drawn))
