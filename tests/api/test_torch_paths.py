"""PyTorch's paths, and names that its programs use most often of those that NumPy has otherwise."""

from __future__ import annotations

import copy
import importlib
from typing import Any, Final

import numpy as np
import pytest

import agnesi as ag
import agnesi.utils.data
from agnesi import nn
from agnesi.utils.checkpoint import checkpoint
from agnesi.utils.data import DataLoader, Dataset, TensorDataset


def test_paths_lead_to_the_same_classes():
    assert agnesi.utils.data.DataLoader is DataLoader is ag.data.DataLoader
    assert ag.utils.data.Dataset is Dataset and checkpoint is ag.checkpoint
    pairs = DataLoader(TensorDataset(ag.arange(4), ag.arange(4) * 2), batch_size=2)
    assert [y.numpy().tolist() for _, y in pairs] == [[0, 2], [4, 6]]
    with pytest.raises(AttributeError, match=r"module 'agnesi\.utils' has no attribute 'nothing'"):
        _ = ag.utils.nothing


def test_elements_and_slices_are_repeated():
    x = ag.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for found in (ag.repeat_interleave(x, 2, dim=0), x.repeat_interleave(2, 0),
                  x.repeat_interleave(ag.tensor([2, 2]), dim=0, output_size=4)):
        assert found.detach().numpy().tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert x.repeat_interleave(2).detach().numpy().tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    (x.repeat_interleave(3, dim=1) * ag.arange(6.0)).sum().backward()
    assert x.grad.numpy().tolist() == [[3, 12], [3, 12]]
    assert ag.jit(lambda v: v.repeat_interleave(2, dim=1))(x).shape == (2, 4)


def test_products_with_sparse_coordinates():
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]], np.float32)
    places = np.nonzero(dense)
    sparse = ag.sparse_coo_tensor(ag.tensor(np.array(places)), ag.tensor(dense[places]), (2, 3))
    x = ag.tensor(np.arange(6, dtype=np.float32).reshape(3, 2), requires_grad=True)
    y = ag.spmm(sparse, x)
    assert np.array_equal(y.detach().numpy(), dense @ x.detach().numpy())
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), np.outer(dense.sum(0), [1, 1]))


def test_modules_change_their_dtype_and_stay_where_they_are():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()
    assert {p.dtype for p in model.parameters()} == {ag.float64}
    assert model.type(ag.float32)[0].weight.dtype == ag.float32 and model.cpu() is model
    assert model[1].num_batches_tracked.dtype == ag.int64
    with pytest.raises(AttributeError, match="there is one device"):
        model.cuda()


@pytest.mark.parametrize("compiled", [False, True])
def test_softplus_ends_where_it_is_told(compiled):
    x = ag.tensor([-1.0, 0.5, 1.2, 4.0], requires_grad=True)
    soft = nn.Softplus(2.0, 2.0)
    y = (ag.jit(soft) if compiled else soft)(x)
    v = np.array([-1.0, 0.5, 1.2, 4.0])
    assert np.allclose(y.detach().numpy(), np.where(2 * v > 2, v, np.log1p(np.exp(2 * v)) / 2))
    slopes = ag.grad(lambda x: soft(x).sum())(x.detach()).numpy()
    assert np.allclose(slopes, np.where(2 * v > 2, 1, 1 / (1 + np.exp(-2 * v))))


PATHS = """
    nn.parameter:Parameter nn.modules:Module nn.modules.module:Module nn.modules.loss:MSELoss
    nn.modules.batchnorm:_BatchNorm nn.utils.clip_grad:clip_grad_norm_ optim.adamw:AdamW
    nn.utils.convert_parameters:parameters_to_vector optim.lr_scheduler:_LRScheduler
    autograd.variable:Variable distributions.normal:Normal distributions.kl:kl_divergence
    distributions.categorical:Categorical distributions.distribution:Distribution
    utils.data.dataset:Dataset utils.data.dataloader:DataLoader utils.data.sampler:Sampler
    nn.modules.utils:_pair nn.modules.instancenorm:_InstanceNorm nn.modules.loss:_WeightedLoss
    nn.modules.conv:_ConvNd
""".split()


def test_paths_of_single_classes():
    for line in PATHS:
        path, name = line.split(":")
        found = importlib.import_module(f"agnesi.{path}")
        source = importlib.import_module("agnesi." + {"nn.utils": "nn.utils", "utils.data": "data"}
                                         .get(".".join(path.split(".")[:2]), path.split(".")[0]))
        if path != "optim.lr_scheduler":
            assert getattr(found, name) is getattr(source, name), line
            assert name in dir(found) or name.startswith("_")
    assert ag.distributions.categorical.Categorical is ag.distributions.Categorical
    assert isinstance(nn.BatchNorm2d(3), nn.modules.batchnorm._BatchNorm)
    assert issubclass(ag.optim.lr_scheduler.StepLR, ag.optim.lr_scheduler._LRScheduler)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = ag.distributions.normal.Nothing


def test_modules_of_which_only_calls_are_refused():
    for line in ("hub:load_state_dict_from_url", "utils.model_zoo:load_url", "onnx:export",
                 "multiprocessing:spawn", "nn.parallel:DistributedDataParallel"):
        path, name = line.split(":")
        found = getattr(importlib.import_module(f"agnesi.{path}"), name)
        assert not isinstance(ag.ones(2), found)
        with pytest.raises(NotImplementedError, match=rf"no agnesi.{path}.{name}; use `ag"):
            found("x")
    assert importlib.import_module("agnesi.multiprocessing").Queue is not None
    dlpack = importlib.import_module("agnesi.utils.dlpack")
    x = ag.arange(3.0)
    shared = dlpack.from_dlpack(dlpack.to_dlpack(x))
    x[0] = 5
    assert shared.tolist() == [5, 1, 2] and ag.utils.dlpack is dlpack
    jit = ag.jit(lambda x: x if ag.jit.is_scripting() or ag.jit.is_tracing() else 2 * x)
    assert jit(ag.ones(1)).item() == ag.jit.annotate(float, 2.0)
    assert ag.jit.ignore(drop=True)(jit) is ag.jit.unused(jit) is jit
    jit_module = importlib.import_module("agnesi.jit")
    assert jit_module is ag.jit and jit_module.Final[bool] == Final[bool]


def test_siblings_are_not_each_others_subclasses():
    for line in ("BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm", "Dropout Dropout1d Dropout2d",
                 "ConstantPad1d ConstantPad2d", "ReflectionPad1d ReflectionPad2d",
                 "Softmax LogSoftmax",
                 "AlphaDropout FeatureAlphaDropout", "Unfold Fold", "ZeroPad1d ZeroPad2d",
                 "LocalResponseNorm CrossMapLRN2d"):
        kinds = [getattr(nn, name) for name in line.split()]
        assert all(a is b or not issubclass(a, b) for a in kinds for b in kinds), line
    assert issubclass(ag.nn.ReLU6, ag.nn.Hardtanh) and issubclass(ag.nn.ZeroPad2d,
                                                                  ag.nn.ConstantPad2d)


def test_what_computed_a_tensor_and_copies_of_its_data():
    w = ag.ones(2, requires_grad=True)

    def copied(x):
        (w * x).sum().backward()
        made = copy.deepcopy(w.grad.data).mul_(3)
        w.grad = None
        return made, 1.0 if w.grad_fn is None and (w * x).grad_fn is not None else 0.0

    for run in (copied, ag.jit(copied)):
        made, told = run(ag.tensor([1.0, 2.0]))
        assert made.tolist() == [3, 6] and told == 1
    with pytest.raises(ag.TraceError, match="deepcopy"):  # which would share memory
        ag.jit(lambda x: copy.deepcopy([x[:1], x[1:]])[0])(ag.ones(2))


def test_an_axis_by_place_that_stays_in_pytorchs_word_is_pytorchs():
    x = ag.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])
    for run in (lambda f: f(x), lambda f: ag.jit(f)(x)):
        for call in (lambda x: ag.max(x, 1, keepdim=True), lambda x: x.max(1, keepdim=True),
                     lambda x: x.max(axis=1, keepdim=True)):
            values, places = run(call)
            assert values.numpy().tolist() == [[5], [7]] and places.numpy().tolist() == [[1], [0]]
        assert run(lambda x: x.max(axis=1, keepdims=True)).numpy().tolist() == [[5], [7]]
        assert run(lambda x: ag.median(x, 1, keepdim=True)).values.shape == (2, 1)
        assert run(lambda x: ag.sum(x, 1, keepdim=True)).shape == (2, 1)
        with pytest.raises(TypeError, match="write correction=1 or correction=0"):
            run(lambda x: x.std(1, keepdim=True))


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "mode"])
def test_numpys_words_beside_pytorchs(name):
    """As in PyTorch itself: a program that says ``dim`` or ``input`` may say ``keepdims``."""
    x = ag.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]])
    f = getattr(ag, name)
    values, places = f(x, dim=1, keepdim=True)
    calls = [lambda: f(x, dim=1, keepdims=True), lambda: f(input=x, dim=1, keepdims=True),
             lambda: getattr(x, name)(dim=1, keepdims=True)]
    if name.endswith("median"):
        calls.append(lambda: f(input=x, axis=1, keepdims=True))
    for call in calls:
        found = call()
        assert found[0].tolist() == values.tolist() and found[1].tolist() == places.tolist()
    assert ag.sort(input=x, axis=0).indices.tolist() == [[0, 1, 0], [1, 0, 1]]


def test_gradients_of_any_iterable_of_tensors():
    net = nn.ParameterList([ag.ones(2), ag.ones(3)])
    found = ag.autograd.grad(sum((p ** 2).sum() for p in net), net, only_inputs=True)
    assert [g.numpy().tolist() for g in found] == [[2, 2], [2, 2, 2]]
    assert len(ag.autograd.grad(net[0].sum(), (p for p in net), allow_unused=True)) == 2
    assert ag.linspace(0, 1, steps=3).numpy().tolist() == [0, 0.5, 1]


def test_words_for_how_memory_lies_change_nothing():
    x = ag.ones((1, 3, 2, 2))
    for word in (ag.channels_last, ag.contiguous_format, ag.preserve_format, ag.channels_last_3d):
        assert x.to(memory_format=word) is x and x.contiguous(memory_format=word) is x
        assert x.clone(memory_format=word).shape == x.shape
        assert ag.empty_like(x, memory_format=word).shape == x.shape
    assert nn.Conv2d(3, 2, 1).to(memory_format=ag.channels_last)(x).shape == (1, 2, 2, 2)


def test_what_has_no_gradient_is_detached_in_compiled_functions():
    w = ag.ones(2, requires_grad=True)

    @ag.jit
    def step(x):
        with ag.no_grad():
            y = w * x
        return (y.detach_() * w).sum()

    assert step(ag.ones(2)).item() == 2
    with pytest.raises(ag.GradientError, match="write x = x"):
        ag.jit(lambda x: (x * w).detach_())(ag.ones(2))


def test_factors_of_lu_are_taken_apart():
    a = np.random.default_rng(0).normal(size=(2, 3, 4))
    for run in (lambda f: f, ag.jit):
        p, low, up = run(lambda a: ag.lu_unpack(*ag.linalg.lu_factor(a)))(ag.tensor(a))
        np.testing.assert_allclose((p @ low @ up).numpy(), a, 1e-12)
    with pytest.raises(ag.ShapeError, match="no exchanges of rows"):
        ag.lu_unpack(ag.tensor(a), ag.tensor([0, 1]))


def _module(name: str) -> Any:
    """A module that has the library under a name."""
    source = (f"import agnesi as {name}\ndef get(x, *key): return x[key]\n"
              "def put(x, value, *key):\n    y = x * 1\n    y[key] = value\n    return y\n")
    made: dict[str, Any] = {}
    exec(compile(source, f"a_{name}_module.py", "exec"), made)
    return made


def test_numbers_among_lists_of_indices_come_first_in_pytorchs_modules() -> None:
    """NumPy counts them among the lists, so that ``x[0, :, [0, 1]]`` has the chosen axis in front;
    calls that come again do not take one meaning for the other."""
    torch, numpy = _module("torch"), _module("ag")
    x = ag.arange(24).reshape(2, 3, 4)
    data, every = x.numpy(), slice(None)
    for places in (ag.tensor([0, 3]), [0, 3], np.array([0, 3])):
        for _ in range(20):
            assert np.array_equal(torch["get"](x, 0, every, places), data[0][:, [0, 3]])
            assert np.array_equal(numpy["get"](x, 0, every, places), data[0, :, [0, 3]])
        for index in (0, ag.tensor(0)):
            found = torch["put"](x, ag.tensor([[7, 8]] * 3), index, every, places)
            assert found[0][:, [0, 3]].tolist() == [[7, 8]] * 3
        assert numpy["put"](x, ag.tensor([[7] * 3, [8] * 3]), 0, every, places)[0, 1].tolist() == [
            7, 5, 6, 8]
    for module, shape in ((torch, (3, 2)), (numpy, (2, 3))):
        compiled = ag.jit(lambda x, i, get=module["get"]: get(x, 0, every, i))
        assert compiled(x, ag.tensor([0, 3])).shape == shape
    mask = ag.tensor([1, 0], dtype="uint8")
    for _ in range(20):
        assert torch["get"](x, mask).shape == (1, 3, 4)
        assert numpy["get"](x, mask).shape == (2, 3, 4)
