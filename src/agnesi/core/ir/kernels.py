"""The kernel IR, between graph and machine code: buffers, and kernels that fill them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from agnesi.core.ir.conv_sizes import ConvSizes
from agnesi.core.ir.dims import Size, product
from agnesi.core.ir.extents import surely
from agnesi.core.ir.foreign import Call, Walk
from agnesi.core.ir.loops import Affine, Axis, Expr
from agnesi.core.ir.node import Node
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.record import field, handle, struct


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous array, in elements."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


class Buffer:
    """Memory that kernels read and write.

    ``role`` is "argument", "state", "constant", "output" (a new array, at a multiple of 64 bytes),
    "result" (of a body: where its caller says), "temporary" or "sum" (the running sum of a matrix
    product, which has no memory).  The memory plan sets ``slot`` (index in the table of
    pointers) and ``offset`` (bytes from there); buffers may share memory.
    """

    __slots__ = (
        "contiguous", "dtype", "name", "nbytes", "node", "offset", "role", "shape", "size", "slot",
        "strides",
    )

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, role: str, *,
                 node: Node | None = None, strides: tuple[int, ...] | None = None,
                 name: str = "") -> None:
        self.dtype = dtype
        self.role = role
        self.node = node
        self.spread(shape, strides)
        self.slot = -1
        self.offset = 0
        self.name = name or role[0]

    def spread(self, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> None:
        """Set the buffer's shape and strides, and the values derived from them."""
        plain = row_major(shape)
        self.shape = shape
        self.strides = plain if strides is None else strides
        self.contiguous = strides is None or surely(lambda: all(
            [n == 1 or s == p for n, s, p in zip(shape, strides, plain, strict=True)]))
        self.size: Any = product(shape)
        self.nbytes = self.size * self.dtype.itemsize

    def offset_of(self, at: Sequence[Affine]) -> Affine:
        """Offset of an element, counted in elements."""
        const: Size = 0
        terms: dict[Any, int] = {}
        for i, stride, n in zip(at, self.strides, self.shape, strict=True):
            if n != 1:
                const = const + i.const * stride
                for atom, step in i.terms.items():
                    terms[atom] = terms.get(atom, 0) + step * stride
        return Affine(const, terms)

    def __repr__(self) -> str:
        return f"{self.name}{self.slot if self.slot >= 0 else ''}"


@struct
class Store:
    """``buffer[offset] = value`` for every point of the axes that the offset depends on."""

    buffer: Buffer
    offset: Affine
    value: Expr


@handle
class KernelTemplate:
    """The common part of kernels that differ only in their buffers.

    ``reads`` and ``writes`` are indices into the buffers of an ``Instance``; ``answers`` caches
    results of analyses of one kernel for all others of the template.
    """

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    answers: dict[Hashable, Any] = field(default_factory=dict)


@struct
class Instance:
    """Marks a kernel that differs from its ``model`` in its buffers only."""

    model: KernelTemplate
    buffers: list[Buffer]

    @cached_property
    def positions(self) -> dict[Buffer, int]:
        """Where each buffer is in the list."""
        return dict(zip(reversed(self.buffers), range(len(self.buffers) - 1, -1, -1), strict=True))

    def key(self) -> Hashable:
        """A key of kernels of equal code: the template, and which buffers share an address."""
        numbers: dict[tuple[int, int], int] = {}
        positions = [(numbers.setdefault((b.slot, b.offset), len(numbers)), b.role)
                  for b in self.buffers]
        return self.model, *positions


@struct
class Kernel:
    """Base of kernels: the graph nodes that it computes, for printing and errors.

    It runs when the buffers in ``waits`` are filled, though it does not read them.
    """

    like: ClassVar[Instance | None] = None
    nodes: list[Node] = field(default_factory=list)
    waits: list[Buffer] = field(default_factory=list, kw_only=True)

    def stores(self) -> list[Store]:
        return []

    def reads(self) -> list[Buffer]:
        return []

    def writes(self) -> list[Buffer]:
        if self.like is not None:
            return [self.like.buffers[i] for i in self.like.model.writes]
        return list(dict.fromkeys([s.buffer for s in self.stores()]))

    def answer(self, question: Hashable, ask: Callable[[], Any]) -> Any:
        """Return ``ask()`` for ``question``, memoized for all kernels of one template."""
        answers = {} if self.like is None else self.like.model.answers
        if question not in answers:
            answers[question] = ask()
        return answers[question]

    def change(self, body: list[Store]) -> None:
        """Replace the kernel's stores."""
        self.__dict__.pop("like", None)
        self.stores()[:] = body

    def blocks(self) -> list[Block]:
        """Kernels inside of this one."""
        return []


@struct
class Nest(Kernel):
    """A loop nest: for all points of ``axes``, evaluate and store.

    Along the axes in ``ordered`` a point may need what earlier ones stored.
    """

    axes: tuple[Axis, ...] = ()
    body: list[Store] = field(default_factory=list)
    ordered: frozenset[Axis] = frozenset()

    def stores(self) -> list[Store]:
        return self.body

    def reads(self) -> list[Buffer]:
        if self.like is not None:
            return [self.like.buffers[i] for i in self.like.model.reads]
        return buffers_of([v for s in self.body for v in (s.value, *s.offset.atoms)])


@struct
class Matrix:
    """An operand of a product: a buffer with a base offset and strides over (batch, row, column).

    A kernel's operands have a stride for each of its batch axes, mostly none or one.  Those of a
    convolution have a stride for each axis of the tensor.
    """

    buffer: Buffer
    offset: int
    strides: tuple[int, ...]


class Contraction(Kernel):
    """Sums over products of two operands; the stores are what becomes of a sum: its epilogue."""

    a: Matrix
    b: Matrix
    body: list[Store]
    symbol: str

    def stores(self) -> list[Store]:
        return self.body

    def reads(self) -> list[Buffer]:
        if self.like is not None:
            return [self.like.buffers[i] for i in self.like.model.reads]
        seen = buffers_of([s.value for s in self.body])
        return [b for b in dict.fromkeys([self.a.buffer, self.b.buffer, *seen]) if b.role != "sum"]


@struct
class Product(Contraction):
    """``sum over k of a[b, i, k] * c[b, k, j]``; the stores are its epilogue over (b, i, j).

    There may be any number of batch axes ``b``, as few as strides allow.  ``symbol`` names the
    library's function that may evaluate it (see ``core.ir.foreign``).
    ``zeros`` are guesses.
    """

    sizes: tuple[int, int, int, int] = (1, 1, 1, 1)  # batch, m, n, k
    a: Matrix = None  # type: ignore[assignment]
    b: Matrix = None  # type: ignore[assignment]
    axes: tuple[Axis, ...] = ()  # those of the batch, i, j
    total: Buffer = None  # type: ignore[assignment]
    body: list[Store] = field(default_factory=list)
    symbol: str = ""
    zeros: tuple[float, float] = (0.0, 0.0)  # shares of the operands' elements


@struct
class Convolution(Contraction):
    """A convolution or one of its adjoints; the stores are its epilogue, as in a product.

    ========= =============== ============= ==================
    kind      first           second        result
    ========= =============== ============= ==================
    "forward" image           filters       (n, o, *output)
    "input"   cotangent       filters       (n, c, *image)
    "weight"  image           cotangent     (o, c, *kernel)
    ========= =============== ============= ==================

    Image is (n, groups * channels, *space), filters (groups * filters, channels, *kernel), and
    the cotangent (n, groups * filters, *output); operands have a stride for each of these axes.
    ``axes`` has one for each of the result's, in that order; in front, one for ``parts`` if any.
    ``symbol`` names the library's function for matrix products that may serve.
    """

    kind: str = "forward"
    sizes: ConvSizes = None  # type: ignore[assignment]
    a: Matrix = None  # type: ignore[assignment]
    b: Matrix = None  # type: ignore[assignment]
    axes: tuple[Axis, ...] = ()
    total: Buffer = None  # type: ignore[assignment]
    body: list[Store] = field(default_factory=list)
    symbol: str = ""


@struct
class _Whole(Kernel):
    """Base of kernels that work on whole arrays, which no loop of ours fuses with anything."""

    inputs: list[Buffer] = field(default_factory=list)
    results: list[Buffer] = field(default_factory=list)

    def reads(self) -> list[Buffer]:
        return self.inputs

    def writes(self) -> list[Buffer]:
        return self.results


@struct
class Callback(_Whole):
    """An operation without a lowering: Python computes it on views of the buffers, the ``views`` of
    the inputs."""

    op: Any = None
    views: list[Matrix] = field(default_factory=list)


@struct
class Foreign(_Whole):
    """An operation that a C function evaluates, called by its address."""

    call: Call | Walk = None  # type: ignore[assignment]
    scratch: list[Buffer] = field(default_factory=list)
    error: str = "RuntimeError"
    text: str = ""

    def writes(self) -> list[Buffer]:
        return [*self.results, *self.scratch]


@struct
class Sparse(_Whole):
    """A product of compressed rows and dense matrices (``ops/sparse/products.py``), by its name.

    The inputs are two factors, which are row-major, then ``indices`` and ``indptr``.
    """

    kind: str = ""


#: What compiled code returns if the first of its checks fails; callbacks return less.
FIRST_FAILURE = 2
#: What it returns where Python would have decided otherwise: another version takes the call.  The
#: checks for that have this word instead of an error.
ELSEWHERE = 1 << 30
DECIDES = "elsewhere"


@struct
class Check(Kernel):
    """Stops the function unless the one bool in ``flag`` holds; ``text`` is the ``error``'s."""

    flag: Buffer = None  # type: ignore[assignment]
    error: str = "ValueError"
    text: str = ""

    def reads(self) -> list[Buffer]:
        return [self.flag]


@struct
class Source:
    """The part of an outer buffer that a :class:`Block` sees; it moves by ``step`` per iteration.

    ``offset`` and ``step`` count elements.
    """

    buffer: Buffer
    offset: Size = 0
    step: Size = 0


@struct
class Block:
    """Kernels with a table of addresses of their own: the body of a loop, or one side of a branch.

    ``table`` lists the buffers that own an entry, in order; the arena is the entry after them.
    ``sources`` maps buffers to memory outside of the block; its caller fills the other entries.
    """

    kernels: list[Kernel]
    table: list[Buffer]
    sources: dict[Buffer, Source]
    arena_bytes: Size

    def entries(self) -> list[Buffer]:
        """The part of the table that kernels use, or that whatever runs the block does."""
        used = {b.slot for k in self.kernels for b in (*k.reads(), *k.writes())}
        return [b for b in self.table if b.slot in used or b not in self.sources]

    def reads(self) -> list[Buffer]:
        """Buffers outside that the block reads."""
        used = {b for kernel in self.kernels for b in kernel.reads()}
        return [s.buffer for b, s in self.sources.items() if b in used]


@struct
class Carry:
    """A value carried from one iteration to the next: the body reads ``inside`` and fills
    ``following``.

    ``first`` and ``last`` are memory outside; ``last`` is None where the final value is unused.
    """

    inside: Buffer
    following: Buffer
    first: Source
    last: Buffer | None


@struct
class Loop(Kernel):
    """Runs a block again and again.

    :ivar length: Iterations at most; None where ``condition`` alone decides.
    :ivar rows: What iteration ``t`` wrote to the buffer of the block belongs at ``t`` steps in
        the source.
    :ivar count: Holds the number of iterations, where it is less than ``length``.
    :ivar stop: Of the block: whether this iteration was the last.  The rows that follow repeat this
        one.
    :ivar done: Takes the number of iterations.
    :ivar condition: Fills ``goes_on`` before every iteration; reads the carries through ``asks``.
    :ivar scratch: Memory for what the blocks keep to themselves.
    """

    length: Size | None = None
    block: Block = None  # type: ignore[assignment]
    carries: list[Carry] = field(default_factory=list)
    rows: list[tuple[Buffer, Source]] = field(default_factory=list)
    reverse: bool = False
    count: Source | None = None
    stop: Buffer | None = None
    done: Buffer | None = None
    condition: Block | None = None
    asks: list[Buffer] = field(default_factory=list)
    goes_on: Buffer | None = None
    scratch: Buffer = None  # type: ignore[assignment]

    def reads(self) -> list[Buffer]:
        found = [c.first.buffer for c in self.carries] + self.block.reads()
        if self.condition is not None:
            found += self.condition.reads()
        if self.count is not None:
            found.append(self.count.buffer)
        return list(dict.fromkeys(found))

    def writes(self) -> list[Buffer]:
        found = [c.last for c in self.carries if c.last is not None]
        found += [source.buffer for _, source in self.rows]
        if self.done is not None:
            found.append(self.done)
        return list(dict.fromkeys([*found, self.scratch]))

    def blocks(self) -> list[Block]:
        return [self.block] if self.condition is None else [self.condition, self.block]

    def offsets(self) -> tuple[Size, Size, list[Size]]:
        """Offsets in the scratch memory: block, condition, two of each carry, the end."""
        at: list[Size] = [0]
        asking = self.condition.arena_bytes if self.condition is not None else 0
        for size in (self.block.arena_bytes, asking, *(2 * c.inside.nbytes for c in self.carries)):
            at.append(at[-1] + (size + 127) // 128 * 128)
        return at[0], at[1], at[2:]


@struct
class Branch(Kernel):
    """Runs one of two blocks, which fill the same results."""

    chosen: Source = None  # type: ignore[assignment]
    then: Block = None  # type: ignore[assignment]
    otherwise: Block = None  # type: ignore[assignment]
    results: list[Buffer] = field(default_factory=list)
    scratch: Buffer = None  # type: ignore[assignment]

    def reads(self) -> list[Buffer]:
        written = {*self.results}
        found = [self.chosen.buffer, *self.then.reads(), *self.otherwise.reads()]
        return [b for b in dict.fromkeys(found) if b not in written]

    def writes(self) -> list[Buffer]:
        return [*self.results, self.scratch]

    def blocks(self) -> list[Block]:
        return [self.then, self.otherwise]


def may_fail(kernel: Kernel) -> bool:
    """Return whether a kernel may stop the call with an error."""
    if isinstance(kernel, Foreign):
        return isinstance(kernel.call, Call) and kernel.call.status
    return isinstance(kernel, Check | Callback) or any(
        may_fail(inner) for block in kernel.blocks() for inner in block.kernels)


def nested(kernels: Iterable[Kernel]) -> Iterator[Kernel]:
    """All kernels, those inside of loops and branches too."""
    for kernel in kernels:
        yield kernel
        for block in kernel.blocks():
            yield from nested(block.kernels)


def walk(values: Sequence[Expr] | Iterator[Expr], done: set[Expr] | None = None) -> Iterator[Expr]:
    """All subexpressions of ``values`` in postorder, each once. Those in ``done`` and their
    subexpressions are skipped; the others are added to it.
    """
    done = set() if done is None else done
    stack: list[Any] = list(values)  # None stands on a value whose arguments are through
    while stack:
        value = stack.pop()
        if value is None:
            yield stack.pop()
        elif value not in done:
            done.add(value)
            if not value.args:
                yield value
                continue
            stack += [value, None, *value.args]


def reductions(values: Iterable[Expr]) -> Iterator[Expr]:
    """All reductions in the expressions ``values``, each once, inner ones first."""
    done: set[Expr] = set()
    stack: list[Any] = [v for v in values if v.reduces]  # None: as in walk
    while stack:
        value = stack.pop()
        if value is None:
            value = stack.pop()
            if value.op == "reduce":
                yield value
        elif value not in done:
            done.add(value)
            stack += [value, None, *[a for a in value.args if a.reduces]]


def axes_in(stores: Iterable[Store]) -> set[Axis]:
    """Return all axes of stores: loop axes, and the axes that their reductions bind."""
    free = [part.free for s in stores for part in (s.value, s.offset)]
    return set().union(*free, bound_in([v for s in stores for v in (s.value, *s.offset.atoms)]))


def bound_in(values: Sequence[Expr]) -> set[Axis]:
    """The axes that reductions in expressions bind."""
    return {a for v in walk(values) if v.op in ("reduce", "steps") for a in v.param[1]}


def buffers_of(values: Sequence[Expr]) -> list[Buffer]:
    """Buffers that expressions load from, each once."""
    return list(dict.fromkeys([v.param[0] for v in walk(values) if v.op == "load"]))


def reads_of(value: Expr) -> dict[Buffer, set[Affine]]:
    """The addresses from which an expression loads, by buffer."""
    if value.buffers is None:
        found: dict[Buffer, set[Affine]] = {}
        for v in walk([value]):
            if v.op == "load":
                found.setdefault(v.param[0], set()).add(v.param[1])
        value.buffers = found
    return value.buffers
