"""A second process reads the rules alone by which a first one found stable forms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agnesi.rewrite import library

PROGRAM = """
import json, sys
sys.path[:0] = {path!r}
import agnesi as ag

x = ag.tensor([-800.0, -1.0, 2.0, 800.0], dtype=ag.float64)
for loss in {losses!r}:
    f = eval("lambda x: (" + loss + ").sum()")
    found = [ag.jit(ag.grad(f))(x).tolist() for _ in range(2)]
    print(json.dumps([found, sorted(m for m in sys.modules if m.startswith("agnesi.rewrite."))]))
"""
#: The first has no form.
LOSSES = ("ag.log(x * x + 3)", "ag.log(1 + ag.exp(x))", "ag.log(ag.sigmoid(x))",
          "ag.sqrt(x * x + 1) - 1")


def _run(folder: Path, *losses: str, cache: str = "1") -> list[Any]:
    """For each loss two gradients, and the modules of rules that a process has read by then."""
    code = PROGRAM.format(path=[p for p in sys.path if p], losses=losses)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "AGNESI_CACHE_DIR": str(folder), "AGNESI_CACHE": cache},
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(found, {f"agnesi.rewrite.{name}" for name in library._FILES} & {*modules})
            for found, modules in lines]


def test_second_process(tmp_path: Path) -> None:
    first, second, without = (_run(tmp_path, *LOSSES, cache=cache) for cache in ("1", "1", "0"))
    for (slopes, every), (again, few), (alone, _) in zip(first, second, without, strict=True):
        assert again == slopes == alone and again[0] == again[1]
        assert len(few) < len(every) / 2
    assert [bool(few) for _, few in second] == [False, True, True, True]


def test_equal_graphs_of_other_numbers_have_forms_of_their_own(tmp_path: Path) -> None:
    """One is no number around which digits are lost, and has no form."""
    two, one = _run(tmp_path, "ag.log(2 + ag.exp(x))", "ag.log(1 + ag.exp(x))")
    assert two[0] != one[0]
    ((slopes, _), few), = _run(tmp_path, "ag.log(1 + ag.exp(x))")
    assert slopes == pytest.approx([0.0, 0.2689414213699951, 0.8807970779778823, 1.0]) and few
