"""Gradients that a compiled step used up: what is added to them is lost until they are cleared."""

import pytest

import agnesi as ag
from agnesi import optim

X = ag.tensor([1.0])


def steps(compiled):
    """A critic and an actor whose loss goes through it, with an optimizer each."""
    w, v = ag.tensor([2.0], requires_grad=True), ag.tensor([1.0], requires_grad=True)
    critic, actor = optim.SGD([w], 0.1), optim.SGD([v], 0.1)

    @compiled
    def one(x):
        critic.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        critic.step()
        return loss

    @compiled
    def two(x):
        actor.zero_grad()
        loss = (w * v * x).sum()
        loss.backward()
        actor.step()
        return loss

    return w, v, critic, one, two


def test_another_step_may_add_to_them_before_they_are_cleared():
    eager, found = (steps(how) for how in (lambda f: f, ag.jit))
    for _ in range(4):
        for step in (3, 4):
            assert eager[step](X).item() == pytest.approx(found[step](X).item())
    assert [t.item() for t in eager[:2]] == pytest.approx([t.item() for t in found[:2]])


def test_reading_the_sum_is_the_error():
    w, v, critic, one, two = steps(ag.jit)
    one(X)
    two(X)
    (w * v).sum().backward()
    with pytest.raises(ag.GradientError, match="used up"):
        _ = w.grad
    with pytest.raises(ag.GradientError, match="used up"):
        critic.step()
    critic.zero_grad()
    (w * v).sum().backward()
    assert w.grad.item() == v.item()
    two(X)
    assert w.grad.item() != v.item()
