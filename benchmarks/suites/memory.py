"""Memory of training steps beyond model and data, against PyTorch's eager mode, and its price."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.harness import OURS, Context, Result
from benchmarks.models import convnets

TITLE = "peak memory of training steps"
THREADS = (1,)
GOAL, TIGHT_GOAL, TIME = 1 / 0.8, 1 / 0.5, 1 / 1.35
#: The part of PyTorch's memory that is planned for where values are computed again.
TIGHT = 0.47
_QUICK = ("MLP", "96x96 batch 60", "AlexNet")


def run(context: Context) -> list[Result]:
    names = _QUICK if context.quick else (
        "MLP", "96x96 batch 60", "256x256 batch 60", *(net.name for net in convnets.IMAGENET)
    )
    return [result for name in names for result in _net(context, name)]


def _net(context: Context, name: str) -> list[Result]:
    """As planned and measured; then in half of PyTorch's memory, and the time that this takes."""
    context.note(name)
    plain = Result.empty(context, name, goal=GOAL, rivals=("torch",), unit="B")
    tight = Result.empty(context, f"{name}, recomputing", goal=TIGHT_GOAL, rivals=("torch",),
                         unit="B")
    price = Result.empty(context, f"{name}, time of it", goal=TIME, rivals=("keeping",))
    try:
        torch, ours = _measured("torch", name), _measured("agnesi", name)
        _fill(plain, ours, torch)
        share = TIGHT * torch["bytes"] / ours["plan"]["arena"]
        if share >= 1:  # it fits without
            return [plain]
        small = _measured("agnesi", name, str(share))
    except RuntimeError as error:
        plain.absent[OURS] = str(error)
        return [plain]
    _fill(tight, small, torch)
    price.add(OURS, [small["seconds"]])
    price.add("keeping", [small["keeping"]])
    return [plain, tight, price]


def _fill(result: Result, ours: dict[str, Any], torch: dict[str, Any]) -> None:
    result.add(OURS, [ours["bytes"]])
    result.add("agnesi planned", [ours["plan"]["arena"] + ours["plan"]["output"]])
    result.add("torch", [torch["bytes"]])


def _measured(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.suites._footprint", *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError("failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
