"""Places and labels out of range are errors, of values and gradients, eager and compiled."""

import numpy as np
import pytest

import agnesi as ag

Z = np.random.default_rng(0).normal(size=(3, 5))
F = ag.nn.functional
#: Functions of whole numbers and of numbers, whole numbers that are right, and numbers.
FUNCTIONS = {
    "cross_entropy": (lambda i, z: ag.cross_entropy(z, i), [0, 4, 1], Z),
    "cross_entropy of rows": (
        lambda i, z: ag.cross_entropy(z, i, reduction="none"), [0, 4, 1], Z),
    "cross_entropy, weighted": (
        lambda i, z: ag.cross_entropy(z, i, weight=np.arange(5.0)), [0, 4, 1], Z),
    "cross_entropy, smoothed": (
        lambda i, z: ag.cross_entropy(z, i, label_smoothing=0.1, ignore_index=3), [0, 4, 1], Z),
    "nll_loss": (lambda i, z: ag.nll_loss(z, i), [0, 4, 1], Z),
    "getitem": (lambda i, z: z[i], [0, 2, 1], Z),
    "take": (lambda i, z: ag.take(z, i, axis=1), [0, 4, 1], Z),
    "take_along_axis": (lambda i, z: ag.take_along_axis(z, i[:, None], 1), [0, 4, 1], Z),
    "gather": (lambda i, z: ag.gather(z, 1, i[:, None]), [0, 4, 1], Z),
    "choose": (lambda i, z: ag.choose(i, [z[0, :3], z[1, :3]]), [0, 1, 1], Z),
    "index_put": (lambda i, z: ag.index_put(z, (i,), 1.0), [0, 2, 1], Z),
    "scatter": (lambda i, z: ag.scatter(ag.zeros((3, 5), dtype="float64"), 1, i[:, None], z),
                [0, 4, 1], Z),
    "embedding": (lambda i, z: F.embedding(i, z), [0, 2, 1], Z),
    "embedding_bag": (lambda i, z: F.embedding_bag(i, z, [0, 1]), [0, 2, 1], Z),
    "max_unpool": (lambda i, z: F.max_unpool(z[None, None, 0, :3], i[None, None], 3), [0, 2, 1], Z),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_checked(name):
    f, right, z = FUNCTIONS[name]

    def total(i, z):
        return f(i, z).sum()

    ways = {
        "value": f, "gradient": ag.grad(total, 1), "compiled value": ag.jit(f),
        "compiled gradient": ag.jit(ag.grad(total, 1)),
        "compiled tangent": ag.jit(lambda i, z: ag.jvp(lambda z: f(i, z), (z,), (z,))[1]),
    }
    z = ag.tensor(z)
    for way, function in ways.items():
        function(ag.tensor(right), z)
        for wrong in (100, -99):
            with pytest.raises((IndexError, ValueError), match=r"test_range_checks\.py"):
                function(ag.tensor([*right[:-1], wrong]), z)
                pytest.fail(f"{way}: nothing was said of {wrong}")


def test_shares_and_repeats_that_are_known_late():
    x, q = ag.tensor(Z[0]), ag.tensor(0.5)
    for f in (lambda q: ag.quantile(x, q), lambda q: ag.percentile(x, q * 100)):
        compiled = ag.jit(f)
        np.testing.assert_allclose(float(compiled(q)), np.median(Z[0]))
        with pytest.raises(ValueError, match="q must lie between 0 and 1"):
            compiled(q * 3)
    n = ag.tensor(2)
    repeated = ag.jit(lambda: ag.repeat(x, n))
    for count in (2, 3, 0):
        n.copy_(count)
        np.testing.assert_array_equal(repeated(), np.repeat(Z[0], count))
    n.copy_(-1)
    for f in (repeated, lambda: ag.repeat(x, n)):
        with pytest.raises(ValueError, match="must not be negative"):
            f()


@pytest.mark.parametrize(("f", "right", "wrong", "text"), [
    (lambda x: ag.ensure(x, x > 0, "it must be positive"), 1.0, -1.0, "must be positive"),
    (lambda x: ag.asarray_chkfinite(x) + 1, 1.0, np.nan, "NaN or inf"),
    (lambda x: ag.geomspace(x, 2.0, 3).sum(), 1.0, 0.0, "zero|must not be 0"),
])  # fmt: skip
def test_conditions_are_checked_by_values_and_gradients(f, right, wrong, text):
    ways = (f, ag.grad(f), ag.jit(f), ag.jit(ag.grad(f)),
            ag.jit(lambda x: ag.jvp(f, (x,), (x,))[1]))
    for way in ways:
        way(ag.tensor(right))
        with pytest.raises(ValueError, match=text):
            way(ag.tensor(wrong))


def test_indices_that_meet_in_no_place_are_not_checked():
    x, rows, none = ag.ones((1, 1)), ag.tensor([[0], [5]]), ag.zeros((0,), dtype="int64")

    def written(x, i, k):
        y = x * 1
        y[i, k] = 3.0
        return y

    for f, shape in ((lambda x, i, k: x[i, k], (2, 0)), (written, (1, 1))):
        declared = [ag.symbolic.tensor(a.dtype, (None,) * a.ndim) for a in (x, rows, none)]
        run = ag.function(declared, f(*declared))
        assert f(x, rows, none).shape == ag.jit(f)(x, rows, none).shape == shape
        assert run(x, rows, none).shape == shape
        with pytest.raises(IndexError, match="out of range"):
            run(x, rows, ag.tensor([0]))
