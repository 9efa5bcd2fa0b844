"""Smooth functions with inverses, and distributions of what they make of others' draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.api import functions as F
from agnesi.core.options import Size
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import at, typed
from agnesi.core.tensor import Tensor
from agnesi.distributions import constraints as C
from agnesi.distributions.base import Distribution, described
from agnesi.ops.base.convert import as_tensor


class Transform:
    """A smooth function with an inverse; a subclass gives both, and the logarithm of the slope.

    :see: distributions.TransformedDistribution

    >>> t = ag.distributions.transforms.ExpTransform()
    >>> t.inv(t(ag.tensor(2.0))).round()
    tensor(2.)
    """

    #: How many axes at the end belong to one value.
    event_dim = 0
    #: 1 where it rises, -1 where it falls; a tensor where places differ.
    sign: Any = 1

    @property
    def domain(self) -> Any:
        """Which values it takes."""
        return C.real

    @property
    def codomain(self) -> Any:
        """Which values it gives."""
        return C.real

    def __call__(self, x: Any) -> Tensor:
        return self._call(as_tensor(x))

    def __eq__(self, other: object) -> bool:
        mine = vars(self)
        return type(self) is type(other) and all(
            (isinstance(a, Transform | list) and a == b) or np.array_equal(a, b)
            for a, b in zip(mine.values(), vars(other).values(), strict=True))

    def __hash__(self) -> int:
        return hash(type(self))

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        return _Inverse(self)

    def log_abs_det_jacobian(self, x: TensorLike, y: TensorLike) -> Tensor:
        """The logarithm of the absolute slope.

        :param x, y: A value, and what it is taken to.
        :returns: Of their shape, without the axes of an event.
        """
        return self._slope(as_tensor(x), as_tensor(y))

    def forward_shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The shape of a result.

        :param shape: Of a value.
        :type shape: tuple of int
        :returns: The same, unless a subclass says otherwise.
        """
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The shape of a value.

        :param shape: Of a result.
        :type shape: tuple of int
        :returns: The same, unless a subclass says otherwise.
        """
        return tuple(shape)

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError(at(f"{type(self).__name__} has no log_abs_det_jacobian"))


class _Inverse(Transform):
    """Another one the other way round."""

    def __init__(self, whole: Transform) -> None:
        self._whole = whole
        self.event_dim, self.sign = whole.event_dim, whole.sign

    @property
    def domain(self) -> Any:
        return self._whole.codomain

    @property
    def codomain(self) -> Any:
        return self._whole.domain

    @property
    def inv(self) -> Transform:
        return self._whole

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        return self._whole.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        return self._whole.forward_shape(shape)

    def _call(self, x: Tensor) -> Tensor:
        return self._whole._inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._whole._call(y)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._whole._slope(y, x)

    def __repr__(self) -> str:
        return f"{self._whole!r}.inv"


_T = ">>> T = ag.distributions.transforms\n"


@described(_T + ">>> T.ExpTransform()(0.0)\ntensor(1.)")
class ExpTransform(Transform):
    """The exponential."""

    codomain: Any = C.positive

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return F.exp(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.log(y)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return x


@described(_T + ">>> T.SigmoidTransform()(0.0)\ntensor(0.5)")
class SigmoidTransform(Transform):
    """The logistic function."""

    codomain: Any = C.unit_interval

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return F.sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.log(y) - F.log1p(-y)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x) - F.softplus(x)


@described(_T + ">>> T.TanhTransform()(0.0)\ntensor(0.)")
class TanhTransform(Transform):
    """The hyperbolic tangent."""

    codomain: Any = C.interval(-1.0, 1.0)

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return F.tanh(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.atanh(y)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


@described(_T + ">>> T.SoftplusTransform()(0.0)\ntensor(0.6931472)")
class SoftplusTransform(Transform):
    """The smooth ramp ``log(1 + exp(x))``."""

    codomain: Any = C.positive

    def __init__(self, cache_size: Size = 0) -> None:
        """Nothing is to be said."""

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return F.log(-F.expm1(-y)) + y

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return -F.softplus(-x)


def _alike(value: Any, x: Tensor) -> Tensor:
    """A parameter; Python numbers have the dtype of what they are for."""
    number = isinstance(value, (int, float))
    return as_tensor(value, x.dtype) if number and x.dtype.kind in "fV" else as_tensor(value)


@described(_T + ">>> T.AffineTransform(1.0, 2.0)(3.0)\ntensor(7.)",
           loc="array_like\n    What is added.",
           scale="array_like\n    The factor, which is not 0.",
           event_dim="int\n    How many axes at the end belong to one value.")
class AffineTransform(Transform):
    """A factor and a constant."""

    def __init__(self, loc: TensorLike, scale: TensorLike, event_dim: Size = 0,
                 cache_size: Size = 0) -> None:
        self.loc: Any
        self.scale: Any
        self.loc, self.scale, self.event_dim = loc, scale, event_dim
        self.sign = F.sign(F.asarray(scale))

    @property
    def domain(self) -> Any:
        return C.independent(C.real, self.event_dim) if self.event_dim else C.real

    codomain = domain

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        found = F.broadcast_to(F.log(F.abs(_alike(self.scale, x))), x.shape)
        return F.sum(found, tuple(range(-self.event_dim, 0))) if self.event_dim else found


@described(_T + ">>> T.PowerTransform(2.0)(3.0)\ntensor(9.)",
           exponent="array_like\n    The exponent, which is not 0.")
class PowerTransform(Transform):
    """A power of positive numbers."""

    domain: Any = C.positive
    codomain: Any = C.positive

    def __init__(self, exponent: TensorLike, cache_size: Size = 0) -> None:
        self.exponent: Any = exponent
        self.sign = F.sign(F.asarray(exponent))

    def _call(self, x: Tensor) -> Tensor:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        return y ** (1 / self.exponent)

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        return F.log(F.abs(_alike(self.exponent, x) * y / x))


@described(_T + ">>> T.ComposeTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)])(0.0)\n"
           "tensor(3.)", parts="sequence of Transform\n    The first one first.")
class ComposeTransform(Transform):
    """Several, one after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: Size = 0) -> None:
        self.parts = list(parts)
        self.event_dim = max((t.event_dim for t in self.parts), default=0)
        self.sign = math.prod((t.sign for t in self.parts), start=F.asarray(1.0))

    @property
    def domain(self) -> Any:
        return self.parts[0].domain if self.parts else C.real

    @property
    def codomain(self) -> Any:
        return self.parts[-1].codomain if self.parts else C.real

    def forward_shape(self, shape: Any) -> tuple[Any, ...]:
        for t in self.parts:
            shape = t.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Any) -> tuple[Any, ...]:
        for t in reversed(self.parts):
            shape = t.inverse_shape(shape)
        return tuple(shape)

    def _call(self, x: Tensor) -> Tensor:
        for t in self.parts:
            x = t(x)
        return x

    def _inverse(self, y: Tensor) -> Tensor:
        for t in reversed(self.parts):
            y = t.inv(y)
        return y

    def _slope(self, x: Tensor, y: Tensor) -> Tensor:
        total: Any = 0.0
        for t in self.parts:
            y = t(x)
            part = t.log_abs_det_jacobian(x, y)
            more = self.event_dim - t.event_dim
            total = total + (F.sum(part, tuple(range(-more, 0))) if more else part)
            x = y
        return F.asarray(total)


@described(">>> D = ag.distributions\n"
           ">>> d = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.transforms.ExpTransform()])\n"
           ">>> d.log_prob(1.0)\ntensor(-0.9189385)",
           base_distribution="Distribution\n    What is drawn.",
           transforms="Transform or sequence of Transform\n    What is made of it.")
class TransformedDistribution(Distribution):
    """The distribution of what transforms make of another one's draws."""

    def __init__(self, base_distribution: Distribution, transforms: object,
                 validate_args: bool | None = None) -> None:
        self.base_dist = base_distribution
        self.transforms: list[Any] = (
            [transforms] if isinstance(transforms, (Transform, str)) or not isinstance(
                transforms, Iterable) else list(transforms))
        for t in self.transforms:
            if not isinstance(t, Transform):
                raise ValueError(at("TransformedDistribution: transforms must be Transforms, such "
                                    f"as ExpTransform(), not {typed(t)}"))
        self._whole = ComposeTransform(self.transforms)
        whole = base_distribution.batch_shape + base_distribution.event_shape
        shape = self._whole.forward_shape(whole)
        events = max(self._whole.event_dim, len(base_distribution.event_shape))
        events += len(shape) - len(whole)
        cut = len(shape) - events
        super().__init__(shape[:cut], shape[cut:], validate_args)
        self.has_rsample = base_distribution.has_rsample

    def expand(self, batch_shape: Any) -> Any:
        inner = self.base_dist.batch_shape[len(self._batch_shape):]
        return TransformedDistribution(self.base_dist.expand((*batch_shape, *inner)),
                                       self.transforms)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._whole(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._whole(self.base_dist.rsample(sample_shape))

    @property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = 0 if found is None else len(self._event_shape) - found.event_dim
        return C.independent(found, more) if more > 0 else found

    def _check_monotone(self, name: str) -> None:
        if self._whole.event_dim:
            raise self._absent(name)

    def _over(self, x: Tensor, done: int) -> Tensor:
        """Summed over the axes of the event but for those that are done."""
        more = len(self._event_shape) - done
        return F.sum(x, tuple(range(-more, 0))) if more else x

    def log_prob(self, value: Any) -> Tensor:
        y = self._value(value)
        x = self._whole.inv(y)
        slope = self._over(self._whole.log_abs_det_jacobian(x, y), self._whole.event_dim)
        inner = self._over(self.base_dist.log_prob(x), len(self.base_dist.event_shape))
        return inner - slope

    def cdf(self, value: Any) -> Tensor:
        self._check_monotone("cdf")
        found = self.base_dist.cdf(self._whole.inv(value))
        return F.where(self._whole.sign > 0, found, 1 - found)

    def icdf(self, value: Any) -> Tensor:
        self._check_monotone("icdf")
        value = as_tensor(value)
        return self._whole(self.base_dist.icdf(F.where(self._whole.sign > 0, value, 1 - value)))

    def __repr__(self) -> str:
        return f"TransformedDistribution({self.base_dist!r}, {len(self.transforms)} transforms)"
