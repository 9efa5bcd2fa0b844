"""Compiled functions, variables and graphs through pickles and deep copies."""

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler.compilation import copies
from agnesi.compiler.compilation.fingerprint import fingerprint
from agnesi.compiler.tracing.trace import stand_in
from agnesi.core.dispatch import graph_node
from agnesi.core.graph import FunctionGraph, live_tensor
from agnesi.core.ir.node import toposort
from agnesi.core.tensor import symbol
from agnesi.ops.base import elementwise
from agnesi.testing import samples

offset = ag.tensor([10.0, 20.0])

#: Tests that share the operations.
_PARTS = 8


@ag.jit
def shifted(x):
    return x + offset


class Scaler:
    def __init__(self, factor):
        self.factor = ag.tensor(factor)

    def scale(self, x):
        return x * self.factor


def through(thing):
    return pickle.loads(pickle.dumps(thing))


def counting():
    x = T.vector("x")
    total = ag.shared(np.zeros(2), "total")
    return ag.function([x], total * 2, updates={total: total + x}, name="count"), total


def test_a_function_comes_back_with_its_optimised_graph():
    f, total = counting()
    f([1.0, 2.0])
    g, again = through((f, total))
    assert again.name == "total" and g.name == "count"
    np.testing.assert_array_equal(g([0.0, 1.0]), [2.0, 4.0])
    spent = g.specialisations[-1].seconds
    assert not {"rewrite", "schedule", "emit", "recall"} & spent.keys()
    np.testing.assert_array_equal(again.get_value(), [1.0, 3.0])
    np.testing.assert_array_equal(total.get_value(), [1.0, 2.0])


def test_one_that_was_not_called_yet():
    f, _ = counting()
    np.testing.assert_array_equal(through(f)([1.0, 1.0]), [0.0, 0.0])


@pytest.mark.native_plans
def test_another_processor_schedules_again():
    with ag.config(cache=False):
        f, _ = counting()
        f([1.0, 2.0])
        data = pickle.dumps(f)
    with ag.config(target="scalar", cache=False):
        g = pickle.loads(data)
        np.testing.assert_array_equal(g([0.0, 0.0]), [2.0, 4.0])
    assert "rewrite" not in g.specialisations[-1].seconds
    assert "schedule" in g.specialisations[-1].seconds


def test_another_version_optimises_again(monkeypatch):
    f, _ = counting()
    f([1.0, 2.0])
    data = pickle.dumps(f)
    monkeypatch.setattr(copies, "build", lambda: "another")
    g = pickle.loads(data)
    np.testing.assert_array_equal(g([0.0, 0.0]), [2.0, 4.0])
    assert "optimised graph" not in g.explain()


def test_without_a_compiler_the_interpreter_runs_the_optimised_graph():
    f, _ = counting()
    f([1.0, 2.0])
    data = pickle.dumps(f)
    with ag.config(compile=False):
        g = pickle.loads(data)
        np.testing.assert_array_equal(g([0.0, 0.0]), [2.0, 4.0])
    assert "rewrite" not in g.specialisations[-1].seconds


def test_a_fresh_process_does_not_rewrite(tmp_path):
    f, _ = counting()
    f([1.0, 2.0])
    (tmp_path / "f.pickle").write_bytes(pickle.dumps(f))
    program = (
        "import pickle, sys\n"
        f"f = pickle.load(open({str(tmp_path / 'f.pickle')!r}, 'rb'))\n"
        "assert f([0.0, 0.0]).tolist() == [2.0, 4.0]\n"
        "assert 'rewrite' not in f.specialisations[-1].seconds\n"
        "assert 'agnesi.rewrite.engine' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=False)
    assert not done.returncode, done.stderr


def test_deep_copies_have_state_of_their_own():
    f, total = counting()
    f([1.0, 2.0])
    g, variable = copy.deepcopy((f, total))
    g([1.0, 1.0])
    np.testing.assert_array_equal(total.get_value(), [1.0, 2.0])
    np.testing.assert_array_equal(variable.get_value(), [2.0, 3.0])


def test_symbols_and_what_is_made_of_them():
    x, w = T.matrix("x"), ag.shared(np.eye(2))
    y = ag.tanh(x @ w) + x.sum(axis=0)
    for change in (through, copy.deepcopy):
        x2, y2, w2 = change((x, y, w))
        f = ag.function([x2], y2)
        np.testing.assert_allclose(f(np.ones((1, 2))), np.tanh(np.ones((1, 2))) + 1)
        w2.set_value(np.zeros((2, 2)))
        np.testing.assert_allclose(f(np.ones((1, 2))), np.ones((1, 2)))


def test_sizes_without_names_stay_apart():
    x, y = T.vector("x"), T.vector("y")
    data = pickle.dumps((x, y, x + x))
    same = pickle.loads(data)
    assert same[0].shape == same[2].shape == x.shape and str(same[1].shape) != str(same[0].shape)
    program = f"""
import pickle
from agnesi import symbolic as T
own = [T.vector() for _ in range(200)]
x, y, z = pickle.loads({data!r})
assert x.shape == z.shape and str(x.shape) != str(y.shape)
assert not any(str(t.shape) in (str(x.shape), str(y.shape)) for t in own)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=False)
    assert not done.returncode, done.stderr


def written(case):
    """The graphs of a case's samples, with gradients where there are any."""
    for operands in case.samples:
        arrays = map(np.asarray, operands)
        symbols = [stand_in(x.shape, x.dtype, requires_grad=x.dtype.kind == "f") for x in arrays]
        results = case.function(*symbols)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        flows = [r for r in results if r.requires_grad]
        if case.grads and flows:
            wanted = [x for x in symbols if x.requires_grad]
            results += T.grad(sum(r.sum() for r in flows), wanted, disconnected="zero")
        yield FunctionGraph([x.node for x in symbols], [graph_node(r) for r in results])


@pytest.mark.share(4)
@pytest.mark.parametrize("part", range(_PARTS))
def test_every_operation_comes_back_equal(part):
    for name, case in [*samples.cases().items()][part::_PARTS]:
        for graph in written(case):
            again = through(graph)
            assert str(again) == str(graph), name
            for old, new in zip(graph.nodes, again.nodes, strict=True):
                assert old.op == new.op and hash(old.op) == hash(new.op), name
            assert fingerprint(graph, [live_tensor(n) for n in graph.live]), name


@pytest.mark.long
def test_graphs_of_any_depth():
    x = T.vector("x")
    y = x
    for i in range(4_000):
        y = y * 1.5 + float(i)
    graph = FunctionGraph([x.node], [y.node])
    again = through(graph)
    assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
    assert len(toposort([through(y).node])) == len(toposort([y.node]))


def test_where_it_was_written_is_told_by_file_and_line():
    x = T.vector("x")
    y = through(x + T.vector("z"))
    f = ag.function([n for n in map(symbol, toposort([y.node])) if n.node.op is None], y)
    with pytest.raises(ValueError, match=r"test_pickle\.py:\d+"):
        f(np.ones(2), np.ones(3))


def test_jitted_functions_go_by_reference():
    assert through(shifted) is shifted and copy.deepcopy(shifted) is shifted
    np.testing.assert_array_equal(through(shifted)(ag.ones(2)).numpy(), [11, 21])


def test_a_jitted_method_takes_its_object_along():
    one = Scaler([2.0, 3.0])
    f = ag.jit(one.scale)
    f(ag.ones(2))
    for g in (through(f), copy.deepcopy(f)):
        one.factor.mul_(0)
        np.testing.assert_array_equal(g(ag.ones(2)).numpy(), [2, 3])
        one.factor.add_(ag.tensor([2.0, 3.0]))


def test_what_has_no_name_cannot_be_pickled():
    f = ag.jit(lambda x: x + 1)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(f)
    assert copy.deepcopy(f) is f


def test_a_missing_operation_is_named():
    with pytest.raises(LookupError, match="no elementwise operation 'not_there'"):
        elementwise._row("not_there")


@pytest.mark.parametrize("module", [ag, ag.special, ag.nn.functional])
def test_public_functions_are_found_by_name(module):
    functions = [f for f in map(module.__dict__.get, dir(module)) if inspect.isfunction(f)]
    functions += [ag.tanh, ag.exp, ag.maximum, ag.abs, ag.special.j0]
    for f in functions:
        assert pickle.loads(pickle.dumps(f)) is f
    layer = ag.nn.Linear(2, 2)
    layer.activation = ag.tanh
    assert pickle.loads(pickle.dumps(layer)).activation is ag.tanh
