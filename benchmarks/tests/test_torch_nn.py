"""Layers and functions beside PyTorch's: transformers, grids, pools, computed weights, packing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.tests.test_torch import agree

ag = peers.agnesi()
torch = peers.torch()
F = torch.nn.functional
NF = ag.nn.functional


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def twin(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Both in double precision with the same weights, by PyTorch's names."""
    theirs = theirs.double()
    ours = ours.to("float64")
    ours.load_state_dict({n: t.detach().numpy() for n, t in theirs.state_dict().items()})
    return ours, theirs


def same(ours: Any, theirs: Any, *arrays: np.ndarray, **options: Any) -> None:
    """Equal results and gradients of all parameters."""
    with torch.enable_grad():
        xs = [torch.from_numpy(a) for a in arrays]
        wanted = theirs(*xs, **{n: torch.from_numpy(v) if isinstance(v, np.ndarray) else v
                                for n, v in options.items()})
        wanted = wanted[0] if isinstance(wanted, tuple) else wanted
        (wanted**2).sum().backward()
    for run in (ours, ag.jit(ours)):
        ours.zero_grad()
        found = run(*map(ag.tensor, arrays), **options)
        found = found[0] if isinstance(found, tuple) else found
        np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-7, atol=1e-9)
        (found**2).sum().backward()
        known = dict(theirs.named_parameters())
        for name, p in ours.named_parameters():
            np.testing.assert_allclose(p.grad.numpy(), known[name].grad.numpy(), rtol=1e-6,
                                       atol=1e-8, err_msg=name)


@pytest.mark.parametrize("norm_first", [False, True])
def test_transformers_are_pytorchs(norm_first: bool) -> None:
    options = {"batch_first": True, "norm_first": norm_first, "activation": "gelu"}
    ours, theirs = twin(*(library.nn.Transformer(8, 2, 2, 2, 16, 0.0, **options)
                          for library in (ag, torch)))
    hidden = np.array([[False] * 5, [False] * 3 + [True] * 2])
    mask = np.triu(np.full((4, 4), -np.inf), 1)
    same(ours, theirs, drawn(2, 5, 8), drawn(2, 4, 8), tgt_mask=mask,
         src_key_padding_mask=hidden, memory_key_padding_mask=hidden)


@pytest.mark.parametrize("options", [
    {"add_bias_kv": True}, {"add_zero_attn": True, "add_bias_kv": True}, {"kdim": 5, "vdim": 3},
])
def test_attention_with_more_keys_is_pytorchs(options: Any) -> None:
    ours, theirs = twin(*(library.nn.MultiheadAttention(8, 2, **options)
                          for library in (ag, torch)))
    same(ours, theirs, drawn(4, 2, 8), drawn(5, 2, options.get("kdim", 8)),
         drawn(5, 2, options.get("vdim", 8)))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grids_are_pytorchs(mode: str, border: str, corners: bool) -> None:
    grid = np.random.default_rng(1).uniform(-1.5, 1.5, (2, 3, 4, 2))
    agree(lambda x: NF.grid_sample(x, ag.tensor(grid), mode, border, corners),
          lambda x: F.grid_sample(x, torch.from_numpy(grid), mode, border, corners),
          [(2, 3, 5, 4)])
    if mode == "bilinear":
        places = np.random.default_rng(1).uniform(-1.5, 1.5, (2, 3, 2, 2, 3))
        agree(lambda x: NF.grid_sample(x, ag.tensor(places), mode, border, corners),
              lambda x: F.grid_sample(x, torch.from_numpy(places), mode, border, corners),
              [(2, 3, 5, 4, 3)])
        agree(lambda t: NF.affine_grid(t, (2, 3, 4, 5), corners),
              lambda t: F.affine_grid(t, (2, 3, 4, 5), corners), [(2, 2, 3)])


@pytest.mark.parametrize("rank", [2, 3])
def test_fractional_pools_are_pytorchs(rank: int) -> None:
    name = f"fractional_max_pool{rank}d"
    samples = np.random.default_rng(0).uniform(size=(2, 3, rank))
    agree(lambda x: getattr(NF, name)(x, 2, 3, _random_samples=ag.tensor(samples)),
          lambda x: getattr(F, name)(x, 2, 3, _random_samples=torch.from_numpy(samples)),
          [(2, 3, *(7, 6, 8)[:rank])])
    x = drawn(2, 3, *(7, 6, 8)[:rank])
    one = getattr(NF, name)(ag.tensor(x), 2, 3, None, True, ag.tensor(samples))[1]
    two = getattr(F, name)(torch.from_numpy(x), 2, 3, None, True, torch.from_numpy(samples))[1]
    np.testing.assert_array_equal(one.numpy(), two.numpy())


def test_clusters_of_classes_are_pytorchs() -> None:
    ours, theirs = twin(*(library.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 9], 2.0, True)
                          for library in (ag, torch)))
    target = np.array([0, 5, 19, 3, 9])
    same(ours, theirs, drawn(5, 8), target)
    with torch.no_grad():
        np.testing.assert_allclose(ours.log_prob(ag.tensor(drawn(5, 8))).numpy(),
                                   theirs.log_prob(torch.from_numpy(drawn(5, 8))).numpy())


@pytest.mark.parametrize("dim", [0, 1, None])
def test_lengths_of_weights_are_pytorchs(dim: Any) -> None:
    ours, theirs = twin(*(library.nn.utils.weight_norm(library.nn.Linear(4, 3), dim=dim)
                          for library in (ag, torch)))
    same(ours, theirs, drawn(5, 4))
    ours, theirs = twin(*(library.nn.utils.parametrizations.weight_norm(
        library.nn.Linear(4, 3), dim=dim) for library in (ag, torch)))
    same(ours, theirs, drawn(5, 4))


def test_spectral_norms_and_orthogonal_weights_are_pytorchs() -> None:
    for make in (lambda nn: nn.utils.spectral_norm(nn.Linear(4, 3)),
                 lambda nn: nn.utils.parametrizations.spectral_norm(nn.Conv2d(2, 3, 2))):
        ours, theirs = twin(make(ag.nn).eval(), make(torch.nn).eval())
        same(ours, theirs, drawn(2, 2, 4, 4) if "Conv" in type(ours).__name__ else drawn(2, 4))
    for kind in ("matrix_exp", "cayley"):
        ours, theirs = twin(*(nn.utils.parametrizations.orthogonal(nn.Linear(5, 3), "weight", kind)
                              for nn in (ag.nn, torch.nn)))
        same(ours, theirs, drawn(2, 5))


def test_packed_sequences_are_pytorchs() -> None:
    ours, theirs = twin(ag.nn.LSTM(3, 4, 2, bidirectional=True),
                        torch.nn.LSTM(3, 4, 2, bidirectional=True))
    x, lengths = drawn(5, 3, 3), [2, 5, 3]
    one = ag.nn.utils.rnn.pack_padded_sequence(ag.tensor(x), lengths, enforce_sorted=False)
    two = torch.nn.utils.rnn.pack_padded_sequence(torch.from_numpy(x), torch.tensor(lengths),
                                                  enforce_sorted=False)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    found, (h, c) = ours(one)
    wanted, (hw, cw) = theirs(two)
    for a, b in ((found.data, wanted.data), (h, hw), (c, cw)):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), atol=1e-9)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_in_one_compiled_function_are_pytorchs(kind: str) -> None:
    ours, theirs = twin(*(getattr(library.nn, kind)(3, 4, 2, bidirectional=True)
                          for library in (ag, torch)))
    x = drawn(5, 3, 3)

    def run(library: Any, layer: Any, x: Any, lengths: Any) -> list[Any]:
        utils = library.nn.utils.rnn
        packed = utils.pack_padded_sequence(x, lengths, enforce_sorted=False)
        outputs, last = layer(packed)
        padded, counts = utils.pad_packed_sequence(outputs)
        last = last if kind == "LSTM" else (last,)
        layer.zero_grad()
        ((padded**2).sum() + sum((s**3).sum() for s in last)).backward()
        return [padded, counts, *last, packed.batch_sizes, packed.data,
                *(p.grad for p in layer.parameters())]

    call = ag.jit(lambda x, lengths: run(ag, ours, x, lengths))
    for lengths in ([2, 5, 3], [1, 2, 4]):
        with torch.enable_grad():
            wanted = run(torch, theirs, torch.from_numpy(x), torch.tensor(lengths))
        for one, two in zip(call(ag.tensor(x), ag.tensor(lengths)), wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), two.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}, {"max_norm": 1.0}])
@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_gradients_by_frequency_are_pytorchs(kind: str, options: Any) -> None:
    ours, theirs = twin(*(getattr(library.nn, kind)(6, 3, scale_grad_by_freq=True, **options)
                          for library in (ag, torch)))
    bags = kind == "EmbeddingBag"  # PyTorch's take the frequency of another row where they differ
    ids = [[0, 2, 3, 5], [2, 3, 0, 5]] if bags else [[0, 2, 2, 5], [2, 3, 0, 0]]
    same(ours, theirs, np.array(ids))


def test_counts_and_means_of_batches_are_pytorchs() -> None:
    for momentum in (0.1, None):
        ours, theirs = twin(*(library.nn.BatchNorm1d(3, momentum=momentum)
                              for library in (ag, torch)))
        call = ag.jit(ours)
        for k in range(3):
            call(ag.tensor(drawn(4, 3) + k))
            theirs(torch.from_numpy(drawn(4, 3) + k))
        for name, value in theirs.state_dict().items():
            np.testing.assert_allclose(ours.state_dict()[name].numpy(), value.numpy(), rtol=1e-12)
