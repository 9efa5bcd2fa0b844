"""Values and gradients beside PyTorch's, in the benchmark environment: ``make peers``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.models import convnets, language
from benchmarks.suites import _training
from benchmarks.suites.convnets_small import task_of

ag = peers.agnesi()
torch = peers.torch()
F = torch.nn.functional
NF = ag.nn.functional


def agree(ours: Callable[..., Any], theirs: Callable[..., Any], shapes: Sequence[tuple[int, ...]],
          dtype: str = "float64") -> None:
    """The same values, and the same gradients of a weighted sum, eagerly and compiled."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    with torch.enable_grad():
        leaves = [torch.from_numpy(v.copy()).requires_grad_() for v in values]
        y = theirs(*leaves)
        weights = rng.standard_normal(tuple(y.shape)).astype(dtype)
        wanted = [y, *torch.autograd.grad((y * torch.from_numpy(weights)).sum(), leaves)]

    def both(*xs: Any) -> Any:
        value, pull = ag.vjp(ours, *xs)
        return [value, *pull(ag.tensor(weights))]

    tolerance = 1e-9 if dtype == "float64" else 1e-4
    for run in (both, ag.jit(both)):
        found = run(*map(ag.tensor, values))
        for got, want in zip(found, wanted, strict=True):
            want = want.detach().numpy()
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(
                got.numpy(), want, rtol=tolerance, atol=tolerance * max(1.0, abs(want).max())
            )


CONVOLUTIONS = [
    # image, filters, options
    ((2, 3, 11), (4, 3, 3), {"stride": 2, "padding": 1}),
    ((1, 4, 9), (6, 2, 4), {"groups": 2, "dilation": 2}),
    ((2, 1, 12, 10), (6, 1, 5, 5), {}),
    ((3, 3, 17, 15), (5, 3, 11, 11), {"stride": 4, "padding": 2}),
    ((2, 5, 7, 7), (20, 5, 1, 1), {"stride": 2}),
    ((2, 6, 9, 8), (6, 1, 3, 3), {"groups": 6, "padding": 1}),
    ((2, 6, 9, 8), (12, 1, 3, 3), {"groups": 6, "padding": 1, "stride": 2}),
    ((1, 33, 6, 6), (17, 33, 3, 3), {"padding": 1}),
    ((1, 4, 13, 9), (8, 4, 3, 2), {"dilation": (2, 3), "padding": (2, 0), "stride": (1, 2)}),
    ((2, 3, 6, 7, 5), (4, 3, 3, 3, 3), {"padding": 1}),
    ((1, 4, 5, 6, 7), (2, 2, 2, 3, 1), {"groups": 2, "stride": (1, 2, 3)}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("image", "filters", "options"), CONVOLUTIONS)
def test_convolutions(image, filters, options, dtype):
    name = f"conv{len(image) - 2}d"
    agree(
        lambda x, w, b: getattr(ag, name)(x, w, b, **options),
        lambda x, w, b: getattr(F, name)(x, w, b, **options),
        [image, filters, filters[:1]],
        dtype,
    )


@pytest.mark.parametrize(
    ("image", "filters", "options"),
    [
        ((2, 4, 7), (4, 3, 3), {"stride": 2}),
        ((2, 4, 5, 6), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
        ((1, 6, 5, 4), (6, 2, 4, 3), {"groups": 3, "stride": 3, "dilation": 2}),
        ((1, 2, 3, 4, 3), (2, 3, 2, 2, 2), {"stride": 2}),
    ],
)
def test_transposed_convolutions(image, filters, options):
    agree(
        lambda x, w: ag.conv_transpose(x, w, **options),
        lambda x, w: getattr(F, f"conv_transpose{len(image) - 2}d")(x, w, **options),
        [image, filters],
    )


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_borders(mode):
    options = {"padding": (2, 1), "stride": (1, 2), "padding_mode": mode}
    ours, theirs = ag.nn.Conv2d(3, 4, 3, **options), torch.nn.Conv2d(3, 4, 3, **options)
    ours.load_state_dict({n: v.numpy() for n, v in theirs.state_dict().items()})
    agree(ours, theirs, [(2, 3, 7, 6)], "float32")


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"padding": 1}, {"stride": 3, "padding": 1}]
)
def test_poolings(options):
    shape = [(2, 3, 13, 10)]
    for name in ("max_pool2d", "avg_pool2d"):
        agree(
            lambda x, name=name: getattr(NF, name)(x, 3, **options),
            lambda x, name=name: getattr(F, name)(x, 3, **options),
            shape,
        )


def test_poolings_of_other_kinds():
    shape = [(2, 3, 13, 10)]
    agree(lambda x: NF.adaptive_avg_pool2d(x, (4, 3)), lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
          shape)
    agree(lambda x: NF.adaptive_max_pool2d(x, (4, 3)), lambda x: F.adaptive_max_pool2d(x, (4, 3)),
          shape)
    agree(lambda x: NF.lp_pool2d(x, 2, 3), lambda x: F.lp_pool2d(x, 2, 3), shape)
    agree(lambda x: NF.max_pool1d(x, 3, 2), lambda x: F.max_pool1d(x, 3, 2), [(2, 3, 11)])
    agree(lambda x: NF.avg_pool3d(x, 2), lambda x: F.avg_pool3d(x, 2), [(2, 3, 5, 4, 6)])


@pytest.mark.parametrize("options", [{}, {"stride": 4}, {"stride": 3, "padding": 1}])
def test_unpooling(options):
    """Windows do not overlap: where they do, PyTorch counts gradients of one place twice."""
    def both(pool: Any, back: Any) -> Any:
        return lambda x: back(*pool(x, 3, return_indices=True, **options), 3, **options,
                              output_size=(13, 10)) * x

    agree(both(NF.max_pool2d, NF.max_unpool2d), both(F.max_pool2d, F.max_unpool2d),
          [(2, 3, 13, 10)])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("options", [{"size": (11, 4)}, {"size": (14, 1)}, {"scale_factor": 2},
                                     {"scale_factor": (1.7, 0.6)}], ids=str)
def test_interpolations(mode, options):
    for corners in (False, True) if mode.startswith("bi") else (None,):
        agree(lambda x, c=corners: NF.interpolate(x, mode=mode, align_corners=bool(c), **options),
              lambda x, c=corners: F.interpolate(x, mode=mode, align_corners=c, **options),
              [(2, 3, 7, 5)])


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("options", [{"size": (4, 9)}, {"size": (1, 2)}, {"scale_factor": 0.3},
                                     {"scale_factor": (1.7, 0.6)}], ids=str)
def test_smooth_interpolations(mode, options):
    for corners in (False, True):
        given = {**options, "mode": mode, "align_corners": corners, "antialias": True}
        agree(lambda x, o=given: NF.interpolate(x, **o), lambda x, o=given: F.interpolate(x, **o),
              [(2, 3, 13, 10)])


def test_pixels_and_borders():
    agree(lambda x: NF.pixel_shuffle(x, 3), lambda x: F.pixel_shuffle(x, 3), [(2, 18, 3, 4)])
    agree(lambda x: NF.pixel_unshuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2), [(2, 3, 4, 6)])
    for name in ("Zero", "Reflection", "Replication", "Circular"):
        ours, theirs = (getattr(m, f"{name}Pad2d")((1, 2, 3, 0)) for m in (ag.nn, torch.nn))
        agree(ours, theirs, [(2, 3, 4, 5)])


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_bags(mode):
    ids, starts = np.array([[1, 2, 3, 3], [2, 2, 2, 2], [6, 5, 2, 0]]), np.array([0, 3, 3, 10])
    there = torch.from_numpy
    agree(lambda w: NF.embedding_bag(ids, w, mode=mode, padding_idx=2),
          lambda w: F.embedding_bag(there(ids), w, mode=mode, padding_idx=2), [(7, 5)])
    if mode != "max":
        agree(lambda w: NF.embedding_bag(ids.ravel(), w, starts, mode=mode),
              lambda w: F.embedding_bag(there(ids.ravel()), w, there(starts), mode=mode), [(7, 5)])


def test_vectors_made_short():
    ids, table = np.array([[1, 3, 3], [0, 6, 1]]), np.random.default_rng(0).normal(size=(7, 5))
    theirs = torch.nn.Embedding.from_pretrained(torch.from_numpy(table.copy()), max_norm=1.5)
    ours = ag.nn.Embedding.from_pretrained(table, max_norm=1.5)
    for layer in (ours, ag.jit(ours)):
        found, wanted = layer(ag.tensor(ids)).numpy(), theirs(torch.from_numpy(ids)).numpy()
        np.testing.assert_allclose(found, wanted, 1e-12)
        np.testing.assert_allclose(ours.weight.numpy(), theirs.weight.numpy(), 1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("blank", [0, 3])
def test_ctc(reduction, blank):
    """Through log-softmax: PyTorch's gradient of log_probs alone takes it for granted."""
    labels = np.array([[1, 2, 2, 4], [2, 1, 4, 4], [4, 0, 0, 0], [2, 2, 0, 0]])
    lengths = [9, 6, 9, 1], [4, 3, 1, 0]
    options = {"blank": blank, "reduction": reduction}
    agree(lambda x: NF.ctc_loss(ag.log_softmax(x), labels, *lengths, **options),
          lambda x: F.ctc_loss(x.log_softmax(-1), torch.from_numpy(labels), *lengths, **options),
          [(9, 4, 5)])


NORMS = [
    ("BatchNorm2d", (4,), {}), ("BatchNorm2d", (4,), {"momentum": None}),
    ("BatchNorm1d", (4,), {"track_running_stats": False}), ("InstanceNorm1d", (4,), {}),
    ("InstanceNorm3d", (4,), {"affine": True}), ("GroupNorm", (2, 4), {"affine": False}),
    ("LayerNorm", ((5, 3),), {"bias": False}), ("LayerNorm", (3,), {"elementwise_affine": False}),
]


@pytest.mark.parametrize(("name", "args", "options"), NORMS)
def test_normalizations(name, args, options):
    """In training and behind it, with PyTorch's state."""
    theirs = getattr(torch.nn, name)(*args, **options)
    ours = getattr(ag.nn, name)(*args, **options)
    shape = (2, 4, *(5, 3, 4)[: {"1": 1, "3": 3}.get(name[-2], 2)])
    for evaluated in (False, True):
        ours.load_state_dict({n: v.numpy() for n, v in theirs.state_dict().items()})
        if evaluated:
            ours.eval(), theirs.eval()
        agree(ours, theirs, [shape], "float32")


def test_attention():
    shapes = [(2, 3, 7, 8)] * 3
    agree(
        lambda q, k, v: NF.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        shapes,
    )


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrences(kind):
    """Two layers, forwards and backwards, with PyTorch's weights."""
    shape = (5, 3, 4)
    theirs = getattr(torch.nn, kind)(4, 6, 2, bidirectional=True)
    ours = getattr(ag.nn, kind)(4, 6, 2, bidirectional=True)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        p.data[...] = q.detach().numpy()
    agree(lambda x: ours(x)[0], lambda x: theirs(x)[0], [shape], "float32")


@pytest.mark.parametrize(("kind", "proj_size"), [("LSTM", 0), ("LSTM", 3), ("GRU", 0), ("RNN", 0)])
def test_sequences_of_unequal_lengths(kind, proj_size):
    """PyTorch's packed sequences."""
    options = {"num_layers": 2, "bidirectional": True, **({"proj_size": 3} if proj_size else {})}
    theirs, ours = getattr(torch.nn, kind)(4, 6, **options), getattr(ag.nn, kind)(4, 6, **options)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        p.data[...] = q.detach().numpy()
    lengths = [2, 5, 1, 4]

    def last_of(state: Any) -> Any:
        return state[0] if kind == "LSTM" else state

    def packed(x: Any) -> Any:
        rnn = torch.nn.utils.rnn
        outputs, state = theirs(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))
        outputs = rnn.pad_packed_sequence(outputs)[0]
        return torch.cat([outputs.flatten(), last_of(state).flatten()])

    def ours_packed(x: Any) -> Any:
        outputs, state = ours(x, lengths=lengths)
        return ag.concat([outputs.flatten(), last_of(state).flatten()])

    agree(ours_packed, packed, [(5, 4, 4)], "float32")


@pytest.mark.parametrize("net", convnets.TORCH7[::2], ids=lambda net: net.name)
def test_convnets_train_alike(net):
    task = task_of(net)
    np.testing.assert_allclose(
        _training.with_agnesi(task).answer(), _training.with_torch(task).answer(), rtol=1e-4
    )


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "transformer"])
def test_language_models_train_alike(kind):
    from benchmarks.suites import language as suite

    task = suite.text_task(language.Text(kind, kind, 2, 64, 6, 3))
    np.testing.assert_allclose(
        _training.with_agnesi(task).answer(), _training.with_torch(task).answer(), rtol=1e-4
    )


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": (2, 1)},
                                     {"kernel_size": 1}], ids=str)
def test_columns_of_windows(options):
    options = {"kernel_size": (2, 3), **options}
    rest = dict(options)
    kernel = rest.pop("kernel_size")
    agree(lambda x: NF.unfold(x, kernel, **rest), lambda x: F.unfold(x, **options), [(2, 3, 7, 6)])
    columns = F.unfold(torch.ones((2, 3, 7, 6)), **options).shape
    agree(lambda x: NF.fold(x, (7, 6), kernel, **rest), lambda x: F.fold(x, (7, 6), **options),
          [tuple(columns)])


ACTIVATIONS = [
    ("GELU", ()), ("GELU", ("tanh",)), ("SiLU", ()), ("ReLU6", ()), ("LeakyReLU", (0.2,)),
    ("ELU", (0.7,)), ("PReLU", (3,)), ("Softplus", ()), ("Softmax", (1,)), ("LogSoftmax", (2,)),
    ("RMSNorm", ((3, 5),)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), ACTIVATIONS)
def test_activations(name: str, args: tuple[Any, ...]) -> None:
    keywords = {"GELU": {"approximate": args[0]}} if args and name == "GELU" else {}
    positional = () if keywords else args
    theirs = getattr(torch.nn, name)(*positional, **keywords.get(name, {})).double()
    agree(getattr(ag.nn, name)(*args).to(ag.float64), theirs, [(4, 3, 5)])
