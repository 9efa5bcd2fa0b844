"""The program of the first Theano paper (Figures 1 to 4): only imports and prints are changed."""

from itertools import pairwise

import numpy
import numpy as np
import pytest

from agnesi import function, shared
from agnesi import symbolic as T

N = 4
feats = 100


def model(exclude=()):
    """Figures 1 to 3."""
    x = T.matrix()
    y = T.lvector()
    w = shared(numpy.random.randn(100))
    b = shared(numpy.zeros(()))

    p_1 = 1 / (1 + T.exp(-T.dot(x, w)-b))
    xent = -y*T.log(p_1) - (1-y)*T.log(1-p_1)
    cost = xent.mean() + 0.01*(w**2).sum()
    gw,gb = T.grad(cost, [w,b])
    prediction = p_1 > 0.5

    predict = function(inputs=[x],
        outputs=prediction, exclude=exclude)
    train = function(
        inputs=[x,y],
        outputs=[prediction, xent],
        updates={w:w-0.1*gw, b:b-0.1*gb}, exclude=exclude)
    gradient = function([x, y], [cost, gw, gb], exclude=exclude)
    return w, b, predict, train, gradient


def data():
    """Figure 4."""
    numpy.random.seed(0)
    return (numpy.random.randn(N, feats),
        numpy.random.randint(size=N,low=0, high=2))


def test_the_program_of_the_figures():
    D = data()
    w, b, predict, train, _ = model()
    start = w.get_value(), b.get_value()
    training_steps = 10
    costs = []
    for _ in range(training_steps):
        before = w.get_value()
        pred, err = train(D[0], D[1])
        costs.append(err.mean() + 0.01 * (before**2).sum())
    assert all(later < earlier for earlier, later in pairwise(costs))
    assert pred.dtype == bool and err.shape == (N,)
    assert predict(D[0]).tolist() == (D[1] > 0).tolist()

    w_plain, b_plain = start
    for _ in range(training_steps):
        p = 1 / (1 + np.exp(-D[0] @ w_plain - b_plain))
        gw = D[0].T @ (p - D[1]) / N + 0.02 * w_plain
        gb = (p - D[1]).mean()
        w_plain, b_plain = w_plain - 0.1 * gw, b_plain - 0.1 * gb
    np.testing.assert_allclose(w.get_value(), w_plain, rtol=0, atol=1e-10)
    np.testing.assert_allclose(b.get_value(), b_plain, rtol=0, atol=1e-10)


def far_away(gradient, w, b):
    """Cost and gradients where the logits are +-1000 and the labels say the opposite."""
    x = np.zeros((2, feats))
    x[:, 0] = 1000, -1000
    w.set_value(np.eye(feats)[0])
    b.set_value(0.0)
    return gradient(x, np.array([0, 1]))


def test_logits_of_a_thousand_are_finite():
    w, b, *_, gradient = model()
    cost, gw, gb = far_away(gradient, w, b)
    assert cost == pytest.approx(1000 + 0.01)
    np.testing.assert_allclose(gw[0], 1000 + 0.02)
    assert not gw[1:].any() and gb == 0


def test_they_are_not_without_stabilization():
    w, b, *_, gradient = model(exclude=["stabilize"])
    with np.errstate(all="ignore"):
        cost, gw, _ = far_away(gradient, w, b)
    assert not np.isfinite(cost) or not np.isfinite(gw).all()


def test_the_product_is_computed_once():
    D = data()
    *_, train, _ = model()
    train(*D)
    products = [n for n in train.graph.nodes if n.op is not None and n.op.name == "matmul"
                and len(n.inputs[0].shape) == 2 and n.inputs[0].shape == (N, feats)]
    assert len(products) == 1
