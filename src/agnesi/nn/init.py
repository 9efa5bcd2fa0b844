"""Initial values of parameters, written in place."""

from __future__ import annotations

import math

from agnesi.autodiff.recording import no_grad
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.options import NotNegative as _NotNegative
from agnesi.core.tensor import Tensor
from agnesi.nn.initial import calculate_gain as calculate_gain
from agnesi.nn.initial import dirac_ as dirac_
from agnesi.nn.initial import eye_ as eye_
from agnesi.nn.initial import fans as fans
from agnesi.nn.initial import filled as _filled
from agnesi.nn.initial import kaiming_normal_ as kaiming_normal_
from agnesi.nn.initial import kaiming_std as _kaiming_std
from agnesi.nn.initial import orthogonal_ as orthogonal_
from agnesi.nn.initial import sparse_ as sparse_
from agnesi.nn.initial import trunc_normal_ as trunc_normal_
from agnesi.nn.initial import written as _written
from agnesi.nn.initial import xavier_normal_ as xavier_normal_
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.random import normal as _normal
from agnesi.ops.random.random import uniform as _uniform


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0,
             generator: Generator | None = None) -> Tensor:
    """Fill with uniform numbers in [a, b).

    :param tensor: A parameter; it is changed in place, and no gradient notices.
    :param a, b: The ends of the range, of which ``b`` is never drawn.
    :returns: ``tensor`` itself.
    :raises TypeError: If ``tensor`` is no tensor.
    :see: nn.init.constant_, nn.init.normal_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    >>> w = ag.nn.init.uniform_(ag.zeros(100), -1, 1)
    >>> bool((w >= -1).all()), bool((w < 1).all())
    (True, True)
    """
    _written("uniform_", tensor)
    return _filled(tensor, _uniform(tensor.shape, a, b, dtype=tensor.dtype, generator=generator))


def normal_(tensor: Tensor, mean: float = 0.0, std: _NotNegative = 1.0,
            generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers.

    :like: uniform_
    :param mean: The mean.
    :param std: The standard deviation; not negative.
    :type std: float
    :see: nn.init.constant_, nn.init.uniform_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    >>> ag.nn.init.normal_(ag.zeros(3), 5.0, 0.0)
    tensor([5., 5., 5.])
    """
    _written("normal_", tensor)
    return _filled(tensor, _normal(tensor.shape, mean, std, dtype=tensor.dtype,
                                   generator=generator))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    :like: uniform_
    :param val: What each element becomes.
    :see: nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_, nn.init.kaiming_uniform_

    >>> ag.nn.init.constant_(ag.zeros(2), 3)
    tensor([3., 3.])
    """
    _written("constant_", tensor)
    with no_grad():
        tensor.fill_(val)
    return tensor


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    :like: uniform_
    :see: nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_
        nn.init.kaiming_uniform_

    >>> ag.nn.init.zeros_(ag.ones(2))
    tensor([0., 0.])
    """
    _written("zeros_", tensor)
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    :like: uniform_
    :see: nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.xavier_uniform_
        nn.init.kaiming_uniform_

    >>> ag.nn.init.ones_(ag.zeros(2))
    tensor([1., 1.])
    """
    _written("ones_", tensor)
    return constant_(tensor, 1)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0,
                    generator: Generator | None = None) -> Tensor:
    """Glorot's range, for equal variances forwards and backwards (Glorot and Bengio, 2010).

    :param tensor: A parameter; it is changed in place, and no gradient notices.
    :param gain: Factor of the range ``sqrt(6 / (inputs + outputs))``.
    :returns: ``tensor`` itself.
    :raises ValueError: If ``tensor`` has fewer than 2 axes.
    :raises TypeError: If ``tensor`` is no tensor.
    :see: nn.init.constant_, nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_

    >>> w = ag.nn.init.xavier_uniform_(ag.zeros((3, 3)))
    >>> bool((abs(w) <= 1).all())
    True
    """
    _written("xavier_uniform_", tensor)
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in",
                     nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """He's range, for a leaky ReLU of slope ``a`` (He et al., 2015); layers take ``sqrt(5)``.

    :like: xavier_uniform_
    :param a: Slope of the leaky ReLU on its negative side.
    :param mode: Whether values keep their size on the way forward, or gradients on the way back.
    :type mode: {"fan_in", "fan_out"}
    :param nonlinearity: What :func:`calculate_gain` knows.
    :raises ValueError: If ``tensor`` has fewer than 2 axes, or there is no such mode or activation.
    :see: nn.init.kaiming_normal_, nn.init.xavier_uniform_, nn.init.calculate_gain

    >>> w = ag.nn.init.kaiming_uniform_(ag.zeros((3, 6)))
    >>> bool((abs(w) <= 1).all())
    True
    """
    _written("kaiming_uniform_", tensor)
    bound = math.sqrt(3) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator=generator)


#: PyTorch's older names of the functions that write in place.
constant, dirac, eye, orthogonal, sparse = constant_, dirac_, eye_, orthogonal_, sparse_
normal, uniform = normal_, uniform_
kaiming_normal, kaiming_uniform = kaiming_normal_, kaiming_uniform_
xavier_normal, xavier_uniform = xavier_normal_, xavier_uniform_
_calculate_fan_in_and_fan_out = fans

_strictly(__name__)
