"""Functions of vectors, labels and slopes that modules of the same names have as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.api import random
from agnesi.api.linalg import vector_norm
from agnesi.core.op import typed
from agnesi.core.options import Bound, NotNegative
from agnesi.core.parameter_types import PerAxis, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.shapes import fits
from agnesi.core.support.errors import DTypeError, ShapeError, at
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor
from agnesi.nn.functions.pairs import CosineSimilarity, PairwiseDistance, bilinear_product
from agnesi.ops.base.convert import as_tensor, common, floating, pair
from agnesi.ops.base.parameter_checks import demanded, within_shape
from agnesi.ops.convolution.transposed import conv_transpose


@planned
@public
def cosine_similarity(x1: TensorLike, x2: TensorLike, dim: int = 1,
                      eps: NotNegative = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis.

    :param x1, x2: Of shapes that broadcast.
    :param dim: The axis of the vectors.
    :param eps: The least length to divide a vector by.
    :returns: Of the broadcast shape without the axis.
    :see: nn.CosineSimilarity, nn.functional.normalize

    >>> ag.nn.functional.cosine_similarity(ag.tensor([[1.0, 0.0]]), ag.tensor([[3.0, 0.0]]))
    tensor([1.])
    """
    return CosineSimilarity(dim, eps)(*pair(x1, x2))


@planned
@public
def pairwise_distance(x1: TensorLike, x2: TensorLike, p: Bound = 2.0,
                      eps: NotNegative = 1e-6, keepdim: bool = False) -> Tensor:
    """The norm of the difference of vectors along the last axis.

    :param x1, x2: Of shapes that broadcast.
    :param p: Of the norm.
    :param eps: Added to each difference.
    :param keepdim: Whether the last axis stays, with size 1.
    :returns: The distances.
    :see: nn.PairwiseDistance, cdist

    >>> ag.nn.functional.pairwise_distance(ag.zeros((1, 2)), ag.tensor([[3.0, 4.0]]), eps=0.0)
    tensor([5.])
    """
    return PairwiseDistance(p, eps, keepdim)(*pair(x1, x2))


@planned
@public
def normalize(input: TensorLike, p: Bound = 2.0, dim: int = 1,
              eps: NotNegative = 1e-12, out: Tensor | None = None) -> Tensor:
    """Vectors along an axis over their norms.

    :param input: Real or complex numbers.
    :param p: Of the norm.
    :param dim: The axis of the vectors.
    :param eps: The least norm to divide by.
    :returns: Of the shape of ``input``.
    :see: nn.functional.cosine_similarity, linalg.vector_norm

    >>> ag.nn.functional.normalize(ag.tensor([[3.0, 4.0]]))
    tensor([[0.6, 0.8]])
    """
    x = as_tensor(input)
    return x / F.maximum(vector_norm(x, ord=p, axis=dim, keepdims=True), eps)


@planned
@public
def one_hot(input: TensorLike, num_classes: int = -1) -> Tensor:
    """1 at the index that is a label, 0 elsewhere, along a new last axis.

    :param input: Labels from 0.
    :type input: array_like of int
    :param num_classes: The size of the new axis; by default one more than the largest label.
    :returns: int64, of the shape of ``input`` with one more axis.
    :raises DTypeError: If labels are not integers.
    :raises ValueError: If a label is out of its range.
    :see: nn.CrossEntropyLoss, eye

    >>> ag.nn.functional.one_hot(ag.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    labels = as_tensor(input)
    if labels.dtype.kind not in "iu":
        raise DTypeError(at(f"one_hot({typed(labels)}): labels must be integers, not "
                            f"{typed(labels)}: convert them with .astype('int64')"))
    if num_classes < 1 and num_classes != -1:
        raise ValueError(at(f"one_hot({typed(labels)}): num_classes must be at least 1, or -1 for "
                            f"as many as there are labels, not {num_classes}"))
    if is_known(labels):
        values = np.asarray(labels.array)
        if num_classes == -1:
            num_classes = int(values.max()) + 1 if values.size else 0
        if values.size and not 0 <= values.min() <= values.max() < num_classes:
            raise ValueError(at(f"one_hot({typed(labels)}): labels go from {values.min()} to "
                                f"{values.max()}; num_classes={num_classes} is for those from 0 to "
                                f"{num_classes - 1}"))
    else:
        classes: Any = num_classes
        message = f"one_hot({typed(labels)}): labels must go from 0"
        labels = F.astype(labels, "int64")  # to compare int8 with 200 classes
        if num_classes == -1:  # checked where the size is computed: it may be 0
            classes = F.ensure(F.max(labels, initial=-1) + 1, F.all(labels >= 0), message)
        else:
            labels = F.ensure(labels, (labels >= 0) & (labels < num_classes),
                              f"{message} to {num_classes - 1}")
        return F.astype(labels[..., None] == F.arange(classes), "int64")
    return F.astype(labels[..., None] == F.arange(num_classes), "int64")


@planned
@public
def gumbel_softmax(logits: TensorLike, tau: float = 1.0, hard: bool = False, eps: float = 1e-10,
                   dim: int = -1) -> Tensor:
    """A differentiable draw of classes (Jang et al., 2017).

    :param logits: Logarithms of probabilities, up to a constant.
    :param tau: Temperature: the smaller, the nearer to one class.
    :param hard: Whether the result is 1 for one class and 0 for the others, with the gradients of
        the soft one.
    :param eps: Taken from PyTorch's calls; logarithms of draws are finite.
    :param dim: The axis of the classes.
    :returns: Of the shape of ``logits``.
    :raises ValueError: If ``tau`` is not above 0, or ``eps`` negative.
    :see: nn.Softmax, random.gumbel

    >>> ag.nn.functional.gumbel_softmax(ag.tensor([0.0, 200.0]), hard=True)
    tensor([0., 1.])
    """
    x = as_tensor(logits)
    (tau,) = demanded("gumbel_softmax", "tau, the temperature, must be above 0", lambda t: t > 0,
                      tau=tau)
    demanded("gumbel_softmax", "eps must not be negative", lambda e: e >= 0, eps=eps)
    soft = F.softmax((x + F.astype(random.gumbel(size=x.shape), x.dtype)) / tau, dim)
    if not hard:
        return soft
    places = F.argmax(soft, dim, keepdims=True)
    chosen = F.scatter(F.zeros_like(soft), dim, places, 1.0)
    return (chosen - soft).detach() + soft


@planned
@public
def prelu(input: TensorLike, weight: TensorLike) -> Tensor:
    """``x``, and ``weight * x`` where it is negative (He et al., 2015).

    :param input: Channels are axis 1, of a vector axis 0.
    :param weight: One slope, or one for each channel.
    :returns: Of the shape of ``input``.
    :raises ShapeError: If there is another number of slopes.
    :see: nn.PReLU, nn.functional.leaky_relu

    >>> ag.nn.functional.prelu(ag.tensor([-2.0, 2.0]), ag.tensor([0.25]))
    tensor([-0.5,  2. ])
    """
    x, slope = pair(input, weight)
    if x.ndim == 0:
        slope = F.reshape(slope, ())
    elif slope.size != 1:
        channels = x.shape[1] if x.ndim > 1 else x.shape[0]
        if slope.shape != (channels,):
            text = at(f"prelu({typed(x)}, {typed(slope)}): there must be one slope, or one for "
                      f"each of the {channels} channels")
            if slope.ndim != 1 or not fits(slope.shape, (channels,)):
                raise ShapeError(text)
            slope = within_shape("prelu", slope, (channels,), text)
        slope = F.reshape(slope, (-1, *(1,) * max(x.ndim - 2, 0)))
    return F.where(x > 0, x, x * slope)


@planned
@public
def bilinear(input1: TensorLike, input2: TensorLike, weight: TensorLike,
             bias: TensorLike | None = None) -> Tensor:
    """``x1 @ weight[k] @ x2 + bias[k]`` for each k.

    :param input1, input2: (..., first) and (..., second).
    :param weight: (outputs, first, second).
    :param bias: (outputs,)
    :returns: (..., outputs)
    :see: nn.Bilinear

    >>> ag.nn.functional.bilinear(ag.ones(2), ag.ones(3), ag.ones((1, 2, 3)))
    tensor([6.])
    """
    found = bilinear_product(*common(input1, input2, weight))
    return found if bias is None else found + bias


@planned
@public
def pdist(input: TensorLike, p: Bound = 2.0) -> Tensor:
    """Distances of all pairs of rows, the pairs in order.

    :param input: (n, size)
    :param p: Of the norm.
    :returns: ``n (n - 1) / 2`` numbers.
    :raises ShapeError: If ``input`` is no matrix whose number of rows is known.
    :see: cdist, nn.functional.pairwise_distance

    >>> ag.nn.functional.pdist(ag.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    x = floating(input)
    if x.ndim != 2 or not isinstance(x.shape[0], int):
        raise ShapeError(at(f"pdist({typed(x)}): rows of a matrix, whose number is known, are "
                            "compared"))
    first, second = np.triu_indices(x.shape[0], 1)
    return vector_norm(x[first] - x[second], ord=p, axis=-1)


def _transposed(n: int) -> Any:
    def function(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None,
                 stride: PerAxis = 1, padding: PerAxis = 0, output_padding: PerAxis = 0,
                 groups: int = 1, dilation: PerAxis = 1) -> Tensor:
        x, weight = pair(input, weight)
        if x.ndim not in (n + 1, n + 2):
            raise ShapeError(at(f"conv_transpose{n}d({typed(x)}, {typed(weight)}): the "
                                f"input needs {n + 2} axes: batch, channels and {n} more, "
                                f"or {n + 1} of one image"))
        return conv_transpose(x, weight, bias, stride=stride, padding=padding,
                              output_padding=output_padding, groups=groups, dilation=dilation)

    sizes = ", ".join(("1", "3")[:1] * 2 + ("3",) * n)
    kernel = ", ".join(("1", "1") + ("2",) * n)
    shape = ", ".join(("1", "1") + ("4",) * n)
    function.__name__ = function.__qualname__ = f"conv_transpose{n}d"
    function.__doc__ = f"""The transpose of a convolution over {n} ax{"i" if n == 1 else "e"}s.

    Parameters
    ----------
    input : array_like
        (batch, channels, ...), with {n} more sizes, or one image without the batch.
    weight : array_like
        (channels, outputs over groups, ...)
    bias : array_like, optional
        (outputs,)
    stride, padding, output_padding : int or tuple of int
        Distance of the input's places in the output, how much is cut off, and added behind.
    groups : int
        Groups of channels that do not meet.
    dilation : int or tuple of int
        Distance of the filter's places.

    Returns
    -------
    Tensor
        (batch, outputs, ...)

    Raises
    ------
    ShapeError
        If shapes do not fit.

    See Also
    --------
    nn.ConvTranspose{n}d, conv_transpose

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.functional.conv_transpose{n}d(ag.ones(({sizes})), ag.ones(({kernel}))).shape
    ({shape})
    """
    function.__module__ = __name__
    return planned(public(function))


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed, (1, 2, 3))
