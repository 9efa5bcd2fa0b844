"""Recurrent and sampling models as Theano's deep learning tutorials build them, small."""

from __future__ import annotations

import numpy as np

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams

floatX = theano.config.floatX  # noqa: N816 - the tutorials' name


class RNNSLU:
    """Elman network over windows of words (rnnslu)."""

    def __init__(self, nh, nc, ne, de, cs, rng):
        def made(*shape):
            return theano.shared(0.2 * rng.uniform(-1.0, 1.0, shape).astype(floatX))

        self.emb, self.wx, self.wh = made(ne + 1, de), made(de * cs, nh), made(nh, nh)
        self.w, self.bh, self.b, self.h0 = made(nh, nc), made(nh), made(nc), made(nh)
        self.params = [self.emb, self.wx, self.wh, self.w, self.bh, self.b, self.h0]
        idxs = T.imatrix()
        x = self.emb[idxs].reshape((idxs.shape[0], de * cs))
        y_sentence = T.ivector("y_sentence")

        def recurrence(x_t, h_tm1):
            h_t = T.nnet.sigmoid(T.dot(x_t, self.wx) + T.dot(h_tm1, self.wh) + self.bh)
            return [h_t, T.nnet.softmax(T.dot(h_t, self.w) + self.b)]

        [_, s], _ = theano.scan(fn=recurrence, sequences=x, outputs_info=[self.h0, None],
                                n_steps=x.shape[0])
        p_y = s[:, 0, :] if s.ndim == 3 else s
        lr = T.scalar("lr")
        nll = -T.mean(T.log(p_y)[T.arange(x.shape[0]), y_sentence])
        gradients = T.grad(nll, self.params)
        self.classify = theano.function([idxs], T.argmax(p_y, axis=1))
        self.sentence_train = theano.function(
            [idxs, y_sentence, lr], nll,
            updates=[(p, p - lr * g) for p, g in zip(self.params, gradients, strict=True)])
        self.normalize = theano.function([], updates={
            self.emb: self.emb / T.sqrt((self.emb ** 2).sum(axis=1)).dimshuffle(0, "x")})


def lstm_layer(tparams, state_below, mask, dim):
    """The LSTM of the sentiment tutorial: gates i, f, o and c beside each other."""
    def _slice(_x, n):
        return _x[:, :, n * dim:(n + 1) * dim] if _x.ndim == 3 else _x[:, n * dim:(n + 1) * dim]

    def _step(m_, x_, h_, c_):
        preact = T.dot(h_, tparams["U"]) + x_
        i = T.nnet.sigmoid(_slice(preact, 0))
        f = T.nnet.sigmoid(_slice(preact, 1))
        o = T.nnet.sigmoid(_slice(preact, 2))
        c = f * c_ + i * T.tanh(_slice(preact, 3))
        c = m_[:, None] * c + (1.0 - m_)[:, None] * c_
        h = m_[:, None] * (o * T.tanh(c)) + (1.0 - m_)[:, None] * h_
        return h, c

    n = state_below.shape[1]
    below = T.dot(state_below, tparams["W"]) + tparams["b"]
    rval, _ = theano.scan(_step, sequences=[mask, below], outputs_info=[
        T.alloc(np.asarray(0.0, floatX), n, dim), T.alloc(np.asarray(0.0, floatX), n, dim)],
        n_steps=state_below.shape[0])
    return rval[0]


def sentiment(tparams, dim, trng=None):
    """Inputs, probabilities and cost of the sentiment tutorial, with dropout if it has draws."""
    use_noise = theano.shared(np.asarray(0.0, floatX))
    x, mask, y = T.matrix("x", dtype="int64"), T.matrix("mask"), T.vector("y", dtype="int64")
    emb = tparams["Wemb"][x.flatten()].reshape([x.shape[0], x.shape[1], tparams["W"].shape[0]])
    proj = lstm_layer(tparams, emb, mask, dim)
    proj = (proj * mask[:, :, None]).sum(axis=0) / mask.sum(axis=0)[:, None]
    if trng is not None:
        proj = T.switch(use_noise, proj * trng.binomial(
            proj.shape, p=0.5, n=1, dtype=proj.dtype), proj * 0.5)
    pred = T.nnet.softmax(T.dot(proj, tparams["O"]) + tparams["c"])
    off = 1e-8
    cost = -T.log(pred[T.arange(x.shape[1]), y] + off).mean()
    return use_noise, x, mask, y, pred, cost


def adadelta(lr, tparams, grads, inputs, cost):
    """Two functions: one keeps gradients, the other moves the parameters by them."""
    def zeros():
        return [theano.shared(p.get_value() * np.asarray(0.0, floatX)) for p in tparams]

    zipped, up2, rg2 = zeros(), zeros(), zeros()
    keep = list(zip(zipped, grads, strict=True))
    sums = [(r, 0.95 * r + 0.05 * (g ** 2)) for r, g in zip(rg2, grads, strict=True)]
    f_grad_shared = theano.function(inputs, cost, updates=keep + sums)
    updir = [-T.sqrt(ru2 + 1e-6) / T.sqrt(r + 1e-6) * z
             for z, ru2, r in zip(zipped, up2, rg2, strict=True)]
    more = [(ru2, 0.95 * ru2 + 0.05 * (ud ** 2)) for ru2, ud in zip(up2, updir, strict=True)]
    moves = [(p, p + ud) for p, ud in zip(tparams, updir, strict=True)]
    return f_grad_shared, theano.function([lr], [], updates=more + moves, on_unused_input="ignore")


def build_rbm(v, W, bv, bh, k, rng):
    """A chain of k Gibbs steps, and the cost whose gradient is contrastive divergence."""
    def gibbs_step(v):
        h = rng.binomial(size=(v.shape[0], bh.shape[-1]), n=1, p=T.nnet.sigmoid(
            T.dot(v, W) + bh), dtype=floatX)
        return rng.binomial(size=v.shape, n=1, p=T.nnet.sigmoid(T.dot(h, W.T) + bv), dtype=floatX)

    chain, updates = theano.scan(lambda v: gibbs_step(v), outputs_info=[v], n_steps=k)
    v_sample = chain[-1]

    def free_energy(v):
        return -(v * bv).sum() - T.log(1 + T.exp(T.dot(v, W) + bh)).sum()

    cost = (free_energy(v) - free_energy(v_sample)) / v.shape[0]
    return v_sample, cost, updates


def build_rnnrbm(n_visible, n_hidden, n_recurrent, rng):
    """RNN-RBM: what is trained by, and a function that generates."""
    def normal(*shape):
        return theano.shared(rng.normal(scale=0.1, size=shape).astype(floatX))

    W, Wuh, Wuv = normal(n_visible, n_hidden), normal(n_recurrent, n_hidden), normal(
        n_recurrent, n_visible)
    Wvu, Wuu = normal(n_visible, n_recurrent), normal(n_recurrent, n_recurrent)
    bv, bh, bu = (theano.shared(np.zeros(n)) for n in (n_visible, n_hidden, n_recurrent))
    params = W, bv, bh, Wuh, Wuv, Wvu, Wuu, bu
    v, u0 = T.matrix(), T.zeros((n_recurrent,))
    streams = RandomStreams(7)

    def recurrence(v_t, u_tm1):
        bv_t, bh_t = bv + T.dot(u_tm1, Wuv), bh + T.dot(u_tm1, Wuh)
        generate = v_t is None
        if generate:
            drawn, _, updates = build_rbm(T.zeros((1, n_visible)), W, bv_t.dimshuffle("x", 0),
                                          bh_t.dimshuffle("x", 0), 3, streams)
            v_t = drawn[0]
        u_t = T.tanh(bu + T.dot(v_t, Wvu) + T.dot(u_tm1, Wuu))
        return ([v_t, u_t], updates) if generate else [u_t, bv_t, bh_t]

    (_, bv_t, bh_t), train_updates = theano.scan(
        lambda v_t, u_tm1, *_: recurrence(v_t, u_tm1), sequences=v, outputs_info=[u0, None, None],
        non_sequences=params)
    v_sample, cost, more = build_rbm(v, W, bv_t, bh_t, 3, streams)
    train_updates.update(more)
    (v_t, _), generate_updates = theano.scan(
        lambda u_tm1, *_: recurrence(None, u_tm1), outputs_info=[None, u0], non_sequences=params,
        n_steps=6)
    return v, v_sample, cost, params, train_updates, v_t, generate_updates
