"""Rows of plain data to nodes, each of which is found to be true before the next is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agnesi.compiler.shared import Shared, variable_over
from agnesi.core.graph import FunctionGraph
from agnesi.core.ir.dims import Dim, combine
from agnesi.core.ir.node import Node
from agnesi.core.op import Item
from agnesi.core.support import dtypes
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import symbol, wrap
from agnesi.core.value_sizes import ValueDim
from agnesi.ops.control.body import Body
from agnesi.saving.graphs.operations import RECORDS, class_of, made
from agnesi.saving.graphs.trial import tried

#: The arithmetic of sizes that files may have.
_ARITHMETIC = ("+", "-", "*", "//", "%", "max", "min", "broadcast")
#: The most axes of an array.
_AXES = 64
#: Steps and borders of windows are less.
_MAX_STEP = 1 << 31
#: How deep parameters and graphs may be nested.
_DEPTH = 40

Arrays = Mapping[str, np.ndarray]


class Reader:
    """Nodes of a graph by the numbers of their rows.

    :ivar nodes: One for each row.
    :ivar inputs: Those of declared inputs.
    :ivar parameters: Nodes of parameters by name; those with a value belong to a variable in
        ``variables``.
    """

    def __init__(self, sizes: Any, arrays: Arrays, weights: Arrays,
                 around: Reader | None = None) -> None:
        if not isinstance(sizes, list):
            raise ValueError("its sizes are no list")
        self.size_rows, self.arrays = sizes, arrays
        #: The reader of the whole graph, which knows what sizes are.
        self._root: Reader = self if around is None else around._root
        self._depth: int = 0 if around is None else around._depth + 1
        #: Values of parameters that count more than those of the file.
        self.weights = weights
        self.nodes: list[Node] = []
        self.inputs: list[Node] = []
        self.parameters: dict[str, Node] = {}
        self.variables: dict[str, Shared] = {}
        self._sizes: dict[int, Any] = {}
        if self._depth > _DEPTH:
            raise ValueError(f"its graphs lie more than {_DEPTH} deep in each other")

    def read(self, rows: Any) -> None:
        """Take rows; each may read those before it."""
        for k, row in enumerate(_list(rows, "rows")):
            what = f"row {k}"
            if not isinstance(row, dict):
                raise ValueError(f"{what} is no object")
            try:
                self.nodes.append(self._leaf(row) if "leaf" in row else self._operation(row))
            except RecursionError:
                raise ValueError(f"{what} is nested too deep") from None
            except Exception as error:
                raise_if_from_signal(error)
                name = str(row.get("op", row.get("leaf")))[:40]
                text = str(error).partition("\n")[0][:300]
                raise ValueError(f"{what} ({name}): {text or type(error).__name__}") from None

    def node(self, k: Any) -> Node:
        """The node of a number that was read before."""
        if type(k) is not int or not 0 <= k < len(self.nodes):
            raise ValueError(f"there is no row {str(k)[:20]} before it")
        return self.nodes[k]

    # -- leaves ---------------------------------------------------------------------------
    def _leaf(self, row: dict[str, Any]) -> Node:
        kind = row["leaf"]
        if kind == "constant":
            return self._constant(row)
        dtype = _dtype(row["dtype"])
        name = row.get("name")
        if name is not None and not isinstance(name, str):
            raise ValueError("its name is no text")
        grad = row.get("grad") is True and dtype.kind in "fcV"
        if kind == "input":
            shape = self._shape(row["shape"])
            node = Node(None, (), shape, dtype, requires_grad=grad, name=name)
            self.inputs.append(node)
            return node
        if kind == "parameter":
            return self._parameter(name, row["shape"], dtype, grad, row.get("array"))
        raise ValueError("there is no such leaf")

    def _constant(self, row: dict[str, Any]) -> Node:
        if "array" in row:
            value = self._array(row["array"], _dtype(row["dtype"]))
        else:
            dtype = _dtype(row["dtype"])
            value = np.asarray(self.value(row["value"]), dtype)
            if value.shape != ():
                raise ValueError("its value is no number")
        return Node(None, (), value.shape, value.dtype, row.get("weak") is True, value=value)

    def _array(self, name: Any, dtype: np.dtype) -> np.ndarray:
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"there is no array {str(name)[:40]!r}")
        found = self.arrays[name]
        pairs = found.dtype.name == "float64" and found.shape[-1:] == (2,)
        if dtype.name == "complex128" and pairs:
            found = np.ascontiguousarray(found).view(dtype)[..., 0]
        if found.dtype != dtype:
            raise ValueError(f"the array {name[:40]!r} is {found.dtype}, and not {dtype}")
        return found

    def _parameter(self, name: Any, shape: Any, dtype: Any, grad: bool, array: Any) -> Node:
        if not isinstance(name, str) or name in self.parameters:
            raise ValueError("its name is no text, or there twice")
        kept = self.weights.get(name)
        kept = None if kept is None else np.asarray(kept)
        if kept is None and array is not None:
            kept = self._array(array, dtype)
        declared = tuple(_list(shape, "shape"))
        counts = all(n is None or (type(n) is int and n >= 0) for n in declared)
        if not counts or len(declared) > _AXES:
            raise ValueError("its shape has sizes that are none")
        if kept is None:
            sizes = tuple(Dim() if n is None else n for n in declared)
            node = Node(None, (), sizes, dtype, requires_grad=grad, name=name)
        else:
            node = self._variable(name, declared, dtype, grad, kept)
        self.parameters[name] = node
        return node

    def _variable(self, name: str, declared: Any, dtype: Any, grad: bool, kept: np.ndarray) -> Node:
        """A parameter with a value: a shared variable."""
        fits = kept.dtype == dtype and len(declared) == kept.ndim and all(
            n is None or n == m for n, m in zip(declared, kept.shape, strict=True))
        if not fits:
            raise ValueError(f"{name!r} is {dtype}{list(declared)}, but its value is "
                             f"{kept.dtype}{list(kept.shape)}")
        storage = wrap(np.array(kept, order="C"))
        storage.name = name
        found = self.variables[name] = variable_over(storage, declared, grad)
        node: Any = found.node
        return node

    # -- operations -----------------------------------------------------------------------
    def _operation(self, row: dict[str, Any]) -> Node:
        inputs = tuple([self.node(k) for k in _list(row["in"], "in")])
        fields = row.get("fields", {})
        if not isinstance(row["op"], str) or not isinstance(fields, dict):
            raise ValueError("it names no operation")
        op = made(row["op"], {key: self.value(v) for key, v in fields.items()})
        if type(op) is Item:
            inner = inputs[0]
            types: Any = (inner.outputs[op.index],)
        else:
            found = op.infer(*(symbol(n) for n in inputs))
            types = tuple(found) if op.outputs > 1 else (found,)
            if op.outputs > 1 and len(types) != op.outputs:
                raise ValueError("it has another number of results")
        signature = [[dtype.name, len(shape)] for shape, dtype in types]
        if signature != row.get("type") or any(ndim > _AXES for _, ndim in signature):
            raise ValueError(f"its result is {signature}, but {str(row.get('type'))[:80]} is told")
        if type(op) is not Item:
            tried(op, inputs, types)
        shape, dtype = types[0]
        grad = row.get("grad") is True and (dtype.kind in "fcV" or op.outputs > 1)
        name = row.get("name") if isinstance(row.get("name"), str) else None
        node = Node(op, inputs, tuple(shape), dtype, row.get("weak") is True, grad, name=name)
        node.outputs = types if op.outputs > 1 else None
        return node

    # -- parameters -----------------------------------------------------------------------
    def value(self, content: Any, depth: int = 0) -> Any:
        """A parameter from plain data."""
        if depth > _DEPTH:
            raise ValueError(f"its parameters lie more than {_DEPTH} deep in each other")
        if content is None or isinstance(content, (bool, str, float)):
            return content
        if isinstance(content, int):
            if abs(content) > 1 << 64:
                raise ValueError("a number is beyond all that fit")
            return content
        if isinstance(content, list):
            return tuple([self.value(v, depth + 1) for v in content])
        if not isinstance(content, dict) or not content:
            raise ValueError("a parameter is nothing that there is")
        kind, *_ = content
        return _KINDS[kind](self, content, depth) if kind in _KINDS else self._unknown(kind)

    def _unknown(self, kind: Any) -> Any:
        raise ValueError(f"there is no kind of parameter {str(kind)[:40]!r}")

    def _shape(self, content: Any) -> tuple[Any, ...]:
        shape = tuple([self.value(n) for n in _list(content, "shape")])
        if len(shape) > _AXES or not all(
                isinstance(n, Dim) or (type(n) is int and 0 <= n < 1 << 48) for n in shape):
            raise ValueError("its shape has sizes that are none")
        return shape

    def size(self, k: Any) -> Any:
        """The size of a number in the table of sizes."""
        if self._root is not self:
            return self._root.size(k)
        if type(k) is not int or not 0 <= k < len(self.size_rows):
            raise ValueError("there is no such size")
        if k not in self._sizes:
            self._sizes[k] = self._made_size(k, self.size_rows[k])
        return self._sizes[k]

    def _made_size(self, k: int, content: Any) -> Any:
        if not isinstance(content, dict):
            raise ValueError("a size is no object")
        if "do" in content:
            args = _list(content["args"], "args")
            if content["do"] not in _ARITHMETIC or not args or any(
                    isinstance(a, dict) and a.get("size", k) >= k for a in args):
                raise ValueError("a size is computed in a way that there is not")
            return combine(content["do"], *(self.value(a) for a in args))
        if "value" in content:
            node = self.node(content["value"])
            if node.shape != () or node.dtype.kind not in "iu":
                raise ValueError("a size is no whole number")
            return ValueDim(node, self.value(content.get("most")))
        if "of" in content:
            return self.node(content["of"]).shape[content["axis"]]
        name = content.get("name")
        if name is not None and not isinstance(name, str):
            raise ValueError("a size is named by something else than a text")
        return Dim(name)

    def body(self, content: Any) -> Body:
        """A graph that an operation holds."""
        inner = Reader(self.size_rows, self.arrays, {}, self)
        inner.read(content["rows"])
        if inner.parameters:
            raise ValueError("the graph of an operation has parameters")
        inputs = [inner.node(k) for k in _list(content["inputs"], "inputs")]
        if {id(n) for n in inner.inputs} - {id(n) for n in inputs}:
            raise ValueError("the graph of an operation has inputs that it is not given")
        outputs = [inner.node(k) for k in _list(content["outputs"], "outputs")]
        return Body(FunctionGraph(inputs, outputs))


def _float(reader: Reader, content: Any, depth: int) -> float:
    if content["float"] not in ("nan", "inf", "-inf"):
        raise ValueError("a number is none")
    return float(content["float"])


def _complex(reader: Reader, content: Any, depth: int) -> complex:
    real, imaginary = (reader.value(v, depth + 1) for v in content["complex"])
    return complex(real, imaginary)


def _record(reader: Reader, content: Any, depth: int) -> Any:
    cls = class_of(RECORDS, content["record"])
    found = cls(*(reader.value(v, depth + 1) for v in _list(content["fields"], "fields")))
    steps = (*found.stride, *found.dilation)
    borders = [n for pair in found.padding for n in pair]
    numbers = all(type(n) is int and abs(n) < _MAX_STEP for n in (*steps, *borders))
    if not numbers or min(steps, default=1) < 1 or len(borders) != len(steps):
        raise ValueError("windows lie in a way that there is not")
    return found


_KINDS: dict[Any, Any] = {
    "float": _float,
    "complex": _complex,
    "size": lambda reader, content, depth: reader.size(content["size"]),
    "dtype": lambda reader, content, depth: _dtype(content["dtype"]),
    "body": lambda reader, content, depth: reader.body(content["body"]),
    "record": _record,
}


def _dtype(name: Any) -> np.dtype:
    if not isinstance(name, str):
        raise ValueError("a dtype is no text")
    return dtypes.as_dtype(name)


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{what} is no list")
    return value

