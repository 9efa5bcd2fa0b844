"""Calls in PyTorch's words: they mean what they mean there, functions and methods alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core import public, spellings
from agnesi.nn import functional as F

X = ag.tensor([[3.0, 1.0, 2.0, 9.0], [4.0, 6.5, 5.0, -1.0], [7.0, 8.0, 10.0, 1.5]])
A = X.numpy()


def _public() -> list[tuple[str, Any]]:
    """All public functions with a form: what they take by place and by name."""
    owners = {"ag": ag, "F": F, "linalg": ag.linalg, "fft": ag.fft, "special": ag.special}
    return [
        (f"{owner}.{name}", function)
        for owner, module in owners.items() for name in sorted(dir(module))
        if not name.startswith("_") and hasattr(function := getattr(module, name), "__wrapped__")
        and function.__code__.co_filename == public.__file__
    ]


def test_all_that_take_an_axis_take_dim() -> None:
    """The word is understood: no function refuses it for its name."""
    seen = 0
    for name, function in _public():
        names = spellings.Form(function.__wrapped__, name).names
        for ours, theirs in (("axis", "dim"), ("keepdims", "keepdim")):
            if ours not in names:
                continue
            seen += 1
            try:
                function(X, **{theirs: 0})
            except Exception as error:
                assert f"argument '{theirs}'" not in str(error), (name, str(error))
    assert seen > 120


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "all", "any", "argmax", "logsumexp"])
def test_reductions_mean_the_same(name: str) -> None:
    ours = getattr(ag, name)(X, axis=1, keepdims=True)
    for found in (getattr(ag, name)(X, dim=1, keepdim=True),
                  getattr(ag, name)(input=X, dim=1, keepdim=True),
                  *([getattr(X, name)(dim=1, keepdim=True)] if hasattr(X, name) else [])):
        assert found.shape == (3, 1)
        np.testing.assert_array_equal(found, ours)


def test_joins_and_activations_take_dim() -> None:
    assert ag.cat([X, X], dim=1).shape == ag.cat(tensors=[X, X], dim=-1).shape == (3, 8)
    assert ag.stack([X, X], dim=1).shape == (3, 2, 4)
    np.testing.assert_array_equal(F.softmax(X, dim=0), ag.softmax(X, 0))
    np.testing.assert_array_equal(F.log_softmax(input=X, dim=0), ag.log_softmax(X, 0))
    assert ag.diagonal(ag.ones((2, 3, 4)), dim1=1, dim2=2).shape == (2, 3)
    np.testing.assert_array_equal(ag.roll(X, shifts=1, dims=0), np.roll(A, 1, 0))
    np.testing.assert_array_equal(ag.triu(X, diagonal=1), np.triu(A, 1))


PAIRS = {
    "max": (A.max(1), A.argmax(1)), "min": (A.min(1), A.argmin(1)),
    "sort": (np.sort(A, 1), np.argsort(A, 1)), "cummax": (np.maximum.accumulate(A, 1), None),
    "cummin": (np.minimum.accumulate(A, 1), None),
    "median": (np.sort(A, 1)[:, 1], np.argsort(A, 1)[:, 1]),
    "nanmedian": (np.sort(A, 1)[:, 1], np.argsort(A, 1)[:, 1]),
    "mode": (A.min(1), A.argmin(1)),
}


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_values_come_with_their_places(name: str) -> None:
    values, indices = PAIRS[name]
    for function in [getattr(ag, name), *filter(None, [getattr(type(X), name, None)])]:
        found = function(X, dim=1)
        np.testing.assert_array_equal(found.values, values)
        np.testing.assert_array_equal(np.take_along_axis(A, found.indices.numpy(), 1)
                                      if found.indices.ndim == 2 else
                                      A[np.arange(3), found.indices.numpy()], values)
        if indices is not None:
            np.testing.assert_array_equal(found.indices, indices)
    if name not in ("sort", "cummax", "cummin"):
        assert function(X, dim=1, keepdim=True).values.shape == (3, 1)
    compiled = ag.jit(lambda x: tuple(function(x, dim=1)))(X)
    np.testing.assert_array_equal(compiled[0], values)


def test_the_place_takes_the_gradient() -> None:
    x = ag.tensor([[2.0, 2.0, 1.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    values.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 0.0]] and indices.tolist() == [0]


def test_ranks_count_from_one_and_nan_is_the_middle() -> None:
    assert [t.item() for t in ag.kthvalue(ag.tensor([5, 1, 3]), 2)] == [3, 2]
    assert ag.topk(X, 2, dim=0).values.shape == (2, 4)
    assert ag.kthvalue(X, 2, dim=0, keepdim=True)[0].shape == (1, 4)
    with pytest.raises(ValueError, match="k must be at least 1 and at most 3, not 4"):
        ag.kthvalue(X, 4, dim=0)
    x = ag.tensor([[1.0, ag.nan, 0.0, 5.0]])
    values, indices = x.median(dim=1)
    assert np.isnan(values.item()) and indices.item() == 1
    assert [t.item() for t in ag.nanmedian(x, dim=1)] == [1.0, 0]
    assert ag.mode(ag.tensor([3, 1, 3, 1, 2]))[0].item() == 1


def test_split_by_dim_takes_sizes() -> None:
    for split in (ag.split, type(X).split):
        assert [p.shape for p in split(X, 3, dim=1)] == [(3, 3), (3, 1)]
        assert [p.shape for p in split(X, [1, 3], dim=1)] == [(3, 1), (3, 3)]
        with pytest.raises(ValueError, match="do not add up to 4, the size of axis 1"):
            split(X, [1, 2], dim=1)
    assert [p.shape for p in ag.split(X, 2, axis=1)] == [(3, 2), (3, 2)]


@pytest.mark.parametrize("name", ["std", "var"])
def test_deviations_by_dim_say_what_they_divide_by(name: str) -> None:
    for function in (getattr(ag, name), getattr(type(X), name)):
        with pytest.raises(TypeError, match="write correction=1 or correction=0"):
            function(X, dim=0)
        expected = getattr(np, name)(A, 0, ddof=1)
        for keywords in ({"correction": 1}, {"unbiased": True}, {"ddof": 1}):
            np.testing.assert_allclose(function(X, dim=0, **keywords), expected, rtol=1e-6)


def test_what_only_pytorch_can_mean() -> None:
    assert ag.zeros(2, 3).shape == ag.ones(2, 3, dtype="int32").shape == (2, 3)
    assert ag.empty(2, 3).shape == ag.zeros(size=(2, 3)).shape == (2, 3)
    assert ag.transpose(X, 0, 1).shape == (4, 3)
    np.testing.assert_array_equal(ag.max(X, 2 - X), np.maximum(A, 2 - A))
    np.testing.assert_array_equal(X.min(other=2 - X), np.minimum(A, 2 - A))
    assert X.squeeze(dim=0).shape == (3, 4)
    assert ag.nonzero(X, as_tuple=False).shape == (12, 2)
    assert ag.randn(3, requires_grad=True).requires_grad
    assert ag.arange(3.0, requires_grad=True, device="cpu").requires_grad


def test_both_words_and_unknown_ones_are_refused() -> None:
    with pytest.raises(TypeError, match="`dim` and `axis` are the same; give one of them"):
        ag.sum(X, dim=1, axis=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        ag.sum(X, nonsense=1)
    with pytest.raises(ValueError, match="there is one device, 'cpu', and not 'cuda'"):
        ag.randn(3, device="cuda")
