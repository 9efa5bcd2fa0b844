"""The distributions of ``numpy.random.RandomState``: their parameters, and methods for them."""

from __future__ import annotations

import inspect
from typing import Any

from agnesi.core.keywords import of_the_outer, refuse
from agnesi.core.parameter_types import DTypeLike, ShapeLike
from agnesi.core.support.errors import at, typed

_NEEDED = inspect.Parameter.empty
FLOATS: dict[str, dict[str, Any]] = {
    "beta": {"a": _NEEDED, "b": _NEEDED}, "chisquare": {"df": _NEEDED},
    "exponential": {"scale": 1.0}, "f": {"dfnum": _NEEDED, "dfden": _NEEDED},
    "gamma": {"shape": _NEEDED, "scale": 1.0}, "gumbel": {"loc": 0.0, "scale": 1.0},
    "laplace": {"loc": 0.0, "scale": 1.0}, "logistic": {"loc": 0.0, "scale": 1.0},
    "lognormal": {"mean": 0.0, "sigma": 1.0},
    "noncentral_chisquare": {"df": _NEEDED, "nonc": _NEEDED},
    "noncentral_f": {"dfnum": _NEEDED, "dfden": _NEEDED, "nonc": _NEEDED},
    "normal": {"avg": 0.0, "std": 1.0}, "pareto": {"a": _NEEDED}, "power": {"a": _NEEDED},
    "random_sample": {}, "rayleigh": {"scale": 1.0}, "standard_cauchy": {},
    "standard_exponential": {}, "standard_gamma": {"shape": _NEEDED}, "standard_normal": {},
    "standard_t": {"df": _NEEDED},
    "triangular": {"left": _NEEDED, "mode": _NEEDED, "right": _NEEDED},
    "uniform": {"low": 0.0, "high": 1.0}, "vonmises": {"mu": _NEEDED, "kappa": _NEEDED},
    "wald": {"mean": _NEEDED, "scale": _NEEDED}, "weibull": {"a": _NEEDED},
}
INTEGERS: dict[str, dict[str, Any]] = {
    "binomial": {"n": 1, "p": 0.5}, "geometric": {"p": _NEEDED},
    "hypergeometric": {"ngood": _NEEDED, "nbad": _NEEDED, "nsample": _NEEDED},
    "logseries": {"p": _NEEDED}, "negative_binomial": {"n": _NEEDED, "p": _NEEDED},
    "poisson": {"lam": 1.0}, "tomaxint": {}, "zipf": {"a": _NEEDED},
}
#: What NumPy draws where it is not float64.
KINDS = dict.fromkeys((*INTEGERS, "multinomial", "permutation", "randint", "choice"), "int64")
_DOC = """``numpy.random.RandomState.{name}``, shape first.

Parameters
----------
size : {size}
    Shape of the draw; None for that of the broadcast parameters.
{entries}dtype : dtype, optional
    That of the result.

Returns
-------
RandomVariable
    {dtype} by default; its numbers are other ones in each call of a function.

Raises
------
TypeError
    If a parameter is no number and no tensor.
"""
#: What the parameters of NumPy's distributions mean; they may be symbolic, and broadcast.
_PARAMETERS = {
    "a": "Shape; positive, for zipf above 1.", "b": "Second shape; positive.",
    "df": "Degrees of freedom; positive.", "dfnum": "Degrees of freedom above; positive.",
    "dfden": "Degrees of freedom below; positive.", "nonc": "Noncentrality; not negative.",
    "scale": "Scale; not negative.", "shape": "Shape; positive.", "loc": "Location.",
    "mean": "Mean; of lognormal that of the logarithms.", "sigma": "Deviation of the logarithms.",
    "avg": "Mean.", "std": "Standard deviation; not negative.", "left": "The least number.",
    "mode": "The most frequent number.", "right": "The greatest number.",
    "low": "The least number.", "high": "The bound above, which is never drawn.",
    "mu": "Direction, in radians.", "kappa": "Concentration; not negative.",
    "n": "Number of trials, or of successes for negative_binomial.", "p": "Probability, in [0, 1].",
    "ngood": "Good ones that there are.", "nbad": "Bad ones that there are.",
    "nsample": "How many are taken.", "lam": "Mean; not negative.",
}


def method(name: str, params: dict[str, Any]) -> Any:
    """A method for a distribution of NumPy's: ``self._distributed(name, size, params, dtype)``."""
    names, defaults = tuple(params), tuple(params.values())

    def draw(self: Any, size: ShapeLike | None = None, *args: Any, dtype: DTypeLike = None,
             **keywords: Any) -> Any:
        if not keywords.keys() <= set(names):
            refuse(name, [k for k in keywords if k not in names], ("size", *names, "dtype"))
        bound = signature.bind(*args, **keywords)
        bound.apply_defaults()
        for parameter, value in bound.arguments.items():
            if value is None or isinstance(value, (str, bytes, dict)):
                raise TypeError(at(f"{type(self).__name__}.{name}: {parameter} must be a tensor or "
                                   f"a number, not {typed(value)}"))
        try:
            return self._distributed(name, size, tuple(bound.arguments.values()), dtype)
        except (TypeError, ValueError) as error:
            better = of_the_outer(error, f"{type(self).__name__}.{name}")
            if better is None:
                raise
            raise better from error.__cause__

    signature = inspect.Signature([
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=d)
        for n, d in zip(names, defaults, strict=True)
    ])
    draw.__name__ = draw.__qualname__ = name
    this, size, _, kind, _ = inspect.signature(draw).parameters.values()
    if _NEEDED in defaults:  # a parameter without a default comes behind none with one
        size = size.replace(default=_NEEDED)
    draw.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[this, size, *signature.parameters.values(), kind],
        return_annotation="RandomVariable")
    entries = "".join(f"{n} : array_like\n    {_PARAMETERS[n]}\n" for n in names)
    draw.__doc__ = _DOC.format(
        name=name, entries=entries, dtype=KINDS.get(name, "float64"),
        size="int, Dim, tuple or None" if _NEEDED in defaults else "int, Dim or tuple, optional")
    return draw
