"""The one table that binds Python's operators and the methods of NumPy and PyTorch to Tensor."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from agnesi.api import functions, lazy_names
from agnesi.api.tensor import (
    detached,
    exchange,
    host,
    inplace,
    matrices,
    shaping,
    show,
    ufunc,
)
from agnesi.autodiff import hooks, recording, reverse, rules
from agnesi.core.calls import modules
from agnesi.core.ir.dims import Dim
from agnesi.core.parameter_types import TensorLike
from agnesi.core.support import migration_hints
from agnesi.core.support.config import HOOKS
from agnesi.core.support.docstrings import numpydoc
from agnesi.core.support.errors import DTypeError, at, typed, warn
from agnesi.core.support.migration_hints import slips
from agnesi.core.support.tracing import query_fact
from agnesi.core.tensor import Absent, Called, NearMiss
from agnesi.core.tensor import Tensor as Tensor
from agnesi.ops.base import arith
from agnesi.ops.base.sizes import with_tensors
from agnesi.ops.indexing.index import getitem
from agnesi.ops.sparse.words import FOREIGN as FOREIGN

Method = Callable[..., Any]

#: Operator -> function, sign; the reflected form takes its operands in the other order.
BINARY = {
    "add": ("add", "+"), "sub": ("subtract", "-"), "mul": ("multiply", "*"),
    "truediv": ("divide", "/"), "floordiv": ("floor_divide", "//"), "mod": ("remainder", "%"),
    "pow": ("power", "**"), "matmul": ("matmul", "@"), "and": ("bitwise_and", "&"),
    "or": ("bitwise_or", "|"), "xor": ("bitwise_xor", "^"),
    "lshift": ("bitwise_left_shift", "<<"), "rshift": ("bitwise_right_shift", ">>"),
}
COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "eq": "eq", "ne": "not_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}

#: Methods that are the function of the same name.
SAME = """
    abs acos acosh add addmm all amax amin angle any arccos arccosh arcsin arcsinh arctan arctan2
    arctanh asin asinh astype atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor bmm ceil clamp clip conj copysign cos cosh count_nonzero
    dimshuffle divide dot exp exp2 expand_dims expm1 flip floor floor_divide fmax fmin fmod gather
    greater greater_equal hypot index_select isfinite isinf isnan less less_equal log log10 log1p
    log2 logaddexp logical_and logical_not logical_or logical_xor matmul max maximum mean min
    minimum mm
    moveaxis multiply narrow negative nextafter not_equal outer positive power prod ravel reciprocal
    relu remainder round rsqrt select sigmoid sign signbit sin sinh softplus sqrt square squeeze std
    subtract sum swapaxes take take_along_axis tan tanh tensordot trunc unsqueeze var vecdot xlogy
"""
#: Methods under another name than the function's.
OTHER = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "true_divide": "divide",
    "pow": "power", "neg": "negative", "eq": "eq", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "__round__": "round", "conjugate": "conj", "absolute": "abs",
    "bitwise_not": "bitwise_invert", "ger": "outer", "fix": "trunc",
}
#: In-place forms of the functions of the same name: the method's name ends in an underscore.
IN_PLACE = """
    abs acos asin atan bitwise_and bitwise_or bitwise_xor ceil clamp clip cos cosh exp exp2
    expm1 floor floor_divide log log10 log1p log2 multiply reciprocal relu remainder round rsqrt
    sigmoid sign sin sinh sqrt square tan tanh trunc
"""
#: In-place forms of functions under another name.
IN_PLACE_OTHER = {"mul": "multiply", "pow": "power", "neg": "negative"}
#: Conversions, in PyTorch's names.
CONVERSIONS = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64",
    "cdouble": "complex128", "bfloat16": "bfloat16",
}
#: Methods for Python and NumPy, from ``host``.
HOST = """
    __array__ __bool__ __complex__ __contains__ __copy__ __deepcopy__ __float__ __format__
    __index__ __int__ __iter__ __len__ __reduce__ clone contiguous element_size eval is_contiguous
    item numel numpy tolist
"""
#: Methods for other array libraries, from ``exchange``.
EXCHANGE = "__array_namespace__ __dlpack__ __dlpack_device__ to_device"
#: Methods of their own, from ``shaping``.
SHAPING = """
    expand expand_as flatten is_complex is_floating_point permute reshape reshape_as
    t tile to transpose type_as view
"""
#: Methods of PyTorch's, from ``pytorch``, which is loaded when one is first requested.
PYTORCH = """
    cross equal median nanmedian new_empty new_full new_ones new_tensor new_zeros repeat sort split
    where
"""
#: Methods that are functions which are loaded when one is first requested.
LATE = """
    addbmm addcdiv addcmul addmv addr adjoint allclose aminmax argmax argmin argsort argwhere
    as_strided baddbmm bernoulli bincount broadcast_to chunk clamp_max clamp_min conj_physical
    corrcoef cov
    cummax cummin cumprod cumsum deg2rad diag diag_embed diagflat diagonal diagonal_scatter
    diff digamma dist dsplit einsum erf erfc erfinv fliplr flipud float_power frac frexp gcd
    hardshrink heaviside histc hsplit i0 igamma igammac index_add index_copy index_fill index_put
    index_reduce inner is_nonzero is_same_size is_signed isclose isneginf isposinf isreal istft
    kthvalue lcm ldexp lerp lgamma log_softmax logaddexp2 logcumsumexp logdet logit logsumexp lu
    masked_fill masked_scatter masked_select mode movedim msort multinomial mv mvlgamma nan_to_num
    nanmean nanquantile nansum narrow_copy nonzero norm prelu qr quantile rad2deg
    renorm repeat_interleave resolve_conj resolve_neg roll rot90 scatter scatter_add scatter_reduce
    select_scatter sgn sinc slice_scatter softmax split_with_sizes stft svd swapdims take_along_dim
    tensor_split topk trace tril triu unbind unflatten unfold unique unique_consecutive vdot vsplit
"""
#: Methods of PyTorch's that are no functions, by the module under ``agnesi.api.torch``.
TORCH = {
    "methods": """
        cpu cuda detach_ dim fill_diagonal_ get_device polygamma put_ stride sum_to_size
        new to_dense to_sparse to_sparse_coo to_sparse_csc to_sparse_csr type view_as
    """,
    "views_in_place": """
        resize_ resize_as_ squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_
    """,
    "sharing": "is_shared share_memory_",
    "draws_in_place": """
        bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_
    """,
}
#: In-place forms of functions, or of methods under another name, that are made at first use.
IN_PLACE_LATE = """
    absolute acosh addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin arcsinh arctan
    arctan2 arctanh asinh atan2 atanh baddbmm bitwise_left_shift bitwise_not bitwise_right_shift
    clamp_max clamp_min conj_physical copysign cumprod cumsum deg2rad digamma div divide eq
    erf erfc erfinv fix float_power fmod frac gcd ge greater greater_equal gt heaviside hypot i0
    igamma igammac
    index_add index_copy index_fill index_put index_reduce lcm ldexp le lerp less less_equal lgamma
    logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter mvlgamma
    nan_to_num ne negative nextafter not_equal rad2deg renorm scatter scatter_add scatter_reduce sgn
    sinc tril triu true_divide xlogy
"""
#: Questions of PyTorch's that are false for all tensors.
AWAY = """
    is_cuda is_meta is_mkldnn is_mps is_nested is_quantized is_sparse is_sparse_csr is_xla is_xpu
"""
#: What is compared by its elements.
ARRAYS = (Tensor, np.ndarray, np.generic, list, tuple)
#: Types that are equal to no tensor.
UNEQUAL: frozenset[type] = frozenset((type(None), str, bytes, dict, set))


#: Who answers a comparison whose left side cannot; other operators have an ``r`` in front.
_TURNED = {"lt": "__gt__", "gt": "__lt__", "le": "__ge__", "ge": "__le__", "eq": "__eq__",
           "ne": "__ne__"}


def _operator(function: Method, name: str, unequal: frozenset[type] = frozenset()) -> Method:
    """A binary operator that leaves operands of foreign types to them, and those that are no
    numbers to their classes, if these have written the operator."""
    reflected, row = _TURNED.get(name, f"__r{name}__"), getattr(function, "ready", None)
    function = getattr(function, "unmapped", function)

    def method(self: Tensor, other: TensorLike, /) -> Any:
        if row is not None:
            found: Any = HOOKS.mapped(row, self, other)
            if found is not NotImplemented:
                return found
        kind = type(other)
        if kind in FOREIGN or kind in unequal:
            return NotImplemented
        try:
            return function(self, other)
        except DTypeError:
            own = getattr(kind, reflected, None)
            found = NotImplemented
            # classes of NumPy's arrays, such as masked ones, would drop gradients
            if isinstance(own, FunctionType) and not isinstance(other, (Tensor, np.ndarray)):
                found = own(other, self)
            if found is NotImplemented and (not unequal or isinstance(other, ARRAYS)):
                raise
            return found  # == and != with what holds no numbers are False and True, as in Python

    return method


def _reflected(function: Method) -> Method:
    row = getattr(function, "ready", None)
    function = getattr(function, "unmapped", function)

    def method(self: Tensor, other: TensorLike, /) -> Any:
        if row is not None:
            found: Any = HOOKS.mapped(row, other, self)
            if found is not NotImplemented:
                return found
        if type(other) in FOREIGN:
            return NotImplemented
        return function(other, self)

    return method


def _folds() -> dict[str, Any]:
    found: dict[str, Any] = importlib.import_module("agnesi.api.tensor.folds").METHODS
    return found


HOOKS.folds = _folds
Dim.with_tensors = staticmethod(with_tensors)


def _foreign_forms() -> dict[str, Any]:
    found: dict[str, Any] = importlib.import_module("agnesi.api.tensor.pytorch").FORMS
    return found


HOOKS.foreign_forms = _foreign_forms


def _answers_of_torch() -> dict[str, Any]:
    found: dict[str, Any] = importlib.import_module("agnesi.api.tensor.words").ANSWERS
    return found


modules.answers = _answers_of_torch


def _called(place: str) -> Method:
    """The function at a place, which is loaded when it is first called."""
    return lambda *args, **keywords: lazy_names.load(place)(*args, **keywords)


HOOKS.tensor = _called("agnesi.api.torch.kinds:usual_tensor")
HOOKS.deferred = _called("agnesi.autodiff.deferred:deferred")
rules.Deferral.rule = _called("agnesi.autodiff.deferred:deferred_rule")
HOOKS.stack = _called("agnesi.ops.indexing.join:stack")
_divmod = _called("agnesi.ops.elementwise.numeric:divmod")


def _hook(name: str, *modules: str) -> Method:
    """The hook that one of these modules sets when they are loaded: at its first call."""
    def call(*args: Any) -> Any:
        for module in modules:
            importlib.import_module(f"agnesi.{module}")
        return getattr(HOOKS, name)(*args)

    return call


for _name in ("positions", "repeated", "unsized_product", "unsized_item"):
    setattr(HOOKS, _name, _hook(_name, "ops.indexing.unsized", "ops.neural.unsized_elements"))
HOOKS.gradients = _hook("gradients", "autodiff.transforms")


def _operators() -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, (function, sign) in BINARY.items():
        f = getattr(arith, function, None) or getattr(functions, function)
        table[f"__{name}__"] = _operator(f, name)
        table[f"__r{name}__"] = _reflected(f)
        table[f"__i{name}__"] = inplace.update(function, f, f"{sign}=")
    for name, function in COMPARISONS.items():
        f, equality = getattr(functions, function), name in ("eq", "ne")
        table[f"__{name}__"] = _operator(f, name, UNEQUAL if equality else frozenset())
    for name, function in UNARY.items():
        table[f"__{name}__"] = getattr(functions, function)
    table["__divmod__"], table["__rdivmod__"] = _operator(_divmod, "divmod"), _reflected(_divmod)
    for name, method in table.items():
        if method.__qualname__.endswith("<locals>.method"):
            method.__qualname__ = f"Tensor.{name}"
    table["__hash__"] = _hash
    table["__getitem__"] = getitem
    table["__setitem__"] = matrices.Late("__setitem__", "agnesi.ops.indexing.scatter", "setitem")
    return table


def _functions() -> dict[str, Method]:
    names = {**{name: name for name in SAME.split()}, **OTHER}
    table = {m: getattr(functions, f) for m, f in names.items()}
    changing = {**{name: name for name in IN_PLACE.split()}, **IN_PLACE_OTHER}
    for name, function in changing.items():
        f = getattr(arith, function, None) or getattr(functions, function)
        table[f"{name}_"] = inplace.update(function, f, f"{name}_")
    return table


def _own() -> dict[str, Any]:
    table: dict[str, Any] = {name: getattr(host, name) for name in HOST.split()}
    table.update((name, getattr(exchange, name)) for name in EXCHANGE.split())
    table.update((name, getattr(shaping, name)) for name in SHAPING.split())
    table.update((name, shaping.converter(d, name)) for name, d in CONVERSIONS.items())
    linalg = "agnesi.api.linalg"
    table.update((name, matrices.Late(name, linalg, f)) for name, f in matrices.NAMES.items())
    table.update((n, matrices.Late(n, "agnesi.api.tensor.pytorch", n)) for n in PYTORCH.split())
    table.update((n, matrices.Late(n, *lazy_names.NAMES[n].split(":"))) for n in LATE.split())
    for module, names in TORCH.items():
        table.update((n, matrices.Late(n, f"agnesi.api.torch.{module}", n)) for n in names.split())
    for name in IN_PLACE_LATE.split():
        own = OTHER.get(name, name)
        place = lazy_names.NAMES.get(own, f"agnesi.api.functions:{own}").split(":")
        table[f"{name}_"] = inplace.LateUpdate(f"{name}_", *place)
    table.update(
        __array_function__=matrices.Late(
            "__array_function__", "agnesi.api.tensor.array_function", "__array_function__"),
        __array_ufunc__=ufunc.__array_ufunc__,
        __repr__=show.__repr__, copy=host.copy, nelement=host.numel,
        fill_=inplace.fill_, zero_=inplace.zero_, copy_=inplace.copy_, add_=inplace.add_,
        sub_=inplace.sub_, subtract_=inplace.sub_,
        backward=reverse.backward, detach=recording.detach,
        requires_grad_=recording.requires_grad_, retain_grad=recording.retain_grad,
        unchain_backward=recording.unchain_backward, zero_grad=recording.zero_grad,
        cleargrad=recording.zero_grad,
        ndimension=table["dim"], register_hook=hooks.register_hook,
        register_post_accumulate_grad_hook=hooks.register_post_accumulate_grad_hook,
    )
    return table


def _hash(x: Tensor) -> int:
    """Tensors are keys by their identity, which a trace of a function cannot know of arguments."""
    if x.array is None:
        query_fact(x, "identity")
    return object.__hash__(x)


def _properties() -> dict[str, Any]:
    return {
        "size": property(host.size), "nbytes": property(host.nbytes),
        "itemsize": property(host.element_size), "T": property(shaping.turned),
        "mT": property(shaping.mt), "H": property(shaping.mh), "mH": property(shaping.mh),
        "real": property(shaping.real_part),
        "imag": property(shaping.imaginary_part), "owner": property(recording.owner),
        "requires_grad": property(recording.get_requires_grad, recording.set_requires_grad),
        "is_leaf": property(recording.get_is_leaf), "grad_fn": property(recording.grad_fn),
        "retains_grad": property(recording.retains_grad),
        "data": property(detached.data, detached.set_data), "device": property(exchange.device),
        "is_cpu": property(exchange.is_cpu),
        **dict.fromkeys(AWAY.split(), property(exchange.on_another)),
    }


def table() -> dict[str, Any]:
    """Every method and property that is bound to Tensor, by name."""
    return {**_functions(), **_operators(), **_own(), **_properties()}


#: Methods that change what is recorded, to which programs assign a value where they mean a call.
CALLED = """backward cleargrad register_hook register_post_accumulate_grad_hook requires_grad_
    retain_grad unchain_backward zero_grad"""
#: What to write instead of setting an attribute that describes a tensor.
_INSTEAD = {
    "shape": "x = x.reshape(shape)", "dtype": "x = x.astype(dtype)", "T": "x = y.mT",
    "real": "x = ag.complex(real, x.imag)", "imag": "x = ag.complex(x.real, imag)",
    "device": "x = x.to(device)", "is_leaf": "x = x.detach()", "size": "x = x.reshape(sizes)",
    "ndim": "x = x.reshape(shape)",
}


def _unset(name: str) -> Callable[[Tensor, Any], None]:
    """The setter of an attribute that cannot be set: it says what to write."""
    instead = _INSTEAD.get(name)

    def refuse(x: Tensor, value: Any) -> None:
        raise AttributeError(at(f"{name} of {typed(x)} cannot be set"
                                + f": write {instead}" * bool(instead)))

    return refuse


def _delete(x: Tensor, index: Any) -> None:
    raise TypeError(at(f"elements of {typed(x)} cannot be deleted: ag.delete(x, index) gives the "
                       "others"))


class _Misspelt(Absent):
    """A name to which PyTorch's programs give a value by mistake, and go on."""

    def __set__(self, instance: Tensor, value: Any) -> None:
        warn(f"x.require_grad = {value!r} changes nothing: x.requires_grad is meant", UserWarning)


def _near_misses() -> dict[str, str]:
    """By misspelt names, what was meant: of long names any, of short ones exchanged letters."""
    found = {near: name for name in ("requires_grad", "retain_grad") for near in slips(name)}
    for name in ("grad", "data", "name"):
        found |= {near: name for near in slips(name) if sorted(near) == sorted(name)}
    return found


def install() -> None:
    """Bind the table to Tensor."""
    for name, method in table().items():
        if isinstance(method, FunctionType):
            numpydoc(method)
        setattr(Tensor, name, method)
    Tensor.__delitem__ = _delete  # type: ignore[attr-defined]
    for name, value in list(vars(Tensor).items()):
        if isinstance(value, property) and value.fset is None:
            setattr(Tensor, name, value.setter(_unset(name)))
    for name in migration_hints.table("Tensor").keys() - set(dir(Tensor)):  # none is loaded by that
        setattr(Tensor, name, Absent(name))
    for name in CALLED.split():
        setattr(Tensor, name, Called(vars(Tensor)[name]))
    for name, meant in _near_misses().items():
        setattr(Tensor, name, NearMiss(name, meant))
    Tensor.require_grad = _Misspelt("require_grad")  # type: ignore[attr-defined]


install()
