"""Minimisers of functions of one vector that search along lines: conjugate gradients and BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.options import Count
from agnesi.core.parameter_types import TensorLike
from agnesi.core.public import public
from agnesi.core.support.record import struct
from agnesi.optim.flat.search import Feval, Point, evaluated, strong_wolfe


@struct
class Optimum:
    """Where a minimiser stopped.

    Parameters
    ----------
    x : numpy.ndarray
        The vector.
    value : float
        The function's value there.
    gradient : numpy.ndarray
        Its gradient there.
    values : list of float
        The values from the first vector on, one for each iteration.
    evaluations : int
        How often the function was called.

    See Also
    --------
    optim.flat.lbfgs

    Examples
    --------
    >>> import agnesi as ag
    >>> found = ag.optim.flat.lbfgs(lambda x: (x @ x, 2 * x), [3.0, 4.0])
    >>> found.values[0], round(found.value, 9)
    (25.0, 0.0)
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    values: list[float]
    evaluations: int


class Line:
    """A function seen along lines through the point that it is at."""

    def __init__(self, feval: Feval, x: Any) -> None:
        x = np.asarray(x)
        x = x if x.dtype.kind == "f" else x.astype(np.float64)
        self.feval, self.x = feval, x.reshape(-1).copy()
        self.value, self.gradient = evaluated(feval, self.x)
        self.values, self.evaluations = [self.value], 1

    def move(self, d: np.ndarray, t: float, **options: Any) -> bool:
        """Go along a direction as far as the Wolfe conditions say; whether it went down."""
        slope = float(self.gradient @ d)
        start = Point(0.0, self.value, self.gradient, slope)

        def along(t: float) -> Point:
            value, gradient = evaluated(self.feval, self.x + np.asarray(t * d, d.dtype))
            return Point(t, value, gradient, float(gradient @ d))

        found, count = strong_wolfe(along, start, t, float(np.abs(d).max()), **options)
        self.evaluations += count
        if not found.value < self.value:
            return False
        self.x = self.x + np.asarray(found.t * d, d.dtype)
        self.value, self.gradient = found.value, found.gradient
        self.values.append(self.value)
        return True

    def is_flat(self, tolerance: float) -> bool:
        """Return whether no element of the gradient is larger."""
        return bool(np.abs(self.gradient).max(initial=0.0) <= tolerance)

    def found(self) -> Optimum:
        return Optimum(self.x, self.value, self.gradient, self.values, self.evaluations)


def minimised(line: Line, direction: Callable[[Line, Any], np.ndarray], steps: int,
              tolerance: float, change: float, c2: float) -> Optimum:
    """Search along one direction after the other, each made from the line and what it was before.

    Where a direction does not go down, the next one is the gradient's, once.
    """
    before: Any = None
    length = min(1.0, 1 / max(float(np.abs(line.gradient).sum()), 1e-300))
    for _ in range(steps):
        if line.is_flat(tolerance):
            break
        d = direction(line, before)
        if not line.gradient @ d < 0:
            d, before = -line.gradient, None
        was = line.x, line.value, line.gradient, d
        if not line.move(d, length if before is None else 1.0, c2=c2, tolerance=change):
            if before is None:
                break
            before = None
            continue
        before = was
        if abs(was[1] - line.value) <= change * max(abs(line.value), 1e-300):
            break
    return line.found()


@public
def cg(feval: Feval, x: TensorLike, max_iter: int = 200, tolerance_grad: float = 1e-7,
       tolerance_change: float = 1e-15) -> Optimum:
    """Nonlinear conjugate gradients (Polak and Ribière's, begun again where they turn uphill).

    :param feval: Gives a vector's value and gradient, as ``ag.value_and_grad(f)`` does.
    :type feval: callable
    :param x: Where to begin.
    :type x: array_like
    :param max_iter: The most directions.
    :param tolerance_grad: It ends where no element of the gradient is larger.
    :param tolerance_change: It ends where the value changes by no larger share.
    :returns: Where it stopped.
    :see: optim.flat.lbfgs, optim.flat.bfgs

    >>> found = ag.optim.flat.cg(lambda x: (x @ x, 2 * x), [3.0, 4.0])
    >>> bool(abs(found.x).max() < 1e-6)
    True
    """
    kept: dict[str, np.ndarray] = {}

    def direction(line: Line, before: Any) -> np.ndarray:
        g = line.gradient
        d = -g
        if before is not None:
            old = before[2]
            d = d + np.asarray(max(0.0, g @ (g - old) / (old @ old)), g.dtype) * kept["d"]
        kept["d"] = d if d @ g < 0 else -g
        return kept["d"]

    return minimised(Line(feval, x), direction, max_iter, tolerance_grad, tolerance_change, 0.1)


@public
def bfgs(feval: Feval, x: TensorLike, max_iter: int = 200, tolerance_grad: float = 1e-7,
         tolerance_change: float = 1e-15) -> Optimum:
    """BFGS: the inverse Hessian as a matrix that gradients build up.

    :like: cg
    :see: optim.flat.lbfgs, optim.flat.cg

    >>> found = ag.optim.flat.bfgs(lambda x: (x @ x, 2 * x), [3.0, 4.0])
    >>> bool(abs(found.x).max() < 1e-6)
    True
    """
    kept: dict[str, Any] = {}

    def direction(line: Line, before: Any) -> np.ndarray:
        if before is None:
            kept["inverse"] = None
            return -line.gradient
        s, y = line.x - before[0], line.gradient - before[2]
        sy = s @ y
        if sy > 1e-10 * (y @ y):
            h = kept["inverse"]
            h = np.eye(len(s), dtype=s.dtype) * (sy / (y @ y)) if h is None else h
            hy = h @ y
            kept["inverse"] = (h + np.outer(s, s) * ((sy + y @ hy) / sy**2)
                               - (np.outer(hy, s) + np.outer(s, hy)) / sy)
        h = kept["inverse"]
        return -line.gradient if h is None else -(h @ line.gradient)

    return minimised(Line(feval, x), direction, max_iter, tolerance_grad, tolerance_change, 0.9)


class Memory:
    """The last changes of vector and gradient, which stand for the inverse Hessian."""

    def __init__(self, size: Count) -> None:
        self.size = size
        self.moves: list[np.ndarray] = []
        self.turns: list[np.ndarray] = []
        self.scale = 1.0

    def note(self, s: np.ndarray, y: np.ndarray) -> None:
        """Take a change in, if the function curves upwards along it."""
        ys = float(y @ s)
        if ys <= 1e-10:
            return
        self.moves, self.turns = [*self.moves, s][-self.size:], [*self.turns, y][-self.size:]
        self.scale = ys / float(y @ y)

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse Hessian times the gradient, downwards."""
        q = -gradient
        shares = []
        for s, y in zip(reversed(self.moves), reversed(self.turns), strict=True):
            share = (s @ q) / (y @ s)
            shares.append(share)
            q = q - share * y
        q = q * np.asarray(self.scale, q.dtype)
        for s, y, share in zip(self.moves, self.turns, reversed(shares), strict=True):
            q = q + (share - (y @ q) / (y @ s)) * s
        return q


@public
def lbfgs(feval: Feval, x: TensorLike, max_iter: int = 200, tolerance_grad: float = 1e-7,
          tolerance_change: float = 1e-15, history_size: int = 100) -> Optimum:
    """L-BFGS: the inverse Hessian as the last changes of the gradient (Liu and Nocedal, 1989).

    :like: cg
    :param history_size: How many changes are kept.
    :see: optim.LBFGS, optim.flat.bfgs, optim.flat.cg

    >>> def rosenbrock(x):
    ...     return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    >>> found = ag.optim.flat.lbfgs(
    ...     lambda x: ag.value_and_grad(rosenbrock)(ag.tensor(x)), [-1.2, 1.0])
    >>> found.x.round(6)
    array([1., 1.])
    """
    memory = Memory(history_size)

    def direction(line: Line, before: Any) -> np.ndarray:
        if before is not None:
            memory.note(line.x - before[0], line.gradient - before[2])
        return memory.direction(line.gradient)

    return minimised(Line(feval, x), direction, max_iter, tolerance_grad, tolerance_change, 0.9)
