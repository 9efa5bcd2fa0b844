"""Draws of any distribution that begin with a few numbers of another stream.

Those numbers are the key of a generator by counting (``ops.random.philox``), which lasts for one
draw: rejection takes as many numbers as it needs, and the other stream goes on by a fixed count.
"""

from __future__ import annotations

from typing import Any

from agnesi.api import random
from agnesi.core.dispatch import apply
from agnesi.core.ir.dims import Size
from agnesi.core.op import Op
from agnesi.core.shapes import broadcast
from agnesi.core.support import dtypes
from agnesi.core.support.config import STATE
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import made
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.philox import Advance

#: How many numbers of 31 bits a key takes.
KEY_NUMBERS = 4
#: NumPy's names of distributions that are named differently here.
_OTHER_NAMES = {"standard_exponential": "exponential"}


class Seeded(Generator):
    """A generator in an expression: its state is one, too.

    :param numbers: ``KEY_NUMBERS`` of 31 bits.
    """

    def __init__(self, numbers: Tensor) -> None:
        numbers = cast(numbers, dtypes.int64)
        words = ((numbers[::2] >> 8) << 16 ^ (numbers[1::2] >> 8)) & 0xFFFFFFFF
        self.state = concat([cast(words, dtypes.uint32), as_tensor([0, 0], dtypes.uint32)])

    def _source(self) -> Generator:
        return self

    def places(self, blocks: int, size: Size) -> tuple[Tensor, Tensor]:
        """The state, and the places behind it of elements that take so many blocks each."""
        state = self.state

        def draw(size: Size) -> Tensor:
            self._advance(4 * blocks * size)
            return made(Arange(0, 1, size, dtypes.uint32), size)

        examples = STATE.examples
        return state, draw(size) if examples is None else examples.drawn(draw, size)

    def _advance(self, words: Size) -> None:
        self.state = apply(Advance(words), self.state)

    def _drawn(self, op: Op, words: Size) -> Tensor:
        found = apply(op, self.state)
        self._advance(words)
        return found


def draw(name: str, numbers: Tensor, size: Any, params: tuple[Any, ...], **how: Any) -> Tensor:
    """A draw from a distribution by NumPy's name, of the numbers of another stream; ``how`` says
    the dtype of floats."""
    generator = Seeded(numbers)
    if name == "randint":
        size = broadcast((), *(as_tensor(p).shape for p in params)) if size is None else size
        params = (*params, size)
    else:
        how["size"] = size
    function: Any = getattr(random, _OTHER_NAMES.get(name, name))
    found: Tensor = function(*params, generator=generator, **how)
    return found
