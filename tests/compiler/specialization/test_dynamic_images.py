"""Sizes of images and lengths of signals that change from call to call, in convolutions."""

from __future__ import annotations

import pytest

import agnesi as ag
from tests.compiler.specialization.sizes import agree, rows

F = ag.nn.functional
CONVS = [ag.conv1d, ag.conv2d, ag.conv3d]


def _filters(*shape, seed=1, dtype="float64"):
    return rows(*shape, dtype=dtype, seed=seed) * 0.2


def _images(channels, *space, batch=2, dtype="float64"):
    return rows(batch, channels, *space, dtype=dtype, seed=sum(space))


def _losses(rank, **options):
    """Results, and gradients to image, filters and bias, of a convolution with neighbours."""
    def function(x, w, b):
        def loss(x, w, b):
            y = CONVS[rank - 1](ag.tanh(x), w, b, **options)
            y = ag.maximum(y, 0.1 * y)
            return (y * y).mean(), y

        (total, y), slopes = ag.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(x, w, b)
        return total, y, *slopes

    return function


def _check(function, spaces, filters, channels, most=3, optimizer="fast_run", dtype="float64",
           batch=2):
    f = ag.jit(function, optimizer=optimizer)
    w, b = _filters(*filters, dtype=dtype), _filters(filters[0], seed=2, dtype=dtype)
    for space in spaces:
        x = _images(channels, *space, dtype=dtype, batch=batch)
        agree(f, function, x, w, b, tolerance=1e-9 if dtype == "float64" else 1e-4)
    assert len(f.specialisations) <= most, f.explain()
    return f


@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize(("channels", "filters", "options"), [
    (16, (24, 16, 3), {"padding": 1}),
    (5, (7, 5, 4), {"stride": 3}),
    (8, (3, 4, 3), {"groups": 1, "dilation": 2, "padding": (2,)}),
    (6, (8, 3, 2), {"groups": 2, "stride": 2, "padding": [(1, 2)]}),
    (20, (33, 20, 1), {}),
    (3, (1, 3, 5), {"padding": "same"}),
])
@pytest.mark.share(8)
def test_lengths_of_signals(channels, filters, options, optimizer):
    channels = filters[1] * options.get("groups", 1)
    lengths = [(n,) for n in (30, 17, 50, 31, 9, 12, 100, 64, 29)]
    _check(_losses(1, **options), lengths, filters, channels, optimizer=optimizer)


@pytest.mark.share(16)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize(("filters", "options"), [
    ((24, 16, 3, 3), {"padding": 1}),  # by squares of results
    ((16, 16, 5, 3), {"padding": (2, 0)}),
    ((16, 20, 3, 3), {"dilation": 2, "padding": 2}),
    ((8, 8, 2, 2), {"groups": 2}),
    ((9, 6, 3, 3), {"stride": 2, "padding": 1}),
    ((10, 12, 1, 1), {}),
])
@pytest.mark.share(16)
def test_sizes_of_squares(filters, options, optimizer):
    spaces = [(n, n) for n in (16, 20, 13, 33, 9, 60, 22)]
    channels = filters[1] * options.get("groups", 1)
    _check(_losses(2, **options), spaces, filters, channels, optimizer=optimizer)


@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize(("filters", "options", "spaces"), [
    ((24, 1, 5), {"padding": 2}, [(n,) for n in (30, 17, 50, 31, 9, 100)]),
    ((33, 1, 3), {"stride": 2}, [(n,) for n in (30, 17, 50, 31, 9, 100)]),
    ((20, 1, 3, 3), {"padding": 1}, [(n, n) for n in (16, 20, 13, 33, 9, 30)]),
    ((16, 1, 3, 3), {"stride": 2, "dilation": 2}, [(n, n + 2) for n in (16, 20, 13, 33, 30)]),
    ((3, 1, 5, 5), {"padding": 2}, [(n, n) for n in (16, 20, 13, 33, 9, 30)]),  # along lines
    ((1, 1, 7), {}, [(n,) for n in (30, 17, 50, 31, 9, 100)]),
])
@pytest.mark.share(16)
def test_a_filter_for_each_channel(filters, options, spaces, optimizer):
    function = _losses(len(filters) - 2, groups=filters[0], **options)
    _check(function, spaces, filters, filters[0], optimizer=optimizer)


@pytest.mark.share(6)
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_filter_for_each_channel_of_the_users_images(rank, optimizer):
    """Arguments and results have channels first; lanes run along those of copies."""
    def function(x, w, g):
        y, pull = ag.vjp(lambda x, w: CONVS[rank - 1](x, w, padding=1, groups=20), x, w)
        return y, *pull(g)

    f, w = ag.jit(function, optimizer=optimizer), _filters(20, 1, *(3,) * rank)
    for n in (12, 8, 15, 9, 14):
        x = _images(20, *(n,) * rank)
        agree(f, function, x, w, x * 0.5, tolerance=1e-9)
    assert len(f.specialisations) <= 3, f.explain()


@pytest.mark.share(2)
@pytest.mark.parametrize("filters", [(16, 16, 3, 3), (6, 5, 3, 3)])
def test_heights_and_widths(filters):
    """Once as multiples of each other, then each for itself; far wider than those before."""
    spaces = [(12, 10), (15, 21), (20, 13), (11, 70), (70, 12), (33, 9), (9, 90), (24, 24)]
    _check(_losses(2, padding=1), spaces, filters, filters[1], most=4)


@pytest.mark.share(4)
@pytest.mark.parametrize("axis", [0, 1])
def test_one_axis_alone(axis):
    spaces = [(n, 12) if axis == 0 else (12, n) for n in (9, 30, 41, 14)]
    _check(_losses(2, padding=1), spaces, (16, 16, 3, 3), 16)


@pytest.mark.share(4)
@pytest.mark.parametrize(("channels", "fixed", "dtype"), [
    (8, (), "float32"), (16, (9, 10), "float64")])
def test_sizes_of_volumes(channels, fixed, dtype):
    spaces = [(n, *(fixed or (n, n))) for n in (8, 10, 9, 14, 13)]
    filters = (channels, channels, 3, 3, 3)
    _check(_losses(3, padding=1), spaces, filters, channels, dtype=dtype)


def test_batches_and_lengths():
    function, w, b = _losses(1, padding=1), _filters(20, 16, 3), _filters(20, seed=2)
    f = ag.jit(function)
    for batch, n in ((3, 20), (5, 31), (2, 64), (7, 19), (4, 90), (12, 25)):
        agree(f, function, _images(16, n, batch=batch), w, b, tolerance=1e-9)
    assert len(f.specialisations) <= 3, f.explain()


@pytest.mark.share(4)
@pytest.mark.parametrize("last", ["channels last", "channels first"])
def test_results_in_both_orders(last):
    """Squares of sums are turned for results in the order of the user's axes."""
    def function(x, w, b):
        y = ag.conv2d(ag.conv2d(x, w, padding=1), w, b, padding=1)
        return ag.permute_dims(y, (0, 2, 3, 1)).reshape(-1) if last == "channels last" else y

    _check(function, [(n, n + 1) for n in (14, 17, 8, 32, 39, 16)], (16, 16, 3, 3), 16)


@pytest.mark.long
def test_a_network_between_pools():
    def function(x, w, b):
        def loss(w):
            y = F.max_pool2d(ag.relu(ag.conv2d(x, w, b, padding=1)), 2)
            y = F.avg_pool2d(ag.relu(ag.conv2d(y, w, b, padding=1)), 3, 2)
            return (F.max_pool2d(y, 3, 1) ** 2).sum()

        return ag.value_and_grad(loss)(w)

    f = _check(function, [(n, n) for n in (24, 31, 40, 33, 57, 28)], (16, 16, 3, 3), 16)
    assert "n0 is any size from" in f.explain()


@pytest.mark.long
def test_training_on_signals_of_many_lengths():
    """As a user of causal convolutions would write it; a hundred lengths, three versions."""
    nn = ag.nn
    model = nn.Sequential(nn.Conv1d(4, 16, 3, padding=2, dilation=2), nn.Tanh(),
                          nn.Conv1d(16, 16, 3, padding=1), nn.Tanh(), nn.Conv1d(16, 2, 1))
    opt = ag.optim.SGD(model.parameters(), lr=0.01)

    @ag.jit
    def step(x):
        opt.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        opt.step()
        return loss

    losses = [float(step(rows(3, 4, n, seed=n))) for n in range(30, 130)]
    assert losses[-1] < losses[0]
    assert len(step.specialisations) <= 3, step.explain()


def _squares(channels, sizes):
    return [_images(channels, n, n) for n in sizes]


def _few_versions(function, images, most=3):
    """Run a function of images on all of them; it and its gradient take a few versions."""
    def both(x):
        return ag.value_and_grad(lambda x: (function(x) ** 3).sum())(x), function(x)

    f = ag.jit(both)
    for x in images:
        agree(f, both, x, tolerance=1e-9)
    assert len(f.specialisations) <= most, f.explain()
    return f


def test_images_that_are_halved_and_doubled_again():
    """Levels join where sizes are multiples of 4: one version takes the multiples."""
    down, low, up = _filters(8, 3, 3, 3), _filters(12, 8, 3, 3), _filters(4, 20, 3, 3)

    def network(x):
        y = F.relu(ag.conv2d(x, down, padding=1))
        z = F.max_pool2d(F.relu(ag.conv2d(F.max_pool2d(y, 2), low, padding=1)), 2)
        z = F.interpolate(F.interpolate(z, scale_factor=2), scale_factor=2)
        return ag.conv2d(ag.concat([y, z], axis=1), up, padding=1)

    sizes = (32, 64, 48, 96, 36, 12, 60)
    f = _few_versions(network, _squares(3, sizes))
    assert "[2, 3, 4*n0, 4*n0]" in f.explain()


def test_multiples_of_which_the_first_sizes_have_more():
    """All sizes seen were multiples of 12; what is needed are even ones."""
    f = _few_versions(lambda x: x.reshape(2, -1, 2, x.shape[2] // 2).sum(2),
                      [rows(2, 3, n, dtype="float64", seed=n) for n in (24, 48, 36, 50, 70)])
    assert "2*n0" in f.explain()


@pytest.mark.share(6)
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge", "wrap"])
@pytest.mark.parametrize("widths", [((2, 1), (0, 3)), ((0, 1), (4, 0))])
def test_borders_that_continue_images(mode, widths):
    images = _squares(3, (20, 13, 31, 9, 6, 44))
    _few_versions(lambda x: ag.pad(x, ((0, 0), (0, 0), *widths), mode), images)


@pytest.mark.share(16)
@pytest.mark.parametrize("pool", [F.adaptive_avg_pool2d, F.adaptive_max_pool2d])
@pytest.mark.parametrize("size", [1, 3, (2, 5), (None, 4)])
def test_windows_that_fit(pool, size):
    _few_versions(lambda x: pool(x, size), _squares(3, (20, 13, 31, 9, 10, 44)))


def test_places_of_windows_that_fit_are_of_one_size():
    f = ag.jit(lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True))
    for x in _squares(3, (12, 7, 9)):
        got, wanted = f(x), F.adaptive_max_pool2d(x, 3, return_indices=True)
        assert all((a == b).all() for a, b in zip(got, wanted, strict=True))
