"""``pytensor.tensor.optimize``: minima and roots of expressions, by SciPy's methods.

Gradients come from the implicit function theorem: they need the solution only, not the way to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.functions import clone, function
from agnesi.compat.theano.gof import inputs as inputs_of
from agnesi.compat.theano.ops.base import Op
from agnesi.compat.theano.tensor import slinalg
from agnesi.compat.theano.tensor.creation import as_tensor_variable, zeros_like
from agnesi.compat.theano.tensor.derivatives import grad, hessian, jacobian
from agnesi.compat.theano.tensor.shaping import concatenate
from agnesi.compat.theano.types import Apply, TensorType
from agnesi.compat.theano.variable import Constant, Variable
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at


class _Solve(Op):
    """Values of the unknowns where equations hold, and whether the method found them.

    :ivar equations: Vectors or numbers, as many elements as the unknowns have.
    :ivar computed: What the method evaluates, as expressions.
    :ivar method: Of a compiled function of one vector and that vector: a result of SciPy's.
    """

    def __init__(self, unknowns: Sequence[Variable], equations: Sequence[Variable],
                 computed: Sequence[Variable], method: Callable[..., Any]) -> None:
        self.unknowns, self.equations = list(unknowns), list(equations)
        held = inputs_of([*computed, *equations])
        self.args = [v for v in held if v not in self.unknowns and not isinstance(v, Constant)]
        self.method = method
        self._computed = list(computed)
        self._compiled: Any = None

    def make_node(self, *inputs: Any) -> Apply:
        given = [as_tensor_variable(x) for x in inputs]
        return Apply(self, given, [*[x.type() for x in self.unknowns], TensorType("bool", ())()])

    def infer_shape(self, node: Any, shapes: Sequence[Any]) -> list[Any]:
        return [*shapes[:len(self.unknowns)], ()]

    def perform(self, node: Any, inputs: Sequence[np.ndarray], output_storage: Sequence[Any],
                *params: Any) -> None:
        count = len(self.unknowns)
        first, args = [np.asarray(x) for x in inputs[:count]], inputs[count:]
        if self._compiled is None:
            fresh = {a: a.type() for a in self.args}
            self._compiled = function([*self.unknowns, *fresh.values()], clone(
                self._computed, fresh), on_unused_input="ignore")
        ends = np.cumsum([x.size for x in first])[:-1]

        def parts(v: Any) -> list[np.ndarray]:
            return [p.reshape(x.shape).astype(x.dtype)
                    for p, x in zip(np.split(np.ravel(v), ends), first, strict=True)]

        found, success = self.method(
            lambda v: [np.asarray(y) for y in self._compiled(*parts(v), *args)],
            np.concatenate([x.ravel() for x in first]))
        for cell, value in zip(output_storage, parts(found), strict=False):
            cell[0] = value
        output_storage[count][0] = np.asarray(bool(success))

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The starting point does not decide the solution, nothing makes success differentiable."""
        count = len(self.unknowns)
        return [[False] * (count + 1)] * count + [[True] * count + [False]] * len(self.args)

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any],  # noqa: N802
             output_grads: Sequence[Any]) -> list[Any]:
        count = len(self.unknowns)
        rest = concatenate([as_tensor_variable(e).flatten() for e in self.equations])
        blocks = [jacobian(rest, x, disconnected_inputs="ignore").reshape((rest.shape[0], -1))
                  for x in self.unknowns]
        slopes = concatenate([g.flatten() for g in output_grads[:count]])
        swaps = {**dict(zip(self.unknowns, outputs, strict=False)),
                 **dict(zip(self.args, inputs[count:], strict=True))}
        matrix = clone(concatenate(blocks, axis=1), swaps)
        weights = slinalg.solve(matrix.T, slopes)
        held = clone(rest, {x: y for x, y in swaps.items() if x in self.unknowns})
        held = clone(held, {a: b for a, b in swaps.items() if a in self.args})
        found = grad((held * -weights).sum(), list(inputs[count:]), consider_constant=[
            weights, *outputs[:count]], disconnected_inputs="ignore")
        return [*[zeros_like(x) for x in inputs[:count]], *found]

    def solution(self, several: bool) -> tuple[Any, Variable]:
        """The solution in the form of the unknowns, and whether it is one."""
        *found, success = self(*self.unknowns, *self.args)
        return (tuple(found) if several else found[0]), success


def _unknowns(x: Any, *expressions: Any) -> list[Variable]:
    found = list(x) if isinstance(x, (list, tuple)) else [x]
    held = inputs_of([as_tensor_variable(e) for e in expressions])
    for v in found:
        if v not in held:
            raise ValueError(at(f"{v!r} is not among the inputs of the expression, so nothing can "
                                "be solved for it"))
    return found


def _packed(slopes: Sequence[Any]) -> Any:
    return concatenate([as_tensor_variable(g).flatten() for g in slopes])


def minimize(objective: Any, x: Any, method: str = "BFGS", jac: bool = True, hess: bool = False,
             use_vectorized_jac: bool = False, optimizer_kwargs: dict[str, Any] | None = None
             ) -> tuple[Any, Variable]:
    """The place of a minimum by ``scipy.optimize.minimize``, from ``x`` on.

    :param objective: A number.
    :type objective: Variable
    :param x: Inputs of the objective.
    :type x: Variable or list of Variable
    :param method:
    :param jac, hess: Whether the method is given derivatives.
    :param optimizer_kwargs: Further arguments of SciPy's.
    :returns: The place, of the form of ``x``, and whether the method succeeded.
    :rtype: tuple
    """
    objective = as_tensor_variable(objective)
    unknowns, options = _unknowns(x, objective), optimizer_kwargs or {}
    slopes = grad(objective, unknowns)
    if hess and len(unknowns) > 1:
        raise NotImplementedError(at("minimize: hess=True takes one variable; put the variables "
                                     "into one vector"))

    def run(f: Callable[..., Any], start: np.ndarray) -> Any:
        from scipy import optimize

        size = start.size
        found = optimize.minimize(
            lambda v: float(f(v)[0]), start, method=method, **options,
            **({"jac": lambda v: f(v)[1]} if jac else {}),
            **({"hess": lambda v: f(v)[2].reshape(size, size)} if hess else {}))
        return found.x, found.success

    computed = [objective, _packed(slopes)]
    if hess:
        computed.append(hessian(objective, unknowns[0]))
    return _Solve(unknowns, slopes, computed, run).solution(isinstance(x, (list, tuple)))


def root(equations: Any, variables: Any, method: str = "hybr", jac: bool = True,
         use_vectorized_jac: bool = False, optimizer_kwargs: dict[str, Any] | None = None
         ) -> tuple[Any, Variable]:
    """Where a vector of equations is zero, by ``scipy.optimize.root``; as :func:`minimize`."""
    equations = as_tensor_variable(equations)
    unknowns, options = _unknowns(variables, equations), optimizer_kwargs or {}
    computed = [equations]
    if jac:
        rest = equations.flatten()
        computed.append(concatenate([jacobian(rest, v, disconnected_inputs="ignore").reshape(
            (rest.shape[0], -1)) for v in unknowns], axis=1))

    def run(f: Callable[..., Any], start: np.ndarray) -> Any:
        from scipy import optimize

        found = optimize.root(lambda v: f(v)[0].ravel(), start, method=method, **options,
                              **({"jac": lambda v: f(v)[1]} if jac else {}))
        return found.x, found.success

    several = isinstance(variables, (list, tuple))
    return _Solve(unknowns, [equations], computed, run).solution(several)


def minimize_scalar(objective: Any, x: Any, method: str = "brent",
                    optimizer_kwargs: dict[str, Any] | None = None) -> tuple[Any, Variable]:
    """The place of a minimum of one number by ``scipy.optimize.minimize_scalar``."""
    objective = as_tensor_variable(objective)
    unknowns = _unknowns(x, objective)

    def run(f: Callable[..., Any], start: np.ndarray) -> Any:
        from scipy import optimize

        found = optimize.minimize_scalar(lambda v: float(f(v)[0]), method=method,
                                         **(optimizer_kwargs or {}))
        return found.x, found.success

    return _Solve(unknowns, grad(objective, unknowns), [objective], run).solution(False)


def root_scalar(equation: Any, variable: Any, method: str = "secant", jac: bool = False,
                hess: bool = False, optimizer_kwargs: dict[str, Any] | None = None
                ) -> tuple[Any, Variable]:
    """Where one equation of one number is zero, by ``scipy.optimize.root_scalar``, from the
    variable's value on."""
    equation = as_tensor_variable(equation)
    unknowns = _unknowns(variable, equation)
    first = grad(equation, variable)
    computed = [equation, first, *([grad(first, variable, disconnected_inputs="ignore")]
                                   if hess else [])]

    def run(f: Callable[..., Any], start: np.ndarray) -> Any:
        from scipy import optimize

        found = optimize.root_scalar(
            lambda v: float(f(v)[0]), method=method, **{"x0": float(start[0]), **(
                optimizer_kwargs or {})},
            **({"fprime": lambda v: float(f(v)[1])} if jac else {}),
            **({"fprime2": lambda v: float(f(v)[2])} if hess else {}))
        return found.root, found.converged

    return _Solve(unknowns, [equation], computed, run).solution(False)


_strictly(__name__)
