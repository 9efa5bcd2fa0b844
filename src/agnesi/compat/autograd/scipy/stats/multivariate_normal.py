"""The multivariate normal distribution."""

from __future__ import annotations

from typing import Any

import numpy as _np
from scipy.stats import multivariate_normal as _theirs

import agnesi.compat.autograd.numpy as np
from agnesi.compat.autograd.numpy.forwarding import lifted as _lifted
from agnesi.compat.autograd.scipy.stats.methods import densities as _densities
from agnesi.compat.autograd.scipy.stats.methods import others as _others
from agnesi.compat.autograd.values import getval as _getval
from agnesi.compat.autograd.values import isbox as _isbox


def _log(x: Any, mean: Any, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    off = x - mean
    size = np.shape(off)[-1] if np.ndim(off) else 1
    cov = np.asarray(cov)
    if allow_singular:
        if _isbox(cov) and cov.requires_grad:
            raise NotImplementedError("densities are not differentiable with respect to singular "
                                      "covariance matrices")
        values = _np.linalg.eigvalsh(_getval(cov))
        values = values[values > _np.finfo(float).eps * 1e6 * _np.max(abs(values))]
        inside = np.sum(np.dot(off, np.linalg.pinv(cov)) * off, -1)
        return -0.5 * (len(values) * _np.log(2 * _np.pi) + _np.log(values).sum() + inside)
    cov = cov * _np.eye(size) if np.ndim(cov) == 0 else cov
    solved = np.linalg.solve(cov, np.reshape(off, (-1, size)).T).T
    inside = np.sum(np.reshape(solved, np.shape(off)) * off, -1)
    return -0.5 * (size * _np.log(2 * _np.pi) + np.linalg.slogdet(cov)[1] + inside)


def _entropy(mean: Any, cov: Any = 1.0) -> Any:
    size = np.shape(cov)[-1]
    return 0.5 * (size * (1.0 + _np.log(2 * _np.pi)) + np.linalg.slogdet(cov)[1])


_densities(_theirs, globals(), _log)
entropy = _lifted(_theirs.entropy, _entropy)
__getattr__ = _others(__name__, _theirs)
