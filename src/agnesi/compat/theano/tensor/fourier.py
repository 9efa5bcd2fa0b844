"""``theano.tensor.fourier``: the transform along one axis."""

from __future__ import annotations

from typing import Any

from agnesi.api import fft as _ours
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.tensor.elementwise import get_scalar_constant_value
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at
from agnesi.core.value_sizes import size_of


class Fourier:
    """``Fourier()(a, n, axis)``: the discrete transform of ``a`` along an axis, the last by
    default, which is cut or padded with zeros to ``n`` elements; always complex128."""

    def __call__(self, a: Any, n: Any = None, axis: Any = None) -> Variable:
        x = as_tensor_variable(a)
        if x.ndim < 1:
            raise TypeError(at("Fourier: the input must be an array, not a scalar"))
        for name, given in (("axis", axis), ("n", n)):
            if given is not None and (as_tensor_variable(given).ndim
                                      or "int" not in as_tensor_variable(given).dtype):
                raise TypeError(at(f"Fourier: {name} must be an integer, not {given}"))
        place = x.ndim - 1 if axis is None else int(get_scalar_constant_value(axis))
        if not 0 <= place < x.ndim:
            raise TypeError(at(f"Fourier: axis must be from 0 to {x.ndim - 1}, not {place}"))
        size = None if n is None else size_of(bare(as_tensor_variable(n)), "n")
        if isinstance(size, int) and size < 1:
            raise TypeError(at(f"Fourier: n must be positive, not {size}"))
        return wrapped(_ours.fft(x.astype("complex128")._value, size, place))


fft = Fourier()
_strictly(__name__)
