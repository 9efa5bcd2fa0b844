"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from scipy.stats import poisson as _theirs

import agnesi.api.special as _special
import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(k: Any, mu: Any) -> Any:
    return _special.xlogy(k, mu) - mu - _special.gammaln(np.asarray(k) + 1.0)


_densities(_theirs, globals(), _log, "pmf")
cdf = _lifted(_theirs.cdf, lambda k, mu: _special.gammaincc(np.floor(k) + 1.0, mu))
__getattr__ = _others(__name__, _theirs)
