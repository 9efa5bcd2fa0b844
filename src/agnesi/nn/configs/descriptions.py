"""Networks as descriptions: ``from_config`` makes modules of plain data, ``to_config`` the data."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from agnesi.core.op import typed
from agnesi.core.support.errors import NestingError, at, retold, without_line
from agnesi.core.tensor import Tensor
from agnesi.nn.base.module import Module
from agnesi.nn.configs import prototxt, yamls
from agnesi.nn.configs.caffe import Net, activation_for
from agnesi.nn.functions.elementary import Identity
from agnesi.nn.layers.sequential import Sequential

#: Nested modules, at most: Python reads and writes texts by nested calls.
_MOST_NESTED = 100
#: Keys of an entry that are no parameters of its class.
_OWN = frozenset(("type", "name", "inputs", "outputs", "activation", "layers"))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(at(f"JSON, {place}: {error.msg}")) from None


#: Endings of files, and how their text is read.
_READERS: dict[str, Callable[[str], Any]] = {
    ".json": _json, ".yaml": yamls.loads, ".yml": yamls.loads, ".prototxt": prototxt.loads}


#: Parameters by the weight's shape: (shape, groups, whether the convolution is transposed).
_SIZES: dict[str, Any] = {
    "in_features": lambda s, g, t: s[1], "out_features": lambda s, g, t: s[0],
    "num_embeddings": lambda s, g, t: s[0], "embedding_dim": lambda s, g, t: s[1],
    "in_channels": lambda s, g, t: s[0] if t else s[1] * g,
    "out_channels": lambda s, g, t: s[1] * g if t else s[0],
    "kernel_size": lambda s, g, t: tuple(s[2:]), "num_features": lambda s, g, t: s[0],
    "normalized_shape": lambda s, g, t: tuple(s),
}


def from_config(config: Mapping[str, Any] | Sequence[Any] | str | Path, *,
                shapes: Mapping[str, Sequence[int]] | None = None) -> Module:
    """A module from a description: data, its text, or a file with it.

    Descriptions are dicts with a "type", which is the name of a class of ``agnesi.nn`` or of a
    layer of Caffe's, and its parameters by name; "activation" names a function or layer that
    follows.  "layers" of a "Sequential", or a list alone, follow each other; with "inputs" and
    "outputs", the names of values, they are a graph.  Texts are JSON, plain YAML, or Caffe's
    prototxt, whose layers find their input sizes themselves.  Nothing in a text is executed.

    :param config: A description, a text, or the name of a file that ends in ``.json``, ``.yaml`` or
        ``.prototxt``.
    :type config: dict, list, str or path
    :param shapes: Shapes of a graph's inputs, with a batch axis, where the description has none.
    :type shapes: mapping of str to sequence of int, optional
    :returns: With fresh parameters.
    :raises ValueError: If a text cannot be read, or a description lacks something.
    :raises TypeError: If a layer has no such parameter.
    :see: nn.to_config

    >>> net = ag.nn.from_config([
    ...     {"type": "Linear", "in_features": 4, "out_features": 8, "activation": "relu"},
    ...     {"type": "Linear", "in_features": 8, "out_features": 2}])
    >>> net(ag.ones((3, 4))).shape
    (3, 2)
    """
    if _is_file(config):
        try:
            return _made(_read(config), dict(shapes or {}))
        except (ValueError, TypeError) as error:
            message = without_line(error).removeprefix("from_config: ")
            raise retold(error, at(f"from_config: {config}: {message}")) from None
    return _made(_read(config), dict(shapes or {}))


def _is_file(config: Any) -> bool:
    return isinstance(config, Path) or (
        isinstance(config, str) and "\n" not in config and config.endswith(tuple(_READERS)))


def _read(config: Any) -> Any:
    if _is_file(config):
        path = Path(config)
        return _parsed(_READERS[path.suffix], path.read_text(encoding="utf-8"))
    if not isinstance(config, str):
        return config
    if prototxt.is_like(config):
        return _parsed(prototxt.loads, config)
    return _parsed(_json if config.lstrip()[:1] in "{[" else yamls.loads, config)


def _parsed(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except RecursionError:
        raise NestingError(at("from_config: entries of the text lie too deep in each other")
                           ) from None


def _made(config: Any, shapes: dict[str, Any]) -> Module:
    if isinstance(config, Sequence) and not isinstance(config, str):
        config = {"type": "Sequential", "layers": list(config)}
    if not isinstance(config, Mapping):
        raise ValueError(at(f"from_config takes a dict with a 'type', a list of them, or a text, "
                            f"not {typed(config)}"))
    layers = config.get("layers")
    kind = config.get("type", "Sequential" if layers is not None else None)
    if kind is None:
        raise ValueError(at(f"from_config: {dict(config)!r} has no 'type'"))
    if kind == "Net" or (layers is not None and any("inputs" in e or "outputs" in e
                                                    for e in layers)):
        return Net(dict(config), shapes, _layer)
    if layers is not None and kind == "Sequential":
        return _followed(Sequential(*[_made(e, {}) for e in layers]), config)
    return _followed(_layer(config), config)


def _followed(module: Module, config: Mapping[str, Any]) -> Module:
    """The module with the activation that its entry names behind it."""
    name = config.get("activation")
    return module if name is None else Sequential(module, activation_for(name))


def _layer(config: Mapping[str, Any]) -> Module:
    """A module of a class of ``agnesi.nn`` with the parameters of an entry."""
    kind = str(config["type"])
    found = getattr(import_module("agnesi.nn"), kind, None)
    if not (isinstance(found, type) and issubclass(found, Module)):
        raise ValueError(at(f"from_config: there is no layer {kind!r} in agnesi.nn"))
    given = {k: _as(tuple, v) for k, v in config.items() if k not in _OWN}
    try:
        inspect.signature(found).bind(**given)
    except TypeError as error:
        raise TypeError(at(f"from_config: {kind}: {error}")) from None
    return found(**given)


def to_config(module: Module) -> dict[str, Any]:
    """The description of a module, of which :func:`from_config` makes one like it.

    It is the structure, not the values of parameters: those are in ``state_dict()``.

    :param module: A layer of ``agnesi.nn``, a ``Sequential`` of such, or what :func:`from_config`
        made.
    :returns: Plain data, as JSON takes it.
    :raises TypeError: If a module does not keep its arguments, as those with code of one's own.
    :raises ValueError: If a parameter of its class has a value that the class refuses.
    :raises NestingError: If modules are nested more than 100 deep.
    :see: nn.from_config, Module.state_dict

    >>> ag.nn.to_config(ag.nn.Sequential(ag.nn.Linear(4, 2), ag.nn.ReLU()))["layers"][0]
    {'type': 'Linear', 'in_features': 4, 'out_features': 2}
    """
    return _described(module, 0)


def _described(module: Module, depth: int) -> dict[str, Any]:
    """The description of a module that is nested in so many others."""
    if depth > _MOST_NESTED:
        raise NestingError(at(
            f"to_config: modules lie more than {_MOST_NESTED} deep in each other, which no text "
            "keeps: give layers to a Sequential side by side"))
    if isinstance(module, Net):
        return module.description
    kind = type(module)
    if kind is Sequential:
        layers = [_described(m, depth + 1) for m in module.children()]
        return {"type": "Sequential", "layers": layers}
    if getattr(import_module("agnesi.nn"), kind.__name__, None) is not kind:
        raise TypeError(at(f"only the code of {kind.__name__}, which is no layer of agnesi.nn, "
                           "tells what it does, and no file keeps that: save "
                           "module.state_dict(), and load it into a new one"))
    found: dict[str, Any] = {"type": kind.__name__}
    bare = kind is Identity or kind.__init__ is Module.__init__  # the first one ignores arguments
    takes = {} if bare else inspect.signature(kind).parameters
    for name, parameter in takes.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(at(f"to_config: {kind.__name__} does not tell how it was made"))
        value = _parameter_value(module, name, kind)
        if value is not parameter.default and not _equal(value, parameter.default):
            found[name] = _as(list, value)
    try:
        json.dumps(found)
        _layer(found)
    except TypeError as error:
        raise TypeError(at(f"to_config: {kind.__name__} does not tell how it was made: {error}"
                           )) from None
    return found


def again(module: Module) -> Module:
    """A new layer of the class of agnesi.nn that a module is of, made in the same way."""
    space = import_module("agnesi.nn")
    kind = next(c for c in type(module).__mro__ if getattr(space, c.__name__, None) is c)
    return kind(**{name: _parameter_value(module, name, kind)
                   for name, parameter in inspect.signature(kind).parameters.items()
                   if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)})


def _as(kind: type, value: Any) -> Any:
    """Sequences in each other, as lists, which texts have, or as tuples."""
    return kind(_as(kind, v) for v in value) if isinstance(value, (list, tuple)) else value


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and not isinstance(a, Tensor) and bool(a == b)


def _parameter_value(module: Module, name: str, kind: type) -> Any:
    """The value of a parameter of a module's class, by the attribute of that name."""
    if name == "dtype" or name in ("generator", "algorithm", "inplace"):
        return inspect.signature(kind).parameters[name].default
    value = getattr(module, name, inspect.Parameter.empty)
    if value is inspect.Parameter.empty or isinstance(value, Module):
        value = _given(module, name, kind)
    weight = getattr(module, "weight", None)
    if value is inspect.Parameter.empty and isinstance(weight, Tensor) and name in _SIZES:
        turned = kind.__name__.startswith("ConvTranspose")
        found = _SIZES[name](weight.shape, getattr(module, "groups", 1), turned)
        return tuple(map(int, found)) if isinstance(found, tuple) else int(found)
    if name in ("affine", "elementwise_affine") and value is inspect.Parameter.empty:
        return weight is not None
    if name == "track_running_stats" and value is inspect.Parameter.empty:
        return getattr(module, "running_mean", None) is not None
    if name == "bias" and (value is None or isinstance(value, Tensor)):
        return value is not None
    if value is inspect.Parameter.empty:
        raise TypeError(at(f"to_config: {type(module).__name__} does not keep its {name}"))
    return value


def _given(module: Module, name: str, kind: type) -> Any:
    """What a module was made with, or the default; ``Parameter.empty`` where it is not kept."""
    given, signature = getattr(module, "_made_with", None), inspect.signature(kind)
    if given is None or type(module) is not kind:
        return inspect.Parameter.empty
    try:
        bound = signature.bind(*given[0], **given[1]).arguments
    except TypeError:  # PyTorch's words
        return inspect.Parameter.empty
    return bound.get(name, signature.parameters[name].default)
