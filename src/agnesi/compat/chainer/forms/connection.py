"""Linear maps, convolutions and embeddings, with their parameters as arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat.chainer.formula import applied
from agnesi.compat.chainer.variable import as_variable
from agnesi.core.support.errors import ShapeError, at, typed
from agnesi.nn import functional as nn

__all__ = [
    "batch_normalization", "bilinear", "convolution_2d", "deconvolution_2d", "embed_id",
    "fixed_batch_normalization", "linear", "local_response_normalization", "normalize",
]


def _given(*xs: Any) -> list[Any]:
    return [x for x in xs if x is not None]


def linear(x: Any, W: Any, b: Any = None) -> Any:
    """``x @ W.T + b``; axes behind the first one are one vector."""
    def compute(x: Any, w: Any, b: Any = None) -> Any:
        if x.ndim == 1 and w.shape[1] == x.shape[0]:
            return nn.linear(x, w, b)
        return nn.linear(x.reshape(x.shape[0], -1) if x.ndim != 2 else x, w, b)

    return applied("LinearFunction", compute, x, W, *_given(b))


def bilinear(e1: Any, e2: Any, W: Any, V1: Any = None, V2: Any = None, b: Any = None) -> Any:
    """For each output l, ``e1 @ W[:, :, l] @ e2``, plus linear parts and a bias if given."""
    def compute(e1: Any, e2: Any, w: Any, *more: Any) -> Any:
        e1, e2 = e1.reshape(e1.shape[0], -1), e2.reshape(e2.shape[0], -1)
        y = ag.einsum("ij,ik,jkl->il", e1, e2, w)
        return y + e1 @ more[0] + e2 @ more[1] + more[2] if more else y

    return applied("BilinearFunction", compute, e1, e2, W, *_given(V1, V2, b))


def convolution_2d(x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0,
                   use_cudnn: bool = True, cover_all: bool = False) -> Any:
    """Images correlated with filters; ``cover_all`` lets the last windows run over the border."""
    def compute(x: Any, w: Any, b: Any = None) -> Any:
        if cover_all:
            x = ag.pad(x, [(0, 0), (0, 0), *[(0, s - 1) for s in _pair(stride)]])
        return nn.conv2d(x, w, b, stride=stride, padding=pad)

    return applied("Convolution2DFunction", compute, x, W, *_given(b))


def deconvolution_2d(x: Any, W: Any, b: Any = None, stride: Any = 1, pad: Any = 0,
                     outsize: Any = None, use_cudnn: bool = True) -> Any:
    """Apply the transpose of :func:`convolution_2d`, for an output size if one is given."""
    def compute(x: Any, w: Any, b: Any = None) -> Any:
        extra: Any = 0
        if outsize is not None:
            steps, margins = _pair(stride), _pair(pad)
            extra = tuple(n - (steps[i] * (x.shape[i + 2] - 1) + w.shape[i + 2] - 2 * margins[i])
                          for i, n in enumerate(outsize))
        return nn.conv_transpose2d(x, w, b, stride=stride, padding=pad, output_padding=extra)

    return applied("Deconvolution2DFunction", compute, x, W, *_given(b))


def _pair(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else tuple(x)


def embed_id(x: Any, W: Any, ignore_label: int | None = None) -> Any:
    """Rows of a matrix, by their numbers; that of ``ignore_label`` is zero."""
    def compute(x: Any, w: Any) -> Any:
        if x.dtype.kind not in "iu":
            raise TypeError(at(f"embed_id takes integers, not {typed(x)}"))
        if ignore_label is None:
            return nn.embedding(x, w)
        used = x != ignore_label
        return ag.where(used[..., None], nn.embedding(ag.where(used, x, 0), w), 0.0)

    return applied("EmbedIDFunction", compute, x, W)


def _broadcast(x: Any, y: Any) -> Any:
    return y.reshape((1, *y.shape, *(1,) * (x.ndim - 1 - y.ndim)))


def batch_normalization(x: Any, gamma: Any, beta: Any, eps: float = 1e-5,
                        running_mean: Any = None, running_var: Any = None,
                        decay: float = 0.9, use_cudnn: bool = True) -> Any:
    """Each channel with mean ``beta`` and deviation ``gamma`` over the batch.

    Arrays of running statistics are updated in place if they are given.
    """
    x, gamma, beta = map(as_variable, (x, gamma, beta))
    data = x.data
    axes = (0, *range(gamma.data.ndim + 1, data.ndim))
    if data.shape[1:gamma.data.ndim + 1] != gamma.data.shape:
        raise ShapeError(at(f"batch_normalization: {typed(data)} needs gamma and beta of its sizes "
                            f"behind the batch's, not {typed(gamma.data)}"))
    if running_mean is not None:
        count = data.size / gamma.data.size
        running_mean *= decay
        running_mean += (1 - decay) * data.mean(axes)
        running_var *= decay
        running_var += (1 - decay) * data.var(axes) * (count / max(count - 1, 1))

    def compute(x: Any, gamma: Any, beta: Any) -> Any:
        mean = ag.mean(x, axes, keepdims=True)
        var = ag.mean((x - mean) ** 2, axes, keepdims=True)
        return (x - mean) / ag.sqrt(var + eps) * _broadcast(x, gamma) + _broadcast(x, beta)

    return applied("BatchNormalizationFunction", compute, x, gamma, beta)


def fixed_batch_normalization(x: Any, gamma: Any, beta: Any, mean: Any, var: Any,
                              eps: float = 1e-5, use_cudnn: bool = True) -> Any:
    """The same with statistics that are given."""
    def compute(x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
        off = (x - _broadcast(x, mean)) / ag.sqrt(_broadcast(x, var) + eps)
        return off * _broadcast(x, gamma) + _broadcast(x, beta)

    return applied("BatchNormalizationFunction", compute, x, gamma, beta, np.asarray(
        getattr(mean, "data", mean)), np.asarray(getattr(var, "data", var)))


def local_response_normalization(x: Any, n: int = 5, k: float = 2, alpha: float = 1e-4,
                                 beta: float = 0.75) -> Any:
    """Each element over ``(k + alpha * squares)**beta`` of ``n`` channels around it."""
    return applied("LocalResponseNormalization", lambda x: nn.local_response_norm(
        x, n, alpha * n, beta, k), x)


def normalize(x: Any, eps: float = 1e-5) -> Any:
    """Rows over their norm."""
    return applied("NormalizeL2", lambda x: x / (ag.sqrt(ag.sum(x * x, 1, keepdims=True)) + eps), x)
