"""Sizes that are computed from each other many times over."""

import pickle

from agnesi.core.ir.dims import Dim


def nested(depth):
    size = first = Dim("n")
    for _ in range(depth):
        size = size * 2 + size // 3
    return first, size


def test_they_have_a_text_a_hash_and_a_pickle():
    _, size = nested(200)
    assert len(str(size)) < 200_000 and "..." in str(size)
    assert hash(size) == hash(size) and size in {size}
    first, small = nested(3)
    assert hash(small) == hash(nested(3)[1]) and small == nested(3)[1]
    assert "..." not in str(small)
    assert str(pickle.loads(pickle.dumps(small))) == str(small)
    assert repr(first * (first + 1) // 2) == "n * (n + 1) // 2"
