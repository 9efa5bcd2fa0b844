"""Random numbers, seeded and counter-based: the same eagerly and compiled, on any thread count.

Every distribution is a function here and a method of ``Generator``.  Both take what the methods of
NumPy's ``Generator`` take, in their order.

Examples
--------
>>> import agnesi as ag
>>> g = ag.manual_seed(0)
>>> a = ag.random.uniform(size=(2, 3))
>>> g = ag.manual_seed(0)
>>> bool((ag.random.uniform(size=(2, 3)) == a).all())
True
>>> ag.random.default_rng(1).normal(10.0, 0.5, size=4).shape
(4,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from agnesi.api.draws.basic import exponential as exponential
from agnesi.api.draws.basic import gumbel as gumbel
from agnesi.api.draws.basic import normal as normal
from agnesi.api.draws.basic import uniform as uniform
from agnesi.api.draws.choices import bytes_ as bytes
from agnesi.api.draws.choices import categorical as categorical
from agnesi.api.draws.choices import integers as integers
from agnesi.api.draws.choices import permuted as permuted
from agnesi.api.draws.counts import binomial as binomial
from agnesi.api.draws.counts import hypergeometric as hypergeometric
from agnesi.api.draws.counts import negative_binomial as negative_binomial
from agnesi.api.draws.counts import poisson as poisson
from agnesi.api.draws.counts import zipf as zipf
from agnesi.api.draws.gamma import beta as beta
from agnesi.api.draws.gamma import chisquare as chisquare
from agnesi.api.draws.gamma import dirichlet as dirichlet
from agnesi.api.draws.gamma import f as f
from agnesi.api.draws.gamma import gamma as gamma
from agnesi.api.draws.gamma import standard_gamma as standard_gamma
from agnesi.api.draws.gamma import standard_t as standard_t
from agnesi.api.draws.methods import method as _method
from agnesi.api.draws.methods import standard as _without
from agnesi.api.draws.mixed import noncentral_chisquare as noncentral_chisquare
from agnesi.api.draws.mixed import noncentral_f as noncentral_f
from agnesi.api.draws.mixed import vonmises as vonmises
from agnesi.api.draws.plain import cauchy as cauchy
from agnesi.api.draws.plain import geometric as geometric
from agnesi.api.draws.plain import laplace as laplace
from agnesi.api.draws.plain import logistic as logistic
from agnesi.api.draws.plain import lognormal as lognormal
from agnesi.api.draws.plain import logseries as logseries
from agnesi.api.draws.plain import pareto as pareto
from agnesi.api.draws.plain import power as power
from agnesi.api.draws.plain import rayleigh as rayleigh
from agnesi.api.draws.plain import rice as rice
from agnesi.api.draws.plain import standard_cauchy as standard_cauchy
from agnesi.api.draws.plain import triangular as triangular
from agnesi.api.draws.plain import truncated_normal as truncated_normal
from agnesi.api.draws.plain import wald as wald
from agnesi.api.draws.plain import weibull as weibull
from agnesi.api.draws.vectors import multinomial as multinomial
from agnesi.api.draws.vectors import multivariate_hypergeometric as multivariate_hypergeometric
from agnesi.api.draws.vectors import multivariate_normal as multivariate_normal
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.public import planned, public
from agnesi.core.support.errors import no_attribute
from agnesi.core.tensor import Tensor
from agnesi.ops.random.generators import Generator as Generator
from agnesi.ops.random.generators import default_generator as default_generator
from agnesi.ops.random.generators import initial_seed as initial_seed
from agnesi.ops.random.generators import manual_seed as manual_seed
from agnesi.ops.random.random import bernoulli as bernoulli
from agnesi.ops.random.random import choice as choice
from agnesi.ops.random.random import dropout_mask as dropout_mask
from agnesi.ops.random.random import permutation as permutation
from agnesi.ops.random.random import randint as randint
from agnesi.ops.random.random import shuffle as shuffle
from agnesi.ops.random.random import standard as _standard
from agnesi.ops.random.random import unit as _unit
from agnesi.ops.random.states import fork_rng as fork_rng
from agnesi.ops.random.states import get_rng_state as get_rng_state
from agnesi.ops.random.states import set_rng_state as set_rng_state

#: NumPy's name for making a generator.
default_rng = Generator


def _shape(sizes: tuple[Any, ...]) -> Any:
    return sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


@planned
@public
def rand(*shape: Any, dtype: DTypeLike = None, generator: Generator | None = None,
         out: Tensor | None = None) -> Tensor:
    """Uniform numbers in [0, 1), shape given size by size, as in NumPy and PyTorch.

    :param *shape: Sizes, as several arguments or one tuple.
    :type *shape: int
    :param dtype: A float type, ``config.default_float`` by default; or a complex one, whose two
        parts are drawn.
    :returns: Of that shape; without sizes one number, of shape ().
    :raises ValueError: If a size is negative.
    :see: randn, randint, random.uniform, manual_seed

    >>> ag.rand(2, 3).shape
    (2, 3)
    """
    return _unit(_shape(shape), dtype, generator)


@planned
@public
def randn(*shape: Any, dtype: DTypeLike = None, generator: Generator | None = None,
          out: Tensor | None = None) -> Tensor:
    """Normal numbers of mean 0 and deviation 1, shape given size by size.

    :like: rand
    :param dtype: A float type, ``config.default_float`` by default; or a complex one, whose two
        parts have the variance 1/2 each.
    :see: rand, random.normal, manual_seed

    >>> ag.randn(2, 3).dtype
    dtype('float32')
    """
    return _standard(_shape(shape), dtype, generator)


# -- methods of generators --------------------------------------------------------------------
_AS_THEY_ARE: tuple[Callable[..., Any], ...] = (
    beta, binomial, bytes, categorical, cauchy, chisquare, dirichlet, exponential, f, gamma,
    geometric, gumbel, hypergeometric, integers, laplace, logistic, lognormal, logseries,
    multinomial, multivariate_hypergeometric, multivariate_normal, negative_binomial,
    noncentral_chisquare, noncentral_f, normal, pareto, permutation, permuted, poisson, power,
    rayleigh, rice, shuffle, standard_cauchy, standard_gamma, standard_t, triangular,
    truncated_normal, uniform, vonmises, wald, weibull, zipf,
)
for _function in _AS_THEY_ARE:
    setattr(Generator, _function.__name__.strip("_"), _method(_function))
for _function in (bernoulli, choice):
    setattr(Generator, _function.__name__, _method(_function, size="shape"))
for _name, _function in (
    ("random", uniform), ("standard_normal", normal), ("standard_exponential", exponential),
):
    setattr(Generator, _name, _without(_function, _name))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_attribute("module 'agnesi.random'", name)


_strictly(__name__)
