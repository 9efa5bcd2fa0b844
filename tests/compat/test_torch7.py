"""Programs in Torch7's words: storages, results that come first, modules, optim, image."""

from __future__ import annotations

import copy
import importlib.util
import pickle

import numpy as np
import pytest
import scipy.signal

from agnesi.compat import torch7 as torch
from agnesi.compat.torch7 import image, nn, optim
from agnesi.compat.torch7.maths import FUNCTIONS

RNG = np.random.default_rng(0)


def tensor(*shape):
    return torch.Tensor(RNG.standard_normal(shape))


# -- the paper's listings ------------------------------------------------------------------------
def test_tensors_of_several_types():
    t = torch.FloatTensor(10, 10).fill(2)
    l = torch.randn(10, 10)  # noqa: E741
    r = t + l / 2
    before = r.clone()
    r.add(0.5, t)
    assert np.array_equal(r.numpy(), before.numpy() + 1)
    r = torch.log(torch.exp(-r) + 10)
    assert r.type() == "torch.DoubleTensor"

    tfloat = torch.FloatTensor(10).fill(1.5)
    tdouble = tfloat.double()
    r = torch.FloatTensor(tdouble.size())
    r.copy(tdouble)
    assert r.type() == "torch.FloatTensor" and r.sum() == 15


def test_products_into_tensors_that_are_there():
    x, y = torch.Tensor(10, 50), torch.Tensor(50, 30)
    z = torch.mm(x, y)
    assert repr(z.size()) == " 10\n 30\n[torch.LongStorage of size 2]"
    z = torch.Tensor(10, 30)
    memory = z.storage().data
    torch.mm(z, x, y)
    assert z.storage().data is memory

    x = torch.rand(100)
    tsin = torch.sin(x)
    x.add(1)
    torch.sin(tsin, x)
    assert np.array_equal(tsin.numpy(), np.sin(x.numpy()))
    tc = torch.FloatTensor(4, 10, 10).fill(2).cuda()
    tc.mul(3)
    assert tc.float().max() == 6
    torch.setnumthreads(torch.getnumthreads())


def test_a_network_and_its_three_functions():
    mlp = nn.Sequential()
    mlp.add(nn.Linear(10, 100))
    mlp.add(nn.Tanh())
    mlp.add(nn.Linear(100, 10))
    mlp.add(nn.SoftMax())
    loss = nn.MSECriterion()
    X, T = tensor(4, 10), tensor(4, 10)
    Y = mlp.updateOutput(X)
    E = loss.updateOutput(Y, T)
    dE_dY = loss.updateGradInput(Y, T)
    dE_dX = mlp.updateGradInput(X, dE_dY)
    mlp.zeroGradParameters()
    mlp.accGradParameters(X, dE_dY)
    assert np.isclose(E, ((Y.numpy() - T.numpy()) ** 2).mean())
    before = dE_dX.numpy().copy()
    memory = mlp.gradInput.storage().data
    mlp.backward(X, dE_dY, 0.5)
    assert mlp.gradInput.storage().data is memory and np.allclose(mlp.gradInput.numpy(), before)
    _, grads = mlp.parameters()
    once = nn.Sequential().add(mlp)
    kept = grads[0].clone()
    once.zeroGradParameters()
    once.forward(X)
    once.backward(X, dE_dY)
    assert np.allclose(kept.numpy(), 1.5 * grads[0].numpy())


def test_training_by_a_closure():
    torch.manualSeed(1)
    mlp = nn.Sequential().add(nn.Linear(2, 8)).add(nn.Tanh()).add(nn.Linear(8, 1))
    criterion = nn.MSECriterion()
    x, dl_dx = mlp.getParameters()
    inputs = torch.randn(40, 2)
    targets = torch.Tensor(np.prod(inputs.numpy(), 1, keepdims=True))

    def feval(_):
        dl_dx.zero()
        loss = criterion.forward(mlp.forward(inputs), targets)
        mlp.backward(inputs, criterion.backward(mlp.output, targets))
        return loss, dl_dx

    first = feval(x)[0]
    for method, state, steps in (
            (optim.sgd, {"learningRate": 0.05, "momentum": 0.9, "learningRateDecay": 1e-3}, 30),
            (optim.adam, {"learningRate": 0.01}, 30), (optim.rmsprop, {"learningRate": 0.003}, 30),
            (optim.adagrad, {"learningRate": 0.01}, 30), (optim.adadelta, {"rho": 0.9}, 30),
            (optim.rprop, {"stepsize": 0.001}, 10)):
        start = feval(x)[0]
        for _ in range(steps):
            same, losses = method(feval, x, state)
        assert same is x and len(losses) == 1 and feval(x)[0] < start
    _, losses = optim.lbfgs(feval, x, {"maxIter": 20})
    assert losses[-1] < losses[0] and len(losses) > 2
    assert feval(x)[0] < 0.05 * first
    _, _, average = optim.asgd(feval, x, {"eta0": 0.01})
    assert average.nElement() == x.nElement()


# -- tensors and storages -------------------------------------------------------------------
def test_views_share_a_storage():
    x = torch.Tensor(4, 6).zero()
    x.select(1, 2).fill(1)
    x.narrow(2, 3, 2).add(10)
    assert x[2][3] == 11 and x[1][3] == 10 and x[2][1] == 1
    x.sub(1, 2, 1, 2).mul(2)
    x.t().select(1, 6).fill(7)
    assert x[4][6] == 7 and x[2][1] == 2
    assert x.t().storage() is x.storage() and not x.t().isContiguous()
    assert list(x.stride()) == [6, 1] and x.select(1, 3).storageOffset() == 13
    s = torch.Tensor([1.0, 2, 3, 4, 5])
    assert s.unfold(1, 3, 1).numpy().tolist() == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert s.view(5, 1).expand(5, 2).numpy().tolist()[1] == [2, 2]
    y = torch.Tensor().set(s)
    y[1] = 9
    assert s[1] == 9
    z = torch.Tensor().set(s.storage(), 2, [2, 2])
    assert z.numpy().tolist() == [[2, 3], [4, 5]]
    memory = s.storage().data
    s.resize(2, 2)
    assert s.storage().data is memory and s.numpy().tolist() == [[9, 2], [3, 4]]
    s.resize(10)
    assert s[1] == 9 and y[1] == 9 and s.nElement() == 10
    with pytest.raises(ValueError, match="not contiguous"):
        x.t().view(24)
    assert [list(row.size()) for row in x] == [[6]] * 4
    x[[1, [2, 3]]] = 5
    assert x[1][2] == x[1][3] == 5
    byte = torch.ByteTensor(1).fill(255)
    assert byte.add(2)[1] == 1


ONE = {name: (lambda n: (tensor(n, n),)) for name in (
    "abs", "ceil", "cos", "exp", "floor", "neg", "sin", "sigmoid", "tanh", "round", "sign",
    "cumsum", "cumprod", "tril", "triu", "inverse", "atan", "cinv")}
TWO = {name: (lambda n: (tensor(n, n), tensor(n, n))) for name in (
    "add", "csub", "cmul", "cdiv", "mm", "cmax", "cmin", "atan2", "conv2")}
MIXED = {"add": lambda n: (tensor(n, n), 0.5, tensor(n, n)), "mul": lambda n: (tensor(n, n), 2),
         "div": lambda n: (tensor(n, n), 2), "pow": lambda n: (torch.rand(n, n), 3),
         "clamp": lambda n: (tensor(n, n), -1, 1), "mv": lambda n: (tensor(n, n), tensor(n)),
         "ger": lambda n: (tensor(n), tensor(n)), "sum": lambda n: (tensor(n, n), 1),
         "mean": lambda n: (tensor(n, n), 2), "xcorr2": lambda n: (tensor(n, n), tensor(2, 2), "F"),
         "lt": lambda n: (tensor(n, n), 0.2), "addmm": lambda n: (
             tensor(n, n), tensor(n, n), tensor(n, n))}


@pytest.mark.parametrize(("name", "make"), [*ONE.items(), *TWO.items(), *MIXED.items()])
def test_every_function_writes_into_a_tensor_that_comes_first(name, make):
    args = make(4)
    function = FUNCTIONS[name]
    expected = function(*args)
    target = torch.Tensor(expected.size())
    memory = target.storage().data
    assert function(target, *args) is target
    assert np.allclose(target.numpy(), expected.numpy())
    assert target.storage().data is memory
    grown = torch.Tensor(1)
    assert np.allclose(function(grown, *args).numpy(), expected.numpy())
    whole = torch.Tensor(8, 8).zero()  # an operand that lies on the target's memory
    if name in TWO and name not in ("conv2",):
        a = whole.sub(1, 4, 1, 4).copy(args[0])
        expected = function(a.clone(), args[1])
        assert np.allclose(function(a, a, args[1]).numpy(), expected.numpy())


def test_methods_change_the_tensor():
    x, y = tensor(3), tensor(3)
    a = x.clone()
    assert np.allclose(a.add(y).numpy(), x.numpy() + y.numpy())
    assert np.allclose(a.copy(x).cmul(y).numpy(), x.numpy() * y.numpy())
    assert np.allclose(a.add(x, 2, y).numpy(), x.numpy() + 2 * y.numpy())
    assert np.allclose(a.sin(x).numpy(), np.sin(x.numpy()))
    assert np.allclose(a.copy(x).addcmul(2, x, y).numpy(), x.numpy() * (1 + 2 * y.numpy()))
    assert a.fill(2).pow(3)[1] == 8 and a.apply(lambda v: v / 2)[3] == 4
    m = tensor(3, 3)
    assert np.allclose(a.mv(m, x).numpy(), m.numpy() @ x.numpy())
    assert np.isclose(x * y, x.numpy() @ y.numpy()) and np.isclose(x.norm(), np.linalg.norm(x))
    _, places = torch.max(m, 1)
    assert np.array_equal(places.numpy(), m.numpy().argmax(0)[None] + 1)
    ordered, at = torch.sort(x, 1, True)
    assert ordered[1] == x.max() and x[int(at[1])] == x.max()
    assert np.isclose(x.std(), x.numpy().std(ddof=1))


def test_constructors_and_linear_algebra():
    assert torch.range(1, 5).numpy().tolist() == [1, 2, 3, 4, 5]
    assert sorted(torch.randperm(5).numpy()) == [1, 2, 3, 4, 5]
    assert torch.linspace(0, 1, 3)[2] == 0.5 and torch.eye(2)[2][2] == 1
    assert list(torch.cat(tensor(2, 3), tensor(2, 3), 1).size()) == [4, 3]
    assert torch.reshape(torch.range(1, 4), 2, 2)[2][1] == 3
    a, b = tensor(4, 4), tensor(4, 2)
    u, s, v = torch.svd(a)
    assert np.allclose((u.numpy() * s.numpy()) @ v.numpy().T, a.numpy())
    x, _ = torch.gesv(b, a)
    assert np.allclose(a.numpy() @ x.numpy(), b.numpy())
    assert np.allclose(torch.gels(b, a).numpy(), x.numpy())
    e, vectors = torch.symeig(a + a.t(), "V")
    assert np.allclose((a + a.t()).numpy() @ vectors.numpy(), vectors.numpy() * e.numpy())
    try:
        torch.setdefaulttensortype("torch.FloatTensor")
        assert torch.rand(2).type() == "torch.FloatTensor" == torch.getdefaulttensortype()
    finally:
        torch.setdefaulttensortype("torch.DoubleTensor")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = torch.nothing


@pytest.mark.parametrize("mode", ["V", "F"])
def test_convolutions(mode):
    x, k = tensor(6, 7), tensor(3, 2)
    full = {"V": "valid", "F": "full"}[mode]
    assert np.allclose(torch.conv2(x, k, mode), scipy.signal.convolve2d(x, k, full))
    assert np.allclose(torch.xcorr2(x, k, mode), scipy.signal.correlate2d(x, k, full))
    planes, filters = tensor(2, 6, 7), tensor(3, 2, 3, 2)
    each = sum(scipy.signal.convolve2d(planes[i + 1], filters.numpy()[1, i], full)
               for i in range(2))
    assert np.allclose(torch.conv2(planes, filters, mode)[2], each)
    x, k = tensor(4, 5, 6), tensor(2, 3, 2)
    assert np.allclose(torch.conv3(x, k, mode), scipy.signal.convolve(x, k, full))
    assert np.allclose(torch.xcorr3(x, k, mode), scipy.signal.correlate(x, k, full))


# -- modules --------------------------------------------------------------------------------------
MODULES = [
    (lambda: nn.Linear(3, 4), (2, 3)), (lambda: nn.Add(3), (3,)), (lambda: nn.Mul(), (2, 3)),
    (lambda: nn.CMul(3), (2, 3)), (lambda: nn.CAdd(3), (2, 3)), (lambda: nn.Euclidean(3, 2), (3,)),
    (lambda: nn.WeightedEuclidean(3, 2), (3,)), (lambda: nn.Cosine(3, 2), (3,)),
    (lambda: nn.PReLU(), (2, 3)), (lambda: nn.SpatialConvolution(2, 3, 2, 3), (2, 5, 4)),
    (lambda: nn.SpatialConvolutionMM(2, 3, 2, 2, 2, 2, 1, 1), (1, 2, 4, 5)),
    (lambda: nn.SpatialFullConvolution(2, 3, 2, 2, 2, 2), (2, 3, 3)),
    (lambda: nn.TemporalConvolution(3, 2, 2), (5, 3)),
    (lambda: nn.VolumetricConvolution(2, 2, 2, 2, 2), (2, 3, 3, 3)),
    (lambda: nn.SpatialSubSampling(2, 2, 2, 2, 2), (2, 4, 4)),
    (lambda: nn.SpatialMaxPooling(2, 2), (2, 4, 4)),
    (lambda: nn.SpatialAveragePooling(2, 2), (2, 4, 4)),
    (lambda: nn.SpatialLPPooling(2, 2, 2, 2), (2, 4, 4)),
    (lambda: nn.TemporalMaxPooling(2), (4, 3)),
    (lambda: nn.VolumetricMaxPooling(2, 2, 2), (1, 2, 4, 4)),
    (lambda: nn.SpatialZeroPadding(1, 0, 2, 1), (2, 3, 3)),
    (lambda: nn.BatchNormalization(3), (5, 3)), (lambda: nn.Tanh(), (2, 3)),
    (lambda: nn.Sigmoid(), (2, 3)), (lambda: nn.SoftMax(), (2, 3)),
    (lambda: nn.LogSoftMax(), (2, 3)),
    (lambda: nn.SoftMin(), (3,)), (lambda: nn.SoftPlus(), (2, 3)), (lambda: nn.SoftSign(), (2, 3)),
    (lambda: nn.LogSigmoid(), (2, 3)), (lambda: nn.HardTanh(), (2, 3)), (lambda: nn.Abs(), (2, 3)),
    (lambda: nn.HardShrink(), (2, 3)), (lambda: nn.SoftShrink(), (2, 3)),
    (lambda: nn.ELU(), (2, 3)),
    (lambda: nn.Threshold(0.1), (2, 3)), (lambda: nn.Square(), (2, 3)), (lambda: nn.Exp(), (2, 3)),
    (lambda: nn.Power(3), (2, 3)), (lambda: nn.Max(1), (2, 3)), (lambda: nn.Min(2), (2, 3)),
    (lambda: nn.Mean(1), (2, 3)), (lambda: nn.Sum(2), (2, 3)), (lambda: nn.Reshape(3, 2), (2, 3)),
    (lambda: nn.View(6), (2, 3)), (lambda: nn.Select(1, 2), (2, 3)), (lambda: nn.Copy(), (2, 3)),
    (lambda: nn.Narrow(2, 2, 2), (2, 3)), (lambda: nn.Replicate(3), (2, 3)),
    (lambda: nn.Transpose((1, 2)), (2, 3)), (lambda: nn.Padding(1, 2), (2, 3)),
    (lambda: nn.Normalize(2), (2, 3)), (lambda: nn.Identity(), (2, 3)),
    (lambda: nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2)), (2, 3)),
    (lambda: nn.Concat(2).add(nn.Linear(3, 2)).add(nn.Linear(3, 4)), (2, 3)),
    (lambda: nn.Parallel(1, 1).add(nn.Linear(3, 2)).add(nn.Linear(3, 1)), (2, 3)),
    (lambda: nn.Sequential().add(nn.ConcatTable().add(nn.Linear(3, 2)).add(nn.Linear(3, 2))).add(
        nn.CMulTable()), (2, 3)),
    (lambda: nn.Sequential().add(nn.SplitTable(1)).add(nn.ParallelTable().add(nn.Linear(3, 2)).add(
        nn.Tanh())).add(nn.JoinTable(1)), (2, 3)),
    (lambda: nn.Sequential().add(nn.ConcatTable().add(nn.Identity()).add(nn.Linear(3, 3))).add(
        nn.CDivTable()), (2, 3)),
    (lambda: nn.Sequential().add(nn.SplitTable(1)).add(nn.DotProduct()), (2, 3)),
    (lambda: nn.Sequential().add(nn.SplitTable(1)).add(nn.CosineDistance()), (2, 3)),
    (lambda: nn.Sequential().add(nn.SplitTable(1)).add(nn.PairwiseDistance()), (2, 3)),
]


@pytest.mark.share(12)
@pytest.mark.parametrize(("make", "shape"), MODULES)
def test_jacobians_of_modules(make, shape):
    module, x = make(), torch.Tensor(*shape)
    assert nn.Jacobian.testJacobian(module, x) < 1e-5
    for w, g in zip(*module.parameters(), strict=True):
        assert nn.Jacobian.testJacobianParameters(module, x, w, g) < 1e-5
        assert nn.Jacobian.testJacobianUpdateParameters(module, x, w) < 1e-5
    if getattr(module, "weight", None) is not None:
        errors = nn.Jacobian.testAllUpdate(module, x, "weight", "gradWeight")
        assert len(errors) == 4 and max(errors.values()) < 1e-9, errors
    assert nn.Jacobian.testIO(module, x, -1, 1) == (0, 0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_look_into_their_own_storage(copied):
    x = torch.Tensor(2, 3).fill(1)
    y = copied(x)
    y.fill(2)
    assert y.storage()[1] == 2 and y.select(1, 1)[1] == 2 and x.storage()[1] == 1
    net = nn.Sequential().add(nn.Linear(3, 2))
    one, other = copied(net), copied(net)
    other.share(one, "weight")
    one.get(1).weight.fill(3)
    assert other.get(1).weight[1][1] == 3 and net.get(1).weight[1][1] != 3


def test_a_planted_error_is_found():
    class Wrong(nn.Module):
        def updateOutput(self, input):  # noqa: N802
            self.output = input * 2
            return self.output

        def updateGradInput(self, input, gradOutput):  # noqa: N802
            self.gradInput = gradOutput * 2.1
            return self.gradInput

    assert nn.Jacobian.testJacobian(Wrong(), torch.Tensor(3)) > 0.05


def test_lookups_take_numbers_from_one():
    table = nn.LookupTable(5, 3)
    ids = torch.Tensor([1, 5, 1])
    y = table.forward(ids)
    assert np.array_equal(y[1], table.weight[1]) and np.array_equal(y[2], table.weight[5])
    table.backward(ids, torch.ones(3, 3))
    assert table.gradWeight[1].numpy().tolist() == [2, 2, 2] and table.gradWeight[2].sum() == 0
    sparse = nn.SparseLinear(4, 2)
    y = sparse.forward(torch.Tensor([[2, 0.5], [4, 2.0]]))
    w = sparse.weight.numpy()
    assert np.allclose(y, w[:, 1] * 0.5 + w[:, 3] * 2 + sparse.bias.numpy())


def test_flat_parameters_are_views_and_shared_ones_are_there_once():
    mlp = nn.Sequential().add(nn.Linear(3, 3)).add(nn.Linear(3, 3))
    mlp.get(2).share(mlp.get(1), "weight", "gradWeight")
    w, g = mlp.getParameters()
    assert w.nElement() == g.nElement() == 9 + 3 + 3
    w.zero()
    assert mlp.get(1).weight.sum() == 0 == mlp.get(2).bias.sum()
    again, _ = mlp.getParameters()
    again.fill(1)
    assert mlp.get(2).weight.sum() == 9
    copied = mlp.clone()
    copied.get(1).weight.fill(5)
    assert mlp.get(1).weight.sum() == 9
    tied = mlp.clone("weight")
    tied.get(1).weight.fill(2)
    assert mlp.get(1).weight.sum() == 18
    single = mlp.clone().float()
    assert single.forward(torch.FloatTensor(2, 3)).type() == "torch.FloatTensor"
    single.get(1).weight.fill(3)
    assert single.get(2).weight[1][1] == 3


@pytest.mark.parametrize(("criterion", "inputs", "target"), [
    (nn.MSECriterion(), (2, 3), tensor(2, 3)), (nn.AbsCriterion(), (2, 3), tensor(2, 3)),
    (nn.SmoothL1Criterion(), (2, 3), tensor(2, 3)), (nn.BCECriterion(), "p", torch.rand(2, 3)),
    (nn.ClassNLLCriterion(), (2, 3), torch.Tensor([1, 3])),
    (nn.ClassNLLCriterion(torch.rand(3)), (2, 3), torch.Tensor([1, 3])),
    (nn.CrossEntropyCriterion(), (2, 3), torch.Tensor([2, 3])),
    (nn.DistKLDivCriterion(), (2, 3), torch.rand(2, 3)),
    (nn.MarginCriterion(), (4,), torch.Tensor([1, -1, 1, -1])),
    (nn.MultiMarginCriterion(), (2, 3), torch.Tensor([1, 3])),
    (nn.MultiLabelMarginCriterion(), (4,), torch.Tensor([2, 4, 0, 0])),
    (nn.HingeEmbeddingCriterion(), (3,), torch.Tensor([1, -1, -1])),
    (nn.MultiCriterion().add(nn.MSECriterion(), 0.5).add(nn.AbsCriterion()), (3,), tensor(3)),
])
def test_gradients_of_criterions(criterion, inputs, target):
    x = torch.rand(2, 3) if inputs == "p" else tensor(*inputs)
    for average in (True, False):
        criterion.sizeAverage = average
        criterion.forward(x, target)
        g = criterion.backward(x, target).numpy().copy()
        for at in np.ndindex(g.shape):
            kept, values = x.numpy()[at], []
            for step in (1e-6, -1e-6):
                x.numpy()[at] = kept + step
                values.append(criterion.forward(x, target))
            x.numpy()[at] = kept
            assert np.isclose((values[0] - values[1]) / 2e-6, g[at], atol=1e-5)


def test_criterions_of_pairs():
    pair = [tensor(3), tensor(3)]
    ranking = nn.MarginRankingCriterion(0.1)
    assert np.isclose(ranking.forward(pair, 1), np.maximum(
        0.1 - (pair[0].numpy() - pair[1].numpy()), 0).mean())
    assert len(ranking.backward(pair, 1)) == 2
    for criterion in (nn.CosineEmbeddingCriterion(), nn.L1HingeEmbeddingCriterion(5)):
        for t in (1, -1):
            assert criterion.forward(pair, t) >= 0
            assert [list(g.size()) for g in criterion.backward(pair, t)] == [[3], [3]]
    table = nn.CriterionTable(nn.MSECriterion())
    assert table.forward(pair) == nn.MSECriterion().forward(*pair)


def test_modules_behave_differently_in_use():
    drop, x = nn.Dropout(0.5), torch.ones(1000)
    assert 300 < (drop.forward(x).numpy() == 0).sum() < 700
    drop.evaluate()
    assert np.array_equal(drop.forward(x), x)
    bn = nn.BatchNormalization(2)
    bn.forward(tensor(50, 2))
    bn.evaluate()
    one = bn.forward(torch.Tensor(1, 2).zero())
    assert np.isfinite(one.numpy()).all()
    lin = nn.Linear(2, 2)
    before = lin.weight.clone()
    lin.zeroGradParameters()
    lin.forward(x := tensor(3, 2))
    lin.backward(x, g := tensor(3, 2))
    lin.updateParameters(0.1)
    assert np.allclose(lin.weight.numpy(), before.numpy() - 0.1 * g.numpy().T @ x.numpy())
    lin.weight.copy(before)
    lin.accUpdateGradParameters(x, g, 0.1)
    assert np.allclose(lin.weight.numpy(), before.numpy() - 0.1 * g.numpy().T @ x.numpy())


def test_diagonal_hessians():
    nn.hessian.enable()
    mlp = nn.Sequential().add(nn.Linear(3, 4)).add(nn.Tanh()).add(nn.Linear(4, 2))
    x, t = tensor(3), tensor(2)
    loss = nn.MSECriterion()
    y = mlp.forward(x)
    h = loss.updateDiagHessianInput(y, t)
    assert np.allclose(h.numpy(), 1.0)
    mlp.initDiagHessianParameters()
    mlp.backwardDiagHessian(x, h)
    w3 = mlp.get(3).weight.numpy()
    assert np.allclose(mlp.get(3).diagHessianWeight.numpy(), mlp.get(2).output.numpy()[None] ** 2)
    slope = 1 - mlp.get(2).output.numpy() ** 2
    inner = (w3**2).sum(0) * slope**2
    assert np.allclose(mlp.get(1).diagHessianBias.numpy(), inner)
    assert np.allclose(mlp.diagHessianInput.numpy(), inner @ mlp.get(1).weight.numpy() ** 2)
    assert nn.Jacobian.testDiagHessian(
        nn.Linear(3, 2), x, lambda x, h, m=None: nn.Linear(3, 2).updateDiagHessianInput(x, h)) > 0
    assert np.allclose(nn.AbsCriterion().updateDiagHessianInput(y, t).numpy(), 0, atol=1e-6)


def test_optim_to_the_end_and_confusions():
    def rosenbrock(x):
        a, b = x.numpy()
        g = torch.Tensor([-400 * a * (b - a * a) - 2 * (1 - a), 200 * (b - a * a)])
        return 100 * (b - a * a) ** 2 + (1 - a) ** 2, g

    for method in (optim.cg, optim.lbfgs):
        x, losses = method(rosenbrock, torch.Tensor([-1.2, 1.0]), {"maxIter": 300})
        assert losses[-1] < 1e-8 and np.allclose(x.numpy(), 1, atol=1e-3)
    confusion = optim.ConfusionMatrix(3)
    confusion.batchAdd([1, torch.Tensor([0, 5, 1]), 3], [1, 2, 1])
    confusion.updateValids()
    assert np.isclose(confusion.totalValid, 2 / 3) and confusion.mat[0, 2] == 1


def test_images(tmp_path):
    picture = torch.rand(3, 8, 8)
    for there, back in ((image.rgb2yuv, image.yuv2rgb), (image.rgb2hsv, image.hsv2rgb)):
        assert np.allclose(back(there(picture)), picture, atol=1e-9)
    turned = picture
    for _ in range(4):
        turned = image.rotate(turned, np.pi / 2)
    assert np.allclose(turned, picture) and not np.allclose(image.rotate(picture, np.pi), picture)
    assert np.array_equal(image.hflip(image.hflip(picture)), picture)
    assert np.array_equal(image.vflip(picture)[1], picture.numpy()[0, ::-1])
    assert list(image.scale(picture, 4, 6).size()) == [3, 6, 4]
    assert np.allclose(image.scale(picture, "8x8"), picture)
    assert np.array_equal(image.crop(picture, 1, 2, 4, 7), picture.numpy()[:, 2:7, 1:4])
    moved = image.translate(picture, 2, -1).numpy()
    assert np.array_equal(moved[:, :7, 2:], picture.numpy()[:, 1:, :6]) and not moved[:, 7].any()
    kernel = image.gaussian(3, normalize=True)
    assert np.isclose(kernel.sum(), 1) and abs(image.laplacian(5).sum()) < 1e-9
    assert list(image.convolve(picture, kernel, "same").size()) == [3, 8, 8]
    if importlib.util.find_spec("PIL"):
        image.save(str(tmp_path / "p.png"), picture)
        assert np.allclose(image.load(str(tmp_path / "p.png")), picture, atol=0.5 / 255 + 1e-9)


def test_packages_are_there_without_an_import() -> None:
    from agnesi.compat import torch7

    assert callable(torch7.optim.sgd) and callable(torch7.image.scale) and "nn" in dir(torch7)
