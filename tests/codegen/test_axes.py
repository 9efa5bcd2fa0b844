"""Which loops a nest has, and in which order."""

import numpy as np

import agnesi as ag


def test_a_reduction_is_not_inside_the_loop_over_its_axis() -> None:
    """More loads are contiguous along the channels, but the mean over rows must come first."""
    rng = np.random.default_rng(0)
    x, scale, shift = (rng.standard_normal(s) for s in ((2, 6, 5, 12), (12, 1, 1), (12, 1, 1)))

    def centred(x: ag.Tensor, scale: ag.Tensor, shift: ag.Tensor) -> ag.Tensor:
        y = ag.permute_dims(x, (0, 3, 1, 2))
        return (y - y.mean((2, 3), keepdims=True)) * scale + shift

    arrays = [ag.tensor(a) for a in (x, scale, shift)]
    y = x.transpose(0, 3, 1, 2)
    exact = (y - y.mean((2, 3), keepdims=True)) * scale + shift
    np.testing.assert_allclose(ag.jit(centred)(*arrays).data, exact, rtol=1e-12, atol=1e-12)
