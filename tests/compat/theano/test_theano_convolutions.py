"""``theano.tensor.nnet.abstract_conv``, ``ctc`` and ``theano.tensor.inplace``."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.tensor.nnet import abstract_conv, ctc
from agnesi.compat.theano.tensor.signal import pool

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((2, 3, 6, 5)), RNG.standard_normal((4, 3, 3, 2))
SETTINGS = [
    {}, {"border_mode": "full"}, {"border_mode": "half", "filter_flip": False},
    {"border_mode": (1, 0), "subsample": (2, 1), "filter_dilation": (2, 1)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(4))
def test_gradients_of_convolutions_are_functions(settings):
    x, w, g = T.tensor4s("xwg")
    y = T.nnet.conv2d(x, w, **settings)
    wanted = theano.grad((y * g).sum(), [x, w])
    op = {k: v for k, v in settings.items() if k != "filter_dilation"} | {
        "filter_dilation": settings.get("filter_dilation", (1, 1))}
    found = [
        abstract_conv.conv2d_grad_wrt_inputs(g, w, (None, 3, 6, 5), **settings),
        abstract_conv.AbstractConv2d_gradInputs(imshp=(2, 3, 6, 5), **op)(w, g),
        abstract_conv.AbstractConv2d_gradInputs(**op)(w, g, x.shape[2:]),
        abstract_conv.conv2d_grad_wrt_weights(x, g, (4, 3, 3, 2), **settings),
        abstract_conv.AbstractConv2d_gradWeights(**op)(x, g, w.shape[2:]),
        abstract_conv.AbstractConv2d(**op)(x, w)]
    size = abstract_conv.get_conv_output_shape(
        X.shape, W.shape, settings.get("border_mode", "valid"), settings.get("subsample", (1, 1)),
        settings.get("filter_dilation"))
    f = theano.function([x, w, g], [*wanted, y, *found])
    dx, dw, of, *rest = f(X, W, RNG.standard_normal(size))
    for a, b in zip([dx, dx, dx, dw, dw, of], rest, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_transposes_have_derivatives():
    x, w = T.tensor4s("xw")
    y = T.nnet.conv2d_transpose(x, w, (None, None, 7, 6), input_dilation=(2, 1))
    f = theano.function([x, w], [y, *theano.grad(y.sum(), [x, w])])
    for found, like in zip(f(RNG.standard_normal((2, 4, 3, 5)), W)[1:], [(2, 4, 3, 5), W.shape],
                           strict=True):
        assert found.shape == like


def test_what_is_made_of_convolutions():
    x, sound = T.tensor4("x"), T.tensor3("sound")
    up = abstract_conv.bilinear_upsampling(x, ratio=2)
    deep, flat = np.ones((6, 1, 2, 2)), RNG.standard_normal((5, 6, 1, 1))
    apart = T.nnet.separable_conv2d(x, deep, flat, 3)
    heard = abstract_conv.causal_conv1d(sound, np.array([[[1.0, 10, 100]]]), (1, 1, 3))
    up, apart, heard = theano.function([x, sound], [up, apart, heard])(X, np.ones((1, 1, 4)))
    np.testing.assert_allclose(up[1, 2, 4], np.interp(np.arange(10) / 2, range(5), X[1, 2, 2]))
    each = X[:, :, 1:, 1:] + X[:, :, 1:, :-1] + X[:, :, :-1, 1:] + X[:, :, :-1, :-1]
    np.testing.assert_allclose(
        apart, np.einsum("bchw,oc->bohw", np.repeat(each, 2, 1), flat[:, :, 0, 0]))
    assert heard.tolist() == [[[1, 11, 111, 111]]]
    with pytest.raises(NotImplementedError, match="unshared"):
        T.nnet.conv2d(x, x, unshared=True)


def test_ctc_sums_over_all_ways_to_say_the_labels():
    x, y, n = T.tensor3("x"), T.imatrix("y"), T.ivector("n")
    loss = ctc.ctc(x, y, n)
    values = RNG.standard_normal((3, 2, 3))
    found, slope = theano.function([x, y, n], [loss, theano.grad(loss.sum(), x)])(
        values, np.int32([[1, 2], [2, -1]]), np.int32([3, 2]))
    p = np.exp(values) / np.exp(values).sum(-1, keepdims=True)

    def said(way):
        return [k for k, _ in itertools.groupby(way) if k]

    for b, (labels, steps) in enumerate([([1, 2], 3), ([2], 2)]):
        ways = [w for w in itertools.product(range(3), repeat=steps) if said(w) == labels]
        total = sum(np.prod([p[t, b, k] for t, k in enumerate(w)]) for w in ways)
        assert found[b] == pytest.approx(-np.log(total))
    assert slope[2, 1].tolist() == [0, 0, 0]


def test_functions_that_write_in_place_there_are_functions():
    x = T.vector("x")
    assert theano.function([x], T.inplace.exp_inplace(x))([0.0]).tolist() == [1]
    with pytest.raises(AttributeError, match="no attribute 'exp'"):
        T.inplace.exp  # noqa: B018 - asking for it is what raises


def test_borders_may_be_numbers_of_numpy():
    x, w = T.dtensor4(), T.dtensor4()
    one, same = (T.nnet.conv2d(x, w, border_mode=n).eval({
        x: np.ones((1, 1, 3, 3)), w: np.ones((1, 1, 2, 2))}) for n in (np.int64(1), 1))
    assert one.shape == (1, 1, 4, 4) and (one == same).all()


WINDOWS = [((2, 2), (1, 1), (0, 0)), ((1, 3), (3, 1), (0, 0)), ((3, 2), (2, 4), (1, 0))]


@pytest.mark.parametrize("mode", ["max", "sum", "average_inc_pad", "average_exc_pad"])
@pytest.mark.parametrize("whole", [True, False])
def test_windows_may_be_told_by_the_run(mode, whole):
    x, told = T.tensor4("x"), T.imatrix("told")
    open_ = pool.pool_2d(x, told[0], whole, (told[1, 0], told[1, 1]), told[2], mode)
    f = theano.function([x, told], [open_, theano.grad((open_ ** 2).sum(), x)])
    for window in WINDOWS[:3 if whole else 2]:
        image = RNG.standard_normal((2, 3, 7, 6))
        y = pool.pool_2d(x, *window[:1], whole, *window[1:], mode)
        wanted = theano.function([x], [y, theano.grad((y ** 2).sum(), x)])(image)
        for a, b in zip(f(image, np.array(window, "int32")), wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
        assert wanted[0].shape == tuple(
            pool.Pool.out_shape(image.shape, window[0], whole, *window[1:]))


@pytest.mark.parametrize("size", [(3, 2), (1, 1)])
def test_windows_that_are_not_whole_are_as_many_for_sizes_of_the_run(size):
    x, known = T.tensor4("x"), T.TensorType("float64", shape=(2, 3, 7, 6))()
    found = [theano.function([v], pool.pool_2d(v, size, False, (2, 1), mode="sum"))(
        np.ones((2, 3, 7, 6))) for v in (x, known)]
    np.testing.assert_array_equal(*found)
    assert found[0].shape[2:] == ((3, 5) if size == (3, 2) else (4, 6))
