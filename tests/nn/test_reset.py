"""Layers whose parameters begin anew."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

LAYERS = {
    "Linear": lambda: nn.Linear(3, 4, bias=False), "Bilinear": lambda: nn.Bilinear(2, 3, 4),
    "Conv2d": lambda: nn.Conv2d(4, 6, (2, 3), padding=1, groups=2),
    "ConvTranspose1d": lambda: nn.ConvTranspose1d(2, 4, 3, groups=2),
    "Embedding": lambda: nn.Embedding(5, 3, padding_idx=1),
    "EmbeddingBag": lambda: nn.EmbeddingBag(5, 3, mode="sum"),
    "LSTM": lambda: nn.LSTM(2, 3, 2, bidirectional=True), "GRUCell": lambda: nn.GRUCell(2, 3),
    "BatchNorm2d": lambda: nn.BatchNorm2d(3, momentum=None),
    "GroupNorm": lambda: nn.GroupNorm(2, 4),
    "LayerNorm": lambda: nn.LayerNorm((2, 3)), "RMSNorm": lambda: nn.RMSNorm(3),
    "InstanceNorm1d": lambda: nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
    "PReLU": lambda: nn.PReLU(2, 0.1),
    "AdaptiveLogSoftmaxWithLoss": lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 8, [3]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_parameters_are_those_of_a_new_layer(name):
    layer = LAYERS[name]()
    held = dict(layer.named_parameters()) | dict(layer.named_buffers())
    for tensor in held.values():
        tensor.detach().fill_(9)
    ag.manual_seed(3)
    layer.reset_parameters()
    ag.manual_seed(3)
    fresh = LAYERS[name]()
    for k, expected in (dict(fresh.named_parameters()) | dict(fresh.named_buffers())).items():
        assert np.array_equal(held[k].detach().numpy(), expected.detach().numpy()), k
        assert held[k].requires_grad == expected.requires_grad
    assert layer.double().reset_parameters() is None
    assert all(v.dtype in (ag.float64, ag.int64) for v in layer.state_dict().values())


def test_subclasses_and_whole_models():
    class Small(nn.Linear):
        def __init__(self, size):
            super().__init__(size, 1)

        def reset_parameters(self):
            super().reset_parameters()
            nn.init.zeros_(self.bias)

    layer = Small(3)
    layer.weight.detach().fill_(7)
    layer.reset_parameters()
    assert layer.bias.numpy() == 0 and (np.abs(layer.weight.numpy()) < 1).all()
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Sequential(nn.BatchNorm1d(2)))
    model(ag.ones(4, 2))
    model.apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
    assert model[2][0].running_mean.numpy().tolist() == [0, 0]
    model(ag.ones(4, 2))
    model[2][0].reset_running_stats()
    assert int(model[2][0].num_batches_tracked) == 0
    assert nn.GRU(1, 1).flatten_parameters() is None
    nn.BatchNorm1d(2, track_running_stats=False).reset_running_stats()


def test_there_is_no_accelerator():
    assert not ag.accelerator.is_available() and ag.accelerator.current_accelerator() is None
