"""Recurrent language models (Zaremba et al. 2014), the attention captioner, and a transformer.

Every function takes the library, agnesi or PyTorch, and gives a module of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VOCABULARY = 10_000


@dataclass(frozen=True)
class Text:
    """A language model's sizes: words enter as (length, batch), or (batch, length) if ``first``."""

    name: str
    kind: str  # "LSTM", "GRU" or "transformer"
    layers: int
    width: int
    length: int
    batch: int = 20
    dropout: float = 0.0

    @property
    def words(self) -> int:
        return self.length * self.batch


MODELS = (
    Text("LSTM small", "LSTM", 1, 200, 20),
    Text("LSTM medium", "LSTM", 1, 600, 40, dropout=0.5),
    Text("LSTM large", "LSTM", 2, 650, 50, dropout=0.5),
    Text("GRU", "GRU", 1, 200, 20),
    Text("transformer", "transformer", 4, 256, 128, 16),
)


def build(lib: Any, text: Text) -> Any:
    """The model of these sizes."""
    return transformer(lib, text) if text.kind == "transformer" else recurrent(lib, text)


def recurrent(lib: Any, text: Text) -> Any:
    """Embedding, layers of LSTM or GRU with dropout between, scores of all words."""
    nn = lib.nn

    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, text.width)
            self.drop = nn.Dropout(text.dropout)
            self.layers = getattr(nn, text.kind)(
                text.width, text.width, text.layers,
                dropout=text.dropout if text.layers > 1 else 0.0,
            )  # fmt: skip
            self.scores = nn.Linear(text.width, VOCABULARY)

        def forward(self, words: Any) -> Any:
            states, _ = self.layers(self.drop(self.embedding(words)))
            return self.scores(self.drop(states)).reshape(-1, VOCABULARY)

    return Recurrent()


def transformer(lib: Any, text: Text) -> Any:
    """A decoder: causal self-attention and a network four times as wide, normalized first."""
    nn = lib.nn
    heads = text.width // 64

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(text.width), nn.LayerNorm(text.width)
            self.queries = nn.Linear(text.width, 3 * text.width)
            self.out = nn.Linear(text.width, text.width)
            self.wide = nn.Linear(text.width, 4 * text.width)
            self.narrow = nn.Linear(4 * text.width, text.width)

        def attend(self, x: Any) -> Any:
            n, length, width = x.shape
            parts = self.queries(x).reshape(n, length, 3, heads, width // heads)
            q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(mixed.swapaxes(1, 2).reshape(n, length, width))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.before(x))
            return x + self.narrow(nn.functional.relu(self.wide(self.between(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(VOCABULARY, text.width)
            self.places = nn.Embedding(text.length, text.width)
            self.blocks = nn.Sequential(*(Block() for _ in range(text.layers)))
            self.last = nn.LayerNorm(text.width)
            self.scores = nn.Linear(text.width, VOCABULARY)

        def forward(self, words: Any) -> Any:
            x = self.words(words) + self.places.weight
            return self.scores(self.last(self.blocks(x))).reshape(-1, VOCABULARY)

    return Transformer()


@dataclass(frozen=True)
class Captions:
    """The captioner's sizes: M videos of F frames with 1024 features, captions of L words."""

    batch: int
    frames: int = 20
    features: int = 1024
    length: int = 20
    width: int = 512

    @property
    def name(self) -> str:
        return f"captioner batch {self.batch}"


CAPTIONERS = tuple(Captions(batch) for batch in (4, 16, 64))


def captioner(lib: Any, sizes: Captions) -> Any:
    """An LSTM that looks at the frames anew for every word (Yao et al. 2015, soft attention)."""
    nn = lib.nn

    class Captioner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, sizes.width)
            self.keys = nn.Linear(sizes.features, sizes.width)
            self.query = nn.Linear(sizes.width, sizes.width)
            self.energy = nn.Linear(sizes.width, 1)
            self.cell = nn.LSTMCell(sizes.width + sizes.features, sizes.width)
            self.scores = nn.Linear(sizes.width, VOCABULARY)

        def step(self, frames: Any, keys: Any, word: Any, state: Any) -> Any:
            energy = self.energy(lib.tanh(keys + self.query(state[0])[:, None]))[:, :, 0]
            weights = nn.functional.softmax(energy, -1)
            context = (weights[:, :, None] * frames).sum(1)
            return self.cell(lib.cat([word, context], 1), state)

        def forward(self, frames: Any, words: Any) -> Any:
            keys = self.keys(frames)
            inputs = self.embedding(words)  # (length, batch, width)
            zero = lib.zeros((sizes.batch, sizes.width))
            state, hidden = (zero, zero), []
            for t in range(sizes.length):
                state = self.step(frames, keys, inputs[t], state)
                hidden.append(state[0])
            return self.scores(lib.stack(hidden)).reshape(-1, VOCABULARY)

    return Captioner()
