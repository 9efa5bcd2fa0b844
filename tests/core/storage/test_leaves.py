"""What is known about a tensor is dropped by every way to change it."""

import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.core.support.errors import GradientError


# -- examples ---------------------------------------------------------------------------------
def _step(layer, optimizer, x):
    optimizer.zero_grad()
    (layer(x) ** 2).sum().backward()
    optimizer.step()


def test_a_layer_frozen_by_assignment_no_longer_moves():
    layer = nn.Linear(3, 2)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    _step(layer, optimizer, ag.ones((4, 3)))
    layer.weight.requires_grad = False
    before, bias = layer.weight.array.copy(), layer.bias.array.copy()
    for _ in range(2):
        _step(layer, optimizer, ag.ones((4, 3)))
    assert np.array_equal(layer.weight.array, before)
    assert not np.array_equal(layer.bias.array, bias)


def test_a_layer_thawed_by_assignment_begins_to_move():
    layer = nn.Linear(3, 2)
    optimizer = optim.SGD(layer.parameters(), lr=0.1)
    layer.weight.requires_grad = False
    _step(layer, optimizer, ag.ones((4, 3)))
    before = layer.weight.array.copy()
    layer.weight.requires_grad = True
    _step(layer, optimizer, ag.ones((4, 3)))
    assert not np.array_equal(layer.weight.array, before)


def test_read_only_numbers_follow_assignment():
    array = np.array(3.0, np.float32)
    array.setflags(write=False)
    t = ag.asarray(array)
    assert not (t * 2.0).requires_grad
    t.requires_grad = True
    y = t * t
    assert y.requires_grad
    assert ag.grad(y, t).item() == 6.0
    t.requires_grad = False
    assert not (t * t).requires_grad


@pytest.mark.parametrize("make, value, error, said", [
    (lambda: ag.arange(3), True, TypeError, r"int64\[3\].*convert it first"),
    (lambda: ag.ones(3), 1, TypeError, r"float32\[3\] must be True or False, not 1"),
    (lambda: ag.ones(3, requires_grad=True) * 2, False, GradientError, r"float32\[3\].*detach"),
    (lambda: ag.ones(3, requires_grad=True)[1:], False, GradientError, r"float32\[2\].*detach"),
])
def test_an_assignment_of_requires_grad_is_checked_as_the_method_is(make, value, error, said):
    def assign(x):
        x.requires_grad = value

    for way in (assign, lambda x: x.requires_grad_(value)):
        x = make()
        before = x.requires_grad
        with pytest.raises(error, match=said):
            way(x)
        assert x.requires_grad is before


def test_what_a_compiled_function_computed_keeps_its_history():
    def step(w):
        y = w * 2
        y.requires_grad = False
        return (y * w).sum()

    with pytest.raises(GradientError, match="detach"):
        ag.jit(ag.grad(step))(ag.ones(3))


def test_a_result_without_history_is_a_leaf_that_may_be_switched():
    y = ag.ones(3) * 2
    y.requires_grad = True
    y.requires_grad = False
    assert not (y * y).requires_grad


def test_frozen_after_the_record_it_gets_no_gradient():
    w, b = ag.ones(2, requires_grad=True), ag.ones(2, requires_grad=True)
    y = (w * b).sum()
    w.requires_grad = False
    y.backward()
    assert w.grad is None
    assert b.grad is not None


def test_gradients_arrive_through_records_from_before_and_after_new_data():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.array = np.array([5.0, 7.0], np.float32)
    z = (y * x).sum()  # old x squared times new x
    expected = np.array([2 * 1 * 5 + 1, 2 * 2 * 7 + 4], np.float32)
    assert np.array_equal(ag.grad(z, x).array, expected)
    z.backward()
    assert np.array_equal(x.grad.array, expected)


def test_new_data_of_a_computed_tensor_keeps_its_history():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    first = y * y
    y.array = np.array([3.0, 4.0], np.float32)
    second = y * y
    assert np.allclose(ag.grad(first.sum(), x).array, 2 * np.exp([2.0, 4.0]))
    assert np.allclose(ag.grad(second.sum(), x).array, 2 * np.array([3, 4]) * np.exp([1.0, 2.0]))


def test_a_name_given_later_is_the_one_in_the_record():
    w = ag.ones(2, requires_grad=True)
    _ = w * 2
    w.name = "weight"
    assert (w * 3).owner.inputs[0].name == "weight"


# -- every way against every use --------------------------------------------------------------
def _on_data(change):
    def way(x):
        x.array = change(x.array)

    return way


def _flag(value):
    def way(x):
        x.requires_grad = value

    return way


def _in_place(change):
    def way(x):
        with ag.no_grad():
            change(x)

    return way


class _Holder(nn.Module):
    def __init__(self, x):
        self.x = x


def _load(x):
    module = _Holder(x)
    module.load_state_dict({"x": np.full(x.shape, 4.0)})


def _convert(x):
    module = _Holder(x)
    module.to("float64")


def _optimize(x):
    (x * 3).sum().backward()
    optim.SGD([x], lr=0.5).step()


def _write_a_part(x):
    x[0] = 9.0


def _multiply(x):
    x *= 3


WAYS = {
    "nothing": lambda x: None,
    "requires_grad = False": _flag(False),
    "requires_grad = True": _flag(True),
    "requires_grad_(False)": lambda x: x.requires_grad_(False),
    "requires_grad_()": lambda x: x.requires_grad_(),
    "data = same shape": _on_data(lambda a: a * 2 + 1),
    "data = longer": _on_data(lambda a: np.concatenate([a, a])),
    "data = other dtype": _on_data(lambda a: a.astype(np.float64)),
    "data = 2-d": _on_data(lambda a: a.reshape(2, -1).copy()),
    "data[...] =": lambda x: np.copyto(x.array, 6.0),
    "grad = None": lambda x: setattr(x, "grad", None),
    "grad = other": lambda x: setattr(x, "grad", ag.full_like(x.detach(), 5.0)),
    "zero_grad()": lambda x: x.zero_grad(),
    "x *= 3": _in_place(_multiply),
    "x[0] = 9": _in_place(_write_a_part),
    "x[1:] *= 3": _in_place(lambda x: _multiply(x[1:])),
    "copy_": _in_place(lambda x: x.copy_(ag.full_like(x, 8.0))),
    "uniform_": _in_place(lambda x: nn.init.constant_(x, 7.0)),
    "unchain_backward()": lambda x: x.unchain_backward(),
    "load_state_dict": _load,
    "Module.to": _convert,
    "optimizer.step": _optimize,
    "name =": lambda x: setattr(x, "name", "other"),
}
CONST = ag.arange(1.0, 5.0)
PRODUCT = ag.jit(lambda v, x: v * x)
USES = {
    "nothing": lambda x: None,
    "product": lambda x: x * x,
    "with a constant": lambda x: x + CONST,
    "backward": lambda x: (x * x).sum().backward() if x.requires_grad else None,
    "view": lambda x: x[1:],
    "view of a view": lambda x: x[1:][:1] * 2,
    "jit": lambda x: PRODUCT(CONST, x),
    "function": lambda x: ag.jit(lambda: (x * x).sum())(),
    "without a record": lambda x: ag.no_grad()(lambda: x * x)(),
    "grad": lambda x: ag.grad(lambda v: (v * x).sum())(ag.ones_like(x.detach())),
}
PAIRS = [(use, "nothing") for use in USES] + list(itertools.permutations(
    ["product", "backward", "view", "grad"], 2))


def _programs(x, compiled):
    """What can be seen of a tensor: its type, values computed from it, gradients to it."""
    yield x.shape, x.dtype, x.requires_grad, x.name, x.is_leaf
    yield None if x.grad is None else x.grad.array.copy()
    y = (x * x + x[0] * 3).sum() + x[1:].exp().sum()
    yield y.array, y.requires_grad
    if y.requires_grad:
        yield ag.grad(y, x).array
        x.grad = None
        y.backward()
        yield x.grad.array.copy()
    yield ag.grad(lambda v: (v * x).sum())(ag.ones_like(x.detach())).array
    if compiled:
        z = ag.jit(lambda: x * 2)()
        yield z.array, z.requires_grad


def _seen(x, compiled):
    return [[part.tolist() if isinstance(part, np.ndarray) else part
             for part in (seen if type(seen) is tuple else (seen,))]
            for seen in _programs(x, compiled)]


@pytest.mark.share(12)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("begins", [True, False], ids=["requires_grad", "constant"])
def test_a_tensor_used_before_is_like_a_fresh_one(way, begins):
    if way == "optimizer.step" and not begins:
        return
    for first, second in PAIRS:
        used, fresh = (ag.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=begins) for _ in range(2))
        kept = [USES[first](used), USES[second](used)]
        if "backward" in (first, second) and begins:
            fresh.grad = used.grad.clone()
        WAYS[way](used)
        WAYS[way](fresh)
        compiled = (first, second) == ("product", "view")
        assert _seen(used, compiled) == _seen(fresh, compiled), (first, second, kept)


@pytest.mark.parametrize("way", WAYS)
def test_views_show_their_base_or_the_memory_they_looked_into(way):
    x = ag.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    parts = [x[1:], x[1:][:1], x.reshape(2, 2)]
    if way == "optimizer.step":
        parts = [p.detach() for p in parts]
    WAYS[way](x)
    with ag.no_grad():
        x *= 2.0
    for part in parts:
        y = (part * part).sum()
        assert np.isclose(y.item(), (part.array**2).sum())
        if part.requires_grad:
            assert ag.grad(y, x, disconnected="none") is not None or not x.requires_grad


@pytest.mark.parametrize("made", [
    lambda c: c * c + ag.ones(3), lambda c: c - ag.ones(3), lambda c: ag.full(3, 2.0) + c.exp(),
])
def test_constants_that_nobody_holds_are_part_of_what_was_recorded(made):
    c = ag.tensor([1.0, -0.5, 2.0], requires_grad=True)
    y = made(c)
    x = ag.symbolic.vector("float32")
    np.testing.assert_allclose(ag.function([x], y * x)(np.ones(3, np.float32)), y.numpy(), 1e-6)
