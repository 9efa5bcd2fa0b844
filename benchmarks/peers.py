"""The libraries that take part, imported when first asked for and held to a number of threads."""

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType
from typing import Any

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",  # these two set the size of XLA's pools, which its own thread flag does not
    "PJRT_NPROC",
)

RELEASED = ("numpy", "llvmlite", "scipy", "torch", "jax", "jaxlib", "optax", "pytensor", "numexpr")


def environment(threads: int) -> dict[str, str]:
    """The variables that hold every library of a new process to so many threads."""
    # OpenBLAS chooses its kernels by the processor, whatever the shell says.
    env = {k: v for k, v in os.environ.items()
           if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    env.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    if threads == 1:
        # With one thread this spares XLA's small matrix products a hand-over to its pool.
        alone = "--xla_cpu_multi_thread_eigen=false"
        env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} {alone}".strip()
    # Installed libraries bring their bytecode; ours, run from the source tree, may keep its own.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTENSOR_FLAGS"] = f"{env.get('PYTENSOR_FLAGS', '')},floatX=float32".lstrip(",")
    env["JAX_PLATFORMS"] = "cpu"
    env["JAX_ENABLE_X64"] = "true"
    # Without the hand-over to another thread JAX is faster wherever one waits for the result.
    env["JAX_CPU_ENABLE_ASYNC_DISPATCH"] = "false"
    # OpenBLAS' idle threads spin for 2**26 ticks by default, in their neighbour's time slot.
    env["OPENBLAS_THREAD_TIMEOUT"] = "20"
    return env


def thread_count() -> int:
    """The number of threads that this process was started for."""
    return int(os.environ.get("OMP_NUM_THREADS", "1"))


@cache
def agnesi() -> ModuleType:
    import agnesi as ag

    ag.set_num_threads(thread_count())
    return ag


@cache
def torch() -> ModuleType:
    import torch

    torch.set_num_threads(thread_count())
    torch.set_num_interop_threads(1)
    torch.set_grad_enabled(False)
    return torch


@cache
def jax() -> ModuleType:
    import jax

    return jax


@cache
def numexpr() -> ModuleType:
    import numexpr

    numexpr.set_num_threads(thread_count())
    return numexpr


@cache
def pytensor() -> ModuleType:
    import pytensor

    return pytensor


def pytensor_function(inputs: list[Any], output: Any, linker: str, updates: Any = None) -> Any:
    """A PyTensor function in its fastest form: nothing checked, nothing copied."""
    pt = pytensor()
    fn = pt.function(
        [pt.In(x, borrow=True) for x in inputs],
        pt.Out(output, borrow=True),
        updates=updates,
        mode=pt.compile.mode.Mode(linker=linker, optimizer="fast_run"),
    )
    fn.trust_input = True
    return fn


def jax_arrays(*arrays: Any) -> tuple[Any, ...]:
    return tuple(jax().numpy.asarray(a) for a in arrays)


def jax_waiting(fn: Any) -> Any:
    """A jitted function that returns when its result is there."""
    jitted = jax().jit(fn)
    return lambda *args: jitted(*args).block_until_ready()


def versions() -> dict[str, str]:
    """Which release of each library took part."""
    from importlib import metadata

    found = {"python": sys.version.split()[0]}
    for name in RELEASED:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "missing"
    return found
