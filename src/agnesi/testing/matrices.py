"""Sample operands of linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from agnesi.core.tensor import Tensor
from agnesi.ops.base import arith
from agnesi.ops.indexing.join import stack
from agnesi.ops.linalg import (
    cholesky,
    det,
    expm,
    functions,
    last_axes,
    lu,
    norms,
    products,
    qr,
    solve,
    triangular,
)
from agnesi.ops.linalg.base import adjoint, identity
from agnesi.ops.linalg.special_matrices import banded, special, structured, tables
from agnesi.ops.linalg.spectral import eig, eigh, pinv, polar, schur, svd

#: A function, operands of its calls, and whether it has derivatives (if it says so).
Sample = tuple[Callable[..., Tensor], tuple[tuple[np.ndarray, ...], ...]] | tuple[
    Callable[..., Tensor], tuple[tuple[np.ndarray, ...], ...], bool]

_RNG = np.random.default_rng(20)
A, B = _RNG.standard_normal((4, 4)), _RNG.standard_normal((4, 3))
TALL, STACK = _RNG.standard_normal((5, 3)), _RNG.standard_normal((2, 3, 3))
TURNED = A + 1j * _RNG.standard_normal((4, 4))
TALL_TURNED = TALL + 1j * _RNG.standard_normal((5, 3))
_CUBE, _INVERTED = _RNG.standard_normal((2, 3, 6)), _RNG.standard_normal((6, 2, 3))
#: Of rank 2, as a product.
LEFT, RIGHT = _RNG.standard_normal((5, 2)), _RNG.standard_normal((2, 4))
SQUARE = ((A,), (STACK,), (TURNED,))
ANY = (*SQUARE, (TALL,), (TALL.T,), (TALL_TURNED,))


def _positive(x: Tensor) -> Tensor:
    return x @ adjoint(x) + 4 * identity(x)


def _hermitian(x: Tensor) -> Tensor:
    return x + adjoint(x)


def _positive_array(x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ x.T)


def _systems() -> Iterator[tuple[str, Sample]]:
    right = (
        (A, B), (A, B[:, 0]), (STACK, STACK[0]), (STACK[0], STACK), (TURNED, B * 1j + 1),
        (np.zeros((0, 0)), np.zeros((0, 2))),
    )
    yield "solve", (solve.solve, right)
    strong = tuple((a + 5 * np.eye(a.shape[-1]), b) for a, b in right)
    for lower in (False, True):
        for trans in (0, 1, 2):
            yield f"solve_triangular {lower} {trans}", (
                lambda a, b, o=(trans, lower): triangular.solve_triangular(a, b, *o), strong
            )
    yield "solve_triangular of ones", (
        lambda a, b: triangular.solve_triangular(a, b, unit_diagonal=True), right[:2]
    )
    for trans in (0, 1, 2):
        yield f"lu_solve {trans}", (
            lambda a, b, t=trans: lu.lu_solve(lu.lu_factor(a), b, t), right[:5]
        )
    for lower in (False, True):
        yield f"cho_solve {lower}", (
            lambda a, b, low=lower: cholesky.cho_solve(
                cholesky.cho_factor(_positive(a), low), b), right[:5]
        )
    sample = ((TALL, LEFT), (TALL.T, B[:3]), (TALL.T, B[:3, 0]))
    yield "lstsq", (lambda a, b: pinv.lstsq(a, b).x, (*sample, (TALL_TURNED, TALL * 1j)))
    yield "lstsq of rank 2", (lambda x, y, b: pinv.lstsq(x @ y, b).x, ((LEFT, RIGHT, TALL),))
    yield "residuals", (lambda a, b: pinv.lstsq(a, b).residuals, sample[:1])
    yield "solve_sylvester", (
        lambda a, b, q: schur.solve_sylvester(_positive(a), _positive(b), q),
        ((A, STACK[0], B), (A, STACK, B), (TURNED, STACK[0], B * 1j), (A[:0, :0], A, A[:0])))
    yield "solve_continuous_lyapunov", (
        lambda a, q: schur.solve_continuous_lyapunov(_positive(a), q), ((A, A.T), (TURNED, A)))
    yield "solve_discrete_lyapunov", (
        lambda a, q: schur.solve_discrete_lyapunov(a * 0.2, q), ((A, A.T), (TURNED, A)))
    yield "solve_circulant", (
        lambda c, b: structured.solve_circulant(c + 9, b), ((A[0], B), (A[0], TURNED[0])))
    yield "solve_toeplitz", (
        lambda c, b: structured.solve_toeplitz(c + np.array([9, 0, 0, 0]), b), ((A[0], B),))
    yield "matmul_toeplitz", (
        lambda c, r, b: structured.matmul_toeplitz((c, r), b), ((TALL[:, 0], A[0], B),))
    strongest = np.array([[0.3], [6.0], [0.5], [0.2]])
    yield "solve_banded", (
        lambda a, b: banded.solve_banded((2, 1), a + strongest, b), ((A, B), (A, B[:, 0])))
    yield "solveh_banded", (
        lambda d, b: banded.solveh_banded(stack([d * 0.2, d * d + 3]), b), ((A[0], B),))
    yield "tensorsolve", (solve.tensorsolve, ((_CUBE, STACK[0, :2]),))
    yield "tensorinv", (lambda a: solve.tensorinv(a, 1), ((_INVERTED,),))


def _factors() -> Iterator[tuple[str, Sample]]:
    yield "cholesky", (lambda x: cholesky.cholesky(_positive(x)), SQUARE)
    yield "cholesky_ex", (lambda x: cholesky.cholesky_ex(_positive(x))[0], SQUARE)
    yield "cholesky, upper", (lambda x: cholesky.cholesky(_positive(x), upper=True), SQUARE)
    for upper in (False, True):
        yield f"cho_factor {upper}", (
            lambda x, u=upper: cholesky.cho_factor(_positive(x), not u)[0], SQUARE)
    yield "lu_factor", (lambda x: lu.lu_factor(x).lu, ANY)
    yield "lu_factor, exchanges", (lambda x: lu.lu_factor(x).piv, ANY)
    for i in range(3):
        yield f"lu, part {i}", (lambda x, i=i: lu.lu(x)[i], ANY)
    yield "lu, two parts", (lambda x: lu.lu(x, permute_l=True)[0], ANY)
    for mode in ("reduced", "complete"):
        samples = ANY if mode == "reduced" else (*SQUARE, (TALL.T,))
        for i in range(2):
            yield f"qr {mode}, part {i}", (lambda x, i=i, m=mode: qr.qr(x, m)[i], samples)
    for i in range(2):
        yield f"rq, part {i}", (lambda x, i=i: structured.rq(x, "economic")[i], (*SQUARE, (TALL,)))
    yield "qr_multiply", (lambda a, c: structured.qr_multiply(a, c)[0], ((TALL, TALL.T),))
    yield "orthogonal_procrustes", (lambda a, b: polar.orthogonal_procrustes(a, b).R, ((A, A.T),))
    yield "svdvals", (svd.svdvals, ANY)
    for i in (0, 2):
        yield f"svd, part {i}", (lambda x, i=i: arith.abs(svd.svd(x, False)[i]), ANY)
    yield "svd", (lambda x: svd.svd(x).S, ANY)
    yield "eigh, values", (lambda x: eigh.eigh(_hermitian(x))[0], SQUARE)
    yield "eigh, vectors", (lambda x: arith.abs(eigh.eigh(_hermitian(x), "U")[1]), SQUARE)
    yield "eigvalsh", (lambda x: eigh.eigvalsh(_hermitian(x)), SQUARE)
    yield "eig, values", (lambda x: eig.eig(x)[0], SQUARE)
    yield "eig, vectors", (lambda x: arith.abs(eig.eig(x)[1]), SQUARE)
    yield "eigvals", (eig.eigvals, SQUARE)
    for i in range(2):
        yield f"schur, part {i}", (
            lambda x, i=i: schur.schur(x)[i], (*SQUARE, (np.zeros((0, 3, 3)),)), False)
    yield "schur, sizes", (lambda x: arith.abs(schur.schur(x, "complex").T), SQUARE)
    yield "schur of pairs", (lambda x: schur.schur(x, "complex").T, ((A,), (STACK,)), False)
    yield "polar", (lambda x: polar.polar(x).u, ANY)
    yield "polar, left", (lambda x: polar.polar(x, "left").p, SQUARE)


def _functions() -> Iterator[tuple[str, Sample]]:
    singular = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 0.5])
    yield "inv", (solve.inv, SQUARE)
    yield "det", (det.det, (*SQUARE, (singular,), (np.zeros((0, 0)),)))
    yield "slogdet", (lambda x: det.slogdet(x).logabsdet, SQUARE)
    yield "slogdet, sign", (lambda x: det.slogdet(x).sign, SQUARE)
    yield "pinv", (pinv.pinv, ANY)
    yield "pinvh", (lambda x: structured.pinvh(_hermitian(x)), SQUARE)
    yield "pinv of rank 2", (lambda x, y: pinv.pinv(x @ y), ((LEFT, RIGHT),))
    yield "matrix_rank", (pinv.matrix_rank, ((A,), (LEFT @ RIGHT,), (STACK,)))
    yield "expm", (expm.expm, (*SQUARE, (STACK * 5,), (A * 1e-3,)))
    yield "sqrtm", (lambda x: functions.sqrtm(_positive(x)), SQUARE)
    yield "logm", (lambda x: functions.logm(_positive(x)), SQUARE)
    yield "signm", (lambda x: functions.signm(x + 2 * identity(x)), SQUARE[:2])
    for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm"):
        function = getattr(functions, name)
        yield name, (lambda x, f=function: f(x * 0.3), SQUARE)
    yield "fractional_matrix_power", (
        lambda x: functions.fractional_matrix_power(_positive(x), 0.3), SQUARE[:2])
    yield "expm_frechet", (
        lambda a, e: functions.expm_frechet(a, e, compute_expm=False), ((A, A.T),))
    for n in (-2, 0, 1, 7):
        yield f"matrix_power {n}", (lambda x, n=n: products.matrix_power(x, n), SQUARE[:2])
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield f"matrix_norm {ord}", (lambda x, o=ord: norms.matrix_norm(x, ord=o), ANY)
    for ord in (2, 1, 3, -1, np.inf, -np.inf, 0):
        yield f"vector_norm {ord}", (
            lambda x, o=ord: norms.vector_norm(x, axis=(0, -1), keepdims=True, ord=o), ANY)
    yield "vector_norm of all", (norms.vector_norm, (*ANY, (np.zeros((0, 3)),)))
    both = ((_positive_array(A),), (STACK,), (STACK + STACK.mT,), (TURNED + TURNED.conj().T,))
    yield "issymmetric", (structured.issymmetric, both)
    yield "ishermitian", (lambda x: structured.ishermitian(x, atol=1e-9), both)
    for p in (None, "fro", 1, -2, np.inf):
        yield f"cond {p}", (lambda x, p=p: norms.cond(x, p), SQUARE[:2])


def _products() -> Iterator[tuple[str, Sample]]:
    yield "multi_dot", (
        lambda *xs: products.multi_dot(xs), ((A, B, TALL.T), (A[0], A, B), (A[0], A, A[1]))
    )
    yield "kron", (products.kron, ((A, B), (A[0], B), (STACK, A)))
    yield "block_diag", (special.block_diag, ((A, B, B[0]),))
    yield "toeplitz", (special.toeplitz, ((A[0], B[0]), (A[0],), (TURNED[0],)))
    yield "hankel", (special.hankel, ((A[0], B[0]), (A[0],)))
    yield "circulant", (special.circulant, ((A[0],),))
    yield "companion", (special.companion, ((A[0],),))
    yield "fiedler", (tables.fiedler, ((A[0],),))
    yield "leslie", (tables.leslie, ((A[0], A[1, :3]),))
    yield "diagsvd", (lambda s: tables.diagsvd(s, 4, 6), ((A[0],),))
    for mode in ("full", "same", "valid"):
        yield f"convolution_matrix {mode}", (
            lambda a, m=mode: tables.convolution_matrix(a, 3, m), ((A[0],), (A[0, :2],)))
    yield "khatri_rao", (special.khatri_rao, ((A, TALL[:, :1].repeat(4, 1)),))
    yield "linalg.trace", (last_axes.trace, ((STACK,),))
    yield "linalg.diagonal", (lambda x: last_axes.diagonal(x, offset=1), ((STACK,),))


def samples() -> dict[str, Any]:
    """Functions with operands, by name."""
    return {
        name: sample
        for family in (_systems(), _factors(), _functions(), _products())
        for name, sample in family
    }
