"""Torch7's later modules and losses: values beside formulas, gradients beside differences."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

from agnesi.compat import torch7 as torch
from agnesi.compat.torch7 import nn

RNG = np.random.default_rng(1)


def tensor(*shape):
    return torch.Tensor(RNG.standard_normal(shape))


def correlated(x, filters, bias=None, step=1, gap=1):
    """Correlations of planes with filters (to, from, height, width), by SciPy."""
    wide = np.zeros((*filters.shape[:2], *(gap * (n - 1) + 1 for n in filters.shape[2:])))
    wide[(..., *(slice(None, None, gap),) * (filters.ndim - 2))] = filters
    y = np.stack([sum(scipy.signal.correlate(p, k, "valid") for p, k in zip(x, f, strict=True))
                  for f in wide])
    y = y[(slice(None), *(slice(None, None, step),) * (y.ndim - 1))]
    return y if bias is None else y + bias.reshape(-1, *(1,) * (y.ndim - 1))


def pooled(x, reduce, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, range(1, x.ndim))
    windows = windows[(slice(None), *(slice(None, None, s) for s in step))]
    return reduce(windows, tuple(range(x.ndim, windows.ndim)))


def depthwise(m, x):
    w = m.weight.numpy().reshape(3, 2, 2, 3)  # outputs, planes, height, width
    return np.stack([scipy.signal.correlate2d(x[i], w[o, i], "valid") + m.bias.numpy()[o, i]
                     for i in range(2) for o in range(3)])


def local(m, x):
    w, b = m.weight.numpy(), m.bias.numpy()
    found = np.zeros(b.shape)
    for i, j in np.ndindex(b.shape[1:]):
        found[:, i, j] = (w[i, j] * x[:, i:i + 2, j:j + 3]).sum((1, 2, 3)) + b[:, i, j]
    return found


def mapped(m, x):
    y = np.zeros((m.planes[1], 3, 2)) + m.bias.numpy()[:, None, None]
    for (a, b), k in zip(m.ends, m.weight.numpy(), strict=True):
        y[b] += scipy.signal.correlate2d(x[a], k, "valid")
    return y


def spread(m, x):
    y = np.zeros((m.planes[1], 5, 5)) + m.bias.numpy()[:, None, None]
    for (a, b), k in zip(m.ends, m.weight.numpy(), strict=True):
        y[b] += scipy.signal.convolve2d(x[a], k, "full")
    return y


def rows(m, x):
    return np.stack([scipy.signal.correlate(c, k[0], "valid")[::2] + b for c, k, b in zip(
        x.T, m.weight.numpy(), m.bias.numpy(), strict=True)], 1)


def volumes(m, x):
    y = sum(np.stack([scipy.signal.convolve(x[i], m.weight.numpy()[i, o], "full")
                      for o in range(2)]) for i in range(2))
    return y + m.bias.numpy()[:, None, None, None]


def nearness(m, x):
    size = m.size
    sums = np.stack([(x[max(0, c - size // 2):c + size // 2 + 1] ** 2).sum(0)
                     for c in range(len(x))])
    return x / (m.k + m.alpha / size * sums) ** m.beta


def around(x, kernel):
    def mean(v):
        return sum(scipy.ndimage.correlate(p, kernel, mode="constant") for p in v)

    return mean(x) / mean(np.ones_like(x))


def contrast(m, x):
    kernel = np.ones((3, 3))
    off = x - around(x, kernel)
    root = np.sqrt(sum(scipy.ndimage.correlate(p, kernel, mode="constant") for p in off**2)
                   / (kernel.sum() * len(x)))
    share = scipy.ndimage.correlate(np.ones(x.shape[1:]), kernel, mode="constant") / kernel.sum()
    root = root / share
    return off / np.where(root > 1e-4, root, 1e-4)


def layer(m, x):
    off = x - x.mean(-1, keepdims=True)
    return off / np.sqrt((off**2).sum(-1, keepdims=True) + 1e-10) * np.sqrt(x.shape[-1])


def stretched(x, axis, size):
    old = np.linspace(0, 1, x.shape[axis])
    return np.apply_along_axis(lambda v: np.interp(np.linspace(0, 1, size), old, v), axis, x)


def shuffled(x):
    return x.reshape(2, 2, 2, 2, 3).transpose(0, 3, 1, 4, 2).reshape(2, 4, 6)


def unpooled(m, x):
    y = np.zeros_like(x)
    for c, i, j in np.ndindex(2, 2, 2):
        window = x[c, 2 * i:2 * i + 2, 2 * j:2 * j + 2]
        a, b = np.unravel_index(window.argmax(), (2, 2))
        y[c, 2 * i + a, 2 * j + b] = window.max()
    return y


def with_pool():
    pool = nn.SpatialMaxPooling(2, 2)
    return nn.Sequential().add(pool).add(nn.SpatialMaxUnpooling(pool))


def with_volume_pool():
    pool = nn.VolumetricMaxPooling(2, 2, 2)
    return nn.Sequential().add(pool).add(nn.VolumetricMaxUnpooling(pool))


def table(module):
    return nn.Sequential().add(nn.SplitTable(1)).add(module)


TABLE = torch.Tensor([[1, 1], [2, 1], [2, 2], [1, 3]])
KERNEL = torch.Tensor(np.ones((3, 3)))

# Each: how it is made, a shape of input, what it computes of x.
MODULES = {
    "SpatialDilatedConvolution": (
        lambda: nn.SpatialDilatedConvolution(2, 3, 2, 2, 1, 1, 0, 0, 2, 2), (2, 5, 4),
        lambda m, x: correlated(x, m.weight.numpy(), m.bias.numpy(), gap=2)),
    "SpatialDepthWiseConvolution": (
        lambda: nn.SpatialDepthWiseConvolution(2, 3, 3, 2), (2, 4, 5), depthwise),
    "SpatialConvolutionLocal": (
        lambda: nn.SpatialConvolutionLocal(2, 3, 4, 3, 3, 2), (2, 3, 4), local),
    "SpatialConvolutionMap": (lambda: nn.SpatialConvolutionMap(TABLE, 3, 2), (2, 4, 4), mapped),
    "SpatialFullConvolutionMap": (
        lambda: nn.SpatialFullConvolutionMap(TABLE, 2, 3), (2, 3, 4), spread),
    "TemporalRowConvolution": (lambda: nn.TemporalRowConvolution(3, 2, 2), (6, 3), rows),
    "TemporalSubSampling": (
        lambda: nn.TemporalSubSampling(3, 2, 2), (6, 3),
        lambda m, x: x.reshape(3, 2, 3).sum(1) * m.weight.numpy() + m.bias.numpy()),
    "VolumetricDilatedConvolution": (
        lambda: nn.VolumetricDilatedConvolution(
            2, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0, 2, 2, 2), (2, 3, 4, 3),
        lambda m, x: correlated(x, m.weight.numpy(), m.bias.numpy(), gap=2)),
    "VolumetricFullConvolution": (
        lambda: nn.VolumetricFullConvolution(2, 2, 2, 2, 2), (2, 2, 2, 3), volumes),
    "SpatialDilatedMaxPooling": (
        lambda: nn.SpatialDilatedMaxPooling(2, 2, 1, 1, 0, 0, 2, 2), (2, 4, 4),
        lambda m, x: np.maximum.reduce(
            [x[:, i:i + 2, j:j + 2] for i in (0, 2) for j in (0, 2)])),
    "SpatialAdaptiveMaxPooling": (
        lambda: nn.SpatialAdaptiveMaxPooling(2, 3), (2, 6, 4),
        lambda m, x: x.reshape(2, 3, 2, 2, 2).max((2, 4))),
    "SpatialAdaptiveAveragePooling": (
        lambda: nn.SpatialAdaptiveAveragePooling(2, 3), (2, 6, 4),
        lambda m, x: x.reshape(2, 3, 2, 2, 2).mean((2, 4))),
    "VolumetricAveragePooling": (
        lambda: nn.VolumetricAveragePooling(2, 2, 2), (1, 2, 4, 4),
        lambda m, x: pooled(x, np.mean, (2, 2, 2), (2, 2, 2))),
    "VolumetricDilatedMaxPooling": (
        lambda: nn.VolumetricDilatedMaxPooling(2, 2, 2, 1, 1, 1, 0, 0, 0, 2, 1, 1), (1, 3, 3, 2),
        lambda m, x: np.maximum(*(pooled(x[:, t:t + 1], np.max, (1, 2, 2), (1, 1, 1))
                                  for t in (0, 2)))),
    "SpatialMaxUnpooling": (with_pool, (2, 4, 4), unpooled),
    "VolumetricMaxUnpooling": (with_volume_pool, (1, 2, 2, 2),
                               lambda m, x: np.where(x == x.max(), x, 0)),
    "FeatureLPPooling": (
        lambda: nn.FeatureLPPooling(2, 1, 3), (4, 2),
        lambda m, x: (np.abs(x[1:]) ** 3 + np.abs(x[:-1]) ** 3) ** (1 / 3)),
    "TemporalDynamicKMaxPooling": (
        lambda: nn.TemporalDynamicKMaxPooling(2, 0.5), (6, 2),
        lambda m, x: np.stack([c[np.sort(np.argsort(-c)[:3])] for c in x.T], 1)),
    "SpatialReflectionPadding": (
        lambda: nn.SpatialReflectionPadding(1, 2, 1, 0), (2, 3, 4),
        lambda m, x: np.pad(x, [(0, 0), (1, 0), (1, 2)], "reflect")),
    "SpatialReplicationPadding": (
        lambda: nn.SpatialReplicationPadding(1, 2, 1, 0), (2, 3, 4),
        lambda m, x: np.pad(x, [(0, 0), (1, 0), (1, 2)], "edge")),
    "VolumetricReplicationPadding": (
        lambda: nn.VolumetricReplicationPadding(1, 0, 0, 2, 1, 1), (1, 2, 2, 2),
        lambda m, x: np.pad(x, [(0, 0), (1, 1), (0, 2), (1, 0)], "edge")),
    "UpSampling": (lambda: nn.UpSampling(2), (1, 2, 2, 3),
                   lambda m, x: x.repeat(2, 2).repeat(2, 3)),
    "SpatialUpSamplingNearest": (lambda: nn.SpatialUpSamplingNearest(3), (2, 2, 2),
                                 lambda m, x: x.repeat(3, 1).repeat(3, 2)),
    "SpatialUpSamplingBilinear": (
        lambda: nn.SpatialUpSamplingBilinear({"owidth": 5, "oheight": 4}), (2, 3, 3),
        lambda m, x: stretched(stretched(x, 1, 4), 2, 5)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (8, 2, 3), lambda m, x: shuffled(x)),
    "VolumetricBatchNormalization": (
        lambda: nn.VolumetricBatchNormalization(2), (3, 2, 2, 2, 2),
        lambda m, x: (x - x.mean((0, 2, 3, 4), keepdims=True)) / np.sqrt(
            x.var((0, 2, 3, 4), keepdims=True) + 1e-5) * m.weight.numpy().reshape(2, 1, 1, 1)
        + m.bias.numpy().reshape(2, 1, 1, 1)),
    "SpatialCrossMapLRN": (lambda: nn.SpatialCrossMapLRN(3, 0.1, 0.7, 2), (5, 2, 3), nearness),
    "SpatialSubtractiveNormalization": (
        lambda: nn.SpatialSubtractiveNormalization(2, KERNEL), (2, 4, 5),
        lambda m, x: x - around(x, np.ones((3, 3)))),
    "SpatialDivisiveNormalization": (
        lambda: nn.SpatialDivisiveNormalization(2, torch.ones(3)), (2, 4, 5),
        lambda m, x: x / np.maximum(1e-4, np.sqrt(sum(
            scipy.ndimage.correlate(p, np.ones((3, 3)), mode="constant") for p in x**2) / 18)
            / (scipy.ndimage.correlate(np.ones((4, 5)), np.ones((3, 3)), mode="constant") / 9))),
    "SpatialContrastiveNormalization": (
        lambda: nn.SpatialContrastiveNormalization(2, KERNEL), (2, 4, 5), contrast),
    "LayerNormalization": (lambda: nn.LayerNormalization(4), (3, 4), layer),
    "LinearWeightNorm": (
        lambda: nn.LinearWeightNorm(3, 2), (4, 3),
        lambda m, x: x @ m.toLinear().weight.numpy().T + m.bias.numpy()),
    "WeightNorm": (
        lambda: nn.WeightNorm(nn.SpatialConvolution(2, 3, 2, 2)), (2, 3, 3),
        lambda m, x: correlated(x, (m.v.numpy() * (m.g.numpy() / np.sqrt(
            (m.v.numpy() ** 2).sum(1) + 1e-4))[:, None]).reshape(3, 2, 2, 2), m.bias.numpy())),
    "SpatialLogSoftMax": (lambda: nn.SpatialLogSoftMax(), (3, 2, 2),
                          lambda m, x: x - np.log(np.exp(x).sum(0))),
    "CReLU": (lambda: nn.CReLU(1), (2, 3),
              lambda m, x: np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], 1)),
    "GatedLinearUnit": (lambda: nn.GatedLinearUnit(), (2, 4),
                        lambda m, x: x[:, :2] / (1 + np.exp(-x[:, 2:]))),
    "TanhShrink": (lambda: nn.TanhShrink(), (2, 3), lambda m, x: x - np.tanh(x)),
    "Collapse": (lambda: nn.Collapse(2), (2, 3, 2), lambda m, x: x.reshape(2, 6)),
    "Maxout": (lambda: nn.Maxout(3, 2, 4), (5, 3), lambda m, x: (
        x @ m.get(1).weight.numpy().T + m.get(1).bias.numpy()).reshape(5, 4, 2).max(1)),
    "PartialLinear": (lambda: nn.PartialLinear(3, 4), (2, 3), lambda m, x: (
        x @ m.weight.numpy().T + m.bias.numpy())),
    "Bottle": (lambda: nn.Bottle(nn.Linear(3, 4)), (2, 5, 3), lambda m, x: (
        x @ m.get(1).weight.numpy().T + m.get(1).bias.numpy())),
    "Decorator": (lambda: nn.Decorator(nn.Tanh()), (2, 3), lambda m, x: np.tanh(x)),
    "GPU": (lambda: nn.GPU(nn.Tanh(), 1), (2, 3), lambda m, x: np.tanh(x)),
    "NaN": (lambda: nn.NaN(nn.Tanh()), (2, 3), lambda m, x: np.tanh(x)),
    "Profile": (lambda: nn.Profile(nn.Tanh(), 10**6), (2, 3), lambda m, x: np.tanh(x)),
    "DontCast": (lambda: nn.DontCast(nn.Tanh()), (2, 3), lambda m, x: np.tanh(x)),
    "Convert": (lambda: nn.Convert("bchw", "bhwc"), (1, 2, 3, 2),
                lambda m, x: x.transpose(0, 2, 3, 1)),
    "DepthConcat": (
        lambda: nn.DepthConcat(1).add(nn.Identity()).add(nn.Narrow(2, 2, 2)), (2, 4),
        lambda m, x: np.concatenate([x, np.pad(x[:, 1:3], [(0, 0), (1, 1)])])),
    "MapTable": (
        lambda: table(nn.MapTable(nn.Linear(3, 2))).add(nn.JoinTable(1)), (2, 3),
        lambda m, x: (x @ m.get(2).get(1).weight.numpy().T
                      + m.get(2).get(1).bias.numpy()).reshape(-1)),
    "CMaxTable": (lambda: table(nn.CMaxTable()), (3, 4), lambda m, x: x.max(0)),
    "CMinTable": (lambda: table(nn.CMinTable()), (3, 4), lambda m, x: x.min(0)),
    "MV": (lambda: nn.Sequential().add(nn.ConcatTable().add(nn.Identity()).add(
        nn.Select(1, 1))).add(nn.MV(True)), (3, 3), lambda m, x: x.T @ x[0]),
    "NarrowTable": (lambda: table(nn.NarrowTable(2, 2)).add(nn.CAddTable()), (4, 3),
                    lambda m, x: x[1] + x[2]),
    "CAddTensorTable": (
        lambda: nn.Sequential().add(nn.ConcatTable().add(nn.Select(1, 1)).add(
            nn.SplitTable(1))).add(nn.CAddTensorTable()).add(nn.CMulTable()), (2, 3),
        lambda m, x: 2 * x[0] * (x[0] + x[1])),
    "ZipTable": (
        lambda: nn.Sequential().add(nn.ConcatTable().add(nn.SplitTable(1)).add(
            nn.SplitTable(1))).add(nn.ZipTable()).add(nn.SelectTable(2)).add(nn.CMulTable()),
        (2, 3), lambda m, x: x[1] ** 2),
    "ZipTableOneToMany": (
        lambda: nn.Sequential().add(nn.ConcatTable().add(nn.Select(1, 1)).add(
            nn.SplitTable(1))).add(nn.ZipTableOneToMany()).add(nn.SelectTable(2)).add(
                nn.CMulTable()), (2, 3), lambda m, x: x[0] * x[1]),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", MODULES)
def test_values_and_jacobians(name):
    make, shape, formula = MODULES[name]
    module, x = make(), tensor(*shape)
    y = module.forward(x)
    assert np.allclose(y.numpy(), formula(module, x.numpy()), atol=1e-8)
    if name not in ("DontCast", "Profile"):
        assert nn.Jacobian.testIO(module, x) == (0, 0)
    assert nn.Jacobian.testJacobian(module, x) < 1e-5
    for w, g in zip(*module.parameters(), strict=True):
        assert nn.Jacobian.testJacobianParameters(module, x, w, g) < 1e-5


def test_batches_are_their_samples():
    for name in ("SpatialConvolutionLocal", "SpatialDepthWiseConvolution", "SpatialCrossMapLRN",
                 "SpatialConvolutionMap", "TemporalRowConvolution", "SpatialAdaptiveMaxPooling",
                 "SpatialContrastiveNormalization", "TemporalDynamicKMaxPooling"):
        make, shape, _ = MODULES[name]
        module, x = make(), tensor(2, *shape)
        both = module.forward(x).numpy().copy()
        assert np.allclose(module.forward(x[2]).numpy(), both[1]), name


def test_connection_tables():
    assert nn.tables.full(2, 2).totable() == [[1, 1], [2, 1], [1, 2], [2, 2]]
    assert nn.tables.oneToOne(2).totable() == [[1, 1], [2, 2]]
    rows = nn.tables.random(4, 6, 2).numpy()
    assert np.array_equal(np.bincount(rows[:, 1].astype(int)), [0, *[2] * 6])
    assert sorted(rows[:4, 0]) == [1, 2, 3, 4]


def test_windows_at_random_distances():
    x = tensor(2, 7, 8)
    pool = nn.SpatialFractionalMaxPooling(2, 2, 0.6, 4).fixPoolingRegions()
    y = pool.forward(x)
    assert list(y.size()) == [2, 4, 4] and np.isin(y, x).all()
    assert nn.Jacobian.testJacobian(pool, x) < 1e-5
    deep = nn.VolumetricFractionalMaxPooling(2, 2, 2, 3, 3, 3).fixPoolingRegions()
    x = tensor(1, 5, 5, 5)
    assert list(deep.forward(x).size()) == [1, 3, 3, 3] and np.isin(deep.output, x).all()
    assert nn.Jacobian.testJacobian(deep, x) < 1e-5


def test_noise_in_training_and_in_use():
    torch.manualSeed(3)
    x = torch.ones(400, 5, 2)
    plane = nn.SpatialDropout(0.3)
    y = plane.forward(torch.ones(200, 3, 4, 4)).numpy()
    assert set(np.unique(y)) == {0, 1} and (y == y[..., :1, :1]).all() and 0.6 < y.mean() < 0.8
    plane.evaluate()
    assert np.allclose(plane.forward(torch.ones(1, 2, 3)), 0.7)
    assert np.ptp(nn.VolumetricDropout(0.5).forward(torch.ones(9, 2, 2, 2)).numpy()[0]) == 0
    noise = nn.WhiteNoise(1, 0.5)
    found = noise.forward(x).numpy()
    assert abs(found.mean() - 2) < 0.05 and abs(found.std() - 0.5) < 0.02
    assert np.array_equal(noise.backward(x, x), x)
    noise.evaluate()
    assert np.array_equal(noise.forward(x), np.full((400, 5, 2), 2))
    leaky = nn.RReLU(0.1, 0.3)
    x = torch.Tensor([-1.0] * 99 + [2])
    y = leaky.forward(x).numpy().copy()
    assert -0.3 <= y.min() < y[:-1].max() <= -0.1 and y[-1] == 2
    assert np.allclose(leaky.backward(x, torch.ones(100)).numpy()[:-1], -y[:-1])
    leaky.evaluate()
    assert np.allclose(leaky.forward(x).numpy()[0], -0.2)
    torch.manualSeed(7)
    first = nn.Dropout(0.5).forward(x).numpy().copy()
    torch.manualSeed(7)
    assert np.array_equal(nn.Dropout(0.5).forward(x), first)
    old = nn.Dropout(0.5, True)
    assert set(np.unique(old.forward(torch.ones(99)))) == {0, 1}


def test_gradients_that_are_not_those_of_the_value(capsys):
    x, g = tensor(2, 3), tensor(2, 3)
    turned = nn.GradientReversal(0.5)
    assert turned.forward(x) is x and np.allclose(turned.backward(x, g), -0.5 * g.numpy())
    assert nn.ZeroGrad().backward(x, g).sum() == 0
    penalty = nn.L1Penalty(2, True)
    penalty.forward(x)
    assert np.isclose(penalty.loss, 2 * np.abs(x.numpy()).mean())
    assert np.allclose(penalty.backward(x, g), g.numpy() + np.sign(x.numpy()) / 3)
    constant = nn.Constant(torch.Tensor([1, 2]), 1)
    assert constant.forward(x).totable() == [[1, 2]] * 2
    assert constant.backward(x, constant.output).sum() == 0
    assert nn.OneHot(3).forward(torch.Tensor([2, 3])).totable() == [[0, 1, 0], [0, 0, 1]]
    with pytest.raises(IndexError, match=r"OneHot\(3\) got numbers from 4 to 4"):
        nn.OneHot(3).forward(torch.Tensor([4]))
    shown = nn.PrintSize("here")
    shown.backward(shown.forward(x), g)
    assert capsys.readouterr().out == "here:input 2x3\nhere:gradOutput 2x3\n"
    timed = nn.Profile(nn.Tanh(), 2, "tanh")
    timed.forward(x)
    timed.forward(x)
    assert re.fullmatch(r"tanh took \d\.\d{3} seconds for 2 forward passes\n",
                        capsys.readouterr().out)
    with pytest.raises(FloatingPointError, match=r"NaN found in output of module nn\.NaN"):
        nn.NaN(nn.Log()).forward(torch.Tensor([-1]))
    kept = nn.DontCast(nn.Linear(3, 2)).float()
    assert kept.forward(x.float()).type() == "torch.FloatTensor"
    assert kept.get(1).weight.type() == "torch.DoubleTensor"


def test_rows_by_numbers():
    words = nn.LookupTable(4, 2, 2, 0.5)
    ids, g = torch.Tensor([1, 2, 1]), torch.ones(3, 2)
    norms = np.linalg.norm(words.forward(ids).numpy(), axis=1)
    assert (norms < 0.5 + 1e-6).all()
    words.backward(ids, g)
    assert words.gradWeight.totable() == [[2, 2], [0, 0], [0, 0], [0, 0]]
    before = words.weight.numpy().copy()
    words.scaleGradByFreq().accUpdateGradParameters(ids, g, 0.5)
    assert np.allclose(before - words.weight.numpy(), [[0.5, 0.5], [0, 0], [0, 0], [0, 0]])
    part = nn.PartialLinear(3, 4)
    x = tensor(2, 3)
    part.setPartition(torch.Tensor([3, 1]))
    assert np.allclose(part.forward(x), (x.numpy() @ part.weight.numpy().T)[:, [2, 0]])
    sparse = nn.SparseLinear(5, 2)
    x = torch.Tensor([[2, 0.5], [5, -1]])
    assert nn.SparseJacobian.testJacobian(sparse, x) < 1e-6
    assert nn.SparseJacobian.testJacobianParameters(
        sparse, x, sparse.weight, sparse.gradWeight) < 1e-6
    picked = nn.Index(1).forward([tensor(3, 2), torch.LongTensor([3, 3])])
    assert list(picked.size()) == [2, 2]
    pair = [tensor(2, 2), torch.ByteTensor([[0, 1], [1, 0]])]
    chosen = nn.MaskedSelect()
    assert chosen.forward(pair).totable() == [pair[0][1][2], pair[0][2][1]]
    assert chosen.backward(pair, torch.Tensor([5, 6]))[0].totable() == [[0, 5], [6, 0]]


def test_sparse_rows_of_keys_and_values():
    linear = nn.IndexLinear(6, 2, True)
    linear.reset()
    w, b = linear.weight.numpy(), linear.bias.numpy()
    keys, values = torch.LongTensor([1, 4]), torch.Tensor([0.5, 2])
    expected = 0.5 * w[0] + 2 * w[3] + b
    assert np.allclose(linear.forward([keys, values]), expected)
    linear.zeroGradParameters()
    linear.backward([keys, values], torch.Tensor([1, 3]))
    assert np.allclose(linear.gradWeight.numpy()[[0, 3]], [[0.5, 1.5], [2, 6]])
    both = linear.forward([[keys, torch.LongTensor([6])], [values, torch.Tensor([3])]])
    assert np.allclose(both, [expected, 3 * w[5] + b])
    flat = linear.forward([torch.LongTensor([1, 4, 6]), torch.Tensor([0.5, 2, 3]),
                           torch.LongTensor([2, 1])])
    assert np.allclose(flat, both)
    shrunk = nn.IndexLinear(3, 1, normalize=True)
    shrunk.weight.numpy()[:, 4] = 1
    assert shrunk.forward([torch.LongTensor([2]), torch.Tensor([4])])[1] == 1
    assert shrunk.forward([torch.LongTensor([2]), torch.Tensor([2])])[1] == 0.5


def test_centres_of_clusters():
    torch.manualSeed(2)
    x = torch.Tensor(np.concatenate([RNG.normal(m, 0.1, (30, 2)) for m in (-3, 0, 3)]))
    means = nn.Kmeans(3, 2, 1)
    means.initKmeansPlus(x)
    losses = []
    for _ in range(5):
        means.zeroGradParameters()
        means.forward(x)
        means.backward(x, means.output)
        means.updateParameters(1)
        losses.append(means.loss)
    assert losses[-1] < 3 and np.allclose(np.sort(means.weight.numpy()[:, 0]), [-3, 0, 3], atol=0.1)
    assert len(set(means.output.numpy()[:30])) == 1
    means.initRandom(x)
    assert np.isin(means.weight, x).all()


def test_orders_of_axes():
    x = tensor(2, 3, 2, 2)
    assert list(nn.Convert("bchw", "bf").forward(x).size()) == [2, 12]
    assert list(nn.Convert("chw", "f").forward(x[1]).size()) == [12]
    assert np.array_equal(nn.Convert().forward(x), x)
    assert list(nn.Convert("b", "bt").forward(tensor(3)).size()) == [3, 1]
    with pytest.raises(ValueError, match=r"Convert\('bchw', 'bt'\)"):
        nn.Convert("bchw", "bt").forward(x)


def test_modules_in_modules():
    net = nn.Sequential().add(nn.Linear(2, 3)).add(nn.Sequential().add(nn.Tanh()))
    assert len(net.listModules()) == 4 and net.findModules("nn.Tanh") == [net.get(2).get(1)]
    swapped = net.replace(lambda m: nn.ReLU() if isinstance(m, nn.Tanh) else m)
    assert swapped is net and isinstance(net.get(2).get(1), nn.ReLU)
    net.forward(tensor(4, 2))
    assert net.clearState().output.nElement() == 0
    shared = nn.MapTable(nn.Linear(2, 2))
    entries = [tensor(2), tensor(2)]
    shared.forward(entries)
    shared.zeroGradParameters()
    shared.backward(entries, [torch.ones(2), torch.ones(2)])
    before = shared.get(1).bias.numpy().copy()
    shared.updateParameters(0.5)
    assert np.allclose(shared.get(2).bias.numpy(), before - 1)
    shared.resize(1)
    assert shared.size() == 1
    taken = nn.LinearWeightNorm.fromLinear(linear := nn.Linear(3, 2))
    assert np.allclose(taken.forward(x := tensor(3)), linear.forward(x))
    line, memory = nn.Linear(2, 1), tensor(3, 2)
    start = line.weight.numpy().copy()
    line.forward(memory)
    line.backwardUpdate(memory, torch.ones(3, 1), 0.1)
    assert np.allclose(start - line.weight.numpy(), 0.1 * memory.numpy().sum(0))


def test_options_of_pools():
    x = tensor(1, 5, 5)
    assert list(nn.SpatialMaxPooling(2, 2).ceil().forward(x).size()) == [1, 3, 3]
    mean = nn.SpatialAveragePooling(3, 3, 1, 1, 1, 1).setCountExcludePad()
    assert np.isclose(mean.forward(x)[1][1][1], x.numpy()[0, :2, :2].mean())
    assert np.isclose(mean.setCountIncludePad().forward(x)[1][1][1],
                      x.numpy()[0, :2, :2].sum() / 9)
    assert nn.Padding(1, 1, 1, 9, 2).forward(torch.Tensor([1, 2, 3])).totable() == [1, 2, 9, 3]
    with pytest.raises(TypeError, match=r"Power takes pow, not 1, 2"):
        nn.Power(1, 2)


CRITERIONS = {
    "L1Cost": (nn.L1Cost, tensor(2, 3), None, lambda x, t: np.abs(x).sum()),
    "SoftMarginCriterion": (
        nn.SoftMarginCriterion, tensor(2, 3), torch.Tensor([[1, -1, 1], [-1, -1, 1]]),
        lambda x, t: np.log(1 + np.exp(-x * t)).mean()),
    "MultiLabelSoftMarginCriterion": (
        lambda: nn.MultiLabelSoftMarginCriterion(torch.Tensor([1, 2, 3])), tensor(2, 3),
        torch.Tensor([[1, 0, 1], [0, 0, 1]]),
        lambda x, t: (-np.array([1, 2, 3]) * (t * np.log(1 / (1 + np.exp(-x))) + (1 - t) * np.log(
            1 / (1 + np.exp(x))))).mean()),
    "WeightedMSECriterion": (
        lambda: nn.WeightedMSECriterion(torch.Tensor([1, 2, 3])), tensor(2, 3), tensor(2, 3),
        lambda x, t: ((x - t * [1, 2, 3]) ** 2).mean()),
    "SpatialAutoCropMSECriterion": (
        nn.SpatialAutoCropMSECriterion, tensor(1, 2, 3), tensor(1, 5, 4),
        lambda x, t: ((x - t[:, 1:3, :3]) ** 2).mean()),
    "SpatialClassNLLCriterion": (
        nn.SpatialClassNLLCriterion, tensor(1, 3, 1, 2), torch.Tensor([[[1, 3]]]),
        lambda x, t: -(x[0, 0, 0, 0] + x[0, 2, 0, 1]) / 2),
    "ClassSimplexCriterion": (
        lambda: nn.ClassSimplexCriterion(3), tensor(2, 3), torch.Tensor([1, 3]),
        lambda x, t: ((x - nn.ClassSimplexCriterion(3).simplex.numpy()[[0, 2]]) ** 2).mean()),
    "ClassNLLCriterion": (
        lambda: nn.ClassNLLCriterion(None, True, 2), tensor(3, 3), torch.Tensor([1, 2, 3]),
        lambda x, t: -(x[0, 0] + x[2, 2]) / 2),
    "BCECriterion": (
        lambda: nn.BCECriterion(torch.Tensor([1, 2])), torch.rand(3, 2), torch.rand(3, 2),
        lambda x, t: (-(t * np.log(x) + (1 - t) * np.log(1 - x)) * [1, 2]).mean()),
    "MultiMarginCriterion": (
        lambda: nn.MultiMarginCriterion(2, torch.Tensor([1, 2, 3]), 0.5), tensor(1, 3),
        torch.Tensor([2]), lambda x, t: (2 * np.maximum(
            0.5 - x[0, 1] + x[0, [0, 2]], 0) ** 2).sum() / 3),
}


@pytest.mark.parametrize("name", CRITERIONS)
def test_losses(name):
    make, x, target, formula = CRITERIONS[name]
    loss = make()
    assert np.isclose(loss.forward(x, target), formula(
        x.numpy(), None if target is None else target.numpy()), atol=1e-6)
    g, memory = loss.backward(x, target).numpy().copy(), x.numpy()
    for at in np.ndindex(memory.shape):
        kept = memory[at]
        memory[at] = kept + 1e-6
        above = loss.forward(x, target)
        memory[at] = kept - 1e-6
        assert np.isclose((above - loss.forward(x, target)) / 2e-6, g[at], atol=1e-5)
        memory[at] = kept


def test_losses_of_losses():
    x, y = torch.rand(3), torch.rand(3)
    ratio = nn.DistanceRatioCriterion()
    a, b = x.numpy(), y.numpy()
    assert np.isclose(ratio.forward([x, y]), -np.log(
        np.exp(-a) / (np.exp(-a) + np.exp(-b))).mean())
    assert np.allclose(ratio.backward([x, y])[0], (1 - 1 / (1 + np.exp(a - b))) / 3)
    several = nn.ParallelCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion(False))
    targets = [torch.zeros(3), torch.zeros(3)]
    assert np.isclose(several.forward([x, y], targets), 0.5 * (a**2).mean() + b.sum())
    gs = several.backward([x, y], targets)
    assert np.allclose(gs[0], a / 3) and np.allclose(gs[1], 1)
    squares = nn.ModuleCriterion(nn.MSECriterion(), nn.Square(), nn.Square())
    assert np.isclose(squares.forward(x, y), ((a**2 - b**2) ** 2).mean())
    assert np.allclose(squares.backward(x, y), 4 * a * (a**2 - b**2) / 3)
    corners = nn.ClassSimplexCriterion(4).simplex.numpy()
    assert np.allclose(corners @ corners.T, np.where(np.eye(4), 1, -1 / 3))
    best = nn.ClassSimplexCriterion(4).getTopPrediction(torch.Tensor(corners[[2, 0]]))
    assert best.totable() == [3, 1]
    with pytest.raises(ValueError, match="larger than its target"):
        nn.SpatialAutoCropMSECriterion().forward(torch.rand(1, 3, 3), torch.rand(1, 2, 2))


def test_training_by_samples(capsys):
    torch.manualSeed(1)
    samples = [(x := torch.randn(2), torch.Tensor([x[1] - x[2]])) for _ in range(20)]
    trainer = nn.StochasticGradient(nn.Linear(2, 1), nn.MSECriterion())
    seen = []
    trainer.learningRate, trainer.maxIteration, trainer.learningRateDecay = 0.1, 10, 0.01
    trainer.hookIteration = lambda self, number, error: seen.append((number, error))
    assert trainer.train(samples) < 1e-3 and [n for n, _ in seen] == list(range(1, 11))
    assert seen[-1][1] < seen[0][1] and capsys.readouterr().out.count("current error") == 10


@pytest.mark.parametrize(("made", "plain"), [
    ("ReLU(True)", "ReLU()"), ("ReLU6(True)", "ReLU6()"), ("ELU(1, True)", "ELU(1)"),
    ("LeakyReLU(True)", "LeakyReLU()"), ("LeakyReLU(0.1, True)", "LeakyReLU(0.1)"),
    ("Threshold(0, 0, True)", "Threshold(0, 0)"), ("MulConstant(2, True)", "MulConstant(2)"),
    ("AddConstant(2, inplace=True)", "AddConstant(2)"), ("HardTanh(-1, 1, True)", "HardTanh()"),
    ("Identity(3, 4)", "Identity()")])
def test_that_the_input_may_be_overwritten_changes_no_result(made, plain):
    x = torch.Tensor([[-2.0, 0.5, 3.0]])
    one, other = (eval(f"nn.{text}") for text in (made, plain))
    assert (np.asarray(one.forward(x)) == np.asarray(other.forward(x))).all()
    assert np.asarray(x).tolist() == [[-2.0, 0.5, 3.0]]
