"""Rows about rewriting: T30, T34, T35, T36, T39; and about its cost, F17."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.dispatch import apply
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.kernels import Product
from agnesi.core.ir.node import toposort
from agnesi.core.op import Op
from agnesi.core.support.record import record
from agnesi.core.tensor import symbol
from agnesi.rewrite import forget_rule, rewrite_rule, trial, variables


def names(f: Any) -> list[str]:
    return [n.op.name for n in f.graph.nodes if n.op is not None]


def kernels(f: Any) -> list[Any]:
    return f.plan().layout.kernels


@pytest.fixture
def own() -> Iterator[Any]:
    """Registers rules for the length of a test."""
    made = []

    def register(*args: Any, name: str, **options: Any) -> Any:
        made.append(name)
        return rewrite_rule(*args, name=name, **options)

    yield register
    for name in made:
        forget_rule(name)


# -- merging ----------------------------------------------------------------------------------
def test_t30_gradients_share_what_the_loss_computes():
    x = T.matrix("x", shape=(5, 4))
    y = T.lvector("y")
    ws = [ag.shared(np.random.default_rng(i).normal(size=(4, 4))) for i in range(3)]
    h = x
    for w in ws:
        h = T.tanh(T.dot(h, w)) + T.exp(h) + T.exp(h)
    loss = ag.cross_entropy(h, y)
    outputs = [loss, *T.grad(loss, ws)]
    f = ag.function([x, y], outputs, optimizer="fast_compile")
    f(np.ones((5, 4)), [0, 1, 2, 3, 0])
    written = [n for n in toposort([t.node for t in outputs]) if n.op is not None]
    assert len(f.source) < len(written)
    forward = ag.function([x, y], loss, optimizer="fast_compile")
    forward(np.ones((5, 4)), [0, 1, 2, 3, 0])
    for name in ("tanh", "exp"):  # the gradient asks for them again, and finds them
        assert names(f).count(name) == names(forward).count(name)
    assert names(forward).count("exp") <= 4  # of three layers, and the loss's own


def test_t30_constants_are_one():
    x = T.dvector("x")
    table = np.arange(6.0)
    f = ag.function([x], [x + ag.tensor(table), x * ag.tensor(table.copy()) + 3.5, x - 3.5])
    f(np.ones(6))
    constants = [n.value for n in f.graph.nodes if n.value is not None]
    assert len({v.tobytes() for v in constants}) == len(constants)


# -- strength ---------------------------------------------------------------------------------
def test_t34_powers_are_products():
    """``x**2`` is the code of ``x*x``, and so on: the same graph, so the same time."""
    x = T.dvector("x")
    pairs = [(x**2, x * x), (x**3, x * x * x), (x**-2, 1 / (x * x)), (x**0.5, T.sqrt(x)),
             (x**1, x), (T.neg(-x), x), (x + 0, x), (x * 1, x), (x**2.0, T.sqr(x))]
    values = np.array([0.5, 1.5, 3.0])
    for written, meant in pairs:
        f, g = ag.function([x], written * 2), ag.function([x], meant * 2)
        np.testing.assert_array_equal(f(values), g(values))
        assert names(f) == names(g) and "power" not in names(f)
    zero = ag.function([x], (x.astype("int64") * 0).sum())
    assert zero(values) == 0 and "multiply" not in str(zero.graph)


# -- products ---------------------------------------------------------------------------------
@pytest.mark.native_plans
def test_t35_scaled_products_of_vectors_are_one_kernel():
    """GEMV and GER with their scales and addends, in place; products share the sum over them."""
    rng = np.random.default_rng(0)
    a, u, v = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=4)
    m, s = ag.shared(rng.normal(size=(6, 4))), ag.shared(rng.normal(size=6))
    x, p, q = T.dmatrix("x"), T.dvector("p"), T.dvector("q")
    for inputs, target, step, expected in [
        ([x, q], s, 0.5 * T.dot(x, q), lambda: s.get_value() * 0.9 + 0.5 * a @ v),
        ([p, q], m, -0.1 * T.outer(p, q), lambda: m.get_value() * 0.9 - 0.1 * np.outer(u, v)),
    ]:
        f = ag.function(inputs, updates={target: 0.9 * target + step})
        wanted = expected()
        f(*[{x: a, p: u, q: v}[i] for i in inputs])
        np.testing.assert_allclose(target.get_value(), wanted)
        # A vector of sums is small: a second kernel may add it up.
        assert len(kernels(f)) <= 2 and f.plan().arena_bytes <= 64
        assert "takes over the memory" in str(f.plan())
    y = T.dmatrix("y")
    g = ag.function([x, y, p], 2 * T.dot(x.T, y) + 3 * T.outer(p, p))
    g(a, a, v)
    assert sum(isinstance(k, Product) for k in kernels(g)) == 1


# -- views ------------------------------------------------------------------------------------
VIEWS = {
    "transpose": lambda x: x.T, "reshape": lambda x: x.reshape(12), "rows": lambda x: x[1:],
    "backwards": lambda x: x[::-1, ::2], "swapped": lambda x: ag.swapaxes(x, 0, 1),
    "axis": lambda x: x[:, None], "one": lambda x: x[1], "itself": lambda x: x + 0,
    "broadcast": lambda x: ag.broadcast_to(x, (2, 3, 4)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_t36_views_take_no_memory_and_alias_nothing(name):
    """Eagerly a view; compiled read in place; results are nobody else's memory, written or not."""
    view = VIEWS[name]
    values = np.arange(12.0).reshape(3, 4)
    t = ag.tensor(values)
    if name != "itself":
        assert np.may_share_memory(view(t).numpy(), t.numpy())
    x, state = T.dmatrix("x"), ag.shared(values)
    f = ag.function([x], [view(x), view(state), (view(x) * 2).sum(), view(state) * 3],
                    updates={state: state * 2 + x})
    expected = view(t).numpy().copy()
    first, second, total, scaled = f(values)
    for found, factor in ((first, 1), (second, 1), (scaled, 3)):
        np.testing.assert_array_equal(found, expected * factor)
        assert not np.may_share_memory(found, values)
        assert not np.may_share_memory(found, state.get_value(borrow=True))
    np.testing.assert_allclose(total, 2 * expected.sum())
    assert not np.may_share_memory(first, second)
    first[...] = second[...] = -1
    np.testing.assert_array_equal(values, np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(state.get_value(), values * 3)
    assert f.plan().arena_bytes <= 64


# -- rules of one's own -----------------------------------------------------------------------
@record
class SlowSum(Op):
    """A sum as somebody wrote it in Python."""

    name = "slow_sum"
    calls = []  # noqa: RUF012 - one list for all

    def infer(self, x: Any) -> Any:
        return x.shape[1:], x.dtype

    def perform(self, x: np.ndarray) -> np.ndarray:
        self.calls.append(1)
        return sum(x, np.zeros(x.shape[1:], x.dtype))


def test_t39_a_naive_operation_becomes_a_fast_one(own):
    x = T.dmatrix("x")
    y = apply(SlowSum(), x * 2) + 1
    values = np.arange(6.0).reshape(3, 2)
    slow = ag.function([x], y)
    np.testing.assert_array_equal(slow(values), [13, 19])
    assert SlowSum.calls

    @own(name="fast_sum", ops=[SlowSum], stage="specialize", tags=("mine", "sums"))
    def fast_sum(node: Any) -> Any:
        """Sums are the library's."""
        return symbol(node.inputs[0]).sum(0)

    SlowSum.calls.clear()
    fast = ag.function([x], y)
    np.testing.assert_array_equal(fast(values), [13, 19])
    assert not SlowSum.calls and "slow_sum" not in names(fast)
    for off in ("fast_sum", "mine", "sums"):  # by its name and by each tag
        f = ag.function([x], y, exclude=[off])
        f(values)
        assert "slow_sum" in names(f)


def test_t39_a_rule_in_one_line(own):
    v, w = variables("v w")
    own(ag.sin(v) * ag.cos(w) + ag.cos(v) * ag.sin(w), ag.sin(v + w), name="angles")
    x, y = T.dvector("x"), T.dvector("y")
    f = ag.function([x, y], T.sin(x) * T.cos(y) + T.cos(x) * T.sin(y))
    np.testing.assert_allclose(f([0.3, 1.0], [0.5, -2.0]), np.sin([0.8, -1.0]))
    assert names(f) == ["add", "sin"] and "angles x1" in str(f.rewrites())


def test_t39_rules_on_whole_graphs_in_the_order_asked_for(own):
    seen = []

    @own(name="look", whole_graph=True, stage="specialize", position="last")
    def look(graph: FunctionGraph) -> FunctionGraph:
        """Takes down what is left."""
        seen.append([n.op.name for n in graph.nodes if n.op is not None])
        return graph

    x = T.dvector("x")
    f = ag.function([x], T.log(1 + T.exp(x * 1)))
    f(np.zeros(2))
    assert seen[-1] == ["softplus"]


def test_t39_rules_that_change_types_are_refused(own, monkeypatch):
    narrow, flat = (lambda node: symbol(node).astype("float32")), (lambda node: symbol(node).sum())
    with pytest.raises(ag.DTypeError, match="'narrow' changes a type"):
        rewrite_rule(name="narrow", ops=[ag.exp])(narrow)
    monkeypatch.setattr(trial, "check_function", lambda rule: None)  # as of types that it lacks
    own(name="narrow", ops=[ag.exp])(narrow)
    own(name="flat", ops=[ag.sin])(flat)
    x = T.dvector("x")
    for function, error, rule in ((T.exp, ag.DTypeError, "narrow"), (T.sin, ag.ShapeError, "flat")):
        f = ag.function([x], function(x))
        with pytest.raises(error, match=rf"'{rule}' changes a type.*\n.*test_rewrites.py"):
            f([1.0, 2.0])


# -- code -------------------------------------------------------------------------------------
@pytest.mark.native_plans
def test_f17_one_kernel_for_all_places():
    """Kernels of one structure are one function, in place or not, whatever they read and write."""
    x = T.dmatrix("x", shape=(8, 8))
    states = [ag.shared(np.full((8, 8), float(i))) for i in range(6)]
    new = {s: T.tanh(s) + 1 for s in states[:3]}
    results = [T.tanh(T.dot(s, x)) @ x for s in states]
    f = ag.function([x], results, updates=new)
    f(np.eye(8))
    called = [step.name for step in f.plan().steps]
    assert len(called) >= 12 > 2 * len(set(called))
