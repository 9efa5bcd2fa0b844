"""The base of all distributions: shapes, draws, densities, moments, checks of parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from agnesi.api import functions as F
from agnesi.autodiff.recording import no_grad
from agnesi.core import shapes
from agnesi.core.ir.dims import Sizes
from agnesi.core.op import typed
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.errors import Explained, ShapeError, at
from agnesi.core.tensor import Tensor
from agnesi.distributions.constraints import Constraint, unit_interval
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes
from agnesi.ops.base.ensure import ensured_by

C = TypeVar("C", bound=type)

_WORDS = {
    "cache_size": "int\n    Taken from PyTorch's calls: values are computed again.",
    "validate_args": "bool, optional\n    False leaves out the checks of parameters and values.",
    "probs": "array_like, optional\n    Probabilities.",
    "logits": "array_like, optional\n    Their logarithms, or of one probability that of the odds; "
              "in the place of ``probs``.",
    "loc": "array_like\n    The location.", "scale": "array_like\n    The width; positive.",
}


def described(example: str, **words: str) -> Callable[[C], C]:
    """A class whose docstring is completed by its parameters and an example."""

    def decorate(cls: C) -> C:
        code = cls.__init__.__code__  # type: ignore[misc]
        names = code.co_varnames[1: code.co_argcount + code.co_kwonlyargcount]
        parts = "\n".join(f"{n} : {words.get(n) or _WORDS[n]}" for n in names)
        cls.__doc__ = (
            f"{inspect.cleandoc(cls.__doc__ or '')}\n\n"
            f"Parameters\n----------\n{parts}\n\nRaises\n------\nValueError\n"
            "    If a parameter is out of range.\n\nSee Also\n--------\n"
            "distributions.kl_divergence\n"
            f"\nExamples\n--------\n>>> import agnesi as ag\n{example}")
        return cls

    return decorate


def _wrong(value: Any, held: np.ndarray) -> str:
    """The first value, or vector, for which a condition does not hold, and of what it is one."""
    first = value[np.unravel_index(np.argmin(held), held.shape)]
    whole = f" of {typed(value)}" if held.ndim else ""
    return f"{np.array2string(np.asarray(first), threshold=6)}{whole}"


class Distribution(Explained):
    """A family of random variables: one for each place of ``batch_shape``.

    :param batch_shape: The shape of the parameters.
    :type batch_shape: tuple of int
    :param event_shape: The shape of one value.
    :type event_shape: tuple of int
    :param validate_args: False leaves out the checks of parameters and values.
    :see: distributions.Normal, distributions.kl_divergence

    >>> d = ag.distributions.Normal(ag.zeros(3), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    ((3,), (), (2, 3))
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    #: Whether gradients flow from draws of ``rsample`` to the parameters.
    has_rsample = False
    has_enumerate_support = False
    #: How many axes of each parameter belong to one value; 0 where nothing is said.
    _inner: ClassVar[dict[str, int]] = {}
    #: Names of the parameters as ``expand`` gives them to another one.
    _given: tuple[str, ...] = ()

    _validate_args = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Choose whether parameters and values are checked where ``validate_args`` does not say.

        :param value: Whether; it is so at first.
        :raises ValueError: If it is neither True nor False.
        """
        if value not in (True, False):
            raise ValueError(at(f"value must be True or False, not {typed(value)}"))
        Distribution._validate_args = bool(value)

    def __init__(self, batch_shape: Iterable[Any] = (), event_shape: Iterable[Any] = (),
                 validate_args: bool | None = None) -> None:
        self._batch_shape: tuple[Any, ...] = Sizes(batch_shape)
        self._event_shape: tuple[Any, ...] = Sizes(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args

    def _take(self, validate_args: bool | None, **given: Any) -> None:
        """Keep parameters, broadcast to one batch, as attributes."""
        tensors = {n: as_tensor(v) for n, v in given.items()}
        python = {n for n, v in given.items() if isinstance(v, (int, float))}
        inner = {n: self._inner.get(n, 0) for n in tensors}
        fronts = [t.shape[: t.ndim - inner[n]] for n, t in tensors.items()]
        try:
            batch = shapes.broadcast(*fronts)
        except ShapeError as error:
            given_as = ", ".join(f"{n} {typed(t)}" for n, t in tensors.items())
            raise ShapeError(at(f"{type(self).__name__}({given_as}): {error}")) from None
        self._given = tuple(tensors)
        Distribution.__init__(self, batch, (), validate_args)
        floats = [t.dtype for n, t in tensors.items() if n not in python and t.dtype.kind in "fV"]
        kind = functools.reduce(dtypes.promote, floats) if floats else dtypes.config.float_dtype
        for name, t in tensors.items():
            t = self._check(name, cast(t, kind), self.arg_constraints.get(name))
            shape = (*batch, *t.shape[t.ndim - inner[name]:])
            setattr(self, name, t if t.shape == shape else F.broadcast_to(t, shape))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._given and name in vars(self):
            value = self._again(name, vars(self)[name], value)
        object.__setattr__(self, name, value)

    def _again(self, name: str, held: Tensor, value: Any) -> Tensor:
        """What is written to a parameter: as the constructor would take it, for the same batch."""
        kind = type(self).__name__
        try:
            found = F.broadcast_to(F.astype(as_tensor(value), held.dtype), held.shape)
        except (TypeError, ValueError):
            raise TypeError(at(f"{kind}.{name} must be numbers that broadcast to {typed(held)}, "
                               f"not {typed(value)}; another shape needs another {kind}"
                               )) from None
        return self._check(name, found, self.arg_constraints.get(name))

    def _check(self, name: str, value: Tensor, constraint: Constraint | None) -> Tensor:
        """The value, once it is sure that it is as it must be; compiled code makes sure."""
        if constraint is None or not self._validate_args:
            return value
        held = constraint.check(value)
        if held.array is None:
            return ensured_by(type(self).__name__, value, held,
                              f"{name} must be {constraint.condition}")
        if not np.all(held.array):
            raise ValueError(at(f"{type(self).__name__}: {name} must be {constraint.condition}, "
                                f"not {_wrong(value.array, np.asarray(held.array))}"))
        return value

    def _value(self, value: Any) -> Tensor:
        """A value whose probability is requested."""
        found = as_tensor(value)
        found = found if found.dtype.kind in "fcV" else F.astype(found, F.asarray(0.0).dtype)
        return self._check("value", found, self.support)

    def _share(self, value: Any) -> Tensor:
        """A probability whose value is requested."""
        found = as_tensor(value)
        found = found if found.dtype.kind in "fcV" else F.astype(found, F.asarray(0.0).dtype)
        return self._check("value", found, unit_interval)

    @property
    def support(self) -> Constraint | None:
        """Which values there are."""
        return None

    @property
    def batch_shape(self) -> tuple[Any, ...]:
        """The shape of the parameters."""
        return Sizes(self._batch_shape)

    @property
    def event_shape(self) -> tuple[Any, ...]:
        """The shape of one value."""
        return Sizes(self._event_shape)

    @property
    def mean(self) -> Tensor:
        """The expected value."""
        raise self._absent("mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise self._absent("mode")

    @property
    def variance(self) -> Tensor:
        """The expected square of the distance from the mean."""
        raise self._absent("variance")

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return F.sqrt(self.variance)

    def _absent(self, name: str) -> Exception:
        return NotImplementedError(at(f"{type(self).__name__} has no {name}"))

    def _extended_shape(self, sample_shape: Any = ()) -> tuple[Any, ...]:
        shape = checked_sizes(sample_shape)
        return Sizes((*shape, *self._batch_shape, *self._event_shape))

    def sample(self, sample_shape: Sequence[Any] = ()) -> Tensor:
        """Draws through which no gradient flows.

        :param sample_shape: How many, before the batch.
        :type sample_shape: tuple of int
        :returns: Of shape (*sample_shape, *batch_shape, *event_shape).
        """
        with no_grad():
            return self.rsample(sample_shape).detach()

    def rsample(self, sample_shape: Sequence[Any] = ()) -> Tensor:
        """Draws as functions of the parameters, to which gradients flow.

        :like: Distribution.sample
        :raises NotImplementedError: If the values are discrete.
        """
        raise self._absent("rsample: its draws are no smooth functions of the parameters")

    def log_prob(self, value: TensorLike) -> Tensor:
        """The logarithm of the density, or of the probability, of values.

        :param value: It broadcasts with the batch.
        :returns: Without the axes of the event.
        :raises ValueError: If a value cannot be, where that is checked.
        :raises NotImplementedError: If there is no formula.
        """
        raise self._absent("log_prob")

    def cdf(self, value: TensorLike) -> Tensor:
        """The probability of what is not greater.

        :param value: It broadcasts with the batch.
        :returns: Probabilities.
        :raises NotImplementedError: If there is no formula.
        """
        raise self._absent("cdf")

    def icdf(self, value: TensorLike) -> Tensor:
        """The value of which a probability is not greater.

        :param value: Probabilities; they broadcast with the batch.
        :returns: Values.
        :raises NotImplementedError: If there is no formula.
        """
        raise self._absent("icdf")

    def entropy(self) -> Tensor:
        """The expected value of ``-log_prob``.

        :returns: Of the batch's shape.
        :raises NotImplementedError: If there is no formula.
        """
        raise self._absent("entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy.

        :returns: Of the batch's shape.
        """
        return F.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a first axis.

        :param expand: Whether they are repeated for each place of the batch.
        :returns: As draws of as many.
        :raises NotImplementedError: If there are too many.
        """
        raise self._absent("enumerate_support")

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        n = values.shape[0]
        values = F.reshape(values, (n, *(1,) * len(self._batch_shape), *values.shape[1:]))
        return F.broadcast_to(values, (n, *self._batch_shape, *self._event_shape)) if expand else (
            values)

    def expand(self, batch_shape: Sequence[Any]) -> Any:
        """The same with its parameters broadcast to another batch.

        :param batch_shape: The shape.
        :type batch_shape: tuple of int
        :returns: Of the same class.
        :rtype: Distribution
        :raises ShapeError: If the batch does not broadcast.
        """
        shape = tuple(batch_shape)
        given = {n: getattr(self, n) for n in self._given}
        given = {n: F.broadcast_to(t, (*shape, *t.shape[t.ndim - self._inner.get(n, 0):]))
                 for n, t in given.items()}
        return type(self)(**given, validate_args=self._validate_args)

    def __repr__(self) -> str:
        shown = ", ".join(f"{n}: {typed(getattr(self, n))}" for n in self._given)
        return f"{type(self).__name__}({shown})"
