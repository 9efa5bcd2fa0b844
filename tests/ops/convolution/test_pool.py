"""Pooling: against definitions written out, and by its gradients, eager and compiled."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import agnesi as ag
from agnesi.nn import functional
from agnesi.ops.convolution.pool import (
    adaptive_avg_pool,
    adaptive_max_pool,
    avg_pool,
    lp_pool,
    max_pool,
    sum_pool,
)
from agnesi.testing import check_op

RANDOM = np.random.default_rng(0)


def windows(n, k, s, p, cover):
    count = (-(-(n + 2 * p - k) // s) if cover else (n + 2 * p - k) // s) + 1
    starts = [i * s - p for i in range(count) if not cover or i * s - p < n]
    return [[j for j in range(a, a + k) if 0 <= j < n] for a in starts]


@pytest.mark.parametrize(("k", "s", "p"), [(2, 2, 0), (3, 2, 1), (3, 1, 0), (2, 3, 0)])
@pytest.mark.parametrize("cover", [False, True])
def test_pooling_is_its_definition(k, s, p, cover):
    x = RANDOM.normal(size=(2, 3, 7, 6))
    rows, columns = (windows(n, k, s, p, cover) for n in (7, 6))
    cells = [[x[:, :, r][:, :, :, c] for c in columns] for r in rows]
    most = np.stack([np.stack([c.max((2, 3)) for c in row], -1) for row in cells], -2)
    mean = np.stack([np.stack([c.mean((2, 3)) for c in row], -1) for row in cells], -2)
    options = {"stride": s, "padding": p, "cover_all": cover}
    np.testing.assert_array_equal(max_pool(x, k, **options).numpy(), most)
    found = avg_pool(x, k, count_include_pad=False, **options)
    np.testing.assert_allclose(found.numpy(), mean)
    if not p and not cover:
        np.testing.assert_allclose(avg_pool(x, (k, k), stride=s).numpy(), mean)


def test_border_counts_in_means_but_what_covering_adds_does_not():
    x = ag.ones((1, 1, 4))
    np.testing.assert_allclose(
        avg_pool(x, 3, stride=2, padding=1).numpy().ravel(), [2 / 3, 1], rtol=1e-6
    )
    np.testing.assert_allclose(
        avg_pool(x, 3, stride=2, padding=1, cover_all=True).numpy().ravel(), [2 / 3, 1, 0.5],
        rtol=1e-6,
    )


@pytest.mark.parametrize("options", [{}, {"stride": 1, "padding": 1}], ids=str)
def test_gradients_and_graphs_of_pooling(options):
    x = RANDOM.permutation(2 * 5 * 6).reshape(1, 2, 5, 6).astype("float64")
    check_op(lambda x: max_pool(x, 2, **options), [[x]])
    check_op(lambda x: avg_pool(x, 2, count_include_pad=False, **options), [[x]])


def test_the_first_of_equal_elements_takes_the_gradient():
    x = ag.tensor([[[1.0, 5.0, 5.0, 2.0]]], requires_grad=True)
    max_pool(x, 4).sum().backward()
    assert x.grad.tolist() == [[[0, 1, 0, 0]]]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "bool"])
def test_pooling_of_other_types(dtype):
    x = (RANDOM.normal(size=(1, 1, 4)) * 50).astype(dtype)
    y = max_pool(x, 2)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.numpy()[0, 0], x.reshape(2, 2).max(1))


OPTIONS = [
    {}, {"stride": 1}, {"stride": 1, "padding": 1}, {"stride": 2, "padding": 1, "cover_all": True},
    {"stride": 3}, {"cover_all": True},
]


def distinct(*shape):
    return RANDOM.permutation(int(np.prod(shape))).reshape(shape).astype("float64") / 7


@pytest.mark.share(8)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kernel", [2, 3, (3, 2)], ids=str)
def test_rules_of_every_pooling(options, kernel):
    x = distinct(2, 3, 7, 6)
    pools = (
        lambda x: max_pool(x, kernel, **options), lambda x: avg_pool(x, kernel, **options),
        lambda x: sum_pool(x, kernel, **options), lambda x: lp_pool(x, 2, kernel, **options),
        lambda x: lp_pool(x, 3, kernel, **options),
    )
    for pool in pools:
        if "cover_all" not in options:
            check_op(pool, [[x + 1]])
            continue
        np.testing.assert_allclose(ag.jit(pool)(ag.tensor(x)).numpy(), pool(x).numpy())
        ag.testing.check_grads(pool, [x + 1])


@pytest.mark.parametrize(("kernel", "stride"), [(2, None), (3, 2)])
def test_covering_windows_of_sizes_that_only_the_run_knows(kernel, stride):
    options = {"stride": stride, "cover_all": True}
    pool = lambda x: max_pool(x, kernel, **options) + avg_pool(x, kernel, **options)  # noqa: E731
    x = ag.symbolic.tensor4("x", dtype="float64")
    f = ag.function([x], [pool(x), ag.symbolic.grad(pool(x).sum(), x)])
    for sizes in ((7, 6), (4, 5)):
        given = ag.tensor(distinct(1, 2, *sizes), requires_grad=True)
        wanted = pool(given)
        wanted.sum().backward()
        for found, known in zip(f(given.detach().numpy()), (wanted.detach(), given.grad),
                                strict=True):
            np.testing.assert_allclose(found, known.numpy())


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1])
def test_steps_inside_windows(stride, padding):
    options = {"stride": stride, "padding": padding, "dilation": 2}
    x = distinct(1, 2, 8, 7)
    check_op(lambda x: max_pool(x, 2, **options), [[x]])
    padded = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2), constant_values=-np.inf)
    wide = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    expected = wide[:, :, ::stride, ::stride, ::2, ::2].max((4, 5))
    np.testing.assert_array_equal(max_pool(x, 2, **options).numpy(), expected)


def test_large_windows_and_one_and_three_axes():
    x = distinct(2, 3, 50)
    check_op(lambda x: max_pool(x, 40, stride=4), [[x], [x[:, :, ::-1]]])
    check_op(lambda x: avg_pool(x, 40, stride=5, padding=3), [[x]])
    x = distinct(1, 2, 4, 5, 3)
    check_op(lambda x: max_pool(x, 2, stride=1), [[x]])
    check_op(lambda x: max_pool(x, (4, 4, 3), stride=1, padding=1), [[x]])
    check_op(lambda x: sum_pool(x, (4, 4, 3), stride=1, padding=1), [[x]])


def test_numbers_that_are_none_and_infinite_ones():
    x = np.array([[[np.nan, 1, 2, np.nan, -np.inf, -np.inf, np.inf, 3.0]]])
    pools = ag.jit(lambda x: (max_pool(x, 2), max_pool(x, 2, stride=1)))
    for found, expected in zip(pools(ag.tensor(x)), (
        [np.nan, np.nan, -np.inf, np.inf], [np.nan, 2, np.nan, np.nan, -np.inf, np.inf, np.inf],
    ), strict=True):
        np.testing.assert_array_equal(found.numpy().ravel(), expected)


def gradient(x, kernel, **options):
    x = ag.tensor(x, requires_grad=True)
    (max_pool(x, kernel, **options) * 2).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("kernel", [3, 35])
def test_compiled_ties_go_to_the_first(kernel):
    x = RANDOM.integers(0, 3, (2, 2, 70)).astype("float32")
    expected = gradient(x, kernel, stride=2)

    @ag.jit
    def compiled(x):
        return ag.grad(lambda x: (max_pool(x, kernel, stride=2) * 2).sum())(x)

    np.testing.assert_array_equal(compiled(ag.tensor(x)).numpy(), expected)
    assert expected.sum() == 2 * max_pool(x, kernel, stride=2).numpy().size


@pytest.mark.share(2)
@pytest.mark.parametrize("options", [
    {}, {"stride": 1}, {"stride": 1, "dilation": 2}, {"cover_all": True}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_border_is_no_winner_where_all_is_least(options, dtype):
    least = -np.inf if dtype == "float32" else np.iinfo(dtype).min
    x = np.full((2, 3, 7, 6), least, dtype)
    x[0, 1, 2, 3] = 5
    pooled, places = max_pool(x, 3, padding=1, **options, return_indices=True)
    expected = np.zeros(x.shape, "float32")
    at = np.arange(6).reshape(2, 3, 1, 1) * 42 + places.numpy()
    np.add.at(expected.reshape(-1), at.ravel(), 1)
    spread = ag.jit(lambda x: max_pool(x, 3, padding=1, **options, return_indices=True)[1])
    np.testing.assert_array_equal(spread(ag.tensor(x)).numpy(), places.numpy())
    np.testing.assert_array_equal(x.reshape(-1)[at], pooled.numpy())
    if dtype == "float32":
        compiled = ag.jit(ag.grad(lambda x: max_pool(x, 3, padding=1, **options).sum()))
        np.testing.assert_array_equal(compiled(ag.tensor(x)).numpy(), expected)
        np.testing.assert_array_equal(gradient(x, 3, padding=1, **options), 2 * expected)


def test_no_images_and_turned_images():
    for pool in (max_pool, avg_pool, sum_pool):
        compiled = ag.jit(lambda x, pool=pool: pool(x, 2))
        assert compiled(ag.zeros((0, 3, 4, 4))).shape == (0, 3, 2, 2)
        x = ag.tensor(distinct(5, 4, 3, 2).T)
        np.testing.assert_allclose(compiled(x).numpy(), pool(x, 2).numpy())


def test_pooling_calls_nothing_in_python():
    @ag.jit
    def step(x):
        return ag.grad(lambda x: (max_pool(x, 3, stride=2, padding=1) ** 2).sum()
                       + avg_pool(x, 2).sum() + lp_pool(x, 2, 2).sum())(x)

    x = ag.tensor(distinct(2, 3, 6, 6))
    step(x)
    assert "python" not in str(step.explain())


# -- windows that fit ---------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 2, 3, (4, 5), (None, 2), 7], ids=str)
def test_windows_that_fit(size):
    x = distinct(2, 3, 6, 5)
    wanted = size if isinstance(size, tuple) else (size, size)
    wanted = [n if o is None else o for o, n in zip(wanted, x.shape[2:], strict=True)]
    spans = [
        [slice(i * n // o, -(-(i + 1) * n // o)) for i in range(o)]
        for n, o in zip(x.shape[2:], wanted, strict=True)
    ]
    most, mean = (np.zeros((2, 3, *wanted)) for _ in range(2))
    for (i, a), (j, b) in itertools.product(enumerate(spans[0]), enumerate(spans[1])):
        most[:, :, i, j] = x[:, :, a, b].max((2, 3))
        mean[:, :, i, j] = x[:, :, a, b].mean((2, 3))
    np.testing.assert_array_equal(adaptive_max_pool(x, size).numpy(), most)
    np.testing.assert_allclose(adaptive_avg_pool(x, size).numpy(), mean)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_rules_of_windows_that_fit(size):
    known = ag.jit(lambda x: (adaptive_max_pool(x, size), adaptive_avg_pool(x, size)))
    x = distinct(2, 2, 6, 5)
    pools = (adaptive_max_pool, adaptive_avg_pool)
    for found, pool in zip(known(ag.tensor(x)), pools, strict=True):
        np.testing.assert_allclose(found.numpy(), pool(x, size).numpy())
        ag.testing.check_grads(lambda x, pool=pool: pool(x, size), [x])


def test_names_by_number_of_axes_take_single_images():
    for rank, name in itertools.product((1, 2, 3), ("max", "avg", "sum", "adaptive_max",
                                                    "adaptive_avg")):
        pool = getattr(functional, f"{name}_pool{rank}d")
        x = distinct(2, 3, *(4,) * rank)
        whole = pool(x, 2).numpy()
        np.testing.assert_array_equal(pool(x[1], 2).numpy(), whole[1])
        assert whole.shape == (2, 3, *(2,) * rank)
    np.testing.assert_allclose(functional.lp_pool1d([[3.0, 4.0]], 2, 2).numpy(), [[5]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: max_pool(ag.ones((1, 1, 5)), 2, padding=2), "smaller than the kernel"),
        (lambda: max_pool(ag.ones((1, 5)), (2, 2)), "(1, 5)"),
        (lambda: max_pool(ag.ones((1, 1, 2)), 3), "window of 3"),
        (lambda: lp_pool(ag.ones((1, 1, 4)), 0, 2), "exponent"),
        (lambda: avg_pool(ag.ones((1, 1, 4), dtype="int32"), 2), "floats"),
        (lambda: functional.max_pool2d(ag.ones((4, 4)), 2), "max_pool2d"),
    ],
)
def test_errors(call, words):
    with pytest.raises((ValueError, TypeError), match=r"test_pool\.py") as caught:
        call()
    assert words in str(caught.value)


def test_gradients_of_maxima_are_worth_compiled_code_soon(monkeypatch):
    from agnesi.compiler import eager

    compiled = []

    def made(op, types):
        compiled.append(op.name)
        return op.compute

    monkeypatch.setattr(eager, "_made", made)
    monkeypatch.setattr(eager, "_spent", {})
    x = ag.tensor(RANDOM.random((8, 16, 32, 32), "f"), requires_grad=True)
    for _ in range(40):
        y = max_pool.__wrapped__(x, 2)  # without its plan, a compiled region
        y.backward(ag.ones_like(y))  # of one operation: the pass is not compiled as a whole
    assert {"pool_taps", "tap_spread"} <= set(compiled)
    assert "max_pool" not in compiled


@pytest.mark.parametrize("size", [(5, 3), (12, 2)])
def test_the_first_of_equal_elements_takes_the_gradient_of_windows_that_fit(size):
    """Compiled code slices few windows, and repeats elements of many, as eager code does."""
    x = ag.tensor(np.random.default_rng(1).integers(0, 3, (2, 3, 13, 7)).astype("float32"))

    def loss(x):
        found = adaptive_max_pool(x, size)
        return (found * ag.arange(found.size).reshape(found.shape)).sum()

    expected = ag.grad(loss)(x).numpy()
    np.testing.assert_array_equal(ag.jit(ag.grad(loss))(x).numpy(), expected)
    wanted = np.zeros(x.shape, "float32")
    n, c = x.shape[:2]
    spans = [[(i * m // o, -(-(i + 1) * m // o)) for i in range(o)]
             for m, o in zip(x.shape[2:], size, strict=True)]
    weight = iter(range(n * c * size[0] * size[1]))
    for k, j, (a, b), (d, e) in itertools.product(range(n), range(c), *spans):
        row, column = divmod(int(x.numpy()[k, j, a:b, d:e].argmax()), e - d)
        wanted[k, j, a + row, d + column] += next(weight)
    np.testing.assert_array_equal(expected, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_windows_that_fit_pass_on_what_is_no_number(dtype):
    """With gradients and without them, compiled and eagerly; the first NaN takes the gradient."""
    rng = np.random.default_rng(2)
    image = rng.integers(-2, 3, (2, 3, 9, 7, 5)).astype(dtype)
    image[rng.random(image.shape) < 0.02] = np.nan
    image[rng.random(image.shape) < 0.1] = -np.inf
    x = ag.tensor(image)
    pool = functools.partial(adaptive_max_pool, size=(4, 3, 2))
    expected = pool(x).numpy()
    np.testing.assert_array_equal(ag.jit(ag.no_grad()(pool))(x).numpy(), expected)
    np.testing.assert_array_equal(ag.jit(pool)(x).numpy(), expected)
    step = ag.jit(ag.value_and_grad(lambda x: pool(x).astype("float32").sum()))
    values, slope = step(x)
    assert "overlay" not in str(step.plan())  # gradients go to single elements
    wanted = ag.grad(lambda x: pool(x).astype("float32").sum())(x).numpy()
    np.testing.assert_array_equal(slope.numpy(), wanted)
    np.testing.assert_array_equal(values.numpy(), expected.astype("float32").sum())
    second = ag.jit(ag.grad(lambda x: (ag.grad(lambda x: (pool(x) ** 3).sum())(x) ** 2).sum()))
    finite = ag.tensor(rng.normal(size=(1, 2, 9, 7, 5)))
    np.testing.assert_allclose(second(finite).numpy(), ag.grad(lambda x: (ag.grad(
        lambda x: (pool(x) ** 3).sum())(x) ** 2).sum())(finite).numpy())


@pytest.mark.parametrize("pool", [adaptive_avg_pool, adaptive_max_pool])
@pytest.mark.parametrize("size", [2, (None, 3)])
def test_windows_that_fit_declared_images_of_any_size(pool, size):
    x = ag.symbolic.tensor("float64", (None, 3, None, 7))
    f = ag.function([x], pool(x, size))
    for n in (7, 5, 10):
        image = np.random.default_rng(n).normal(size=(2, 3, n, 7))
        np.testing.assert_allclose(f(image), pool(image, size).array, atol=1e-12)
