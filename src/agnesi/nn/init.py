"""Initial values of parameters, written in place."""

from __future__ import annotations

import math
from typing import Any

from agnesi.autodiff.recording import no_grad
from agnesi.core.errors import at
from agnesi.core.exports import shown as _shown
from agnesi.core.op import typed
from agnesi.core.tensor import Tensor
from agnesi.ops.generators import Generator
from agnesi.ops.random import normal, uniform


def _written(name: str, t: Any) -> None:
    """Refuse what is no tensor with a value, as a layer is none."""
    if not isinstance(t, Tensor):
        told = "; give its weight" if hasattr(t, "weight") else ""
        raise TypeError(at(f"nn.init.{name} fills a tensor, not {typed(t)}{told}"))


def fans(t: Tensor) -> tuple[int, int]:
    """How many inputs an output depends on, and how many outputs an input reaches.

    Parameters
    ----------
    t : Tensor
        A weight, of shape (outputs, inputs, ...).

    Returns
    -------
    inputs, outputs : int
        Each times the number of taps, which the further axes make.

    Raises
    ------
    ValueError
        If ``t`` has fewer than 2 axes.

    See Also
    --------
    nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.init.fans(ag.zeros((8, 3, 5, 5)))
    (75, 200)
    """
    if t.ndim < 2:
        raise ValueError(at(f"{typed(t)} has no inputs and outputs: it needs 2 axes or more"))
    taps = math.prod(t.shape[2:])
    return t.shape[1] * taps, t.shape[0] * taps


def _filled(t: Tensor, value: Tensor) -> Tensor:
    with no_grad():
        t.copy_(value)
    return t


def uniform_(t: Tensor, low: float = 0.0, high: float = 1.0, *,
             generator: Generator | None = None) -> Tensor:
    """Fill with uniform numbers in [low, high).

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.
    low, high : float
        The ends of the range, of which ``high`` is never drawn.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.constant_, nn.init.normal_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.nn.init.uniform_(ag.zeros(100), -1, 1)
    >>> bool((w >= -1).all()), bool((w < 1).all())
    (True, True)
    """
    _written("uniform_", t)
    return _filled(t, uniform(t.shape, low, high, dtype=t.dtype, generator=generator))


def normal_(t: Tensor, mean: float = 0.0, std: float = 1.0, *,
            generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers.

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.
    mean : float
        The mean.
    std : float
        The standard deviation; not negative.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.constant_, nn.init.uniform_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.init.normal_(ag.zeros(3), 5.0, 0.0)
    tensor([5., 5., 5.])
    """
    _written("normal_", t)
    return _filled(t, normal(t.shape, mean, std, dtype=t.dtype, generator=generator))


def constant_(t: Tensor, value: float) -> Tensor:
    """Fill with one number.

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.
    value : float
        What each element becomes.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.init.constant_(ag.zeros(2), 3)
    tensor([3., 3.])
    """
    _written("constant_", t)
    with no_grad():
        t.fill_(value)
    return t


def zeros_(t: Tensor) -> Tensor:
    """Fill with zeros.

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_
    nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.init.zeros_(ag.ones(2))
    tensor([0., 0.])
    """
    return constant_(t, 0)


def ones_(t: Tensor) -> Tensor:
    """Fill with ones.

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_
    nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.nn.init.ones_(ag.zeros(2))
    tensor([1., 1.])
    """
    return constant_(t, 1)


def xavier_uniform_(t: Tensor, gain: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Glorot's range: variances stay the same forwards and backwards on average.

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.
    gain : float
        Factor of the range ``sqrt(6 / (inputs + outputs))``.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    ValueError
        If ``t`` has fewer than 2 axes.
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.nn.init.xavier_uniform_(ag.zeros((3, 3)))
    >>> bool((abs(w) <= 1).all())
    True
    """
    _written("xavier_uniform_", t)
    bound = gain * math.sqrt(6 / sum(fans(t)))
    return uniform_(t, -bound, bound, generator=generator)


def kaiming_uniform_(t: Tensor, a: float = 0.0, *, generator: Generator | None = None) -> Tensor:
    """He's range, for a leaky ReLU of slope ``a``; layers take ``a = sqrt(5)``, as in PyTorch.

    Parameters
    ----------
    t : Tensor
        A parameter; it is changed in place, and no gradient notices.
    a : float
        Slope of the leaky ReLU on its negative side; the range is ``sqrt(6 / ((1 + a**2) *
        inputs))``.
    generator : Generator, optional
        Where the random numbers come from; by default :func:`agnesi.random.default_generator`.

    Returns
    -------
    Tensor
        ``t`` itself.

    Raises
    ------
    ValueError
        If ``t`` has fewer than 2 axes.
    TypeError
        If ``t`` is no tensor.

    See Also
    --------
    nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_

    Examples
    --------
    >>> import agnesi as ag
    >>> w = ag.nn.init.kaiming_uniform_(ag.zeros((3, 6)))
    >>> bool((abs(w) <= 1).all())
    True
    """
    _written("kaiming_uniform_", t)
    bound = math.sqrt(6 / ((1 + a * a) * fans(t)[0]))
    return uniform_(t, -bound, bound, generator=generator)


def __dir__() -> list[str]:
    return _shown(__name__)
