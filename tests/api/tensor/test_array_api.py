"""The array API standard, version 2025.12: names, signatures, and every function under ``jit``.

The public suite, data-apis/array-api-tests, says more; ``make conformance`` runs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.errors import TraceError

#: Every function of the main namespace, as the standard declares it.
FUNCTIONS = """
abs(x, /) acos(x, /) acosh(x, /) add(x1, x2, /) asin(x, /) asinh(x, /) atan(x, /) atan2(x1, x2, /)
atanh(x, /) bitwise_and(x1, x2, /) bitwise_left_shift(x1, x2, /) bitwise_invert(x, /)
bitwise_or(x1, x2, /) bitwise_right_shift(x1, x2, /) bitwise_xor(x1, x2, /) ceil(x, /)
clip(x, /, min=None, max=None) conj(x, /) copysign(x1, x2, /) cos(x, /) cosh(x, /)
divide(x1, x2, /) equal(x1, x2, /) exp(x, /) expm1(x, /) floor(x, /) floor_divide(x1, x2, /)
greater(x1, x2, /) greater_equal(x1, x2, /) hypot(x1, x2, /) imag(x, /) isfinite(x, /)
isinf(x, /) isnan(x, /) less(x1, x2, /) less_equal(x1, x2, /) log(x, /) log1p(x, /) log2(x, /)
log10(x, /) logaddexp(x1, x2, /) logical_and(x1, x2, /) logical_not(x, /) logical_or(x1, x2, /)
logical_xor(x1, x2, /) maximum(x1, x2, /) minimum(x1, x2, /) multiply(x1, x2, /) negative(x, /)
nextafter(x1, x2, /) not_equal(x1, x2, /) positive(x, /) pow(x1, x2, /) real(x, /)
reciprocal(x, /) remainder(x1, x2, /) round(x, /) sign(x, /) signbit(x, /) sin(x, /) sinh(x, /)
sqrt(x, /) square(x, /) subtract(x1, x2, /) tan(x, /) tanh(x, /) trunc(x, /)

arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None) empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing="xy") ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None) tril(x, /, *, k=0) triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None) zeros_like(x, /, *, dtype=None, device=None)

astype(x, dtype, /, *, copy=True, device=None) can_cast(from_, to, /) finfo(type, /)
iinfo(type, /) isdtype(dtype, kind) result_type(*arrays_and_dtypes)

take(x, indices, /, *, axis=None) take_along_axis(x, indices, /, *, axis=-1)
__array_namespace_info__()
matmul(x1, x2, /) matrix_transpose(x, /) tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)

broadcast_arrays(*arrays) broadcast_shapes(*shapes) broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0) expand_dims(x, /, axis) flip(x, /, *, axis=None)
moveaxis(x, source, destination, /) permute_dims(x, /, axes) repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None) roll(x, /, shift, *, axis=None) squeeze(x, /, axis)
stack(arrays, /, *, axis=0) tile(x, repetitions, /) unstack(x, /, *, axis=0)

argmax(x, /, *, axis=None, keepdims=False) argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False) nonzero(x, /)
searchsorted(x1, x2, /, *, side="left", sorter=None) where(condition, x1, x2, /)
isin(x1, x2, /, *, invert=False) unique_all(x, /) unique_counts(x, /) unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)

cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False) mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False) prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False) any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
"""
METHODS = """
__abs__(self, /) __add__(self, other, /) __and__(self, other, /)
__array_namespace__(self, /, *, api_version=None) __bool__(self, /) __complex__(self, /)
__dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None)
__dlpack_device__(self, /) __eq__(self, other, /) __float__(self, /) __floordiv__(self, other, /)
__ge__(self, other, /) __getitem__(self, key, /) __gt__(self, other, /) __index__(self, /)
__int__(self, /) __invert__(self, /) __le__(self, other, /) __lshift__(self, other, /)
__lt__(self, other, /) __matmul__(self, other, /) __mod__(self, other, /) __mul__(self, other, /)
__ne__(self, other, /) __neg__(self, /) __or__(self, other, /) __pos__(self, /)
__pow__(self, other, /) __rshift__(self, other, /) __setitem__(self, key, value, /)
__sub__(self, other, /) __truediv__(self, other, /) __xor__(self, other, /)
to_device(self, device, /, *, stream=None)
"""
NUMBER = inspect.Parameter


def declared(text: str) -> dict[str, inspect.Signature]:
    found = {}
    for line in text.replace("\n", " ").split(") "):
        name, _, parameters = line.strip().rstrip(")").partition("(")
        if name:
            found[name] = inspect.signature(eval(f"lambda {parameters}: 0"))
    return found


def check_signature(function: Any, standard: inspect.Signature) -> None:
    """Whatever the standard lets a caller write is understood, and means the same."""
    own = inspect.signature(function).parameters
    places = list(own.values())
    for i, p in enumerate(standard.parameters.values()):
        if p.kind is p.KEYWORD_ONLY or p.kind is p.VAR_POSITIONAL:
            mine = own[p.name] if p.kind is p.KEYWORD_ONLY else places[i]
        else:
            mine = places[i]
            assert mine.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        if p.kind is p.POSITIONAL_OR_KEYWORD:
            assert (mine.name, mine.kind) == (p.name, p.kind)
        elif p.kind is not p.POSITIONAL_ONLY:
            assert mine.name == p.name and mine.kind in (p.kind, p.POSITIONAL_OR_KEYWORD)
        if p.default is not p.empty:
            assert mine.default == p.default


DECLARED = declared(FUNCTIONS)


@pytest.mark.parametrize("name", DECLARED)
def test_functions_have_the_signature_of_the_standard(name):
    check_signature(getattr(ag, name), DECLARED[name])
    first = next(iter(DECLARED[name].parameters.values()), None)
    if first is not None and first.kind is first.POSITIONAL_ONLY:
        own = next(iter(inspect.signature(getattr(ag, name)).parameters.values()))
        assert own.kind is own.POSITIONAL_ONLY


@pytest.mark.parametrize(("name", "standard"), declared(METHODS).items())
def test_methods_have_the_signature_of_the_standard(name, standard):
    check_signature(getattr(ag.Tensor, name), standard)


def test_operators_have_reflected_and_in_place_forms():
    operators = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()
    assert [n for n in operators for kind in "ri" if not hasattr(ag.Tensor, f"__{kind}{n}__")] == []


def test_the_namespace_has_all_other_names():
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
        assert getattr(ag, name) == np.dtype(name)
    assert ag.complex64 == "complex64" and ag.complex128 == "complex128"
    assert (ag.e, ag.pi, ag.inf, ag.newaxis) == (np.e, np.pi, np.inf, None) and ag.nan != ag.nan
    x = ag.ones((2, 3))
    assert (x.device, x.dtype, x.ndim, x.shape, x.size) == ("cpu", ag.float32, 2, (2, 3), 6)
    assert x.T.shape == x.mT.shape == (3, 2)


def test_inspection():
    assert ag.__array_api_version__ == "2025.12"
    x = ag.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2023.12") is ag
    with pytest.raises(ValueError, match=r"version '2019.01' of the array API is not supported"):
        x.__array_namespace__(api_version="2019.01")
    info = ag.__array_namespace_info__()
    assert info.devices() == ("cpu",) and info.default_device() == "cpu"
    assert info.capabilities() == {
        "boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64,
    }
    assert info.default_dtypes() == {
        "real floating": ag.float32, "complex floating": ag.complex64, "integral": ag.int64,
        "indexing": ag.int64,
    }
    with ag.config(default_float="float64"):
        assert info.default_dtypes(device="cpu")["complex floating"] == ag.complex128
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {
        "bool", "int8", "int16", "int32", "int64",
    }
    assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="no kind of dtypes is 'text'"):
        info.dtypes(kind="text")


def test_a_graph_under_way_has_no_shapes_that_depend_on_data():
    seen = []

    @ag.jit
    def look(x):
        seen.append(ag.__array_namespace_info__().capabilities())
        return x + 1

    look(ag.ones(2))
    assert not seen[0]["boolean indexing"] and not seen[0]["data-dependent shapes"]


@pytest.mark.parametrize(
    "make",
    [
        lambda d: ag.arange(3, device=d), lambda d: ag.asarray([1], device=d),
        lambda d: ag.empty(2, device=d), lambda d: ag.eye(2, device=d),
        lambda d: ag.full(2, 1, device=d), lambda d: ag.linspace(0, 1, 3, device=d),
        lambda d: ag.ones(2, device=d), lambda d: ag.zeros_like(ag.ones(2), device=d),
        lambda d: ag.astype(ag.ones(2), ag.int64, device=d), lambda d: ag.ones(2).to_device(d),
        lambda d: ag.tensor([1.0], device=d), lambda d: ag.from_dlpack(np.ones(2), device=d),
        lambda d: ag.__array_namespace_info__().default_dtypes(device=d) and ag.ones(1),
    ],
)
def test_there_is_one_device(make):
    assert make("cpu").device == "cpu"
    with pytest.raises(ValueError, match="there is one device, 'cpu', and not 'cuda'"):
        make("cuda")


# -- copies -------------------------------------------------------------------------------------
def test_copies_of_arrays():
    a = np.arange(3.0)
    shares = [np.shares_memory(a, ag.asarray(a, copy=c).array) for c in (None, False, True)]
    assert shares == [True, True, False]
    assert np.shares_memory(a, ag.asarray(memoryview(a), copy=False).array)
    t = ag.asarray(a)
    assert ag.asarray(t) is t and ag.asarray(t, copy=False) is t
    assert not np.shares_memory(ag.asarray(t, copy=True).array, a)
    for source in ([1.0, 2.0], 1.0, a.astype("float32")):
        with pytest.raises(ValueError, match="copy=False, but"):
            ag.asarray(source, dtype=ag.float64, copy=False)
    with pytest.raises(ValueError, match="must be copied to become float32"):
        ag.asarray(t, dtype=ag.float32, copy=False)


def test_copies_of_reshaped_tensors():
    x = ag.reshape(ag.arange(6), (2, 3))
    assert np.shares_memory(ag.reshape(x, (6,), copy=False).array, x.array)
    for shape in ((6,), (2, 3)):
        assert not np.shares_memory(ag.reshape(x, shape, copy=True).array, x.array)
    with pytest.raises(ValueError, match=r"copy=False, but int64\[3, 2\] must be copied"):
        ag.reshape(x.T, (6,), copy=False)


def test_copies_carry_gradients():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    loss = (ag.asarray(x, copy=True) * ag.reshape(x, (2,), copy=True)).sum()
    assert ag.grad(loss, x).tolist() == [2, 4]
    assert ag.grad((ag.tensor(x, "float64") * ag.array(x)).sum(), x).tolist() == [2, 4]
    leaf = ag.tensor(x, requires_grad=True)
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [2, 4] and x.grad is None
    with ag.no_grad():
        assert not ag.tensor(x).requires_grad


@pytest.mark.parametrize("run", [lambda f: f, ag.jit])
def test_tensors_in_lists_are_joined_with_their_gradients(run):
    def f(x):
        rows = ag.array([[x[0], 2 * x[1]], (x[1], 1.0)])
        return (rows @ ag.asarray([x[0], 3])).sum() + (x * [x[1], x[0]]).sum()

    x = ag.tensor([5.0, 7.0])
    found = [run(g)(x) for g in (f, ag.grad(f), ag.hessian(f))]
    # a**2 + 6 b + 3 a b + 3
    assert found[0].item() == 25 + 6 * 7 + 3 * 5 * 7 + 3
    assert found[1].tolist() == [2 * 5 + 3 * 7, 6 + 3 * 5]
    assert found[2].tolist() == [[2, 3], [3, 0]]
    assert found[0].dtype == ag.float32


def test_tensors_in_lists_decide_over_the_dtype_as_operands_do():
    half, whole = ag.tensor(1.0, dtype="float16"), ag.tensor(1)
    assert ag.array([half, 2.5]).dtype == ag.float16
    assert ag.array([whole, 2.5]).dtype == ag.float32
    assert ag.array([half, np.float64(2)]).dtype == ag.float64
    assert ag.array([[half], [whole]], dtype="int8").dtype == ag.int8
    with pytest.raises(ValueError, match=r"asarray\(.*its parts differ in shape"):
        ag.asarray([whole, [1, 2]])


def test_live_tensors_are_copied_when_the_compiled_function_runs():
    state = ag.tensor([1.0, 2.0])
    step = ag.jit(lambda x: x + ag.tensor(state) + ag.asarray(state, copy=True))
    assert step(ag.zeros(2)).tolist() == [2, 4]
    state += ag.tensor([10.0, 10.0])
    assert step(ag.zeros(2)).tolist() == [22, 24]
    joined = ag.jit(lambda x: ag.asarray([x[0], state[0]]))
    assert joined(ag.zeros(2)).tolist() == [0, 11]
    state += 1
    assert joined(ag.zeros(2)).tolist() == [0, 12]


# -- dtypes -------------------------------------------------------------------------------------
def test_dtype_functions():
    assert ag.finfo(ag.ones(2)).eps == ag.finfo(ag.complex64).eps == 2.0**-23
    info = ag.finfo(ag.float64)
    assert (info.bits, info.dtype, info.max) == (64, ag.float64, np.finfo(np.float64).max)
    assert {type(v) for v in (info.eps, info.max, info.min, info.smallest_normal)} == {float}
    assert (ag.iinfo(ag.uint8).max, ag.iinfo(ag.int64).min) == (255, -(2**63))
    with pytest.raises(TypeError, match="finfo takes a floating or complex dtype, not int8"):
        ag.finfo(ag.int8)
    with pytest.raises(TypeError, match="iinfo takes an integer dtype, not float32"):
        ag.iinfo(ag.float32)
    assert ag.can_cast(ag.ones(2), ag.float64) and not ag.can_cast(ag.int16, ag.uint32)
    assert ag.isdtype(ag.bool, "bool") and not ag.isdtype(ag.bool, "numeric")
    assert ag.isdtype(ag.uint8, ("bool", "unsigned integer")) and ag.isdtype(ag.int8, ag.int8)
    with pytest.raises(ValueError, match="there is no kind 'float' of dtypes"):
        ag.isdtype(ag.int8, "float")
    assert ag.result_type(ag.uint8, ag.int8) == ag.int16
    assert ag.result_type(1.0, ag.ones(2, ag.float64), ag.float32) == ag.float64
    assert ag.result_type(ag.int8, 1.0) == ag.float32 and ag.result_type(True, 2) == ag.int64


# -- DLPack -------------------------------------------------------------------------------------
def test_dlpack_shares_memory_both_ways():
    a = np.arange(4.0)
    t = ag.from_dlpack(a)
    assert np.shares_memory(t.array, a) and np.shares_memory(np.from_dlpack(t), a)
    assert t.__dlpack_device__() == (1, 0)
    assert not np.shares_memory(ag.from_dlpack(a, copy=True).array, a)
    assert np.shares_memory(ag.from_dlpack(t, copy=False).array, a)
    assert ag.from_dlpack(ag.zeros((0, 3))).shape == (0, 3)
    assert ag.from_dlpack(np.arange(6.0).reshape(2, 3).T[::-1]).tolist() == [[2, 5], [1, 4], [0, 3]]


def test_dlpack_versions_and_devices():
    x = ag.ones(3)
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8), dl_device=(1, 0), copy=True))
    with pytest.raises(BufferError, match=r"tensors are on the cpu, \(1, 0\), and not on \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="the cpu has no streams"):
        x.__dlpack__(stream=1)


def test_dlpack_keeps_what_is_read_only():
    a = np.arange(3.0)
    a.flags.writeable = False
    t = ag.from_dlpack(a)
    assert np.shares_memory(t.array, a)
    with pytest.raises(ValueError, match="read-only"):
        t += 1
    assert not np.from_dlpack(t).flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        t.__dlpack__()  # without a version there is no flag for it
    assert ag.from_dlpack(a, copy=True).add_(1).tolist() == [1, 2, 3]
    assert ag.jit(lambda x: x * 2)(t).tolist() == [0, 2, 4]


def test_dlpack_of_what_has_no_memory():
    with pytest.raises(AttributeError, match=r"list has no __dlpack__; see ag\.asarray"):
        ag.from_dlpack([1, 2])
    with pytest.raises(TraceError, match="DLPack needs the value"):
        ag.jit(lambda x: np.from_dlpack(x).sum())(ag.ones(2))

    class Dates:
        def __dlpack__(self, **options: Any) -> Any:
            return np.array(["2020-01-01"], "datetime64[D]").__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    with pytest.raises(BufferError):
        ag.from_dlpack(Dates())


def test_what_speaks_dlpack_only():
    class Foreign:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    a = np.arange(3.0)
    assert np.shares_memory(ag.asarray(Foreign(a)).array, a)
    assert np.shares_memory(ag.asarray(Foreign(a), copy=False).array, a)
    assert (ag.ones(3, ag.float64) + Foreign(a)).tolist() == [1, 2, 3]


# -- under jit ----------------------------------------------------------------------------------
X = np.array([[0.3, -0.7, 0.5], [-0.2, 0.9, 0.1]], np.float32)
Y = np.array([[0.6, 0.4, -0.8], [0.7, 0.2, 0.9]], np.float32)
I = np.array([[2, 0, 1], [1, 3, 0]])  # noqa: E741 - integers
J = np.array([[1, 2, 1], [3, 1, 2]])
Z = X + 1j * Y
BITS = {n for n in DECLARED if n.startswith("bitwise")}
COMPARED = set("equal greater greater_equal less less_equal not_equal".split())
#: Calls of functions whose operands are not one or two arrays of floats.
CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "acosh": [((Y + 2,), {})], "clip": [((X,), {"min": -0.5, "max": 0.4}), ((X, Y), {})],
    "log": [((Y * Y,), {})], "log2": [((Y * Y,), {})], "log10": [((Y * Y,), {})],
    "sqrt": [((Y * Y,), {})], "pow": [((Y * Y, X), {}), ((I, J), {})],
    "conj": [((Z,), {})], "imag": [((Z,), {})], "real": [((Z,), {})],
    "asarray": [((X,), {"copy": True}), ((X,), {"dtype": "float64"})],
    "empty_like": [], "full_like": [((X, 3), {}), ((X, 2.5), {"dtype": "float64"})],
    "tril": [((X,), {"k": 1})], "triu": [((X,), {"k": -1})], "meshgrid": [
        ((X[0], Y[1, :2]), {}), ((X[0], Y[1, :2], I[0]), {"indexing": "ij"}),
    ],
    "astype": [((X, "int64"), {}), ((I, "float32"), {}), ((Z, "complex128"), {})],
    "take": [((X, I[0]), {"axis": 1}), ((X[0], I[0]), {})],
    "take_along_axis": [((X, I[:1]), {"axis": 1})],
    "matmul": [((X, Y.T), {})], "tensordot": [((X, Y), {}), ((X, Y), {"axes": ((1,), (1,))})],
    "vecdot": [((X, Y), {}), ((Z, Z), {"axis": -2})],
    "broadcast_arrays": [((X, Y[0]), {})], "broadcast_to": [((X, (4, 2, 3)), {})],
    "concat": [(([X, Y],), {"axis": 1}), (([X, I],), {"axis": None})],
    "expand_dims": [((X,), {"axis": -1})], "flip": [((X,), {}), ((X,), {"axis": 1})],
    "moveaxis": [((X, 0, 1), {})], "permute_dims": [((X, (1, 0)), {})],
    "repeat": [((X, 2), {}), ((X, 3), {"axis": 0})], "reshape": [((X, (3, 2)), {})],
    "roll": [((X, 1), {}), ((X, (1, 2)), {"axis": (0, 1)})], "squeeze": [((X[:1], 0), {})],
    "stack": [(([X, Y],), {"axis": -1})], "tile": [((X, (2, 1, 2)), {})],
    "unstack": [((X,), {"axis": 1})], "searchsorted": [
        ((np.sort(X[0]), Y), {}), ((X[0], Y), {"side": "right", "sorter": np.argsort(X[0])}),
    ],
    "where": [((X > 0, X, Y), {}), ((X > 0, X, 0.0), {})],
    "isin": [((I, J), {}), ((I, J[:, :0]), {}), ((X, X[0]), {"invert": True})],
    "argsort": [((X,), {"descending": True})], "sort": [((X,), {"axis": 0}), ((I,), {})],
    "cumulative_prod": [((X,), {"axis": 1}), ((I[0],), {"include_initial": True})],
    "cumulative_sum": [((X,), {"axis": 0, "include_initial": True}), ((I[0],), {})],
    "sum": [((X,), {"axis": 1, "keepdims": True}), ((I.astype("uint8"),), {"dtype": "uint8"})],
    "prod": [((X,), {"axis": 0}), ((I,), {"dtype": "float32"})],
    "var": [((X,), {"correction": 1.0, "axis": 1})], "std": [((X,), {"axis": (0, 1)})],
    "diff": [((X,), {}), ((X,), {"n": 2, "axis": 1, "prepend": 0.0, "append": Y})],
}
#: What takes no array, or gives none, or a number of elements that depends on their values.
NOT_TRACED = set("""
    __array_namespace_info__ arange broadcast_shapes can_cast empty eye finfo from_dlpack full
    iinfo isdtype linspace ones result_type zeros
""".split())
BY_VALUE = set("nonzero unique_all unique_counts unique_inverse unique_values".split())
TRACED = sorted(set(DECLARED) - NOT_TRACED - BY_VALUE)


def calls_of(name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    if name in CALLS:
        return CALLS[name]
    arity = len([p for p in DECLARED[name].parameters.values() if p.kind is p.POSITIONAL_ONLY])
    if name in BITS:
        return [((I, J)[:arity], {})]
    usual: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((X, Y)[:arity], {})]
    if name in COMPARED:
        usual += [((I, J), {}), ((X, 0.1), {})]
    return usual


def numbers(result: Any) -> list[np.ndarray]:
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else (result,))]


@pytest.mark.share(12)
@pytest.mark.parametrize("name", TRACED)
def test_functions_give_the_same_under_jit(name):
    function: Callable[..., Any] = getattr(ag, name)
    for args, keywords in calls_of(name):
        floating = [isinstance(a, (np.ndarray, list)) for a in args]
        arrays = [a for a, traced in zip(args, floating, strict=True) if traced]

        def run(*given: Any) -> Any:
            rest = iter(given)
            full = [next(rest) if t else a for a, t in zip(args, floating, strict=True)]  # noqa: B023
            return function(*full, **keywords)  # noqa: B023

        tensors = [
            [ag.asarray(v) for v in a] if isinstance(a, list) else ag.asarray(a) for a in arrays
        ]
        expected, found = numbers(run(*tensors)), numbers(ag.jit(run)(*tensors))
        assert len(expected) == len(found)
        for e, f in zip(expected, found, strict=True):
            assert (e.dtype, e.shape) == (f.dtype, f.shape)
            np.testing.assert_allclose(f, e, rtol=2e-6, atol=1e-7)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", sorted(BY_VALUE))
def test_sizes_that_depend_on_values_are_told_under_jit(name):
    function = getattr(ag, name)
    compiled = ag.jit(lambda x: function(x))
    for values in (I, I % 2, I * 0):  # more and fewer are found
        expected, found = numbers(function(ag.asarray(values))), numbers(
            compiled(ag.asarray(values)))
        assert len(expected) == len(found)
        for e, f in zip(expected, found, strict=True):
            assert (e.dtype, e.shape) == (f.dtype, f.shape)
            np.testing.assert_array_equal(f, e)
