"""Programs written with the functions of ``compat.theano``, as graphs of its variables."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import agnesi as ag
from agnesi.compat import theano
from agnesi.compat.theano import tensor
from tests.fuzz.program import Program

#: Functions that Theano has with other arguments and results.
_OTHER = frozenset(("split", "nonzero", "unique", "max_and_argmax", "diff"))
_CALLED = re.compile(r"\bag\.([\w.]+)")
#: What variables of Theano's do not have, of which ``==`` tells whether they are the same one.
_UNLIKE = re.compile(r"np\.|\[.*[<>]|[!=]= |\.view\(|\.mT\b|lambda|\w_\(|axis=\(\)|sample\(")


def fits(program: Program) -> bool:
    """Whether all functions of a program are Theano's, which computes in the same dtypes."""
    text = "\n".join(program.body.lines())
    floats = all(x.array.dtype.name in ("float32", "float64") and not x.number
                 for x in program.inputs)
    return (floats and not program.changes and not _UNLIKE.search(text)
            and all(hasattr(tensor, n) and n not in _OTHER for n in _CALLED.findall(text)))


def by_theano(program: Program) -> list[Any]:
    """Results and inputs of a program that Theano's functions write."""
    arrays = [np.asarray(a) for a in program.arguments(ag)]
    given = [tensor.TensorType(a.dtype.name, (False,) * a.ndim)() for a in arrays]
    try:
        results = program.function({"ag": tensor})(*given)
    except (TypeError, ValueError, AttributeError) as error:  # it takes other arguments
        raise ValueError("nothing of Theano's when the graph is written, so") from error
    run = theano.function(given, list(results), on_unused_input="ignore")
    return [*map(np.asarray, run(*arrays)), *arrays]
