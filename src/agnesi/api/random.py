"""Random numbers, seeded and counter-based: the same eagerly and compiled, on any thread count.

Examples
--------
>>> import agnesi as ag
>>> g = ag.manual_seed(0)
>>> a = ag.random.uniform((2, 3))
>>> g = ag.manual_seed(0)
>>> bool((ag.random.uniform((2, 3)) == a).all())
True
"""

from __future__ import annotations

from typing import Any

from agnesi.core.public import public
from agnesi.core.tensor import Tensor
from agnesi.ops.random import Generator as Generator
from agnesi.ops.random import bernoulli as bernoulli
from agnesi.ops.random import choice as choice
from agnesi.ops.random import default_generator as default_generator
from agnesi.ops.random import dropout_mask as dropout_mask
from agnesi.ops.random import exponential as exponential
from agnesi.ops.random import gumbel as gumbel
from agnesi.ops.random import manual_seed as manual_seed
from agnesi.ops.random import normal as normal
from agnesi.ops.random import permutation as permutation
from agnesi.ops.random import randint as randint
from agnesi.ops.random import shuffle as shuffle
from agnesi.ops.random import uniform as uniform


def _shape(sizes: tuple[Any, ...]) -> Any:
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


@public
def rand(*shape: Any, dtype: Any = None, generator: Generator | None = None,
         out: Tensor | None = None) -> Tensor:
    """Uniform numbers in [0, 1), shape given size by size, as in NumPy and PyTorch.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.rand(2, 3).shape
    (2, 3)
    """
    return uniform(_shape(shape), dtype=dtype, generator=generator)


@public
def randn(*shape: Any, dtype: Any = None, generator: Generator | None = None,
          out: Tensor | None = None) -> Tensor:
    """Normal numbers of mean 0 and deviation 1, shape given size by size.

    Examples
    --------
    >>> import agnesi as ag
    >>> ag.randn(2, 3).dtype
    dtype('float32')
    """
    return normal(_shape(shape), dtype=dtype, generator=generator)
