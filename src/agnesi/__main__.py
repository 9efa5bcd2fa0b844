"""What there is to ask and do from a shell: ``python -m agnesi cache show``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from agnesi.compiler.control import cache_report, clear_cache


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says.

    Examples
    --------
    >>> from agnesi.__main__ import main
    >>> main(["cache", "clear"])
    0 entries removed
    """
    parser = argparse.ArgumentParser(prog="python -m agnesi", description=__doc__)
    subjects = parser.add_subparsers(required=True, metavar="subject")
    cache = subjects.add_parser("cache", help="compiled code on disk")
    cache.add_argument("what", choices=("show", "clear"),
                       help="what is there, and what of it is not read; or remove all of it")
    given = parser.parse_args(arguments)
    if given.what == "show":
        print(cache_report())
    else:
        print(clear_cache(), "entries removed")


if __name__ == "__main__":
    main()
