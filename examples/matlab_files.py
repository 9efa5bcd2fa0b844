"""Train a small network, write its weights for MATLAB or Octave, and read them back.

    python examples/matlab_files.py [file.mat]

``scipy.io.savemat`` writes a dict of arrays, or of dicts of arrays (structs in MATLAB); names have
an underscore where those of ``state_dict`` have a dot, and begin with a letter.  What is read back
computes the same bits.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.io

import agnesi as ag
from agnesi import nn, optim


def save(path: str | Path, model: nn.Module, **more: np.ndarray) -> None:
    """Write a model's arrays as one struct, and other arrays beside it."""
    weights = {name.replace(".", "_"): np.asarray(value)
               for name, value in model.state_dict().items()}
    scipy.io.savemat(path, {"model": weights, **more}, oned_as="column")


def load(path: str | Path, model: nn.Module) -> dict[str, np.ndarray]:
    """Read a model's arrays, in the shapes that it has; returns the other arrays."""
    content = scipy.io.loadmat(path, simplify_cells=True)
    weights = content.pop("model")
    state = model.state_dict()
    read = {name: ag.tensor(np.reshape(weights[name.replace(".", "_")], value.shape),
                            dtype=value.dtype) for name, value in state.items()}
    model.load_state_dict(read)
    return {name: value for name, value in content.items() if not name.startswith("__")}


class Network(nn.Module):
    """Two numbers to one."""

    def __init__(self) -> None:
        self.hidden, self.result = nn.Linear(2, 16), nn.Linear(16, 1)

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        return self.result(ag.tanh(self.hidden(x)))


def main(path: str | None = None) -> float:
    """Train, write, read; returns the loss after training."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2)).astype(np.float32)
    y = np.prod(x, 1, keepdims=True)
    model = Network()
    optimizer = optim.Adam(model.parameters(), lr=0.02)

    @ag.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(300):
        loss = float(step(x, y))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(path or Path(folder) / "network.mat")
        save(file, model, x=x, y=y)
        again = Network()
        other = load(file, again)
        same = np.array_equal(again(other["x"]).numpy(), model(x).numpy())
        print(f"loss {loss:.5f}; {file.name}: {file.stat().st_size} bytes; "
              f"read back, results are {'the same' if same else 'different'}")
    return loss


if __name__ == "__main__":
    main(*sys.argv[1:])
