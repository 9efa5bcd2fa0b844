"""Attention in several heads, with masks, positions and a cache of keys and values."""

from __future__ import annotations

from typing import Any, Literal

from agnesi.core.ir.dims import Shape, is_static
from agnesi.core.op import typed
from agnesi.core.options import Count, Share
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.shapes import fits
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module
from agnesi.nn.functional import dropout
from agnesi.nn.functions.positions import KeyValueCache, alibi, rotary
from agnesi.nn.layers.linear import Linear
from agnesi.ops.base.compare import logical_not
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import empty, zeros
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import expand_dims, reshape, sized, squeeze, swapaxes
from agnesi.ops.base.reduce import mean
from agnesi.ops.base.select import where
from agnesi.ops.contractions.linear import linear
from agnesi.ops.contractions.matmul import matmul
from agnesi.ops.indexing.join import concat, pad, split
from agnesi.ops.indexing.ranges import arange
from agnesi.ops.neural.attention import attention_weights, scaled_dot_product_attention


def _spreads(shape: Shape, to: Shape) -> bool:
    """Return whether sizes are those of a shape, or 1."""
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


def _heads(layer: Any, name: str, value: Any) -> None:
    """Refuse a number of heads that does not divide the features."""
    if layer.embed_dim % value:
        raise ValueError(at(f"MultiheadAttention: num_heads={value} does not divide "
                            f"embed_dim={layer.embed_dim}"))
    layer.head_dim = layer.embed_dim // value


class MultiheadAttention(Module):
    """Attention in several heads, each in a part of the features (Vaswani et al., 2017).

    Parameters
    ----------
    embed_dim : int
        Features of queries and results.
    num_heads : int
        Into how many heads they are divided.
    dropout : float
        Share of the weights that become zero in training.
    bias : bool
        Whether projections have biases.
    add_bias_kv : bool
        Whether a learned key and value stand behind the others.
    add_zero_attn : bool
        Whether a key and value of zeros stand behind the others.
    kdim, vdim : int, optional
        Features of keys and values; those of queries by default.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    positions : {"rotary", "alibi"}, optional
        How heads see positions of queries and keys: by rotation, or by a bias that grows with the
        distance; by default they do not.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    in_proj_weight, in_proj_bias : Tensor
        Projections of queries, keys and values one below the other, (3 embed_dim, embed_dim).
    q_proj_weight, k_proj_weight, v_proj_weight : Tensor
        In place of ``in_proj_weight`` where keys or values have other features.
    bias_k, bias_v : Tensor
        What ``add_bias_kv`` adds, (1, 1, embed_dim).
    out_proj : Linear
        What follows the heads.

    Raises
    ------
    ValueError
        If the features do not divide into so many heads.

    See Also
    --------
    nn.functional.scaled_dot_product_attention, nn.TransformerEncoderLayer, nn.KeyValueCache

    Examples
    --------
    >>> import agnesi as ag
    >>> attend = ag.nn.MultiheadAttention(8, 2)
    >>> x = ag.ones((5, 3, 8))
    >>> y, weights = attend(x, x, x)
    >>> y.shape, weights.shape
    ((5, 3, 8), (3, 5, 5))
    """

    _rules = rules("embed_dim kdim vdim", num_heads=_heads)

    def __init__(self, embed_dim: Count, num_heads: Count, dropout: Share = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: Count | None = None,
                 vdim: Count | None = None, batch_first: bool = False, *,
                 positions: Literal["rotary", "alibi"] | None = None, dtype: DTypeLike = None
                 ) -> None:
        if embed_dim % num_heads:
            raise ValueError(
                at(f"{type(self).__name__}: embed_dim={embed_dim} cannot be divided into "
                   f"num_heads={num_heads}")
            )
        if positions not in (None, "rotary", "alibi"):
            raise ValueError(at("MultiheadAttention: positions must be 'rotary', 'alibi' or None, "
                                f"not {positions!r}"))
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        self.add_zero_attn, self.positions = add_zero_attn, positions

        def drawn(rows: int, columns: int) -> Tensor:
            weight = empty((rows, columns), dtype=dtype)
            weight._requires_grad = True
            return init.xavier_uniform_(weight)

        self.is_joint = self.kdim == self.vdim == embed_dim
        if self.is_joint:
            self.in_proj_weight = drawn(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = drawn(embed_dim, embed_dim)
            self.k_proj_weight = drawn(embed_dim, self.kdim)
            self.v_proj_weight = drawn(embed_dim, self.vdim)
        self.in_proj_bias = zeros(3 * embed_dim, dtype=dtype, requires_grad=True) if bias else None
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            for name in ("bias_k", "bias_v"):
                row = empty((1, 1, embed_dim), dtype=dtype)
                row._requires_grad = True
                setattr(self, name, init.xavier_normal_(row))
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def make_cache(self, batch: int, capacity: int) -> KeyValueCache:
        """An empty cache of keys and values, for calls with ``cache``.

        :param batch: Sequences side by side.
        :param capacity: Steps that the cache holds at most.
        :returns: Of the layer's sizes and dtype.
        """
        return KeyValueCache(batch, self.num_heads, capacity, self.embed_dim // self.num_heads,
                             dtype=self.out_proj.weight.dtype)

    def forward(self, query: Tensor, key: Tensor, value: Tensor,
                key_padding_mask: TensorLike | None = None, need_weights: bool = True,
                attn_mask: TensorLike | None = None, average_attn_weights: bool = True,
                is_causal: bool = False,
                cache: KeyValueCache | None = None) -> tuple[Tensor, Tensor | None]:
        """The results, and the weights (their mean over heads) if wanted.

        ``key_padding_mask``, (batch, keys), and ``attn_mask``, (queries, keys) or (batch * heads,
        queries, keys), are True where no query looks, or numbers that are added to the scores.

        Parameters
        ----------
        query, key, value : Tensor
            (length, batch, features), (batch, length, features) with ``batch_first``, or (length,
            features).
        key_padding_mask : array_like, optional
            (batch, keys): True where no query looks, or numbers that are added to the scores.
        need_weights : bool
            Whether to give the weights, too.  Queries that masks let look nowhere then get NaN, as
            in PyTorch; else 0.
        attn_mask : array_like, optional
            (queries, keys) or (batch * heads, queries, keys), as ``key_padding_mask``.
        average_attn_weights : bool
            Whether the weights are their mean over heads.
        is_causal : bool
            Whether query i looks at the keys 0 to i only.
        cache : KeyValueCache, optional
            The steps so far, behind which these are noted; each query looks at its own step and
            those before, and the keys are all that the cache holds.

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
        places = None
        if cache is not None:
            places = cache.length + arange(k.shape[2])
        q, k = self._turned(q, places), self._turned(k, places)
        if cache is not None:
            k, v, places = cache.append(k, v)
        real = k.shape[2]
        mask = self._mask(attn_mask, key_padding_mask, q.shape[0], q.shape[2], real)
        plain = is_causal and places is None and self.bias_k is None and not self.add_zero_attn
        if (is_causal and not plain) or places is not None:
            seen = arange(q.shape[2]) if places is None else places
            mask = _both(mask, expand_dims(seen, 1) >= arange(real))
        k, v, mask = self._extended(k, v, self._biased(mask, places, q, real))
        if need_weights or (attn_mask is None and key_padding_mask is None):
            weights = attention_weights(q, k, mask, plain, None)
            mixed = matmul(dropout(weights, self.dropout, self.training), v)
        else:  # which is 0 for queries that may look nowhere, not NaN
            mixed = scaled_dot_product_attention(
                q, k, v, mask, self.dropout if self.training else 0.0, plain)
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
        for x, size in zip(xs, (self.embed_dim, self.kdim, self.vdim), strict=True):
            place, x = id(x), as_tensor(x)
            if x.ndim not in (2, 3) or not fits(x.shape[-1:], (size,)):
                what = "queries, keys and values" if self.is_joint else f"features of {size}"
                raise ShapeError(at(
                    f"MultiheadAttention: {what} must be (length, batch, {size}), with "
                    f"batch_first (batch, length, {size}), or (length, {size}), not {typed(x)}"
                ))
            if place not in known:
                known[place] = (expand_dims(x, 0) if x.ndim == 2 else
                                x if self.batch_first else swapaxes(x, 0, 1))
        q, k, v = (known[id(x)] for x in xs)
        agree = q.shape[0] == k.shape[0] and k.shape[:2] == v.shape[:2]
        if not agree and is_static((q.shape[0], *k.shape[:2], *v.shape[:2])):
            raise ShapeError(at(
                "MultiheadAttention: keys and values must have one length, and all three the same "
                f"batch, not {', '.join(typed(x) for x in xs)}"))
        k, v = sized(k, 0, q.shape[0]), sized(sized(v, 0, q.shape[0]), 1, k.shape[1])
        return [q, k, v]

    def _projected(self, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
        """Queries, keys and values as (batch, heads, length, features of a head)."""
        if q is k is v:
            parts = split(linear(q, self.in_proj_weight, self.in_proj_bias), 3, -1)
        else:
            weights = split(self.in_proj_weight, 3) if self.is_joint else [
                self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
            biases = [None] * 3 if self.in_proj_bias is None else split(self.in_proj_bias, 3)
            parts = [linear(x, w, b) for x, w, b in zip((q, k, v), weights, biases, strict=True)]
        return [self._in_heads(x) for x in parts]

    def _in_heads(self, x: Tensor) -> Tensor:
        each = self.embed_dim // self.num_heads
        return swapaxes(reshape(x, (*x.shape[:2], self.num_heads, each)), 1, 2)

    def _turned(self, x: Tensor, places: Tensor | None) -> Tensor:
        return rotary(x, places) if self.positions == "rotary" else x

    def _biased(self, mask: Tensor | None, places: Tensor | None, q: Tensor, keys: Any
                ) -> Tensor | None:
        """The mask, and what falls with distance."""
        if self.positions != "alibi":
            return mask
        queries = arange(q.shape[2]) if places is None else places
        return _both(mask, alibi(self.num_heads, queries, arange(keys), q.dtype))

    def _extended(self, k: Tensor, v: Tensor, mask: Tensor | None
                  ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keys and values with those behind that every query sees."""
        behind: list[tuple[Tensor, Tensor]] = []
        shape = (*k.shape[:2], 1, k.shape[3])
        if self.bias_k is not None and self.bias_v is not None:
            behind.append((broadcast_to(self._in_heads(self.bias_k), shape),
                           broadcast_to(self._in_heads(self.bias_v), shape)))
        if self.add_zero_attn:
            nothing = zeros(shape, dtype=k.dtype)
            behind.append((nothing, nothing))
        if not behind:
            return k, v, mask
        k, v = (concat([x, *rows], 2) for x, rows in zip((k, v), zip(*behind, strict=True),
                                                         strict=True))
        if mask is not None:
            seen = mask.dtype.kind == "b"
            border = [(0, 0)] * (mask.ndim - 1) + [(0, len(behind))]
            mask = pad(mask, border, constant_values=seen)
        return k, v, mask

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
                expected = " or ".join(map(str, forms))
                raise ShapeError(at(f"MultiheadAttention: {name} must be {expected}, not "
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
