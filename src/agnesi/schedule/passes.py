"""The passes of the scheduler, in order: from a graph to kernels with memory.

Each is a function from a program to a program that has a name, by which ``exclude`` leaves it out,
and counts what it did.  Bodies of loops and branches are programs of their own, which go through
the same list when the loop becomes a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from agnesi.core.ir.extents import UnknownSizeError, named_in
from agnesi.core.ir.node import toposort
from agnesi.core.support.config import config
from agnesi.core.support.errors import at
from agnesi.core.support.record import record, replace
from agnesi.schedule.clustering.clustering import fuse
from agnesi.schedule.clustering.decisions import decide_first, in_stages
from agnesi.schedule.clustering.horizontal_fusion import fuse_siblings
from agnesi.schedule.clustering.layout import choose_layouts
from agnesi.schedule.complexes import to_real
from agnesi.schedule.lowering.lower import lower
from agnesi.schedule.memory.order import order_for_memory
from agnesi.schedule.memory.placement import (
    assign_memory,
    copy_states,
    donate,
    find_lifetimes,
    rematerialize,
    reuse_memory,
    store_narrow,
    update_in_place,
    write_in_place,
)
from agnesi.schedule.program import Program, Request
from agnesi.schedule.transforms.bounds_checks import fuse_bounds_checks
from agnesi.schedule.transforms.communication import overlap_communication
from agnesi.schedule.transforms.concurrent import group_independent
from agnesi.schedule.transforms.hoist_reductions import materialize
from agnesi.schedule.transforms.loop_fusion import fuse_indexed
from agnesi.schedule.transforms.privatize_accumulators import privatize
from agnesi.schedule.transforms.split_reductions import split_reductions


@record
class Pass:
    """A scheduling pass: its name, its function, what it counts, and whether it is required."""

    name: str
    run: Callable[[Program], Program]
    counts: str
    required: bool = False


PASSES = (
    Pass("layout", choose_layouts, "values with their axes in another order"),
    Pass("fusion", fuse, "values computed where they are used"),
    Pass("sibling_fusion", fuse_siblings, "kernels joined to others"),
    Pass("lowering", lower, "kernels", required=True),
    Pass("index_fusion", fuse_indexed, "kernels joined to others"),
    Pass("bounds_checks", fuse_bounds_checks, "checks made by functions"),
    Pass("materialization", materialize, "kernels for values that loops would repeat"),
    Pass("split_reductions", split_reductions, "kernels for parts of reductions"),
    Pass("privatization", privatize, "kernels for private copies"),
    Pass("complex_numbers", to_real, "kernels in real numbers", required=True),
    Pass("decisions", decide_first, "decisions checked before all else", required=True),
    Pass("communication", overlap_communication, "begins and ends of what goes on beside"),
    Pass("in_place_updates", update_in_place, "states written in place"),
    Pass("memory_order", order_for_memory, "kernels moved"),
    Pass("state_copies", copy_states, "copies to states", required=True),
    Pass("narrow_storage", store_narrow, "kernels for values stored in fewer bits"),
    Pass("rematerialization", rematerialize, "kernels that compute values again"),
    Pass("concurrency", group_independent, "kernels that run beside others"),
    Pass("lifetimes", find_lifetimes, "buffers", required=True),
    Pass("donation", donate, "results in the memory of arguments"),
    Pass("in_place_results", write_in_place, "values made where the result lies"),
    Pass("memory_reuse", reuse_memory, "values in the memory of their operands"),
    Pass("placement", assign_memory, "bytes of temporaries", required=True),
)


def optional(name: str) -> bool:
    """Return whether a pass has this name.

    :raises ValueError: If there is no program without it.
    """
    found = next((p for p in PASSES if p.name == name), None)
    if found is not None and found.required:
        raise ValueError(at(f"the pass {name!r} cannot be left out; these can: "
                            + ", ".join(p.name for p in PASSES if not p.required)))
    return found is not None


def describe_counts(counts: Mapping[str, int]) -> list[str]:
    """Return a line for each pass that changed something, in order."""
    return [f"{p.name}: {counts[p.name]} {p.counts}" for p in PASSES if counts.get(p.name)]


def schedule(request: Request) -> Program:
    """The program of a graph, through all passes but those that are left out.

    :raises BrokenProgramError: If a pass breaks the program, where ``config.verify`` says that this
        is checked.
    """
    program = Program(request, schedule, in_stages(toposort(request.outputs)))
    verifier = _Verifier(request) if config.verify else None
    exclude = request.exclude | request.target.exclude
    for step in PASSES:
        program.begin(step.name)
        if step.name not in exclude:
            program = step.run(program)
            if verifier is not None:
                verifier.after(program, step.name)
    return program


class _Verifier:
    """The checks that run after each pass."""

    def __init__(self, request: Request) -> None:
        from agnesi.schedule import verify

        self._verify = verify
        self._kernels = verify.Verifier()

    def after(self, program: Program, name: str) -> None:
        """Check a program behind a pass."""
        self._kernels.check(program, name)
        if name == "materialization":
            with suppress(UnknownSizeError):  # kept values need what no version for all sizes does
                self._verify.check_work(program, lambda: _unfused(program.request), name)
        if name == "placement":
            self._verify.check_memory(program.layout, name)
            self._verify.check_groups(program.layout, name)
            self._verify.check_updates(program, name)


def _unfused(request: Request) -> Program:
    """The program in which every value has memory."""
    exclude = frozenset(p.name for p in PASSES if not p.required) - {"materialization"}
    sizes = named_in(n for b in request.leaves.values() for n in b.shape)
    kept = {size: [*size.thresholds] for size in sizes}
    try:
        with config(verify=False):
            return schedule(replace(request, leaves={**request.leaves}, exclude=exclude))
    finally:
        for size, thresholds in kept.items():
            size.thresholds[:] = thresholds
