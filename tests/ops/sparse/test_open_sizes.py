"""Sparse tensors of declared programs: sizes and indices that only the run knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

INDICES, VALUES = np.array([[1, 0, 1], [2, 0, 2]]), np.array([3.0, 4.0, 5.0])
i, v, d = T.lmatrix("i"), T.dvector("v"), T.dmatrix("d")
#: Functions of a sparse matrix of shape (2, 3), and a dense one with which they fit.
ROWS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "to_dense": (lambda s, d: s.to_dense() + d, (2, 3)),
    "product": (lambda s, d: s @ d, (3, 4)),
    "from the left": (lambda s, d: d @ s, (4, 2)),
    "vector": (lambda s, d: s @ d[:, 0], (3, 1)),
    "transpose": (lambda s, d: s.T @ d, (2, 4)),
    "scaled": (lambda s, d: (s * d).to_dense(), (2, 3)),
    "coalesce": (lambda s, d: s.coalesce().to_dense() * d, (2, 3)),
    "sums": (lambda s, d: s.sum(0).to_dense() * d, (2, 3)),
    "map": (lambda s, d: s.map(ag.tanh).to_dense() * d, (2, 3)),
}


def made(indices: Any, values: Any) -> Any:
    return ag.sparse_coo_tensor(indices, values, (2, 3))


@pytest.mark.parametrize("name", ROWS)
def test_operations_of_sparse_tensors(name: str) -> None:
    of, shape = ROWS[name]
    dense = np.linspace(-1, 2, int(np.prod(shape))).reshape(shape)
    found = of(made(i, v), d)
    f = ag.function([i, v, d], [found, T.grad((found**2).sum(), v)])
    for count in (3, 1, 0):
        indices, values = INDICES[:, :count], VALUES[:count]
        x = ag.tensor(values, requires_grad=True)
        wanted = of(made(ag.tensor(indices), x), ag.tensor(dense))
        (wanted**2).sum().backward()
        results = f(indices, values, dense)
        np.testing.assert_allclose(results[0], wanted.detach().numpy())
        np.testing.assert_allclose(results[1], x.grad.numpy())


@pytest.mark.parametrize(("name", "shape"), [
    ("product", (2, 4)), ("product", (4, 4)), ("scaled", (2, 2)), ("from the left", (4, 3)),
])
def test_sizes_that_do_not_fit_are_refused_when_they_are_known(name: str,
                                                               shape: tuple[int, ...]) -> None:
    f = ag.function([i, v, d], ROWS[name][0](made(i, v), d))
    with pytest.raises(ag.ShapeError):
        f(INDICES, VALUES, np.ones(shape))
    with pytest.raises(ag.ShapeError, match="do not make a tensor"):
        f(np.zeros((3, 3), int), VALUES, np.ones(ROWS[name][1]))


@pytest.mark.parametrize("make", [
    made, lambda i, v: ag.sparse.csr((v, (i[0], i[1])), shape=(2, 3)),
    lambda i, v: ag.sparse.csc((v, (i[0], i[1])), shape=(2, 3)),
])
def test_indices_outside_are_refused_when_they_are_known(make: Any) -> None:
    """Rows and columns beyond the shape were left out of products, or added to others."""
    f = ag.function([i, v, d], make(i, v) @ d)
    g = ag.jit(lambda i, v, d: make(i, v) @ d)
    dense = np.ones((3, 2))
    for axis, wrong in ((0, 2), (0, -1), (0, 10**8), (1, 3), (1, -1), (1, -10**8)):
        indices = INDICES.copy()
        indices[axis, 1] = wrong
        for call in (f, lambda *xs: g(*map(ag.tensor, xs))):
            call(INDICES, VALUES, dense)
            with pytest.raises(IndexError, match="out of range"):
                call(indices, VALUES, dense)
