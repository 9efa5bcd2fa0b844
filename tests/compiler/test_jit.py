"""``ag.jit``: a compiled function does what the Python function does."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.config import STATE
from agnesi.core.tree import flatten


def both(function: Any, *makers: Any, calls: int = 2) -> Any:
    """Run a function eagerly and compiled on equal fresh arguments: results and arguments agree."""
    seen = []
    for run in (function, ag.jit(function)):
        args = [m() for m in makers]
        results = flatten([run(*args) for _ in range(calls)])[0]
        seen.append([np.array(t) for t in (*results, *args)])
    for a, b in zip(*seen, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=1e-6)
    return seen[1]


def vector(n: int = 5) -> Any:
    return lambda: ag.tensor(np.arange(n, dtype="float32") + 1)


# -- arguments and results ------------------------------------------------------------------
@dataclass
class Batch:
    x: Any
    scale: Any


class Pair(NamedTuple):
    a: Any
    b: Any


def test_nested_arguments_and_results():
    @ag.jit
    def f(nest, *, batch):
        p, (q, none) = nest["p"], nest["rest"]
        return {"sum": p + q, "pair": Pair(p * batch.scale, [batch.x, none, 7])}

    p, q = ag.ones(2), ag.full(2, 3.0)
    for _ in range(2):
        r = f({"p": p, "rest": (q, None)}, batch=Batch(p, 2.0))
        assert r["sum"].tolist() == [4, 4]
        assert type(r["pair"]) is Pair and r["pair"].a.tolist() == [2, 2]
        assert r["pair"].b[0].tolist() == [1, 1] and r["pair"].b[1:] == [None, 7]
    assert len(f.specialisations) == 1


def test_dataclasses_come_back():
    f = ag.jit(lambda b: Batch(b.x * b.scale, None))
    r = f(Batch(ag.ones(2), 3.0))
    assert type(r) is Batch and r.x.tolist() == [3, 3] and r.scale is None


@pytest.mark.parametrize("result", [None, 5, "text", (), []])
def test_results_without_tensors(result):
    f = ag.jit(lambda x: result)
    assert f(ag.ones(2)) == result and f(ag.ones(2)) == result


def test_keywords_and_defaults():
    f = ag.jit(lambda x, y=2.0, *, z=1: x * y + z)
    x = ag.ones(2)
    assert f(x).tolist() == [3, 3]
    assert f(x, 3.0).tolist() == [4, 4]
    assert f(x, z=5).tolist() == [7, 7]
    assert f(y=x, x=x).tolist() == [2, 2]


def test_numpy_arrays_and_scalars_are_taken():
    f = ag.jit(lambda x, y: x + y)
    r = f(np.ones(3), np.float64(2))
    assert type(r) is ag.Tensor and r.dtype == ag.float64 and r.tolist() == [3, 3, 3]


def test_results_have_memory_of_their_own():
    x, w = ag.ones(3), ag.ones(3)
    f = ag.jit(lambda x: (x, x, x[1:], w))
    for r in f(x):
        r += 10
    assert x.tolist() == [1, 1, 1] and w.tolist() == [1, 1, 1]
    a, b = f(x), f(x)
    assert all(not np.shares_memory(p.data, q.data) for p in a for q in b)


def test_gradients_do_not_flow_out_of_a_compiled_function_by_surprise():
    w = ag.ones(3, requires_grad=True)
    f = ag.jit(lambda x: (x * x).sum())
    y = f(w)  # an argument that wants a gradient: the call joins the record around it
    y.backward()
    assert w.grad.tolist() == [2, 2, 2]


# -- specialisations ------------------------------------------------------------------------
def test_floats_are_values_and_the_rest_is_static():
    f = ag.jit(lambda x, lr, n: x * lr * n)
    x = ag.ones(2)
    for i in range(50):
        assert f(x, 0.5 * i, 2).tolist() == [i, i]
    assert len(f.specialisations) == 1
    assert f(x, 0.5, 3).tolist() == [1.5, 1.5]
    assert f(x, 0.5, True).tolist() == [0.5, 0.5]
    assert len(f.specialisations) == 3
    assert f(x, 0.25, 2).tolist() == [0.5, 0.5]
    assert len(f.specialisations) == 3


def test_float_arguments_are_weak():
    f = ag.jit(lambda x, s: x * s)
    assert f(ag.ones(2), 2.0).dtype == ag.float32
    assert f(ag.ones(2, dtype="float64"), 2.0).dtype == ag.float64
    half = ag.ones(2, dtype="float16")
    assert f(half, 0.1).tolist() == (half * 0.1).tolist()


def test_strings_and_functions_are_static():
    def f(x, how, g):
        return g(x.sum() if how == "sum" else x.max())

    c = ag.jit(f)
    x = ag.tensor([1.0, 2.0])
    assert c(x, "sum", ag.negative).item() == -3
    assert c(x, "max", ag.negative).item() == -2
    assert c(x, "max", ag.exp).item() == pytest.approx(np.exp(2))
    assert len(c.specialisations) == 3


def test_new_types_and_sizes_are_new_specialisations_with_a_cause():
    f = ag.jit(lambda x: x + 1)
    for x in (ag.ones(3), ag.ones(4), ag.ones(3, dtype="float64"), ag.ones((3, 1)), ag.ones(3)):
        assert f(x).dtype == x.dtype and f(x).shape == x.shape
    assert len(f.specialisations) == 4
    text = f.explain()
    first = "<lambda>: 4 specialisations\n  0: (float32[3])\n    because it was the first"
    assert text.startswith(first)
    assert "argument 0 was float32[3], now float32[4]" in text
    assert "argument 0 was float32[4], now float64[3]" in text
    for stage in ("trace", "rewrite", "schedule", "emit", "machine code", "entry"):
        assert f"{stage} " in text


def test_no_grad_and_default_float_are_part_of_the_signature():
    f = ag.jit(lambda n: ag.ones(n) / 3)
    assert f(2).dtype == ag.float32
    with ag.config(default_float="float64"):
        assert f(2).dtype == ag.float64
    assert f(2).dtype == ag.float32
    w = ag.ones(2, requires_grad=True)

    def recorded(x):
        return (x * w).requires_grad

    g = ag.jit(recorded)
    assert g(ag.ones(2)) is True
    with ag.no_grad():
        assert g(ag.ones(2)) is False


def test_stages_can_be_looked_at():
    f = ag.jit(lambda x: ag.exp(x).sum())
    with pytest.raises(RuntimeError, match="has not been called yet"):
        f.ir()
    f(ag.ones(100))
    assert "exp" in str(f.graph) and "define" in f.ir() and "ret" in f.asm()
    assert "planned" in str(f.plan()) and f.plan().planned_bytes > 0


# -- memory layouts of arguments ----------------------------------------------------------------
def fortran() -> Any:
    return ag.tensor(np.asfortranarray(np.arange(12.0).reshape(3, 4)))


def read_only() -> Any:
    a = np.arange(6.0)
    a.flags.writeable = False
    return ag.asarray(a)


def unaligned() -> Any:
    raw = np.zeros(8 * 5 + 1, "uint8")
    a = raw[1:].view("float64")
    a[:] = np.arange(5)
    return ag.asarray(a)


LAYOUTS = {
    "fortran": fortran,
    "transposed": lambda: ag.asarray(np.arange(12.0).reshape(3, 4).T),
    "every other": lambda: ag.asarray(np.arange(12.0)[::2]),
    "backwards": lambda: ag.asarray(np.arange(12.0)[::-1]),
    "broadcast": lambda: ag.asarray(np.broadcast_to(np.arange(3.0), (4, 3))),
    "read only": read_only,
    "unaligned": unaligned,
    "0-d": lambda: ag.tensor(3.0),
    "no elements": lambda: ag.ones((0, 3)),
    "no rows": lambda: ag.ones((3, 0)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_any_layout_is_read(name):
    both(lambda x: ag.asarray(x) * 2 + ag.asarray(x).sum(), LAYOUTS[name], calls=3)


@pytest.mark.parametrize("name", ["fortran", "transposed", "every other", "backwards", "unaligned",
                                  "0-d", "no elements"])
def test_any_layout_is_changed_in_place(name):
    def f(x):
        x += 1
        x *= x

    both(f, LAYOUTS[name], calls=3)


def test_views_given_as_arguments_change_what_they_look_into():
    seen = []
    f = ag.jit(lambda x: x.add_(1).sum())
    for run in (lambda x: x.add_(1).sum(), f):
        base = ag.tensor(np.zeros((4, 4)))
        run(base[1])
        run(base[:, 2])
        seen.append(base.tolist())
    assert seen[0] == seen[1] and sum(map(sum, seen[1])) == 8


# -- changes in place ---------------------------------------------------------------------------
def changes_argument(x):
    y = x * 2
    x += 1
    z = x * 2
    x[1:3] = 0
    v = x[::2]
    v *= 10
    x[0] += v[1] + y[0]
    return y + z


def reverses_itself(x):
    x[:] = x[::-1]
    x[1:] = x[:-1] * 2


def sums_over_itself(x):
    x -= x.sum()
    x /= x.max()


def swaps(x, y):
    x[:], y[:] = y * 1, x * 1


def rotates(x, y):
    x.copy_(x + y)
    y.copy_(x - y)


@pytest.mark.parametrize("f", [changes_argument, reverses_itself, sums_over_itself])
def test_changed_arguments(f):
    both(f, vector())


@pytest.mark.parametrize("f", [swaps, rotates])
def test_changed_pairs_of_arguments(f):
    both(f, vector(), lambda: ag.tensor(np.arange(5, dtype="float32") ** 2))


def test_one_tensor_given_twice():
    def f(x, y):
        x += 1
        return y * 2

    for run in (f, ag.jit(f)):
        x = ag.ones(3)
        for turn in range(3):
            assert run(x, x).tolist() == [2.0 * (turn + 2)] * 3
        run(x, ag.ones(3))
        assert run(x, x).tolist() == [12, 12, 12]


def test_arguments_that_overlap():
    def f(x, y):
        x += 1
        return x + y

    seen = []
    for run in (f, ag.jit(f)):
        base = ag.tensor(np.arange(6.0))
        run(base[:4] * 1, base[2:] * 1)
        twice = [run(base[:4], base[2:]).tolist() for _ in range(2)]
        seen.append([*twice, base.tolist()])
    assert seen[0] == seen[1]


def test_state_given_as_an_argument_too():
    seen = []
    for compiled in (False, True):
        w = ag.ones(3)

        def f(x, w=w):
            w.add_(1)
            return x * 2

        def g(x, w=w):
            y = w * x
            w.mul_(3)
            x.add_(w)
            return y

        f, g = (ag.jit(r) if compiled else r for r in (f, g))
        f(ag.ones(3)), g(ag.ones(3))
        seen.append([f(w).tolist(), f(w).tolist(), g(w).tolist(), f(w[1:].reshape(2)).tolist(),
                     w.tolist()])
    assert seen[0] == seen[1]


def changes_detached(x):
    y = x * 1
    twin = y.detach()
    twin += 1
    x.detach()[1:] *= 2
    return x + y, twin


def test_changes_of_detached_tensors_show():
    both(changes_detached, vector())
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def step(x):
        w.grad = None
        (w * w * x).sum().backward()
        w.detach().sub_(w.grad, alpha=0.25)
        return w.sum()

    assert step(ag.ones(2)).item() == 1.5 and w.tolist() == [0.5, 1]
    assert step(ag.ones(2)).item() == 0.75 and w.requires_grad


def test_integers_and_bools_in_place():
    def f(m, n):
        m[n > 2] = False
        n *= 3
        n[m] = -100
        return n.sum()

    both(f, lambda: ag.ones(5, dtype="bool"), lambda: ag.arange(5, dtype="int16"))


# -- state ----------------------------------------------------------------------------------------
class Model:
    """Parameters, a counter, a running mean, and a slot that appears at the first step."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.w = ag.tensor(rng.normal(size=(4, 3)), requires_grad=True)
        self.b = ag.tensor(np.zeros(3), requires_grad=True)
        self.velocity = [ag.zeros((4, 3), dtype="float64"), ag.zeros(3, dtype="float64")]
        self.count = ag.tensor(0)
        self.mean = ag.zeros(4, dtype="float64")

    def step(self, x, y, lr):
        self.w.grad = self.b.grad = None
        loss = ag.mean((ag.tanh(x @ self.w + self.b) - y) ** 2)
        loss.backward()
        with ag.no_grad():
            for p, v in zip((self.w, self.b), self.velocity, strict=True):
                v.mul_(0.9).add_(p.grad)
                p.sub_(v, alpha=lr)
            self.count += 1
            self.mean.mul_(0.5).add_(x.mean(0))
        return loss


def train(model: Model, step: Any, turns: int = 10) -> list[Any]:
    rng = np.random.default_rng(1)
    losses = []
    for turn in range(turns):
        x, y = ag.tensor(rng.normal(size=(6, 4))), ag.tensor(rng.normal(size=(6, 3)))
        losses.append(step(x, y, 0.1 / (1 + turn)).item())
    return [losses, model.w.tolist(), model.b.tolist(), model.count.item(), model.mean.tolist()]


def test_a_training_step_equals_eager():
    eager, compiled = Model(), Model()
    expected = train(eager, eager.step)
    step = ag.jit(compiled.step)
    for a, b in zip(train(compiled, step), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert len(step.specialisations) == 1


def test_methods_of_a_class():
    class Compiled(Model):
        step = ag.jit(Model.step)

    eager, one, two = Model(), Compiled(), Compiled()
    expected = train(eager, eager.step)
    for model in (one, two):
        np.testing.assert_allclose(train(model, model.step)[0], expected[0], rtol=1e-12)
    assert one.w is not two.w and one.count.item() == two.count.item() == 10


def test_state_replaced_by_another_array():
    w = ag.ones(3)
    f = ag.jit(lambda x: (w.add_(1) * x).sum())
    assert f(ag.ones(3)).item() == 6
    w.data = np.full(3, 10, "float32")
    assert f(ag.ones(3)).item() == 33 and w.tolist() == [11, 11, 11]
    w.data = np.arange(6, dtype="float32")[::2]
    assert f(ag.ones(3)).item() == 9 and w.tolist() == [1, 3, 5]
    assert len(f.specialisations) == 1


@pytest.mark.parametrize("name", ["fortran", "transposed", "every other", "backwards", "unaligned",
                                  "0-d", "no elements"])
def test_state_of_any_layout(name):
    seen = []
    for compile_ in (False, True):
        w = LAYOUTS[name]()

        def f(x, w=w):
            old = w * 1
            w.mul_(2).add_(x)
            rows = w.reshape(-1, 1)
            return old, rows @ rows.T, ag.sort(w.reshape(-1)), w.sum()

        run = ag.jit(f) if compile_ else f
        seen.append([np.array(t) for _ in range(3) for t in run(ag.tensor(1.0, dtype="float64"))])
        seen[-1].append(np.array(w))
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)


def test_read_only_state_cannot_change():
    w = read_only()
    f = ag.jit(lambda: w.add_(1))
    for run in (lambda: w.add_(1), f, f):
        with pytest.raises(ValueError, match="read-only"):
            run()
    assert w.tolist() == [0, 1, 2, 3, 4, 5]
    x = read_only()
    change = ag.jit(lambda x: x.add_(1) * 1)
    change(ag.tensor(np.zeros(6)))
    with pytest.raises(ValueError, match="read-only"):
        change(x)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_state_that_changes_shape_or_dtype():
    w = ag.ones(3)
    f = ag.jit(lambda: w * 2)
    assert f().tolist() == [2, 2, 2]
    w.data = np.ones(5, "float32")
    assert f().tolist() == [2] * 5
    w.data = np.ones(2, "float64")
    assert f().dtype == ag.float64
    assert len(f.specialisations) == 3


def test_state_that_starts_or_stops_to_want_gradients():
    w = ag.ones(2, requires_grad=True)
    f = ag.jit(lambda x: (x * w).requires_grad)
    assert f(ag.ones(2)) is True
    w.requires_grad_(False)
    assert f(ag.ones(2)) is False
    w.requires_grad_(True)
    assert f(ag.ones(2)) is True


def test_state_seen_through_views():
    seen = []
    for compile_ in (False, True):
        w = ag.tensor(np.arange(12.0).reshape(3, 4))
        row, column = w[1], w[:, 2]

        def f(x, w=w, row=row, column=column):
            row.add_(x)
            column.mul_(2)
            y = w.sum(0)
            w[0] = 1
            return y + row

        run = ag.jit(f) if compile_ else f
        seen.append([run(ag.ones(4, dtype="float64")).tolist() for _ in range(3)] + [w.tolist()])
    assert seen[0] == seen[1]


def test_two_tensors_on_one_memory():
    seen = []
    for compile_ in (False, True):
        w = ag.tensor(np.arange(4.0))
        twin = w.detach()

        def f(w=w, twin=twin):
            w.add_(1)
            return twin * 2

        run = ag.jit(f) if compile_ else f
        seen.append([run().tolist(), run().tolist(), w.tolist()])
    assert seen[0] == seen[1]


def test_state_that_swaps():
    a, b = ag.zeros(3), ag.ones(3)

    @ag.jit
    def swap():
        old = a * 1
        a.copy_(b)
        b.copy_(old)

    for turn in range(3):
        swap()
        assert (a.tolist(), b.tolist()) == ([1 - turn % 2] * 3, [turn % 2] * 3)


def test_the_function_does_not_keep_its_arguments_alive():
    f = ag.jit(lambda x: x * 2)
    x = ag.ones(4)
    seen = weakref.ref(x)
    f(x), f(x)
    del x
    gc.collect()
    assert seen() is None


# -- gradients ----------------------------------------------------------------------------------
def test_gradients_made_and_left_are_given_out():
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def f(x):
        loss = (w * w * x).sum()
        loss.backward()
        return loss

    f(ag.ones(2))
    assert w.grad.tolist() == [2, 4]
    f(ag.ones(2))
    assert w.grad.tolist() == [4, 8]  # it accumulates, as in eager code
    w.grad = None
    f(ag.ones(2))
    assert w.grad.tolist() == [2, 4]


def sgd(w):
    def step(x):
        w.grad = None
        loss = (w * w * x).sum()
        loss.backward()
        with ag.no_grad():
            w.sub_(w.grad, alpha=0.25)
        return loss

    return step


def test_gradients_used_up_do_not_exist_outside():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    step = ag.jit(sgd(w))
    for _ in range(2):
        step(ag.ones(2))
        with pytest.raises(ag.GradientError, match="keep_grads=True"):
            _ = w.grad
    assert w.tolist() == [0.25, 0.5]
    w.grad = None
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3, 3]
    step(ag.ones(2))
    with pytest.raises(ag.GradientError, match="keep_grads=True"):
        _ = w.grad


def test_keep_grads():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    step = ag.jit(sgd(w), keep_grads=True)
    step(ag.ones(2))
    assert w.grad.tolist() == [2, 4]
    step(ag.ones(2))
    assert w.grad.tolist() == [1, 2]


def test_a_step_that_needs_a_gradient_that_was_used_up():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    ag.jit(sgd(w))(ag.ones(2))
    with pytest.raises(ag.GradientError, match="call zero_grad"):
        ag.jit(lambda x: (w * x).sum().backward())(ag.ones(2))


def test_grad_inside_jit_inside_grad():
    def f(x):
        return (ag.sin(x) * x).sum()

    x = ag.tensor([0.5, 1.0])
    expected = ag.grad(f)(x).tolist()
    inside = ag.jit(ag.grad(f))
    outside = ag.grad(ag.jit(f))
    np.testing.assert_allclose(inside(x).tolist(), expected, rtol=1e-6)
    np.testing.assert_allclose(outside(x).tolist(), expected, rtol=1e-6)
    second = ag.grad(lambda x: inside(x).sum())(x).tolist()
    eager = ag.grad(lambda x: ag.grad(f)(x).sum())(x)
    np.testing.assert_allclose(second, eager.tolist(), rtol=1e-6)


def test_jit_inside_jit():
    w = ag.zeros(2)

    @ag.jit
    def inner(x):
        w.add_(x)
        return x * 2

    outer = ag.jit(lambda x: inner(inner(x)) + w)
    assert outer(ag.ones(2)).tolist() == [7, 7]
    assert outer(ag.ones(2)).tolist() == [10, 10]
    assert inner(ag.ones(2)).tolist() == [2, 2] and w.tolist() == [7, 7]


# -- what cannot be compiled --------------------------------------------------------------------
def test_control_flow_on_values_is_refused():
    @ag.jit
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    line = f.function.__code__.co_firstlineno + 2
    for _ in range(2):
        with pytest.raises(ag.TraceError) as caught:
            f(ag.ones(3))
    text = str(caught.value)
    assert text.startswith("bool() needs the value of") and f"{__file__}:{line}" in text
    assert "ag.where(condition, a, b)" in text


def test_errors_leave_nothing_behind():
    fail = [True]
    w = ag.ones(2, requires_grad=True)

    @ag.jit
    def f(x):
        w.grad = x
        with ag.no_grad():
            w.add_(1)
        if fail[0]:
            raise KeyError("mine")
        return x + w

    with pytest.raises(KeyError, match="mine"):
        f(ag.ones(2))
    assert STATE.trace is None and STATE.recording
    assert w.tolist() == [1, 1] and w.grad is None
    assert not f.specialisations
    fail[0] = False
    assert f(ag.ones(2)).tolist() == [3, 3] and w.tolist() == [2, 2]


def test_values_that_escape_are_refused_later():
    kept = []

    @ag.jit
    def f(x):
        kept.append(x * 2)
        return x

    f(ag.ones(2))
    with pytest.raises(ag.TraceError):
        float(kept[0].sum())
    with pytest.raises(ag.TraceError, match="another trace"):
        ag.jit(lambda x: x + kept[0])(ag.ones(2))


def test_shape_errors_name_the_line():
    @ag.jit
    def f(x, y):
        return x @ y

    line = f.function.__code__.co_firstlineno + 2
    with pytest.raises(ag.ShapeError) as caught:
        f(ag.ones((2, 3)), ag.ones((4, 5)))
    assert f"{__file__}:{line}" in str(caught.value)
    assert "(2, 3)" in str(caught.value) and "(4, 5)" in str(caught.value)


def test_errors_of_operations_in_python_name_operation_and_line():
    @ag.jit
    def f(x, i):
        return ag.index_put(x, i, 5.0) * 2

    line = f.function.__code__.co_firstlineno + 2
    x, good, bad = ag.ones(3), ag.tensor([0, 2]), ag.tensor([0, 7])
    assert f(x, good).tolist() == [10, 2, 10]
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            f(x, bad)
        assert "setitem(float32(3)" in str(caught.value)
        assert "index 7 is out of bounds" in str(caught.value)
        assert f"{__file__}:{line}" in str(caught.value)
    assert f(x, good).tolist() == [10, 2, 10]


def test_unknown_modes_are_refused():
    with pytest.raises(ValueError, match="mode must be"):
        ag.jit(lambda x: x, mode="fast")


# -- dtypes without machine code ----------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", "bool", "int8", "uint64"])
def test_every_dtype_works(dtype):
    def f(x, y):
        return ag.where(x == y, x, y).sum() + (x * y)[::-1], x.reshape(2, 3) @ y.reshape(3, 2)

    values = np.arange(6).astype(dtype) if dtype != "bool" else np.arange(6) % 2 == 0
    if dtype == "bool":
        f = lambda x, y: (x & y)[::-1] | ~x  # noqa: E731
    given = ag.tensor(values), ag.tensor(values[::-1].copy())
    expected, found = f(*given), ag.jit(f)(*given)
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_operations_in_python_between_compiled_ones():
    def f(x):
        y = ag.sort(x * 2, axis=1)
        z = y.astype("complex128") * 1j
        return ag.imag(z) + 1, ag.topk(x, 2)[1], ag.real(ag.conj(z)).sum()

    x = ag.tensor(np.random.default_rng(0).normal(size=(4, 5)))
    for a, b in zip(f(x), ag.jit(f)(x), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


# -- comparing ----------------------------------------------------------------------------------
def test_compare_mode_runs_both_ways_once():
    model, plain = Model(), Model()
    step = ag.jit(model.step, mode="compare")
    np.testing.assert_allclose(train(model, step)[1], train(plain, plain.step)[1], rtol=1e-12)


def test_compare_mode_finds_differences():
    runs = []

    @ag.jit(mode="compare")
    def f(x):
        runs.append(1)
        return x * len(runs)

    with pytest.raises(AssertionError, match="result 0 of f differs"):
        f(ag.ones(2))
        f(ag.ones(2))


# -- threads ------------------------------------------------------------------------------------
def test_threads_call_one_function_at_once():
    f = ag.jit(lambda x, s: ag.tanh(x @ x.T).sum(1) * s)
    rng = np.random.default_rng(0)
    inputs = [ag.tensor(rng.normal(size=(n, 8))) for n in (3, 5, 40, 3)]
    expected = [(ag.tanh(x @ x.T).sum(1) * 2.0).numpy() for x in inputs]
    wrong: list[Any] = []
    barrier = threading.Barrier(len(inputs))

    def work(x: Any, y: Any) -> None:
        try:
            barrier.wait()
            for _ in range(200):
                np.testing.assert_allclose(f(x, 2.0).numpy(), y, rtol=1e-12)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=p) for p in zip(inputs, expected, strict=True)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert len({s.signature for s in f.specialisations}) == 3


def test_a_trace_in_one_thread_does_not_disturb_another():
    inside, finish = threading.Event(), threading.Event()

    @ag.jit
    def slow(x):
        inside.set()
        finish.wait(10)
        return x + 1

    quick = ag.jit(lambda x: x * 3)
    x = ag.ones(2)
    quick(x)
    thread = threading.Thread(target=lambda: slow(x))
    thread.start()
    assert inside.wait(10)
    assert quick(x).tolist() == [3, 3] and (x + 1).tolist() == [2, 2]
    finish.set()
    thread.join()
    assert slow(x).tolist() == [2, 2]
