"""``ag.save`` and ``ag.load``: values, graphs and modules in files that hold data only.

The file is a safetensors file: its arrays are constants and, if requested, weights; its metadata
hold the kind, the version of the format, and the graph as JSON.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from agnesi.compiler.shared import each_once, fitting, storage_of, with_default_updates
from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import Node
from agnesi.core.keywords import strict
from agnesi.core.op import typed
from agnesi.core.support.errors import FileFormatError, at
from agnesi.core.support.tree import flatten
from agnesi.core.tensor import Tensor, symbol
from agnesi.nn.base.module import Module
from agnesi.nn.configs import from_config, to_config
from agnesi.saving.files import Path_, load_file, open_file, save_file
from agnesi.saving.graphs.loaded import Graph
from agnesi.saving.graphs.read import Reader
from agnesi.saving.graphs.write import Writer
from agnesi.saving.header import refusal
from agnesi.saving.nested import put_together, taken_apart

#: The version of the format; files of older ones are read.
VERSION = 1
_KIND, _VERSION, _TEXT = "agnesi.kind", "agnesi.version", "agnesi.graph"


@strict
def save(what: object, path: Path_, *, weights: bool | None = None,
         inputs: Sequence[Tensor] | None = None, updates: Mapping[Any, Any] | None = None) -> None:
    """Write values, a symbolic graph, or a module, to a file of data only.

    Nothing runs and nothing is compiled.  :func:`agnesi.load` gives it back in another process, on
    another machine, or in a later version of agnesi.

    :param what: Tensors with values, arrays, numbers, texts and None in any nest, such as a
        ``state_dict``, are written as they are.  Symbolic tensors, alone or in a list, tuple or
        dict, are outputs: all that they are computed from is written.  Of a module its structure,
        as ``nn.to_config`` describes it, and its weights.
    :type what: Tensor, nest of list, tuple and dict, or Module
    :param path: The file, conventionally ``*.agnesi``; an old one is replaced.  PyTorch's endings
        (``.pt``, ``.pth``) are taken, those of other formats (``.onnx``, ``.npz``, ...) are not.  A
        file that is open for writing bytes gets them where it stands.
    :type path: str, os.PathLike or binary file
    :param weights: Whether the values of shared variables and weights are written, too; constants
        always are, and by default a module's weights, but no shared variables'.
    :param inputs: The variables in the order in which the loaded graph has them; by default as they
        are met.
    :param updates: New values of shared variables.
    :type updates: mapping, optional
    :raises TypeError: If something else is given, or an operation is written in Python.
    :raises ValueError: If ``inputs`` lack a variable, or the path ends as files of another format.
    :raises OSError: If the file cannot be written; an old one stays.
    :see: load, saving.save_file, saving.save_checkpoint, function

    >>> import agnesi as ag, os, tempfile
    >>> from agnesi import symbolic as T
    >>> path = os.path.join(tempfile.mkdtemp(), "line.agnesi")
    >>> x, w = T.vector("x"), ag.shared([1.0, 2.0], name="w")
    >>> ag.save((x * w).sum(), path, weights=True)
    >>> line = ag.load(path)
    >>> line.function()([3.0, 4.0])
    array(11.)
    >>> ag.save({"weights": ag.ones(2), "epoch": 3}, path)
    >>> ag.load(path)
    {'weights': tensor([1., 1.]), 'epoch': 3}
    """
    if hasattr(path, "write"):
        return _through_file("save", path, lambda inner: save(
            what, inner, weights=weights, inputs=inputs, updates=updates))
    _check_path("save", path)
    if not isinstance(weights, bool | None):
        raise TypeError(at(f"save: weights is True or False, not {typed(weights)}"))
    if inputs is not None and not (isinstance(inputs, (list, tuple)) and all(
            isinstance(x, Tensor) for x in inputs)):
        raise TypeError(at(f"save: inputs are a list of variables, not {typed(inputs)}"))
    if isinstance(what, Module):
        content: Any = to_config(what)
        arrays = {} if weights is False else {
            k: np.asarray(v) for k, v in what.state_dict().items()}
        return _write(path, "module", content, arrays)
    if inputs is None and updates is None and not _is_symbolic(what):
        arrays = {}
        return _write(path, "values", {"nest": taken_apart(what, "value", arrays)}, arrays)
    nest, outputs = _outputs(what)
    writer = Writer(bool(weights))
    first = writer.add(graph_node(x) for x in inputs or ())
    numbers = writer.add(outputs)
    changes = [[writer.parameter(storage_of(t)), writer.add([graph_node(v)])[0]]
               for t, v in _updates(what, inputs, updates).items()]
    met = [k for k, row in enumerate(writer.rows) if row.get("leaf") == "input"]
    missing = [k for k in met if k not in first]
    if inputs is not None and missing:
        raise ValueError(at(f"save: the outputs depend on {writer.rows[missing[0]]['name']}, which "
                            "is not among the inputs"))
    content = {"sizes": writer.sizes, "rows": writer.rows, "inputs": first or met, "nest": nest,
            "outputs": numbers, "updates": changes}
    return _write(path, "graph", content, writer.arrays)


def _is_symbolic(what: Any) -> bool:
    """Whether there is a tensor without a value in a nest."""
    return any(isinstance(v, Tensor) and v.array is None for v in flatten(what)[0])


def _write(path: Path_, kind: str, content: Any, arrays: Mapping[str, np.ndarray]) -> None:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"),
                      allow_nan=kind == "values")
    save_file(arrays, path, {"format": "agnesi", _KIND: kind, _VERSION: str(VERSION), _TEXT: text})


def _through_file(owner: str, file: Any, call: Callable[[str], Any]) -> Any:
    """Save to, or load from, a file that is open, by one with a path."""
    if isinstance(file, io.TextIOBase):
        raise TypeError(at(f"{owner}: the file is open for text; open it with mode "
                           f"{'wb' if owner == 'save' else 'rb'!r}"))
    with tempfile.TemporaryDirectory() as folder:
        inner = os.path.join(folder, "open")
        if owner == "load":
            with open(inner, "wb") as copy:
                shutil.copyfileobj(file, copy)
        try:
            found = call(inner)
        except FileFormatError as error:
            shown = str(getattr(file, "name", "the open file"))
            error.args = (str(error).replace(inner, shown),)
            raise
        if owner == "save":
            with open(inner, "rb") as copy:
                shutil.copyfileobj(copy, file)
    return found


def _check_path(owner: str, path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(at(f"{owner}: path must be the path of a file, not {typed(path)}"))


def _updates(what: Any, inputs: Any, updates: Any) -> dict[Any, Tensor]:
    """New values of shared variables, those of random streams included."""
    found = {t: fitting(t, value) for t, value in each_once(updates or {}).items()}
    parts = [what] if isinstance(what, Tensor) else list(
        what.values() if isinstance(what, Mapping) else what)
    with_default_updates(parts, found, [graph_node(x) for x in inputs or ()], False)
    return found


def _outputs(what: Any) -> tuple[Any, list[Node]]:
    """The nest of what is saved, and its nodes."""
    kind = "one" if isinstance(what, Tensor) else type(what).__name__
    if isinstance(what, Mapping):
        kind, names, parts = "dict", list(what), list(what.values())
    else:
        names, parts = None, [what] if kind == "one" else what
    right = kind in ("one", "list", "tuple", "dict") and all(
        isinstance(t, Tensor) for t in parts) and any(t.array is None for t in parts)
    if not right or not all(isinstance(n, str) for n in names or ()):
        raise TypeError(at(f"save writes symbolic tensors (or lists or dicts of them) and modules, "
                           f"not {typed(what)}; in a file of values there is no symbolic "
                           "tensor"))
    return {"kind": kind, "names": names}, [graph_node(t) for t in parts]


@strict
def load(path: Path_, map_location: object = None, *,
         weights: Mapping[str, Any] | Path_ | None = None, weights_only: bool = True) -> Any:
    """Values, a graph or a module from a file of :func:`agnesi.save`.

    The file is data: nothing in it is run, all of it is checked before anything is returned.

    :param path: The file; of one that is open for reading bytes, what is left.
    :type path: str, os.PathLike or binary file
    :param map_location: Taken from PyTorch's calls, and not needed: there is one device.
    :type map_location: object
    :param weights: Values of parameters by name, or a safetensors file with them; those in the file
        itself count less.
    :type weights: mapping or path, optional
    :param weights_only: Taken from PyTorch's calls, and not needed: nothing of a file runs.
    :returns: As it was saved.  Parameters without a value are variables to be given; the weights of
        a module that was saved without any are new ones.
    :rtype: object, saving.Graph or Module
    :raises FileFormatError: If the file is none of ``save``, is damaged, cut off or made up, or of
        a later version.
    :raises TypeError: If the path is none, or the weights are no mapping.
    :raises ValueError: As a FileFormatError, which is one.
    :raises OSError: If it cannot be read.
    :see: save, saving.Graph, saving.load_file

    >>> import agnesi as ag, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.agnesi")
    >>> ag.save(ag.nn.Sequential(ag.nn.Linear(3, 2), ag.nn.ReLU()), path)
    >>> ag.load(path)
    Sequential()         8
      (0): Linear(3, 2)  8
      (1): ReLU()
    """
    if hasattr(path, "read"):
        return _through_file("load", path, lambda inner: load(inner, weights=weights))
    _check_path("load", path)
    if not isinstance(weights, (Mapping, str, os.PathLike, type(None))):
        raise TypeError(at("load: weights are a mapping of names to values, or the path of a "
                           f"file, not {typed(weights)}"))
    name = str(path)
    with open_file(path) as file:
        content = _kind_and_text(file.header.metadata, name)
        file.verify()
        arrays = {key: np.asarray(file[key]) for key in file}
    extra: Mapping[str, Any] = (
        {} if weights is None else weights if isinstance(weights, Mapping) else load_file(weights))
    given = {k: np.asarray(v) for k, v in extra.items()}
    try:
        if content["kind"] == "values":
            return put_together(content["text"]["nest"], arrays.__getitem__)
        if content["kind"] == "module":
            return _module(content["text"], {**arrays, **given})
        return _graph(content["text"], arrays, given)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        reason = str(error).partition("\n")[0][:400] or type(error).__name__
        raise refusal(name, f"has no graph that can be believed: {reason}") from None


def _kind_and_text(metadata: Mapping[str, str], name: str) -> dict[str, Any]:
    """The kind of a file and its text, once they are known to be ours."""
    kind, version = metadata.get(_KIND), metadata.get(_VERSION, "")
    if kind not in ("graph", "module", "values"):
        raise refusal(name, "holds nothing of ag.save; tensors are read by " "saving.load_file")
    if not version.isdigit() or not 1 <= int(version[:9]) <= VERSION:
        raise refusal(name, f"is of version {version[:20]} of the format; this version of agnesi "
                            f"reads those up to {VERSION}")
    try:
        text = json.loads(metadata.get(_TEXT, ""), parse_constant=_constants[kind == "values"])
    except (ValueError, RecursionError) as error:
        raise refusal(name, f"has a graph that is no JSON ({error})") from None
    if not isinstance(text, dict):
        raise refusal(name, "has a graph that is no JSON object")
    return {"kind": kind, "text": text}


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


#: What becomes of infinities and NaN, which graphs do not have; by whether a file is of values.
_constants = (_no_constant, float)


def _module(content: Any, arrays: Mapping[str, np.ndarray]) -> Module:
    module = from_config(content)
    if arrays:
        module.load_state_dict(dict(arrays))
    return module


def _graph(content: Any, arrays: Mapping[str, np.ndarray],
           given: Mapping[str, np.ndarray]) -> Graph:
    reader = Reader(content["sizes"], arrays, given)
    reader.read(content["rows"])
    inputs = [reader.node(k) for k in content["inputs"]]
    if {id(n) for n in reader.inputs} != {id(n) for n in inputs} or len(inputs) != len(
            reader.inputs):
        raise ValueError("its inputs are not the variables that it has")
    known: dict[int, Any] = {id(v.node): v for v in reader.variables.values()}
    parameters = {name: known[id(n)] if id(n) in known else symbol(n)
                  for name, n in reader.parameters.items()}
    outputs = [symbol(reader.node(k)) for k in content["outputs"]]
    updates = {known[id(reader.node(a))]: symbol(reader.node(b)) for a, b in content["updates"]
               if id(reader.node(a)) in known}
    return Graph(tuple(map(symbol, inputs)), _nest(content["nest"], outputs), parameters, updates)


def _nest(content: Any, outputs: Iterable[Any]) -> Any:
    """Outputs as they were saved."""
    parts = list(outputs)
    kind, names = content["kind"], content["names"]
    if kind == "one" and len(parts) == 1:
        return parts[0]
    if kind == "dict" and len(names) == len(parts) and all(isinstance(n, str) for n in names):
        return dict(zip(names, parts, strict=True))
    if kind in ("list", "tuple"):
        return parts if kind == "list" else tuple(parts)
    raise ValueError("its outputs are no nest that there is")

