"""Attributes that programs give tensors: kept and copied as in PyTorch, and followed by ``jit``."""

import copy
import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.tensor import Tensor


def assert_equal(a, b):
    a, b = (v.detach().numpy() if isinstance(v, Tensor) else v for v in (a, b))
    np.testing.assert_allclose(a, b, rtol=1e-6)


def compiled(f):
    """A jitted function whose every call must do what the plain one does."""
    jitted = ag.jit(f)

    def call(*args, state=None):
        before = dict(vars(state)) if state is not None else {}
        expected = f(*args)
        if state is not None:
            after = dict(vars(state))
            state.__dict__ = before
        result = jitted(*args)
        assert_equal(expected, result)
        if state is not None:
            assert list(vars(state)) == list(after)
            for name, value in after.items():
                assert_equal(vars(state)[name], value)
        return result

    call.jitted = jitted
    return call


def test_attributes_are_kept_and_copied_but_not_by_operations():
    x = ag.ones(3, requires_grad=True)
    x.tag, x.optim = "bias", {"lr": 0.1}
    assert x.tag == "bias" and vars(x) == {"tag": "bias", "optim": {"lr": 0.1}}
    assert "tag" in dir(x) and not hasattr(x + 1, "tag") and not hasattr(x.detach(), "tag")
    for other, same in ((copy.copy(x), True), (copy.deepcopy(x), False),
                        (pickle.loads(pickle.dumps(x)), False)):
        assert other.tag == "bias" and other.optim == x.optim and other.requires_grad
        assert (other.optim is x.optim) is same
    x.itself = x
    again = copy.deepcopy(x)
    assert again.itself is again
    del x.tag
    with pytest.raises(AttributeError, match="tag"):
        _ = x.tag


def test_attributes_of_parameters_stay_in_copies_of_modules():
    m = nn.Linear(2, 2)
    m.weight._no_weight_decay = True
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m)), m.to(ag.float64)):
        assert other.weight._no_weight_decay and not hasattr(other.bias, "_no_weight_decay")


@pytest.mark.parametrize("name, meant", [
    ("requires_gard", "requires_grad"), ("reqires_grad", "requires_grad"),
    ("requiresgrad", "requires_grad"), ("requires_ggrad", "requires_grad"), ("gard", "grad"),
    ("dtaa", "data"), ("nmae", "name")])
def test_near_misses_of_what_may_be_assigned_are_refused(name, meant):
    x = ag.ones(3)
    with pytest.raises(AttributeError, match=rf"float32\[3\].*{name}.*did you mean '{meant}'"):
        setattr(x, name, True)
    assert not hasattr(x, name) and name not in dir(x) and name not in dir(Tensor)


def test_reads_of_parameters_are_followed_misses_included():
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def decay(x):
        kept = [p for p in m.parameters() if not getattr(p, "_no_weight_decay", False)]
        scaled = [p * p.scale for p in m.parameters() if hasattr(p, "scale")]
        return sum((p * p).sum() for p in kept) + sum(p.sum() for p in scaled) + x.sum()

    call, x = compiled(decay), ag.ones(2)
    call(x)
    m[0].weight._no_weight_decay = True
    call(x)
    m[1].bias.scale = 2.0
    call(x)
    m[1].bias.scale = -0.0
    call(x)
    m[1].bias.scale = ag.tensor([3.0, 4.0])
    call(x)
    m[1].bias.scale += 1
    call(x)
    del m[0].weight._no_weight_decay, m[1].bias.scale
    call(x)
    m[0].bias.__dict__ = {"scale": 5.0}
    call(x)
    vars(m[0].bias)["scale"] = 6.0
    call(x)


def test_reads_of_what_an_attribute_holds_are_followed():
    w, x = ag.ones(2), ag.ones(2)
    w.optim = {"lr": 0.5, "betas": [0.9, 0.99]}
    call = compiled(lambda x: x * w.optim["lr"] + w.optim["betas"][0])
    call(x)
    w.optim["lr"] = 2.0
    call(x)
    w.optim["betas"][0] = 7.0
    call(x)
    w.optim = {"lr": 1.0, "betas": (3.0,)}
    call(x)


def test_a_caught_miss_is_followed():
    w, x = ag.ones(2), ag.ones(2)

    def of_module(x):
        try:
            return x * w.scale
        except AttributeError:
            return x * 100

    def of_argument(x):
        try:
            return x * x.scale
        except AttributeError:
            return x * 100

    def of_function(x):
        try:
            return x * of_module.scale
        except AttributeError:
            return x * 100

    for f, thing in ((of_module, w), (of_argument, x), (of_function, of_module)):
        call = compiled(f)
        for value in (None, 2.0, 3, True, ag.tensor([1.0, 2.0])):
            if value is not None:
                thing.scale = value
            call(x)
        del thing.scale
        call(x)


def test_attributes_of_arguments_are_followed():
    def f(x, y):
        return x * 2 if getattr(x, "kind", "row") == "row" else x * y * getattr(y, "k", 1.0)

    call, x, y = compiled(f), ag.ones(2), ag.tensor([3.0, 4.0])
    call(x, y)
    x.kind = "column"
    call(x, y)
    y.k = 2.0
    call(x, y)
    call(ag.ones(2), y)
    x.kind = "row"
    call(x, y)
    assert "attributes of arguments" in call.jitted.explain()


def test_writes_are_repeated():
    w, x = ag.ones(2), ag.ones(2)

    def step(x):
        w.count = getattr(w, "count", 0) + 1
        w.last = x * w.count
        if w.count == 3:
            w.third = True
        if hasattr(w, "third") and w.count > 4:
            del w.third
        return x + w.count

    call = compiled(step)
    for _ in range(6):
        call(x, state=w)
    assert w.count == 6


def test_all_attributes_are_followed():
    w, x = ag.ones(2), ag.ones(2)
    call = compiled(lambda x: x * len(vars(w)) + sum(w.__dict__.values()))
    call(x)
    w.a = 1
    call(x)
    w.b = 2.5
    call(x)
    w.b = 3.5
    call(x)


def test_what_is_not_repeated_runs_eagerly():
    def to_argument(x):
        x.seen = True
        return x * 2

    def to_result(x):
        y = x * 2
        y.seen = True
        return y

    for f in (to_argument, to_result):
        x = ag.ones(2)
        with pytest.warns(RuntimeWarning, match="attribute 'seen'"):
            y = ag.jit(f)(x)
        assert (x if f is to_argument else y).seen


def test_a_failed_trace_leaves_attributes_as_they_were():
    w = ag.ones(2)

    @ag.jit
    def f(x):
        w.state = x * 2
        return x @ ag.ones(5)

    with pytest.raises(ValueError):
        f(ag.ones(2))
    assert "state" not in vars(w) or w.state.array is not None


def test_a_derivative_takes_the_attributes_of_the_call():
    w = ag.ones(2, requires_grad=True)

    def f(x):
        return (x * x.k if hasattr(x, "k") else x) * getattr(w, "scale", 1.0) * w

    x = ag.tensor([3.0, 4.0], requires_grad=True)
    jitted = ag.jit(f)
    x.k, w.scale = 2.0, 5.0
    for _ in range(3):
        for g in (f, jitted):
            x.k, w.scale = 2.0, 5.0
            y = g(x).sum()
            w.scale = 7.0
            del x.k
            x.grad = w.grad = None
            y.backward()
            assert x.grad.tolist() == [10.0, 10.0] and w.grad.tolist() == [30.0, 40.0]
