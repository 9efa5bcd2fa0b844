"""Tries random programs: ``python -m tests.fuzz --programs 20000`` or ``--seconds 45``.

Programs run in processes of their own, so that one that crashes or hangs is found, too.  What fails
is reduced, printed as Python with the rule or pass that it comes from, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from typing import Any

from agnesi.core.support.config import config
from tests.fuzz import uncovered
from tests.fuzz.cases import case, report
from tests.fuzz.check import Failure, Unclear, check, watched
from tests.fuzz.failures.alone import HANGS, ends_badly
from tests.fuzz.failures.watch import Watch

#: Seconds of the processor for which a worker may be silent: it may be reducing a program.
SILENT = 300
#: Programs that run once more where a worker died of none of them alone.
BEFORE = 60
#: So many programs are said at a time.
TOLD = 250
#: Failures that are made small; more are counted.
REPORTED = 25


def worker(options: argparse.Namespace) -> None:
    """Check programs of a seed, telling the number of each before, and what fails."""
    reported = 0
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # LAPACK prints of what it refuses
    with config(verify=True, cache=False):
        for number in range(options.start, options.programs, options.step):
            tell(at=number)
            try:
                with watched():
                    found = case((options.seed, number))
                failure = None if found is None else check(found)
            except Unclear:
                tell(done="unclear")
                continue
            except Exception:
                tell(failed=f"# program {number} could not be made or checked\n"
                            f"{traceback.format_exc()}", done="error")
                continue
            if found is None:
                tell(done="no way")
                continue
            if failure is None:
                tell(done=found.way.name)
                continue
            tell(reducing=failure.kind)
            reported += 1
            text = report(found, failure) if reported <= REPORTED else failure.text
            tell(failed=text, done=found.way.name)


def tell(**what: Any) -> None:
    """A line to whoever started the process."""
    print(json.dumps(what), flush=True)


class Run:
    """Workers side by side until all programs, or the time, are through."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.end = time.monotonic() + options.seconds if options.seconds else float("inf")
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.lock = threading.Lock()

    def all(self) -> None:
        """Start a worker for each job, and another where one ended badly."""
        jobs = [threading.Thread(target=self._job, args=(j,)) for j in range(self.options.jobs)]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()

    def _job(self, job: int) -> None:
        start = job
        while start < self.options.programs and not self._over():
            at = self._watch(self._started(start))
            if at is None:
                return
            self._crashed(at)
            start = at + self.options.jobs

    def _over(self) -> bool:
        return time.monotonic() > self.end or (bool(self.failures) and self.options.first)

    def _started(self, start: int, stop: int | None = None) -> subprocess.Popen[str]:
        options = self.options
        stop = options.programs if stop is None else stop
        return subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz", "--work", "--seed", str(options.seed), "--start",
             str(start), "--step", str(options.jobs), "--programs", str(stop)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def _dies_again(self, number: int) -> bool:
        """Whether a worker dies of the programs up to one, which alone it does not."""
        first = max(number - BEFORE * self.options.jobs, number % self.options.jobs)
        return self._watch(self._started(first, number + 1), quiet=True) is not None

    def _watch(self, process: subprocess.Popen[str], quiet: bool = False) -> int | None:
        """Follow a worker; the number of the program at which it crashed or hung."""
        at, reducing = -1, False
        assert process.stdout is not None
        watch = Watch(process, HANGS)
        for line in process.stdout:
            said = json.loads(line)
            at = said.get("at", at)
            reducing = "reducing" in said
            if "done" in said and not quiet:
                self._note(said)
            if self._over() and not reducing:
                watch.end()
                process.kill()
                process.wait()
                return None
            watch.alive(SILENT if reducing else HANGS)
        watch.end()
        return None if process.wait() == 0 else at

    def _note(self, said: dict[str, Any]) -> None:
        with self.lock:
            self.counts[said["done"]] += 1
            if self.counts.total() % TOLD == 0:
                print(f"# {self.counts.total()} programs", flush=True)
            if "failed" in said:
                self._failed(said["failed"])

    def _failed(self, text: str) -> None:
        self.failures.append(text)
        print(f"\n# failure {len(self.failures)}, SEED={self.options.seed}\n{text}", flush=True)

    def _crashed(self, number: int) -> None:
        """Find out what a program did to its worker, and make it small."""
        found = case((self.options.seed, number))
        how = ends_badly(found) if found is not None else ""
        if found is None or not how:
            again = self._dies_again(number)
            with self.lock:
                self.counts["crash" if again else "died once"] += 1
                if again:
                    self._failed(f"# program {number}: the worker dies of it and programs before; "
                                 "alone the program runs")
            return
        with self.lock:
            self.counts["crash"] += 1
            failure = Failure(how, f"program {number}")
            self._failed(report(found, failure, lambda p: ends_badly(
                type(found)(p, found.way), 20) == how))


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=1 << 40, help="how many programs")
    parser.add_argument("--seconds", type=float, default=0, help="for how long")
    parser.add_argument("--seed", type=int, default=None, help="which programs; of the clock")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--uncovered", type=int, default=0, metavar="PROGRAMS",
                        help="say what so many programs never call, give or nest, and run none")
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    for name in ("--start", "--step"):
        parser.add_argument(name, type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        worker(options)
        return 0
    if options.seed is None:
        options.seed = time.time_ns() // 1000 % (1 << 40)
    print(f"SEED={options.seed} repeats these programs", flush=True)
    if options.uncovered:
        uncovered.show(options.uncovered, options.seed)
        return 0
    run = Run(options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the counts are printed then, too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        run.all()
    run.end = 0
    counts = ", ".join(f"{name} {n}" for name, n in run.counts.most_common())
    print(f"\n{run.counts.total()} programs ({counts}); {len(run.failures)} failures")
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
