"""Tensors that a jitted function makes and changes in place are new ones in each call."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

KEPT: list = []


class Holder:
    buffer = None


HOLDER = Holder()


def view_of_an_array(x):
    b = ag.tensor(np.zeros(4, "float32"))
    b[:2].add_(x)
    return b


def elements(x):
    b = ag.tensor([0.0, 0.0])
    for i in range(2):
        b[i] = x[i] * 2
    return b, b.sum()


def read_before(x):
    b = ag.tensor([1.0, 2.0])
    c = b * x
    b.mul_(3.0)
    return c + b


def kept_by_an_object(x):
    HOLDER.buffer = ag.tensor([0.0, 0.0])
    HOLDER.buffer.add_(x)
    return HOLDER.buffer + 0


def kept_by_a_list(x):
    b = ag.tensor([1.0, 2.0])
    KEPT[:] = [b]
    b.add_(x)
    return b.sum()


def trained(x):
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    (w * w * x).sum().backward()
    with ag.no_grad():
        w -= 0.1 * w.grad
    return w.detach() + 0


def drawn(x):
    g = ag.Generator(1)
    return x + ag.random.uniform(size=(2,), generator=g), ag.random.uniform(size=(2,), generator=g)


def summed(x):
    total = ag.tensor(0.0)
    for i in range(3):
        total += x.sum() * i
    return {"total": total}["total"]


def read_by_python(x):
    b = ag.tensor([3, 1, 2])
    first = int(b[0])
    b.add_(first)
    return b * x.sum().astype("int64")


def over_an_array(x):
    b = ag.asarray(np.zeros(2, "float32"))
    b.add_(x)
    return b


def over_a_list(x):
    b = ag.asarray([0.0, 1.0])
    b[0] = x[1]
    b *= 2
    return b


def module(x):
    m = nn.Linear(2, 1)
    with ag.no_grad():
        for p in m.parameters():
            p.fill_(0.5)
    m(x[None]).sum().backward()
    return [p.grad for p in m.parameters()]


def listed(x):
    return x if isinstance(x, tuple | list) else [x]


@pytest.mark.parametrize("f", [
    view_of_an_array, elements, read_before, kept_by_an_object, kept_by_a_list, trained, drawn,
    summed, read_by_python, over_an_array, over_a_list, module], ids=lambda f: f.__name__)
def test_each_call_makes_its_own(f):
    g, x = ag.jit(f), ag.tensor([1.0, 2.0])
    for factor in (1, 2, 3):
        wanted, before = f(x * factor), [HOLDER.buffer, *KEPT]
        found, after = g(x * factor), [HOLDER.buffer, *KEPT]
        for one, other in ((wanted, found), (before, after)):
            for a, b in zip(*map(listed, (one, other)), strict=True):
                assert a is b is None or np.allclose(a.numpy(), b.numpy(), rtol=1e-6)


OUTSIDE = np.zeros(2, "float32")


def over_memory_outside(x):
    b = ag.asarray(OUTSIDE[::-1])
    b.add_(x)
    return b + 0


def over_an_array_that_is_read(x):
    a = np.zeros(2, "float32")
    b = ag.asarray(a)
    b.add_(x)
    return b + ag.asarray(a)


@pytest.mark.filterwarnings("ignore:over_an_array_that_is_read runs eagerly")
@pytest.mark.parametrize("f", [over_memory_outside, over_an_array_that_is_read],
                         ids=lambda f: f.__name__)
def test_memory_that_others_see_is_written(f):
    x, found = ag.tensor([1.0, 2.0]), []
    for run in (f, ag.jit(f)):
        OUTSIDE[:] = 0
        found.append([run(x).tolist() for _ in range(3)] + [OUTSIDE.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("make", [
    lambda: ag.tensor([1.0, 2.0]).requires_grad_(), lambda: ag.asarray([1.0, 2.0]).requires_grad_(),
    lambda: ag.tensor(np.array([1.0, 2.0])).requires_grad_()])
def test_gradients_begin_at_constants_that_the_function_makes(make):
    def f(w):
        x = make()
        (w * x**3).sum().backward()
        with ag.no_grad():
            x -= 0.1 * x.grad
        return x.detach(), x.grad

    run = ag.jit(f)
    for w in (ag.ones(2), 2 * ag.ones(2)):
        assert [v.tolist() for v in run(w)] == [v.tolist() for v in f(w)]
    assert len(run.specialisations) == 1
