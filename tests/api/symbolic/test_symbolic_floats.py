"""Floats of symbolic programs are ``symbolic_float``: no float32 in a float64 graph."""

import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.api import functions, lazy_names
from agnesi.core.ir.node import toposort
from agnesi.core.support import tree
from agnesi.core.tensor import Tensor
from tests.share import share


def _operands():
    """Operands of many functions: numbers, lists, sizes and variables, alone and side by side."""
    v, ints = T.vector("v", shape=(3,)), T.lvector("i", shape=(3,))
    m, table = T.matrix("m", shape=(3, 3)), T.lmatrix("j", shape=(3, 3))
    n, mask, some = T.vector().shape[0], T.vector("q", shape=(3,)) > 0, [0.1, 0.2, 0.3]
    return [
        (3,), (2, 3), ((n, 2),), (0.1, 0.5), (ints,), (table,), (v,), (m,), (v, 0.1), (ints, 0.1),
        (0.1, ints), (ints, ints), (v, ints), (v, some), (some, ints), (mask, 0.1, 0.2),
        (ints, 0.1, 0.2), ([v, some],), (n, 0.1), (table, [0.1, 0.5]),
    ]


def _is_symbolic(given):
    leaves = tree.flatten(list(given))[0]
    return any(hasattr(x, "node") for x in leaves)


def _dtypes(result):
    leaves = [x for x in tree.flatten(result)[0] if type(x) is Tensor]
    nodes = [n for x in leaves if x.array is None for n in toposort([x.node])]
    return {x.dtype.name for x in (*leaves, *nodes)}


@pytest.mark.share(2)
@pytest.mark.parametrize("through", [T, ag])
def test_every_function_makes_floats_of_symbolic_programs(through):
    names = share([n for n in (*vars(functions), *lazy_names.NAMES) if n[0] != "_"], 4)
    met = 0
    for name in names:
        f = getattr(through, name)
        if not isinstance(f, types.FunctionType):
            continue
        for given in _operands():
            if through is ag and not _is_symbolic(given):
                continue  # those are values, of ``default_float``
            try:
                found = _dtypes(f(*given))
            except Exception:  # these operands are not for that function
                continue
            met += 1
            assert not found & {"float32", "complex64"}, (name, given)
    assert met > 300


def test_values_and_variables_have_the_default_of_where_they_are_made():
    x, w = T.lvector("x"), ag.shared(np.zeros(()))
    assert T.zeros(2).dtype == "float64" and ag.zeros(2).dtype == "float32"
    assert x.mean().dtype == (x * 0.1).dtype == ag.shared([1.0]).dtype == "float64"
    assert (ag.tensor([1]) / 2).dtype == ag.jit(lambda t: t / 2)(ag.tensor([1])).dtype == "float32"
    assert ag.scan(lambda c, r: (c + r, c), 0.0, ag.ones(2))[0].dtype == "float32"
    f = ag.function([], [], updates={w: 0.1})
    f()
    assert w.get_value() == 0.1
    v = T.vector("v")
    assert ag.function([v], v * [0.1, 0.2])([1.0, 1.0]).tolist() == [0.1, 0.2]
    assert (T.fvector() * [0.1, 0.2]).dtype == (ag.ones(2) * [0.5, 0.5]).dtype == "float32"
    with ag.config(symbolic_float="float32"):
        assert T.zeros(2).dtype == T.switch(T.scalar() > 0, 0.1, 0.2).dtype == "float32"
