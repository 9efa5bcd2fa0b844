"""Symbolic graphs that together hold every operation that files may name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import agnesi as ag
from agnesi import nn
from agnesi import symbolic as T
from agnesi.core.dispatch import apply, symbolic
from agnesi.ops.base.complex_order import OrderKey
from agnesi.ops.base.gather.elements import Picked, PickedPut, Stretch
from agnesi.ops.control.loop import FirstRows, RowsBefore
from agnesi.ops.elementwise.complexes import PutPairs, PutPart
from agnesi.ops.implicit import gamma_path
from agnesi.ops.indexing.diagonal import PutDiagonal
from agnesi.ops.indexing.overlay import Overlay
from agnesi.ops.indexing.ranges import Linspace
from agnesi.ops.indexing.runs import Run, Runs
from agnesi.ops.neural.softmax import Chosen
from agnesi.ops.random.noise import Noise
from agnesi.ops.random.philox import Advance, RandomBits
from agnesi.ops.random.samplers import Sampler
from agnesi.testing.samples import cases
from tests.saving.golden_graphs import GRAPHS

#: Variables and results.
Declared = tuple[list[Any], list[Any]]


def declared(case: Any, *, sizes: bool) -> Declared:
    """A case on variables, with gradients where there are some."""
    arrays = [np.asarray(a) for a in case.samples[0]]
    xs = [T.variable(f"x{i}", a.dtype, a.shape if sizes else (None,) * a.ndim)
          for i, a in enumerate(arrays)]
    y = case.function(*xs)
    outputs = [y]
    free = [x for x in xs if x.dtype.kind == "f"]
    if free and y.dtype.kind == "f" and case.grads:
        outputs += T.grad(y.sum(), free)
    return xs, outputs


def _places() -> Declared:
    x, n = T.vector("x", shape=(6,)), T.lscalar("n")
    flags, labels = T.variable("flags", bool, (6,)), T.lvector("labels", shape=(3,))
    rows = T.matrix("rows", shape=(3, 4))
    return [x, n, flags, labels, rows], [
        x[flags], x[n:], apply(Picked((0,), 0), x, labels), apply(Stretch(0, 3), x, n),
        apply(PickedPut((0,), 0), x, x[:3], labels), apply(PutDiagonal(1), rows, x[:3]),
        *ag.unique(x, return_index=True, return_counts=True), ag.unique(x, size=4),
        apply(Chosen(), rows, labels), nn.functional.embedding(labels, rows),
        apply(FirstRows(2), rows), apply(RowsBefore((5, 4)), rows),
        ag.choose(labels, [x[:3], x[3:], x[1:4]]),
        ag.take_along_axis(rows, labels[:, None], 1), ag.partition(rows, 1), ag.argpartition(x, 2)]


def _numbers() -> Declared:
    z, x = T.zvector("z", shape=(4,)), T.vector("x", shape=(4,))
    wide = ag.tensor(np.arange(6.0))
    return [z, x], [
        apply(PutPart(True), z, x), apply(PutPairs(), z, ag.stack([x, x], 1)), ag.sort(z),
        apply(OrderKey("up", True), z), gamma_path(x, x), apply(Overlay(((0,), (2,)), (6,)), x, x),
        apply(Runs(((Run(1, 0, 2), Run(0, 1, 2)),)), x),
        symbolic(Linspace(0.0, 1.0, 5, True, x.dtype), ()),
        ag.ensure(x, x > 0, "it is not positive"), ag.bitcast(x, "uint8"),
        T.grad(ag.cumprod(x).sum(), x), wide[1:] + 1]


def _steps() -> Declared:
    x, w = T.matrix("x"), T.vector("w")
    sums, _ = T.scan(lambda row, a, w: T.tanh(a * w + row), x, outputs_info=ag.zeros_like(w),
                     non_sequences=w)
    grown = ag.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, w)
    pooled = ag.max_pool2d(x.reshape((1, 1, x.shape[0], x.shape[1])), 2)
    return [x, w], [sums, grown, T.grad(sums.sum(), [x, w])[0], T.grad(grown.sum(), w),
                    T.grad(pooled.sum(), x),
                    ag.cond(w.sum() > 0, lambda: w * 2, lambda: w - 1)]


def _pools() -> Declared:
    x = T.tensor("float64", (1, 2, 6, 6), "x")
    y = ag.max_pool2d(x, 3, stride=2, padding=1)
    slope = T.grad((y ** 2).sum(), x)
    return [x], [y, slope, T.grad((slope ** 2).sum(), x)]


def _draws() -> Declared:
    x = T.vector("x", shape=(3,))
    state = T.variable("state", "uint32", (4,))
    a = ag.exp(x)
    return [x, state], [
        T.MRG_RandomStreams(3).normal((2, 3)), apply(Noise("open", 5, x.dtype), state),
        apply(Advance(7), state), apply(RandomBits(6), state),
        apply(Sampler("poisson"), state, ag.arange(3), x > 0, a)]


EXTRA: tuple[Callable[[], Declared], ...] = (_places, _numbers, _steps, _pools, _draws)


def whole_programs() -> Iterator[tuple[str, Declared]]:
    """Graphs by name in which many operations work together."""
    for make in GRAPHS:
        inputs, outputs, _ = make()
        yield make.__name__, (inputs, outputs)
    for extra in EXTRA:
        yield extra.__name__[1:], extra()


def graphs() -> Iterator[tuple[str, Declared]]:
    """Graphs by name: of each sample with known and open sizes, and those of whole programs."""
    yield from whole_programs()
    for name, case in cases().items():
        for sizes in (True, False):
            try:
                found = declared(case, sizes=sizes)
            except (TypeError, ValueError, RuntimeError):
                continue  # it wants values
            if any(y.array is None for y in found[1]):
                yield f"{name}, {'known' if sizes else 'open'} sizes", found
