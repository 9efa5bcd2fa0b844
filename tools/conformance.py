"""Runs the public tests of the array API standard, data-apis/array-api-tests, on agnesi.

They are on no package index, so git fetches them, at a fixed commit, into ``build/``.
``make conformance`` calls this; arguments go to pytest.  ``--jit`` compiles every call.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUITE = ROOT / "build" / "array-api-tests"
SOURCE = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
#: A mistake of the suite: pairs without a promotion are None there, which equals NumPy's float64.
WRONG = "if dh.promotion_table.get((_from, other)) == to:"
RIGHT = "if (_from, other) in dh.promotion_table and dh.promotion_table[_from, other] == to:"

#: Quotients of infinities are those of Python and NumPy: nobody rounds them as the standard says.
OURS = [f"array_api_tests/test_special_cases.py::{test}(" for test in (
    "test_binary[floor_divide", "test_binary[__floordiv__", "test_iop[__ifloordiv__",
)]


def git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(SUITE), *arguments], check=True)


def fetch() -> None:
    """The suite at its commit, with the standard as its submodule."""
    if not (SUITE / "array-api" / "spec").exists():
        SUITE.mkdir(parents=True, exist_ok=True)
        git("init", "--quiet")
        git("fetch", "--quiet", "--depth=1", SOURCE, COMMIT)
        git("checkout", "--quiet", "FETCH_HEAD")
        git("submodule", "--quiet", "update", "--init", "--depth=1")
    test = SUITE / "array_api_tests" / "test_data_type_functions.py"
    test.write_text(test.read_text().replace(WRONG, RIGHT))


def main(arguments: list[str]) -> int:
    """Fetch what is missing, and run the tests."""
    fetch()
    jit = "--jit" in arguments
    command = [
        sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider",
        "--disable-deadline", *(f"--deselect={test}" for test in OURS),
        *(a for a in arguments if a != "--jit"),
    ]
    environment = {
        **os.environ, "ARRAY_API_TESTS_MODULE": "jitted" if jit else "agnesi",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tools"), *sys.path]),
    }
    return subprocess.run(command, cwd=SUITE, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
