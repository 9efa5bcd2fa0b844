"""Functions of many operations are compiled where eager programs call them often."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.compiler import regions

X = np.random.default_rng(0).standard_normal((7, 30)).astype("float32")
X[3, 4] = np.nan
CALLS = {
    "median": (ag.median, np.median, ()),
    "nanmedian": (ag.nanmedian, np.nanmedian, ()),
    "quantile": (ag.quantile, np.quantile, (0.3,)),
    "nanquantile": (ag.nanquantile, np.nanquantile, ([0.25, 0.9],)),
    "percentile": (ag.percentile, np.percentile, (37.5,)),
}


@pytest.fixture
def compiled(monkeypatch):
    """Compiled calls, of which every one pays."""
    monkeypatch.setattr(regions, "PRICE", 0)
    monkeypatch.setattr(regions, "BEFORE", 0)
    monkeypatch.setattr(regions, "GAIN", -1e9)
    seen = []
    call = regions.Region.call
    monkeypatch.setattr(regions.Region, "call", lambda *args: seen.append(1) or call(*args))
    return seen


@pytest.mark.share(2)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("axis", [None, 0, (1, 0)])
def test_quantiles_are_numpys(compiled, name, axis):
    ours, numpys, args = CALLS[name]
    found = [ours(ag.tensor(X), *args, axis=axis).numpy() for _ in range(2)]
    assert compiled
    for y in found:
        np.testing.assert_allclose(y, numpys(X, *args, axis=axis), rtol=1e-6, atol=1e-6)
    with pytest.raises((TypeError, IndexError)):
        ours(ag.tensor(X), *args, axis=1.5 if axis else 7)


def test_integers_are_left_to_single_operations(compiled):
    assert ag.median(ag.tensor([1, 2, 4])).item() == 2
    assert not compiled


@pytest.mark.parametrize("f", [ag.median, lambda x: ag.cdist(x[:, None], x[:3, None]).sum(),
                               lambda x: (ag.quantile(x, 0.3) - ag.nanquantile(x, 0.4)) ** 2])
def test_gradients_of_compiled_ones(compiled, f):
    x = ag.tensor([3.0, 1.0, 2.0, 2.0, 5.0])
    for slope in (ag.grad(f), lambda x: ag.grad(lambda x: (ag.grad(f)(x) ** 2).sum())(x)):
        found = slope(x).numpy()
        np.testing.assert_allclose(found, ag.jit(slope)(x).numpy(), rtol=1e-5, atol=1e-6)
        with ag.config(compile=False):
            np.testing.assert_allclose(found, slope(x).numpy(), rtol=1e-5, atol=1e-6)
    assert compiled


@pytest.mark.parametrize("slope", [0.0, -0.0])
def test_activations_are_one_operation_for_each_of_their_numbers(slope, compiled):
    x = ag.tensor([-1.0, 2.0], requires_grad=True)
    for other in (slope, -slope, slope):
        y = ag.nn.functional.leaky_relu(x, other)
        assert y.node.op.name == "region"
        np.testing.assert_array_equal(np.signbit(y.numpy()), [not np.signbit(other), False])
    ag.nn.functional.leaky_relu(x, ag.tensor(0.5)).sum().backward()
    assert x.grad.tolist() == [0.5, 1.0]
