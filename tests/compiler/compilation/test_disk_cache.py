"""The compile cache: a second process compiles nothing, and processes may race."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agnesi.compiler.library import functions
from agnesi.core.support.config import config
from agnesi.runtime import machine

PROGRAM = """
import json, sys, time
sys.path[:0] = {path!r}
import numpy as np
import agnesi as ag
from agnesi.runtime import machine

rng = np.random.default_rng(0)
w = ag.tensor(rng.normal(size=(20, 10)), requires_grad=True)
x, y = ag.tensor(rng.normal(size=(6, 20))), ag.tensor(rng.integers(0, 10, 6))

@ag.jit
def step(x, y, lr):
    w.grad = None
    loss = ag.cross_entropy(x @ w, y)
    loss.backward()
    with ag.no_grad():
        w.sub_(w.grad, alpha=lr)
    return loss

sorts = ag.jit(lambda x: ag.sort(x * 2, 1) + 1)
losses = [step(x, y, 0.1).item() for _ in range(3)]
stages = set()
for s in (*step.specialisations, *sorts.specialisations):
    stages |= set(s.seconds)
print(json.dumps([losses, float(sorts(x).sum().item()), "agnesi.runtime.llvm_api" in sys.modules,
                  sorted(stages)]))
"""


def start(folder: Path) -> subprocess.Popen[str]:
    code = PROGRAM.format(path=[p for p in sys.path if p])
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "AGNESI_CACHE_DIR": str(folder), "AGNESI_CACHE": "1"},
    )


def finish(process: subprocess.Popen[str]) -> Any:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return json.loads(out)


def test_a_second_process_compiles_nothing(tmp_path):
    folder = tmp_path / "agnesi"
    first = finish(start(folder))
    entries = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    second = finish(start(folder))
    assert second[:2] == first[:2]
    assert first[2] and not second[2]  # LLVM is not even loaded
    assert "emit" in first[3] and "emit" not in second[3] and "recall" in second[3]
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == entries


@pytest.mark.long
def test_processes_that_start_together(tmp_path):
    folder = tmp_path / "agnesi"
    found = [finish(p) for p in [start(folder) for _ in range(4)]]
    assert all(f[:2] == found[0][:2] for f in found)
    assert not [p for p in folder.iterdir() if p.suffix == ".tmp"]


def test_functions_of_ours_are_found_without_code_generation(tmp_path, monkeypatch):
    asked = "blocks", "int64", machine.native()
    with config(cache_dir=str(tmp_path / "agnesi"), cache=True):
        made = functions._text(*asked)
        monkeypatch.setattr(functions, "import_module", None)
        assert functions._text(*asked) == made
