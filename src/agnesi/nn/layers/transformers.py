"""Transformers: encoder and decoder layers, stacks of them, and both together (PyTorch's)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Literal

from agnesi.core.options import Count, NotNegative, Share, Size
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support.errors import at, warn
from agnesi.core.tensor import Tensor
from agnesi.nn import init
from agnesi.nn.base.containers import ModuleList
from agnesi.nn.base.fixed import rules
from agnesi.nn.base.module import Module
from agnesi.nn.functional import gelu
from agnesi.nn.functions.positions import KeyValueCache
from agnesi.nn.layers.attention import MultiheadAttention
from agnesi.nn.layers.cells import layer_count
from agnesi.nn.layers.linear import Linear
from agnesi.nn.layers.norms import LayerNorm
from agnesi.nn.layers.weightless import Dropout
from agnesi.ops.base.creation import full
from agnesi.ops.base.select import relu
from agnesi.ops.indexing.diagonal import triu

Activation = Literal["relu", "gelu"] | Callable[[Tensor], Tensor]


def _activation(activation: Any) -> Callable[[Tensor], Tensor]:
    known: dict[str, Any] = {"relu": relu, "gelu": gelu}
    if not callable(activation) and activation not in known:
        raise ValueError(at(f"activation must be 'relu', 'gelu' or a function, not {activation!r}"))
    found: Callable[[Tensor], Tensor] = activation if callable(activation) else known[activation]
    return found


class _Layer(Module):
    """Base: self-attention and a network of two layers; a residual and a normalisation each."""

    def _make(self, norms: int, d_model: int, nhead: int, dim_feedforward: int, dropout: float,
              activation: Activation, layer_norm_eps: float, batch_first: bool, norm_first: bool,
              bias: bool, positions: Literal["rotary", "alibi"] | None, dtype: Any) -> None:
        self.activation, self.norm_first = _activation(activation), norm_first
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first,
                                            positions=positions, dtype=dtype)
        if norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias,
                                                     batch_first=batch_first, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        for k in range(1, norms + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
            setattr(self, f"dropout{k}", Dropout(dropout))

    def _think(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _in_turn(self, x: Tensor, *parts: Callable[[Tensor], Tensor]) -> Tensor:
        """Each part with its residual, behind or before its normalisation."""
        for k, part in enumerate(parts, 1):
            norm, drop = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
            x = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers, with residuals and norms (Vaswani et al., 2017).

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
        What is between the network's layers.
    layer_norm_eps : float
        Added to the variance.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    norm_first : bool
        Whether to normalise before attention and network instead of behind.
    bias : bool
        Whether there are biases.
    positions : {"rotary", "alibi"}, optional
        How attention sees positions, as for :class:`MultiheadAttention`.
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
    nn.TransformerEncoder, nn.TransformerDecoderLayer, nn.MultiheadAttention

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ag.ones((3, 5, 8)), is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(self, d_model: Count, nhead: Count, dim_feedforward: Count = 2048,
                 dropout: Share = 0.1,
                 activation: Literal["relu", "gelu"] | Callable[[Tensor], Tensor] = "relu",
                 layer_norm_eps: NotNegative = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, *,
                 positions: Literal["rotary", "alibi"] | None = None, dtype: DTypeLike = None
                 ) -> None:
        self._make(2, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                   batch_first, norm_first, bias, positions, dtype)

    def forward(self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False, cache: KeyValueCache | None = None) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask,
                                  is_causal=is_causal, cache=cache)[0]

        return self._in_turn(src, attend, self._think)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder, two linear layers (Vaswani et al., 2017).

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
        What is between the network's layers.
    layer_norm_eps : float
        Added to the variance.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    norm_first : bool
        Whether to normalise before each part instead of behind.
    bias : bool
        Whether there are biases.
    positions : {"rotary", "alibi"}, optional
        How self-attention sees positions, as for :class:`MultiheadAttention`.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3 : Module
        The parts, named as in PyTorch.

    Raises
    ------
    ValueError
        If there is no such activation.

    See Also
    --------
    nn.TransformerDecoder, nn.TransformerEncoderLayer

    Examples
    --------
    >>> import agnesi as ag
    >>> layer = ag.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ag.ones((3, 5, 8)), ag.ones((3, 7, 8)), tgt_is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(self, d_model: Count, nhead: Count, dim_feedforward: Count = 2048,
                 dropout: Share = 0.1,
                 activation: Literal["relu", "gelu"] | Callable[[Tensor], Tensor] = "relu",
                 layer_norm_eps: NotNegative = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, *,
                 positions: Literal["rotary", "alibi"] | None = None, dtype: DTypeLike = None
                 ) -> None:
        self._make(3, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                   batch_first, norm_first, bias, positions, dtype)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False,
                cache: KeyValueCache | None = None) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask,
                                  is_causal=tgt_is_causal, cache=cache)[0]

        def remember(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False,
                                       memory_mask, is_causal=memory_is_causal)[0]

        return self._in_turn(tgt, attend, remember, self._think)


def _count(stack: Any, name: str, value: Any) -> None:
    """Warn where another number of layers is assigned, which adds and removes none."""
    if value != len(stack.layers):
        kind = type(stack).__name__
        warn(f"{kind}.num_layers = {value} changes no layers: there are {len(stack.layers)}; "
             f"assign layers, too, as in stack.layers = stack.layers[:{value}]")


class _Stack(Module):
    """Base: copies of a layer, one behind the other."""

    _rules = rules(num_layers=_count)

    def _make(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        num_layers = layer_count(self, num_layers, 0)
        self.layers = ModuleList(deepcopy(layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def make_caches(self, batch: int, capacity: int) -> list[KeyValueCache]:
        """Empty caches of keys and values for the self-attention of each layer.

        :param batch: Sequences side by side.
        :param capacity: Steps that the cache holds at most.
        :returns: One for each layer.
        """
        return [layer.self_attn.make_cache(batch, capacity) for layer in self.layers]

    def _through(self, x: Tensor, caches: Sequence[KeyValueCache] | None, *args: Any,
                 **keywords: Any) -> Tensor:
        for k, layer in enumerate(self.layers):
            x = layer(x, *args, **keywords, cache=None if caches is None else caches[k])
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of encoder layers (Vaswani et al., 2017).

    :param encoder_layer: Is copied; the copies begin with equal weights.
    :param num_layers: How many.
    :param norm: What follows the last one.
    :param enable_nested_tensor, mask_check: Taken from PyTorch's calls; they change no result.
    :see: nn.TransformerEncoderLayer, nn.Transformer

    >>> layer = ag.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> ag.nn.TransformerEncoder(layer, 2)(ag.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def __init__(self, encoder_layer: Module, num_layers: Count, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        self._make(encoder_layer, num_layers, norm)

    def forward(self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None,
                is_causal: bool = False, caches: Sequence[KeyValueCache] | None = None) -> Tensor:
        return self._through(src, caches, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(_Stack):
    """A stack of decoder layers (Vaswani et al., 2017).

    :param decoder_layer: Is copied; the copies begin with equal weights.
    :param num_layers: How many.
    :param norm: What follows the last one.
    :see: nn.TransformerDecoderLayer, nn.Transformer

    >>> layer = ag.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> ag.nn.TransformerDecoder(layer, 2)(ag.ones((3, 5, 8)), ag.ones((3, 7, 8))).shape
    (3, 5, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: Count, norm: Module | None = None
                 ) -> None:
        self._make(decoder_layer, num_layers, norm)

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Any = None, memory_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False,
                caches: Sequence[KeyValueCache] | None = None) -> Tensor:
        return self._through(tgt, caches, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                             memory_key_padding_mask, tgt_is_causal, memory_is_causal)


class Transformer(Module):
    """An encoder-decoder Transformer, from source and target to outputs (Vaswani et al., 2017).

    Parameters
    ----------
    d_model : int
        Features.
    nhead : int
        Heads of the attention.
    num_encoder_layers, num_decoder_layers : int
        How many layers.
    dim_feedforward : int
        Width of the layers' networks.
    dropout : float
        Share of the elements that become zero in training.
    activation : {"relu", "gelu"} or callable
        What is between the networks' layers.
    custom_encoder, custom_decoder : Module, optional
        In place of the usual ones.
    layer_norm_eps : float
        Added to the variance.
    batch_first : bool
        Whether sequences come as (batch, length, features) instead of (length, batch, features).
    norm_first : bool
        Whether to normalise before each part instead of behind.
    bias : bool
        Whether there are biases.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    encoder, decoder : Module
        Both parts.

    See Also
    --------
    nn.TransformerEncoder, nn.TransformerDecoder

    Examples
    --------
    >>> import agnesi as ag
    >>> net = ag.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> net(ag.ones((3, 7, 8)), ag.ones((3, 5, 8)), tgt_is_causal=True).shape
    (3, 5, 8)
    """

    _rules = rules("d_model nhead batch_first")

    def __init__(self, d_model: Count = 512, nhead: Count = 8, num_encoder_layers: Size = 6,
                 num_decoder_layers: Size = 6, dim_feedforward: Count = 2048, dropout: Share = 0.1,
                 activation: Literal["relu", "gelu"] | Callable[[Tensor], Tensor] = "relu",
                 custom_encoder: Module | None = None, custom_decoder: Module | None = None,
                 layer_norm_eps: NotNegative = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, *, dtype: DTypeLike = None) -> None:
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

        def part(kind: Any, stack: Any, count: int) -> Module:
            layer = kind(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                         batch_first, norm_first, bias, dtype=dtype)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
            made: Module = stack(layer, count, norm)
            return made

        self.encoder = custom_encoder or part(TransformerEncoderLayer, TransformerEncoder,
                                              num_encoder_layers)
        self.decoder = custom_decoder or part(TransformerDecoderLayer, TransformerDecoder,
                                              num_decoder_layers)
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any = None, tgt_mask: Any = None,
                memory_mask: Any = None, src_key_padding_mask: Any = None,
                tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
                src_is_causal: bool = False, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        found: Tensor = self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                                     memory_key_padding_mask, tgt_is_causal, memory_is_causal)
        return found

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: object = None, dtype: DTypeLike = "float32"
                                        ) -> Tensor:
        """The mask of attention to the steps before, as numbers that are added to the scores.

        :param sz: How many steps.
        :param device: Only "cpu".
        :type device: str, optional
        :param dtype: Of the mask.
        :returns: (sz, sz): 0 where step i may look at step j <= i, and minus infinity elsewhere.
        """
        return triu(full((sz, sz), -float("inf"), dtype=dtype), 1)
