"""Matrix products by calls of a library: where code is made in haste, no tiles are generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from agnesi.codegen.builder import Builder, Value, const, i64
from agnesi.codegen.evaluate import Scope, memory_type
from agnesi.codegen.nest import Shape, emit_nest
from agnesi.codegen.steps import spot
from agnesi.core.dims import Size, is_static
from agnesi.core.extents import guess
from agnesi.core.foreign import external
from agnesi.core.gemm import Summed, summed
from agnesi.core.kernels import Buffer, Matrix, Product, Store
from agnesi.core.loops import Axis, Substitution, load
from agnesi.core.record import record

#: Bytes of the sums that wait for their epilogue: those of a call, which stay close, and at most;
#: and how many lines of them are worth a call.
_CLOSE, _ROOM, _FEW = 1 << 19, 1 << 20, 16
_SLOT = 400  # of the axes that count lines, away from all others
Lying = tuple[int, int]  # strides


@record
class Lines:
    """What becomes of sums in scratch, some lines of a matrix at a time.

    Attributes
    ----------
    most : int
        Lines of a call.
    first : Axis
        Counts the lines of the matrix up to the first of a call.
    sums : Buffer
        Where they wait.
    shape : Shape
        The epilogue for the lines of a call.
    """

    most: int
    first: Axis
    sums: Buffer
    shape: Shape


@record
class Call:
    """``gemm`` as the library sees it: column by column.

    Attributes
    ----------
    product : Product
        What it is to compute.
    first, second : Matrix
        The operands in its order.
    options : tuple of str
        Whether it has to transpose them.
    numbers : tuple of int or Extent
        Rows, columns and terms, then how far lines of the operands and the result are apart.
    step : int
        From one column of the second operand to the next.
    epilogue : Summed or Lines
        What becomes of the sums: the library does it, or it is code behind the call.
    """

    units: ClassVar[int] = 1  # of work: the library has threads of its own
    product: Product
    first: Matrix
    second: Matrix
    options: tuple[str, str]
    numbers: tuple[Size, ...]
    step: int
    epilogue: Summed | Lines

    @property
    def type(self) -> str:
        """The IR type of elements."""
        return memory_type(self.product.total.dtype.name)


def plan_call(product: Product) -> Call | None:
    """How a product is calls for the members of its batch; None where it is none."""
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
    lies = [_lines(matrix.strides[-2:], sizes) for matrix, sizes in (first, second)]
    if None in lies:
        return None
    (a_across, a_apart), (b_across, b_apart) = lies  # type: ignore[misc]
    options = "N" if a_across == across else "T", "N" if b_across == across else "T"
    numbers = rows, columns, k, a_apart, b_apart, apart
    step = second[0].strides[-1 if across else -2]
    return Call(product, first[0], second[0], options, numbers, step, epilogue)


def _whole(product: Product, strides: Lying) -> tuple[Summed, tuple[bool, Size]] | None:
    """The epilogue and how the result lies, where the library can do it all."""
    _, m, n, _ = product.sizes
    epilogue = summed(product.body, product.total)
    if epilogue is None or not _in_place(product, epilogue) or product.body[0].offset.atoms:
        return None
    result = _lines(strides, (m, n))
    return None if result is None else (epilogue, result)


def _in_place(product: Product, epilogue: Summed) -> bool:
    """Whether what the sums are added to lies where they go, or can be copied there."""
    base, target = epilogue.base, product.body[0].buffer
    batch, m, n, _ = product.sizes
    return base is None or spot(base) == spot(target) or (
        base.contiguous and target.contiguous and target.size == batch * m * n == base.size
    )


def _by_lines(product: Product, strides: Lying) -> tuple[Lines, tuple[bool, Size]] | None:
    """The epilogue for sums in scratch, and how they lie, if there is room for some lines."""
    i, j = product.axes[-2:]
    across = strides[0] == 1 != strides[1]
    line, along = (j, i) if across else (i, j)
    size = along.extent * product.total.dtype.itemsize
    if not is_static((size,)) or min(guess(line.extent), _FEW) * size > _ROOM:
        return None
    most = max(_CLOSE // size, _FEW)
    if isinstance(line.extent, int):
        most = min(most, line.extent)
    sums = Buffer((most, along.extent), product.total.dtype, "sum")
    first, turn = Axis(_SLOT, line.extent), Axis(_SLOT + 1, most)
    key = load(product.total, product.total.dtype.name,
               product.total.place([a.index for a in product.axes]))
    total = load(sums, key.dtype, sums.place([turn.index, along.index]))
    change = Substitution({line: first.index + turn.index}, {key: total})
    body = [Store(s.buffer, change.index(s.offset), change(s.value)) for s in product.body]
    shape = Shape((turn, along), body, along, most, 0, frozenset())
    return Lines(most, first, sums, shape), (across, along.extent)


def _lines(strides: Sequence[int], sizes: Sequence[Size]) -> tuple[bool, Size] | None:
    """Whether a matrix lies column by column, and how far its columns or rows are apart."""
    (down, right), (rows, columns) = strides, sizes
    one, lone = (isinstance(n, int) and n == 1 for n in sizes)
    if (right == 1 or lone) and (one or _covers(down, columns)):
        return False, columns if one else down
    if (down == 1 or one) and (lone or _covers(right, rows)):
        return True, rows if lone else right
    return None


def _covers(stride: int, size: Size) -> bool:
    """Whether a line of this size ends before the next one begins."""
    return isinstance(size, int) and stride >= size


def emit_call(b: Builder, call: Call, pointer: Callable[[Buffer], Value],
              vector_bits: int) -> None:
    """Emit the calls for all members of the batch, and what becomes of sums behind them."""
    # One table of 64 bits each: of letters and 32-bit integers the low part comes first.
    numbers = [*map(ord, call.options), *call.numbers]
    table = b.module.table("i64", [n if isinstance(n, int) else 0 for n in numbers])
    given = [
        Value(f"getelementptr (i64, ptr {table.ref}, i64 {i})", "ptr") if isinstance(n, int)
        else _behind(b, b.size(n)) for i, n in enumerate(numbers)
    ]
    if isinstance(call.epilogue, Lines):
        _emit_lines(b, call, call.epilogue, given, pointer, vector_bits)
    else:
        _emit_whole(b, call, call.epilogue, given, pointer)


def _emit_whole(b: Builder, call: Call, epilogue: Summed, given: list[Value],
                pointer: Callable[[Buffer], Value]) -> None:
    """The library finishes what it sums up."""
    store, base = call.product.body[0], epilogue.base
    if base is not None and spot(base) != spot(store.buffer):
        b.call("void", "llvm.memcpy.p0.p0.i64", pointer(store.buffer), pointer(base),
               b.size(base.nbytes), const("i1", False))
    scope = Scope(b, pointer, {})
    alpha, beta = (
        b.module.table(call.type, [x.param]) if x.op == "const" else _behind(b, scope.value(x))
        for x in (epilogue.alpha, epilogue.beta)
    )
    with _members(b, call, pointer) as (turns, first, second):
        steps = [store.offset.terms.get(axis, 0) for axis in call.product.axes[:-2]]
        result = _address(b, call, pointer(store.buffer), store.offset.const, turns, steps)
        _gemm(b, call, given, (alpha, first), second, (beta, result))


def _emit_lines(b: Builder, call: Call, lines: Lines, given: list[Value],
                pointer: Callable[[Buffer], Value], vector_bits: int) -> None:
    """Some lines of sums at a time, and then their epilogue."""
    sums = b.alloca(call.type, lines.sums.size)
    alpha, beta = (b.module.table(call.type, [x]) for x in (1.0, 0.0))
    size = b.size(call.numbers[1])
    count = b.alloca("i64", 1)
    given = [*given[:3], count, *given[4:]]
    with _members(b, call, pointer) as (turns, first, second), \
            b.loop(i64(0), size, lines.most, nonempty=True) as loop:
        here = b.intrinsic("smin", b.sub(size, loop.index), i64(lines.most))
        b.store(here, count)
        second = b.gep(call.type, second, b.mul(loop.index, i64(call.step)))
        _gemm(b, call, given, (alpha, first), second, (beta, sums))
        around = dict(zip(call.product.axes, [*turns, loop.index], strict=False))
        emit_nest(b, lines.shape, lambda x: sums if x is lines.sums else pointer(x), vector_bits,
                  i64(0), here, {**around, lines.first: loop.index})


def _gemm(b: Builder, call: Call, given: list[Value], scaled: tuple[Value, Value], second: Value,
          added: tuple[Value, Value]) -> None:
    """The call itself; the factors of the sums and of what is there come with addresses."""
    turned, others = given[:2], given[2:5]
    step_a, step_b, step_c = given[5:]
    b.call("void", external(call.product.symbol), *turned, *others, *scaled, step_a, second, step_b,
           *added, step_c)


@contextmanager
def _members(b: Builder, call: Call, pointer: Callable[[Buffer], Value]
             ) -> Iterator[tuple[list[Value], Value, Value]]:
    """Loops over the batch: the places along its axes, and where the operands are."""
    with ExitStack() as stack:
        turns = [
            i64(0) if axis.extent == 1
            else stack.enter_context(b.loop(i64(0), b.size(axis.extent), nonempty=True)).index
            for axis in call.product.axes[:-2]
        ]
        first, second = (
            _address(b, call, pointer(m.buffer), m.offset, turns, m.strides[:-2])
            for m in (call.first, call.second)
        )
        yield turns, first, second


def _address(b: Builder, call: Call, start: Value, place: int, turns: Sequence[Value],
             steps: Sequence[int]) -> Value:
    """Where a member of the batch is."""
    at = i64(place)
    for turn, step in zip(turns, steps, strict=True):
        at = b.add(at, b.mul(turn, i64(step)))
    return b.gep(call.type, start, at)


def _behind(b: Builder, value: Value) -> Value:
    """The address of a value that is the same for all calls."""
    room = b.alloca(value.type, 1)
    b.store(value, room)
    return room
