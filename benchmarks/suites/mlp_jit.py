"""MLP training steps, compiled: SGD on cross-entropy, three nets, batch 1 and 60."""

from __future__ import annotations

from benchmarks.harness import Case, Context, Result
from benchmarks.suites import _mlp

TITLE = "MLP training step, jit"
THREADS = (1, 2)


def run(context: Context) -> list[Result]:
    problems = [_mlp.make(sizes, batch) for sizes in _mlp.NETS for batch in _mlp.BATCHES]
    return context.measure_all(map(_case, problems))


def _case(problem: _mlp.Problem) -> Case:
    dominated_by_products = problem.batch > 1 and len(problem.sizes) > 2
    return Case(
        problem.name,
        lambda: _mlp.with_numpy(problem).answer(),
        {
            "agnesi": lambda: _mlp.with_agnesi(problem, jit=True),
            "numpy": lambda: _mlp.with_numpy(problem),
            "torch": lambda: _mlp.with_torch(problem, _mlp.torch_step),
            "torch short": lambda: _mlp.with_torch(problem, _mlp.torch_short_step),
            "torch.compile": lambda: _mlp.with_torch(problem, _mlp.torch_compiled_step),
            "jax": lambda: _mlp.with_jax(problem),
            "pytensor numba": lambda: _mlp.with_pytensor(problem, "numba"),
            "pytensor c": lambda: _mlp.with_pytensor(problem, "cvm"),
        },
        rtol=1e-4,
        bytes=problem.bytes,
        flops=problem.flops,
        goal=1.15 if dominated_by_products else 2.0,
    )
