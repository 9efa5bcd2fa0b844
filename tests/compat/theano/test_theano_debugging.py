"""Looking into programs in Theano's words: modes that watch values, test values, printed graphs."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import agnesi as ag
import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.compile.debugmode import BadOptimization, DebugMode
from agnesi.compat.theano.compile.monitormode import MonitorMode
from agnesi.compat.theano.compile.nanguardmode import NanGuardMode
from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams
from agnesi.rewrite import forget_rule, rewrite_rule, tensor_of, trial


def test_nan_infinities_and_big_values_are_refused_where_they_come_up():
    x, w = T.dvector("x"), theano.shared(np.ones(2), "w")
    f = theano.function([x], (T.log(x) * w).sum(), updates=[(w, w + 1)],
                        mode=NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=True))
    assert f([1.0, np.e]) == 1
    for value, told in ((-1.0, "NaN is a value of log"), (0.0, "an infinity .* of log"),
                        (1e11, "a big value is a value of x")):
        with pytest.raises(AssertionError, match=rf"(?s){told}.*test_theano_debugging"):
            f([value, 1.0])
    assert w.get_value().tolist() == [2, 2]  # a call that fails changes nothing
    assert np.isnan(theano.function([x], T.log(x), mode=NanGuardMode(False, False, False))([-1])[0])


def test_debug_mode_finds_a_wrong_rule_and_leaves_right_programs_alone(monkeypatch):
    x, n = T.dvector("x"), theano.shared(0.0, "n")
    draw = RandomStreams(3).uniform((2,))
    f = theano.function([x], [T.exp(x) * 2, draw], updates=[(n, n + 1)], mode="DebugMode")
    first, second = f([0.0, 1.0]), f([0.0, 1.0])
    np.testing.assert_allclose(first[0], 2 * np.exp([0.0, 1.0]))
    assert (first[1] != second[1]).any() and n.get_value() == 2

    monkeypatch.setattr(trial, "check_function", lambda rule: None)

    @rewrite_rule(ops=[ag.tan], name="wrong_tan")
    def sine_of(node):
        return ag.sin(tensor_of(node.inputs[0]))

    try:
        g = theano.function([x], T.tan(x), mode=DebugMode())
        with pytest.raises(BadOptimization, match="result 0"):
            g([1.0])
    finally:
        forget_rule("wrong_tan")


def test_a_monitor_sees_every_operation_with_its_values():
    x, seen = T.dvector("x"), []
    f = theano.function([x], T.exp(x).sum(), mode=MonitorMode(
        post_func=lambda i, node, fn: seen.append((i, node.op.name, fn.inputs[0][0].tolist()))))
    assert f([0.0, 0.0]) == 2
    assert seen == [(0, "exp", [0, 0]), (1, "sum", [1, 1])]


def test_test_values_are_computed_and_refused_at_the_line_that_is_wrong():
    with theano.config.change_flags(compute_test_value="raise"):
        x, y = T.matrix("x"), T.matrix("y")
        x.tag.test_value, y.tag.test_value = np.ones((2, 3)), np.ones((4, 5))
        w = theano.shared(np.full((3, 2), 2.0))
        z = T.dot(T.exp(x), w)
        np.testing.assert_allclose(z.tag.test_value, np.full((2, 2), 6 * np.e))
        with pytest.raises(ValueError, match=r"(?s)5.*2.*test_theano_debugging"):
            T.dot(x, y)
        with pytest.raises(AttributeError, match="w has no test value"):
            T.exp(T.matrix("w"))
    assert theano.config.compute_test_value == "off"
    assert not hasattr(T.exp(x + 1).tag, "test_value")


def test_formulas_and_trees():
    x, y, m = T.dscalar("x"), T.dscalar("y"), T.dmatrix("m")
    formulas = {x + y: "(x + y)", T.exp(x) / (1 + y): "(exp(x) / (1.0 + y))", -x: "(-x)",
                (m**2).sum(): "sum((m ** 2), axis=None)", m.sum(axis=0): "sum(m, axis=(0,))",
                T.dot(m, m.T): "(m \\dot m.T)", m[0, 1:]: "m[0, 1:]",
                T.switch(x > y, x, y): "switch(gt(x, y), x, y)"}
    assert {e: theano.pprint(e) for e in formulas} == formulas
    h = x + y
    text = theano.printing.debugprint(T.exp(h) * h, file="str")
    assert text == ("multiply [id A]\n ├─ exp [id B]\n │  └─ add [id C]\n │     ├─ x [id D]\n"
                    " │     └─ y [id E]\n └─ add [id C]\n    └─ ···\n")
    assert theano.printing.debugprint(h, depth=0, print_type=True, file="str") == (
        "add float64[] [id A]\n")
    f = theano.function([x], T.exp(x))
    f(1)
    assert theano.printing.debugprint(f, file="str") == "exp [id A]\n └─ x [id B]\n"


def test_graphs_are_walked():
    x, w = T.dvector("x"), theano.shared(np.ones(2), "w")
    e = (T.exp(x) * w).sum() + 1.0
    assert [v.name for v in theano.gof.graph.inputs([e]) if v.name] == ["x", "w"]
    assert list(theano.gof.explicit_graph_inputs([e])) == [x]
    order = [node.op.name for node in theano.gof.graph.io_toposort([x], [e])]
    assert order == ["exp", "multiply", "sum", "add"]
    assert x in theano.gof.graph.ancestors([e]) and e in theano.gof.graph.variables([x], [e])
    with pytest.raises(AttributeError, match="rewrite_rule"):
        theano.gof.Optimizer  # noqa: B018


def test_operations_are_equal_by_their_properties_and_named_by_them():
    class Scaled(theano.gof.Op):
        __props__ = ("by",)

        def __init__(self, by):
            self.by = by

        def make_node(self, x):
            x = T.as_tensor_variable(x)
            return theano.gof.Apply(self, [x], [x.type(), x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0], outputs[1][0] = inputs[0] * self.by, inputs[0] + self.by

    class Both(Scaled):
        def grad(self, inputs, gs):
            return [gs[0] * self.by + gs[1]]

    class Plain(Scaled):
        __props__ = ()

    x = T.dvector("x")
    assert (Scaled(2) == Scaled(2), Scaled(2) == Scaled(3), Plain(1) == Plain(2)) == (
        True, False, True)
    assert str(Scaled(2)) == "Scaled{by=2}" and str(Plain(1)) == "Plain"
    a, b = Both(3.0)(x)
    slope = theano.function([x], theano.grad((a * b).sum(), x))
    np.testing.assert_allclose(slope([1.0, 2.0]), [3 * 4 + 3, 3 * 5 + 6])
    with pytest.raises(NotImplementedError, match="Scaled"):
        theano.grad(Scaled(3.0)(x)[0].sum(), x)


@pytest.mark.parametrize("value, text", [
    (lambda x: x[None], r"is float64\[1, 3\], where the node declares"),
    (lambda x: x.astype("complex128"), r"is complex128\[3\], where the node"),
    (lambda x: "a", "where the node declares"),
])
def test_what_perform_computes_is_compared_with_the_node(value, text):
    class Odd(theano.gof.Op):
        def make_node(self, x):
            return theano.gof.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = value(inputs[0])

    x = T.dvector("x")
    with pytest.raises(TypeError, match=r"Odd.perform: .*" + text):
        theano.function([x], Odd()(x))([1.0, 2.0])


def test_a_rule_returns_a_gradient_for_each_input():
    class Same(theano.gof.Op):
        itypes, otypes = (T.dvector,), (T.dvector,)

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] * 1

        def grad(self, inputs, gs):
            return [gs[0], gs[0]]

    x = T.dvector("x")
    with pytest.raises(ValueError, match=r"Same.grad returned 2 gradients for 1 inputs"):
        theano.grad(Same()(x).sum(), x)


def test_a_debugger_stops_where_a_condition_holds(monkeypatch, capsys):
    from agnesi.compat.theano.tests.breakpoint import PdbBreakpoint

    seen = []
    monkeypatch.setattr("pdb.set_trace", lambda: seen.append(sys._getframe(1).f_locals["values"]))
    x, s = T.dvector("x"), theano.shared(0.0)
    first, second = PdbBreakpoint("here")(T.eq(s, 3), x, s)
    f = theano.function([x], [first * second, T.grad((first**2).sum(), x)], updates={s: s + 1})
    for i in range(6):
        product, slope = f([1.0, 2.0])
        assert (product.tolist(), slope.tolist()) == ([i, 2 * i], [2, 4])
    assert [[v.tolist() for v in values] for values in seen] == [[[1, 2], 3]]
    assert "'here' breakpoint" in capsys.readouterr().out
    with pytest.raises(TypeError, match="condition must be a scalar"):
        PdbBreakpoint("here")(x > 0, x)


def test_a_graph_as_a_page(tmp_path):
    from agnesi.compat.theano.d3viz import d3viz

    x = T.dvector("</script>")
    sums, _ = theano.scan(lambda v, total: total + T.exp(v), sequences=x, outputs_info=T.zeros(()))
    for k, what in enumerate((sums, [sums, x], theano.function([x], sums))):
        d3viz(what, tmp_path / f"{k}.html")
        page = (tmp_path / f"{k}.html").read_text()
        assert page.count("</script>") == 1
        assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
        graph = json.loads(page.split("const graph = ")[1].split(", byId")[0])
        loop = next(n for n in graph["nodes"] if n["nested"])
        inner = [n for n in graph["nodes"] if n["parent"] == loop["id"]]
        assert any(n["label"] == "exp" and "test_theano_debugging" in n["where"] for n in inner)


def test_test_values_of_sizes_take_the_variable_that_has_them():
    for how in ("warn", "raise"):
        with theano.config.change_flags(compute_test_value=how):
            y = T.vector("y")
            y.tag.test_value = np.arange(3.0)
            n = (y**2).shape
            zeros = T.zeros((y.shape[0] - 1,)) + y[1:]
            np.testing.assert_array_equal(n.tag.test_value, [3])
            np.testing.assert_array_equal(zeros.tag.test_value, [1, 2])
    with theano.config.change_flags(compute_test_value="warn"):
        bare = T.vector("bare")
        with pytest.warns(UserWarning, match="bare has no test value"):
            found = theano.function([bare], (bare**2).shape)([1.0, 2.0])
    assert list(found) == [2]


def test_debugprint_takes_an_apply_node():
    y = T.exp(T.vector("y"))
    assert theano.printing.debugprint(y.owner, file="str") == theano.printing.debugprint(
        y, file="str")
