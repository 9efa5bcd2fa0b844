"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from scipy.stats import gamma as _theirs

import agnesi.api.special as _special
import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(x: Any, a: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    y = (x - loc) / scale
    return _special.xlogy(a - 1.0, y) - y - _special.gammaln(a) - np.log(scale)


_densities(_theirs, globals(), _log)
cdf = _lifted(_theirs.cdf, lambda x, a, loc=0.0, scale=1.0: _special.gammainc(a, (x - loc) / scale))
sf = _lifted(_theirs.sf, lambda x, a, loc=0.0, scale=1.0: _special.gammaincc(a, (x - loc) / scale))
__getattr__ = _others(__name__, _theirs)
