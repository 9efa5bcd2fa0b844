"""Torch7's functions of tensors, random numbers, ``image`` and ``optim`` beside formulas."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from agnesi.compat import torch7 as torch
from agnesi.compat.torch7 import image, nn, optim
from agnesi.compat.torch7.maths import FUNCTIONS

RNG = np.random.default_rng(4)
pillow = pytest.mark.skipif(not importlib.util.find_spec("PIL"), reason="needs Pillow")


def tensor(*shape):
    return torch.Tensor(RNG.standard_normal(shape))


def whole(*shape):
    return torch.IntTensor(RNG.integers(1, 50, shape))


def positive(n):
    a = RNG.standard_normal((n, n))
    return torch.Tensor(a @ a.T + np.eye(n))


A, B, V, W = tensor(3, 4), tensor(3, 4), tensor(4), tensor(3)
M, N = whole(3, 4), whole(3, 4)
BATCH, OTHER = tensor(2, 3, 4), tensor(2, 4, 5)
PLACES = torch.LongTensor([[1, 2, 1, 3], [3, 3, 2, 1]])

# Each: arguments, and what NumPy gives for their arrays.
CASES = {
    "mod": ((A, 0.3), lambda a, b: np.fmod(a, b)), "cmod": ((A, B), np.fmod),
    "cfmod": ((A, B), np.fmod), "cremainder": ((A, B), np.mod),
    "lshift": ((M, 2), lambda a, b: a << b), "rshift": ((M, 2), lambda a, b: a >> b),
    "clshift": ((M, whole(3, 4).fill(1)), lambda a, b: a << b), "crshift": (
        (A, B.clone().fill(2)), lambda a, b: a / 2**b),
    "bitand": ((M, 6), lambda a, b: a & b), "cbitand": ((M, N), np.bitwise_and),
    "bitor": ((M, 6), lambda a, b: a | b), "cbitor": ((M, N), np.bitwise_or),
    "bitxor": ((M, 6), lambda a, b: a ^ b), "cbitxor": ((M, N), np.bitwise_xor),
    "addcmul": ((A, 2, A, B), lambda x, v, a, b: x + v * a * b),
    "addcdiv": ((A, B, B), lambda x, a, b: x + a / b),
    "lerp": ((A, B, 0.3), lambda a, b, w: a + w * (b - a)),
    "addmv": ((2, W, 3, A, V), lambda s, m, t, a, b: s * m + t * (a @ b)),
    "addr": ((A, W, V), lambda m, a, b: m + np.outer(a, b)),
    "addbmm": ((0.5, tensor(3, 5), BATCH, OTHER), lambda s, m, a, b: s * m + (a @ b).sum(0)),
    "baddbmm": ((tensor(2, 3, 5), 2, BATCH, OTHER), lambda m, t, a, b: m + t * (a @ b)),
    "addmm": ((tensor(3, 3), A, B.t()), lambda m, a, b: m + a @ b),
    "renorm": ((A, 2, 1, 0.5), lambda a, p, d, n: a * np.minimum(
        1, n / np.linalg.norm(a, axis=1, keepdims=True))),
    "index": ((A, 2, torch.LongTensor([4, 1])), lambda a, d, i: a[:, [3, 0]]),
    "gather": ((A, 1, PLACES), lambda a, d, i: np.take_along_axis(a, i - 1, 0)),
    "maskedSelect": ((A, torch.gt(A, 0)), lambda a, m: a[m == 1]),
    "nonzero": ((torch.gt(A, 0),), lambda a: np.argwhere(a) + 1),
    "bhistc": ((A, 3, -1, 1), lambda a, n, x, y: np.stack(
        [np.histogram(r, n, (x, y))[0] for r in a])),
    "match": ((A, B, 2), lambda a, b, g: g * ((a[:, None] - b) ** 2).sum(-1)),
    "cat": ((A, B, 1), lambda a, b, d: np.concatenate([a, b])),
    "std": ((A, 1, True), lambda a, d, f: a.std(0, keepdims=True)),
    "var": ((A, 2), lambda a, d: a.var(1, ddof=1, keepdims=True)),
    "trtrs": ((tensor(3, 2), positive(3), "L"), lambda b, a, u: scipy.linalg.solve_triangular(
        a, b, lower=True)),
    "potrs": ((tensor(3, 2), torch.Tensor(np.triu(RNG.random((3, 3)) + 1))),
              lambda b, u: np.linalg.solve(u.T @ u, b)),
    "potri": ((torch.Tensor(np.tril(RNG.random((3, 3)) + 1)), "L"),
              lambda u, s: np.linalg.inv(u @ u.T)),
    "potrf": ((positive(3), "L"), lambda a, s: np.linalg.cholesky(a)),
    "gels": ((tensor(5, 2), tensor(5, 3)), lambda b, a: np.linalg.lstsq(a, b, rcond=None)[0]),
}


def arrays(xs):
    return [x.numpy() if torch.isTensor(x) else x for x in xs]


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
def test_functions_and_their_destinations(name):
    args, formula = CASES[name]
    expected = np.asarray(formula(*arrays(args)))
    function = FUNCTIONS[name]
    assert np.allclose(function(*args), expected), name
    target = torch.Tensor(1) if expected.dtype.kind == "f" else torch.LongTensor(1)
    found = function(target, *args)
    assert np.allclose(target, expected) and (
        found is target or name not in ("index", "gather", "cat", "addmm"))
    memory = target.storage().data
    function(target, *args)
    assert target.storage().data is memory


def test_orders():
    x = torch.Tensor([[3, 1, 2, 2], [0, 5, 4, 4]])
    values, places = torch.kthvalue(x, 2)
    assert values.totable() == [[2], [4]] and places.totable() == [[3], [3]]
    assert torch.median(x)[0].totable() == [[2], [4]]
    assert torch.mode(x)[0].totable() == [[2], [4]]
    values, places = torch.topk(x, 2, 2, True, True)
    assert values.totable() == [[3, 2], [5, 4]] and places.totable() == [[1, 3], [2, 3]]
    into = torch.Tensor(), torch.LongTensor()
    torch.topk(*into, x, 1)
    assert into[0].totable() == [[1], [0]] and into[1].totable() == [[2], [1]]
    assert not torch.all(torch.eq(x, 1)) and torch.any(torch.eq(x, 1))


def test_changes_at_numbers_and_masks():
    x = torch.Tensor(3, 4).zero()
    x.indexFill(2, torch.LongTensor([1]), 5).indexAdd(1, torch.LongTensor([2, 2]), torch.ones(2, 4))
    assert x.totable() == [[5, 0, 0, 0], [7, 2, 2, 2], [5, 0, 0, 0]]
    x.indexCopy(1, torch.LongTensor([3, 1]), torch.Tensor([[1, 1, 1, 1], [2, 2, 2, 2]]))
    assert x.totable() == [[2] * 4, [7, 2, 2, 2], [1] * 4]
    x.maskedFill(torch.eq(x, 2), 0).maskedCopy(torch.eq(x, 1), torch.range(1, 4))
    assert x.totable() == [[0] * 4, [7, 0, 0, 0], [1, 2, 3, 4]]
    y = torch.zeros(3, 4).scatter(1, PLACES, A)
    assert np.array_equal(y.gather(1, PLACES)[2], A[2])
    assert torch.zeros(2, 2).scatter(2, torch.LongTensor([[2], [1]]), 9).totable() == [
        [0, 9], [9, 0]]


def test_views_and_what_they_are():
    x = torch.range(1, 24).view(2, 3, 4)
    assert list(x.permute(3, 1, 2).size()) == [4, 2, 3] and x.permute(3, 1, 2)[2][1][3] == 10
    assert [list(p.size()) for p in x.split(2, 2)] == [[2, 2, 4], [2, 1, 4]]
    assert [list(p.size()) for p in x.chunk(2, 3)] == [[2, 3, 2]] * 2
    x.split(2, 2)[1].fill(0)
    assert x[1][3].sum() == 0
    assert x.isSize(torch.LongStorage([2, 3, 4])) and x.isSetTo(torch.Tensor().set(x))
    assert torch.range(1, 24).viewAs(x).size() == x.size() and x.elementSize() == 8
    s = torch.Storage([1.0, 2, 3, 4, 5, 6])
    assert torch.Tensor(s, 2, 2, 3, 2, 1).totable() == [[2, 3], [5, 6]]
    assert torch.Tensor(s, 1, torch.LongStorage([2, 2])).totable() == [[1, 2], [3, 4]]
    t = torch.Tensor(torch.LongStorage([2, 3]), torch.LongStorage([1, 2])).fill(1)
    assert list(t.stride()) == [1, 2] and t.sum() == 6
    y = x[1][1].clone().map2(x[1][2], x[2][1], lambda a, b, c: a + b * c)
    assert np.array_equal(y, x.numpy()[0, 0] + x.numpy()[0, 1] * x.numpy()[1, 0])
    assert x.equal(x.clone()) and not torch.equal(x, x[1])
    assert torch.typename(x) == "torch.DoubleTensor" and torch.isStorage(s)
    assert torch.isTypeOf(x, "torch.DoubleTensor") and torch.typename(3) is None
    assert torch.totable(torch.Tensor([1, 2])) == [1, 2] and s.totable()[5] == 6
    both = torch.cat([torch.ones(2), torch.zeros(1)])
    assert both.totable() == [1, 1, 0] and torch.numel(both) == 3


def test_matrices():
    a = positive(4)
    u = torch.potrf(a)
    assert np.allclose(u.t() * u, a.numpy()) and np.allclose(np.tril(u.numpy(), -1), 0)
    root, order = torch.pstrf(a)
    p = order.numpy() - 1
    assert np.allclose((root.t() * root).numpy(), a.numpy()[np.ix_(p, p)])
    m = tensor(4, 3)
    reflections, scales = torch.geqrf(m)
    q = torch.orgqr(reflections, scales)
    assert np.allclose((q * torch.triu(reflections.narrow(1, 1, 3).contiguous())).numpy(), m)
    assert np.allclose(torch.ormqr(reflections, scales, m, "L", "T").numpy()[3], 0)
    left = torch.ormqr(reflections, scales, torch.eye(4))
    assert np.allclose(torch.ormqr(reflections, scales, torch.eye(4), "R"), left)
    turn = torch.Tensor([[0.0, -2], [2, 0]])
    e, v = torch.eig(turn, "V")
    assert np.allclose(np.sort(e.numpy()[:, 1]), [-2, 2]) and np.allclose(e.numpy()[:, 0], 0)
    k = 0 if e[1][2] > 0 else 1
    both = v.numpy()[:, k] + 1j * v.numpy()[:, k + 1]
    assert np.allclose(turn.numpy() @ both, 2j * both)
    u, s, v = torch.svd(m, "A")
    assert list(u.size()) == [4, 4] and np.allclose((u.numpy()[:, :3] * s.numpy()) @ v.numpy().T, m)
    x, lu = torch.Tensor(), torch.Tensor()
    torch.gesv(x, lu, W.view(3, 1), positive(3))
    assert list(x.size()) == [3, 1] and list(lu.size()) == [3, 3]
    assert np.allclose(torch.symeig(torch.triu(a)), np.linalg.eigvalsh(a))


def test_random_numbers():
    torch.manualSeed(5)
    assert torch.initialSeed() == 5
    kept = torch.getRNGState()
    first = torch.rand(3).numpy()
    torch.setRNGState(kept)
    assert np.array_equal(torch.rand(3), first)
    own = torch.Generator()
    torch.manualSeed(own, 3)
    one = torch.uniform(own, 2, 3)
    torch.manualSeed(own, 3)
    assert 2 <= one == torch.uniform(own, 2, 3) and torch.initialSeed(own) == 3
    x = torch.Tensor(4000)
    for name, args, mean in (("exponential", (2,), 0.5), ("logNormal", (2, 1), 2),
                             ("geometric", (0.25,), 4), ("normal", (1, 2), 1),
                             ("random", (3,), 2), ("bernoulli", (0.3,), 0.3)):
        assert abs(getattr(x, name)(*args).mean() - mean) < 0.1 * mean + 0.1, name
        assert isinstance(getattr(torch, name)(*args), (int, float))
    assert abs(np.median(x.cauchy(3, 1).numpy()) - 3) < 0.2
    assert isinstance(torch.seed(), int)
    torch.manualSeed(1)
    draws = torch.multinomial(torch.Tensor([[0, 3, 1], [1, 0, 0]]), 400, True).numpy()
    assert set(draws[0]) == {2, 3} and set(draws[1]) == {1}
    assert abs((draws[0] == 2).mean() - 0.75) < 0.1
    assert sorted(torch.multinomial(torch.ones(3), 3)) == [1, 2, 3]
    state = torch.multinomialAliasSetup(torch.Tensor([1.0, 2, 5]))
    found = torch.multinomialAlias(torch.LongTensor(8000), state).numpy()
    assert np.allclose(np.bincount(found)[1:] / 8000, [0.125, 0.25, 0.625], atol=0.03)


def test_the_share_of_names():
    path = Path(__file__).parents[2] / "tools/torch7_names.py"
    spec = importlib.util.spec_from_file_location("torch7_names", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert all(tool.standing(place, n) for place, names in tool.listed().items() for n in names)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page()


def test_clocks():
    timer = torch.Timer()
    torch.tic()
    spent = timer.stop().time()
    assert spent["real"] >= 0 and timer.time() == spent and torch.toc() >= 0
    assert timer.resume().time()["real"] >= spent["real"]
    assert timer.reset().time()["real"] < 5


def test_optimizers_that_came_later():
    def bowl(x):
        return ((x.numpy() - [1, 2]) ** 2).sum(), torch.Tensor(2 * (x.numpy() - [1, 2]))

    for method, config in ((optim.adamax, {"learningRate": 0.1}),
                           (optim.nag, {"learningRate": 0.02}),
                           (optim.sgd, {"learningRate": 0.2, "weightDecays": torch.zeros(2)})):
        x = torch.zeros(2)
        for _ in range(200):
            method(bowl, x, config)
        assert np.allclose(x, [1, 2], atol=1e-3), method
    x = torch.zeros(2)
    optim.adamax(bowl, x, {})
    assert np.allclose(x, [0.002, 0.002])
    with pytest.raises(ValueError, match="nag: momentum is a positive number"):
        optim.nag(bowl, x, {"momentum": 0})
    off, g, near = optim.checkgrad(bowl, torch.ones(2))
    assert off < 1e-6 and np.allclose(g, near, atol=1e-5)
    x = torch.zeros(2)
    value, g = bowl(x)
    low, slope, same, t, count = optim.lswolfe(bowl, x, 0.1, -g, value, g, -(g * g))
    assert same is x and low < value and count >= 1
    assert np.allclose(x, -t * g.numpy()) and np.allclose(slope, bowl(x)[1])
    assert np.isclose(optim.polyinterp([[0, 1, -2], [2, 1, 2]]), 1)


def test_searches_without_gradients():
    torch.manualSeed(2)

    def valley(x):
        a, b = x.numpy()
        return 100 * (b - a * a) ** 2 + (1 - a) ** 2

    x, history, count = optim.cmaes(valley, torch.zeros(2), {"sigma": 0.5, "ftarget": 1e-10})
    assert np.allclose(x, 1, atol=1e-4) and history[-1] == min(history) and count < 4000
    x, history = optim.de(valley, torch.zeros(2), {"maxFEs": 4000, "minRegion": -2, "maxRegion": 2})
    assert np.allclose(x, 1, atol=1e-3) and len(history) == 4000
    a, b = RNG.standard_normal((8, 4)), RNG.standard_normal(8)

    def smooth(x, what=None):
        off = a @ x.numpy() - b
        return (0.5 * off @ off, torch.Tensor(a.T @ off)) if what else 0.5 * off @ off

    def shrink(x, size):
        x.copy(torch.Tensor(np.sign(x.numpy()) * np.maximum(np.abs(x.numpy()) - 0.5 / size, 0)))

    x, history = optim.FistaLS(smooth, lambda x: 0.5 * x.norm(1), shrink, torch.zeros(4),
                               {"maxiter": 300, "errthres": 1e-12})
    slope = a.T @ (a @ x.numpy() - b)  # the conditions of the lasso's optimum
    assert np.all(np.abs(slope) <= 0.5 + 1e-4) and history[-1]["F"] < history[0]["F"]
    moved = x.numpy() != 0
    assert np.allclose(slope[moved], -0.5 * np.sign(x.numpy()[moved]), atol=1e-3)


def test_records(tmp_path):
    logger = optim.Logger(str(tmp_path / "logs" / "a.log")).setNames(["train", "test"])
    logger.add([1.5, 2])
    logger.add({"test": 1, "train": 0.5})
    lines = (tmp_path / "logs" / "a.log").read_text().splitlines()
    assert lines[0] == "train\ttest\t" and [float(v) for v in lines[2].split()] == [0.5, 1]
    counts = optim.ConfusionMatrix(["cat", "dog"])
    counts.batchAdd([1, 1, 2, 2], [1, 2, 2, 2])
    far, frr = counts.farFrr()
    assert np.allclose(far, [1 / 3, 0]) and np.allclose(frr, [0, 1 / 3])
    assert "global correct: 75%" in repr(counts) and np.isclose(
        counts.averageUnionValid, (1 / 2 + 2 / 3) / 2)
    if importlib.util.find_spec("matplotlib"):
        logger.plot()
        counts.render(tmp_path / "c.png")
        assert (tmp_path / "logs" / "a.log.png").stat().st_size > 0 < (
            tmp_path / "c.png").stat().st_size


def test_colours():
    picture = torch.rand(3, 4, 5)
    for there, back in ((image.rgb2hsl, image.hsl2rgb), (image.rgb2lab, image.lab2rgb)):
        assert np.allclose(back(there(picture)), picture, atol=1e-6)
    target = torch.Tensor()
    assert image.rgb2nrgb(target, picture) is target
    assert np.allclose(target.sum(1), 1, atol=1e-4)
    lab = image.rgb2lab(torch.Tensor([[[1.0, 1]], [[1, 0]], [[1, 0]]])).numpy()[:, 0]
    assert np.allclose(lab[:, 0], [100, 0, 0], atol=0.01)
    assert np.allclose(lab[:, 1], [53.24, 80.09, 67.2], atol=0.05)  # CIE's red
    jet = image.jetColormap(8).numpy()
    assert np.allclose(jet[[0, 3, 7]], [[0, 0, 1], [0.5, 1, 0.5], [0.5, 0, 0]])
    assert np.allclose(image.y2jet(torch.Tensor([[1, 8]])).numpy()[:, 0, 1], jet[7])
    assert image.colormap(5).numpy().min() >= 0 and list(image.colormap(5).size()) == [5, 3]
    x = torch.Tensor([-1, 0, 3])
    assert image.minmax(x).totable() == [0, 0.25, 1]
    assert np.allclose(image.minmax(x, symm=True), [1 / 3, 0.5, 1])
    assert image.minmax(x, 0, 1, saturate=True, inplace=True).totable() == [0, 0, 1]


def test_places_of_images():
    picture = torch.rand(2, 5, 5)
    x = picture.numpy()
    assert np.allclose(image.warp(picture, torch.zeros(2, 5, 5)), x)
    shift = torch.Tensor(np.stack([np.ones((5, 5)), np.zeros((5, 5))]))
    assert np.allclose(image.warp(picture, shift).numpy()[:, :4], x[:, 1:])
    padded = image.warp(picture, shift, "bilinear", True, "pad", 7).numpy()
    assert np.allclose(padded[:, 4], 7) and np.allclose(padded[:, :4], x[:, 1:])
    rows, columns = np.indices((5, 5))
    assert np.allclose(image.warp(picture, torch.Tensor(np.stack([columns, rows])), "simple",
                                  False), x.swapaxes(1, 2))
    turn = torch.Tensor([[0.0, 1], [1, 0]])
    assert np.allclose(image.affinetransform(picture, turn), x.swapaxes(1, 2))
    assert np.array_equal(image.flip(picture, 1), x[::-1])
    assert np.array_equal(image.crop(picture, "c", 3, 3), x[:, 1:4, 1:4])
    assert np.array_equal(image.crop(picture, "br", 2, 1), x[:, 4:, 3:])
    target = torch.Tensor(2, 3, 4)
    assert image.scale(target, picture) is target and list(target.size()) == [2, 3, 4]
    assert [list(image.scale(picture, s).size())[1:] for s in ("10", "^10", "*2", "*/5")] == [
        [10, 10], [10, 10], [10, 10], [1, 1]]
    with pytest.raises(ValueError, match="interpolation 'lanczos' is none of"):
        image.warp(picture, shift, "lanczos")
    disc = torch.Tensor(np.hypot(*(np.indices((9, 9)) - 4))[None])
    rays = image.polar(disc, "bilinear").numpy()[0]
    assert np.ptp(rays, 0).max() < 0.3 and np.allclose(rays[0], np.arange(9) / 2, atol=0.01)
    assert np.ptp(image.logpolar(disc, "bilinear").numpy()[0], 0).max() < 0.3


def test_filters_of_images():
    g = image.gaussian1D(5, 0.25, 2)
    assert g[3] == 2 and np.isclose(g[2], 2 * np.exp(-0.5 / 1.25**2))
    picture = torch.rand(1, 8, 8)
    levels = image.gaussianpyramid(picture, [1, 0.5])
    assert np.array_equal(levels[0], picture) and list(levels[1].size()) == [1, 4, 4]
    flat = image.lcn(torch.ones(6, 6))
    assert np.allclose(flat, 0, atol=1e-6)
    dot = torch.zeros(5, 5)
    dot[[3, 3]] = 1
    grown = image.dilate(dot)
    assert grown.sum() == 9 and np.array_equal(image.erode(grown), dot)
    line = torch.Tensor([[1, 1, 0]])
    assert np.array_equal(np.argwhere(image.dilate(dot, line).numpy()), [[2, 2], [2, 3]])


@pillow
def test_files_and_drawings(tmp_path):
    picture = torch.rand(3, 6, 7)
    assert np.allclose(image.decompressPNG(image.compressPNG(picture)), picture, atol=0.002)
    assert list(image.decompressJPG(image.compressJPG(picture, 90)).size()) == [3, 6, 7]
    for name in ("a.png", "a.ppm", "a.jpg"):
        image.save(tmp_path / name, picture)
        assert image.getSize(tmp_path / name).totable() == [3, 6, 7]
    assert np.allclose(image.load(tmp_path / "a.ppm"), picture, atol=0.002)
    assert image.load(tmp_path / "a.png", 1, "byte").type() == "torch.ByteTensor"
    assert image.is_supported("PNG") and not image.is_supported("gif")
    boxed = image.drawRect(torch.zeros(3, 6, 7), 2, 2, 4, 5).numpy()
    assert boxed[0].sum() == 10 and not boxed[1:].any() and boxed[0, 1, 1] == 1
    told = image.drawText(torch.zeros(3, 20, 40), "hi", 3, 3, {"color": (0, 255, 0)}).numpy()
    assert told[1].max() > 0.9 and not told[0].any()
    grid = image.toDisplayTensor([torch.rand(3, 2, 2) for _ in range(5)], 1, 3)
    assert list(grid.size()) == [3, 6, 9] and grid.min() == 0 and grid.max() == 1
    if importlib.util.find_spec("matplotlib"):
        image.display([picture], tmp_path / "d.png")
        assert (tmp_path / "d.png").stat().st_size > 0


@pytest.mark.parametrize("call, told", [
    (lambda x: x[7], r"x\[...\]: 7 is out of range for dimension 1, whose numbers run from 1 to 3"),
    (lambda x: x.__setitem__(5, 1), "5 is out of range for dimension 1"),
    (lambda x: x[0], "0 is no index: numbers run from 1"),
    (lambda x: x.size(3), "Tensor.size: dimension 3 is out of range: there are 2"),
    (lambda x: x.max(3), "max: dimension 3 is out of range: there are 2, counted from 1"),
    (lambda x: torch.sum(x, 3), "sum: dimension 3 is out of range"),
    (lambda x: x.index(1, torch.LongTensor([5])), "index: 5 is out of range for dimension 1"),
    (lambda x: x.dot(torch.Tensor(4)), r"dot\(DoubleTensor of 3x4, DoubleTensor of 4\): they must"),
    (lambda x: torch.mv(x, torch.Tensor(3)), r"mv\(DoubleTensor of 3x4, DoubleTensor of 3\)"),
    (lambda x: nn.Select(1, 9).forward(x),
     r"Select.forward\(DoubleTensor of 3x4\): 9 is out of range for dimension 1"),
    (lambda x: nn.JoinTable(3).forward([x, x]),
     r"JoinTable.forward\(.*\): dimension 3 is out of range"),
    (lambda x: nn.CAddTable().forward(x),
     r"CAddTable.forward\(DoubleTensor of 3x4\): CAddTable takes a table"),
])
def test_mistakes_are_told_in_numbers_from_1_and_at_the_users_line(call, told):
    with pytest.raises((IndexError, TypeError, ValueError),
                       match=f"(?s){told}.*\n  at .*test_torch7_functions"):
        call(torch.Tensor(3, 4))


def test_draws_take_a_chance_for_each_place():
    assert torch.Tensor(2).bernoulli(torch.Tensor([0, 1])).array.tolist() == [0, 1]
    np.testing.assert_allclose(torch.Tensor(2).normal(torch.Tensor([1, 9]), 1e-9).array, [1, 9])


def test_errors_of_the_users_functions_stay_theirs():
    def failing(value):
        raise ValueError("my shape is wrong")

    module = nn.Identity()
    module.updateOutput = failing
    x = torch.ones(2)
    for call in (lambda: x.apply(failing), lambda: x.map(x, lambda a, b: failing(a)),
                 lambda: module.forward(x)):
        with pytest.raises(ValueError, match=r"^my shape is wrong"):
            call()
