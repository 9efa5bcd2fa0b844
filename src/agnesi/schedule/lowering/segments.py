"""Segments to kernels: a body is planned once and instantiated for each of its calls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from agnesi.core.ir import loops
from agnesi.core.ir.kernels import Buffer, Nest, Store
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support.dtypes import name_of
from agnesi.core.support.record import struct
from agnesi.schedule.clustering.clustering import fuse
from agnesi.schedule.clustering.decisions import in_stages
from agnesi.schedule.clustering.horizontal_fusion import fuse_siblings, fuse_small
from agnesi.schedule.clustering.node_facts import uniform
from agnesi.schedule.iteration_space import axes_of, point
from agnesi.schedule.lowering.kernel_templates import Pattern, again, pattern
from agnesi.schedule.program import Program, Request


@struct
class _Made:
    """A lowered body: its program, and the template of its kernels, if there is one."""

    program: Program
    operands: list[Buffer]
    constants: list[Buffer]
    pattern: Pattern | None


class Segments:
    """The kernels of outlined segments.

    ``buffer`` and ``constant`` give the memory of a value and of a constant; ``lower`` is the pass
    that makes kernels.
    """

    def __init__(self, program: Program, buffer: Callable[[Node], Buffer],
                 constant: Callable[[Node], Buffer], lower: Callable[[Program], Program]) -> None:
        self._program = program
        self._buffer = buffer
        self._constant = constant
        self._lower = lower
        self._made: dict[Hashable, _Made] = {}
        #: The results of segments, by the ids of their nodes.
        self._results: dict[int, list[Buffer]] = {}

    def emit(self, root: Node, claimed: Mapping[int, Buffer]) -> list[Buffer]:
        """Add the kernels of a segment, with results in the ``claimed`` buffers; return the buffers
        of all its results.
        """
        body = root.op.body
        operands = [self._buffer(root.inputs[k]) if i < 0 else self._results[id(root.inputs[k])][i]
                    for k, i in root.op.reads]
        key = id(body), tuple([(b.role, b.strides) for b in operands])
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._lowered(body, self._stand_ins(body, operands))
        if made.pattern is None:  # more than loops and products, which name nodes and buffers
            results = self._once(self._lowered(body, operands))
        else:
            results = [claimed[i] if i in claimed and claimed[i].contiguous
                       else Buffer(n.shape, n.dtype, "temporary", node=n)
                       for i, n in enumerate(body.outputs)]
            self._again(made, operands, results)
        self._results[id(root)] = results
        ids = {id(b) for b in claimed.values()}
        self._program.buffers += [b for b in results if id(b) not in ids]
        for i, target in claimed.items():
            if results[i] is not target:
                self._copy(body.outputs[i], results[i], target)
        return results

    def _stand_ins(self, body: Any, operands: Sequence[Buffer]) -> list[Buffer]:
        """Return buffers like the operands, which stand for them in kernels that are made once and
        repeated.
        """
        return [Buffer(n.shape, n.dtype, b.role, node=n, strides=b.strides)
                for n, b in zip(body.inputs, operands, strict=True)]

    def _lowered(self, body: Any, inputs: Sequence[Buffer]) -> _Made:
        """Lower a body whose operands are in these buffers."""
        ours = self._program.request
        leaves = {id(n): b for n, b in zip(body.inputs, inputs, strict=True)}
        order = toposort(body.outputs)
        constants = {id(n): self._constant(n) for n in order
                     if n.op is None and id(n) not in leaves and uniform(n) is None}
        inner = Program(
            Request(body.outputs, {**leaves, **constants}, ours.target, ours.prefers, ours.library,
                    exclude=ours.exclude),
            self._program.schedule, in_stages(order))
        for name, step in (("fusion", fuse), ("sibling_fusion", fuse_siblings),
                           ("sibling_fusion", fuse_small)):
            inner.begin(name)
            if name not in ours.exclude:
                inner = step(inner)
        inner.begin("lowering")
        inner = self._lower(inner)
        self._program.counts.update(inner.counts)
        given = [*inputs, *constants.values(), *inner.outputs]
        known = {*given}
        own = [b for b in inner.buffers if b not in known]
        return _Made(inner, [*inputs], [*constants.values()], pattern(inner.kernels, given, own))

    def _again(self, made: _Made, operands: Sequence[Buffer], results: Sequence[Buffer]) -> None:
        """Add the kernels of a body on other operands and results."""
        assert made.pattern is not None
        swap = {b: b for b in made.constants}
        swap |= zip(made.operands, operands, strict=True)
        swap |= zip(made.program.outputs, results, strict=True)
        self._program.kernels += again(made.pattern, swap, {})
        self._program.buffers += [swap[b] for b in self._own(made)]

    def _once(self, made: _Made) -> list[Buffer]:
        """Add the kernels of a body that was lowered for these operands alone; its results."""
        self._program.kernels += made.program.kernels
        self._program.buffers += self._own(made)
        for result in made.program.outputs:
            result.role, result.name = "temporary", "t"
        return made.program.outputs

    def _own(self, made: _Made) -> Iterable[Buffer]:
        """Return the temporaries of a body: buffers that are no operands, constants or results."""
        given = {*made.operands, *made.constants, *made.program.outputs}
        return [b for b in made.program.buffers if b not in given]

    def _copy(self, node: Node, source: Buffer, target: Buffer) -> None:
        """Add a kernel that copies a result to where it is to be."""
        axes = axes_of(node.shape)
        at = point(axes)
        value = loops.load(source, name_of(node.dtype), source.offset_of(at))
        store = Store(target, target.offset_of(at), value)
        self._program.kernels.append(Nest([node], axes, [store]))
