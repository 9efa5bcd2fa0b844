"""Teach a recurrent network to write like Python's manual, character by character.

    python examples/language.py [epochs]

The text is the language reference that every Python installation carries for ``help()``.  The
whole training step, with the loop over time, is one compiled function.  Prints the perplexity on
text that was held back, and at the end a few sentences of the network's own.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from pydoc_data.topics import topics

import numpy as np
from progress import progress

import agnesi as ag
from agnesi import nn, optim

WIDTH, BATCH, LENGTH = 192, 32, 48


class Text:
    """Characters as numbers; the last tenth is for testing."""

    def __init__(self, text: str) -> None:
        self.letters = sorted(set(text))
        self.numbers = {letter: i for i, letter in enumerate(self.letters)}
        every = self.encode(text)
        cut = len(every) * 9 // 10
        self.train, self.test = every[:cut], every[cut:]

    def encode(self, text: str) -> np.ndarray:
        return np.array([self.numbers[letter] for letter in text])

    def decode(self, numbers: list[int]) -> str:
        return "".join(self.letters[i] for i in numbers)


class Writer(nn.Module):
    """What comes next?  Embedding, LSTM, and a score for every character."""

    def __init__(self, letters: int) -> None:
        self.embedding = nn.Embedding(letters, 32)
        self.memory = nn.LSTM(32, WIDTH)
        self.scores = nn.Linear(WIDTH, letters)

    def forward(self, text: ag.Tensor, state: tuple[ag.Tensor, ag.Tensor]):
        hidden, state = self.memory(self.embedding(text), state)
        return self.scores(hidden), state


def fresh_state(batch: int) -> tuple[ag.Tensor, ag.Tensor]:
    """The state of a network that has read nothing yet."""
    return ag.zeros((1, batch, WIDTH)), ag.zeros((1, batch, WIDTH))


def pieces(numbers: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Text in BATCH parallel streams, LENGTH characters at a time, with what follows each."""
    steps = (len(numbers) - 1) // BATCH
    here = numbers[: steps * BATCH].reshape(BATCH, steps).T
    there = numbers[1 : steps * BATCH + 1].reshape(BATCH, steps).T
    for start in range(0, steps - LENGTH + 1, LENGTH):
        yield here[start : start + LENGTH], there[start : start + LENGTH]


def loss_of(model: Writer, here, there, state):
    """Mean surprise about the next characters, and the state after them."""
    scores, state = model(here, state)
    loss = nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), there.reshape(-1))
    return loss, state


def make_step(model: Writer, optimizer: optim.Optimizer):
    """One step of training; gradients reach back to the start of the piece, the state further."""

    @ag.jit
    def step(here, there, state):
        optimizer.zero_grad()
        loss, state = loss_of(model, here, there, state)
        loss.backward()
        optimizer.step()
        return loss, (state[0].detach(), state[1].detach())

    return step


def perplexity(model: Writer, numbers: np.ndarray) -> float:
    """Between how many characters the network is in doubt on average."""

    @ag.jit
    def evaluate(here, there, state):
        return loss_of(model, here, there, state)

    state, losses = fresh_state(BATCH), []
    with ag.no_grad():
        for here, there in pieces(numbers):
            loss, state = evaluate(here, there, state)
            losses.append(float(loss))
    return math.exp(np.mean(losses))


def write(model: Writer, text: Text, start: str, length: int, seed: int = 0) -> str:
    """Text drawn from the network's own predictions."""

    @ag.jit
    def after(letter, state):
        scores, state = model(letter, state)
        return nn.functional.softmax(scores[0, 0] * 1.4), state  # a little bolder than it is

    rng = np.random.default_rng(seed)
    state = fresh_state(1)
    numbers = list(text.encode(start))
    with ag.no_grad():
        for number in numbers:
            likely, state = after(np.array([[number]]), state)
        for _ in range(length):
            p = likely.numpy().astype(np.float64)
            numbers.append(int(rng.choice(len(p), p=p / p.sum())))
            likely, state = after(np.array([[numbers[-1]]]), state)
    return text.decode(numbers)


def train(model: Writer, text: Text, epochs: int) -> float:
    """Train, and tell after every epoch; gives the last perplexity."""
    optimizer = optim.Adam(model.parameters(), lr=4e-3)
    step = make_step(model, optimizer)
    after = math.nan
    for epoch in range(1, epochs + 1):
        state, began, count = fresh_state(BATCH), time.perf_counter(), 0
        for here, there in progress(list(pieces(text.train)), f"epoch {epoch}"):
            _, state = step(here, there, state)
            count += here.size
        speed = count / (time.perf_counter() - began)
        after = perplexity(model, text.test)
        print(f"epoch {epoch}: {speed:,.0f} characters/s, perplexity {after:.2f} on unseen text")
    return after


def main(epochs: int = 3, characters: int | None = None) -> float:
    ag.random.manual_seed(0)
    text = Text("\n".join(topics.values())[:characters])
    model = Writer(len(text.letters))
    count = sum(p.size for p in model.parameters())
    print(f"{len(text.train):,} characters of {len(text.letters)} kinds, {count:,} parameters")
    found = train(model, text, epochs)
    print("\n" + write(model, text, "The ", 400))
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
