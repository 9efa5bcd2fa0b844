"""``agnesi.cuda``: what programs ask of it, and that there is none.

Examples
--------
>>> import agnesi as ag
>>> ag.device("cuda" if ag.cuda.is_available() else "cpu")
device(type='cpu')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from agnesi.api.torch.kinds import NAMES as _NAMES
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at, no_attribute
from agnesi.cuda import amp as amp
from agnesi.ops.random.generators import manual_seed


def is_available() -> bool:
    """Return whether there is a GPU that the library can use: there is none.

    :returns: False.
    :see: device

    >>> ag.cuda.is_available()
    False
    """
    return False


def device_count() -> int:
    """How many GPUs there are that the library can use.

    :returns: 0.
    :see: device

    >>> ag.cuda.device_count()
    0
    """
    return 0


def empty_cache() -> None:
    """Give cached memory of GPUs back: there is none.

    :see: keep_memory

    >>> ag.cuda.empty_cache()
    """


def synchronize(device: object = None) -> None:
    """Wait for GPUs: results are there when a call returns.

    :param device: Which one.
    :see: device

    >>> ag.cuda.synchronize()
    """


def manual_seed_all(seed: int) -> None:
    """Seed all generators: there is one, as for :func:`agnesi.manual_seed`.

    :param seed: Where the random numbers begin.
    :see: manual_seed

    >>> ag.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def memory_allocated(device: object = None) -> int:
    """Bytes that tensors on a GPU take.

    :param device: Which one.
    :returns: 0.
    :see: device

    >>> ag.cuda.memory_allocated()
    0
    """
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device: object = None) -> None:
    """Forget the most that tensors on a GPU have taken: there are none.

    :param device: Which one.
    :see: device

    >>> ag.cuda.reset_peak_memory_stats()
    """


def is_bf16_supported() -> bool:
    """Return whether a GPU computes in bfloat16: there is none.

    :returns: False.
    :see: device

    >>> ag.cuda.is_bf16_supported()
    False
    """
    return False


is_initialized = is_bf16_supported


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' generators.

    :returns: Empty.
    :see: random.get_rng_state

    >>> ag.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states: Sequence[Any]) -> None:
    """Set the states of all GPUs' generators: there are none.

    :param new_states: As :func:`get_rng_state_all` gave them.
    :type new_states: list
    :see: random.set_rng_state

    >>> ag.cuda.set_rng_state_all([])
    """


def _type(name: str) -> type:
    """A type of tensors on GPUs, of which there is none: programs name it before they ask."""
    def refuse(cls: type, *data: Any, **options: Any) -> NoReturn:
        raise TypeError(at(f"cuda.{name} is not there: the one device is the processor; write "
                           f"ag.{name}"))

    return type(name, (), {"__new__": refuse, "__module__": __name__,
                           "__doc__": "A type of tensors on GPUs, which has no instances."})


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _NAMES:
            raise no_attribute("module 'agnesi.cuda'", name)
        return globals().setdefault(name, _type(name))


_strictly(__name__)
