"""Convolutions: against definitions written out, and by their gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.conv import conv1d, conv2d, conv3d, conv_transpose
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)


def direct(x, w, stride, padding, dilation, groups):
    """Convolution by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    places = [
        (n - m) // s + 1 for n, m, s in zip(x.shape[2:], spans, stride, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *places))
    per, width = w.shape[0] // groups, w.shape[1]
    for o, at in itertools.product(range(w.shape[0]), np.ndindex(*places)):
        channels = slice(o // per * width, (o // per + 1) * width)
        cut = tuple(
            slice(i * s, i * s + m, d)
            for i, s, m, d in zip(at, stride, spans, dilation, strict=True)
        )
        window = x[(slice(None), channels, *cut)]
        y[(slice(None), o, *at)] = (window * w[o]).reshape(x.shape[0], -1).sum(1)
    return y


@pytest.mark.parametrize("stride", [(1, 1), (2, 1)])
@pytest.mark.parametrize("padding", [(0, 0), (2, 1)])
@pytest.mark.parametrize("dilation", [(1, 1), (1, 2)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_convolution_is_its_definition(stride, padding, dilation, groups):
    x, w = RANDOM.normal(size=(2, 4, 6, 7)), RANDOM.normal(size=(4, 4 // groups, 3, 2))
    bias = RANDOM.normal(size=4)
    y = conv2d(x, w, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    expected = direct(x, w, stride, padding, dilation, groups) + bias[:, None, None]
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-12)


def test_one_and_three_axes_and_words_for_borders():
    x, w = RANDOM.normal(size=(2, 3, 8)), RANDOM.normal(size=(5, 3, 4))
    np.testing.assert_allclose(conv1d(x, w).numpy(), direct(x, w, (1,), (0,), (1,), 1))
    assert conv1d(x, w, padding="same").shape == (2, 5, 8)
    full = conv1d(x[:1, :1], w[:1, :1], padding="full").numpy()[0, 0]
    np.testing.assert_allclose(full, np.convolve(x[0, 0], w[0, 0, ::-1]))
    x, w = RANDOM.normal(size=(1, 2, 4, 3, 5)), RANDOM.normal(size=(3, 2, 2, 2, 3))
    ones = (1, 1, 1)
    np.testing.assert_allclose(conv3d(x, w).numpy(), direct(x, w, ones, (0, 0, 0), ones, 1))
    both = ((0, 1), (2, 0))
    padded = np.pad(RANDOM.normal(size=(1, 1, 3, 3)), ((0, 0), (0, 0), *both))
    inner, w = padded[:, :, :3, 2:], RANDOM.normal(size=(1, 1, 2, 2))
    np.testing.assert_allclose(
        conv2d(inner, w, padding=both).numpy(), direct(padded, w, (1, 1), (0, 0), (1, 1), 1)
    )


@pytest.mark.parametrize("options", [
    {}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": (1, 2)}, {"groups": 2},
], ids=str)
def test_gradients_and_graphs(options):
    groups = options.get("groups", 1)
    x, w = RANDOM.normal(size=(2, 2, 5, 4)), RANDOM.normal(size=(4, 2 // groups, 3, 2))
    bias = RANDOM.normal(size=4)
    check_op(lambda x, w, b: conv2d(x, w, b, **options), [[x, w, bias]])
    up = RANDOM.normal(size=(2, 4 // groups, 3, 2))
    check_op(lambda x, w: conv_transpose(x, w, **options), [[x, up]])


def test_gradients_of_complex_convolutions():
    x, w = (RANDOM.normal(size=(2, *s)) @ [1, 1j] for s in ((1, 2, 5, 2), (3, 2, 2, 2)))
    check_op(lambda x, w: conv1d(x, w, stride=2), [[x[0], w[0]]])


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transposed_convolution_is_the_adjoint(stride):
    w = RANDOM.normal(size=(4, 3, 3))
    x, g = RANDOM.normal(size=(2, 3, 11)), RANDOM.normal(size=(2, 4, (11 + 2 - 3) // stride + 1))
    extra = (11 + 2 - 3) % stride
    there = conv1d(x, w, stride=stride, padding=1)
    back = conv_transpose(g, w, stride=stride, padding=1, output_padding=extra)
    assert back.shape == x.shape
    np.testing.assert_allclose((there.numpy() * g).sum(), (back.numpy() * x).sum())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: conv2d(ag.ones((1, 3, 5, 5)), ag.ones((2, 4, 3, 3))), "3 channels"),
        (lambda: conv2d(ag.ones((3, 5, 5)), ag.ones((2, 3, 3, 3))), "4 axes"),
        (lambda: conv1d(ag.ones((1, 1, 2)), ag.ones((1, 1, 3))), "window of 3"),
        (lambda: conv1d(ag.ones((1, 2, 5)), ag.ones((3, 1, 1)), groups=2), "3 filters"),
        (lambda: conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 3)), stride=0), "at least 1"),
        (lambda: conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 3)), padding="big"), "'big'"),
        (lambda: conv2d(ag.ones((1, 1, 5, 5)), ag.ones((1, 1, 3, 3)), stride=(1, 2, 3)), "2 axes"),
        (lambda: conv_transpose(ag.ones((1, 1, 5)), ag.ones((2, 1, 3))), "filters take 2"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=r"test_conv\.py") as caught:
        call()
    assert words in str(caught.value)
