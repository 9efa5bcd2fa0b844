"""Docstrings of public functions: fields in the source, numpydoc where they are read.

The source says what the signature does not; ``public`` writes the rest::

    def nansum(x: TensorLike, /, axis: Axis = None, *, keepdims: bool = False,
               out: Tensor | None = None) -> Tensor:
        '''Sum over axes without NaN; 0 where there is nothing else.

        :param x: Of any shape; without NaN in integers.
        :returns: The shape of ``x`` without the axes.
        :see: sum, nanmean, nanprod
        '''

Behind the fields comes an example; its heading is added, and the imports of ``ag``, of ``np`` and
of the package that the function stands in, where it begins with none.  A type is what the
annotation says, unless a field ``:type x:`` or ``:rtype:`` follows.  A parameter that is
in ``SHARED`` and has no field has the text that stands there, and its error.  Fields that
begin with ``:like: nansum`` are those of that function or ``Class.method`` of the file, except
``:see:`` and what follows again.  Docstrings that are written in numpydoc stay as they are.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, Self


class Shared(NamedTuple):
    """What is said of a parameter that means the same in many functions, and the errors that it
    can raise, one a line."""

    text: str
    error: str = ""
    kind: str = ""


class Entry:
    """The text of a section for one name."""

    def __init__(self, words: str, kind: str = "") -> None:
        self.words, self.kind = words, kind

    def shown(self, name: str, indent: str) -> str:
        head = f"{name} : {self.kind}" if name and self.kind else name or self.kind
        if not head:  # of See Also
            return indent + self.words
        rest = f"\n{indent}    {self.words}" if self.words else ""
        return indent + head + rest


#: By name and annotation.
SHARED = {
    ("out", "Tensor | None"): Shared(
        "Takes the result: a tensor of its shape, of a dtype that holds it."),
    ("axis", "Axis"): Shared(
        "Axes to reduce over, negative ones counted from the end; all by default. Also written\n"
        "``dim``.",
        "IndexError: If an axis is out of range.\nValueError: If an axis is named twice."),
    ("axis", "int | None"): Shared(
        "An axis, counted from the end where negative; by default the elements are taken flat. "
        "Also\nwritten ``dim``.", "IndexError: If the axis is out of range."),
    ("axis", "int"): Shared(
        "An axis, counted from the end where negative; also written ``dim``.",
        "IndexError: If the axis is out of range."),
    ("keepdims", "bool"): Shared(
        "Whether the reduced axes stay, with size 1; also written ``keepdim``."),
    ("where", "TensorLike | None"): Shared(
        "Which elements count; broadcast to the shape of ``x``.",
        kind="array_like of bool, optional"),
    ("device", "str | None"): Shared('Only "cpu", which is the default.'),
    ("requires_grad", "bool"): Shared(
        "Whether gradients are computed for it; of float and complex dtypes only."),
    ("size", "ShapeLike | None"): Shared(
        "Shape of the result; by default that of the broadcast parameters."),
    ("generator", "Generator | None"): Shared(
        "Where the random numbers come from; by default :func:`agnesi.random.default_generator`."),
    ("norm", "str | None"): Shared(
        "Which transform is scaled: by 1/n that back (default) or this one, or each by its root.",
        kind='{"backward", "ortho", "forward"}, optional'),
    ("inplace", "bool"): Shared("Whether to write into the operand."),
    ("last_epoch", "Epoch"): Shared(
        "The epoch after which a training goes on, whose optimizer was loaded; -1 starts again."),
    ("lr", "NotNegative"): Shared("Learning rate."),
    ("maximize", "bool"): Shared("Whether to go up along the gradient."),
    ("optimizer", "Optimizer"): Shared("Whose ``lr`` is set."),
    ("parameters", "Parameters"): Shared(
        "What to optimise, or groups of it with options of their own."),
    ("x", "TensorLike"): Shared("Of any shape."),
    ("a", "SparseTensor"): Shared("A sparse matrix."),
    ("X", "object"): Shared("(samples, features).", kind="array_like or sparse matrix"),
    ("sample_weight", "object"): Shared(
        "How much each sample counts.", kind="array_like, optional"),
    ("group", "Group | None"): Shared("Which processes; all by default."),
    ("trainer", "Any"): Shared("Who trains.", kind="Trainer"),
    ("nstreams", "int | None"): Shared(
        "How many streams take turns; by default as many as the size asks for."),
    ("algorithm", "Algorithm"): Shared(
        "How it is computed, as for :func:`agnesi.conv2d`.",
        kind="str, (str, str, str) or dict, optional"),
    **dict.fromkeys(
        (("reduction", "str"), ("reduction", "Literal['mean', 'sum', 'none']")),
        Shared("What becomes of the losses.", kind='{"mean", "sum", "none"}')),
}
#: How annotations are written.
_KINDS = {
    "TensorLike": "array_like", "DTypeLike": "dtype", "Sequence[Any]": "sequence of array_like",
    "Axis": "int or tuple of int", "PerAxis": "int or tuple of int",
    "ShapeLike": "int or tuple of int", "tuple[Tensor, ...]": "tuple of Tensor",
    "list[Tensor]": "list of Tensor",
    **dict.fromkeys("""AnyNumber Positive NotNegative Order Bound NotNegativeBound Share
                       Decay""".split(), "float"),
    **dict.fromkeys("Size Count Epoch".split(), "int"),
    **dict.fromkeys(("Callable[..., Any]", "Function"), "callable"),
    **dict.fromkeys(("Path_", "_Path", "str | os.PathLike[str]"), "str or os.PathLike"),
    "Parameters": "iterable of Tensor, or of dict", "M": "Module", "np.ndarray": "numpy.ndarray",
    "dict[str, Any]": "dict", "list[Any]": "list", "tuple[Any, ...]": "tuple",
    "tuple[Decay, Decay]": "tuple of float", "_Operands": "Tensor or sequence of Tensor",
    **dict.fromkeys("Sizes Counts".split(), "int or tuple of int"),
    "Any": "object", "Iterable[Any]": "iterable", "Mapping[str, Any]": "mapping",
    "Iterable[Tensor] | Tensor": "iterable of Tensor",
    "int | Sequence[int]": "int or sequence of int",
    "NotNegative | list[NotNegative]": "float or list of float",
}
#: Annotations of containers whose elements have one type, as the docstring names them.
_OF = {"list": "list", "tuple": "tuple", "frozenset": "frozenset", "Iterator": "iterator",
       "Iterable": "iterable", "Sequence": "sequence"}
#: Packages whose examples have them by a name, as they import it.
_PACKAGES = {name: name for name in "data image nn rewrite saving training".split()} | {
    "distributed": "distributed as dist", "symbolic": "symbolic as T"}
_STARS: dict[Any, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**",
}
_FIELD = re.compile(
    r"\n( *):(like|param|type|returns|rtype|raises|see)(?: ([^:\n]+))?: ?(.*(?:\n\1 +.*)*)")
_TITLES = (("param", "Parameters"), ("returns", "Returns"), ("raises", "Raises"),
           ("see", "See Also"))


class Docstring(str):
    """A docstring of fields that reads as numpydoc.

    It is written when it is first read, for an import reads none, and would take a tenth longer.
    """

    def __new__(cls, text: str, function: Any) -> Self:
        made = super().__new__(cls, text)
        made._text, made._function, made._shown = text, function, ""
        return made

    _text: str
    _function: Any
    _shown: str

    def __str__(self) -> str:
        if not self._shown:
            self._shown = _written(self._text, self._function)
        return self._shown

    def __radd__(self, other: str) -> str:
        return other + str(self)


def _read(name: str) -> Any:
    """Return a method of the displayed text."""
    method = getattr(str, name)

    def read(self: Docstring, *args: Any, **keywords: Any) -> Any:
        return method(str(self), *args, **keywords)

    return read


#: ``inspect.getdoc``, ``help`` and ``doctest`` begin with ``expandtabs``.
for _name in """
    expandtabs split splitlines partition rpartition replace strip find index count startswith
    endswith __contains__ __add__ __getitem__ __iter__ __len__ __format__ __repr__
""".split():
    setattr(Docstring, _name, _read(_name))


def numpydoc(function: Callable[..., Any]) -> None:
    """Let a function's docstring of fields read as numpydoc."""
    text = function.__doc__
    if type(text) is str and _FIELD.search(text) is not None:
        function.__doc__ = Docstring(text, function)


def _written(text: str, function: Any) -> str:
    first, *own = _FIELD.finditer(text)
    indent = first[1]
    fields = _fields(text, function)
    entries: dict[str, dict[str, Entry]] = {kind: {} for kind, _ in _TITLES}
    last = Entry("")
    for field in fields:
        kind, name, words = field.group(2, 3, 4)
        if kind in entries:
            last = entries[kind][name or ""] = Entry(words)
        else:
            last.kind = words  # the type of the field before
    _complete(entries, function, indent)
    parts = [text[: first.start()].rstrip()]
    for kind, title in _TITLES:
        if entries[kind]:
            rows = [entry.shown(name, indent) for name, entry in entries[kind].items()]
            parts.append(_section(title, "\n".join(rows), indent))
    if example := text[(own or [first])[-1].end():].strip():
        if example.startswith(">>> ") and not example.startswith((">>> import ", ">>> from ")):
            imports = _imports(example, function.__module__)
            example = f"\n{indent}".join([*(f">>> {line}" for line in imports), example])
        parts.append(_section("Examples", indent + example, indent))
    return "\n\n".join(parts) + f"\n{indent}"


def _imports(example: str, module: str) -> list[str]:
    """The imports of an example of a function that stands in a module."""
    own = [f"from agnesi import {_PACKAGES[part]}" for part in module.split(".")
           if part in _PACKAGES and _uses(example, _PACKAGES[part].rpartition(" ")[2])]
    numpy = ["import numpy as np"] if _uses(example, "np") else []
    ours = ["import agnesi as ag"] if not own or _uses(example, "ag") else []
    return [*ours, *numpy, *own]


def _uses(example: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\.", example) is not None


def _fields(text: str, function: Any) -> list[re.Match[str]]:
    """The fields of a docstring, after those inherited from the function in the same file that it
    names as similar."""
    first, *rest = _FIELD.finditer(text)
    if first[2] != "like":
        return [first, *rest]
    other: Any = functools.reduce(getattr, first[4].split("."), sys.modules[function.__module__])
    source = getattr(other.__doc__, "_text", other.__doc__)  # a plain text until it is public
    return [*(f for f in _fields(source, function) if f[2] != "see"), *rest]


def _complete(entries: dict[str, dict[str, Entry]], function: Any, indent: str) -> None:
    """Add types by annotations, and what is said of shared parameters, in the signature's order."""
    written = {one: name for name in entries["param"] for one in name.split(", ")}
    found: dict[str, Entry] = {}
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        name = _STARS.get(parameter.kind, "") + parameter.name
        entry = entries["param"].get(key := written.get(name, name))
        shared = SHARED.get((name, parameter.annotation))
        if entry is None and shared is not None:
            entry = Entry(shared.text.replace("\n", f"\n{indent}    "), shared.kind)
            for line in shared.error.splitlines():
                error, _, reason = line.partition(": ")
                entries["raises"].setdefault(error, Entry(reason))
        if entry is not None and key not in found:
            entry.kind = entry.kind or kind_of(parameter)
            found[key] = entry
    entries["param"] = found
    for name, entry in entries["returns"].items():
        entry.kind = entry.kind or ("Tensor" if name else _kind(signature.return_annotation))


def kind_of(parameter: inspect.Parameter) -> str:
    """A parameter's type in words, by its annotation."""
    return _kind(parameter.annotation) + ", optional" * (parameter.default is None)


def _kind(annotation: Any) -> str:
    base = annotation.removesuffix(" | None") if isinstance(annotation, str) else ""
    if base.startswith("Literal["):
        return f"{{{base[8:-1]}}}".replace("'", '"')
    if base in _KINDS:
        return _KINDS[base]
    outer, _, inner = base.removesuffix("]").partition("[")
    if outer == "Callable":
        return "callable"
    alike = outer in _OF and (outer == "tuple") == inner.endswith(", ...")
    return f"{_OF[outer]} of {_kind(inner.removesuffix(', ...'))}" if alike else base


def _section(title: str, body: str, indent: str) -> str:
    return f"{indent}{title}\n{indent}{'-' * len(title)}\n{body}"
