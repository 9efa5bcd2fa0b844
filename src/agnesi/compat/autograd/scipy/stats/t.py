"""Student's t distribution."""

from __future__ import annotations

from typing import Any

import numpy as _np
from scipy.stats import t as _theirs

import agnesi.api.special as _special
import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    y = (x - loc) / scale
    half = np.asarray(df) * 0.5
    return (_special.gammaln(half + 0.5) - _special.gammaln(half) - 0.5 * np.log(df * _np.pi)
            - (half + 0.5) * np.log1p(y**2 / df) - np.log(scale))


def _cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    y = (x - loc) / scale
    # The share of the tail beyond |y|, by the incomplete beta function of what is small of the two
    # parts of 1 = df / (df + y^2) + y^2 / (df + y^2), so that neither is rounded away.
    df = np.asarray(df)
    tail = 0.5 * _special.betainc(df * 0.5, 0.5 + 0.0 * df, df / (df + y**2))
    return np.where(np.asarray(y) > 0, 1.0 - tail, tail)


_densities(_theirs, globals(), _log)
cdf = _lifted(_theirs.cdf, _cdf)
logcdf = _lifted(_theirs.logcdf, lambda *args, **keywords: np.log(_cdf(*args, **keywords)))
__getattr__ = _others(__name__, _theirs)
