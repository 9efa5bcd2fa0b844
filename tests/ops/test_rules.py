"""Every operation on its samples: types, evaluation, graphs, derivatives, lowering, dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
import agnesi.nn
from agnesi.core.expansion import expanded
from agnesi.core.graph import FunctionGraph, constant_value, live_tensor
from agnesi.core.ir import loops
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.support import dtypes
from agnesi.core.tensor import symbol, wrap
from agnesi.ops.base.elementwise import TABLE, call
from agnesi.testing import check_op
from agnesi.testing.operations import close
from agnesi.testing.samples import Case, cases, operands

CASES = cases()
PARTS = 100


@pytest.mark.share(6)
@pytest.mark.parametrize("name", CASES)
def test_rules_agree(name: str) -> None:
    """Public functions of SciPy to order 1: tests/testing/test_every_derivative has order 2."""
    case, row = CASES[name], TABLE.get(name)
    elsewhere = row is not None and row.loop.startswith("scipy") and hasattr(ag.special, name)
    order = 1 if elsewhere else 2
    check_op(case.function, case.samples, order=order, grads=case.grads, compiled=False)


@pytest.mark.share(48)
@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_functions_agree(part: int) -> None:
    """Some operations with all their samples in one function: a compilation has its own costs."""
    names = [*CASES][part::PARTS]
    functions = [CASES[name].function for name in names]
    samples = [[tuple(map(wrap, sample)) for sample in CASES[name].samples] for name in names]

    def run(samples: Any) -> Any:
        return [[f(*sample) for sample in some]
                for f, some in zip(functions, samples, strict=True)]

    with ag.no_grad():
        eager = run(samples)
    for name, compiled, expected in zip(names, ag.jit(run)(samples), eager, strict=True):
        for one, other in zip(compiled, expected, strict=True):
            close(one.array, other.array, f"compiled {name}")


# -- lowering -----------------------------------------------------------------------------------
class Evaluator:
    """The loop language in NumPy: each axis is an array dimension."""

    def __init__(self, buffers: list[np.ndarray], places: dict[loops.Axis, int]) -> None:
        self.buffers = [b.ravel() for b in buffers]
        self.places = places
        self.known: dict[loops.Expr, Any] = {}
        self.turns: dict[loops.Axis, int] = {}
        self.carried: list[Any] = []

    def value(self, e: loops.Expr) -> Any:
        if e not in self.known:
            self.known[e] = self.computed(e)
        return self.known[e]

    def computed(self, e: loops.Expr) -> Any:
        if e.op == "const":
            return np.asarray(e.param, e.dtype)
        if e.op == "index":
            return self.index(e.param)
        if e.op == "load":
            return self.buffers[e.param[0]][self.index(e.param[1])]
        if e.op == "cast":
            return np.asarray(self.value(e.args[0])).astype(e.dtype)
        if e.op == "where":
            return np.where(*[self.value(a) for a in e.args])
        if e.op == "reduce":
            return self.reduced(e)
        if e.op == "bits":
            return np.asarray(self.value(e.args[0])).view(e.dtype)
        if e.op == "steps":
            return self.stepped(e)
        if e.op == "step value":
            return self.carried[e.param[0]]
        return TABLE[e.op].perform(*[np.asarray(self.value(a)) for a in e.args])

    def reduced(self, e: loops.Expr) -> Any:
        kind, axes = e.param
        value = self.value(e.args[0])
        shape = [1] * len(self.places)
        for axis in axes:
            shape[self.places[axis]] = axis.extent
        value = np.broadcast_to(value, np.broadcast_shapes(np.shape(value), shape))
        over = tuple(self.places[a] for a in axes)
        return getattr(np, kind).reduce(value, axis=over, keepdims=True)

    def stepped(self, e: loops.Expr) -> Any:
        (axis,), (wanted, more, *rest) = e.param[1], e.args
        open_, *values = (self.value(a) for a in (wanted, *rest[: len(rest) // 2]))
        for turn in range(axis.extent):
            if not np.any(open_):
                break
            inner = Evaluator(self.buffers, self.places)
            inner.known, inner.turns, inner.carried = dict(self.known), {axis: turn}, values
            new = [inner.value(a) for a in rest[len(rest) // 2:]]
            values = [np.where(open_, x, y) for x, y in zip(new, values, strict=True)]
            open_ = open_ & inner.value(more)
        return values[0]

    def index(self, at: loops.Affine) -> Any:
        total = np.asarray(at.const)
        for atom, factor in at.terms.items():
            if atom in self.turns:
                total = total + factor * self.turns[atom]
            elif isinstance(atom, loops.Axis):
                shape = [1] * len(self.places)
                shape[self.places[atom]] = atom.extent
                total = total + factor * np.arange(atom.extent).reshape(shape)
            else:
                total = total + factor * self.value(atom)
        return total


def axes_in(e: loops.Expr, found: dict[loops.Axis, None]) -> dict[loops.Axis, None]:
    seen, left, steps = {e}, [e], set()
    while left:
        e = left.pop()
        found.update(dict.fromkeys(e.free))
        if e.op == "steps":
            steps.update(e.param[1])
        if e.op == "reduce":
            found.update(dict.fromkeys(e.param[1]))
        left += [a for a in e.args if a not in seen]
        seen.update(e.args)
    return {axis: None for axis in found if axis not in steps}


def lowered(op: Any, arrays: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """The operation evaluated through its ``lower`` rule."""
    at = [loops.Axis(i, n) for i, n in enumerate(shape)]
    reads = [
        loops.Read(a.shape, a.dtype.name, lambda i, k=k, a=a: loops.load(
            k, a.dtype.name, loops.ravel(i, a.shape)
        ))
        for k, a in enumerate(arrays)
    ]
    expr = op.lower(tuple(loops.Affine(0, {a: 1}) for a in at), *reads)
    axes = list(axes_in(expr, dict.fromkeys(at)))
    value = Evaluator(arrays, {a: i for i, a in enumerate(axes)}).value(expr)
    assert value.dtype.name == expr.dtype
    full = (*shape, *[1] * (len(axes) - len(shape)))
    return np.broadcast_to(value, full).reshape(shape)


def graph_of(case: Case, arrays: tuple[np.ndarray, ...]) -> FunctionGraph:
    nodes = [Node(None, (), a.shape, a.dtype) for a in arrays]
    result = case.function(*map(symbol, nodes))
    assert result.node is not None
    return expanded(FunctionGraph(nodes, [result.node]))


@pytest.mark.share(6)
@pytest.mark.parametrize("name", CASES)
def test_lowering_agrees_with_evaluation(name: str) -> None:
    for sample in CASES[name].samples:
        graph = graph_of(CASES[name], sample)
        known: dict[Node, Any] = dict(zip(graph.inputs, sample, strict=True))
        for node in graph.nodes:
            if node in known:
                continue
            if node.op is None:
                tensor = live_tensor(node)
                known[node] = tensor.array if tensor is not None else constant_value(node)
                continue
            if isinstance(node.op, Item):
                known[node] = known[node.inputs[0]][node.op.index]
                continue
            arrays = [np.asarray(known[n]) for n in node.inputs]
            if node.op.outputs > 1:
                known[node] = node.op.perform(*arrays)
                continue
            known[node] = value = np.asarray(node.op.perform(*arrays))
            dtype_kinds = {a.dtype.kind for a in (*arrays, value)}
            if node.op.lower is None or "c" in dtype_kinds or value.size == 0:
                continue
            found = lowered(node.op, arrays, value.shape)
            assert found.dtype == value.dtype
            np.testing.assert_allclose(found, value, 1e-13, 1e-13, err_msg=node.op.label())


# -- dtypes -------------------------------------------------------------------------------------
@pytest.mark.share(4)
@pytest.mark.parametrize("name", [n for n in sorted(TABLE) if n != "where"])
def test_every_dtype(name: str) -> None:
    row = TABLE[name]
    doubles = operands(row, ((4,),) * row.arity)
    for dtype in dtypes.ALL:
        arrays = [np.abs(v).astype(dtype) if dtype.kind in "biu" else v.astype(dtype)
                  for v in doubles if v.dtype.kind != "c" or dtype.kind == "c"]
        if len(arrays) < row.arity:
            continue
        if name == "power" and dtype.kind == "b":
            arrays = [np.array([True]), np.array([True])]
        taken = dtype.kind in row.kinds
        signed = dtype.kind == "b" and name in ("subtract", "negative", "positive")
        widened = "f" in row.kinds if dtype.kind in "iu" else dtype.kind == "b" and row.kinds != "u"
        if signed or not (taken or widened):
            with pytest.raises(ag.DTypeError, match=f"{name} takes"):
                call(row, tuple(map(wrap, arrays)))
            continue
        result = call(row, tuple(map(wrap, arrays)))
        smallest = dtypes.int8 if dtype.kind == "b" and "i" in row.kinds else None
        operand = dtype if taken else smallest or dtypes.config.float_dtype
        expected = {"bool": dtypes.bool_, "real": dtypes.real_of(operand)}.get(row.result, operand)
        assert result.dtype == expected, dtype
        wide = [a.astype({"f": "f8", "c": "c16"}.get(operand.kind, operand)) for a in arrays]
        wide[:row.whole] = [a.astype(np.int64) for a in arrays[:row.whole]]
        reference = row.perform(*wide)
        if row.loop.startswith("scipy") and expected.kind == "f":
            # SciPy's largest numbers stand for infinities.
            largest = np.abs(reference) >= 1e100
            reference = np.where(largest, np.copysign(np.inf, reference), reference)
        tolerance = {2: 4e-3, 4: 2e-5, 8: 2e-5}[dtypes.real_of(result.dtype).itemsize] \
            if expected.kind in "fc" else 0
        np.testing.assert_allclose(result.numpy(), reference, tolerance, tolerance)
