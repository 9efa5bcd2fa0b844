"""PyTorch's paths, and names that its programs use most often of those that NumPy has otherwise."""

from __future__ import annotations

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
