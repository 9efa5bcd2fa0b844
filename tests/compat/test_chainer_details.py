"""What Chainer's own tests ask of functions, links and hooks, beyond their plain use."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi.compat.chainer.functions as F
import agnesi.compat.chainer.links as L
from agnesi.compat.chainer import Function, Link, Variable, gradient_check, optimizers
from agnesi.compat.chainer.utils import type_check

RNG = np.random.default_rng(0)


def array(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_vectors_are_columns_of_matrix_products():
    a, b = array(3), array(3)
    assert np.allclose(F.matmul(a, b, transb=True).data, np.outer(a, b))
    assert np.allclose(F.matmul(a, b, transa=True).data, [[a @ b]])
    assert F.matmul(array(2, 3), a).data.shape == (2, 1)


def test_labels_that_are_all_ignored_have_no_loss():
    x = Variable(array(4, 3))
    loss = F.softmax_cross_entropy(x, np.full(4, -1, np.int32))
    loss.backward()
    assert loss.data == 0 and not x.grad.any()


def test_options_that_are_arrays_do_not_widen_results():
    assert F.softplus(array(2), beta=np.array(1.5)).data.dtype == np.float32


def test_a_margin_is_positive():
    with pytest.raises(ValueError, match="margin must be positive, but is -1"):
        F.contrastive(array(2, 3), array(2, 3), np.int32([0, 1]), margin=-1)


@pytest.mark.parametrize("ksize, stride, pad, outsize, cover_all", [
    (2, None, 0, None, True), (3, 2, 0, None, True), (3, 2, 1, None, False),
    (2, 2, 1, (5, 7), True),
    ((3, 2), (2, 1), (1, 0), None, False)])
def test_unpooled_windows_overlap(ksize, stride, pad, outsize, cover_all):
    x = array(2, 3, 3, 4)
    (kh, kw), (sy, sx), (ph, pw) = [
        (n, n) if isinstance(n, int) else n
        for n in (ksize, ksize if stride is None else stride, pad)]
    size = [s * (n - 1) + k - 2 * p - (s - 1 if cover_all else 0)
            for n, k, s, p in ((3, kh, sy, ph), (4, kw, sx, pw))] if outsize is None else outsize
    whole = np.zeros((2, 3, size[0] + 2 * ph + sy, size[1] + 2 * pw + sx), np.float32)
    for i in range(3):
        for j in range(4):
            whole[:, :, i * sy:i * sy + kh, j * sx:j * sx + kw] += x[:, :, i:i + 1, j:j + 1]
    y = F.unpooling_2d(x, ksize, stride, pad, outsize, cover_all)
    assert np.allclose(y.data, whole[:, :, ph:ph + size[0], pw:pw + size[1]], atol=1e-6)
    gradient_check.check_backward(
        lambda x: F.unpooling_2d(x, ksize, stride, pad, outsize, cover_all), x, y.data,
        eps=1e-2, atol=1e-2, rtol=1e-2)


def test_gradients_begin_at_any_result_of_a_function():
    c, x = Variable(array(2, 3)), Variable(array(2, 12))
    cells, h = F.lstm(c, x)
    h.grad = np.ones_like(h.data)
    cells.backward()
    expected, (c2, x2) = x.grad, (Variable(c.data), Variable(x.data))
    h2 = F.lstm(c2, x2)[1]
    h2.grad = np.ones_like(h2.data)
    h2.backward()
    assert np.array_equal(x2.grad, expected)
    with pytest.raises(ValueError, match=r"set y\.grad first"):
        F.lstm(c, x)[0].backward()
    one, = F.split_axis(x, 1, 1, force_tuple=True)
    assert one.data.shape == x.data.shape


def test_gradients_are_checked():
    class Wrong(Function):
        def forward(self, inputs):
            return inputs[0] ** 2,

        def backward(self, inputs, grad_outputs):
            return inputs[0] * grad_outputs[0],

    link = L.Linear(3, 2)
    link.zerograds()
    gradient_check.check_backward(link, array(2, 3), array(2, 2), (link.W, link.b),
                                  eps=1e-2, atol=1e-3, rtol=1e-3)
    with pytest.raises(AssertionError):
        gradient_check.check_backward(Wrong(), array(3), array(3))
    with pytest.raises(ValueError, match="a gradient for each of the 1 results, not 2"):
        gradient_check.check_backward(F.tanh, array(3), (array(3), array(3)))


def test_functions_refuse_types():
    class Sum(Function):
        def check_type_forward(self, in_types):
            type_check.expect(in_types.size() == 2)
            type_check.expect(in_types[0].dtype == np.float32,
                              in_types[0].shape == in_types[1].shape)

        def forward(self, inputs):
            return inputs[0] + inputs[1],

    assert Sum()(array(2), array(2)).data.shape == (2,)
    with pytest.raises(type_check.InvalidType, match=r"Sum of float32\[2\], float32\[3\]: condition"
                       r" 2 of 2"):
        Sum()(array(2), array(3))


def test_a_stateful_unit_begins_without_the_weights_of_its_state():
    link = L.StatefulGRU(3, 2)
    link["U_z"].b.data[...] = 5
    x = array(4, 3)
    first = link(x)
    z, new = (link[name](x).data for name in ("W_z", "W"))
    assert np.allclose(first.data, np.tanh(new) / (1 + np.exp(-z)), atol=1e-6)
    link.set_state(Variable(array(4, 2)))
    assert link(x).data.shape == (4, 2)


def test_copies_of_links_have_gradients_of_their_own():
    link = Link(w=2)
    link.zerograds()
    other = link.copy()
    assert other.w.data is link.w.data and other.w.grad is None
    other.zerograds()
    other.w.grad += 1
    assert not link.w.grad.any()


def test_a_volatile_view_of_a_parameter_leaves_it_learning():
    link = L.Parameter(array(2))
    link.zerograds()
    y = link("on")
    assert y.volatile == "on" and y.creator is None
    y = link()
    y.grad = array(2)
    y.backward()
    assert np.array_equal(link.W.grad, y.grad)


def test_a_hook_has_one_name():
    optimizer = optimizers.SGD()
    optimizer.setup(L.Linear(2, 2))
    optimizer.add_hook(lambda o: None, "mine")
    with pytest.raises(KeyError, match="there is a hook 'mine' already"):
        optimizer.add_hook(lambda o: None, "mine")


@pytest.mark.parametrize(("made", "x"), [
    (lambda: F.Linear(7, 4), np.ones((3, 7), "f")),
    (lambda: F.Convolution2D(2, 3, 3), np.ones((1, 2, 5, 5), "f")),
    (lambda: F.EmbedID(5, 2), np.array([1, 4], np.int32)),
    (lambda: F.PReLU(()), np.ones((2, 3), "f")),
])
def test_the_creator_of_a_result_has_what_the_called_function_has(made, x):
    f, x = made(), Variable(x)
    y = f(x)
    assert y.creator is not f and isinstance(y.creator, type(f))
    assert y.creator.W is f.W and y.creator.gW is f.gW and y.creator.inputs[0] is x
    assert y.creator.label == type(f).__name__ and len(y.creator.parameters) == len(f.parameters)
    with pytest.raises(AttributeError, match="nothing"):
        _ = y.creator.nothing
    z = F.tanh(f(x))
    assert z.creator.label == "Tanh" and z.creator.inputs[0].creator.W is f.W
    module = F.Inception(4, 2, 3, 5, 2, 3, 2)
    outer = module(Variable(np.ones((1, 4, 6, 6), "f"))).creator
    assert outer.label == "ReLU" and not isinstance(outer, F.Inception)
    assert outer.inputs[0].creator.label == "Concat"
