"""The one table that binds Python's operators and the methods of NumPy and PyTorch to Tensor."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from agnesi.api import functions, host, inplace, show
from agnesi.autodiff import recording, reverse
from agnesi.core.tensor import Tensor

Method = Callable[..., Any]

#: Operator -> function; the reflected form takes its operands in the other order.
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "matmul": "matmul",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}
SIGNS = {
    "add": "+=", "sub": "-=", "mul": "*=", "truediv": "/=", "floordiv": "//=", "mod": "%=",
    "pow": "**=", "matmul": "@=", "and": "&=", "or": "|=", "xor": "^=", "lshift": "<<=",
    "rshift": ">>=",
}
COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "eq": "equal", "ne": "not_equal",
}
UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}

#: Methods that are the function of the same name.
SAME = ["abs", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "any", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "asin", "asinh", "atan", "atan2", "atanh", "bernoulli", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "chunk", "clamp", "clip", "conj", "cos", "cosh", "count_nonzero", "cross", "cumprod", "cumsum", "diag", "diagonal", "diff", "divide", "dot", "einsum", "equal", "erf", "erfc", "exp", "exp2", "expand_dims", "expm1", "fix", "flip", "floor", "floor_divide", "fmod", "gather", "greater", "greater_equal", "imag", "inner", "isclose", "isfinite", "isinf", "isnan", "less", "less_equal", "lgamma", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "masked_fill", "matmul", "max", "maximum", "mean", "median", "min", "minimum", "moveaxis", "multiply", "nan_to_num", "nanmean", "nansum", "narrow", "negative", "nonzero", "norm", "not_equal", "outer", "positive", "power", "prod", "put_along_axis", "ptp", "ravel", "real", "reciprocal", "relu", "remainder", "repeat", "roll", "round", "rsqrt", "scatter", "scatter_add", "searchsorted", "select", "sigmoid", "sign", "sin", "sinh", "softmax", "softplus", "sort", "split", "sqrt", "square", "squeeze", "std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "topk", "trace", "tril", "triu", "trunc", "unbind", "unfold", "unflatten", "unique", "unsqueeze", "var", "where"]
#: Methods under another name than the function's.
OTHER = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "true_divide": "divide",
    "pow": "power", "neg": "negative", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "mm": "matmul", "bmm": "matmul",
    "mv": "matmul", "conjugate": "conj", "absolute": "abs", "max_": "max",
    "logical_not": "logical_not", "compress": "compress",
}
#: In-place forms, in PyTorch's names: method without the underscore -> function.
IN_PLACE = {
    **{name: name for name in ["abs", "acos", "asin", "atan", "ceil", "clamp", "clip", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "masked_fill", "reciprocal", "relu", "remainder", "round", "rsqrt", "scatter", "scatter_add", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "tril", "triu", "trunc", "bitwise_and", "bitwise_or", "bitwise_xor"]},
    "mul": "multiply", "div": "divide", "pow": "power", "neg": "negative",
    "floor_divide": "floor_divide", "multiply": "multiply", "divide": "divide",
}


def _operator(function: Method) -> Method:
    """A binary operator that leaves operands of foreign types to them."""

    def method(self: Tensor, other: Any) -> Any:
        if other is None or isinstance(other, (str, dict, set)):
            return NotImplemented
        return function(self, other)

    return method


def _reflected(function: Method) -> Method:
    def method(self: Tensor, other: Any) -> Any:
        if other is None or isinstance(other, (str, dict, set)):
            return NotImplemented
        return function(other, self)

    return method


def _dim_too(function: Method) -> Method:
    """The function as a method that takes PyTorch's ``dim`` and ``keepdim`` as well."""

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **keywords: Any) -> Any:
        if "dim" in keywords:
            keywords["axis"] = keywords.pop("dim")
        if "keepdim" in keywords:
            keywords["keepdims"] = keywords.pop("keepdim")
        return function(self, *args, **keywords)

    return method


def _takes_axis(function: Method) -> bool:
    return "axis" in inspect.signature(function).parameters


def method_of(function: Method) -> Method:
    """The method form of a public function."""
    return _dim_too(function) if _takes_axis(function) else function


def _operators() -> dict[str, Method]:
    table: dict[str, Method] = {}
    for name, function in BINARY.items():
        if not hasattr(functions, function):
            continue
        f = getattr(functions, function)
        table[f"__{name}__"] = _operator(f)
        table[f"__r{name}__"] = _reflected(f)
        table[f"__i{name}__"] = inplace.update(function, f, SIGNS[name])
    for name, function in COMPARISONS.items():
        if hasattr(functions, function):
            table[f"__{name}__"] = _operator(getattr(functions, function))
    for name, function in UNARY.items():
        if hasattr(functions, function):
            table[f"__{name}__"] = getattr(functions, function)
    table["__hash__"] = object.__hash__
    return table


def _functions() -> dict[str, Method]:
    names = {**{name: name for name in SAME}, **OTHER}
    table = {m: method_of(getattr(functions, f)) for m, f in names.items() if hasattr(functions, f)}
    for name, function in IN_PLACE.items():
        if hasattr(functions, function):
            table[f"{name}_"] = inplace.update(function, getattr(functions, function), f"{name}_")
    return table


def _host() -> dict[str, Any]:
    names = ["item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__len__", "__iter__", "__contains__", "__format__", "numel", "element_size", "is_contiguous", "contiguous", "clone", "__dlpack__", "__dlpack_device__", "__buffer__", "__array_namespace__", "__reduce__", "__deepcopy__"]
    table: dict[str, Any] = {name: getattr(host, name) for name in names}
    table.update(
        nelement=host.numel, copy=host.clone, size=property(host.size),
        nbytes=property(host.nbytes), itemsize=property(host.element_size),
        __repr__=show.__repr__,
        fill_=inplace.fill_, zero_=inplace.zero_, copy_=inplace.copy_,
        add_=inplace.add_, sub_=inplace.sub_, subtract_=inplace.sub_,
        backward=reverse.backward, detach=recording.detach,
        requires_grad_=recording.requires_grad_, retain_grad=recording.retain_grad,
        unchain_backward=recording.unchain_backward, zero_grad=recording.zero_grad,
        cleargrad=recording.zero_grad, owner=property(recording.owner),
        is_leaf=property(recording.is_leaf),
    )
    return table


def table() -> dict[str, Any]:
    """Every method and property that is bound to Tensor, by name."""
    return {**_functions(), **_operators(), **_host()}


def install() -> None:
    """Bind the table to Tensor."""
    for name, method in table().items():
        setattr(Tensor, name, method)


install()
