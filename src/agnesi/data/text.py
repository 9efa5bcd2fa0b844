"""Text: tokenizers, which are objects with ``encode(text)``, and datasets of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from agnesi.core.options import Count
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support.errors import at, typed
from agnesi.data.dataset import Dataset, as_tensor


def token_ids(tokenizer: Any, text: str) -> np.ndarray:
    """The numbers of a text's tokens, from any library's tokenizer."""
    found = tokenizer.encode(text)
    return np.asarray(getattr(found, "ids", found), np.int64)


class _Vocabulary:
    """Tokens and their numbers; 0 pads, 1 stands for unknown ones."""

    tokens: list[str]
    joint = ""

    def _number(self, tokens: Iterable[str]) -> None:
        self.tokens = ["<pad>", "<unk>", *tokens]
        self.numbers = {token: k for k, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def _cut(self, text: str) -> Iterable[str]:
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """Numbers of a text's tokens.

        :param text: Any text.
        :returns: 1 where a token is unknown.
        """
        numbers = self.numbers
        return [numbers.get(token, 1) for token in self._cut(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some tokens; those that pad are left out.

        :param ids: Numbers of tokens.
        :returns: Their text.
        :raises IndexError: If there is no token of a number.
        """
        numbers = [int(k) for k in ids]
        if wrong := [k for k in numbers if not 0 <= k < len(self.tokens)]:
            raise IndexError(at(f"tokens are numbered from 0 to {len(self.tokens) - 1}, and "
                                f"{wrong[0]} is none of them"))
        return self.joint.join(self.tokens[k] for k in numbers if k)


class CharTokenizer(_Vocabulary):
    """Each character is a token.

    Parameters
    ----------
    text : str
        Whose characters are known; others become 1, and 0 is for padding.

    Attributes
    ----------
    tokens : list of str
        By number.

    See Also
    --------
    data.WordTokenizer, data.TokenWindows

    Examples
    --------
    >>> from agnesi import data
    >>> tokenizer = data.CharTokenizer("abba")
    >>> tokenizer.encode("bad"), tokenizer.decode([2, 3])
    ([3, 2, 1], 'ab')
    """

    def __init__(self, text: str) -> None:
        self._number(sorted(set(text)))

    def _cut(self, text: str) -> Iterable[str]:
        return text


class WordTokenizer(_Vocabulary):
    """Words between spaces are tokens, the most frequent ones known.

    Parameters
    ----------
    texts : iterable of str
        Whose words are counted.
    size : int, optional
        How many tokens at most, those for padding (0) and unknown words (1) included.
    lower : bool
        Whether words are taken in small letters.

    Attributes
    ----------
    tokens : list of str
        By number.

    See Also
    --------
    data.CharTokenizer, data.TextDataset

    Examples
    --------
    >>> from agnesi import data
    >>> tokenizer = data.WordTokenizer(["the cat", "the dog"], size=3)
    >>> tokenizer.encode("the cow"), tokenizer.decode([2, 1])
    ([2, 1], 'the <unk>')
    """

    joint = " "

    def __init__(self, texts: Iterable[str], size: Count | None = None, lower: bool = False
                 ) -> None:
        self.lower = lower
        counts = Counter(word for text in texts for word in self._cut(text))
        known = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        known = [pair for pair in known if pair[0] not in ("<pad>", "<unk>")]
        self._number(word for word, _ in known[: None if size is None else max(0, size - 2)])

    def _cut(self, text: str) -> Iterable[str]:
        return (text.lower() if self.lower else text).split()


class TextDataset(Dataset):
    """Texts as sequences of token ids, with or without labels.

    Samples have different lengths: :class:`agnesi.data.PadCollate` makes batches of them, and
    :class:`agnesi.data.BucketBatchSampler` of ``lengths`` such as need little padding.

    Parameters
    ----------
    texts : sequence of str
        One for each sample.
    tokenizer : object
        Makes numbers of them, once: its ``encode(text)`` gives the numbers of a text's tokens, or
        an object that has them as ``ids``, as other libraries' tokenizers do.
    labels : array_like, optional
        One for each text; samples are pairs then.
    max_length : int, optional
        At which texts are cut off.

    Attributes
    ----------
    lengths : numpy.ndarray of int
        How many tokens each sample has.

    Raises
    ------
    TypeError
        If the tokenizer has no ``encode``.
    ValueError
        If there are not as many labels as texts.

    See Also
    --------
    data.TokenWindows, data.WordTokenizer

    Examples
    --------
    >>> from agnesi import data
    >>> texts = ["the cat sat", "dogs"]
    >>> dataset = data.TextDataset(texts, data.WordTokenizer(texts), labels=[0, 1])
    >>> dataset.lengths.tolist(), dataset[0][0].shape
    ([3, 1], (3,))
    """

    def __init__(self, texts: Sequence[str], tokenizer: object,
                 labels: TensorLike | None = None, max_length: Count | None = None
                 ) -> None:
        if not hasattr(tokenizer, "encode"):
            raise TypeError(at(f"a tokenizer has encode(text), which {typed(tokenizer)} has not"))
        self.samples = [token_ids(tokenizer, text)[:max_length] for text in texts]
        self.labels = None if labels is None else np.atleast_1d(np.asarray(labels))
        if self.labels is not None and len(self.labels) != len(self.samples):
            raise ValueError(at(f"there are {len(self.samples)} texts, but {len(self.labels)} "
                                "labels"))
        self.lengths = np.array([len(s) for s in self.samples], np.int64)

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        sample = as_tensor(self.samples[index])
        return sample if self.labels is None else (sample, as_tensor(self.labels[index, ...]))


class TokenWindows(Dataset):
    """Windows of one long sequence of tokens, with the same windows one token later as targets.

    :param tokens: All tokens; also a memory-mapped array.
    :type tokens: array_like of int
    :param length: Tokens of a window.
    :param stride: From one window to the next; ``length`` by default, so that they do not overlap.
    :raises ValueError: If there are too few tokens, or sizes are less than 1.
    :see: data.TextDataset, data.CharTokenizer

    >>> from agnesi import data
    >>> windows = data.TokenWindows([1, 2, 3, 4, 5, 6, 7], length=3)
    >>> windows.take([0, 1])
    (tensor([[1, 2, 3],
           [4, 5, 6]]), tensor([[2, 3, 4],
           [5, 6, 7]]))
    """

    def __init__(self, tokens: TensorLike, length: Count, stride: Count | None = None) -> None:
        self.tokens = tokens if isinstance(tokens, np.ndarray) else np.asarray(tokens)
        self.length, self.stride = length, length if stride is None else stride
        if self.tokens.ndim != 1 or min(length, self.stride) < 1 or len(self.tokens) <= length:
            raise ValueError(at(f"TokenWindows takes a vector of more than length={length} tokens "
                                f"and sizes of at least 1, not {self.tokens.shape}"))
        self._places = np.arange(length + 1)

    def __len__(self) -> int:
        return (len(self.tokens) - self.length - 1) // self.stride + 1

    def __getitem__(self, index: int) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(at(f"window {index} of {len(self)}"))
        x, y = self.take([index % len(self)])
        return x[0], y[0]

    def take(self, indices: TensorLike) -> Any:
        """A batch of windows, and of the same one token later.

        :param indices: Which ones.
        :type indices: slice or array_like of int
        :returns: Two of shape (windows, length).
        :rtype: tuple of Tensor
        """
        if isinstance(indices, slice):
            indices = np.arange(*indices.indices(len(self)))
        starts = np.asarray(indices, np.int64) * self.stride
        both = self.tokens[starts[:, None] + self._places].astype(np.int64, copy=False)
        return as_tensor(both[:, :-1]), as_tensor(both[:, 1:])
