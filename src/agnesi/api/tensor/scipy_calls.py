"""SciPy's functions that are given tensors: which one was called, and what does the same here.

SciPy makes arrays of its operands and offers no way to do otherwise, unless ``SCIPY_ARRAY_API`` was
set before it was imported (then what it computes by the array API gives tensors).  Where an array
cannot be made, the error names our function; universal functions are ours anyway.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FrameType
from typing import Any

from agnesi.compiler.value_requests import called
from agnesi.core.support.errors import PACKAGE, ours
from agnesi.core.support.migration_hints import hint

#: Our modules in which names mean what they mean in SciPy's; ``None`` stands for all of them.
SAME: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "scipy.special": ("special", None),
    "scipy.linalg": ("linalg", None),
    "scipy.fft": ("fft", None),
    "scipy.signal": ("", ("convolve", "fftconvolve")),
    "scipy.integrate": ("", ("cumulative_trapezoid", "trapezoid")),
    "scipy.spatial.distance": ("", ("cdist", "pdist")),
}
#: What has another default here.
_WRITTEN = {"scipy.linalg.cholesky": "ag.linalg.cholesky(a).mT"}
#: Modules whose other names have hints, and whose hints.
_HINTS = {"scipy.stats": "agnesi.distributions", "scipy.special": "agnesi.special",
          "scipy.fft": "agnesi.fft"}
#: Distributions of ``scipy.stats`` in the words of its parameters.
DISTRIBUTIONS = {
    "bernoulli": "Bernoulli(p)", "beta": "Beta(a, b)", "binom": "Binomial(n, p)",
    "cauchy": "Cauchy(loc, scale)", "chi2": "Chi2(df)", "dirichlet": "Dirichlet(alpha)",
    "erlang": "Gamma(a, 1 / scale)", "expon": "Exponential(1 / scale)",
    "f": "FisherSnedecor(dfn, dfd)", "gamma": "Gamma(a, 1 / scale)",
    "genpareto": "GeneralizedPareto(loc, scale, c)", "gumbel_r": "Gumbel(loc, scale)",
    "halfcauchy": "HalfCauchy(scale)", "halfnorm": "HalfNormal(scale)",
    "invgamma": "InverseGamma(a, scale)", "laplace": "Laplace(loc, scale)",
    "lognorm": "LogNormal(ag.log(scale), s)", "multinomial": "Multinomial(n, p)",
    "multivariate_normal": "MultivariateNormal(mean, cov)",
    "nbinom": "NegativeBinomial(n, 1 - p)", "norm": "Normal(loc, scale)",
    "pareto": "Pareto(scale, b)", "poisson": "Poisson(mu)",
    "rayleigh": "Weibull(2**0.5 * scale, 2.0)", "t": "StudentT(df, loc, scale)",
    "uniform": "Uniform(loc, loc + scale)", "vonmises": "VonMises(loc, kappa)",
    "weibull_min": "Weibull(scale, c)", "wishart": "Wishart(df, scale)",
}
#: Methods of distributions: what they call here, and how it is written.
METHODS = {
    "logpdf": ("log_prob", "{}.log_prob(x)"), "logpmf": ("log_prob", "{}.log_prob(k)"),
    "pdf": ("log_prob", "ag.exp({}.log_prob(x))"), "pmf": ("log_prob", "ag.exp({}.log_prob(k))"),
    "cdf": ("cdf", "{}.cdf(x)"), "logcdf": ("cdf", "ag.log({}.cdf(x))"),
    "sf": ("cdf", "1 - {}.cdf(x)"), "ppf": ("icdf", "{}.icdf(q)"),
    "isf": ("icdf", "{}.icdf(1 - q)"),
}


def counterpart(frame: FrameType | None) -> tuple[str, str]:
    """Return the name of SciPy's function that the user's code runs at a frame, and as what to
    write it here.

    Both are empty where the user's code is not inside of SciPy; the second where nothing of ours
    does the same.
    """
    inside: list[FrameType] = []
    while frame is not None:
        library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if library == "scipy":
            inside.append(frame)
        elif library != "numpy" and not ours(frame.f_code.co_filename):
            break
        frame = frame.f_back
    if not inside:
        return "", ""
    module, name = _public(called(frame) if frame is not None else None)
    for outer in () if name else reversed(inside):
        held = [outer.f_locals.get(n) for n in outer.f_code.co_freevars]  # what decorators call
        found = [f for f in map(_public, held) if f[1]]
        module, name = found[0] if found else _named(outer.f_globals["__name__"],
                                                     outer.f_code.co_name)
        if name:
            break
        owner = outer.f_locals.get("self")
        if module == "scipy.stats" and owner is not None and outer.f_code.co_name in METHODS:
            return _of_distribution(owner, outer.f_code.co_name)
    return (f"{module}.{name}", _ours(module, name)) if name else ("SciPy", "")


def _public(function: Any) -> tuple[str, str]:
    """Return the public module and the name of a function of SciPy's; no name if it has none."""
    return _named(getattr(function, "__module__", ""), getattr(function, "__name__", ""))


def _named(module: object, name: str) -> tuple[str, str]:
    """Return the public module around a private one, and the name if it is one of its functions."""
    parts = str(module).split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    public = ".".join(parts[:private])
    has = parts[0] == "scipy" and callable(getattr(sys.modules.get(public), name, None))
    return public, name if has and not name.startswith("_") else ""


def _ours(module: str, name: str) -> str:
    """Return as what a function of SciPy is written here, or "" where nothing does the same."""
    if f"{module}.{name}" in _WRITTEN:
        return _WRITTEN[f"{module}.{name}"]
    namespace, names = SAME.get(module, ("", ()))
    if names is None or name in names:
        room = import_module(f"{PACKAGE}.{namespace}" if namespace else PACKAGE)
        if hasattr(room, name):
            return ".".join(filter(None, ("ag", namespace, name)))
    if module not in _HINTS:
        return ""
    found = hint(f"module '{_HINTS[module]}'", name).removeprefix("; use ")
    return "" if "scipy." in found else found.replace("`", "")


def _of_distribution(owner: Any, method: str) -> tuple[str, str]:
    """Return the name of a method of a distribution, and as what it is written here."""
    kind = type(getattr(owner, "dist", owner)).__name__
    name = kind.removesuffix("_gen").removesuffix("_frozen")
    made, (own, form) = DISTRIBUTIONS.get(name, "Distribution"), METHODS[method]
    distributions: Any = import_module(f"{PACKAGE}.distributions")
    has = getattr(getattr(distributions, made.partition("(")[0]), own) is not getattr(
        distributions.Distribution, own)
    return f"scipy.stats.{name}.{method}", form.format(f"ag.distributions.{made}") if has else ""
