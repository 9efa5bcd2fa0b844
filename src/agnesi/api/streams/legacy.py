"""``RandomStreams``: NumPy's own draws in symbolic graphs.

Every variable has a state of its own, that of a ``numpy.random.RandomState``, as a shared vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from agnesi.api.streams.common import RandomVariable, StreamState, sizes_in
from agnesi.api.streams.distributions import FLOATS, INTEGERS, KINDS, method
from agnesi.api.streams.numpy_generators import drawn, packed, unpacked
from agnesi.api.streams.simple import Simple
from agnesi.core import shapes
from agnesi.core.dispatch import apply_many
from agnesi.core.ir.calls.mersenne import METHODS, drawing
from agnesi.core.ir.dims import Dim, is_static, product
from agnesi.core.ir.foreign import Call
from agnesi.core.op import Op
from agnesi.core.parameter_types import DTypeLike, ShapeLike, TensorLike
from agnesi.core.support import dtypes, tree
from agnesi.core.support.config import STATE
from agnesi.core.support.errors import at
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.creation import checked_sizes, constant
from agnesi.ops.base.ensure import ensured_by
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.elementwise.explog import exp
from agnesi.ops.indexing.index import take
from agnesi.ops.reductions.running import cumsum
from agnesi.ops.sorting.sort import searchsorted


class StateVariable(StreamState):
    """A shared variable whose value is a ``numpy.random.RandomState``."""

    __slots__ = ()

    def get_value(self, borrow: bool = False) -> Any:
        """The generator, as a copy: go on drawing with it, or give it to ``set_value``."""
        return unpacked(super().get_value(borrow))

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Go on from the state of a generator, which is not changed itself."""
        if not isinstance(value, np.random.RandomState):
            raise TypeError(
                at(f"the state is a numpy.random.RandomState, not {type(value).__name__}")
            )
        super().set_value(packed(value))


#: How far the sum of chances may be from 1: NumPy's bound.
_CLOSE = float(np.sqrt(np.finfo(np.float64).eps))


def _permutations(generator: Any, sizes: Any, n: int) -> Any:
    rows = [generator.permutation(n) for _ in range(math.prod(sizes))]
    return np.reshape(rows, (*sizes, n))


#: Methods that are not called with the operands and ``size=``.
_CALLS: dict[str, Callable[..., Any]] = {
    "permutation": _permutations,
    "bytes": lambda g, sizes: np.frombuffer(g.bytes(*sizes), np.uint8),
    "choice": lambda g, sizes, a, replace, p=None: g.choice(a, sizes, bool(replace), p),
}


def _exact(parameter: Any) -> Tensor:
    """A parameter as a tensor; Python's numbers keep all their digits."""
    numbers = isinstance(parameter, (float, list, tuple)) and not any(
        isinstance(x, Tensor) for x in tree.leaves(parameter))
    if not numbers:
        return as_tensor(parameter)
    value = np.asarray(parameter)
    return constant(value, value.dtype)


def _known_trials(method: str, params: tuple[Any, ...]) -> int:
    """Trials of binomial numbers that are no operand, since their number is known."""
    if method != "binomial" or not isinstance(params[0], (int, np.integer)):
        return 0
    return int(params[0]) if 0 < params[0] < 2**63 else 0


def _own(method: str) -> np.dtype:
    """What NumPy draws."""
    return dtypes.as_dtype(KINDS.get(method, "float64"))


def _as_compiled(method: str, sizes: Any, params: tuple[Tensor, ...], each: Any
                 ) -> tuple[Tensor, ...]:
    """Parameters of the type and shape that our code takes."""
    kinds = METHODS[method][-len(params):] if params else ()
    fitted = (cast(p, kind) if p.dtype.kind in ("iu" if each and kind.kind == "i" else "iuf")
              else p for p, kind in zip(params, kinds, strict=True))
    return tuple(broadcast_to(p, sizes) if sizes is not None and not each
                 and _widens(p.shape, sizes) else p for p in fitted)


def _chances(p: Tensor, n: Any) -> Tensor:
    """The chances of ``n`` things in float64, if they are some."""
    p = cast(p, dtypes.float64)
    if p.ndim != 1:
        raise ValueError(at(f"choice: p must be a vector, not {p.dtype}{list(p.shape)}"))
    for holds, message in ((n == p.shape[0], "a and p must have same size"),
                           ((p >= 0.0).all(), "probabilities are not non-negative"),
                           (abs(p.sum() - 1.0) <= _CLOSE, "probabilities do not sum to 1")):
        p = ensured_by("choice", p, as_tensor(holds), message)
    return p


def _widens(shape: Any, sizes: Any) -> bool:
    """Return whether parameters of a shape are known to be repeated for a draw of these sizes."""
    return (0 < len(shape) <= len(sizes) and is_static((*shape, *sizes)) and shape != sizes
            and all(m in (1, n) for m, n in zip(reversed(shape), reversed(sizes), strict=False)))


@record
class NumpyDraw(Op):
    """The state after a draw of NumPy's, and the draw."""

    method: str
    sizes: tuple[Any, ...] | None
    #: Shape of one draw.
    each: tuple[Any, ...]
    dtype: np.dtype
    #: Of binomial numbers with a known number of trials: that, which is no operand then.
    trials: int = 0
    name = "numpy_draw"
    outputs = 2
    keep_inputs = ()
    no_rule = ("draws of NumPy's have no derivative to their parameters: scale and shift a "
               "standard draw, or keep gradients out with ag.stop_gradient")

    def infer(self, state: Any, *params: Any) -> Any:
        outer = self.sizes
        if outer is None:
            outer = shapes.broadcast((), *(p.shape for p in params))
        return (state.shape, state.dtype), ((*outer, *self.each), self.dtype)

    def foreign(self, state: Any, *params: Any) -> Call | None:
        _, (shape, _) = self.infer(state, *params)
        return drawing(self.method, shape, self.each, self.trials, params)

    def perform(self, state: np.ndarray, *params: np.ndarray) -> tuple[Any, ...]:
        given = [p.item() if p.ndim == 0 else p for p in params]
        if self.trials:
            given.insert(0, self.trials)
        try:
            after, found = drawn(state, lambda g: self._drawn(g, given))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.method}: {error}") from None
        return after, np.asarray(found, self.dtype)

    def _drawn(self, generator: np.random.RandomState, given: list[Any]) -> Any:
        if self.method in _CALLS:
            return _CALLS[self.method](generator, self.sizes, *given)
        return getattr(generator, self.method)(*given, size=self.sizes)


class RandomStreams(Simple):
    """Random variables of symbolic graphs, drawn as NumPy draws them.

    Each variable has a ``numpy.random.RandomState`` of its own, ``rng``, seeded from the seed of
    the streams.  Every method takes the shape first and then NumPy's parameters; results are
    float64 or int64.  A call of a compiled function draws once and advances the states.

    :param seed: Equal seeds give equal streams.
    :see: symbolic.MRG_RandomStreams, random.Generator

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> streams = T.RandomStreams(seed=234)
    >>> f = ag.function([], streams.uniform((2, 2)))
    >>> bool((f() == f()).any())
    False
    """

    if TYPE_CHECKING:  # the methods of the tables below

        def __getattr__(self, name: str) -> Callable[..., RandomVariable]: ...

    def __init__(self, seed: int | None = None) -> None:
        super().__init__()
        self.default_instance_seed = seed
        self._seeds = np.random.RandomState(seed)

    def seed(self, seed: int | None = None) -> None:
        """Restart all streams, from a seed or from that of the start.

        :param seed: A seed of NumPy's; that of the start by default.
        """
        self._seeds = np.random.RandomState(self.default_instance_seed if seed is None else seed)
        self.begin_anew()

    def _packed(self) -> np.ndarray:
        return packed(np.random.RandomState(int(self._seeds.randint(2**30))))

    def gen(self, method: str, size: ShapeLike, params: tuple[Any, ...] = (), *,
            each: tuple[Any, ...] = (), dtype: DTypeLike = None) -> RandomVariable:
        """A variable that a method of ``RandomState`` draws.

        :param method: Its name.
        :param size: Shape of the result without that of one draw.
        :type size: int, Dim, tuple or None
        :param params: What the method takes first; they may be symbolic.
        :type params: tuple of array_like
        :param each: Shape of one draw.
        :type each: tuple
        :param dtype: That of the result; by default what NumPy draws.
        :returns: Its numbers are other ones in each call of a function.

        >>> import agnesi as ag
        >>> from agnesi import symbolic as T
        >>> ag.function([], T.RandomStreams(1).gen("standard_cauchy", 3))().shape
        (3,)
        """
        kind = _own(method) if dtype is None else dtypes.as_dtype(dtype)
        sizes, trials = sizes_in(size), _known_trials(method, params)
        operands = tuple(map(_exact, params[1:] if trials else params))
        if STATE.examples is not None:
            return self._for_examples(method, sizes, trials, operands, each, kind)
        state: Any = self.state(self._packed, StateVariable)
        own = kind
        if method in METHODS:  # our code draws
            own, operands = _own(method), _as_compiled(method, sizes, operands, each)
        new, found = apply_many(NumpyDraw(method, sizes, each, own, trials), state, *operands)
        return self.drawn(cast(found, kind), state, new)

    def _distributed(self, name: str, size: Any, params: tuple[Any, ...], dtype: Any
                    ) -> RandomVariable:
        """A draw from a distribution by name.

        :param name: NumPy's method.
        :param size: Shape of the draw.
        :type size: int, Dim, tuple or None
        :param params: The parameters.
        :type params: tuple of array_like
        :param dtype: Type of the draw.
        :type dtype: dtype, optional
        :returns: Its numbers are other ones in each call of a function.
        """
        affine = _AFFINE.get(name)
        if affine is not None and any(isinstance(p, Tensor) and p._requires_grad for p in params):
            return self.moved(affine, size, tuple(map(_exact, params)), dtype)
        return self.gen(name, size, params, dtype=dtype)

    def _for_examples(self, method: str, sizes: Any, trials: int, params: tuple[Tensor, ...],
                      each: Any, dtype: np.dtype) -> RandomVariable:
        """The draws for all examples of ``vmap``, of which the function gets one."""
        outer = shapes.broadcast((), *(p.shape for p in params)) if sizes is None else sizes
        made: list[Any] = []
        whole: tuple[Any, ...] = (trials,) if trials else ()

        def draw(rows: Any, length: Any, *given: Tensor) -> list[Tensor]:
            fitted = (p.reshape((length, *(1,) * (len(outer) - p.ndim + 1), *p.shape[1:]))
                      if r else p for p, r in zip(given, rows, strict=True))
            axis = () if length is None else (length,)
            made.append(self.gen(method, (*axis, *outer), (*whole, *fitted), each=each,
                                 dtype=dtype))
            return made

        (found,) = STATE.examples.drawing(draw, params)
        return self.seen(found, made[0])

    def moved(self, affine: tuple[str, Callable[..., Tensor]], size: ShapeLike,
              params: tuple[Tensor, ...], dtype: DTypeLike) -> RandomVariable:
        """A draw of a method by name, moved by parameters to which gradients flow.

        :param affine: The name of a method, and ``move(draw, *params)``.
        :type affine: pair of str and callable
        :param size: Shape of the draw; None for that of the broadcast parameters.
        :type size: int, Dim, tuple or None
        :param params: The parameters.
        :param dtype: Type of the draw.
        :returns: Its numbers are other ones in each call of a function.
        """
        method, move = affine
        sizes = shapes.broadcast((), *(p.shape for p in params)) if size is None else size
        z = self.gen(method, sizes, dtype=dtype)
        return self.seen(move(z, *(cast(p, z.dtype) for p in params)), z)

    def multinomial(self, size: ShapeLike | None = None, n: int = 1, pvals: TensorLike = (0.5, 0.5),
                    dtype: DTypeLike = None) -> RandomVariable:
        """How often each thing comes up in ``n`` trials of chances ``pvals``.

        :like: RandomStreams.gen
        :param size: Shape of the draw.
        :type size: int, Dim or tuple, optional
        :param n: Number of trials.
        :param pvals: The chances, a vector.
        """
        return self._vectors("multinomial", size, (n, pvals), pvals, dtype=dtype)

    def _vectors(self, method: str, size: Any, params: tuple[Any, ...], like: Any,
                 **how: Any) -> RandomVariable:
        each = as_tensor(like).shape[-1:]
        return self.gen(method, () if size is None else size, params, each=each, **how)

    def choice(self, size: ShapeLike | None = None, a: TensorLike = 2, replace: bool = True,
               p: TensorLike | None = None, dtype: DTypeLike = None) -> RandomVariable:
        """Numbers below ``a``, or elements of a vector.

        :like: RandomStreams.multinomial
        :param a: How many numbers, or the vector.
        :type a: int or array_like
        :param replace: Whether the same may be drawn again.
        :param p: A chance for each.
        :param dtype: That of the result; by default that of ``a``.
        """
        a = as_tensor(a)
        size = () if size is None else size
        kind = a.dtype if dtype is None else dtypes.as_dtype(dtype)
        if isinstance(replace, Tensor) or not (replace or p is None):
            params = (a, replace) if p is None else (a, replace, p)
            return self.gen("choice", size, params, dtype=kind)
        n = a.shape[0] if a.ndim else a
        place, drawn = self._places(size, n, replace, p)
        return self.seen(cast(place if not a.ndim else take(a, place), kind), drawn)

    def _places(self, size: Any, n: Any, replace: bool, p: Any) -> tuple[Any, RandomVariable]:
        """Numbers below ``n``, as ``RandomState.choice`` draws them, and the draw itself."""
        if p is not None:
            u = self.gen("random_sample", size)
            sums = cumsum(_chances(_exact(p), n))
            return searchsorted(sums / sums[-1], u, side="right"), u
        if replace:
            found = self.gen("randint", size, (0, n))
            return found, found
        order, sizes = self.permutation((), n), checked_sizes(size)
        few = ensured_by("choice", order, as_tensor(n >= product(sizes)), "cannot take a larger "
                         "sample than population when replace is False")
        return few[: product(sizes)].reshape(sizes), order

    def permutation(self, size: ShapeLike | None = None, n: int | Dim = 1,
                    dtype: DTypeLike = None) -> RandomVariable:
        """The numbers below ``n`` in random order, once for each place of ``size``.

        :like: RandomStreams.multinomial
        :param n: How many numbers.
        :type n: int, Dim or Tensor
        """
        return self.gen("permutation", () if size is None else size, (n,), each=sizes_in(n) or (),
                        dtype=dtype)

    def bytes(self, length: ShapeLike) -> RandomVariable:
        """Random bytes, as small integers.

        :param length: How many.
        :type length: int, Dim or Tensor
        :returns: A vector of uint8; its numbers are other ones in each call of a function.
        """
        return self.gen("bytes", length, dtype="uint8")


#: Draws that are moved and scaled ones of another method, through which gradients flow.
_AFFINE: dict[str, tuple[str, Callable[..., Tensor]]] = {
    "normal": ("standard_normal", lambda z, avg, std: avg + std * z),
    "uniform": ("random_sample", lambda z, low, high: low + (high - low) * z),
    "exponential": ("standard_exponential", lambda z, scale: scale * z),
    "gumbel": ("gumbel", lambda z, loc, scale: loc + scale * z),
    "laplace": ("laplace", lambda z, loc, scale: loc + scale * z),
    "logistic": ("logistic", lambda z, loc, scale: loc + scale * z),
    "lognormal": ("standard_normal", lambda z, mean, sigma: exp(mean + sigma * z)),
    "rayleigh": ("rayleigh", lambda z, scale: scale * z),
}
for _name, _params in {**FLOATS, **INTEGERS}.items():
    setattr(RandomStreams, _name, method(_name, _params))
