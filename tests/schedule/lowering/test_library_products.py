"""Under `fast_compile` a library evaluates matrix products, however their operands lie."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from tests.compiler.jit.runs import agree

SIZES = [(20, 30, 40), (17, 65, 33), (2, 100, 50), (64, 256, 128), (24, 700, 90), (3, 4, 5)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def _operand(rng, shape, turned, dtype):
    x = rng.normal(size=shape).astype(dtype)
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if turned else x


@pytest.mark.share(9)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("turns", [(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 1)])
def test_products_with_what_follows(sizes, turns, dtype, rng):
    m, k, n = sizes
    a = _operand(rng, (m, k), turns[0], "float64").astype(dtype, order="K")
    b = _operand(rng, (k, n), turns[1], "float64").astype(dtype, order="K")
    c = rng.normal(size=n).astype(dtype)

    def f(a, b, c):
        y = a @ b
        z = y * 2 + c
        return z.swapaxes(0, 1) if turns[2] else z, z.sum(0), y

    found = ag.jit(f, optimizer="fast_compile")(*map(ag.tensor, (a, b, c)))
    rtol = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-10)
    agree(found, f(a.copy(), b.copy(), c), rtol=rtol, atol=rtol * k * 4)


@pytest.mark.parametrize("shapes", [
    ((3, 20, 30), (3, 30, 40)), ((2, 3, 20, 30), (3, 30, 40)), ((20, 30), (4, 30, 40)),
    ((2, 1, 20, 30), (1, 3, 30, 40)), ((0, 20, 30), (30, 40)),
])
@pytest.mark.parametrize("turned", [False, True])
def test_stacks(shapes, turned, rng):
    a, b = (_operand(rng, s, turned, "float32") for s in shapes)
    f = ag.jit(lambda a, b: ag.maximum(a @ b, 0), optimizer="fast_compile")
    expected = np.maximum(a @ b, 0)
    agree([f(ag.tensor(a), ag.tensor(b))], [expected], rtol=1e-4, atol=1e-4)


def test_heads_of_attention_are_read_in_place(rng):
    """Operands and results are parts of one array, a batch axis between rows and columns."""
    x = rng.normal(size=(2, 16, 3, 4, 32)).astype("float32")

    def f(x):
        q, k, v = (x[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
        return ((q @ k.swapaxes(-1, -2)) @ v).transpose(0, 2, 1, 3).reshape(2, 16, 128)

    found = ag.jit(f, optimizer="fast_compile")(ag.tensor(x))
    np.testing.assert_allclose(np.asarray(found), f(x), rtol=1e-3, atol=1e-3)


def test_inside_of_a_loop(rng):
    w = ag.tensor(rng.normal(size=(32, 32)).astype("float32") / 8, requires_grad=True)
    x = rng.normal(size=(24, 32)).astype("float32")

    def f(x):
        last, _ = ag.scan(lambda h, _: (ag.tanh(h @ w), None), x, None, length=5)
        return ag.grad((last * last).sum(), w)

    expected, found = f(ag.tensor(x)), ag.jit(f, optimizer="fast_compile")(ag.tensor(x))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-3, atol=1e-4)


def test_sums_that_are_added(rng):
    a, b, c = (rng.normal(size=s).astype("float32") for s in ((64, 40), (64, 30), (40, 30)))

    def f(a, b, c):
        y = a.T @ b
        return c - 0.5 * y, y - c, 0.25 * c + 2 * y, -y * 2, c.T + (b.T @ a), 2 * c - c

    found = ag.jit(f, optimizer="fast_compile")(*map(ag.tensor, (a, b, c)))
    agree(found, f(a, b, c), rtol=1e-4, atol=1e-4)


def test_update_by_a_rate_in_memory(rng):
    """The rate is a tensor of another dtype; the step is scaled twice."""
    w, rate = ag.tensor(np.zeros((40, 30), "float32")), ag.tensor(np.array(0.5))
    a, b = (rng.normal(size=s).astype("float32") for s in ((64, 40), (64, 30)))

    @ag.jit(optimizer="fast_compile")
    def step(a, b):
        w[...] = w - rate.astype("float32") * ((a.T @ b) / 64)

    step(a, b)
    rate[...] = 0.25
    step(a, b)
    np.testing.assert_allclose(w.numpy(), -0.75 / 64 * (a.T @ b), rtol=1e-4, atol=1e-4)


def _squares(**settings):
    f = ag.jit(lambda a, b: a @ b, **settings)
    x = ag.tensor(np.ones((32, 32), "float32"))
    np.testing.assert_array_equal(np.asarray(f(x, x)), 32.0)
    return f


def test_where_a_library_is_called():
    small = _squares(optimizer="fast_compile")
    assert ("sgemm(" in small.ir()) == ("generated" not in ag.linalg.backend())
    assert "sgemm(" not in _squares().ir()


def test_without_a_library_code_is_generated():
    with ag.config(lapack="none"):
        assert "sgemm(" not in _squares(optimizer="fast_compile").ir()


@pytest.fixture(params=[1, 2])
def threads(request):
    """Either way a library sums up for convolutions."""
    with ag.config(threads=request.param):
        yield


#: Batch, groups, channels and filters of each, image, stride.
TAPS = [(4, 1, 16, 32, (7, 9), 1), (2, 1, 24, 64, (21, 20), 1), (3, 2, 8, 12, (5, 5), 1),
        (2, 1, 12, 5, (6, 7), 2), (1, 1, 3, 1, (8, 8), 1), (2, 1, 1, 3, (4, 4), 1),
        (5, 1, 7, 3, (13,), 1), (2, 1, 6, 4, (3, 4, 5), 1), (1, 1, 40, 30, (1, 1), 1)]


def _taps(rng, sizes, dtype):
    n, groups, c, o, image, stride = sizes
    shapes = (n, groups * c, *image), (groups * o, c, *(1,) * len(image)), (groups * o,)
    conv = {1: nn.functional.conv1d, 2: nn.functional.conv2d, 3: nn.functional.conv3d}[len(image)]
    first = (ag.tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for s in shapes)

    def f(x, w, b):
        y = ag.tanh(conv(x, w, b, stride=stride, groups=groups))
        return ag.concat([y, ag.relu(y)], axis=1), *ag.grad((y * y).sum(), [x, w, b])

    return f, tuple(first)


@pytest.mark.share(6)
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", TAPS)
def test_convolutions_of_one_tap(sizes, dtype, rng):
    f, operands = _taps(rng, sizes, dtype)
    found = ag.jit(f, optimizer="fast_compile")(*operands)
    tolerance = 1e-3 if dtype == "float32" else 1e-10
    agree(found, f(*operands), rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("threads")
def test_convolutions_of_one_tap_in_any_order_of_memory(rng):
    """Channels first as users have them, channels last, and images that are no whole array."""
    x, w = rng.normal(size=(3, 6, 5, 8)), rng.normal(size=(4, 6, 1, 1))
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    f = ag.jit(lambda x, w: nn.functional.conv2d(x, w) + 1, optimizer="fast_compile")
    expected = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]) + 1
    part = np.concatenate([x, x], axis=1)[:, 6:]
    for image in (x, last, part, x[::-1], x.repeat(2, 3)[..., ::2]):
        found = f(ag.tensor(image), ag.tensor(w)).numpy()
        want = expected[::-1] if image.strides[0] < 0 else expected
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("threads")
def test_convolutions_of_one_tap_with_batches_of_any_size(rng):
    f, (x, w, b) = _taps(rng, TAPS[1], "float64")
    small = ag.jit(f, optimizer="fast_compile")
    for n in (2, 3, 7, 1, 40):
        image = ag.tensor(rng.normal(size=(n, *x.shape[1:])), requires_grad=True)
        agree(small(image, w, b), f(image, w, b), atol=1e-10)


@pytest.mark.share(2)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("threads", [1, 2])
def test_training_with_convolutions_of_one_tap(momentum, threads, rng):
    """Gradients to filters go into updates of one and of several tensors."""
    images = ag.tensor(rng.normal(size=(4, 8, 6, 6)))

    def trained(wrap):
        ag.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(8, 96, 1), nn.Tanh(), nn.Conv2d(96, 5, 1)).to("float64")
        rule = ag.optim.SGD(net.parameters(), lr=0.01, momentum=momentum, weight_decay=0.1)

        @wrap
        def step(x):
            rule.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            rule.step()
            return loss

        for _ in range(3):
            step(images)
        return [p.numpy() for p in net.parameters()]

    with ag.config(threads=threads):
        found = trained(ag.jit(optimizer="fast_compile"))
    agree(found, trained(lambda f: f), rtol=1e-9, atol=1e-12)


def test_where_a_library_sums_for_convolutions(rng):
    f, operands = _taps(rng, TAPS[0], "float64")

    def calls(threads=1, **settings):
        with ag.config(threads=threads):
            g = ag.jit(f, **settings)
            g(*operands)
            return g.ir().count("dgemm(")

    there = "generated" not in ag.linalg.backend()
    assert calls() == 0 and (calls(optimizer="fast_compile") >= 3) == there
    assert (calls(threads=2, optimizer="fast_compile") >= 3) == there
    with ag.config(lapack="none"):
        assert calls(optimizer="fast_compile") == 0
