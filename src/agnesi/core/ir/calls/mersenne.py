"""Draws of NumPy's old generator by native code (``codegen/library/mersenne``): what it is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.foreign import Call, number, operand, result

#: Methods that it knows, and the type of their parameters.
METHODS = {
    "random_sample": "float64", "uniform": "float64", "standard_normal": "float64",
    "normal": "float64", "lognormal": "float64", "standard_exponential": "float64",
    "exponential": "float64", "binomial": "float64", "randint": "int64", "permutation": "int64",
}
#: Trials of binomial numbers whose method never changes with the chance.
MOST_TRIALS = 60
#: The error for parameters that NumPy refuses.
_ERRORS = {
    "uniform": ("OverflowError", "Range exceeds valid bounds"),
    "normal": ("ValueError", "scale < 0"), "lognormal": ("ValueError", "sigma < 0"),
    "exponential": ("ValueError", "scale < 0"),
    "binomial": ("ValueError", "p < 0, p > 1 or p is NaN"),
    "randint": ("ValueError", "low >= high"),
}


def drawing(method: str, shape: tuple[Size, ...], each: tuple[Size, ...], dtype: np.dtype,
            trials: int, params: Any) -> Call | None:
    """The call that draws numbers of a shape, each ``each``; None where Python has to."""
    if method not in METHODS or (method == "binomial") != bool(trials):
        return None
    if method == "permutation":
        outer = shape[: len(shape) - len(each)]
        given = [result(0), result(1), number(product(outer)), number(each[0])]
        return Call("mersenne:permutation", tuple(given), copies=((0, 0),))
    kind = np.dtype(METHODS[method])
    if each or not all(p.dtype == kind and p.shape in ((), shape) for p in params):
        return None
    places = [operand(i + 1) for i in range(len(params))]
    steps = [number(int(p.shape != ())) for p in params]
    error, message = _ERRORS.get(method, ("RuntimeError", ""))
    return Call(
        f"mersenne:{method}",
        (result(0), *places, result(1), number(product(shape)), *steps,
         *([number(trials)] if trials else [])),
        copies=((0, 0),), status=True, error=error, message=message and f"{method}: {message}")
