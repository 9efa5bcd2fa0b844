"""Log-densities as a user of a sampler writes them: functions of one flat vector, for any library.

A density takes `xp`, the library's names of functions, and gives the function of the vector. What
is observed is part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Density:
    """A density: its name, what is given to it, a point, and how it is written."""

    name: str
    data: dict[str, np.ndarray]
    point: np.ndarray
    write: Callable[..., Function]  # write(xp, **data) is the function of a vector

    def function(self, xp: Any, convert: Callable[[np.ndarray], Any] = lambda a: a) -> Function:
        """The log-density over a library's functions, its data as the library's arrays."""
        return self.write(xp, **{name: convert(array) for name, array in self.data.items()})

    def expect(self) -> list[np.ndarray]:
        """Value and gradient by NumPy: differences of the fourth order."""
        f, q, h = self.function(Numpy), self.point, 1e-3
        steps = h * np.eye(len(q))
        gradient = [
            (8 * (f(q + e) - f(q - e)) - (f(q + 2 * e) - f(q - 2 * e))) / (12 * h) for e in steps
        ]
        return [np.asarray(f(q)), np.array(gradient)]


class Numpy:
    """The names that densities use, from NumPy."""

    exp, log, log1p, cholesky = np.exp, np.log, np.log1p, np.linalg.cholesky
    diagonal, eye, sum = np.diagonal, np.eye, np.sum

    @staticmethod
    def softplus(x: Any) -> Any:
        return np.logaddexp(0, x)

    @staticmethod
    def solve_lower(factor: Any, b: Any) -> Any:
        return np.linalg.solve(factor, b)


def _normal(x: Any, mean: Any = 0.0, scale: Any = 1.0) -> Any:
    """Normal log-density without its constant and without the logarithm of its scale."""
    return -0.5 * ((x - mean) / scale) ** 2


def eight_schools() -> Density:
    """Effects of coaching in eight schools (Rubin 1981), non-centred."""
    data = {
        "y": np.array([28.0, 8, -3, 7, -1, 1, 18, 12]),
        "sigma": np.array([15.0, 10, 16, 11, 9, 11, 10, 18]),
    }
    return Density("eight schools", data, np.linspace(-0.9, 1.1, 10), _eight_schools)


def _eight_schools(xp: Any, y: Any, sigma: Any) -> Function:
    def logp(q: Any) -> Any:
        mu, log_tau, z = q[0], q[1], q[2:]
        tau = xp.exp(log_tau)
        prior = _normal(mu, 0.0, 5.0) + xp.sum(_normal(z)) - xp.log1p((tau / 5.0) ** 2) + log_tau
        return prior + xp.sum(_normal(y, mu + tau * z, sigma))

    return logp


def radon(rows: int = 919, groups: int = 85) -> Density:
    """Radon in houses of counties (Gelman and Hill 2006): intercepts and slopes that vary."""
    rng = np.random.default_rng(1)
    county = np.sort(rng.integers(0, groups, rows))
    floor = (rng.random(rows) < 0.17).astype(np.float64)
    level = 1.4 + 0.3 * rng.standard_normal(groups)
    slope = -0.7 + 0.3 * rng.standard_normal(groups)
    y = level[county] + slope[county] * floor + 0.7 * rng.standard_normal(rows)
    data = {"county": county, "floor": floor, "y": y}
    return Density("radon regression", data, rng.standard_normal(5 + 2 * groups) * 0.3,
                   lambda xp, **given: _radon(xp, groups, rows, **given))


def _radon(xp: Any, groups: int, rows: int, county: Any, floor: Any, y: Any) -> Function:
    def logp(q: Any) -> Any:
        level, slope, scales = q[0], q[1], q[2:5]
        sigma = xp.exp(scales)
        a = level + sigma[0] * q[5 : 5 + groups]
        b = slope + sigma[1] * q[5 + groups :]
        prior = xp.sum(_normal(q[5:])) + _normal(level, 0.0, 10.0) + _normal(slope, 0.0, 10.0)
        scale_prior = xp.sum(scales - 0.5 * sigma**2)
        fit = xp.sum(_normal(y, a[county] + b[county] * floor, sigma[2]))
        return prior + scale_prior + fit - rows * scales[2]

    return logp


def logistic(rows: int = 1000, columns: int = 25) -> Density:
    """Logistic regression with normal weights."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((rows, columns))
    weights = rng.standard_normal(columns)
    y = (rng.random(rows) < 1 / (1 + np.exp(-x @ weights))).astype(np.float64)
    return Density("logistic regression", {"x": x, "y": y}, rng.standard_normal(columns) * 0.5,
                   _logistic)


def _logistic(xp: Any, x: Any, y: Any) -> Function:
    def logp(w: Any) -> Any:
        z = x @ w
        return xp.sum(y * z - xp.softplus(z)) + xp.sum(_normal(w))

    return logp


def gaussian_process(points: int = 200) -> Density:
    """A Gaussian process with a squared exponential kernel and noise, its scales unknown."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, points))
    y = np.sin(x) + 0.2 * rng.standard_normal(points)
    return Density("Gaussian process", {"x": x, "y": y, "unit": np.eye(points)},
                   np.array([0.1, -0.2, -1.3]), _gaussian_process)


def _gaussian_process(xp: Any, x: Any, y: Any, unit: Any) -> Function:
    squares = (x[:, None] - x[None, :]) ** 2

    def logp(q: Any) -> Any:
        scales = xp.exp(q)
        kernel = scales[1] ** 2 * xp.exp(squares * (-0.5 / scales[0] ** 2))
        factor = xp.cholesky(kernel + (scales[2] ** 2 + 1e-8) * unit)
        z = xp.solve_lower(factor, y)
        half = xp.sum(xp.log(xp.diagonal(factor)))
        return -0.5 * xp.sum(z * z) - half + xp.sum(_normal(q))

    return logp
