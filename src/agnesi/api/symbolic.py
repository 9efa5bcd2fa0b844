"""Symbolic variables, and every array function: ``from agnesi import symbolic as T``.

A variable has a dtype, a number of axes, and sizes that may be unknown.  The first letter of a
constructor says the dtype, as in Theano: b, w, i, l for int8 to int64, f and d for float32 and
float64, c and z for complex64 and complex128; without one it is ``config.symbolic_float``, as
the dtype of all floats that the functions of this module make when none is given.

Examples
--------
>>> from agnesi import symbolic as T
>>> x = T.matrix("x", shape=("batch", 3))
>>> x
<matrix x: float64[batch, 3]>
>>> T.grad((x**2).sum(), x)
<matrix multiply: float64[batch, 3]>
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

from agnesi.api import functions
from agnesi.api.control.folds import foldl as foldl
from agnesi.api.control.folds import foldr as foldr
from agnesi.api.control.folds import reduce as reduce
from agnesi.api.control.loops import cond as cond
from agnesi.api.control.loops import fori_loop as fori_loop
from agnesi.api.control.loops import map as map
from agnesi.api.control.loops import while_loop as while_loop
from agnesi.api.control.taps import ifelse as ifelse
from agnesi.api.control.taps import scan as scan
from agnesi.api.control.taps import switch as switch
from agnesi.api.control.taps import until as until
from agnesi.api.functions import *  # noqa: F403 - the same functions, under one more name
from agnesi.api.functions import asarray
from agnesi.api.lazy_names import NAMES, load
from agnesi.api.objects import generic as generic
from agnesi.api.objects import strings as strings
from agnesi.api.objects import value_of as value_of
from agnesi.api.streams.legacy import RandomStreams as RandomStreams
from agnesi.api.streams.mrg import MRG_RandomStreams as MRG_RandomStreams
from agnesi.autodiff.forward import Lop as Lop
from agnesi.autodiff.forward import Rop as Rop
from agnesi.autodiff.transforms import grad as grad
from agnesi.autodiff.vmap import vmap as _vmap
from agnesi.core.integers import is_integer
from agnesi.core.ir.dims import Dim, declare
from agnesi.core.ir.dims import product as _elements
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.parameter_types import DTypeLike, TensorLike
from agnesi.core.public import symbolic as in_symbolic
from agnesi.core.support.config import config
from agnesi.core.support.dtypes import as_dtype, is_inexact
from agnesi.core.support.errors import DTypeError, ShapeError, at, no_attribute, typed, user_where
from agnesi.core.tensor import Tensor, symbol

_Constructor = Callable[..., Tensor]
_DOC = """A symbolic {kind}: name, dtype and shape may be given.

Parameters
----------
name : str, optional
    For printing, and for calls by keyword.
dtype : dtype, optional
    Type of the elements; ``{dtype}`` by default.
shape : sequence, optional
    For each of {axes} axes a number, a name (equal names are equal sizes), or None for a size to
    come; by default {pattern}.

Returns
-------
Tensor
    Symbolic: its ``data`` is None.

Raises
------
ShapeError
    If ``shape`` has another number of axes.

See Also
--------
symbolic.variable, symbolic.tensor, function

Examples
--------
>>> from agnesi import symbolic as T
>>> x = T.{name}("x")
"""


def variable(name: str | None, dtype: DTypeLike, shape: Sequence[int | str | Dim | None]) -> Tensor:
    """A symbolic variable: an input to come.

    :param name: Its name, for printing and for calls by keyword.
    :type name: str or None
    :param dtype: Type of the elements; None is ``config.symbolic_float``.
    :type dtype: dtype or None
    :param shape: A number, a name (equal names are equal sizes), or None for each axis.
    :type shape: sequence
    :returns: Symbolic: its ``data`` is None.
    :raises TypeError: If the name is no string, or the shape no tuple.
    :raises DTypeError: If there is no such dtype.
    :see: symbolic.tensor, symbolic.vector, symbolic.matrix, function

    >>> from agnesi import symbolic as T
    >>> T.variable("x", "float32", (None, 3)).dtype
    dtype('float32')
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(at(f"a symbolic variable's name must be a string, not {typed(name)}"))
    if not isinstance(shape, (tuple, list)):
        raise TypeError(at("a symbolic variable's shape must be a tuple with a number, a name or "
                           f"None for each axis, not {typed(shape)}"))
    try:
        kind = as_dtype(config.symbolic_float if dtype is None else dtype)
    except TypeError as error:
        raise DTypeError(at(f"{name or 'a symbolic variable'}: {error}")) from None
    sizes = tuple(_size(n) for n in shape)
    node = Node(None, (), sizes, kind, requires_grad=is_inexact(kind), where=user_where(),
                name=name)
    declare(sizes, node)
    return symbol(node)


def _size(n: int | str | Dim | None) -> int | Dim:
    if n is None or isinstance(n, str):
        return Dim(n)
    if not isinstance(n, Dim) and (not is_integer(n) or n < 0):
        raise TypeError(at("a size of a symbolic variable is a number of at least 0, a name or "
                           f"None, not {typed(n)}"))
    return n


def tensor(  # type: ignore[no-redef]
    dtype: DTypeLike = None, shape: Sequence[int | str | Dim | None] = (), name: str | None = None
) -> Tensor:
    """A symbolic variable of any dtype and shape.

    :param dtype: ``config.symbolic_float`` by default.
    :param shape: A number, a name (equal names are equal sizes), or None for each axis.
    :type shape: sequence
    :param name: Its name, for printing and for calls by keyword.
    :returns: Symbolic.
    :see: symbolic.variable, symbolic.matrix, agnesi.tensor

    >>> from agnesi import symbolic as T
    >>> T.tensor("int32", (None, "time", 3), name="z").ndim
    3
    """
    return variable(name, dtype, shape)


def Variable(name: str, shape: Sequence[Any] = (None,), dtype: DTypeLike = None) -> Tensor:  # noqa: N802
    """A named symbolic variable, a vector unless a shape is given.

    :param name: Its name.
    :param shape: A number, a name or None for each axis.
    :type shape: sequence
    :param dtype: ``config.symbolic_float`` by default.
    :returns: Symbolic.
    :see: symbolic.variable, symbolic.Constant

    >>> from agnesi import symbolic as T
    >>> T.Variable("A") * T.Variable("B") + T.Constant(1)
    <vector add: float64[...]>
    """
    return variable(name, dtype, shape)


def Constant(value: TensorLike) -> Tensor:  # noqa: N802 - a constructor
    """A constant of a graph: the value itself.

    :param value: A number or an array.
    :returns: Symbolic, of the value's shape and dtype.
    :see: symbolic.variable, shared

    >>> from agnesi import symbolic as T
    >>> x = T.scalar("x")
    >>> (x + T.Constant(2.0)).eval({x: 1.0})
    array(3.)
    """
    array = asarray(value).numpy()
    return symbol(Node(None, (), array.shape, array.dtype, value=array, where=user_where()))


def _constructor(default: str | None, pattern: tuple[int | None, ...], kind: str) -> _Constructor:
    def make(
        name: str | None = None, dtype: DTypeLike = None, *, shape: Sequence[Any] | None = None
    ) -> Tensor:
        sizes = pattern if shape is None else tuple(shape)
        if len(sizes) != len(pattern):
            raise ShapeError(at(f"a {kind} has {len(pattern)} axes, but shape is {sizes}"))
        return variable(name, default if dtype is None else dtype, sizes)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = _DOC.format(
        kind=kind, name=f"{_LETTERS.get(default, '')}{kind}", axes=len(pattern), pattern=pattern,
        dtype=default or "config.symbolic_float")
    return make


_PATTERNS: dict[str, tuple[int | None, ...]] = {
    "scalar": (), "vector": (None,), "matrix": (None, None), "row": (1, None), "col": (None, 1),
    "tensor3": (None,) * 3, "tensor4": (None,) * 4, "tensor5": (None,) * 5,
}


def _family(dtype: str | None) -> tuple[_Constructor, ...]:
    """Constructors for one dtype, in the order of ``_PATTERNS``."""
    return tuple(_constructor(dtype, pattern, kind) for kind, pattern in _PATTERNS.items())


_LETTERS: dict[str | None, str] = {
    "int8": "b", "int16": "w", "int32": "i", "int64": "l", "float32": "f", "float64": "d",
    "complex64": "c", "complex128": "z",
}
scalar, vector, matrix, row, col, tensor3, tensor4, tensor5 = _family(None)
bscalar, bvector, bmatrix, brow, bcol, btensor3, btensor4, btensor5 = _family("int8")
wscalar, wvector, wmatrix, wrow, wcol, wtensor3, wtensor4, wtensor5 = _family("int16")
iscalar, ivector, imatrix, irow, icol, itensor3, itensor4, itensor5 = _family("int32")
lscalar, lvector, lmatrix, lrow, lcol, ltensor3, ltensor4, ltensor5 = _family("int64")
fscalar, fvector, fmatrix, frow, fcol, ftensor3, ftensor4, ftensor5 = _family("float32")
dscalar, dvector, dmatrix, drow, dcol, dtensor3, dtensor4, dtensor5 = _family("float64")
cscalar, cvector, cmatrix, crow, ccol, ctensor3, ctensor4, ctensor5 = _family("complex64")
zscalar, zvector, zmatrix, zrow, zcol, ztensor3, ztensor4, ztensor5 = _family("complex128")


def scalars(*names: str) -> tuple[Tensor, ...]:
    """Several symbolic scalars.

    :param *names: A name for each.
    :returns: Of dtype ``config.symbolic_float``.
    :see: symbolic.scalar, symbolic.vectors

    >>> from agnesi import symbolic as T
    >>> a, b = T.scalars("a", "b")
    """
    return tuple(scalar(n) for n in names)


def vectors(*names: str) -> tuple[Tensor, ...]:
    """Several symbolic vectors.

    :param *names: A name for each.
    :returns: Of dtype ``config.symbolic_float``.
    :see: symbolic.vector, symbolic.matrices

    >>> from agnesi import symbolic as T
    >>> a, b = T.vectors("a", "b")
    """
    return tuple(vector(n) for n in names)


def matrices(*names: str) -> tuple[Tensor, ...]:
    """Several symbolic matrices.

    :param *names: A name for each.
    :returns: Of dtype ``config.symbolic_float``.
    :see: symbolic.matrix, symbolic.vectors

    >>> from agnesi import symbolic as T
    >>> a, b = T.matrices("a", "b")
    """
    return tuple(matrix(n) for n in names)


def jacobian(expression: Tensor, wrt: Tensor | Sequence[Tensor], *,
             consider_constant: Sequence[Tensor] = (),
             disconnected: Literal["error", "zero"] = "error") -> Any:
    """The derivatives of all elements of an expression.

    :param expression: Of floats, with any number of axes.
    :param wrt: With respect to what.
    :type wrt: Tensor or list of Tensor
    :param consider_constant: Intermediate results through which no gradient flows.
    :param disconnected: What to give for a tensor that the expression does not depend on.
    :returns: Of the expression's shape, followed by that of ``wrt``; a list for a list.
    :rtype: Tensor or list of Tensor
    :raises GradientError: If the expression does not depend on a tensor, and ``disconnected`` is
        "error".
    :see: symbolic.hessian, symbolic.grad, jacrev

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> f = ag.function([x], T.jacobian(x**2 * x[0], x))
    >>> f([2.0, 3.0])
    array([[12.,  0.],
           [ 9., 12.]])
    """
    y = asarray(expression)
    many = isinstance(wrt, (list, tuple))
    xs = [asarray(x) for x in (wrt if many else [wrt])]

    def row(seed: Tensor) -> list[Tensor]:
        return grad(y, xs, grad_outputs=functions.reshape(seed, y.shape), disconnected=disconnected,
                    consider_constant=list(consider_constant))

    basis = functions.eye(_elements(y.shape), dtype=y.dtype)
    rows = _vmap(row)(basis) if y.ndim else row(functions.ones_like(y))
    found = [functions.reshape(r, (*y.shape, *x.shape)) for r, x in zip(rows, xs, strict=True)]
    return found if many else found[0]


def hessian(cost: Tensor, wrt: Tensor | Sequence[Tensor], *,
            consider_constant: Sequence[Tensor] = (),
            disconnected: Literal["error", "zero"] = "error") -> Any:
    """The second derivatives of an expression to each of some tensors.

    :like: jacobian
    :param cost: A scalar of floats.
    :param disconnected: What to give for a tensor that the cost does not depend on.
    :returns: Twice the shape of ``wrt``; a list for a list.
    :rtype: Tensor or list of Tensor
    :raises GradientError: If the cost is no scalar, or does not depend on a tensor and
        ``disconnected`` is "error".
    :see: symbolic.jacobian, symbolic.grad, hvp

    >>> import agnesi as ag
    >>> from agnesi import symbolic as T
    >>> x = T.vector("x")
    >>> ag.function([x], T.hessian((x**3).sum(), x))([1.0, 2.0])
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    many = isinstance(wrt, (list, tuple))
    xs = [asarray(x) for x in (wrt if many else [wrt])]
    slopes = grad(cost, xs, disconnected=disconnected, consider_constant=list(consider_constant))
    found = [jacobian(g, x, disconnected="zero") for g, x in zip(slopes, xs, strict=True)]
    return found if many else found[0]


def _in_programs(functions: dict[str, Any]) -> dict[str, Any]:
    """Functions by the names that they have here: their floats are ``config.symbolic_float``."""
    here = {name: id(f) for name, f in globals().items()}
    return {name: in_symbolic(f) for name, f in functions.items()
            if isinstance(f, FunctionType) and here.get(name) == id(f) and name[0] != "_"}


if not TYPE_CHECKING:
    _LOOPS = {f.__name__: f for f in (
        cond, fori_loop, foldl, foldr, map, reduce, while_loop, scan, ifelse, switch, grad)}
    globals().update(_in_programs({**vars(functions), **_LOOPS}))

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # what ``import *`` requests
            return [n for n in dir(sys.modules[__name__]) if not n.startswith("_")]
        if name not in NAMES:
            raise no_attribute("module 'agnesi.symbolic'", name)
        found = load(NAMES[name])
        globals()[name] = in_symbolic(found) if isinstance(found, FunctionType) else found
        return globals()[name]


_strictly(__name__)
