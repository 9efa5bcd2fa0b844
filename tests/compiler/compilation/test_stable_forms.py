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
found = [ag.jit(ag.grad(lambda x: ({loss}).sum()))(x).tolist() for _ in range(2)]
print(json.dumps([found, sorted(m for m in sys.modules if m.startswith("agnesi.rewrite."))]))
"""


def _run(folder: Path, loss: str, cache: str = "1") -> Any:
    code = PROGRAM.format(path=[p for p in sys.path if p], loss=loss)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "AGNESI_CACHE_DIR": str(folder), "AGNESI_CACHE": cache},
    )
    assert done.returncode == 0, done.stderr
    found, modules = json.loads(done.stdout)
    return found, {f"agnesi.rewrite.{name}" for name in library._FILES} & {*modules}


@pytest.mark.parametrize(("loss", "some"), [
    ("ag.log(x * x + 3)", False), ("ag.log(1 + ag.exp(x))", True), ("ag.log(ag.sigmoid(x))", True),
    ("ag.sqrt(x * x + 1) - 1", True),
])
def test_second_process(tmp_path: Path, loss: str, some: bool) -> None:
    first, every = _run(tmp_path, loss)
    second, few = _run(tmp_path, loss)
    without, _ = _run(tmp_path, loss, "0")
    assert second == first == without and second[0] == second[1]
    assert len(few) < len(every) / 2 and bool(few) is some


def test_equal_graphs_of_other_numbers_have_forms_of_their_own(tmp_path: Path) -> None:
    """One is no number around which digits are lost, and has no form."""
    assert _run(tmp_path, "ag.log(2 + ag.exp(x))")[0] != _run(tmp_path, "ag.log(1 + ag.exp(x))")[0]
    (slopes, _), few = _run(tmp_path, "ag.log(1 + ag.exp(x))")
    assert slopes == pytest.approx([0.0, 0.2689414213699951, 0.8807970779778823, 1.0]) and few
