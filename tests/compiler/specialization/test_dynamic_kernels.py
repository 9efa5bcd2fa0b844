"""Sizes that change in every kind of kernel: convolutions, loops, products; other axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from tests.compiler.loops.bodies import kinds
from tests.compiler.specialization.sizes import agree, check, dynamic, rows

F = ag.nn.functional


# -- convolutions ---------------------------------------------------------------------------
@pytest.mark.share(16)
@pytest.mark.parametrize(("image", "filters", "options"), [
    ((3, 12, 11), (8, 3, 3, 3), {"padding": 1}),
    ((16, 9, 9), (32, 16, 3, 3), {"stride": 2, "padding": 1}),
    ((20, 7, 7), (24, 20, 1, 1), {}),
    ((8, 10, 10), (8, 1, 3, 3), {"groups": 8, "padding": 1}),
    ((8, 10, 10), (12, 4, 3, 3), {"groups": 2}),
    ((1, 20, 20), (4, 1, 5, 5), {"dilation": 2}),
    ((6, 31), (10, 6, 4), {"stride": 3}),
    ((3, 6, 7, 8), (5, 3, 3, 3, 3), {}),
])
def test_convolutions(image, filters, options):
    def function(x, w):
        def loss(x, w):
            conv = [ag.conv1d, ag.conv2d, ag.conv3d][len(image) - 2]
            y = ag.relu(conv(x, w, **options))
            return (y * y).mean(), y

        (total, y), slopes = ag.value_and_grad(loss, argnums=(0, 1), has_aux=True)(x, w)
        return total, y, *slopes

    check(function, (None, *image), filters, sizes=(6, 9, 2, 3, 17, 40), dtype="float64")


def test_convolutional_training():
    def trained() -> Any:
        nn = ag.nn
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(4 * 25, 3),
        )
        rng = np.random.default_rng(3)
        for p in model.parameters():
            p.array[...] = rng.normal(size=p.shape) * 0.3
        opt = ag.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

        def step(x, labels):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x), labels)
            loss.backward()
            opt.step()
            return loss

        return step

    eager, f = trained(), ag.jit(trained())
    for n in (8, 5, 9, 3, 20, 8):
        x, labels = rows(n, 1, 12, 12), ag.tensor(np.random.default_rng(n).integers(0, 3, n))
        np.testing.assert_allclose(f(x, labels).array, eager(x, labels).array, rtol=2e-3)
    assert dynamic(f) == 1, f.explain()


# -- loops, threads -------------------------------------------------------------------------
@pytest.mark.parametrize("reverse", [False, True])
def test_lengths_of_loops(reverse):
    def function(xs, w):
        def loss(w):
            def step(h, x):
                h = ag.tanh(h @ w + x)
                return h, h * 2

            last, rows = ag.scan(step, xs[0] * 0, xs, reverse=reverse)
            return (rows * rows).mean() + last.sum()

        return ag.value_and_grad(loss)(w)

    check(function, (None, 3, 4), (4, 4), sizes=(6, 9, 2, 3, 40, 17), dtype="float64")


def test_all_threads():
    before = ag.get_num_threads()
    ag.set_num_threads(2)
    try:
        def function(x, w):
            y = ag.tanh(x @ w)
            return y, ag.softmax(y, axis=1), x.T @ y, (x * 2 + 1).sum(axis=1)

        check(function, (None, 200), (200, 150), sizes=(700, 1500, 3, 40, 17, 900))
        check(lambda x: ag.exp(-x * x), (None,), sizes=(100_000, 400_001, 3, 40, 17, 99_999))
    finally:
        ag.set_num_threads(before)


# -- other axes -----------------------------------------------------------------------------
@pytest.mark.share(2)
@pytest.mark.parametrize("function", [
    lambda x: ag.softmax(ag.tanh(x) * 2, axis=1),
    lambda x: (x.sum(axis=1), x.mean(axis=0), x.max(axis=1)),
    lambda x: (x.T * 2, x[:, 1:] - x[:, :-1], x[:, ::-1]),
    lambda x: ag.grad(lambda x: (ag.log_softmax(x, axis=1) ** 2).mean())(x),
    lambda x: ag.concat([x, x * 2], axis=1).reshape(4, 2, -1).sum(axis=1),
    lambda x: ag.cumsum(x, axis=1) / x.shape[1],
])
def test_lengths_of_lines(function):
    f = ag.jit(function)
    for n in (5, 8, 9, 3, 17, 64, 100, 33):
        agree(f, function, rows(4, n, dtype="float64"), tolerance=1e-9)
    assert [s.signature for s in f.specialisations] == [
        "float64[4, 5]", "float64[4, n0]"], f.explain()


def test_a_hundred_lengths_in_three_versions():
    def attention(x):
        return ag.softmax(x @ x.swapaxes(1, 2), axis=-1) @ x

    f = ag.jit(attention)
    for n in np.random.default_rng(0).permutation(np.arange(1, 101)):
        agree(f, attention, np.random.default_rng(n).normal(size=(2, n, 8)))
    assert [s.signature for s in f.specialisations] == [
        "float64[2, 83, 8]", "float64[2, n0, 8]", "float64[2, 1, 8]"], f.explain()


def test_widths_of_two_layers_have_versions_of_their_own():
    f = ag.jit(lambda x, w: ag.tanh(x @ w))
    for m, n in ((784, 500), (500, 10)):
        f(rows(60, m, dtype="float32"), rows(m, n, dtype="float32"))
    assert [s.signature for s in f.specialisations] == [
        "float32[60, 784], float32[784, 500]", "float32[60, 500], float32[500, 10]"], f.explain()


def test_all_axes():
    def function(x, y):
        return ag.exp(-x * y).sum(axis=2), (x + y[0]).mean()

    f = ag.jit(function)
    for shape in [(2, 3, 4), (3, 5, 8), (4, 7, 9), (9, 6, 30), (12, 40, 3), (30, 9, 9)]:
        agree(f, function, rows(*shape), rows(*shape, seed=1))
    assert len(f.specialisations) == 3, f.explain()


@pytest.mark.parametrize("pool", [
    lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 3, 2), lambda x: F.max_pool2d(x, 3, 1),
])
def test_sizes_of_images_that_are_pooled(pool):
    def function(x):
        return pool(ag.tanh(x)) * 2

    f = ag.jit(function)
    for n in (12, 16, 15, 31, 9, 40, 8, 33):
        agree(f, function, rows(2, 3, n, n, dtype="float64"), tolerance=1e-9)
    assert len(f.specialisations) <= 3, f.explain()


def test_lengths_of_sequences_after_the_batch():
    def function(xs, w):
        def step(h, x):
            h = ag.tanh(h @ w + x)
            return h, h

        last, states = ag.scan(step, xs[:, 0] * 0, ag.permute_dims(xs, (1, 0, 2)))
        return last, ag.permute_dims(states, (1, 0, 2)).sum(axis=1)

    f = ag.jit(function)
    for n in (5, 8, 9, 3, 17, 40):
        agree(f, function, rows(3, n, 4), rows(4, 4, seed=1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_lines_with_lines(dtype):
    sizes = (5, 2, 3, 4, 6, 7, 12, 13, 15, 16, 17, 27, 31, 33, 64, 70)
    check(lambda x: ag.softmax(x @ x.T, axis=1) @ x, (None, 32), sizes=sizes, dtype=dtype)
    check(lambda x, y: x @ y.T, (None, 40), (19, 40), sizes=sizes, dtype=dtype)
    check(lambda x, y: y @ x.T, (None, 40), (19, 40), sizes=sizes, dtype=dtype)

    def two(x, y):
        return ag.tanh(x @ y.T), (x @ y.T) @ y, (y @ x.T).sum(axis=1)

    f = ag.jit(two)
    for n, m in [(4, 9), (5, 7), (6, 6), (30, 2), (3, 50), (17, 33), (64, 5)]:
        agree(f, two, rows(n, 48, dtype=dtype), rows(m, 48, dtype=dtype, seed=1))
    assert len(f.specialisations) == 2, f.explain()


_FORMS: dict[str, Any] = {
    "plain": (lambda x, y: x @ y, "mk kn"),
    "lines with lines": (lambda x, y: ag.tanh(x @ y.T), "mk nk"),
    "turned": (lambda x, y: (x.T @ y) * 2, "km kn"),
    "both turned": (lambda x, y: x.T @ y.T, "km nk"),
    "result turned": (lambda x, y: ag.exp(-abs((x @ y).T)), "mk kn"),
    "batch": (lambda x, y: ag.permute_dims(x, (1, 0, 2)) @ ag.permute_dims(y, (1, 2, 0)),
              "m3k n3k"),
    "columns apart": (lambda x, y: x @ y[:, :, 1], "mk kn2"),
    "epilogue": (lambda x, y: ag.softmax(x @ y + y.sum(axis=0), axis=1), "mk kn"),
}


@pytest.mark.share(18)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", sorted(_FORMS))
def test_products_of_which_all_sizes_change(form, dtype, optimizer):
    function, axes = _FORMS[form]
    f = ag.jit(function, optimizer=optimizer)
    sizes = [(9, 21, 13), (10, 18, 14), (12, 40, 7), (16, 16, 16), (15, 17, 8), (17, 15, 33),
             (31, 33, 2), (2, 3, 31), (32, 64, 15), (65, 2, 17), (70, 63, 120)]
    for m, n, k in sizes:
        lengths = {"m": m, "n": n, "k": k, "2": 2, "3": 3}
        args = [rows(*(lengths[a] for a in word), dtype=dtype, seed=i) * 0.3
                for i, word in enumerate(axes.split())]
        agree(f, function, *args, tolerance=1e-4 if dtype == "float32" else 1e-9)
    assert len(f.specialisations) <= 3, f.explain()
    for m, n, k in [(1, 1, 1), (1, 9, 3), (9, 1, 3), (9, 9, 1), (0, 5, 3), (5, 0, 3), (5, 3, 0)]:
        lengths.update(m=m, n=n, k=k)
        if n or form != "epilogue":
            agree(f, function, *(rows(*(lengths[a] for a in w), dtype=dtype)
                                 for w in axes.split()))


def test_scratch_of_products_is_for_so_many_rows():
    """B comes from memory in runs here, and sums wait in scratch; later calls bring more rows."""
    w = rows(1536, 1536)
    f = ag.jit(lambda x: ag.tanh(x @ w))
    for n in (9, 10, 128, 100, 33, 16, 17):
        agree(f, f.function, rows(n, 1536) * 0.05, tolerance=1e-3)
    assert len(f.specialisations) == 2, f.explain()


@pytest.mark.parametrize("batched", [False, True])
def test_attention_of_any_length_is_trained(batched):
    def step(x, w):
        def loss(w):
            q, k, v = ag.split(x @ w, 3, axis=-1)
            return ((ag.softmax(q @ k.swapaxes(-1, -2), axis=-1) @ v) ** 2).mean()

        return ag.value_and_grad(loss)(w)

    f = ag.jit(step)
    rng = np.random.default_rng(0)
    for b, t in rng.integers(2, 60, (12, 2)):
        shape = (b, t, 8) if batched else (t, 8)
        agree(f, step, rows(*shape, dtype="float64"), rows(8, 24, dtype="float64") * 0.2,
              tolerance=1e-9)
    assert len(f.specialisations) <= 3, f.explain()


def test_attention():
    heads, width = 2, 16

    def attend(x, w):
        b, t, d = x.shape
        q, k, v = (ag.permute_dims((x @ m).reshape(b, t, heads, width), (0, 2, 1, 3))
                   for m in (w[0], w[1], w[2]))
        scores = ag.softmax(q @ ag.permute_dims(k, (0, 1, 3, 2)) / 4, axis=-1)
        return ag.permute_dims(scores @ v, (0, 2, 1, 3)).reshape(b, t, d)

    def function(x, w):
        return ag.value_and_grad(lambda w: (attend(x, w) ** 2).mean())(w)

    f = ag.jit(function)
    for b, t in [(3, 5), (3, 8), (3, 9), (3, 33), (2, 17), (2, 40), (5, 16), (4, 3), (7, 64)]:
        agree(f, function, rows(b, t, 32, dtype="float64"),
              rows(3, 32, 32, dtype="float64", seed=1) * 0.2, tolerance=1e-9)
    assert dynamic(f) >= 1 and len(f.specialisations) <= 4, f.explain()


def test_kernels_are_those_of_one_size():
    """What follows products, gradients of slices and means: nothing takes a kernel of its own."""
    def step(x, w, v, labels):
        def loss(w, v):
            parts = ag.relu(x @ w + x).reshape(x.shape[0], 6, 3, 8)
            mixed = ag.tanh(parts[:, :, 0]) * parts[:, :, 1] + parts[:, :, 2]
            return ag.nn.functional.cross_entropy(mixed.reshape(-1, 8) @ v, labels.reshape(-1))

        value, slopes = ag.value_and_grad(loss, argnums=(0, 1))(w, v)
        return value, *(p - 0.1 * g for p, g in zip((w, v), slopes, strict=True))

    def args(n):
        labels = np.random.default_rng(n).integers(0, 5, (n, 6))
        return (rows(n, 6, 24, dtype="float64"), rows(24, 24, dtype="float64") * 0.3,
                rows(8, 5, dtype="float64", seed=1), ag.tensor(labels))

    f, alone = ag.jit(step), ag.jit(step)
    for n in (7, 9, 2, 30):
        agree(f, step, *args(n), tolerance=1e-9)
    alone(*args(9))
    assert dynamic(f) == 1 and sorted(kinds(f)) == sorted(kinds(alone))


# -- layers ---------------------------------------------------------------------------------
def _layers() -> dict[str, tuple[Any, tuple[int, ...]]]:
    nn = ag.nn
    return {
        "dropout": (lambda: nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5)), (5,)),
        "layer norm": (lambda: nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8)), (5,)),
        "batch norm": (lambda: nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8)), (5,)),
        "group norm": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4)), (4, 8, 8)),
        "LSTM": (lambda: nn.LSTM(5, 6), (2, 5)),
        "GRU": (lambda: nn.GRU(5, 6), (2, 5)),
        "transposed": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2), (2, 6, 6)),
    }


@pytest.mark.share(6)
@pytest.mark.parametrize("name", sorted(_layers()))
def test_layers(name):
    build, shape = _layers()[name]
    losses = []
    for jit in (False, True):
        ag.manual_seed(3)
        model, rng = build(), np.random.default_rng(1)
        for p in model.parameters():
            p.array[...] = rng.normal(size=p.shape) * 0.2
        opt = ag.optim.SGD(model.parameters(), lr=0.05)

        def step(x, model=model, opt=opt):
            opt.zero_grad()
            y = model(x)
            y = y[0] if isinstance(y, tuple) else y
            loss = (y * y).mean()
            loss.backward()
            opt.step()
            return loss

        run: Any = ag.jit(step) if jit else step
        losses.append([run(rows(n, *shape)).item() for n in (6, 9, 12, 3, 20)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-3)
    assert dynamic(run) == 1 and len(run.specialisations) == 2, run.explain()
