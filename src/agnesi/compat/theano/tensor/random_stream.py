"""PyTensor's ``RandomStream``: its distributions, with its order and names of parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from agnesi.compat.theano.tensor.generators import DISTRIBUTIONS, drawn_from
from agnesi.compat.theano.tensor.generators import (
    RandomGeneratorSharedVariable as RandomGeneratorSharedVariable,
)
from agnesi.compat.theano.tensor.generators import RandomGeneratorType as RandomGeneratorType
from agnesi.compat.theano.tensor.generators import random_generator_type as random_generator_type
from agnesi.compat.theano.tensor.generators import rng as rng
from agnesi.compat.theano.tensor.generators import shared_rng as shared_rng
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams
from agnesi.compat.theano.variable import bare, floats, wrapped
from agnesi.core import shapes
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.reduce import sum as sum_
from agnesi.ops.elementwise.explog import expm1, log1p
from agnesi.ops.indexing.index import take
from agnesi.ops.reductions.running import cumsum

#: ``draw(method, size, *params)`` of the streams below.
Draw = Callable[..., Any]


class RandomStream(RandomStreams):
    """The streams of NumPy's old generator in PyTensor's words: the parameters of a distribution
    come first, ``size`` behind them."""

    def __getattr__(self, name: str) -> Any:
        if name not in _SIGNATURES:
            return super().__getattr__(name)
        signature, method = _signature(_SIGNATURES[name]), name

        def drawn(*args: Any, name: str | None = None, dtype: Any = None, **keywords: Any) -> Any:
            bound = signature.bind(*args, **keywords)
            bound.apply_defaults()
            params = dict(bound.arguments)
            made = wrapped(self._of(method, params.pop("size"), *params.values()))
            made = made if dtype is None or made.dtype == dtype else made.astype(dtype)
            if name is not None:
                made.name = name
            return made

        drawn.__name__ = method
        return drawn

    def _of(self, name: str, size: Any, *params: Any) -> Any:
        """A draw of a distribution of PyTensor's."""
        composed = _COMPOSED.get(name)
        if composed is None:
            return RandomStreams.__getattr__(self, _NUMPYS.get(name, name))(size, *params)

        def draw(method: str, size: Any, *given: Any) -> Any:
            return bare(RandomStreams.__getattr__(self, method)(size, *given))

        with floats():
            return composed(draw, bare(size), *map(bare, params))


def _signature(text: str) -> inspect.Signature:
    """Parameters by name and default, ``size`` last."""
    made = []
    words = text.split()
    for word in words if "size=None" in words else (*words, "size=None"):
        name, equals, default = word.partition("=")
        made.append(inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=_DEFAULTS[default] if equals else inspect.Parameter.empty))
    return inspect.Signature(made)


_DEFAULTS = {"None": None, "0": 0.0, "1": 1.0, "True": True}


# -- distributions that are computed of others ------------------------------------------------
def _size(size: Any, *params: Any) -> Any:
    """Sizes of a draw, by default those of the parameters together."""
    return shapes.broadcast((), *(as_tensor(p).shape for p in params)) if size is None else size


def _scaled(method: str, shape: Callable[[Tensor], Tensor] = lambda z: z) -> Callable[..., Any]:
    """``loc + scale * shape(z)``, with ``z`` drawn by a method of NumPy's from what comes first."""

    def made(draw: Draw, size: Any, *params: Any) -> Any:
        *own, loc, scale = params
        return loc + scale * shape(draw(method, _size(size, *params), *own))

    return made


def _invgamma(draw: Draw, size: Any, shape: Any, scale: Any) -> Any:
    return scale / draw("gamma", _size(size, shape, scale), shape)


def _gengamma(draw: Draw, size: Any, alpha: Any, p: Any, lambd: Any) -> Any:
    alpha, p = as_tensor(alpha), as_tensor(p)
    return lambd * draw("gamma", _size(size, alpha, p, lambd), alpha / p) ** (1.0 / p)


def _pareto(draw: Draw, size: Any, b: Any, scale: Any) -> Any:
    return scale * (1.0 + draw("pareto", _size(size, b, scale), b))


def _truncexpon(draw: Draw, size: Any, b: Any, loc: Any, scale: Any) -> Any:
    u = draw("uniform", _size(size, b, loc, scale))
    return loc - scale * log1p(u * expm1(-as_tensor(b)))


def _betabinom(draw: Draw, size: Any, n: Any, a: Any, b: Any) -> Any:
    sizes = _size(size, n, a, b)
    return draw("binomial", sizes, n, draw("beta", sizes, a, b))


def _categorical(draw: Draw, size: Any, p: Any) -> Any:
    """How many edges between things are below a uniform number."""
    p = as_tensor(p)
    u = draw("uniform", p.shape[:-1] if size is None else size)
    edges = cumsum(p, -1)[..., :-1]
    return cast(sum_(u.reshape((*u.shape, 1)) >= edges, -1), as_tensor(0).dtype)


def _permutation(draw: Draw, size: Any, x: Any) -> Any:
    if size is not None:
        raise ValueError(at("permutation has the size of what is brought in another order"))
    x = as_tensor(x)
    if not x.ndim:
        return draw("permutation", (), x)
    return take(x, draw("permutation", (), x.shape[0]), 0)


def _choice(draw: Draw, size: Any, a: Any, replace: Any, p: Any) -> Any:
    return draw("choice", size, a, replace) if p is None else draw("choice", size, a, replace, p)


def _integers(draw: Draw, size: Any, low: Any, high: Any) -> Any:
    return draw("randint", size, *((0, low) if high is None else (low, high)))


_COMPOSED: dict[str, Callable[..., Any]] = {
    "halfnormal": _scaled("standard_normal", abs), "cauchy": _scaled("standard_cauchy"),
    "halfcauchy": _scaled("standard_cauchy", abs), "t": _scaled("standard_t"),
    "invgamma": _invgamma, "gengamma": _gengamma, "pareto": _pareto, "truncexpon": _truncexpon,
    "betabinom": _betabinom, "categorical": _categorical, "permutation": _permutation,
    "choice": _choice, "integers": _integers,
    "bernoulli": lambda draw, size, p: draw("binomial", size, 1, p),
}
#: Those that NumPy calls otherwise.
_NUMPYS = {"nbinom": "negative_binomial"}
#: PyTensor's parameters.
_SIGNATURES = {
    "bernoulli": "p", "beta": "alpha beta", "betabinom": "n a b", "binomial": "n p",
    "categorical": "p", "cauchy": "loc=0 scale=1", "chisquare": "df",
    "choice": "a size=None replace=True p=None", "dirichlet": "alphas", "exponential": "scale=1",
    "gamma": "shape scale=1", "gengamma": "alpha=1 p=1 lambd=1", "geometric": "p",
    "gumbel": "loc scale=1", "halfcauchy": "loc=0 scale=1", "halfnormal": "loc=0 scale=1",
    "hypergeometric": "ngood nbad nsample", "integers": "low high=None",
    "invgamma": "shape scale=1", "laplace": "loc=0 scale=1", "logistic": "loc=0 scale=1",
    "lognormal": "mean=0 sigma=1", "multinomial": "n p", "multivariate_normal": "mean cov",
    "nbinom": "n p", "negative_binomial": "n p", "normal": "loc=0 scale=1", "pareto": "b scale=1",
    "permutation": "x", "poisson": "lam=1", "standard_normal": "", "t": "df loc=0 scale=1",
    "triangular": "left mode right", "truncexpon": "b loc=0 scale=1", "uniform": "low=0 high=1",
    "vonmises": "mu kappa", "wald": "mean=1 scale=1", "weibull": "shape",
}

#: The stream of draws that name none.
_shared_stream = functools.cache(RandomStream)


def __getattr__(name: str) -> Any:
    """A distribution as a function, which draws from a stream that all such draws share."""
    if name not in _SIGNATURES:
        raise AttributeError(name)
    return DISTRIBUTIONS[name]


def _distribution(name: str) -> Callable[..., Any]:
    """A distribution that draws from a generator where it is given one, else from that stream."""
    def drawn(*args: Any, rng: Any = None, return_next_rng: bool = False, dtype: Any = None,
              **keywords: Any) -> Any:
        if rng is None:
            return getattr(_shared_stream(), name)(*args, dtype=dtype, **keywords)
        label = keywords.pop("name", None)
        bound = _signature(_SIGNATURES[name]).bind(*args, **keywords)
        bound.apply_defaults()
        params = dict(bound.arguments)
        size = params.pop("size")
        compose = _OF_GENERATORS.get(name, _COMPOSED.get(name))
        with floats():
            following, made = drawn_from(rng, compose, _NUMPYS.get(name, name), size,
                                         [*params.values()])
        made = made if dtype is None or made.dtype == dtype else made.astype(dtype)
        if label is not None:
            made.name = label
        return (following, made) if return_next_rng else made

    drawn.__name__ = name
    return drawn


#: What generators draw by themselves.
_OF_GENERATORS: dict[str, Any] = {"integers": lambda draw, size, low, high: draw(
    "integers", size, *((0, low) if high is None else (low, high)))}
DISTRIBUTIONS.update({name: _distribution(name) for name in _SIGNATURES})

_strictly(__name__)
