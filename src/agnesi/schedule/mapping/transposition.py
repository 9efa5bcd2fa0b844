"""Which nests read across the order of their stores, and are cut into blocks that are transposed.

Lanes run along what is written (``codegen/loops/blocked_transpose.py`` has the code).
"""

from __future__ import annotations

from collections.abc import Sequence

from agnesi.core.ir.dims import product
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Store, walk
from agnesi.core.ir.loops import Axis
from agnesi.core.ir.mapping import reads_across

#: Blocks of a nest, at most.
_MAX_BLOCKS = 4
#: Iterations of both loops, at least.
_MIN_ITERATIONS = 4
#: Elements of the nest, at least.
_MIN_ELEMENTS = 1 << 15
#: Operators that cannot be computed element by element in a transposed block.
_OTHERS = ("reduce", "steps", "complex", "real", "imag")


def crossed(axes: Sequence[Axis], stores: Sequence[Store]) -> tuple[Axis, Axis] | None:
    """The axes of a nest for the lanes and across them, if it reads across what it writes."""
    values = [s.value for s in stores]
    below = [*walk(values)]
    if any(v.op in _OTHERS for v in below) or any(
        s.offset.atoms or s.offset.free != {*axes} for s in stores
    ) or guess(product([a.extent for a in axes])) < _MIN_ELEMENTS:
        return None
    long = [a for a in axes if guess(a.extent) >= _MIN_ITERATIONS]
    along = next((a for a in long if all(s.offset.terms[a] == 1 for s in stores)), None)
    if along is None:
        return None
    found = {a: len(reads_across(values, along, a)) for a in long if a is not along}
    across = max(found, key=lambda a: found[a], default=None)
    return (along, across) if across is not None and 0 < found[across] <= _MAX_BLOCKS else None
