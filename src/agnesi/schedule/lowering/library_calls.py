"""Operations for which a function of the library is faster than a loop nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnesi.core.ir.foreign import Call
from agnesi.core.ir.kernels import Buffer, Kernel, Matrix, Nest, Store, row_major
from agnesi.core.ir.loops import Axis, Expr
from agnesi.core.ir.node import Node
from agnesi.core.target import Target
from agnesi.schedule.iteration_space import axes_of, point
from agnesi.schedule.lowering.foreign import foreign

#: The element of a value at the point of its own axes.
Element = Callable[[Node], Expr]


def loaded(value: Expr, axes: Sequence[Axis], shape: Sequence[int], whole: bool) -> Matrix | None:
    """Return a view of the buffer that a value is loaded from; None if it is computed, or with
    ``whole`` if it is not contiguous.
    """
    if value.op != "load" or value.param[1].atoms:
        return None
    buffer, offset = value.param
    strides = tuple(offset.terms.get(a, 0) for a in axes)
    plain = row_major(shape)
    if whole and any(n != 1 and s != p for n, s, p in zip(shape, strides, plain, strict=True)):
        return None
    return Matrix(buffer, offset.const, strides)


def called(root: Node, result: Buffer, element: Element, target: Target) -> list[Kernel]:
    """Return the kernels that compute an operation by a C function instead of loops.

    Empty if there is no such function, or an operand or the result is not contiguous.
    """
    op = root.op
    call = op.foreign(*root.inputs) if op.foreign is not None and op.outputs == 1 else None
    if not isinstance(call, Call) or not call.units or not result.contiguous:
        return []
    given = []
    for i, node in enumerate(root.inputs):
        found = None
        if i != call.over:
            found = loaded(element(node), axes_of(node.shape), node.shape, True)
            if found is None or found.offset:
                return []
        given.append(result if found is None else found.buffer)
    kernel = foreign(root, given, [result], lambda node: result, target)
    if kernel is None:
        return []
    before = [] if call.over is None else _copied(root, root.inputs[call.over], result, element)
    return [*before, kernel]


def _copied(root: Node, node: Node, result: Buffer, element: Element) -> list[Kernel]:
    """Return the kernels that copy a value to where the result will be; none if it is there."""
    axes = axes_of(node.shape)
    store = Store(result, result.offset_of(point(axes)), element(node))
    if store.value.op == "load" and store.value.param == (result, store.offset):
        return []
    return [Nest([root], axes, [store])]
