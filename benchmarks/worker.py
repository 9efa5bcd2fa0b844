"""One process, one suite, one number of threads: `python -m benchmarks.worker` writes JSON.

Started by `benchmarks.__main__` with the environment that holds every library to its threads.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks import limits, peers, report, suites
from benchmarks.harness import Context, Result

#: A row that comes so many seconds behind the one shown last is shown before its table is there.
PATIENCE = 10.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", choices=[*suites.NAMES, "limits"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limits", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cases", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    # A step of ours that is not compiled is no contender.
    warnings.filterwarnings("error", r".* runs eagerly", RuntimeWarning)
    logging.disable(logging.WARNING)
    threads = peers.thread_count()
    if args.suite == "limits":
        args.out.write_text(json.dumps(limits.measure(threads)))
        return
    context = Context(args.suite, threads, args.quick, note=note, done=shown(), cases=args.cases)
    if args.limits:
        known = json.loads(args.limits.read_text())
        context.bound = lambda nbytes, flops, dtype: limits.bound(known, nbytes, flops, dtype)
    results = suites.load(args.suite).run(context)
    args.out.write_text(json.dumps([asdict(result) for result in results]))
    note("")


def note(text: str) -> None:
    """Shows on a terminal what is being measured now."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K  {text}", end="", file=sys.stderr, flush=True)


def shown() -> Callable[[Result], None]:
    """What shows rows that were long in coming, beside the table to which they belong."""
    last = time.monotonic()

    def show(result: Result) -> None:
        nonlocal last
        if time.monotonic() - last >= PATIENCE:
            note("")
            print(f"  {report.line(result)}", file=sys.stderr, flush=True)
            last = time.monotonic()

    return show


if __name__ == "__main__":
    main()
