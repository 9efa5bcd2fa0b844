"""The operations that files may name, and what their parameters may be.

A name here is for good: files have it.  Where a class moves or changes its name, its row follows;
where it gets another parameter, that has a default, with which older files are read.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import get_annotations
from pkgutil import iter_modules
from typing import Any

from agnesi.core.op import Op
from agnesi.ops.base.elementwise import TABLE, Elementwise
from agnesi.ops.identity import ALIAS, STOP

_OPS = "agnesi.ops."


def _table(*rows: str) -> dict[str, tuple[str, str]]:
    """Names and the modules and classes behind them; ``name=Class`` where both differ."""
    found = {}
    for row in rows:
        module, *classes = row.split()
        for entry in classes:
            name, _, cls = entry.partition("=")
            found[name] = (_OPS + module if module[0] != "." else "agnesi" + module, cls or name)
    return found


#: Operations by the names that files have.
OPERATIONS = _table(
    "base.elementwise Elementwise",
    ".core.op Item",
    ".core.storage.leaves Copy",
    ".autodiff.opgraph GraphOp",
    ".autodiff.whiles WhilePullback",
    "arrays.replicate Unfold",
    "arrays.strided Strided",
    "base.chosen Chosen",
    "base.complex_order OrderKey",
    "base.convert Cast Size",
    "base.gather.elements Index IndexSum Picked PickedPut Stretch Window",
    "base.ensure Ensure",
    "base.expand BroadcastTo SumTo",
    "base.gather.gather_scatter Ensured",
    "base.movement Permute Reshape",
    "base.reduce Reduce",
    "base.scans CumProd CumSum Recurrence Shift",
    "base.slices Slice SlicePut Unslice",
    "contractions.linear Linear OverRows",
    "contractions.matmul MatMul",
    "control.branch Cond",
    "control.loop FirstRows RowsBefore Loop=Scan While",
    "convolution.conv Conv ConvGradW ConvGradX",
    "convolution.im2col Columns Folded",
    "convolution.interpolate Sampled",
    "convolution.pooled MaxPool PoolTaps TapPick TapSpread WindowSpread WindowSum",
    "elementwise.bitcast Bitcast",
    "elementwise.complexes AsComplex AsReal Complex Part PutPairs PutPart",
    "implicit GammaPath",
    "indexing.diagonal Diagonal DiagonalMatrix PutDiagonal Triangle",
    "indexing.join Concat",
    "indexing.overlay Overlay",
    "indexing.ranges Arange Eye Linspace",
    "indexing.runs Runs",
    "indexing.scatter IndexAdd IndexPut",
    "linalg.cholesky Cholesky Potrf",
    "linalg.det Cofactors Det SlogDet",
    "linalg.spectral.eig Eig Eigenvalues",
    "linalg.spectral.eigh EigenvaluesH Eigh",
    "linalg.expm Expm",
    "linalg.functions Logm Sqrtm",
    "linalg.lu LU RowOrder",
    "linalg.spectral.pinv LeastSquares Pinv",
    "linalg.spectral.polar NuclearNorm UnitaryFactor",
    "linalg.qr QR",
    "linalg.spectral.schur Schur Sylvester",
    "linalg.spectral.schur_rules SchurTurn=Rotation",
    "linalg.solve Inv Solve",
    "linalg.special_matrices.banded BandSolve",
    "linalg.spectral.svd SVD SingularValues",
    "linalg.triangular SolveTriangular",
    "neural.embedding Lookup",
    "neural.normalize ChannelSum Standardize",
    "numerics.scatter_reduce Brought",
    "neural.softmax LabelChosen=Chosen LabelLoss LogSoftmax LogSumExp LabelPick=Pick Softmax"
    " SoftmaxLessLabel",
    "random.noise Noise",
    "random.philox Advance RandomBits",
    "random.samplers Sampler",
    "reductions.extremes CumMax CumMin",
    "reductions.log_sums LogCumSum",
    "reductions.positions ArgReduce",
    "signal.fourier Fft RealFft RealIfft",
    "sorting.sort ArgSort Partition SearchSorted Sort TopIndices",
)
#: Values of parameters that are records.
RECORDS = _table("convolution.windows Windows")
#: Operations that are objects and have no parameters but their names.
IDENTITIES = {"stop_gradient": STOP, "alias": ALIAS}
#: Modules that make elementwise rows when they are imported, beside those that are there.
_HOMES = "agnesi.ops.special."

_TRANSFORM = ("backward", "ortho", "forward")
_EXTREMES = ("maximum", "minimum")
#: What a parameter may be, where not all that its kind has.
CHOICES: dict[tuple[str, str], tuple[Any, ...]] = {
    ("GraphOp", "own"): ((None, None),),
    ("Ensured", "error"): ("ValueError", "IndexError", "ZeroDivisionError", "LinAlgError",
                           "RuntimeError", "TypeError", "ShapeError"),
    ("Reduce", "kind"): (
        "add", "multiply", "maximum", "minimum", "logical_and", "logical_or"),
    ("ArgReduce", "kind"): _EXTREMES,
    ("Brought", "kind"): ("prod", "amax", "amin"),
    ("OrderKey", "way"): ("up", *_EXTREMES),
    ("Eigh", "side"): ("L", "U"),
    ("EigenvaluesH", "side"): ("L", "U"),
    ("Noise", "kind"): ("unit", "open", "exponential", "normal"),
    ("Sampler", "kind"): (
        "poisson", "binomial", "hypergeometric", "zipf", "gamma", "von mises", "few events",
        "few successes", "single draws"),
    **{(name, "norm"): _TRANSFORM for name in ("Fft", "RealFft", "RealIfft")},
}
#: Parameters of operations that are no records.
_FIELDS: dict[str, tuple[str, ...]] = {
    "Elementwise": ("name",), "Cast": ("dtype",), "Size": ("size",), "Item": ("index",)}


@cache
def _names() -> dict[tuple[str, str], str]:
    return {place: name for name, place in OPERATIONS.items()}


def name_of(op: Any) -> str | None:
    """The name that files have for an operation; None where they cannot have it."""
    if op in IDENTITIES.values():
        return "Identity"
    cls = type(op)
    if cls is Elementwise and not op.home.startswith("agnesi."):
        return None
    return _names().get((cls.__module__, cls.__name__))


def fields_of(op: Any) -> tuple[str, ...]:
    """The names of an operation's parameters."""
    if op in IDENTITIES.values():
        return ("name",)
    return _parameters(type(op).__name__, type(op))


def _parameters(name: str, cls: Any) -> tuple[str, ...]:
    own: tuple[str, ...] = getattr(cls, "_fields", ())
    return _FIELDS.get(name, own)


def class_of(table: dict[str, tuple[str, str]], name: Any) -> Any:
    """The class behind a name of one of the tables.

    :raises ValueError: If there is no such name.
    """
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"there is no {str(name)[:40]!r} in this version of agnesi")
    module, cls = table[name]
    return getattr(import_module(module), cls)


def made(name: str, fields: dict[str, Any]) -> Op:
    """The operation of a name with these parameters.

    :raises ValueError: If there is none, or it has no such parameters.
    """
    if name == "Identity":
        return IDENTITIES[fields["name"]]
    if name == "Elementwise":
        return _row(fields["name"])
    cls = class_of(OPERATIONS, name)
    known = _parameters(name, cls)
    strange = fields.keys() - set(known)
    if strange:
        raise ValueError(f"{name} has no parameter {sorted(strange)[0][:40]!r}")
    for key, value in fields.items():
        allowed = CHOICES.get((name, key))
        if allowed is not None and value not in allowed:
            raise ValueError(f"{name}: {key} must be one of {allowed}")
        check(name, key, value, kind_of(cls, key))
    op: Op = cls(**fields)
    return op


def _row(name: Any) -> Op:
    if isinstance(name, str) and name not in TABLE:
        for home in _special_homes():
            import_module(home)
            if name in TABLE:
                break
    row = TABLE.get(name) if isinstance(name, str) else None
    if row is None or not row.home.startswith("agnesi."):
        raise ValueError(f"there is no elementwise operation {str(name)[:40]!r}")
    return row


def _special_homes() -> list[str]:
    package = import_module(_HOMES[:-1])
    return [m.name for m in iter_modules(package.__path__, _HOMES)]


# -- parameters -------------------------------------------------------------------------------
def kind_of(cls: Any, key: str) -> str:
    """The annotation of a parameter, as text."""
    for base in cls.__mro__:
        found = get_annotations(base).get(key)
        if found is not None:
            return str(found)
    return "Any"


_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,), "bool": (bool,), "str": (str,), "float": (float, int),
}


def check(name: str, key: str, value: Any, kind: str) -> None:
    """Refuse a parameter that is not of the kind that its class declares.

    :raises ValueError: If it is none.
    """
    wanted = _PLAIN.get(kind)
    wrong = wanted is not None and (
        not isinstance(value, wanted) or (isinstance(value, bool) and kind != "bool"))
    if kind in ("tuple[int, ...]", "Ints"):
        wrong = not isinstance(value, tuple) or not all(type(v) is int for v in value)
    elif kind == "Shape":
        wrong = not isinstance(value, tuple) or not all(is_size(v) for v in value)
    elif kind == "Size":
        wrong = not is_size(value)
    elif kind == "Key":
        wrong = not isinstance(value, tuple) or not all(map(_is_entry, value))
    elif kind in ("Body", "np.dtype", "Windows"):
        wrong = type(value).__name__ not in (kind, "BoolDType") and not (
            kind == "np.dtype" and hasattr(value, "itemsize"))
    if wrong:
        raise ValueError(f"{name}: {key} must be {kind}, not {str(value)[:60]}")


def is_size(value: Any) -> bool:
    """Return whether a value may be a size: a number of at least 0, or an unknown one."""
    return (type(value) is int and value >= 0) or hasattr(value, "key")


def _is_entry(value: Any) -> bool:
    """Return whether a value may stand in the key of a slice: a place, or (start, stop, step)."""
    if type(value) is int:
        return True
    bounds = value[:2] if isinstance(value, tuple) and len(value) == 3 else (0.5,)
    return all(v is None or type(v) is int or hasattr(v, "key") for v in bounds) and (
        type(value[2]) is int and value[2] != 0)
