"""What layers tell of themselves, by PyTorch's names and in its form."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn


def pools(rank: int) -> list[tuple[nn.Module, dict[str, Any]]]:
    twos, none = (2,) * rank, (0,) * rank
    one = rank == 1  # as in PyTorch
    most = getattr(nn, f"MaxPool{rank}d")(2), {"stride": 2, "padding": 0, "ceil_mode": False}
    mean = getattr(nn, f"AvgPool{rank}d")(2), {
        "stride": twos if one else 2, "padding": none if one else 0, "ceil_mode": False}
    norms = getattr(nn, f"LPPool{rank}d")(3, 2, ceil_mode=True)
    back = getattr(nn, f"MaxUnpool{rank}d")(2)
    return [most, mean, (norms, {"norm_type": 3, "ceil_mode": True}),
            (back, {"kernel_size": twos, "stride": twos, "padding": none})]


def convolutions(rank: int) -> list[tuple[nn.Module, dict[str, Any]]]:
    ones, none, twos = (1,) * rank, (0,) * rank, (2,) * rank
    forth = getattr(nn, f"Conv{rank}d")(2, 4, 3)
    back = getattr(nn, f"ConvTranspose{rank}d")(2, 4, 3, stride=2, output_padding=1)
    usual = {"padding": none, "dilation": ones, "kernel_size": (3,) * rank}
    return [(forth, {**usual, "stride": ones, "output_padding": none, "transposed": False}),
            (back, {**usual, "stride": twos, "output_padding": ones, "transposed": True})]


def others() -> list[tuple[nn.Module, dict[str, Any]]]:
    return [
        (nn.RNN(2, 3, nonlinearity="relu"), {"nonlinearity": "relu", "mode": "RNN_RELU"}),
        (nn.RNNCell(2, 3), {"nonlinearity": "tanh"}),
        (nn.Embedding(5, 2, padding_idx=-1), {"padding_idx": 4, "max_norm": None}),
        (nn.EmbeddingBag(5, 2), {"max_norm": None, "norm_type": 2.0, "include_last_offset": False,
                                 "scale_grad_by_freq": False}),
        (nn.ReLU6(), {"min_val": 0.0, "max_val": 6.0}),
        (nn.Upsample(scale_factor=2), {"align_corners": None}),
        (nn.BatchNorm1d(2), {"num_batches_tracked": 0}),
        (nn.BatchNorm1d(2, track_running_stats=False), {"num_batches_tracked": None}),
        (nn.PairwiseDistance(1.0), {"norm": 1.0}),
        (nn.Conv2d(1, 1, 3, padding="same"), {"padding": "same"}),
    ]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_layers_tell_what_they_were_made_with(rank: int) -> None:
    for layer, wanted in [*pools(rank), *convolutions(rank), *(others() if rank == 1 else [])]:
        assert {name: getattr(layer, name) for name in wanted} == wanted, type(layer).__name__


def test_what_is_set_by_the_other_word_counts() -> None:
    pool = nn.MaxPool1d(2)
    x = ag.arange(3.0).reshape(1, 1, 3)
    assert pool(x).shape == (1, 1, 1)
    pool.ceil_mode = True
    assert pool(x).shape == (1, 1, 2)
    assert repr(pool) == "MaxPool1d(2, cover_all=True)"
    assert repr(nn.AvgPool1d(2)) == "AvgPool1d((2,))"
    assert repr(nn.MaxUnpool2d(2, padding=1)) == "MaxUnpool2d((2, 2), padding=(1, 1))"


def test_bags_shorten_their_vectors_and_know_their_last_offset() -> None:
    bags = nn.EmbeddingBag(3, 2, mode="sum", max_norm=1.0, norm_type=1.0, include_last_offset=True)
    with ag.no_grad():
        bags.weight.copy_(ag.tensor([[3.0, 1.0], [0.25, 0.25], [8.0, 0.0]]))
    for f in (bags, ag.jit(lambda i, o: bags(i, o))):
        found = f(ag.tensor([0, 1, 1]), ag.tensor([0, 1, 3]))
        np.testing.assert_allclose(found.array, [[0.75, 0.25], [0.5, 0.5]], rtol=1e-5)
    np.testing.assert_allclose(bags.weight.array[2], [8.0, 0.0])


class Parts(nn.Module):
    def __init__(self) -> None:
        self.parts = nn.ModuleDict({"first": nn.Linear(2, 3), "last": nn.Linear(3, 1)})
        self.gains = nn.ParameterDict({"out": nn.Parameter(ag.ones(1))})

    def forward(self, x: ag.Tensor) -> Any:
        return self.parts.last(self.parts.first(x)) * self.gains.out


def test_entries_of_dicts_are_attributes() -> None:
    model = Parts()
    x = ag.ones((4, 2))
    assert model.parts.first is model.parts["first"]
    np.testing.assert_allclose(ag.jit(lambda x: model(x))(x).array, model(x).array, rtol=1e-6)
    model.parts.last = nn.Linear(3, 5)
    assert model(x).shape == (4, 5)
    model.parts.last.weight = model.parts.last.weight
    assert [name for name, _ in model.named_parameters()] == [
        "parts.first.weight", "parts.first.bias", "parts.last.weight", "parts.last.bias",
        "gains.out"]
    assert copy.deepcopy(model).parts.last.out_features == 5
    with pytest.raises(AttributeError, match="middle"):
        _ = model.parts.middle


def test_loading_tells_which_names_did_not_fit() -> None:
    layer = nn.Linear(2, 3)
    whole = layer.state_dict()
    assert layer.load_state_dict(whole) == ([], [])
    found = layer.load_state_dict({"weight": whole["weight"], "other": 1.0}, strict=False)
    assert found.missing_keys == ["bias"]
    assert found.unexpected_keys == ["other"]
    for kind in (KeyError, RuntimeError):
        with pytest.raises(kind, match="missing"):
            layer.load_state_dict({"weight": whole["weight"]})


@pytest.mark.parametrize(("layer", "name"), [
    (lambda: nn.TransformerEncoderLayer(8, 2, 16), "nhead"),
    (lambda: nn.TransformerEncoderLayer(8, 2, 16), "dim_feedforward"),
    (lambda: nn.Transformer(8, 2, 1, 1, 16), "num_encoder_layers"),
    (lambda: nn.Linear(2, 3), "dtype"),
])
def test_an_option_that_a_layer_does_not_keep_cannot_be_set_later(layer: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name} was used when the layer was made"):
        setattr(layer(), name, 4)


def test_subclasses_have_attributes_of_any_name() -> None:
    class Mine(nn.TransformerEncoderLayer):
        def __init__(self) -> None:
            super().__init__(8, 2, 16)

    mine = Mine()
    mine.nhead = 4  # type: ignore[assignment]
    assert mine.nhead == 4
