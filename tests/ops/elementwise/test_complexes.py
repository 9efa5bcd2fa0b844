"""Complex numbers: compiled code against NumPy and mpmath, views of parts, gradients."""

import mpmath
import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.config import config as settings
from agnesi.ops.base.elementwise import TABLE, call

_EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-300, -1e300, 712.0, 1 + 1e-10, 0.6, 0.8, 5e-324]
_STRANGE = [*_EDGES, np.inf, -np.inf, np.nan]
_MPMATH = {
    name: getattr(mpmath, name)
    for name in "exp log sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh".split()
}


def grid(values):
    return np.array([complex(a, b) for a in values for b in values])


def test_logarithms_near_one_are_accurate_without_fused_products():
    z = np.array([complex(1e-10, 1 + 1e-10), 0.6 + 0.8j, 1 + 1e-9j])
    with settings(target="scalar"):
        found = ag.jit(ag.log)(ag.asarray(z)).numpy()
    with mpmath.workprec(200):
        exact = [mpmath.log(mpmath.mpc(at)).real for at in z]
    for a, b in zip(found, exact, strict=True):
        assert abs(mpmath.mpf(float(a.real)) - b) <= 2.0**-50 * abs(b)


def numbers(*shape, dtype="complex128", seed=0):
    random = np.random.default_rng(seed)
    return (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)


@pytest.mark.native_plans
def test_arithmetic_at_strange_numbers_is_that_of_numpy():
    """Where parts overflow, NumPy's and the native target's fused products are no NaN."""
    z = grid([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e200])
    x, y = np.repeat(z, len(z)), np.tile(z, len(z))
    for name in ("add", "subtract", "multiply", "divide", "equal", "not_equal", "logical_and"):
        run = ag.jit(lambda a, b, row=TABLE[name]: call(row, (a, b)))
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, y)
        found = run(ag.asarray(x), ag.asarray(y)).numpy()
        for part in ("real", "imag"):
            np.testing.assert_allclose(
                getattr(found, part), getattr(expected, part), 1e-13, 1e-13, err_msg=name
            )


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sinh", "cosh", "tanh", "atanh", "acos"])
def test_functions_of_strange_numbers_are_those_of_numpy(name):
    z = grid(_STRANGE)
    z = z[~np.isfinite(z)]
    row = TABLE[name]
    found = ag.jit(lambda x: call(row, (x,)))(ag.asarray(z)).numpy()
    expected = call(row, (ag.asarray(z),)).numpy()
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(expected, part)
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        known = ~np.isnan(b)
        np.testing.assert_allclose(abs(a[known]), abs(b[known]), 1e-14)


@pytest.mark.share(8)
@pytest.mark.parametrize("name", _MPMATH)
def test_both_parts_are_accurate(name):
    z = grid(_EDGES)
    row = TABLE[name]
    found = ag.jit(lambda x: call(row, (x,)))(ag.asarray(z)).numpy()
    expected = call(row, (ag.asarray(z),)).numpy()
    with mpmath.workprec(2200):
        for at, value, other in zip(z, found, expected, strict=True):
            for part in ("real", "imag"):
                a, b = getattr(value, part), getattr(other, part)
                if a == b or (np.isnan(a) and np.isnan(b)):
                    continue
                # Signed zeros choose sides of branch cuts; mpmath has none.
                exact = abs(getattr(_MPMATH[name](mpmath.mpc(at)), part))
                error = abs(mpmath.mpf(float(abs(a))) - exact)
                assert error <= 8 * 2.0**-53 * exact + 2.0**-1072, (name, at, value, other)


def test_nothing_elementwise_is_called_back():
    for name, row in TABLE.items():
        if "c" not in row.kinds or name == "where":
            continue
        run = ag.jit(lambda *xs, row=row: call(row, xs))
        run(*[ag.asarray(numbers(5, seed=i)) for i in range(row.arity)])
        assert "python" not in str(run.plan()), name


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("size", [0, 1, 3, 16, 37, 1000])
def test_fused_programs_of_all_sizes(dtype, size):
    def f(a, b):
        return (
            a * b + 2 * a, abs(a), a.conj()[::-1] * b, (a * b).sum(), (a == b).any(),
            ag.where(abs(a) > abs(b), a, b), ag.exp(a).mean() if size else a, a[::2] - 1j,
        )

    x, y = (ag.asarray(numbers(size, dtype=dtype, seed=i)) for i in (0, 1))
    for found, expected in zip(ag.jit(f)(x, y), f(x, y), strict=True):
        assert found.dtype == expected.dtype
        tolerance = 2e-5 if dtype == "complex64" else 1e-12
        np.testing.assert_allclose(found.numpy(), expected.numpy(), tolerance, tolerance)


def test_constant_powers():
    def f(z):
        return z**2, z**3, z**-1, z**0.5, z**-0.5, z**0, z**1j, z ** (2 + 0j), 2**z

    z = ag.asarray(numbers(9))
    for found, expected in zip(ag.jit(f)(z), f(z), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-12)


def test_sums_searches_and_truth_are_native():
    def f(z):
        return (
            z.sum(0), z.mean(), z.var(1), z.std(), z.any(0), z.all(1), z.cumsum(1), ag.norm(z),
            ag.vecdot(z, z), ag.einsum("ij,kj->ik", z, z), z[np.array([2, 0])], ag.tril(z),
            z.masked_fill(abs(z) > 1, 2j), ag.sign(z), ag.angle(z), ag.concat([z, z.conj()]),
        )

    z = ag.asarray(numbers(4, 6))
    run = ag.jit(f)
    for found, expected in zip(run(z), f(z), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-12, 1e-12)
    assert "python" not in str(run.plan())


def test_loops_carry_complex_numbers():
    z = ag.asarray(numbers(5)) * 0.3

    def f(z):
        total = ag.fori_loop(0, 5, lambda i, s: s * z + 1, z)
        last, rows = ag.scan(lambda c, x: (c * x, c + x), z[0], z)
        grown = ag.while_loop(lambda s: abs(s).max() < 10, lambda s: s * (1 + 1j), z)
        return total, last, rows, grown

    for found, expected in zip(ag.jit(f)(z), f(z), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-12)
    ag.testing.check_grads(lambda z: f(z)[:3], [z.numpy()], order=1)
    rows = ag.vmap(lambda t: (t * t.conj()).real.sum() + ag.view_as_real(t).sum())
    values = ag.asarray(numbers(3, 4))
    np.testing.assert_allclose(
        ag.jit(rows)(values).numpy(), [float(rows(values)[i]) for i in range(3)], 1e-12
    )


@pytest.mark.share(2)
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((2, 3, 4), (4, 2)), ((33, 47), (47, 29)),
                                    ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((4,), (4, 5))])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_products(shapes, dtype):
    a, b = (numbers(*s, dtype=dtype, seed=i) for i, s in enumerate(shapes))
    run = ag.jit(lambda x, y: ag.matmul(x, y) * 2 + 1)
    tolerance = 2e-4 if dtype == "complex64" else 1e-12
    found = run(ag.asarray(a), ag.asarray(b)).numpy()
    np.testing.assert_allclose(found, a @ b * 2 + 1, tolerance, tolerance)
    assert "python" not in str(run.plan())


def test_parts_are_views():
    values = numbers(3, 4)
    z, w = ag.asarray(values.copy()), values.copy()
    z.real[1] = 5.0
    z.imag[:, 0] += 2
    ag.view_as_real(z)[..., 1] *= 3
    w.real[1] = 5.0
    w.imag[:, 0] += 2
    w.imag *= 3
    np.testing.assert_array_equal(z.numpy(), w)


def _program(z):
    z = z * 1
    z.real[1] = 5.0
    z.imag[:, 0] += z.real[:, 1]
    ag.view_as_real(z)[..., 1] *= 2
    return z, ag.view_as_complex(ag.view_as_real(z) * 2), ag.complex(z.real, abs(z))


def test_writing_parts_compiles_and_differentiates():
    values = numbers(3, 4)
    compiled = ag.jit(_program)(ag.asarray(values))
    for found, expected in zip(compiled, _program(ag.asarray(values)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-13)
    ag.testing.check_grads(_program, [values])


def test_rules_of_making_and_taking_apart():
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4))
    ag.testing.check_op(ag.complex, [(x, y), (x, y[0]), (x[:0], y[:0])])
    ag.testing.check_op(ag.polar, [(x, y)])
    ag.testing.check_op(ag.view_as_real, [(x + 1j * y,), (np.array(1 + 2j),)])
    ag.testing.check_op(ag.view_as_complex, [(x[:, :2],)])
    ag.testing.check_op(lambda z: z.real * z.imag, [(x + 1j * y,)])


def test_gradients_point_uphill():
    """The gradient of a real loss is dL/dre + i dL/dim, eager and compiled."""
    values, weights = numbers(5), numbers(5, seed=1)

    def loss(z):
        return (ag.exp(z) * ag.asarray(weights)).abs().square().sum()

    expected = np.zeros(5, "complex128")
    for i in range(5):
        for direction in (1, 1j):
            step = np.zeros(5, "complex128")
            step[i] = 1e-6 * direction
            up, down = (float(loss(ag.asarray(values + s))) for s in (step, -step))
            expected[i] += direction * (up - down) / 2e-6
    for gradient in (ag.grad(loss), ag.jit(ag.grad(loss))):
        np.testing.assert_allclose(gradient(ag.asarray(values)).numpy(), expected, 1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_optimizers_descend_with_complex_parameters(name):
    target = ag.asarray(numbers(4))
    z = ag.asarray(np.zeros(4, "complex128"))
    z.requires_grad = True
    optimizer = getattr(ag.optim, name)([z], lr=0.05)
    for _ in range(400):
        optimizer.zero_grad()
        (z - target).abs().square().sum().backward()
        optimizer.step()
    np.testing.assert_allclose(z.detach().numpy(), target.numpy(), atol=0.1)


def test_parts_that_are_no_parts():
    with pytest.raises(TypeError, match="real"):
        ag.complex(ag.tensor([1j]), 1.0)
    with pytest.raises(TypeError, match="not complex"):
        ag.view_as_real(ag.tensor([1.0]))
    with pytest.raises(ValueError, match="size 2"):
        ag.view_as_complex(ag.ones((2, 3)))


def test_a_compiled_step_with_complex_parameters():
    z = ag.asarray(numbers(8))
    z.requires_grad = True
    optimizer = ag.optim.Adam([z], lr=0.05)

    @ag.jit
    def step():
        optimizer.zero_grad()
        loss = (z - 1j).abs().square().sum()
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step()) for _ in range(300)]
    assert losses[-1] < 1e-2 * losses[0]


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_small_numbers_keep_their_digits(name):
    z = numbers(200) * 10.0 ** np.random.default_rng(3).integers(-12, 0, 200)
    with mpmath.workprec(200):
        exact = [
            mpmath.log(1 + mpmath.mpc(v)) if name == "log1p" else mpmath.exp(mpmath.mpc(v)) - 1
            for v in z
        ]
        expected = np.array([complex(v) for v in exact])
    for run in (getattr(ag, name), ag.jit(getattr(ag, name))):
        found = run(ag.asarray(z)).numpy()
        assert (abs(found - expected) <= 4e-16 * abs(expected)).all()
        np.testing.assert_allclose(found.imag, expected.imag, 1e-14)


def _assigned(x, key, value):
    y = x * 1
    y[key] = value
    return y


@pytest.mark.parametrize("wrap", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("function", [
    lambda x: ag.full((2,), 1 + 2j, dtype="float64"), lambda x: ag.full((2,), 1 + 2j, dtype=int),
    lambda x: ag.full((2,), np.complex64(1j), dtype="float32"), lambda x: ag.full_like(x, 1j),
    lambda x: x.new_full((2,), 1j), lambda x: ag.tensor([1j], dtype="float32"),
    lambda x: ag.asarray(1j, dtype="float32"), lambda x: ag.pad(x, 1, constant_values=1j),
    lambda x: _assigned(x, 0, 1j), lambda x: _assigned(x, x > 0, 1j),
    lambda x: ag.geomspace(1, 1j, 3, dtype="float64"), lambda x: ag.put(x * 1, [0], [1j]),
    lambda x: ag.random.normal(1j, 1.0, (2,)), lambda x: ag.random.uniform(0, 1j, (2,)),
    lambda x: x.masked_fill(x > 0, 1j), lambda x: ag.clip(x, 0, 1j),
])
def test_complex_numbers_do_not_go_into_real_tensors(wrap, function):
    with pytest.raises(TypeError, match=r"1j|complex"):
        wrap(function)(ag.tensor([0.0, 2.0, 3.0]))


@pytest.mark.parametrize("imaginary", [ag.imag, lambda x: x.imag])
def test_imaginary_parts_of_real_numbers_refuse_writes_in_both_modes(imaginary):
    def written(x):
        y = imaginary(x)
        y += 1
        return y

    x = ag.tensor([1.0, 2.0])
    for run in (written, ag.jit(written)):
        with pytest.raises(ValueError, match=r"read-only memory.* in place"):
            run(x)
    assert not ag.jit(lambda x: imaginary(x) * x)(x).any()
