"""Floats of 16 bits, integers at their limits, promotion: eager, compiled, and NumPy."""

import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.support.tree import flatten
from agnesi.ops.base.elementwise import TABLE, call
from agnesi.testing.samples import operands

HALVES = ["float16", "bfloat16"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def normal(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).normal(size=shape).astype("float32")
    return ag.asarray(values).astype(dtype)


def wide(x):
    return x.numpy().astype("float64")


# -- bfloat16 -----------------------------------------------------------------------------------
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "int32"])
def test_conversions_round_to_the_nearest(source):
    random = np.random.default_rng(0)
    values = np.concatenate([
        [0.0, -0.0, np.nan, np.inf, -np.inf, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 1e-40,
         3.39e38, 65519.0, 1e-45], random.normal(size=500) * 10.0 ** random.integers(-30, 30, 500),
    ])
    if source == "int32":
        values = random.integers(-(2**31), 2**31, 500)
    with np.errstate(all="ignore"):
        x = values.astype(source)
    expected = x.astype(ml_dtypes.bfloat16)
    for convert in (lambda t: t.astype("bfloat16"), ag.jit(lambda t: t.bfloat16())):
        found = convert(ag.asarray(x)).numpy()
        np.testing.assert_array_equal(found.astype("float32"), expected.astype("float32"))
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    back = ag.jit(lambda t: t.astype("float32"))(ag.asarray(expected)).numpy()
    np.testing.assert_array_equal(back, expected.astype("float32"))


@pytest.mark.parametrize("dtype", HALVES)
def test_elementwise_functions_are_computed_in_float32_and_rounded_once(dtype):
    rows = [
        row for name, row in TABLE.items()
        if "f" in row.kinds and row.lower is not None
        and row.__module__ == "agnesi.ops.base.elementwise"
        and name not in ("where", "nextafter") and row.home == "agnesi.ops.base.elementwise"
    ]
    assert len(rows) > 50
    for start in range(0, len(rows), 20):
        some = rows[start : start + 20]
        xs = [[ag.asarray(v).astype(dtype) for v in operands(r, [(7,)] * r.arity)] for r in some]

        def f(*xs, some=some):
            left = iter(xs)
            return [call(r, tuple(next(left) for _ in range(r.arity))) for r in some]

        flat = [x for group in xs for x in group]
        for row, eager, compiled in zip(some, f(*flat), ag.jit(f)(*flat), strict=True):
            assert compiled.dtype == eager.dtype, row.name
            assert row.result == "bool" or eager.dtype == dtype, row.name
            step = float(ag.finfo(dtype).eps)
            np.testing.assert_allclose(wide(compiled), wide(eager), step, step, err_msg=row.name)


def test_promotion():
    table = {
        ("bfloat16", "float16"): "float32", ("bfloat16", "bfloat16"): "bfloat16",
        ("bfloat16", "float32"): "float32", ("bfloat16", "float64"): "float64",
        ("bfloat16", "int64"): "bfloat16", ("bfloat16", "bool"): "bfloat16",
        ("bfloat16", "complex64"): "complex64", ("bfloat16", "complex128"): "complex128",
        ("float16", "int64"): "float16", ("uint8", "int8"): "int16",
        ("int64", "float32"): "float32",
    }
    for (a, b), expected in table.items():
        assert ag.result_type(a, b) == ag.result_type(b, a) == ag.result_type(expected), (a, b)
        x, y = ag.ones(2, dtype=a), ag.ones(2, dtype=b)
        assert (x + y).dtype == ag.jit(lambda x, y: x + y)(x, y).dtype == (y + x).dtype
        assert (x + y).dtype == ag.result_type(expected)
    assert (ag.ones(2, dtype="bfloat16") * 2.5 + 1).dtype == "bfloat16"
    assert (ag.ones(2, dtype="bfloat16") * 1j).dtype == "complex64"
    assert ag.isdtype("bfloat16", "real floating")


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_do_not_lose_digits(dtype):
    x = ag.ones(5000, dtype=dtype) * 0.125
    for function, expected in ((ag.sum, 625.0), (ag.mean, 0.125), (lambda t: t.cumsum(0)[-1], 625)):
        for run in (function, ag.jit(function)):
            assert abs(float(run(x)) - expected) <= expected * float(ag.finfo(dtype).eps)
    a = ag.ones((3, 5000), dtype=dtype)
    for run in (ag.matmul, ag.jit(ag.matmul)):
        np.testing.assert_allclose(wide(run(a, a.mT * 0.125)), 625, ag.finfo(dtype).eps)
    image = ag.ones((1, 700, 3, 3), dtype=dtype)
    for run in (ag.conv2d, ag.jit(ag.conv2d)):
        np.testing.assert_allclose(wide(run(image, image * 0.1))[0, 0, 0, 0], 630, 5e-3)


def test_float16_overflows_as_in_numpy():
    x = np.array([65504.0, 60000.0, -65504.0, 300.0], "float16")
    with np.errstate(over="ignore"):
        expected = [x * 2, x + x, np.square(x), np.exp(x)]
    f = ag.jit(lambda t: (t * 2, t + t, ag.square(t), ag.exp(t)))
    for found, want in zip(f(ag.asarray(x)), expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), want)


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_are_near_those_of_float32(dtype):
    x, w = normal(20, 30, dtype=dtype), normal(30, 5, dtype=dtype, seed=1) * 0.2

    def loss(w, x):
        return ag.softmax(ag.tanh(x @ w), axis=-1).square().mean()

    expected = wide(ag.grad(loss)(w.float(), x.float()))
    for gradient in (ag.grad(loss), ag.jit(ag.grad(loss))):
        found = gradient(w, x)
        assert found.dtype == dtype
        np.testing.assert_allclose(wide(found), expected, atol=0.03 * abs(expected).max())


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("compiled", [False, True])
def test_networks_train_with_masters_in_float32(dtype, compiled):
    ag.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 3))
    model = model.half() if dtype == "float16" else model.bfloat16()
    x, target = normal(30, 8, dtype=dtype), ag.asarray(np.arange(30) % 3)
    optimizer = ag.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    run = ag.jit(step) if compiled else step
    losses = [float(run()) for _ in range(60)]
    assert losses[-1] < 0.5 * losses[0]
    assert {p.dtype.name for p in model.parameters()} == {dtype}
    state = optimizer.state_dict()["state"][0]
    assert state["master"].dtype == state["exp_avg"].dtype == "float32"


def test_steps_smaller_than_a_digit_add_up():
    w = ag.ones(4, dtype="bfloat16", requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=1e-4)
    for _ in range(100):
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
    np.testing.assert_allclose(wide(w), 0.99, atol=4e-3)


def test_idle_values_may_be_kept_as_bfloat16():
    def loss(w, x):
        for _ in range(6):
            x = ag.tanh(x @ w)
        return x.square().sum()

    w, x = normal(64, 64) * 0.1, normal(512, 64, seed=1)
    plain, kept = (ag.jit(ag.grad(loss), save_dtype=s) for s in ("", "bfloat16"))
    expected, found = wide(plain(w, x)), wide(kept(w, x))
    assert "bfloat16" in str(kept.plan())
    assert 0 < abs(found - expected).max() < 0.02 * abs(expected).max()


def test_symbolic_functions_take_bfloat16():
    x = ag.symbolic.tensor("bfloat16", (None, 3), name="x")
    f = ag.function([x], ag.exp(x).sum(0))
    found = f(np.ones((2, 3), ml_dtypes.bfloat16))
    np.testing.assert_allclose(wide(ag.asarray(found)), 2 * np.exp(1), 1e-2)


def test_bfloat16_needs_its_package():
    code = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import agnesi as ag\n"
        "try: ag.zeros(3, dtype='bfloat16')\n"
        "except ImportError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == (
        "bfloat16 needs the package ml_dtypes: pip install 'agnesi[bfloat16]'"
    )


def test_importing_agnesi_leaves_ml_dtypes_aside():
    code = "import sys, agnesi; print('ml_dtypes' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


# -- integers -----------------------------------------------------------------------------------
def limits(dtype):
    if dtype == "bool":
        return np.array([False, True])
    of = np.iinfo(dtype)
    some = [of.min, of.min + 1, -65, -64, -8, -3, -1, 0, 1, 2, 7, 8, 31, 32, 63, 64, 65, of.max]
    return np.array([v for v in some if of.min <= v <= of.max], dtype)


_NUMPY = {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}


@pytest.mark.share(4)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_integers_wrap_shift_and_divide_as_in_numpy(dtype):
    values = limits(dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    kind = np.dtype(dtype).kind
    rows = [
        row for name, row in TABLE.items()
        if kind in row.kinds and row.arity < 3 and hasattr(np, _NUMPY.get(name, name))
        and not (name == "power" and kind == "i")
    ]
    assert len(rows) >= 10

    def f(x, y):
        return [call(row, (x, y)[: row.arity]) for row in rows]

    arrays = ag.asarray(x), ag.asarray(y)
    for row, eager, compiled in zip(rows, f(*arrays), ag.jit(f)(*arrays), strict=True):
        with np.errstate(all="ignore"):
            expected = getattr(np, _NUMPY.get(row.name, row.name))(*(x, y)[: row.arity])
        assert eager.dtype == compiled.dtype, row.name
        np.testing.assert_array_equal(compiled.numpy(), eager.numpy(), err_msg=row.name)
        if expected.dtype == eager.dtype:
            np.testing.assert_array_equal(eager.numpy(), expected, err_msg=row.name)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_and_sums_wrap(dtype):
    x = limits(dtype)
    f = ag.jit(lambda t: (t**3, t.sum(), t.prod(), t.cumsum(0), t * t, -t))
    with np.errstate(all="ignore"):
        wants = [x**3, x.sum(), x.prod(), x.cumsum(), x * x, -x]
    for found, want in zip(f(ag.asarray(x)), wants, strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found.numpy(), want)


# -- exchange -----------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_bfloat16_is_exchanged_through_dlpack(version):
    class Other:
        """A library of which nothing is known but DLPack."""

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **request):
            return self.x.__dlpack__(max_version=version)

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = normal(3, 4, dtype="bfloat16")
    y = ag.from_dlpack(Other(x))
    assert y.dtype == "bfloat16"
    np.testing.assert_array_equal(wide(y), wide(x))
    x[0] = 7.0
    assert float(y[0, 0]) == 7.0
    with pytest.raises((BufferError, RuntimeError)):  # NumPy must not take them for integers
        np.from_dlpack(x)


def test_bfloat16_survives_pickles_and_a_second_compilation():
    x = normal(5, dtype="bfloat16")
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype == "bfloat16"
    c = normal(5, dtype="bfloat16", seed=2)
    t = ag.symbolic.tensor("bfloat16", (5,), "t")
    f = ag.function([t], t * c + 1)
    for g in (f, pickle.loads(pickle.dumps(f))):
        np.testing.assert_array_equal(g(y).astype("float64"), wide(x * c + 1))


@pytest.mark.parametrize("n", [33, 1000, 35_937])
def test_copies_of_bfloat16_of_any_length(n):
    """LLVM does not compile masked copies of all widths in this type."""
    x = ag.arange(n, dtype="float32").astype("bfloat16")
    for f in (ag.copy, lambda x: x.clone(), lambda x: ag.concatenate([x, x]), lambda x: x * 1.5):
        np.testing.assert_array_equal(ag.jit(f)(x).numpy(), f(x).numpy())


def test_copies_keep_signs_of_zeros_and_infinities():
    for x in ([-0.0, np.inf], [complex(-0.0, np.inf), complex(np.inf, -0.0)], [True, False]):
        t = ag.tensor(np.array(x))
        for f in (ag.Tensor.clone, ag.Tensor.copy, ag.copy):
            for g in (f, ag.jit(f)):
                assert g(t).numpy().tobytes() == t.numpy().tobytes()
                assert not np.shares_memory(g(t).numpy(), t.numpy())


@pytest.mark.parametrize("make", [
    ag.tensor, ag.asarray, lambda x: ag.full((1,), x), lambda x: ag.tensor([x]),
    lambda x: ag.stack([[x]]), lambda x: ag.maximum(ag.tensor(0, dtype="uint64"), x),
])
def test_integers_beyond_int64_are_unsigned(make):
    found = make(2**63 + 5)
    assert found.dtype == ag.uint64 and found.ravel().tolist() == [2**63 + 5]
    with pytest.raises(ag.DTypeError):
        make(2**64)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [
    "max of columns", "both ways", "loop", "scan", "argmax", "until", "sum and max", "one for all",
    "chosen", "gathered",
])
def test_bfloat16_from_block_to_block(name):
    """Values that loops carry, or that are made outside of them, need no function to round them."""
    function = {
        "max of columns": lambda x: ag.max(x, axis=0),
        "both ways": lambda x: (x - ag.min(x, axis=0, keepdims=True)) * (
            x - ag.max(x, axis=1, keepdims=True)),
        "loop": lambda x: ag.fori_loop(0, 2, lambda i, v: ag.tanh(v), x),
        "scan": lambda x: ag.scan(lambda c, r: (ag.maximum(c, r), c * r), x[0], x),
        "argmax": lambda x: ag.argmax(x, axis=0),
        "until": lambda x: ag.while_loop(lambda v: ag.max(v) > 2, lambda v: v / 2, x),
        "sum and max": lambda x: (x.sum(0), x.max(0)),
        "one for all": lambda x: ag.where(x[0, 0] > 0, x[0, 0], x),
        "chosen": lambda x: ag.where(x.astype("float64") > 0, x[:, :1], x[0]),
        "gathered": lambda x: ag.take_along_axis(x, ag.argsort(x, axis=1), axis=1),
    }[name]
    for shape in ((2, 1), (2, 3), (4, 17)):
        x = ag.tensor(np.arange(float(np.prod(shape))).reshape(shape) - 2).astype("bfloat16")
        for found, expected in zip(flatten(ag.jit(function)(x))[0], flatten(function(x))[0],
                                   strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


@pytest.mark.parametrize("name", ["remainder", "floor_divide", "power", "fmod", "square", "abs",
                                  "bitwise_left_shift"])
def test_arithmetic_of_bools_has_numpys_dtype(name: str) -> None:
    x = np.array([True, False, True])
    operands = (x,) if name in ("square", "abs") else (x, np.array([True, True, True]))
    want = getattr(np, name)(*operands)
    f = getattr(ag, name)
    for found in (f(*map(ag.tensor, operands)), ag.jit(f)(*map(ag.tensor, operands))):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found.numpy(), want)


def test_elements_of_a_range_are_counted_between_unrounded_numbers():
    def f(x):
        begin = float(x.sum())
        return ag.arange(begin, begin + 3)  # float32: between rounded bounds lie four
    x = ag.tensor(np.float64(0.2))
    assert f(x).shape == ag.jit(f)(x).shape == (3,)


@pytest.mark.parametrize("spaced", [ag.linspace, ag.logspace])
def test_numbers_beside_wide_ends_of_ranges_are_not_rounded(spaced):
    x = ag.tensor(np.float64(1.0))
    expected = getattr(np, spaced.__name__)(1.0, 2 / 3, 3)
    for found in (spaced(x, 2 / 3, 3), ag.jit(lambda x: spaced(x, 2 / 3, 3))(x)):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.1), np.int8(3), np.int64(3)])
def test_numpy_numbers_in_lists_have_their_dtype_in_every_place(number):
    for values in ([number, 2], [2, number], [[1, 2], [2, number]], [1.5, 2, number], (number,)):
        assert ag.tensor(values).dtype == np.asarray(values).dtype
