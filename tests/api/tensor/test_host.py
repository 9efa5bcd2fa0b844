"""Between tensors and Python, NumPy, pickles: values, memory, printing."""

import copy
import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def test_numbers():
    x = ag.tensor([[2.5]])
    assert (float(x), int(x), bool(x), complex(x), x.item()) == (2.5, 2, True, 2.5 + 0j, 2.5)
    assert [10, 20, 30][ag.tensor(1)] == 20 and f"{x:.2f}" == "2.50" and f"{x}" == repr(x)
    assert ag.tensor([[1, 2], [3, 4]]).item(1, 0) == 3


@pytest.mark.parametrize("use", [float, int, bool, complex])
def test_numbers_of_several_elements(use):
    kind = ValueError if use is bool else TypeError
    with pytest.raises(kind, match=rf"{use.__name__}\(\) takes a tensor of one element"):
        use(ag.ones(2))


def test_an_index_is_an_integer():
    with pytest.raises(TypeError, match=r"only integer tensors .* not float32\[\]"):
        [1, 2][ag.tensor(1.0)]
    assert bytes(ag.tensor([1, 2], dtype="uint8")) == b"\1\2"


def test_numpy_sees_the_same_memory():
    x = ag.zeros(3)
    for array in (x.numpy(), np.asarray(x), np.from_dlpack(x)):
        assert np.shares_memory(array, x.array)
    np.asarray(x)[0] = 7
    assert x[0] == 7
    assert not np.shares_memory(np.array(x), x.array)
    assert np.asarray(x, dtype="float64").dtype == "float64"
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype="int64", copy=False)


def test_from_dlpack():
    a = np.arange(3.0)
    t = ag.from_dlpack(a)
    a[0] = 5
    assert t.tolist() == [5, 1, 2] and ag.from_dlpack(t).tolist() == [5, 1, 2]
    assert ag.from_dlpack(a, copy=True).array is not a


def test_numpy_functions_give_way():
    x = np.ones(2) + ag.ones(2, dtype="float64")
    assert isinstance(x, ag.Tensor)
    assert np.concatenate([ag.ones(2), np.ones(2)]).shape == (4,)
    assert ag.ones(2).__array_namespace__() is ag


def test_pickle_and_copy():
    x = ag.tensor([1.0, 2.0], requires_grad=True, name="w")
    x.sum().backward()
    y = pickle.loads(pickle.dumps(x))
    assert (y.tolist(), y.requires_grad, y.name, y.grad) == ([1, 2], True, "w", None)
    z = copy.deepcopy({"a": x, "b": x})
    assert z["a"] is z["b"] and z["a"].grad.tolist() == [1, 1]
    assert not np.shares_memory(z["a"].array, x.array)
    assert copy.copy(x).array is x.array


def test_clone_is_differentiable():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    (x.clone() * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert ag.tensor([True]).clone().dtype == "bool"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: ag.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: ag.tensor([1, 2]), "tensor([1, 2])"),
        (lambda: ag.tensor([1], dtype="int8"), "tensor([1], dtype=int8)"),
        (lambda: ag.tensor(2.0, dtype="float64"), "tensor(2., dtype=float64)"),
        (lambda: ag.tensor([True]), "tensor([ True])"),
        (lambda: ag.zeros((0, 3)), "tensor([], shape=(0, 3))"),
        (lambda: ag.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: ag.eye(2), "tensor([[1., 0.],\n        [0., 1.]])"),
        (lambda: T.matrix("x", shape=("n", 3)), "<matrix x: float64[n, 3]>"),
        (lambda: T.fscalar() * 2, "<scalar multiply: float32[]>"),
        (lambda: T.ltensor4("i", shape=(1, 2, 3, 4)), "<tensor4 i: int64[1, 2, 3, 4]>"),
    ],
)
def test_repr(value, text):
    assert repr(value()) == text


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (bool, r"bool\(\)"), (float, r"float\(\)"), (int, r"int\(\)"),
        (lambda x: x.item(), r"item\(\)"), (lambda x: x.tolist(), r"tolist\(\)"),
        (lambda x: x.numpy(), r"numpy\(\)"), (np.asarray, "conversion to a NumPy array"),
    ],
)
def test_symbolic_values_are_refused(use, text):
    x = T.dscalar("x")
    with pytest.raises(ag.TraceError, match=rf"(?s){text} needs the value of <scalar x.*\.eval"):
        use(x)


def test_values_are_not_pickled_while_a_function_is_traced():
    with pytest.raises(ag.TraceError, match=r"(?s)pickle needs the value of <scalar .*read it"):
        ag.jit(pickle.dumps)(ag.tensor(1.0))


def test_deep_copies_of_traced_values_begin_anew():
    def f(x):
        y = copy.deepcopy(x)
        y *= 2
        return x, y, copy.deepcopy([y, y])

    x, y, (one, two) = ag.jit(f)(ag.tensor([1.0, 2.0]))
    assert x.tolist() == [1, 2] and y.tolist() == one.tolist() == two.tolist() == [2, 4]


def test_a_refusal_names_the_users_line():
    with pytest.raises(ag.TraceError, match=r"test_host\.py:\d+"):
        float(T.dscalar("x"))


def test_unknown_sizes_are_refused():
    x = T.dvector("x")
    with pytest.raises(ag.TraceError, match=r"the size x.shape\[0\] is not known .* len\(\)"):
        len(x)
    with pytest.raises(TypeError, match="has no axes"):
        len(ag.ones(()))
    with pytest.raises(TypeError, match="has no axes"):
        iter(ag.ones(()))


def test_round_and_the_one_device():
    assert round(ag.tensor(1.567, dtype="float64"), 2) == 1.57 and round(ag.tensor(2.5)) == 2
    layer = ag.nn.Linear(2, 2)
    assert layer.to("cpu") is layer and ag.ones(2).to("cpu").tolist() == [1, 1]


def test_arrays_of_the_other_byte_order_are_converted():
    for kind in (">f8", ">i4", ">u2", ">c8"):
        x = np.array([1, 2], kind)
        compiled = ag.jit(lambda x: x * 1)(x)
        for found in (ag.tensor(x), ag.asarray(x), compiled, ag.zeros(2, kind) + x):
            assert found.dtype == x.dtype.newbyteorder("=") and found.tolist() == [1, 2]
        assert ag.zeros(2, kind).dtype.isnative
        with pytest.raises(ValueError, match="copy"):
            ag.asarray(x, copy=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("look", [
    lambda x: x[1:3], lambda x: x[::-2], lambda x: x.T, lambda x: x.reshape(2, 6),
    lambda x: x[0, 1, ...], lambda x: x.detach(), lambda x: x[:, 1:][1],
])  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_copies_of_views_look_into_the_copy(look, copied, turned):
    base = ag.tensor(np.arange(12.0).reshape(4, 3).T if turned else np.arange(12.0).reshape(3, 4))
    for order in (lambda *x: x, lambda *x: x[::-1]):
        again, view = order(*copied(list(order(base, look(base)))))
        assert again.tolist() == base.tolist() and view.tolist() == look(base).tolist()
        view.add_(100)
        assert view.tolist() == look(again).tolist() and (again.numpy() >= 100).any()
        assert not np.shares_memory(again.array, base.array) and base.numpy().max() == 11


def test_a_copied_module_keeps_parameters_in_one_block():
    class Flat(ag.nn.Module):
        def __init__(self):
            self.block = ag.zeros(6)
            self.a, self.b = self.block[:4].reshape(2, 2), self.block[4:]

    net = copy.deepcopy(Flat())
    net.block.copy_(ag.arange(6, dtype="float32"))
    assert net.a.tolist() == [[0, 1], [2, 3]] and net.b.tolist() == [4, 5]


def test_one_number_is_written_as_a_number() -> None:
    # As by NumPy and PyTorch: programs write f"loss {loss}" and "{} %".format(100 * right / all).
    loss = ag.tensor(2.5, requires_grad=True)
    assert f"{loss} {loss * 2}" == "2.5 5.0"
    assert f"{ag.tensor(3)} {ag.tensor(True)} {ag.tensor(1 + 2j)}" == "3 True (1+2j)"
    assert f"{ag.tensor([2.5])} {loss!r}" == "tensor([2.5]) tensor(2.5, requires_grad=True)"
    assert f"{loss:.2f}" == "2.50"
