"""Views of what was changed, used in bodies of loops and branches and again behind them."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

BODIES = {
    "scan": lambda v, w: ag.scan(lambda c, r: (c, r + w), v, v)[1],
    "loop": lambda v, w: ag.fori_loop(0, 2, lambda i, c: c + w, v),
    "branch": lambda v, w: ag.cond(v.sum() < 9, lambda c: c + w, lambda c: c - w, v),
    "other branch": lambda v, w: ag.cond(v.sum() > 9, lambda c: c + w, lambda c: c - w, v),
    "while": lambda v, w: ag.while_loop(lambda c: c.sum() < 5 + w.sum(), lambda c: c + w, v),
    "map": lambda v, w: ag.map(lambda r: r * w, v),
    "nested": lambda v, w: ag.fori_loop(
        0, 2, lambda i, c: c + ag.fori_loop(0, 2, lambda j, d: d + w, c) * w, v),
}


def of_own(body, write, state):
    """A function whose views look into what it made itself."""
    def f(x):
        v = x * 1
        w, u = v[::-1], v.reshape((2, 1))
        write(v, x)
        result = body(v, w)
        return w + 0, u * 1, result, v * 1

    return f


def of_state(body, write, state):
    """A function whose views look into what there was before."""
    v, w = state, state[::-1]

    def f(x):
        before = w + 0
        write(v, x)
        return before, body(v, w), w * 1, v * 1

    return f


WRITES = {
    "all": lambda v, x: v.copy_(x + 1), "part": lambda v, x: v[:1].mul_(3.0),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("made", [of_own, of_state])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", BODIES)
def test_views_show_what_was_written_behind_a_body_too(name, write, made):
    def run(wrap):
        state = ag.tensor(np.array([1.0, 2.0]))
        f = wrap(made(BODIES[name], WRITES[write], state))
        return [*[f(ag.tensor(np.array([k, 1.0]))) for k in (0.0, 4.0)], (state,)]

    for found, expected in zip(run(ag.jit), run(lambda f: f), strict=True):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_views_show_what_was_written_when_batched_and_in_graphs():
    f = of_own(BODIES["scan"], WRITES["all"], None)
    x = ag.tensor(np.array([[0.0, 1.0], [4.0, 1.0]]))
    rows = [f(x[0]), f(x[1])]
    for found, *expected in zip(ag.vmap(f)(x), *rows, strict=True):
        np.testing.assert_array_equal(found.numpy(), ag.stack(expected).numpy())
    s = ag.symbolic.tensor("float64", (2,))
    for found, expected in zip(ag.function([s], list(f(s)))(x.numpy()[1]), rows[1], strict=True):
        np.testing.assert_array_equal(found, expected.numpy())
