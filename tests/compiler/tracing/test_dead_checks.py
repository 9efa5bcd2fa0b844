"""What eager code checks of values that nobody reads, compiled code checks, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler.tracing.dead_checks import checks_of
from agnesi.core.ir.node import Node, toposort
from agnesi.core.support import tree
from agnesi.core.support.errors import DTypeError
from agnesi.core.tensor import Tensor, symbol
from agnesi.testing.samples import cases

F = ag.nn.functional

#: Operations whose checks are of indices that they made themselves, and cannot fail.
OWN_INDICES = {"as_strided", "interpolate", "unfold"}


def written(x: Any, i: Any) -> Any:
    y = x + 0
    y[i] = 3.0


DEAD: dict[str, Callable[[Any, Any], Any]] = {
    "getitem": lambda x, i: x[i],
    "negative": lambda x, i: x[-i - 3],
    "setitem": written,
    "take": lambda x, i: ag.take(x, i[None], 0),
    "take_along_axis": lambda x, i: ag.take_along_axis(x, i[None], 0),
    "put_along_axis": lambda x, i: ag.put_along_axis(x, i[None], 1.0, 0),
    "ensure": lambda x, i: ag.ensure(x, i < 5, "too large"),
    "power": lambda x, i: ag.tensor(2) ** (5 - i),
    "cross_entropy": lambda x, i: F.cross_entropy(x[None], i[None]),
    "embedding": lambda x, i: F.embedding(i, x[:, None]),
    "choose": lambda x, i: ag.choose(i, [x, x, x]),
    "unravel_index": lambda x, i: ag.unravel_index(i, (2, 2)),
    "bincount": lambda x, i: ag.bincount(6 - i[None]),
    "cholesky": lambda x, i: ag.linalg.cholesky(ag.eye(3) * (5 - i)),
    "inv": lambda x, i: ag.linalg.inv(ag.eye(3) * (7 - i)),
    "solve": lambda x, i: ag.linalg.solve(ag.eye(12) * (7 - i), ag.ones(12)),
}


@pytest.mark.parametrize("name", DEAD)
def test_a_check_of_what_nobody_reads_fails_as_eagerly(name: str) -> None:
    def step(x: Any, i: Any) -> Any:
        DEAD[name](x, i)
        return x * 2

    x, compiled = ag.tensor(np.arange(5.0)), ag.jit(step)
    np.testing.assert_array_equal(compiled(x, ag.tensor(2)).numpy(), x.numpy() * 2)
    for function in (step, compiled):
        with pytest.raises((IndexError, ValueError, np.linalg.LinAlgError)) as found:
            function(x, ag.tensor(7))
        assert "test_dead_checks.py" in str(found.value)


def around(x: Any, i: Any) -> Any:
    """A row of loops, whose steps look at a place that nobody reads."""
    rows = ag.stack([x, x * 2])
    yield "scan", lambda: ag.scan(lambda c, r: ((r[i], c + r)[1], c), x, rows)[0]
    yield "unread", lambda: ag.scan(lambda c, r: (c + r, r[i]), x, rows)[0]
    yield "dead", lambda: (ag.scan(lambda c, r: (c + r[i], c), x, rows)[0], x)[1]
    yield "nested", lambda: ag.scan(
        lambda c, r: (ag.fori_loop(0, 2, lambda k, v: (r[i], v + r)[1], c), c), x, rows)[0]
    yield "cond", lambda: ag.cond(x.sum() > 0, lambda: (x[i], x * 2)[1], lambda: x)
    yield "cond in scan", lambda: ag.scan(
        lambda c, r: (ag.cond(r[4] > 5, lambda: (r[i], c)[1], lambda: c), c), x, rows)[0]
    yield "while", lambda: ag.while_loop(lambda v: v[0] < 3, lambda v: (x[i], v + 1)[1], x)
    yield "condition", lambda: ag.while_loop(lambda v: (x[i], v[0] < 3)[1], lambda v: v + 1, x)
    yield "grad", lambda: ag.grad(lambda y: ag.scan(
        lambda c, r: ((r[i], c * r)[1], c), y, rows)[0].sum())(x)


LOOPS = [name for name, _ in around(ag.ones(5), 0)]


@pytest.mark.parametrize("name", LOOPS)
def test_bodies_check_what_nobody_reads(name: str) -> None:
    def step(x: Any, i: Any) -> Any:
        return dict(around(x, i))[name]()

    x, compiled = ag.tensor(np.arange(5.0)), ag.jit(step)
    np.testing.assert_array_equal(compiled(x, ag.tensor(2)), step(x, ag.tensor(2)))
    for function in (step, compiled):
        with pytest.raises(IndexError, match=r"test_dead_checks\.py"):
            function(x, ag.tensor(7))


def test_branches_that_are_not_taken_check_nothing() -> None:
    f = ag.jit(lambda x, i: ag.cond(x.sum() < 0, lambda: (x[i], x)[1], lambda: x * 2))
    assert f(ag.ones(3), ag.tensor(7)).tolist() == [2, 2, 2]


def test_a_gradient_runs_loops_once() -> None:
    rows, places = ag.ones((3, 5)), ag.tensor([1, 2, 4])
    f = ag.jit(ag.grad(lambda x: ag.scan(
        lambda c, r: (ag.tanh(c * r[0][r[1]]), c.sum()), x, (rows, places))[0].sum()))
    f(ag.ones(5))
    assert len(f.graph.outputs) == 1


def test_a_gradient_checks_its_indices_once() -> None:
    f = ag.jit(ag.grad(lambda x, i: x[i].sum()))
    f(ag.tensor(np.arange(5.0)), ag.tensor([1, 2]))
    assert len(f.graph.outputs) == 1


def test_every_operation_whose_expansion_checks_values_says_so() -> None:
    silent = set()
    for case in cases().values():
        for sample in case.samples[:2]:
            arrays = map(np.asarray, sample)
            xs = [symbol(Node(None, (), a.shape, a.dtype)) for a in arrays]
            try:
                results = tree.flatten(case.function(*xs))[0]
            except DTypeError:  # whole orders in a float, which must be known
                continue
            found = [t.node for t in results if isinstance(t, Tensor) and t.node is not None]
            silent |= {n.op.name for n in toposort(found)
                       if n.op is not None and "raises" not in n.op.traits and any(checks_of(n))}
    assert silent == OWN_INDICES
