"""Functions: what is applied to variables and remembered by its results."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from agnesi.compat.chainer import type_check
from agnesi.compat.chainer.variable import Variable, as_variable, common, weak
from agnesi.core.support.errors import at, call_user, typed

Arrays = tuple[Any, ...]


class Function:
    """Base of functions of variables; a subclass gives ``forward`` and ``backward``.

    Both take tuples of arrays and return tuples; ``forward_cpu`` and ``backward_cpu`` serve too.
    A call copies the function, so that each application has attributes of its own, and lets
    ``check_type_forward(self, in_types)`` refuse inputs first, if there is one.

    Attributes
    ----------
    inputs, outputs : tuple
        Variables of the application; outputs by weak references.
    parameter_names, gradient_names : tuple of str
        Attributes that hold parameters and their gradients, to which ``backward`` adds.

    Examples
    --------
    >>> import numpy as np
    >>> from agnesi.compat.chainer import Function, Variable
    >>> class MulAdd(Function):
    ...     def forward(self, inputs):
    ...         x, y, z = inputs
    ...         return x * y + z,
    ...     def backward(self, inputs, grad_outputs):
    ...         x, y, z = inputs
    ...         return y * grad_outputs[0], x * grad_outputs[0], grad_outputs[0]
    >>> x, y, z = (Variable(np.float32([i])) for i in (2, 3, 4))
    >>> w = MulAdd()(x, y, z)
    >>> w.backward()
    >>> w.data, x.grad
    (array([10.], dtype=float32), array([3.], dtype=float32))
    """

    parameter_names: tuple[str, ...] = ()
    gradient_names: tuple[str, ...] = ()
    inputs: Any = None
    outputs: Any = None
    rank = 0
    #: Whether the application is remembered, so that ``backward`` may come.
    followed = True

    @property
    def label(self) -> str:
        """Its name, for drawings and errors."""
        return type(self).__name__

    def __call__(self, *inputs: Any) -> Any:
        xs = tuple([as_variable(x) for x in inputs])
        volatile = common([x.volatile for x in xs], self.label)
        function = copy.copy(self)
        function.followed = not volatile
        type_check.checked(function, [x.data for x in xs])
        ys = call_user(function.forward, (tuple([x.data for x in xs]),), {}, self.label,
                       "forward(self, inputs), with a tuple of arrays")
        if not isinstance(ys, tuple):
            raise TypeError(at(f"{self.label}.forward must return a tuple of arrays, not "
                               f"{typed(ys)}: end the line with a comma"))
        arrays = [np.asarray(y) for y in ys]
        if wrong := [y for y in arrays if y.dtype.kind in "OSUMm"]:
            raise TypeError(at(f"{self.label}.forward must return a tuple of arrays of numbers, "
                               f"not {typed(wrong[0])} in it"))
        results = tuple([Variable(y, volatile=volatile) for y in arrays])
        if function.followed:
            function.rank = max((x.rank for x in xs), default=0)
            function.inputs, function.outputs = xs, weak(results)
            for y in results:
                y.set_creator(function)
        return results[0] if len(results) == 1 else results

    def forward(self, inputs: Arrays) -> Arrays:
        """Results from arrays."""
        return self.forward_cpu(inputs)

    def backward(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        """Gradients of the inputs (or None) from those of the results (or None)."""
        return self.backward_cpu(inputs, grad_outputs)

    def forward_cpu(self, inputs: Arrays) -> Arrays:
        raise NotImplementedError(at(f"{self.label} needs forward(self, inputs), which returns a "
                                     "tuple of arrays"))

    def backward_cpu(self, inputs: Arrays, grad_outputs: Arrays) -> Arrays:
        return (None,) * len(inputs)

    def unchain(self) -> None:
        """Take the function out of the history of its results."""
        for reference in self.outputs or ():
            y = reference()
            if y is not None:
                y.creator = None
                y.rank = 0
        self.inputs = None

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Arrays of parameters."""
        return tuple(getattr(self, name) for name in self.parameter_names)

    @parameters.setter
    def parameters(self, values: Iterable[Any]) -> None:
        values = iter(values)
        for name in self.parameter_names:
            setattr(self, name, next(values))

    @property
    def gradients(self) -> tuple[Any, ...]:
        """Arrays of their gradients."""
        return tuple(getattr(self, name) for name in self.gradient_names)

    @gradients.setter
    def gradients(self, values: Iterable[Any]) -> None:
        values = iter(values)
        for name in self.gradient_names:
            setattr(self, name, next(values))

    def to_gpu(self, device: Any = None) -> Any:
        """The function itself: devices are the processor."""
        return self

    def to_cpu(self) -> Any:
        """The function itself."""
        return self
