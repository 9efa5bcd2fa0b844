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
    parts = ("step",) if context.quick else _training.PARTS
    return [context.measure(_case(net, part)) for net in convnets.IMAGENET for part in parts]


def _case(net: convnets.Net, part: str) -> Case:
    task = task_of(net, part)
    return Case(
        f"{net.name} batch {net.batch}, {part}",
        _training.expected(task),
        _training.contenders(task),
        rtol=1e-2,
        atol=1e-3,
        goal=GOAL,
        items=net.batch,
    )
