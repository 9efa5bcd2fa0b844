"""Errors of linear algebra: NumPy's kind, the user's line, all shapes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag

L: Any = ag.linalg
ZERO = ag.zeros((2, 2))
FLAT = ag.ones((2, 3))
SINGULAR = {
    "solve": lambda a: L.solve(a, ag.ones(2)), "inv": lambda a: L.inv(a),
    "cholesky": lambda a: L.cholesky(a),
    "solve_triangular": lambda a: L.solve_triangular(a, ag.ones(2)),
    "cho_solve": lambda a: L.cho_solve((a, True), ag.ones(2)),
}
#: What is wrong, and what is told; every text ends in the user's line.
MESSAGES = [
    (lambda: L.inv(FLAT),
     "inv(float32[2, 3]): the matrices must be square, not 2 by 3: shape (2, 3)"),
    (lambda: L.det(ag.ones(3)),
     "det(float32[3]): a matrix has at least 2 dimensions, this has shape (3,)"),
    (lambda: L.solve(ag.eye(2), ag.ones(3)),
     "solve(float32[2, 2], float32[3]): rows differ: 2 (axis -2 of (2, 2)) and 3 (of (3,))"),
    (lambda: L.cholesky(ag.eye(2, dtype="float16")),
     "cholesky(float16[2, 2]): linear algebra does not compute in float16: cast to float32"),
    (lambda: L.inv(ag.eye(2, dtype="bfloat16")),
     "inv(bfloat16[2, 2]): linear algebra does not compute in bfloat16: cast to float32"),
    (lambda: L.norm(FLAT, "max"),
     "norm(float32[2, 3], 'max'): there is no norm 'max' of matrices; there are 'fro', 'nuc', 1, "
     "-1, 2, -2, inf and -inf"),
    (lambda: L.qr(FLAT, "raw"),
     "qr(float32[2, 3], 'raw'): mode must be 'reduced', 'complete' or 'r', not 'raw'"),
    (lambda: L.multi_dot([FLAT]),
     "multi_dot([float32[2, 3]]): a product needs at least two matrices, not 1"),
    (lambda: L.lstsq(FLAT, ag.ones(3)),
     "lstsq(float32[2, 3], float32[3]): rows differ: 2 (axis -2 of (2, 3)) and 3 (of (3,))"),
]


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("compiled", [False, True])
def test_singular_matrices_are_numpys_error(name: str, compiled: bool) -> None:
    function: Any = SINGULAR[name]
    if compiled:
        function = ag.jit(function)
    what = "Matrix is not positive definite" if name == "cholesky" else "Singular matrix"
    with pytest.raises(np.linalg.LinAlgError, match=what) as caught:
        function(ZERO)
    assert isinstance(caught.value, L.LinAlgError)
    assert re.search(r"at .*test_errors\.py:\d+$", str(caught.value))
    assert function(ag.eye(2)) is not None  # the next call is none the worse


NO_INVERSE = ("Singular matrix; ag.linalg.lstsq and ag.linalg.pinv take such, and a small multiple "
              "of the identity makes it regular")
NOT_POSITIVE = ("Matrix is not positive definite; a small multiple of the identity may make it so, "
                "and ag.linalg.eigh takes any symmetric matrix")
NANS = ag.full((3, 3), float("nan"), dtype="float64")
#: What compiled code tells when it runs: the operation and all of its operands.
RUNNING = [
    (L.solve, (ag.zeros((4, 3, 3)), ag.ones((4, 3, 1))),
     f"solve(float32[4, 3, 3], float32[4, 3, 1]): {NO_INVERSE}"),
    (L.solve, (ag.zeros((40, 40)), ag.ones((40, 2))),
     f"solve(float32[40, 40], float32[40, 2]): {NO_INVERSE}"),
    (L.inv, (ag.zeros((40, 40)),), f"inv(float32[40, 40]): {NO_INVERSE}"),
    (L.solve_triangular, (ag.zeros((3, 3)), ag.ones((2, 3, 1))),
     f"solve_triangular(float32[3, 3], float32[2, 3, 1]): {NO_INVERSE}"),
    (L.cholesky, (ag.zeros((5, 2, 2)),), f"cholesky(float32[5, 2, 2]): {NOT_POSITIVE}"),
    (L.svd, (NANS,), "svd(float64[3, 3]): SVD did not converge"),
    (L.eig, (NANS,), "eig(float64[3, 3]): Array must not contain infs or NaNs"),
    (L.solve_sylvester, (ag.zeros((3, 3)), ag.zeros((2, 2)), ag.ones((3, 2))),
     "solve_sylvester(float32[3, 3], float32[2, 2], float32[3, 2]): the matrices a and -b have an "
     "eigenvalue in common"),
    (lambda x, i: x[i] * 2, (ag.ones((3, 4)), ag.tensor([1, 7])),
     "getitem(float32[3, 4], int64[2]): an index is out of range: it must be at least -3 and less "
     "than 3"),
    (lambda x, c: ag.ensure(x, c, "not so"), (ag.ones(3), ag.tensor([True, False])),
     "ensure(float32[3], bool[2]): not so"),
    (lambda i, w: ag.nn.functional.embedding(i, w), (ag.tensor([3]), ag.ones((3, 2))),
     "embedding(float32[3, 2], int64[1]): an id is out of range: it must be at least 0 and less "
     "than 3"),
]


@pytest.mark.parametrize(("function", "operands", "text"), RUNNING)
def test_compiled_code_tells_all_operands(function: Any, operands: Any, text: str) -> None:
    compiled = ag.jit(lambda *xs: function(*xs))
    with pytest.raises((ValueError, IndexError)) as caught:
        compiled(*operands)
    told, _, place = str(caught.value).partition("\n")
    assert told == text
    assert "test_errors.py" in place


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_that_are_sums_take_numbers_of_16_bits(dtype: str) -> None:
    x = ag.arange(6).reshape(2, 3).astype(dtype)
    for f, expected in ((L.norm, 7.4161985), (lambda x: L.norm(x, 1), 7),
                        (L.matrix_norm, 7.4161985), (L.vector_norm, 7.4161985),
                        (lambda x: L.vector_norm(x, ord=1), 15)):
        for found in (f(x), ag.jit(f)(x)):
            assert found.dtype == dtype
            assert found.item() == ag.tensor(expected, dtype=dtype).item()
    with pytest.raises(TypeError, match=f"does not compute in {dtype}"):
        L.norm(x, "nuc")


@pytest.mark.parametrize(("call", "text"), MESSAGES)
def test_messages(call: Any, text: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    told, _, place = str(caught.value).partition("\n")
    assert told == text
    assert "test_errors.py" in place


def test_one_singular_matrix_in_a_stack() -> None:
    stack = ag.stack([ag.eye(2), ZERO])
    for f in (L.inv, ag.jit(L.inv), L.cholesky, ag.jit(L.cholesky)):
        with pytest.raises(np.linalg.LinAlgError):
            f(stack)
    np.testing.assert_array_equal(L.det(stack).numpy(), [1, 0])
    sign, size = ag.jit(L.slogdet)(stack)
    np.testing.assert_array_equal(sign.numpy(), [1, 0])
    np.testing.assert_array_equal(size.numpy(), [0, -np.inf])


def test_nothing_is_checked_as_well() -> None:
    f = ag.jit(lambda x, y: ag.ensure(x, y != 0, "zeros"))
    assert f(ag.zeros(0), ag.ones(2)).shape == (0,)
    with pytest.raises(ValueError, match="zeros"):
        f(ag.zeros(0), ag.zeros(2))
