"""Functions with derivatives of one's own: ``primitive``, ``defvjp``, ``defjvp`` and their kin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from agnesi.api.custom.probing import probed
from agnesi.compat.autograd.modes import VSpace as VSpace
from agnesi.compat.autograd.modes import vspace as vspace
from agnesi.compat.autograd.values import Parts, conjugate, getval, mapped, tensor, traced
from agnesi.compat.autograd.wrap_util import get_name, wraps
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.op import Op, give_name
from agnesi.core.support import tree
from agnesi.core.support.errors import MissingRuleError, at, call_user, typed
from agnesi.core.tensor import Tensor
from agnesi.core.tensor import Tensor as Box
from agnesi.ops.base.convert import cast
from agnesi.ops.base.creation import zeros_like
from agnesi.ops.control.loop import applied

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp",
    "defvjp_argnum", "defvjp_argnums", "notrace_primitive", "primitive", "register_notrace",
    "vspace",
]

Function = Callable[..., Any]

#: Makers of derivatives by the primitive that they belong to: of all arguments at once.
primitive_vjps: dict[Any, Function] = {}
primitive_jvps: dict[Any, Function] = {}


class _Called(Op):
    """A call of a primitive.  Operands: the tensors among its arguments, then its results."""

    user_defined = True
    keep_output = True
    _fields = ()

    def __init__(self, call: _Call, arguments: int, results: int) -> None:
        give_name(self, get_name(call.fun))
        self.call, self.arguments = call, arguments
        self.outputs = results  # type: ignore[misc]
        self.keep_inputs = tuple(range(arguments))  # type: ignore[misc]

    def infer(self, *xs: Any) -> Any:
        types = tuple((x.shape, x.dtype) for x in xs[self.arguments:])
        return types if self.outputs > 1 else types[0]

    def perform(self, *xs: np.ndarray) -> Any:
        return xs[self.arguments:] if self.outputs > 1 else xs[-1]

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        gs, ys = (list(g), list(y)) if self.outputs > 1 else ([g], [y])
        gs = [zeros_like(t) if d is None else d for d, t in zip(gs, ys, strict=True)]
        found = self.call.pulled(gs, ys, xs[: self.arguments])
        return (*found, *(None,) * self.outputs)

    def jvp(self, ts: Any, y: Any, *xs: Tensor) -> Any:
        ys = list(y) if self.outputs > 1 else [y]
        found = self.call.pushed(ts[: self.arguments], ys, xs[: self.arguments])
        return tuple(found) if self.outputs > 1 else found[0]


class _Later(_Called):
    """A call on what has no values yet, with one array as its result.  Operands: the tensors."""

    def infer(self, *xs: Any) -> Any:
        return probed(self, xs)

    def perform(self, *xs: np.ndarray) -> Any:
        return np.asarray(self.call.fun(*self.call.arguments([x[()] for x in xs]),
                                        **self.call.keywords))

    def vjp(self, g: Any, y: Any, *xs: Tensor) -> tuple[Any, ...]:
        return super().vjp(g, y, *xs)[:-1]


class _Call:
    """The arguments of a primitive, and what its rules get of them."""

    def __init__(self, owner: Any, fun: Function, args: Any, keywords: dict[str, Any]) -> None:
        self.owner, self.fun = owner, fun
        self.keywords = {name: mapped(getval, v) for name, v in keywords.items()}
        self.nests = [tree.flatten(x) for x in args]
        self.places = [(k, i) for k, (leaves, _) in enumerate(self.nests)
                       for i, x in enumerate(leaves) if isinstance(x, Tensor)]
        self.results: Any = None

    def arguments(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """All arguments, with others for the tensors among them."""
        leaves = [list(found) for found, _ in self.nests]
        for (k, i), x in zip(self.places, tensors, strict=True):
            leaves[k][i] = x
        return tuple(shape.build(row) for row, (_, shape) in zip(leaves, self.nests, strict=True))

    def run(self) -> Any:
        """The result, with a record if the arguments are followed."""
        given = [self.nests[k][0][i] for k, i in self.places]
        if any(x.array is None for x in given):
            self.results = Parts(0.0)
            return applied(_Later(self, len(given), 1), *given)[0]
        found = self.fun(*self.arguments([getval(x) for x in given]), **self.keywords)
        self.results = Parts(found)
        ys = self.results.floats()
        if not ys or not any(x.requires_grad for x in given):
            return found
        op = _Called(self, len(given), len(ys))
        return self.results.build(applied(op, *given, *ys))

    @property
    def argnums(self) -> list[int]:
        """The arguments in which there are tensors."""
        return sorted({k for k, _ in self.places})

    def pulled(self, gs: list[Tensor], ys: list[Tensor], xs: Sequence[Tensor]) -> list[Any]:
        """Cotangents of the tensors among the arguments."""
        if (maker := primitive_vjps.get(self.owner)) is None:
            raise MissingRuleError(at(f"VJP of {get_name(self.fun)} wrt argnums {self.argnums} is "
                                      "not defined: give it with defvjp"))
        with traced():
            pull = maker(self.argnums, self.results.build(ys), self.arguments(xs), self.keywords)
            nests = list(pull(self.results.build([conjugate(g) for g in gs])))
        of = {k: tree.flatten(nest)[0] for k, nest in zip(self.argnums, nests, strict=True)}
        return [_like(x, of[k][i]) for (k, i), x in zip(self.places, xs, strict=True)]

    def pushed(self, ts: Sequence[Any], ys: list[Tensor], xs: Sequence[Tensor]) -> list[Any]:
        """Tangents of the results."""
        if (maker := primitive_jvps.get(self.owner)) is None:
            raise MissingRuleError(at(f"JVP of {get_name(self.fun)} wrt argnums {self.argnums} is "
                                      "not defined: give it with defjvp"))
        moves = [zeros_like(x) if t is None else t for t, x in zip(ts, xs, strict=True)]
        args = self.arguments(moves)
        with traced():
            found = maker(self.argnums, [args[k] for k in self.argnums], self.results.build(ys),
                          self.arguments(xs), self.keywords)
        return [_like(y, t, conjugated=False)
                for y, t in zip(ys, self.results.directions(found), strict=True)]


def _like(x: Tensor, g: Any, conjugated: bool = True) -> Tensor:
    g = tensor(g)
    if g.dtype.kind == "c" and x.dtype.kind != "c":
        g = g.real
    g = g if g.dtype == x.dtype else cast(g, x.dtype)
    return conjugate(g) if conjugated else g


def primitive(f: Function) -> Function:
    """Make a function of arrays one whose derivatives are given by ``defvjp`` and ``defjvp``.

    :param f: Of arrays, numbers, nests of them, or anything else; it never meets tensors.
    :returns:

    >>> import math
    >>> from agnesi.compat.autograd import grad
    >>> from agnesi.compat.autograd.extend import defvjp, primitive
    >>> sin = primitive(math.sin)
    >>> defvjp(sin, lambda ans, x: lambda g: g * np.cos(x))
    >>> import agnesi.compat.autograd.numpy as np
    >>> grad(sin)(0.0)
    np.float64(1.0)
    """
    @wraps(f)
    def called(*args: Any, **keywords: Any) -> Any:
        call = _Call(called, f, args, keywords)
        return call.run() if call.places else f(*args, **call.keywords)

    called.fun = f
    called.defvjp = functools.partial(_old_defvjp, called)
    called.defgrad = functools.partial(_old_defgrad, called)
    called.defvjp_is_zero = functools.partial(_old_zero, called)
    return called


def notrace_primitive(f: Function) -> Function:
    """A function of the values, through which no gradient flows."""
    @wraps(f)
    def called(*args: Any, **keywords: Any) -> Any:
        return f(*[mapped(getval, x) for x in args], **keywords)

    return called


def register_notrace(trace_type: Any, primitive_fun: Any) -> None:
    """Let no gradient flow through a primitive."""
    defvjp_argnums(primitive_fun, lambda argnums, ans, args, keywords:
                   lambda g: [vspace(args[k]).zeros() for k in argnums])


def defvjp_argnums(fun: Any, vjpmaker: Function) -> None:
    """``vjpmaker(argnums, ans, args, kwargs)`` gives ``g -> cotangents`` of these arguments."""
    primitive_vjps[fun] = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Function) -> None:
    """``vjpmaker(argnum, ans, args, kwargs)`` gives ``g -> cotangent`` of this argument."""
    def maker(argnums: Any, *rest: Any) -> Function:
        pulls = [vjpmaker(k, *rest) for k in argnums]
        form = "lambda g: cotangent, which vjpmaker(ans, *args) gives"
        owner = f"the rule of {get_name(fun)}"

        def pulled(g: Any) -> list[Any]:
            found = [call_user(pull, (g,), {}, owner, form) for pull in pulls]
            if any(part is None for part in found):
                raise TypeError(at(f"{owner} gave None for a cotangent: a function without return "
                                   "gives it; None stands for the whole vjpmaker where it is zero"))
            return found

        return pulled

    defvjp_argnums(fun, maker)


def _check_makers(name: str, form: str, fun: Any, makers: Any) -> None:
    """Refuse what is no primitive, or no rule of one."""
    if not callable(fun):
        raise TypeError(at(f"{name} takes the primitive first, not {typed(fun)}"))
    if isinstance(fun, FunctionType) and not (
            hasattr(fun, "fun") or fun.__module__.startswith("agnesi.")):
        raise TypeError(at(f"{name}: {get_name(fun)} is no primitive, so its rules would not be "
                           "asked for: write @primitive above it"))
    for i, maker in enumerate(makers):
        if not callable(maker) and maker is not None and (name, maker) != ("defjvp", "same"):
            raise TypeError(at(f"{name} of {get_name(fun)}: the rule of argument {i} must be "
                               f"{form} or None, not {typed(maker)}"))


def defvjp(fun: Any, *vjpmakers: Any, argnums: Any = None) -> None:
    """Give the reverse derivatives of a primitive, one for each argument.

    Parameters
    ----------
    fun : callable
    *vjpmakers : callable or None
        ``vjpmaker(ans, *args, **kwargs)`` gives ``g -> cotangent``; None where it is zero.
    argnums : sequence of int, optional
        Which arguments they belong to; by default the first ones.
    """
    _check_makers("defvjp", "vjpmaker(ans, *args)", fun, vjpmakers)
    makers = dict(zip(range(len(vjpmakers)) if argnums is None else argnums, vjpmakers,
                      strict=True))

    def maker(argnum: int, ans: Any, args: Any, keywords: Any) -> Function:
        if argnum not in makers:
            raise MissingRuleError(at(f"VJP of {get_name(fun)} wrt argnum {argnum} not defined: "
                                      "defvjp takes a vjpmaker, or None, for each argument"))
        if makers[argnum] is None:
            return lambda g: vspace(args[argnum]).zeros()
        found: Function = call_user(makers[argnum], (ans, *args), keywords,
                                    f"defvjp of {get_name(fun)}", "vjpmaker(ans, *args)")
        if not callable(found):
            raise TypeError(at(f"defvjp of {get_name(fun)}: the rule of argument {argnum} gave "
                               f"{typed(found)}; vjpmaker(ans, *args) gives a function of the "
                               "cotangent, as in lambda ans, x: lambda g: g * 2 * x"))
        return found

    defvjp_argnum(fun, maker)


def defjvp_argnums(fun: Any, jvpmaker: Function) -> None:
    """``jvpmaker(argnums, gs, ans, args, kwargs)`` is the direction of the result."""
    primitive_jvps[fun] = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Function) -> None:
    """``jvpmaker(argnum, g, ans, args, kwargs)`` is the direction that an argument adds."""
    def maker(argnums: Any, gs: Any, ans: Any, args: Any, keywords: Any) -> Any:
        space = vspace(ans)
        return functools.reduce(space.add, [jvpmaker(k, g, ans, args, keywords)
                                            for k, g in zip(argnums, gs, strict=True)])

    defjvp_argnums(fun, maker)


def defjvp(fun: Any, *jvpmakers: Any, argnums: Any = None) -> None:
    """Give the forward derivatives of a primitive, one for each argument.

    Parameters
    ----------
    fun : callable
    *jvpmakers : callable, "same" or None
        ``jvpmaker(g, ans, *args, **kwargs)`` is the direction that the argument adds; "same" where
        the function is linear in it.
    argnums : sequence of int, optional
        Which arguments they belong to; by default the first ones.
    """
    _check_makers("defjvp", "jvpmaker(g, ans, *args), \"same\"", fun, jvpmakers)
    makers = dict(zip(range(len(jvpmakers)) if argnums is None else argnums, jvpmakers,
                      strict=True))

    def maker(argnum: int, g: Any, ans: Any, args: Any, keywords: Any) -> Any:
        if argnum not in makers:
            raise MissingRuleError(at(f"JVP of {get_name(fun)} wrt argnum {argnum} not defined: "
                                      "defjvp takes a jvpmaker, or None, for each argument"))
        if makers[argnum] is None:
            return vspace(ans).zeros()
        if makers[argnum] == "same":
            return fun(*args[:argnum], g, *args[argnum + 1:], **keywords)
        return call_user(makers[argnum], (g, ans, *args), keywords,
                         f"defjvp of {get_name(fun)}", "jvpmaker(g, ans, *args)")

    defjvp_argnum(fun, maker)


def def_linear(fun: Any) -> None:
    """Say that a primitive is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, keywords: fun(
        *args[:argnum], g, *args[argnum + 1:], **keywords))


def _old_defvjp(fun: Any, vjp: Function, argnum: int = 0) -> None:
    """The form of autograd 1.1: ``vjp(g, ans, vs, gvs, *args)``."""
    _also(fun, argnum, lambda ans, *args, **keywords: lambda g: vjp(
        g, ans, vspace(args[argnum]), vspace(ans), *args, **keywords))


def _old_defgrad(fun: Any, maker: Function, argnum: int = 0) -> None:
    """The form of autograd 1.0: ``maker(ans, *args)``."""
    _also(fun, argnum, maker)


def _old_zero(fun: Any, argnums: Sequence[int] = (0,)) -> None:
    """Say of which arguments a primitive has no derivative."""
    for argnum in argnums:
        _also(fun, argnum, None)


def _also(fun: Any, argnum: int, maker: Any) -> None:
    """Give the derivative of one more argument."""
    known = getattr(fun, "makers", {})
    fun.makers = known | {argnum: maker}
    defvjp(fun, *fun.makers.values(), argnums=list(fun.makers))

_strictly(__name__)
