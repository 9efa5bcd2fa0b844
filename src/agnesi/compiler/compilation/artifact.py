"""The compilation artifact: code and constants, without addresses, so that it can be kept on disk.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

import numpy as np

from agnesi.core.ir.foreign import address
from agnesi.core.support.record import field, struct


@struct
class Recipe:
    """IR text, and how the entry finds the buffers that its body expects.

    :ivar key: That of the backend that made it.
    :ivar text: The module; its body takes arguments, states, constants, results and the arena, in
        order.
    :ivar states: Indices of the states among the function's live tensors.
    :ivar constants: Values of the constants.
    :ivar results: Indices of the outputs that the entry makes.
    :ivar reused: Outputs that stand in the memory of an argument: output to argument, by index.
    :ivar arena_bytes: Scratch memory of a call.
    :ivar long: Whether a call is worth releasing the interpreter lock.
    :ivar failures: What the code's checks say (see ``failures.Failure``).
    :ivar widest: The largest temporary, named where memory runs out.
    :ivar optimize: Level of the text's compilation (see ``runtime.machine.load``).
    :ivar foreign: C functions that the body calls, by name (see ``core.ir.foreign``), in the order
        of its table.
    :ivar callbacks: Functions that the body calls in Python; a recipe with any is not kept on disk.
    """

    key: str
    text: str
    states: list[int]
    constants: list[np.ndarray]
    results: list[int]
    reused: dict[int, int]
    arena_bytes: int
    long: bool
    failures: list[Any] = field(default_factory=list)
    widest: Any = None
    optimize: int = 1
    foreign: list[str] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)

    def works(self) -> bool:
        """Return whether this process has all C functions that the body calls."""
        return None not in map(address, self.foreign)

    def packed(self) -> bytes:
        """The recipe as bytes.

        NumPy's own files of several arrays are archives, whose modules take longer to load than
        all else that a second process does.
        """
        head = {k: v for k, v in vars(self).items() if k not in ("constants", "callbacks")}
        head["reused"] = sorted(self.reused.items())
        head["arrays"] = [(a.dtype.name, a.shape) for a in self.constants]
        text = json.dumps(head).encode()
        parts = [len(text).to_bytes(8, "little"), text, *(a.tobytes() for a in self.constants)]
        return zlib.compress(b"".join(parts), 1)

    @classmethod
    def unpacked(cls, data: bytes) -> Recipe:
        """The recipe that :meth:`packed` wrote."""
        raw = zlib.decompress(data)
        at = 8 + int.from_bytes(raw[:8], "little")
        head = json.loads(raw[8:at])
        head["reused"] = dict(map(tuple, head["reused"]))
        constants = []
        for kind, shape in head.pop("arrays"):
            array = np.frombuffer(raw, kind, math.prod(shape), at).reshape(shape).copy()
            constants.append(array)
            at += array.nbytes
        return cls(constants=constants, **head)
