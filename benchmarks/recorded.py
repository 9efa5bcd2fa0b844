"""What earlier runs wrote: the newest results of every suite, so that suites can run one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from benchmarks import suites
from benchmarks.harness import Result

_FIELDS = frozenset(f.name for f in fields(Result))
Table = tuple[str, list[Result]]


def newest(folder: Path, cpu: str) -> tuple[list[Table], Sequence[str]]:
    """Results of one thread on a processor, the newest of each suite.

    Parameters
    ----------
    folder : Path
        Where ``python -m benchmarks`` writes.
    cpu : str
        The processor's name; files from others are left out.

    Returns
    -------
    tables : list of (str, list of Result)
        Title and results of each suite.
    missing : sequence of str
        The suites that no file has.
    """
    tables: dict[str, list[Result]] = {}
    missing = {name for name in suites.NAMES if 1 in suites.load(name).THREADS}
    for path in sorted(folder.glob("bench-*.json"), reverse=True):
        content = json.loads(path.read_text())
        if content["machine"]["cpu"] != cpu:
            continue
        fresh: dict[str, list[Result]] = {}
        for case in content["cases"]:
            if case["threads"] == 1 and case["title"] not in tables:
                result = Result(**{k: v for k, v in case.items() if k in _FIELDS})
                fresh.setdefault(case["title"], []).append(result)
        tables.update(fresh)
        missing -= {result.suite for results in fresh.values() for result in results}
    return [*tables.items()], sorted(missing)
