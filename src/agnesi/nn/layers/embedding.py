"""Embeddings: learned vectors for integer indices, one by one or in bags, sparse vectors too."""

from __future__ import annotations

import math
from typing import Any, Literal

from agnesi.core.op import typed
from agnesi.core.options import Count, NotNegativeBound, Order, Size
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.base.fixed import rules, sizes_of
from agnesi.nn.base.module import Module, size_of
from agnesi.nn.base.renewed import Renewed
from agnesi.nn.functions.elementary import uniform
from agnesi.nn.functions.lookups import embedding, embedding_bag
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import empty
from agnesi.ops.base.movement import expand_dims
from agnesi.ops.base.reduce import sum
from agnesi.ops.numerics.bags import MODES


def _check_padding(layer: Any, weight: Tensor, row: int | None) -> None:
    """Refuse a row that is none."""
    count = weight.shape[0]
    if row is not None and not -count <= row < count:
        raise ValueError(at(f"{type(layer).__name__}: padding_idx={row} is none of {count} "
                            "vectors"))


def _vectors(layer: Module, count: int, length: int, padding: int | None, dtype: Any) -> Tensor:
    """Vectors drawn from the normal distribution, but for zeros at ``padding``."""
    count = size_of(layer, count, "num_embeddings", 0)
    length = size_of(layer, length, "embedding_dim", 0)
    weight = empty((count, length), dtype=dtype)
    _check_padding(layer, weight, padding)
    init.normal_(weight)
    if padding is not None:
        weight[padding] = 0
    weight._requires_grad = True
    return weight


def _row(padding: int | None, count: int) -> int | None:
    """A row counted from the first."""
    return padding if padding is None else padding % count


def _with_vectors(cls: Any, embeddings: Any, freeze: bool, **options: Any) -> Any:
    """A layer of given vectors; options that are None are left to their defaults."""
    weight = as_tensor(embeddings).detach()
    if weight.ndim != 2:
        raise ShapeError(at(f"{cls.__name__}.from_pretrained: vectors must be (number, length), "
                            f"not {typed(weight)}"))
    count, length = map(int, weight.shape)
    layer = cls(count, length, dtype=weight.dtype,
                **{name: value for name, value in options.items() if value is not None})
    layer.weight = weight.requires_grad_()
    weight.requires_grad_(not freeze)
    return layer


def _padding(layer: Any, name: str, value: Any) -> None:
    _check_padding(layer, layer.weight, value)


_OF_VECTORS = rules(
    num_embeddings=sizes_of("weight", 0), embedding_dim=sizes_of("weight", 1), padding_idx=_padding)


class Embedding(Renewed, Module):
    """A table of learned vectors, looked up by integer ids.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many vectors, and their length.
    padding_idx : int, optional
        A vector that starts as zeros and gets no gradient.
    max_norm : float, optional
        The greatest norm of a vector; longer ones are made as short when they are used.
    norm_type : float
        Which norm.
    scale_grad_by_freq : bool
        Whether a vector's gradient is divided by how often it is used in the call.
    sparse : bool
        Whether the gradient of the vectors is sparse: it has the rows in use only, and so have
        steps of ``optim.SparseAdam``, ``SGD`` and ``Adagrad``, whatever the size of the table.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    weight : Tensor
        Of shape (num_embeddings, embedding_dim), drawn from the normal distribution.

    Raises
    ------
    ValueError
        If ``padding_idx`` is no row, or a size is not positive.

    See Also
    --------
    nn.EmbeddingBag, nn.SparseLinear, nn.functional.embedding

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi import nn
    >>> nn.Embedding(10, 4)(ag.tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    _rules = _OF_VECTORS

    def __init__(self, num_embeddings: Size, embedding_dim: Size, padding_idx: int | None = None,
                 max_norm: NotNegativeBound | None = None, norm_type: Order = 2.0,
                 scale_grad_by_freq: bool = False, sparse: bool = False, *,
                 dtype: DTypeLike = None) -> None:
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.sparse = max_norm, norm_type, sparse
        self.scale_grad_by_freq = scale_grad_by_freq
        self.weight = _vectors(self, num_embeddings, embedding_dim, padding_idx, dtype)
        self.padding_idx = _row(padding_idx, num_embeddings)

    @classmethod
    def from_pretrained(cls, embeddings: TensorLike, freeze: bool = True,
                        padding_idx: int | None = None, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Embedding:
        """A layer with given vectors, of shape (num_embeddings, embedding_dim).

        They are shared if they are a Tensor, copied otherwise; ``freeze`` them to get no gradient.

        :param embeddings: The vectors, of shape (num_embeddings, embedding_dim).
        :type embeddings: array_like
        :param freeze: Whether they get no gradient.
        :param padding_idx: A vector that gets no gradient.
        :param max_norm: The greatest norm of a vector; longer ones are made as short when they are
            used.
        :param norm_type: Which norm.
        :param scale_grad_by_freq: Whether a vector's gradient is divided by how often it is used in
            the call.
        :param sparse: Whether the gradient of the vectors is sparse.
        :returns: Of the dtype of the vectors.
        :raises ShapeError: If they are no matrix.

        >>> layer = ag.nn.Embedding.from_pretrained([[1.0, 2.0], [3.0, 4.0]])
        >>> layer(ag.tensor([1]))
        tensor([[3., 4.]])
        """
        return _with_vectors(cls, embeddings, freeze, padding_idx=padding_idx, max_norm=max_norm,
                             norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq,
                             sparse=sparse)

    def forward(self, indices: Tensor) -> Tensor:
        return embedding(indices, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                         self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        sizes = ", ".join(map(str, self.weight.shape))
        sizes += "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return sizes + ", sparse=True" * bool(self.sparse)


class EmbeddingBag(Renewed, Module):
    """The mean, sum or maximum of the embeddings of each bag of ids.

    :param num_embeddings, embedding_dim: How many vectors, and their length.
    :param mode: What becomes of the vectors of a bag.
    :param padding_idx: A vector that does not count, starts as zeros and gets no gradient.
    :param max_norm: The greatest norm of a vector; longer ones are made as short when they are
        used.
    :param norm_type: Which norm.
    :param scale_grad_by_freq: Whether a vector's gradient is divided by how often it is used in the
        call.
    :param include_last_offset: Whether ``offsets`` end with the number of indices, where no bag
        begins.
    :param sparse: Whether the gradient of the vectors is sparse, as :class:`Embedding`'s.
    :param dtype: Float type; ``config.default_float`` by default.
    :raises ValueError: If there is no such mode.
    :see: nn.Embedding, nn.functional.embedding_bag

    >>> layer = nn.EmbeddingBag(10, 4)
    >>> layer(ag.tensor([[1, 2, 3], [4, 4, 5]])).shape
    (2, 4)
    >>> layer(ag.tensor([1, 2, 3, 4, 4, 5]), offsets=ag.tensor([0, 1, 3])).shape
    (3, 4)
    """

    _rules = _OF_VECTORS

    def __init__(self, num_embeddings: Size, embedding_dim: Size,
                 mode: Literal["mean", "sum", "max"] = "mean", padding_idx: int | None = None, *,
                 max_norm: NotNegativeBound | None = None, norm_type: Order = 2.0,
                 scale_grad_by_freq: bool = False, include_last_offset: bool = False,
                 sparse: bool = False, dtype: DTypeLike = None) -> None:
        if mode not in MODES:
            raise ValueError(at(f"mode must be 'mean', 'sum' or 'max', not {mode!r}"))
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.weight = _vectors(self, num_embeddings, embedding_dim, padding_idx, dtype)
        self.padding_idx = _row(padding_idx, num_embeddings)

    @classmethod
    def from_pretrained(cls, embeddings: TensorLike, freeze: bool = True,
                        max_norm: float | None = None, norm_type: float = 2.0,
                        scale_grad_by_freq: bool = False,
                        mode: Literal["mean", "sum", "max"] = "mean", sparse: bool = False,
                        include_last_offset: bool = False,
                        padding_idx: int | None = None ) -> EmbeddingBag:
        """A layer with given vectors, of shape (num_embeddings, embedding_dim).

        They are shared if they are a Tensor, copied otherwise; ``freeze`` them to get no gradient.

        :param embeddings: The vectors, of shape (num_embeddings, embedding_dim).
        :type embeddings: array_like
        :param freeze: Whether they get no gradient.
        :param max_norm: The greatest norm of a vector; longer ones are made as short when they are
            used.
        :param norm_type: Which norm.
        :param scale_grad_by_freq: Whether a vector's gradient is divided by how often it is used in
            the call.
        :param mode: What becomes of the vectors of a bag.
        :param sparse: Whether the gradient of the vectors is sparse.
        :param include_last_offset: Whether offsets end with the number of indices.
        :param padding_idx: A vector that does not count.
        :returns: Of the dtype of the vectors.
        :raises ShapeError: If they are no matrix.

        >>> layer = ag.nn.EmbeddingBag.from_pretrained([[1.0, 2.0], [3.0, 4.0]], mode="sum")
        >>> layer(ag.tensor([[0, 1]]))
        tensor([[4., 6.]])
        """
        return _with_vectors(
            cls, embeddings, freeze, mode=mode, padding_idx=padding_idx, max_norm=max_norm,
            norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
            include_last_offset=include_last_offset)

    def forward(self, indices: Tensor, offsets: TensorLike | None = None,
                per_sample_weights: TensorLike | None = None) -> Tensor:
        """One vector for each bag; see :func:`agnesi.nn.functional.embedding_bag`.

        :param indices: A bag in each row, or, with ``offsets``, all bags one behind the other.
        :type indices: array_like of int
        :param offsets: Where each bag begins in ``indices``; the first at 0. With
            ``include_last_offset`` the number of indices follows.
        :type offsets: array_like of int, optional
        :param per_sample_weights: With the mode "sum", a factor for each index.
        :type per_sample_weights: array_like, optional
        :returns: Of shape (bags, embedding_dim).
        """
        return embedding_bag(
            indices, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            padding_idx=self.padding_idx, sparse=self.sparse,
            scale_grad_by_freq=self.scale_grad_by_freq,
            include_last_offset=self.include_last_offset, max_norm=self.max_norm,
            norm_type=self.norm_type,
        )

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.weight.shape)) + (
            f", mode={self.mode!r}" + ", sparse=True" * bool(self.sparse))


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

    See Also
    --------
    nn.Linear, nn.EmbeddingBag

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.SparseLinear(10_000, 4)
    >>> layer(ag.tensor([[3, 77], [5, 3]]), ag.tensor([[0.5, 2.0], [1.0, 0.0]])).shape
    (2, 4)
    """

    def __init__(self, in_features: Count, out_features: Count, bias: bool = True, *,
                 dtype: DTypeLike = None) -> None:
        bound = 1 / math.sqrt(size_of(self, in_features, "in_features"))
        out_features = size_of(self, out_features, "out_features")
        self.weight = uniform((in_features, out_features), bound, dtype)
        self.bias = uniform((out_features,), bound, dtype) if bias else None

    def forward(self, indices: Tensor, values: Tensor) -> Tensor:
        """One row for each of ``indices``, the places of ``values``; a value of 0 fills up.

        :param indices: Of shape (vectors, elements of each): the places of the elements.
        :param values: Of the same shape: the elements; a value of 0 fills up.
        :returns: Of shape (vectors, out_features).
        :raises ShapeError: If the shapes differ, or are not of two axes.
        """
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
