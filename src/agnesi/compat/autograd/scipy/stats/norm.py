"""The normal distribution."""

from __future__ import annotations

from typing import Any

import numpy as _np
from scipy.stats import norm as _theirs

import agnesi.api.special as _special
import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * _np.log(2 * _np.pi)


_densities(_theirs, globals(), _log)
cdf = _lifted(_theirs.cdf, lambda x, loc=0.0, scale=1.0: _special.ndtr((x - loc) / scale))
sf = _lifted(_theirs.sf, lambda x, loc=0.0, scale=1.0: _special.ndtr((loc - x) / scale))
logcdf = _lifted(_theirs.logcdf, lambda x, loc=0.0, scale=1.0: _special.log_ndtr((x - loc) / scale))
logsf = _lifted(_theirs.logsf, lambda x, loc=0.0, scale=1.0: _special.log_ndtr((loc - x) / scale))
ppf = _lifted(_theirs.ppf, lambda q, loc=0.0, scale=1.0: loc + scale * _special.ndtri(q))
__getattr__ = _others(__name__, _theirs)
