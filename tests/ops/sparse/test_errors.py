"""Errors of sparse matrices, at construction and at use."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag


@pytest.mark.parametrize(("parts", "kind", "text"), [
    (([1.0], [0], [0, 1], (2, 2)), ag.ShapeError, r"indptr and 2 \+ 1"),
    (([1.0, 2.0], [0], [0, 1], (1, 2)), ag.ShapeError, "data and indices"),
    (([1.0], [2], [0, 1], (1, 2)), IndexError, "index 2 is out of range for 2 places"),
    (([1.0], [-1], [0, 1], (1, 2)), IndexError, "index -1"),
    (([1.0], [0], [0, 2], (1, 2)), ValueError, "indptr must rise from 0"),
    (([1.0, 1.0], [0, 0], [0, 2, 1, 2], (3, 2)), ValueError, "indptr must rise"),
    (([1.0], [0.0], [0, 1], (1, 2)), ag.DTypeError, "must be int32 or int64"),
    (([1.0], [0], [0, 1], (1, 2, 3)), ag.ShapeError, "two axes"),
])
def test_parts_that_do_not_fit(parts, kind, text):
    with pytest.raises(kind, match=text):
        ag.sparse.CSR(*parts)


def test_operands_that_do_not_fit():
    a = ag.sparse.csr(np.ones((2, 3)))
    with pytest.raises(ag.ShapeError, match=r"inner sizes differ: 3 .* and 2"):
        a @ np.ones(2)
    with pytest.raises(ag.ShapeError, match="inner sizes differ"):
        a @ a
    with pytest.raises(ag.ShapeError, match="must be equal"):
        a + a.T
    with pytest.raises(ag.ShapeError, match="does not broadcast"):
        a * np.ones(2)
    with pytest.raises(ag.ShapeError, match="vector or matrix"):
        a @ np.ones((3, 3, 3))
    with pytest.raises(TypeError, match="no zeros left"):
        a + 1
    with pytest.raises(ag.ShapeError, match="square"):
        ag.sparse.spsolve(a, np.ones(2))
    with pytest.raises(IndexError, match="index 2 is out of range"):
        a[2]
    with pytest.raises(ValueError, match="positive power"):
        a**-1
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(a)


def test_errors_tell_the_operation_its_operands_and_the_line():
    a = ag.sparse.csr(np.ones((2, 3)))
    for function, text in (
        (lambda: a @ ag.ones(2), r"^matmul\(float64\[2, 3\], float32\[2\]\): inner sizes differ"),
        (lambda: a + a.T, r"^add\(float64\[2, 3\], float64\[3, 2\]\): sparse matrices"),
        (lambda: a * np.ones(2), r"^multiply\(float64\[2, 3\], float64\[2\]\): .* broadcast"),
        (lambda: a[:, [7]], r"^getitem\(float64\[2, 3\], "),
        (lambda: a.with_data(ag.ones(1)), r"^with_data\(float64\[2, 3\], float32\[1\]\): the l"),
        (lambda: ag.sparse.CSC([1.0], [2], [0, 1], (2, 1)), r"^CSC\(\[1.0\], \[2\], \[0, 1\], "),
    ):
        with pytest.raises((ValueError, IndexError), match=text) as caught:
            function()
        assert "test_errors.py" in str(caught.value)


def test_a_singular_matrix():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ag.sparse.spsolve(ag.sparse.csr([[1.0, 1.0], [1.0, 1.0]]), np.ones(2))


def test_sizes_that_only_values_tell():
    a = ag.sparse.csr(np.eye(3))
    with pytest.raises(ag.TraceError, match="how many entries"):
        ag.jit(lambda a: (a @ a).data)(a)
    with pytest.raises(ag.TraceError, match="how many entries"):
        ag.jit(lambda a: a[1:].data)(a)


def test_indices_from_a_graph_are_checked():
    ones = ag.ones(2)
    make = ag.jit(lambda data, at: ag.sparse.CSR(data, at, [0, 1, 2], (2, 2)) @ ones)
    data = ag.ones(2)
    assert make(data, ag.tensor([0, 1])).tolist() == [1, 1]
    with pytest.raises(IndexError, match="out of range"):
        make(data, ag.tensor([0, 2]))
    bounds = ag.jit(lambda start: ag.sparse.CSR(data, [0, 1], start, (2, 2)) @ ones)
    assert bounds(ag.tensor([0, 0, 2])).tolist() == [0, 2]
    with pytest.raises(IndexError, match="out of range"):
        bounds(ag.tensor([0, 1, 3]))


def test_inputs_of_a_function_are_checked():
    a = ag.sparse.csr_matrix("A", "float64")
    f = ag.function(list(a.inputs), a @ ag.ones(2))
    data, indices, indptr, width = ag.sparse.csr(np.eye(2)).inputs
    assert f(data, indices, indptr, width).tolist() == [1, 1]
    with pytest.raises(IndexError, match="out of range"):
        f(data, [0, 5], indptr, width)
    with pytest.raises(IndexError, match="out of range"):
        f(data, indices, [0, 1, 9], width)
