"""Lowering of loops and branches: blocks of kernels, and the buffers of their inputs and results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.core.graph import FunctionGraph, constant_value
from agnesi.core.ir.dims import Size, combine
from agnesi.core.ir.kernels import (
    Block,
    Branch,
    Buffer,
    Carry,
    Kernel,
    Loop,
    Matrix,
    Source,
    row_major,
)
from agnesi.core.ir.node import Node
from agnesi.schedule.program import Program

Schedule = Callable[[Sequence[Node], dict[int, Buffer], list[tuple[Buffer, int]]], Program]


class Maker:
    """Makes the kernels of loops and branches.

    :param schedule: Schedules a body, given its graph, the buffers of its leaves, and which outputs
        replace which leaves.
    :type schedule: callable
    :param constant: Makes the outer buffer of a constant that a body reads.
    """

    def __init__(self, schedule: Schedule, constant: Callable[[Node], Buffer]) -> None:
        self.schedule = schedule
        self.constant = constant

    def kernel(self, root: Node, operands: Sequence[Matrix],
               results: Sequence[Buffer | None]) -> Kernel:
        """Return the kernel of a node; ``results`` that are not used are None."""
        make = {"scan": self._scan, "while_loop": self._while, "cond": self._branch}
        kernel: Kernel = make[root.op.name](root.op, operands, results)
        kernel.nodes = [root]
        return kernel

    # -- loops ------------------------------------------------------------------------------
    def _scan(self, op: Any, operands: Sequence[Matrix], results: Sequence[Buffer | None]) -> Loop:
        count, sequences, firsts, constants = op.split(operands)
        body = op.body.graph
        views = [*map(_row, sequences), *firsts, *constants]
        steps = [m.strides[0] for m in sequences] + [0] * (len(firsts) + len(constants))
        inside = [_view(n, v) for n, v in zip(body.inputs, views, strict=True)]
        last, stacks = results[: op.carries], results[op.carries : op.carries + op.stacked]
        nexts = body.outputs[: op.carries]
        rows = body.outputs[op.carries : op.carries + op.stacked]
        stop = body.outputs[op.carries + op.stacked :]
        wanted = [*nexts, *(n for n, s in zip(rows, stacks, strict=True) if s is not None), *stop]
        carried = inside[op.sequences : op.sequences + op.carries]
        stacked = {id(n) for n, s in zip(rows, stacks, strict=True) if s is not None}
        in_place = [n for n in nexts if id(n) not in stacked]
        made = self._made(body, inside, wanted, list(zip(carried, nexts, strict=True)), in_place)
        block = made.block
        for buffer, view, step in zip(inside, views, steps, strict=True):
            if buffer not in carried:
                block.sources[buffer] = Source(view.buffer, view.offset, step)
        loop = Loop(
            length=op.length, block=block, reverse=op.reverse,
            carries=_carries(carried, [made.of[id(n)] for n in nexts], firsts, last),
            rows=[(made.of[id(n)], Source(s, 0, row_major(s.shape)[0]))
                  for n, s in zip(rows, stacks, strict=True) if s is not None],
            count=Source(count.buffer, count.offset) if count is not None else None,
            stop=made.of[id(stop[0])] if stop else None,
            done=results[-1] if op.until else None,
        )
        return _roomy(loop)

    def _while(self, op: Any, operands: Sequence[Matrix], results: Sequence[Buffer | None]) -> Loop:
        body, test = op.body.graph, op.test.graph
        inside = [_view(n, v) for n, v in zip(body.inputs, operands, strict=True)]
        tested = [_view(n, v) for n, v in zip(test.inputs, operands, strict=True)]
        carried, nexts = inside[: op.carries], body.outputs
        made = self._made(body, inside, nexts, list(zip(carried, nexts, strict=True)), nexts)
        condition = self._made(test, tested, test.outputs)
        for block, buffers in ((made.block, inside), (condition.block, tested)):
            for buffer, view in zip(buffers[op.carries :], operands[op.carries :], strict=True):
                block.sources[buffer] = Source(view.buffer, view.offset)
        loop = Loop(
            block=made.block, condition=condition.block, asks=tested[: op.carries],
            goes_on=condition.of[id(test.outputs[0])],
            carries=_carries(carried, [made.of[id(n)] for n in nexts],
                             operands[: op.carries], results),
        )
        return _roomy(loop)

    def _branch(self, op: Any, operands: Sequence[Matrix],
                results: Sequence[Buffer | None]) -> Branch:
        chosen, *rest = operands
        blocks = []
        for graph in (op.then.graph, op.otherwise.graph):
            inside = [_view(n, v) for n, v in zip(graph.inputs, rest, strict=True)]
            pairs = [(n, r) for n, r in zip(graph.outputs, results, strict=True) if r is not None]
            made = self._made(graph, inside, [n for n, _ in pairs], separate=True)
            made.block.sources.update(
                (buffer, Source(view.buffer, view.offset))
                for buffer, view in zip(inside, rest, strict=True)
            )
            made.block.sources.update(
                (inner, Source(r)) for inner, (_, r) in zip(made.outputs, pairs, strict=True)
            )
            blocks.append(made.block)
        then, otherwise = blocks
        size = combine("max", then.arena_bytes, otherwise.arena_bytes)
        return Branch(
            chosen=Source(chosen.buffer, chosen.offset), then=then, otherwise=otherwise,
            results=[r for r in results if r is not None], scratch=_scratch(size),
        )

    # -- blocks -----------------------------------------------------------------------------
    def _made(self, graph: FunctionGraph, inside: Sequence[Buffer], wanted: Sequence[Node],
              carried: Sequence[tuple[Buffer, Node]] = (), in_place: Sequence[Node] = (),
              separate: bool = False) -> _Made:
        """Return the block that computes the ``wanted`` values; a value wanted twice is computed
        once, unless results must be ``separate``.
        """
        leaves = {id(n): b for n, b in zip(graph.inputs, inside, strict=True)}
        for node in graph.nodes:
            if node.op is None and id(node) not in leaves:
                assert constant_value(node) is not None
                leaves[id(node)] = Buffer(tuple(node.shape), node.dtype, "constant", node=node)
        constants = [b for b in leaves.values() if b.role == "constant"]
        unique = list(wanted) if separate else list({id(n): n for n in wanted}.values())
        may, number = {id(n) for n in in_place}, {id(n): i for i, n in enumerate(unique)}
        program = self.schedule(unique, leaves, [
            (b, number[id(n)]) for b, n in carried
            if id(n) in may or (isinstance(b.size, int) and b.size == 1)
        ])
        constants += [b for b in leaves.values() if b.role == "constant" and b not in constants]
        of = {id(n): b for n, b in zip(unique, program.outputs, strict=True)}
        layout = program.layout
        block = Block(layout.kernels, layout.table, {}, layout.arena_bytes)
        for buffer in constants:
            if buffer in block.table:
                block.sources[buffer] = Source(self.constant(buffer.node))  # type: ignore[arg-type]
        return _Made(block, of, program.outputs)


class _Made:
    """A block of kernels, with the buffers of its results by node id and in order."""

    def __init__(self, block: Block, of: dict[int, Buffer], outputs: list[Buffer]) -> None:
        self.block = block
        self.of = of
        self.outputs = outputs


def _row(sequence: Matrix) -> Matrix:
    """Return a view of the first row of a sequence; the loop advances it."""
    return Matrix(sequence.buffer, sequence.offset, sequence.strides[1:])


def _view(node: Node, view: Matrix) -> Buffer:
    """Return a buffer for a body's input that is the part of an outer buffer seen by ``view``."""
    shape = tuple(node.shape)
    plain = row_major(shape)
    strides = tuple(p if n == 1 else s for s, p, n in zip(view.strides, plain, shape, strict=True))
    return Buffer(shape, node.dtype, "argument", node=node, strides=strides)


def _carries(inside: Sequence[Buffer], nexts: Sequence[Buffer], firsts: Sequence[Matrix],
             last: Sequence[Buffer | None]) -> list[Carry]:
    return [
        Carry(buffer, following, Source(first.buffer, first.offset), result)
        for buffer, following, first, result in zip(inside, nexts, firsts, last, strict=False)
    ]


def _roomy(loop: Loop) -> Loop:
    """Return the loop with the size of the scratch memory that its body needs."""
    loop.scratch = _scratch(loop.offsets()[-1][-1])
    return loop


def _scratch(size: Size) -> Buffer:
    return Buffer((combine("max", size, 1),), np.dtype(np.uint8), "temporary", name="scratch")
