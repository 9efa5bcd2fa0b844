"""Small networks as programs of users have them, trained without ``jit``.

Every function takes the library, agnesi or PyTorch, and gives a module of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

CLASSES = 10


@dataclass(frozen=True)
class Small:
    """A network, the shape of what it takes, and what of a training step is done."""

    name: str
    build: Callable[[Any], Any]
    shape: tuple[int, ...]
    batch_axis: int = 0
    part: str = "step"


def mlp(*sizes: int) -> Callable[[Any], Any]:
    """Fully connected layers with ReLU between them."""

    def build(lib: Any) -> Any:
        layers: list[Any] = []
        for before, after in pairwise(sizes):
            layers += [lib.nn.Linear(before, after), lib.nn.ReLU()]
        return lib.nn.Sequential(*layers[:-1])

    return build


def normalized(lib: Any) -> Any:
    """Two convolutions with batch norm and pooling."""
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, CLASSES),
    )  # fmt: skip


def strided(lib: Any) -> Any:
    """Three convolutions of stride 2, as discriminators have them."""
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
        nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(64 * 4 * 4, CLASSES),
    )  # fmt: skip


def transposed(lib: Any) -> Any:
    """A generator of images from 64 numbers, whose mean colours are the scores."""
    nn = lib.nn
    return nn.Sequential(
        nn.Linear(64, 64 * 4 * 4), nn.Unflatten(1, (64, 4, 4)),
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, CLASSES, 4, stride=2, padding=1), nn.Sigmoid(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip


def recurrent(kind: str) -> Callable[[Any], Any]:
    """A layer over (length, batch, features); scores of the last step."""

    def build(lib: Any) -> Any:
        nn = lib.nn

        class Recurrent(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = getattr(nn, kind)(32, 64)
                self.scores = nn.Linear(64, CLASSES)

            def forward(self, x: Any) -> Any:
                outputs, _ = self.layer(x)
                return self.scores(outputs[-1])

        return Recurrent()

    return build


def attending(lib: Any) -> Any:
    """A transformer layer over (batch, length, features); scores of the mean."""
    nn = lib.nn

    class Attending(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
            self.scores = nn.Linear(64, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.scores(self.layer(x).mean(1))

    return Attending()


MODELS = (
    Small("MLP 64-128-10, batch 32", mlp(64, 128, CLASSES), (32, 64)),
    Small("MLP 784-256-128-10, batch 64", mlp(784, 256, 128, CLASSES), (64, 784)),
    Small("policy 4-64-64-10, one observation", mlp(4, 64, 64, CLASSES), (1, 4), part="forward"),
    Small("convnet with batch norm", normalized, (32, 1, 28, 28)),
    Small("strided convnet", strided, (32, 1, 28, 28)),
    Small("transposed convnet", transposed, (32, 64)),
    Small("LSTM, 20 steps of 16x64", recurrent("LSTM"), (20, 16, 32), 1),
    Small("GRU, 20 steps of 16x64", recurrent("GRU"), (20, 16, 32), 1),
    Small("transformer layer, 16x20x64", attending, (16, 20, 64)),
)
