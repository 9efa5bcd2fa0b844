"""``theano.tests.breakpoint``: a debugger that stops in a graph when a condition holds."""

from __future__ import annotations

import pdb
from typing import Any

import agnesi
from agnesi.compat.theano.variable import Variable, bare, wrapped
from agnesi.core.keywords import strictly as _strictly
from agnesi.core.support.errors import at
from agnesi.ops.base.convert import as_tensor


class PdbBreakpoint:
    """An operation that gives its operands, and stops in pdb when a condition holds.

    :param name: What is printed where it stops.

    >>> import agnesi.compat.theano as theano
    >>> import agnesi.compat.theano.tensor as T
    >>> from agnesi.compat.theano.tests.breakpoint import PdbBreakpoint
    >>> x = T.dvector("x")
    >>> watched = PdbBreakpoint("large")(x.sum() > 100, x)
    >>> theano.function([x], watched * 2)([1.0, 2.0])
    array([2., 4.])
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, condition: Variable, *monitored: Variable) -> Any:
        """The monitored variables: one, or a list of several."""
        if not monitored:
            raise TypeError(at("PdbBreakpoint needs a variable to monitor, behind the condition"))
        xs = [as_tensor(bare(x)) for x in (condition, *monitored)]
        if xs[0].shape != ():
            raise TypeError(at(f"PdbBreakpoint: the condition must be a scalar, not of {xs[0].ndim}"
                               " dimensions; all() or any() makes it one"))

        def stop(holds: Any, *values: Any) -> Any:
            if holds:
                print(f"-----------------------------------\nA {self.name!r} breakpoint stops: "
                      "`values` has what is monitored; `c` continues")
                pdb.set_trace()
            return values if len(values) > 1 else values[0]

        one = len(monitored) == 1
        marker = agnesi.op(
            stop, outputs=len(monitored),
            infer=lambda c, *vs: (vs[0].shape, vs[0].dtype) if one else tuple(
                (v.shape, v.dtype) for v in vs),
            vjp=lambda g, y, c, *vs: (None, *((g,) if one else g)))
        found = marker(*xs)
        return wrapped(found) if one else [wrapped(y) for y in found]


_strictly(__name__)
