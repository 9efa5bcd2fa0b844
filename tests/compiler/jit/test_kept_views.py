"""Views that a call keeps beside what they view share its memory, as in eager code."""

from __future__ import annotations

import types
import warnings

import pytest

import agnesi as ag

VIEWS = {
    "y[:-1]": lambda y: y[:-1], "y.T": lambda y: y.T, "reshape": lambda y: y.reshape(-1),
    "every other": lambda y: y.reshape(-1)[::2], "y[None]": lambda y: y[None],
    "last": lambda y: y[-1], "chain": lambda y: y[:-1].T[0], "flip": lambda y: ag.flip(y, 0),
    "broadcast_to": lambda y: ag.broadcast_to(y, (2, *y.shape)), "diagonal": ag.diagonal,
    "split": lambda y: ag.split(y, [1])[1], "detach": lambda y: y.detach(),
    "windows": lambda y: ag.sliding_window_view(y, 2, 0), "bits": lambda y: y.view("int32"),
    "two": lambda y: (y[:1], y[1:]), "copies": lambda y: (y.clone(), y[y > 3], y[[0, 1]]),
}


@pytest.fixture(autouse=True)
def compiled():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def both(step, use, *calls):
    """What ``use`` finds in the state after each call, run eagerly and compiled."""
    found = []
    for run in (lambda f: f, ag.jit):
        state = types.SimpleNamespace()
        f = run(lambda x, state=state: step(state, x))
        found.append([(f(ag.asarray(x) * 1.0), use(state))[1] for x in calls])
    return found


def lists(kept):
    return [v.tolist() for v in (kept if isinstance(kept, tuple) else (kept,))]


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("is_behind_a_mask", [False, True])
def test_views_show_changes_of_what_they_view(name, is_behind_a_mask):
    def step(state, x):
        y = (x * 2)[x[:, 0] >= 0] if is_behind_a_mask else x * 2
        state.whole, state.view = y, VIEWS[name](y)
        return y.sum()

    def use(state):
        state.whole += 100.0
        return lists(state.view)

    eager, compiled = both(step, use, *(ag.arange(3 * n).reshape(n, 3) for n in (3, 3, 4, 5, 3)))
    assert compiled == eager


def test_two_views_share_memory_that_is_not_kept_itself():
    def step(state, x):
        y = x * 2
        state.first, state.second = y[:2], y[1:]

    def use(state):
        state.first += 5.0
        return state.second.tolist()

    eager, compiled = both(step, use, ag.arange(3), ag.arange(3))
    assert compiled == eager == [[7.0, 4.0]] * 2


def test_a_buffer_made_by_the_first_call_is_seen_by_its_views():
    def step(state, x):
        if not hasattr(state, "buffer"):
            state.buffer = ag.zeros(2)
            state.head = state.buffer[:1]
        state.buffer += x
        state.result = state.head * 2

    eager, compiled = both(step, lambda state: state.result.tolist(), *[ag.ones(2)] * 3)
    assert compiled == eager == [[2.0], [4.0], [6.0]]


def test_changes_in_place_inside_the_call():
    def step(state, x):
        y = x * 2
        state.whole, state.view = y, y[1:]
        y[1] = 7.0
        state.view[0] += 1

    eager, compiled = both(step, lambda s: (s.whole.tolist(), s.view.tolist()), *[ag.arange(3)] * 2)
    assert compiled == eager == [([0.0, 8.0, 4.0], [8.0, 4.0])] * 2


def test_gradients_flow_through_kept_views():
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    def step(state, x):
        y = x * w
        state.whole, state.view = y, y[:1]

    def use(state):
        w.grad = None
        (state.view * 2).sum().backward()
        return w.grad.tolist()

    eager, compiled = both(step, use, *[ag.tensor([3.0, 4.0])] * 2)
    assert compiled == eager == [[6.0, 0.0]] * 2


def test_one_view_kept_twice_is_one_tensor():
    def step(state, x):
        y = x * 2
        state.whole = y
        state.first = state.second = y[:1]

    eager, compiled = both(step, lambda s: s.first is s.second, *[ag.arange(3)] * 2)
    assert compiled == eager == [True, True]


@pytest.mark.parametrize("place", [1, "computed"])
def test_views_at_computed_places_are_kept_by_eager_calls(place):
    warnings.filterwarnings("ignore", ".*runs eagerly, for it keeps views", RuntimeWarning)

    def step(state, x):
        y = x * 2
        state.whole, state.view = y, y.narrow(0, (x.sum() > 0).long() if place != 1 else 1, 1)
        return y.sum()

    def use(state):
        state.whole += 100.0
        return lists(state.view)

    eager, compiled = both(step, use, *(ag.arange(3 * n).reshape(n, 3) for n in (3, 3, 4, 5)))
    assert compiled == eager
