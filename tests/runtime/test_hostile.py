"""A few of the attacks of ``make hostile``, in processes of their own."""

import re
import subprocess
import sys

import pytest

from tests.hostile.users import may_switch

ATTEMPTS = {"kills": 6, "crowd": 4, "mutations": 60, "interrupts": 20, "forks": 6, "users": 6}


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork")
@pytest.mark.parametrize("name", ATTEMPTS)
def test_attacks(name):
    attempts = ATTEMPTS[name]
    if name == "users" and not may_switch():
        pytest.skip("this process cannot become another user")
    found = subprocess.run(
        [sys.executable, "-m", "tests.hostile", "--only", name, f"--{name}", str(attempts)],
        capture_output=True, text=True, timeout=60 + 10 * attempts)
    assert found.returncode == 0, found.stdout + found.stderr
    assert re.search(rf": {attempts} attempts, 0 failed", found.stdout)
