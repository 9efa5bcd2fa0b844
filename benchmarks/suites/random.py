"""Random numbers: ten million uniform and normal ones, and some distributions that reject."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import Case, Contender, Context, Result

TITLE = "random numbers: 10 000 000 uniform and normal, 1 000 000 of other distributions"
THREADS = (1,)
MANY, FEWER = 10_000_000, 1_000_000
#: What must agree: mean and deviation, to the accuracy that so many numbers have.
_TOLERANCE = 0.02


def run(context: Context) -> list[Result]:
    return context.measure_all([
        _case("uniform float32", MANY, (0.5, 12**-0.5), "uniform", lambda g: g.random,
              lambda torch: torch.rand, lambda random: random.uniform, goal=2.0, rivals=("numpy",)),
        _case("uniform float32, others", MANY, (0.5, 12**-0.5), "uniform", None,
              lambda torch: torch.rand, lambda random: random.uniform, goal=1.0),
        _case("normal float32", MANY, (0.0, 1.0), "normal", lambda g: g.standard_normal,
              lambda torch: torch.randn, lambda random: random.normal, goal=2.0, rivals=("numpy",)),
        _case("normal float32, others", MANY, (0.0, 1.0), "normal", None,
              lambda torch: torch.randn, lambda random: random.normal, goal=1.0),
        _case("exponential float32", FEWER, (1.0, 1.0), "exponential",
              lambda g: g.standard_exponential, None, lambda random: random.exponential),
        _case("gamma(2.5) float32", FEWER, (2.5, 2.5**0.5), "gamma",
              lambda g: lambda n, dtype: g.standard_gamma(2.5, n, dtype), None,
              lambda random: lambda key, **of: random.gamma(key, 2.5, **of)),
    ])


Maker = Callable[[Any], Callable[..., Any]] | None


def _case(name: str, n: int, moments: tuple[float, float], ours: str, of_numpy: Maker,
          of_torch: Maker, of_jax: Maker, goal: float | None = None,
          rivals: tuple[str, ...] | None = None) -> Case:
    """Numbers of a distribution; what is compared are their mean and deviation."""
    contenders = {
        "agnesi": lambda: _agnesi(ours, n, compiled=True),
        "agnesi eager": lambda: _agnesi(ours, n, compiled=False),
    }
    if of_numpy:
        draw = of_numpy(np.random.default_rng(0))
        contenders["numpy"] = lambda: _contender(lambda: draw(n, dtype=np.float32))
    if of_torch:
        contenders["torch"] = lambda: _torch(of_torch, n)
    if of_jax:
        contenders["jax"] = lambda: _jax(of_jax, n)
    return Case(
        f"{name} {n}", lambda: np.array(moments, np.float32), contenders,
        rtol=_TOLERANCE, atol=_TOLERANCE, bytes=4 * n, goal=goal, rivals=rivals,
    )


def _contender(draw: Callable[[], Any]) -> Contender:
    def moments() -> np.ndarray:
        x = np.asarray(draw())
        if x.dtype != np.float32:
            raise ValueError(f"{x.dtype} instead of float32")
        return np.array([x.mean(dtype=np.float64), x.std(dtype=np.float64)], np.float32)

    return Contender(draw, answer=moments)


def _agnesi(name: str, n: int, compiled: bool) -> Contender:
    ag = peers.agnesi()
    ag.manual_seed(0)
    draw = {
        "uniform": lambda: ag.random.uniform(size=n), "normal": lambda: ag.random.normal(size=n),
        "exponential": lambda: ag.random.exponential(size=n),
        "gamma": lambda: ag.random.standard_gamma(2.5, n),
    }[name]
    return _contender(ag.jit(draw) if compiled else draw)


def _torch(maker: Callable[[Any], Callable[..., Any]], n: int) -> Contender:
    draw = maker(peers.torch())
    return _contender(lambda: draw(n))


def _jax(maker: Callable[[Any], Callable[..., Any]], n: int) -> Contender:
    random = peers.jax().random
    draw = maker(random)
    fn = peers.jax_waiting(lambda key: draw(key, shape=(n,), dtype=np.float32))
    key = random.PRNGKey(0)
    return _contender(lambda: fn(key))
