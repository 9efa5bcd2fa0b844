"""PyTorch's forms of calls that write at indices, search, or solve equations.

They are given what the forms of :mod:`agnesi.api.tensor.pytorch` are, which lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnesi.core.calls.spellings import in_our_words
from agnesi.core.op import typed
from agnesi.core.support import dtypes
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor, cast
from agnesi.ops.base.expand import broadcast_to
from agnesi.ops.base.movement import reshape, swapaxes
from agnesi.ops.indexing.diagonal import diagonal
from agnesi.ops.indexing.join import stack
from agnesi.ops.indexing.scatter import index_put
from agnesi.ops.numerics.scatter_reduce import scatter_reduce

Form = Callable[..., Any]


def put_of_flat(function: Form, args: Any, keywords: Any) -> Any:
    """``put`` with ``accumulate``."""
    theirs = False if {"source", "index"} & keywords.keys() else None
    adds = args[3] if len(args) == 4 and not keywords else keywords.get("accumulate", theirs)
    if not isinstance(adds, bool):
        return NotImplemented
    x, index, values = _operands(("x", "index", "source"), args[:3], keywords, "accumulate")[0]
    x = as_tensor(x)
    return reshape(index_put(reshape(x, (-1,)), index, values, accumulate=adds), x.shape)


def _turned(x: Any) -> Tensor:
    return swapaxes(as_tensor(x), -1, -2)


def _flag(given: dict[str, Any], word: str, default: bool) -> bool:
    """Take a flag by PyTorch's word out of keywords."""
    value = given.pop(word, default)
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{word} must be True or False, not {typed(value)}")
    return bool(value)


def solved(function: Form, args: Any, keywords: Any) -> Any:
    """``linalg.solve`` and ``solve_triangular`` with ``left=False`` and PyTorch's keywords."""
    if not {"upper", "unitriangular", "left"} & keywords.keys():
        return NotImplemented
    given = dict(keywords)
    left = _flag(given, "left", True)
    words: dict[str, Any] = {}
    operands: list[Any] = [*args, *(given.pop(w) for w in ("A", "B") if w in given)]
    a, b = operands
    if "upper" in given:
        words["lower"] = _flag(given, "upper", True) != left
        words["unit_diagonal"] = _flag(given, "unitriangular", False)
    if left:
        return function(a, b, **words, **given)
    found: Any = function(_turned(a), _turned(b), **words, **given)
    if hasattr(found, "_replace"):  # with the mask of those that were regular
        return found._replace(result=_turned(found.result))
    return _turned(found)


def lu_solved(function: Form, args: Any, keywords: Any) -> Any:
    """The factors and the exchanges as two operands."""
    given = dict(keywords)
    operands = [*args, *(given.pop(w) for w in ("LU", "pivots", "B") if w in given)]
    if len(operands) != 3 or not _flag(given, "left", True):
        return NotImplemented
    trans = 2 if _flag(given, "adjoint", False) else 0
    return function(tuple(operands[:2]), operands[2], trans, **given)


def index_added(function: Form, args: Any, keywords: Any) -> Any:
    """``index_add`` with a factor ``alpha`` of the source."""
    if "alpha" not in keywords:
        return NotImplemented
    operands, given = _operands(("x", "axis", "index", "source"), args, keywords, "alpha")
    alpha, x = keywords["alpha"], as_tensor(operands[0])
    if isinstance(alpha, float) and x.dtype.kind not in "fcV":
        raise TypeError(f"alpha must be an integer for {typed(x)}, not {alpha!r}")
    operands[3] = alpha * as_tensor(operands[3])
    return function(*operands, **given)


def _operands(names: tuple[str, ...], args: Any, keywords: Any, apart: str
              ) -> tuple[list[Any], Any]:
    """Operands in order, and other keywords in our words, but for one that PyTorch alone has."""
    given = in_our_words({w: v for w, v in keywords.items() if w != apart}, names)
    return [*args, *(given.pop(w) for w in names[len(args):])], given


def scattered(function: Form, args: Any, keywords: Any) -> Any:
    """``scatter`` with ``reduce='add'`` or ``'multiply'``."""
    if "reduce" not in keywords:
        return NotImplemented
    operands, given = _operands(("x", "axis", "index", "src"), args, keywords, "reduce")
    x, axis, index, src = operands
    how = {"add": "sum", "multiply": "prod"}.get(keywords["reduce"])
    if how is None:
        raise ValueError(f"reduce must be 'add' or 'multiply', not {keywords['reduce']!r}")
    x, index = as_tensor(x), as_tensor(index)
    src = src if isinstance(src, Tensor) else broadcast_to(as_tensor(src, x.dtype), index.shape)
    return scatter_reduce(x, axis, index, src, how, **given)


def searched(function: Form, args: Any, keywords: Any) -> Any:
    """``right=True`` for the side, and indices of 32 bits."""
    if not {"right", "out_int32"} & keywords.keys():
        return NotImplemented
    given, words = dict(keywords), {"sorted_sequence": "x1", "input": "x2"}
    if _flag(given, "right", False):
        given["side"] = "right"
    short = _flag(given, "out_int32", False)
    operands = [given.pop(w) for w in words if w in given]
    found = function(*args, *operands, **given)
    return cast(found, dtypes.int32) if short else found


def diagonal_of_matrices(function: Form, args: Any, keywords: Any) -> Any:
    """Diagonals on other axes than the last ones."""
    if "axis1" in function.__code__.co_varnames or not {"dim1", "dim2"} & keywords.keys():
        return NotImplemented
    names = ("x", "offset", "axis1", "axis2")
    return diagonal(*args, **in_our_words({"dim1": -2, "dim2": -1, **keywords}, names))


def triangle(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """``tril_indices(row, col, offset)`` and ``triu_indices``: a matrix of two rows."""
    given = {**dict(zip(("row", "col", "offset"), args, strict=False)), **keywords}
    if not given.keys() >= {"row", "col"}:
        return NotImplemented
    rows, columns, diagonal = given.pop("row"), given.pop("col"), given.pop("offset", 0)
    return stack(function(rows, k=diagonal, m=columns, **given))
