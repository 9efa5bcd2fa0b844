"""Embeddings: learned vectors for numbered things, one by one or in bags, sparse vectors too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from agnesi.core.errors import ShapeError, at
from agnesi.core.op import typed
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.elementary import uniform
from agnesi.nn.functional import embedding
from agnesi.nn.module import Module
from agnesi.ops.convert import as_tensor
from agnesi.ops.creation import empty
from agnesi.ops.movement import expand_dims
from agnesi.ops.reduce import max as max_of
from agnesi.ops.reduce import mean, sum


class Embedding(Module):
    """A learned vector for each of a number of things.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many vectors, and their length.
    padding_idx : int, optional
        A vector that starts as zeros and gets no gradient.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape (num_embeddings, embedding_dim), drawn from the normal distribution.

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Embedding(10, 4)(ag.tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, *,
                 dtype: Any = None) -> None:
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(at(f"padding_idx={padding_idx} is none of {num_embeddings} vectors"))
        self.padding_idx = padding_idx
        self.weight = empty((num_embeddings, embedding_dim), dtype=dtype)
        init.normal_(self.weight)
        if padding_idx is not None:
            self.weight[padding_idx] = 0
        self.weight.requires_grad = True

    def forward(self, indices: Tensor) -> Tensor:
        return embedding(indices, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        sizes = ", ".join(map(str, self.weight.shape))
        return sizes if self.padding_idx is None else f"{sizes}, padding_idx={self.padding_idx}"


class EmbeddingBag(Module):
    """The mean, sum or maximum of the vectors of bags of things (PyTorch's, for bags of one size).

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many vectors, and their length.
    mode : {"mean", "sum", "max"}
        What becomes of the vectors of a bag.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.EmbeddingBag(10, 4)(ag.tensor([[1, 2, 3], [4, 4, 5]])).shape
    (2, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, mode: str = "mean", *,
                 dtype: Any = None) -> None:
        if mode not in ("mean", "sum", "max"):
            raise ValueError(at(f"mode must be 'mean', 'sum' or 'max', not {mode!r}"))
        self.mode = mode
        self.weight = empty((num_embeddings, embedding_dim), dtype=dtype)
        init.normal_(self.weight)
        self.weight.requires_grad = True

    def forward(self, indices: Tensor, per_sample_weights: Any = None) -> Tensor:
        """One vector for each row of ``indices``; weights, with "sum", are a factor for each."""
        indices = as_tensor(indices)
        if indices.ndim != 2:
            raise ShapeError(
                at(f"EmbeddingBag: indices must be (bags, size of a bag), not {typed(indices)}")
            )
        found = embedding(indices, self.weight)
        if per_sample_weights is not None:
            if self.mode != "sum":
                raise ValueError(
                    at(f"EmbeddingBag: per_sample_weights need mode='sum', not {self.mode!r}")
                )
            found = found * expand_dims(as_tensor(per_sample_weights, found.dtype), -1)
        ways: dict[str, Callable[..., Tensor]] = {"mean": mean, "sum": sum, "max": max_of}
        return ways[self.mode](found, 1)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.shape)) + f", mode={self.mode!r}"


class SparseLinear(Module):
    """``x @ weight + bias`` for vectors that are given by their elements that are not zero.

    Gradients, and the update in a compiled step, touch only the rows of ``weight`` in use (Torch7's
    layer of this name; it needs lists of pairs).

    Parameters
    ----------
    in_features, out_features : int
        Lengths of the vectors before and after.
    bias : bool
        Whether to add a bias.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape (in_features, out_features).
    bias : Tensor or None
        Of shape (out_features,).

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.SparseLinear(10_000, 4)
    >>> layer(ag.tensor([[3, 77], [5, 3]]), ag.tensor([[0.5, 2.0], [1.0, 0.0]])).shape
    (2, 4)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *,
                 dtype: Any = None) -> None:
        bound = 1 / math.sqrt(in_features)
        self.weight = uniform((in_features, out_features), bound, dtype)
        self.bias = uniform((out_features,), bound, dtype) if bias else None

    def forward(self, indices: Tensor, values: Tensor) -> Tensor:
        """One row for each of ``indices``, the places of ``values``; a value of 0 fills up."""
        indices, values = as_tensor(indices), as_tensor(values, self.weight.dtype)
        if indices.shape != values.shape or indices.ndim != 2:
            raise ShapeError(
                at(f"SparseLinear: indices {typed(indices)} and values {typed(values)} must both "
                   "be (vectors, elements of each)")
            )
        y = sum(embedding(indices, self.weight) * expand_dims(values, -1), 1)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        sizes = ", ".join(map(str, self.weight.shape))
        return sizes + ", bias=False" * (self.bias is None)
