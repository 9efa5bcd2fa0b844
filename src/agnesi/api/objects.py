"""Objects and strings as symbolic variables, and what is computed of them: Python between kernels.

Each operation is a callback that takes handles (``compiler/objects.py``) and tensors, and gives a
handle or a tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from agnesi.api.custom.effects import Callback
from agnesi.compiler.objects import ObjectVariable, kept, object_at, strings_of
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strictly
from agnesi.core.op import typed
from agnesi.core.parameter_types import DTypeLike
from agnesi.core.support.dtypes import as_dtype, bool_, int64
from agnesi.core.support.errors import at, user_where
from agnesi.core.tensor import Tensor, symbol
from agnesi.core.transformed import name_of
from agnesi.core.value_sizes import size_of
from agnesi.ops.control.loop import applied

__all__ = ["generic", "strings", "value_of"]


class _Step:
    """A Python function of objects and arrays as one of handles and arrays."""

    def __init__(self, function: Callable[..., Any], places: Sequence[bool], gives: bool) -> None:
        self.function, self.places, self.gives = function, places, gives
        self.__name__ = name_of(function)

    def __call__(self, *arrays: np.ndarray) -> Any:
        values = [object_at(a) if held else a for a, held in zip(arrays, self.places, strict=True)]
        found = self.function(*values)
        return kept(found) if self.gives else found


def _computed(function: Callable[..., Any], args: Sequence[Any], shape: Any = (),
              dtype: Any = None) -> Tensor:
    """Return a function's result for objects and tensors: a tensor of a dtype, or a handle."""
    step = _Step(function, [isinstance(a, ObjectVariable) for a in args], dtype is None)
    xs = [a._handle if isinstance(a, ObjectVariable) else a for a in args]
    kind = int64 if dtype is None else dtype
    return applied(Callback(step, ((tuple(shape), kind),)), *xs)[0]


def _apart(nest: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The variables in a key or in arguments, and what puts values in their place."""
    if isinstance(nest, (Tensor, ObjectVariable)):
        return [nest], lambda values: values[0]
    if isinstance(nest, slice):
        found, build = _apart((nest.start, nest.stop, nest.step))
        return found, lambda values: slice(*build(values))
    if type(nest) in (tuple, list):
        parts = [_apart(v) for v in nest]
        ends = np.cumsum([0, *(len(found) for found, _ in parts)])

        def joined(values: Sequence[Any]) -> Any:
            return type(nest)(build(values[a:b]) for (_, build), a, b in zip(
                parts, ends, ends[1:], strict=False))
        return [v for found, _ in parts for v in found], joined
    return [], lambda values: nest


class Generic(ObjectVariable):
    """Any object: attributes (``o.attr("name")``), items and calls of it are others, ``==`` is a
    symbolic bool."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(at(f"an object has attributes when the function is called: write "
                                f"o.attr({name!r})"), name=name, obj=None)

    def attr(self, name: str) -> Generic:
        """An attribute, or one of an attribute (``"a.b"``)."""
        return Generic(_computed(operator.attrgetter(name), [self]))

    def __getitem__(self, key: Any) -> Generic:
        given, build = _apart(key)
        return Generic(_computed(lambda x, *values: x[_plain(build(values))], [self, *given]))

    def __call__(self, *args: Any, **keywords: Any) -> Generic:
        given, build = _apart([*args, *keywords.values()])
        names = list(keywords)

        def call(function: Any, *values: Any) -> Any:
            every = build(values)
            return function(*every[:len(args)], **dict(zip(names, every[len(args):], strict=True)))
        return Generic(_computed(call, [self, *given]))

    def __eq__(self, other: object) -> Any:
        given, build = _apart(other)
        return _computed(lambda x, *values: np.asarray(bool(x == build(values))), [self, *given],
                         dtype=bool_)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        raise TypeError(at("an object whose length only the call knows cannot be iterated over: "
                           "use o[0], o[1], or call a function with it"))

    def __bool__(self) -> bool:
        raise TypeError(at("an object has no truth before the call: compare it (o == value), and "
                           "use T.switch or T.ifelse"))


class Strings(ObjectVariable):
    """An array of strings or objects with a number of axes.

    ``s[key]`` is one, too; comparisons are symbolic bools; ``s + t`` joins element by element,
    ``s.concatenate(t)`` puts one behind the other, ``s.map_ids(words)`` gives integers.
    """

    __slots__ = ("_shape", "ndim")

    def __init__(self, handle: Tensor, ndim: int) -> None:
        super().__init__(handle)
        self.ndim = ndim
        self._shape: Any = None

    def _accept(self, value: Any, label: str) -> Any:
        return strings_of(value, self.ndim, label)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes, which the call knows."""
        if self._shape is None:
            self._shape = tuple(size_of(_computed(
                lambda x, a=a: np.asarray(x.shape[a]), [self], dtype=int64), "a size of strings")
                for a in range(self.ndim))
        return self._shape

    def __getitem__(self, key: Any) -> Strings:
        given, build = _apart(key)
        zeros = [np.zeros((2,) * v.ndim, v.dtype) for v in given]
        ndim = np.ndim(np.zeros((2,) * self.ndim)[_plain(build(zeros))])
        return Strings(_computed(
            lambda x, *values: np.asarray(x[_plain(build(values))]), [self, *given]), ndim)

    def _compared(self, compare: Callable[[Any, Any], Any], other: Any) -> Tensor:
        if not isinstance(other, (str, bytes, Strings)):
            raise TypeError(at(f"strings are compared with strings, not {typed(other)}"))
        if isinstance(other, Strings):
            wide = self if self.ndim >= other.ndim else other
            return _computed(lambda x, y: np.asarray(compare(x, y), bool), [self, other],
                             wide.shape, bool_)
        return _computed(lambda x: np.asarray(compare(x, other), bool), [self], self.shape, bool_)

    def __eq__(self, other: object) -> Any:
        return self._compared(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, other)

    def __lt__(self, other: Any) -> Tensor:
        return self._compared(operator.lt, other)

    def __le__(self, other: Any) -> Tensor:
        return self._compared(operator.le, other)

    def __gt__(self, other: Any) -> Tensor:
        return self._compared(operator.gt, other)

    def __ge__(self, other: Any) -> Tensor:
        return self._compared(operator.ge, other)

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Strings:
        if isinstance(other, Strings):
            return Strings(_computed(_added, [self, other]), max(self.ndim, other.ndim))
        return Strings(_computed(lambda x: _added(x, other), [self]), self.ndim)

    def __radd__(self, other: Any) -> Strings:
        return Strings(_computed(lambda x: _added(other, x), [self]), self.ndim)

    def concatenate(self, *others: Strings, axis: int = 0) -> Strings:
        """Arrays of strings one behind the other along an axis."""
        return Strings(_computed(lambda *xs: np.concatenate(xs, axis), [self, *others]), self.ndim)

    def map_ids(self, words: Sequence[Any] | Mapping[Any, int], default: int | None = None
                ) -> Tensor:
        """The number of each element: its place among ``words``, or what a mapping says.

        Without a ``default`` an element that has none is an error.
        """
        known = dict(words) if isinstance(words, Mapping) else {w: i for i, w in enumerate(words)}

        def numbers(x: np.ndarray) -> np.ndarray:
            if default is None:
                missing = [w for w in x.ravel().tolist() if w not in known]
                if missing:
                    raise ValueError(f"map_ids: {missing[0]!r} is not among the {len(known)} "
                                     "words; add it, or give a default")
            found = [known.get(w, default) for w in x.ravel().tolist()]
            return np.asarray(found, np.int64).reshape(x.shape)
        return _computed(numbers, [self], self.shape, int64)


def _added(x: Any, y: Any) -> np.ndarray:
    return np.asarray(np.asarray(x, object) + np.asarray(y, object))


def _plain(key: Any) -> Any:
    """A key with numbers in the place of arrays without axes."""
    if isinstance(key, np.ndarray) and key.ndim == 0:
        return key.item()
    if isinstance(key, slice):
        return slice(*(_plain(v) for v in (key.start, key.stop, key.step)))
    return tuple(map(_plain, key)) if isinstance(key, tuple) else key


def _variable(name: str | None) -> Tensor:
    return symbol(Node(None, (), (), int64, where=user_where(2), name=name))


def generic(name: str | None = None) -> Generic:
    """A symbolic variable that stands for any Python object.

    ``o.attr("name")``, ``o[key]`` and ``o(x)`` are objects that the call computes, in Python, where
    they are needed; keys and arguments may be tensors (which come as arrays) and other objects.
    ``o == value`` is a symbolic bool, :func:`value_of` makes a tensor of an object.

    :param name: For calls by keyword.
    :returns: Goes into :func:`agnesi.function` as an input, and comes out as the object itself.
    :see: symbolic.strings, symbolic.value_of, callback

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> o, x = T.generic("o"), T.scalar("x")
    >>> f = ag.function([o, x], [o, T.value_of(o["rate"], "float64") * x])
    >>> f({"rate": 0.5}, 4.0)
    ({'rate': 0.5}, array(2.))
    """
    return Generic(_variable(name))


def strings(name: str | None = None, ndim: int = 1) -> Strings:
    """A symbolic array of strings, or of other objects.

    It is indexed as arrays are, compared (``s == "a"``), joined (``s + "!"``,
    ``s.concatenate(t)``), and mapped to integers (``s.map_ids(words)``).

    :param name: For calls by keyword.
    :param ndim: How many axes it has.
    :returns: Goes into :func:`agnesi.function` as an input, and comes out as an array.
    :see: symbolic.generic, symbolic.value_of

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> s = T.strings("s")
    >>> f = ag.function([s], [s.map_ids(["a", "b"]), T.sum(s == "a")])
    >>> f(["b", "a", "a"])
    (array([1, 0, 0]), array(2))
    """
    return Strings(_variable(name), ndim)


def value_of(o: ObjectVariable, dtype: DTypeLike = "float64", shape: Sequence[Any] = ()) -> Tensor:
    """A tensor of an object that can become an array.

    :param o: The object.
    :type o: Generic or Strings
    :param dtype: Of the tensor; the object's numbers must fit into it.
    :param shape: The size of each axis, None where the call knows it.
    :type shape: sequence of int or None
    :returns: Without gradients: nothing flows into an object.
    :see: symbolic.generic

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> o = T.generic("o")
    >>> ag.function([o], T.value_of(o.attr("args")[0], "int64", (None,)) + 1)(ValueError([1, 2]))
    array([2, 3])
    """
    kind = as_dtype(dtype)
    sizes = tuple(size_of(_computed(lambda x, a=a: np.asarray(np.shape(x)[a]), [o], dtype=int64),
                          "a size of an object") if n is None else n
                  for a, n in enumerate(shape))
    return _computed(lambda x: np.asarray(x), [o], sizes, kind)


strictly(__name__)
