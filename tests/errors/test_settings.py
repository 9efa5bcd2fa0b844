"""Golden texts where a function is compiled, or checkpointed, with settings that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

import agnesi as ag
from tests.errors.lambdas import check

X = ag.ones((64, 64))
WRITTEN = eval("lambda x: (x @ x).exp().sum()")

CASES = [
    (lambda: ag.jit(abs, optimizer="fastrun"), ValueError,
     "jit(<built-in function abs>): optimizer must be one of ('None', 'fast_compile', 'fast_run'), "
     "not 'fastrun'"),
    (lambda: ag.function([], ag.shared(1.0), optimizer="O3"), ValueError,
     "function([], float64[]): optimizer must be one of ('None', 'fast_compile', 'fast_run'), not "
     "'O3'"),
    (lambda: ag.jit(abs, exclude="fusion"), TypeError,
     "jit(<built-in function abs>): exclude takes names and tags of rewrite rules in a list: write "
     "exclude=['fusion']"),
    (lambda: ag.jit(lambda x: x * 2, include=["canonicalise"])(X), ValueError,
     "no rewrite rule has the name or tag 'canonicalise'; did you mean 'canonicalize'?"),
    (lambda: ag.jit(lambda x: x * 2, include=["zzz"])(X), ValueError,
     "no rewrite rule has the name or tag 'zzz'"),
    (lambda: ag.jit(WRITTEN, memory_limit=1000)(X), MemoryError,
     "<lambda> does not fit into its memory_limit of 1 kB; with everything computed again that can "
     "be, it needs 32.77 kB for arguments, state, results and temporaries"),
    (lambda: ag.checkpoint(X), TypeError, "checkpoint: function must be a function, not "
     "float32[64, 64]; the order is checkpoint(function, *args, **keywords)"),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), CASES)
def test_texts(wrong: Any, kind: Any, text: str) -> None:
    check(wrong, kind, text)


def test_the_text_is_the_same_after_hundreds_of_objects() -> None:
    """A constructor that is written for many objects is no function of the user's."""
    told = set()
    for _ in range(300):
        with pytest.raises(ValueError, match="optimizer") as caught:
            ag.jit(abs, optimizer="fastrun")
        told.add(str(caught.value))
    assert len(told) == 1
