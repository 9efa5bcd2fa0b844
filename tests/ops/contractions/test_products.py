"""Matrix products, softmax and losses beside NumPy's; errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)),
     ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((0, 3), (3, 2)),
     ((2, 0), (0, 3))],
)
def test_matmul_like_numpy(a: Any, b: Any) -> None:
    x, y = RANDOM.normal(size=a), RANDOM.normal(size=b)
    found = ag.matmul(x, y)
    np.testing.assert_allclose(found.numpy(), x @ y, 1e-12)
    assert found.shape == (x @ y).shape


@pytest.mark.parametrize(
    ("a", "b"), [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (4, 3, 5)), ((2, 3), (3, 4))]
)
def test_dot_like_numpy(a: Any, b: Any) -> None:
    x, y = RANDOM.normal(size=a), RANDOM.normal(size=b)
    np.testing.assert_allclose(ag.dot(x, y).numpy(), np.dot(x, y), 1e-12)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 1), (1, 0)), (1, 0)])
def test_tensordot_like_numpy(axes: Any) -> None:
    x, y = RANDOM.normal(size=(3, 3, 3)), RANDOM.normal(size=(3, 3, 3))
    np.testing.assert_allclose(ag.tensordot(x, y, axes=axes).numpy(), np.tensordot(x, y, axes))


def test_float16_products_accumulate_in_float32() -> None:
    x = ag.ones((1, 4096), dtype="float16")
    found = ag.matmul(x, ag.ones((4096, 1), dtype="float16"))
    assert found.dtype == "float16" and found.item() == 4096


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ag.matmul(ag.ones((3, 4)), ag.ones((5, 6))), r"matmul\(float32\[3, 4\], float32\["
         r"5, 6\]\): inner sizes differ: 4 \(last axis of \(3, 4\)\) and 5 \(axis -2"),
        (lambda: ag.matmul(ag.ones(3), ag.ones(4)), r"inner sizes differ: 3"),
        (lambda: ag.matmul(ag.ones(()), ag.ones(4)), r"multiply with \*"),
        (lambda: ag.tensordot(ag.ones((2, 3)), ag.ones((2, 3)), axes=1), "sizes 3 .* and 2"),
        (lambda: ag.vecdot(ag.ones(3), ag.ones(4)), "sizes 3 and 4 differ on axis -1"),
        (lambda: ag.matmul(ag.ones((2, 3, 4)), ag.ones((3, 4, 4))), "do not broadcast"),
        (lambda: ag.einsum("iij->j", ag.ones((2, 1, 3))), "with the label 'i' .* 2 and 1"),
        (lambda: ag.function([m := ag.symbolic.tensor("float64", (None, None))],
                             ag.einsum("ii->i", m))(np.ones((2, 1))), "label 'i' differ in size"),
        (lambda: ag.cross_entropy(ag.ones((2, 3)), ag.tensor([1])), "one entry per row"),
        (lambda: ag.cross_entropy(ag.ones((2, 3)), ag.tensor([1, 1]), reduction="max"), "'mean'"),
    ],
)
def test_errors(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_gradients_of_a_stack_times_a_matrix_make_one_product() -> None:
    x = ag.tensor(RANDOM.normal(size=(4, 2, 3)), requires_grad=True)
    w = ag.tensor(RANDOM.normal(size=(3, 5)), requires_grad=True)
    (x @ w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.repeat(x.numpy().sum((0, 1))[:, None], 5, 1))


@pytest.mark.parametrize(("shape", "axis"), [((0,), 0), ((3, 0), 1), ((0, 3), 0), ((2, 0, 0), -1)])
@pytest.mark.parametrize("preset", [None, "fast_run", "fast_compile", "None"])
def test_softmax_of_nothing(shape: tuple[int, ...], axis: int, preset: str | None) -> None:
    """As in PyTorch: empty sequences have empty attention, and no sum has a logarithm of -inf."""
    for function in (ag.softmax, ag.log_softmax, ag.logsumexp):
        def value(x: ag.Tensor, function: Any = function) -> ag.Tensor:
            return function(x, axis=axis)

        def slope(x: ag.Tensor, value: Any = value) -> ag.Tensor:
            return ag.grad(lambda x: value(x).sum())(x)

        f, g = (value, slope) if preset is None else (ag.jit(h, optimizer=preset)
                                                      for h in (value, slope))
        x = ag.zeros(shape)
        assert g(x).shape == shape
        if function is ag.logsumexp:
            expected = np.full(np.delete(shape, axis), -np.inf)
            np.testing.assert_array_equal(f(x), expected)
        else:
            assert f(x).shape == shape


def test_softmax_is_stable() -> None:
    x = ag.tensor([1000.0, 1000.0, -np.inf])
    np.testing.assert_allclose(ag.softmax(x).numpy(), [0.5, 0.5, 0.0])
    assert ag.logsumexp(ag.tensor([-np.inf, -np.inf])).item() == -np.inf
    assert ag.logsumexp(ag.tensor([np.inf, 0.0])).item() == np.inf
    assert ag.softmax(ag.tensor([1.0, 2.0], dtype="float16")).dtype == "float16"


def test_cross_entropy_forms_agree() -> None:
    x, labels = RANDOM.normal(size=(6, 4)), np.array([0, 1, 2, 3, 1, 1])
    weight = np.array([1.0, 2.0, 0.5, 1.0])
    rows = -np.log(np.exp(x) / np.exp(x).sum(-1, keepdims=True))[np.arange(6), labels]
    for options, expected in (
        ({}, rows.mean()), ({"reduction": "sum"}, rows.sum()), ({"reduction": "none"}, rows),
        ({"weight": weight}, (rows * weight[labels]).sum() / weight[labels].sum()),
    ):
        np.testing.assert_allclose(ag.cross_entropy(x, labels, **options).numpy(), expected)
        logp = ag.log_softmax(x)
        np.testing.assert_allclose(ag.nll_loss(logp, labels, **options).numpy(), expected)
    np.testing.assert_allclose(ag.cross_entropy(x, np.eye(4)[labels]).numpy(), rows.mean())
    sequence = ag.cross_entropy(x.reshape(2, 3, 4), labels.reshape(2, 3), axis=-1).numpy()
    np.testing.assert_allclose(sequence, rows.mean())


def test_gradient_of_cross_entropy_is_probabilities_less_labels() -> None:
    x = ag.tensor(RANDOM.normal(size=(3, 4)), requires_grad=True)
    ag.cross_entropy(x, ag.tensor([0, 3, 1]), reduction="sum").backward()
    expected = ag.softmax(x.detach()).numpy() - np.eye(4)[[0, 3, 1]]
    np.testing.assert_allclose(x.grad.numpy(), expected, 1e-12)


@pytest.mark.share(4)
@pytest.mark.parametrize("classes", [1, 2, 5, 9, 16, 17, 33])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_gradients_of_losses_for_any_number_of_classes(classes, dtype) -> None:
    x = ag.tensor(RANDOM.normal(size=(3, classes)).astype(dtype))
    labels = ag.tensor(np.arange(3) % classes)
    for loss in (ag.nll_loss, ag.cross_entropy):
        f = ag.grad(lambda x, f=loss: (f(x, labels, reduction="none") ** 2).sum())
        np.testing.assert_allclose(ag.jit(f)(x).numpy(), f(x).numpy(), atol=1e-6)


@pytest.mark.share(2)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, np.array([1.0, 0.5, 2.0, 3.0])])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_labels_left_out_and_labels_spread(reduction, weight, smoothing) -> None:
    x, labels = RANDOM.normal(size=(5, 4)), np.array([1, -100, 3, 0, -100])
    logp, w = ag.log_softmax(x).numpy(), np.ones(4) if weight is None else weight
    rows, counts = np.zeros(5), np.zeros(5)
    for i in (0, 2, 3):
        shares = np.eye(4)[labels[i]] * (1 - smoothing) + smoothing / 4
        rows[i], counts[i] = -(shares * w * logp[i]).sum(), w[labels[i]]
    expected = {"none": rows, "sum": rows.sum(), "mean": rows.sum() / counts.sum()}[reduction]

    def loss(x):
        return ag.cross_entropy(x, labels, weight=weight, reduction=reduction, ignore_index=-100,
                                label_smoothing=smoothing)

    np.testing.assert_allclose(loss(x).numpy(), expected)
    check_op(loss, [[x]])
    gradient = ag.grad(lambda x: loss(x).sum())(ag.tensor(x)).numpy()
    assert not gradient[[1, 4]].any()
    layer = ag.nn.CrossEntropyLoss(weight, reduction, ignore_index=-100, label_smoothing=smoothing)
    np.testing.assert_allclose(layer(x, labels).numpy(), expected)
    if not smoothing:
        found = ag.nll_loss(logp, labels, weight=weight, reduction=reduction, ignore_index=-100)
        np.testing.assert_allclose(found.numpy(), expected)
        return
    hard = np.eye(4)[labels[[0, 2, 3]]]
    spread = ag.cross_entropy(x[[0, 2, 3]], hard, weight=weight, reduction="sum",
                              label_smoothing=smoothing)
    np.testing.assert_allclose(spread.numpy(), rows.sum())
    with pytest.raises(ValueError, match="goes with labels"):
        ag.cross_entropy(x[:3], hard, ignore_index=0)
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        ag.cross_entropy(x, labels, label_smoothing=2)


def test_labels_outside_are_an_error() -> None:
    logp = ag.log_softmax(RANDOM.normal(size=(3, 4)))
    labels = np.array([0, -1, 4])
    with pytest.raises(IndexError, match="label -1 is out of range for 4 classes"):
        ag.nll_loss(logp, labels, reduction="none")
    for wrong in (labels, labels[::2], labels[:2]):
        for loss in (ag.nll_loss, ag.cross_entropy):
            f = ag.jit(lambda p, y, loss=loss: loss(p, y, reduction="none"))
            with pytest.raises(IndexError, match=r"a label is out of range.*at least 0 and less"):
                f(logp[: len(wrong)], wrong)
