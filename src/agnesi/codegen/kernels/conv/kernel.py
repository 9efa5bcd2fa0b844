"""Convolution kernels: their parts, planned and emitted one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from agnesi.codegen.kernels.conv.conv1x1 import as_product
from agnesi.codegen.kernels.conv.dense import Dense, dense_parts, weight_part
from agnesi.codegen.kernels.conv.finish import apart, called, lines, rows, vectors
from agnesi.codegen.kernels.conv.layouts import (
    ROW_MULTIPLY_TIME,
    TRANSPOSED_STORE_CYCLES,
    store_cycles,
)
from agnesi.codegen.kernels.conv.parameter_table import call_with_table, constants
from agnesi.codegen.kernels.conv.rows_plan import plan_rows
from agnesi.codegen.kernels.conv.tile_plan import TilePlan
from agnesi.codegen.kernels.conv.weight_pixels_plan import plan_weight_pixels
from agnesi.codegen.kernels.conv.weight_plan import plan_weight
from agnesi.codegen.kernels.conv.wide_plan import fewest_cycles, plan_wide
from agnesi.codegen.kernels.gemm import GemmPlan
from agnesi.codegen.kernels.library_products import Call, emit_call, plan_call
from agnesi.codegen.kernels.machine import Machine, machine_for
from agnesi.codegen.kernels.product import LONG_EPILOGUE_INSTRUCTIONS, emit_product, plan_product
from agnesi.codegen.kernels.tile_search import MAX_WORKSPACE_BYTES
from agnesi.codegen.llvm.builder import Builder, Value, i64
from agnesi.codegen.loops.evaluate import Addresses, memory_type
from agnesi.core.ir.collapse import cost
from agnesi.core.ir.dims import Size
from agnesi.core.ir.extents import guess
from agnesi.core.ir.kernels import Convolution, Product
from agnesi.core.ir.loops import ITEM_BYTES
from agnesi.core.support.policy import FAST_RUN, CompilePolicy
from agnesi.core.support.record import record
from agnesi.core.target import Target

if TYPE_CHECKING:
    from agnesi.codegen.kernels.conv.winograd.plan import WinogradPlan

    Part = TilePlan | Call | tuple[Product, GemmPlan]

P = TypeVar("P", bound="WinogradPlan")


@record
class ConvPlan:
    """The parts of a convolution kernel; their work units are numbered consecutively."""

    kernel: Convolution
    work: Any
    parts: tuple[Part, ...]
    target: Target

    @property
    def units(self) -> Size:
        return sum(_units(p) for p in self.parts)

    @property
    def tiled(self) -> bool:
        """Whether all expensive parts are shared functions, so that the kernel's own code can be
        compiled at the quickest level.
        """
        return not any(
            isinstance(p, tuple) or (not isinstance(p, Call) and p.emitter.startswith("depthwise"))
            for p in self.parts
        )

    @property
    def surplus(self) -> Any:
        """By how much it is worth several threads."""
        return self.work - self.target.costs.product_multiply_adds


def _units(part: Part) -> Size:
    return part[1].units if isinstance(part, tuple) else part.units


def plan_convolution(kernel: Convolution, target: Target, policy: CompilePolicy = FAST_RUN,
                     threads: int = 1) -> ConvPlan:
    """Return how a convolution is cut into tiles and units; ``policy`` may request little code.

    So many ``threads`` of ours share what a library does.
    """
    dtype = kernel.total.dtype.name
    machine = machine_for(target, ITEM_BYTES[dtype], policy)
    long = (
        policy.short_epilogues or cost([s.value for s in kernel.body]) > LONG_EPILOGUE_INSTRUCTIONS
    )
    type_ = memory_type(dtype)
    dense = [weight_part(kernel)] if kernel.kind == "weight" else dense_parts(kernel)
    parts: list[Part] = []
    for part in dense:
        alone = _plan_alone(part, type_, machine, kernel.kind == "weight", long)
        product = as_product(kernel, part, machine) if alone is None else None
        if alone is not None:
            parts.append(alone)
        elif product is not None:
            cut = plan_call(product, threads) or plan_product(product, target)
            parts.append(cut if isinstance(cut, Call) else (product, cut))
        elif kernel.kind == "weight":
            parts.append(_plan_weight(part, type_, machine))
        else:
            parts.append(_plan_dense(part, type_, machine, long))
    return ConvPlan(kernel, sum(d.actual_work for d in dense), tuple(parts), target)


def _plan_alone(dense: Dense, type_: str, machine: Machine, weight: bool,
                long: bool) -> TilePlan | None:
    """Plan a depthwise convolution: lanes along channels, each with its own filter."""
    if not dense.single:
        return None
    from agnesi.codegen.kernels.conv.depthwise_plan import plan_depthwise

    return plan_depthwise(dense, type_, machine, weight, long)


def _plan_weight(dense: Dense, type_: str, machine: Machine) -> TilePlan:
    typical = dense.typical
    if dense.parts == 1 and typical.squared(machine.lanes):
        from agnesi.codegen.kernels.conv.winograd.plan import plan_winograd_weight

        squares = plan_winograd_weight(typical, type_, machine)
        if squares is not None and squares.cycles(machine.l2) < typical.work / machine.lanes:
            return _for_sizes(squares, dense)
    plain = plan_weight(dense, type_, machine)
    pixels = None if dense.open else plan_weight_pixels(dense, type_, machine)
    return pixels if pixels is not None and pixels.cycles < plain.cycles else plain


def _plan_dense(dense: Dense, type_: str, machine: Machine, long: bool) -> TilePlan:
    """Plan a convolution with lanes along channels or along rows, whichever takes fewer cycles,
    stores included.
    """
    steps = [guess(dense.body[0].offset.terms.get(dense.axes[i], 1)) for i in (2, 5)]
    typical = dense.typical
    stored = [typical.results * store_cycles(step, machine.itemsize) for step in steps]
    squares = None
    if typical.squared(machine.lanes):
        from agnesi.codegen.kernels.conv.winograd.plan import plan_winograd

        squares = plan_winograd(typical, type_, machine)
    least = math.inf
    if squares is not None:
        least = squares.cycles(machine.l2) + stored[0] * (not squares.transposes)
    if squares is not None and least <= fewest_cycles(typical, machine) + min(stored):
        return _for_sizes(squares, dense)
    wide = plan_wide(dense, type_, machine, long, along_pixels=steps[0] != 1 == steps[1])
    if dense.depth == 0 or machine.lanes == 1:
        return wide
    best: TilePlan = wide
    cycles = wide.cycles + (
        typical.results * TRANSPOSED_STORE_CYCLES if wide.transposes else stored[0])
    if not dense.open:
        rows = plan_rows(dense, type_, machine, long)
        taken = rows.cycles * ROW_MULTIPLY_TIME + stored[1]
        if rows.scratch <= 2 * MAX_WORKSPACE_BYTES and taken < cycles:
            best, cycles = rows, taken
    return _for_sizes(squares, dense) if squares is not None and least < cycles else best


def _for_sizes(plan: P, dense: Dense) -> P:
    """Return the Winograd plan of a convolution: ``plan`` itself where all sizes of ``dense`` are
    static; otherwise the plan, which was made for typical sizes, with dynamic ones instead.
    """
    if not dense.open:
        return plan
    from agnesi.codegen.kernels.conv.winograd.dynamic_plan import opened

    return opened(plan, dense)


def emit_convolution(b: Builder, plan: ConvPlan, pointer: Callable[[Builder], Addresses],
                     begin: Value, end: Value) -> None:
    """Emit work units [begin, end) of a convolution into the current function.

    ``pointer`` makes addresses in any function whose first parameter is that of this one.
    """
    kernel = plan.kernel
    bytes_ = [p.scratch for p in plan.parts if not isinstance(p, tuple | Call)]
    scratch = b.alloca("i8", max([64, *bytes_]))
    here = pointer(b)
    first, second = here(kernel.a.buffer), here(kernel.b.buffer)
    start: Any = 0
    for part in plan.parts:
        low = b.intrinsic("smax", b.sub(begin, b.size(start)), i64(0))
        high = b.intrinsic("smin", b.sub(end, b.size(start)), b.size(_units(part)))
        start = start + _units(part)
        if isinstance(part, tuple):
            emit_product(b, *part, here, low, high)
            continue
        if isinstance(part, Call):
            with b.when(b.icmp("slt", low, high)):
                emit_call(b, part, here, low, high)
            continue
        file, name = part.emitter.split(":")  # what is not chosen is not loaded
        emitter = getattr(import_module(f"agnesi.codegen.kernels.conv.{file}"), name)
        if file.startswith("winograd"):
            _emit_squares(b, part, emitter, pointer, first, second, scratch, low, high)
            continue
        finish = vectors(b, here, part.dense)
        emitter(b, part, first, second, finish, scratch).emit(low, high)


def _emit_squares(b: Builder, part: Any, emitter: Any,
                  pointer: Callable[[Builder], Addresses], *given: Value) -> None:
    """Code for convolutions by squares, which all of one shape may share."""
    shape, dense, along = part.shape, part.dense, part.along
    if not shape.shared:
        *operands, scratch, low, high = given
        each = vectors(b, pointer(b), dense)
        finish, finish_line = rows(b, part.type, each, along), None
        if part.transposes:
            behind = sum(part.areas[:3]) + part.workspace * part.itemsize
            workspace = b.gep("i8", scratch, i64(behind))
            finish_line = lines(b, part.type, each, dense, part.lanes, workspace)
        known = constants(b, part)
        tiles = emitter(b, known, part, shape, *operands, finish, scratch, None, finish_line)
        tiles.emit(low, high)
        return
    from agnesi.codegen.kernels.conv.winograd.products import product_of

    def body(own: Builder, known: Any, *given: Value) -> None:
        *operands, scratch, low, high, addresses, product, function = given
        finish = called(own, function, addresses, known.width)
        emitter(own, known, known, shape, *operands, finish, scratch, product).emit(low, high)

    product = product_of(b, part.type, part.panels[0].pieces, part.rows)
    function = apart(b, dense, part.type, part.lanes, along, pointer)
    call_with_table(
        b, part.emitter.split(":")[0], shape, part, body, *given, b.parameters[0], product, function
    )
