"""What is done to modules from outside: computed weights, packed sequences, fused layers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.nn import utils
from agnesi.nn.utils import parametrizations, parametrize, prune, rnn


def drawn(*shape: int) -> Any:
    return ag.tensor(np.random.default_rng(0).normal(size=shape).astype("float32"))


@pytest.mark.share(2)
@pytest.mark.parametrize("make", [
    utils.weight_norm, utils.spectral_norm, parametrizations.weight_norm,
    parametrizations.spectral_norm, parametrizations.orthogonal,
    lambda m: prune.l1_unstructured(m, "weight", 0.5),
])
def test_computed_weights_are_trained_copied_and_saved(make: Any) -> None:
    ag.manual_seed(0)
    x = drawn(5, 4)
    layer = nn.Linear(4, 4)
    if make is utils.weight_norm or make is parametrizations.weight_norm:
        before = layer.weight.numpy().copy()
        np.testing.assert_allclose(make(copy.deepcopy(layer)).weight.numpy(), before, rtol=1e-5)
    net = make(layer)
    assert isinstance(net, nn.Linear) and "weight" not in dict(net.named_parameters())
    other = copy.deepcopy(net)
    tools = [optim.SGD(m.parameters(), lr=0.1) for m in (net, other)]

    def step(net: Any = net, tool: Any = tools[0]) -> Any:
        tool.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        tool.step()
        return loss

    fast = ag.jit(lambda: step(other, tools[1]))
    for _ in range(3):
        np.testing.assert_allclose(step().numpy(), fast().numpy(), rtol=1e-4)
    assert len(fast.specialisations) == 1
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), atol=1e-5)
    net.eval(), other.eval()
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again.weight.numpy(), net.weight.numpy())
    other.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(other(x).numpy(), net(x).numpy())


def test_weights_become_parameters_again() -> None:
    for make, remove in ((utils.weight_norm, utils.remove_weight_norm),
                         (utils.spectral_norm, utils.remove_spectral_norm),
                         (parametrizations.orthogonal,
                          lambda m: parametrize.remove_parametrizations(m, "weight")),
                         (lambda m: prune.random_structured(m, "weight", 1, dim=0),
                          lambda m: prune.remove(m, "weight"))):
        net = make(nn.Linear(3, 5)).eval()
        value = net.weight.numpy()
        back = remove(net)
        assert type(back) is nn.Linear
        assert sorted(n for n, _ in back.named_parameters()) == ["bias", "weight"]
        assert list(back.state_dict()) == ["bias", "weight"]
        np.testing.assert_allclose(back.weight.numpy(), value)
        with pytest.raises(ValueError, match=r"not computed|not pruned"):
            remove(back)


def test_a_weight_of_norm_one_stays_as_the_last_step_used_it() -> None:
    net = utils.spectral_norm(nn.Linear(5, 4))
    y = net(ag.eye(5)) - net.bias
    np.testing.assert_allclose(utils.remove_spectral_norm(net).weight.numpy(), y.numpy().T,
                               rtol=1e-5, atol=1e-6)
    assert net.training


def test_norms_are_what_they_promise() -> None:
    net = parametrizations.spectral_norm(nn.Linear(8, 6), n_power_iterations=30)
    net(drawn(1, 8))
    np.testing.assert_allclose(np.linalg.norm(net.eval().weight.numpy(), 2), 1, rtol=1e-3)
    for kind in ("matrix_exp", "cayley"):
        wide = parametrizations.orthogonal(nn.Linear(5, 3), orthogonal_map=kind)
        wide.parametrizations.weight.original.data[...] = drawn(3, 5).numpy()
        w = wide.weight.numpy()
        np.testing.assert_allclose(w @ w.T, np.eye(3), atol=1e-5)
        wide.weight = ag.tensor(np.linalg.qr(drawn(5, 3).numpy())[0].T)
        np.testing.assert_allclose(abs(wide.weight.numpy()),
                                   abs(np.linalg.qr(drawn(5, 3).numpy())[0].T), atol=1e-5)
    conv = utils.weight_norm(nn.Conv2d(2, 3, 3), dim=0)
    assert conv.weight_g.shape == (3, 1, 1, 1)
    assert utils.weight_norm(nn.Linear(2, 3), dim=None).weight_g.shape == ()


def test_spectral_norms_turn_vectors_in_pytorchs_order() -> None:
    w = drawn(3, 4).numpy()
    for make, first in ((utils.spectral_norm, "v"), (parametrizations.spectral_norm, "u")):
        net = nn.Linear(4, 3, bias=False)
        with ag.no_grad():
            net.weight.copy_(ag.tensor(w))
        net = make(net)
        u, v = (next(b for n, b in net.named_buffers() if n.endswith(end)) for end in "uv")
        u[...], v[...] = ag.ones(3) / 2, ag.ones(4) / 2
        a, b = np.ones(3) / 2, np.ones(4) / 2
        for one in (first, "u" if first == "v" else "v"):
            if one == "u":
                a = w @ b / np.linalg.norm(w @ b)
            else:
                b = w.T @ a / np.linalg.norm(w.T @ a)
        net.train()(ag.ones((1, 4)))
        np.testing.assert_allclose(u, a, rtol=1e-5)
        np.testing.assert_allclose(v, b, rtol=1e-5)


def test_what_is_pruned_again_is_chosen_from_what_is_left() -> None:
    net = nn.Linear(3, 4, bias=False)
    net.weight.data[...] = np.arange(1, 13).reshape(4, 3)
    prune.l1_unstructured(net, "weight", 4)
    assert net.weight_mask.tolist() == [[0] * 3, [0, 1, 1], [1] * 3, [1] * 3]
    prune.ln_structured(net, "weight", 1, n=2, dim=0)  # of three rows that are left
    assert net.weight_mask.tolist() == [[0] * 3, [0] * 3, [1] * 3, [1] * 3]
    prune.ln_structured(net, "weight", 0.34, n=1, dim=1)
    assert net.weight_mask.tolist() == [[0] * 3, [0] * 3, [0, 1, 1], [0, 1, 1]]
    method = prune.random_unstructured(net, "weight", 0.5)._pruned["weight"]
    assert [type(m).__name__ for m in method] == ["L1Unstructured", "LnStructured", "LnStructured",
                                                  "RandomUnstructured"]
    assert int(net.weight_mask.sum()) == 2 and prune.is_pruned(nn.Sequential(net))
    net(ag.ones((1, 3))).sum().backward()
    np.testing.assert_array_equal(net.weight_orig.grad, net.weight_mask)
    method.remove(net)
    assert not prune.is_pruned(net) and int((net.weight != 0).sum()) == 2
    by = {(net, "weight"): ag.arange(12.0).reshape(4, 3)}
    prune.global_unstructured([*by], prune.L1Unstructured, importance_scores=by, amount=2)
    assert net.weight_mask[0].tolist() == [0, 0, 1]


def test_what_cannot_be_pruned_is_told() -> None:
    net = nn.Linear(3, 2)
    for wrong, told in [(lambda: prune.l1_unstructured(net, "wait", 1), "has no parameter 'wait'"),
                        (lambda: prune.l1_unstructured(net, "weight", 7), "amount=7 of 6"),
                        (lambda: prune.l1_unstructured(net, "weight", 1.5), "a share between"),
                        (lambda: prune.ln_structured(net, "bias", 1, 2, 0), "of two axes or more"),
                        (lambda: prune.random_structured(net, "weight", 1, 2), "dim=2 of"),
                        (lambda: prune.custom_from_mask(net, "weight", ag.ones(2)), "of shape")]:
        with pytest.raises((ValueError, IndexError), match=told):
            wrong()
        assert sorted(n for n, _ in net.named_parameters()) == ["bias", "weight"]
    with pytest.raises(TypeError, match="methods that are unstructured"):
        prune.global_unstructured([(net, "weight")], prune.RandomStructured, amount=1)


class Twice(nn.Module):
    def forward(self, x: Any) -> Any:
        return 2 * x

    def right_inverse(self, x: Any) -> Any:
        return x / 2


class Squared(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * x


def test_parametrizations_follow_each_other() -> None:
    net = nn.Linear(2, 2)
    before = net.weight.numpy().copy()
    parametrize.register_parametrization(net, "weight", Twice())
    np.testing.assert_allclose(net.weight.numpy(), before)  # by right_inverse
    net.weight = ag.ones((2, 2))
    np.testing.assert_allclose(net.parametrizations.weight.original.numpy(), 0.5)
    parametrize.register_parametrization(net, "weight", Squared())
    net.parametrizations.weight.original.data[...] = 3.0
    assert (net.weight == 36).all() and len(net.parametrizations.weight) == 2
    assert parametrize.is_parametrized(net, "weight") and not parametrize.is_parametrized(
        net, "bias")
    with pytest.raises(NotImplementedError, match="Squared has no right_inverse"):
        net.weight = ag.ones((2, 2))
    with parametrize.cached():
        assert net.weight is net.weight
    there = parametrize.transfer_parametrizations_and_params(net, nn.Linear(2, 2))
    assert (there.weight == 36).all()
    parametrize.remove_parametrizations(net, "weight", leave_parametrized=False)
    assert (net.weight == 3).all() and type(net) is nn.Linear
    with pytest.raises(ValueError, match="unsafe=True allows it"):
        parametrize.register_parametrization(net, "weight", nn.Flatten(0))
    assert type(net) is nn.Linear


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
@pytest.mark.parametrize("batch_first", [False, True])
def test_packed_sequences_are_those_with_lengths(kind: Any, batch_first: bool) -> None:
    layer = kind(3, 4, bidirectional=True, batch_first=batch_first)
    x, lengths = drawn(5, 3, 3), [2, 5, 3]
    x = ag.swapaxes(x, 0, 1) if batch_first else x
    packed = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
    outputs, last = layer(packed)
    padded, counts = rnn.pad_packed_sequence(outputs, batch_first)
    wanted, state = layer(x, lengths=lengths)
    assert counts.tolist() == lengths
    np.testing.assert_allclose(padded.numpy(), wanted.numpy(), atol=1e-6)
    for one, two in zip(*(s if isinstance(s, tuple) else (s,) for s in (last, state)),
                        strict=True):
        np.testing.assert_allclose(one.numpy(), two.numpy(), atol=1e-6)


def test_packing_is_undone() -> None:
    given = [ag.tensor(np.arange(n * 2.0).reshape(n, 2)) for n in (1, 3, 2)]
    packed = rnn.pack_sequence(given, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    for one, two in zip(rnn.unpack_sequence(packed), given, strict=True):
        np.testing.assert_array_equal(one.numpy(), two.numpy())
    padded, _ = rnn.pad_packed_sequence(packed, True, -1.0, total_length=4)
    assert padded.shape == (3, 4, 2) and (padded[0, 1:] == -1).all()
    with pytest.raises(ValueError, match="lengths do not fall"):
        rnn.pack_sequence(given)
    with pytest.raises(ValueError, match="total_length must be at least 3"):
        rnn.pad_packed_sequence(packed, total_length=2)


def test_fused_layers_give_what_both_gave() -> None:
    for conv, norm, x, options in (
            (nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), drawn(2, 2, 5, 5), {}),
            (nn.ConvTranspose2d(2, 3, 3), nn.BatchNorm2d(3), drawn(2, 2, 5, 5),
             {"transpose": True}),
            (nn.Linear(4, 3), nn.BatchNorm1d(3), drawn(6, 4), None)):
        norm.running_mean.copy_(drawn(3)), norm.running_var.copy_(drawn(3) ** 2)
        norm.weight.data[...], norm.bias.data[...] = 2.0, 0.5
        fuse = utils.fuse_linear_bn_eval if options is None else utils.fuse_conv_bn_eval
        with pytest.raises(ValueError, match="evaluation mode"):
            fuse(conv, norm)
        conv.eval(), norm.eval()
        made = fuse(conv, norm, **(options or {}))
        np.testing.assert_allclose(made(x).numpy(), norm(conv(x)).numpy(), atol=1e-5)


def test_noise_is_added_to_gradients_in_a_compiled_step() -> None:
    w = ag.zeros(2000, requires_grad=True)

    @ag.jit
    def step() -> None:
        w.grad = None
        (w * 3).sum().backward()
        utils.add_grad_noise_([w], 0.5)

    step()
    one = w.grad.numpy().copy()
    step()
    assert abs(one.mean() - 3) < 0.06 and abs(one.std() - 0.5) < 0.05
    assert not (one == w.grad.numpy()).any()
