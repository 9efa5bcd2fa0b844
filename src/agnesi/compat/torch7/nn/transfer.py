"""Transfer functions and other modules without parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import agnesi as ag
from agnesi.compat.torch7.nn.module import Module
from agnesi.compat.torch7.tensor import axis_of
from agnesi.core.support.errors import at, typed
from agnesi.nn import functional as F

__all__: list[str] = [
    "ELU",
    "AddConstant",
    "CReLU",
    "Clamp",
    "Contiguous",
    "Copy",
    "GatedLinearUnit",
    "HardShrink",
    "HardTanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "MulConstant",
    "Normalize",
    "Power",
    "SoftMax",
    "SoftMin",
    "SoftPlus",
    "SoftShrink",
    "SoftSign",
    "SpatialLogSoftMax",
    "SpatialSoftMax",
    "TanhShrink",
    "Threshold",
]


class With(Module):
    """A module of numbers that its constructor takes, as attributes ``given``."""

    names: tuple[str, ...] = ()
    defaults: tuple[Any, ...] = ()
    #: Whether the last argument may say that the input is overwritten, which changes no result.
    takes_inplace = False

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__()
        if self.takes_inplace and args and isinstance(args[-1], bool):
            args = args[:-1]
        elif self.takes_inplace:
            named.pop("inplace", None)
        values = dict(zip(self.names, (*args, *self.defaults[len(args):]), strict=False)) | named
        if len(args) > len(self.names) or set(values) != set(self.names):
            given = [*map(typed, args), *(f"{k}=" for k in named)]
            wanted = ", ".join(self.names) or "no numbers"
            raise TypeError(at(f"{type(self).__name__} takes {wanted}, not "
                               f"{', '.join(given) or 'nothing'}"))
        for name, value in values.items():
            if isinstance(value, (str, list, tuple, dict)) and not isinstance(self, Copy):
                raise TypeError(at(f"{type(self).__name__}: {name} must be a number, not "
                                   f"{typed(value)}"))
            setattr(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def _classes(x: Any) -> int:
    """The axis of classes: the last of vectors, the first behind a batch of images."""
    return -1 if x.ndim in (1, 2) else -3


def _simple(name: str, compute: Any, summary: str) -> None:
    own = {"__doc__": summary, "__module__": __name__, "compute": lambda self, x: compute(x)}
    in_place = name in ("ReLU", "ReLU6")
    made = type(name, (With,), {**own, "takes_inplace": True}) if in_place else type(
        name, (Module,), own)
    globals()[name] = made
    __all__.append(name)


for _name, _compute, _summary in (
        ("Tanh", ag.tanh, "The hyperbolic tangent."), ("Sigmoid", ag.sigmoid, "The sigmoid."),
        ("ReLU", ag.relu, "The larger of x and 0."), ("Abs", ag.abs, "Absolute values."),
        ("Exp", ag.exp, "Exponentials."), ("Log", ag.log, "Logarithms."),
        ("Square", ag.square, "Squares."), ("Sqrt", ag.sqrt, "Square roots."),
        ("ReLU6", F.relu6, "x between 0 and 6."),
        ("LogSoftMax", lambda x: ag.log_softmax(x, axis=_classes(x)),
         "Logarithms of SoftMax.")):
    _simple(_name, _compute, _summary)


class SoftMax(Module):
    """Exponentials that sum to 1."""

    def compute(self, x: Any) -> Any:
        return ag.softmax(x, axis=_classes(x))


class SoftMin(Module):
    """SoftMax of -x."""

    def compute(self, x: Any) -> Any:
        return ag.softmax(-x, axis=_classes(x))


class SpatialSoftMax(Module):
    """SoftMax over the channels of images."""

    def compute(self, x: Any) -> Any:
        return ag.softmax(x, axis=-3)


class SpatialLogSoftMax(Module):
    """Logarithms of SoftMax over the channels of images."""

    def compute(self, x: Any) -> Any:
        return ag.log_softmax(x, axis=-3)


class CReLU(With):
    """The larger of x and 0, and that of -x and 0 behind it, along the first axis of a sample."""

    names, defaults = ("nInputDims", "inplace"), (1, False)

    def compute(self, x: Any) -> Any:
        return ag.concatenate([ag.relu(x), ag.relu(-x)], int(x.ndim > self.nInputDims))


class GatedLinearUnit(With):
    """The first half of an axis times the sigmoid of the second; the last axis by default."""

    names, defaults = ("dim",), (None,)

    def compute(self, x: Any) -> Any:
        return F.glu(x, -1 if self.dim is None else axis_of(self.dim, x.ndim))


class TanhShrink(Module):
    """x minus its hyperbolic tangent."""

    def compute(self, x: Any) -> Any:
        return x - ag.tanh(x)


class SoftPlus(With):
    """``log(1 + exp(beta * x)) / beta``."""

    names, defaults = ("beta",), (1,)

    def compute(self, x: Any) -> Any:
        return ag.logaddexp(self.beta * x, 0) / self.beta


class SoftSign(Module):
    """``x / (1 + |x|)``."""

    def compute(self, x: Any) -> Any:
        return F.softsign(x)


class LogSigmoid(Module):
    """Logarithms of the sigmoid."""

    def compute(self, x: Any) -> Any:
        return F.logsigmoid(x)


class HardTanh(With):
    """x between two numbers."""

    names, defaults = ("min_val", "max_val"), (-1, 1)
    takes_inplace = True

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        if self.min_val > self.max_val:
            raise ValueError(at(f"{type(self).__name__}: min_val must not be above max_val, but is "
                                f"{self.min_val} and {self.max_val}"))

    def compute(self, x: Any) -> Any:
        return ag.clip(x, self.min_val, self.max_val)


class Clamp(HardTanh):
    """x between two numbers."""


class HardShrink(With):
    """x, or 0 near it."""

    names, defaults = ("lamda",), (0.5,)

    def compute(self, x: Any) -> Any:
        return F.hardshrink(x, self.lamda)


class SoftShrink(With):
    """x moved towards 0 by a number."""

    names, defaults = ("lamda",), (0.5,)

    def compute(self, x: Any) -> Any:
        return F.softshrink(x, self.lamda)


class Threshold(With):
    """x above a threshold, else a number."""

    names, defaults = ("threshold", "val"), (1e-6, 0)
    takes_inplace = True

    def compute(self, x: Any) -> Any:
        return ag.where(x > self.threshold, x, self.val)


class ELU(With):
    """x, or ``alpha * (exp(x) - 1)`` below zero."""

    names, defaults = ("alpha",), (1,)
    takes_inplace = True

    def compute(self, x: Any) -> Any:
        return F.elu(x, self.alpha)


class LeakyReLU(With):
    """x, or a share of it below zero."""

    names, defaults = ("negval",), (0.01,)
    takes_inplace = True

    def compute(self, x: Any) -> Any:
        return F.leaky_relu(x, self.negval)


class Power(With):
    """A power of x."""

    names = ("pow",)

    def compute(self, x: Any) -> Any:
        return x**self.pow


class MulConstant(With):
    """x times a number."""

    names = ("constant",)
    takes_inplace = True

    def compute(self, x: Any) -> Any:
        return x * self.constant


class AddConstant(With):
    """x plus a number."""

    names = ("constant",)
    takes_inplace = True

    def compute(self, x: Any) -> Any:
        return x + self.constant


class Identity(Module):
    """The input; arguments are those of the module in whose place it stands."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__()

    def compute(self, x: Any) -> Any:
        return x


class Copy(With):
    """The input; types do not matter here."""

    names, defaults = ("intype", "outtype"), (None, None)

    def compute(self, x: Any) -> Any:
        return x * 1


Contiguous = Copy


class Normalize(With):
    """Vectors over their p-norm."""

    names, defaults = ("p", "eps"), (2, 1e-10)

    def compute(self, x: Any) -> Any:
        if self.p == float("inf"):
            return x / (ag.max(ag.abs(x), -1, keepdims=True) + self.eps)
        return x / (ag.sum(ag.abs(x) ** self.p, -1, keepdims=True) + self.eps) ** (1 / self.p)
