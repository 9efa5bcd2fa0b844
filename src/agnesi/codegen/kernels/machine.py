"""Properties of a processor that the cost models of products and convolutions use."""

from __future__ import annotations

from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import record
from agnesi.core.target import Target

#: Cycles to the third-level cache from which it is no nearer than memory.
_FAR_CYCLES = 200


@record
class Machine:
    """Vector width, registers and caches of a processor for one element size, and the cost of code.

    ``code`` is the penalty for code size per accumulator, a fraction of the run time; ``shared``:
    convolutions share functions; ``far_l3``: the third-level cache is about as slow as memory, so
    that nothing should be read from it twice. Multiply-adds on ``multiply_add_bytes`` start in each
    cycle.
    """

    lanes: int
    itemsize: int
    registers: int
    l1: int
    l2: int
    l3: int
    code: float = FAST_RUN.code_weight
    shared: bool = False
    far_l3: bool = False
    multiply_add_bytes: int = 64

    @property
    def unit(self) -> float:
        """Cycles of one full vector instruction."""
        return unit_cycles(self.lanes, self.itemsize)

    def product(self, lanes: int) -> float:
        """Cycles of a multiply-add of so many lanes."""
        return max(0.5, lanes * self.itemsize / self.multiply_add_bytes)

    def part(self, lanes: int) -> float:
        """Cycles of a multiply-add of so many lanes, if a full vector takes ``unit``."""
        return self.unit * self.product(lanes) / self.product(self.lanes)

    @property
    def wide_tiles(self) -> bool:
        """Whether there are too few registers for high tiles that are one vector wide."""
        return self.registers < 32


def machine_for(target: Target, itemsize: int, policy: CompilePolicy) -> Machine:
    """Return what counts of a target for elements of so many bytes."""
    far = target.costs.l3_cycles >= _FAR_CYCLES
    return Machine(target.lanes(itemsize), itemsize, target.registers, target.l1, target.l2,
                   0 if far else target.l3, policy.code_weight, policy.shared_kernels, far,
                   target.costs.multiply_add_bytes)


def unit_cycles(lanes: int, itemsize: int) -> float:
    """Return the cycles of one multiply-add of so many lanes, of which two of 256 bits start in
    each cycle.
    """
    return max(0.5, lanes * itemsize / 64)
