"""Options that are arguments of a jitted function have the ranges that they have eagerly."""

from __future__ import annotations

import pytest

import agnesi as ag

X = ag.arange(4)
F = ag.ones((2, 4))
CALLS = {
    "cdist": (lambda p: ag.cdist(F, F, p=p), (1.5, 2.0), (-1.5, float("nan"))),
    "group_norm": (lambda e: ag.nn.functional.group_norm(F, 2, eps=e), (0.1, ag.tensor(0.5)),
                   (-1.5, float("inf"), ag.tensor(-1.0))),
    "gumbel_softmax": (lambda t: ag.nn.functional.gumbel_softmax(F, tau=t).sum(), (0.5,), (-1.0,)),
    "narrow": (lambda n: ag.narrow(X, 0, n, 2), (1, -2, ag.tensor(-2)), (3, -5, ag.tensor(3))),
    "masked_fill": (lambda v: X.masked_fill(X > 1, v), (7.0, -1.5), (float("nan"), 1e30)),
    "insert": (lambda v: ag.insert(X, 1, v), (7.0,), (float("inf"),)),
    "max": (lambda a: ag.max(F, a), (), (0.5,)),
    "amax": (lambda a: ag.amax(F, a), (), (0.5,)),
    "randint": (lambda n: ag.random.randint(0, n, (2,)) < 3, (3,), (0.5,)),
    "pad": (lambda v: ag.pad(X, 1, constant_values=v), (3, 2.5), (float("nan"),)),
    "repeat": (lambda n: ag.repeat(X, n), (2, 3), (1.5, ag.tensor(0.5))),
}


@pytest.mark.parametrize("name", CALLS)
def test_out_of_range_is_refused_and_the_rest_is_the_same(name):
    f, right, wrong = CALLS[name]
    g = ag.jit(lambda option: f(option))
    for option in (*wrong, *right):  # what is refused first leaves no other trace
        if any(option is v for v in wrong):
            with pytest.raises((ValueError, TypeError, IndexError)) as eager:
                f(option)
            with pytest.raises(type(eager.value)) as found:
                g(option)
            assert str(found.value).startswith(str(eager.value).partition("(")[0])
        else:
            assert ag.allclose(g(option), f(option))
            assert g(option).dtype == f(option).dtype


def test_bodies_check_options_too():
    def norms(es):
        return ag.scan(lambda c, e: (c, ag.nn.functional.group_norm(F, 2, eps=e)), 0.0, es)[1]

    assert ag.jit(norms)(ag.tensor([0.1, 1.0])).shape == (2, 2, 4)
    with pytest.raises(ValueError, match="group_norm: eps must be at least 0"):
        ag.jit(norms)(ag.tensor([0.1, -1.0]))
    with pytest.raises(ValueError, match=r"betas must be two numbers, with one in \[0, 1\)"):
        ag.jit(lambda x, b: ag.optim.Adam([ag.tensor([1.0], requires_grad=True)], betas=(b, 0.9))
               and x)(X, 2.0)


def test_a_failing_check_before_another_decision():
    """The version of the failing call gives way to the one that another decision asks for."""
    def f(x, p):
        ag.ensure(x, ag.asarray(p) >= 0, "p is negative")
        return x * 2 if p == 2 else x * p

    g = ag.jit(f)
    with pytest.raises(ValueError, match="p is negative"):
        g(F, -1.5)
    assert g(F, 0.5).sum() == 4 and g(F, 2.0).sum() == 16 and g(F, 3.0).sum() == 24
