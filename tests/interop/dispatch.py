"""Run by test_dispatch.py, for SciPy reads SCIPY_ARRAY_API once: prints a report as JSON.

Each case is computed from NumPy's arrays and from tensors; the second must be tensors of the same
values, which only the array API can have made.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.cluster.vq
import scipy.integrate
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from sklearn import decomposition, linear_model, metrics, model_selection, preprocessing
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise
from sklearn.naive_bayes import GaussianNB

import agnesi as ag

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 5)).astype("float32")
TARGETS = (X @ np.array([1.0, 2.0, -1.0, 0.0, 0.5], "float32")).astype("float32")
LABELS = (TARGETS > 0).astype("int64")
WAVE = X[:, 0].astype("float64")
GRID = np.linspace(0.1, 3.0, 7)
Case = Callable[[Callable[[Any], Any]], Any]


def special(name: str, *operands: np.ndarray) -> Case:
    return lambda a: getattr(scipy.special, name)(*map(a, operands))


def pair(name: str) -> Case:
    return lambda a: getattr(pairwise, name)(a(X), a(X[:7]))


def scaled(name: str) -> Case:
    return lambda a: getattr(preprocessing, name)().fit_transform(a(X))


def folded(a: Callable[[Any], Any]) -> Any:
    return tuple(model_selection.train_test_split(a(X), a(LABELS), random_state=0))


def fitted(make: Callable[[], Any], *names: str, supervised: Any = None) -> Case:
    def run(a: Callable[[Any], Any]) -> Any:
        model = make().fit(a(X)) if supervised is None else make().fit(a(X), a(supervised))
        use = model.transform if supervised is None else model.predict
        return (*(getattr(model, name) for name in names), use(a(X)))

    return run


TAPS = np.array([1.0, 0.5]), np.array([1.0, -0.2])
SECTIONS = np.array([[1.0, 0.5, 0.0, 1.0, -0.2, 0.0]])
SCIPY: dict[str, Case] = {
    **{f"special.{name}": special(name, GRID) for name in (
        "gammaln", "erf", "erfc", "expit", "log_ndtr", "ndtr", "i0", "i0e", "i1", "i1e", "entr",
        "logsumexp", "softmax", "log_softmax", "digamma",
    )},
    **{f"special.{name}": special(name, GRID, GRID[::-1]) for name in (
        "gammainc", "xlogy", "rel_entr", "chdtr", "stdtr",
    )},
    "special.betainc": special("betainc", GRID, GRID, GRID / 4),
    "special.logit": special("logit", GRID / 4), "special.ndtri": special("ndtri", GRID / 4),
    "signal.fftconvolve": lambda a: scipy.signal.fftconvolve(a(WAVE), a(WAVE[:5])),
    "signal.convolve": lambda a: scipy.signal.convolve(a(WAVE), a(WAVE[:5]), method="direct"),
    "signal.convolve2d": lambda a: scipy.signal.convolve2d(a(X), a(X[:3, :3])),
    "signal.correlate": lambda a: scipy.signal.correlate(a(WAVE), a(WAVE[:5]), method="direct"),
    "signal.lfilter": lambda a: scipy.signal.lfilter(a(TAPS[0]), a(TAPS[1]), a(WAVE)),
    "signal.filtfilt": lambda a: scipy.signal.filtfilt(a(TAPS[0]), a(TAPS[1]), a(WAVE)),
    "signal.sosfilt": lambda a: scipy.signal.sosfilt(a(SECTIONS), a(WAVE)),
    "signal.detrend": lambda a: scipy.signal.detrend(a(WAVE)),
    "signal.medfilt": lambda a: scipy.signal.medfilt(a(WAVE)),
    "signal.hilbert": lambda a: scipy.signal.hilbert(a(WAVE)),
    "signal.resample": lambda a: scipy.signal.resample(a(WAVE), 30),
    "signal.wiener": lambda a: scipy.signal.wiener(a(WAVE)),
    "integrate.trapezoid": lambda a: scipy.integrate.trapezoid(a(X), axis=0),
    "cluster.vq": lambda a: scipy.cluster.vq.vq(a(X), a(X[:3]))[1],
    "cluster.whiten": lambda a: scipy.cluster.vq.whiten(a(X)),
    "ndimage.gaussian_filter": lambda a: scipy.ndimage.gaussian_filter(a(X), 1.0),
    "stats.skew": lambda a: scipy.stats.skew(a(X)),
    "stats.zscore": lambda a: scipy.stats.zscore(a(X)),
    "stats.pearsonr": lambda a: scipy.stats.pearsonr(a(WAVE), a(WAVE**2)).statistic,
    "stats.ttest_ind": lambda a: scipy.stats.ttest_ind(a(X[:30]), a(X[30:])).pvalue,
}
SKLEARN: dict[str, Case] = {
    **{f"pairwise.{name}": pair(name) for name in (
        "cosine_similarity", "euclidean_distances", "rbf_kernel", "linear_kernel",
        "polynomial_kernel", "manhattan_distances",
    )},
    **{f"preprocessing.{name}": scaled(name) for name in (
        "MinMaxScaler", "MaxAbsScaler", "Normalizer", "StandardScaler", "Binarizer",
        "PolynomialFeatures",
    )},
    "train_test_split": folded,
    "confusion_matrix": lambda a: metrics.confusion_matrix(a(LABELS), a(LABELS[::-1].copy())),
    "GaussianNB": fitted(GaussianNB, "theta_", "var_", supervised=LABELS),
}
SCORES: dict[str, Case] = {
    "accuracy_score": lambda a: metrics.accuracy_score(a(LABELS), a(LABELS[::-1])),
    "f1_score": lambda a: metrics.f1_score(a(LABELS), a(LABELS[::-1])),
    "roc_auc_score": lambda a: metrics.roc_auc_score(a(LABELS), a(TARGETS)),
    "log_loss": lambda a: metrics.log_loss(a(LABELS), a(1 / (1 + np.exp(-WAVE)))),
    "average_precision_score": lambda a: metrics.average_precision_score(a(LABELS), a(TARGETS)),
    "r2_score": lambda a: metrics.r2_score(a(TARGETS), a(TARGETS * 0.9)),
    "mean_squared_error": lambda a: metrics.mean_squared_error(a(TARGETS), a(TARGETS * 2)),
}
#: What takes matrices apart needs the linalg extension.
FITTED: dict[str, Case] = {
    "Ridge": fitted(
        lambda: linear_model.Ridge(solver="svd"), "coef_", "intercept_", supervised=TARGETS
    ),
    "PCA": fitted(
        lambda: decomposition.PCA(2, svd_solver="full"), "components_", "explained_variance_"
    ),
    "PCA by eigenvectors": fitted(
        lambda: decomposition.PCA(2, svd_solver="covariance_eigh"), "components_"
    ),
    "Nystroem": fitted(lambda: Nystroem(n_components=5, random_state=0)),
    "LinearDiscriminantAnalysis": fitted(
        LinearDiscriminantAnalysis, "coef_", "intercept_", supervised=LABELS
    ),
}
CASES = {**SCIPY, **SKLEARN, **SCORES, **FITTED}


def complaint(name: str) -> str:
    """What is wrong with a case; nothing if all is well."""
    try:
        expected, found = CASES[name](np.asarray), CASES[name](ag.asarray)
    except Exception:
        return traceback.format_exc()
    parts = (expected, found) if isinstance(found, tuple) else ((expected,), (found,))
    for e, f in zip(*parts, strict=True):
        if name not in SCORES and type(f) is not ag.Tensor:
            return f"the result is a {type(f).__name__}"
        e, f = np.asarray(e), np.asarray(f)
        if e.shape != f.shape or not np.allclose(f, e, rtol=1e-4, atol=1e-5):
            return f"{f} instead of {e}"
    return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sklearn.set_config(array_api_dispatch=True)
    json.dump({name: complaint(name) for name in CASES}, sys.stdout)
