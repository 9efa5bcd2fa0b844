"""The deep learning tutorials' programs in Theano's words, beside plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams
from tests.compat.theano.tutorials import models, recurrent, sampling

RNG = np.random.RandomState(0)
X, Y = RNG.rand(30, 8), RNG.randint(0, 3, 30)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def values(params):
    return [p.get_value() for p in params]


def differences(cost, params, step=1e-6):
    """The derivatives of a function of arrays, by differences in a few places of each."""
    found = []
    for p in params:
        flat, places = p.reshape(-1), range(0, p.size, max(p.size // 4, 1))
        for k in places:
            kept = flat[k]
            flat[k] = kept + step
            above = cost()
            flat[k] = kept - step
            found.append((above - cost()) / (2 * step))
            flat[k] = kept
    return found


def moved(before, after, rate):
    """The gradients that took parameters from here to there, in the same places."""
    return [((a - b) / rate).reshape(-1)[k] for a, b in zip(before, after, strict=True)
            for k in range(0, a.size, max(a.size // 4, 1))]


def minibatches(cost, errors, params, x, y, size=10, rate=0.1):
    """The functions that the tutorials train and test by."""
    index = T.lscalar("index")
    train_x, train_y = models.shared_dataset(X, Y)
    given = {x: train_x[index * size:(index + 1) * size],
             y: train_y[index * size:(index + 1) * size]}
    grads = T.grad(cost, params)
    train = theano.function([index], cost, givens=given, updates=[
        (p, p - rate * g) for p, g in zip(params, grads, strict=True)])
    return train, theano.function([index], errors, givens=given)


def test_logistic_sgd():
    x, y = T.matrix("x"), T.ivector("y")
    classifier = models.LogisticRegression(input=x, n_in=8, n_out=3)
    train, test = minibatches(classifier.negative_log_likelihood(y), classifier.errors(y),
                              classifier.params, x, y)
    w, b = np.zeros((8, 3)), np.zeros(3)
    for i in range(6):
        a, c = X[i % 3 * 10:][:10], Y[i % 3 * 10:][:10]
        p = softmax(a @ w + b)
        assert_allclose(train(i % 3), -np.log(p[np.arange(10), c]).mean(), rtol=1e-10)
        slope = (p - np.eye(3)[c]) / 10
        w, b = w - 0.1 * a.T @ slope, b - 0.1 * slope.sum(0)
    for found, wanted in zip(values(classifier.params), (w, b), strict=True):
        assert_allclose(found, wanted, rtol=1e-10)
    assert test(0) == (softmax(X[:10] @ w + b).argmax(1) != Y[:10]).mean()
    with pytest.raises(TypeError, match="same shape"):
        classifier.errors(T.imatrix())


def test_mlp():
    x, y = T.matrix("x"), T.ivector("y")
    net = models.MLP(np.random.RandomState(1), x, 8, 5, 3)
    cost = net.negative_log_likelihood(y) + 0.01 * net.L1 + 0.001 * net.L2_sqr
    train, _ = minibatches(cost, net.errors(y), net.params, x, y)
    at = values(net.params)
    a, c = X[:10], Y[:10]

    def plain():
        p = softmax(np.tanh(a @ at[0] + at[1]) @ at[2] + at[3])
        return -np.log(p[np.arange(10), c]).mean() + sum(
            0.01 * abs(m).sum() + 0.001 * (m**2).sum() for m in at[::2])

    at[2] += 0.1  # the gradient of abs at 0 is that of neither side
    net.params[2].set_value(at[2])
    assert_allclose(train(0), plain(), rtol=1e-10)
    assert_allclose(moved(at, values(net.params), 0.1), differences(plain, at), rtol=1e-4,
                    atol=1e-8)


def test_convolutional_mlp():
    x, y = T.matrix("x"), T.ivector("y")
    rng = np.random.RandomState(2)
    images = x.reshape((10, 1, 8, 8))
    layer = models.LeNetConvPoolLayer(rng, images, (2, 1, 3, 3), (10, 1, 8, 8))
    hidden = models.HiddenLayer(rng, layer.output.flatten(2), 2 * 3 * 3, 4)
    last = models.LogisticRegression(hidden.output, 4, 3)
    last.W.set_value(rng.rand(4, 3))
    params = last.params + hidden.params + layer.params
    cost = last.negative_log_likelihood(y)
    f = theano.function([x, y], cost, updates=[
        (p, p - 0.1 * g) for p, g in zip(params, T.grad(cost, params), strict=True)])
    a, c, at = rng.rand(10, 64), rng.randint(0, 3, 10).astype("int32"), values(params)

    def plain():
        w, b, v, d, filters, bias = at
        windows = np.lib.stride_tricks.sliding_window_view(a.reshape(10, 8, 8), (3, 3), (1, 2))
        conv = np.einsum("bijkl,fkl->bfij", windows, filters[:, 0, ::-1, ::-1])
        pooled = conv.reshape(10, 2, 3, 2, 3, 2).max((3, 5))
        h = np.tanh(np.tanh(pooled + bias[:, None, None]).reshape(10, -1) @ v + d)
        return -np.log(softmax(h @ w + b)[np.arange(10), c]).mean()

    assert_allclose(f(a, c), plain(), rtol=1e-10)
    assert_allclose(moved(at, values(params), 0.1), differences(plain, at), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("kind", [models.dA, models.cA])
def test_autoencoders(kind):
    x = T.matrix("x")
    model = kind(np.random.RandomState(3), RandomStreams(4), x)
    model.n_batch, level = 10, 0.0 if kind is models.dA else 0.1
    cost, updates = model.get_cost_updates(level, 0.1)
    f = theano.function([x], cost, updates=updates)
    a, at = X[:10], values(model.params)

    def plain():
        w, b, back = at
        h = sigmoid(a @ w + b)
        z = sigmoid(h @ w.T + back)
        jacobian = (h * (1 - h))[:, None] * w
        rec = -(a * np.log(z) + (1 - a) * np.log(1 - z)).sum(1).mean()
        return rec + (level * (jacobian**2).sum() / 10 if level else 0)

    assert_allclose(f(a), plain(), rtol=1e-10)
    assert_allclose(moved(at, values(model.params), 0.1), differences(plain, at), rtol=1e-4,
                    atol=1e-8)


@pytest.mark.parametrize("kind", [models.dA, models.RBM])
def test_stacks_are_trained_layer_by_layer_then_as_one(kind):
    stack = models.Stack(np.random.RandomState(5), kind, 8, [6, 4], 3)
    train_x, _ = models.shared_dataset(X, Y)
    functions = stack.pretraining_functions(train_x, 10)
    how = {"lr": 0.05} if kind is models.RBM else {"corruption": 0.1, "lr": 0.05}
    for i, f in enumerate(functions):
        kept = values(stack.params)
        costs = [float(f(index=k % 3, **how)) for k in range(30)]
        assert np.isfinite(costs).all()
        if kind is models.dA:
            assert np.mean(costs[-6:]) < np.mean(costs[:6])
        changed = [(a != b).any() for a, b in zip(kept, values(stack.params), strict=True)]
        assert changed == [j // 2 == i for j in range(6)]
    grads = T.grad(stack.finetune_cost, stack.params)
    tune = theano.function([stack.x, stack.y], stack.finetune_cost, updates=[
        (p, p - 0.5 * g) for p, g in zip(stack.params, grads, strict=True)])
    labels = (X[:, 0] > 0.5).astype("int32")
    costs = [float(tune(X, labels)) for _ in range(100)]
    assert costs[-1] < 0.8 * costs[0]


@pytest.mark.parametrize("persistent", [False, True])
def test_rbm(persistent):
    x = T.matrix("x")
    rbm = models.rbm_of(x, 8, 5, np.random.RandomState(6), RandomStreams(7))
    chain = theano.shared(np.zeros((10, 5))) if persistent else None
    cost, end, updates = rbm.get_cost_updates(0.1, chain, k=3)
    f = theano.function([x], [cost, end], updates=updates)
    data, (w, h, v) = (X[:10] > 0.5) * 1.0, values(rbm.params)
    told, sample = f(data)
    assert set(np.unique(sample)) <= {0.0, 1.0} and sample.shape == (10, 8)

    def slope(a):
        up = sigmoid(a @ w + h)
        return -a.T @ up / 10, -up.mean(0), -a.mean(0)

    for old, new, there, here in zip((w, h, v), values(rbm.params), slope(data), slope(sample),
                                     strict=True):
        assert_allclose(new, old - 0.1 * (there - here), rtol=1e-9, atol=1e-12)

    def energy(a):
        return -np.log(1 + np.exp(a @ w + h)).sum(1) - a @ v

    if persistent:
        flip = data.copy()
        flip[:, 0] = 1 - flip[:, 0]
        assert_allclose(told, 8 * np.log(sigmoid(energy(flip) - energy(data))).mean(), rtol=1e-9)
        assert rbm.bit.get_value() == 1 and chain.get_value().any()
        f(data)
        assert rbm.bit.get_value() == 2
    assert (f(data)[1] != f(data)[1]).any()  # every call draws anew


def test_hmc_draws_from_a_normal_distribution():
    mean, variances = np.array([1.0, -2.0]), np.array([0.5, 2.0])
    f, positions, stepsize = sampling.sampler(
        np.random.RandomState(8).randn(40, 2),
        lambda x: 0.5 * ((x - mean) ** 2 / variances).sum(axis=1))
    for _ in range(100):
        f()
    draws = []
    for _ in range(150):
        f()
        draws.append(positions.get_value())
    draws = np.concatenate(draws)
    assert_allclose(draws.mean(0), mean, atol=0.15)
    assert_allclose(draws.var(0), variances, rtol=0.2)
    assert 0.1 < stepsize.get_value() <= 0.5


def test_rnnslu():
    net = recurrent.RNNSLU(4, 3, 10, 5, 3, np.random.RandomState(9))
    at = values(net.params)
    words = RNG.randint(0, 10, (6, 3)).astype("int32")
    labels = RNG.randint(0, 3, 6).astype("int32")

    def plain():
        emb, wx, wh, w, bh, b, h = at
        rows = []
        for x in emb[words].reshape(6, -1):
            h = sigmoid(x @ wx + h @ wh + bh)
            rows.append(softmax(h @ w + b))
        plain.best = np.argmax(rows, 1)
        return -np.log(np.array(rows)[np.arange(6), labels]).mean()

    wanted = plain()
    assert net.classify(words).tolist() == plain.best.tolist()
    assert_allclose(net.sentence_train(words, labels, 0.1), wanted, rtol=1e-10)
    assert_allclose(moved(at, values(net.params), 0.1), differences(plain, at), rtol=1e-4,
                    atol=1e-8)
    net.normalize()
    assert_allclose((net.emb.get_value() ** 2).sum(1), 1)
    assert net.classify(words[:2]).shape == (2,)  # sentences of any length


def lstm_parts(rng, dim=4):
    shapes = {"Wemb": (9, 3), "W": (3, 4 * dim), "U": (dim, 4 * dim), "b": (4 * dim,),
              "O": (dim, 2), "c": (2,)}
    return {k: theano.shared(0.5 * rng.randn(*s), name=k) for k, s in shapes.items()}


def test_lstm_learns_by_adadelta():
    tparams = lstm_parts(np.random.RandomState(10))
    use_noise, x, mask, y, pred, cost = recurrent.sentiment(tparams, 4, RandomStreams(11))
    grads = T.grad(cost, wrt=list(tparams.values()))
    words, there = RNG.randint(0, 9, (5, 6)), np.arange(5)[:, None] < np.array([5, 3, 4, 2, 5, 1])
    args = words, there.astype("float64"), (words[0] > 4).astype("int64")
    p = {k: v.get_value() for k, v in tparams.items()}
    h = c = np.zeros((6, 4))
    total = 0
    for x_t, m in zip(p["Wemb"][words] @ p["W"] + p["b"], args[1][:, :, None], strict=True):
        pre = h @ p["U"] + x_t
        i, f, o = (sigmoid(pre[:, k * 4:k * 4 + 4]) for k in range(3))
        new = m * (f * c + i * np.tanh(pre[:, 12:])) + (1 - m) * c
        h, c = m * (o * np.tanh(new)) + (1 - m) * h, new
        total = total + h * m
    wanted = softmax(total / args[1].sum(0)[:, None] * 0.5 @ p["O"] + p["c"])
    f_pred = theano.function([x, mask], pred, name="f_pred")
    assert_allclose(f_pred(*args[:2]), wanted, rtol=1e-10)
    f_grad_shared, f_update = recurrent.adadelta(T.scalar("lr"), list(tparams.values()), grads,
                                                 [x, mask, y], cost)
    first = float(f_grad_shared(*args))
    assert_allclose(first, -np.log(wanted[np.arange(6), args[2]] + 1e-8).mean(), rtol=1e-10)
    for _ in range(60):
        f_grad_shared(*args)
        f_update(0.1)
    assert f_grad_shared(*args) < first
    use_noise.set_value(1.0)
    assert (f_pred(*args[:2]) != f_pred(*args[:2])).any()


def test_rnnrbm_learns_and_generates():
    v, v_sample, cost, params, updates, v_t, more = recurrent.build_rnnrbm(
        6, 5, 4, np.random.RandomState(12))
    gradient = T.grad(cost, params, consider_constant=[v_sample])
    updates.update((p, p - 0.05 * g) for p, g in zip(params, gradient, strict=True))
    train = theano.function([v], [cost, v_sample], updates=updates)
    song = (np.arange(6) == np.arange(12)[:, None] % 6) * 1.0
    w, bv, bh, wuh, wuv, wvu, wuu, bu = values(params)
    told, sample = train(song)
    u, rows = np.zeros(4), []
    for a in song:
        rows.append((bv + u @ wuv, bh + u @ wuh))
        u = np.tanh(bu + a @ wvu + u @ wuu)

    def energy(a):
        return sum(-(x * b).sum() - np.log(1 + np.exp(x @ w + c)).sum()
                   for x, (b, c) in zip(a, rows, strict=True))

    assert_allclose(told, (energy(song) - energy(sample)) / 12, rtol=1e-9)
    for _ in range(20):
        train(song)
    generate = theano.function([], v_t, updates=more)
    first, second = generate(), generate()
    assert first.shape == (6, 6) and set(np.unique(first)) <= {0.0, 1.0} and (
        first != second).any()
