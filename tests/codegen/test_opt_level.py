"""Code for kernels that do little of a program's work is made at LLVM's quickest level."""

import re

import numpy as np
import pytest

import agnesi as ag
from agnesi.codegen.kernels.ufunc_loop import plan_walk
from agnesi.codegen.opt_level import Effort, work
from agnesi.core.ir.kernels import Buffer, Foreign, Loop, Nest, Store
from agnesi.core.ir.loops import Affine, Axis, const
from agnesi.runtime import machine


@pytest.fixture
def kinds(monkeypatch):
    """Of every function of the code that is loaded: whether it is marked as light, by name."""
    found = {}
    real = machine.load

    def load(text, **keywords):
        for name, rest in re.findall(r"^define [^@]*@(\w+)\(.*\)(.*)$", text, re.MULTILINE):
            found[name] = '"light"' in rest
        return real(text, **keywords)

    monkeypatch.setattr(machine, "load", load)
    return found


def test_small_kernels_beside_a_large_product_are_light(kinds):
    @ag.jit
    def f(x, w, b):
        return ag.relu(x @ w), ag.exp(b).cumsum()

    x, w, b = np.ones((64, 200)), np.ones((200, 300)), np.linspace(0, 1, 30)
    large, small = f(x, w, b)
    np.testing.assert_allclose(large, x @ w)
    np.testing.assert_allclose(small, np.exp(b).cumsum())
    kernels = [light for name, light in kinds.items() if re.fullmatch(r"k\d+", name)]
    assert kinds["body"] and any(kernels) and not all(kernels)


def test_what_all_work_consists_of_is_not_light(kinds):
    x = np.linspace(0, 1, 50)
    np.testing.assert_allclose(ag.jit(lambda x: ag.exp(x) * 3)(x), np.exp(x) * 3)
    assert not any(light for name, light in kinds.items() if name != "body")


def test_loops_count_with_all_their_turns(kinds):
    @ag.jit
    def f(x, w):
        last, _ = ag.scan(lambda c, _: (ag.sin(c) * 0.9, None), x, None, length=100_000)
        return last, w @ w

    f(ag.tensor(1.0), ag.ones((8, 8)))
    assert kinds["body"] and not all(light for name, light in kinds.items() if name != "body")


@pytest.mark.parametrize(("count", "size", "called"), [(12, 5, True), (3, 5, False),
                                                       (12, 100_000, False)])
def test_short_kernels_call_costly_functions_that_they_need_often(monkeypatch, count, size, called):
    texts = []
    real = machine.load
    monkeypatch.setattr(machine, "load", lambda text, **k: texts.append(text) or real(text, **k))

    def f(x):
        for _ in range(count):
            x = ag.sin(x) + ag.exp(-x)
        return x

    x = np.linspace(0, 1, size)
    np.testing.assert_allclose(ag.jit(f)(x), f(ag.tensor(x)), rtol=1e-13)
    assert bool(re.search(r"call <\d+ x double> @exp\.", texts[0])) == called


def test_programs_of_many_short_kernels_write_costly_functions_out_a_few_times(monkeypatch):
    texts = []
    real = machine.load
    monkeypatch.setattr(machine, "load", lambda text, **k: texts.append(text) or real(text, **k))

    def f(x, w):
        for i in range(60):
            x = ag.sin(x @ w + i) + x.cumsum() * 0.1
        return x

    x, w = np.linspace(0, 1, 8), np.linspace(-1, 1, 64).reshape(8, 8) * 0.1
    np.testing.assert_allclose(ag.jit(f)(x, w), f(ag.tensor(x), ag.tensor(w)), rtol=1e-10)
    written = texts[0].count("call <8 x double> @sin.far")
    assert texts[0].count("call <8 x double> @sin.v8f64") > 30 and written < 30, written


def nest(elements):
    buffer, axis = Buffer((elements,), np.dtype("float32"), "temporary"), Axis(0, elements)
    return Nest([], (axis,), [Store(buffer, Affine(0, {axis: 1}), const(1.0, "float32"))])


def test_all_light_kernels_together_are_a_small_share():
    effort = Effort([nest(3200)])
    assert work([nest(3200)]) == 3200
    assert not effort.little(17)
    assert [effort.little(16) for _ in range(8)] == [True] * 6 + [False] * 2


def test_effort_in_a_loop():
    inner = nest(100)
    effort = Effort([nest(100_000)])
    loop = Loop(length=10)
    with effort.inside(loop):
        assert not effort.little(51) and effort.little(50)
    assert effort.little(51)
    assert work([inner, inner]) == 200


def test_functions_that_search_are_called_for_few_elements_at_a_time():
    """SciPy's sum over 3000 samples takes milliseconds where it is searched for a value."""
    n, p = ag.full((2000,), 30.0), ag.tensor(np.linspace(0.1, 0.9, 2000))
    found = []
    for f in (ag.special.smirnovi, ag.special.smirnov, ag.special.gammaincinv):
        jitted = ag.jit(lambda n, p, f=f: f(n, p))
        np.testing.assert_allclose(jitted(n, p).numpy(), f(n, p).numpy())
        (kernel,) = [k for k in jitted.plan().layout.kernels if isinstance(k, Foreign)]
        plan = plan_walk(kernel, machine.native())
        assert plan.units == -(-2000 // plan.block)
        found.append(plan.block)
    assert found == [1, 8, 256]


@pytest.mark.parametrize("f", [ag.special.nctdtrit, ag.special.nctdtridf, ag.special.nctdtrinc])
def test_each_search_in_the_noncentral_t_distribution_is_one_of_long_sums(f):
    """Elements of all three take a millisecond or more where the noncentrality is 3000."""
    jitted = ag.jit(f)
    jitted(*[ag.full((64,), v) for v in (0.4, 0.5, 0.7)])
    (kernel,) = [k for k in jitted.plan().layout.kernels if isinstance(k, Foreign)]
    assert plan_walk(kernel, machine.native()).block == 1
