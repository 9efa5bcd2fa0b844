"""Log-densities with gradients in float64, as samplers call them; the cost of compiling them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result
from benchmarks.models import densities
from benchmarks.models.densities import Density

TITLE = "log-densities with gradients, float64"
THREADS = (1,)
#: The densities and how many times the best peer's speed they should have.
GOALS: dict[Callable[[], Density], float] = {
    densities.eight_schools: 3.0,
    densities.radon: 3.0,
    densities.logistic: 3.0,
    densities.gaussian_process: 1.2,
}
#: Seconds that the first call takes over a later one: cold, and in a second process.
COLD, WARM = 1.0, 0.05


def run(context: Context) -> list[Result]:
    results = context.measure_all(
        _case(make(), goal, context.quick) for make, goal in GOALS.items()
    )
    for make in GOALS:
        results += _compiled(context, make.__name__, make().name)
    return results


def _case(density: Density, goal: float, quick: bool) -> Case:
    contenders = {
        OURS: lambda: with_agnesi(density),
        "jax": lambda: _jax(density),
        "pytensor": lambda: _pytensor(density),
        "torch": lambda: _torch(density, compiled=False),
    }
    if not quick:
        contenders["torch.compile"] = lambda: _torch(density, compiled=True)
    return Case(density.name, density.expect, contenders, rtol=1e-6, atol=1e-6, dtype="float64",
                goal=goal)


# ------------------------------------------------------------------------------------ contenders
def with_agnesi(density: Density) -> Contender:
    ag = peers.agnesi()
    fn = ag.jit(ag.value_and_grad(density.function(_agnesi_names(ag), ag.tensor)))
    return Contender(fn, (ag.tensor(density.point),))


def _agnesi_names(ag: Any) -> Any:
    return SimpleNamespace(
        exp=ag.exp, log=ag.log, log1p=ag.log1p, softplus=ag.softplus, diagonal=ag.diagonal,
        sum=ag.sum, cholesky=lambda a: ag.linalg.cholesky(a),
        solve_lower=lambda a, b: ag.linalg.solve_triangular(a, b, lower=True),
    )


def _jax(density: Density) -> Contender:
    jax = peers.jax()
    np = jax.numpy
    names = SimpleNamespace(
        exp=np.exp, log=np.log, log1p=np.log1p, softplus=jax.nn.softplus, diagonal=np.diagonal,
        sum=np.sum, cholesky=np.linalg.cholesky,
        solve_lower=lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
    )
    fn = jax.jit(jax.value_and_grad(density.function(names, np.asarray)))
    (q,) = peers.jax_arrays(density.point)
    return Contender(lambda: jax.block_until_ready(fn(q)))


def _pytensor(density: Density) -> Contender:
    pt = peers.pytensor()
    tt = pt.tensor
    names = SimpleNamespace(
        exp=tt.exp, log=tt.log, log1p=tt.log1p, softplus=tt.softplus, diagonal=tt.diagonal,
        sum=tt.sum, cholesky=tt.linalg.cholesky,
        solve_lower=lambda a, b: tt.linalg.solve_triangular(a, b, lower=True),
    )
    q = tt.vector("q", dtype="float64", shape=density.point.shape)
    value = density.function(names, tt.as_tensor)(q)
    results = [pt.Out(result, borrow=True) for result in (value, pt.grad(value, q))]
    fn = pt.function([pt.In(q, borrow=True)], results, mode="NUMBA")
    fn.trust_input = True
    return Contender(fn, (density.point,))


def _torch(density: Density, compiled: bool) -> Contender:
    torch = peers.torch()
    names = SimpleNamespace(
        exp=torch.exp, log=torch.log, log1p=torch.log1p, diagonal=torch.diagonal, sum=torch.sum,
        softplus=torch.nn.functional.softplus, cholesky=torch.linalg.cholesky,
        solve_lower=lambda a, b: torch.linalg.solve_triangular(a, b[:, None], upper=False)[:, 0],
    )
    value = density.function(names, torch.from_numpy)
    value = torch.compile(value) if compiled else value
    q = torch.from_numpy(density.point).requires_grad_(True)

    def both() -> Any:
        with torch.enable_grad():
            y = value(q)
            (g,) = torch.autograd.grad(y, q)
        return y.detach(), g

    return Contender(both)


# ------------------------------------------------------------------------------------- compiling
def _compiled(context: Context, maker: str, name: str) -> list[Result]:
    """Our first call in a new process, without the cache's help and with it."""
    first = Result.empty(context, f"{name}, cold", limit=COLD)
    second = Result.empty(context, f"{name}, second process", limit=WARM)
    context.note(f"{name}, compiling")
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "AGNESI_CACHE_DIR": folder}
            for result in (first, second):
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.suites.densities", maker],
                    env=environment, capture_output=True, text=True, check=False,
                )
                if done.returncode:
                    result.absent[OURS] = done.stderr.strip().splitlines()[-1]
                    return [first, second]
                result.add(OURS, [json.loads(done.stdout)])
    return [first, second]


def _first_call(maker: str) -> float:
    """Seconds of the first call in this process beyond those of a later one."""
    contender = with_agnesi(getattr(densities, maker)())
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        contender.fn(*contender.args)
        seconds.append(time.perf_counter() - start)
    return seconds[0] - min(seconds[1:])


if __name__ == "__main__":
    print(json.dumps(_first_call(*sys.argv[1:])))
