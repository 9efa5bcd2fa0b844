"""Parameters of operations in C code: ``params_type = ParamsType(a=scalar.float64)``."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.types import TensorType
from agnesi.core.support.errors import at, typed

#: The names under which C code has the parameters, and their type.
_VARIABLE, _STRUCT = "agnesi_params", "struct agnesi_params_of_op"


class ParamsType:
    """What an operation gives to its C code besides its inputs: a struct with a field for each.

    A field is a number in C where its type has no axes, a ``PyArrayObject *`` where it has, and a
    ``PyObject *`` where the type is ``theano.gof.generic``.

    :param **fields: The types by name; an operation's attributes of these names are the values.
    :type **fields: TensorType or Generic
    """

    def __init__(self, **fields: Any) -> None:
        for name, kind in fields.items():
            if not (isinstance(kind, TensorType) or _is_generic(kind)):
                raise TypeError(at(f"ParamsType: {name} must be a type of theano.scalar, a "
                                   f"TensorType or generic, not {typed(kind)}"))
        self.fields = tuple(sorted(fields))
        self.types = tuple(fields[name] for name in self.fields)
        self.name = _STRUCT

    @property
    def length(self) -> int:
        """The number of fields."""
        return len(self.fields)

    def __eq__(self, other: Any) -> bool:
        return type(other) is ParamsType and other.fields == self.fields and (
            other.types == self.types)

    def __hash__(self) -> int:
        return hash((self.fields, *map(str, self.types)))

    def get_params(self, *objects: Any, **values: Any) -> types.SimpleNamespace:
        """The values of all fields: attributes of objects, or given by name.

        :param *objects: Their attributes of the fields' names are taken.
        :param **values: Values of fields, which come first.
        :type **values: array_like
        :returns:
        :rtype: SimpleNamespace
        """
        found: dict[str, Any] = {}
        for name, kind in zip(self.fields, self.types, strict=True):
            owner = next((o for o in objects if hasattr(o, name)), None)
            if name not in values and owner is None:
                raise TypeError(at(f"ParamsType: there is no value for {name}"))
            value = values[name] if name in values else getattr(owner, name)
            found[name] = kind.filter(value) if isinstance(kind, TensorType) else value
        return types.SimpleNamespace(**found)

    def struct(self) -> str:
        """The struct and the macro that names it."""
        lines = [f"  {_in_c(kind)}{name};" for name, kind in zip(
            self.fields, self.types, strict=True)]
        return "\n".join((f"{_STRUCT} {{", *lines, "};", f"#define PARAMS_TYPE {_STRUCT}", ""))

    def unpacking(self) -> list[str]:
        """The lines that fill the struct from ``params``, a list of arrays and objects."""
        lines = [f"  {_STRUCT} agnesi_values;", f"  {_STRUCT} *{_VARIABLE} = &agnesi_values;"]
        for k, (name, kind) in enumerate(zip(self.fields, self.types, strict=True)):
            item, ctype = f"PyList_GET_ITEM(params, {k})", _in_c(kind)
            number = isinstance(kind, TensorType) and not kind.ndim
            value = f"*({ctype}*)PyArray_DATA((PyArrayObject *){item})" if number else (
                f"({ctype}){item}")
            lines.append(f"  agnesi_values.{name} = {value};")
        return lines


def _is_generic(kind: Any) -> bool:
    return getattr(kind, "__name__", "").lower() == "generic"


def _in_c(kind: Any) -> str:
    if not isinstance(kind, TensorType):
        return "PyObject *"
    return f"npy_{kind.dtype} " if not kind.ndim else "PyArrayObject *"


def params_type_of(op: Any) -> ParamsType | None:
    """What the C code of an operation gets besides its inputs; None without parameters.

    :raises TypeError: If it is no ParamsType.
    """
    kind = getattr(op, "params_type", None)
    if kind is not None and not isinstance(kind, ParamsType):
        raise TypeError(at(f"{type(op).__name__}.params_type must be a ParamsType, not "
                           f"{typed(kind)}"))
    return kind


def params_of(op: Any, node: Any) -> Any:
    """The parameters of an operation for a node: ``get_params(node)``, or its attributes."""
    kind = params_type_of(op)
    if kind is None:
        return None
    own = getattr(op, "get_params", None)
    return kind.get_params(op) if own is None else own(node)


def packed(kind: ParamsType | None, params: Any) -> list[Any]:
    """The parameters as the compiled function takes them."""
    if kind is None:
        return []
    values = [getattr(params, name) for name in kind.fields]
    return [np.ascontiguousarray(v, t.dtype).reshape(np.shape(v)) if isinstance(t, TensorType)
            else v for v, t in zip(values, kind.types, strict=True)]


def substitutions(op: Any) -> dict[str, str]:
    """What ``sub`` has of the parameters."""
    return {} if params_type_of(op) is None else {"params": _VARIABLE}


def arguments(sub: dict[str, str]) -> Sequence[str]:
    """The last argument of a function of a file, if there are parameters."""
    return (sub["params"],) if "params" in sub else ()
