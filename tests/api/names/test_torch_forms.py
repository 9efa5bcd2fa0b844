"""Calls that only PyTorch's users write: arguments by place behind ours, and their names."""

from typing import Any

import numpy as np
import pytest

import agnesi as ag

X = np.arange(24.0).reshape(2, 3, 4)
M = np.array([[4.0, 1.0], [2.0, 3.0]])


def x() -> Any:
    return ag.tensor(X)


FORMS = [
    (lambda: x().mean(1, True, dtype=ag.float32), X.mean(1, keepdims=True)),
    (lambda: ag.sum(x(), (0, 1), False, dtype=ag.float32), X.sum((0, 1))),
    (lambda: x().topk(2, 1, False, sorted=True).values, np.sort(X, 1)[:, :2]),
    (lambda: ag.var_mean(x(), 0, True, keepdim=True)[0], X.var(0, ddof=1, keepdims=True)),
    (lambda: ag.nanquantile(x(), 0.5, 1, True, interpolation="lower"),
     np.quantile(X, 0.5, 1, method="lower", keepdims=True)),
    (lambda: ag.softmax(x(), 0, ag.float64).sum(0), np.ones((3, 4))),
    (lambda: x().transpose(0, dim1=1), X.swapaxes(0, 1)),
    (lambda: x().swapdims(0, dim1=2), X.swapaxes(0, 2)),
    (lambda: ag.swapaxes(x(), 0, axis1=2), X.swapaxes(0, 2)),
    (lambda: x().swapaxes_(0, axis1=2), X.swapaxes(0, 2)),
    (lambda: x().hsplit(indices=[1])[1], X[:, 1:]),
    (lambda: x().tensor_split(indices=(1,), dim=2)[1], X[..., 1:]),
    (lambda: ag.index_put(x(), (ag.tensor([0]),), values=ag.tensor(5.0))[0], np.full((3, 4), 5.0)),
    (lambda: ag.put(x(), index=ag.tensor([0]), source=ag.tensor([9.0]))[0, 0, 0], 9.0),
    (lambda: x()[0, 0].broadcast_to(3, -1), np.broadcast_to(X[0, 0], (3, 4))),
    (lambda: x().nan_to_num(None), X),
    (lambda: ag.frexp(x()).mantissa, np.frexp(X)[0]),
    (lambda: ag.histogram(x(), 3).hist, np.histogram(X, 3)[0]),
    (lambda: ag.divide(ag.tensor([5], dtype="int32"), 2, rounding_mode="trunc"), [2]),
    (lambda: ag.linalg.solve_ex(ag.tensor(M), ag.tensor(M), left=False).result, np.eye(2)),
    (lambda: ag.linalg.pinv(ag.tensor(np.diag([2.0, 1e-3])), atol=0.1), np.diag([0.5, 0.0])),
    (lambda: ag.lu_unpack(LU_data=ag.linalg.lu_factor(ag.tensor(M)).lu,
                          LU_pivots=ag.linalg.lu_factor(ag.tensor(M)).piv)[0], np.eye(2)),
    (lambda: ag.nn.functional.max_pool2d(x()[None], (2,), stride=(1,)).sum(), 168.0),
]


@pytest.mark.parametrize("case", range(len(FORMS)))
def test_a_form_means_what_it_means_in_pytorch(case: int) -> None:
    call, wanted = FORMS[case]
    np.testing.assert_allclose(call().numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("call", [
    lambda: ag.max(x(), axis=-2, keepdim=True), lambda: x().min(axis=1, keepdim=False),
    lambda: ag.median(x(), axis=0, keepdim=True), lambda: ag.nanmedian(x(), axis=0, keepdim=True),
    lambda: ag.max(input=x(), axis=1), lambda: ag.min(input=x(), axis=(-1)),
    lambda: ag.median(ag.tensor(2.5), 0), lambda: ag.sort(ag.tensor(2.5), 0),
])
def test_what_numpy_refuses_has_pytorchs_answer(call: Any) -> None:
    values, indices = call()
    assert values.dtype == ag.float64 or values.shape == ()
    assert indices.dtype == ag.int64
    assert indices.shape == values.shape


def test_extremes_by_place_are_numpys_also_of_a_number() -> None:
    assert ag.max(ag.tensor(2.5), 0).item() == ag.tensor(2.5).min(-1).item() == 2.5
    assert ag.max(x(), 0, None).shape == np.max(X, 0, None).shape


@pytest.mark.parametrize("name", ["std", "var"])
def test_deviations_of_a_number_along_an_axis_by_place_name_the_correction(name: str) -> None:
    for call in (getattr(ag, name), getattr(ag.Tensor, name)):
        with pytest.raises(TypeError, match="n - 1 in PyTorch and by n in NumPy"):
            call(ag.tensor(2.5), 0)
        assert call(ag.tensor(2.5), axis=0, correction=0).item() == 0.0


def test_a_flag_is_no_dtype() -> None:
    with pytest.raises(TypeError, match="True is neither a dtype nor a device"):
        x().to(True)
    assert x().to("cpu", True).dtype == ag.float64


def test_a_rounded_quotient_keeps_the_dtype() -> None:
    assert ag.divide(ag.tensor([5], dtype="uint8"), 2, rounding_mode="trunc").dtype == "uint8"


def test_the_method_cross_takes_the_first_axis_of_three() -> None:
    a, b = X[:, :, :3], X[:, :, 1:]
    np.testing.assert_allclose(ag.tensor(a).cross(ag.tensor(b)), np.cross(a, b, axis=1))
    np.testing.assert_allclose(ag.cross(ag.tensor(a), ag.tensor(b)), np.cross(a, b))
    np.testing.assert_allclose(ag.tensor(X).cross(ag.tensor(X[:1] + 1)),
                               np.cross(X, X[:1] + 1, axis=1))


def test_a_float_factor_of_integers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"alpha must be an integer for int64\[2\], not 2\.5"):
        ag.tensor([1, 2]).index_add(0, ag.tensor([0]), ag.tensor([1]), alpha=2.5)


@pytest.mark.parametrize("p", [None, 1, -1, "fro", np.inf, -2])
def test_the_condition_of_singular_matrices_is_infinite(p: Any) -> None:
    stack = np.stack([np.zeros((2, 2)), M])
    with np.errstate(all="ignore"):
        wanted = np.linalg.cond(stack, p)
    np.testing.assert_allclose(ag.linalg.cond(ag.tensor(stack), p), wanted)
    np.testing.assert_allclose(ag.jit(lambda a: ag.linalg.cond(a, p))(ag.tensor(stack)), wanted)


MISTAKES: list[tuple[Any, type[Exception], str]] = [
    (lambda: ag.linalg.inv(ag.zeros((2, 2))), ValueError,
     r"inv\(float32\[2, 2\]\): Singular matrix; ag\.linalg\.lstsq"),
    (lambda: ag.linalg.cholesky(-ag.eye(2)), ValueError, "not positive definite; a small"),
    (lambda: ag.ones((2, 3, 4)) @ ag.ones((3, 4, 5)), ValueError,
     "in front of the matrices, sizes 2 and 3 differ"),
    (lambda: ag.jit.save(1, "f"), NotImplementedError, r"jit\.save\(\) is PyTorch's; use ag\.save"),
    (lambda: ag.config(4), TypeError, r"as in threads=4, not 4\n  at .*test_torch_forms\.py"),
    (lambda: ag.FloatTensor([1.0], [2.0]), TypeError, r"are no sizes, which are integers"),
    (lambda: ag.Tensor(zzz=1), TypeError, r"^Tensor\(\) got an unexpected keyword"),
    (lambda: ag.data.StackDataset(1, 2), TypeError, "takes datasets with a length, not 1"),
    (lambda: ag.sparse.csr(ag.eye(2)).reshape(4), AttributeError, "use the method of `ag.sparse"),
    (lambda: ag.sparse.csr(ag.eye(2)).__setitem__(0, 1), TypeError, "cannot be assigned"),
    (lambda: ag.Variable, AttributeError, r"use `ag\.tensor\(data, requires_grad=True\)`"),
    (lambda: ag.batch_norm, AttributeError, "where weight and bias stand behind"),
]


@pytest.mark.parametrize("case", range(len(MISTAKES)))
def test_a_mistake_is_told_with_its_fix(case: int) -> None:
    call, kind, told = MISTAKES[case]
    if kind is ValueError:  # errors of matrices are NumPy's, too
        kind = (ValueError, np.linalg.LinAlgError)  # type: ignore[assignment]
    with pytest.raises(kind, match=told):
        call()


def test_names_that_theano_makes_late_are_guessed() -> None:
    import agnesi.compat.theano.tensor as TT

    assert {"matrix", "log1pexp", "dot"} <= {*dir(TT)}
    with pytest.raises(AttributeError, match="did you mean `matrix`"):
        TT.matrx  # noqa: B018


def test_a_frozen_script_is_a_compiled_module() -> None:
    model = ag.nn.Linear(2, 1)
    frozen = ag.jit.freeze(ag.jit.script(model))
    assert isinstance(ag.jit.script(lambda v: v), ag.jit.ScriptFunction)
    np.testing.assert_allclose(frozen(ag.ones(2)).detach(), model(ag.ones(2)).detach())
