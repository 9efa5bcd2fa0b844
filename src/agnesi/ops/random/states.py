"""The state of the default generator in PyTorch's words: taken, given back, kept for a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from agnesi.core.keywords import strict
from agnesi.core.parameter_types import TensorLike
from agnesi.core.tensor import Tensor
from agnesi.ops.random.generators import default_generator


@strict
def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes.

    :returns: uint8, a copy.
    :see: random.set_rng_state, random.fork_rng, random.default_generator

    >>> state = ag.random.get_rng_state()
    >>> first = ag.rand(3)
    >>> ag.random.set_rng_state(state)
    >>> bool((ag.rand(3) == first).all())
    True
    """
    return default_generator().get_state()


@strict
def set_rng_state(new_state: TensorLike) -> None:
    """Let the default generator go on from a state.

    :param new_state: As :func:`get_rng_state` gave it.
    :raises ValueError: If it is none.
    :see: random.get_rng_state

    >>> ag.random.set_rng_state(ag.random.get_rng_state())
    """
    default_generator().set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[object] | None = None, enabled: bool = True, *,
             device_type: str | None = None) -> Iterator[None]:
    """Draw within as one likes: the default generator goes on behind as if nothing was drawn.

    Parameters
    ----------
    devices : iterable, optional
        Taken from PyTorch's calls: there is one generator.
    enabled : bool
        Whether it does so.
    device_type : str, optional
        Taken from PyTorch's calls, as ``devices``.

    Yields
    ------
    None
        Nothing.

    See Also
    --------
    random.get_rng_state, random.manual_seed

    Examples
    --------
    >>> import agnesi as ag
    >>> first = ag.random.manual_seed(0), ag.rand(2)
    >>> g = ag.random.manual_seed(0)
    >>> with ag.random.fork_rng():
    ...     other = ag.rand(5)
    >>> bool((ag.rand(2) == first[1]).all())
    True
    """
    before = default_generator().state_dict()
    try:
        yield
    finally:
        if enabled:
            default_generator().load_state_dict(before)
