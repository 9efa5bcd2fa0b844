"""Profiles: how often kernels of functions ran, and how long."""

import io

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
from agnesi import symbolic as T


@pytest.mark.native_plans
def test_a_profile_counts_kernels_also_those_inside_of_loops():
    w, seen = ag.shared(np.eye(3)), ag.shared(0.0)
    x = T.dmatrix("x")
    rows, _ = T.scan(lambda h: T.tanh(h @ w), outputs_info=x, n_steps=5)
    f = ag.function([x], rows[-1].sum(), updates={seen: seen + 1}, profile=True)
    plain = ag.function([x], rows[-1].sum())
    for _ in range(4):
        assert f(np.ones((2, 3))) == plain(np.ones((2, 3)))
    profile = f.profile()
    assert profile.calls == 4 and seen.get_value() == 4
    outer = [k for k in profile.kernels if not k.depth]
    assert {k.calls for k in outer} == {4}
    assert [k.calls for k in profile.kernels if k.depth and "product" in k.kernel] == [20]
    assert 0 < sum(k.seconds for k in outer) <= profile.seconds < 10
    assert any("test_profile.py" in k.line for k in outer)
    assert sum(profile.by(lambda k: k.kernel).values()) == pytest.approx(
        sum(k.seconds for k in outer))
    assert profile.compiling["machine code"] > 0 and profile.peak_bytes >= 2 * 3 * 8
    assert "by lines:" in str(profile) and "loop scan" in str(profile)


def test_a_profile_is_of_all_versions_and_many_kernels():
    @ag.jit(profile=True)
    def f(x):
        for _ in range(26):
            x = ag.cumsum(x, 0)
        return x

    f(ag.ones(2, 2)), f(ag.ones(2, 2)), f(ag.ones(2, 2, 2))
    profile = f.profile()
    assert profile.calls == 3
    counts = [k.calls for k in profile.kernels]
    assert len(counts) > 50 and set(counts) == {1, 2}


def test_only_profiled_functions_have_profiles():
    f = ag.jit(lambda x: x + 1)
    f(1.0)
    with pytest.raises(RuntimeError, match="make it with profile=True"):
        f.profile()


def test_profiles_of_theano_print_a_summary():
    x = theano.tensor.dvector("x")
    f = theano.function([x], theano.tensor.exp(x), profile=True)
    f([1.0])
    text = io.StringIO()
    f.profile.summary(text)
    assert f.profile.fct_callcount == 1 and f.profile.fct_call_time > 0
    assert "exp" in text.getvalue()
    assert theano.function([x], x).profile is None
