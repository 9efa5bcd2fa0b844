"""What the two papers on Theano state, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi import symbolic as T
from agnesi.core.ir.kernels import Product
from agnesi.core.ir.node import toposort
from agnesi.core.support.policy import POLICIES

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS, COMPLEX = ["float16", "float32", "float64"], ["complex64", "complex128"]
WAYS = {"eager": lambda f: f, "jit": ag.jit}


def kernels(f: Any) -> list[Any]:
    return f.plan().layout.kernels


# -- graphs and types -----------------------------------------------------------------------
def test_t1_graphs_are_in_single_assignment_form():
    x, y = T.matrix("x"), T.matrix("y")
    product = x * y
    total = T.exp(product) + product - y.sum()
    seen, waiting = [], [total]
    while waiting:
        t = waiting.pop()
        if t.owner is not None:
            assert [o.node for o in t.owner.outputs] == [t.node]
            seen.append(t.owner.op.name)
            waiting += t.owner.inputs
    assert sorted(set(seen)) == ["add", "exp", "multiply", "subtract", "sum"]
    assert x.owner is None and y.owner is None
    with pytest.raises(AttributeError):
        total.owner = product.owner
    graph = ag.function([x, y], total).graph
    clients = {n.op.name if n.op else n.name: [c and c.op.name for c, _ in read]
               for n, read in graph.clients.items()}
    assert clients["x"] == ["multiply"] and sorted(clients["multiply"]) == ["add", "exp"]
    assert clients["subtract"] == [None]
    assert ag.clone(product, {x: product}).owner.inputs[0] is not x  # no cycle: a new graph
    assert ag.function([x, y], product, givens={x: product})([[2.0]], [[3.0]]).tolist() == [[18]]


@pytest.mark.share(6)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *COMPLEX])
def test_t4_every_dtype_as_in_numpy(dtype, way):
    run = WAYS[way]
    x = np.array([[1, 2, 250], [4, 100, 6]]).astype(dtype)
    y = np.array([[3, 1, 20], [2, 9, 4]]).astype(dtype)
    a, b = ag.tensor(x), ag.tensor(y)
    tolerance = {"float16": 2e-3, "float32": 1e-6, "complex64": 1e-6}.get(dtype, 1e-13)

    def same(f: Any, expected: Any) -> None:
        found = run(f)(a, b).numpy()
        assert found.dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance)

    with np.errstate(all="ignore"):
        same(lambda a, b: a + b, x + y)
        same(lambda a, b: a * b, x * y)
        whole = dtype in INTEGERS  # the quotient of integers is the default float
        same(lambda a, b: a / b, (x / y).astype("float32") if whole else x / y)
        same(lambda a, b: a.sum(), x.sum(dtype={"u": "u8", "i": "i8"}.get(x.dtype.kind)))
        mean = x.astype("float64" if x.dtype.kind != "c" else dtype).mean()
        same(lambda a, b: ag.mean(a), mean.astype("float32" if whole else dtype))
        same(lambda a, b: ag.dot(a, b.T), x @ y.T)
        same(lambda a, b: a.astype("float64" if dtype not in COMPLEX else "complex128"),
             x.astype("float64" if dtype not in COMPLEX else "complex128"))
        same(lambda a, b: a == b, x == y)
        if dtype not in COMPLEX:
            same(lambda a, b: a < b, x < y)


def test_t4_mixed_dtypes():
    def of(a: str, b: str) -> str:
        return (ag.zeros(1, a) + ag.zeros(1, b)).dtype.name

    for a in INTEGERS:
        for b in INTEGERS:
            if {a, b} != {"uint64", "int64"} and "uint64" not in (a, b):
                assert of(a, b) == np.result_type(a, b).name
        for b in (*FLOATS, *COMPLEX):
            assert of(a, b) == of(b, a) == b
    assert of("float16", "float32") == "float32" and of("float64", "complex64") == "complex128"
    assert (ag.zeros(1, "float16") * 2.5).dtype == ag.float16
    assert (ag.zeros(1, "int8") * 2).dtype == ag.int8


@pytest.mark.parametrize("way", WAYS)
def test_t6_broadcasting_and_its_gradient(way):
    run = WAYS[way]
    matrix, row, number = np.arange(6.0).reshape(2, 3), np.array([[1.0, 2, 3]]), np.array(2.0)
    for small in (row, number, row[0], matrix[:, :1]):
        def f(a: Any, b: Any) -> Any:
            return a * b + b

        t, s = ag.tensor(matrix), ag.tensor(small)
        np.testing.assert_allclose(run(f)(t, s).numpy(), matrix * small + small)
        ag.testing.check_grads(f, [matrix, small], order=1)
        g = run(ag.grad(lambda b, a: f(a, b).sum()))(s, t)
        assert g.shape == small.shape


def test_t6_sizes_of_one_in_graphs():
    x, r, m = T.matrix("x"), T.row("r"), T.matrix("m")
    values = np.arange(6.0).reshape(2, 3)
    f = ag.function([x, r], [x + r, T.grad((x * r).sum(), r)])
    total, slope = f(values, values[:1])
    np.testing.assert_array_equal(total, values + values[:1])
    np.testing.assert_array_equal(slope, values.sum(0, keepdims=True))
    unflagged = ag.function([x, m], [x * m, T.grad((x * m).sum(), m)])
    product, slope = unflagged(values, values[:1])
    np.testing.assert_array_equal(product, values * values[:1])
    np.testing.assert_array_equal(slope, values.sum(0, keepdims=True))
    with pytest.raises(ag.ShapeError, match="r has shape"):
        f(values, values)


def test_t7_views_alias():
    for n in (1000, 100_000_000):
        x = np.lib.stride_tricks.as_strided(np.zeros(1), (n, 2), (0, 0))
        t = ag.from_numpy(x)
        assert t.T[::2].shape == (1, n) and np.shares_memory(t.T[::2].array, x)
    x = np.arange(24.0).reshape(2, 3, 4)
    t = ag.from_numpy(x)
    for found, expected in [
        (t.T, x.T), (t.T[::2], x.T[::2]), (t.reshape((6, 4)), x.reshape(6, 4)),
        (t[:, ::-1, 1:], x[:, ::-1, 1:]), (t[0].flatten(), x[0].reshape(-1)),
    ]:
        assert found.array.ctypes.data == expected.ctypes.data
        assert found.array.strides == expected.strides and found.shape == expected.shape


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "//": lambda a, b: a // b, "%": lambda a, b: a % b, "**": lambda a, b: a**b,
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
}


@pytest.mark.share(18)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
def test_t8_operators(sign, dtype, way):
    f = OPERATORS[sign]
    kind = np.dtype(dtype).kind
    if kind == "f" and sign in "&|^":
        with pytest.raises(ag.DTypeError, match="bitwise"):
            f(ag.ones(2, dtype), ag.ones(2, dtype))
        return
    first = [7, 0, 5, 1, 3] if kind == "u" else [-7, 0, 5, -1, 3]
    x, y = np.array(first).astype(dtype), np.array([2, 0, 0, 3, 3]).astype(dtype)
    a, b = ag.tensor(x), ag.tensor(y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(WAYS[way](f)(a, b).numpy(), f(x, y))
        np.testing.assert_array_equal(WAYS[way](lambda a: f(3, a))(b).numpy(), f(3, y))
        np.testing.assert_array_equal(WAYS[way](lambda a: f(a, 3))(a).numpy(), f(x, 3))


def test_t8_variables_are_keys():
    a, b = ag.shared(1.0), T.scalar("b")
    assert {a: 1, b: 2}[b] == 2 and a in {a: 1} and b not in {a: 1}


def test_t9_allocation():
    x = T.matrix("x")
    f = ag.function([x], [
        T.alloc(2.0, x.shape[0], 3), T.ones_like(x), T.zeros_like(x),
        T.identity_like(x), T.eye(x.shape[0]), T.grad((T.alloc(x.sum(), 4, 2) * 3).sum(), x),
    ])
    alloc, ones, zeros, identity, eye, slope = f(np.ones((2, 5)))
    assert alloc.tolist() == [[2] * 3] * 2
    assert ones.tolist() == [[1] * 5] * 2 and not zeros.any() and zeros.shape == (2, 5)
    assert identity.tolist() == np.eye(2, 5).tolist() and eye.tolist() == [[1, 0], [0, 1]]
    assert slope.tolist() == [[24] * 5] * 2


def test_t10_slices_and_their_replacement():
    x, i = T.matrix("x"), T.lvector("i")
    values = np.arange(20.0).reshape(4, 5)
    n = x.shape[0]
    f = ag.function([x], [x[1 : n - 1, ::-2], x[-3:], x[n // 2]])
    for found, expected in zip(f(values), [values[1:3, ::-2], values[-3:], values[2]], strict=True):
        np.testing.assert_array_equal(found, expected)
    kept = values.copy()
    g = ag.function([x, i], [T.set_subtensor(x[1:, ::2], 7.0), T.inc_subtensor(x[i], 1.0),
                             T.grad((x[i] ** 2).sum(), x), x[i, 0]])
    replaced, raised, slope, picked = g(values, [0, 0, 2])
    expected = values.copy()
    expected[1:, ::2] = 7
    np.testing.assert_array_equal(replaced, expected)
    expected = values.copy()
    np.add.at(expected, [0, 0, 2], 1.0)
    np.testing.assert_array_equal(raised, expected)
    times = np.array([2, 0, 1, 0])[:, None]
    np.testing.assert_array_equal(slope, 2 * values * times)
    np.testing.assert_array_equal(picked, values[[0, 0, 2], 0])
    np.testing.assert_array_equal(values, kept)
    t = ag.tensor(values)
    np.testing.assert_array_equal(t[t > 3].numpy(), values[values > 3])
    for key in (4, [0, -5]):
        with pytest.raises(IndexError, match="getitem"):
            t[key]


def test_t18_gradients_of_gradients():
    x = T.vector("x")
    cost = (T.exp(x) * x[::-1]).sum()
    first = T.grad(cost, x)
    second = T.grad((first * first).sum(), x)
    f = ag.function([x], [first, second])
    at, e = np.array([0.3, -0.5, 1.1]), 1e-6 * np.eye(3)
    expected = [
        ((f(at + d)[0] ** 2).sum() - (f(at - d)[0] ** 2).sum()) / 2e-6 for d in e
    ]
    np.testing.assert_allclose(f(at)[1], expected, rtol=1e-6)
    with pytest.raises(ag.GradientError, match="scalar"):
        T.grad(first, x)
    with pytest.raises(ag.GradientError):
        T.grad(cost, T.vector("other"))


# -- the compiler -----------------------------------------------------------------------------
def test_t28_stages_and_switches():
    x = T.vector("x")
    y = T.log(1 + T.exp(x)) * 1

    def dump(**switches: Any) -> str:
        f = ag.function([x], y, **switches)
        f(np.ones(3))
        return f"{f.graph}\n{f.rewrites()}"

    everything = dump()
    assert "softplus" in everything and "log_one_plus_exp x1" in everything
    assert [line.split(":")[0] for line in everything.splitlines() if " -> " in line] == [
        "stabilize", "specialize"
    ]  # the canonical rules run in both
    assert "log1p_of_exp x1" in dump(exclude=["log_one_plus_exp"])  # the next rule serves
    for exclude, left in [(["softplus"], "log1p("), (["stabilize"], "log(")]:
        assert left in dump(exclude=exclude) and "softplus(" not in dump(exclude=exclude)


def test_t29_presets():
    x = T.vector("x")
    y = T.log(1 + T.exp(x)) + 0 + T.exp(x) * 1
    sizes, values = [], []
    for preset in ("None", "fast_compile", "fast_run"):
        f = ag.function([x], y, optimizer=preset)
        values.append(f(np.array([0.5, -1.0])))
        sizes.append(sum(n.op is not None for n in f.graph.nodes))
    np.testing.assert_allclose(values[1:], [values[0]] * 2, rtol=1e-14)
    assert sizes[0] > sizes[1] > sizes[2]
    quick, none = (vars(POLICIES[name]) for name in ("fast_compile", "None"))
    assert {name for name in quick if quick[name] != none[name]} == {
        "optimizer", "stages", "vector_loops", "every_product"}


def test_t29_without_optimization_code_has_one_lane():
    """Masked and vector code takes longer to write and to compile than a plain loop."""
    x = T.vector("x")
    f, g = (ag.function([x], T.tanh(x) * x + 1, optimizer=p) for p in ("None", "fast_compile"))
    values = np.linspace(-2, 2, 101)
    np.testing.assert_allclose(f(values), g(values), rtol=1e-14)
    assert "= fmul double" in f.ir() and "= fmul <" not in f.ir()
    assert ("= fmul <" in g.ir()) is (ag.config.target != "scalar")


def _instructions(f):
    return sum(line.startswith("  ") for line in f.ir().splitlines())


@pytest.mark.native_plans
def test_t29_without_optimization_no_tiles_of_products_are_written():
    """The programs are deep nets of small layers, a loop of products, and their gradients."""
    x, w = T.matrix("x"), ag.shared(np.linspace(-1, 1, 36).reshape(6, 6))
    h = x
    for layer in range(8):
        h = T.tanh(h @ w + layer / 8)
    states, _ = T.scan(lambda h: ag.sigmoid(h @ w), outputs_info=x, n_steps=5)
    column = T.matrix("column", shape=(6, 1))
    values, one = np.linspace(-1, 1, 24).reshape(4, 6), np.ones((6, 1))
    for y in (h.sum(), states[-1].sum() + (x * x).sum(), (x @ w @ column).sum()):
        outputs = [y, T.grad(y, w)]
        f, g = (ag.function([x, column], outputs, optimizer=p, on_unused_input="ignore")
                for p in ("None", "fast_compile"))
        for a, b in zip(f(values, one), g(values, one), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        assert _instructions(f) < 0.9 * _instructions(g), (_instructions(f), _instructions(g))


@pytest.mark.parametrize("preset", ["None", "fast_compile", "fast_run"])
def test_t29_checks_hold_unless_dropped_on_request(preset):
    x = T.vector("x")
    y = T.sqrt(ag.ensure(x, x >= 0, "a negative number")) * 2
    slope = T.grad(y.sum(), x)
    f = ag.function([x], [y, slope], optimizer=preset)
    assert f([4.0])[0].tolist() == [4] and f([4.0])[1].tolist() == [0.5]
    with pytest.raises(ValueError, match=r"ensure\(.*a negative number\n.*test_theano.py"):
        f([4.0, -1.0])
    if preset != "None":
        unsafe = ag.function([x], y, optimizer=preset, include=["unsafe"])
        assert np.isnan(unsafe([4.0, -1.0])).tolist() == [False, True]
        assert len(kernels(unsafe)) == 1
    assert ag.jit(lambda v: ag.ensure(v, v > 0) + 1)(ag.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"ensure\(.*not hold"):
        ag.ensure(ag.ones(2), ag.tensor([True, False]))


@pytest.mark.native_plans
def test_t35_scaled_products_are_one_call_in_place():
    w = ag.shared(np.arange(20.0).reshape(4, 5))
    x, d = T.matrix("x"), T.matrix("d")
    f = ag.function([x, d], updates={w: w - 0.1 * T.dot(x.T, d)})
    a, b, before = np.ones((3, 4)), np.arange(15.0).reshape(3, 5), w.get_value()
    f(a, b)
    np.testing.assert_allclose(w.get_value(), before - 0.1 * a.T @ b)
    (kernel,) = kernels(f)
    assert isinstance(kernel, Product) and f.plan().arena_bytes == 0
    assert "takes over the memory" in str(f.plan())


def test_t36_movement_takes_no_kernel_and_no_copy():
    x = T.matrix("x")
    f = ag.function([x], T.exp(x.reshape((3, 2, 2)).transpose(2, 0, 1)[::-1, 1:]) * 2)
    values = np.arange(12.0).reshape(6, 2)
    expected = np.exp(values.reshape(3, 2, 2).transpose(2, 0, 1)[::-1, 1:]) * 2
    np.testing.assert_allclose(f(values), expected)
    assert len(kernels(f)) == 1 and f.plan().arena_bytes == 0


def test_t37_elementwise_programs_are_one_loop():
    a, b, c = T.matrix("a"), T.fvector("b"), T.lscalar("c")
    y = T.tanh(a * b) + c
    f = ag.function([a, b, c], [y, y > 0, (y * 2).astype("float32")])
    x, r = np.arange(12.0).reshape(3, 4) / 9, np.arange(4, dtype="float32")
    first, second, third = f(x, r, 2)
    np.testing.assert_allclose(first, np.tanh(x * r) + 2)
    np.testing.assert_array_equal(second, first > 0)
    np.testing.assert_allclose(third, first * 2, rtol=1e-6)
    assert len(kernels(f)) == 1 and f.plan().arena_bytes == 0 and len(kernels(f)[0].stores()) == 3
    u, v = T.vector("u"), T.vector("v")
    g = ag.function([u, v], [u + v, T.exp(u) * 2, T.sqrt(abs(v)) - u])  # which share no value
    for n in (3, 10_000):
        left, right = np.linspace(-1, 1, n), np.linspace(2, 3, n)
        for found, wanted in zip(g(left, right), (
                left + right, np.exp(left) * 2, np.sqrt(right) - left), strict=True):
            np.testing.assert_allclose(found, wanted)
    assert len(kernels(g)) == 1


# -- errors and time ----------------------------------------------------------------------------
def test_t74_every_node_of_a_compiled_net_tells_its_line():
    net = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    optimizer = ag.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    @ag.jit
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = ag.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step(ag.rand(4, 6), ag.tensor([0, 1, 2, 0]))
    without = [n for n in step.graph.nodes if n.op is not None and n.where is None]
    assert without == []
    assert f"{__file__}" in step.graph.outputs[0].where[0].co_filename


def test_t74_a_shape_error_after_fusion_tells_the_line():
    x, y = T.vector("x"), T.vector("y")
    z = T.exp(x) * 2 + y; line = 0  # noqa: E702
    line = test_t74_a_shape_error_after_fusion_tells_the_line.__code__.co_firstlineno + 2
    f = ag.function([x, y], T.tanh(z * z))
    f([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ag.ShapeError, match=f"{__file__}:{line}"):
        f([1.0, 2.0], [1.0, 2.0, 3.0])


def test_h5_thousands_of_nodes_compile_in_seconds():
    x = y = T.vector("x")
    for _ in range(1000):
        y = T.tanh(y * 1.01) + x
    assert len(toposort([y.node])) >= 2000
    f = ag.function([x], y)
    f(np.ones(3))
    assert sum(f.specialisations[0].seconds.values()) < 20
