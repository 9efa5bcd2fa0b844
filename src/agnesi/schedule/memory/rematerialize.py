"""Rematerialization: values are computed again after a gap instead of being kept over it.

Kernels are in order already.  A *split* of a buffer at a kernel says: from there on, another buffer
is used instead, which the kernel that made it fills a second time.  Splits are added one by one,
each the one that saves most for its cost, until the memory suffices or nothing helps any more.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence

from agnesi.core.ir.costs import instructions_of
from agnesi.core.ir.kernels import Buffer, Convolution, Kernel, Nest, Product, walk
from agnesi.core.support.record import field, struct
from agnesi.core.target import Costs
from agnesi.schedule.buffer_substitution import swappable, swapped
from agnesi.schedule.memory.arena import rounded

#: A buffer and its number: 0 as it is made first, then one more for every split.
Version = tuple[Buffer, int]
#: Candidates that are evaluated in one step, once one of them helps.
_CANDIDATES_PER_STEP = 6
#: Candidates that are evaluated in one step where none helps.
_MAX_CANDIDATES = 48
#: Kernels from which many splits are made in one step.
_MANY_KERNELS = 300
#: Kernels that all steps together may visit.
_MAX_VISITS = 2_000_000
#: How often the goal is lowered by what gaps between buffers take.
_MAX_CORRECTIONS = 6


@struct
class Run:
    """A kernel of the new order: a given one, or one that recomputes a version of a buffer.

    ``position`` is that of the given kernel, or of the one before which it runs.
    """

    position: int
    remade: Version | None
    reads: dict[Buffer, Version] = field(default_factory=dict)
    writes: list[Version] = field(default_factory=list)


class Remaker:
    """Decides which values are computed again.

    :param kernels: In order.
    :param shared: Results that take over the memory of a state.
    :type shared: mapping of Buffer to Buffer
    :param takes: ``takes(kernel, old, new)``: whether a kernel may write ``new`` over ``old``.
    :param costs: What the target takes its time for.
    """

    def __init__(self, kernels: Sequence[Kernel], shared: Mapping[Buffer, Buffer],
                 takes: Callable[[Kernel, Buffer, Buffer], bool],
                 costs: Costs) -> None:
        self.kernels = kernels
        self.takes = takes
        self.splits: dict[Buffer, list[int]] = {}
        self.touches = [
            (list(dict.fromkeys(k.reads())), list(dict.fromkeys(k.writes()))) for k in kernels
        ]
        writers: dict[Buffer, list[int]] = {}
        fixed: set[Buffer] = set()
        self.overwritten: dict[Buffer, int] = {}
        for k, (reads, writes) in enumerate(self.touches):
            if not swappable(kernels[k]):
                fixed.update(reads)
                fixed.update(writes)
            for b in writes:
                writers.setdefault(b, []).append(k)
                if b in shared:
                    self.overwritten.setdefault(shared[b], k)
        self.writer = {
            b: ks[0] for b, ks in writers.items()
            if b.role == "temporary" and len(ks) == 1 and b not in fixed
            and self._repeats(ks[0], b)
        }
        self.plain = [Run(k, None, {b: (b, 0) for b in reads}, [(b, 0) for b in writes])
                      for k, (reads, writes) in enumerate(self.touches)]
        self.readers: dict[Buffer, list[int]] = {b: [] for b in self.writer}
        for k, (reads, _) in enumerate(self.touches):
            for b in reads:
                if b in self.readers:
                    self.readers[b].append(k)
        self.costs = {b: _cost(kernels[k], b, costs) for b, k in self.writer.items()}
        self._bytes = {
            b: rounded(b.nbytes) for touched in self.touches for bs in touched for b in bs
            if b.role == "temporary"
        }
        self._work = 0
        self._known: dict[Buffer, list[Buffer]] = {}
        self._clones: dict[tuple[int, Buffer], list[Buffer]] = {}

    def _repeats(self, k: int, b: Buffer) -> bool:
        """Return whether a kernel has the same results when it runs again."""
        kernel = self.kernels[k]
        if isinstance(kernel, Nest) and kernel.ordered:
            return False
        return b not in self.touches[k][0] and sum(s.buffer is b for s in kernel.stores()) == 1

    # -- the new order --------------------------------------------------------------------
    def runs(self) -> list[Run] | None:
        """The order with the present splits; None where a value cannot be computed again."""
        result: list[Run] = []
        made: set[Version] = set()
        changed = {
            k for b, splits in self.splits.items() for k in self.readers[b] if k >= splits[0]
        }
        for k, plain in enumerate(self.plain):
            if k not in changed:
                result.append(plain)
                continue
            reads = {b: self._version(b, k) for b in plain.reads}
            run = Run(k, None, reads, plain.writes)
            for version in reads.values():
                if not self._remake(version, k, made, result):
                    return None
            result.append(run)
        return result

    def _version(self, b: Buffer, k: int) -> Version:
        splits = self.splits.get(b)
        return (b, bisect.bisect_right(splits, k) if splits else 0)

    def _remake(self, version: Version, k: int, made: set[Version], result: list[Run]) -> bool:
        """Append what fills a version, and before it what that needs."""
        stack = [(version, False)]
        while stack:
            version, ready = stack.pop()
            if version[1] == 0 or version in made:
                continue
            reads = {b: self._version(b, k) for b in self._operands(version[0])}
            if ready:
                made.add(version)
                result.append(Run(k, version, reads, [version]))
                continue
            if any(self.overwritten.get(b, k) < k for b in reads):
                return False
            stack.append((version, True))
            stack += [(v, False) for v in reads.values()]
        return True

    def _operands(self, b: Buffer) -> list[Buffer]:
        """Return the buffers that a kernel reads for one of its buffers alone."""
        found = self._known.get(b)
        if found is None:
            reads, writes = self.touches[self.writer[b]]
            if len(writes) > 1:
                reads = swapped(self.kernels[self.writer[b]], {}, b).reads()
            found = self._known[b] = reads
        return found

    # -- memory ---------------------------------------------------------------------------
    def lives(self, runs: Sequence[Run]) -> dict[Version, list[int]]:
        """The runs that touch each version of a temporary."""
        found: dict[Version, list[int]] = {}
        for t, run in enumerate(runs):
            for version in (*run.reads.values(), *run.writes):
                if version[0].role == "temporary":
                    uses = found.setdefault(version, [])
                    if not uses or uses[-1] != t:
                        uses.append(t)
        return found

    def profile(self, runs: Sequence[Run], lives: Mapping[Version, list[int]]) -> list[int]:
        """Bytes of temporaries during each run."""
        changes = [0] * (len(runs) + 1)
        for version, uses in lives.items():
            size = self._bytes[version[0]]
            changes[uses[0]] += size
            changes[uses[-1] + 1] -= size
        for t, run in enumerate(runs):
            taken = self._taken_over(t, run, lives)
            changes[t] -= taken
            changes[t + 1] += taken
        alive, result = 0, []
        for change in changes[:-1]:
            alive += change
            result.append(alive)
        return result

    def _taken_over(self, t: int, run: Run, lives: Mapping[Version, list[int]]) -> int:
        """Bytes that a run writes over what it reads for the last time."""
        total = 0
        if not any(v in lives and lives[v][-1] == t for v in run.reads.values()):
            return total
        gone: set[Version] = set()
        for new in run.writes:
            if new[0].role != "temporary" or lives[new][0] != t:
                continue
            k = run.position if run.remade is None else self.writer[new[0]]
            for old in self._candidates(k, new[0]):
                version = run.reads.get(old)
                if version is not None and version not in gone and lives[version][-1] == t:
                    gone.add(version)
                    total += rounded(new[0].nbytes)
                    break
        return total

    def _candidates(self, k: int, new: Buffer) -> list[Buffer]:
        key = (k, new)
        found = self._clones.get(key)
        if found is None:
            found = self._clones[key] = [
                b for b in self.touches[k][0]
                if b.role == "temporary" and self.takes(self.kernels[k], b, new)
            ]
        return found

    # -- decisions ------------------------------------------------------------------------
    def shrink(self, goal: int) -> int:
        """Add splits until at most ``goal`` bytes are alive; returns how many are then."""
        runs = self.runs()
        assert runs is not None
        while True:
            lives = self.lives(runs)
            profile = self.profile(runs, lives)
            most = max(profile, default=0)
            if most <= max(goal, 0):
                return most
            better = self._many(runs, lives, profile, goal) if len(runs) > _MANY_KERNELS else None
            better = better or self._step(runs, lives, profile, goal)
            if better is None:
                return most
            runs = better

    def _many(self, runs: Sequence[Run], lives: Mapping[Version, list[int]],
              profile: Sequence[int], goal: int) -> list[Run] | None:
        """Return the order with many more buffers rematerialized at once, at distant times, that
        together save half of the bytes above the goal; None if too few qualify.
        """
        before, present = _excess(profile, goal), self.splits
        ends = {v: runs[uses[-1]].position for v, uses in lives.items()}
        gaps = sorted(self._gaps(runs, lives, profile, goal), key=lambda gap: -gap[0])
        idle = sum(self._bytes[b] for _, b, _ in gaps)
        stride = max(2, 2 * idle // max(max(profile) - max(goal, 0), 1))
        if len(gaps) < 4 * stride:
            return None
        self.splits = dict(present)
        for _, b, k in gaps[::stride]:
            self._split(b, k, ends)
        after = self.runs()
        if after is not None and _excess(self.profile(after, self.lives(after)), goal) < before:
            return after
        self.splits = present
        return None

    def _step(self, runs: Sequence[Run], lives: Mapping[Version, list[int]],
              profile: Sequence[int], goal: int) -> list[Run] | None:
        """The order with the best further split; None if none helps."""
        before = _excess(profile, goal)
        ends = {v: runs[uses[-1]].position for v, uses in lives.items()}
        ranked = sorted(self._gaps(runs, lives, profile, goal), key=lambda gap: -gap[0])
        best: tuple[float, dict[Buffer, list[int]], list[Run]] | None = None
        present = self.splits
        for tried, (_, b, k) in enumerate(ranked[:_MAX_CANDIDATES]):
            if (best is not None and tried >= _CANDIDATES_PER_STEP) or self._work > _MAX_VISITS:
                break
            self._work += len(runs)
            self.splits = dict(present)
            cost = self._split(b, k, ends)
            after = self.runs()
            if after is not None:
                saved = before - _excess(self.profile(after, self.lives(after)), goal)
                if saved > 0 and (best is None or saved / cost > best[0]):
                    best = saved / cost, self.splits, after
        self.splits = present if best is None else best[1]
        return None if best is None else best[2]

    def _split(self, b: Buffer, k: int, ends: Mapping[Version, int]) -> float:
        """Recompute a buffer just before kernel ``k`` instead of keeping it until then; return the
        added cost.

        Operands of its kernel that are no longer alive are recomputed too: earlier than before, or
        only for this.
        """
        cost, stack = 0.0, [b]
        while stack:
            b = stack.pop()
            splits = list(self.splits.get(b, ()))
            at = bisect.bisect_right(splits, k)
            if at and splits[at - 1] == k:
                continue
            if at < len(splits) and ends.get((b, at), k) < k:
                del splits[at]
            else:
                cost += self.costs[b]
            bisect.insort(splits, k)
            self.splits[b] = splits
            for operand in self._operands(b):
                if operand in self.writer and ends.get(self._version(operand, k), k) < k:
                    stack.append(operand)
        return cost

    def _gaps(self, runs: Sequence[Run], lives: Mapping[Version, list[int]],
              profile: Sequence[int], goal: int) -> Iterator[tuple[float, Buffer, int]]:
        """Yield the gaps between uses of a value during which memory is short, each with the memory
        saved per cost.
        """
        over = [0]
        for alive in profile:
            over.append(over[-1] + max(alive - goal, 0))
        peak = max(range(len(profile)), key=profile.__getitem__)
        for (b, _), uses in lives.items():
            if b not in self.writer:
                continue
            i = bisect.bisect_right(uses, peak)
            if not 0 < i < len(uses) or uses[i - 1] == peak:
                continue
            before, behind = uses[i - 1], uses[i]
            k = runs[behind].position
            if runs[before].position < k:
                covered = over[behind] - over[before + 1]
                yield covered * rounded(b.nbytes) / self.costs[b], b, k

    # -- the result -----------------------------------------------------------------------
    def remade(self) -> list[Kernel]:
        """The kernels in the new order, on buffers of their own."""
        if not self.splits:
            return list(self.kernels)
        buffers: dict[Version, Buffer] = {}

        def buffer(version: Version) -> Buffer:
            b, number = version
            if number == 0:
                return b
            if version not in buffers:
                buffers[version] = Buffer(b.shape, b.dtype, b.role, node=b.node, strides=b.strides)
            return buffers[version]

        result = []
        runs = self.runs()
        assert runs is not None
        for run in runs:
            others = {b: buffer(v) for b, v in run.reads.items() if v[1]}
            if run.remade is not None:
                b = run.remade[0]
                kernel = self.kernels[self.writer[b]]
                result.append(swapped(kernel, {**others, b: buffer(run.remade)}, b))
            else:
                kernel = self.kernels[run.position]
                result.append(swapped(kernel, others) if others else kernel)
        return result


def _excess(profile: Sequence[int], goal: int) -> int:
    return sum(alive - goal for alive in profile if alive > goal)


def _cost(kernel: Kernel, b: Buffer, costs: Costs) -> float:
    """Return about how many scalar operations a kernel takes for one of its buffers."""
    values = [s.value for s in kernel.stores() if s.buffer is b]
    work: float = b.nbytes / costs.bytes_per_operation
    for value in walk(values):
        points = 1
        for axis in value.free:
            points *= axis.extent
        work += points * instructions_of(value.op) if value.op != "load" else points * 0.5
    if isinstance(kernel, Product):
        batch, m, n, k = kernel.sizes
        work += batch * m * n * k / costs.multiply_adds_per_operation
    if isinstance(kernel, Convolution):
        work += _multiply_adds(kernel) / costs.multiply_adds_per_operation
    return work


def _multiply_adds(kernel: Convolution) -> int:
    sizes = kernel.sizes
    count = sizes.batch * sizes.groups * sizes.channels * sizes.filters
    for n in (*sizes.output, *sizes.kernel):
        count *= n
    return count


def fit(remaker: Remaker, limit: int, arena: Callable[[Sequence[Kernel]], int]) -> list[Kernel]:
    """Kernels whose temporaries need at most ``limit`` bytes.

    ``arena`` returns how many bytes kernels really need, maybe more than are alive at a time.

    :raises MemoryError: If no way was found; its argument is the number of bytes that can be
        reached.
    """
    goal = limit
    for _ in range(_MAX_CORRECTIONS):
        reached = remaker.shrink(goal)
        kernels = remaker.remade()
        needed = arena(kernels)
        if needed <= limit:
            return kernels
        if reached > goal:
            break
        goal -= needed - limit
    remaker.shrink(0)
    kernels = remaker.remade()
    needed = min(needed, arena(kernels))
    if needed <= limit:
        return kernels
    raise MemoryError(needed)
