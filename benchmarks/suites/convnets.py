"""AlexNet, OverFeat, VGG-A, GoogLeNet, ResNet-50: forward, with gradients, and the full step."""

from __future__ import annotations

from benchmarks.harness import Case, Context, Result
from benchmarks.models import convnets
from benchmarks.suites import _training
from benchmarks.suites.convnets_small import task_of

TITLE = "ImageNet convnets, jit"
THREADS = (1, 2)
GOAL = 1.2


def run(context: Context) -> list[Result]:
    return [
        context.measure(_case(net, part, context.quick))
        for net in convnets.IMAGENET for part in _training.PARTS
    ]


def _case(net: convnets.Net, part: str, quick: bool) -> Case:
    """Quickly, gradients alone without `torch.compile`, whose figures are those of the step."""
    task = task_of(net, part)
    compiled = not quick or part != "backward"
    return Case(
        f"{net.name} batch {net.batch}, {part}",
        _training.expected(task),
        _training.contenders(task, compiled),
        rtol=1e-2,
        atol=1e-3,
        goal=GOAL,
        items=net.batch,
    )
