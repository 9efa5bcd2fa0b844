"""Graphs whose files are kept in ``golden/``, to be read by every later version.

``python -m tests.saving.golden_graphs`` writes files for graphs that have none yet; those that are
there are never written again.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import agnesi as ag
from agnesi import symbolic as T

FOLDER = Path(__file__).parent / "golden"


def _rng():
    return np.random.default_rng(3)


def perceptron():
    x, t = T.matrix("x", shape=("batch", 3)), T.lvector("t")
    w, b = ag.shared(_rng().normal(size=(3, 4)), "w"), ag.shared(np.zeros(4), "b")
    logits = T.tanh(x) @ w + b
    loss = T.mean(T.logsumexp(logits, axis=1) - logits[ag.arange(t.shape[0]), t])
    return [x, t], {"loss": loss, "best": T.argmax(logits, axis=1),
                    "dw": T.grad(loss, w)}, (_rng().normal(size=(5, 3)), np.array([0, 1, 2, 3, 0]))


def loops():
    x = T.vector("x")
    sums, _ = T.scan(lambda row, a: a * 0.5 + row, x, outputs_info=1.0)
    grown = ag.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, x)
    return [x], [sums, grown, T.ifelse(x.sum() > 3, x * 2, x - 1),
                 T.grad(sums.sum(), x)], (np.arange(4.0),)


def sizes():
    x, n = T.vector("x"), T.lscalar("n")
    return [x, n], (x[x > 1], x[1:-1:2], x.sum() / x.shape[0], ag.arange(n) * 2,
                    ag.zeros((n, x.shape[0])) + x, x[::-1][:n]), (np.arange(6.0), 3)


def images():
    x = T.tensor("float32", (2, 3, 8, 8), "x")
    k = ag.shared(_rng().normal(size=(4, 3, 3, 3)).astype("float32"), "k")
    y = ag.max_pool2d(ag.relu(ag.conv2d(x, k, padding=1)), 2)
    return [x], [y, T.grad((y**2).sum(), k)], (_rng().normal(size=(2, 3, 8, 8)).astype("f4"),)


def matrices():
    a, z = T.matrix("a", shape=(3, 3)), T.zvector("z", shape=(4,))
    s = a @ a.T + 3 * ag.eye(3)
    return [a, z], [ag.linalg.inv(s), ag.linalg.cholesky(s), ag.linalg.eigh(s)[0], ag.linalg.det(s),
                    ag.linalg.svd(a)[1], ag.fft.fft(z), z * (1 - 2j), ag.special.j0(a),
                    ag.sort(a, axis=0), ag.cumsum(a, axis=1), ag.concat([a, s], axis=1),
                    ag.einsum("ij,kj->ik", a, s)], (_rng().normal(size=(3, 3)), np.arange(4) * 1j)


def calls():
    x, y = T.vectors("x", "y")
    op = ag.OpFromGraph([x, y], x * y + ag.exp(-y))
    return [x, y], [op(x, y) + op(y, x), T.set_subtensor(x[1:3], 7.0), x[[0, 2, 0]],
                    ag.stop_gradient(x) * y, ag.clip(x, -1, 1).astype("int8")
                    ], (np.arange(4.0), np.ones(4))


GRAPHS = (perceptron, loops, sizes, images, matrices, calls)


def values(found):
    """Results by name."""
    parts = found if isinstance(found, dict) else dict(enumerate(found))
    return {f"result.{name}": np.asarray(v) for name, v in parts.items()}


def write(make, path):
    inputs, outputs, arguments = make()
    ag.save(outputs, path, inputs=inputs, weights=True)
    results = values(ag.function(inputs, outputs)(*arguments))
    results = {k: np.stack((v.real, v.imag), -1) if v.dtype.kind == "c" else v
               for k, v in results.items()}
    ag.saving.save_file(results, path.with_suffix(".safetensors"))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for make in GRAPHS:
        path = FOLDER / f"{make.__name__}.v1.agnesi"
        if not path.exists():
            write(make, path)
