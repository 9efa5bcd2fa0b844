"""Results of a step that takes gradients itself: read without a word, differentiated never."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest

import agnesi as ag

X = np.arange(6.0).reshape(2, 3) / 7


def made(returned: Any, **options: Any) -> Any:
    """A jitted step, its parameters, and the same step run eagerly."""
    net, sgds = ag.nn.Linear(3, 1, dtype="float64"), []
    sgds.append(ag.optim.SGD(net.parameters(), lr=0.1))

    def step(x: ag.Tensor) -> Any:
        sgds[0].zero_grad()
        y = net(x)
        loss = (y**2).sum()
        loss.backward()
        sgds[0].step()
        return returned(net, y, loss)

    return ag.jit(step, **options), step, net


RETURNED = {
    "loss": lambda net, y, loss: loss,
    "beside": lambda net, y, loss: (loss.detach(), {"penalty": abs(net.weight).sum()}),
    "scores": lambda net, y, loss: [y, 1, "text"],
    "parameter": lambda net, y, loss: net.weight,
    "detached": lambda net, y, loss: (loss.detach(), net.weight.grad, y.argmax()),
}


@pytest.mark.parametrize("what", RETURNED)
def test_they_require_gradients_where_those_of_the_eager_step_do(what: str) -> None:
    f, step, _ = made(RETURNED[what])
    for _ in range(3):
        for a, b in zip(ag.tree.leaves(f(ag.tensor(X))), ag.tree.leaves(step(ag.tensor(X))),
                        strict=True):
            assert getattr(a, "requires_grad", None) == getattr(b, "requires_grad", None)
            if what != "parameter":  # a result is no parameter: it has memory of its own
                assert getattr(a, "is_leaf", None) == getattr(b, "is_leaf", None)


def test_reading_them_is_silent() -> None:
    f, *_ = made(RETURNED["loss"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses = [f(ag.tensor(X)) for _ in range(3)]
        total, mean = sum(losses), ag.metrics.Mean()
        mean.update(losses[0])
        numbers = [float(v) for v in losses]
        assert np.allclose(np.mean(losses), np.mean(numbers))
        assert np.allclose(np.asarray(total / 3), np.mean(numbers))
        assert np.allclose([math.sqrt(v) for v in losses], np.sqrt(numbers))
        assert np.isfinite(losses).all() and not np.isnan(losses[0])
        assert losses[0].item() == losses[0].numpy() == float(f"{losses[0]:.17g}")
        assert min(losses) is losses[-1] and f"{losses[0]}" == str(numbers[0])
        assert float(mean.compute()) == numbers[0]
        model = ag.nn.Linear(1, 1)
        model.last = losses[0]
        assert len(list(model.parameters())) == 2 and len(model.state_dict()) == 2


def test_differentiating_them_is_an_error_at_the_line() -> None:
    f, _, net = made(RETURNED["loss"])
    u = ag.ones(2, dtype="float64", requires_grad=True)
    first, second = f(ag.tensor(X)), f(ag.tensor(X))
    for use in (
            lambda: first.backward(),
            lambda: (first * 2 + (u**2).sum()).backward(),
            lambda: sum([copy.copy(first), copy.deepcopy(second)]).backward(),
            lambda: ag.grad((u * first).sum(), [u, net.weight]),
            lambda: ag.jit(lambda v: (u * v).sum())(first).backward(),
            lambda: f(ag.tensor(X) * first)):
        with pytest.raises(ag.GradientError) as error:
            use()
        text = str(error.value)
        assert "step, a jitted function, takes gradients itself" in text
        assert text.count("test_spent.py:") == 2 and "return result.detach()" in text
    u.grad = None
    # What does not lead there is not its concern, and each result has a value of its own.
    assert np.allclose(ag.grad((u * first).sum(), u), first.item())
    assert np.allclose(ag.grad((u * first + u * second).sum(), u), (first + second).item())
    first.unchain_backward()
    with pytest.raises(ag.GradientError):
        f(ag.tensor(X)).backward()


def test_those_that_it_keeps_are_the_same() -> None:
    log: dict[str, Any] = {}

    def keep(net: Any, y: Any, loss: Any) -> None:
        log["last"], log["plain"] = loss, loss.detach()

    f, step, _ = made(keep)
    for run in (step, f, f, f):
        run(ag.tensor(X))
        assert (log["last"].requires_grad, log["plain"].requires_grad) == (True, False)
    with pytest.raises(ag.GradientError, match="a jitted function, takes gradients itself"):
        log["last"].backward()


def test_gradients_to_arguments_besides_are_left_to_python() -> None:
    w = ag.ones(3, dtype="float64", requires_grad=True)

    def step(x: ag.Tensor) -> Any:
        loss = ((w * x) ** 2).sum()
        g = ag.grad(loss, w)
        with ag.no_grad():
            w.sub_(0.1 * g)
        return (x**3).sum()

    f = ag.jit(step)
    for _ in range(3):
        x = ag.tensor(X, requires_grad=True)
        f(x).backward()
        assert np.allclose(x.grad, 3 * X**2)
    assert "it runs eagerly, for it takes gradients itself" in f.explain().replace("\n", " ")
