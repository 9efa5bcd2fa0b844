"""Long chains of which each value is read several times: every walk meets a value once.

A walk that follows each reader doubles its work at each step, so that it never ends.
"""

import signal

import numpy as np
import pytest

import agnesi as ag

_STEPS = 40
_MAX_CPU_SECONDS = 60


@pytest.fixture(autouse=True)
def watchdog():
    def give_up(*_):
        raise TimeoutError(f"not compiled within {_MAX_CPU_SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MAX_CPU_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def viterbi(x, table):
    best, back = x[0], []
    for t in range(1, _STEPS // 2):
        each = best[:, None] + table
        back.append(each.argmax(axis=0))
        best = each.max(axis=0) + x[t % len(x)]
    path = [best.argmax()]
    for b in reversed(back):
        path.append(b[path[-1]])
    return ag.stack(path)


def mixed(*steps):
    """The gradient of a chain of such steps on the last value and the one before."""
    def loss(x, table):
        values = [x[0], x[1]]
        for t in range(_STEPS):
            d = steps[t % len(steps)](values[-1], values[-2], table)
            values.append(d * 0.7 + values[-2] * 0.2)
        return values[-1].sum()
    return ag.grad(loss)


def fibonacci(step):
    def last(x, table):
        a, b = x[0], x[1]
        for _ in range(_STEPS):
            a, b = b, step(a, b)
        return b + 0.0
    return last


PROGRAMS = {
    "viterbi": viterbi,
    "contracted": mixed(
        lambda d, e, w: e * 0.5 + ag.take(e, ag.argmax(d[:, None] + w, axis=0)),
        lambda d, e, w: d[d.argmax()] * e * 0.1 + d,
        lambda d, e, w: ag.einsum("i,ij,j->i", d, w, d) / (1 + d @ d) + e),
    "sliced": mixed(
        lambda d, e, w: ag.cumsum(d, 0) / (1 + ag.abs(d).sum()) + e,
        lambda d, e, w: ag.flip(d, 0) * 0.5 + d * 0.3,
        lambda d, e, w: ag.stack([d[0] + d[1], d[1] * d[2], d[2] - d[3], d[3] + e[0]]) * 0.3),
    "rolled": mixed(
        lambda d, e, w: ag.roll(d, 1) * 0.5 + d * 0.3 + e,
        lambda d, e, w: ag.outer(d, d) @ w.sum(0) / (1 + d @ d),
        lambda d, e, w: ag.softmax(d) * e + d),
    "added": fibonacci(lambda a, b: (a + b) * 0.5),
    "multiplied": fibonacci(lambda a, b: a * b + 0.0),
    "joined": fibonacci(lambda a, b: ag.concat([a[1:], b[:1]])),
    "logarithms": fibonacci(lambda a, b: ag.logaddexp(a, b) - a),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_value_is_met_once(name):
    rng = np.random.default_rng(0)
    x, table = ag.tensor(rng.normal(size=(7, 4))), ag.tensor(rng.normal(size=(4, 4)))
    expected = PROGRAMS[name](x, table)
    np.testing.assert_allclose(ag.jit(PROGRAMS[name])(x, table), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("step", [ag.maximum, lambda a, b: (a + b) % 7], ids=["maximum", "sum"])
def test_sizes_and_indices_of_integers_of_many_readers(step):
    def last(n, k):
        for _ in range(_STEPS):
            n, k = k, step(n, k)
        return k

    x, n, k = ag.arange(8.0), ag.tensor(2), ag.tensor(3)
    found = ag.jit(lambda x, n, k: (x[last(n, k) % 8], ag.arange(last(n, k)).sum()))(x, n, k)
    assert [float(v) for v in found] == [float(last(n, k)), float(ag.arange(last(n, k)).sum())]


@pytest.mark.parametrize("terms", [300, 1200])
def test_long_sums_are_looked_at_in_part(terms):
    """Questions about a value go no deeper than Python's stack."""
    def total(x, n):
        y = n
        for _ in range(terms):
            y = y + n
        return sum([ag.sin(x)] * terms) + 0.0, x[y % 3], ag.arange(y % 5)

    x, n = ag.ones(3), ag.tensor(2)
    for a, b in zip(ag.jit(total)(x, n), total(x, n), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)
