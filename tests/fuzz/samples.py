"""Programs for other tests: the same ones each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnesi as ag
from tests.fuzz.generator import program
from tests.fuzz.program import Program
from tests.share import EVERY


def each(check: Callable[[Program], Any], count: int = 60 if EVERY else 9, **how: Any) -> None:
    """Call a check with random programs; an error shows the program.

    A few may be refused by compiled functions, which do not know how many elements a mask selects.
    """
    refused = 0
    for seed in range(count):
        found = program((seed, 5), **how)
        try:
            check(found)
        except ag.TraceError:
            refused += 1
            assert 5 * refused <= count, found.source
        except BaseException as error:
            error.add_note(found.source)
            raise
