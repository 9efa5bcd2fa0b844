"""A few of the attacks of ``make hostile``."""

import re
import subprocess
import sys

import pytest

from tests.hostile.users import may_switch

ATTEMPTS = {"kills": 3, "crowd": 2, "mutations": 16, "interrupts": 4, "forks": 2, "ends": 4,
            "disks": 2}


def attack(attempts):
    """What is printed of so many attempts; none may fail."""
    options = [o for name, n in attempts.items() for o in ("--only", name, f"--{name}", str(n))]
    found = subprocess.run([sys.executable, "-m", "tests.hostile", *options], text=True,
                           capture_output=True, timeout=60 + 10 * sum(attempts.values()))
    assert found.returncode == 0, found.stdout + found.stderr
    done = re.findall(r": (\d+) attempts, 0 failed", found.stdout)
    assert [*map(int, done)] == [*attempts.values()]


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no fork")
def test_attacks():
    """In one process after the other: much is loaded before the first."""
    attack({**ATTEMPTS, **({"users": 3} if may_switch() else {})})
