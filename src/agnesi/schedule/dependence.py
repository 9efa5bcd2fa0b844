"""Dependence analysis: which kernel must run before which, by flow and by reuse of memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agnesi.core.ir.kernels import Buffer, Kernel


class Traffic:
    """The buffers that kernels read and write, collected once of each; kernels must not change
    meanwhile.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Kernel, tuple[list[Buffer], list[Buffer]]]] = {}

    def of(self, kernel: Kernel) -> tuple[list[Buffer], list[Buffer]]:
        """Return the buffers that a kernel reads, and those that it writes."""
        found = self._known.get(id(kernel))
        if found is None:
            found = self._known[id(kernel)] = kernel, (kernel.reads(), kernel.writes())
        return found[1]


class Dependence:
    """The dependences between kernels, and one order that respects them.

    Kernels are identified by their positions in the given sequence, which is itself in order.

    :ivar traffic: What they read and write.
    :ivar needs, users: For each kernel, those that must run before it, and those that wait for it.
    :ivar order: All kernels, each after those that it needs.
    """

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.traffic = Traffic()
        self.readers: dict[Buffer, list[int]] = {}
        self.writers: dict[Buffer, list[int]] = {}
        self.needs: list[set[int]] = []
        for k, kernel in enumerate(kernels):
            needs: set[int] = set()
            reads, writes = self.traffic.of(kernel)
            for buffer in reads:
                self.readers.setdefault(buffer, []).append(k)
                needs.update(self.writers.get(buffer, ()))
            for buffer in kernel.waits:
                needs.update(self.writers.get(buffer, ()))
            for buffer in writes:
                needs.update(self.writers.get(buffer, ()))
                self.writers.setdefault(buffer, []).append(k)
            self.needs.append(needs - {k})
        self.users: list[set[int]] = [set() for _ in kernels]
        for k, needs in enumerate(self.needs):
            for n in needs:
                self.users[n].add(k)
        self.order = list(range(len(self.needs)))
        self._rank = list(self.order)

    def put_behind(self, kernel: int, others: Iterable[int]) -> bool:
        """Make a kernel wait for others as well; return False, without a change, if that would make
        a cycle.
        """
        others = set(others) - {kernel}
        last = max((self._rank[n] for n in others), default=-1)
        behind = self._reached(kernel, last)
        if behind & others:
            return False
        self._move_behind(behind, self._rank[kernel], last)
        self.needs[kernel] |= others
        for n in others:
            self.users[n].add(kernel)
        return True

    def put_first(self, chosen: Sequence[int], *, hold_rest: bool) -> None:
        """Move the ``chosen`` kernels as early as possible, in this order.

        A kernel that only a later one needs runs after the earlier ones. Kernels that none needs
        come last; unless ``hold_rest`` they may be moved forward where that frees memory.
        """
        stage = [len(chosen)] * len(self.needs)
        for i, k in enumerate(chosen):
            stack = [k]
            while stack:
                n = stack.pop()
                if stage[n] > i:
                    stage[n] = i
                    stack += self.needs[n]
        last = set(chosen)
        for k, i in enumerate(stage):
            if 0 < i < len(chosen) + hold_rest:
                self.needs[k].add(chosen[i - 1])
                self.users[chosen[i - 1]].add(k)
        self.order.sort(key=lambda k: (stage[k], k in last))
        for position, k in enumerate(self.order):
            self._rank[k] = position

    def _reached(self, kernel: int, last: int) -> set[int]:
        """Return a kernel and those that depend on it, up to a position in the order."""
        if self._rank[kernel] > last:
            return set()
        found, stack = {kernel}, [kernel]
        while stack:
            for user in self.users[stack.pop()]:
                if user not in found and self._rank[user] <= last:
                    found.add(user)
                    stack.append(user)
        return found

    def _move_behind(self, moved: set[int], first: int, last: int) -> None:
        """Bring some of the kernels between two positions to the end of that range."""
        if not moved:
            return
        part = self.order[first : last + 1]
        part = [k for k in part if k not in moved] + [k for k in part if k in moved]
        self.order[first : last + 1] = part
        for position, k in enumerate(part, first):
            self._rank[k] = position
