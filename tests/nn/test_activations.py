"""Layers of one function, and RMSNorm: values, gradients far out, eager and compiled."""

import math

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.functional import elu, gelu, leaky_relu, rms_norm, silu

POINTS = np.array([-200.0, -3.0, -0.1, 0.0, 0.7, 5.0, 8.0, 200.0])


def sigmoid(v):
    return 1 / (1 + math.exp(-v)) if v > -500 else 0.0


LAYERS = [
    (nn.GELU(), lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2)))),
    (nn.GELU("tanh"), lambda v: v / 2 * (1 + math.tanh(
        math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))),
    (nn.SiLU(), lambda v: v * sigmoid(v)),
    (nn.ReLU6(), lambda v: min(max(v, 0), 6)),
    (nn.LeakyReLU(), lambda v: v if v > 0 else 0.01 * v),
    (nn.LeakyReLU(0.2), lambda v: v if v > 0 else 0.2 * v),
    (nn.PReLU(dtype="float64"), lambda v: v if v > 0 else 0.25 * v),
    (nn.ELU(), lambda v: v if v > 0 else math.expm1(v)),
    (nn.ELU(0.5), lambda v: v if v > 0 else 0.5 * math.expm1(v)),
    (nn.Softplus(), lambda v: max(v, 0) + math.log1p(math.exp(-abs(v)))),
]


@pytest.mark.parametrize(("layer", "expected"), LAYERS, ids=lambda x: getattr(x, "name", None))
def test_values_and_slopes(layer, expected):
    wanted = [expected(v) for v in POINTS]
    steps = [(expected(v + 1e-6) - expected(v - 1e-6)) / 2e-6 for v in POINTS]
    smooth = POINTS != 0

    def both(x):
        value, pull = ag.vjp(layer, x)
        return value, pull(ag.ones_like(value))[0]

    for run in (both, ag.jit(both)):
        value, slope = run(ag.tensor(POINTS))
        np.testing.assert_allclose(value.numpy(), wanted, 1e-12, 1e-15)
        np.testing.assert_allclose(slope.numpy()[smooth], np.array(steps)[smooth], 1e-5, 1e-6)


@pytest.mark.parametrize(("layer", "slope"), [
    (nn.ELU(), 1), (nn.ELU(2), 2), (nn.CELU(0.5), 1), (nn.SELU(), 1.0507009873 * 1.6732632423)])
def test_slopes_where_both_sides_meet_are_those_from_below(layer, slope):
    for run in (ag.grad(lambda x: layer(x).sum()), ag.jit(ag.grad(lambda x: layer(x).sum()))):
        np.testing.assert_allclose(run(ag.zeros(2, dtype="float64")).numpy(), slope)


@pytest.mark.parametrize("function", [elu, gelu, silu, leaky_relu, nn.Softplus()])
def test_single_precision_far_out(function):
    x = ag.tensor([-300.0, 300.0], requires_grad=True)
    function(x).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_slopes_where_pieces_meet_are_those_of_pytorch():
    F = nn.functional
    near = lambda loss: lambda x: loss(x, x * 0 + 1, reduction="none")  # noqa: E731
    rows = [
        (F.relu6, [0.0, 6.0, 3.0], [0, 0, 1]), (F.hardtanh, [-1.0, 1.0, 0.0], [0, 0, 1]),
        (F.hardsigmoid, [-3.0, 3.0, 0.0], [0, 0, 1 / 6]), (F.hardswish, [-3.0, 3.0], [0, 1]),
        (lambda x: ag.fmax(x, 1.0), [1.0], [1]), (lambda x: ag.fmin(1.0, x), [1.0], [0]),
        (lambda x: F.margin_ranking_loss(x, ag.ones(1), ag.ones(1)), [1.0], [-1]),
        (lambda x: F.hinge_embedding_loss(x, -ag.ones(1)), [1.0], [-1]),
        (ag.special.log_ndtr, [np.inf], [0]), (lambda x: ag.norm(x, 0.5), [4.0, 0.0], [1, 0]),
        (lambda x: ag.cummax(x, 0).values, [np.inf, -np.inf], [2, 0]),
        (ag.grad(lambda x: near(F.huber_loss)(x).sum()), [1.0, 2.0, 0.0], [1, 0, 0]),
        (ag.grad(lambda x: near(F.smooth_l1_loss)(x).sum()), [1.0, 2.0, 0.0], [1, 0, 0]),
    ]
    for f, x, wanted in rows:
        slope = ag.grad(lambda x, f=f: f(x).sum())
        for g in (slope, ag.jit(slope)):
            np.testing.assert_allclose(g(ag.tensor(x)).numpy(), wanted, 1e-6)


def test_softmax_along_an_axis():
    x = ag.tensor(np.random.default_rng(0).standard_normal((3, 4)))
    np.testing.assert_allclose(nn.Softmax(0)(x).sum(0).numpy(), np.ones(4))
    np.testing.assert_allclose(nn.LogSoftmax(1)(x).exp().numpy(), nn.Softmax(1)(x).numpy())
    assert repr(nn.LogSoftmax(1)) == "LogSoftmax(1)"


def test_prelu_learns_a_factor_for_each_channel():
    layer = nn.PReLU(2, 0.5)
    y = layer(-ag.ones((3, 2, 4, 4)))
    y.sum().backward()
    assert layer.weight.grad.tolist() == [-48.0, -48.0]
    assert list(layer.state_dict()) == ["weight"]
    with pytest.raises(ag.ShapeError, match=r"PReLU: float32\[3, 5\] has no 2 channels"):
        layer(ag.ones((3, 5)))


def test_gelu_has_two_ways():
    with pytest.raises(ValueError, match="approximate must be 'none' or 'tanh', not 'fast'"):
        gelu(ag.ones(1), "fast")


def test_rms_norm():
    x = np.random.default_rng(0).standard_normal((5, 3, 4)).astype("f")
    layer = nn.RMSNorm((3, 4), eps=0.1)
    layer.load_state_dict({"weight": x[0]})
    expected = x / np.sqrt((x**2).mean((1, 2), keepdims=True) + 0.1) * x[0]
    for f in (layer, ag.jit(layer)):
        np.testing.assert_allclose(f(ag.tensor(x)).numpy(), expected, 1e-5)
    assert nn.RMSNorm(4, elementwise_affine=False).weight is None
    half = rms_norm(ag.full((4,), 300.0, dtype="float16"), 4)
    assert half.dtype == np.float16 and half.tolist() == [1.0] * 4
    with pytest.raises(ValueError, match="the last axes of"):
        layer(ag.ones((4, 4)))


@pytest.mark.parametrize("name", """relu relu6 selu elu celu leaky_relu silu mish hardswish
    hardsigmoid hardtanh threshold""".split())
def test_a_result_of_another_kind_is_not_written_into_the_operand(name: str) -> None:
    bounds = (0.1, 20) if name == "threshold" else ()
    function = getattr(nn.functional, name)

    def write(x: ag.Tensor) -> ag.Tensor:
        return function(x, *bounds, inplace=True)

    for values in ([[3, -1]], [True, False]):
        kept = function(ag.tensor(values), *bounds).dtype == ag.tensor(values).dtype
        for run in (write, ag.jit(write)):
            x = ag.tensor(values)
            if kept:
                assert run(x).dtype == x.dtype
                continue
            with pytest.raises(TypeError, match=f"{name}.*cannot be written into"):
                run(x)
            assert x.tolist() == values
