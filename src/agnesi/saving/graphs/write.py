"""Nodes as rows of plain data, and the arrays that belong to them.

A row is a leaf (``input``, ``constant``, ``parameter``) or an operation: its name in
``operations.py``, its parameters, and the numbers of the rows that it reads, which stand before it.
Sizes that are not known yet have a table of their own, so that equal ones stay equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.shared import SharedDim, is_shared
from agnesi.compiler.specialization.data_dependent_sizes import sizes_in
from agnesi.core.graph import constant_value, live_tensor
from agnesi.core.ir.dims import CalledDim, Dim, leaves
from agnesi.core.ir.node import Node, toposort
from agnesi.core.op import Op, typed
from agnesi.core.substitution import open_sizes
from agnesi.core.support.errors import at, location
from agnesi.core.value_sizes import ValueDim
from agnesi.ops.control.body import Body
from agnesi.saving.graphs.operations import RECORDS, fields_of, name_of

Row = dict[str, Any]


class Writer:
    """Rows, sizes and arrays of a graph.

    :ivar rows, sizes: What the file contains.
    :ivar arrays: Constants, and with ``weights`` the values of parameters.
    """

    def __init__(self, weights: bool, free: Iterable[Node] = ()) -> None:
        self._free = set(free)
        self.weights = weights
        self.rows: list[Row] = []
        self.sizes: list[Any] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._numbers: dict[Node, int] = {}
        self._size_numbers: dict[Dim, int] = {}
        self._storages: dict[int, int] = {}
        self._names: set[str] = set()
        self._held: list[Any] = []

    def add(self, nodes: Iterable[Node]) -> list[int]:
        """The numbers of nodes, whose rows and all that they depend on are written."""
        wanted = list(nodes)
        for node in toposort(wanted, lambda n: n in self._numbers):
            if node in self._numbers:
                continue
            for size in _sizes(node):
                for leaf in leaves(size):
                    if isinstance(leaf, (ValueDim, SharedDim)):
                        self.size(leaf)  # its row comes before this one
            self._numbers[node] = self._leaf(node) if node.op is None else self._operation(node)
        return [self._numbers[n] for n in wanted]

    def _row(self, row: Row) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    # -- leaves ---------------------------------------------------------------------------
    def _leaf(self, node: Node) -> int:
        t = None if node in self._free else live_tensor(node)
        if t is not None:
            kept = is_shared(node) or t._requires_grad  # a weight
            return self.parameter(t, node) if kept else self._constant(t.array, node)
        value = None if node in self._free else constant_value(node)
        if value is not None:
            return self._constant(value, node)
        return self._row({"leaf": "input", "name": node.name, "dtype": node.dtype.name,
                          "shape": self._shape(node.shape), "grad": node.requires_grad})

    def _constant(self, value: np.ndarray, node: Node) -> int:
        row: Row = {"leaf": "constant"}
        if node.weak:
            row["weak"] = True
        if value.shape == () and value.dtype.kind in "biuf":
            return self._row(
                {**row, "dtype": value.dtype.name, "value": plain_data(value.item(), self)}
            )
        name = f"constant.{len(self.arrays)}"
        self.arrays[name] = _kept(value)
        return self._row({**row, "array": name, "dtype": value.dtype.name})

    def parameter(self, storage: Any, node: Node | None = None) -> int:
        """The number of what holds the value of a variable."""
        if id(storage) in self._storages:
            return self._storages[id(storage)]
        self._held.append(storage)
        shared = node is None or any(isinstance(n, SharedDim) for n in node.shape)
        own = (node.name if node is not None else None) or storage.name or "parameter"
        name = own
        while name in self._names:
            name = f"{own}_{len(self._names)}"
        self._names.add(name)
        data = storage.array
        row: Row = {"leaf": "parameter", "name": name, "dtype": data.dtype.name,
                    "shape": [None] * data.ndim if shared else list(data.shape),
                    "grad": data.dtype.kind in "fcV" if node is None else node.requires_grad}
        if self.weights:
            row["array"] = name
            self.arrays[name] = _kept(data)
        number = self._storages[id(storage)] = self._row(row)
        return number

    # -- operations -----------------------------------------------------------------------
    def _operation(self, node: Node) -> int:
        name = name_of(node.op)
        if name is None:
            raise TypeError(at(
                f"save keeps operations of agnesi's own by name, and "
                f"{node.op.name} is none: {_why(node)}"
                f"\n  written at {location(node.where)}"))
        row: Row = {"op": name, "in": [self._numbers[n] for n in node.inputs], "type": _types(node)}
        fields = self._fields(node.op)
        if fields:
            row["fields"] = fields
        for key, flag in (("weak", node.weak), ("grad", node.requires_grad)):
            if flag:
                row[key] = True
        if node.name:
            row["name"] = node.name
        return self._row(row)

    def _fields(self, op: Op) -> dict[str, Any]:
        return {n: plain_data(getattr(op, n), self) for n in fields_of(op)}

    # -- sizes ----------------------------------------------------------------------------
    def _shape(self, shape: Sequence[Any]) -> list[Any]:
        return [plain_data(n, self) for n in shape]

    def size(self, n: Dim) -> dict[str, int]:
        """An unknown size by its number."""
        if n not in self._size_numbers:
            entry: Any
            if isinstance(n, ValueDim):
                entry = {"value": self.add([n.node])[0], "most": plain_data(n.most, self)}
            elif isinstance(n, SharedDim):
                entry = {"of": self.parameter(n.storage), "axis": n.axis}
            elif isinstance(n, CalledDim):
                raise TypeError(at(f"save keeps sizes that are arithmetic of others, and {n} is "
                                   "none; give the sizes in the variable's shape"))
            elif n.op:
                entry = {"do": n.op, "args": [plain_data(a, self) for a in n.args]}
            else:
                own = str(n.args[0])
                entry = {"name": None if own[0] == "d" and own[1:].isdigit() else own}
            self._size_numbers[n] = len(self.sizes)
            self.sizes.append(entry)
        return {"size": self._size_numbers[n]}

    def body(self, body: Body) -> Any:
        """A graph that an operation holds; its rows have numbers of their own."""
        inner = Writer(True, body.inputs)
        inner.sizes, inner._size_numbers, inner.arrays = (
            self.sizes, self._size_numbers, self.arrays)
        inputs = inner.add(body.inputs)
        outputs = inner.add(body.outputs)
        return {"rows": inner.rows, "inputs": inputs, "outputs": outputs}


def _kept(value: np.ndarray) -> np.ndarray:
    """An array as files have it, which know no complex128: then with an axis for both parts."""
    if value.dtype.name != "complex128":
        return value
    return np.stack((value.real, value.imag), -1)


def _why(node: Node) -> str:
    """Why an operation cannot be kept."""
    if getattr(node.op, "bears", False):
        return "its call is written when sizes are known; give the sizes in the variable's shape"
    if type(node.op).__module__.startswith("agnesi.ops.sparse"):
        return "its pattern is read as it is, and nothing would check that of a file"
    return "it runs Python"


def _types(node: Node) -> Any:
    """Return the requirements on a loaded row: a dtype and a number of axes for each result."""
    types = node.outputs if node.outputs is not None else ((node.shape, node.dtype),)
    return [[dtype.name, len(shape)] for shape, dtype in types]


def _sizes(node: Node) -> Iterator[Any]:
    """Sizes of a node, of its parameters, and of the graphs that it holds."""
    yield from open_sizes(node)
    for shape, _ in node.outputs or ():
        yield from shape
    for name in node.op.bodies if node.op is not None else ():
        yield from sizes_in(getattr(node.op, name).outputs)


def plain_data(value: Any, writer: Writer) -> Any:
    """A parameter as plain data."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, (complex, np.complexfloating)):
        return {"complex": [plain_data(value.real, writer), plain_data(value.imag, writer)]}
    if isinstance(value, tuple):
        return [plain_data(v, writer) for v in value]
    if isinstance(value, Dim):
        return writer.size(value)
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, Body):
        return {"body": writer.body(value)}
    kind = next((name for name, (_, cls) in RECORDS.items() if type(value).__name__ == cls), None)
    if kind is not None:
        return {"record": kind, "fields": [plain_data(getattr(value, n), writer)
                                           for n in value._fields]}
    raise TypeError(at(f"save keeps data only: {typed(value)} is a parameter of an operation"))
