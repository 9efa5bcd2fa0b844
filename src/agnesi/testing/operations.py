"""One check for every operation: its rules against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.autodiff.recording import no_grad
from agnesi.autodiff.vmap import vmap
from agnesi.autograd.differences import check_grads
from agnesi.compiler.jit import jit
from agnesi.core.expansion import expanded
from agnesi.core.graph import FunctionGraph
from agnesi.core.interpret import interpret
from agnesi.core.ir.dims import Dim
from agnesi.core.ir.node import Node
from agnesi.core.support import dtypes
from agnesi.core.support.errors import DeclaredShapeError, DTypeError, ShapeError
from agnesi.core.support.signal_errors import raise_if_from_signal
from agnesi.core.tensor import Tensor, symbol, wrap

Function = Callable[..., Tensor]


def check_op(function: Function, samples: Sequence[Sequence[Any]], *, order: int = 2,
             grads: bool = True, compiled: bool = True) -> None:
    """Check that what an operation says about itself is consistent, on sample operands.

    For each sample: wherever elements are in memory, the eager result is the same; the types that
    a symbolic call infers are those of the eager result; the graph evaluates to the eager
    result, for known and for unknown sizes, and after its operations are replaced by simpler
    ones where they say how; so does the compiled function; derivatives agree with finite
    differences in both modes up to ``order``; a user's rule for ``vmap`` agrees with one example
    after the other; what a user's operation declares holds for other sizes, too, if it takes them.

    :param function: Takes tensors and returns one or several; it closes over all other parameters.
    :param samples: Operands of each call.  Gradients are checked where all floats are double
        precision.
    :type samples: sequence of sequences of array_like
    :param order: How many times to differentiate.
    :param grads, compiled: Whether to check derivatives, and the compiled function.
    :raises AssertionError: Where two of these disagree; the text says which.
    :see: testing.check_grads, op

    >>> ag.testing.check_op(ag.tanh, [[[0.5, 1.0]], [[[0.0]]]])
    """
    for sample in samples:
        arrays = [np.asarray(a) for a in sample]
        with no_grad():
            found = _result(function, arrays)
        check_other_sizes(function, arrays)
        several = isinstance(found, tuple)
        for i, eager in enumerate(found if several else (found,)):
            one = (lambda *xs, i=i: function(*xs)[i]) if several else function
            _check(one, arrays, eager, order if grads else 0, compiled)
            if _has_batch(function):
                rows = vmap(one)(*[wrap(np.stack([a, a])) for a in arrays])
                close(rows.array, np.stack([eager.array] * 2), "vmap")


def _has_batch(function: Any) -> bool:
    """Whether a user's operation has a rule of its own for ``vmap``."""
    rules = getattr(function, "rules", {})
    return bool(rules.get("batch") or getattr(type(function), "batch", None))


def _check(function: Function, arrays: list[np.ndarray], eager: Tensor, order: int, compiled: bool
           ) -> None:
    """One result of an operation, on one sample."""
    with no_grad():
        turned = [np.array(a, order="F") for a in arrays]
        close(function(*map(wrap, turned)).array, eager.array, "memory in another order")
    check_graph(function, arrays, eager)
    if compiled:
        value = jit(function)(*[wrap(a) for a in arrays])
        close(value.array, eager.array, "compiled function")
    doubles = all(not dtypes.is_inexact(a.dtype) or a.dtype.itemsize >= 8 for a in arrays)
    if order and doubles and dtypes.is_inexact(eager.dtype):
        check_grads(function, arrays, order=order)
        check_grads(function, turned, order=1)


def _result(function: Function, arrays: Sequence[np.ndarray]) -> Any:
    """The eager result, which is of the type that the operation declares."""
    try:
        return function(*[wrap(a) for a in arrays])
    except (ShapeError, DTypeError) as error:
        raise AssertionError(f"it refuses its operands or its result: {error}") from error


def check_other_sizes(function: Function, arrays: Sequence[np.ndarray]) -> None:
    """What an operation declares holds where all sizes of one number are greater by one, too."""
    for n in sorted({n for a in arrays for n in a.shape if n > 1}):
        others = [np.resize(a, [m + (m == n) for m in a.shape]) for a in arrays]
        try:
            with no_grad():
                function(*map(wrap, others))
        except DeclaredShapeError as error:
            raise AssertionError(f"for operands of other sizes: {error}") from error
        except Exception as error:  # it does not take these
            raise_if_from_signal(error)


def check_graph(function: Function, arrays: Sequence[np.ndarray], eager: Tensor) -> None:
    """A graph of the function has the eager result's type and value."""
    for shapes in (
        [a.shape for a in arrays],
        [tuple(n if n < 2 else Dim(f"n{n}") for n in a.shape) for a in arrays],
    ):
        nodes = [
            Node(None, (), shape, a.dtype, requires_grad=dtypes.is_inexact(a.dtype))
            for shape, a in zip(shapes, arrays, strict=True)
        ]
        result = function(*map(symbol, nodes))
        assert result.node is not None
        free = FunctionGraph(nodes, [result.node])
        graph = free.specialise({n: a.shape for n, a in zip(free.inputs, arrays, strict=True)})
        output = graph.outputs[0]
        promised = (output.shape, output.dtype)
        if promised != (eager.shape, eager.dtype):
            raise AssertionError(
                f"the graph promises {promised[1]}{list(promised[0])}, but the result is "
                f"{eager.dtype}{list(eager.shape)}"
            )
        for form in (graph, expanded(graph)):
            (value,) = interpret(form, arrays)
            close(value, eager.array, "graph")


def close(value: np.ndarray, expected: Any, what: str) -> None:
    """Values agree to a few units of the last place of their dtype."""
    assert value.dtype == expected.dtype, f"{what}: {value.dtype} is not {expected.dtype}"
    tolerance = 0.0
    if dtypes.is_inexact(value.dtype):
        tolerance = 64 * float(dtypes.limits(dtypes.real_of(value.dtype)).eps)
    if value.dtype in dtypes.HALVES:
        value, expected = (np.asarray(v, np.float32) for v in (value, expected))
        tolerance /= 16
    np.testing.assert_allclose(value, expected, tolerance, tolerance, err_msg=what)
