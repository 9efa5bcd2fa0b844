"""Rewrites of one's own in Theano's words: rules for a node, patterns, the database."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano import gof
from agnesi.compat.theano.compile import optdb
from agnesi.compat.theano.gof import local_optimizer
from agnesi.compat.theano.tensor.opt import register_canonicalize, register_specialize

VALUES = np.array([[1.0, 2.0], [700.0, -3.0]])


class Doubled(theano.Op):
    __props__ = ()

    def make_node(self, x):
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = inputs[0] * 2


@pytest.fixture
def registered():
    names = []
    yield names
    for name in names:
        optdb.remove(name)


def ops(f):
    return [node.op.name for node in f.maker.fgraph.toposort()]


def test_operations_are_equal_to_what_makes_them():
    x, y = T.dmatrices("x", "y")
    e, p = T.exp(x).owner.op, T.dot(x, y).owner.op
    assert e == T.exp and e != T.log and e == T.exp(y).owner.op and {e: 1}[T.exp(y).owner.op] == 1
    assert isinstance(e, T.Elemwise) and isinstance(e.scalar_op, theano.scalar.Exp)
    assert e.scalar_op == theano.scalar.exp and not isinstance(e, T.Dot)
    assert p == T.dot and isinstance(p, T.Dot) and not hasattr(p, "scalar_op")
    assert isinstance(x.sum(axis=0).owner.op, T.elemwise.Sum)
    assert isinstance(x.T.owner.op, T.DimShuffle) and isinstance(x[1:].owner.op, T.Subtensor)
    assert (x * y).owner.op == T.mul and (x / y).owner.op == T.true_div
    assert isinstance(Doubled()(x).owner.op, Doubled)
    with pytest.raises(TypeError, match="by the functions of"):
        T.Subtensor([0])
    made = [T.Elemwise(theano.scalar.exp)(x), T.DimShuffle((False, False), (1, 0))(x),
            T.Sum(axis=0)(x), T.Join()(0, x, x), T.ExtractDiag()(x), T.RepeatOp(axis=1)(x, 2)]
    wanted = [np.exp(VALUES), VALUES.T, VALUES.sum(0), np.vstack([VALUES, VALUES]),
              np.diag(VALUES), VALUES.repeat(2, 1)]
    for found, value in zip(theano.function([x], made)(VALUES), wanted, strict=True):
        np.testing.assert_allclose(found, value)


def test_a_rule_of_a_node_runs_in_functions(registered):
    @register_canonicalize
    @local_optimizer([T.log])
    def log_of_exp_twice(node):
        (x,) = node.inputs
        if x.owner and x.owner.op == T.exp:
            return [x.owner.inputs[0] * 2]

    registered.append("log_of_exp_twice")
    x = T.dmatrix("x")
    f = theano.function([x], T.log(T.exp(x)))
    np.testing.assert_array_equal(f(VALUES), VALUES * 2)  # it comes before agnesi's rule
    assert ops(f) == ["multiply"]
    with pytest.raises(ValueError, match="log_of_exp_twice"):
        register_canonicalize(log_of_exp_twice)


def test_rules_of_operations_of_ones_own(registered):
    @local_optimizer([Doubled])
    def doubled_twice(node):
        (x,) = node.inputs
        return [x.owner.inputs[0] * 4] if x.owner and isinstance(x.owner.op, Doubled) else False

    x = T.dmatrix("x")
    optdb.register("twice", gof.opt.in2out(doubled_twice), 60, "fast_run")
    registered.append("twice")
    f = theano.function([x], Doubled()(Doubled()(x)))
    np.testing.assert_array_equal(f(VALUES), VALUES * 4)
    assert ops(f) == ["multiply"]


def test_patterns_and_operations_in_the_place_of_others(registered):
    optdb.register("root", gof.PatternSub((T.mul, (T.sqrt, "x"), (T.sqrt, "x")), "x"), 0.5)
    optdb.register("sines", gof.OpSub(T.tanh, T.sin), 60, "fast_run")
    registered += ["root", "sines"]
    x, y = T.dmatrices("x", "y")
    f = theano.function([x, y], T.tanh(T.sqrt(x) * T.sqrt(x)) + T.sqrt(x) * T.sqrt(y))
    np.testing.assert_allclose(f([[1.0]], [[4.0]]), [[np.sin(1) + 2]])


def test_views_with_gradients_of_their_own(registered):
    class Clipped(theano.compile.ViewOp):
        def grad(self, inputs, output_grads):
            return [T.clip(g, -1.0, 1.0) for g in output_grads]

    op, x = Clipped(), T.dmatrix("x")
    register_canonicalize(gof.OpRemove(op), name="without clipped")
    registered.append("without clipped")
    y = (op(x) ** 2).sum()
    f = theano.function([x], [y, T.grad(y, x)])
    assert "Clipped" not in ops(f)
    value, slope = f([[1.0, 0.2, -3.0]])
    assert value == 10.04
    np.testing.assert_allclose(slope, [[1, 0.4, -1]])


def test_modes_choose_rules_and_graphs_are_rewritten_before_the_first_call():
    x = T.dvector("x")
    y = T.log(1 + T.exp(x))
    stable, plain = theano.function([x], y), theano.function(
        [x], y, mode=theano.Mode().excluding("stabilize", "no_rule_of_ours", "inplace"))
    assert [ops(stable), ops(plain)] == [["softplus"], ["exp", "add", "log"]]
    assert "softplus" in theano.printing.debugprint(stable, file="str")
    assert [stable([800.0]), plain([800.0])] == [[800], [np.inf]]
    checked = T.opt.Assert("negative")(x, x.sum() > 0)
    unsafe = theano.function([x], checked, mode=theano.Mode().including("unsafe"))
    assert unsafe([-1.0]) == [-1]


def test_shapes_of_operations_that_fail_where_they_are_tried():
    class Fails(Doubled):
        def perform(self, node, inputs, outputs):
            raise RuntimeError("not on these")

    class Owned(Doubled):
        def make_node(self, x):
            return theano.Apply(self, [x], [T.exp(x)])

    c, x = T.bscalar("c"), T.dmatrix("x")
    f = theano.function([c, x], theano.ifelse.ifelse(c, x * 2, Fails()(x)))
    assert f(1, [[1.0]]) == [[2]]
    with pytest.raises(RuntimeError, match="not on these"):
        f(0, [[1.0]])
    with pytest.raises(ValueError, match=r"has an owner already, exp\(x\)"):
        Owned()(x)


@pytest.mark.parametrize(("tracks", "found", "text"), [
    ([T.arcsinh], lambda node: 3, "returned 3: a rule returns a list"),
    ([T.arcsinh], lambda node: [node.inputs[0].sum()], "changes a type"),
    ([T.mean], lambda node: None, "does not make one operation"),
    (T.exp, lambda node: None, r"takes a list of what makes operations.*local_optimizer\(\[T.exp"),
])
def test_what_a_rule_may_not_do(registered, tracks, found, text):
    x = T.dmatrix("x")
    with pytest.raises((TypeError, ValueError), match=text):
        register_specialize(local_optimizer(tracks)(found), name="rule")
        registered.append("rule")
        theano.function([x], T.arcsinh(x))(VALUES)


def test_pytensors_names(registered):
    from agnesi.compat.theano.graph.rewriting.basic import node_rewriter
    from agnesi.compat.theano.tensor.rewriting.basic import register_stabilize

    @register_stabilize("fast_run", name="hyperbolic")
    @node_rewriter([T.arccosh])
    def rule(fgraph, node):
        return {node.outputs[0]: T.sinh(node.inputs[0])}

    registered.append("hyperbolic")
    x = T.dmatrix("x")
    np.testing.assert_allclose(theano.function([x], T.arccosh(x))([[1.0]]), [[np.sinh(1)]])


def test_shapes_of_ops_in_both_libraries_words():
    class Both(theano.Op):
        itypes, otypes = (T.dvector, T.dscalar), (T.dvector, T.dscalar)

        def perform(self, node, inputs, outputs):
            outputs[0][0], outputs[1][0] = inputs[0] * inputs[1], np.asarray(inputs[0].sum())

        def infer_shape(self, fgraph, node, shapes):
            return [shapes[0], ()]

        def grad(self, inputs, gs):
            given = [not isinstance(g.type, theano.gradient.DisconnectedType) for g in gs]
            assert given == [True, False]
            return [gs[0] * inputs[1], (gs[0] * inputs[0]).sum()]

    @theano.compile.as_op([T.dvector], [T.dvector], infer_shape=lambda node, shapes: shapes)
    def doubled(x):
        return x * 2

    x, s = T.dvector("x"), T.dscalar("s")
    f = theano.function([x, s], [*Both()(x, s), doubled(x), doubled(x).shape[0],
                                 theano.grad(Both()(x, s)[0].sum(), s)])
    assert [v.tolist() for v in f([1.0, 2.0], 3.0)] == [[3, 6], 3, [2, 4], 2, 3]


def test_modules_are_attributes_of_those_around_them():
    assert theano.graph.rewriting.basic.node_rewriter([T.exp])(abs).tracks() == [T.exp]
    assert theano.tensor.opt is theano.tensor.rewriting
    g = theano.gradient.numeric_grad(lambda a: (a ** 2).sum(), [np.ones(3)])
    np.testing.assert_allclose(g.gf, [np.full(3, 2.0)], rtol=1e-6)
    assert g.abs_rel_err(1.0, 3.0) == (2.0, 0.5)


def test_operations_are_compared_with_anything_callable_without_a_call():
    class Asserting(theano.Op):
        itypes = otypes = (T.dmatrix,)

        def __eq__(self, other):
            return type(self) is type(other)

        def make_node(self, x):
            raise AssertionError("a four-dimensional tensor is wanted")

    node = T.exp(T.dmatrix("x")).owner
    for other in (Asserting(), Doubled(), lambda x: 1 / 0, print, T.log):
        assert node.op != other
    assert node.op == T.exp


def test_operations_are_made_of_their_settings_and_classes_know_them():
    join, total = T.Join(0), T.Sum(axis=0)
    x = T.dvector("x")
    f = theano.function([x], join(x, x))
    assert any(isinstance(n.op, type(join)) for n in f.maker.fgraph.toposort())
    assert theano.compile.deep_copy_op(x).owner.op == theano.compile.ops.DeepCopyOp()
    assert isinstance(join, T.Join) and not isinstance(total, T.Join)
    assert join == T.Join(0) != T.Join(1) and hash(join) == hash(T.Join(0))
    again = pickle.loads(pickle.dumps(total))
    assert again == total and theano.function([x], again(x))([1.0, 2.0]) == 3
    parts = theano.function([x], T.Split(2, axis=0)(x, [1, 2]) + T.Split(2)(x, 0, [0, 3]))
    assert [p.tolist() for p in parts([1.0, 2.0, 3.0])] == [[1], [2, 3], [], [1, 2, 3]]
    assert T.MakeVector("float64")().eval().shape == (0,)


def test_constants_among_what_is_not_known():
    n, v = T.iscalar("n"), T.row("v")
    several = T.stack([n, 2, 3])
    known = T.get_underlying_scalar_constant_value
    assert known(v.shape[0]) == 1 and known(T.constant([4, 5])[1]) == 5
    for x in (several[0], n, theano.shared(2) + 1):
        with pytest.raises(T.NotScalarConstantError):
            known(x)
