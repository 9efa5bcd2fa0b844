"""SciPy and scikit-learn compute with tensors through the array API (need 17)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("scipy")
pytest.importorskip("sklearn")
SCRIPT = Path(__file__).with_name("dispatch.py")


def test_scipy_and_scikit_learn_take_tensors():
    run = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert {name: wrong for name, wrong in report.items() if wrong} == {}
    assert len(report) > 60
