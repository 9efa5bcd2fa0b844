"""Layers against their formulas, and the rules of the linear operation."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F
from agnesi.testing import check_op

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape)


def test_linear_rules():
    check_op(F.linear, [
        (normal(5, 3), normal(4, 3), normal(4)),
        (normal(1, 3), normal(4, 3), normal(4)),
        (normal(2, 5, 3), normal(4, 3), normal(4)),
        (normal(3), normal(4, 3), normal(4)),
        (normal(5, 3), normal(4, 3)),
    ])
    check_op(F.linear, [[a.astype("float16") for a in (normal(2, 3), normal(4, 3), normal(4))]])


def test_linear_takes_other_operands_and_dtypes():
    assert F.linear([1, 2], [[3, 4]], [0.5]).tolist() == [11.5]
    mixed = F.linear(ag.ones((1, 2)), np.ones((3, 2)), np.ones(3))
    assert mixed.dtype == np.float64


@pytest.mark.parametrize("shapes, words", [
    (((2, 3), (4, 5), (4,)), r"features differ: 3 .*x \(2, 3\).* and 5 .*weight \(4, 5\)"),
    (((2, 3), (4, 3), (5,)), r"outputs differ: 5 .*bias \(5,\).* and 4 .*weight \(4, 3\)"),
    (((2, 3), (4, 3), (1,)), "outputs differ"),
    (((2, 3), (4,), (4,)), "inner sizes differ"),
])
def test_linear_tells_what_differs(shapes, words):
    with pytest.raises(ag.ShapeError, match=words):
        F.linear(*map(ag.zeros, shapes))


def test_gradients_of_weights_come_in_their_own_layout():
    layer = nn.Linear(30, 20)
    layer(ag.ones((5, 30))).sum().backward()
    assert layer.weight.grad.array.flags.c_contiguous
    assert layer.weight.grad.array.base is None


def test_first_weights_are_in_pytorchs_ranges():
    ag.manual_seed(0)
    layer = nn.Linear(400, 300)
    bound = 1 / np.sqrt(400)
    for p in (layer.weight, layer.bias):
        assert 0.95 * bound < np.abs(p.array).max() <= bound
        assert abs(p.array.mean()) < bound / 10
    conv = nn.Conv2d(4, 8, 5, groups=2)
    assert conv.weight.shape == (8, 2, 5, 5)
    assert np.abs(conv.weight.array).max() <= 1 / np.sqrt(50)


def test_images_pass_through():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d((2, 1)),
        nn.Flatten(), nn.Linear(4 * 2 * 4, 10),
    )
    assert model(ag.ones((3, 1, 8, 8))).shape == (3, 10)
    with pytest.raises(ValueError, match="multiples of groups=2"):
        nn.Conv2d(3, 4, 3, groups=2)


def test_layer_norm_is_its_formula():
    x = normal(4, 3, 5)
    layer = nn.LayerNorm((3, 5), dtype="float64")
    layer.weight.array[...] = normal(3, 5)
    layer.bias.array[...] = normal(3, 5)
    off = x - x.mean((1, 2), keepdims=True)
    scaled = off / np.sqrt((off**2).mean((1, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(
        layer(ag.tensor(x)).array, scaled * layer.weight.array + layer.bias.array
    )
    check_op(lambda v: F.layer_norm(v, (3, 5)), [(x,)])
    with pytest.raises(ValueError, match="last axes"):
        layer(ag.ones((3, 4)))


def test_embedding_adds_up_gradients_of_repeats():
    table = nn.Embedding(5, 2)
    table(ag.tensor([1, 3, 1])).sum().backward()
    assert table.weight.grad.array[:, 0].tolist() == [0, 2, 0, 1, 0]


def test_losses_agree_with_their_functions():
    scores, labels = ag.tensor(normal(4, 3)), ag.tensor([0, 2, 1, 1])
    weight = ag.tensor([1.0, 2.0, 3.0])
    loss = nn.CrossEntropyLoss(weight=weight, reduction="sum")
    expected = F.cross_entropy(scores, labels, weight=weight, reduction="sum")
    assert float(loss(scores, labels)) == float(expected)
    assert nn.MSELoss("none")(scores, scores).tolist() == np.zeros((4, 3)).tolist()


def test_dropout_keeps_the_mean():
    ag.manual_seed(0)
    y = nn.Dropout(0.25)(ag.ones(100_000)).array
    assert abs((y == 0).mean() - 0.25) < 0.01
    assert abs(y.mean() - 1) < 0.01
    with pytest.raises(ValueError, match="p must be in"):
        nn.Dropout(1.5)


def test_layers_of_a_sequence_are_replaced_and_cut():
    x = ag.ones((3, 4))
    model = nn.Sequential(nn.Linear(4, 2), nn.Tanh(), nn.Linear(2, 2))
    first = ag.jit(lambda x: model[:2](x))
    compiled = ag.jit(lambda x: model(x))
    assert compiled(x).shape == first(x).shape == (3, 2)
    assert model[:2][0] is model[0] and len(model[1:]) == 2
    model[-1] = nn.Linear(2, 5)
    assert compiled(x).shape == model(x).shape == (3, 5)
    assert [n for n, _ in model.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    with pytest.raises(TypeError, match="layer 1 is no module and no function: 3"):
        model[1] = 3
    with pytest.raises(IndexError):
        model[3] = nn.Tanh()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_dropout_of_channels(rank):
    layer, x = getattr(nn, f"Dropout{rank}d")(0.25), ag.ones((40, 50, *(2, 3, 2)[:rank]))
    for run in (layer, ag.jit(layer)):
        y = run(x).numpy().reshape(40, 50, -1)
        assert (y == y[:, :, :1]).all() and set(np.unique(y)) == {0, np.float32(4 / 3)}
        assert abs((y == 0).mean() - 0.25) < 0.05
        assert (run(x).numpy() != run(x).numpy()).any()
        single = run(x[0]).numpy().reshape(50, -1)
        assert (single == single[:, :1]).all() and (single == 0).any()
    np.testing.assert_array_equal(layer.eval()(x).numpy(), x.numpy())
    assert repr(layer) == f"Dropout{rank}d(0.25)"
    with pytest.raises(ag.ShapeError, match=rf"^dropout{rank}d.*or one image without the batch"):
        layer(ag.ones(3))
    with pytest.raises(ValueError, match=rf"^Dropout{rank}d: p must be in"):
        type(layer)(2)


def test_gradients_of_dropped_channels():
    x = ag.ones((3, 20, 2, 2), requires_grad=True)
    y = F.dropout2d(x, 0.5)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_axes_as_one_and_as_several():
    x = ag.tensor(normal(2, 3, 4, 5))
    assert nn.Flatten()(x).shape == (2, 60) and nn.Flatten(2)(x).shape == (2, 3, 20)
    layers = nn.Sequential(nn.Flatten(1, 2), nn.Unflatten(-2, (3, -1)))
    np.testing.assert_array_equal(layers(x).numpy(), x.numpy())
    assert repr(nn.Flatten()) == "Flatten()" and repr(nn.Flatten(1, 2)) == "Flatten(1, 2)"
    assert repr(nn.Unflatten(1, (3, 4))) == "Unflatten(1, (3, 4))"
    with pytest.raises(ValueError, match=r"(?s)^unflatten\(float64.*test_layers\.py"):
        nn.Unflatten(1, (2, 2))(x)


@pytest.mark.parametrize("batch_first", [False, True])
def test_sequences_side_by_side(batch_first):
    rows = [normal(n, 2) for n in (3, 0, 5, 1)]
    padded = F.pad_sequence(rows, batch_first, padding_value=7.0)
    whole = padded.numpy() if batch_first else padded.numpy().swapaxes(0, 1)
    assert whole.shape == (4, 5, 2)
    for row, found in zip(rows, whole, strict=True):
        np.testing.assert_array_equal(found[: len(row)], row)
        assert (found[len(row):] == 7).all()
    for row, found in zip(rows, F.unpad_sequence(padded, [3, 0, 5, 1], batch_first), strict=True):
        np.testing.assert_array_equal(found.numpy(), row)
    ag.testing.check_grads(lambda *xs: (F.pad_sequence(xs) ** 2).sum(), rows[2:])
    for call, words in (
        (lambda: F.pad_sequence([normal(2, 3), normal(2, 4)]), r"not \[float64\[2, 3\], float64\["),
        (lambda: F.pad_sequence([]), r"^pad_sequence\(\[\]\): sequences must be"),
        (lambda: F.unpad_sequence(padded, [1, 2], batch_first), "2 lengths"),
    ):
        with pytest.raises(ag.ShapeError, match=words):
            call()


def test_a_sequence_is_edited_as_a_list_and_by_names() -> None:
    names = lambda m: [n for n, _ in m.named_children()]  # noqa: E731
    model = nn.Sequential(OrderedDict(body=nn.Linear(4, 3), act=nn.Tanh()))
    x = ag.ones((2, 4))
    compiled = ag.jit(lambda x: model(x))
    assert compiled(x).shape == (2, 3)
    model.add_module("head", nn.Linear(3, 2))
    assert names(model) == ["body", "act", "head"] and model.head is model[2]
    assert compiled(x).shape == model(x).shape == (2, 2)
    model.head = nn.Linear(3, 7)
    assert names(model) == ["body", "act", "head"]
    assert compiled(x).shape == model(x).shape == (2, 7)
    assert model.append(nn.Linear(7, 1)) is model and names(model)[-1] == "3"
    assert model.insert(0, nn.Identity()) is model and names(model)[0] == "0"
    assert names(model[1:3]) == ["body", "act"]
    assert isinstance(model.pop(-1), nn.Linear)
    del model[0], model.head
    assert names(model) == ["body", "act"] and not hasattr(model, "head")
    assert names(copy.deepcopy(model)) == names(pickle.loads(pickle.dumps(model))) == names(model)
    plain = nn.Sequential(nn.Linear(4, 3))
    assert names(plain.extend([nn.ReLU(), nn.Linear(3, 1)])) == ["0", "1", "2"]
    del plain[1]
    assert names(plain + nn.Sequential(nn.ReLU())) == ["0", "1", "2"]
    assert getattr(plain, "1") is plain[1]
    assert "1.weight" in plain.state_dict() and plain(x).shape == (2, 1)
    with pytest.raises(AttributeError, match="head"):
        plain.head  # noqa: B018
    plain.forward = nn.Identity()  # a module beside those in sequence, as in PyTorch
    assert names(plain) == ["0", "1", "forward"] and len(plain) == 2 and plain.forward(x) is x


@pytest.mark.parametrize(("layer", "attributes"), [
    (nn.Conv2d(4, 6, 3, groups=2), {"in_channels": 4, "out_channels": 6, "transposed": False}),
    (nn.ConvTranspose2d(4, 6, 3), {"in_channels": 4, "out_channels": 6, "transposed": True}),
    (nn.BatchNorm2d(3, affine=False), {"affine": False, "track_running_stats": True}),
    (nn.LayerNorm(3), {"elementwise_affine": True, "normalized_shape": (3,)}),
    (nn.Embedding(5, 3), {"num_embeddings": 5, "embedding_dim": 3}),
    (nn.Bilinear(2, 3, 4), {"in1_features": 2, "in2_features": 3, "out_features": 4}),
    (nn.Linear(2, 3), {"in_features": 2, "out_features": 3}),
    (nn.MultiheadAttention(8, 2), {"head_dim": 4, "num_heads": 2}),
])
def test_layers_tell_what_they_were_made_with(layer, attributes) -> None:
    assert {name: getattr(layer, name) for name in attributes} == attributes


@pytest.mark.parametrize("count", [2**63, 10**30])
@pytest.mark.parametrize("make", [
    lambda n: nn.LSTM(2, 3, n), lambda n: nn.GRU(2, 3, n), lambda n: nn.RNN(2, 3, n),
    lambda n: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), n),
    lambda n: nn.Transformer(4, 2, n, 1),
], ids=range(5))
def test_stacks_of_more_layers_than_memory_holds_are_refused_at_once(make, count):
    with pytest.raises(ValueError, match=r"num_layers must be at most 65536, not \d+"):
        make(count)
