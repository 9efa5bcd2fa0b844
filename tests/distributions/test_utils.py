"""What distributions of a user's own are written with."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.distributions import Distribution
from agnesi.distributions.utils import (
    _standard_normal,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)


def test_operands_are_broadcast_and_numbers_take_the_dtype_of_tensors():
    a, b = broadcast_all(1.5, ag.zeros((2, 1), dtype="float64"))
    assert a.shape == b.shape == (2, 1) and a.dtype == ag.float64
    assert broadcast_all(1, 2)[0].dtype == ag.float32
    with pytest.raises(TypeError, match="parameters are tensors and numbers, not 'a'"):
        broadcast_all("a", 1)


@pytest.mark.parametrize("binary", [False, True])
def test_probabilities_and_logits_lead_back(binary):
    p = ag.tensor([[0.25, 0.75], [0.0, 1.0]])
    found = logits_to_probs(probs_to_logits(p, binary), binary)
    np.testing.assert_allclose(found.numpy(), p.numpy(), atol=3e-7)
    assert ag.isfinite(probs_to_logits(p, binary)).all()
    assert clamp_probs(p)[1, 1] == 1 - np.finfo("float32").eps


@pytest.mark.parametrize("diag", [0, -1, -2])
def test_triangles_lead_back_with_gradients(diag):
    n = 4
    k = len(np.tril_indices(n, diag)[0])
    v = ag.tensor(np.arange(2.0 * k).reshape(2, k) + 1, requires_grad=True)
    m = vec_to_tril_matrix(v, diag)
    assert m.shape == (2, n, n) and ag.array_equal(m, ag.tril(m, diag))
    back = tril_matrix_to_vec(m, diag)
    assert ag.array_equal(back, v)
    (back * back).sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), 2 * v.detach().numpy())
    with pytest.raises(ag.ShapeError, match="fill no triangle"):
        vec_to_tril_matrix(ag.ones(k + 1), diag)


def test_a_distribution_of_a_users_own():
    computed = []

    class Shifted(Distribution):
        def __init__(self, loc, scale):
            self.loc, self._scale = broadcast_all(loc, scale)
            super().__init__(self.loc.shape)

        @lazy_property
        def variance(self):
            computed.append(1)
            return self._scale ** 2

        def rsample(self, sample_shape=()):
            shape = self._extended_shape(sample_shape)
            eps = _standard_normal(shape, self.loc.dtype, self.loc.device)
            return self.loc + eps * self._scale

    d = Shifted(1.0, ag.tensor([2.0, 3.0]))
    assert d.variance.tolist() == [4, 9] and d.variance.tolist() == [4, 9] and computed == [1]
    assert d.rsample((5,)).shape == (5, 2)
