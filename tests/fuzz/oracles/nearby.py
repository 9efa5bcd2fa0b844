"""Programs given numbers near zero for zeros: what real algebra says of them where 0 / 0 is hidden.

``nan_to_num(x / x)`` of zero is 0 as it stands and 1 where x / x is 1, which it is everywhere near.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.pool import REFUSED
from tests.fuzz.program import Input, Program
from tests.fuzz.run import Case

#: What stands for zero, and how near results are then.
SMALL, NEAR = 2.0**-12, 1e-2


def continues(case: Case, place: int, found: np.ndarray, where: np.ndarray) -> bool:
    """Whether a result is what the eager program gives at numbers near what it is given; where that
    has none, real algebra may have one.
    """
    if not case.way.real:
        return False
    try:
        near = replace(case, program=_moved(case.program)).expected()[place]
    except REFUSED:
        return False
    if near.shape != found.shape or near.dtype != found.dtype:
        return False
    with np.errstate(all="ignore"):
        alike = np.isclose(found, near, rtol=NEAR, atol=NEAR)
        return bool((alike | np.isnan(near))[where].all())


def _moved(program: Program) -> Program:
    return replace(program, inputs=tuple(map(_input, program.inputs)))


def _input(x: Input) -> Input:
    if x.array.dtype.kind not in "fV" or x.made:
        return x
    return replace(x, array=np.where(x.array == 0, SMALL, x.array).astype(x.array.dtype))
