"""Decompositions in compiled code: LAPACK without Python, with NumPy's answers and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support import tree

L: Any = ag.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
WITHOUT = "generated code and NumPy"
pytestmark = pytest.mark.native_plans
RNG = np.random.default_rng(5)
#: Functions of matrices, and what they are tried on: square, positive, or of any shape.
FUNCTIONS: dict[str, tuple[str, Any]] = {
    "qr": ("any", L.qr), "complete qr": ("any", lambda x: L.qr(x, "complete")),
    "svd": ("any", lambda x: L.svd(x, full_matrices=False)), "full svd": ("any", L.svd),
    "svdvals": ("any", L.svdvals), "eigh": ("positive", L.eigh),
    "eigh of upper": ("positive", lambda x: L.eigh(x, "U")),
    "eigvalsh": ("positive", L.eigvalsh), "eig": ("square", L.eig),
    "eigvals": ("square", L.eigvals), "pinv": ("any", L.pinv),
    "lstsq": ("any", lambda x: L.lstsq(x, x[..., :2] + 1)), "det": ("square", L.det),
    "slogdet": ("square", L.slogdet), "lu": ("any", L.lu), "inv": ("square", L.inv),
    "solve": ("square", lambda x: L.solve(x, x[..., :2] * 2)),
    "cholesky": ("positive", L.cholesky), "expm": ("square", L.expm),
    "solve_triangular": ("square", lambda x: L.solve_triangular(x, x[..., :3])),
    "solve_triangular of vectors": ("square", lambda x: L.solve_triangular(x, x[..., :1], 2, True)),
}


def _samples(kind: str, dtype: str, n: int) -> list[np.ndarray]:
    shapes = [(3, n, n)] if kind != "any" else [(n + 2, n), (2, n, n + 3)]
    found = []
    for shape in shapes:
        x = RNG.standard_normal(shape)
        if dtype.startswith("c"):
            x = x + 1j * RNG.standard_normal(shape)
        if kind == "positive":
            x = x @ x.conj().swapaxes(-1, -2) + np.eye(n)
        elif kind == "square":
            x = x + 3 * np.eye(n)
        found.append(x.astype(dtype))
    return found


def _leaves(nest: Any) -> list[Any]:
    return tree.flatten(nest)[0]


def _calls_python(compiled: Any) -> bool:
    """Whether compiled code does, though there is a library."""
    if L.backend() == WITHOUT:
        return False
    return re.search(r"^ *\d+: python", str(compiled.plan()), re.MULTILINE) is not None


@pytest.mark.share(24)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_decompositions_without_python(name: str, dtype: str) -> None:
    kind, function = FUNCTIONS[name]
    tolerance = 2e-3 if dtype in ("float32", "complex64") else 1e-9
    for x in _samples(kind, dtype, 5) if dtype == "complex64" else _samples(kind, dtype, 19)[:1]:
        compiled = ag.jit(function)
        for found, expected in zip(_leaves(compiled(ag.asarray(x))),
                                   _leaves(function(ag.asarray(x))), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found.numpy(), expected.numpy(), tolerance, tolerance)
        assert not _calls_python(compiled), compiled.plan()


def test_nan_and_infinite_elements_as_numpy() -> None:
    bad = np.full((3, 3), np.nan)
    for name in ("svd", "svdvals", "pinv", "eig", "eigvals", "eigh", "qr", "lstsq"):
        function: Any = getattr(L, name) if name != "lstsq" else lambda x: L.lstsq(x, x)
        outcomes = []
        for f in (function, ag.jit(function)):
            try:
                outcomes.append(f(ag.asarray(bad)))
            except np.linalg.LinAlgError as error:
                outcomes.append(re.sub(r"\n.*", "", str(error)).partition(": ")[2])
        eager, compiled = outcomes
        assert isinstance(eager, str) == isinstance(compiled, str), name
        if isinstance(eager, str):
            assert compiled.startswith(eager.partition(" in ")[0]), name


def test_sizes_that_change() -> None:
    compiled = ag.jit(lambda x: (L.svd(x, full_matrices=False), L.qr(x), L.eigh(x @ x.mT)))
    for n in (3, 5, 4, 9, 20):
        x = ag.asarray(RNG.standard_normal((2, n + 1, n)))
        u, s, vh = compiled(x)[0]
        np.testing.assert_allclose(((u * s[:, None]) @ vh).numpy(), x.numpy(), 1e-10, 1e-10)
        q, r = compiled(x)[1]
        np.testing.assert_allclose((q @ r).numpy(), x.numpy(), 1e-10, 1e-10)
        w, v = compiled(x)[2]
        np.testing.assert_allclose((v * w[:, None] @ v.mT).numpy(), (x @ x.mT).numpy(), 1e-9, 1e-9)


FIXED = {"solve": lambda x: L.solve(x, x), "svd": L.svd, "qr": L.qr, "cholesky": L.cholesky,
         "eigh": L.eigh, "eig": L.eig, "det": L.det, "lstsq": lambda x: L.lstsq(x, x),
         "solve_triangular": lambda x: L.solve_triangular(x, x), "expm": L.expm, "lu": L.lu}


@pytest.mark.share(4)
@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("name", FIXED)
def test_without_a_library(name: str, n: int) -> None:
    x = ag.asarray(_samples("positive", "float64", n)[0])
    expected = _leaves(FIXED[name](x))
    with ag.config(lapack="none"):
        assert L.backend() == WITHOUT
        for function in (FIXED[name], ag.jit(FIXED[name])):
            for y, z in zip(_leaves(function(x)), expected, strict=True):
                np.testing.assert_allclose(y.numpy(), z.numpy(), 1e-8, 1e-8)


def test_without_a_library_singular_matrices_are_errors() -> None:
    with ag.config(lapack="none"):
        for function, text in ((L.inv, "Singular"), (L.cholesky, "not positive definite")):
            with pytest.raises(np.linalg.LinAlgError, match=text):
                ag.jit(function)(ag.zeros((20, 20)))


def test_name_of_the_library() -> None:
    with ag.config(lapack=""):
        assert re.fullmatch(r".+, (32|64)-bit integers", L.backend())
    with ag.config(lapack="libno-such-library.so"), pytest.raises(ValueError, match="no library"):
        L.backend()


@pytest.mark.share(6)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 8, 13])
def test_many_small_systems(n: int, dtype: str) -> None:
    many = 21  # no multiple of the lanes
    a = (RNG.standard_normal((many, n, n)) + 2 * np.eye(n)).astype(dtype)
    b = RNG.standard_normal((many, n, 2)).astype(dtype)
    spd = a @ a.swapaxes(1, 2) + np.eye(n, dtype=dtype)
    wide = b.transpose(1, 0, 2).reshape(n, 2 * many).copy()
    tolerance = 5e-3 if dtype == "float32" else 1e-8
    for function, arrays in (
        (L.solve, (a, b)), (L.solve, (a[0], wide)), (lambda a, b: L.solve(a.mT, b), (a, b)),
        (lambda a, b: L.solve(a.mT, b), (a[0], wide)), (L.inv, (a,)), (L.det, (a,)),
        (L.slogdet, (a,)), (L.cholesky, (spd,)), (L.solve_triangular, (spd, b)),
        (lambda a, b: L.solve_triangular(a, b, 1, True, True), (a / n, b)),
        (ag.grad(lambda a, b: L.solve(a, b).sum()), (spd, b)),
    ):
        xs = tuple(map(ag.asarray, arrays))
        compiled = ag.jit(function)
        expected = _leaves(function(*(x.astype("float64") for x in xs)))
        for found, y in zip(_leaves(compiled(*xs)), expected, strict=True):
            assert found.dtype == dtype
            scale = max(float(np.abs(y.numpy()).max()), 1.0)
            np.testing.assert_allclose(found.numpy() / scale, y.numpy() / scale, tolerance,
                                       tolerance)
        assert not _calls_python(compiled)


def test_determinants_of_many_of_which_some_are_singular() -> None:
    x = np.stack([np.eye(5) * 2] * 9)
    x[3] = 0
    x[5, 1] = x[5, 0]
    for name in ("det", "slogdet"):
        for found, wanted in zip(_leaves(ag.jit(getattr(L, name))(ag.asarray(x))),
                                 _leaves(getattr(L, name)(ag.asarray(x))), strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), 1e-12)


def test_small_systems_may_need_exchanges_of_rows() -> None:
    turned = np.stack([np.eye(6)[RNG.permutation(6)] for _ in range(9)])
    x = ag.asarray(turned)
    np.testing.assert_array_equal(ag.jit(L.inv)(x).numpy(), turned.swapaxes(1, 2))
    np.testing.assert_array_equal(ag.jit(L.det)(x).numpy(), np.linalg.det(turned).round())


@pytest.mark.parametrize("count", [1, 9])
@pytest.mark.parametrize("name", ["solve", "inv", "cholesky", "solve_triangular"])
def test_one_bad_matrix_of_many_is_told_by_its_function(name: str, count: int) -> None:
    x = np.stack([np.eye(3)] * count)
    x[-1, 2, 2] = 0
    calls: dict[str, Any] = {"solve": lambda a: L.solve(a, a),
                             "solve_triangular": lambda a: L.solve_triangular(a, a)}
    with pytest.raises(np.linalg.LinAlgError, match=rf"^{name}\("):
        ag.jit(calls.get(name, getattr(L, name)))(ag.asarray(x))


def test_numbers_of_small_systems_that_change() -> None:
    compiled = ag.jit(L.inv)
    for many in (5, 8, 31, 2, 1):
        x = RNG.standard_normal((many, 4, 4)) + 4 * np.eye(4)
        np.testing.assert_allclose(compiled(ag.asarray(x)).numpy(), np.linalg.inv(x), 1e-9, 1e-9)


@pytest.mark.parametrize("threads", [1, 2])
def test_very_many_small_systems_are_shared_by_threads(threads: int) -> None:
    before = ag.get_num_threads()
    ag.set_num_threads(threads)
    try:
        a = RNG.standard_normal((1501, 7, 7)) + 3 * np.eye(7)
        b = RNG.standard_normal((1501, 7, 3))
        spd = a @ a.swapaxes(1, 2)
        x = ag.jit(L.solve)(ag.asarray(a), ag.asarray(b)).numpy()
        np.testing.assert_allclose(a @ x, b, 1e-9, 1e-9)
        for name, given in (("inv", a), ("det", a), ("cholesky", spd)):
            found = ag.jit(getattr(L, name))(ag.asarray(given)).numpy()
            np.testing.assert_allclose(found, getattr(np.linalg, name)(given), 1e-8, 1e-8)
        lower = ag.jit(lambda a, b: L.solve_triangular(a, b, lower=True))
        y = lower(ag.asarray(a), ag.asarray(b)).numpy()
        np.testing.assert_allclose(np.tril(a) @ y, b, 1e-8, 1e-8)
    finally:
        ag.set_num_threads(before)
