"""NumPy's functions on tensors: tensors, with gradients, under jit; elsewhere NumPy's answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag

A = np.array([[1.5, 2.0, 0.5], [3.0, -1.0, 4.0]])
B = np.array([[0.5, -2.0, 1.0], [1.0, 2.5, 3.5]])

#: Calls as a NumPy user writes them, on arrays or tensors ``a`` and ``b`` of shape (2, 3).
CALLS: list[Any] = [
    lambda a, b: np.concatenate([a, b]),
    lambda a, b: np.concatenate((a, b), axis=1, dtype="float32"),
    lambda a, b: np.stack([a, b], -1),
    lambda a, b: np.vstack((a, b)),
    lambda a, b: np.hstack([a, b]),
    lambda a, b: np.block([[a], [b]]),
    lambda a, b: np.append(a, b, axis=0),
    lambda a, b: np.mean(a),
    lambda a, b: np.mean(a, 0),
    lambda a, b: np.mean(a, axis=1, keepdims=True),
    lambda a, b: np.std(a, ddof=1),
    lambda a, b: np.var(a, 1, None, None, 1),
    lambda a, b: np.sum(a, axis=0),
    lambda a, b: np.prod(a, 1),
    lambda a, b: np.cumsum(a, 1),
    lambda a, b: np.where(a > b, a, b),
    lambda a, b: np.clip(a, 0, 2),
    lambda a, b: np.clip(a, a_min=0, a_max=None),
    lambda a, b: np.sort(a, axis=0, kind="stable"),
    lambda a, b: np.argsort(a, 1),
    lambda a, b: np.argmax(a, axis=0),
    lambda a, b: np.max(a, 1),
    lambda a, b: np.min(a, initial=-2.0),
    lambda a, b: np.median(a, axis=1),
    lambda a, b: np.quantile(a, 0.3, axis=0),
    lambda a, b: np.dot(a, b.T),
    lambda a, b: np.einsum("ij,kj->ik", a, b),
    lambda a, b: np.tensordot(a, b, 2),
    lambda a, b: np.outer(a, b),
    lambda a, b: np.kron(a, b),
    lambda a, b: np.trace(a),
    lambda a, b: np.linalg.norm(a),
    lambda a, b: np.linalg.norm(a, axis=1),
    lambda a, b: np.linalg.svd(a, compute_uv=False),
    lambda a, b: np.linalg.inv(a @ b.T),
    lambda a, b: np.linalg.solve(a @ b.T, a),
    lambda a, b: np.linalg.det(a @ b.T),
    lambda a, b: np.fft.rfft(a).real,
    lambda a, b: np.reshape(a, (3, 2)),
    lambda a, b: np.ravel(a),
    lambda a, b: np.transpose(a),
    lambda a, b: np.expand_dims(a, 0),
    lambda a, b: np.tile(a, (2, 1)),
    lambda a, b: np.repeat(a, 2, axis=1),
    lambda a, b: np.pad(a, ((1, 0), (0, 2)), constant_values=(1, 2)),
    lambda a, b: np.roll(a, 1, axis=1),
    lambda a, b: np.flip(a, 0),
    lambda a, b: np.tril(a),
    lambda a, b: np.diff(a),
    lambda a, b: np.take(a, [2, 0], axis=1),
    lambda a, b: np.split(a, 3, 1)[1],
    lambda a, b: np.zeros_like(a),
    lambda a, b: np.full_like(a, 2.0),
    lambda a, b: np.isclose(a, b),
    lambda a, b: np.allclose(a, a),
    lambda a, b: np.array_equal(a, b),
    lambda a, b: np.average(a, axis=1, weights=b + 3),
    lambda a, b: np.interp(a, [0.0, 4.0], [1.0, 3.0]),
    lambda a, b: np.cov(a),
    lambda a, b: np.meshgrid(a[0], b[1], indexing="ij")[1],
    lambda a, b: np.broadcast_to(a, (2, 2, 3)),
    lambda a, b: np.nan_to_num(a),
    lambda a, b: np.ptp(a, 0),
    lambda a, b: np.select([a > 2, a > 1], [a, b], 0.0),
    lambda a, b: np.searchsorted(b[1], a),
    lambda a, b: np.count_nonzero(a > 1, axis=0),
    lambda a, b: np.round(a, 1),
    lambda a, b: np.gradient(a[0]),
    lambda a, b: np.concatenate([a, B]),
    lambda a, b: np.vander(a[0], 2),
    lambda a, b: np.isin(a, b, assume_unique=True),
    lambda a, b: np.percentile(a + b, 30, overwrite_input=True),
    lambda a, b: np.lib.stride_tricks.sliding_window_view(a, 2, axis=1),
    lambda a, b: np.zeros(3, like=a) + a[0],
]


@pytest.mark.share(6)
@pytest.mark.parametrize("call", CALLS)
def test_results_are_tensors_as_numpy_computes_them(call: Any) -> None:
    expected = call(A, B)
    found = call(ag.tensor(A), ag.tensor(B))
    assert isinstance(found, ag.Tensor)
    assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    compiled = ag.jit(call)(ag.tensor(A), ag.tensor(B))
    np.testing.assert_allclose(compiled, expected, rtol=1e-6)


def test_gradients_flow_through_numpys_functions() -> None:
    def theirs(x: Any) -> Any:
        joined = np.concatenate([x, np.sin(x)])
        return np.mean(np.where(joined > 0, joined, 0)) + np.linalg.norm(np.stack([x, x * x]))

    def ours(x: Any) -> Any:
        joined = ag.concat([x, ag.sin(x)])
        return ag.mean(ag.where(joined > 0, joined, 0)) + ag.linalg.norm(ag.stack([x, x * x]))

    x = ag.tensor(A)
    expected = ag.grad(ours)(x)
    np.testing.assert_array_equal(ag.grad(theirs)(x), expected)
    np.testing.assert_allclose(ag.jit(ag.grad(theirs))(x), expected, rtol=1e-12)


def test_other_functions_get_the_values(tmp_path: Any) -> None:
    x = ag.tensor(A, requires_grad=True)
    assert np.array2string(x) == np.array2string(A)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), A)
    for call in (np.asarray, np.array, np.ascontiguousarray, np.atleast_1d, np.copy):
        assert type(call(x)) is np.ndarray
        np.testing.assert_array_equal(call(x), A)
    assert np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.result_type(x, np.float32) == "float64"


def test_arrays_to_write_into_are_numpys() -> None:
    x, room = ag.tensor(A), np.zeros((4, 3))
    assert np.concatenate([x, x], out=room) is room
    np.copyto(room[:2], 2 * x)
    np.testing.assert_array_equal(room, np.concatenate([2 * A, A]))
    masked = np.concatenate([np.ma.array([1.0, 2.0], mask=[True, False]), x[0]])
    assert isinstance(masked, np.ma.MaskedArray)


def test_operands_that_no_tensor_holds_are_numpys() -> None:
    found = np.broadcast_arrays(ag.tensor([1.0, 2.0]), None)
    assert found[1].tolist() == [None, None]
    ends = np.linspace(ag.tensor([0.0, 1.0]), ag.tensor([1.0, 2.0]), 3)
    np.testing.assert_array_equal(ends, [[0, 1], [0.5, 1.5], [1, 2]])
    np.testing.assert_array_equal(
        np.pad(ag.tensor([1.0, 2.0]), 2, "linear_ramp"), [0, 0.5, 1, 2, 1, 0]
    )


def test_gradients_are_not_lost_without_a_word() -> None:
    x = ag.tensor(A, requires_grad=True)
    with pytest.raises(TypeError) as caught:
        np.concatenate([x, x], out=np.zeros((4, 3)))
    line = caught.traceback[0].lineno + 1
    assert str(caught.value) == (
        "numpy.concatenate with these parameters would lose the gradient of float64[2, 3]: use a "
        f"function of agnesi, or x.detach()\n  at {__file__}:{line}"
    )


def test_what_only_numpy_has_needs_values() -> None:
    with pytest.raises(ag.TraceError, match=r"numpy\.array2string needs the value of"):
        ag.jit(lambda x: np.array2string(x))(ag.tensor(A))


class Other:
    """An array of another library."""

    def __array_function__(self, *args: Any) -> str:
        return "other"


def test_other_libraries_are_asked() -> None:
    assert np.concatenate([ag.tensor(A), Other()]) == "other"  # type: ignore[list-item]
