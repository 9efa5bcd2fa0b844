"""How many lanes loops have, and whether one masked loop takes all iterations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agnesi.core.ir.collapse import cost
from agnesi.core.ir.extents import Extent, guess
from agnesi.core.ir.kernels import reductions, walk
from agnesi.core.ir.loops import ITEM_BYTES, Axis, Expr
from agnesi.core.ir.mapping import LONGEST_STEP, period_of
from agnesi.core.support.policy import CompilePolicy
from agnesi.core.target import Target

#: Instructions from which a loop's body is written once, with a mask for the last iteration.
_MIN_MASKED_INSTRUCTIONS = 300


def lanes_for(values: Sequence[Expr], axis: Axis, carries: bool, target: Target,
              policy: CompilePolicy) -> int:
    """Lanes of a loop: several registers wide for cheap bodies, to hide latencies.

    Twice as wide for reductions, whose iterations may be far apart in memory.  One register, or
    two, if the policy has no wide iterations.  Over a dynamic length, few enough for several
    iterations, as the remainder is computed at the same width under a mask.
    """
    native = native_lanes(values, target)
    if not target.has_vectors:
        return native
    instructions = cost(values)
    sums = any(axis in v.free for v in reductions(values))
    wide = native * ((8 if sums else 4) if instructions <= 12 else 2 if instructions <= 120 else 1)
    if not policy.wide_iterations:
        wide = min(wide, 2 * native if sums else native)
    length = guess(axis.extent)
    enough = 2 * length
    if isinstance(axis.extent, Extent):
        enough = length // (2 if sums else 8 if carries and instructions > 12 else 4) + 1
    while wide > native and wide >= enough:
        wide //= 2
    return wide


def native_lanes(values: Sequence[Expr], target: Target) -> int:
    """Lanes that fill one register."""
    unseen = ("index", "const", "size")
    below = [*walk(list(values))]
    sizes = [ITEM_BYTES[v.dtype] for v in below if v.op not in unseen]
    floats = [ITEM_BYTES[v.dtype] for v in below if "float" in v.dtype]
    return target.lanes(max(*(floats or sizes or [4]), 4))


def lanes_with_periods(wide: int, native: int, values: Sequence[Expr], along: Axis) -> int:
    """A number of lanes near ``wide`` that is a multiple of the periods of the values' quotients
    and remainders; ``wide`` if there is none."""
    lengths = {p.length for v in walk(list(values)) if (p := period_of(v, along, 0)) is not None}
    if not lengths or wide % math.lcm(*lengths) == 0:
        return wide
    whole = math.lcm(native, *lengths)
    return whole if whole <= LONGEST_STEP * native else wide


def is_written_once(values: Sequence[Expr], axis: Axis, target: Target, policy: CompilePolicy
                    ) -> bool:
    """Return whether one masked loop serves all iterations: where the body is long, or the policy
    says so.

    A body that is written once compiles in half the time; masks cost next to nothing where
    registers for them exist.
    """
    if not target.has("avx512vl"):
        return False
    if cost(values) >= _MIN_MASKED_INSTRUCTIONS:
        return True
    return policy.masked_loops and all(
        v.param[1].terms.get(axis, 0) in (0, 1) and not v.args
        for v in walk(list(values)) if v.op == "load"
    )
