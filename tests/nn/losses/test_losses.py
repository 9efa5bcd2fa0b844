"""Losses beside their formulas in NumPy: values, gradients, compiled, in every reduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn import functional as F
from agnesi.testing import check_grads

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(2, 3, 4))
Y = (RNG.random((3, 4)) > 0.5) * 1.0
SIGN = 2 * Y - 1
P = 1 / (1 + np.exp(-X))
LABELS = np.array([2, 0, 3])
WEIGHT = RNG.random(4) + 0.1
MANY = np.array([[3, 0, -1, 1], [1, -1, 0, 0], [0, 1, 2, 3]])


def smooth(d: Any, edge: float) -> Any:
    d = np.abs(d)
    return np.where(d < edge, 0.5 * d * d / edge, d - edge / 2)


def hinge(a: Any) -> Any:
    return np.maximum(a, 0)


def margins(x: Any, labels: Any) -> Any:
    right = np.take_along_axis(x, labels[:, None], 1)
    return np.where(np.arange(4) == labels[:, None], 0, hinge(0.5 - right + x) ** 2 * 1.0)


def many(x: Any, target: Any) -> Any:
    found = []
    for row, wanted in zip(x, target, strict=True):
        labels = wanted[: np.argmin([*(wanted >= 0), False])]
        others = [i for i in range(4) if i not in labels]
        found.append(sum(hinge(1 - row[j] + row[i]) for j in labels for i in others) / 4)
    return np.array(found)


def cosine(a: Any, b: Any) -> Any:
    return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)


def far(a: Any, b: Any) -> Any:
    return np.linalg.norm(a - b + 1e-6, axis=-1)


#: Name, operands, options, the module's name, the losses.
CASES: dict[str, Any] = {
    "l1_loss": ((X, T), {}, "L1Loss", np.abs(X - T)),
    "smooth_l1_loss": ((X, T), {"beta": 0.5}, "SmoothL1Loss", smooth(X - T, 0.5)),
    "huber_loss": ((X, T), {"delta": 0.5}, "HuberLoss", 0.5 * smooth(X - T, 0.5)),
    "poisson_nll_loss": ((X, np.round(np.abs(T) * 3)), {}, "PoissonNLLLoss",
                         np.exp(X) - np.round(np.abs(T) * 3) * X),
    "gaussian_nll_loss": ((X, T, P), {"full": True}, "GaussianNLLLoss",
                          0.5 * (np.log(2 * np.pi * P) + (X - T) ** 2 / P)),
    "binary_cross_entropy": ((P, Y), {"weight": WEIGHT}, "BCELoss",
                             -WEIGHT * np.log(np.where(Y == 1, P, 1 - P))),
    "binary_cross_entropy_with_logits": (
        (X, Y), {"pos_weight": WEIGHT}, "BCEWithLogitsLoss",
        -np.where(Y == 1, WEIGHT * np.log(P), np.log1p(-P))),
    "soft_margin_loss": ((X, SIGN), {}, "SoftMarginLoss", np.log1p(np.exp(-SIGN * X))),
    "hinge_embedding_loss": ((np.abs(X), SIGN), {"margin": 0.8}, "HingeEmbeddingLoss",
                             np.where(SIGN == 1, np.abs(X), hinge(0.8 - np.abs(X)))),
    "kl_div": ((np.log(P), P[::-1].copy()), {}, "KLDivLoss",
               P[::-1] * (np.log(P[::-1]) - np.log(P))),
    "multi_margin_loss": ((X, LABELS), {"p": 2, "margin": 0.5}, "MultiMarginLoss",
                          margins(X, LABELS).sum(1) / 4),
    "multilabel_margin_loss": ((X, MANY), {}, "MultiLabelMarginLoss", many(X, MANY)),
    "multilabel_soft_margin_loss": ((X, Y), {"weight": WEIGHT}, "MultiLabelSoftMarginLoss",
                                    (-WEIGHT * np.log(np.where(Y == 1, P, 1 - P))).mean(1)),
    "margin_ranking_loss": ((X, T, SIGN), {"margin": 0.2}, "MarginRankingLoss",
                            hinge(0.2 - SIGN * (X - T))),
    "cosine_embedding_loss": ((X, T, SIGN[:, 0]), {"margin": 0.1}, "CosineEmbeddingLoss",
                              np.where(SIGN[:, 0] == 1, 1 - cosine(X, T),
                                       hinge(cosine(X, T) - 0.1))),
    "triplet_margin_loss": ((X, T, P), {"swap": True, "margin": 3.0}, "TripletMarginLoss",
                            hinge(far(X, T) - np.minimum(far(X, P), far(T, P)) + 3)),
    "triplet_margin_with_distance_loss": ((X, T, P), {}, "TripletMarginWithDistanceLoss",
                                          hinge(far(X, T) - far(X, P) + 1)),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    operands, options, module, expected = CASES[name]
    options = {k: ag.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    xs = [ag.tensor(a) for a in operands]
    function = getattr(F, name)

    def all_ways(*xs: Any) -> Any:
        return [function(*xs, **options, reduction=r) for r in ("none", "sum", "mean")]

    for found in (all_ways(*xs), ag.jit(all_ways)(*xs)):
        for got, want in zip(found, (expected, expected.sum(), expected.mean()), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(getattr(nn, module)(**options)(*xs), expected.mean(), rtol=1e-9)
    check_grads(lambda x: function(x, *xs[1:], **options), (xs[0],), order=1)
    assert function(*[x.astype("float32") if x.dtype.kind == "f" else x for x in xs],
                    **{k: v.astype("float32") if isinstance(v, ag.Tensor) else v
                       for k, v in options.items()}).dtype == "float32"


@pytest.mark.parametrize("name", CASES)
def test_what_does_not_fit_is_refused(name: str) -> None:
    operands, _, module, _ = CASES[name]
    xs = [ag.tensor(a) for a in operands]
    with pytest.raises(ValueError, match="reduction must be"):
        getattr(F, name)(*xs, reduction="median")
    with pytest.raises(ValueError, match=r"float64\[3, 4\]|shape"):
        getattr(nn, module)()(xs[0], *[ag.ones((7, 9), dtype=x.dtype) for x in xs[1:]])


@pytest.mark.parametrize(("name", "limit"), [
    ("binary_cross_entropy_with_logits", 1000.0), ("soft_margin_loss", 1000.0),
    ("multilabel_soft_margin_loss", 1000.0),
])
def test_large_scores_have_finite_losses_and_gradients(name: str, limit: float) -> None:
    x, t = ag.tensor([[limit, -limit]]), ag.tensor([[1.0, 1.0]])
    loss, g = ag.value_and_grad(lambda x: getattr(F, name)(x, t, reduction="sum"))(x)
    assert float(loss) in (limit, limit / 2)
    assert np.isfinite(g).all()


def test_a_network_learns_labels_that_hold_or_not() -> None:
    ag.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = ag.optim.Adam(model.parameters(), lr=0.05)
    lossy = nn.BCEWithLogitsLoss()

    @ag.jit
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = lossy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    x, y = ag.tensor(X.astype("float32")), ag.tensor(Y.astype("float32"))
    losses = [float(step(x, y)) for _ in range(200)]
    assert losses[-1] < 0.05 < losses[0]


def test_a_divergence_per_sample_of_no_samples_is_no_number() -> None:
    none = ag.zeros((0, 3))
    assert ag.isnan(nn.functional.kl_div(none, none, reduction="batchmean")).item()


@pytest.mark.parametrize("run", [lambda f: f, ag.jit])
@pytest.mark.parametrize("loss", [
    lambda x, y: ag.grad(lambda x: F.multi_margin_loss(x, y))(x),
    lambda x, y: nn.AdaptiveLogSoftmaxWithLoss(3, 3, [1])(x, y).loss,
    nn.BinaryHierarchicalSoftmax(3, ((0, 1), 2))])
def test_labels_are_not_counted_from_the_end(loss: Any, run: Any) -> None:
    with pytest.raises(IndexError, match=r"a label is out of range: .* less than 3"):
        run(loss)(ag.ones((2, 3)), ag.tensor([0, -1]))


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss])
def test_weighted_means_divide_by_the_weights_of_all_losses(loss: Any) -> None:
    """Those of fewer axes count once a row; integers have means that are no integers."""
    x, y = np.arange(6).reshape(2, 3), np.array([[1, 0, 2], [7, 1, 3]])
    for dtype in ("int64", "float64"):
        for w in (np.array([1, 2, 4]), np.array([[3], [1]]), np.arange(6).reshape(2, 3)):
            given = [ag.array(v.astype(dtype)) for v in (x, y, w)]
            losses, whole = abs(x - y) ** (1 + (loss is F.mse_loss)), np.broadcast_to(w, (2, 3))
            found = loss(given[0], given[1], weight=given[2])
            assert float(found) == pytest.approx((losses * w).sum() / whole.sum())
    none = ag.zeros(0, dtype="int32")
    assert ag.isnan(loss(none, none, weight=none)).item()
