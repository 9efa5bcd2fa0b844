"""Programs of computational science as a user writes them, for any library `xp`.

Each gives the function that is differentiated; loops go through `scan(step, first, rows)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Function = Callable[..., Any]

#: Numbers of an N-body problem, a side of a plate and its steps, steps of a filter, options.
BODIES, PLATE, HEAT_STEPS, FILTER_STEPS, OPTIONS = 256, 256, 100, 200, 1_000_000


def chain(xp: Any, operations: int) -> Function:
    """A function of a number through so many scalar operations, written by a loop of Python's."""
    kinds = (
        lambda a, b: xp.sin(a) * 0.9, lambda a, b: a * b + 0.1, lambda a, b: a - b * 0.5,
        lambda a, b: xp.tanh(a),
    )
    sizes = (2, 2, 2, 1)

    def run(x: Any) -> Any:
        a, b, done, turn = x, x * 0.5, 1, 0
        while done < operations:
            a, b = kinds[turn % 4](a, b), a
            done += sizes[turn % 4]
            turn += 1
        return a

    return run


def chain_by_hand(x: float, operations: int) -> tuple[float, float]:
    """The same with its derivative: pairs of numbers and slopes."""
    a, b, done, turn = (x, 1.0), (x * 0.5, 0.5), 1, 0
    while done < operations:
        (u, du), (v, dv) = a, b
        new = (
            (np.sin(u) * 0.9, np.cos(u) * 0.9 * du), (u * v + 0.1, u * dv + v * du),
            (u - v * 0.5, du - dv * 0.5), (np.tanh(u), (1 - np.tanh(u) ** 2) * du),
        )[turn % 4]
        a, b = new, a
        done += (2, 2, 2, 1)[turn % 4]
        turn += 1
    return a


def pendulum(xp: Any, steps: int, h: float = 0.02) -> Function:
    """Where a double pendulum is after so many steps of Runge and Kutta, written by Python loops.

    A step takes 180 scalar operations.
    """

    def slope(a: Any, b: Any, p: Any, q: Any) -> Any:
        s, c = xp.sin(a - b), xp.cos(a - b)
        n = 1.0 / (2.0 - c * c)
        u = (-c * s * p * p - s * q * q - 2.0 * xp.sin(a) + c * xp.sin(b)) * n
        v = (2.0 * s * p * p + c * s * q * q + 2.0 * c * xp.sin(a) - 2.0 * xp.sin(b)) * n
        return p, q, u, v

    def ahead(y: Any, k: Any, t: float) -> Any:
        return tuple(x + t * d for x, d in zip(y, k, strict=True))

    def run(a: Any, b: Any) -> Any:
        y = (a, b, 0.0 * a, 0.0 * b)
        for _ in range(steps):
            k1 = slope(*y)
            k2 = slope(*ahead(y, k1, 0.5 * h))
            k3 = slope(*ahead(y, k2, 0.5 * h))
            k4 = slope(*ahead(y, k3, h))
            y = ahead(y, [p + 2.0 * (q + r) + s
                          for p, q, r, s in zip(k1, k2, k3, k4, strict=True)], h / 6.0)
        return y[0] * y[0] + y[1]

    return run


def pendulum_by_hand(a: float, b: float, steps: int) -> tuple[float, float, float]:
    """The same with its derivatives: steps of no size along the imaginary axis."""
    run, h = pendulum(np, steps), 1e-40
    return run(a, b), run(a + h * 1j, b + 0j).imag / h, run(a + 0j, b + h * 1j).imag / h


def energy(xp: Any, softening: float = 0.05) -> Function:
    """The potential of masses at places, (n,) and (n, 3): its gradient are the forces."""

    def potential(places: Any, masses: Any) -> Any:
        apart = places[:, None, :] - places[None, :, :]
        near = (apart * apart).sum(-1) + softening**2
        return -0.5 * (masses[:, None] * masses[None, :] / xp.sqrt(near)).sum()

    return potential


def energy_by_hand(places: np.ndarray, masses: np.ndarray,
                   softening: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Potential and gradient by NumPy."""
    apart = places[:, None, :] - places[None, :, :]
    near = (apart**2).sum(-1) + softening**2
    pairs = masses[:, None] * masses[None, :]
    force = (pairs / near**1.5)[..., None] * apart
    return np.asarray(-0.5 * (pairs / np.sqrt(near)).sum()), force.sum(1)


def heat(xp: Any, scan: Function, steps: int = HEAT_STEPS, rate: float = 0.2) -> Function:
    """How far a plate is from a target after so many explicit steps; its edge stays at 0."""

    def misfit(plate: Any, target: Any, clock: Any) -> Any:
        def step(u: Any, _: Any) -> Any:
            wide = xp.pad(u, ((1, 1), (1, 1)))
            around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
            return u + rate * (around - 4 * u), None

        last, _ = scan(step, plate, clock)
        return ((last - target) ** 2).sum()

    return misfit


def heat_by_hand(plate: np.ndarray, target: np.ndarray, clock: np.ndarray,
                 rate: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Misfit and gradient by NumPy: a step is its own adjoint."""

    def step(u: np.ndarray) -> np.ndarray:
        wide = np.pad(u, 1)
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        return u + rate * (around - 4 * u)

    for _ in clock:
        plate = step(plate)
    g = 2 * (plate - target)
    for _ in clock:
        g = step(g)
    return np.asarray(((plate - target) ** 2).sum()), g


def waves(xp: Any, scan: Function, rate: float = 0.2) -> Function:
    """The energy of waves on a torus after so many explicit steps, from two places in time."""

    def energy(now: Any, before: Any, clock: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            u, v = state
            around = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1)
            return (2 * u - v + rate * (around - 4 * u), u), None

        (u, v), _ = scan(step, (now, before), clock)
        return ((u - v) ** 2).sum()

    return energy


def waves_by_hand(now: np.ndarray, before: np.ndarray, clock: np.ndarray, rate: float = 0.2
                  ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Energy and gradients by NumPy: the matrix of a step is symmetric but for its order."""

    def step(u: np.ndarray) -> np.ndarray:
        around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        return 2 * u + rate * (around - 4 * u)

    u, v = now, before
    for _ in clock:
        u, v = step(u) - v, u
    g, h = 2 * (u - v), -2 * (u - v)
    for _ in clock:
        g, h = step(g) + h, -g
    return np.asarray(((u - v) ** 2).sum()), g, h


def kalman(xp: Any, scan: Function) -> Function:
    """The log-likelihood of a local linear trend (Durbin and Koopman 2012) by its logarithms of
    three variances: state (2,), covariance (2, 2), one observation a step."""

    def likelihood(logs: Any, y: Any, start: Any, move: Any, unit: Any) -> Any:
        noise, drift = xp.exp(logs[0]), xp.exp(logs[1:])

        def step(state: Any, seen: Any) -> Any:
            m, p = state
            surprise, s = seen - m[0], p[0, 0] + noise
            gain = p[:, 0] / s
            m = m + gain * surprise
            p = p - gain[:, None] * p[0][None, :]
            m, p = move @ m, move @ p @ move.T + drift * unit
            return (m, p), -0.5 * (surprise * surprise / s + xp.log(s))

        return scan(step, (start, 10.0 * unit), y)[1].sum()

    return likelihood


def black_scholes(xp: Any, normal: Function) -> Function:
    """The price of European calls: spot, strike, time, volatility; rate 3 % (Black, Scholes)."""

    def price(spot: Any, strike: Any, time: Any, volatility: Any) -> Any:
        rate = 0.03
        spread = volatility * xp.sqrt(time)
        d = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
        return spot * normal(d) - strike * xp.exp(-rate * time) * normal(d - spread)

    return price
