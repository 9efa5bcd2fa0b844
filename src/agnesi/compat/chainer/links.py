"""``chainer.links``: functions with parameters that are learned."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from agnesi.compat.chainer.forms import activation, array, connection, loss, pooling
from agnesi.compat.chainer.hierarchy import BinaryHierarchicalSoftmax as BinaryHierarchicalSoftmax
from agnesi.compat.chainer.link import Chain, ChainList, Link
from agnesi.compat.chainer.utils import WalkerAlias
from agnesi.compat.chainer.variable import Variable, as_variable, flag
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.options import Count
from agnesi.core.support.errors import ShapeError, at, call_user, no_attribute, typed


def _normal(shape: Any, deviation: float) -> Any:
    return np.random.normal(0, deviation, shape).astype(np.float32)


def _set(p: Variable, given: Any, default: Any) -> None:
    if callable(given):
        given(p.data)
        return
    values = default if given is None else np.asarray(given)
    if np.shape(values) not in ((), p.data.shape):
        raise ShapeError(f"initial{p.name} must have the shape of {p.name}, {p.data.shape}, not "
                         f"{values.shape}")
    p.data[...] = values


class Linear(Link):
    """``x @ W.T + b``, with W of shape (out_size, in_size).

    Parameters
    ----------
    in_size, out_size : int
    wscale : float
        Deviation of the first weights, times the root of ``in_size``.
    bias : float
    nobias : bool
    initialW, initial_bias : array_like, optional
    """

    def __init__(self, in_size: Count, out_size: Count, wscale: float = 1, bias: float = 0,
                 nobias: bool = False, initialW: Any = None, initial_bias: Any = None) -> None:
        _check_positive(in_size=in_size, out_size=out_size)
        super().__init__(W=(out_size, in_size))
        _set(self.W, initialW, _normal((out_size, in_size), wscale * math.sqrt(1 / in_size)))
        self.b: Any = None
        if not nobias:
            self.add_param("b", out_size, initializer=bias if initial_bias is None
                           else np.asarray(initial_bias))

    W: Variable

    def __call__(self, x: Any) -> Any:
        return connection.linear(x, self.W, self.b)


class _Convolution(Link):
    """Filters, and how they step over images."""

    W: Variable

    def __init__(self, shape: tuple[int, ...], outputs: int, fan: int, stride: Any, pad: Any,
                 wscale: float, bias: float, nobias: bool, initialW: Any,
                 initial_bias: Any) -> None:
        _check_positive(stride=stride)
        super().__init__(W=shape)
        _set(self.W, initialW, _normal(shape, wscale * math.sqrt(1 / fan)))
        self.stride, self.pad = stride, pad
        self.b: Any = None
        if not nobias:
            self.add_param("b", outputs, initializer=bias if initial_bias is None
                           else np.asarray(initial_bias))


def _check_positive(**sizes: Any) -> None:
    for name, x in sizes.items():
        if any(isinstance(n, int) and n < 1 for n in (x if isinstance(x, (tuple, list)) else (x,))):
            raise ValueError(at(f"{name} must be at least 1, not {x}"))


def _pair(x: Any) -> tuple[int, int]:
    _check_positive(ksize=x)
    return (x, x) if isinstance(x, int) else tuple(x)


class Convolution2D(_Convolution):
    """Images correlated with filters of shape (out_channels, in_channels, *ksize).

    Parameters
    ----------
    in_channels, out_channels : int
    ksize, stride, pad : int or pair of int
    wscale : float
        Deviation of the first weights, times the root of the elements that each output sums.
    bias : float
    nobias : bool
    initialW, initial_bias : array_like, optional
    """

    def __init__(self, in_channels: Count, out_channels: Count, ksize: Any, stride: Any = 1,
                 pad: Any = 0, wscale: float = 1, bias: float = 0, nobias: bool = False,
                 use_cudnn: bool = True, initialW: Any = None, initial_bias: Any = None) -> None:
        h, w = _pair(ksize)
        super().__init__((out_channels, in_channels, h, w), out_channels, in_channels * h * w,
                         stride, pad, wscale, bias, nobias, initialW, initial_bias)

    def __call__(self, x: Any) -> Any:
        return connection.convolution_2d(x, self.W, self.b, self.stride, self.pad)


class Deconvolution2D(_Convolution):
    """The transposed convolution, with filters of shape (in_channels, out_channels, *ksize).

    Parameters
    ----------
    in_channels, out_channels : int
    ksize, stride, pad : int or pair of int
    outsize : pair of int, optional
        Sizes of results, where several are possible.
    """

    def __init__(self, in_channels: Count, out_channels: Count, ksize: Any, stride: Any = 1,
                 pad: Any = 0, wscale: float = 1, bias: float = 0, nobias: bool = False,
                 outsize: Any = None, use_cudnn: bool = True, initialW: Any = None,
                 initial_bias: Any = None) -> None:
        h, w = _pair(ksize)
        super().__init__((in_channels, out_channels, h, w), out_channels, in_channels * h * w,
                         stride, pad, wscale, bias, nobias, initialW, initial_bias)
        self.outsize = outsize

    def __call__(self, x: Any) -> Any:
        return connection.deconvolution_2d(x, self.W, self.b, self.stride, self.pad, self.outsize)


class EmbedID(Link):
    """Vectors by numbers.

    :param in_size, out_size: How many vectors, and of which length.
    :param initialW:
    :type initialW: array_like, optional
    :param ignore_label: A number whose vector is zero.
    """

    W: Variable

    def __init__(self, in_size: Count, out_size: Count, initialW: Any = None,
                 ignore_label: int | None = None) -> None:
        super().__init__(W=(in_size, out_size))
        _set(self.W, initialW, _normal((in_size, out_size), 1.0))
        self.ignore_label = ignore_label

    def __call__(self, x: Any) -> Any:
        return connection.embed_id(x, self.W, self.ignore_label)


class Bilinear(Link):
    """``e1 @ W[:, :, l] @ e2`` for each output l, with linear parts unless ``nobias``."""

    W: Variable

    def __init__(self, left_size: Count, right_size: Count, out_size: Count, nobias: bool = False,
                 initialW: Any = None, initial_bias: Any = None) -> None:
        super().__init__(W=(left_size, right_size, out_size))
        _set(self.W, initialW, _normal((left_size, right_size, out_size),
                                       math.sqrt(1 / (left_size * right_size * out_size))))
        self.V1 = self.V2 = self.b = None
        if not nobias:
            v1, v2, b = initial_bias or (
                _normal((left_size, out_size), math.sqrt(1 / (left_size * out_size))),
                _normal((right_size, out_size), math.sqrt(1 / (right_size * out_size))), 0)
            self.add_param("V1", (left_size, out_size), initializer=v1)
            self.add_param("V2", (right_size, out_size), initializer=v2)
            self.add_param("b", out_size, initializer=b)

    def __call__(self, e1: Any, e2: Any) -> Any:
        return connection.bilinear(e1, e2, self.W, self.V1, self.V2, self.b)


class Parameter(Link):
    """An array that is learned; a call gives the variable."""

    W: Variable

    def __init__(self, array: Any) -> None:
        super().__init__(W=(array.shape, array.dtype))
        self.W.data[...] = array

    def __call__(self, volatile: Any = "off") -> Any:
        if flag(volatile):
            return Variable(self.W.data, volatile)  # the parameter itself goes on learning
        self.W.volatile = volatile
        return self.W


class PReLU(Link):
    """A slope below zero that is learned, for each element of ``shape`` behind the batch."""

    W: Variable

    def __init__(self, shape: Any = (), init: float = 0.25) -> None:
        super().__init__(W=shape)
        self.W.data[...] = init

    def __call__(self, x: Any) -> Any:
        return activation.prelu(x, self.W)


class BatchNormalization(Link):
    """Channels with learned means and deviations over the batch.

    :param size: Channels.
    :type size: int or tuple of int
    :param decay: Of the running statistics, which a call with ``test=True`` uses.
    :param eps:
    """

    gamma: Variable
    beta: Variable
    avg_mean: Any
    avg_var: Any
    N: int

    def __init__(self, size: int | Sequence[int], decay: float = 0.9, eps: float = 2e-5,
                 dtype: Any = np.float32, use_gamma: bool = True, use_beta: bool = True) -> None:
        super().__init__()
        self.add_param("gamma", size, dtype, 1)
        self.add_param("beta", size, dtype, 0)
        self._params = [n for n, used in (("gamma", use_gamma), ("beta", use_beta)) if used]
        self.add_persistent("avg_mean", np.zeros(size, dtype))
        self.add_persistent("avg_var", np.zeros(size, dtype))
        self.add_persistent("N", 0)
        self.decay, self.eps = decay, eps

    def start_finetuning(self) -> None:
        """Begin to gather statistics of the whole population."""
        self.N = 0

    def __call__(self, x: Any, test: bool = False, finetune: bool = False) -> Any:
        if test:
            return connection.fixed_batch_normalization(x, self.gamma, self.beta, self.avg_mean,
                                                        self.avg_var, self.eps)
        decay = self.decay
        if finetune:
            self.N += 1
            decay = 1.0 - 1.0 / self.N
        return connection.batch_normalization(x, self.gamma, self.beta, self.eps, self.avg_mean,
                                              self.avg_var, decay)


class Inception(Chain):
    """GoogLeNet's module: convolutions of three sizes and a pool, beside each other.

    Parameters
    ----------
    in_channels, out1, proj3, out3, proj5, out5, proj_pool : int
    """

    def __init__(self, in_channels: Count, out1: int, proj3: int, out3: int, proj5: int, out5: int,
                 proj_pool: int, conv_init: Any = None, bias_init: Any = None) -> None:
        super().__init__(
            conv1=Convolution2D(in_channels, out1, 1),
            proj3=Convolution2D(in_channels, proj3, 1, wscale=math.sqrt(2)),
            conv3=Convolution2D(proj3, out3, 3, pad=1),
            proj5=Convolution2D(in_channels, proj5, 1, wscale=math.sqrt(2)),
            conv5=Convolution2D(proj5, out5, 5, pad=2),
            projp=Convolution2D(in_channels, proj_pool, 1, wscale=math.sqrt(2)))

    def __call__(self, x: Any) -> Any:
        parts = (self["conv1"](x), self["conv3"](activation.relu(self["proj3"](x))),
                 self["conv5"](activation.relu(self["proj5"](x))),
                 self["projp"](pooling.max_pooling_2d(x, 3, stride=1, pad=1, cover_all=False)))
        return activation.relu(array.concat(parts, axis=1))


class InceptionBN(Chain):
    """Inception with batch normalization, and two convolutions of size 3 in the place of 5.

    Parameters
    ----------
    in_channels, out1, proj3, out3, proj33, out33 : int
    pooltype : {"max", "avg"}
    proj_pool : int or None
    stride : int
    """

    def __init__(self, in_channels: Count, out1: int, proj3: int, out3: int, proj33: int,
                 out33: int, pooltype: str, proj_pool: int | None = None, stride: int = 1,
                 conv_init: Any = None, dtype: Any = np.float32) -> None:
        super().__init__()
        self.pooltype, self.stride, self.proj_pool, self.out1 = pooltype, stride, proj_pool, out1
        layers: dict[str, Any] = {
            "proj3": (in_channels, proj3, 1, 1, 0), "conv3": (proj3, out3, 3, stride, 1),
            "proj33": (in_channels, proj33, 1, 1, 0), "conv33a": (proj33, out33, 3, 1, 1),
            "conv33b": (out33, out33, 3, stride, 1)}
        if out1 > 0:
            layers["conv1"] = (in_channels, out1, 1, stride, 0)
        if proj_pool is not None:
            layers["poolp"] = (in_channels, proj_pool, 1, 1, 0)
        for name, (inputs, outputs, size, step, pad) in layers.items():
            self.add_link(name, Convolution2D(inputs, outputs, size, step, pad, nobias=True))
            self.add_link(f"{name}n", BatchNormalization(outputs))
        self.train = True

    def _layer(self, name: str, x: Any, test: bool) -> Any:
        return activation.relu(self[f"{name}n"](self[name](x), test=test))

    def __call__(self, x: Any, test: bool | None = None) -> Any:
        test = not self.train if test is None else test
        parts = [self._layer("conv1", x, test)] if self.out1 > 0 else []
        parts.append(self._layer("conv3", self._layer("proj3", x, test), test))
        h = self._layer("conv33a", self._layer("proj33", x, test), test)
        parts.append(self._layer("conv33b", h, test))
        h = (pooling.average_pooling_2d(x, 3, self.stride, 1) if self.pooltype == "avg" else
             pooling.max_pooling_2d(x, 3, self.stride, 1, cover_all=False))
        parts.append(h if self.proj_pool is None else self._layer("poolp", h, test))
        return array.concat(parts, axis=1)


class MLPConvolution2D(ChainList):
    """A convolution, and further ones of one pixel, with an activation between."""

    def __init__(self, in_channels: Count, out_channels: Sequence[int], ksize: Any, stride: Any = 1,
                 pad: Any = 0, wscale: float = 1, activation: Any = activation.relu,
                 use_cudnn: bool = True) -> None:
        first = Convolution2D(in_channels, out_channels[0], ksize, stride, pad, wscale)
        super().__init__(first, *[Convolution2D(a, b, 1, wscale=wscale)
                                  for a, b in itertools.pairwise(out_channels)])
        self.activation = activation

    def __call__(self, x: Any) -> Any:
        for link in self._list[:-1]:
            x = self.activation(link(x))
        return self._list[-1](x)


class Maxout(Chain):
    """The largest of several linear maps."""

    def __init__(self, in_size: Count, out_size: Count, pool_size: Count, **options: Any) -> None:
        super().__init__(linear=Linear(in_size, out_size * pool_size, **options))
        self.pool_size = pool_size

    def __call__(self, x: Any) -> Any:
        return activation.maxout(self["linear"](x), self.pool_size)


def _same_batch(link: Any, x: Variable) -> None:
    """Refuse inputs whose number of samples differs from that of the link's state."""
    if len(x.data) != len(link.h.data):
        raise ShapeError(at(f"{type(link).__name__} remembers the state of {len(link.h.data)} "
                            f"samples, and x is {typed(x)}: call link.reset_state() before a new "
                            "sequence"))


class LSTM(Chain):
    """LSTM units that remember their state from call to call.

    Parameters
    ----------
    in_size, out_size : int
    """

    def __init__(self, in_size: Count, out_size: Count) -> None:
        super().__init__(upward=Linear(in_size, 4 * out_size),
                         lateral=Linear(out_size, 4 * out_size, nobias=True))
        self.state_size = out_size
        self.reset_state()

    def reset_state(self) -> None:
        """Begin a new sequence."""
        self.c: Any = None
        self.h: Any = None

    def set_state(self, c: Any, h: Any) -> None:
        """Go on from a state."""
        self.c, self.h = c, h

    def __call__(self, x: Any) -> Any:
        x = as_variable(x)
        gates = self["upward"](x)
        if self.h is not None:
            _same_batch(self, x)
            gates = gates + self["lateral"](self.h)
        if self.c is None:
            self.c = Variable(np.zeros((len(x.data), self.state_size), x.data.dtype),
                              volatile="auto")
        self.c, self.h = activation.lstm(self.c, gates)
        return self.h


class StatelessLSTM(Chain):
    """LSTM units whose state is given and returned: ``c, h = link(c, h, x)``."""

    def __init__(self, in_size: Count, out_size: Count) -> None:
        super().__init__(upward=Linear(in_size, 4 * out_size),
                         lateral=Linear(out_size, 4 * out_size, nobias=True))
        self.state_size = out_size

    def __call__(self, c: Any, h: Any, x: Any) -> Any:
        x = as_variable(x)
        gates = self["upward"](x) if h is None else self["upward"](x) + self["lateral"](h)
        if c is None:
            c = Variable(np.zeros((len(x.data), self.state_size), x.data.dtype), volatile="auto")
        return activation.lstm(c, gates)


class _Gates(Chain):
    """The weights of gated recurrent units, and one step of them."""

    def __init__(self, n_units: int, n_inputs: int | None = None) -> None:
        n = n_units if n_inputs is None else n_inputs
        super().__init__(**{f"W{name}": Linear(n, n_units) for name in ("_r", "_z", "")},
                         **{f"U{name}": Linear(n_units, n_units) for name in ("_r", "_z", "")})

    def _step(self, h: Any, x: Any) -> Any:
        r = activation.sigmoid(self["W_r"](x) + self["U_r"](h))
        z = activation.sigmoid(self["W_z"](x) + self["U_z"](h))
        new = activation.tanh(self["W"](x) + self["U"](r * h))
        return (1 - z) * h + z * new


class GRU(_Gates):
    """Gated recurrent units, without memory of calls: ``h = link(h, x)``."""

    def __call__(self, h: Any, x: Any) -> Any:
        return self._step(h, x)


class StatefulGRU(_Gates):
    """Gated recurrent units that remember their state from call to call."""

    def __init__(self, in_size: Count, out_size: Count) -> None:
        super().__init__(out_size, in_size)
        self.state_size = out_size
        self.reset_state()

    def reset_state(self) -> None:
        """Begin a new sequence."""
        self.h: Any = None

    def set_state(self, h: Any) -> None:
        """Go on from a state."""
        self.h = as_variable(h)

    def __call__(self, x: Any) -> Any:
        if self.h is not None:
            _same_batch(self, as_variable(x))
            self.h = self._step(self.h, x)
        else:
            self.h = activation.sigmoid(self["W_z"](x)) * activation.tanh(self["W"](x))
        return self.h


class NegativeSampling(Link):
    """How well vectors distinguish words from samples of others; see Mikolov et al. (2013)."""

    W: Variable

    def __init__(self, in_size: Count, counts: Sequence[int], sample_size: Count,
                 power: float = 0.75) -> None:
        super().__init__(W=(len(counts), in_size))
        self.W.data[...] = 0
        self.sample_size = sample_size
        self.sampler = WalkerAlias(np.power(np.asarray(counts, np.float32), power))

    def __call__(self, x: Any, t: Any) -> Any:
        return loss.negative_sampling(x, t, self.W, self.sampler.sample, self.sample_size)


class Classifier(Chain):
    """A predictor with a loss; a call gives the loss and notes ``y``, ``loss``, ``accuracy``."""

    compute_accuracy = True

    def __init__(self, predictor: Any, lossfun: Any = loss.softmax_cross_entropy,
                 accfun: Any = loss.accuracy) -> None:
        super().__init__(predictor=predictor)
        self.lossfun, self.accfun = lossfun, accfun
        self.y = self.loss = self.accuracy = None

    def __call__(self, *args: Any) -> Any:
        if len(args) < 2:
            raise TypeError(at(f"{type(self).__name__} is called with the predictor's inputs and "
                               f"then the labels, not with {len(args)} argument"))
        *x, t = args
        self.y = call_user(self["predictor"], tuple(x), {}, type(self).__name__, "predictor(*x)")
        self.loss = self.lossfun(self.y, t)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
        return self.loss


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute(f"module {__name__!r}", name)


_strictly(__name__)
