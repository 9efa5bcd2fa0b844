"""Integers that decide more than sizes may be tensors, eagerly and compiled: axes, diagonals."""

import numpy as np
import pytest

import agnesi as ag

M = ag.asarray(np.random.default_rng(0).normal(size=(4, 4)))
CALLS = {
    "sum": lambda k: ag.sum(M, axis=k),
    "expand_dims": lambda k: ag.expand_dims(M, k),
    "rollaxis": lambda k: ag.rollaxis(M, k),
    "swapaxes": lambda k: ag.swapaxes(M, k, 0),
    "nancumsum": lambda k: ag.nancumsum(M, axis=k),
    "diff": lambda k: ag.diff(M, axis=k),
    "sort": lambda k: ag.sort(M, axis=k),
    "glu": lambda k: ag.nn.functional.glu(M, k),
    "matrix_power": lambda k: ag.linalg.matrix_power(M, k),
    "rot90": lambda k: ag.rot90(M, k),
    "roll": lambda k: ag.roll(M, k, 1),
    "tril": lambda k: ag.tril(M, k),
    "triu": lambda k: ag.triu(M, k),
    "tri": lambda k: ag.tri(3, 4, k),
    "eye": lambda k: ag.eye(3, 4, k=k),
    "diag": lambda k: ag.diag(M, k),
    "diag of a vector": lambda k: ag.diag(M[0], k),
    "diagflat": lambda k: ag.diagflat(M, k),
    "diagonal": lambda k: ag.diagonal(M, k),
    "trace": lambda k: ag.trace(M, k),
    "linalg.trace": lambda k: ag.linalg.trace(M, offset=k),
    "diag_embed": lambda k: ag.diag_embed(M[0], k),
    "slice_scatter": lambda k: ag.slice_scatter(M, 0.0, 0, k),
}
NATURAL = {
    "chunk": lambda k: ag.chunk(M, k),
    "vander": lambda k: ag.vander(M[0], k),
    "diag_indices": lambda k: ag.diag_indices(3, k),
    "hadamard": lambda k: ag.linalg.hadamard(k),
    "helmert": lambda k: ag.linalg.helmert(k),
    "tensorinv": lambda k: ag.linalg.tensorinv(M, k - k + 1),
    "local_response_norm": lambda k: ag.nn.functional.local_response_norm(M, k),
    "vecdot": lambda k: ag.vecdot(M, M, axis=-k),
}


@pytest.mark.parametrize("calls, number", [(CALLS, -1), (CALLS, 1), (NATURAL, 2)])
def test_integers_that_are_tensors(calls, number):
    def f(k):
        return {name: call(k) for name, call in calls.items()}

    expected, k = f(number), ag.asarray(np.array(number))
    for found in (f(k), ag.jit(f)(k)):
        for name in calls:
            for a, b in zip(*map(ag.tree.leaves, (found[name], expected[name])), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize("compile_", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_elements_are_moved_by_integers(shape, compile_):
    run = ag.jit(ag.roll) if compile_ else ag.roll
    with pytest.raises(TypeError, match="shift must be an integer, not float64"):
        run(ag.ones(shape), ag.asarray(np.array(1.5)))


@pytest.mark.parametrize("compile_", [False, True])
@pytest.mark.parametrize("places", [np.zeros((0, 3), int), np.zeros((2, 2), int),
                                    np.ones((2, 3), bool)], ids=["none", "four", "a mask"])
def test_places_of_insertions_are_a_vector(places, compile_):
    run = ag.jit(ag.insert) if compile_ else ag.insert
    with pytest.raises(ag.ShapeError, match="the places are a number or a vector, not of shape"):
        run(ag.ones((2, 3)), ag.asarray(places), -1.0)


V, ROWS = ag.arange(300.0), ag.arange(900.0).reshape(3, 300) / 900
PLACES = {
    "one_hot": lambda i: ag.nn.functional.one_hot(i, 300),
    "cross_entropy": lambda i: ag.nn.functional.cross_entropy(ROWS, i),
    "cross_entropy without one": lambda i: ag.nn.functional.cross_entropy(ROWS, i, ignore_index=7),
    "nll_loss": lambda i: ag.nn.functional.nll_loss(ROWS, i),
    "embedding": lambda i: ag.nn.functional.embedding(i, ROWS.T),
    "take": lambda i: ag.take(V, i), "an index": lambda i: V[i], "roll": lambda i: ag.roll(V, i[0]),
    "index_add": lambda i: V.index_add(0, i, V[:3]),
    "bincount": lambda i: ag.bincount(i, length=300),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_places_may_be_integers_of_any_dtype(dtype):
    """Also where the size, or a label to ignore, does not fit into it."""
    i = ag.tensor([3, 100, 7], dtype=dtype)
    for name, f in PLACES.items():
        wanted = f(i.astype("int64")).numpy()
        for found in (f(i), ag.jit(f)(i)):
            np.testing.assert_allclose(found.numpy(), wanted, 1e-6, err_msg=name)


@pytest.mark.share(2)
@pytest.mark.parametrize("end", [np.float64(2), np.float32(2), np.float16(2), 2.0, 2, np.int8(2)],
                         ids=repr)
@pytest.mark.parametrize("make", [
    lambda end: ag.linspace(0.0, end, 3), lambda end: ag.arange(0.0, end),
    lambda end: ag.geomspace(1.0, end, 3), lambda end: ag.logspace(0.0, end, 3),
    lambda end: ag.linspace(end, 3, 3)])
def test_ends_of_ranges_have_the_dtype_that_they_have_elsewhere(make, end):
    wanted = ag.sin(end).dtype
    assert make(end).dtype == ag.jit(make)(end).dtype == wanted
