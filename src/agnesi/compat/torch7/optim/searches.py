"""Searches without gradients, searches along a line, and a check of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import RANDOM, new
from agnesi.compat.torch7.optim.options import table
from agnesi.optim.flat.search import Point, cubic_minimum, strong_wolfe

__all__ = ["FistaLS", "checkgrad", "cmaes", "de", "lswolfe", "polyinterp"]


def _value(found: Any) -> float:
    return float(found[0] if isinstance(found, tuple) else found)


def checkgrad(opfunc: Any, x: Any, eps: float = 1e-7) -> tuple[float, Any, Any]:
    """How far a gradient is from differences, the gradient, and the differences."""
    g = np.array(opfunc(x)[1].array)
    memory, found = x.array, np.zeros_like(g)
    for at in np.ndindex(memory.shape):
        kept = memory[at]
        memory[at] = kept + eps
        above = _value(opfunc(x))
        memory[at] = kept - eps
        found[at] = (above - _value(opfunc(x))) / (2 * eps)
        memory[at] = kept
    off = np.linalg.norm(g - found) / np.linalg.norm(g + found)
    return float(off), new(g), new(found)


def polyinterp(points: Any, xminBound: float | None = None,
               xmaxBound: float | None = None) -> float:
    """Where the cubic through two points is least; rows are (place, value, slope)."""
    a, b = (Point(t, value, np.zeros(0), slope) for t, value, slope in np.asarray(points).tolist())
    low = min(a.t, b.t) if xminBound is None else xminBound
    high = max(a.t, b.t) if xmaxBound is None else xmaxBound
    return cubic_minimum(a, b, (low, high))


def lswolfe(opfunc: Any, x: Any, t: float, d: Any, f: float, g: Any, gtd: float,
            options: Any = None) -> tuple[float, Any, Any, float, int]:
    """A step along a direction for which strong Wolfe's conditions hold: the value and gradient
    there, x, the length of the step, and how many places were evaluated (``c1``, ``c2``, ``tolX``,
    ``maxIter``)."""
    options = options or {}
    begin, direction = np.array(x.array), np.asarray(d.array)

    def along(length: float) -> Point:
        np.copyto(x.array, begin + length * direction)
        value, gradient = opfunc(x)
        array = np.array(gradient.array)
        return Point(length, float(value), array, float((array * direction).sum()))

    start = Point(0.0, float(f), np.array(g.array), float(gtd))
    found, count = strong_wolfe(
        along, start, t, float(np.abs(direction).max()), c1=options.get("c1", 1e-4),
        c2=options.get("c2", 0.9), tolerance=options.get("tolX", 1e-9),
        most=options.get("maxIter", 20))
    np.copyto(x.array, begin + found.t * direction)
    return found.value, new(found.gradient), x, found.t, count


def FistaLS(f: Callable[..., Any], g: Callable[[Any], float], pl: Callable[[Any, float], Any],
            xinit: Any, params: Any = None) -> tuple[Any, list[dict[str, Any]]]:
    """The least of a smooth function plus one that is not: x, and what each step found.

    ``f(x)`` gives a value and, called as ``f(x, "dx")``, its gradient; ``g(x)`` a value; ``pl(x,
    L)`` changes x to where ``g(y) + L/2 |y - x|^2`` is least (``L``, ``Lstep``, ``maxiter``,
    ``maxline``, ``errthres``, ``doFistaUpdate``).
    """
    params = {} if params is None else params
    size, step = params.get("L", 0.1), params.get("Lstep", 1.5)
    fast = params.get("doFistaUpdate", True)
    x, y, history = xinit, new(np.zeros_like(xinit.array)), []
    before, t, last = np.zeros_like(xinit.array), 1.0, math.inf
    for _ in range(params.get("maxiter", 50)):
        value, slope = f(y, "dx")
        base, slope = y.array.copy(), slope.array
        count = 0
        while count <= params.get("maxline", 20):
            count += 1
            np.copyto(x.array, base - slope / size)
            pl(x, size)
            off = x.array - base
            if _value(f(x)) <= value + (slope * off).sum() + size / 2 * (off * off).sum():
                break
            size *= step
        else:
            np.copyto(x.array, before)
        after = (1 + math.sqrt(1 + 4 * t * t)) / 2
        np.copyto(y.array, x.array + ((t - 1) / after * (x.array - before) if fast else 0))
        before, t = x.array.copy(), after
        total = _value(f(x)) + float(g(x))
        history.append({"F": total, "L": size, "nline": count})
        if abs(last - total) <= params.get("errthres", 1e-4):
            break
        last = total
    params["L"] = size
    return x, history


def de(opfunc: Any, x: Any, config: Any = None, state: Any = None) -> tuple[Any, list[float]]:
    """Differential evolution: the best place, and all values (``popsize``, ``scaleFactor``,
    ``crossoverRate``, ``maxFEs``, ``minRegion``, ``maxRegion``)."""
    config = table(config)
    n, source = x.nElement(), RANDOM[0]
    size, most = config.get("popsize", 10 * n), config.get("maxFEs", 1000 * n)
    people = source.uniform(config.get("minRegion", -30), config.get("maxRegion", 30), (size, n))

    def evaluated(rows: Any) -> Any:
        return np.array([_value(opfunc(new(row.reshape(x.array.shape)))) for row in rows])

    fitness = evaluated(people)
    history = list(fitness)
    while len(history) < most:
        first, second = (source.permuted(np.tile(np.arange(size), (size, 1)), axis=1)[:, :2]).T
        moved = people[fitness.argmin()] + config.get("scaleFactor", 0.8) * (
            people[first] - people[second])
        taken = source.random((size, n)) < config.get("crossoverRate", 0.9)
        taken[np.arange(size), source.integers(n, size=size)] = True
        children = np.where(taken, moved, people)
        values = evaluated(children)
        better = values <= fitness
        people[better], fitness[better] = children[better], values[better]
        history += list(values)
    return new(people[fitness.argmin()].reshape(x.array.shape)), history


def cmaes(opfunc: Any, x: Any, config: Any = None, state: Any = None
          ) -> tuple[Any, list[float], int]:
    """The covariance matrix adaptation strategy: the best place, the best value of each
    generation, and how many places were evaluated (``sigma``, ``maxEval``, ``ftarget``,
    ``popsize``)."""
    config = table(config)
    n = x.nElement()
    mean, sigma = np.array(x.array, float).reshape(-1), config.get("sigma", 0.5)
    size = config.get("popsize") or 4 + int(3 * math.log(n))
    weights = np.log(size / 2 + 0.5) - np.log(np.arange(1, size // 2 + 1))
    weights /= weights.sum()
    mass = 1 / (weights**2).sum()
    cc = (4 + mass / n) / (n + 4 + 2 * mass / n)
    cs = (mass + 2) / (n + mass + 5)
    c1 = 2 / ((n + 1.3) ** 2 + mass)
    cmu = min(1 - c1, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
    damping = 2 * mass / size + 0.3 + cs
    pc, ps, cov = np.zeros(n), np.zeros(n), np.eye(n)
    history, count = [_value(opfunc(x))], 0
    best, least = mean.copy(), math.inf
    while count < config.get("maxEval", 1000 * n * n):
        spread, basis = np.linalg.eigh(cov)
        spread = np.sqrt(np.maximum(spread, 1e-300))
        steps = (RANDOM[0].standard_normal((size, n)) * spread) @ basis.T
        places = mean + sigma * steps
        values = np.array([_value(opfunc(new(p.reshape(x.array.shape)))) for p in places])
        count += size
        order = values.argsort()
        steps, values = steps[order[:len(weights)]], values[order]
        history.append(float(values[0]))
        if values[0] < least:
            best, least = places[order[0]], float(values[0])
        move = weights @ steps
        mean = mean + sigma * move
        ps = (1 - cs) * ps + math.sqrt(cs * (2 - cs) * mass) * (basis @ ((basis.T @ move) / spread))
        short = (ps**2).sum() / (1 - (1 - cs) ** (2 * count / size)) / n < 2 + 4 / (n + 1)
        pc = (1 - cc) * pc + short * math.sqrt(cc * (2 - cc) * mass) * move
        cov = (1 - c1 * (1 - (1 - short) * cc * (2 - cc)) - cmu) * cov + c1 * np.outer(
            pc, pc) + cmu * (steps.T * weights) @ steps
        sigma *= math.exp(min(0.6, cs / damping * ((ps**2).sum() / n - 1) / 2))
        if least <= config.get("ftarget", -math.inf) or values[-1] - values[0] < 1e-12 or (
                sigma * np.max(spread) < 1e-11):
            break
    return new(best.reshape(x.array.shape)), [*history, least], count
