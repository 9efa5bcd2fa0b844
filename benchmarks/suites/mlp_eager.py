"""The same MLP training steps run at once, one operation after the other."""

from __future__ import annotations

from benchmarks.harness import Case, Context, Result
from benchmarks.suites import _mlp, steps_eager

TITLE = "MLP training step, eager"
THREADS = (1, 2)


def run(context: Context) -> list[Result]:
    problems = [_mlp.make(sizes, batch) for sizes in _mlp.NETS for batch in _mlp.BATCHES]
    return context.measure_all(map(_case, problems))


def _case(problem: _mlp.Problem) -> Case:
    return Case(
        problem.name,
        lambda: _mlp.with_numpy(problem).answer(),
        {
            "agnesi": lambda: steps_eager.warmed(_mlp.with_agnesi(problem, jit=False)),
            "numpy": lambda: _mlp.with_numpy(problem),
            "torch": lambda: _mlp.with_torch(problem, _mlp.torch_step),
            "torch short": lambda: _mlp.with_torch(problem, _mlp.torch_short_step),
        },
        rtol=1e-4,
        bytes=problem.bytes,
        flops=problem.flops,
        goal=1.0,
        rivals=("torch", "torch short"),
    )
