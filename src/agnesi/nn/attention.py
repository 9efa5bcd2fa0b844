"""Attention layers: several heads, and the transformer's encoder layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnesi.core.accepted import DTypeLike
from agnesi.core.dims import Shape
from agnesi.core.errors import ShapeError, at
from agnesi.core.op import typed
from agnesi.core.shapes import fits
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.functional import dropout, gelu
from agnesi.nn.layers import Dropout
from agnesi.nn.linear import Linear
from agnesi.nn.module import Module
from agnesi.nn.norms import LayerNorm
from agnesi.ops.attention import attention_weights
from agnesi.ops.compare import logical_not
from agnesi.ops.convert import as_tensor
from agnesi.ops.creation import empty, zeros
from agnesi.ops.join import split
from agnesi.ops.linear import linear
from agnesi.ops.matmul import matmul
from agnesi.ops.movement import expand_dims, reshape, squeeze, swapaxes
from agnesi.ops.reduce import mean
from agnesi.ops.select import relu, where


def _spreads(shape: Shape, to: Shape) -> bool:
    """Whether sizes are those of a shape, or 1."""
    return len(shape) == len(to) and all(
        n == 1 or fits((n,), (m,)) for n, m in zip(shape, to, strict=True))


def _allowed(mask: Any) -> Tensor:
    """A mask as attention takes it: these layers have True where a query must not look."""
    mask = as_tensor(mask)
    return logical_not(mask) if mask.dtype.kind == "b" else mask


def _both(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Two masks, each bool (True may look) or numbers to add, as one."""
    if first is None or second is None:
        return second if first is None else first
    if first.dtype.kind == second.dtype.kind == "b":
        return first & second
    first, second = (
        where(m, 0.0, -float("inf")) if m.dtype.kind == "b" else m for m in (first, second)
    )
    return first + second


class MultiheadAttention(Module):
    """Attention in several heads at once, each in a part of the features (PyTorch's).

    Parameters
    ----------
    embed_dim : int
        Features of queries, keys, values and results.
    num_heads : int
        Into how many heads they are divided.
    dropout : float
        Share of the weights that become zero in training.
    bias : bool
        Whether projections have biases.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    in_proj_weight, in_proj_bias : Tensor
        Projections of queries, keys and values one below the other, (3 embed_dim, embed_dim).
    out_proj : Linear
        What follows the heads.

    Raises
    ------
    ValueError
        If the features do not divide into so many heads.

    See Also
    --------
    nn.functional.scaled_dot_product_attention, nn.TransformerEncoderLayer

    Examples
    --------
    >>> import agnesi as ag
    >>> attend = ag.nn.MultiheadAttention(8, 2)
    >>> x = ag.ones((5, 3, 8))
    >>> y, weights = attend(x, x, x)
    >>> y.shape, weights.shape
    ((5, 3, 8), (3, 5, 5))
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 batch_first: bool = False, *, dtype: DTypeLike = None) -> None:
        if embed_dim % num_heads:
            raise ValueError(
                at(f"embed_dim={embed_dim} cannot be divided into num_heads={num_heads}")
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        weight = empty((3 * embed_dim, embed_dim), dtype=dtype)
        weight.requires_grad = True
        self.in_proj_weight = init.xavier_uniform_(weight)
        self.in_proj_bias = zeros(3 * embed_dim, dtype=dtype, requires_grad=True) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any = None,
                need_weights: bool = True, attn_mask: Any = None,
                average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """The results, and the weights (their mean over heads) if wanted.

        ``key_padding_mask``, (batch, keys), and ``attn_mask``, (queries, keys) or (batch * heads,
        queries, keys), are True where nobody looks, or numbers that are added to the scores.

        Parameters
        ----------
        query, key, value : Tensor
            (length, batch, features), (batch, length, features) with ``batch_first``, or (length,
            features).
        key_padding_mask : array_like, optional
            (batch, keys): True where nobody looks, or numbers that are added to the scores.
        need_weights : bool
            Whether to give the weights, too.
        attn_mask : array_like, optional
            (queries, keys) or (batch * heads, queries, keys), as ``key_padding_mask``.
        average_attn_weights : bool
            Whether the weights are their mean over heads.
        is_causal : bool
            Whether query i looks at the keys 0 to i only.

        Returns
        -------
        results
            Of the shape of ``query``.
        weights
            (batch, queries, keys), or (batch, heads, queries, keys); None where they are not
            wanted.
        """
        single = as_tensor(query).ndim == 2
        q, k, v = self._projected(*self._batches(query, key, value))
        mask = self._mask(attn_mask, key_padding_mask, q.shape[0], q.shape[2], k.shape[2])
        weights = attention_weights(q, k, mask, is_causal, None)
        mixed = matmul(dropout(weights, self.dropout, self.training), v)
        mixed = swapaxes(mixed, 1, 2)
        y = self.out_proj(reshape(mixed, (*mixed.shape[:2], self.embed_dim)))
        if single:
            y = squeeze(y, 0)
        elif not self.batch_first:
            y = swapaxes(y, 0, 1)
        if not need_weights:
            return y, None
        weights = mean(weights, 1) if average_attn_weights else weights
        return y, squeeze(weights, 0) if single else weights

    def _batches(self, *xs: Any) -> list[Tensor]:
        """Operands as (batch, length, features); equal ones stay one."""
        known: dict[int, Tensor] = {}
        for x in xs:
            if id(x) in known:
                continue
            place, x = id(x), as_tensor(x)
            if x.ndim not in (2, 3) or x.shape[-1] != self.embed_dim:
                raise ShapeError(at(
                    f"MultiheadAttention: queries, keys and values must be (length, batch, "
                    f"{self.embed_dim}), with batch_first (batch, length, {self.embed_dim}), or "
                    f"(length, {self.embed_dim}), not {typed(x)}"
                ))
            if x.ndim == 2:
                x = expand_dims(x, 0)
            elif not self.batch_first:
                x = swapaxes(x, 0, 1)
            known[place] = x
        return [known[id(x)] for x in xs]

    def _projected(self, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
        """Queries, keys and values as (batch, heads, length, features of a head)."""
        if q is k is v:
            parts = split(linear(q, self.in_proj_weight, self.in_proj_bias), 3, -1)
        else:
            weights = split(self.in_proj_weight, 3)
            biases = [None] * 3 if self.in_proj_bias is None else split(self.in_proj_bias, 3)
            parts = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]
        each = self.embed_dim // self.num_heads
        return [swapaxes(reshape(x, (*x.shape[:2], self.num_heads, each)), 1, 2) for x in parts]

    def _mask(self, attn_mask: Any, padding: Any, batch: Any, queries: Any, keys: Any
              ) -> Tensor | None:
        """Where scores count, or what is added to them, as (batch, heads or 1, queries, keys)."""
        heads = self.num_heads
        for name, given, forms in (
            ("attn_mask", attn_mask, ((queries, keys), (batch * heads, queries, keys))),
            ("key_padding_mask", padding, ((batch, keys), (keys,))),
        ):
            shape = None if given is None else as_tensor(given).shape
            if shape is not None and not any(_spreads(shape, form) for form in forms):
                told = " or ".join(map(str, forms))
                raise ShapeError(at(f"MultiheadAttention: {name} must be {told}, not "
                                    f"{typed(as_tensor(given))}"))
        mask = None if attn_mask is None else _allowed(attn_mask)
        if mask is not None and mask.ndim == 3:
            mask = reshape(mask, (batch, self.num_heads, *mask.shape[1:]))
        behind = None
        if padding is not None:
            behind = _allowed(padding)
            behind = reshape(behind, (batch, 1, 1, behind.shape[-1]))
        return _both(mask, behind)

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}"


class TransformerEncoderLayer(Module):
    """Self-attention and a network of two layers, each with a residual and a normalisation.

    Parameters
    ----------
    d_model : int
        Features.
    nhead : int
        Heads of the attention.
    dim_feedforward : int
        Width of the network.
    dropout : float
        Share of the elements that become zero in training.
    activation : {"relu", "gelu"} or callable
        What lies between the network's layers.
    layer_norm_eps : float
        Added to the variance.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    norm_first : bool
        Whether to normalise before attention and network instead of behind.
    bias : bool
        Whether there are biases.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    self_attn, linear1, linear2, norm1, norm2 : Module
        The parts, named as in PyTorch.

    Raises
    ------
    ValueError
        If there is no such activation.

    See Also
    --------
    nn.MultiheadAttention, nn.LayerNorm

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ag.ones((3, 5, 8)), is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048,
                 dropout: float = 0.1, activation: str | Callable[[Tensor], Tensor] = "relu",
                 layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, *, dtype: DTypeLike = None) -> None:
        known = {"relu": relu, "gelu": gelu}
        if not callable(activation) and activation not in known:
            raise ValueError(
                at(f"activation must be 'relu', 'gelu' or a function, not {activation!r}")
            )
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first, dtype=dtype
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout, self.dropout1, self.dropout2 = (Dropout(dropout) for _ in range(3))
        self.norm_first = norm_first
        self.activation = activation if callable(activation) else known[activation]

    def forward(self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            found, _ = self.self_attn(x, x, x, src_key_padding_mask, False, src_mask,
                                      is_causal=is_causal)
            return self.dropout1(found)

        def think(x: Tensor) -> Tensor:
            wide = self.dropout(self.activation(self.linear1(x)))
            return self.dropout2(self.linear2(wide))

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + think(self.norm2(src))
        src = self.norm1(src + attend(src))
        return self.norm2(src + think(src))
