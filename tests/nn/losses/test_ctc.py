"""Connectionist temporal classification: against all readings, one by one; gradients, compiled."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.nn.functional import ctc_loss
from agnesi.testing import check_grads

RANDOM = np.random.default_rng(0)
SCORES = RANDOM.normal(size=(4, 5, 3))
PROBS = SCORES - np.log(np.exp(SCORES).sum(-1, keepdims=True))
TARGETS = np.array([[1, 2, 9], [1, 1, 2], [2, -1, -1], [1, 1, 9], [9, 9, 9]])
INPUTS, WANTED = [4, 4, 3, 2, 4], [2, 3, 1, 2, 0]


def chance(probs, target, blank):
    """The sum over all paths that read as the target."""
    total = 0.0
    for path in itertools.product(range(probs.shape[1]), repeat=len(probs)):
        read = [label for label, _ in itertools.groupby(path) if label != blank]
        if read == list(target):
            total += np.exp(sum(row[label] for row, label in zip(probs, path, strict=True)))
    return total


def reference(blank, targets):
    with np.errstate(divide="ignore"):
        return np.array([
            -np.log(chance(PROBS[:n, i], targets[i, :m], blank))
            for i, (n, m) in enumerate(zip(INPUTS, WANTED, strict=True))
        ])


@pytest.mark.parametrize("blank", [0, 2])
def test_all_readings(blank):
    targets = np.where(TARGETS == 2, 0, TARGETS) if blank == 2 else TARGETS
    expected = reference(blank, targets)
    assert np.isinf(expected).tolist() == [False, False, False, True, False]  # no room for a blank

    def losses(x, targets, inputs, wanted):
        return ctc_loss(x, targets, inputs, wanted, blank, "none")

    compiled = ag.jit(losses)
    operands = [ag.tensor(v) for v in (PROBS, targets, INPUTS, WANTED)]
    for run in (losses, compiled):
        np.testing.assert_allclose(run(*operands).numpy(), expected, 1e-12, 1e-12)
    assert "python" not in str(compiled.plan())
    finite = np.where(np.isinf(expected), 0, expected)
    for reduction, value in (("sum", finite.sum()),
                             ("mean", (finite / np.maximum(WANTED, 1)).mean())):
        layer = nn.CTCLoss(blank, reduction, zero_infinity=True)
        np.testing.assert_allclose(layer(*operands).numpy(), value, 1e-12)


def test_gradients():
    def cost(x):
        return ctc_loss(ag.log_softmax(x), TARGETS, INPUTS, WANTED, zero_infinity=True)

    check_grads(cost, [SCORES])
    eager, compiled = (f(ag.tensor(SCORES)).numpy() for f in (ag.grad(cost), ag.jit(ag.grad(cost))))
    np.testing.assert_allclose(compiled, eager, 1e-10, 1e-13)
    assert np.isfinite(eager).all() and (eager[3:, 2] == 0).all() and (eager[:, 3] == 0).all()


def test_long_sequences_in_float32_and_halves():
    x = ag.log_softmax(ag.tensor(RANDOM.normal(size=(300, 2, 20)).astype("float32")))
    targets = RANDOM.integers(1, 20, (2, 80))
    wide = ctc_loss(x.astype("float64"), targets, [300, 250], [80, 60], reduction="none").numpy()
    found = ctc_loss(x, targets, [300, 250], [80, 60], reduction="none")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.numpy(), wide, 1e-5)
    assert ctc_loss(x[:9].astype("float16"), targets[:, :3], [9, 9], [3, 2]).dtype == np.float16
    nothing = ctc_loss(x, np.zeros((2, 0), "int64"), [3, 300], [0, 0], reduction="none").numpy()
    np.testing.assert_allclose(nothing, [-x.numpy()[:3, 0, 0].sum(), -x.numpy()[:, 1, 0].sum()],
                               1e-5)


def test_targets_one_behind_the_other_and_one_sequence():
    def losses(x, targets, wanted):
        return ctc_loss(x, targets, INPUTS, wanted, reduction="none")

    flat = np.concatenate([t[:n] for t, n in zip(TARGETS, WANTED, strict=True)])
    expected = losses(PROBS, TARGETS, WANTED).numpy()
    compiled = ag.jit(losses)
    for run in (losses, compiled):
        found = run(ag.tensor(PROBS), ag.tensor(flat), ag.tensor(WANTED))
        np.testing.assert_allclose(found.numpy(), expected, 1e-12)
    check_grads(lambda x: ctc_loss(x, flat[:2], [4], [2]), [PROBS[:, :1]])
    for one in ((flat[:2], 4, 2), (flat[:2], [4], [2])):
        assert ctc_loss(PROBS[:, 0], *one, reduction="none").shape == ()
        np.testing.assert_allclose(ctc_loss(PROBS[:, 0], *one).item(), expected[0] / 2, 1e-12)
    for run in (losses, compiled):
        with pytest.raises(ValueError, match="target_lengths must be 8 in sum"):
            run(ag.tensor(PROBS), ag.tensor(flat), ag.tensor([2, 3, 1, 2, 1]))


def test_other_lengths_take_no_other_version():
    run = ag.jit(lambda x, n: ctc_loss(x, np.array([[1, 2]] * 5), n, [2] * 5))
    for _ in range(4):
        run(ag.tensor(PROBS), ag.tensor(RANDOM.integers(2, 5, 5)))
    assert len(run.specialisations) == 1


WRONG = [
    (lambda x: ctc_loss(x[0], TARGETS, INPUTS, WANTED), ag.ShapeError, "log_probs must be (length"),
    (lambda x: ctc_loss(x, TARGETS[:2], INPUTS, WANTED), ag.ShapeError, "5 sequences of log_probs"),
    (lambda x: ctc_loss(x, TARGETS, INPUTS[:2], WANTED), ag.ShapeError,
     "input_lengths must be (5,), one for each sequence, not int64[2]"),
    (lambda x: ctc_loss(x, TARGETS, [9] * 5, WANTED), ValueError,
     "input_lengths must be at least 0 and at most 4, not 9"),
    (lambda x: ctc_loss(x, TARGETS, INPUTS, [4] * 5), ValueError,
     "target_lengths must be at least 0 and at most 3, not 4"),
    (lambda x: ctc_loss(x, TARGETS, INPUTS, WANTED, 3), ValueError, "blank=3 is none of 3 labels"),
    (lambda x: ctc_loss(x.astype("int32"), TARGETS, INPUTS, WANTED), ag.DTypeError, "be floats"),
    (lambda x: ctc_loss(x, TARGETS * 1.0, INPUTS, WANTED), ag.DTypeError, "must be integers"),
    (lambda x: ctc_loss(x, TARGETS, INPUTS, [3] * 5), ValueError,
     "targets must be labels, at least 0 and below 3, not 9"),
    (lambda x: ctc_loss(x, TARGETS, INPUTS, WANTED, reduction="max"), ValueError, "reduction must"),
    (lambda x: ag.jit(lambda n: ctc_loss(x, TARGETS, n, WANTED))(ag.tensor([9] * 5)), ValueError,
     "input_lengths must be at least 0"),
]


@pytest.mark.parametrize(("call", "kind", "words"), WRONG)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=r"(?s)^ctc_loss\(.*test_ctc\.py") as caught:
        call(ag.tensor(PROBS))
    assert words in str(caught.value)
