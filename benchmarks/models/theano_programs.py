"""Training steps in Theano's words: the models of its deep learning tutorials, for two libraries.

Each takes the words of a library and gives a compiled step of minibatch ``index`` (data, or
sentences, are shared variables, and minibatches are sliced by ``givens``) and its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PIXELS, CLASSES, EXAMPLES = 784, 10, 600
RATE = np.float32(0.1)
Step = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Words:
    """What programs say differently in agnesi's compatibility module and in PyTensor."""

    theano: Any  #: ``shared``, ``scan``, ``grad``
    T: Any  #: ``fmatrix``, ``tanh``, ``dot``, ...
    function: Callable[..., Any]  #: inputs, output, updates, givens
    sigmoid: Callable[[Any], Any]
    softmax: Callable[[Any], Any]
    binomial: Callable[..., Any]  #: size and p: float32 draws of one trial

    def shared(self, *shape: int, seed: int = 0, scale: float | None = None) -> Any:
        """Weights; zeros where ``scale`` is 0."""
        rng = np.random.default_rng([seed, *shape])
        bound = np.sqrt(6.0 / sum(shape)) if scale is None else scale
        return self.theano.shared(rng.uniform(-bound, bound, shape).astype("float32"))

    def descent(self, cost: Any, weights: Sequence[Any], **how: Any) -> list[tuple[Any, Any]]:
        """Updates of plain gradient descent."""
        slopes = self.theano.grad(cost, list(weights), **how)
        return [(w, w - RATE * g) for w, g in zip(weights, slopes, strict=True)]


def images(w: Words, batch: int) -> tuple[Any, Any, Any, dict[Any, Any], Any]:
    """The number of a minibatch, its images and labels, what replaces these, and a number."""
    rng = np.random.default_rng(0)
    data = w.theano.shared(rng.random((EXAMPLES, PIXELS), "float32"))
    labels = w.theano.shared(rng.integers(0, CLASSES, EXAMPLES).astype("int32"))
    index, x, y = w.T.lscalar(), w.T.fmatrix(), w.T.ivector()
    here = slice(index * batch, (index + 1) * batch)
    return index, x, y, {x: data[here], y: labels[here]}, np.int64(3)


def nll(w: Words, p: Any, y: Any) -> Any:
    """The mean negative log-likelihood of labels."""
    return -w.T.mean(w.T.log(p)[w.T.arange(y.shape[0]), y])


def entropy(w: Words, x: Any, z: Any) -> Any:
    """The mean cross entropy of reconstructions."""
    return w.T.mean(-w.T.sum(x * w.T.log(z) + (1 - x) * w.T.log(1 - z), axis=1))


def logistic_regression(w: Words) -> Step:
    """Softmax regression, minibatches of 60."""
    index, x, y, given, number = images(w, 60)
    weights = [w.shared(PIXELS, CLASSES), w.shared(CLASSES, scale=0)]
    cost = nll(w, w.softmax(w.T.dot(x, weights[0]) + weights[1]), y)
    return w.function([index], cost, w.descent(cost, weights), given), (number,)


def perceptron(w: Words) -> Step:
    """784-500-10 with tanh and both penalties, minibatches of 20."""
    index, x, y, given, number = images(w, 20)
    weights = [w.shared(PIXELS, 500), w.shared(500, scale=0), w.shared(500, CLASSES),
               w.shared(CLASSES, scale=0)]
    hidden = w.T.tanh(w.T.dot(x, weights[0]) + weights[1])
    cost = nll(w, w.softmax(w.T.dot(hidden, weights[2]) + weights[3]), y)
    for matrix in weights[::2]:
        cost = cost + np.float32(1e-4) * (matrix**2).sum() + np.float32(1e-5) * abs(matrix).sum()
    return w.function([index], cost, w.descent(cost, weights), given), (number,)


def autoencoder(w: Words) -> Step:
    """A denoising auto-encoder with tied weights, 784-500, minibatches of 20."""
    index, x, _, given, number = images(w, 20)
    weights = [w.shared(PIXELS, 500), w.shared(500, scale=0), w.shared(PIXELS, scale=0)]
    cost = _denoised(w, x, *weights)
    return w.function([index], cost, w.descent(cost, weights), {x: given[x]}), (number,)


def _denoised(w: Words, x: Any, matrix: Any, bias: Any, back: Any) -> Any:
    noisy = w.binomial(x.shape, 0.7) * x
    code = w.sigmoid(w.T.dot(noisy, matrix) + bias)
    return entropy(w, x, w.sigmoid(w.T.dot(code, matrix.T) + back))


def stacked_autoencoders(w: Words) -> Step:
    """Pretraining of the third of three layers of 500 on what the first two give."""
    index, x, _, given, number = images(w, 20)
    h: Any = x
    for layer, size in enumerate((PIXELS, 500)):
        h = w.sigmoid(w.T.dot(h, w.shared(size, 500, seed=layer)) + w.shared(500, scale=0))
    weights = [w.shared(500, 500, seed=2), w.shared(500, scale=0), w.shared(500, scale=0)]
    cost = _denoised(w, h, *weights)
    return w.function([index], cost, w.descent(cost, weights), {x: given[x]}), (number,)


def boltzmann_machine(w: Words) -> Step:
    """A restricted Boltzmann machine, 784-500, persistent chains of 15 Gibbs steps in a scan."""
    index, x, _, given, number = images(w, 20)
    matrix, hidden, visible = w.shared(PIXELS, 500), w.shared(500, scale=0), w.shared(
        PIXELS, scale=0)
    chain = w.theano.shared(np.zeros((20, PIXELS), "float32"))

    def gibbs(v: Any) -> Any:
        h = w.binomial((20, 500), w.sigmoid(w.T.dot(v, matrix) + hidden))
        return w.binomial((20, PIXELS), w.sigmoid(w.T.dot(h, matrix.T) + visible))

    def energy(v: Any) -> Any:
        return -w.T.dot(v, visible) - w.T.sum(
            w.T.log(1 + w.T.exp(w.T.dot(v, matrix) + hidden)), axis=1)

    samples, updates = w.theano.scan(gibbs, outputs_info=chain, n_steps=15)
    end = w.theano.gradient.disconnected_grad(samples[-1])
    cost = w.T.mean(energy(x)) - w.T.mean(energy(end))
    changes = w.descent(cost, [matrix, hidden, visible])
    changes += [*dict(updates).items(), (chain, samples[-1])]
    return w.function([index], cost, changes, {x: given[x]}), (number,)


def long_short_term_memory(w: Words) -> Step:
    """Sentiment of 16 sentences of 50 words: embedding, a masked LSTM of 128, its mean, softmax."""
    steps, batch, size, words = 50, 16, 128, 2000
    rng = np.random.default_rng(1)
    x, mask, y = w.T.lmatrix(), w.T.fmatrix(), w.T.ivector()
    table, inputs, recurrent = w.shared(words, size), w.shared(size, 4 * size), w.shared(
        size, 4 * size, seed=1)
    bias, out, last = w.shared(4 * size, scale=0), w.shared(size, 2), w.shared(2, scale=0)

    def step(m: Any, now: Any, h: Any, c: Any) -> Any:
        gates = w.T.dot(h, recurrent) + now
        i, f, o = (w.sigmoid(gates[:, k * size:(k + 1) * size]) for k in range(3))
        new = f * c + i * w.T.tanh(gates[:, 3 * size:])
        new = m[:, None] * new + (1 - m)[:, None] * c
        given = m[:, None] * (o * w.T.tanh(new)) + (1 - m)[:, None] * h
        return given, new

    start = w.T.zeros((batch, size), dtype="float32")
    now = w.T.dot(table[x.flatten()].reshape((steps, batch, size)), inputs) + bias
    (hs, _), _ = w.theano.scan(step, sequences=[mask, now], outputs_info=[start, start])
    mean = (hs * mask[:, :, None]).sum(axis=0) / mask.sum(axis=0)[:, None]
    cost = nll(w, w.softmax(w.T.dot(mean, out) + last), y)
    lengths = rng.integers(20, steps + 1, batch)
    given = (rng.integers(0, words, (steps, batch)),
             (np.arange(steps)[:, None] < lengths).astype("float32"),
             rng.integers(0, 2, batch).astype("int32"))
    changes = w.descent(cost, [table, inputs, recurrent, bias, out, last])
    return w.function([x, mask, y], cost, changes, {}), given


def slot_filling(w: Words) -> Step:
    """An Elman network over a sentence of 12 words in windows of 7: 100 units, 127 labels."""
    steps, window, size, units, labels, words = 12, 7, 100, 100, 127, 500
    rng = np.random.default_rng(2)
    x, y = w.T.lmatrix(), w.T.ivector()
    table, inputs = w.shared(words + 1, size), w.shared(window * size, units)
    recurrent, bias = w.shared(units, units), w.shared(units, scale=0)
    out, last, first = w.shared(units, labels), w.shared(labels, scale=0), w.shared(units, scale=0)

    def step(now: Any, h: Any) -> Any:
        new = w.sigmoid(w.T.dot(now, inputs) + w.T.dot(h, recurrent) + bias)
        return new, w.softmax((w.T.dot(new, out) + last)[None, :])[0]

    seen = table[x].reshape((x.shape[0], window * size))
    (_, p), _ = w.theano.scan(step, sequences=seen, outputs_info=[first, None])
    cost = nll(w, p, y)
    sentence = rng.integers(0, words, (steps, window))
    given = sentence, rng.integers(0, labels, steps).astype("int32")
    changes = w.descent(cost, [table, inputs, recurrent, bias, out, last, first])
    return w.function([x, y], cost, changes, {}), given


#: By the names of their tutorials, with whether they draw random numbers.
PROGRAMS: dict[str, tuple[Callable[[Words], Step], bool]] = {
    "logistic_sgd": (logistic_regression, False),
    "mlp": (perceptron, False),
    "dA": (autoencoder, True),
    "SdA": (stacked_autoencoders, True),
    "rbm": (boltzmann_machine, True),
    "lstm": (long_short_term_memory, False),
    "rnnslu": (slot_filling, False),
}
