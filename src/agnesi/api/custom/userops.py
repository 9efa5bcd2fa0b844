"""Operations of one's own: ``ag.op`` for functions of arrays, ``ag.Op`` for classes."""

from __future__ import annotations

import ctypes
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pickle import PicklingError
from sys import getrefcount
from typing import Any, Self

import numpy as np

from agnesi.api.custom.new_sizes import completed, in_program
from agnesi.api.custom.probing import probed
from agnesi.autodiff.rules import location_of, reads_result
from agnesi.compiler.c_source import Source, compiled, compiler, is_sectioned, program, source_of
from agnesi.core import op as core
from agnesi.core.dispatch import apply
from agnesi.core.integers import is_integer
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.extents import Extent
from agnesi.core.ir.foreign import POINTERS, RESOLVERS, SIZES, Call
from agnesi.core.op import explain, title_of
from agnesi.core.public import higher
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.dtypes import as_dtype
from agnesi.core.support.errors import DTypeError, at, call_user, typed, user_where
from agnesi.core.support.foreign import parameters_of
from agnesi.core.support.record import record
from agnesi.core.support.tracing import is_known
from agnesi.core.tensor import Tensor, wrap
from agnesi.core.transformed import name_of, named
from agnesi.ops.base.convert import as_tensor, check_unmasked, constant
from agnesi.ops.control.loop import applied

Rule = Callable[..., Any]

#: The name of the C function that is made from the user's code sections.
_SECTIONS = "run_sections"
#: C functions of user operations: the address, and what must live as long.
_C_FUNCTIONS: dict[str, tuple[int, Any]] = {}


def _address_of(name: str) -> int | None:
    return _C_FUNCTIONS[name][0] if name in _C_FUNCTIONS else None


RESOLVERS["user"] = _address_of


def _registered(title: str, address: int, keep: Any) -> str:
    """The symbol of a C function; those of one name are numbered, as code may use the older one."""
    number = 0
    while True:
        name = f"{title}#{number}"
        if _C_FUNCTIONS.setdefault(name, (address, keep))[0] == address:
            return f"user:{name}"
        number += 1


class Op(core.Op):
    """Base of operations of one's own; objects of a subclass are called with tensors.

    Annotated names are parameters, given to the constructor.  ``perform`` computes on arrays and
    returns one (a tuple, with ``outputs`` above 1), in memory of its own.  Everything else is
    optional: ``infer(*xs)`` gives ``(shape, dtype)`` of the result (one for each, with several;
    None is a size that is known only at run time) and is found out with arrays of ones if missing;
    ``vjp(g, y, *xs)`` and ``jvp(ts, y, *xs)`` are derivatives in tensors; ``lower(at, *reads)`` is
    one element of the result in the loop language,
    without which compiled code calls ``perform``; ``foreign(*xs)`` names a C function;
    ``batch(node, xs, rows, length)`` is the rule for ``vmap``, which else calls it row by row.

    See Also
    --------
    op, Function, OpFromGraph

    Examples
    --------
    >>> import agnesi as ag
    >>> class Scale(ag.Op):
    ...     factor: float
    ...     def perform(self, x):
    ...         return x * self.factor
    ...     def vjp(self, g, y, x):
    ...         return (g * self.factor,)
    >>> ag.grad(lambda x: Scale(3.0)(x).sum())(ag.ones(2))
    tensor([3., 3.])
    """

    user_defined = True
    traits = frozenset(("raises",))

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        given = cls.__dict__.get("name", cls.__name__.lower())
        if isinstance(given, str):
            core.give_name(cls, given)
        if "infer" in cls.__dict__:
            setattr(cls, "infer", _checked(cls.infer))  # noqa: B010
        if "perform" in cls.__dict__:
            setattr(cls, "perform", _settling(cls.__dict__["perform"]))  # noqa: B010
        if "keep_output" not in cls.__dict__:
            cls.keep_output = reads_result(cls.vjp, 2) or reads_result(cls.jvp, 2)
        record(cls)

    @property
    def declares(self) -> bool:
        """Whether it says of which types the results are."""
        return type(self).infer is not Op.infer

    def infer(self, *xs: Any) -> Any:
        return probed(self, xs)

    def perform(self, *xs: Any) -> Any:
        raise NotImplementedError(at(f"{type(self).__name__} needs perform(self, *arrays)"))

    def __call__(self, *xs: Any) -> Any:
        return called(self, xs)


def _checked(infer: Callable[..., Any]) -> Callable[..., Any]:
    """A user's ``infer`` whose result is looked at."""
    @functools.wraps(infer)
    def checked(self: Any, *xs: Any) -> Any:
        return _typed_result(self, infer(self, *xs))

    return checked


def _settling(given: Any) -> Callable[..., Any]:
    """A user's ``perform`` whose results are made to fit; where a subclass calls it, as they are.
    """
    @functools.wraps(getattr(given, "__func__", given))
    def perform(self: Any, *xs: Any) -> Any:
        bound = given.__get__(self, type(self)) if hasattr(given, "__get__") else given
        return settled(self, bound, xs) if type(self).perform is perform else bound(*xs)

    return perform


def _typed_result(op: Any, found: Any) -> Any:
    """What a user's ``infer`` returned, if it is types: (shape, dtype), one for each result."""
    types = found if op.outputs > 1 else (found,)
    if not isinstance(types, (tuple, list)) or len(types) != op.outputs or not all(
            map(_is_type, types)):
        each = "its result" if op.outputs == 1 else f"each of {op.outputs} results"
        more = "; an operation of several has outputs = 2" if op.outputs == 1 and isinstance(
            found, (tuple, list)) and found and all(map(_is_type, found)) else ""
        raise TypeError(at(f"infer of {title_of(op)} must return (shape, dtype) for {each}, such "
                           f"as (x.shape, x.dtype), not {typed(found)}{more}",
                           location_of(op.infer)))
    try:
        known = tuple((tuple(shape), as_dtype(dtype)) for shape, dtype in types)
    except DTypeError as error:
        raise DTypeError(at(f"infer of {title_of(op)}: {error}", location_of(op.infer))) from None
    return known if op.outputs > 1 else known[0]


def _is_type(found: Any) -> bool:
    """Whether this is a shape and what may be a dtype."""
    return (isinstance(found, (tuple, list)) and len(found) == 2
            and isinstance(found[0], (tuple, list))
            and not isinstance(found[1], (tuple, list))
            and all(map(_is_size, found[0])))


def _is_size(found: Any) -> bool:
    """Whether this is a size, known or not."""
    if isinstance(found, Tensor):
        return found.dtype.kind in "iu"
    return found is None or isinstance(found, (Dim, Extent)) or (is_integer(found) and found >= 0)


def called(op: Any, xs: tuple[Any, ...]) -> Any:
    """The result of an operation on whatever may stand for tensors; a tuple, if there are more."""
    beside = next((x for x in xs if isinstance(x, Tensor)), None)
    operands = []
    for x in xs:
        known = constant(x, beside) if beside is not None and x is not beside else None
        operands.append(as_tensor(x) if known is None else known)
    if is_known(*operands):
        return apply(op, *operands) if op.outputs == 1 else applied(op, *operands)
    return in_program(op, operands)


def locked(xs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Operands as a user's function is given them: writing one is an error."""
    views = []
    for x in xs:
        view = x.view()
        view.setflags(write=False)
        views.append(view)
    return views


def reading(function: Callable[..., Any], *given: Any) -> Any:
    """The result of a user's function of arrays that it must not write."""
    try:
        return function(*given)
    except ValueError as error:
        if "read-only" in str(error):
            error.args = (f"{error}: operands are not to be changed; work on a copy, x.copy()",)
        raise


def settled(op: Any, perform: Callable[..., Any], xs: Sequence[np.ndarray]) -> Any:
    """What a user's function returns for ``xs``, as the arrays that it is said to return.

    They are of the types that it declares, in the byte order of this machine, and in memory that
    nothing else knows: neither an operand's nor what the user keeps for the next call.
    """
    found = reading(perform, *locked(xs))
    if (type(found) is np.ndarray and found.base is None and getrefcount(found) == _FRESH
            and op.outputs == 1 and xs and found.dtype is xs[0].dtype):  # as nearly always
        if not op.declares:
            return found
        shape, dtype = op.infer(*map(wrap, xs))
        if found.dtype == dtype and found.shape == completed(shape, found):
            return found
    several = [*core.separate(found, op.outputs)]
    del found
    known = map(_FRESH.__lt__, map(getrefcount, several))
    if len(several) != op.outputs:
        raise TypeError(
            f"perform returned {len(several)} results, but {title_of(op)} has outputs={op.outputs}")
    results = [own_array(v, k) for v, k in zip(several, [*known], strict=True)]
    if op.declares:
        types = op.infer(*map(wrap, xs))
        for i, (shape, dtype) in enumerate(types if op.outputs > 1 else (types,)):
            y = results[i]
            if y.dtype != dtype or y.shape != completed(shape, y):
                core.check_result(y, completed(shape, y), dtype)
                results[i] = y.astype(dtype)
                if y.dtype.kind in "iu" and dtype.kind in "iu" and (results[i] != y).any():
                    raise DTypeError(f"it returned {y.dtype} where {dtype} was declared, which "
                                     f"does not hold {y[results[i] != y][0]}")
    return tuple(results) if op.outputs > 1 else results[0]


def own_array(value: Any, known: bool = True, what: str = "perform") -> np.ndarray:
    """An array that a user's function returned, in memory of its own.

    :param known: Whether anybody else knows the array.
    :param what: What the function is called.
    """
    if type(value) is not np.ndarray:
        check_unmasked(value)
    array: np.ndarray = np.asarray(value)
    if array.dtype.kind not in "biufcV" or array.dtype.names:
        raise DTypeError(f"{what} returned {typed(value)}, which is no array of numbers")
    if not array.dtype.isnative:
        return array.astype(as_dtype(array.dtype))
    return array.copy() if array.base is not None or (known and array is value) else array


#: References that there are to what a list alone holds, with the one that counting takes.
_FRESH = next(map(getrefcount, [np.empty(0)]))


class _Custom(core.Op):
    """The operation of a decorated function, for one choice of its keywords."""

    user_defined = True
    traits = frozenset(("raises",))

    def __init__(self, function: CustomFunction, keywords: dict[str, Any]) -> None:
        self.function = function
        self.keywords = keywords
        self.run = (functools.partial(function.function, **keywords) if keywords
                    else function.function)
        core.give_name(self, function.__name__)
        self.outputs = function.outputs  # type: ignore[misc]
        self.differentiable = function.rules.get("differentiable", True)  # type: ignore[misc]
        for rule in ("lower", "batch", "vjp", "jvp"):
            given = function.rules.get(rule)
            setattr(self, rule, None if given is None else functools.partial(given, **keywords))
        self.foreign = self._foreign if function.symbol or function.source else None
        self.like = function.rules.get("like")
        self.declares = self.like is not None or function.rules.get("infer") is not None
        self.keep_output = reads_result(self.vjp) or reads_result(self.jvp)  # type: ignore[misc]
        self._key = (id(function), tuple(sorted(keywords.items())))

    def __eq__(self, other: object) -> bool:
        return type(other) is _Custom and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> Any:
        return _remade, (self.function, self.keywords)

    def label(self) -> str:
        words = ", ".join(f"{k}={v}" for k, v in self.keywords.items())
        return f"{self.name}[{words}]" if words else self.name

    def model(self, xs: Sequence[Any]) -> Any:
        """The operand whose shape and dtype the results have."""
        place: int = self.like or 0
        if not -len(xs) <= place < len(xs):
            raise IndexError(at(f"{title_of(self)} has like={place}, but {len(xs)} operands"))
        return xs[place]

    def infer(self, *xs: Any) -> Any:
        rules = self.function.rules
        if rules.get("infer") is not None:
            return _typed_result(self, call_user(
                rules["infer"], xs, self.keywords, f"infer of {title_of(self)}",
                "infer(*operands)"))
        if self.like is not None:
            x = self.model(xs)
            types = ((tuple(x.shape), x.dtype),) * self.outputs
            return types if self.outputs > 1 else types[0]
        return probed(self, xs)

    def perform(self, *xs: np.ndarray) -> Any:
        return settled(self, self.run, xs)

    def _foreign(self, *xs: Any) -> Call:
        symbol = self.function.symbol or self.function.compiled_symbol(self, xs)
        return Call(symbol, (POINTERS, SIZES), status=True)


class CustomFunction:
    """The result of :func:`op`: call it with tensors, arrays or numbers."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Rule, outputs: int, address: int | None, keep: Any,
                 rules: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)  # before its attributes, which may be there too
        self.__name__ = name_of(function)
        self.function = function
        self.outputs = outputs
        self.rules = rules
        self.symbol = ""
        self.source: Any = None
        self._known: dict[Any, _Custom] = {}
        known = parameters_of(function) or {}
        self._keywords = {name for name, p in known.items() if p.kind is p.KEYWORD_ONLY}
        if isinstance(keep, Source):
            self.source = keep
            if not is_sectioned(keep) and compiler():
                self.symbol = self._registered(program(keep, "", (), (), ()))
        elif address is not None:
            self.symbol = _registered(self._title, address, keep)

    @property
    def _title(self) -> str:
        return f"{self.__module__}.{getattr(self, '__qualname__', self.__name__)}"

    def _registered(self, text: str, kinds: str = "") -> str:
        """The symbol of a C program's function."""
        function = _SECTIONS if is_sectioned(self.source) else self.__name__
        address, library = compiled(text, function, self.__name__)
        return _registered(f"{self._title}{kinds}", address, library)

    def compiled_symbol(self, op: Any, xs: Sequence[Any]) -> str:
        """The symbol of its C source for operands of these types."""
        found = op.infer(*xs)
        results = found if op.outputs > 1 else (found,)
        types = [(x.dtype.name, len(x.shape)) for x in xs]
        types += [(np.dtype(dtype).name, len(shape)) for shape, dtype in results]
        names = [*inspect.signature(self.function).parameters][: len(xs)]
        names += [f"y{k}" for k in range(op.outputs)] if op.outputs > 1 else ["y"]
        text = program(self.source, _SECTIONS, names, *zip(*types, strict=True))
        return self._registered(text, f" {' '.join(f'{d}.{n}' for d, n in types)}")

    def __reduce__(self) -> Any:
        """By reference, where its name leads to it; else as what it was made of."""
        if named(self) is self:
            return _found, (self.__module__, self.__qualname__)
        if self.symbol and self.source is None:
            raise PicklingError(at(f"{self.__name__} calls an address of this process, so only one "
                                   "that its module has under its name can be pickled"))
        return CustomFunction, (self.function, self.outputs, None, self.source, self.rules)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    @cached_property
    def _plain(self) -> _Custom:
        return self.with_keywords()

    def with_keywords(self, **keywords: Any) -> _Custom:
        """The operation itself, for these keywords."""
        key = tuple(sorted(keywords.items()))
        if key not in self._known:
            self._known[key] = _Custom(self, keywords)
        return self._known[key]

    def __call__(self, *xs: Any, **keywords: Any) -> Any:
        if not keywords and self.outputs == 1:
            for x in xs:
                if type(x) is not Tensor:
                    break
            else:
                if is_known(*xs):
                    return apply(self._plain, *xs)  # at once: it is the same
        unknown = set(keywords) - self._keywords
        if unknown:
            raise TypeError(
                at(f"{self.__name__} has no keyword-only parameter {min(unknown)!r}; operands are "
                   "given by position")
            )
        op = self.with_keywords(**keywords)
        try:
            return called(op, xs)
        except (ValueError, TypeError, IndexError) as error:
            raise explain(error, title_of(op), xs) from None


def _found(module: str, qualname: str) -> Any:
    """The decorated function of this name, for pickles."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _remade(function: CustomFunction, keywords: dict[str, Any]) -> _Custom:
    return function.with_keywords(**keywords)


@higher
def op(function: Rule | None = None, *, outputs: int = 1, like: int | None = None,
       infer: Rule | None = None, vjp: Rule | None = None, jvp: Rule | None = None,
       lower: Rule | None = None, batch: Rule | None = None, c: object = None,
       differentiable: bool = True) -> Any:
    """A decorator: a function of NumPy arrays becomes an operation on tensors.

    It then works on values, in records, in symbolic graphs, under ``vmap`` and under ``jit``, where
    compiled code calls it back, unless ``lower`` or ``c`` say how to do without.  Keyword-only
    parameters are no operands: they reach all rules as they are.

    :param function: Takes arrays, which it must not change, and returns one (or a tuple of
        ``outputs``).
    :type function: callable
    :param outputs: Number of results.
    :param like: The operand whose shape and dtype the results have.
    :param infer: ``infer(*xs)``: ``(shape, dtype)`` of the result (one for each, if there are
        more); None is a size that is known only at run time.  Without it and ``like``, the function
        is run on ones and other numbers: a size that these decide is such a one.
    :type infer: callable, optional
    :param vjp, jvp: ``vjp(g, y, *xs)``: cotangents of the operands, from that of the result ``y``;
        ``jvp(ts, y, *xs)``: the result's tangent, from those of the operands (or None).  Both are
        written in operations on tensors; the first gives the second.
    :type vjp, jvp: callable, optional
    :param lower: ``lower(at, *reads)``: an element of the result in the loop language
        (``core.ir.loops``).
    :type lower: callable, optional
    :param batch: ``batch(node, xs, rows, length)``: the result for many examples; else one by one.
    :type batch: callable, optional
    :param c: ``int32 f(void **arrays, int64 *sizes)``, which compiled code calls, without Python:
        arrays of the operands, then of the results, row-major; all their sizes, axis by axis.
        Anything but 0 is an error.  A text is C source, a path a file of it, which the system's
        compiler compiles: it defines the function under the decorated one's name; or, behind a line
        ``#section code``, it is its body, where ``x``, ``x_shape`` and ``x_size`` are an operand's
        elements, sizes and number of elements by its name, and ``y`` (``y0``, ``y1``) is the
        result, for every dtype.  ``#section support_code`` is what stands before.
    :type c: address, ctypes function, cffi pointer, numba cfunc, str or os.PathLike, optional
    :param differentiable: False: gradients end here, silently.
    :returns: Called with operands, it gives a tensor, or a tuple of ``outputs``.
    :rtype: CustomFunction
    :raises TypeError: If ``c`` is no address of a function.
    :raises ValueError: If C source does not compile; the compiler's errors name the user's file and
        line.
    :raises RuntimeError: If there is no C compiler, once compiled code needs it.
    :see: Op, Function, custom_vjp, elementwise, callback

    >>> import agnesi as ag
    >>> import numpy as np
    >>> @ag.op(vjp=lambda g, y, x: g / (1 + ag.abs(x)) ** 2)
    ... def softsign(x):
    ...     return x / (1 + np.abs(x))
    >>> ag.jit(ag.grad(lambda x: softsign(x).sum()))(ag.ones(2))
    tensor([0.25, 0.25])
    """
    if function is None:
        return functools.partial(
            op, outputs=outputs, like=like, infer=infer, vjp=vjp, jvp=jvp, lower=lower,
            batch=batch, c=c, differentiable=differentiable,
        )
    rules = {"like": like, "infer": infer, "vjp": vjp, "jvp": jvp, "lower": lower, "batch": batch,
             "differentiable": differentiable}
    if not callable(function) or isinstance(function, core.Op):
        what = "an Op, which is called itself" if callable(function) else typed(function)
        raise TypeError(at(f"op makes an operation of a function, not of {what}"))
    for name in ("infer", "vjp", "jvp", "lower", "batch"):
        if rules[name] is not None and not callable(rules[name]):
            raise TypeError(at(f"op: {name} must be a function, not {typed(rules[name])}"))
    if isinstance(c, (str, os.PathLike)):
        return CustomFunction(function, outputs, None, source_of(c, user_where(3)), rules)
    address = None if c is None else _address(c)
    return CustomFunction(function, outputs, address, c, rules)


def _address(c: Any) -> int:
    """Return the address of a C function, given as any object that holds one."""
    if isinstance(c, int):
        return c
    if hasattr(c, "address"):  # numba's, and those of ``c_function``
        return int(c.address)
    if type(c).__module__ == "_cffi_backend":
        return int(sys.modules["_cffi_backend"].FFI().cast("intptr_t", c))
    try:
        found = None if isinstance(c, bytes) else ctypes.cast(c, ctypes.c_void_p).value
    except ctypes.ArgumentError:
        found = None
    if not found:
        raise TypeError(at(f"c must be the address of a C function, not {type(c).__name__}"))
    return found
