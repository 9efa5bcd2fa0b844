"""The beta distribution."""

from __future__ import annotations

from typing import Any

from scipy.stats import beta as _theirs

import agnesi.api.special as _special
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(x: Any, a: Any, b: Any) -> Any:
    return (_special.xlogy(a - 1.0, x) + _special.xlog1py(b - 1.0, -x) - _special.betaln(a, b))


_densities(_theirs, globals(), _log)
cdf = _lifted(_theirs.cdf, lambda x, a, b: _special.betainc(a, b, x))
__getattr__ = _others(__name__, _theirs)
