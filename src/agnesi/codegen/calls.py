"""Matrix products by calls of a library: where code is made in haste, nothing is generated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from agnesi.codegen.builder import Builder, Value, const, i64
from agnesi.codegen.evaluate import Scope, memory_type
from agnesi.codegen.steps import spot
from agnesi.core.dims import is_static
from agnesi.core.foreign import external
from agnesi.core.gemm import Summed, summed
from agnesi.core.kernels import Buffer, Matrix, Product
from agnesi.core.loops import Expr
from agnesi.core.record import record


@record
class Call:
    """``gemm`` as the library sees it: column by column.

    Attributes
    ----------
    first, second : Matrix
        The operands in its order.
    options : tuple of str
        Whether it has to transpose them.
    numbers : tuple of int
        Rows, columns and terms, then how far lines of the operands and the result are apart.
    epilogue : Summed
        What becomes of the sums.
    """

    first: Matrix
    second: Matrix
    options: tuple[str, str]
    numbers: tuple[int, ...]
    epilogue: Summed


def plan_call(product: Product) -> Call | None:
    """How a product is one call for each member of its batch; None where it is none."""
    epilogue = summed(product.body, product.total) if product.symbol else None
    if epilogue is None or not _in_place(product, epilogue):
        return None
    store = product.body[0]
    _, m, n, k = product.sizes
    i, j = product.axes[-2:]
    strides = store.offset.terms.get(i, 0), store.offset.terms.get(j, 0)
    given = (*product.sizes, *product.a.strides, *product.b.strides, *strides)
    if store.offset.atoms or not is_static(given):
        return None
    result = _lines(strides, (m, n))
    if result is None:
        return None
    first, second = (product.a, (m, k)), (product.b, (k, n))
    (across, apart), rows, columns = result, m, n
    if not across:  # its transpose is the product of the transposes, in the other order
        first, second, rows, columns = second, first, n, m
    found = [_lines(matrix.strides[-2:], sizes) for matrix, sizes in (first, second)]
    if None in found:
        return None
    (a_across, a_apart), (b_across, b_apart) = found  # type: ignore[misc]
    options = "N" if a_across == across else "T", "N" if b_across == across else "T"
    numbers = rows, columns, k, a_apart, b_apart, apart
    return Call(first[0], second[0], options, numbers, epilogue)


def _in_place(product: Product, epilogue: Summed) -> bool:
    """Whether what the sums are added to lies where they go, or can be copied there."""
    base, target = epilogue.base, product.body[0].buffer
    batch, m, n, _ = product.sizes
    return base is None or spot(base) == spot(target) or (
        base.contiguous and target.contiguous and target.size == batch * m * n == base.size
    )


def _lines(strides: Sequence[int], sizes: Sequence[int]) -> tuple[bool, int] | None:
    """Whether a matrix lies column by column, and how far its columns or rows are apart."""
    (down, right), (rows, columns) = strides, sizes
    if (right == 1 or columns == 1) and (rows == 1 or down >= columns):
        return False, max(down, columns) if rows > 1 else columns
    if (down == 1 or rows == 1) and (columns == 1 or right >= rows):
        return True, max(right, rows) if columns > 1 else rows
    return None


def emit_call(b: Builder, product: Product, call: Call, pointer: Callable[[Buffer], Value]) -> None:
    """Emit the calls for all members of the batch."""
    type_ = memory_type(product.total.dtype.name)
    store = product.body[0]
    # One table of 64 bits each: of letters and 32-bit integers the low part comes first.
    base = call.epilogue.base
    if base is not None and spot(base) != spot(store.buffer):
        b.call("void", "llvm.memcpy.p0.p0.i64", pointer(store.buffer), pointer(base),
               i64(base.nbytes), const("i1", False))
    numbers = [*map(ord, call.options), *call.numbers]
    table = b.module.table("i64", numbers)
    trans_a, trans_b, rows, columns, terms, step_a, step_b, step_c = (
        Value(f"getelementptr (i64, ptr {table.ref}, i64 {i})", "ptr") for i in range(len(numbers))
    )
    scope = Scope(b, pointer, {})
    alpha, beta = (_behind(scope, type_, x) for x in (call.epilogue.alpha, call.epilogue.beta))
    batches = product.axes[:-2]
    places = [(m.buffer, m.offset, m.strides[:-2]) for m in (call.first, call.second)]
    places.append((store.buffer, store.offset.const,
                   tuple(store.offset.terms.get(axis, 0) for axis in batches)))
    with ExitStack() as stack:
        turns = [stack.enter_context(b.loop(i64(0), i64(axis.extent), nonempty=True)).index
                 for axis in batches]
        at = []
        for buffer, offset, steps in places:
            place = i64(offset)
            for turn, step in zip(turns, steps, strict=True):
                place = b.add(place, b.mul(turn, i64(step)))
            at.append(b.gep(type_, pointer(buffer), place))
        b.call("void", external(product.symbol), trans_a, trans_b, rows, columns, terms, alpha,
               at[0], step_a, at[1], step_b, beta, at[2], step_c)


def _behind(scope: Scope, type_: str, factor: Expr) -> Value:
    """The address of a number that is the same for all calls."""
    b = scope.b
    if factor.op == "const":
        return b.module.table(type_, [factor.param])
    room = b.alloca(type_, 1)
    b.store(scope.value(factor), room)
    return room
