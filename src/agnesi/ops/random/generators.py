"""Generators of random numbers: streams that threads share, and that forked processes do not.

Threads exclude each other when they advance a generator; a forked process begins a stream of its
own. Draws from generators of values, as of dropout, take a state of their own in a declared program
(``Generator._source``), which every call of the function advances.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agnesi.core import devices
from agnesi.core.calls.random_buffers import DRAWN, Stock
from agnesi.core.calls.spellings import DEVICE, on_host
from agnesi.core.dispatch import apply, assign, touch
from agnesi.core.integers import is_integer
from agnesi.core.ir.dims import Size
from agnesi.core.keywords import strict, strict_class
from agnesi.core.op import Op, typed
from agnesi.core.options import Written
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import dtypes
from agnesi.core.support.config import HOOKS, STATE, config, switched
from agnesi.core.support.errors import Explained, at
from agnesi.core.support.forks import Lock, at_fork
from agnesi.core.support.record import record
from agnesi.core.support.tracing import current_trace, is_known, is_tracing
from agnesi.core.support.worker_threads import results, staying
from agnesi.core.tensor import Tensor, wrap
from agnesi.ops.arrays.replicate import copy
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import made, noted
from agnesi.ops.base.select import floor
from agnesi.ops.indexing.ranges import Arange
from agnesi.ops.random import draws_ahead
from agnesi.ops.random.draws_ahead import MOST_BLOCKS
from agnesi.ops.random.lineage import LINEAGE
from agnesi.ops.random.noise import Noise, numbers_per_block
from agnesi.ops.random.philox import Advance, RandomBits, behind

_UINT32 = dtypes.uint32


#: Under which streams are advanced.
LOCK = Lock()


def attempted(attempt: Callable[[], Any]) -> Any:
    """What an attempt gives; where that is None, streams are as they were before it."""
    drawn: list[tuple[Tensor, Tensor]] = []
    token = DRAWN.set(drawn)
    try:
        found = attempt()
    finally:
        DRAWN.reset(token)
    around = DRAWN.get()
    if found is None:
        for state, before in reversed(drawn):
            assign(state, before)
    elif around is not None:
        around += drawn
    return found


def _note(state: Tensor, before: Tensor) -> None:
    drawn = DRAWN.get()
    if drawn is not None and state.array is not None:
        drawn.append((state, before))


def start(seed: int | Sequence[int] | None, lineage: tuple[int, ...] = ()) -> np.ndarray:
    """The first state of a stream."""
    several: Any = seed if isinstance(seed, (list, tuple, np.ndarray)) else [seed]
    if not all(n is None or is_integer(n) for n in several):
        raise TypeError(at(f"a seed must be an integer, or several of them, not {typed(seed)}"))
    if any(n is not None and n < 0 for n in several):
        raise ValueError(at(f"a seed must not be negative: {typed(seed)}"))
    sequence = np.random.SeedSequence(seed, spawn_key=lineage)
    return np.array([*sequence.generate_state(2, np.uint32), 0, 0], _UINT32)


@strict_class
class Generator(Written, Explained):
    """A stream of random numbers.

    Its state is a tensor that every draw advances in place; inside ``jit`` it is read and updated
    like any other state.  Threads may draw from one generator: each gets numbers of its own.  A
    forked process has a copy, which goes on with the same numbers as the original; only the default
    generator begins another stream there (see :func:`default_generator`).

    :param seed: Equal seeds give equal streams; without one the system's entropy is used.
    :param device: Where numbers are drawn: "cpu", also instead of the seed.
    :raises ValueError: If the seed is a text that names no device.
    :see: random.default_generator, manual_seed

    >>> from agnesi.ops.random.generators import Generator
    >>> from agnesi.ops.random.random import uniform
    >>> a, b = Generator(1), Generator(1)
    >>> bool((uniform(3, generator=a) == uniform(3, generator=b)).all())
    True
    """

    if TYPE_CHECKING:  # every distribution: ``api/random.py``

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, seed: int | str | None = None, *, device: object = None) -> None:
        on_host(device)
        if isinstance(seed, str):  # PyTorch's generators are made with a device alone
            if seed != DEVICE:
                raise ValueError(at(f"Generator: a seed is an integer, and not {seed!r}; where a "
                                    f"device is meant, there is one, {DEVICE!r}"))
            seed = None
        self.state = noted(wrap(start(seed)))  # not by assignment, which a trace would note
        self._note_seed(seed)

    @property
    def device(self) -> devices.device:
        """Where numbers are drawn: "cpu"."""
        return devices.DEVICE

    def manual_seed(self, seed: int | None = None) -> Generator:
        """Begin the stream of a seed.

        :param seed: Equal seeds give equal streams; without one the system's entropy is used.
        :returns: This one.
        """
        assign(self.state, wrap(start(seed)))
        self._note_seed(seed)
        return self

    def _note_seed(self, seed: Any) -> None:
        first = None if seed is None or self.state.array is None else tuple(start(seed)[:2])
        object.__setattr__(self, "_seed", (first, seed))

    def initial_seed(self) -> int:
        """The seed with which the stream began.

        :returns: That of :meth:`manual_seed`; where none was given, or the state was set, a number
            that is that stream's alone.
        """
        words = tuple(np.asarray(self.state.array)[:2])
        first, seed = self._seed
        return int(seed) if first == words and is_integer(seed) else int(words[0]) << 32 | int(
            words[1])

    def seed(self) -> int:
        """Begin a stream again, from the system's entropy.

        :returns: The seed, with which :meth:`manual_seed` begins the same stream.
        """
        found = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(found)
        return found

    def state_dict(self) -> dict[str, Any]:
        """The state, for saving.

        :returns: "state": numpy.ndarray of four uint32.
        """
        return {"state": np.array(self.state.array)}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on where the saved generator was.

        :param saved: As :meth:`state_dict` gives it.
        :raises ValueError: If the state is none.
        """
        state = np.asarray(saved["state"])
        if state.shape != (4,) or state.dtype != _UINT32:
            raise ValueError(
                f"the saved state is {typed(state)}; it must be uint32[4], as "
                "Generator.state_dict() gives"
            )
        assign(self.state, wrap(state.copy()))

    def get_state(self) -> Tensor:
        """The state as bytes, as PyTorch's generators give it.

        :returns: uint8, a copy, for :meth:`set_state`.
        """
        return wrap(self.state_dict()["state"].view(np.uint8))

    def set_state(self, new_state: TensorLike) -> Generator:
        """Go on from a state.

        :param new_state: As :meth:`get_state` gave it.
        :returns: This one.
        :raises ValueError: If it is none.
        """
        array = np.ascontiguousarray(as_tensor(new_state).numpy())
        whole = array.dtype == np.uint8 and array.ndim == 1 and array.size % 4 == 0
        self.load_state_dict({"state": array.view(_UINT32) if whole else array})
        return self

    def clone_state(self) -> Generator:
        """Another generator that goes on from where this one is.

        :returns: A generator of its own.
        """
        return Generator().set_state(self.get_state())

    def bits(self, size: Size) -> Tensor:
        """``size`` random uint32; inside ``vmap``, others for each example.

        :param size: How many.
        :returns: uint32, of shape (size,).
        """
        draw = self._source()._draw
        return draw(size) if STATE.examples is None else STATE.examples.drawn(draw, size)

    def _source(self) -> Generator:
        """Return the source of draws: in a symbolic program a stream of its own, which begins with
        numbers of this one and which every function advances.
        """
        if STATE.symbolic is not True or is_tracing():  # bodies carry the generator's own
            return self
        found = Generator.__new__(Generator)
        found.state = HOOKS.stream(self)
        return found

    def beginning(self) -> np.ndarray:
        """The first state of another stream, which follows from the numbers drawn so far.

        :returns: Four uint32.
        """
        with switched(symbolic=None, trace=None, examples=None, recording=False):
            words: Any = self._draw(4).array
        return start([int(w) for w in words])

    def noise(self, kind: str, size: Size, dtype: np.dtype) -> Tensor:
        """``size`` random numbers of a kind that ``ops.random.noise`` has.

        :param kind: "unit", "open", "normal" or "exponential".
        :param size: How many.
        :param dtype: A float type.
        :type dtype: dtype
        :returns: Of shape (size,).
        """
        wide = dtypes.float64 if dtype == dtypes.float64 else dtypes.float32
        each = 4 // numbers_per_block(wide)

        source = self._source()

        def draw(size: Size) -> Tensor:
            return source._drawn(Noise(kind, size, wide), each * size)

        drawn = draw(size) if STATE.examples is None else STATE.examples.drawn(draw, size)
        if kind == "unit" and dtype.itemsize < wide.itemsize:
            digits = 11 if dtype == dtypes.float16 else 8  # more would be rounded up to 1
            drawn = floor(drawn * 2.0**digits) * 2.0**-digits
        return cast(drawn, dtype)

    def positions(self, blocks: int, size: Size) -> tuple[Tensor, Tensor]:
        """The state, and the positions behind it of ``size`` elements, which take so many blocks
        each; inside ``vmap``, others for each example.

        :param blocks: How many blocks each element takes.
        :param size: How many elements.
        :returns state, positions: The state before, and a uint32 number for each element.
        """
        source = self._source()
        if is_planning() and source in _DEFAULT:
            return made(Draw(_Before(), 4 * blocks * size), 4), made(
                Arange(0, 1, size, _UINT32), size)
        with HOOKS.lock(source.state.array), LOCK.lock:
            state = copy(source.state)
            _note(source.state, state)

            def draw(size: Size) -> Tensor:
                source._advance(4 * blocks * size)
                return made(Arange(0, 1, size, _UINT32), size)

            examples = STATE.examples
            return state, draw(size) if examples is None else examples.drawn(draw, size)

    def _draw(self, size: Size) -> Tensor:
        return self._drawn(RandomBits(size), size)

    def _advance(self, words: Size) -> None:
        """Let the state be that behind so many words."""
        new, advance = apply(Advance(words), self.state), getattr(self.state, "advance", None)
        if advance is None:
            assign(self.state, new)
        else:
            advance(new)

    def _drawn(self, op: Op, words: Size) -> Tensor:
        if is_known(self.state):
            return apply(op, wrap(self._taken(words)))
        if is_planning() and self in _DEFAULT:
            return made(Draw(op, words), words)
        drawn = apply(op, self.state)
        self._advance(words)
        return drawn

    def _taken(self, words: Any) -> np.ndarray:
        """A copy of the state before a draw, which advances it by so many words."""
        data: Any = self.state.array
        with HOOKS.lock(data), LOCK.lock:  # the numbers are made side by side
            state: np.ndarray = data.copy()
            if DRAWN.get() is not None:
                _note(self.state, wrap(state))
            if STATE.watch is None:  # as ``assign`` of what is neither a view nor recorded
                data[2], data[3] = behind(state, words)
                touch(self.state)
            else:
                assign(self.state, wrap(Advance(words).perform(state)))
        return state


@record
class _Before(Op):
    """The state of a generator before a draw, of which the numbers follow."""

    name = "state"
    work = results(1)
    differentiable = False

    def infer(self, state: Any) -> Any:
        return (4,), _UINT32

    def perform(self, state: np.ndarray) -> np.ndarray:
        return state


@record
class Draw(Op):
    """A draw from the default generator, whenever a plan is run."""

    op: Op
    words: Size
    name = "draw"
    traits = frozenset(("draws", "raises"))  # it is to happen even if its result is unused
    differentiable = False

    def infer(self) -> Any:
        return self.op.infer(None)

    def work(self) -> int:
        return self.op.work(None)  # type: ignore[misc]

    def perform(self) -> np.ndarray:
        return self.op.perform(_of_all()._taken(self.words))

    def stock(self) -> Stock | None:
        """What native code takes the numbers from, if they are so few that more are made ahead."""
        op: Any = self.op
        if type(op) is _Before:
            return None
        (what, width), words = op.ahead(op.size), int(self.words)
        count = -(-words // 4)

        def make() -> tuple[np.ndarray, Any]:
            state = _of_all()._taken(words)
            return op.perform(state), draws_ahead.held(what, state)

        return Stock(_of_all(), op.size, width, count, make) if 0 < count <= MOST_BLOCKS else None


def repeated(*attempts: Callable[[], Any]) -> list[Any]:
    """Run several functions from the same generator state, which is restored afterwards; return
    their results."""
    state: Any = _of_all().state
    with HOOKS.lock(state.array), LOCK.lock, staying():
        before, found = state.array.copy(), []
        for attempt in attempts:
            try:
                found.append(attempt())
            finally:
                state.array[...] = before
                touch(state)
    return found


def is_planning() -> bool:
    """Return whether a plan of an eager call is made, which draws whenever it is run."""
    return getattr(current_trace(), "plans", False)


def _of_all() -> Generator:
    return _DEFAULT[0] if _DEFAULT else default_generator()


@strict
def default_generator() -> Generator:
    """The generator of all draws that name none; it begins at ``config.seed``.

    In a forked process it begins a stream of its own there, which follows from that of the parent
    and from how many processes were forked before: workers get different numbers, and the same
    ones in each run of a seeded program.  ``ag.random.manual_seed`` in a worker begins the stream
    of a seed as everywhere.

    :returns: The same one for each call.
    :see: manual_seed, random.Generator

    >>> ag.random.default_generator() is ag.random.default_generator()
    True
    """
    if not _DEFAULT:
        with LOCK.lock:
            if not _DEFAULT:
                first = Generator()
                first.state = wrap(start(config.seed, LINEAGE.positions))
                _DEFAULT.append(first)
    return _DEFAULT[0]


_DEFAULT: list[Generator] = []


def _begin_again() -> None:
    """Give the default generator of a forked process its own stream."""
    for generator in _DEFAULT:
        state = generator.state
        np.copyto(state.array, start(state.array.tolist(), LINEAGE.positions))
        touch(state)


at_fork(in_child=_begin_again)


@strict
def initial_seed() -> int:
    """The seed with which the default generator began.

    :returns: That of :func:`manual_seed`; without one, a number that is that stream's alone.
    :see: manual_seed, random.default_generator

    >>> g = ag.random.manual_seed(3)
    >>> ag.random.initial_seed()
    3
    """
    return default_generator().initial_seed()


@strict
def manual_seed(seed: int | None = None) -> Generator:
    """Seed the default generator.

    :param seed: Equal seeds give equal streams; without one the system's entropy is used.
    :returns: The default generator.
    :see: random.default_generator, random.Generator, rand, config

    >>> first = ag.random.manual_seed(0), ag.random.uniform(size=2)
    >>> again = ag.random.manual_seed(0), ag.random.uniform(size=2)
    >>> bool((first[1] == again[1]).all())
    True
    """
    return default_generator().manual_seed(seed)
