"""How times grow: ``python -m tests.fuzz.growth --programs 100``.

Smooth programs that mix reductions of rows and columns run on n and 2n; where the time of the
compiled one grows by a higher power than that of the eager one, the program is printed.  Times are
those of the processor, of one thread, the least of some.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import agnesi as ag
from tests.fuzz.generator import program
from tests.fuzz.pool import REFUSED
from tests.fuzz.program import Program
from tests.fuzz.steps import elementwise, folded, movement, reductions
from tests.fuzz.values import GROWING, inputs_of

GROUPS: dict[Any, float] = {reductions.MAKERS: 0.35, folded.MAKERS: 0.4, elementwise.MAKERS: 0.2,
          movement.MAKERS: 0.05}
#: Sizes of which times are compared, and larger ones for what looks wrong.
SIZES = (256, 512), (512, 1024), (1024, 2048)
#: How far apart powers of the size may be.
APART = 0.6
#: The share of the eager time below which a compiled one is fast whatever it grows by.
SLOWER = 0.8
#: Eager seconds above which a larger size is not tried.
LONG = 4.0


def grown(found: Program, n: int) -> Program:
    """The same program of inputs the large axes of which have another size."""
    return replace(found, inputs=tuple(inputs_of(x, n) for x in found.inputs))


def least(run: Callable[[], Any]) -> float:
    """The least time of some calls, the first of which does not count."""
    run()
    found, end = math.inf, time.process_time() + 0.3
    for _ in range(30):
        start = time.process_time()
        run()
        found = min(found, time.process_time() - start)
        if time.process_time() > end:
            break
    return max(found, 1e-6)


def times(found: Program, gradients: bool, n: int) -> tuple[float, float]:
    """Those of the compiled and of the eager program."""
    args = grown(found, n).arguments(ag)
    f = _function(found)
    f = _gradient(found, f) if gradients else f
    compiled = ag.jit(f)
    return least(lambda: compiled(*args)), least(lambda: f(*args))


def _function(found: Program) -> Any:
    """The function with results of its own, which are no inputs or views that cost nothing."""
    results = ", ".join(f"{{{i}}} * 1" for i in range(len(found.body.returns)))
    return found.function({"ag": ag}, last=f"({results},)")


def _gradient(found: Program, f: Any) -> Any:
    where = tuple(i for i, x in enumerate(found.inputs) if not x.number)
    return ag.grad(lambda *xs: sum(y.sum() for y in f(*xs) if y.dtype.kind == "f"), where)


def faster_growth(found: Program, gradients: bool) -> str:
    """By which powers both grow, if the compiled one grows by a higher one at all sizes.

    Where it is faster, what the eager one needs for each call hides how that grows.
    """
    text = ""
    for small, large in SIZES:
        first, then = times(found, gradients, small), times(found, gradients, large)
        compiled, eager = (math.log2(b / a) for a, b in zip(first, then, strict=True))
        if compiled - eager < APART or then[0] < SLOWER * then[1]:
            return ""
        text += (f"# {small} to {large}: n^{compiled:.2f}, {then[0] * 1e3:.1f} ms; "
                 f"eagerly n^{eager:.2f}, {then[1] * 1e3:.1f} ms\n")
        if then[1] > LONG:
            break
    return text


def main() -> int:
    """Try some programs."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.growth", description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tried = failures = 0
    ag.set_num_threads(1)
    with np.errstate(all="ignore"):
        for number in range(options.programs):
            found = program((options.seed, number, 9), kind="smooth", size="growing",
                            most=2 * GROWING**2, dtypes=("float64",), groups=GROUPS, steps=6)
            try:
                text = faster_growth(found, gradients=number % 2 == 1)
            except REFUSED:
                continue
            tried += 1
            if text:
                failures += 1
                print(f"\n{found.source}# {'gradients of ' * (number % 2)}{number}\n{text}",
                      flush=True)
    print(f"{tried} programs, {failures} grow faster when they are compiled")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
