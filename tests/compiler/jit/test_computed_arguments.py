"""Gradients inside a jitted function flow on through arguments that were computed outside."""

import warnings

import pytest

import agnesi as ag

W = ag.tensor([[0.5, -0.2], [0.3, 0.8]], requires_grad=True)
EAGER = "runs eagerly"
X = ag.tensor([[1.0, 2.0], [-0.5, 0.3]], requires_grad=True)


def by_what_is_outside(u, x):
    return ag.autograd.grad(((u @ W) ** 3).sum(), W)


def once_more(u, x):
    slope, = ag.autograd.grad(((u @ W) ** 3).sum(), W, create_graph=True)
    return slope * u


def by_another_argument(u, x):
    return ag.grad((u ** 2).sum(), x, disconnected="none")


def by_both(u, x):
    return ag.grad((u ** 2 * x * W).sum(), [u, x, W])


def added_up(u, x):
    W.grad = None
    (u * W).sum().backward(inputs=[W])
    return W.grad * 1


def by_itself(u, x):
    slope, = ag.autograd.grad((u ** 3).sum(), u, create_graph=True)
    return (slope ** 2).sum()


def by_function(u, x):
    return ag.grad(lambda v: ((v @ W * u) ** 2).sum())(x.detach())


def computed():
    yield from (X * 2, X @ W, W * W, X * 2, X.detach() * 2)
    with ag.no_grad():
        yield X @ W
    yield from (X, W)


@pytest.mark.parametrize("f", [by_what_is_outside, once_more, by_another_argument, by_both,
                               added_up, by_itself, by_function])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients_are_those_of_the_eager_call(f):
    found = []
    for g in (f, ag.jit(f)):
        found.append([])
        for u in computed():
            W.grad = X.grad = None
            try:
                result = ag.tree.leaves(g(u, X))
            except RuntimeError as error:  # where nothing leads from one to the other
                found[-1].append(type(error))
                continue
            W.grad = X.grad = None
            flowing = [t for t in result if t is not None and t.requires_grad]
            if flowing:
                sum(t.sum() for t in flowing).backward()
            found[-1] += [None if t is None else t.tolist() for t in (*result, W.grad, X.grad)]
    eager, jitted = found
    assert len(eager) == len(jitted)
    for a, b in zip(eager, jitted, strict=True):
        assert a == b or (a and b and ag.allclose(ag.tensor(a), ag.tensor(b), 1e-4))


def test_only_calls_with_another_target_run_eagerly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jitted = ag.jit(by_what_is_outside)
        jitted(X, X)
        jitted(X.detach() * 2, X)
        assert EAGER not in str(jitted.explain())
    jitted(X @ W, X)
    assert EAGER in str(jitted.explain())
