"""Matrix products by calls of a library: where the policy says so, no tiles are generated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agnesi.codegen.arithmetic.delinearize import divide, indices_along
from agnesi.codegen.launch import address_key
from agnesi.codegen.llvm.builder import Builder, Value, const, i64
from agnesi.codegen.loops.evaluate import Scope, memory_type
from agnesi.codegen.loops.nest import emit_nest
from agnesi.core.ir.calls.gemm import Summed, summed
from agnesi.core.ir.dims import Size, is_static
from agnesi.core.ir.extents import guess
from agnesi.core.ir.foreign import HOLD, RELEASE, external
from agnesi.core.ir.kernels import Buffer, Matrix, Product, Store, axes_in
from agnesi.core.ir.loops import Axis, Substitution, fresh_axes, load
from agnesi.core.ir.mapping import NestPlan
from agnesi.core.support.record import record

#: Bytes of the sums of one call that wait for their epilogue: they stay in the cache.
_CALL_SUM_BYTES = 1 << 19
#: Bytes of all sums that wait for their epilogue, at most.
_MAX_SUM_BYTES = 1 << 20
#: Lines of sums that are worth a call.
_MIN_CALL_LINES = 16
#: Lines of a call from which another one is worth that the library packs an operand again.
_MIN_SHARED_LINES = 192
#: Calls for each thread, at most.
_MAX_CALLS_PER_THREAD = 4
#: Multiply-adds that are worth a call.
_MIN_CALL_MULTIPLY_ADDS = 1 << 18
#: Widths of calls are multiples of this.
_WIDTH_MULTIPLE = 8
Strides = tuple[int, int]  # strides


@record
class Lines:
    """An epilogue that is applied to some lines of a library product at a time, with sums in a
    workspace.

    :ivar most: Lines of a call.
    :ivar first: The axis that counts the lines before those of a call.
    :ivar sums: The buffer of the sums.
    :ivar plan: The loop nest of the epilogue for the lines of a call.
    """

    most: int
    first: Axis
    sums: Buffer
    plan: NestPlan


@record
class Call:
    """A ``gemm`` call in the library's column-major terms.

    :ivar product: The product to compute.
    :ivar first, second: The operands in the library's order.
    :ivar options: Whether each is transposed.
    :ivar numbers: Rows, columns and terms, followed by the leading dimensions of the operands and
        the result.
    """

    product: Product
    first: Matrix
    second: Matrix
    options: tuple[str, str]
    numbers: tuple[Size, ...]
    steps: tuple[int, int]
    epilogue: Summed | Lines
    shared: bool
    along: int
    blocks: int

    @property
    def units(self) -> Size:
        """Units of work; the library shares one among threads of its own."""
        return self.product.sizes[0] * self.blocks if self.shared else 1

    @property
    def type(self) -> str:
        """The IR type of elements."""
        return memory_type(self.product.total.dtype.name)


def plan_call(product: Product, threads: int) -> Call | None:
    """Return the library calls for a product, one for each member of its batch; None where it has
    none.

    So many ``threads`` of ours share it; with less than two, the library may have its own.
    """
    store = product.body[0]
    i, j = product.axes[-2:]
    strides = store.offset.terms.get(i, 0), store.offset.terms.get(j, 0)
    if not product.symbol or not is_static((*product.a.strides, *product.b.strides, *strides)):
        return None
    found = _whole(product, strides) or _by_lines(product, strides)
    if found is None:
        return None
    epilogue, (across, apart) = found
    _, m, n, k = product.sizes
    first, second, rows, columns = (product.a, (m, k)), (product.b, (k, n)), m, n
    if not across:  # its transpose is the product of the transposes, in the other order
        first, second, rows, columns = second, first, n, m
    layouts = [_lines(matrix.strides[-2:], sizes) for matrix, sizes in (first, second)]
    if None in layouts:
        return None
    (a_across, a_apart), (b_across, b_apart) = layouts  # type: ignore[misc]
    options = "N" if a_across == across else "T", "N" if b_across == across else "T"
    numbers = rows, columns, k, a_apart, b_apart, apart
    steps = first[0].strides[-2 if across else -1], second[0].strides[-1 if across else -2]
    rowwise = isinstance(epilogue, Summed) and not _copied(product, epilogue)
    along = 0 if rowwise and guess(rows) > guess(columns) else 1
    blocks = _blocks(product, numbers[along], threads)
    return Call(product, first[0], second[0], options, numbers, steps, epilogue, threads > 1,
                along, blocks)


def _blocks(product: Product, lines: Size, threads: int) -> int:
    """Return into how many library calls the lines of each member of the batch are divided, so that
    ``threads`` threads have even work and every call enough of it.
    """
    batch, *sizes = map(guess, product.sizes)
    if threads < 2:
        return 1
    least, most = (-(-n * threads // max(batch, 1)) for n in (1, _MAX_CALLS_PER_THREAD))
    wanted = max(least, min(most, guess(lines) // _MIN_SHARED_LINES))
    return max(
        1, min(wanted, guess(lines) // _WIDTH_MULTIPLE, math.prod(sizes) // _MIN_CALL_MULTIPLY_ADDS)
    )


def _whole(product: Product, strides: Strides) -> tuple[Summed, tuple[bool, Size]] | None:
    """Return the epilogue and the layout of the result if the library can apply it; else None."""
    _, m, n, _ = product.sizes
    epilogue = summed(product.body, product.total)
    if epilogue is None or not _in_place(product, epilogue) or product.body[0].offset.atoms:
        return None
    result = _lines(strides, (m, n))
    if result is None or (_copied(product, epilogue) and result[1] != (m if result[0] else n)):
        return None
    return epilogue, result


def _in_place(product: Product, epilogue: Summed) -> bool:
    """Return whether the addend is in the memory of the result, or can be copied there."""
    base, target = epilogue.base, product.body[0].buffer
    batch, m, n, _ = product.sizes
    return base is None or not _copied(product, epilogue) or (
        base.contiguous and target.contiguous and target.size == batch * m * n == base.size
    )


def _copied(product: Product, epilogue: Summed) -> bool:
    """Return whether what the sums are added to has to be copied."""
    base = epilogue.base
    return base is not None and address_key(base) != address_key(product.body[0].buffer)


def _by_lines(product: Product, strides: Strides) -> tuple[Lines, tuple[bool, Size]] | None:
    """Plan an epilogue that is applied to some lines at a time, with sums in a buffer.

    Returns the lines with their loop nest, and whether the sums are transposed, with their leading
    dimension; None if the buffer would be too large.
    """
    i, j = product.axes[-2:]
    across = strides[0] == 1 != strides[1]
    line, along = (j, i) if across else (i, j)
    size = along.extent * product.total.dtype.itemsize
    if not is_static((size,)) or min(guess(line.extent), _MIN_CALL_LINES) * size > _MAX_SUM_BYTES:
        return None
    most = max(_CALL_SUM_BYTES // size, _MIN_CALL_LINES)
    if isinstance(line.extent, int):
        most = min(most, line.extent)
    sums = Buffer((most, along.extent), product.total.dtype, "sum")
    taken = {*product.axes, *axes_in(product.body)}
    first, within = fresh_axes((line.extent, most), taken)
    key = load(product.total, product.total.dtype.name,
               product.total.offset_of([a.index for a in product.axes]))
    total = load(sums, key.dtype, sums.offset_of([within.index, along.index]))
    change = Substitution({line: first.index + within.index}, {key: total})
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in product.body]
    plan = NestPlan((within, along), body, along, most, 0, frozenset())
    return Lines(most, first, sums, plan), (across, along.extent)


def _lines(strides: Sequence[int], sizes: Sequence[Size]) -> tuple[bool, Size] | None:
    """Return whether a matrix is column-major, and the stride of its columns or rows."""
    (down, right), (rows, columns) = strides, sizes
    one, lone = (isinstance(n, int) and n == 1 for n in sizes)
    if (right == 1 or lone) and (one or _covers(down, columns)):
        return False, columns if one else down
    if (down == 1 or one) and (lone or _covers(right, rows)):
        return True, rows if lone else right
    return None


def _covers(stride: int, size: Size) -> bool:
    """Return whether a line of this size ends before the next one begins."""
    return isinstance(size, int) and stride >= size


def emit_call(b: Builder, call: Call, pointer: Callable[[Buffer], Value],
              begin: Value, end: Value) -> None:
    """Emit the library calls for work units [begin, end), and the epilogue on their sums."""
    # One table of 64 bits each: of letters and 32-bit integers the low part comes first.
    numbers = [*map(ord, call.options), *call.numbers]
    table = b.module.table("i64", [n if isinstance(n, int) else 0 for n in numbers])
    given = [
        Value(f"getelementptr (i64, ptr {table.ref}, i64 {i})", "ptr") if isinstance(n, int)
        else _behind(b, b.size(n)) for i, n in enumerate(numbers)
    ]
    if call.blocks > 1 or isinstance(call.epilogue, Lines):
        given[2 + call.along] = b.alloca("i64", 1)
    if not call.shared:
        begin, end = i64(0), b.size(call.product.sizes[0])
    else:
        b.call("void", external(HOLD))
    if isinstance(call.epilogue, Lines):
        _emit_lines(b, call, call.epilogue, given, pointer, begin, end)
    else:
        _emit_whole(b, call, call.epilogue, given, pointer, begin, end)
    if call.shared:
        b.call("void", external(RELEASE))


def _emit_whole(b: Builder, call: Call, epilogue: Summed, given: list[Value],
                pointer: Callable[[Buffer], Value], begin: Value, end: Value) -> None:
    """Emit the library calls of a product whose epilogue the library applies."""
    store, base = call.product.body[0], epilogue.base
    scope = Scope(b, pointer, {})
    alpha, beta = (
        b.module.table(call.type, [x.param]) if x.op == "const" else _behind(b, scope.value(x))
        for x in (epilogue.alpha, epilogue.beta)
    )
    apart = b.size(call.numbers[5])
    with _units(b, call, pointer, begin, end) as (indices, operands, start, stop):
        count = b.sub(stop, start)
        if call.blocks > 1:
            b.store(count, given[2 + call.along])
        operands[call.along] = _line(b, call, operands[call.along], start)
        steps = [store.offset.terms.get(axis, 0) for axis in call.product.axes[:-2]]
        at = b.add(_offset(b, store.offset.const, indices, steps),
                   b.mul(start, apart if call.along else i64(1)))
        result = b.gep(call.type, pointer(store.buffer), at)
        if base is not None and _copied(call.product, epilogue):
            size = b.mul(b.mul(count, apart), i64(base.dtype.itemsize))
            b.call("void", "llvm.memcpy.p0.p0.i64", result, b.gep(call.type, pointer(base), at),
                   size, const("i1", False))
        _gemm(b, call, given, (alpha, operands[0]), operands[1], (beta, result))


def _emit_lines(b: Builder, call: Call, lines: Lines, given: list[Value],
                pointer: Callable[[Buffer], Value], begin: Value, end: Value) -> None:
    """Emit the library calls for some lines at a time, each followed by the epilogue."""
    sums = b.alloca(call.type, lines.sums.size)
    alpha, beta = (b.module.table(call.type, [x]) for x in (1.0, 0.0))
    with _units(b, call, pointer, begin, end) as (indices, operands, start, stop), \
            b.loop(start, stop, lines.most) as loop:
        here = b.intrinsic("smin", b.sub(stop, loop.index), i64(lines.most))
        b.store(here, given[3])
        first, second = operands[0], _line(b, call, operands[1], loop.index)
        _gemm(b, call, given, (alpha, first), second, (beta, sums))
        around = dict(zip(call.product.axes, [*indices, loop.index], strict=False))
        emit_nest(b, lines.plan, lambda x: sums if x is lines.sums else pointer(x), i64(0), here,
                  {**around, lines.first: loop.index})


def _gemm(b: Builder, call: Call, given: list[Value], scaled: tuple[Value, Value], second: Value,
          added: tuple[Value, Value]) -> None:
    """The call itself; the factors of the sums and of what is there come with addresses."""
    flags, others = given[:2], given[2:5]
    step_a, step_b, step_c = given[5:]
    b.call("void", external(call.product.symbol), *flags, *others, *scaled, step_a, second, step_b,
           *added, step_c)


@contextmanager
def _units(b: Builder, call: Call, pointer: Callable[[Buffer], Value], begin: Value, end: Value
           ) -> Iterator[tuple[list[Value], list[Value], Value, Value]]:
    """A loop over units: indices along the batch's axes, where operands are, and which lines."""
    with b.loop(begin, end) as loop:
        member, block = divide(b, loop.index, call.blocks)
        axes = call.product.axes[:-2]
        found = indices_along(b, axes, member)
        indices = [i64(0) if axis.extent == 1 else found[axis] for axis in axes]
        operands = [
            b.gep(call.type, pointer(m.buffer), _offset(b, m.offset, indices, m.strides[:-2]))
            for m in (call.first, call.second)
        ]
        start, stop = i64(0), b.size(call.numbers[call.along])
        if call.blocks > 1:
            each = b.op("udiv", b.add(stop, i64(call.blocks * _WIDTH_MULTIPLE - 1)),
                        i64(call.blocks * _WIDTH_MULTIPLE))
            width = b.mul(each, i64(_WIDTH_MULTIPLE))
            start = b.intrinsic("smin", b.mul(block, width), stop)
            stop = b.intrinsic("smin", b.add(start, width), stop)
        yield indices, operands, start, stop


def _line(b: Builder, call: Call, operand: Value, number: Value) -> Value:
    """Return the address of a row of the first operand, or of a column of the second."""
    return b.gep(call.type, operand, b.mul(number, i64(call.steps[call.along])))


def _offset(b: Builder, start: int, indices: Sequence[Value], steps: Sequence[int]) -> Value:
    """Return the offset of a member of the batch, in elements."""
    at = i64(start)
    for index, step in zip(indices, steps, strict=True):
        at = b.add(at, b.mul(index, i64(step)))
    return at


def _behind(b: Builder, value: Value) -> Value:
    """Store a value on the stack and return its address."""
    workspace = b.alloca(value.type, 1)
    b.store(value, workspace)
    return workspace
