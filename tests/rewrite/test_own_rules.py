"""Rules of users: variables that have axes, functions of nodes, and what is refused at once."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.graph import FunctionGraph
from agnesi.core.support.errors import DTypeError, ShapeError
from agnesi.rewrite import (
    Report,
    forget_rule,
    node_of,
    rewrite,
    rewrite_rule,
    rules,
    tensor_of,
    variables,
)

A, B, C = variables("a", ("n", "k")), variables("b", ("k", "m")), variables("c", ("m", "p"))
X, Y = variables("x y", ndim=2)
D, E = variables("d e", ("n", "k"))
_F = variables("f", (2, None))
N = X.shape[0] * X.shape[1]

#: Patterns, replacements, what fits and what does not: functions and shapes of operands.
RULES = {
    "softmax": (ag.softmax(X), ag.exp(ag.log_softmax(X)),
                [(ag.softmax, (3, 4))],
                [(ag.softmax, (5,)), (lambda x: ag.softmax(x, 0), (3, 4)),
                 (ag.softmax, (2, 3, 4))]),
    "product": ((A @ B) @ C, A @ (B @ C),
                [(lambda a, b, c: (a @ b) @ c, (2, 3), (3, 4), (4, 5))],
                [(lambda a, b, c: a @ b + c, (2, 3), (3, 4), (2, 4)),
                 (lambda a, b, c: (a @ b) @ c, (6, 2, 3), (6, 3, 4), (6, 4, 5))]),
    "equal sizes": (ag.exp(D) * ag.exp(E), ag.exp(D + E),
                    [(lambda d, e: ag.exp(d) * ag.exp(e), (2, 3), (2, 3))],
                    [(lambda d, e: ag.exp(d) * ag.exp(e), (2, 3), (1, 3)),
                     (lambda d, e: ag.exp(d) * ag.exp(e), (2, 3), (3,))]),
    "square": (variables("s", ("n", "n")).T.T, variables("s", ("n", "n")),
               [(lambda s: s.T.T, (3, 3))], [(lambda s: s.T.T, (3, 4))]),
    "fixed size": (_F.sum(0), _F[0] + _F[1],
                   [(lambda f: f.sum(0), (2, 5))], [(lambda f: f.sum(0), (3, 5))]),
    "mean": (ag.mean(X), X.sum() / N,
             [(ag.mean, (3, 4))], [(lambda x: x.sum() / 7, (3, 4)), (ag.mean, (12,))]),
    "mean of one axis": (ag.mean(X, 1), X.sum(1) / X.shape[1],
                         [(lambda x: ag.mean(x, 1), (3, 4))], [(lambda x: ag.mean(x, 0), (3, 4))]),
    "reshaped": (ag.reshape(ag.exp(X), (N,)), ag.exp(ag.reshape(X, (N,))),
                 [(lambda x: ag.reshape(ag.exp(x), (12,)), (3, 4))],
                 [(lambda x: ag.reshape(ag.exp(x), (4, 3)), (3, 4))]),
    "beside any": (ag.sum(X, 1) * variables("v"), ag.sum(X * 1.0, 1) * variables("v"),
                   [(lambda x, v: x.sum(1) * v, (3, 4), (3,)),
                    (lambda x, v: v * x.sum(1), (3, 4), ())], []),
}


def fires(function, *shapes):
    """How often the rule under test does, in a declared graph."""
    xs = [T.tensor(dtype="float64", shape=s) for s in shapes]
    report = Report()
    rewrite(FunctionGraph([x.node for x in xs], [function(*xs).node]), report=report)
    return report.firings["mine"]


@pytest.fixture
def own_rule():
    """Registers a rule for the length of a test."""
    yield lambda *args, **options: rewrite_rule(*args, name="mine", **options)
    if any(r.name == "mine" for r in rules()):
        forget_rule("mine")


@pytest.mark.parametrize("name", RULES)
def test_variables_with_axes(name, own_rule):
    pattern, replacement, fit, others = RULES[name]
    rule = own_rule(pattern, replacement, position="first")
    assert ag.testing.check_rule(rule) > 0
    assert [fires(*case) > 0 for case in fit] == [True] * len(fit)
    assert [fires(*case) for case in others] == [0] * len(others)


def test_sizes_decide_whether_a_rule_pays(own_rule):
    def pays(a, b, c):
        return a.shape[0] * b.shape[1] > b.shape[0] * c.shape[1]

    own_rule((A @ B) @ C, A @ (B @ C), when=pays)

    def product(a, b, c):
        return (a @ b) @ c

    assert fires(product, (9, 2), (2, 9), (9, 2))
    assert not fires(product, (2, 9), (9, 2), (2, 9))
    xs = [ag.tensor(np.random.default_rng(i).normal(size=s))
          for i, s in enumerate(((9, 2), (2, 9), (9, 2)))]
    np.testing.assert_allclose(ag.jit(product)(*xs).numpy(), product(*xs).numpy())


@pytest.mark.parametrize(("pattern", "replacement", "error", "text"), [
    (A @ B, A, ShapeError, r"of shape \(n, k\) where the pattern is of shape \(n, m\)"),
    (A @ B, (A @ B).sum(0), ShapeError, r"of shape \(m,\) where the pattern is of shape \(n, m\)"),
    (ag.softmax(X), X.sum(1), ShapeError, "a replacement must have the shape of the original"),
    (ag.exp(X), X > 0, DTypeError, "the replacement is bool where the pattern is float32"),
    (ag.exp(variables("x")), variables("x") * 1j, DTypeError, "is complex"),
    (ag.sinh(variables("x")), variables("x").sum(), ShapeError, "the replacement has sum"),
])  # fmt: skip
def test_replacements_that_cannot_be_right_are_refused(pattern, replacement, error, text, own_rule):
    with pytest.raises(error, match=rf"(?s)rule 'mine': .*{text}.*test_own_rules"):
        own_rule(pattern, replacement)


def test_wrong_rules_over_axes_are_found(own_rule):
    with pytest.raises(AssertionError, match="changes float32 values"):
        ag.testing.check_rule(own_rule(A @ B, 2 * (A @ B), tags=["unsafe"]))


@pytest.mark.parametrize(("name", "meant"), [("logg", "'log'"), ("sofmax", "'softmax'"),
                                             ("mat_mul", "'matmul'"), ("quite else", "")])
def test_operations_that_there_are_not_are_refused(name, meant, own_rule):
    with pytest.raises(ValueError, match=f"no operation is called '{name}'.*{meant}"):
        own_rule(ops=[name])(lambda node: None)


def test_operations_are_known_by_the_names_that_users_gave(own_rule):
    thrice = ag.op(lambda x: x * 3, like=0)

    def triple_of_mine(x):
        return x * 3

    ag.op(triple_of_mine, like=0)(ag.ones(2))
    own_rule(ops=["triple_of_mine", thrice, "solve"])(lambda node: None)


def test_from_node_to_tensor_and_back(own_rule):
    seen = []

    @own_rule(ops=[ag.expm1])
    def twice(node):
        """``expm1(2 x)`` from that of ``x``."""
        (x,) = node.inputs
        seen.append((node.op.name, node.shape, node.dtype))
        if x.op is not None and x.op.name == "multiply" and x.inputs[1].shape == node.shape:
            half = tensor_of(x.inputs[1])
            y = node_of(ag.expm1(half))
            return tensor_of(y) * (tensor_of(y) + 2)
        return None

    x = ag.tensor([0.3, 1.0])
    f = ag.jit(lambda x: ag.expm1(2 * x))
    np.testing.assert_allclose(f(x).numpy(), np.expm1(2 * x.numpy()), rtol=1e-6)
    assert ("expm1", (2,), x.dtype) in seen


def test_shape_and_number_of_axes_exclude_each_other():
    with pytest.raises(TypeError, match="takes shape or ndim, not both"):
        variables("x", ("n",), ndim=1)


@pytest.mark.parametrize(("given", "error", "text"), [
    ({"ops": [ag.sin]}, IndexError, "in rewrite rule 'mine'"),
    ({"pattern": ag.sinh(variables("x")), "replacement": variables("x") + 0,
      "when": lambda x: [][len(x.inputs)]}, IndexError, "in rewrite rule 'mine'"),
], ids=["function", "when"])
def test_what_a_rule_raises_where_it_is_tried_is_shown(given, error, text, own_rule):
    with pytest.raises(error) as caught:
        own_rule(**given)(lambda node: [][len(node.inputs)])
    assert caught.value.__notes__[0] == text and "tried on <sin" in caught.value.__notes__[1]
    assert all(r.name != "mine" for r in rules())


@pytest.mark.parametrize("wrong", [
    lambda node: ag.erf(tensor_of(node.inputs[0])), lambda node: tensor_of(node.inputs[0]),
    lambda node: ag.cos(tensor_of(node.inputs[0].inputs[0]))
    if node.inputs[0].op_name == "sqrt" else None,
])
def test_functions_that_give_other_values_are_refused(wrong, own_rule):
    with pytest.raises(ValueError, match="rule 'mine' changes float32 values: "):
        own_rule(ops=[ag.sin])(wrong)
    own_rule(ops=[ag.sin], tags=["unsafe"])(wrong)


def test_a_rule_that_fails_is_named():
    @rewrite_rule(ops=[ag.sin], name="broken")
    def broken(node):
        return [][len(node.inputs)] if node.shape == (5,) else None

    try:
        v = ag.symbolic.vector("v", shape=(5,))
        with pytest.raises(RuntimeError, match=r"rule 'broken' failed at sin: IndexError: list"):
            rewrite(FunctionGraph([node_of(v)], [node_of(ag.sin(v))]), exclude=[])
    finally:
        forget_rule("broken")


@pytest.mark.parametrize(("pattern", "replacement"), [
    (ag.sinh, ag.cosh), (lambda x: ag.exp(x) * 2, lambda x: ag.exp(x + 2)),
    (ag.abs, lambda x: x), (ag.log1p, ag.log), (lambda x: x.sum(), lambda x: x.sum() * 2),
    (lambda x: x - 1, lambda x: 1 - x)])
def test_rules_that_change_values_are_refused(pattern, replacement):
    x = variables("x")
    with pytest.raises(ValueError, match=r"rule 'wrong' changes .*tags=\['unsafe'\]"):
        rewrite_rule(pattern(x), replacement(x), name="wrong")
    rewrite_rule(pattern(x), replacement(x), name="wrong", tags=["unsafe"])
    forget_rule("wrong")
