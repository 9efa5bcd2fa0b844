"""MXNet's names of 2015 for expressions of symbols: ``EWiseDivision(1, AddScalar(Exp(-x), 1))``.

They are agnesi's functions: a layer that is composed of them is the large operation, value and
gradient, once it is compiled.
"""

from __future__ import annotations

from collections.abc import Callable

from agnesi.api import symbolic
from agnesi.api.symbolic import Constant as Constant
from agnesi.api.symbolic import Variable as Variable
from agnesi.core.tensor import Tensor

_Binary = Callable[..., Tensor]

#: MXNet's name, and ours; names with "Scalar" take a number for the second operand.
_NAMES = {
    "EWiseAddition": "add", "EWiseSubtraction": "subtract", "EWiseMultiplication": "multiply",
    "EWiseDivision": "divide", "EWisePower": "power", "EWiseMaximum": "maximum",
    "EWiseMinimum": "minimum", "AddScalar": "add", "SubScalar": "subtract",
    "MulScalar": "multiply", "DivScalar": "divide", "PowerScalar": "power",
    "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Square": "square", "Abs": "abs", "Sign": "sign",
    "Floor": "floor", "Ceil": "ceil", "Round": "round", "Rsqrt": "rsqrt", "Cos": "cos",
    "Sin": "sin", "Tanh": "tanh", "Sigmoid": "sigmoid", "Dot": "matmul", "Transpose": "transpose",
    "Sum": "sum", "Max": "max", "Min": "min",
}
globals().update({name: getattr(symbolic, ours) for name, ours in _NAMES.items()})


def RSubScalar(x: Tensor, scalar: float) -> Tensor:  # noqa: N802 - MXNet's name
    """A number less a tensor."""
    return scalar - x


def RDivScalar(x: Tensor, scalar: float) -> Tensor:  # noqa: N802 - MXNet's name
    """A number divided by a tensor."""
    return scalar / x


def __getattr__(name: str) -> _Binary:
    raise AttributeError(f"module 'agnesi.compat.mxnet' has no name {name!r}; it has "
                         f"{', '.join(__dir__())}")


def __dir__() -> list[str]:
    return sorted((*_NAMES, "Constant", "RDivScalar", "RSubScalar", "Variable"))
