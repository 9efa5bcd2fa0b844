"""Indexing: every kind of key against NumPy, reading, writing, gradients, lowering."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.graph import FunctionGraph
from agnesi.core.interpret import interpret
from agnesi.core.ir.node import Node
from agnesi.core.tensor import symbol
from agnesi.ops.base.gather.gather_scatter import Gather, ScatterAdd, ScatterPut
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(4, 5, 6))
ROWS = np.array([[0, 2], [3, -1]])
J = np.array([1, -2])
MASK = A[:, 0, 0] > 0
ALL = slice(None)
BASIC = [
    0,
    -1,
    slice(1, 3),
    (0, 1),
    (0, 1, 2),
    ...,
    None,
    (None, 0),
    (ALL, None, 2),
    (..., 1),
    (slice(3, None, -2), ..., slice(None, None, -1)),
    slice(5, 2),
    slice(-100, 100),
    (ALL, slice(10, None)),
    np.int64(2),
    (),
]
ADVANCED = [
    ROWS,
    (ROWS, J),
    (ALL, ROWS),
    (ROWS, ALL, J),
    (0, ALL, J),
    (ALL, 0, J),
    (ROWS, 0),
    (None, ROWS),
    (ALL, ROWS, None, J),
    MASK,
    A[:, :, 0] > 0,
    (MASK, slice(1, 2)),
    A > 0,
    [0, 1],
    [[0, 1], [1, 1]],
    (..., J, None),
    (ROWS, ..., 1),
    [],
    (J[:, None], J),
    (slice(1, None), J),
    (slice(1, None), None, J),
    (..., A[0, 0] > 0),
    (ALL, 0, ..., J),
    (ALL, J, ..., 0),
]


@pytest.mark.parametrize("key", [*BASIC, *ADVANCED], ids=str)
def test_reading_writing_and_gradients_are_those_of_numpy(key):
    x, expected = ag.tensor(A), A[key]
    np.testing.assert_array_equal(x[key].numpy(), expected)
    assert x[key].shape == expected.shape

    value = RANDOM.normal(size=expected.shape)
    for new in (7, value):
        changed, y = A.copy(), ag.tensor(A)
        changed[key] = new
        y[key] = new
        np.testing.assert_array_equal(y.numpy(), changed)
        np.testing.assert_array_equal(ag.index_put(x, key, new).numpy(), changed)

    added = A.copy()
    np.add.at(added, key, value)
    np.testing.assert_allclose(ag.index_put(x, key, value, accumulate=True).numpy(), added)
    np.testing.assert_array_equal(x.numpy(), A)

    z = ag.tensor(A, requires_grad=True)
    z[key].backward(ag.tensor(value))
    np.testing.assert_allclose(z.grad.numpy(), added - A, atol=1e-12)


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_keys_give_views(key):
    x = ag.tensor(A)
    element = isinstance(key, tuple) and all(type(e) is int for e in key) and len(key) == A.ndim
    assert x[key].numel() == 0 or np.shares_memory(x[key].numpy(), x.numpy()) is not element


def _as_graph(key):
    entries = key if isinstance(key, tuple) else (key,)
    return tuple(
        ag.tensor(e) if isinstance(e, (np.ndarray, list)) and len(e) else e for e in entries
    )


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "key", [(slice(1, 3), -1), (slice(3, None, -2),), (ROWS,), (ROWS, ALL, J), (ALL, 0, J)], ids=str
)
def test_graphs_unknown_sizes_and_gradients(key):
    key = _as_graph(key)
    check_op(lambda x: x[key], [[A]])
    check_op(lambda x: ag.index_put(x, key, x[key] * 2 + 1), [[A]], order=1)
    check_op(lambda x: ag.index_put(x, key, x[key] * x[key], accumulate=True), [[A]])


def test_tensors_index_in_graphs_where_their_values_are_unknown():
    def pick(x, i):
        return x[i].mT * x[:, i[0]][i]

    check_op(pick, [[A[:, :4, 0], np.array([1, 3])]])


LOWERED = [
    (Gather((1,), 1), A, ROWS),
    (Gather((0, 2), 0), A, ROWS, J),
    (Gather((1, 2), 1), A, J[:, None], J),
    (ScatterPut((1,), 1), A, A[:, 0], np.array(-2)),
    (ScatterPut((0, 2), 0), A, A[:1, :, 0], np.array([1]), np.array(3)),
    (ScatterAdd((1,), 1), A, A[:, ROWS], ROWS),
    (ScatterAdd((1,), 1), A, A[:, [0, 0, 0]], np.array([2, 2, 2])),
]


@pytest.mark.parametrize("case", LOWERED, ids=lambda c: str(c[0]))
def test_lowering_agrees_with_numpy(case, lowered):
    op, *arrays = case
    np.testing.assert_array_equal(lowered(op, *arrays), op.perform(*arrays))


def test_lowering_cuts_indices_that_are_out_of_range(lowered):
    found = lowered(Gather((0,), 0), np.arange(3.0), np.array([-9, 9]))
    np.testing.assert_array_equal(found, [0, 2])


# -- functions --------------------------------------------------------------------------------
def test_take_gather_and_scatter():
    x, index = A[:, :, 0], np.array([[1, 0], [4, 1]])
    np.testing.assert_array_equal(ag.take(x, index).numpy(), np.take(x, index))
    np.testing.assert_array_equal(ag.take(x, index, 1).numpy(), np.take(x, index, 1))
    order = np.argsort(x, 1)
    np.testing.assert_array_equal(ag.take_along_axis(x, order, 1).numpy(), np.sort(x, 1))
    np.testing.assert_array_equal(
        ag.gather(x, 1, index).numpy(), np.take_along_axis(x[:2], index, 1)
    )
    put = x.copy()
    np.put_along_axis(put, order[:, :1], 9.0, 1)
    board = ag.tensor(x)
    assert ag.put_along_axis(board, order[:, :1], 9.0, 1) is None
    np.testing.assert_array_equal(board.numpy(), put)
    twice = np.array([[0, 0], [1, 1]])
    added = ag.scatter_add(ag.zeros((4, 5), "float64"), 1, twice, x[:2, :2]).numpy()
    np.testing.assert_allclose(added[:2, :2].diagonal(), x[:2, :2].sum(1))
    assert ag.scatter(ag.zeros(3), 0, ag.tensor([2]), 5.0).tolist() == [0, 0, 5]
    assert ag.index_add(ag.zeros((2, 1)), 0, [1, 1], ag.ones((2, 1))).tolist() == [[0], [2]]


def put_along(x, index, values, axis):
    y = x + 0
    ag.put_along_axis(y, index, values, axis)
    return y


def test_values_put_along_an_axis_are_written_in_place():
    """As NumPy's function does: into tensors, views and states, compiled too."""
    x, order = np.arange(12.0).reshape(3, 4), np.array([[3, 0], [1, 2], [0, 1]])
    for values, axis, index in ((-1.0, 1, order), (x[:, :2], -1, order), (5.0, None, [7, 0]),
                                ([[1.0, 2.0, 3.0, 4.0]], 0, [[2, 0, 1, 1]])):
        expected = x.copy()
        np.put_along_axis(expected, np.asarray(index), values, axis)
        for put in (ag.put_along_axis, np.put_along_axis,
                    lambda *given: ag.jit(ag.put_along_axis)(*given)):
            board = ag.tensor(x)
            put(board, ag.tensor(index), ag.tensor(values), axis)
            np.testing.assert_array_equal(board.numpy(), expected)
            room = ag.zeros((2, 3, 4), "float64")
            room[1] = x
            put(room[1:][0:1].reshape(3, 4), ag.tensor(index), values, axis)
            np.testing.assert_array_equal(room[1].numpy(), expected)
    leaf = ag.tensor(x, requires_grad=True)
    with pytest.raises(ag.GradientError, match="no_grad"):
        ag.put_along_axis(leaf, order, 0.0, 1)
    for wrong in (x, [[1.0]]):
        with pytest.raises(TypeError, match=r"must be a Tensor, not .*ag\.tensor"):
            ag.put_along_axis(wrong, order, 0.0, 1)
    for put in (lambda x: ag.put_along_axis(x, order, 0.0, 1), lambda x: ag.put(x, [0], 1.0),
                lambda x: ag.fill_diagonal(x, 1.0), lambda x: ag.copyto(x, 1.0),
                lambda x: ag.place(x, x > 0, [1.0]), ag.random.shuffle):
        with pytest.raises(ag.TraceError, match="cannot be changed in place; make a new expr"):
            put(ag.symbolic.matrix("x"))


def test_gradients_of_gather_and_scatter():
    x, order = A[:, :, 0], np.argsort(A[:, :, 0], 1)[:, :3]
    check_op(lambda x: ag.take_along_axis(x, ag.tensor(order), 1), [[x]])
    check_op(lambda x, v: put_along(x, ag.tensor(order), v, 1), [[x, x[:, :3]]])
    check_op(lambda x, v: ag.scatter_add(x, 1, ag.tensor(order), v), [[x, x[:, :3]]])


def test_subtensors_are_pure_expressions():
    x = ag.tensor(A)
    changed = A.copy()
    changed[1:3, 0] = 5
    np.testing.assert_array_equal(ag.set_subtensor(x[1:3, 0], 5).numpy(), changed)
    np.testing.assert_array_equal(ag.inc_subtensor(x[0], 1)[0].numpy(), A[0] + 1)
    np.testing.assert_array_equal(ag.set_subtensor(x.mT, 0).numpy(), A * 0)
    rows = ag.reshape(x, (20, 6))
    assert ag.set_subtensor(rows[0], 1).shape == (20, 6)
    np.testing.assert_array_equal(x.numpy(), A)
    m = symbol(Node(None, (), (4, 6), A.dtype))
    for key in (([0, 0],), (slice(1, None), None, [2, 0]), (1, [3, 3])):
        change = np.resize(A, A[:, 0][key].shape)
        v = symbol(Node(None, (), change.shape, A.dtype))
        added, put = ag.inc_subtensor(m[key], v), ag.set_subtensor(m[key], v)
        results = interpret(
            FunctionGraph([m.node, v.node], [added.node, put.node]), [A[:, 0], change]
        )
        sums, places = A[:, 0].copy(), A[:, 0].copy()
        np.add.at(sums, key, change)
        places[key] = change
        np.testing.assert_allclose(results[0], sums)
        np.testing.assert_allclose(results[1], places)
    with pytest.raises(TypeError, match="index_put"):
        ag.inc_subtensor(x[[0, 0]], 1)


# -- masks ------------------------------------------------------------------------------------
def test_masks_in_graphs_select_by_where():
    def clipped(x):
        y = x * 1
        y[y > 0] = 0
        return y

    check_op(clipped, [[A]], order=1)


def test_errors_tell_what_is_wrong_and_where():
    x = ag.tensor(A)
    cases = [
        (lambda: x[4], IndexError, "index 4 is out of range for axis 0 of size 4"),
        (lambda: x[0, 0, 0, 0], IndexError, "4 indices for 3 dimensions"),
        (lambda: x[ag.tensor([9])], IndexError, "9"),
        (lambda: x[1.5], IndexError, "1.5 is not an index"),
        (lambda: x[ag.tensor([1.5])], IndexError, "must be integers"),
        (lambda: x[np.array([True])], IndexError, "the mask has shape (1,)"),
        (lambda: x[..., ...], IndexError, "one ellipsis"),
        (lambda: x[::0], ValueError, "step"),
        (lambda: x.__setitem__(0, np.zeros(7)), ValueError, "(7,), the indexed region (5, 6)"),
        (lambda: ag.take(x, [0.5]), TypeError, "integers"),
        (lambda: ag.index_put(x, ([9],), 1.0, accumulate=True), IndexError, "from 9 to 9"),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as caught:
            call()
        assert words in str(caught.value)
        assert "test_index.py" in str(caught.value)


@pytest.mark.parametrize(("rows", "others"), [(None, None), (None, 5), (5, None)])
def test_elements_along_an_axis_of_open_sizes_broadcast(rows, others):
    v, w = (ag.symbolic.tensor(kind, (n, 3)) for kind, n in (("float64", rows), ("int64", others)))
    run = ag.function([v, w], ag.take_along_axis(v, w, 1))
    for n, m in ((5, 5), (1, 5), (5, 1), (1, 1)):
        if rows in (None, n) and others in (None, m):
            x, index = np.arange(3.0 * n).reshape(n, 3), np.arange(3 * m).reshape(m, 3) * 2 % 3
            np.testing.assert_array_equal(run(x, index), np.take_along_axis(x, index, 1))
    with pytest.raises(ValueError, match="differ"):
        ag.take_along_axis(ag.ones((7, 3)), ag.zeros((5, 3), dtype=int), 1)
