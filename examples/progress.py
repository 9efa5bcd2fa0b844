"""A progress bar: tqdm's where it is installed, else a short line of dots."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
#: A line has at most so many dots.
DOTS = 60


def progress(items: Sequence[T], name: str) -> Iterator[T]:
    """The items one by one, while a bar grows."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _dots(items, name)
    return iter(tqdm(items, desc=f"{name:9}", ncols=79))


def _dots(items: Sequence[T], name: str) -> Iterator[T]:
    print(f"{name:9} ", end="", file=sys.stderr)
    each = -(-len(items) // DOTS)  # items for a dot
    for number, item in enumerate(items):
        yield item
        if number % each == 0:
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
