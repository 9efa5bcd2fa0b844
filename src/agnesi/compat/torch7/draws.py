"""Torch7's random numbers: of the library's generator, or of one that comes first."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.compat.torch7.maths import FUNCTIONS, RANDOM, Tensor, plain
from agnesi.core.support.errors import typed

__all__ = ["Generator", "getRNGState", "initialSeed", "manualSeed", "seed", "setRNGState"]


class Generator:
    """A source of random numbers of its own, which functions take as their first argument.

    Attributes
    ----------
    seeded : int
        What it began with.
    """

    def __init__(self) -> None:
        self.begin(5489)

    def begin(self, seed: int) -> None:
        """Start again."""
        self.seeded, self.source = int(seed), np.random.default_rng(int(seed))


_INITIAL = [0]


def manualSeed(*args: Any) -> None:
    """Restart random numbers: ``([generator,] seed)``."""
    if isinstance(args[0], Generator):
        args[0].begin(args[1])
    else:
        _INITIAL[0], RANDOM[0] = int(args[0]), np.random.default_rng(int(args[0]))


def seed(generator: Generator | None = None) -> int:
    """Restart random numbers with a seed of the system's, which is returned."""
    found = int(np.random.SeedSequence().entropy) % 2**53  # type: ignore[arg-type]
    manualSeed(*(() if generator is None else (generator,)), found)
    return found


def initialSeed(generator: Generator | None = None) -> int:
    """The seed with which random numbers began."""
    return _INITIAL[0] if generator is None else generator.seeded


def getRNGState(generator: Generator | None = None) -> Any:
    """What :func:`setRNGState` needs to repeat the numbers that come."""
    source = RANDOM[0] if generator is None else generator.source
    return copy.deepcopy(source.bit_generator.state)


def setRNGState(*args: Any) -> None:
    """Go on from a state: ``([generator,] state)``."""
    source = args[0].source if isinstance(args[0], Generator) else RANDOM[0]
    source.bit_generator.state = args[-1]


def _cauchy(source: Any, shape: Any, median: float = 0, sigma: float = 1) -> Any:
    return median + sigma * source.standard_cauchy(shape)


def _random(source: Any, shape: Any, *bounds: int) -> Any:
    low, high = (1, *bounds) if len(bounds) == 1 else bounds or (0, 2**31 - 1)
    return source.integers(low, high, shape, endpoint=True)


def _log_normal(source: Any, shape: Any, mean: float = 1, stdv: float = 2) -> Any:
    """Numbers of this mean and deviation, as Torch7 takes them."""
    spread = np.log1p((stdv / mean) ** 2)
    return source.lognormal(np.log(mean) - spread / 2, np.sqrt(spread), shape)


#: What a distribution's last number must be.
_RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "normal": (lambda v: v >= 0, "the deviation must not be negative"),
    "exponential": (lambda v: v > 0, "the rate must be positive"),
    "bernoulli": (lambda v: 0 <= v <= 1, "p must be in [0, 1]"),
    "geometric": (lambda v: 0 < v <= 1, "p must be in (0, 1]"),
    "cauchy": (lambda v: v > 0, "sigma must be positive"),
    "logNormal": (lambda v: v > 0, "the deviation must be positive"),
}


def _check(name: str, numbers: tuple[Any, ...]) -> None:
    """Refuse numbers that a distribution does not have."""
    for value in numbers:
        if not isinstance(value, (int, float, np.number, np.ndarray)):
            raise TypeError(f"{typed(value)} is no number")
    places = 1 if name in ("exponential", "bernoulli", "geometric") else 2
    allowed, words = _RANGES.get(name, (None, ""))
    if allowed is not None and len(numbers) == places:
        wrong = [v for v in np.ravel(numbers[-1]).tolist() if not allowed(v)]
        if wrong:
            raise ValueError(f"{words}, not {wrong[0]}")


def _drawn(name: str, draw: Callable[..., Any], summary: str) -> None:
    def parts(args: Any) -> tuple[Any, Any]:
        return (args[0].source, args[1:]) if args and isinstance(args[0], Generator) else (
            RANDOM[0], args)

    def function(*args: Any) -> Any:
        source, numbers = parts(args)
        _check(name, numbers)
        return np.asarray(draw(source, (), *numbers)).item()

    def method(self: Tensor, *args: Any) -> Tensor:
        source, given = parts(args)
        numbers = tuple(map(plain, given))  # of tensors an element for each place
        _check(name, numbers)
        self.array[...] = draw(source, self.array.shape, *numbers)
        return self

    for f in (function, method):
        f.__name__ = f.__qualname__ = name
        f.__doc__ = f"{summary}: one, or each element of a tensor in place."
    FUNCTIONS[name] = function
    setattr(Tensor, name, method)


_drawn("uniform", lambda r, s, a=0, b=1: r.uniform(a, b, s), "Uniform numbers")
_drawn("normal", lambda r, s, a=0, b=1: r.normal(a, b, s), "Normal numbers")
_drawn("exponential", lambda r, s, rate=1: r.exponential(1 / rate, s), "Exponential numbers")
_drawn("bernoulli", lambda r, s, p=0.5: (r.random(s) < p) * 1, "Ones with chance p, else zeros")
_drawn("geometric", lambda r, s, p=0.5: r.geometric(p, s), "How many tries a chance p takes")
_drawn("cauchy", _cauchy, "Cauchy numbers")
_drawn("logNormal", _log_normal, "Exponentials of normal numbers, by their own mean and deviation")
_drawn("random", _random, "Whole numbers up to a bound, or between two")
