"""Rows about extending: T20, T42, T72, T76, C9 to C12, C36, C37, M19."""

import ctypes

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

X, Y, Z = np.random.default_rng(0).normal(size=(3, 4, 3))


# -- T20, T72: a short operation passes the kit, whose checks find planted errors -----------------
class Axpb(ag.Op):
    a: float
    b: float

    def infer(self, x):
        return x.shape, x.dtype

    def perform(self, x):
        return self.a * x + self.b

    def vjp(self, g, y, x):
        return (g * self.a,)

    def jvp(self, ts, y, x):
        return ts[0] * self.a


class Wrong(Axpb):
    def vjp(self, g, y, x):
        return (g * self.a * 2,)


class WrongForward(Axpb):
    def jvp(self, ts, y, x):
        return ts[0] * self.a * 2


class WrongShape(Axpb):
    def infer(self, x):
        return (*x.shape, 1), x.dtype


class Bare(ag.Op):
    def perform(self, x):
        return np.floor(x)


def test_t20_t72_a_short_operation_passes_the_kit():
    ag.testing.check_op(Axpb(2.0, 1.0), [[X], [X[0]], [X[:0]]])
    x = T.dmatrix("x")
    y = Axpb(2.0, 1.0)(x)
    assert y.shape == x.shape
    assert y.node.op == Axpb(2.0, 1.0) != Axpb(2.0, 3.0)
    np.testing.assert_allclose(ag.function([x], T.grad(y.sum(), x))(X), np.full(X.shape, 2.0))


@pytest.mark.parametrize("wrong", [Wrong, WrongForward, WrongShape])
def test_t72_planted_errors_are_found(wrong):
    with pytest.raises(AssertionError):
        ag.testing.check_op(wrong(2.0, 1.0), [[X]])


def test_t20_a_missing_rule_is_told_by_name():
    with pytest.raises(NotImplementedError, match="bare has no reverse-mode derivative rule"):
        ag.grad(lambda x: Bare()(x).sum())(ag.tensor(X))


# -- T42: functions in C, and other libraries ------------------------------------------------------
def test_t42_a_function_of_the_c_library_in_compiled_code():
    kind = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
    )
    move = ctypes.CDLL(None).memmove

    @kind
    def swapped(arrays, sizes):
        half = sizes[0] // 2 * 8
        move(ctypes.c_void_p(arrays[1] + half), ctypes.c_void_p(arrays[0]), ctypes.c_size_t(half))
        move(ctypes.c_void_p(arrays[1]), ctypes.c_void_p(arrays[0] + half), ctypes.c_size_t(half))
        return 0

    seen = []
    roll = ag.op(lambda x: seen.append(0) or np.roll(x, len(x) // 2), like=0, c=swapped)
    f = ag.jit(lambda x: roll(x * 2) + 1)
    np.testing.assert_array_equal(f(ag.arange(4.0, dtype="float64")).numpy(), [5, 7, 1, 3])
    assert not seen


def test_t42_syntax_errors_tell_the_text_and_the_line():
    with pytest.raises(SyntaxError, match=r"'x \+\* y' cannot be read(.|\n)*test_extending\.py"):
        ag.elementwise("x +* y")


# -- T76 -------------------------------------------------------------------------------------------
def test_t76_a_graph_as_an_operation_nested_in_a_scan():
    x, y = (T.dvector(n) for n in "xy")
    inner = ag.OpFromGraph([x, y], ag.tanh(x * y))
    outer = ag.OpFromGraph([x, y], inner(x, y) + inner(y, y))
    seq, start = T.dmatrix("seq"), T.dvector("start")

    def run(op):
        states, _ = T.scan(op, sequences=[seq], outputs_info=[start])
        cost = states[-1].sum()
        return ag.function([seq, start], [cost, *T.grad(cost, [seq, start])])(X, Y[0])

    direct = run(lambda x, y: ag.tanh(x * y) + ag.tanh(y * y))
    for a, b in zip(run(outer), direct, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    moved = ag.Rop(outer(x, y), [x, y], [y, x])
    wanted = ag.Rop(ag.tanh(x * y) + ag.tanh(y * y), [x, y], [y, x])
    given = {x: X[0], y: Y[0]}
    np.testing.assert_allclose(moved.eval(given), wanted.eval(given), rtol=1e-12)


# -- C9 to C12 -------------------------------------------------------------------------------------
class MulAdd(ag.Function):
    def forward(self, inputs):
        x, y, z = inputs
        return x * y + z,

    def backward(self, inputs, grads):
        (x, y, _), (g,) = inputs, grads
        return y * g, x * g, g


class MulAddCpu(ag.Function):
    def forward_cpu(self, inputs):
        x, y, z = inputs
        self.product = x * y
        return self.product + z,

    def backward_cpu(self, inputs, grads):
        (x, y, _), (g,) = inputs, grads
        np.testing.assert_array_equal(self.product, x * y)
        return y * g, x * g, g


@pytest.mark.parametrize("kind", [MulAdd, MulAddCpu])
def test_c9_functions_of_tuples(kind):
    f = kind()
    ag.testing.check_grads(lambda x, y, z: f(x, y, z) ** 2, [X, Y, Z], order=1, modes=("rev",))
    x, y, z = map(ag.tensor, (X, Y, Z))
    g = ag.jit(ag.grad(lambda x, y, z: (f(x, y, z) ** 2).sum(), argnums=(0, 2)))(x, y, z)
    np.testing.assert_allclose(g[0].numpy(), 2 * (X * Y + Z) * Y)
    np.testing.assert_allclose(g[1].numpy(), 2 * (X * Y + Z))
    a = T.dmatrix("a")
    np.testing.assert_allclose(ag.function([a], f(a, a, a))(X), X * X + X)


def test_c9_a_bare_array_is_told():
    class Bare(ag.Function):
        def forward(self, inputs):
            return inputs[0]

    with pytest.raises(TypeError, match=r"(?s)forward must return a tuple of arrays.*`return y,`"):
        Bare()(X)


def test_c9_without_backward_there_is_no_gradient():
    class Double(ag.Function):
        def forward(self, inputs):
            return inputs[0] * 2,

    x = ag.tensor(X, requires_grad=True)
    (Double()(x) + x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(X.shape))


def test_c10_one_function_applied_twice():
    f, x = MulAddCpu(), ag.tensor(X, requires_grad=True)
    y = f(f(x, x, x), Y, x) * 1
    for times in (1, 2):
        y.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), times * ((2 * X + 1) * Y + 1))
    assert not hasattr(f, "product")


class EltwiseParamProduct(ag.Function):
    parameter_names = ("w",)
    gradient_names = ("gw",)

    def __init__(self, shape):
        self.w = np.random.default_rng(1).normal(size=shape)
        self.gw = np.zeros(shape)

    def forward(self, inputs):
        return inputs[0] * self.w,

    def backward(self, inputs, grads):
        self.gw += inputs[0] * grads[0]
        return grads[0] * self.w,


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit])
def test_c11_functions_with_parameters(wrap):
    f = EltwiseParamProduct(X.shape)
    assert f.parameters[0] is f.w
    assert f.gradients[0] is f.gw
    step = wrap(ag.grad(lambda x: (f(x) ** 2).sum()))
    for times in (1, 2):
        g = step(ag.tensor(X))
        np.testing.assert_allclose(g.numpy(), 2 * X * f.w**2)
        np.testing.assert_allclose(f.gw, times * 2 * X**2 * f.w)
    (numerical,) = ag.testing.numerical_grad(lambda: (f.forward((X,))[0] ** 2,), [f.w], [1.0])
    np.testing.assert_allclose(f.gw / 2, numerical, rtol=1e-4, atol=1e-6)


class Parameter(ag.Function):
    parameter_names = ("w",)
    gradient_names = ("gw",)

    def __init__(self, array):
        self.w, self.gw = array, np.zeros_like(array)

    def forward(self, inputs):
        return self.w,

    def backward(self, inputs, grads):
        self.gw += grads[0]
        return ()


def test_c12_a_parameter_trains():
    p = Parameter(np.ones(X.shape))
    for _ in range(200):
        p.gw[:] = 0
        ((p() * X - Y) ** 2).sum().backward()
        p.w -= 0.1 * p.gw
    settled = np.abs(X) > 0.5
    np.testing.assert_allclose(p.w[settled], (Y / X)[settled], rtol=1e-3)


# -- C36, C37 --------------------------------------------------------------------------------------
def test_c36_elementwise_kernels():
    forward = ag.elementwise("x * y + z", name="muladd_fwd")
    backward = ag.elementwise("y * gw, x * gw, gw", parameters="x, y, gw", name="muladd_bwd")
    np.testing.assert_allclose(forward(X, Y, Z).numpy(), X * Y + Z)
    for found, wanted in zip(backward(X, Y, Z), (Y * Z, X * Z, Z), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted)
    assert len(forward.compiled.plan().steps) == 1
    assert forward.compiled.__name__ == "muladd_fwd"


def test_c37_reductions():
    squares = ag.reduction("x * x", "a + b", 0, name="squares")
    np.testing.assert_allclose(squares(X).item(), (X * X).sum())
    np.testing.assert_allclose(ag.reduction("x", "max(a, b)", -np.inf)(X).item(), X.max())
    assert squares(np.zeros((0,))).item() == 0
    assert ag.reduction("x", "a + b", 0, dtype="float32")(X).dtype == "float32"


# -- M19 -------------------------------------------------------------------------------------------
def test_m19_symbolic_inside_imperative_and_back():
    a, b = (T.dvector(n) for n in "ab")
    f = ag.function([a, b], a * b)
    np.testing.assert_array_equal(np.asarray(f([1.0, 2.0], [3.0, 4.0]) + 1.0), [4.0, 9.0])

    @ag.op(vjp=lambda g, y, x: g * y)
    def exponential(x):
        return np.exp(x)

    f = ag.function([a], [exponential(a * 2), T.grad(exponential(a * 2).sum(), a)])
    value, gradient = f(X[0])
    np.testing.assert_allclose(value, np.exp(2 * X[0]))
    np.testing.assert_allclose(gradient, 2 * np.exp(2 * X[0]))
