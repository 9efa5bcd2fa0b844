"""Layers in functions of open sizes: features that are not known are what the weights have."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi import symbolic as T

_rng = np.random.default_rng(0)


def _normal(*shape):
    return _rng.standard_normal(shape)


#: Layers and functions, operands that fit, and others, which do not.
CASES = {
    "cross": (lambda: ag.cross, [_normal(4, 3), _normal(4, 3)], [_normal(4, 6), _normal(4, 6)]),
    "attention": (lambda: (lambda m: lambda q: m(q, q, q)[0])(
        nn.MultiheadAttention(6, 2, batch_first=True)), [_normal(2, 4, 6)], [_normal(2, 4, 1)]),
    "encoder": (lambda: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True),
                [_normal(2, 4, 6)], [_normal(2, 4, 7)]),
    "lstm": (lambda: (lambda m: lambda x: m(x)[0])(nn.LSTM(5, 4, batch_first=True)),
             [_normal(3, 2, 5)], [_normal(3, 2, 1)]),
    "gru cell": (lambda: nn.GRUCell(5, 4), [_normal(3, 5)], [_normal(3, 4)]),
    "grid_sample": (lambda: nn.functional.grid_sample,
                    [_normal(2, 3, 4, 5), _normal(2, 6, 7, 2)],
                    [_normal(2, 3, 4, 5), _normal(1, 6, 7, 2)]),
    "bilinear": (lambda: nn.Bilinear(3, 4, 5), [_normal(2, 3), _normal(2, 4)],
                 [_normal(2, 1), _normal(2, 4)]),
    "prelu": (lambda: nn.PReLU(4), [_normal(2, 4, 5)], [_normal(2, 1, 5)]),
    "prelu function": (lambda: lambda x: nn.functional.prelu(x, ag.tensor([0.1, 0.2, 0.3])),
                       [_normal(2, 3)], [_normal(2, 1)]),
    "crf": (lambda: nn.CRF(3), [_normal(5, 2, 3), _rng.integers(0, 3, (5, 2))],
            [_normal(5, 2, 3), _rng.integers(0, 3, (5, 1))]),
}


@pytest.mark.parametrize("name", CASES)
def test_features_are_told_by_weights(name):
    make, operands, others = CASES[name]
    with ag.config(default_float="float64"):
        layer = make()
        xs = [T.variable(None, a.dtype, (None,) * a.ndim) for a in operands]
        y = layer(*xs)
        f = ag.function(xs, [y, T.grad((y * y).sum(), xs[0])])
        value, slope = f(*operands)
        given = [ag.tensor(a) for a in operands]
        given[0].requires_grad_()
        expected = layer(*given)
        (expected * expected).sum().backward()
        np.testing.assert_allclose(value, expected.detach().numpy(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(slope, given[0].grad.numpy(), rtol=1e-9, atol=1e-12)
        with pytest.raises(ag.ShapeError):
            f(*others)
