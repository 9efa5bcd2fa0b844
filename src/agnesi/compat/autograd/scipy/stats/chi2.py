"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

import numpy as _np
from scipy.stats import chi2 as _theirs

import agnesi.api.special as _special
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(x: Any, df: Any) -> Any:
    half = df * 0.5
    return (_special.xlogy(half - 1.0, x) - 0.5 * x - half * _np.log(2.0) - _special.gammaln(half))


_densities(_theirs, globals(), _log)
cdf = _lifted(_theirs.cdf, lambda x, df: _special.gammainc(df * 0.5, x * 0.5))
__getattr__ = _others(__name__, _theirs)
