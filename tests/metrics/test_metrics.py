"""Metrics over batches beside scikit-learn's over all samples, eagerly and in compiled steps."""

import numpy as np
import pytest
from sklearn import metrics as theirs

import agnesi as ag
from agnesi import metrics, nn, saving

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 4, 50)
SCORES = RNG.standard_normal((50, 4)).astype(np.float32)
SCORES[np.arange(50), LABELS] += 0.7
SCORES = np.exp(SCORES) / np.exp(SCORES).sum(1, keepdims=True)
CHOSEN = SCORES.argmax(1)
TWO = LABELS % 2
RISK = np.round(RNG.random(50) * 0.6 + TWO * 0.3, 1).astype(np.float32)  # with ties
X = RNG.standard_normal((50, 3)) + 1000
Y = X + RNG.standard_normal((50, 3)) * [0.1, 0.5, 2.0]

CASES = [
    (metrics.Accuracy(), SCORES, LABELS, theirs.accuracy_score(LABELS, CHOSEN)),
    (metrics.Accuracy(), CHOSEN, LABELS, theirs.accuracy_score(LABELS, CHOSEN)),
    (metrics.Accuracy(), RISK, TWO, theirs.accuracy_score(TWO, RISK > 0.5)),
    (metrics.Accuracy(threshold=0.7), RISK, TWO, theirs.accuracy_score(TWO, RISK > 0.7)),
    (metrics.Accuracy(top_k=2), SCORES, LABELS, theirs.top_k_accuracy_score(LABELS, SCORES, k=2)),
    (
        metrics.Accuracy(ignore_index=2),
        CHOSEN,
        LABELS,
        theirs.accuracy_score(LABELS[LABELS != 2], CHOSEN[LABELS != 2]),
    ),
    (metrics.ConfusionMatrix(4), SCORES, LABELS, theirs.confusion_matrix(LABELS, CHOSEN)),
    (metrics.ConfusionMatrix(), RISK, TWO, theirs.confusion_matrix(TWO, RISK > 0.5)),
    (metrics.AUROC(capacity=50), RISK, TWO, theirs.roc_auc_score(TWO, RISK)),
    (
        metrics.AUROC(num_classes=4),
        SCORES,
        LABELS,
        theirs.roc_auc_score(LABELS, SCORES, multi_class="ovr"),
    ),
    (metrics.MeanSquaredError(), X, Y, theirs.mean_squared_error(Y, X)),
    (
        metrics.MeanSquaredError(squared=False),
        X[:, 0],
        Y[:, 0],
        theirs.root_mean_squared_error(Y[:, 0], X[:, 0]),
    ),
    (metrics.MeanAbsoluteError(), X, Y, theirs.mean_absolute_error(Y, X)),
    (metrics.R2Score(3), X, Y, theirs.r2_score(Y, X)),
    (metrics.R2Score(), X[:, 1], Y[:, 1], theirs.r2_score(Y[:, 1], X[:, 1])),
    (
        metrics.Perplexity(),
        np.log(SCORES),
        LABELS,
        np.exp(theirs.log_loss(LABELS, SCORES.astype(float) / SCORES.sum(1, dtype=float)[:, None])),
    ),
]
for kind, function in (
    (metrics.Precision, theirs.precision_score),
    (metrics.Recall, theirs.recall_score),
    (metrics.F1Score, theirs.f1_score),
):
    for average in ("macro", "micro", "weighted", "none"):
        CASES.append(
            (
                kind(4, average),
                CHOSEN,
                LABELS,
                function(LABELS, CHOSEN, average=None if average == "none" else average),
            )
        )
    rare = np.where(CHOSEN == 3, 0, CHOSEN), np.where(LABELS == 3, 1, LABELS)
    CASES.append((kind(5), *rare, function(rare[1], rare[0], average="macro", zero_division=0)))
    CASES.append((kind(), RISK, TWO, function(TWO, RISK > 0.5)))


def fill(metric, first, second, update):
    metric.reset()
    for part in (slice(0, 20), slice(20, 40), slice(40, 50)):
        update(ag.tensor(first[part]), ag.tensor(second[part]))
    return np.asarray(metric.compute())


@pytest.mark.share(6)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]!r}{np.shape(case[1])}")
def test_values_are_scikit_learns(case):
    metric, first, second, want = case
    np.testing.assert_allclose(fill(metric, first, second, metric.update), want, rtol=1e-5)
    state = metric.state_dict()
    compiled = fill(metric, first, second, ag.jit(metric.update))
    np.testing.assert_allclose(compiled, want, rtol=1e-5)
    assert all(
        (metric.state_dict()[name] == value).all() or name in ("sum", "errors", "squares")
        for name, value in state.items()
    )
    metric.reset()
    metric.load_state_dict(state)
    np.testing.assert_allclose(np.asarray(metric.compute()), want, rtol=1e-5)


def test_a_compiled_step_adds_its_own_and_reads_nothing():
    net, loss, accuracy = nn.Linear(4, 4), metrics.Mean(), metrics.Accuracy()

    @ag.jit
    def step(x, y):
        scores = net(x)
        found = nn.functional.cross_entropy(scores, y)
        found.backward()
        loss.update(found, y.shape[0])
        accuracy.update(scores, y)

    for part in (slice(0, 20), slice(20, 40), slice(40, 50)):
        step(ag.tensor(SCORES[part]), ag.tensor(LABELS[part]))
    x, y = ag.tensor(SCORES), ag.tensor(LABELS)
    assert float(loss.compute()) == pytest.approx(
        float(nn.functional.cross_entropy(net(x), y)), 1e-5
    )
    assert float(accuracy.compute()) == pytest.approx(
        theirs.accuracy_score(LABELS, net(x).numpy().argmax(1))
    )
    assert not loss.compute().requires_grad


def test_images_have_scores_along_the_second_axis():
    scores, targets = RNG.random((3, 5, 2, 2)), RNG.integers(0, 5, (3, 2, 2))
    for k in (1, 3):
        accuracy = metrics.Accuracy(top_k=k, ignore_index=0)
        accuracy.update(scores, targets)
        flat = scores.transpose(0, 2, 3, 1).reshape(-1, 5)[targets.ravel() != 0]
        want = theirs.top_k_accuracy_score(targets[targets != 0], flat, k=k, labels=range(5))
        assert float(accuracy.compute()) == pytest.approx(want)


def test_padding_does_not_count_for_perplexity():
    logits, targets = RNG.random((2, 3, 5)), np.array([[1, 2, -100], [4, -100, -100]])
    perplexity = metrics.Perplexity(ignore_index=-100)
    perplexity.update(logits, targets)
    own = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    want = np.exp(-np.mean([own[0, 0, 1], own[0, 1, 2], own[1, 0, 4]]))
    assert float(perplexity.compute()) == pytest.approx(want)


def test_nothing_and_constants():
    for metric in (
        metrics.Mean(),
        metrics.Accuracy(),
        metrics.MeanAbsoluteError(),
        metrics.Perplexity(),
        metrics.AUROC(),
        metrics.R2Score(),
    ):
        assert np.isnan(float(metric.compute()))
    for predicted, want in ((np.full(3, 7.0), 1.0), (np.arange(3.0), 0.0)):
        score = metrics.R2Score()
        score.update(predicted, np.full(3, 7.0))
        assert float(score.compute()) == want == theirs.r2_score(np.full(3, 7.0), predicted)
    one = metrics.AUROC()
    one.update(ag.ones(3), ag.ones(3, dtype="int64"))
    assert np.isnan(float(one.compute()))
    close, unknown = metrics.AUROC(), metrics.AUROC()
    close.update(np.array([0.1, 0.1 + 1e-12]), [0, 1])
    unknown.update([0.1, float("nan")], [0, 1])
    assert float(close.compute()) == 1.0 and np.isnan(float(unknown.compute()))


def test_wrong_batches_are_refused():
    for metric, batch, error, told in [
        (metrics.Accuracy(), ([1, 2], [1, 2, 3]), ag.ShapeError, r"int64\[2\], targets int64\[3\]"),
        (metrics.Accuracy(top_k=2), ([1.0, 2], [1, 2]), ag.ShapeError, "classes"),
        (metrics.MeanSquaredError(), ([1.0], [[1.0]]), ag.ShapeError, "one shape"),
        (metrics.AUROC(), ([[1.0]], [1]), ag.ShapeError, "targets are a vector"),
        (metrics.Perplexity(), (np.ones((2, 3)), [1]), ag.ShapeError, "must agree"),
        (metrics.Accuracy(), ([1, 2], [0.5, 1.2]), ValueError, r"whole numbers.*float32\[2\]"),
        (metrics.Accuracy(top_k=2), (np.ones((1, 3)), [0.5]), ValueError, "whole numbers"),
        (metrics.F1Score(2), ([1, 1], [0.5, 1.0]), ValueError, "whole numbers, not fractions"),
        (metrics.ConfusionMatrix(2), ([1, 2], [1, 1]), ValueError, "none of 2 classes"),
        (metrics.ConfusionMatrix(2), ([1, 1], [1, -1]), ValueError, "none of 2 classes"),
        (metrics.Perplexity(), (np.ones((2, 3)), [0, -1]), ValueError, "from 0 to 2; give ignore"),
        (metrics.Perplexity(), (np.ones((2, 3)), [0, 3]), ValueError, "from 0 to 2"),
        (metrics.Accuracy(2), (np.ones((2, 3)), [0, -1]), ValueError, "from 0 to 2; give ignore"),
        (metrics.AUROC(9, 3), (np.ones((2, 3)), [0, 7]), ValueError, "labels from 0 to 2"),
        (metrics.Accuracy(), (np.ones((2, 1)), [0, 1]), ag.ShapeError, r"predictions\[:, 0\]"),
        (metrics.F1Score(), (np.ones((2, 1)), [0, 1]), ag.ShapeError, "scores of one class"),
        (metrics.R2Score(), (np.ones((2, 3)), np.ones((2, 3))), ag.ShapeError, "num_outputs=1"),
        (metrics.MeanSquaredError(), ([1j], [1j]), ag.DTypeError, r"must be real.*abs\(x\)"),
    ]:
        for update in (metric.update, ag.jit(metric.update)):
            with pytest.raises(error, match=told):
                update(*map(ag.tensor, batch))
    full = metrics.AUROC(capacity=2)
    full.update(ag.ones(2), ag.tensor([0, 1]))
    assert float(full.compute()) == 0.5
    full.update(ag.ones(1), ag.tensor([0]))
    with pytest.raises(ValueError, match="3 samples, more than capacity=2"):
        full.compute()
    for make, told in [
        (lambda: metrics.Accuracy(top_k=0), "top_k"),
        (lambda: metrics.AUROC(0), "capacity"),
        (lambda: metrics.ConfusionMatrix(1), "num_classes"),
        (lambda: metrics.F1Score(3, "binary"), "average"),
        (lambda: metrics.F1Score(3, "mean"), "average"),
    ]:
        with pytest.raises(ValueError, match=told):
            make()
    with pytest.raises(KeyError, match="it lacks"):
        metrics.Mean().load_state_dict(metrics.Accuracy().state_dict())


def test_metrics_are_parts_of_checkpoints(tmp_path):
    metric = metrics.Accuracy()
    metric.update(CHOSEN, LABELS)
    saving.save_checkpoint(tmp_path / "c", accuracy=metric)
    other = metrics.Accuracy()
    saving.load_checkpoint(tmp_path / "c", accuracy=other)
    assert float(other.compute()) == float(metric.compute())
