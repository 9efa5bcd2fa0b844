"""``ag.jit``: a compiled function does what the Python function does."""

from __future__ import annotations

import queue
import random
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.config import STATE
from tests.compiler.entered import entered
from tests.compiler.jit.runs import Model, train


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


@pytest.mark.parametrize("kind", [
    np.float64, np.float32, np.float16, ag.bfloat16.type, np.int64, np.int8, np.longlong, np.uint64,
    np.bool_, np.complex64, np.complex128])
def test_numbers_of_numpys_are_taken_without_python(kind):
    f, x = ag.jit(lambda x, k: x + k), ag.ones(3)
    for value in (1, 0, 1):
        found, wanted = f(x, kind(value)), x + kind(value)
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()
    assert entered(f, x, kind(1)) == [] or kind is np.longlong
    given = f(x, np.array(1, kind))  # which is no number: others dtypes may be promoted
    assert given.dtype == (x + np.array(1, kind)).dtype


def test_results_have_memory_of_their_own():
    x, w = ag.ones(3), ag.ones(3)
    f = ag.jit(lambda x: (x, x, x[1:], w))
    for r in f(x):
        r += 10
    assert x.tolist() == [1, 1, 1] and w.tolist() == [1, 1, 1]
    a, b = f(x), f(x)
    assert all(not np.shares_memory(p.array, q.array) for p in a for q in b)


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


# -- what cannot be compiled --------------------------------------------------------------------
def test_arrays_of_values_are_refused():
    @ag.jit
    def f(x):
        return np.sort(x.exp())[0] + (x + 1).numpy()

    line = f.function.__code__.co_firstlineno + 2
    for _ in range(2):
        with pytest.raises(ag.TraceError) as caught:
            f(ag.ones(3))
    text = str(caught.value)
    assert "needs the value of" in text and f"{__file__}:{line}" in text


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
    assert w.tolist() == [2, 2] and w.grad.tolist() == [1, 1]  # as eagerly
    assert not f.specialisations
    fail[0] = False
    assert f(ag.ones(2)).tolist() == [4, 4] and w.tolist() == [3, 3]


def test_values_that_escape_are_refused_later():
    kept = queue.SimpleQueue()

    @ag.jit
    def f(x):
        kept.put(x * 2)
        return x

    f(ag.ones(2))
    escaped = kept.get()
    with pytest.raises(ag.TraceError):
        float(escaped.sum())
    with pytest.raises(ag.TraceError, match="another trace"):
        ag.jit(lambda x: x + escaped)(ag.ones(2))


def test_shape_errors_name_the_line():
    @ag.jit
    def f(x, y):
        return x @ y

    line = f.function.__code__.co_firstlineno + 2
    with pytest.raises(ag.ShapeError) as caught:
        f(ag.ones((2, 3)), ag.ones((4, 5)))
    assert f"{__file__}:{line}" in str(caught.value)
    assert "(2, 3)" in str(caught.value) and "(4, 5)" in str(caught.value)


def test_errors_of_running_code_name_operation_and_line():
    @ag.jit
    def f(x, i):
        return ag.index_put(x, i, 5.0) * 2

    line = f.function.__code__.co_firstlineno + 2
    x, good, bad = ag.ones(3), ag.tensor([0, 2]), ag.tensor([0, 7])
    assert f(x, good).tolist() == [10, 2, 10]
    for _ in range(2):
        with pytest.raises(IndexError) as caught:
            f(x, bad)
        assert str(caught.value).startswith(
            "index_put(float32[3], int64[2], float32[2]): an index is out of range"
        )
        assert f"{__file__}:{line}" in str(caught.value)
    assert f(x, good).tolist() == [10, 2, 10]


def test_whole_numbers_stay_whole_after_floats():
    f = ag.jit(lambda x, k: x * k)
    for _ in range(2):
        assert f(ag.arange(3), 2.0).dtype == "float32"
        assert f(ag.arange(3), 2).dtype == "int64"
    g = ag.jit(lambda k: k + 1)
    assert g(1.0) == 2 and type(g(2)) is int


def test_compiled_functions_show_what_they_compile():
    def plain(x):
        return x

    assert repr(ag.jit(plain)) == f"<ag.jit of {plain!r}>"


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
    @ag.jit(mode="compare")
    def f(x):
        return x * random.SystemRandom().randrange(1 << 30)

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
    # Who comes first is chance: at most each size has a version before there is one for all.
    assert len({s.signature for s in f.specialisations}) in (2, 3, 4)


def test_a_trace_in_one_thread_does_not_disturb_another():
    inside, finish = threading.Event(), threading.Event()

    @ag.jit
    def slow(x):
        inside.set()
        finish.wait(0.3)
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


def test_versions_in_turn_do_without_the_general_way():
    f = ag.jit(lambda x, scale=None: x * 2 if scale is None else x * scale["by"])
    calls = [(ag.ones(3),), (ag.ones((2, 2)),), (ag.ones(3), {"by": ag.ones(3) * 3}),
             (ag.ones(3, dtype="float64"),)]
    for args in calls:
        f(*args)
    f.dispatch = None  # whatever the general way would be asked now is an error
    for _ in range(3):
        for args in calls:
            result = f(*args)
            assert result.shape == args[0].shape and result.dtype == args[0].dtype
            assert (result.array == (3 if len(args) == 2 else 2)).all()


def test_versions_in_turn_with_and_without_records():
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    f = ag.jit(lambda x: x * w)
    for n in (1, 2, 1, 2):
        for size in ((n, 2), (2,)):
            assert f(ag.ones(size)).requires_grad
            with ag.no_grad():
                assert not f(ag.ones(size)).requires_grad


def test_what_is_not_compiled_says_why():
    f = ag.jit(lambda x: x * 2)
    with ag.config(compile=False):
        f(ag.ones(2))
        with pytest.raises(RuntimeError, match=r"not compiled: config\.compile is False"):
            f.plan()
    with pytest.raises(RuntimeError, match="has not been called yet"):
        f.plan()


def test_causes_are_told_by_the_nearest_version():
    f = ag.jit(lambda a, b=2: a * b)
    x = ag.ones(2)
    for args in ((x,), (x, 3), (x.astype("float64"),), (ag.ones((2, 2)),)):
        f(*args)
    assert [s.cause for s in f.specialisations] == [
        "it was the first call", "the arguments had a new structure",
        "argument 0 was float32[2], now float64[2]",
        "argument 0 was float64[2], now float32[2, 2]"]


def test_numbers_decide_about_layouts_as_arrays_do() -> None:
    """Changes in place of what was computed from a Python float, through a reshape."""
    w = ag.tensor(np.arange(4.0))

    def f(s):
        y = (w * s)[:, None] * w
        y.reshape(2, 8)[0] *= 2
        y.T[1] = w
        return y

    for s in (1.5, 2.5):
        np.testing.assert_allclose(ag.jit(f)(s).numpy(), f(s).numpy())


def test_arguments_that_lie_otherwise_are_packed_for_native_code():
    """Views with strides take no walk through Python; writes go to the views themselves."""
    x = ag.tensor(np.arange(24.0).reshape(4, 6))
    f = ag.jit(lambda a, b: a * 2 + b.sum())
    for a, b in ((x, x), (x.T, x.T), (ag.broadcast_to(x[0], (6, 4, 6))[:, :, 0], x[::-1].T)):
        for _ in range(3):
            assert f(a, b).tolist() == (a * 2 + b.sum()).tolist()
    assert len(entered(f, x.T, x.T)) < 30
    g = ag.jit(lambda a: a.add_(1.0))
    g(x), g(x.T)
    assert x[0, 0] == 2
