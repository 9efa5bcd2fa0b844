"""Calls in other libraries' words: what PyTorch and NumPy call a parameter means ours.

Public functions come here with keywords that are not theirs (see ``core.public``); a call without
such keywords never does.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from agnesi.core import options
from agnesi.core.calls import arguments
from agnesi.core.calls.watched import WATCHED
from agnesi.core.dispatch import assign
from agnesi.core.op import typed
from agnesi.core.shapes import fits
from agnesi.core.support import dtypes
from agnesi.core.support.cached_attributes import cached_property
from agnesi.core.support.config import HOOKS
from agnesi.core.support.errors import DTypeError, ShapeError, at, shown
from agnesi.core.support.foreign import attribute_of, has
from agnesi.core.support.record import record
from agnesi.core.tensor import Tensor

#: By parameter, the names that other libraries have for it.
_NAMES = {
    "axis": "dim dims axes dimension", "axes": "dims dim axis", "keepdims": "keepdim",
    "x": "input a m arr tensor A ext_tensor", "x1": "input a x n elements tensor1", "a": "A input",
    "b": "B other",
    "x2": "other b mat2 vec2 tensor2 exponent y v values test_elements tensor",
    "arrays": "tensors tup seq", "tensors": "tup arrays", "data": "object", "obj": "a data",
    "sections": "indices_or_sections split_size_or_sections split_size indices",
    "shape": "size newshape",
    "size": "output_size shape", "indices": "index", "index": "indices", "min": "a_min",
    "max": "a_max", "shift": "shifts", "reps": "dims", "ord": "p", "k": "diagonal offset",
    "start": "start_dim input", "end": "end_dim", "n_rows": "n N", "n_cols": "m M",
    "labels": "target", "m": "input col", "loc": "mean", "scale": "std",
    "log_probabilities": "input",
    "logits": "input", "w": "weight", "kernel": "kernel_size", "cover_all": "ceil_mode",
    "groups": "num_groups", "padded": "padded_sequences",
    "factor": "upscale_factor downscale_factor", "ids": "input",
    "input": "ids", "other": "src", "mat2": "batch2", "p": "norm_type", "correction": "ddof",
    "stop": "end", "src": "source value", "offset": "k",
    "pad_width": "array_pad", "fill_value": "value", "num": "steps", "method": "interpolation",
    "ddof": "correction", "tol": "atol", "n": "N row", "d": "p", "axis1": "dim0 dim1",
    "axis2": "dim1 dim2", "q": "other", "key": "indices",
    "value": "values", "lu": "LU_data", "piv": "LU_pivots", "L": "input2",
}
#: The parameters that a foreign word may mean.
FOREIGN: dict[str, list[str]] = {}
for _ours, _words in _NAMES.items():
    for _word in _words.split():
        FOREIGN.setdefault(_word, []).append(_ours)
#: Keywords that say nothing about values, but about memory, copies and devices.
_IDLE = frozenset("""
    non_blocking pin_memory memory_format layout _stacklevel driver compute_mode sparse_grad sorted
    check_invariants assume_unique
""".split())
#: Functions that make tensors out of none, which may then require a gradient.
_MAKERS = frozenset("""
    arange asarray bartlett_window bernoulli blackman_window eye fftfreq frombuffer geomspace
    hamming_window hann_window kaiser_window linspace logspace normal rand rand_like randint
    randint_like randn randn_like randperm rfftfreq uniform
""".split())
#: What PyTorch takes by position behind the parameters that are positional here, by function.
_BEHIND: dict[str, tuple[str, ...]] = {name: tuple(words.split()) for names, words in {
    "kthvalue quantile nanquantile norm": "keepdims", "topk": "largest sorted",
    "argsort": "descending stable", "std var": "unbiased keepdims", "isclose allclose": "equal_nan",
    "cdist": "compute_mode", "std_mean var_mean": "unbiased keepdims",
    "log_softmax softmax": "dtype", "cholesky": "upper", "index_put_": "accumulate",
    "copy_": "non_blocking",
    """alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout
    hardsigmoid hardswish hardtanh leaky_relu mish relu relu6 rrelu selu silu threshold""":
        "inplace",
}.items() for name in names.split()}
#: Functions of NumPy's, besides its universal ones, that take ``out`` behind, after
#: a dtype or not.
_PLACED_OUT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("cumprod cumsum mean nanmean nansum prod std sum trace var".split(),
                    ("dtype", "out")),
    **dict.fromkeys("""
        all amax amin any argmax argmin choose compress dot fft fft2 fftn fix ifft ifft2 ifftn
        irfft isneginf isposinf max min nanmax nanmin nanpercentile nanquantile outer percentile
        ptp quantile rfft round take
    """.split(), ("out",)),
}


@record
class _OfNumbers:
    """How a function takes a scalar for a vector of one element, where its axis is named.

    :ivar axes: What may be given for the axis.
    :ivar axis: The axis where none is given.
    :ivar operands: Whether tensors among the other operands may be scalars, too.
    :ivar ndim: How many axes the result has: so many, or as many as a parameter of this name has.
    """

    axes: tuple[Any, ...] = (0, -1, (0,), (-1,))
    axis: int | None = None
    operands: bool = False
    ndim: int | str = 0


#: Functions that take scalars for vectors of one element, as PyTorch's.
_OF_NUMBERS = {name: rule for names, rule in {
    """
    all amax amin aminmax any argmax argmin count_nonzero cummax cummin cumprod cumsum flip
    log_softmax logcumsumexp logsumexp max mean median min nanmean nanmedian nansum norm
    permute_dims prod softmax softmin sort squeeze std sum transpose var vector_norm
    """: _OfNumbers(),
    "argsort msort": _OfNumbers(axes=(None, 0, -1)),
    "kthvalue mode topk": _OfNumbers(axis=-1),
    "index_add index_copy index_fill index_reduce index_select scatter scatter_add scatter_reduce":
        _OfNumbers(operands=True),
    "gather": _OfNumbers(operands=True, ndim="index"),
    "nanquantile quantile": _OfNumbers(ndim="q"),
    "unfold": _OfNumbers(ndim=1),
}.items() for name in names.split()}
#: Python's numbers, which are scalars like those with axes of none.
_NUMBERS = frozenset((bool, int, float, complex))
#: PyTorch's deprecated keywords for the reduction of a loss.
_OLD_REDUCTION = ("size_average", "reduce")
#: The only device.
DEVICE = "cpu"


def on_host(device: Any) -> None:
    """Return whether a device is where all tensors are: "cpu", or None."""
    if device is not None and not (isinstance(device, str) and device == DEVICE):
        raise ValueError(at(f"there is one device, {DEVICE!r}, and not {shown(device)}"))


def in_our_words(keywords: dict[str, Any], names: Sequence[str], placed: int = 0) -> dict[str, Any]:
    """Return keywords under the names of a function's own parameters, ``names``; the first
    ``placed`` of these were given by position.
    """
    given: dict[str, Any] = {}
    if "reduction" in names and not keywords.keys().isdisjoint(_OLD_REDUCTION):
        keywords = _reduction(keywords)
    for word in sorted(keywords):
        value = keywords[word]
        if word == "unbiased" and "correction" in names:
            word, value = "correction", float(value)
        elif word not in names and word in FOREIGN:
            word = _parameter_of(word, names, given, keywords, placed)
        given[word] = value
    return given


def _reduction(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords with ``reduction`` in place of the deprecated ``size_average`` and
    ``reduce``.
    """
    found = dict(keywords)
    average, reduce = (found.pop(word, None) for word in _OLD_REDUCTION)
    if average is not None or reduce is not None:
        whole = reduce is None or reduce
        found["reduction"] = (
            "none" if not whole else "mean" if average is None or average else "sum")
    return found


def _parameter_of(word: str, names: Sequence[str], given: dict[str, Any], keywords: dict[str, Any],
           placed: int) -> str:
    """Return the parameter that another library's keyword stands for; raise TypeError if that is
    given as well.
    """
    candidates = [name for name in FOREIGN[word] if name in names]
    candidates = [name for name in candidates if name not in names[:placed]] or candidates
    for name in candidates:
        if name in keywords:
            raise TypeError(f"`{word}` and `{name}` are the same; give one of them")
        if name not in given:
            return name
    return word


def into(out: Any, result: Any) -> Any:
    """Write a result into ``out`` in place, keeping the dtype of ``out``; several results go into a
    tuple of tensors.
    """
    if isinstance(result, tuple) and isinstance(out, (tuple, list)) and len(out) == len(result):
        written = list(map(into, out, result))
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    kind = getattr(out, "python_type", type(out))  # of what stands for a number in a trace
    if not issubclass(kind, Tensor):
        raise TypeError(f"out must be a Tensor, not {kind.__name__}")
    if isinstance(result, tuple):
        raise TypeError(f"out takes one result, and there are {len(result)} here; give as many "
                        "tensors in a tuple")
    if not fits(out.shape, result.shape):
        raise ShapeError(
            f"the result has shape {result.shape}, but out has {out.shape}; "
            f"give an out of the result's shape, such as ag.empty({result.shape})"
        )
    if not dtypes.fits(result.dtype, out.dtype):
        raise DTypeError(
            f"the result is {typed(result)}, which does not fit into out, {typed(out)}; "
            f"give an out of dtype '{result.dtype}'"
        )
    return assign(out, result if result.dtype == out.dtype else result.astype(out.dtype))


def _check_flags(keywords: dict[str, Any]) -> None:
    """Refuse flags by PyTorch's names that are none."""
    for word in _FLAGS & keywords.keys():
        if (error := options.refusal(word, options.FLAG, keywords[word])) is not None:
            raise error


#: Flags that are none of ours.
_FLAGS = frozenset(("keepdim", "descending", "largest", "sorted", "unbiased", "inplace"))
#: Keywords of which the values are looked at.
_OF_VALUES = _FLAGS | _IDLE | {"device", "requires_grad", *_OLD_REDUCTION}


def _to_numbers(found: Any, ndim: int) -> Any:
    """Return results for a vector of one element as results for a scalar, with ``ndim`` axes."""
    if isinstance(found, tuple):
        parts = [_to_numbers(part, ndim) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)
    return found.reshape(found.shape[:ndim])


class Form:
    """The parameters of a function by position, and those with a name of another library."""

    def __init__(self, function: Any, name: str) -> None:
        code = function.__code__
        self.function, self.name = function, name
        self.parameters: tuple[str, ...] = code.co_varnames[: code.co_argcount]
        self.unnamed: int = code.co_posonlyargcount
        names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.names = names
        self.ranges = arguments.Ranges(function)
        #: The parameter that takes any number of sizes or axes.
        self.several = code.co_varnames[len(names)] if code.co_flags & 4 else None
        #: How keywords are renamed, by how many arguments come before which of them.
        self.plans: dict[Any, tuple[Any, ...] | None] = {}
        #: All keywords that it takes; None where it passes unknown ones on.
        self.known = None if code.co_flags & 8 else frozenset(names[self.unnamed:])

    @cached_property
    def counts(self) -> arguments.Counts:
        """The parameters that are declared as integers."""
        return arguments.counts(self.function)

    @cached_property
    def of_sparse(self) -> bool:
        """Whether the first operand is a sparse tensor, which no number is."""
        declared = str(self.function.__annotations__.get(self.names[0], ""))
        return declared in ("SparseTensor", "COO")

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """Keywords of other libraries that stand for parameters declared as a number, a flag or a
        word.
        """
        checked = {name for name, *_ in (*self.counts, *self.ranges.entries)}
        return frozenset(word for word, ours in FOREIGN.items() if not checked.isdisjoint(ours))

    def call(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the function's result for arguments of which some have other libraries' names."""
        if "out" in keywords and "out" not in self.names:
            keywords = dict(keywords)
            out = keywords.pop("out")
            result = self.call(args, keywords) if keywords else self.function(*args)
            if out is not None and not (isinstance(result, tuple) and all(
                    isinstance(part, Tensor) for part in result)):
                raise TypeError(f"{self.name}() got an unexpected keyword argument 'out'")
            return result if out is None else into(out, result)
        if type(keywords.get("dim")) in (tuple, list) and not keywords["dim"] and (
                "keepdims" in self.names and self.name not in ("all", "any")):
            keywords = {**keywords, "dim": None}  # all axes, where axis=() is none
        key = len(args), *keywords
        plan = self.plans.get(key, key)
        if plan is key:
            plan = self.plans[key] = self._plan(len(args), keywords.keys())
        if plan is not None and (not plan[2] or (args and attribute_of(args[0], "ndim"))):
            special = plan[3]
            if special is not None and (
                found := special(self.function, args, keywords)
            ) is not NotImplemented:
                return found
            return self.function(*args, *[keywords[word] for word in plan[0]],
                                 **{name: keywords[word] for name, word in plan[1]})
        if (vector := self._as_vector(args, keywords)) is not None:
            return _to_numbers(self.call(*vector[0]), vector[1])
        special = HOOKS.foreign_forms().get(self.name)
        _check_flags(keywords)
        given = {word: value for word, value in keywords.items()
                 if word not in _IDLE or word in self.names}
        if "device" not in self.names and "device" in given:
            on_host(given.pop("device"))
        wanted = self.name in _MAKERS and given.pop("requires_grad", False)
        if special is not None:
            found = special(self.function, args, given)
            if found is not NotImplemented:
                return found.requires_grad_() if wanted else found
        overwrite = "inplace" not in self.names and given.pop("inplace", False)
        args = (*args, *self._several(len(args), given))
        given = in_our_words(given, self.names, len(args))
        if not self.looked_at.isdisjoint(keywords):
            self._check(args, given, keywords)
        args = (*args, *self._placed(len(args), given))
        result = self.function(*args, **given)
        written: Any = args[0] if args else given.get(self.names[0])
        if overwrite and result is not written:
            return assign(written, result)
        return result.requires_grad_() if wanted else result

    def _plan(self, count: int, words: Set[str]) -> tuple[Any, ...] | None:
        """Return how to rename keywords, if that is all that is needed: which become positional,
        the new names of the others, whether scalars become vectors, and a function that checks
        values first, or None.

        None if other values matter.
        """
        special = HOOKS.foreign_forms().get(self.name)
        if special is not None and getattr(special, "words", words).isdisjoint(words):
            special = None
        if self.several is not None or not (
                self.looked_at.isdisjoint(words) and _OF_VALUES.isdisjoint(words)):
            return None
        try:
            given = in_our_words({word: word for word in words}, self.names, count)
        except TypeError:
            return None
        placed = self._placed(count, given)
        return placed, tuple(given.items()), self.name in _OF_NUMBERS, special

    def _check(self, args: tuple[Any, ...], given: dict[str, Any], keywords: dict[str, Any]
               ) -> None:
        """Raise an error for a value that its declaration excludes, naming the user's keyword."""
        try:
            arguments.check_counts(self.counts, args, given)
            self.ranges.check(args, given)
        except (TypeError, ValueError) as error:
            message = str(error)
            name = message.partition(" ")[0]
            words = [w for w in keywords if w not in self.names and keywords[w] is given.get(name)]
            if not words:
                raise
            raise type(error)(message.replace(name, words[0], 1)) from None

    def by_position(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The result of a call with more positional arguments than parameters, which PyTorch's
        signature names; its reductions have ``keepdim`` third."""
        count, behind = len(self.parameters), _BEHIND.get(self.name, ())
        if count < len(args) <= count + len(behind):
            more = dict(zip(behind, args[count:], strict=False))
            return self.call(args[:count], {**more, **keywords})
        if (len(args) == 3 and type(args[2]) is bool and "keepdims" not in keywords
                and self.name != "count_nonzero"  # which takes several axes there
                and self.parameters[1:] == ("axis",) and "keepdims" in self.names):
            return self.call(args[:2], {**keywords, "keepdims": args[2]})
        return self._out_by_position(args, keywords)

    def _out_by_position(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the result of a call with NumPy's positional ``out`` after the parameters (after
        ``dtype`` where NumPy's signature has it).
        """
        behind = _PLACED_OUT.get(self.name, ())
        if isinstance(getattr(np, self.name, None), np.ufunc):
            behind = ("out",)
        more = dict(zip(behind, args[len(self.parameters):], strict=False))
        out = more.pop("out", None)
        fits_in = 0 < len(args) - len(self.parameters) <= len(behind)
        if "out" not in self.names or not fits_in or not (
                out is None or has(out, "ndim")) or not more.keys().isdisjoint(keywords):
            return NotImplemented
        found = self.function(*args[: len(self.parameters)], **more, **keywords)
        return found if out is None else into(out, found)

    def _as_vector(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the arguments with a scalar as a vector of one element, for a call that names its
        axis, and the number of axes of the result; None for other calls.
        """
        rule = _OF_NUMBERS.get(self.name)
        if rule is None or self.of_sparse:
            return None
        word = next((w for w in ("input", "x", "a") if w in keywords), "")
        number = args[0] if args else keywords.get(word)
        if type(number) not in _NUMBERS and attribute_of(number, "ndim") != 0:
            return None
        position = next((i for i, name in enumerate(self.parameters) if name in ("axis", "dim")), 1)
        axis = args[position] if len(args) > position else keywords.get("axis", rule.axis)
        if keywords.get("dim", axis) not in rule.axes:
            return None
        ndim: Any = rule.ndim
        if isinstance(ndim, str):
            given = dict(zip(self.parameters, args, strict=False))
            ndim = attribute_of({**given, **keywords}.get(ndim), "ndim") or 0

        def vector(x: Any, first: bool = True) -> Any:
            if first and type(x) in _NUMBERS:
                return [x]
            of_one = first or (rule.operands and isinstance(x, Tensor) and not x.ndim)
            return x.reshape((1,)) if of_one else x

        found = tuple(vector(x, not i) for i, x in enumerate(args))
        named = {w: vector(x, w == word and not args) for w, x in keywords.items()}
        of_torch = self.name in WATCHED and self.name not in ("max", "min")
        if of_torch and len(found) == 2 and not named:  # NumPy has no axis of a scalar
            return (found[:1], {"dim": found[1]}), ndim
        return (found, named), ndim

    def again(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the call in PyTorch's meaning after it was refused in ours, or NotImplemented."""
        special = HOOKS.foreign_forms().get(self.name)
        if self.known is None or not self.known.issuperset(keywords):
            _check_flags(keywords)
            found = NotImplemented if special is None else special(self.function, args, keywords)
            behind = found is NotImplemented and len(args) > len(self.parameters)
            return self.by_position(args, keywords) if behind else found
        if (vector := self._as_vector(args, keywords)) is not None:
            (placed, named), ndim = vector
            try:
                return _to_numbers(self.function(*placed, **named), ndim)
            except (TypeError, ValueError, LookupError):
                found = self.again(placed, named)
                return found if found is NotImplemented else _to_numbers(found, ndim)
        found = NotImplemented if special is None else special(self.function, args, keywords)
        return self.by_position(args, keywords) if found is NotImplemented else found

    def _several(self, count: int, given: dict[str, Any]) -> list[Any]:
        """Return sizes or axes that were passed as one keyword as positional arguments."""
        if self.several is None or count > len(self.parameters):
            return []
        words = [word for word in given if word not in self.names
                 and (word == self.several or self.several in FOREIGN.get(word, ()))]
        return [given.pop(word) for word in words[:1]]

    def _placed(self, count: int, given: dict[str, Any]) -> list[Any]:
        """Return operands that were passed under other names as positional arguments."""
        found = []
        for name in self.parameters[count: self.unnamed]:
            if name not in given:
                break
            found.append(given.pop(name))
        return found
