"""Operators and methods against NumPy, and the agreements between them."""

import inspect
import operator

import numpy as np
import pytest

import agnesi as ag
from agnesi.api import functions
from agnesi.api.tensor import methods

A = np.array([[5, -3, 2], [7, 4, -6]])
B = np.array([[2, 3, -2], [-4, 5, 3]])

ARITHMETIC = ["add", "sub", "mul", "floordiv", "mod"]
BITS = ["and_", "or_", "xor"]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]


@pytest.mark.parametrize("name", ARITHMETIC + BITS + COMPARISONS)
def test_binary_operators(name):
    f = getattr(operator, name)
    expected = f(A, B)
    for result in (f(ag.tensor(A), ag.tensor(B)), f(ag.tensor(A), B), f(A, ag.tensor(B))):
        assert isinstance(result, ag.Tensor) and result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", [*ARITHMETIC, "truediv"])
def test_operators_with_scalars_and_reflected(name):
    f = getattr(operator, name)
    x = A.astype("float32")
    for result, expected in ((f(ag.tensor(x), 3), f(x, np.float32(3))),
                             (f(3.0, ag.tensor(x)), f(np.float32(3), x))):
        assert result.dtype == "float32"
        np.testing.assert_allclose(result, expected)


def test_power_matmul_shifts_and_unary():
    x = ag.tensor(A.astype("float64"))
    np.testing.assert_allclose(x**2, A**2.0)
    np.testing.assert_allclose(2.0 ** ag.tensor(B), 2.0**B)
    np.testing.assert_allclose(x @ x.T, A @ A.T)
    np.testing.assert_array_equal(ag.tensor(A) << 2, A << 2)
    np.testing.assert_array_equal(1 << ag.tensor([1, 2]), [2, 4])
    np.testing.assert_array_equal(ag.tensor(A) >> 1, A >> 1)
    np.testing.assert_array_equal(-ag.tensor(A), -A)
    np.testing.assert_array_equal(+ag.tensor(A), A)
    np.testing.assert_array_equal(abs(ag.tensor(A)), abs(A))
    np.testing.assert_array_equal(~ag.tensor(A), ~A)


def test_integer_division_gives_the_default_float():
    assert (ag.tensor([1, 2]) / 2).dtype == "float32"
    with ag.config(default_float="float64"):
        assert (ag.tensor([1, 2]) / ag.tensor([2, 2])).dtype == "float64"


def test_operands_of_foreign_types():
    x = ag.ones(2)
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    with pytest.raises(TypeError):
        x + "a"

    with pytest.raises(TypeError, match=r"multiply\(float32\[2\], <object .*dtype object"):
        x * object()


def test_classes_answer_for_their_objects():
    class Scale:
        def __rmul__(self, x): return x * 3
        def __gt__(self, x): return "greater"
        def __radd__(self, x): return NotImplemented

    x = ag.ones(2)
    assert (x * Scale()).tolist() == ag.jit(lambda x: x * Scale())(x).tolist() == [3.0, 3.0]
    assert (x < Scale()) == "greater"
    assert (x == Scale()) is False and (x != Scale()) is True
    for compute in (lambda: x + Scale(), lambda: x > Scale()):
        with pytest.raises(TypeError, match=r"cannot make a tensor from <.*dtype object"):
            compute()


def test_sum_of_a_list():
    assert sum([ag.ones(2), ag.ones(2)]).tolist() == [2, 2]


def test_hash_is_identity():
    x, y = ag.ones(2), ag.ones(2)
    assert {x: 1, y: 2}[x] == 1 and len({x, y}) == 2


@pytest.mark.parametrize(
    ("name", "operand"),
    [("iadd", 2), ("isub", 2), ("imul", 3), ("ifloordiv", 2), ("imod", 3), ("ipow", 2),
     ("iand", 6), ("ior", 8), ("ixor", 5), ("ilshift", 1), ("irshift", 1)],
)
def test_augmented_assignment_keeps_the_memory(name, operand):
    for other in (operand, np.full((2, 3), operand)):
        expected = getattr(operator, name)(abs(A), other)
        x = ag.tensor(abs(A))
        memory = x.numpy()
        y = getattr(operator, name)(x, other if isinstance(other, int) else ag.tensor(other))
        assert y is x and np.shares_memory(x.numpy(), memory)
        np.testing.assert_array_equal(x, expected)


def test_in_place_broadcasts_the_operand_only():
    x = ag.ones((2, 3))
    x += ag.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [[2, 3, 4]] * 2
    y = ag.ones(3)
    with pytest.raises(ag.ShapeError, match=r"\+=\(float32\[3\], float32\[2, 3\]\)"):
        y += x


def test_in_place_methods_match_the_functions():
    x = np.array([0.1, 0.5, 0.9])
    for name in ["exp", "sqrt", "sin", "tanh", "neg", "abs", "square", "sigmoid"]:
        t = ag.tensor(x)
        memory = t.numpy()
        assert getattr(t, name + "_")() is t and np.shares_memory(memory, t.numpy())
        np.testing.assert_array_equal(t, getattr(ag, name)(ag.tensor(x)))
    t = ag.tensor(x)
    assert t.add_(1, alpha=2).sub_(ag.ones(3, dtype="float64")).mul_(2).div_(4) is t
    np.testing.assert_allclose(t, (x + 1) / 2)
    assert t.clamp_(0.6, 0.9).max() <= 0.9 and t.zero_().sum() == 0 and t.fill_(3).sum() == 9
    assert t.copy_([1, 2, 3]).tolist() == [1, 2, 3]


def test_dim_and_axis_mean_the_same():
    x = ag.tensor(A)
    np.testing.assert_array_equal(x.sum(dim=1, keepdim=True), A.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(x.argmax(dim=0), A.argmax(axis=0))
    np.testing.assert_allclose(x.double().std(axis=0, ddof=1), A.std(axis=0, ddof=1))


def test_shapes():
    x = ag.arange(24)
    assert x.reshape(2, 3, 4).shape == x.view((2, 3, -1)).shape == (2, 3, 4)
    y = x.reshape(2, 3, 4)
    assert y.T.shape == (4, 3, 2) and y.mT.shape == (2, 4, 3)
    assert y.permute(2, 0, 1).shape == y.transpose(2, 0, 1).shape == (4, 2, 3)
    assert y.transpose(0, 1).shape == (3, 2, 4) and y.transpose().shape == (4, 3, 2)
    assert y.flatten(1).shape == (2, 12) and y.unsqueeze(0).squeeze(0).shape == y.shape
    assert ag.ones((1, 3)).expand(2, -1).shape == (2, 3) and y.numel() == y.size == 24
    assert y.size() == (2, 3, 4) and y.size(-1) == 4 and y.nbytes == 192
    assert len(y) == 2 and [row.shape for row in y] == [(3, 4), (3, 4)] and 23 in y


def test_dtypes():
    x = ag.tensor([1.7, -2.2])
    assert x.double().dtype == "float64" and x.float() is x and x.long().tolist() == [1, -2]
    assert x.to("float64").dtype == x.to(ag.ones(1, dtype="float64")).dtype == ag.float64
    assert x.to("cpu") is x and x.bool().tolist() == [True, True]
    copy = x.astype("float32")
    assert copy is not x and not np.shares_memory(copy.numpy(), x.numpy())
    assert x.real is x and x.cfloat().imag.tolist() == [0, 0]


def test_every_method_of_the_table_has_its_function():
    wanted = {*methods.SAME.split(), *methods.OTHER.values(), *methods.IN_PLACE.split()}
    assert sorted(n for n in wanted if not hasattr(functions, n)) == []


def test_public_functions_are_public_under_both_names():
    from agnesi import symbolic

    names = [n for n in vars(functions) if not n.startswith("_")]
    assert [n for n in names if not hasattr(ag, n)] == []
    alike = [(n, *(inspect.unwrap(getattr(m, n)) for m in (symbolic, ag))) for n in names]
    assert [n for n, a, b in alike if n != "tensor" and a is not b] == []


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_divmod_of_python(way):
    x = ag.tensor([7.0, -7.0, 3.5])
    for f in (lambda x: divmod(x, 2), lambda x: divmod(7, x), lambda x: divmod(x, x[::-1])):
        for found, expected in zip(way(f)(x), f(x.numpy()), strict=True):
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match=r"divmod\(float32\[3\], 'two'\): cannot make"):
        divmod(x, "two")


@pytest.mark.parametrize(("method", "function"), [
    ("det", ag.linalg.det), ("inverse", ag.linalg.inv), ("nanmean", ag.nanmean),
])
def test_methods_that_are_loaded_late_are_the_functions(method, function):
    assert getattr(ag.Tensor, method) is function
    assert "Parameters\n" in getattr(ag.Tensor, method).__doc__
    bound = getattr(ag.eye(2), method)
    assert bound.__func__ is function and bound().array is not None
