"""Derivatives of expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

import agnesi
from agnesi.api import functions as F
from agnesi.api import symbolic
from agnesi.api.sparse.tensors import SparseTensor
from agnesi.compat.theano.base.tags import mention
from agnesi.compat.theano.config import config
from agnesi.compat.theano.sparse_variable import SparseVariable
from agnesi.compat.theano.tensor.creation import as_tensor_variable
from agnesi.compat.theano.variable import Constant, Variable, bare, floats, lifted, wrapped
from agnesi.core.dispatch import current
from agnesi.core.ir.node import toposort
from agnesi.core.support.errors import GradientError, at, typed, warn
from agnesi.core.tensor import Tensor
from agnesi.ops.base.convert import as_tensor
from agnesi.testing.operations import check_other_sizes


class DisconnectedInputError(ValueError):
    """A cost does not depend on a variable that its derivative is to be taken in."""


class NullTypeGradError(TypeError):
    """A derivative is not defined."""


class VerifyGradError(Exception):
    """Derivatives differ from finite differences."""


class DisconnectedType:
    """The type of a derivative to what a cost does not depend on."""

    def __call__(self) -> Disconnected:
        """A variable without a value."""
        return Disconnected()


class Disconnected:
    """What stands for a derivative to what a cost does not depend on; it has no value."""

    @property
    def type(self) -> DisconnectedType:
        """A :class:`DisconnectedType`."""
        return DisconnectedType()


def grad_undefined(op: Any, x_pos: int, x: Any, comment: str = "") -> Disconnected:
    """What an operation's ``grad`` returns for an input to which it has no derivative."""
    return Disconnected()


def grad(cost: Any, wrt: Any, consider_constant: Any = None, disconnected_inputs: str = "raise",
         add_names: bool = True, known_grads: Any = None, return_disconnected: str = "zero",
         null_gradients: str = "raise") -> Any:
    """The derivative of a scalar to a variable, or to each of a list.

    :param cost: A scalar; None with ``known_grads``.
    :type cost: Variable
    :param wrt: A sparse matrix has a derivative at its entries.
    :type wrt: Variable or list of Variable
    :param consider_constant: What no derivative goes through.
    :type consider_constant: list of Variable, optional
    :param disconnected_inputs: What is done about variables that the cost does not depend on.
    :type disconnected_inputs: {"raise", "warn", "ignore"}
    :param known_grads: Derivatives of the cost to expressions, to go on from.
    :type known_grads: dict, optional
    :param return_disconnected: What stands for a derivative to what the cost does not depend on:
        zeros, None, or a variable of :class:`DisconnectedType`.
    :type return_disconnected: {"zero", "none", "disconnected"}
    :returns:
    :rtype: Variable or list of Variable
    :raises DisconnectedInputError: If the cost does not depend on a variable.
    """
    if cost is not None and cost.ndim:
        raise TypeError(at(f"grad: cost must be a scalar, not {cost.type}; sum it up"))
    if cost is not None and not known_grads and cost.dtype.startswith(("int", "uint", "bool")):
        return _of_steps(cost, wrt, disconnected_inputs)
    if known_grads:
        cost = _with_known(cost, known_grads)
    mention(bare(cost), *(map(bare, wrt) if isinstance(wrt, (list, tuple)) else [bare(wrt)]))
    rules: dict[str, Literal["error", "zero"]] = {
        "raise": "error", "warn": "zero", "ignore": "zero"}
    if disconnected_inputs not in rules:
        raise ValueError(at("grad: disconnected_inputs must be 'raise', 'warn' or 'ignore', not "
                            f"{disconnected_inputs!r}"))
    rule = rules[disconnected_inputs]
    if return_disconnected not in ("zero", "none", "disconnected"):
        raise ValueError(at("grad: return_disconnected is 'zero', 'none' or 'disconnected', not "
                            f"{return_disconnected!r}"))
    held = [bare(x) for x in consider_constant or ()]
    if isinstance(wrt, SparseVariable):
        return grad(cost, [wrt], consider_constant, disconnected_inputs)[0]
    many = isinstance(wrt, (list, tuple))
    _refuse_constants(wrt if many else [wrt])
    targets = [bare(x) for x in wrt] if many else bare(wrt)
    data = [x.data if isinstance(x, SparseTensor) else x for x in targets] if many else targets
    found = _derived(cost, data, rule, held, wrt if many else [wrt])
    if disconnected_inputs == "warn":
        for x, t in zip(wrt if many else [wrt], data if many else [data], strict=True):
            if not _is_connected(cost, t, held):
                warn(f"grad: the cost does not depend on {x!r}, {x.type}; the gradient is zeros")
    if return_disconnected != "zero" and rule == "zero":
        stands = DisconnectedType()() if return_disconnected == "disconnected" else None
        alone = data if many else [data]
        connected = [_is_connected(cost, x, held) for x in alone]
        kept = [wrapped(g) if there else stands for g, there in zip(
            found if many else [found], connected, strict=True)]
        return kept if many else kept[0]
    if many:
        found = [x.with_data(g) if isinstance(x, SparseTensor) else g
                 for x, g in zip(targets, found, strict=True)]
    return wrapped(found)


def _of_steps(cost: Any, wrt: Any, disconnected_inputs: str) -> Any:
    """The derivative of whole numbers, which is zero wherever there is one."""
    if isinstance(wrt, (list, tuple)):
        return [_of_steps(cost, x, disconnected_inputs) for x in wrt]
    if disconnected_inputs == "raise" and current(bare(wrt)) not in toposort([current(bare(cost))]):
        raise DisconnectedInputError(at(f"grad: the cost does not depend on {wrt!r}, {wrt.type}; "
                                        "disconnected_inputs='ignore' gives zeros"))
    floating = wrt.dtype if wrt.dtype.startswith(("float", "complex")) else config.floatX
    return lifted(F.zeros_like)(wrt, dtype=floating)


def _derived(cost: Any, data: Any, rule: Literal["error", "zero"], held: Sequence[Any],
             wrt: Sequence[Any] = ()) -> Any:
    """Derivatives to tensors."""
    try:
        with floats():
            return symbolic.grad(bare(cost), data, disconnected=rule, consider_constant=held)
    except GradientError as error:
        whole = next((x for x in wrt if isinstance(x, Variable)
                      and x.dtype.startswith(("int", "uint", "bool"))), None)
        if whole is not None and "of integers" in str(error):
            raise GradientError(at(
                f"grad: {whole!r} is {whole.type}, and integers have no gradient: declare it of "
                "floats, or compute with x = cast(variable, 'float64') and take the gradient to x"
            )) from None
        if "does not depend" in str(error):
            apart = next((x for x, t in zip(wrt, data if isinstance(data, list) else [data],
                                            strict=False)
                          if not _is_connected(cost, t, held)), None)
            if apart is None:
                raise DisconnectedInputError(str(error)) from None
            raise DisconnectedInputError(at(
                f"grad: the cost does not depend on {apart!r}, {apart.type}; disconnected_inputs="
                "'ignore' gives zeros")) from None
        raise


def _is_connected(cost: Any, x: Any, held: Sequence[Any]) -> bool:
    try:
        _derived(cost, [x], "error", held)
    except DisconnectedInputError:
        return False
    return True


def _refuse_constants(wrt: Sequence[Any]) -> None:
    """Refuse what expressions have the values of only, and what is no variable."""
    for x in wrt:
        if not isinstance(x, (Variable, SparseVariable, Tensor)):
            raise TypeError(at(f"grad: wrt is a variable, or a list of them, not {x!r}: pass the "
                               "variable that the cost was computed from"))
        if isinstance(x, Constant):
            raise GradientError(at(
                f"grad: {x!r} is a constant, of which expressions keep the value alone: make it a "
                "variable, such as theano.shared(...), or an input that givens replaces by it"))


def _with_known(cost: Any, known: Any) -> Variable:
    """A cost whose derivatives to some expressions are those that are given: to itself, too."""
    own = cost is None or any(x is cost for x in known)
    total = as_tensor_variable(np.zeros((), config.floatX)) if own else cost
    for x, g in known.items():
        total = total + (x * disconnected_grad(g)).sum()
    return total


def subgraph_grad(wrt: Any, end: Sequence[Any], start: Any = None, cost: Any = None,
                  details: bool = False) -> Any:
    """Derivatives to variables and to where they end, from known ones; none goes beyond an end."""
    both = [*wrt, *end]
    found = grad(cost, both, consider_constant=end, known_grads=start, disconnected_inputs="ignore")
    return found[: len(wrt)], found[len(wrt):]


def Lop(f: Any, wrt: Any, eval_points: Any, consider_constant: Any = None,  # noqa: N802
        disconnected_inputs: str = "raise", return_disconnected: str = "zero") -> Any:
    """The product of a vector and the Jacobian."""
    if consider_constant is None and disconnected_inputs == "raise":
        return lifted(symbolic.Lop)(f, wrt, eval_points)
    many = isinstance(f, (list, tuple))
    known = zip(f, eval_points, strict=True) if many else [(f, eval_points)]
    return grad(None, wrt, consider_constant, disconnected_inputs, known_grads=dict(known),
                return_disconnected=return_disconnected)


def Rop(f: Any, wrt: Any, eval_points: Any, disconnected_outputs: str = "raise",  # noqa: N802
        return_disconnected: str = "zero") -> Any:
    """The product of the Jacobian and a vector."""
    if isinstance(wrt, (list, tuple)) != isinstance(eval_points, (list, tuple)):
        raise TypeError(at("Rop: eval_points has a direction for each variable of wrt, in a list "
                           "if that is one"))
    return lifted(symbolic.Rop)(f, wrt, eval_points)


L_op, R_op = Lop, Rop


def pushforward(f: Any, wrt: Any, tangents: Any, disconnected_outputs: str = "raise",
                return_disconnected: str = "zero", use_op_pushforward: bool = False) -> Any:
    """PyTensor's newer name of :func:`Rop`."""
    return Rop(f, wrt, tangents, disconnected_outputs, return_disconnected)


def pullback(f: Any, wrt: Any, cotangents: Any, consider_constant: Any = None,
             disconnected_inputs: str = "raise", return_disconnected: str = "zero") -> Any:
    """PyTensor's newer name of :func:`Lop`."""
    return Lop(f, wrt, cotangents, consider_constant, disconnected_inputs, return_disconnected)


def jacobian(expression: Variable, wrt: Any, consider_constant: Any = None,
             disconnected_inputs: str = "raise", vectorize: bool = False) -> Any:
    """A row of derivatives for each element of a vector."""
    many = isinstance(wrt, (list, tuple))
    variables = list(wrt) if many else [wrt]
    if expression.ndim == 0:
        found = grad(expression, variables, consider_constant, disconnected_inputs)
        return found if many else found[0]
    if expression.ndim > 1:
        raise TypeError(f"jacobian expects a scalar or vector, not {expression.type}")
    held = [bare(x) for x in consider_constant or ()]
    with floats():
        try:
            found = symbolic.jacobian(
                bare(expression), [bare(x) for x in variables], consider_constant=held,
                disconnected="error" if disconnected_inputs == "raise" else "zero")
        except GradientError as error:
            raise (DisconnectedInputError(str(error)) if "does not depend" in str(error)
                   else error) from None
    return wrapped(found) if many else wrapped(found[0])


def hessian(cost: Variable, wrt: Any, consider_constant: Any = None,
            disconnected_inputs: str = "raise", vectorize: bool = False) -> Any:
    """Second derivatives to a vector, or to each of a list."""
    many = isinstance(wrt, (list, tuple))
    found = [jacobian(grad(cost, x, consider_constant, disconnected_inputs), x,
                      disconnected_inputs="ignore") for x in (wrt if many else [wrt])]
    return found if many else found[0]


def hessian_vector_product(cost: Variable, wrt: Any, p: Any) -> Any:
    """The product of second derivatives and a vector, or one for each of a list."""
    if not isinstance(wrt, (list, tuple)):
        return hessian_vector_product(cost, [wrt], [p])[0]
    first = grad(cost, list(wrt))
    total = sum(((g * v).sum() for g, v in zip(first, p, strict=True)), as_tensor_variable(0.0))
    return grad(total, list(wrt), consider_constant=list(p))


def disconnected_grad(x: Any) -> Variable:
    """The value of x, through which no derivative goes."""
    return wrapped(agnesi.stop_gradient(as_tensor_variable(x)._value))


def zero_grad(x: Any) -> Variable:
    """The value of x, whose derivative is zero: a cost of it alone depends on x nevertheless."""
    return _with_gradient(x, agnesi.zeros_like)


consider_constant = zero_grad


def grad_clip(x: Any, lower_bound: Any, upper_bound: Any) -> Variable:
    """The value of x, whose derivative is held between two bounds."""
    low, high = bare(lower_bound), bare(upper_bound)
    return _with_gradient(x, lambda g: F.clip(g, low, high))


def _with_gradient(x: Any, changed: Callable[[Any], Any]) -> Variable:
    """The value of x, whose derivative is a function of that of the result."""
    def itself(x: Any) -> Any:
        return x

    rule = agnesi.custom_vjp(itself)
    rule.defvjp(lambda x: (x, None), lambda _, g: (changed(g),))
    return wrapped(rule(as_tensor_variable(x)._value))


def grad_scale(x: Any, multiplier: float) -> Variable:
    """The value of x, whose derivative is multiplied."""
    x = as_tensor_variable(x)
    held = disconnected_grad(x)
    return held + (x - held) * multiplier


class numeric_grad:  # noqa: N801 - Theano's name
    """Derivatives of a function of arrays, by differences; ``gf`` has them.

    Parameters
    ----------
    f : callable
    pt : array_like or list of array_like
        Where.
    eps : float, optional
        Half the distance of what is compared.
    """

    def __init__(self, f: Any, pt: Any, eps: float | None = None, out_type: Any = None) -> None:
        points = [np.array(p, "float64") for p in (pt if isinstance(pt, (list, tuple)) else [pt])]
        step, found = eps or 1e-6, []
        for p in points:
            row = np.zeros_like(p)
            for i in np.ndindex(p.shape):
                kept = p[i]
                p[i] = kept + step
                above = f(*points)
                p[i] = kept - step
                row[i] = (above - f(*points)) / (2 * step)
                p[i] = kept
            found.append(row)
        self.gf = found if isinstance(pt, (list, tuple)) else found[0]

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[Any, Any]:
        """How far values are apart, and in relation to their size."""
        apart = abs(a - b)
        return apart, apart / np.maximum(abs(a) + abs(b), 1e-8)



def verify_grad(fun: Any, pt: Sequence[Any], n_tests: int = 2, rng: Any = None,
                eps: float | None = None, abs_tol: float | None = None,
                rel_tol: float | None = None, out_type: Any = None, mode: Any = None,
                cast_to_output_type: bool = False, no_debug_ref: bool = True) -> None:
    """Compare derivatives with differences; raises GradientError where they disagree.

    With ``grad`` a user's ``R_op`` is compared, and ``infer_shape`` on other sizes, too.
    """
    if not callable(fun):
        raise TypeError(at(f"verify_grad: fun must be a function of variables, not {typed(fun)}"))
    def value(*xs: Any) -> Any:
        return as_tensor(bare(fun(*map(wrapped, xs))))

    points = [np.asarray(x) for x in pt]
    if value(*map(as_tensor, points)).array is None:  # it makes a graph even of what has values
        value = agnesi.jit(value)
    try:
        agnesi.testing.check_grads(value, pt, order=1)
        check_other_sizes(value, points)
    except AssertionError as error:
        raise VerifyGradError(str(error)) from None
