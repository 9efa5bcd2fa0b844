"""Matrix products: the generated tiles, with the rest of the kernel as their epilogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnesi.codegen.arithmetic.delinearize import indices_along
from agnesi.codegen.kernels.gemm import (
    GemmPlan,
    GemmSpec,
    Operand,
    Operands,
    direct,
    emit_gemm,
    plan,
)
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.llvm.instructions import prefetch
from agnesi.codegen.loops.evaluate import Scope, memory_type, streams
from agnesi.core.ir.collapse import cost
from agnesi.core.ir.dims import is_static
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Buffer, Matrix, Product, walk
from agnesi.core.ir.loops import Affine, Axis, load
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.target import LINE_BYTES, Target

#: Instructions of an epilogue that is written once for a tile, in a loop.
LONG_EPILOGUE_INSTRUCTIONS = 40


def plan_product(product: Product, target: Target, policy: CompilePolicy = FAST_RUN) -> GemmPlan:
    """Return how the product is cut into tiles and work units."""
    batch, m, n, k = map(guess, product.sizes)
    i, j = product.axes[-2:]
    store = product.body[0]
    strides = (store.offset.terms.get(i, 0) or n, store.offset.terms.get(j, 0) or 1)
    strides = _typical(_steps(strides, (m, n)))
    steps = _steps(product.a.strides[-2:], (m, k)), _steps(product.b.strides[-2:], (k, n))
    spec = GemmSpec(
        m, n, k, batch, product.total.dtype.name,
        a_strides=_typical(steps[0]), b_strides=_typical(steps[1]),
        c_strides=strides if 1 in strides else (n, 1),
        actual=() if is_static(product.sizes) else product.sizes,
        steps=() if is_static((*steps[0], *steps[1])) else steps, zeros=product.zeros,
    )
    long = cost([s.value for s in product.body]) > LONG_EPILOGUE_INSTRUCTIONS
    return plan(spec, target, long_epilogue=long, policy=policy)


def _steps(strides: Sequence[Any], sizes: tuple[int, int]) -> tuple[Any, Any]:
    """Return the strides, dynamic ones as they are; those along an axis of size 1 do not count."""
    first, second = (guess(s) if n == 1 else s for s, n in zip(strides, sizes, strict=True))
    return first, second


def _typical(strides: tuple[Any, Any]) -> tuple[int, int]:
    """Return strides to plan for; dynamic ones are assumed not to be a multiple of a power of two.
    """
    first, second = (s if isinstance(s, int) else guess(s) + 16 for s in strides)
    return first, second


def emit_product(b: Builder, product: Product, cut: GemmPlan,
                 pointer: Callable[[Buffer], Value], begin: Value, end: Value,
                 interrupted: Callable[[], Value] | None = None) -> None:
    """Emit work units [begin, end) of a product; ``interrupted`` emits the test whether a signal
    requests to stop early.
    """
    *batches, at_i, at_j = product.axes
    axes = set(product.axes)
    root = Scope(b, pointer, {})
    key = load(product.total, product.total.dtype.name, product.total.offset_of(_at(product)))
    if key.free:  # else what waits for the sum is not known
        root.hoist([s.value for s in product.body], axes, root)

    def epilogue(b: Builder, total: Value, batch: Value, i: Value, j: Value, lanes: int,
                 mask: Value | None, along: str) -> None:
        index = {**indices_along(b, batches, batch), at_i: i, at_j: j}
        scope = root.inside(index, along=at_j if along == "n" else at_i, lanes=lanes, mask=mask)
        scope.memo[key] = total
        for s in product.body:
            scope.store(s.buffer, s.offset, s.value)

    swept = _swept(product, at_i if cut.swapped else at_j, b.module.target)

    def call(b: Builder, batch: Value, i: Value, j: Value, rows: int, columns: int) -> None:
        scope = root.inside({**indices_along(b, batches, batch), at_i: i, at_j: j})
        lines: dict[Value, None] = {}
        for buffer, offset in swept:
            first = scope.address(buffer.dtype.name, buffer, offset)
            line = max(1, LINE_BYTES // buffer.dtype.itemsize)  # elements of a line of the cache
            for r in range(0, rows, line if cut.swapped else 1):
                for c in range(0, columns, 1 if cut.swapped else line):
                    down, right = (b.mul(i64(n), b.size(offset.terms[axis]))
                                   for n, axis in ((r, at_i), (c, at_j)))
                    lines[b.gep(memory_type(buffer.dtype.name), first, b.add(down, right))] = None
        for at in lines:
            prefetch(b, at, near=True)

    operands = Operands(
        _operand(b, product.a, pointer, "mk", batches),
        _operand(b, product.b, pointer, "kn", batches), epilogue, call, interrupted,
    )
    scratch = b.alloca("i8", max(cut.scratch, 64))
    emit_gemm(b, cut, operands, begin, end, scratch)


def _swept(product: Product, along: Axis, target: Target) -> list[tuple[Buffer, Affine]]:
    """Return the buffers that the epilogue reads or writes line by line, with their offsets."""
    at = set(product.axes[-2:])
    loads = [e.param for e in walk([s.value for s in product.body]) if e.op == "load"]
    stores = [(s.buffer, s.offset) for s in product.body if not streams(s.buffer, target)]
    accesses = dict.fromkeys([*stores, *loads])
    return [
        (buffer, offset) for buffer, offset in accesses
        if buffer is not product.total and buffer.dtype.kind != "c" and not offset.atoms
        and offset.terms.get(along) == 1 and at <= offset.terms.keys()
    ]


def _at(product: Product) -> tuple[Affine, ...]:
    return tuple(Affine(0, {a: 1}) for a in product.axes)


def _operand(b: Builder, matrix: Matrix, pointer: Callable[[Buffer], Value], axes: str,
             batches: Sequence[Axis]) -> Operand:
    type_ = memory_type(matrix.buffer.dtype.name)
    base = pointer(matrix.buffer)
    if matrix.offset:
        base = b.gep(type_, base, i64(matrix.offset))
    steps = dict(zip(batches, matrix.strides[:-2], strict=True))

    def batch_offset(b: Builder, member: Value) -> Value:
        total = i64(0)
        for axis, at in indices_along(b, batches, member).items():
            total = b.add(total, b.mul(at, b.size(steps[axis])))
        return total

    step = batch_offset if len(steps) > 1 else next(iter(steps.values()), 0)
    return direct(base, type_, matrix.strides[-2:], axes, step)
