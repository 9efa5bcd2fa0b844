"""Runs the suites, each in a process of its own for each number of threads, and reports.

    python -m benchmarks [--quick] [--threads 1,2] [--cases regex] [suite ...]

What `--cases` chose from is printed only: the results that are kept are of whole suites.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import peers, picture, recorded, report, suites
from benchmarks.harness import Result

Table = tuple[str, list[Result]]
RESULTS = Path(__file__).parent / "results"
#: The picture of all suites, which the README shows: of their newest results.
PICTURE = Path(__file__).parents[1] / "docs" / "speed.svg"
#: Suites without a result that the picture may name instead.
MAX_MISSING = 2


def main() -> int:
    args = parse(sys.argv[1:])
    machine = describe_machine()
    print(f"{machine['cpu']}, {machine['cores']} cores")
    print(", ".join(f"{name} {version}" for name, version in machine["libraries"].items()))
    path = RESULTS / f"bench-{time.strftime('%Y%m%d-%H%M%S')}.json"
    with tempfile.TemporaryDirectory() as folder:
        keep = partial(write, path, machine, args.quick) if not args.cases else lambda *_: None
        tables = measure(args, Path(folder), keep)
    print("\n" + report.summary(tables))
    if scaled := report.scaling(tables):
        print("\n" + scaled)
    if args.cases:
        return 0
    print(f"\nwritten to {path.relative_to(RESULTS.parents[1])}")
    newest, missing = recorded.newest(RESULTS, machine["cpu"])
    if len(missing) > MAX_MISSING:
        print(f"no picture: this processor has no results yet of {', '.join(missing)}")
    else:
        PICTURE.write_text(picture.draw(newest, machine["cpu"], missing))
    return 0


def measure(args: argparse.Namespace, folder: Path,
            keep: Callable[[Sequence[Any], Sequence[Table]], None]) -> list[Table]:
    """Results for each number of threads, every table printed and kept when it is there."""
    limits: list[dict[str, Any]] = []
    tables: list[Table] = []
    for threads in args.threads:
        chosen = [(name, suites.load(name)) for name in args.suites]
        chosen = [(name, suite) for name, suite in chosen if threads in suite.THREADS]
        if chosen:
            limits.append(work("limits", threads, args, folder))
            print_limits(limits[-1])
        for name, suite in chosen:
            rows = work(name, threads, args, folder)
            if rows:
                tables.append((suite.TITLE, [Result(**row) for row in rows]))
                print("\n" + report.suite_table(*tables[-1]), flush=True)
                keep(limits, tables)
    return tables


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="suite", help=", ".join(suites.NAMES))
    parser.add_argument("--quick", action="store_true", help="fewer sizes and rounds")
    parser.add_argument("--threads", help="such as 1 or 1,2; default: 1, and 2 where possible")
    parser.add_argument("--cases", default="", metavar="REGEX", help="only cases of such a name")
    args = parser.parse_args(argv)
    unknown = sorted(set(args.suites) - set(suites.NAMES))
    if unknown:
        parser.error(f"no such suite: {', '.join(unknown)}; there are {', '.join(suites.NAMES)}")
    args.suites = args.suites or list(suites.NAMES)
    chosen = args.threads or ("1,2" if (os.cpu_count() or 1) > 1 else "1")
    args.threads = [int(number) for number in chosen.split(",")]
    return args


def work(suite: str, threads: int, args: argparse.Namespace, folder: Path) -> Any:
    """What a worker process measured, or None where it died (its own words are on stderr)."""
    out, limits = folder / f"{suite}-{threads}.json", folder / f"limits-{threads}.json"
    command = [sys.executable, "-m", "benchmarks.worker", suite, "--out", str(out)]
    command += ["--limits", str(limits)] if limits.exists() else []
    command += ["--quick"] if args.quick else []
    command += ["--cases", args.cases] if args.cases else []
    started = time.perf_counter()
    done = subprocess.run(command, env=peers.environment(threads), check=False)
    if done.returncode:
        print(f"\n{suite} with {threads} threads ended with status {done.returncode}")
        return None
    print(f"[{suite}, {threads} threads: {time.perf_counter() - started:.0f} s]", file=sys.stderr)
    return json.loads(out.read_text())


def print_limits(limits: dict[str, Any]) -> None:
    """The peaks that `% of limit` refers to."""
    flops = ", ".join(f"{d} {rate / 1e9:.0f} GFLOP/s" for d, rate in limits["flops"].items())
    curve = [(int(size), rate) for size, rate in limits["bandwidth"].items()]
    chosen = [curve[0], curve[len(curve) // 2], curve[-1]]
    moves = ", ".join(f"{rate / 1e9:.0f} GB/s in {size >> 10} KiB" for size, rate in chosen)
    print(f"\nmeasured limits, threads {limits['threads']}: {flops}; {moves}")


def describe_machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "libraries": peers.versions(),
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def write(path: Path, machine: Any, quick: bool, limits: Sequence[Any],
          tables: Sequence[Table]) -> None:
    """All results so far as JSON, for the record and for comparing runs."""
    path.parent.mkdir(exist_ok=True)
    cases = [
        {**vars(r), "title": title, "ratio": r.ratio, "best_peer": r.best_peer, "met": r.met}
        for title, results in tables
        for r in results
    ]
    content = {"machine": machine, "quick": quick, "limits": limits, "cases": cases}
    path.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    sys.exit(main())
