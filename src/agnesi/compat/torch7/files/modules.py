"""Modules and criterions of ``nn`` as tables of fields, by Torch7's names, and made of such again.

A module is made by its own constructor, whose arguments are fields, or follow from the sizes of its
weights; then it takes the tensors, modules and numbers that the file has for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from agnesi.compat.torch7 import nn
from agnesi.compat.torch7.tensor import Storage, View
from agnesi.core.support.errors import FileFormatError, at

Fields = dict[str, Any]
_REQUIRED = inspect.Parameter.empty


def _of_weight(*places: tuple[str, int]) -> Callable[[Fields], Fields]:
    """Arguments that are sizes of the weight, by axis."""
    return lambda f: {name: int(f["weight"].size(axis)) for name, axis in places}


#: Arguments that Torch7's modules do not keep, from fields that they do.
_DERIVED: dict[str, Callable[[Fields], Fields]] = {
    **dict.fromkeys(("Linear", "PartialLinear", "SparseLinear", "LinearWeightNorm", "Cosine"),
                    _of_weight(("inputSize", 2), ("outputSize", 1))),
    **dict.fromkeys(("Euclidean", "WeightedEuclidean"),
                    _of_weight(("inputSize", 1), ("outputSize", 2))),
    "Bilinear": _of_weight(("outputSize", 1), ("inputSize1", 2), ("inputSize2", 3)),
    "LookupTable": _of_weight(("nIndex", 1), ("nOutput", 2)),
    "CMul": lambda f: {"sizes": list(f["weight"].size())},
    "CAdd": lambda f: {"sizes": list(f["bias"].size())},
    "Add": lambda f: {"inputSize": int(f["bias"].size(1))},
    **dict.fromkeys(
        ("BatchNormalization", "SpatialBatchNormalization", "VolumetricBatchNormalization"),
        lambda f: {"nOutput": int(f["running_mean"].size(1))}),
    **dict.fromkeys(
        ("SpatialZeroPadding", "SpatialReflectionPadding", "SpatialReplicationPadding"),
        lambda f: {"widths": [f[f"pad_{s}"] for s in "lrtb"]}),
    "Transpose": lambda f: {"pairs": f["permutations"]},
}


def _kinds(*bases: Any) -> Iterator[Any]:
    """All classes of nn, also those that only others are made of."""
    for kind in bases:
        if kind.__module__.startswith("agnesi.compat.torch7.nn."):
            yield kind
            yield from _kinds(*kind.__subclasses__())


_KINDS: dict[str, Any] = {k.__name__: k for k in _kinds(nn.Module, nn.Criterion)}
#: What is neither an argument nor kept from a file.
_OWN = ("_made", "fan", "_type", "train")


def is_module(x: Any) -> bool:
    """Return whether it is a module or criterion; those of users cannot be read again."""
    if not isinstance(x, (nn.Module, nn.Criterion)):
        return False
    if _KINDS.get(type(x).__name__) is not type(x):
        raise TypeError(at(f"{type(x).__name__} is no module of nn, which Torch7's files could "
                           "tell; save its parameters"))
    return True


def _parameters(kind: Any) -> dict[str, Any]:
    """A constructor's parameters, with their defaults."""
    if hasattr(kind, "names") and hasattr(kind, "defaults"):
        missing = (_REQUIRED,) * (len(kind.names) - len(kind.defaults))
        return dict(zip(kind.names, (*kind.defaults, *missing), strict=True))
    return {p.name: p.default for p in inspect.signature(kind).parameters.values()
            if p.kind is not p.VAR_KEYWORD}


def fields_of(x: Any) -> Fields:
    """The fields of a module: what it was made with, and what it has now."""
    names = list(_parameters(type(x)))
    args, named = x._made
    stars = [p for p in inspect.signature(type(x)).parameters.values()
             if p.kind is p.VAR_POSITIONAL]
    if stars and not hasattr(type(x), "names"):
        named, args = {**named, stars[0].name: list(args)}, ()
    found: Fields = {**dict(zip(names, args, strict=False)), **named}
    if "sizes" in found:
        wide = found.pop("sizes")
        wide = list(wide[0]) if len(wide) == 1 and not isinstance(wide[0], int) else list(wide)
        found["size"] = Storage(wide, "int64")
        found["numElements"] = found["nelement"] = abs(int(np.prod(wide)))
    found |= {k: v for k, v in vars(x).items() if k not in _OWN and _is_kept(v)}
    kind = next((t.type() for t in found.values() if isinstance(t, View)), "torch.DoubleTensor")
    if isinstance(x, nn.Module):
        found |= {"train": x.train, "_type": kind}
    return found


def _is_kept(v: Any) -> bool:
    """Return whether a file has a value: numbers, texts, tensors, modules and lists of these."""
    if isinstance(v, (list, tuple)):
        return all(map(_is_kept, v))
    return isinstance(v, (bool, int, float, str, View, Storage)) or is_module(v)


def made(name: str, fields: Fields) -> Any:
    """The module of a class's name with its fields."""
    kind = _KINDS.get(name.removeprefix("nn.")) if name.startswith("nn.") else None
    if kind is None:
        raise FileFormatError(f"has an object of the class {name!r}, which there is not in nn here")
    try:
        found = _constructed(kind, name, fields)
    except FileFormatError:
        raise
    except Exception as error:
        raise FileFormatError(f"has a module {name!r} whose fields do not fit together "
                              f"({type(error).__name__}: {error})") from None
    for key, value in fields.items():
        if _fits(found, key, value):
            setattr(found, key, value)
    return found


def _constructed(kind: Any, name: str, fields: Fields) -> Any:
    parameters = _parameters(kind)
    options = {k: v for k, v in fields.items() if k != "bias" or not isinstance(v, View)}
    if "sizes" in parameters and "size" in fields:
        options["sizes"] = list(fields["size"])
    if any(default is _REQUIRED and p not in options for p, default in parameters.items()):
        options = {**_DERIVED.get(kind.__name__, lambda f: {})(fields), **options}
    if parameters.get("bias") is True:
        options["bias"] = isinstance(fields.get("bias"), View)
    if "affine" in parameters and "running_mean" in fields:
        options["affine"] = bool(fields.get("affine", "weight" in fields))
    given = {}
    for p, default in parameters.items():
        if p in options:
            given[p] = options[p]
        elif default is _REQUIRED:
            raise FileFormatError(f"has a module {name!r} without its field {p!r}")
    stars = [p for p in given if p in ("sizes", "widths", "pairs")]
    return kind(*given.pop(stars[0]), **given) if stars else kind(**given)


def _fits(module: Any, key: str, value: Any) -> bool:
    """Return whether a field is one of the module's, and of its kind."""
    if key.startswith("_") or not hasattr(module, key):
        return False
    now = getattr(module, key)
    if isinstance(now, bool) or isinstance(value, bool):
        return isinstance(now, bool) and isinstance(value, bool)
    if isinstance(now, (int, float)) or now is None:
        return isinstance(value, (int, float))
    if key == "modules":
        return isinstance(value, list) and all(map(is_module, value))
    return (isinstance(now, View) and isinstance(value, View)) or (
        isinstance(now, str) and isinstance(value, str))
