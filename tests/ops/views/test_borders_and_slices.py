"""What NumPy does with borders, slices and sizes is the same here, eagerly and compiled."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.stats

import agnesi as ag

BOTH = pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])


@pytest.mark.share(4)
@BOTH
@pytest.mark.parametrize("mode", ["maximum", "mean", "median", "minimum", "linear_ramp", "empty"])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_borders_of_statistics_are_numpy_s(run, mode, dtype):
    x = (np.random.default_rng(0).normal(size=(3, 4)) * 9).astype(dtype)
    settings = [{"stat_length": None}, {"stat_length": (2, 9)}]
    if mode == "linear_ramp":
        settings = [{"end_values": 5}, {"end_values": ((1, 2), (-3, 4))}]
    for words in [{}] if mode == "empty" else settings:
        for widths in (2, ((0, 1), (3, 2))):
            found = run(functools.partial(ag.pad, pad_width=widths, mode=mode, **words))(
                ag.tensor(x)).numpy()
            expected = np.pad(x, widths, mode, **words)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            if mode != "empty":
                np.testing.assert_allclose(found, expected, 1e-12)


@BOTH
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_borders_mirrored_at_values_are_numpy_s(run, mode):
    for x in (np.array([[3.0, 8.0, 2.0], [5.0, -1.0, 0.5]]), np.array([[7], [9], [200]], "uint8")):
        for widths in (1, ((0, 5), (9, 2))):
            found = run(functools.partial(ag.pad, pad_width=widths, mode=mode, reflect_type="odd"))(
                ag.tensor(x)).numpy()
            np.testing.assert_array_equal(found, np.pad(x, widths, mode, reflect_type="odd"))
    with pytest.raises(ValueError, match="reflect_type must be 'even' or 'odd', not 'of'"):
        ag.pad(ag.ones(2), 1, mode, reflect_type="of")


@pytest.mark.share(2)
@BOTH
@pytest.mark.parametrize("axis", [None, 0, (2, 0)])
def test_weighted_quantiles_are_numpy_s(run, axis):
    rng = np.random.default_rng(1)
    x, w = np.round(rng.normal(size=(2, 3, 4)), 1), rng.integers(0, 3, (2, 3, 4)) + 0.5
    x[0, 1, 2] = np.nan
    how = {"axis": axis, "method": "inverted_cdf"}
    for q in (0.0, [0.1, 0.5, 1.0]):
        for name in ("quantile", "nanquantile"):
            function = functools.partial(getattr(ag, name), q=q, **how)
            found = run(lambda x, w, f=function: f(x, weights=w))(ag.tensor(x), ag.tensor(w))
            expected = getattr(np, name)(x, q, weights=w, **how)
            np.testing.assert_array_equal(found.numpy(), expected)
    with pytest.raises(ValueError, match="weights must be at least 0"):
        run(lambda x: ag.quantile(x, 0.5, weights=-x, method="inverted_cdf"))(ag.ones(3))
    with pytest.raises(ValueError, match="weights are for the method 'inverted_cdf', not 'linear'"):
        run(lambda x: ag.quantile(x, 0.5, weights=x))(ag.ones(3))


@BOTH
def test_borders_of_statistics_need_elements(run):
    with pytest.raises(ag.ShapeError, match="no elements"):
        run(lambda x: ag.pad(x, 1, "mean"))(ag.zeros(0))
    with pytest.raises(ValueError, match="stat_length must be at least 1"):
        run(lambda x: ag.pad(x, 1, "mean", stat_length=0))(ag.zeros(2))


@pytest.mark.share(12)
@pytest.mark.parametrize("shape", [(6, 2), (4, 1), (3, 2, 2), (1, 2), (0, 2), (2, 0)])
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_different_slices_are_the_same_in_both_modes(shape, dtype):
    x = ag.tensor(np.random.default_rng(1).integers(0, 2, shape).astype(dtype))
    for axis in range(len(shape)):
        for some in ((False,) * 3, (True,) * 3, (False, True, False)):
            names = ("return_index", "return_inverse", "return_counts")
            unique = functools.partial(
                ag.unique, axis=axis, **dict(zip(names, some, strict=True)))
            try:
                expected = unique(x)
            except ag.ShapeError:
                continue
            found = ag.jit(unique)(x)
            for a, b in zip(*[v if any(some) else (v,) for v in (found, expected)], strict=True):
                assert a.shape == b.shape and a.dtype == b.dtype and a.tolist() == b.tolist()


def test_labels_tell_the_number_of_classes_in_compiled_code():
    f = ag.jit(ag.nn.functional.one_hot)
    for labels in ([0, 2, 1], [4], []):
        x = ag.tensor(labels, dtype="int64")
        assert f(x).tolist() == ag.nn.functional.one_hot(x).tolist()
    with pytest.raises(ValueError, match="labels must go from 0"):
        f(ag.tensor([-1, 2]))


@BOTH
def test_matrices_of_negative_sizes_are_empty(run):
    n = ag.tensor(-2)
    assert run(lambda n: ag.tri(n))(n).shape == (0, 0)
    assert run(lambda n: ag.tri(3, n))(n).shape == np.tri(3, -2).shape == (3, 0)
    assert run(lambda n: ag.linalg.hilbert(n))(n).shape == (0, 0)


@BOTH
def test_reflections_of_no_samples_have_no_samples(run):
    pad = run(lambda x: ag.nn.functional.pad(x, (1, 2), "reflect"))
    assert pad(ag.zeros((0, 4))).shape == (0, 7)


@BOTH
def test_entropy_of_numbers_of_successes(run):
    n, p = ag.tensor([0, 5, 9]), ag.tensor([0.3, 0.2, 0.5], dtype="float64")
    found = run(lambda n, p: ag.distributions.Binomial(n, p).entropy())(n, p)
    np.testing.assert_allclose(found, scipy.stats.binom(n, p).entropy(), 1e-12, 1e-12)


@BOTH
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_of_equal_elements_are_taken(run, largest):
    x = ag.tensor(np.random.default_rng(2).integers(0, 3, (4, 100)).astype(np.float32))
    for k in (1, 3, 40):
        values, places = run(functools.partial(ag.topk, k=k, largest=largest))(x)
        order = np.argsort(-x.numpy() if largest else x.numpy(), -1, kind="stable")[:, :k]
        assert places.tolist() == order.tolist()
        assert values.tolist() == np.take_along_axis(x.numpy(), order, -1).tolist()


@pytest.mark.parametrize("shape", [(0, 17), (0, 3, 33), (2, 0, 16)])
def test_rolls_and_borders_of_no_rows(shape):
    x = ag.ones(shape)
    for f in (lambda x: ag.roll(x, (1, 3), (0, -1)), lambda x: ag.concat([x, ag.flip(x, -1)], -1)):
        assert ag.jit(f)(x).shape == f(x).shape
