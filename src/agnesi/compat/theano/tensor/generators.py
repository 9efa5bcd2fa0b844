"""NumPy's generators as shared variables, as PyTensor's programs have them: ``normal(rng=rng)``.

The state of a PCG64 is a vector of six numbers; a draw gives the next state beside its numbers, and
those are NumPy's own.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.api.symbolic import variable
from agnesi.compat.theano.tensor.creation import _shape
from agnesi.compat.theano.variable import (
    RandomStateSharedVariable,
    Variable,
    bare,
    made_of,
    wrapped,
)
from agnesi.compiler.shared import shared
from agnesi.core import shapes
from agnesi.core.dispatch import apply_many
from agnesi.core.op import Op
from agnesi.core.support import dtypes
from agnesi.core.support.config import config
from agnesi.core.support.errors import at, typed
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.core.value_sizes import size_of
from agnesi.ops.base.convert import as_tensor
from agnesi.ops.base.creation import checked_sizes

_WORD = (1 << 64) - 1  # the bits of a word
#: How many numbers a state is.
_WORDS = 6
#: What stands for a seed that is not given: None is a seed from the system.
UNSET = object()
#: Results that are whole numbers.
_WHOLE = frozenset(("binomial", "geometric", "hypergeometric", "integers", "multinomial",
                    "negative_binomial", "poisson"))
#: Draws of vectors: the parameter that has their size.
_VECTORS = {"dirichlet": 0, "multinomial": 1, "multivariate_normal": 0}
#: Methods of NumPy's generators that take their size in another way.
_CALLS: dict[str, Callable[..., Any]] = {
    "permutation": lambda generator, size, n: generator.permutation(int(n)),
    "choice": lambda generator, size, a, replace, *p: generator.choice(
        a if a.ndim else int(a), size, bool(replace), *p),
}
#: NumPy's generators have other names for these.
_RENAMED = {"randint": "integers"}


def words_of(generator: np.random.Generator) -> np.ndarray:
    """The state of a generator as six numbers."""
    found: Any = generator.bit_generator.state
    if found["bit_generator"] != "PCG64":
        raise TypeError(at(f"a shared generator is a PCG64, as np.random.default_rng(seed) makes "
                           f"one, not {found['bit_generator']}"))
    numbers = [found["state"]["state"], found["state"]["inc"]]
    return np.array([*(w for n in numbers for w in (n & _WORD, n >> 64)),
                     found["has_uint32"], found["uinteger"]], np.uint64)


def generator_of(words: np.ndarray) -> np.random.Generator:
    """A generator with the state in six numbers."""
    low, high, inc_low, inc_high, has, rest = map(int, words)
    made = np.random.PCG64()
    made.state = {"bit_generator": "PCG64", "has_uint32": has, "uinteger": rest,
                  "state": {"state": low | high << 64, "inc": inc_low | inc_high << 64}}
    return np.random.Generator(made)


@record
class Draw(Op):
    """The next state of a generator, and what a method of it draws."""

    method: str
    shape: tuple[Any, ...]
    size: tuple[Any, ...]
    dtype: np.dtype
    name = "draw"
    outputs = 2
    differentiable = False
    keep_inputs = ()

    def infer(self, state: Any, *params: Any) -> Any:
        return (state.shape, state.dtype), (self.shape, self.dtype)

    def perform(self, state: np.ndarray, *params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        generator = generator_of(state)
        draw = _CALLS.get(self.method)
        size = tuple(map(int, self.size))
        found = (getattr(generator, self.method)(*params, size=size) if draw is None else
                 draw(generator, size, *params))
        return words_of(generator), np.asarray(found).astype(self.dtype)


@record
class Beside(Op):
    """A state, and what was computed from a draw: one operation gives both."""

    name = "draw_beside"
    outputs = 2
    keep_inputs = ()

    def infer(self, state: Any, x: Any) -> Any:
        return (state.shape, state.dtype), (x.shape, x.dtype)

    def perform(self, state: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return state.copy(), x.copy()

    def vjp(self, g: Any, y: Any, state: Tensor, x: Tensor) -> tuple[Any, ...]:
        return None, g[1]

    def jvp(self, ts: Any, y: Any, state: Tensor, x: Tensor) -> tuple[Any, ...]:
        return None, ts[1]


class RandomGeneratorType:
    """The type of generators; calling it makes an input."""

    def __call__(self, name: str | None = None) -> GeneratorVariable:
        """An input whose value is one of NumPy's generators."""
        made: Any = made_of(GeneratorVariable, variable(name, "uint64", (_WORDS,)))
        return made

    make_variable = __call__

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """The value, if it is a generator; TypeError if not."""
        if not isinstance(value, np.random.Generator):
            raise TypeError(at(f"{typed(value)} is no generator of random numbers; "
                               "np.random.default_rng(seed) makes one"))
        return value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, RandomGeneratorType)

    def __hash__(self) -> int:
        return hash(RandomGeneratorType)

    def __repr__(self) -> str:
        return "RandomGeneratorType"


random_generator_type = RandomGeneratorType()


class Generator:
    """Distributions as methods, which give the next generator and the draw."""

    __slots__ = ()
    tensor: Any

    def __reduce__(self) -> Any:
        return made_of, (type(self), self.tensor)

    def __getattr__(self, name: str) -> Any:
        if name == "type":
            return random_generator_type
        if name not in DISTRIBUTIONS:
            return super().__getattr__(name)  # type: ignore[misc]
        return functools.partial(self._drawn, DISTRIBUTIONS[name])

    def _drawn(self, distribution: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        if getattr(self.tag, "used", False):
            warnings.warn(f"{self!r} has been drawn from before: both draws are of one state; draw "
                          "from the generator that the first one gave", UserWarning,
                          stacklevel=2)
        self.tag.used = True
        return distribution(*args, rng=self, return_next_rng=True, **keywords)


class GeneratorVariable(Generator, Variable):
    """A generator that is an input, or the one behind a draw."""

    __slots__ = ()


class RandomGeneratorSharedVariable(Generator, RandomStateSharedVariable):
    """A generator that lasts between calls; its value is one of NumPy's."""

    __slots__ = ()

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """A generator in the state that this one is in."""
        return generator_of(self.tensor.get_value())

    def set_value(self, value: Any = None, borrow: bool = False, *, seed: Any = UNSET) -> None:
        """Take the state of a generator, or of a new one of some seed."""
        self.tensor.set_value(words_of(_generator("set_value", value, seed)))


def _generator(who: str, value: Any, seed: Any) -> Any:
    """A generator that is given, or one of a seed."""
    if (value is None) == (seed is UNSET):
        raise ValueError(at(f"{who} takes a generator or a seed, one of both"))
    return np.random.default_rng(seed) if value is None else random_generator_type.filter(value)


def generator_like(model: Any, x: Tensor) -> Variable:
    """The variable of a tensor that is a generator where another variable is one."""
    return made_of(GeneratorVariable, x) if isinstance(model, Generator) else wrapped(x)


def rng(name: str | None = None) -> GeneratorVariable:
    """A generator that is an input of functions: ``next_rng, x = rng().normal()``.

    :param name:
    :returns:
    """
    return random_generator_type(name)


def shared_rng(value: np.random.Generator | None = None, *, seed: Any = UNSET,
               name: str | None = None, borrow: bool = False) -> Any:
    """A generator as a shared variable.

    :param value:
    :type value: numpy.random.Generator, optional
    :param seed: That of a new generator, in place of ``value``.
    :type seed: int or None, optional
    :param name:
    :returns:
    :rtype: RandomGeneratorSharedVariable
    :raises ValueError: If there are both or none of ``value`` and ``seed``.
    """
    return shared_generator(_generator("shared_rng", value, seed), name)


#: The distributions by name, which take ``rng``.
DISTRIBUTIONS: dict[str, Callable[..., Any]] = {}


def shared_generator(value: np.random.Generator, name: str | None = None) -> Any:
    """A shared variable that a generator is the value of."""
    x = shared(words_of(value), name)
    return made_of(RandomGeneratorSharedVariable, x)


def drawn_from(rng: Any, compose: Callable[..., Any] | None, method: str, size: Any,
               params: Sequence[Any]) -> tuple[Any, Any]:
    """The next state of a generator, and a draw of a distribution.

    :param compose: What computes it of others' draws, ``compose(draw, size, *params)``.
    """
    if isinstance(rng, np.random.Generator):
        rng = shared_generator(rng)
    if not isinstance(rng, Variable) or rng.dtype != "uint64" or rng.ndim != 1:
        raise TypeError(at("rng is a shared generator, shared(np.random.default_rng(seed)), or the "
                           f"one behind a draw, not {typed(rng)}"))
    states = [bare(rng)]

    def draw(name: str, size: Any, *given: Any) -> Any:
        state, found = _draw(states[-1], _RENAMED.get(name, name), size, given)
        states.append(state)
        return found

    size, given = None if size is None else bare(_shape(size)), [bare(p) for p in params]
    found = draw(method, size, *given) if compose is None else compose(draw, size, *given)
    state = states[-1]
    if compose is not None:
        state, found = apply_many(Beside(), state, as_tensor(found))
    return made_of(GeneratorVariable, state), made_of(Variable, found)


def _draw(state: Tensor, method: str, size: Any, params: Sequence[Any]) -> tuple[Tensor, ...]:
    """The next state, and the draw of a method of NumPy's generators."""
    xs = [as_tensor(p) for p in params]
    if method == "permutation":
        return apply_many(Draw(method, (size_of(xs[0]),), (), dtypes.int64), state, *xs)
    place = _VECTORS.get(method)
    event = () if place is None else tuple(xs[place].shape[-1:])
    if size is not None:
        size = checked_sizes(size)
    elif method == "choice":
        size = ()
    elif place is None:
        size = shapes.broadcast((), *(x.shape for x in xs))
    else:
        size = tuple(xs[place].shape[:-1])
    dtype = dtypes.int64 if method in _WHOLE else np.dtype(config.symbolic_float)
    if method == "choice":
        dtype = xs[0].dtype
    return apply_many(Draw(method, (*size, *event), size, dtype), state, *xs)
