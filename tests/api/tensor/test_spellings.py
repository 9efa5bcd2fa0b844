"""Calls in PyTorch's words: they mean what they mean there, functions and methods alike."""

from __future__ import annotations

import sys
import types
from collections import UserList, deque
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import agnesi as ag
from agnesi.core import public
from agnesi.core.calls import spellings, watched
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


@pytest.mark.share(2)
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
    assert ag.kthvalue(X, 2, dim=0, keepdim=True).indices.shape == (1, 4)
    with pytest.raises(ValueError, match="k must be at least 1 and at most 3, not 4"):
        ag.kthvalue(X, 4, dim=0)
    x = ag.tensor([[1.0, ag.nan, 0.0, 5.0]])
    values, indices = x.median(dim=1)
    assert np.isnan(values.item()) and indices.item() == 1
    assert [t.item() for t in ag.nanmedian(x, dim=1)] == [1.0, 0]
    assert ag.mode(ag.tensor([3, 1, 3, 1, 2])).values.item() == 1


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
        with pytest.raises(TypeError, match="write correction=1 or correction=0"):
            function(X, keepdim=True)
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


def test_linear_algebra_takes_pytorchs_words() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3), rng.normal(size=(2, 3, 2))
    up, one = np.triu(a), np.tril(a, -1) + np.eye(3)
    L, m, r, t = ag.linalg, ag.tensor(a), ag.tensor(b), ag.tensor(b.swapaxes(1, 2))
    turned = np.linalg.solve
    for run in (lambda f: f(m, r, t), lambda f: ag.jit(f)(m, r, t)):
        for found, known in run(lambda m, r, t: [
                (L.solve_triangular(m, r, upper=True), 0),
                (L.solve_triangular(m, r, upper=False, unitriangular=True), 1),
                (L.solve_triangular(m, t, upper=True, left=False), 2),
                (L.solve(A=m, B=t, left=False), 3), (L.lu_solve(*L.lu_factor(m), r), 4)]):
            wanted = [lambda: turned(up, b), lambda: turned(one, b),
                      lambda: turned(up.swapaxes(1, 2), b).swapaxes(1, 2),
                      lambda: turned(a.swapaxes(1, 2), b).swapaxes(1, 2), lambda: turned(a, b)]
            np.testing.assert_allclose(found, wanted[int(known)](), rtol=1e-9)
    assert L.svdvals(m, driver=None).shape == (2, 3)
    places = ag.tensor([1, 1])
    known = np.add.at(turn := A.copy(), [1, 1], 2 * A[:2]) or turn
    for found in (ag.index_add(X, 0, places, X[:2], alpha=2),
                  X.clone().index_add_(0, places, X[:2], alpha=2),
                  X.index_add(dim=0, index=places, source=X[:2], alpha=2)):
        np.testing.assert_allclose(found, known, rtol=1e-6)
    assert X.transpose(dim0=0, dim1=1).shape == ag.transpose(X, dim0=1, dim1=0).shape == (4, 3)
    assert ag.quantile(X, 0.3, dim=0, interpolation="lower").shape == (4,)
    np.testing.assert_allclose(ag.einsum("ij,kj->ik", [X, X]), A @ A.T, rtol=1e-6)


def test_both_words_and_unknown_ones_are_refused() -> None:
    with pytest.raises(TypeError, match="`dim` and `axis` are the same; give one of them"):
        ag.sum(X, dim=1, axis=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        ag.sum(X, nonsense=1)
    with pytest.raises(ValueError, match="there is one device, 'cpu', and not 'cuda'"):
        ag.randn(3, device="cuda")


def test_operations_take_their_operands_by_pytorchs_names() -> None:
    np.testing.assert_array_equal(ag.exp(input=X), ag.exp(X))
    np.testing.assert_array_equal(ag.eq(X, other=X), A == A)
    np.testing.assert_array_equal(X.maximum(other=2 - X), np.maximum(A, 2 - A))
    for add in (ag.add, type(X).add):
        np.testing.assert_array_equal(add(X, X, alpha=3), 4 * A)
    for subtract in (ag.sub, ag.subtract, type(X).sub):
        np.testing.assert_array_equal(subtract(X, X, alpha=3), -2 * A)
    for divide in (ag.div, type(X).div):
        np.testing.assert_array_equal(divide(X, 2, rounding_mode="floor"), A // 2)
        np.testing.assert_array_equal(divide(X, -2, rounding_mode="trunc"), np.trunc(A / -2))
    with pytest.raises(ValueError, match="rounding_mode must be None, 'floor' or 'trunc'"):
        ag.div(X, 2, rounding_mode="ceil")
    assert ag.add.reduce(X, 0).shape == (4,)


def test_methods_that_arrays_have_not_are_pytorchs() -> None:
    assert X.median().item() == 4.0 and ag.median(X).item() == 4.5
    assert X.median(1).values.tolist() == [2.0, 4.0, 7.0] == X.median(axis=1)[0].tolist()
    assert [p.shape for p in X.split(2)] == [(2, 4), (1, 4)]
    assert [p.shape for p in X.split([1, 3], 1)] == [(3, 1), (3, 3)]
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        X.split(2, axis=0)
    assert bool(X.equal(X)) and not bool(X.equal(X + 1)) and not bool(X.equal(X[0]))
    assert X.cummax(1).indices.tolist() == [[0, 0, 0, 3], [0, 1, 1, 1], [0, 1, 2, 2]]
    assert X.kthvalue(2, dim=1).values.tolist() == [2.0, 4.0, 7.0]
    np.testing.assert_array_equal(X.where(X > 2, 0), np.where(A > 2, A, 0))
    assert X.unfold(dimension=1, size=2, step=1).shape == (3, 3, 2)


def test_positional_forms_with_two_answers_are_refused() -> None:
    for axes in ((0, 1), (-2, -1)):
        with pytest.raises(TypeError, match=r"write x.swapaxes\(.*, or x.permute\("):
            X.transpose(*axes)
    assert X.transpose(1, 0).shape == X.transpose(-1, -2).shape == (4, 3)
    np.testing.assert_array_equal(X.transpose((0, 1)), A)
    for wrong in (lambda: X.sort(), lambda: X.sort(1), lambda: X.sort(axis=1)):
        with pytest.raises(TypeError, match=r"write ag.sort\(x\) for the values, x.sort\(dim=-1\)"):
            wrong()
    np.testing.assert_array_equal(X.sort(1, True).values, np.sort(A, 1)[:, ::-1])
    with pytest.raises(TypeError, match=r"histogram\(input=\) .* write histogram"):
        ag.histogram(input=X)


def test_more_counts_repeat_the_tensor() -> None:
    np.testing.assert_array_equal(X.repeat(2, 1), np.repeat(A, 2, 1))
    for found in (X.repeat(2, 1, 1), X.repeat((2, 1, 1)), X.repeat([2, 1, 1])):
        np.testing.assert_array_equal(found, np.tile(A, (2, 1, 1)))
    np.testing.assert_array_equal(X.repeat(2, 5), np.tile(A, (2, 5)))


CALLS = {
    "std": (lambda: X.std(), lambda: X.std(correction=0)),
    "var": (lambda: ag.var(X, 0), lambda: ag.var(X, axis=0)),
    "max": (lambda: X.max(1), lambda: (X.max(), X.max(axis=1), ag.max(X))),
    "min": (lambda: ag.min(X, 0), lambda: ag.min(X, axis=0)),
    "median": (lambda: ag.median(X), lambda: (ag.median(X, axis=0), X.median())),
    "nanmedian": (lambda: ag.nanmedian(X), lambda: ag.nanmedian(X, axis=0)),
    "sort": (lambda: ag.sort(X), lambda: ag.sort(X, axis=-1)),
    "split": (lambda: ag.split(X, 3), lambda: (ag.split(X, 3, axis=0), X.split(3))),
    "repeat": (lambda: X.repeat(2, 1), lambda: (X.repeat(2, axis=1), ag.repeat(X, 2, 1))),
    "nonzero": (lambda: X.nonzero(), lambda: ag.nonzero(X, as_tuple=True)),
    "meshgrid": (lambda: ag.meshgrid(X[0], X[1]),
                 lambda: ag.meshgrid(X[0], X[1], indexing="xy")),
    "gradient": (lambda: ag.gradient(X[0]), lambda: ag.gradient(X[0], axis=0)),
    "histogram": (lambda: ag.histogram(X), lambda: ag.histogram(X, bins=10)),
    "triu_indices": (lambda: ag.triu_indices(3, 1), lambda: ag.triu_indices(3, k=1)),
}


@pytest.mark.parametrize("name", sorted(watched.WATCHED))
def test_numpys_answers_warn_once_where_pytorch_is_used(
    name: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    call, other = CALLS[name]
    call()
    assert not recwarn.list
    monkeypatch.setattr(watched, "_SAID", set())
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    other()
    ag.linalg.norm(X), ag.nn.functional.layer_norm(X, (4,)), ag.corrcoef(X)
    ag.unique_consecutive(X), ag.setdiff1d(X, X), ag.intersect1d(X, X), X.to_sparse_csr()
    assert not recwarn.list
    call()
    call()
    (found,) = recwarn.list
    assert str(found.message).startswith(f"{name} ") and "PyTorch's" in str(found.message)
    assert found.filename == __file__


def test_numpys_answers_warn_where_pytorch_is_imported_and_are_its_own_where_we_are_torch(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(watched, "_SAID", set())
    X.std(), ag.max(X, 1), X.repeat(2, 1)
    assert not recwarn.list
    with monkeypatch.context() as here:
        here.setitem(globals(), "torch", ag)
        assert X.std().item() == pytest.approx(X.std(correction=1).item())
    monkeypatch.setitem(sys.modules, "torch", ag)
    ag.max(X, X)
    assert not recwarn.list
    X.std(), ag.max(X, 1), X.repeat(2, 1), X.std()
    assert [str(w.message).split()[0] for w in recwarn.list] == ["std", "max", "repeat"]


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_numbers_of_numpys_are_no_python_numbers_as_is_told_once(
    run: Any, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    x, narrow = ag.ones(3), ag.ones(3, dtype="float16")
    run(lambda x: x * np.float64(2))(x)
    monkeypatch.setattr(watched, "_SAID", set())
    monkeypatch.setitem(sys.modules, "torch", ag)
    run(lambda x: (x * 2.0, x * np.float32(2), x.double() * np.float64(2), x.int() * np.sqrt(2)))(x)
    assert not recwarn.list
    assert run(lambda x: np.sqrt(2.0) * x)(narrow).dtype == "float64"
    assert run(lambda x: x / np.sqrt(2.0))(x).dtype == "float64"
    assert ["float64 of float16, as in NumPy" in str(w.message) for w in recwarn.list] == [True]


#: Beside a tensor x and a number n of NumPy's: the dtype that PyTorch gives for float64, and for
#: an x of int32.
BESIDE: dict[str, tuple[Callable[[Any, Any], Any], str, str]] = {
    "product": (lambda x, n: x * n, "float32", "float32"),
    "reflected": (lambda x, n: n / x, "float32", "float32"),
    "power": (lambda x, n: x ** n, "float32", "float32"),
    "function": (lambda x, n: ag.maximum(x, n * 1), "float32", "float32"),
    "of the number alone": (lambda x, n: x + n * n, "float32", "float32"),
    "where": (lambda x, n: ag.where(x > 0, n, x), "float32", "float32"),
    "keyword": (lambda x, n: x.add(x, alpha=n), "float32", "float32"),
    "clamp": (lambda x, n: x.clamp(n), "float32", "float32"),
    "array": (lambda x, n: x * np.ones(3) * n, "float64", "float64"),
    "tensor of it": (lambda x, n: ag.as_tensor(n), "float64", "float64"),
    "literal": (lambda x, n: x * np.float32(2), "float32", "float32"),
}


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", BESIDE)
def test_numbers_of_numpys_are_pythons_where_torch_is_agnesi(
    run: Any, name: str, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    f, floats, integers = BESIDE[name]
    for _ in range(20):  # more calls than a plan waits for
        assert f(ag.ones(3), np.float64(2)).dtype == "float64" or name == "literal"
    recwarn.clear()
    monkeypatch.setitem(globals(), "torch", ag)
    x, n = ag.tensor([1.0, 2.0, 3.0]), np.float64(1.7)
    found = run(f)(x, n)
    assert found.dtype == floats and run(f)(x.int(), n).dtype == integers
    assert found.tolist() == f(x, float(n) if floats == "float32" else n).tolist()
    assert run(lambda x: x * np.int64(2))(x.int()).dtype == "int32"
    assert run(lambda x: x * np.complex128(1j))(x).dtype == "complex64"
    with pytest.raises(TypeError):  # wider than any of tensors'
        run(lambda x: x * np.longdouble(2))(x)
    assert not recwarn.list


def test_numbers_of_numpys_are_pythons_in_what_is_made_of_them(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Callable[[Any], Any]] = [
        lambda n: ag.full((2,), n), lambda n: ag.arange(n, 3), lambda n: ag.linspace(0, n, 3),
        lambda n: ag.full_like(ag.ones(2), n)]
    assert [f(np.float64(2)).dtype.name for f in made] == ["float64"] * 3 + ["float32"]
    monkeypatch.setitem(globals(), "torch", ag)
    assert [f(np.float64(2)).dtype.name for f in made] == ["float32"] * 4
    assert ag.tensor(np.float64(2)).dtype == ag.tensor([np.float64(2)]).dtype == "float64"


def test_lists_and_ranges_stand_for_arrays() -> None:
    x = ag.zeros((3, 4))
    x[range(3), ag.tensor([2, 0, 1])] = ag.tensor([5.0, 6.0, 7.0])
    assert x.sum(1).tolist() == [5.0, 6.0, 7.0] and x[0, 2].item() == 5.0
    assert x[range(3), [2, 0, 1]].tolist() == [5.0, 6.0, 7.0]
    np.testing.assert_array_equal(ag.mean([X, X + 1], 0), A + 0.5)
    np.testing.assert_array_equal(X[[0, 0]], A[[0, 0]])
    assert [t.shape for t in ag.atleast_2d(1.0, [1, 2])] == [(1, 1), (1, 2)]


@pytest.mark.parametrize("key", [
    np.s_[1:4, 0, 4], np.s_[1:5:3j, [1, 2]], np.s_["0,2", [1, 2], [3, 4]],
    np.s_["1,2,0", [1, 2], [3, 4]], np.s_["-1", [[1], [2]], [[3], [4]]], np.s_["0,3,1", [1, 2]],
    np.s_[[1, 2], [3, 4]], np.s_[0:6:2], np.s_[[[1, 2]], [[3, 4]]],
], ids=str)
@pytest.mark.parametrize("name", ["r_", "c_"])
def test_lines_are_numpys(name: str, key: Any) -> None:
    try:
        expected = getattr(np, name)[key]
    except ValueError:
        with pytest.raises(ValueError):
            getattr(ag, name)[key]
        return
    np.testing.assert_allclose(getattr(ag, name)[key], expected)


def test_new_tensors_have_the_dtype() -> None:
    x = ag.ones(2, dtype="float64")
    for made in (x.new_zeros(2, 3), x.new_ones((2, 3)), x.new_empty(2, 3), x.new_full((2, 3), 4)):
        assert made.shape == (2, 3) and made.dtype == "float64"
    assert x.new_zeros(2, dtype="int32", device="cpu").dtype == "int32"
    assert x.new_tensor([1, 2], requires_grad=True).requires_grad
    assert x.to("cpu", non_blocking=True) is x and x.to(device="cpu") is x
    assert x.to("cpu", ag.float32).dtype == x.to(device="cpu", dtype="float32").dtype == "float32"


def test_products_and_distances() -> None:
    np.testing.assert_allclose(
        ag.addmm(X, X, A.T @ A, beta=2, alpha=0.5), 2 * A + 0.5 * A @ (A.T @ A), rtol=1e-6)
    np.testing.assert_allclose(X.addmm(X, ag.eye(4)), 2 * A)
    np.testing.assert_array_equal(X.index_select(1, ag.tensor([2, 0])), A[:, [2, 0]])
    assert ag.index_select(X, dim=0, index=ag.tensor(1)).shape == (1, 4)
    for p in (1.0, 2.0, float("inf")):
        expected = np.linalg.norm(A[:, None] - A[None, :2], p, axis=-1)
        np.testing.assert_allclose(ag.cdist(X, X[:2], p), expected, rtol=1e-6)
    assert not np.isnan(ag.grad(lambda x: ag.cdist(x, x).sum())(X).numpy()).any()


def test_training_loops_of_pytorch() -> None:
    model = ag.nn.Sequential(ag.nn.Linear(4, 2), ag.nn.Linear(2, 1))
    optimizer = ag.optim.SGD(model.parameters(recurse=True), lr=0.001)
    assert [*model.parameters(recurse=False)] == []
    assert [n for n, _ in model[0].named_parameters(prefix="first")] == ["first.weight",
                                                                         "first.bias"]
    model = model.to(device="cpu")

    def closure() -> ag.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = (model(X) ** 2).mean()
        loss.backward(retain_graph=True)
        return loss

    first, last = optimizer.step(closure), optimizer.step(closure=closure)
    assert last.item() < first.item() and last.requires_grad
    model.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in model.parameters())

    @ag.no_grad
    def evaluated(x: ag.Tensor) -> ag.Tensor:
        """The model's answer."""
        return model(x)

    assert not evaluated(X).requires_grad and evaluated.__name__ == "evaluated"
    with pytest.raises(TypeError, match="takes nothing, or the function that it decorates, not 1"):
        ag.no_grad(1)
    assert ag.grad(lambda a, b: a * b, argnum=1)(3.0, 2.0).item() == 3.0
    assert ag.value_and_grad(lambda a, b: a * b, argnum=1)(3.0, 2.0)[1].item() == 3.0


def test_random_numbers_take_numpys_order() -> None:
    assert ag.random.normal(0, 1, 3).shape == ag.random.uniform(0, 1, (3,)).shape == (3,)
    assert ag.random.exponential(2.0, 3).shape == ag.random.gumbel(0, 1, 3).shape == (3,)
    assert ag.random.normal(mean=ag.zeros((2, 3))).shape == (2, 3)
    drawn = ag.random.normal(100, 0.5, 50)
    assert (abs(drawn - 100) < 5).all()
    one, two = ag.random.default_rng(3), ag.random.default_rng(3)
    np.testing.assert_array_equal(one.normal(1, 2, 5), ag.random.normal(1, 2, 5, generator=two))
    assert one.random(3).shape == (3,) and one.standard_normal((2, 1)).shape == (2, 1)


@pytest.mark.parametrize(("name", "words"), [
    ("pow", "input exponent"), ("where", "condition input other"), ("clamp", "input min max"),
    ("round", "input decimals"), ("floor", "input"), ("ceil", "input"), ("trunc", "input"),
    ("sign", "input"), ("xlogy", "input other"), ("kron", "input other"),
    ("polygamma", "n input"), ("lerp", "input end weight"), ("swapaxes", "input axis0 axis1"),
    ("exp", "input"), ("add", "input other")])
def test_operands_go_by_pytorchs_names(name: str, words: str) -> None:
    given = {"exponent": 2, "min": 1.0, "max": 4.0, "decimals": 1, "n": 1, "weight": 0.5,
             "axis0": 0, "axis1": 1, "condition": X > 2}
    values = [given.get(word, X) for word in words.split()]
    function = getattr(ag, name)
    named = dict(zip(words.split(), values, strict=True))
    for call in (function, lambda **named: ag.jit(lambda: function(**named))()):
        np.testing.assert_allclose(call(**named), function(*values), rtol=1e-6)


def test_equal_by_pytorchs_names_which_gives_one_bool_there_is_refused() -> None:
    with pytest.raises(TypeError, match=r"equal.*'?other"):
        ag.equal(X, other=X)


def test_operands_are_converted_first_by_dtype() -> None:
    for found in (ag.softmax(X, dim=1, dtype=ag.float64), ag.norm(X, dtype=ag.float64),
                  ag.nanmean(input=X, dim=0, dtype=ag.float64), X.norm(p=1, dtype=ag.float64)):
        assert found.dtype == np.float64


def test_counts_alone_repeat_their_places() -> None:
    counts = ag.tensor([1, 0, 2])
    for found in (ag.repeat_interleave(counts), ag.repeat_interleave(repeats=counts)):
        assert found.tolist() == [0, 2, 2]


def test_old_words_for_reductions() -> None:
    y = X + 1
    assert F.mse_loss(X, y, size_average=False).item() == 12
    assert F.mse_loss(X, y, size_average=True, reduction="sum").item() == 1
    assert F.mse_loss(X, y, reduce=False).shape == X.shape


def test_sequences_of_pythons_are_read_as_lists() -> None:
    for kind in (deque, UserList):
        for found in (ag.tensor(kind([1.0, 2.0])), ag.asarray(kind([ag.tensor(1.0), 2.0])),
                      ag.add(kind([0.0, 1.0]), 1)):
            assert found.dtype == np.float32
            assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_out_stands_behind_the_operands_as_in_numpy(run: Any) -> None:
    @run
    def step(x: Any) -> Any:
        out, row = ag.zeros((3, 4)), ag.zeros(4)
        ag.add(x, x, out)
        ag.negative(out, out)
        ag.clip(out, -5.0, 5.0, out)
        ag.sum(out, 0, None, row)
        ag.cumsum(row, 0, None, row)
        return out, ag.matmul(out, row, ag.zeros(3))

    out = np.clip(-(A + A), -5, 5)
    row = np.cumsum(out.sum(0))
    np.testing.assert_allclose(step(X)[0], out)
    np.testing.assert_allclose(step(X)[1], out @ row)
    with pytest.raises(TypeError, match=r"add.* takes 2 operands; behind them stands `out`"):
        ag.add(X, X, 2)


@pytest.mark.parametrize("name", """
    all amax amin argmax argmin argsort cumprod cumsum flip log_softmax logcumsumexp logsumexp max
    mean median min mode prod softmax sort squeeze sum
""".split())
def test_a_number_has_the_axis_of_a_vector_of_one(name: str) -> None:
    def last(n: Any) -> Any:
        found = getattr(ag, name)(n, dim=-1)
        return found[0] if isinstance(found, tuple) else found

    number, one = ag.tensor(3.0), ag.tensor([3.0])
    for run in (last, ag.jit(last)):
        assert run(number).shape == ()
        assert run(number).item() == run(one).reshape(()).item()
    with pytest.raises((IndexError, ag.ShapeError)):
        getattr(ag, name)(number, dim=1)


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_sums_of_exponentials_of_complex_numbers(run: Any) -> None:
    z, w = ag.tensor([1 + 2j, -3j, 2.5]), ag.tensor([2 + 0j, 5.0, 1 - 4j])
    expected = np.log(np.exp(z.numpy()) + np.exp(w.numpy()))
    np.testing.assert_allclose(run(ag.logaddexp)(z, w), expected, rtol=1e-5)
    np.testing.assert_allclose(run(lambda z: ag.logsumexp(z, dim=0))(z),
                               np.log(np.exp(z.numpy()).sum()), rtol=1e-5)
    slope = ag.grad(lambda z: (z.exp() + w.exp()).log().real.sum())(z)
    np.testing.assert_allclose(run(ag.grad(lambda z: ag.logaddexp(z, w).real.sum()))(z), slope,
                               rtol=1e-5)
    assert run(ag.logaddexp)(z + 800, w + 800).isfinite().all()


def test_keywords_that_say_nothing_about_values_are_taken() -> None:
    for name in ("float", "double", "half", "long", "bool", "contiguous", "clone", "cfloat"):
        assert getattr(X, name)(memory_format=ag.preserve_format).shape == (3, 4)
    assert X.is_contiguous(memory_format=ag.contiguous_format)
    np.testing.assert_array_equal(X.mv(vec=ag.ones(4)), A.sum(1))
    assert X.to_dense(dtype=ag.float64, masked_grad=True).dtype == "float64"
    rows, _ = ag.tril_indices(3, k=0, dtype=ag.int32)
    assert rows.dtype == "int32"
    out = ag.zeros(3)
    assert ag.fft.rfftfreq(4, out=out) is out
    assert F.normalize(X, out=(far := ag.zeros((3, 4)))) is far
    assert F.max_pool1d_with_indices(input=X[None], kernel_size=(2,))[0].shape == (1, 3, 2)


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_rows_that_are_looked_up_are_made_short(run: Any) -> None:
    weight = ag.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]).requires_grad_()
    found = run(lambda i, w: F.embedding(i, w, None, 1.0))(ag.tensor([0, 1]), weight)
    np.testing.assert_allclose(found.detach(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(weight.detach(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-5)


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_triangles_of_vectors_are_those_of_equal_rows(run: Any) -> None:
    v = np.arange(3.0)
    np.testing.assert_array_equal(run(ag.tril)(ag.tensor(v)), np.tril(v))
    np.testing.assert_array_equal(run(lambda v: ag.triu(v, 1))(ag.tensor(v)), np.triu(v, 1))


def test_imaginary_parts_are_refused_at_the_users_line() -> None:
    with pytest.raises(ag.DTypeError, match="1j is complex, and float32 holds real") as caught:
        ag.full((2,), 1j, dtype="float32")
    assert f"at {__file__}:" in str(caught.value)


def test_no_dims_are_all_of_them_as_in_pytorch_and_no_axes_are_none() -> None:
    for name in ("sum", "mean", "amax", "nansum", "count_nonzero", "logsumexp"):
        f = getattr(ag, name)
        assert f(X, dim=()).shape == () == f(X, dim=[]).shape
        assert f(X, axis=()).shape == X.shape
    assert X.std(dim=(), correction=1).shape == ()
    assert X.all(dim=()).shape == X.shape
    b = ag.tensor([True, False])
    assert b.clip(0).dtype == ag.clamp(b, max=1).dtype == "int64"


def test_one_bound_of_a_wider_type_and_counts_along_an_axis() -> None:
    a, bound = np.array([-5, 100], np.int8), np.array([300, 2])
    for lower, upper in ((bound, None), (None, bound), (2, None)):
        found, expected = ag.tensor(a).clip(lower, upper), a.clip(lower, upper)
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()
    assert ag.tensor([True, False]).clip(2).tolist() == [2, 2]
    assert np.array_equal(X.repeat([1, 2, 1], axis=0), A.repeat([1, 2, 1], axis=0))
    assert ag.diff(X, 0, prepend=0.0).shape == X.shape
    with pytest.raises(TypeError, match="2 counts repeat the whole tensor, without an axis"):
        X.repeat(2, 3, axis=0)


def test_stacks_of_single_elements_are_told_once(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    one = ag.tensor([1.0])
    monkeypatch.setattr(watched, "_SAID", set())
    assert ag.tensor([[one], [one]]).shape == (2, 1, 1)
    monkeypatch.setitem(globals(), "torch", ag)
    ag.tensor([one.sum(), 2.0]), ag.tensor([X, X]), ag.tensor(one), ag.tensor([[1.0]])
    assert not recwarn.list
    assert ag.tensor([[one], [one]]).shape == ag.tensor([[one], [one]]).shape == (2, 1, 1)
    (found,) = recwarn.list
    assert "write x.item()" in str(found.message) and found.filename == __file__


def test_forms_that_look_at_values_are_renamed_once() -> None:
    """What ``dim`` is called here is looked up for the first such call, not for each."""
    x, none = ag.ones(2, 3), ag.ones(0)
    assert ag.cat([x, x], dim=0).shape == (4, 3)
    with mock.patch.object(spellings, "in_our_words") as words:
        assert ag.cat([x, ag.ones(5, 3)], dim=0).shape == (7, 3)
    assert not words.called
    assert ag.cat([x, none], dim=0).shape == (2, 3)
