"""Line search for the strong Wolfe conditions: bracket, then zoom by cubic interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from agnesi.core.support.errors import at, typed

#: What is minimised: from a vector to its value and gradient.
Feval = Callable[[np.ndarray], tuple[Any, Any]]


class Point(NamedTuple):
    """A place on the line: how far, the value, the gradient, and its part along the line."""

    t: float
    value: float
    gradient: np.ndarray
    slope: float


def pair(found: Any, name: str, what: str) -> tuple[Any, Any]:
    """Refuse what a user's function returned unless it is a pair."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise TypeError(at(f"{name}(x) must return {what} gives both, not {typed(found)}"))
    return found[0], found[1]


def evaluated(feval: Feval, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient at a vector, as a number and an array of its dtype."""
    value, gradient = pair(feval(x), "feval", "the value and the gradient: ag.value_and_grad(f)")
    return float(value), np.asarray(gradient, x.dtype).reshape(x.shape)


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with slopes is least, within bounds."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    one, two = (a, b) if a.t <= b.t else (b, a)
    below = two.slope - one.slope + 2 * d2
    if below == 0:
        return (low + high) / 2
    return min(max(two.t - (two.t - one.t) * ((two.slope + d2 - d1) / below), low), high)


def strong_wolfe(along: Callable[[float], Point], start: Point, t: float, size: float, *,
                 c1: float = 1e-4, c2: float = 0.9, tolerance: float = 1e-9,
                 most: int = 25) -> tuple[Point, int]:
    """A point whose value is low and whose slope is small enough, and how many were evaluated.

    ``along`` evaluates a point of the line; ``size`` is the largest element of its direction.
    """
    new, before = along(t), start
    count, done = 1, False
    bracket: list[Point] | None = None
    for i in range(most):
        high = new.value > start.value + c1 * new.t * start.slope
        if high or (i > 1 and new.value >= before.value) or not math.isfinite(new.value):
            bracket = [before, new]
        elif abs(new.slope) <= -c2 * start.slope:
            bracket, done = [new], True
        elif new.slope >= 0:
            bracket = [before, new]
        if bracket is not None:
            most -= i
            break
        t = cubic_minimum(before, new, (new.t + 0.01 * (new.t - before.t), new.t * 10))
        before, new, count = new, along(t), count + 1
    if bracket is None:
        bracket, most = [start, new], 0
    if not done:
        evaluations = _zoom(along, start, bracket, size, c1, c2, tolerance, most)
        count += evaluations
    return min(bracket, key=lambda p: p.value), count


def _zoom(along: Callable[[float], Point], start: Point, bracket: list[Point], size: float,
          c1: float, c2: float, tolerance: float, most: int) -> int:
    """Make the bracket smaller until its lower end is good enough; gives the evaluations."""
    slow = False
    for count in range(most):
        low = 0 if bracket[0].value <= bracket[1].value else 1
        left, right = sorted((bracket[0].t, bracket[1].t))
        if (right - left) * size < tolerance:
            return count
        t = cubic_minimum(bracket[0], bracket[1])
        margin = 0.1 * (right - left)
        near = min(right - t, t - left) < margin
        if near and (slow or t >= right or t <= left):
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            near = False
        slow = near
        new = along(t)
        if (new.value > start.value + c1 * new.t * start.slope
                or not new.value < bracket[low].value):
            bracket[1 - low] = new
            continue
        small = abs(new.slope) <= -c2 * start.slope
        if not small and new.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = new
        if small:
            return count + 1
    return most
