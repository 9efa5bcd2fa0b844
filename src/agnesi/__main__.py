"""The command line: ``agnesi cache show``, ``agnesi launch -n 2 train.py``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from agnesi.compiler.control import cache_report, clear_cache


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says.

    Examples
    --------
    >>> import agnesi as ag
    >>> from agnesi.__main__ import main
    >>> with ag.config(cache=False):
    ...     main(["cache", "clear"])
    0 entries removed
    """
    parser = _Parser(prog="agnesi", description=__doc__)
    subjects = parser.add_subparsers(required=True, metavar="subject", dest="subject")
    cache = subjects.add_parser("cache", help="compiled code on disk")
    cache.add_argument("what", choices=("show", "clear"),
                       help="what is there, and what of it is not read; or remove all of it")
    _add_launch(subjects.add_parser("launch", help="one program in several processes"))
    given = parser.parse_args(arguments)
    if given.subject == "launch":
        _launch(given)
    elif given.what == "show":
        print(cache_report())
    else:
        print(clear_cache(), "entries removed")


#: Parts of other launchers' options, and what is written here.
_MEANT = {"nproc": "-n 2", "-np": "-n 2", "max-restarts": "--restarts 3",
          "log-dir": "--logs folder",
          "nnodes": "`mpiexec -n 8 -hosts a,b python train.py` for several machines"}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors name our options in place of those of other launchers."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        for word in given[1:] if given[:1] == ["launch"] else ():
            if not word.startswith("-"):
                break
            for known, meant in _MEANT.items():
                if known in word.partition("=")[0].replace("_", "-"):
                    self.error(f"there is no option {word}; write {meant}")
        return super().parse_args(args, namespace)


def _add_launch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--processes", type=int, default=2, help="how many (2)")
    parser.add_argument("--restarts", type=int, default=0,
                        help="how often a job that failed begins again")
    parser.add_argument("--logs", help="a folder for a file per rank, instead of printing")
    parser.add_argument("--threads", type=int, help="threads of compiled code in each process")
    parser.add_argument("--keep-going", action="store_true", help="the others go on when one fails")
    parser.add_argument("-m", dest="module", action="store_true",
                        help="the program is the name of a module")
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the program")


def _launch(given: Any) -> None:
    launch = import_module("agnesi.distributed.processes.launch").launch
    program = ["-m", given.program] if given.module else [given.program]

    def stop(number: int, frame: object) -> None:
        raise SystemExit(128 + number)  # its processes are asked to end, too

    signal.signal(signal.SIGTERM, stop)
    command = [sys.executable, *program, *given.arguments]
    if os.path.basename(given.program).startswith("python") and not given.program.endswith(".py"):
        command = command[1:]  # as other launchers are called
    try:
        code = launch(command, given.processes,
                      restarts=given.restarts, logs=given.logs, threads=given.threads,
                      keep_going=given.keep_going)
    except KeyboardInterrupt:  # a second one, while processes ended: they are killed
        code = 128 + signal.SIGINT
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
