"""The list of the scheduler's passes: switched off by name, counted, verified in between."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.kernels import Nest, Store
from agnesi.core.ir.loops import const
from agnesi.core.support.record import replace
from agnesi.schedule import passes, verify
from agnesi.schedule.passes import PASSES

OPTIONAL = [p.name for p in PASSES if not p.required]


def _net(x, w, v):
    y = ag.softmax(x @ w, axis=1)
    return (y.sum(0) * v).sum() + ag.exp(y).max(), y.T


def _arrays():
    rng = np.random.default_rng(0)
    return [ag.tensor(rng.normal(size=s)) for s in ((60, 50), (50, 70), (70,))]


def test_names_are_told_apart():
    names = [p.name for p in PASSES]
    assert len({*names}) == len(names)


@pytest.mark.share(8)
@pytest.mark.parametrize("name", OPTIONAL)
def test_programs_without_a_pass(name):
    def loss(x, w, v):
        total, y = _net(x, w, v)
        return total + ag.scan(lambda c, row: (ag.tanh(c + row), c), y[:, 0], y.T)[0].sum()

    args = _arrays()
    f = ag.jit(ag.value_and_grad(loss, (0, 1, 2)), exclude=[name])
    value, grads = f(*args)
    expected, others = ag.value_and_grad(loss, (0, 1, 2))(*args)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for ours, theirs in zip(grads, others, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-12)
    assert f.plan().passes[name] == 0


def test_without_fusion_every_value_has_a_kernel():
    x = ag.tensor(np.ones((4, 4)))
    f, g = (ag.jit(lambda x: ag.exp(ag.sin(x) + 1.0) * 2.0, exclude=e) for e in ([], ["fusion"]))
    f(x), g(x)
    assert len(f.plan().layout.kernels) == 1 < len(g.plan().layout.kernels)


@pytest.mark.parametrize("name", [p.name for p in PASSES if p.required])
def test_passes_that_every_program_needs(name):
    with pytest.raises(ValueError, match=f"the pass '{name}' cannot be left out"):
        ag.jit(lambda x: x + 1, exclude=[name])(ag.ones(3))


def test_unknown_names():
    with pytest.raises(ValueError, match="'fusin'"):
        ag.jit(lambda x: x + 1, exclude=["fusin"])(ag.ones(3))


def test_what_passes_did_is_printed():
    f = ag.jit(lambda x: ag.softmax(x, axis=1).sum(0))
    f(ag.tensor(np.ones((200, 200))))
    assert f.plan().passes["materialization"] == 1
    for text in (str(f.plan()), f.explain()):
        assert "materialization: 1 kernels for values that loops would repeat" in text
    assert "rewritten in " in f.explain()


# -- the verifier ----------------------------------------------------------------------------
def _broken(monkeypatch, name, spoil):
    """Compile with a pass that spoils the program behind it."""
    def run(program):
        return spoil(program) or program

    kept = tuple(passes.replace(p, run=lambda q, p=p: run(p.run(q))) if p.name == name else p
                 for p in PASSES)
    monkeypatch.setattr(passes, "PASSES", kept)
    with ag.config(verify=True, cache=False), pytest.raises(verify.BrokenProgramError) as caught:
        ag.jit(lambda *a: _net(*a)[0])(*_arrays())
    return str(caught.value)


def test_reads_before_writes_are_found(monkeypatch):
    def spoil(program):
        program.kernels.reverse()

    assert "which nothing has written" in _broken(monkeypatch, "lowering", spoil)


def test_stores_of_other_types_are_found(monkeypatch):
    def spoil(program):
        nest = next(k for k in program.kernels if type(k) is Nest)
        store = nest.body[0]
        nest.change([Store(store.buffer, store.offset, const(1, "int8")), *nest.body[1:]])

    assert "stores int8 to" in _broken(monkeypatch, "privatization", spoil)


def test_places_outside_are_found(monkeypatch):
    def spoil(program):
        nest = next(k for k in program.kernels if type(k) is Nest)
        store = nest.body[0]
        nest.change([Store(store.buffer, store.offset + 100_000, store.value), *nest.body[1:]])

    assert "outside of it" in _broken(monkeypatch, "privatization", spoil)


def test_memory_that_is_still_needed_is_found(monkeypatch):
    def spoil(program):
        for buffer in program.lifetimes:
            if buffer.role == "temporary":
                buffer.offset = 0

    assert "which is needed until" in _broken(monkeypatch, "placement", spoil)


def test_work_that_is_done_again_is_found():
    f = ag.jit(lambda x: ag.softmax(x, axis=1).sum(0))
    x = ag.tensor(np.ones((200, 200)))
    f(x)
    with ag.config(verify=True):
        kernels = f.plan().layout.kernels
        assert verify.work(kernels).costly <= 2 * 20 * 200 * 200


def test_growth_with_sizes_is_found(monkeypatch):
    """Few rows say little of a version for any number of rows: powers are compared."""
    passes = [replace(p, run=lambda program: program) if p.name == "materialization" else p
              for p in PASSES]
    monkeypatch.setattr("agnesi.schedule.passes.PASSES", tuple(passes))
    f = ag.jit(lambda x: ag.softmax(x, axis=1).sum(0))
    f(ag.ones((5, 5)))
    with pytest.raises(verify.BrokenProgramError, match=r"n0\*n0\*n0.* 40\*n0\*n0 at most"):
        f(ag.ones((6, 6)))


def test_what_was_asked_for_a_count_says_nothing_of_sizes():
    """Scheduling the program in which all is kept asks more; versions stay as they are."""
    causes = []
    for verified in (False, True):
        f = ag.jit(lambda x: ag.softmax(x, axis=1).sum(0))
        with ag.config(verify=verified, cache=False):
            for n in (5, 6, 100, 31, 2, 200):
                f(ag.ones((n, n)))
        causes.append([s.cause for s in f.specialisations])
    assert causes[0] == causes[1] and len(causes[0]) == 3


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 0), (2, 0, 3)])
@pytest.mark.parametrize("target", [(0,), (0, 5), (4, 0), (1, 0, 7)])
@pytest.mark.parametrize("name", OPTIONAL[:3])
def test_programs_of_nothing_without_a_pass(name, shape, target):
    f = ag.jit(lambda x: (x + 1).reshape(target) * 2, exclude=[name])
    assert f(ag.ones(shape)).shape == target


def test_parts_of_a_whole_do_not_cancel_in_the_count_of_work():
    """n rows and the 257 - n behind them are 257, and yet the rows are copied n times."""
    with ag.config(verify=True, cache=False):
        x, c = ag.symbolic.tensor("uint8", (None, 1, 257)), ag.symbolic.tensor("uint8", (None,))
        run = ag.function([x, c], ag.cond(c.sum() > 0, lambda v: v.T * 1, lambda v: v * 1, x))
        for n in (257, 9, 40):
            assert run(np.ones((n, 1, 257), "uint8"), np.ones(n, "uint8")).shape == (257, 1, n)
