"""einops on tensors: import from here what a program imports from ``einops``.

Once this module is imported, the functions of ``einops`` itself take tensors, too. Patterns are
einops' own (A. Rogozhnikov, "Einops: Clear and Reliable Tensor Manipulations with Einstein-like
Notation", ICLR 2022); the results are views, or copies, as with `agnesi.Tensor.reshape`.

Examples
--------
>>> import agnesi as ag
>>> from agnesi.compat.einops import rearrange, reduce
>>> images = ag.ones((2, 4, 6, 3))
>>> rearrange(images, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2).shape
(2, 6, 12)
>>> reduce(images, "b h w c -> b c", "mean").shape
(2, 3)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import agnesi as ag
from agnesi import nn
from agnesi.core.support.errors import adopt, at, retold, typed

try:
    import einops
    from einops import EinopsError
    from einops._backends import AbstractBackend
    from einops.layers import RearrangeMixin, ReduceMixin
    from einops.layers._einmix import _EinmixMixin
except ImportError as error:
    raise ImportError("agnesi.compat.einops needs einops: pip install einops") from error

__all__ = [
    "EinMix", "EinopsError", "Rearrange", "Reduce", "asnumpy", "einsum", "pack", "parse_shape",
    "rearrange", "reduce", "repeat", "unpack",
]
adopt(einops.__file__.rpartition("__init__")[0])


def _telling(function: Callable[..., Any]) -> Any:
    """The function, whose errors say what it was called with, and where."""

    @functools.wraps(function)
    def call(*args: Any, **lengths: Any) -> Any:
        try:
            return function(*args, **lengths)
        except (EinopsError, RuntimeError, ValueError, TypeError, LookupError) as error:
            if "\n  at " in str(error):
                raise
            given = [typed(a) for a in args] + [f"{k}={v!r}" for k, v in lengths.items()]
            reason = str(error).strip().rpartition("\n")[2].strip()
            if reason.startswith("not enough values"):  # Python's own
                reason = f"a pattern has two sides, as 'b c -> c b' has ({reason})"
            raise retold(error, at(f"{function.__name__}({', '.join(given)}): {reason}")) from None

    return call


asnumpy, einsum = _telling(einops.asnumpy), _telling(einops.einsum)
pack, unpack = _telling(einops.pack), _telling(einops.unpack)
parse_shape, rearrange = _telling(einops.parse_shape), _telling(einops.rearrange)
reduce, repeat = _telling(einops.reduce), _telling(einops.repeat)


class Backend(AbstractBackend):
    """What einops needs of a library; einops finds it among the subclasses."""

    framework_name = "agnesi"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, ag.Tensor)

    def from_numpy(self, x: Any) -> ag.Tensor:
        return ag.tensor(x)

    def to_numpy(self, x: ag.Tensor) -> Any:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> ag.Tensor:
        return ag.arange(start, stop)

    def transpose(self, x: ag.Tensor, axes: Sequence[int]) -> ag.Tensor:
        return ag.permute(x, tuple(axes))

    def reduce(self, x: ag.Tensor, operation: str, axes: Sequence[int]) -> ag.Tensor:
        found: ag.Tensor = getattr(ag, operation)(x, axis=tuple(axes))
        return found

    def stack_on_zeroth_dimension(self, tensors: list[ag.Tensor]) -> ag.Tensor:
        return ag.stack(tensors)

    def add_axis(self, x: ag.Tensor, new_position: int) -> ag.Tensor:
        return ag.expand_dims(x, new_position)

    def tile(self, x: ag.Tensor, repeats: Sequence[int]) -> ag.Tensor:
        return ag.tile(x, tuple(repeats))

    def add_axes(self, x: ag.Tensor, n_axes: int, pos2len: dict[int, int]) -> ag.Tensor:
        for position in pos2len:
            x = ag.expand_dims(x, position)
        return ag.broadcast_to(x, tuple(pos2len.get(i, n) for i, n in enumerate(x.shape)))

    def concat(self, tensors: Sequence[ag.Tensor], axis: int) -> ag.Tensor:
        return ag.concat(tensors, axis=axis)

    def is_float_type(self, x: ag.Tensor) -> bool:
        return ag.isdtype(x.dtype, ("real floating", "complex floating"))

    def einsum(self, pattern: str, *x: ag.Tensor) -> ag.Tensor:
        return ag.einsum(pattern, *x)

    def layers(self) -> ModuleType:
        return sys.modules[__name__]


class _Recipe(nn.Module):
    """A layer that applies what einops made of a pattern."""

    _apply_recipe: Callable[[ag.Tensor], ag.Tensor]  # of einops' class beside it
    _multirecipe: dict[int, Any]

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        try:
            return self._apply_recipe(x)
        except EinopsError as error:
            raise EinopsError(at(f"{self!r} of {typed(x)}: {str(error).rpartition(chr(10))[2]}")
                              ) from None
        except KeyError:
            fits = " or ".join(map(str, self._multirecipe))
            raise EinopsError(at(f"{self!r} takes tensors of {fits} axes, not {typed(x)}")
                              ) from None

    def extra_repr(self) -> str:
        return repr(self).partition("(")[2][:-1]


class Rearrange(RearrangeMixin, _Recipe):
    """`rearrange` as a layer: ``Rearrange("b c h w -> b (c h w)")``."""


class Reduce(ReduceMixin, _Recipe):
    """`reduce` as a layer: ``Reduce("b c (h 2) (w 2) -> b c h w", "max")``."""


class EinMix(_EinmixMixin, nn.Module):
    """A dense layer over the axes that a pattern names, with a weight and a bias of such shapes.

    ``EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=64, d=32)``.
    """

    weight: ag.Tensor
    bias: ag.Tensor | None

    def _create_parameters(self, weight_shape: Any, weight_bound: float, bias_shape: Any,
                           bias_bound: float) -> None:
        self.weight = nn.Parameter(ag.random.uniform(-weight_bound, weight_bound, weight_shape))
        self.bias = None if bias_shape is None else nn.Parameter(
            ag.random.uniform(-bias_bound, bias_bound, bias_shape))

    def _create_rearrange_layers(self, pre: str | None, pre_lengths: Any, post: str | None,
                                 post_lengths: Any) -> None:
        self.before = nn.Identity() if pre is None else Rearrange(pre, **pre_lengths)
        self.after = nn.Identity() if post is None else Rearrange(post, **post_lengths)

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        found = ag.einsum(self.einsum_pattern, self.before(x), self.weight)
        shifted: ag.Tensor = self.after(found if self.bias is None else found + self.bias)
        return shifted
