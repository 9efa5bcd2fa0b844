"""Symbolic variables: dtypes, shapes, names."""

import pytest

import agnesi as ag
from agnesi import symbolic as T


@pytest.mark.parametrize(
    ("prefix", "dtype"),
    [("", "float64"), ("b", "int8"), ("w", "int16"), ("i", "int32"), ("l", "int64"),
     ("f", "float32"), ("d", "float64"), ("c", "complex64"), ("z", "complex128")],
)
def test_constructors(prefix, dtype):
    for kind, ndim in [("scalar", 0), ("vector", 1), ("matrix", 2), ("row", 2), ("col", 2),
                       ("tensor3", 3), ("tensor4", 4)]:
        x = getattr(T, prefix + kind)("x")
        assert (x.dtype, x.ndim, x.name, x.array) == (dtype, ndim, "x", None)
        assert x.requires_grad == (x.dtype.kind in "fc")
    assert T.row().shape[0] == 1 and T.col().shape[1] == 1


def test_the_symbolic_default_is_a_setting():
    with ag.config(symbolic_float="float32"):
        assert T.matrix().dtype == "float32" and T.dmatrix().dtype == "float64"
    assert T.matrix().dtype == "float64" and T.matrix(dtype="int8").dtype == "int8"


def test_named_dimensions():
    x, y = T.matrix(shape=("batch", 3)), T.vector(shape=("batch",))
    assert x.shape[0] == y.shape[0] and x.shape[1] == 3
    assert T.vector().shape[0] is not T.vector().shape[0]
    assert (x.T @ y).shape == (3,)
    with pytest.raises(ag.ShapeError, match=r"a matrix has 2 axes"):
        T.matrix(shape=(3,))


def test_any_type():
    x = T.tensor("int32", (None, "time", 3), name="z")
    assert x.ndim == 3 and x.dtype == "int32" and str(x.shape[1]) == "time"
    d = T.Variable("A") * T.Variable("B") + T.Constant(1)
    assert d.ndim == 1 and d.dtype == "float64"


def test_shape_errors_show_at_once():
    with pytest.raises(ag.ShapeError, match=r"(?s)add\(float64\[3\], .*test_symbolic"):
        T.vector(shape=(3,)) + T.vector(shape=(4,))


def test_graph_inputs_have_no_owner():
    x = T.dvector("x")
    y = T.exp(x) + x
    assert x.owner is None and y.owner.op.name == "add"
    first, second = y.owner.inputs
    assert first.owner.op.name == "exp" and second.node is x.node
