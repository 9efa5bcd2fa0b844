"""The target of code generation, as a value: a processor or device, its sizes, and costs of work.

Scheduling, code generation, the compiler and the runtime are given a target and query nothing else
about the machine (``core/support/host.py`` alone looks at the one that this process runs on).  A
target belongs to the key of everything that is kept for it.
"""

from __future__ import annotations

from collections.abc import Collection

from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.host import MAX_THREADS
from agnesi.core.support.record import record, replace

#: Kinds of kernels that a target may have code for (``core.ir.kernels``).  Without one of its own,
#: a product or convolution is a loop nest.  "foreign" are functions of C libraries, "generated"
#: those that the library makes for a dtype (sorts, running sums, transforms), "callback" is Python.
KINDS = frozenset((
    "nest", "product", "convolution", "sparse", "control", "foreign", "generated", "callback"))
#: Bytes of a line of the caches, and after which addresses share a set of the first-level cache:
#: those of x86-64 and of most other processors.  Others only run slower.
LINE_BYTES, SET_STRIDE_BYTES = 64, 4096


@record
class Costs:
    """Thresholds from which an optimization pays on a target.

    :ivar nest_operations, product_multiply_adds, sparse_multiply_adds, called_elements: Work of a
        kernel from which several threads are worth waking: scalar operations of a loop nest,
        multiply-adds of a product or convolution and of a sparse product, elements of a universal
        function.
    :ivar stream_bytes: Size of a result from which it is written past the caches.
    :ivar near_bytes: What stays in the first-level cache beside what a loop reads and writes.
    :ivar row_bytes: Bytes of a row that is kept between two sweeps of a loop nest, at most.
    :ivar ahead_bytes: Size of a buffer from which reads of it that are far apart are prefetched.
    :ivar private_bytes: Size of an accumulator of which loops keep several copies, at most.
    :ivar l3_cycles: Cycles until a line that was not prefetched comes from the third-level cache.
    :ivar multiply_add_bytes: Bytes of the vectors that multiply-adds start with in each cycle.
    :ivar bytes_per_operation, multiply_adds_per_operation: Bytes moved, and multiply-adds done, in
        the time of a scalar operation.
    """

    nest_operations: int = 400_000
    product_multiply_adds: int = 600_000
    sparse_multiply_adds: int = 200_000
    called_elements: int = 4096
    stream_bytes: int = 16 << 20
    near_bytes: int = 16 << 10
    row_bytes: int = 128 << 10
    ahead_bytes: int = 1 << 20
    private_bytes: int = 8 << 10
    l3_cycles: int = 50
    multiply_add_bytes: int = 64
    bytes_per_operation: int = 4
    multiply_adds_per_operation: int = 8


@record
class Target:
    """A processor or device, as far as code depends on it.

    :ivar vector_bits: Width of the vectors that kernels use; 0 where code has one lane.
    :ivar l1, l2, l3: Bytes of the data caches seen by one core.
    :ivar cpu, features: LLVM's names: the processor, and ``+a,-b,...``.
    :ivar name: That of the target, for messages.
    :ivar threads: Threads that may share the work of a kernel, at most.
    :ivar kinds: Kinds of kernels that there is code for, of :data:`KINDS`.
    :ivar costs: From how much work something pays.
    :ivar exclude: Passes of the scheduler that assume behavior which its code lacks:
        "memory_reuse", say, that loops read a row before they write it.

    >>> from agnesi.core.target import Target
    >>> wide = Target(512, features="+fma,-sse4a")
    >>> wide.lanes(4), wide.registers, wide.has("fma"), wide.has("sse4a")
    (16, 32, True, False)
    """

    vector_bits: int
    l1: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 8 << 20
    cpu: str = ""
    features: str = ""
    name: str = "native"
    threads: int = MAX_THREADS
    kinds: frozenset[str] = KINDS
    costs: Costs = Costs()
    exclude: frozenset[str] = frozenset()

    @cached_property
    def _present(self) -> frozenset[str]:
        return frozenset([f[1:] for f in self.features.split(",") if f.startswith("+")])

    def has(self, *features: str) -> bool:
        """Return whether all of these features are there, by LLVM's names."""
        return self._present.issuperset(features)

    def has_any(self, features: Collection[str]) -> bool:
        """Return whether one of these features is there."""
        return not self._present.isdisjoint(features)

    def lanes(self, itemsize: int) -> int:
        """Elements of so many bytes in a vector; 1 where there are no vectors."""
        return max(1, self.vector_bits // (8 * itemsize))

    @property
    def has_vectors(self) -> bool:
        """Whether code has more than one lane."""
        return self.vector_bits > 0

    def without_vectors(self) -> Target:
        """Return the target whose code has one lane."""
        return replace(self, vector_bits=0)

    @property
    def registers(self) -> int:
        """Vector registers of a core."""
        return 32 if self.vector_bits == 512 else 16

    def supports(self, kind: str) -> bool:
        """Return whether there is code for kernels of this kind."""
        return kind in self.kinds

    def __str__(self) -> str:
        """The target as text, part of the key of the disk cache."""
        sizes = self.vector_bits, self.l1, self.l2, self.l3, self.threads
        return repr((self.name, self.cpu, self.features, sizes, sorted(self.kinds), self.costs,
                     sorted(self.exclude)))
