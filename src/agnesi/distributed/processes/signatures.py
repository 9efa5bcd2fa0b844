"""Signatures of collective calls, written where other processes read and compare them."""

from __future__ import annotations

from agnesi.api.processes.memory import Segment
from agnesi.compiler.library import collectives as native


def shown_text(first: str, line: str) -> bytes:
    """Return the text that other processes see: an operation, then a line; its end, where it is
    long.  It has as many bytes as native code copies.
    """
    half = native.TEXT_BYTES // 2
    head, tail = f"{first[:half]}\n".encode(), line.encode()
    room = native.TEXT_BYTES - 1 - len(head)
    text = head + (tail if len(tail) <= room else b"..." + tail[3 - room:])
    return text.ljust(native.TEXT_BYTES, b"\0")


def signature(s: Segment, place: int) -> str:
    """Return the signature at a place: operation, dtype, shape and line; empty where nothing was
    written.
    """
    ndim = s.word(place + 32)
    shape = ", ".join(str(s.word(place + 40 + 8 * i)) for i in range(ndim))
    name, _, line = s.text(place + native.TEXT, native.TEXT_BYTES).partition("\n")
    sizes = f"[{shape}]" if s.word(place + 8) else ""  # a barrier has none
    return f"{name}{sizes} at {line}" if name else ""


def doing(s: Segment, rank: int) -> str:
    """The last collective, or letter, that a process has begun, and its line."""
    place = s.word(s.control(rank) + native.DOING)
    return signature(s, s.control(rank) + place) if place else ""


def circle(s: Segment, rank: int, peer: int) -> list[int]:
    """Processes of which each waits for the next, from ``rank`` and ``peer`` on to ``rank`` again.

    Empty where there is no such circle.  Only the process that is waited for ends a wait.  While
    the waits are read one after the other, a process may end one that was read before and then
    wait itself, so they are read again from the last to the first: the last one waits for the
    caller, which stands still here, so it goes on waiting, and so do those before it.
    """
    found = [rank]
    while peer not in found:
        following = waits_for(s, peer)
        if following is None:
            return []
        found.append(peer)
        peer = following
    if peer != rank:
        return []
    waits = [*zip(found, [*found[1:], rank], strict=True)]
    return found if all(waits_for(s, q) == then for q, then in reversed(waits)) else []


def waits_for(s: Segment, rank: int) -> int | None:
    """Whom a process waits for, if it does."""
    place = s.control(rank) + native.WAITED
    word, least, peer = (s.word(place + 8 * i) for i in range(3))
    blocked = word and s.word(word) < least and s.word(place) == word
    return peer if blocked else None
