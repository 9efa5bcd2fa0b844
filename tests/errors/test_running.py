"""What compiled code tells when it runs: the function that the user called, and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn

X, LABELS, PLACES = ag.ones((2, 3)), ag.tensor([0, 5]), ag.tensor([[0], [5]])
LABEL = "a label is out of range: it must be at least 0 and less than 3"
INDEX = "an index is out of range: it must be at least -3 and less than 3"
POWER = "whole numbers have no negative powers: convert one to a float"
CASES: list[tuple[Any, tuple[Any, ...], str]] = [
    (lambda x, t: ag.cross_entropy(x, t), (X, LABELS),
     f"cross_entropy(float32[2, 3], int64[2]): {LABEL}"),
    (lambda x, t: nn.CrossEntropyLoss()(x, t), (X, LABELS),
     f"cross_entropy(float32[2, 3], int64[2]): {LABEL}"),
    (lambda x, t: nn.functional.nll_loss(x, t), (X, LABELS),
     f"nll_loss(float32[2, 3], int64[2]): {LABEL}"),
    (lambda x, t: ag.take(x, t, 1), (X, LABELS), f"take(float32[2, 3], int64[2]): {INDEX}"),
    (lambda x, t: x.take(t, axis=1), (X, LABELS), f"take(float32[2, 3], int64[2]): {INDEX}"),
    (lambda x, t: x.T[t], (X, LABELS), f"getitem(float32[3, 2], int64[2]): {INDEX}"),
    (lambda x, t: x.gather(1, t), (X, PLACES),
     f"gather(float32[2, 3], int64[2, 1], int64[2, 1]): {INDEX}"),
    (lambda x, t: ag.scatter_add(x, 1, t, x), (X, PLACES),
     f"scatter_add(float32[2, 3], int64[2, 1], int64[2, 1], float32[2, 1]): {INDEX}"),
    (lambda x, t: ag.put_along_axis(x, t, 1.0, 1), (X, PLACES),
     f"put_along_axis(float32[2, 3], int64[2, 1], int64[2, 1], float32[2, 1]): {INDEX}"),
    (lambda x: ag.linalg.cho_factor(x), (-ag.eye(3),),
     "cho_factor(float32[3, 3]): Matrix is not positive definite; a small multiple of the identity "
     "may make it so, and ag.linalg.eigh takes any symmetric matrix"),
    (lambda n: 2**n, (ag.tensor([1, -1]),), f"power(int64[], int64[2]): {POWER}"),
    (lambda n: (n**n).sum(), (ag.tensor([1, -1]),), f"power(int64[2], int64[2]): {POWER}"),
    (lambda n: ag.scan(lambda c, k: (c**k, c), n[0], n)[0], (ag.tensor([1, -1]),),
     f"power(int64[], int64[]): {POWER}"),
]


@pytest.mark.share(2)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile", "None"])
@pytest.mark.parametrize(("function", "operands", "text"), CASES)
def test_errors_name_what_the_user_called(function: Any, operands: Any, text: str,
                                          optimizer: str) -> None:
    with pytest.raises((ValueError, IndexError)) as caught:
        ag.jit(function, optimizer=optimizer)(*operands)
    told, _, place = str(caught.value).partition("\n")
    assert told == text
    assert "test_running.py" in place


@pytest.mark.parametrize(("function", "operands", "text"), CASES)
def test_the_same_functions_fail_eagerly(function: Any, operands: Any, text: str) -> None:
    with pytest.raises((ValueError, IndexError)) as caught:
        function(*operands)
    assert str(caught.value).startswith(text.partition("(")[0])


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16"])
def test_powers_of_whole_numbers(dtype: str) -> None:
    base, exponent = np.array([2, 3, 0, 1], dtype), np.array([3, 0, 0, 2], dtype)
    found = ag.jit(lambda a, b: a**b)(base, exponent)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, base**exponent)


def test_a_gradient_through_labels_out_of_range_names_the_loss() -> None:
    model, loss = nn.Linear(3, 3), nn.CrossEntropyLoss()

    @ag.jit
    def step(x: Any, t: Any) -> Any:
        model.zero_grad()
        found = loss(model(x), t)
        found.backward()
        return found, model.weight.grad

    step(X, ag.tensor([0, 1]))
    with pytest.raises(IndexError, match=r"^cross_entropy\(float32\[2, 3\], int64\[2\]\): a label"):
        step(X, LABELS)
