"""Distribution functions under SciPy's names, their complements and inverses.

SciPy computes them, parameters of noncentral distributions in double precision: its loops in
single precision do not find them.  Derivatives to where a function is evaluated are densities, in
closed form; to parameters there are some.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor
from agnesi.ops.base.arith import abs as abs_
from agnesi.ops.base.arith import safe_divide, sqrt, square
from agnesi.ops.base.convert import cast
from agnesi.ops.base.elementwise import Function
from agnesi.ops.base.select import floor, where
from agnesi.ops.elementwise.explog import exp, log, log1p
from agnesi.ops.elementwise.formula import fixed, row, scipy_rows, scipys, unary
from agnesi.ops.special.incomplete import (
    beta_density,
    betainc_da,
    betainc_db,
    gamma_density,
    gammainc_da,
)
from agnesi.ops.special.normal import log_ndtr, ndtri
from agnesi.ops.special.special import lgamma

__all__ = [
    "bdtr", "bdtrc", "bdtri", "bdtrik", "bdtrin", "btdtria", "btdtrib", "chdtr", "chdtrc",
    "chdtri", "chdtriv", "chndtr", "chndtridf", "chndtrinc", "chndtrix", "fdtr", "fdtrc",
    "fdtri", "fdtridfd", "gdtr", "gdtrc", "gdtria", "gdtrib", "gdtrix", "kolmogi", "kolmogorov",
    "nbdtr", "nbdtrc", "nbdtri", "nbdtrik", "nbdtrin", "ncfdtr", "ncfdtri", "ncfdtridfd",
    "ncfdtridfn", "ncfdtrinc", "nctdtr", "nctdtridf", "nctdtrinc", "nctdtrit", "ndtri_exp",
    "nrdtrimn", "nrdtrisd", "pdtr", "pdtrc", "pdtri", "pdtrik", "smirnov", "smirnovi", "stdtr",
    "stdtridf", "stdtrit", "tklmbda",
]


_documented = scipy_rows(__name__)

#: Nanoseconds of an element where SciPy's sum is as long as an operand is large (milliseconds, at
#: several thousand), and where it searches for a value of such a sum.
_SUM_NANOSECONDS, _SEARCH_NANOSECONDS = 1 << 14, 1 << 18


# -- binomial -----------------------------------------------------------------------------------
def _binomial(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Derivative of :func:`bdtrc` to the probability."""
    return beta_density(floor(a) + 1, b - floor(a), c)


bdtr: Function = _documented(
    "bdtr", "Binomial distribution: at most ``x1`` of ``x2`` of probability ``x3``.",
    "[1.0], [2.0], [0.5]", "[0.75]", *fixed("bdtr", 2), lambda g, a, b, c: -g * _binomial(a, b, c),
    types="dld->d")
bdtrc: Function = _documented(
    "bdtrc", "``1 - bdtr(x1, x2, x3)``.", "[1.0], [2.0], [0.5]", "[0.25]", *fixed("bdtrc", 2),
    lambda g, a, b, c: g * _binomial(a, b, c), types="dld->d")
bdtri: Function = _documented(
    "bdtri", "Probability with which :func:`bdtr` of ``x1`` and ``x2`` is ``x3``.",
    "[1.0], [2.0], [0.75]", "[0.5]", *fixed("bdtri", 2),
    lambda g, a, b, y: -safe_divide(g, _binomial(a, b, y)), types="dld->d")
bdtrik: Function = _documented(
    "bdtrik", "Number for which :func:`bdtr` is ``x1``, of ``x2`` of probability ``x3``.",
    "[0.75], [2.0], [0.5]", "[1.]", *fixed("bdtrik", 3))
bdtrin: Function = _documented(
    "bdtrin", "Number of trials for which :func:`bdtr` of ``x1`` and probability ``x3`` is ``x2``.",
    "[1.0], [0.75], [0.5]", "[2.]", *fixed("bdtrin", 3))


# -- negative binomial --------------------------------------------------------------------------
def _negative(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return beta_density(b, floor(a) + 1, c)


nbdtr: Function = _documented(
    "nbdtr", "Negative binomial distribution: at most ``x1`` failures before ``x2`` successes of "
    "probability ``x3``.", "[1.0], [2.0], [0.5]", "[0.5]", *fixed("nbdtr", 2),
    lambda g, a, b, c: g * _negative(a, b, c))
nbdtrc: Function = _documented(
    "nbdtrc", "``1 - nbdtr(x1, x2, x3)``.", "[1.0], [2.0], [0.5]", "[0.5]", *fixed("nbdtrc", 2),
    lambda g, a, b, c: -g * _negative(a, b, c))
nbdtri: Function = _documented(
    "nbdtri", "Probability with which :func:`nbdtr` of ``x1`` and ``x2`` is ``x3``.",
    "[1.0], [2.0], [0.5]", "[0.5]", *fixed("nbdtri", 2),
    lambda g, a, b, y: safe_divide(g, _negative(a, b, y)))
nbdtrik: Function = _documented(
    "nbdtrik", "Number of failures for which :func:`nbdtr` is ``x1``.", "[0.5], [2.0], [0.5]",
    "[1.]",
    *fixed("nbdtrik", 3))
nbdtrin: Function = _documented(
    "nbdtrin", "Number of successes for which :func:`nbdtr` of ``x1`` is ``x2``.",
    "[0.0], [0.25], [0.5]", "[2.]", *fixed("nbdtrin", 3))

# -- Poisson ------------------------------------------------------------------------------------
pdtr: Function = _documented(
    "pdtr", "Poisson distribution of mean ``x2``: the probability of at most ``x1`` events.",
    "[1.0], [2.0]", "[0.40600586]",
    *fixed("pdtr", 1), lambda g, a, b: -g * gamma_density(floor(a) + 1, b))
pdtrc: Function = _documented(
    "pdtrc", "``1 - pdtr(x1, x2)``.", "[1.0], [2.0]", "[0.59399414]",
    *fixed("pdtrc", 1), lambda g, a, b: g * gamma_density(floor(a) + 1, b))
pdtri: Function = _documented(
    "pdtri", "Mean for which :func:`pdtr` of ``x1`` is ``x2``.", "[1.0], [0.5]", "[1.678347]",
    *fixed("pdtri", 1), lambda g, a, y: -safe_divide(g, gamma_density(floor(a) + 1, y)))
pdtrik: Function = _documented(
    "pdtrik", "Number for which :func:`pdtr` is ``x1``, with mean ``x2``.", "[0.5], [2.0]",
    "[1.3234887]",
    *fixed("pdtrik", 2))


# -- chi-squared --------------------------------------------------------------------------------
def _chi(a: Tensor, b: Tensor) -> Tensor:
    return 0.5 * gamma_density(a * 0.5, b * 0.5)


chdtr: Function = _documented(
    "chdtr", "Chi-squared distribution of ``x1`` degrees of freedom at ``x2``: ``gammainc(x1 / 2, "
    "x2 / 2)``.", "[2.0], [1.0]",
    "[0.39346933]",
    lambda g, a, b: g * 0.5 * gammainc_da(a * 0.5, b * 0.5), lambda g, a, b: g * _chi(a, b))
chdtrc: Function = _documented(
    "chdtrc", "``1 - chdtr(x1, x2)``, exact in the tail.", "[2.0], [1.0]", "[0.60653067]",
    lambda g, a, b: -g * 0.5 * gammainc_da(a * 0.5, b * 0.5), lambda g, a, b: -g * _chi(a, b))
chdtri: Function = _documented(
    "chdtri", "Where :func:`chdtrc` of ``x1`` degrees of freedom is ``x2``.", "[2.0], [0.5]",
    "[1.3862944]",
    *fixed("chdtri", 1), lambda g, a, y: -safe_divide(g, _chi(a, y)))
chdtriv: Function = _documented(
    "chdtriv", "Degrees of freedom for which :func:`chdtr` at ``x2`` is ``x1``.", "[0.5], [1.0]",
    "[1.5971476]", *fixed("chdtriv", 2))
_ncx2_pdf: Function = scipys("_ncx2_pdf", fixed("_ncx2_pdf", 3), __name__, own="ncx2_pdf")
chndtr: Function = _documented(
    "chndtr", "Noncentral chi-squared distribution at ``x1``: ``x2`` degrees of freedom, "
    "noncentrality ``x3``.", "[1.0], [2.0], [1.0]", "[0.26712018]",
    lambda g, a, b, c: g * _ncx2_pdf(a, b, c), *fixed("chndtr", 1),
    lambda g, a, b, c, y: g * 0.5 * (chndtr(a, b + 2, c) - y))
chndtrix: Function = _documented(
    "chndtrix", "Where :func:`chndtr` is ``x1``.", "[0.5], [2.0], [1.0]", "[2.1770384]",
    lambda g, b, c, y: safe_divide(g, _ncx2_pdf(y, b, c)), *fixed("chndtrix", 2),
    most={2: (-1e9, 1e9)})
chndtridf: Function = _documented(
    "chndtridf", "Degrees of freedom for which :func:`chndtr` at ``x1`` is ``x2``.",
    "[1.0], [0.3], [1.0]", "[1.8169885]", *fixed("chndtridf", 3))
chndtrinc: Function = _documented(
    "chndtrinc", "Noncentrality for which :func:`chndtr` at ``x1`` is ``x3``.",
    "[1.0], [2.0], [0.3]", "[0.701297]", *fixed("chndtrinc", 3),
    most={0: (-1e9, 1e9)})


# -- F ------------------------------------------------------------------------------------------
def _f(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    below = b + a * c
    return beta_density(a * 0.5, b * 0.5, a * c / below) * a * b / square(below)


fdtr: Function = _documented(
    "fdtr", "F distribution of ``x1`` and ``x2`` degrees of freedom at ``x3``.",
    "[2.0], [2.0], [1.0]",
    "[0.5]",
    *fixed("fdtr", 2), lambda g, a, b, c: g * _f(a, b, c))
fdtrc: Function = _documented(
    "fdtrc", "``1 - fdtr(x1, x2, x3)``.", "[2.0], [2.0], [1.0]", "[0.5]",
    *fixed("fdtrc", 2), lambda g, a, b, c: -g * _f(a, b, c))
fdtri: Function = _documented(
    "fdtri", "Where :func:`fdtr` of ``x1`` and ``x2`` degrees of freedom is ``x3``.",
    "[2.0], [2.0], [0.5]", "[1.]", *fixed("fdtri", 2),
    lambda g, a, b, y: safe_divide(g, _f(a, b, y)))
fdtridfd: Function = _documented(
    "fdtridfd", "Degrees of freedom below, for which :func:`fdtr` at ``x3`` is ``x2``.",
    "[2.0], [0.5], [1.1]", "[1.6080588]", *fixed("fdtridfd", 3))
_ncf_pdf: Function = scipys("_ncf_pdf", fixed("_ncf_pdf", 4), __name__, own="ncf_pdf")


def _noncentral_f(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """The density, without what ends the process in SciPy's: noncentrality 0 at and below 0."""
    least = where(x < 0, math.nan, np.finfo(x.dtype).tiny)
    return _ncf_pdf(where((c == 0) & (x <= 0), least, x), a, b, c)


ncfdtr: Function = _documented(
    "ncfdtr", "Noncentral F distribution: degrees of freedom ``x1`` and ``x2``, noncentrality "
    "``x3``.", "[2.0], [3.0], [1.0], [1.0]", "[0.41195452]", *fixed("ncfdtr", 3),
    lambda g, a, b, c, d: g * _noncentral_f(d, a, b, c))
ncfdtri: Function = _documented(
    "ncfdtri", "Where :func:`ncfdtr` is ``x4``.", "[2.0], [3.0], [1.0], [0.5]", "[1.3711638]",
    *fixed("ncfdtri", 3), lambda g, a, b, c, y: safe_divide(g, _noncentral_f(y, a, b, c)))
ncfdtridfd: Function = _documented(
    "ncfdtridfd", "Degrees of freedom below, for which :func:`ncfdtr` at ``x4`` is ``x2``.",
    "[2.0], [0.4], [1.0], [1.0]", "[2.38912]", *fixed("ncfdtridfd", 4), types="dddd->d")
ncfdtridfn: Function = _documented(
    "ncfdtridfn", "Degrees of freedom above, for which :func:`ncfdtr` at ``x4`` is ``x1``.",
    "[0.4], [2.0], [1.0], [1.0]", "[1.4169525]", *fixed("ncfdtridfn", 4), types="dddd->d")
ncfdtrinc: Function = _documented(
    "ncfdtrinc", "Noncentrality for which :func:`ncfdtr` at ``x4`` is ``x3``.",
    "[2.0], [3.0], [0.4], [1.0]", "[1.1118853]", *fixed("ncfdtrinc", 4), types="dddd->d")

# -- gamma --------------------------------------------------------------------------------------
gdtr: Function = _documented(
    "gdtr", "Gamma distribution of rate ``x1`` and shape ``x2``: ``gammainc(x2, x1 * x3)``.",
    "[1.0], [1.0], [1.0]",
    "[0.63212055]",
    lambda g, a, b, c: g * c * gamma_density(b, a * c),
    lambda g, a, b, c: g * gammainc_da(b, a * c),
    lambda g, a, b, c: g * a * gamma_density(b, a * c))
gdtrc: Function = _documented(
    "gdtrc", "``1 - gdtr(x1, x2, x3)``, exact in the tail.", "[1.0], [1.0], [1.0]", "[0.36787945]",
    lambda g, a, b, c: -g * c * gamma_density(b, a * c),
    lambda g, a, b, c: -g * gammainc_da(b, a * c),
    lambda g, a, b, c: -g * a * gamma_density(b, a * c))
gdtria: Function = _documented(
    "gdtria", "Rate for which :func:`gdtr` of shape ``x2`` at ``x3`` is ``x1``.",
    "[0.5], [1.0], [1.0]", "[0.6931472]",
    lambda g, b, c, y: safe_divide(g, c * gamma_density(b, y * c)), *fixed("gdtria", 1),
    lambda g, c, y: -g * y / c)
gdtrib: Function = _documented(
    "gdtrib", "Shape for which :func:`gdtr` of rate ``x1`` at ``x3`` is ``x2``.",
    "[1.0], [0.5], [1.0]", "[1.31425]", *fixed("gdtrib", 3))
gdtrix: Function = _documented(
    "gdtrix", "Where :func:`gdtr` of rate ``x1`` and shape ``x2`` is ``x3``.",
    "[1.0], [1.0], [0.5]", "[0.6931472]", lambda g, a, y: -g * y / a, *fixed("gdtrix", 1),
    lambda g, a, b, y: safe_divide(g, a * gamma_density(b, a * y)))


# -- beta ---------------------------------------------------------------------------------------
btdtria: Function = _documented(
    "btdtria", "First shape for which :func:`betainc` at ``x3`` is ``x1``.",
    "[0.3], [2.0], [0.5]", "[3.0825055]",
    lambda g, b, c, y: safe_divide(g, betainc_da(y, b, c)),
    lambda g, b, c, y: -safe_divide(g * betainc_db(y, b, c), betainc_da(y, b, c)),
    lambda g, b, c, y: -safe_divide(g * beta_density(y, b, c), betainc_da(y, b, c)))
btdtrib: Function = _documented(
    "btdtrib", "Second shape for which :func:`betainc` at ``x3`` is ``x2``.",
    "[2.0], [0.3], [0.5]", "[1.1865838]",
    lambda g, a, c, y: -safe_divide(g * betainc_da(a, y, c), betainc_db(a, y, c)),
    lambda g, a, c, y: safe_divide(g, betainc_db(a, y, c)),
    lambda g, a, c, y: -safe_divide(g * beta_density(a, y, c), betainc_db(a, y, c)))


# -- Student's t --------------------------------------------------------------------------------
def _student(a: Tensor, b: Tensor) -> Tensor:
    half = 0.5 * (a + 1)
    return exp(lgamma(half) - lgamma(0.5 * a) - 0.5 * log(math.pi * a)
               - half * log1p(square(b) / a))


stdtr: Function = _documented(
    "stdtr", "Student's t distribution of ``x1`` degrees of freedom at ``x2``.",
    "[2.0], [0.0]", "[0.5]",
    *fixed("stdtr", 1), lambda g, a, b: g * _student(a, b))
stdtrit: Function = _documented(
    "stdtrit", "Where :func:`stdtr` of ``x1`` degrees of freedom is ``x2``.", "[2.0], [0.75]",
    "[0.8164966]",
    *fixed("stdtrit", 1), lambda g, a, y: safe_divide(g, _student(a, y)))
stdtridf: Function = _documented(
    "stdtridf", "Degrees of freedom for which :func:`stdtr` at ``x2`` is ``x1``.",
    "[0.75], [0.8]", "[2.2310064]", *fixed("stdtridf", 2))


#: Up to which argument the noncentral t density is a line; differences lose digits there.
_SMALL_ARGUMENT = 1e-6


def _noncentral_t(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The density of the noncentral t distribution, of ``a`` degrees of freedom, by two values of
    the distribution (Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions 2, 1995,
    chapter 31); SciPy's ends the process at some arguments."""
    kind, (x, a, b) = x.dtype, (cast(v, np.dtype("float64")) for v in (x, a, b))
    near = abs_(x) < _SMALL_ARGUMENT
    far = where(near, 1.0, x)
    found = a / far * (nctdtr(a + 2, b, far * sqrt(1 + 2 / a)) - nctdtr(a, b, far))
    half = 0.5 * (a + 1)
    ratio = exp(lgamma(half) - lgamma(0.5 * a))
    line = exp(-0.5 * square(b)) * (ratio / sqrt(math.pi * a) + b * x / math.sqrt(2 * math.pi))
    return cast(where(near, line, found), kind)


nctdtr: Function = _documented(
    "nctdtr", "Noncentral t distribution: ``x1`` degrees of freedom, noncentrality ``x2``.",
    "[2.0], [1.0], [1.0]", "[0.45574582]",
    *fixed("nctdtr", 2), lambda g, a, b, c: g * _noncentral_t(c, a, b),
    nanoseconds=_SUM_NANOSECONDS)
nctdtrit: Function = _documented(
    "nctdtrit", "Where :func:`nctdtr` is ``x3``.", "[2.0], [1.0], [0.5]", "[1.142418]",
    *fixed("nctdtrit", 2), lambda g, a, b, y: safe_divide(g, _noncentral_t(y, a, b)),
    most={1: (-3e4, 3e4)}, nanoseconds=_SEARCH_NANOSECONDS)
nctdtridf: Function = _documented(
    "nctdtridf", "Degrees of freedom for which :func:`nctdtr` at ``x3`` is ``x1``.",
    "[0.4], [1.0], [1.0]", "[0.7063652]", *fixed("nctdtridf", 3), types="ddd->d",
    nanoseconds=_SEARCH_NANOSECONDS)
nctdtrinc: Function = _documented(
    "nctdtrinc", "Noncentrality for which :func:`nctdtr` at ``x3`` is ``x2``.",
    "[2.0], [0.4], [1.0]", "[1.1570559]", *fixed("nctdtrinc", 3), types="ddd->d",
    most={2: (-1e5, 1e5)}, nanoseconds=_SEARCH_NANOSECONDS)

# -- normal -------------------------------------------------------------------------------------
nrdtrimn: Function = _documented(
    "nrdtrimn", "Mean for which the normal distribution of deviation ``x2`` at ``x3`` is ``x1``.",
    "[0.5], [1.0], [2.0]", "[2.]",
    lambda g, a, b: -g * b * math.sqrt(2 * math.pi) * exp(0.5 * square(ndtri(a))),
    lambda g, a: -g * ndtri(a), lambda g: g)
nrdtrisd: Function = _documented(
    "nrdtrisd", "Deviation for which the normal distribution of mean ``x1`` at ``x3`` is ``x2``.",
    "[0.0], [0.75], [1.0]", "[1.4826022]",
    lambda g, b: -g / ndtri(b),
    lambda g, b, y: -g * y / ndtri(b) * math.sqrt(2 * math.pi) * exp(0.5 * square(ndtri(b))),
    lambda g, b: g / ndtri(b))
ndtri_exp: Function = _documented(
    "ndtri_exp", "Where :func:`log_ndtr` is ``x``.", "[-1.0]", "[-0.33747497]",
    lambda g, y: g * exp(log_ndtr(y) + 0.5 * square(y)) * math.sqrt(2 * math.pi))

# -- Kolmogorov and Smirnov ---------------------------------------------------------------------
def _kolmogorov_slope(order: int) -> Any:
    """The first or second derivative, by both series of the distribution, of which SciPy's has too
    few terms."""
    def formula(m: Any, x: Any) -> Any:
        low, high = m.maximum(m.minimum(x, 1.0), _NOTHING_BELOW), m.maximum(x, 1.0)
        near, far = x * 0.0, x * 0.0
        inverse = 1.0 / (low * low)
        for k in range(1, 6):
            a, n, sign = (2 * k - 1) ** 2 * math.pi**2 / 8, 2.0 * k * k, (-1.0) ** k
            part = a * inverse
            inner = (2.0 * part - 1.0 if order == 1 else
                     (4.0 * part * part - 10.0 * part + 2.0) / low)
            near = near - m.exp(-part) * (inverse * inner)
            outer = 2.0 * n * high if order == 1 else 2.0 * n * (1.0 - 2.0 * n * high * high)
            far = far + 2.0 * sign * m.exp(-n * high * high) * outer
        return m.where(x < 1.0, near * math.sqrt(2 * math.pi), far)

    return formula


#: Where the distribution and its derivatives are 0 in double precision.
_NOTHING_BELOW = 0.035
KOLMOGPP = row("kolmogpp", _kolmogorov_slope(2), fixed("kolmogpp", 1), __name__)
_kolmogpp: Function = unary(KOLMOGPP)
KOLMOGP = row("kolmogp", _kolmogorov_slope(1), (lambda g, x: g * _kolmogpp(x),), __name__)
_kolmogp: Function = unary(KOLMOGP)
_smirnovp: Function = scipys("_smirnovp", fixed("_smirnovp", 2), __name__, own="smirnovp",
                             nanoseconds=_SUM_NANOSECONDS)
kolmogorov: Function = _documented(
    "kolmogorov", "Complement of Kolmogorov's limit distribution: ``2 * sum((-1)**(k - 1) * "
    "exp(-2 * k**2 * x**2))`` over k from 1 on.", "[1.0]", "[0.26999968]",
    lambda g, x: g * _kolmogp(x))
kolmogi: Function = _documented(
    "kolmogi", "Where :func:`kolmogorov` is ``x``.", "[0.5]", "[0.82757354]",
    lambda g, y: safe_divide(g, _kolmogp(y)))
smirnov: Function = _documented(
    "smirnov", "Complement of the distribution of the one-sided Kolmogorov-Smirnov statistic of "
    "``x1`` samples (Birnbaum and Tingey, 1951).",
    "[3.0], [0.5]", "[0.16666667]", *fixed("smirnov", 1), lambda g, a, b: g * _smirnovp(a, b),
    nanoseconds=_SUM_NANOSECONDS)
smirnovi: Function = _documented(
    "smirnovi", "Where :func:`smirnov` of ``x1`` samples is ``x2``.", "[3.0], [0.5]", "[0.2971565]",
    *fixed("smirnovi", 1), lambda g, a, y: safe_divide(g, _smirnovp(a, y)),
    nanoseconds=_SEARCH_NANOSECONDS)


# -- Tukey's lambda -----------------------------------------------------------------------------
tklmbda: Function = _documented(
    "tklmbda", "Distribution function of Tukey's lambda of shape ``x2``, whose quantiles are "
    "``(p**x2 - (1 - p)**x2) / x2``.", "[0.0], [1.0]", "[0.5]",
    # The density where the probability is y; 0 beyond the ends.
    lambda g, b, y: g * where((y <= 0) | (y >= 1), 0.0, 1 / (y ** (b - 1) + (1 - y) ** (b - 1))),
    *fixed("tklmbda", 1))
