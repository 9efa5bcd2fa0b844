"""Positions in attention: rotated queries and keys, biases that grow with distance, kept keys."""

from __future__ import annotations

import math
from typing import Any

from agnesi.core.op import typed
from agnesi.core.options import Count
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import planned, public
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import ShapeError, at
from agnesi.core.support.tracing import is_tracing
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import zeros
from agnesi.ops.base.movement import expand_dims, reshape
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.elementwise.trig import cos, sin
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import arange


@planned
@public
def rotary(x: TensorLike, positions: TensorLike | None = None, base: float = 10000.0) -> Tensor:
    """Rotate pairs of features by angles in proportion to positions (Su et al., 2021).

    Feature i forms a pair with feature i + n / 2.  Products of rotated queries and keys depend on
    the distance of their positions only.

    :param x: Queries or keys, (..., length, features).
    :param positions: Of the rows, (length,) or what broadcasts to (..., length); 0, 1, ... by
        default.
    :param base: The slowest pair turns once in about ``2 pi base`` positions.
    :returns: Of the shape of ``x``.
    :raises ShapeError: If the number of features is odd.
    :see: nn.functional.alibi, nn.MultiheadAttention

    >>> ag.nn.functional.rotary(ag.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.    , 0.    ],
            [0.5403..., 0.8414...]])
    """
    x = as_tensor(x)
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ShapeError(f"rotary: operands must be (..., length, an even number of features), "
                         f"not {typed(x)}")
    half = x.shape[-1] // 2
    speeds = exp(cast(arange(half), x.dtype) * (-math.log(base) / max(half, 1)))
    places = arange(x.shape[-2]) if positions is None else as_tensor(positions)
    angles = expand_dims(cast(places, x.dtype), -1) * speeds
    c, s = cos(angles), sin(angles)
    one, two = x[..., :half], x[..., half:]
    return concat([one * c - two * s, one * s + two * c], -1)


@planned
@public
def alibi(heads: Count, queries: TensorLike, keys: TensorLike, dtype: DTypeLike = "float32"
          ) -> Tensor:
    """Return the bias of attention scores that falls with distance (Press et al., 2022).

    :param heads: How many; the slopes of heads form a geometric sequence that ends at ``2**-8``.
    :param queries, keys: Their positions, (queries,) and (keys,).
    :type queries, keys: array_like of int
    :param dtype: Of the result.
    :returns: Of shape (heads, queries, keys); 0 where positions are equal.
    :see: nn.functional.rotary, nn.MultiheadAttention

    >>> ag.nn.functional.alibi(8, ag.arange(2), ag.arange(2))[0]
    tensor([[-0. , -0.5],
            [-0.5, -0. ]])
    """
    queries, keys = as_tensor(queries), as_tensor(keys)
    kind = as_dtype(dtype)
    slopes = exp(cast(arange(1, heads + 1), kind) * (-8 * math.log(2) / heads))
    far = abs(reshape(queries, (-1, 1)) - keys)
    return -(reshape(slopes, (-1, 1, 1)) * cast(far, kind))


class KeyValueCache(Module):
    """Keys and values of the steps so far, for generation step by step.

    Parameters
    ----------
    batch, num_heads, capacity, head_dim : int
        Sizes: it holds ``capacity`` steps.
    dtype : dtype, optional
        Float type; ``config.default_float`` by default.

    Attributes
    ----------
    keys, values : Tensor
        (batch, num_heads, capacity, head_dim); zeros beyond ``length``.
    length : Tensor
        How many steps are there, an int64 number.

    See Also
    --------
    nn.MultiheadAttention

    Examples
    --------
    >>> import agnesi as ag
    >>> attend = ag.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    >>> cache = attend.make_cache(batch=1, capacity=16)
    >>> x = ag.ones((1, 3, 8))
    >>> whole, _ = attend(x, x, x, is_causal=True)
    >>> for t in range(3):
    ...     step, _ = attend(x[:, t: t + 1], x[:, t: t + 1], x[:, t: t + 1], cache=cache)
    >>> bool(ag.allclose(step[:, 0], whole[:, 2]))
    True
    """

    def __init__(self, batch: Count, num_heads: Count, capacity: Count, head_dim: Count, *,
                 dtype: DTypeLike = None) -> None:
        shape = (batch, num_heads, capacity, head_dim)
        self.keys, self.values = zeros(shape, dtype=dtype), zeros(shape, dtype=dtype)
        self.length = zeros((), dtype="int64")

    @property
    def capacity(self) -> int:
        """The number of steps that it holds."""
        return int(self.keys.shape[2])

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Note new steps; also inside of compiled functions.

        :param key, value: (batch, heads, steps, head_dim).
        :returns keys, values: All that it holds, filled or not.
        :returns positions: Of the new steps, (steps,).
        :raises ShapeError: If the sizes are others, or it is full; compiled code reports an
            index out of range.
        """
        full = (*self.keys.shape[:2], key.shape[2], self.keys.shape[3])
        if key.shape != full or value.shape != full or key.shape[2] > self.capacity:
            raise ShapeError(at(f"KeyValueCache: keys and values must be {full}, at most "
                                f"{self.capacity} steps, not {typed(key)} and {typed(value)}"))
        length: Any = self.length
        if not is_tracing() and int(length) + key.shape[2] > self.capacity:
            raise ShapeError(at(f"KeyValueCache: there is no room for {key.shape[2]} steps behind "
                                f"{int(length)} of {self.capacity}: reset() empties it"))
        positions = length + arange(key.shape[2])
        self.keys[:, :, positions] = key.detach()
        self.values[:, :, positions] = value.detach()
        length.add_(key.shape[2])
        return self.keys, self.values, positions

    def reset(self) -> None:
        """Forget all steps."""
        self.length.zero_()

    def forward(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.append(key, value)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.keys.shape))
