"""Tokenizers and datasets of tokens."""

from types import SimpleNamespace

import numpy as np
import pytest

from agnesi import data


def test_words_are_numbered_by_frequency():
    texts = ["the cat sat on the mat", "The cat"]
    tokenizer = data.WordTokenizer(texts, lower=True)
    assert tokenizer.tokens[:4] == ["<pad>", "<unk>", "the", "cat"] and len(tokenizer) == 7
    ids = tokenizer.encode("THE dog sat")
    assert ids[0] == 2 and ids[1] == 1 and tokenizer.decode([0, *ids]) == "the <unk> sat"
    assert len(data.WordTokenizer(texts, size=4)) == 4
    assert len(data.WordTokenizer(texts, size=1)) == 2


def test_other_libraries_tokenizers_serve():
    theirs = SimpleNamespace(encode=lambda text: SimpleNamespace(ids=[len(text)] * len(text)))
    dataset = data.TextDataset(["ab", "abcd"], theirs, max_length=3)
    assert dataset.lengths.tolist() == [2, 3] and dataset[1].tolist() == [4, 4, 4]
    with pytest.raises(TypeError, match=r"encode\(text\)"):
        data.TextDataset(["a"], len)
    with pytest.raises(ValueError, match="1 texts, but 2 labels"):
        data.TextDataset(["a"], theirs, labels=[1, 2])


def test_texts_are_padded_in_buckets():
    texts = ["a" * n for n in (5, 1, 4, 2, 5, 1)]
    dataset = data.TextDataset(texts, data.CharTokenizer("a"), labels=range(6))
    loader = data.DataLoader(
        dataset,
        batch_sampler=data.BucketBatchSampler(dataset.lengths, 2, shuffle=False),
        collate_fn=data.PadCollate(lengths=True),
    )
    shapes = [(x.shape, y.shape, lengths.tolist()) for (x, y), lengths in loader]
    assert shapes == [((2, 1), (2,), [1, 1]), ((2, 4), (2,), [2, 4]), ((2, 5), (2,), [5, 5])]


def test_windows_of_tokens():
    windows = data.TokenWindows(np.arange(20, dtype=np.uint16), 6, stride=4)
    assert len(windows) == 4
    x, y = windows[3]
    assert x.tolist() == list(range(12, 18)) and y.tolist() == list(range(13, 19))
    assert [w.tolist() for w in windows[-1]] == [x.tolist(), y.tolist()]
    batches = list(data.DataLoader(windows, 3))
    assert [b.shape for b, _ in batches] == [(3, 6), (1, 6)] and (
        batches[0][1] == batches[0][0] + 1
    ).all()
    for bad in (([1, 2], 2), ([[1, 2, 3]], 1), ([1, 2, 3], 0)):
        with pytest.raises(ValueError, match=r"TokenWindows( takes|: length must)"):
            data.TokenWindows(*bad)
    with pytest.raises(IndexError):
        windows[4]
