"""Who waits for whom is read from memory that others write meanwhile."""

import pytest

from agnesi.distributed.processes import signatures


@pytest.mark.parametrize(("reads", "wanted"), [
    ({0: [1, 1], 1: [2, 2], 2: [0, 0]}, [0, 1, 2]),
    ({0: [1, 1], 1: [2, None], 2: [0, 0]}, []),  # 2 came to 1, and then waits for 0
    ({0: [1, 1], 1: [2, 2], 2: [None, 0]}, []),
    ({0: [1, 1], 1: [0, 0]}, [0, 1]),
    ({0: [None, None], 1: [0, 0]}, []),  # its own wait is over
    ({0: [1, 1], 1: [2, 2], 2: [1, 1]}, []),
])
def test_waits_are_a_circle_only_at_one_time(monkeypatch, reads, wanted):
    """What each process waits for when it is looked at the first and the second time."""
    looks = {q: iter(r) for q, r in reads.items()}
    next(looks[0])  # the caller knows of its own
    monkeypatch.setattr(signatures, "waits_for", lambda s, q: next(looks[q]))
    assert signatures.circle(None, 0, 1) == wanted


@pytest.mark.parametrize(("first", "line"), [("a", "b"), ("a", 300 * "b"), (300 * "a", "b")])
def test_texts_have_the_bytes_that_native_code_copies(first, line):
    text = signatures.shown_text(first, line)
    assert len(text) == signatures.native.TEXT_BYTES and text.endswith(b"\0")
    assert text.rstrip(b"\0")[-1:] == b"b"
