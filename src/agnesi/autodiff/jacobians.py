"""All derivatives at once, and products with them: Jacobians and Hessians by batched modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from agnesi.autodiff.forward import push, tangent_for
from agnesi.autodiff.reverse import backprop
from agnesi.autodiff.transforms import (
    Function,
    Inputs,
    check_tuples,
    free,
    gradient_function,
    jvp,
    opened,
    pair_of,
    tensors_of,
)
from agnesi.autodiff.vmap import vmap
from agnesi.core.dispatch import current
from agnesi.core.ir.dims import is_static, product
from agnesi.core.op import typed
from agnesi.core.public import higher, renamed
from agnesi.core.support import tree
from agnesi.core.support.dtypes import is_inexact
from agnesi.core.support.errors import GradientError, at
from agnesi.core.tensor import Tensor
from agnesi.core.transformed import name_of, transformed
from agnesi.ops.base.creation import ones_like, zeros_like
from agnesi.ops.base.movement import reshape
from agnesi.ops.indexing.join import concat
from agnesi.ops.indexing.ranges import eye

P = ParamSpec("P")
R = TypeVar("R")


@higher
def jacobian(f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, mode: str = "auto"
             ) -> Callable[P, Any]:
    """The function that computes all first derivatives of ``f``.

    For a result of shape ``s`` and an argument of shape ``t``, the Jacobian has shape ``s + t``;
    nested containers give nested containers: of the result, and in it of the argument.

    :param f: A function of tensors, or of nested containers of them.
    :param argnums: Which arguments to differentiate.
    :param mode: Forward mode computes a column for each element of the arguments, reverse mode a
        row for each element of the result, all of them at once.  "auto" takes what is fewer.
    :type mode: {"auto", "forward", "reverse"}
    :returns: It takes what ``f`` takes.
    :raises ValueError: If there is no such mode.
    :raises TypeError: If a result is no tensor of floats or complex numbers.
    :see: jacfwd, jacrev, hessian, grad

    >>> ag.jacobian(lambda x: x * x)(ag.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(at(f"jacobian: mode must be 'auto', 'forward' or 'reverse', not {mode!r}"))
    return _jacobian(f, argnums, mode, "jacobian")


def _jacobian(f: Function, argnums: int | Sequence[int], mode: str, owner: str,
              has_aux: bool = False, chunk: int | None = None) -> Function:
    """The function that computes all first derivatives, for one that the user called ``owner``.

    ``has_aux`` says that ``f`` gives a pair, of which the second follows the derivatives; ``chunk``
    how many rows are computed at once.
    """

    def derivatives(*args: Any, **keywords: Any) -> Any:
        inputs = Inputs(owner, args, argnums)
        value = inputs.call(f, keywords)
        value, aux = pair_of(owner, f, value) if has_aux else (value, None)
        ys, shape = tensors_of(f, value, owner)
        for y in ys:
            if not is_inexact(y.dtype):
                raise TypeError(at(f"{owner}: {name_of(f)} must return float or complex tensors, "
                                   f"not {typed(y)}, which has no gradient"))
        forward = mode == "forward" or (mode == "auto" and _fewer(inputs.originals, ys))
        keep = inputs.outer(ys)
        with inputs.sought(keep):
            found = shape.build(_columns(ys, inputs) if forward else _rows(ys, inputs, chunk))
        if not has_aux:
            return found
        return found, aux if keep else free(aux)

    return transformed(derivatives, owner, _jacobian, f, argnums, mode, owner, has_aux, chunk)


def _fewer(xs: Sequence[Tensor], ys: Sequence[Tensor]) -> bool:
    """Return whether the arguments have fewer elements than the results; False if sizes are not
    known.
    """
    sizes = [n for x in (*xs, *ys) for n in x.shape]
    if not is_static(sizes) or any(x.dtype.kind == "c" for x in (*xs, *ys)):
        return False
    return sum(product(x.shape) for x in xs) < sum(product(y.shape) for y in ys)


def _basis(x: Tensor) -> Tensor:
    """Return the standard basis: for each element of ``x`` a tensor that is 1 there and 0
    elsewhere.
    """
    n = product(x.shape)
    return reshape(eye(n, dtype=x.dtype), (n, *x.shape))


def _rows(ys: Sequence[Tensor], inputs: Inputs, chunk: int | None = None) -> list[Any]:
    """Return the Jacobians of results in reverse mode: one pullback for each element, ``chunk`` at
    a time.
    """

    def pullback(node: Any) -> Function:
        return lambda g: inputs.like_arguments(backprop({node: g}, inputs.nodes))

    results = []
    for y in ys:
        if y.shape == ():
            results.append(pullback(current(y))(ones_like(y)))
            continue
        basis, pull = _basis(y), vmap(pullback(current(y)))
        few = chunk is not None and chunk < basis.shape[0]
        rows = pull(basis) if not few else tree.map_leaves(lambda *xs: concat(xs), *[
            pull(basis[i:i + chunk]) for i in range(0, basis.shape[0], chunk)])  # type: ignore
        results.append(tree.map_leaves(lambda x, s=y.shape: reshape(x, (*s, *x.shape[1:])), rows))
    return results


def _columns(ys: Sequence[Tensor], inputs: Inputs) -> list[Any]:
    """Return the Jacobians of results in forward mode: one tangent for each element of the
    arguments.
    """
    nodes = [current(y) for y in ys]

    def along(node: Any) -> Function:
        def tangents(t: Tensor) -> list[Any]:
            found = push(nodes, {node: t})
            return [zeros_like(y) if found.get(n) is None else found[n]
                    for y, n in zip(ys, nodes, strict=True)]

        return tangents

    parts = []
    for node, x in zip(inputs.nodes, inputs.originals, strict=True):
        found = vmap(along(node), out_axes=-1)(_basis(x))
        parts.append([reshape(t, (*y.shape, *x.shape)) for t, y in zip(found, ys, strict=True)])
    nests = [inputs.shape.build(column) for column in zip(*parts, strict=True)]
    return [nest[0] if inputs.single else nest for nest in nests]


@higher
@renamed(func="f")
def jacfwd(f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False,
           randomness: str = "same") -> Callable[P, Any]:
    """:func:`jacobian` by forward mode: for functions of few numbers.

    :param f: A function of tensors, or of nested containers of them.
    :param argnums: Which arguments to differentiate.
    :param has_aux: Whether ``f`` gives a pair, of which the second is no part of what is
        differentiated; the result is then the pair of the derivatives and this.
    :param randomness: Taken for PyTorch's programs: ``f`` runs once, so that all derivatives are of
        the same draws.
    :type randomness: {"same", "error"}
    :returns: As of :func:`jacobian`.
    :raises TypeError: If a result is no tensor of floats or complex numbers.
    :raises ValueError: If ``randomness`` is another word.
    :see: jacobian, jacrev, jvp

    >>> ag.jacfwd(lambda t: ag.stack([ag.cos(t), ag.sin(t)]))(0.0)
    tensor([-0.,  1.])
    """
    if randomness not in ("same", "error"):
        raise ValueError(at(f"jacfwd: randomness must be 'same' or 'error', not {randomness!r}: "
                            "the function runs once, and all derivatives are of the same draws"))
    return _jacobian(f, argnums, "forward", "jacfwd", has_aux)


@higher
@renamed(func="f")
def jacrev(f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False,
           chunk_size: int | None = None) -> Callable[P, Any]:
    """:func:`jacobian` by reverse mode: for functions with few results.

    :like: jacfwd
    :param chunk_size: How many rows are computed at once, all by default: fewer take less memory.
    :raises ValueError: If ``chunk_size`` is not positive.
    :see: jacobian, jacfwd, vjp

    >>> ag.jacrev(lambda x: (x * x).sum())(ag.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(at(f"jacrev: chunk_size must be positive, not {chunk_size}"))
    return _jacobian(f, argnums, "reverse", "jacrev", has_aux, chunk_size)


@higher
@renamed(func="f")
def hessian(f: Callable[P, Any], argnums: int | Sequence[int] = 0) -> Callable[P, Any]:
    """The function that computes all second derivatives of ``f``.

    The gradient, or the Jacobian where the result is no scalar, is differentiated by forward mode,
    along all directions at once.

    :param f: A function of tensors, or of nested containers of them.
    :param argnums: Which arguments to differentiate.
    :returns: It gives, for an argument of shape ``t``, a tensor of shape ``t + t`` behind that of
        the result; nested containers give nested containers.
    :raises TypeError: If a result is no tensor of floats or complex numbers.
    :see: hvp, jacobian, grad

    >>> ag.hessian(lambda x: (x**3).sum())(ag.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    slopes = _jacobian(f, argnums, "reverse", "hessian")
    return _jacobian(slopes, argnums, "forward", "hessian")


@higher
def hvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a scalar ``f`` times a vector, without forming the Hessian.

    :param f: A function of tensors, or of nested containers of them, whose result is a scalar.
    :param primals, tangents: Arguments of ``f``, and the vector: nests of the same shape.
    :type primals, tangents: sequence
    :returns: Like the argument; a tuple for several arguments.
    :rtype: nest of Tensor
    :raises GradientError: If a tangent is of another shape, or ``f`` gives no scalar.
    :see: hessian, jvp, grad

    >>> ag.hvp(lambda x: (x**3).sum(), (ag.tensor([1.0, 2.0]),), (ag.tensor([1.0, 1.0]),))
    tensor([ 6., 12.])
    """
    check_tuples("hvp", f, primals=primals, tangents=tangents)
    numbers = 0 if len(primals) == 1 else range(len(primals))
    try:
        return jvp(gradient_function(f, numbers, owner="hvp"), primals, tangents)[1]
    except GradientError as error:
        if not str(error).startswith("jvp: "):
            raise
        raise GradientError(f"hvp: {str(error).removeprefix('jvp: ')}") from None


@higher
@renamed(func="f")
def linearize(f: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """The value of ``f``, and its derivative there as a function of directions.

    ``f`` runs once, however often the derivative is used.

    :param f: Of tensors, or nests of tensors.
    :param *primals: Its arguments.
    :type *primals: tensor or nest of tensors
    :returns value: ``f(*primals)``.
    :rtype: tensor or nest of tensors
    :returns derivative: ``derivative(*tangents)``, with a nest for each argument, is like the
        value.
    :rtype: callable
    :raises ValueError: By ``derivative``, if the directions are another nest than the arguments.
    :see: jvp, vjp

    >>> y, derivative = ag.linearize(lambda x: x**3, ag.tensor(2.0))
    >>> y, derivative(ag.tensor(1.0)), derivative(ag.tensor(0.5))
    (tensor(8.), tensor(12.), tensor(6.))
    """
    inputs = Inputs("linearize", primals)
    value = inputs.call(f, {})
    ys, shape = tensors_of(f, value, "linearize")
    keep = inputs.outer(ys)
    nodes = [current(y) for y in ys]

    def derivative(*tangents: Any) -> Any:
        directions, its_shape = tree.flatten(opened(tangents)[0])
        if its_shape != inputs.shape:
            raise ValueError(at(
                f"linearize: the tangents are {typed(tangents)}, the primals {typed(primals)}: "
                "give a tangent for each, in the same nest"))
        again = keep or any(isinstance(t, Tensor) and t._requires_grad for t in directions)
        with inputs.sought(inputs.was_recording and again):
            pairs = zip(inputs.nodes, inputs.originals, directions, strict=True)
            found = push(nodes, {node: tangent_for(x, t, "linearize") for node, x, t in pairs})
            ts = [found.get(n) for n in nodes]
            return shape.build(
                [zeros_like(y) if t is None else t for t, y in zip(ts, ys, strict=True)]
            )

    inputs.finish()
    return (value if keep else free(value)), derivative
