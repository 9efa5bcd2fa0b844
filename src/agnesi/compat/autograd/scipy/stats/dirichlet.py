"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from scipy.stats import dirichlet as _theirs

import agnesi.api.special as _special
import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others


def _log(x: Any, alpha: Any) -> Any:
    return (_special.gammaln(np.sum(alpha)) - np.sum(_special.gammaln(alpha))
            + np.sum(_special.xlogy(alpha - 1.0, x.T).T, 0))


_densities(_theirs, globals(), _log)
__getattr__ = _others(__name__, _theirs)
