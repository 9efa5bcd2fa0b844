"""Models as Theano's deep learning tutorials build them, of our own writing, small."""

from __future__ import annotations

import numpy as np

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.tensor.nnet import conv2d
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams
from agnesi.compat.theano.tensor.signal import pool


def shared_dataset(data_x, data_y):
    """Data as shared variables, labels kept as floats and cast where they are used."""
    x = theano.shared(np.asarray(data_x, dtype=theano.config.floatX), borrow=True)
    y = theano.shared(np.asarray(data_y, dtype=theano.config.floatX), borrow=True)
    return x, T.cast(y, "int32")


def uniform(rng, n_in, n_out, scale=1.0):
    bound = scale * np.sqrt(6.0 / (n_in + n_out))
    return np.asarray(rng.uniform(-bound, bound, (n_in, n_out)), dtype=theano.config.floatX)


class LogisticRegression:
    def __init__(self, input, n_in, n_out):
        self.W = theano.shared(np.zeros((n_in, n_out)), name="W", borrow=True)
        self.b = theano.shared(np.zeros((n_out,)), name="b", borrow=True)
        self.p_y_given_x = T.nnet.softmax(T.dot(input, self.W) + self.b)
        self.y_pred = T.argmax(self.p_y_given_x, axis=1)
        self.params = [self.W, self.b]

    def negative_log_likelihood(self, y):
        return -T.mean(T.log(self.p_y_given_x)[T.arange(y.shape[0]), y])

    def errors(self, y):
        if y.ndim != self.y_pred.ndim:
            raise TypeError("y should have the same shape as self.y_pred")
        if y.dtype.startswith("int"):
            return T.mean(T.neq(self.y_pred, y))
        raise NotImplementedError


class HiddenLayer:
    def __init__(self, rng, input, n_in, n_out, activation=T.tanh):
        self.input = input
        values = uniform(rng, n_in, n_out, 4.0 if activation == T.nnet.sigmoid else 1.0)
        self.W = theano.shared(value=values, name="W", borrow=True)
        self.b = theano.shared(value=np.zeros((n_out,), dtype=theano.config.floatX), name="b")
        lin_output = T.dot(input, self.W) + self.b
        self.output = lin_output if activation is None else activation(lin_output)
        self.params = [self.W, self.b]


class MLP:
    def __init__(self, rng, input, n_in, n_hidden, n_out):
        self.hiddenLayer = HiddenLayer(rng, input, n_in, n_hidden, T.tanh)
        self.logRegressionLayer = LogisticRegression(self.hiddenLayer.output, n_hidden, n_out)
        self.L1 = abs(self.hiddenLayer.W).sum() + abs(self.logRegressionLayer.W).sum()
        self.L2_sqr = (self.hiddenLayer.W ** 2).sum() + (self.logRegressionLayer.W ** 2).sum()
        self.negative_log_likelihood = self.logRegressionLayer.negative_log_likelihood
        self.errors = self.logRegressionLayer.errors
        self.params = self.hiddenLayer.params + self.logRegressionLayer.params


class LeNetConvPoolLayer:
    def __init__(self, rng, input, filter_shape, image_shape, poolsize=(2, 2)):
        assert image_shape[1] == filter_shape[1]
        self.W = theano.shared(rng.uniform(-0.5, 0.5, filter_shape), borrow=True)
        self.b = theano.shared(np.zeros((filter_shape[0],)), borrow=True)
        conv_out = conv2d(input=input, filters=self.W, filter_shape=filter_shape,
                          input_shape=image_shape)
        pooled_out = pool.pool_2d(input=conv_out, ws=poolsize, ignore_border=True)
        self.output = T.tanh(pooled_out + self.b.dimshuffle("x", 0, "x", "x"))
        self.params = [self.W, self.b]


class dA:  # noqa: N801 - the tutorial's name
    def __init__(self, np_rng, theano_rng=None, input=None, n_visible=8, n_hidden=5, W=None,
                 bhid=None):
        self.n_hidden, self.n_visible = n_hidden, n_visible
        self.theano_rng = theano_rng or RandomStreams(np_rng.randint(2 ** 30))
        self.W = W or theano.shared(uniform(np_rng, n_visible, n_hidden, 4.0), name="W")
        self.b = bhid or theano.shared(np.zeros(n_hidden), name="b")
        self.b_prime = theano.shared(np.zeros(n_visible), name="bvis")
        self.W_prime = self.W.T
        self.x = T.dmatrix(name="input") if input is None else input
        self.params = [self.W, self.b, self.b_prime]

    def get_corrupted_input(self, input, corruption_level):
        return self.theano_rng.binomial(size=input.shape, n=1, p=1 - corruption_level,
                                        dtype=theano.config.floatX) * input

    def get_hidden_values(self, input):
        return T.nnet.sigmoid(T.dot(input, self.W) + self.b)

    def get_reconstructed_input(self, hidden):
        return T.nnet.sigmoid(T.dot(hidden, self.W_prime) + self.b_prime)

    def get_cost_updates(self, corruption_level, learning_rate):
        tilde_x = self.get_corrupted_input(self.x, corruption_level)
        z = self.get_reconstructed_input(self.get_hidden_values(tilde_x))
        L = -T.sum(self.x * T.log(z) + (1 - self.x) * T.log(1 - z), axis=1)
        cost = T.mean(L)
        gparams = T.grad(cost, self.params)
        return cost, [(p, p - learning_rate * g) for p, g in zip(
            self.params, gparams, strict=True)]


class cA(dA):  # noqa: N801 - the tutorial's name
    def get_jacobian(self, hidden, W):
        return T.reshape(hidden * (1 - hidden), (self.n_batch, 1, self.n_hidden)) * T.reshape(
            W, (1, self.n_visible, self.n_hidden))

    def get_cost_updates(self, contraction_level, learning_rate):
        y = self.get_hidden_values(self.x)
        z = self.get_reconstructed_input(y)
        J = self.get_jacobian(y, self.W)
        self.L_rec = -T.sum(self.x * T.log(z) + (1 - self.x) * T.log(1 - z), axis=1)
        self.L_jacob = T.sum(J ** 2) // self.n_batch
        cost = T.mean(self.L_rec) + contraction_level * T.mean(T.sum(J ** 2) / self.n_batch)
        gparams = T.grad(cost, self.params)
        return cost, [(p, p - learning_rate * g) for p, g in zip(
            self.params, gparams, strict=True)]


class RBM:
    def __init__(self, input, n_visible, n_hidden, W, hbias, vbias, theano_rng):
        self.input, self.n_visible, self.n_hidden = input, n_visible, n_hidden
        self.W, self.hbias, self.vbias, self.theano_rng = W, hbias, vbias, theano_rng
        self.params = [self.W, self.hbias, self.vbias]

    def free_energy(self, v_sample):
        wx_b = T.dot(v_sample, self.W) + self.hbias
        vbias_term = T.dot(v_sample, self.vbias)
        return -T.sum(T.log(1 + T.exp(wx_b)), axis=1) - vbias_term

    def propup(self, vis):
        pre = T.dot(vis, self.W) + self.hbias
        return [pre, T.nnet.sigmoid(pre)]

    def propdown(self, hid):
        pre = T.dot(hid, self.W.T) + self.vbias
        return [pre, T.nnet.sigmoid(pre)]

    def _sampled(self, pre, mean):
        sample = self.theano_rng.binomial(size=mean.shape, n=1, p=mean,
                                          dtype=theano.config.floatX)
        return [pre, mean, sample]

    def gibbs_hvh(self, h0_sample):
        v = self._sampled(*self.propdown(h0_sample))
        return [*v, *self._sampled(*self.propup(v[2]))]

    def get_cost_updates(self, lr=0.1, persistent=None, k=2):
        _, _, ph_sample = self._sampled(*self.propup(self.input))
        chain_start = ph_sample if persistent is None else persistent
        ([pre_nvs, _, nv_samples, _, _, nh_samples], updates) = theano.scan(
            self.gibbs_hvh, outputs_info=[None, None, None, None, None, chain_start], n_steps=k,
            name="gibbs_hvh")
        chain_end = nv_samples[-1]
        cost = T.mean(self.free_energy(self.input)) - T.mean(self.free_energy(chain_end))
        gparams = T.grad(cost, self.params, consider_constant=[chain_end])
        for gparam, param in zip(gparams, self.params, strict=True):
            updates[param] = param - gparam * T.cast(lr, dtype=theano.config.floatX)
        if persistent is not None:
            updates[persistent] = nh_samples[-1]
            return self.pseudo_likelihood(updates), chain_end, updates
        rec = T.mean(T.sum(self.input * T.log(T.nnet.sigmoid(pre_nvs[-1])) + (
            1 - self.input) * T.log(1 - T.nnet.sigmoid(pre_nvs[-1])), axis=1))
        return rec, chain_end, updates

    def pseudo_likelihood(self, updates):
        bit_i_idx = theano.shared(value=0, name="bit_i_idx")
        xi = T.round(self.input)
        fe_xi = self.free_energy(xi)
        xi_flip = T.set_subtensor(xi[:, bit_i_idx], 1 - xi[:, bit_i_idx])
        cost = T.mean(self.n_visible * T.log(T.nnet.sigmoid(self.free_energy(xi_flip) - fe_xi)))
        updates[bit_i_idx] = (bit_i_idx + 1) % self.n_visible
        self.bit = bit_i_idx
        return cost


def rbm_of(input, n_visible, n_hidden, rng, theano_rng, W=None, hbias=None):
    W = W or theano.shared(uniform(rng, n_visible, n_hidden, 4.0), name="W")
    hbias = hbias or theano.shared(np.zeros(n_hidden), name="hbias")
    vbias = theano.shared(np.zeros(n_visible), name="vbias")
    return RBM(input, n_visible, n_hidden, W, hbias, vbias, theano_rng)


class Stack:
    """Sigmoid layers under a regression, each with a model that trains it first (SdA, DBN)."""

    def __init__(self, rng, kind, n_ins, sizes, n_outs):
        theano_rng = RandomStreams(rng.randint(2 ** 30))
        self.x, self.y = T.matrix("x"), T.ivector("y")
        self.models, self.params, below, n = [], [], self.x, n_ins
        for size in sizes:
            layer = HiddenLayer(rng, below, n, size, T.nnet.sigmoid)
            self.params.extend(layer.params)
            if kind is RBM:
                self.models.append(rbm_of(below, n, size, rng, theano_rng, layer.W, layer.b))
            else:
                self.models.append(dA(rng, theano_rng, below, n, size, layer.W, layer.b))
            below, n = layer.output, size
        self.logLayer = LogisticRegression(below, n, n_outs)
        self.params.extend(self.logLayer.params)
        self.finetune_cost = self.logLayer.negative_log_likelihood(self.y)

    def pretraining_functions(self, train_set_x, batch_size, **how):
        index, level = T.lscalar("index"), T.scalar("corruption")
        learning_rate = T.scalar("lr")
        begin = index * batch_size
        fns = []
        for m in self.models:
            told = m.get_cost_updates(learning_rate, **how) if isinstance(m, RBM) else (
                m.get_cost_updates(level, learning_rate))
            given = [index, theano.In(learning_rate, value=0.1)]
            given += [] if isinstance(m, RBM) else [theano.In(level, value=0.2)]
            fns.append(theano.function(inputs=given, outputs=told[0], updates=told[-1], givens={
                self.x: train_set_x[begin:begin + batch_size]}))
        return fns
