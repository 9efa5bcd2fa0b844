"""The table of rows names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


def test_every_test_in_the_table_exists():
    named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", TABLE)
    assert len(named) > 80
    for path, test in named:
        file = ROOT / path if path.startswith("tests/") else Path(__file__).parent / path
        assert file.exists() and f"def {test}" in file.read_text(encoding="utf-8"), (path, test)


def test_every_row_is_there_once():
    rows = re.findall(r"^\| ([MCLTFH]\d+) \|", TABLE, re.M)
    assert len(rows) == len(set(rows)) > 55
