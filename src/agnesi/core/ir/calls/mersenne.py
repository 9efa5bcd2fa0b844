"""Draws of NumPy's old generator by native code (``codegen/library/mersenne``): its parameters."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import numpy.random._generator

from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.foreign import Call, number, operand, result, there
from agnesi.core.support.forks import once, unforked

_FLOAT, _INT = np.dtype("float64"), np.dtype("int64")
#: Methods that it knows, and the types of their parameters; those of binomial numbers without a
#: known number of trials.
METHODS: dict[str, tuple[np.dtype, ...]] = {
    "random_sample": (), "uniform": (_FLOAT, _FLOAT), "standard_normal": (),
    "normal": (_FLOAT, _FLOAT), "lognormal": (_FLOAT, _FLOAT), "standard_exponential": (),
    "exponential": (_FLOAT,), "poisson": (_FLOAT,), "binomial": (_INT, _FLOAT),
    "multinomial": (_INT, _FLOAT), "randint": (_INT, _INT), "permutation": (_INT,),
}
#: The error for parameters that NumPy refuses.
_ERRORS = {
    "uniform": ("OverflowError", "Range exceeds valid bounds"),
    "normal": ("ValueError", "scale < 0"), "lognormal": ("ValueError", "sigma < 0"),
    "exponential": ("ValueError", "scale < 0"),
    "poisson": ("ValueError", "lam < 0 or lam is NaN, or lam value too large"),
    "binomial": ("ValueError", "n < 0, p < 0, p > 1 or p is NaN"),
    "multinomial": ("ValueError", "n < 0, pvals < 0, pvals > 1 or pvals contains NaNs, or "
                    "sum(pvals[:-1]) > 1.0"),
    "randint": ("ValueError", "low >= high"),
}
#: Methods that need functions of NumPy's shared library, which exports them on Linux.
_COUNTS = ("poisson", "binomial", "multinomial")


@once
@unforked()
def numpys(name: str) -> int | None:
    """Return the address of a function of NumPy's ``distributions.h``, or None."""
    found = getattr(ctypes.CDLL(numpy.random._generator.__file__), name, None)
    return None if found is None else ctypes.cast(found, ctypes.c_void_p).value


@functools.cache
def skips_zeros() -> bool:
    """Return whether NumPy's multinomial numbers take nothing from the generator where there are no
    trials left, or a probability is 0; from NumPy 2.5 on they take one number, as binomial ones."""
    generator = np.random.RandomState(0)
    before = generator.get_state(legacy=False)["state"]["pos"]
    generator.multinomial(0, [0.5, 0.5])
    return bool(generator.get_state(legacy=False)["state"]["pos"] == before)


def drawing(method: str, shape: tuple[Size, ...], each: tuple[Size, ...], trials: int,
            params: Any) -> Call | None:
    """The call that draws numbers of a shape, each ``each``; None where only NumPy can."""
    if method not in METHODS or (method in _COUNTS and not there("numpy random:random_poisson")):
        return None
    outer = shape[: len(shape) - len(each)]
    if method == "permutation":
        given = [result(0), result(1), number(product(outer)), number(each[0])]
        return Call("mersenne:permutation", tuple(given), copies=((0, 0),))
    kinds = METHODS[method][bool(trials):]
    sizes = [each if each and i else () for i in range(len(kinds))]  # of the chances of a row
    if len(kinds) != len(params) or not all(
            p.dtype == kind and p.shape in ((own,) if each else ((), shape))
            for p, kind, own in zip(params, kinds, sizes, strict=True)):
        return None
    operands = [operand(i + 1) for i in range(len(params))]
    counts = [number(each[0])] if each else [number(int(p.shape != ())) for p in params]
    name = "binomial_each" if method == "binomial" and not trials else method
    if method == "multinomial" and not skips_zeros():
        name = "multinomial_all"
    error, message = _ERRORS.get(method, ("RuntimeError", ""))
    return Call(
        f"mersenne:{name}",
        (result(0), *operands, result(1), number(product(outer)), *counts,
         *([number(trials)] if trials else [])),
        copies=((0, 0),), status=True, error=error, message=message and f"{method}: {message}")
