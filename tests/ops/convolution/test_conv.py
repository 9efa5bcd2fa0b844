"""Convolutions: against definitions written out, and by their gradients."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi.ops.convolution.conv import conv1d, conv2d, conv3d
from agnesi.ops.convolution.transposed import conv_transpose
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


@pytest.mark.parametrize(("stride", "dilation", "padding", "extra"), [
    (1, 3, 0, 2), (1, 3, 1, 2), (1, 2, 5, 1), (2, 3, 0, 2), (2, 4, 1, 3),
])
def test_what_is_added_may_be_more_than_a_stride(stride, dilation, padding, extra):
    x, w = RANDOM.normal(size=(2, 3, 6)), RANDOM.normal(size=(3, 2, 4))
    span = 3 * dilation
    whole = np.zeros((2, 2, 5 * stride + span + 1 + extra))
    for place, tap in np.ndindex(6, 4):
        whole[:, :, place * stride + tap * dilation] += x[:, :, place] @ w[:, :, tap]
    whole = whole[:, :, padding: whole.shape[2] - padding]

    def up(x, w):
        return conv_transpose(x, w, stride=stride, padding=padding, dilation=dilation,
                              output_padding=extra)

    np.testing.assert_allclose(up(x, w).numpy(), whole)
    check_op(up, [[x, w]])
    np.testing.assert_allclose(up(x[0], w).numpy(), whole[0])  # without a batch


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: conv2d(ag.ones((1, 3, 5, 5)), ag.ones((2, 4, 3, 3))), "3 channels"),
        (lambda: conv2d(ag.ones((5, 5)), ag.ones((2, 3, 3, 3))), "4 axes"),
        (lambda: conv1d(ag.ones((1, 1, 2)), ag.ones((1, 1, 3))), "window of 3"),
        (lambda: conv1d(ag.ones((1, 2, 5)), ag.ones((3, 1, 1)), groups=2), "3 filters"),
        (lambda: conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 3)), stride=0), "at least 1"),
        (lambda: conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 3)), padding="big"), "'big'"),
        (lambda: conv2d(ag.ones((1, 1, 5, 5)), ag.ones((1, 1, 3, 3)), stride=(1, 2, 3)), "2 axes"),
        (lambda: conv_transpose(ag.ones((1, 1, 5)), ag.ones((2, 1, 3))), "filters take 2"),
        (lambda: conv_transpose(ag.ones((1, 3, 5)), ag.ones((3, 1, 3)), groups=2), "3 filters"),
        (lambda: conv_transpose(ag.ones((1, 1, 1)), ag.ones((1, 1, 1)), padding=1), "nothing of"),
        (lambda: conv1d(ag.ones((1, 1, 5)), ag.ones((1, 1, 3)), ag.ones(3)), "channel: (1,)"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ValueError, match=r"test_conv\.py") as caught:
        call()
    assert words in str(caught.value)


def test_one_image_without_a_batch():
    x, w = RANDOM.normal(size=(2, 6, 7)), RANDOM.normal(size=(3, 2, 2, 3))
    np.testing.assert_allclose(conv2d(x, w).numpy(), conv2d(x[None], w).numpy()[0])


@pytest.mark.parametrize("mode", ["valid", "full"])
@pytest.mark.parametrize("stride", [1, 2])
def test_flipped_filters_are_those_of_scipy(mode, stride):
    signal = pytest.importorskip("scipy.signal")
    x, w = RANDOM.normal(size=(1, 1, 9, 7)), RANDOM.normal(size=(1, 1, 3, 4))
    expected = signal.convolve2d(x[0, 0], w[0, 0], mode)[::stride, ::stride]

    def convolved(x, w):
        return conv2d(x, w, padding=mode, stride=stride, flip=True)

    np.testing.assert_allclose(convolved(x, w).numpy()[0, 0], expected)
    found = ag.jit(convolved)(ag.tensor(x), ag.tensor(w))
    np.testing.assert_allclose(found.numpy()[0, 0], expected)
    ag.testing.check_grads(convolved, [x, w])
    gradient = ag.grad(lambda w: (convolved(x, w) ** 2).sum())
    np.testing.assert_allclose(ag.jit(gradient)(ag.tensor(w)).array, gradient(ag.tensor(w)).array)


# -- compiled -----------------------------------------------------------------------------------
SHAPES = [
    ((2, 3, 9, 10), (8, 3, 3, 3), {"padding": 1}),
    ((1, 16, 7, 7), (32, 16, 1, 1), {}),
    ((3, 8, 12, 11), (16, 8, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 4, 8, 8), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((2, 4, 9, 9), (6, 2, 3, 3), {"groups": 2, "padding": 2, "dilation": 2}),
    ((2, 17, 13, 14), (33, 17, 5, 5), {"padding": 2}),
    ((1, 3, 11, 11), (6, 3, 4, 4), {"stride": 3}),
    ((2, 5, 19), (7, 5, 4), {"stride": 2, "padding": ((3, 1),)}),
    ((1, 2, 5, 6, 7), (3, 2, 2, 3, 3), {"padding": 1, "stride": (1, 2, 1)}),
    ((0, 3, 8, 8), (4, 3, 3, 3), {}),
    ((0, 20, 8, 8), (20, 1, 3, 3), {"groups": 20, "stride": 2}),
    ((2, 3, 8, 8), (0, 3, 3, 3), {"padding": 1}),
    ((2, 0, 8, 8), (4, 0, 3, 3), {}),
]
FUNCTIONS = {3: conv1d, 4: conv2d, 5: conv3d}


def case(shape, filters, dtype="float64"):
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape).astype(dtype), rng.normal(size=filters).astype(dtype)


def all_three(x, w, **options):
    """Result and both gradients under a weight for each element."""
    function = FUNCTIONS[x.ndim]
    y = function(x, w, **options)

    def loss(x, w):
        y = function(x, w, **options)
        return (y * ag.arange(y.size, dtype=y.dtype).reshape(y.shape) * 0.01).sum()

    return (y, *ag.grad(loss, argnums=(0, 1))(x, w))


@pytest.mark.share(8)
@pytest.mark.parametrize(("shape", "filters", "options"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_compiled_is_the_same(shape, filters, options, dtype):
    x, w = map(ag.tensor, case(shape, filters, dtype))
    expected = all_three(x, w, **options)
    for found, right in zip(ag.jit(lambda x, w: all_three(x, w, **options))(x, w), expected,
                            strict=True):
        scale = max(abs(right.numpy().astype(float)).max(initial=0), 1)
        bound = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2}[dtype]
        np.testing.assert_allclose(found.numpy() / scale, right.numpy() / scale, atol=bound)


def test_integers_and_turned_operands():
    x, w = np.arange(60).reshape(2, 2, 3, 5), np.arange(24).reshape(3, 2, 2, 2)
    expected = conv2d(x, w).numpy()
    np.testing.assert_array_equal(ag.jit(conv2d)(ag.tensor(x), ag.tensor(w)).numpy(), expected)
    x, w = case((7, 6, 3, 2), (3, 3, 4, 2))
    x, w = x.T, w.transpose(3, 2, 1, 0)[:, :3]
    found = ag.jit(lambda x, w: conv2d(x[:, :, ::-1], w))(ag.tensor(x), ag.tensor(w))
    np.testing.assert_allclose(found.numpy(), conv2d(x[:, :, ::-1], w).numpy())


@pytest.mark.native_plans
def test_gradients_to_filters_are_made_in_the_order_that_is_wanted():
    x, w = case((2, 3, 7, 8), (5, 3, 3, 2), "float32")
    x, w = ag.tensor(x), ag.tensor(w)

    def slope(x, w):
        return ag.grad(lambda w: (conv2d(x, w) ** 2).sum())(w)

    turned = ag.jit(lambda x, w: slope(x, w).transpose((2, 3, 1, 0)))
    both = ag.jit(lambda x, w: (slope(x, w).transpose((2, 3, 1, 0)), slope(x, w)))
    expected = slope(x, w).numpy()
    for found in (turned(x, w), both(x, w)[0]):
        np.testing.assert_allclose(found.numpy(), expected.transpose(2, 3, 1, 0), 1e-4, 1e-3)
    np.testing.assert_allclose(both(x, w)[1].numpy(), expected, 1e-4, 1e-3)
    kinds = [type(k).__name__ for k in turned.plan().layout.kernels]
    assert kinds == ["Convolution", "Convolution"]


# -- algorithms ---------------------------------------------------------------------------------
WAYS = ("implicit_gemm", "direct", "unfold", "fft", "reference")


@pytest.mark.share(12)
@pytest.mark.parametrize(("shape", "filters", "options"), SHAPES, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_all_algorithms_agree(shape, filters, options, way):
    x, w = map(ag.tensor, case(shape, filters))
    expected = all_three(x, w, **options)
    for run in (all_three, ag.jit(lambda x, w, **o: all_three(x, w, **options, algorithm=way))):
        chosen = {"algorithm": way, **options} if run is all_three else {}
        for found, right in zip(run(x, w, **chosen), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), right.numpy(), atol=1e-9)


@pytest.mark.share(4)
@pytest.mark.parametrize(("dtype", "way"), [
    *itertools.product(("float16", "bfloat16"), ("direct", "unfold", "fft", "reference",
                                                 "time_once")),
    *itertools.product(["complex64"], ("fft", "reference", "time_once")),
])
def test_all_algorithms_keep_the_dtype(dtype, way):
    wide = "complex128" if dtype == "complex64" else "float64"

    def some(*shape):
        value = RANDOM.normal(size=shape)
        if dtype == "complex64":
            value = value + 1j * RANDOM.normal(size=shape)
        return ag.tensor(value).astype(dtype)

    x, w, g = some(2, 4, 5, 6), some(2, 4, 3, 2), some(2, 2, 3, 7)

    def all_three(x, w, g, way):
        y, back = ag.vjp(lambda x, w: conv2d(x, w, stride=(2, 1), padding=1, algorithm=way), x, w)
        return y, *back(g)

    expected = all_three(*(a.astype(wide) for a in (x, w, g)), "reference")
    for run in (all_three, ag.jit(all_three)):
        for found, right in zip(run(x, w, g, way), expected, strict=True):
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found.astype(wide).numpy(), right.numpy(), rtol=0.01,
                                       atol=0.1 if dtype == "bfloat16" else 0.01)


def test_algorithms_by_config_part_and_exclusion():
    x, w = map(ag.tensor, case((2, 3, 9, 9), (4, 3, 3, 3)))

    def names(**settings):
        with ag.config(**settings):
            function = ag.jit(lambda x, w: all_three(x, w))
            function(x, w)
            return {n.op.name for n in function.graph.nodes if n.op is not None}

    assert {"conv", "conv_grad_x", "conv_grad_w"} <= names()
    assert {"conv by fft", "conv_grad_x by fft", "conv_grad_w by fft"} <= names(
        conv_algorithm="fft"
    )
    found = names(conv_weight="reference", conv_input="direct")
    assert {"conv", "conv_grad_x by direct", "conv_grad_w by reference"} <= found
    assert "columns" in names(conv_exclude="implicit_gemm,direct,fft,reference")
    assert "columns" not in names()
    with pytest.raises(ValueError, match="leaves no algorithm"):
        names(conv_exclude=",".join(WAYS))
    with (pytest.raises(ValueError, match="conv_exclude names it"),
          ag.config(conv_exclude="fft,direct")):
        conv2d(x, w, algorithm="fft")
    with (pytest.raises(ValueError, match=r"conv_exclude names 'gemm'.*implicit_gemm"),
          ag.config(conv_exclude="fft gemm")):
        conv2d(x, w)


@pytest.mark.parametrize("name", WAYS)
def test_the_algorithm_is_shown(name):
    x, w = map(ag.tensor, case((1, 1, 5, 5), (1, 1, 3, 3)))
    f = ag.jit(lambda x, w: conv2d(x, w, algorithm=name))
    f(x, w)
    shown = "columns by unfold" if name == "unfold" else f"conv by {name}"
    assert f"convolutions: {shown}" in f.explain()
    assert f"convolutions: {shown}" in str(f.plan())


def test_timing_is_logged_and_repeated_only_where_asked(caplog):
    caplog.set_level("INFO", logger="agnesi.conv")

    def decisions(policy, *sizes):
        caplog.clear()
        for n in sizes:
            conv2d(ag.ones((1, 2, n, n)), ag.ones((3, 2, 3, 3)), algorithm=(policy, "auto", "auto"))
        return sum(f"by {policy}" in r.message for r in caplog.records)

    assert decisions("time_once", 6, 6, 7) == 1
    assert decisions("time_on_shape_change", 6, 6, 7, 7) == 2
    assert decisions("guess_once", 6, 7) == 1
    assert decisions("guess_on_shape_change", 6, 7, 6) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, w: conv2d(x, w, algorithm="winograd"), "implicit_gemm"),
        (lambda x, w: conv2d(x, w, algorithm={"backward": "fft"}), "backward"),
        (lambda x, w: conv2d(x.astype("complex64"), w, algorithm="direct"), "complex"),
        (lambda x, w: conv2d(x.astype("int32"), w.astype("int32"), algorithm="implicit_gemm"),
         "float32 and float64"),
    ],
)
def test_algorithms_that_are_not_available(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(ag.ones((1, 2, 4, 4)), ag.ones((3, 2, 2, 2)))


def test_eager_calls_that_are_worth_it_are_compiled(monkeypatch):
    from agnesi.compiler import eager

    monkeypatch.setattr(eager, "_COMPILE_MULTIPLY_ADDS", 1)
    x, w = case((2, 8, 16, 16), (8, 8, 3, 3), "float32")
    expected = conv2d(x, w, algorithm="reference", padding=1).numpy()
    np.testing.assert_allclose(conv2d(x, w, padding=1).numpy(), expected, atol=1e-4)
    known = len(eager._functions)
    assert known
    with ag.config(compile=False):
        np.testing.assert_array_equal(conv2d(x, w, padding=1).numpy(), expected)


def test_calls_that_copy_much_are_worth_it_soon(monkeypatch):
    from agnesi.compiler import eager

    compiled = []

    def made(op, types):
        compiled.append(op)
        return op.compute

    monkeypatch.setattr(eager, "_made", made)
    monkeypatch.setattr(eager, "_spent", {})
    x, few = case((8, 48, 14, 14), (48, 1, 7, 7), "float32")
    for _ in range(4):
        conv2d(x, few, padding=3, groups=48)
    assert compiled
    compiled.clear()
    x, many = case((1, 48, 14, 14), (8, 48, 1, 1), "float32")
    for _ in range(4):
        conv2d(x, many)
    assert not compiled


def test_an_infinite_pixel_reaches_its_windows_only():
    x, w = RANDOM.random((1, 16, 12, 12), "f"), RANDOM.random((16, 16, 3, 3), "f")
    x[0, 3, 6, 4] = np.inf
    found = ag.jit(lambda x, w: ag.conv2d(x, w, padding=1))(ag.tensor(x), ag.tensor(w)).numpy()
    expected = ag.conv2d(x, w, padding=1, algorithm="direct").numpy()
    assert np.isinf(expected[0, :, 5:8, 3:6]).all()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    assert np.isfinite(expected).sum() == expected.size - 16 * 9


def test_transforms_of_integers_are_rounded_and_not_cut():
    x, w = RANDOM.integers(-9, 9, (2, 4, 6, 5)), RANDOM.integers(-9, 9, (6, 2, 3, 2))
    found = ag.conv2d(x, w, groups=2, algorithm="fft")
    assert found.dtype == "int64"
    np.testing.assert_array_equal(found.numpy(), ag.conv2d(x, w, groups=2).numpy())


@pytest.mark.parametrize("kernel", [(0, 1), (1, 0), (2, 0)])
def test_kernels_without_elements_give_zeros(kernel):
    x, w = ag.ones((1, 2, 3, 4)), ag.ones((2, 2, *kernel))
    convolved = ag.nn.functional.conv2d
    found = ag.jit(lambda x, w: convolved(x, w, padding=1))(x, w)
    assert found.shape == convolved(x, w, padding=1).shape and not found.numpy().any()
    slope = ag.jit(ag.grad(lambda x: convolved(x, w, padding=1).sum()))(x)
    assert slope.shape == x.shape and not slope.numpy().any()
