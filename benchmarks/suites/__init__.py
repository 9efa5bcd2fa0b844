"""The suites by name, in the order of the report; each module offers TITLE, THREADS and run()."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

NAMES = (
    "calls",
    "elementwise",
    "rows",
    "reductions",
    "masks",
    "sparse",
    "matmul",
    "mlp_jit",
    "mlp_eager",
    "steps_eager",
    "conv",
    "layers",
    "convnets_small",
    "convnets",
    "language",
    "scan",
    "vmap",
    "programs",
    "random",
    "densities",
    "science", "theano_programs",
    "shapes",
    "memory",
    "compile",
    "optimizers",
    "hierarchy",
    "generate",
    "loader",
    "checkpoint",
    "trainer",
    "estimators",
    "imports",
    "python_threads",
    "collectives",
    "eager_op", "eager_calls",
    "seeds",
)


def load(name: str) -> ModuleType:
    """The module of a suite."""
    return import_module(f"benchmarks.suites.{name}")
