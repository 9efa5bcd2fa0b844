"""Checkpoints: the same values, gradients and state as without, from less memory."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi import symbolic as T
from agnesi.nn.functional import dropout
from agnesi.ops.random.generators import Generator


def weights(n: int = 6, d: int = 16, dtype: str = "float32") -> list[Any]:
    rng = np.random.default_rng(n)
    return [ag.tensor((rng.standard_normal((d, d)) * 0.3).astype(dtype), requires_grad=True)
            for _ in range(n)]


def batch(b: int = 8, d: int = 16, dtype: str = "float32") -> Any:
    return ag.tensor(np.random.default_rng(0).standard_normal((b, d)).astype(dtype))


def deep(ws: Any, x: Any, size: int, keep: bool, generator: Any = None) -> Any:
    """Layers in segments, kept or checkpointed."""

    def part(h: Any, some: Any) -> Any:
        for w in some:
            h = ag.tanh(h @ w)
            if generator is not None:
                h = dropout(h, 0.4, generator=generator)
        return h

    for i in range(0, len(ws), size):
        x = part(x, ws[i : i + size]) if keep else ag.checkpoint(part, x, ws[i : i + size])
    return (x * x).sum()


def gradients(loss: Any, ws: Any) -> list[np.ndarray]:
    loss.backward()
    return [w.grad.numpy() for w in ws]


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_gradients_are_the_same_bit_for_bit(size):
    found = []
    for keep in (True, False):
        ws, x = weights(), batch()
        x.requires_grad = True
        loss = deep(ws, x, size, keep, Generator(5))
        found.append([loss.numpy(), *gradients(loss, [*ws, x])])
    for a, b in zip(*found, strict=True):
        assert (a == b).all()


def test_random_state_and_statistics_change_once():
    found = []
    for keep in (True, False):
        ag.manual_seed(4)
        w, mean, count = weights(1)[0], ag.zeros(16), ag.zeros(3, dtype="int64")

        def f(x: Any, w: Any = w, mean: Any = mean, count: Any = count) -> Any:
            h = dropout(x @ w, 0.5)
            with ag.no_grad():
                mean.mul_(0.9).add_(0.1 * h.mean(0))
                count[1:] += 1
                mean[:2] = 3.0
            return ag.tanh((h - mean) * count.sum())

        y = f(batch()) if keep else ag.checkpoint(f, batch())
        z = ag.checkpoint(f, y) if not keep else f(y)
        (z * z).sum().backward()
        found.append([w.grad.numpy(), mean.numpy(), count.numpy(),
                      ag.random.default_generator().state.numpy()])
    for a, b in zip(*found, strict=True):
        assert (a == b).all()


def test_closures_keywords_containers_and_several_results():
    w, v = weights(2)
    x = batch()
    h = x @ w  # computed outside, used inside without being given

    def f(pair: Any, *, scale: Any, flag: bool) -> Any:
        assert flag
        a = pair["a"] * scale + ag.exp(h)
        return {"first": ag.tanh(a @ v), "rest": [a.sum(), 3, x.shape]}

    found = []
    for keep in (True, False):
        w.grad = v.grad = None
        s = ag.tensor(2.0, requires_grad=True)
        h = x @ w
        pair, options = {"a": h * 2}, {"scale": s, "flag": True}
        r = f(pair, **options) if keep else ag.checkpoint(f, pair, **options)
        assert r["rest"][1:] == [3, x.shape]
        loss = r["first"].sum() + r["rest"][0]
        outer = ag.grad(loss, h)
        found.append([outer.numpy(), *gradients(loss, [w, v, s])])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_checkpoints_nest():
    found = []
    for keep in (True, False):
        ws, x = weights(), batch()
        g = Generator(2)
        loss = deep(ws, x, 2, True, g) if keep else ag.checkpoint(deep, ws, x, 2, False, g)
        found.append([loss.numpy(), g.state.numpy(), *gradients(loss, ws)])
    for a, b in zip(*found, strict=True):
        assert (a == b).all()


def test_higher_derivatives_and_forward_mode():
    def f(x: Any) -> Any:
        return (ag.sin(x) * x).sum()

    def g(x: Any) -> Any:
        return ag.checkpoint(f, x)

    x = ag.tensor([0.3, -1.0, 2.0])
    np.testing.assert_array_equal(ag.grad(g)(x), ag.grad(f)(x))
    np.testing.assert_allclose(ag.hessian(g)(x), ag.hessian(f)(x), rtol=1e-6)
    tangent = ag.tensor([1.0, 2.0, -1.0])
    np.testing.assert_allclose(ag.jvp(g, (x,), (tangent,))[1], ag.jvp(f, (x,), (tangent,))[1],
                               rtol=1e-6)


def test_changed_arguments_are_noticed():
    w, x = weights(1)[0], batch()
    loss = ag.checkpoint(lambda a: ag.tanh(a @ w), x).sum()
    x *= 2
    with pytest.raises(ag.GradientError, match="changed in place"):
        loss.backward()
    h = batch() @ w
    loss = ag.checkpoint(lambda a: ag.exp(a), h).sum()
    with ag.no_grad():
        h += 1
    with pytest.raises(ag.GradientError, match="changed in place"):
        loss.backward()
    loss = ag.checkpoint(lambda a: ag.tanh(a @ w), batch()).sum()
    with ag.no_grad():
        w.sub_(1)
    with pytest.raises(ag.GradientError, match="changed in place"):
        loss.backward()


def test_an_unsteady_function_is_noticed():
    w, turns = weights(1)[0], []

    def f(x: Any) -> Any:
        turns.append(1)
        return [x @ w for _ in turns]

    (y,) = ag.checkpoint(f, batch())
    with pytest.raises(ag.GradientError, match="second run"):
        y.sum().backward()


def test_without_recording_it_is_a_call():
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x * 2

    with ag.no_grad():
        assert ag.checkpoint(f, ag.ones(2, requires_grad=True)).tolist() == [2, 2]
    assert ag.checkpoint(f, ag.ones(2)).requires_grad is False and len(calls) == 2
    with pytest.raises(ValueError, match="segments"):
        ag.checkpoint_sequential([f], -1, ag.ones(2))


def test_sequential_is_cut_into_segments():
    model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(7)])
    x = batch()
    plain = model(x).sum()
    plain.backward()
    expected = [p.grad.numpy() for p in model.parameters()]
    for segments in (0, 1, 2, 3, 7, 20):
        for p in model.parameters():
            p.grad = None
        ag.checkpoint_sequential(model, segments, x).sum().backward()
        for p, e in zip(model.parameters(), expected, strict=True):
            assert (p.grad.numpy() == e).all()


def test_eager_memory_grows_with_the_root():
    """64 layers in 8 segments keep 8 + 8 values, not 64."""

    def most(segments: int) -> int:
        ws, x = weights(64, 4), batch(4000, 4)
        gc.collect()
        before = ag.memory_stats(reset_peak=True)["live"]  # of what compiled calls return, too
        tracemalloc.start()
        part = deep(ws, x, 64 // segments, segments == 1)
        part.backward()
        peak = tracemalloc.get_traced_memory()[1] + ag.memory_stats()["peak"] - before
        tracemalloc.stop()
        return peak

    most(8)  # compiles what is called often
    assert most(8) < 0.4 * most(1)


# -- compiled ---------------------------------------------------------------------------------
def step(size: int, keep: bool, n: int, b: int = 128, dtype: str = "float32"
         ) -> tuple[Any, Any, Any]:
    ws, g = weights(n, 32, dtype), Generator(7)

    @ag.jit
    def run(x: Any) -> Any:
        for w in ws:
            w.grad = None
        loss = deep(ws, x, size, keep, g)
        loss.backward()
        with ag.no_grad():
            for w in ws:
                w.sub_(0.01 * w.grad)
        return loss

    return run, ws, batch(b, 32, dtype)


@pytest.mark.share(3)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_compiled_steps_are_the_same(size):
    found = []
    for keep in (True, False):
        run, ws, x = step(size, keep, 6, dtype="float64")  # steps multiply rounding errors
        losses = [float(run(x)) for _ in range(3)]
        found.append([np.array(losses), *(w.numpy() for w in ws)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-7)


@pytest.mark.long
def test_compiled_memory_grows_with_the_root():
    arenas = []
    for n, size in ((9, 3), (36, 6)):
        run, _, x = step(size, False, n)
        run(x)
        arenas.append(run.plan().arena_bytes)
    whole, _, x = step(1, True, 36)
    whole(x)
    assert arenas[1] < 2.5 * arenas[0] and arenas[1] < 0.4 * whole.plan().arena_bytes


def test_symbolic_gradients_and_the_interpreter():
    x, w = T.matrix("x"), ag.shared(np.eye(4) * 0.5)

    def cost(keep: bool) -> Any:
        h = x
        for _ in range(4):
            layer = lambda h: T.tanh(T.dot(h, w))  # noqa: E731
            h = layer(h) if keep else ag.checkpoint(layer, h)
        return (h**2).sum()

    a = np.random.default_rng(1).standard_normal((3, 4))
    expected = ag.function([x], T.grad(cost(True), [x, w]))(a)
    for compiled in (True, False):
        with ag.config(compile=compiled):
            f = ag.function([x], T.grad(cost(False), [x, w]))
            for e, r in zip(expected, f(a), strict=True):
                np.testing.assert_allclose(r, e, rtol=1e-12)
    twice = [T.grad(T.grad(cost(k), x).sum(), w) for k in (True, False)]
    f = ag.function([x], twice)
    np.testing.assert_allclose(*f(a), rtol=1e-10)


def test_the_copy_is_not_merged_with_the_original():
    run, _, x = step(2, False, 4)
    run(x)
    products = [k for k in run.graph.nodes if k.op is not None and k.op.name == "matmul"]
    plain, _, x = step(2, True, 4)
    plain(x)
    assert len(products) > sum(k.op is not None and k.op.name == "matmul"
                               for k in plain.graph.nodes)
    for k, kernel in enumerate(run.plan().layout.kernels):
        assert not any(n.op is not None and n.op.name == "after" for n in kernel.nodes), "a copy"
        written = {b for other in run.plan().layout.kernels[:k] for b in other.writes()}
        assert written.union(kernel.writes()).issuperset(kernel.waits)


@pytest.mark.parametrize("run", [lambda g: g, ag.jit])
def test_segments_that_end_in_a_cost(run):
    """Their cotangent is the number one, which no node makes."""
    def cost(x):
        return ag.checkpoint(lambda x: (ag.sin(x) * x).sum(), x)

    x = np.linspace(0.1, 2, 5)
    found = run(ag.grad(cost))(ag.tensor(x))
    np.testing.assert_allclose(found.numpy(), np.cos(x) * x + np.sin(x), rtol=1e-12)


#: Ways to use a checkpoint of what was told to require a gradient where the function runs.
TOLD = {
    "argument": lambda y: ag.checkpoint(lambda a: a * a, y),
    "twice": lambda y: ag.checkpoint(lambda a, b: a * b, y, y),
    "closure": lambda y: ag.checkpoint(lambda a: a * y, ag.ones(3, dtype="float64")),
    "nested": lambda y: ag.checkpoint(lambda a: ag.checkpoint(lambda b: b * a * y, a), y),
    "loop": lambda y: ag.checkpoint(lambda a: ag.fori_loop(0, 2, lambda i, c: c * y, a), y),
    "in a loop": lambda y: ag.fori_loop(
        0, 2, lambda i, c: ag.checkpoint(lambda a: a * y, c), y),
}


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit, lambda f: ag.jit(lambda x: ag.jit(f)(x))])
@pytest.mark.parametrize("name", TOLD)
def test_gradients_that_begin_in_a_function_pass_its_checkpoints(name, wrap):
    def step(x: Any) -> Any:
        y = ag.copy(x)
        y.requires_grad = True
        TOLD[name](y).sum().backward()
        return y.grad

    x = ag.tensor(np.array([0.5, -1.0, 2.0]))
    expected = ag.grad(lambda y: TOLD[name](y).sum())(x)
    np.testing.assert_allclose(wrap(step)(x).numpy(), expected.numpy(), rtol=1e-12)


STASH: list[Any] = []
ROWS = ag.ones((2, 3), dtype="float64")


def stashing(w: Any, x: Any) -> Any:
    """A function that others see inside: somebody keeps what it computes."""
    h = ag.tanh(w * x)
    STASH.append(h)
    return h * 2


#: Functions of a tensor that is an argument and one from outside; their inner values outlive them.
SEEN = {
    "kept by the user": stashing,
    "examples": lambda w, x: ag.vmap(lambda row: row * w * x)(ROWS).sum(0),
    "derivatives of examples": lambda w, x: ag.vmap(
        lambda row: ag.grad(lambda v: (v * v * w * x).sum())(row))(ROWS).sum(0),
}


@pytest.mark.parametrize("run", [lambda g: g, ag.jit])
@pytest.mark.parametrize("name", SEEN)
def test_gradients_reach_what_is_used_behind_values_that_outlive_the_run(name, run):
    def cost(w: Any, x: Any, keep: bool) -> Any:
        y = w * 1.5
        inner = lambda x: SEEN[name](y, x)  # noqa: E731
        return (ag.sin(inner(x) if keep else ag.checkpoint(inner, x)) * x).sum()

    w, x = (ag.tensor(a) for a in (np.array([0.3, -1.0, 2.0]), np.array([0.5, 0.6, -0.7])))
    expected = ag.grad(lambda w, x: cost(w, x, True), (0, 1))(w, x)
    found = run(ag.grad(lambda w, x: cost(w, x, False), (0, 1)))(w, x)
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-12)
    STASH.clear()


def test_values_that_were_computed_while_examples_run():
    """Eager operations on a derivative's stand-in are no part of the examples' graph."""
    def f(x: Any) -> Any:
        return ag.vmap(lambda row: row * ag.checkpoint(lambda a: x * x.sum(), row))(ROWS)

    x = ag.tensor(np.array([1.0, 2.0, 3.0]))
    for run in (ag.jvp, ag.jit(ag.jvp, optimizer="fast_compile")):
        value, tangent = run(f, (x,), (x,))
        assert value.tolist() == [[6.0, 12.0, 18.0]] * 2
        assert tangent.tolist() == [[12.0, 24.0, 36.0]] * 2


def test_as_a_decorator():
    """As `jax.checkpoint` is used; what a call without arguments computes is computed at once."""
    w = weights(1)[0]
    runs = []

    @ag.checkpoint
    def layer(x: Any, scale: float = 2.0) -> Any:
        """A layer."""
        runs.append(1)
        return ag.tanh(x @ w) * scale

    class Net(nn.Module):
        def __init__(self) -> None:
            self.w = w

        @ag.checkpoint
        def forward(self, x: Any) -> Any:
            return ag.tanh(x @ self.w) * 2.0

    assert (layer.__name__, layer.__doc__) == ("layer", "A layer.")
    expected = ag.grad((ag.tanh(batch() @ w) * 2.0).sum(), w).numpy()
    assert (ag.grad(layer(batch()).sum(), w).numpy() == expected).all() and len(runs) == 2
    for f in (Net(), ag.checkpoint(nn.Sequential(Net())), ag.jit(layer)):
        np.testing.assert_allclose(
            ag.grad(f(batch()).sum(), w).numpy(), expected, rtol=1e-5, atol=1e-5)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        layer()
    at_once = ag.checkpoint(lambda: ag.tanh(batch() @ w) * 2.0)
    assert (ag.grad(at_once.sum(), w).numpy() == expected).all()


@pytest.mark.parametrize("kind", ["jit", "function", "argument", "out"])
def test_what_compiled_functions_change_is_changed_once(kind):
    """Their native code goes a way on which the checkpoint sees it."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    one, v, total = np.ones(2, "float32"), T.vector("v", dtype="float32"), ag.shared(np.zeros(2))
    add = ag.function([v], [], updates={total: total + v})
    seen = total.storage if kind == "function" else ag.zeros(2)
    count, count_in = ag.jit(lambda: seen.add_(1) * 1), ag.jit(lambda t: t.add_(1) * 1)
    change = {"jit": count, "function": lambda: add(one), "argument": lambda: count_in(seen),
              "out": lambda: ag.add(seen, one, out=seen)}[kind]

    def f(x: Any) -> Any:
        change()
        return (x * x * seen.detach()).sum()

    for turn in (1, 2, 3):  # native from the third on
        y = ag.checkpoint(f, x)
        assert seen.tolist() == [turn, turn]
        assert ag.grad(y, x).tolist() == [2 * turn, 4 * turn]
        assert seen.tolist() == [turn, turn]


def test_what_the_function_uses_may_not_change_before_its_second_run():
    """Closures as arguments; what it changes itself holds what it held."""
    for way in (lambda f: f, ag.jit):
        w, c, x = weights(1)[0], batch(16), batch()
        count = ag.tensor(0.0)

        def layer(x: Any, w: Any = w, c: Any = c, count: Any = count) -> Any:
            count.add_(1.0)
            return ag.tanh(x @ (w * c)) * (count * 1)

        run = way(layer)
        first, second = ag.checkpoint(run, x).sum(), ag.checkpoint(run, x).sum()
        np.testing.assert_allclose(
            ag.grad(second, w).numpy(), 2 * ag.grad(first, w).numpy(), rtol=1e-5, atol=1e-5)
        for changed in (c, x):
            loss = ag.checkpoint(run, x).sum()
            changed += 1
            with pytest.raises(ag.GradientError, match="which its function was given or uses"):
                loss.backward()


def test_arguments_and_views_of_state_that_the_function_changes():
    """The second run finds them as the first one did."""

    def program(call: Any) -> list[Any]:
        w, state, given = weights(1)[0], ag.tensor(np.arange(32.0)), ag.ones(16)
        row = state[:16]

        def layer(x: Any, given: Any) -> Any:
            with ag.no_grad():
                state.add_(1.0)
                given.add_(1.0)
            return ag.tanh(x @ w) * (row * 1) * (given * 1)

        first, second = call(layer, batch(), given).sum(), call(layer, batch(), row).sum()
        return [ag.grad(first, w), ag.grad(second, w), state, row, given]

    for a, b in zip(program(lambda f, *xs: f(*xs)), program(ag.checkpoint), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5, atol=1e-5)


def test_what_carries_a_gradient_may_not_change_either():
    w = weights(1)[0]
    b, v = w[0] * 2, ag.zeros(16)

    def layer() -> Any:
        return ag.tanh(b * b) + v

    for change in (lambda: v.copy_(ag.checkpoint(layer)), lambda: b.add_(w[1])):
        loss = ag.checkpoint(layer).sum()
        change()
        with pytest.raises(ag.GradientError, match="which its function was given or uses"):
            ag.grad(loss, w)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_what_differs_between_examples_reaches_the_function_by_a_closure(axes):
    def f(x, y):
        return (ag.checkpoint(lambda v: ag.tanh(x) * v, y) + y).sum()

    given = [ag.tensor([0.5, 1.0, 2.0]) if a == 0 else ag.tensor(1.5) for a in axes]
    for g in (f, ag.grad(f, (0, 1))):
        rows = [g(*(v[i] if a == 0 else v for v, a in zip(given, axes, strict=True)))
                for i in range(3)]
        found = ag.vmap(g, axes)(*given)
        for k, y in enumerate(found if isinstance(found, tuple) else (found,)):
            wanted = [r[k] if isinstance(r, tuple) else r for r in rows]
            np.testing.assert_allclose(y, np.stack([w.numpy() for w in wanted]), rtol=1e-6)


def test_rules_may_lead_past_what_a_segment_was_given():
    def f(x, call):  # (-a) * (-a) is a * a, which does not depend on -a
        return call(lambda a: a * a, -((1 - ag.cos(x)) * x))

    x = ag.tensor(0.7)
    found = ag.jit(ag.grad(lambda x: f(x, ag.checkpoint)))(x)
    np.testing.assert_allclose(found, ag.grad(lambda x: f(x, lambda g, a: g(a)))(x), 1e-6)


def test_a_function_that_knows_symbols_without_being_given_them():
    x, s = ag.tensor([0.5, -1.0]), ag.symbolic.vector("s", dtype="float32")
    f = ag.checkpoint(lambda v: (ag.sin(v) * s).sum(), x)
    run = ag.function([s], [f, ag.grad(f, s), ag.checkpoint(lambda: s * x).sum()])
    value, slope, other = run([2.0, 3.0])
    np.testing.assert_allclose(value, 2 * np.sin(0.5) - 3 * np.sin(1), rtol=1e-6)
    np.testing.assert_allclose(slope, np.sin([0.5, -1]), rtol=1e-6)
    assert other == -2


def test_other_memory_is_given_once():
    b, c = ag.tensor([1.0, 2.0], requires_grad=True), ag.ones(2)

    def f(x):
        c.data = c.data + 1
        x.data = x.data * 2
        return x * b * c

    x = ag.tensor([1.0, 3.0])
    ag.checkpoint(f, x).sum().backward()
    assert (x.tolist(), c.tolist(), b.grad.tolist()) == ([2.0, 6.0], [2.0, 2.0], [4.0, 12.0])
