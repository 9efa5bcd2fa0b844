"""Traits of operations: what planning and rules ask in the place of names."""

import ast
from pathlib import Path

import numpy as np

import agnesi as ag
from agnesi.autodiff.stable import _may_be_unstable
from agnesi.core.ir.costs import TRAITS
from agnesi.core.op import Op
from agnesi.ops.base.elementwise import TABLE


def every(kind=Op):
    for sub in kind.__subclasses__():
        yield sub
        yield from every(sub)


def test_they_are_known():
    found = {c: c.traits for c in every() if isinstance(c.traits, frozenset)}
    assert len(found) > 10  # many more where the whole suite runs
    rows = [row.traits for row in TABLE.values()]
    assert all(traits <= TRAITS.keys() for traits in (*found.values(), *rows))
    assert all("movement" in t for t in found.values() if t & {"permutation", "broadcast"})


def words(node):
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)
            and isinstance(n.value, str)}


def test_all_of_them_are_given_and_asked():
    """In the text of the sources, for some operations choose theirs when they are made."""
    given, asked = set(), set()
    texts = [p.read_text(encoding="utf-8") for p in Path(ag.__file__).parent.rglob("*.py")]
    for text in texts:
        for node in ast.walk(ast.parse(text if "traits" in text else "")):
            if isinstance(node, ast.Assign):
                target = ast.unparse(node.targets[0])
                if target == "traits" or target.endswith("__['traits']"):
                    given |= words(node.value)
            if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith(
                    ".traits"):
                asked |= words(node.left)
            if isinstance(node, ast.BinOp) and ast.unparse(node.left).endswith(".traits"):
                asked |= words(node.right)
    rows = {trait for row in TABLE.values() for trait in row.traits}
    asked |= {row.unstable_over for row in TABLE.values()} - {""}
    assert given | asked <= TRAITS.keys()
    assert given | rows == TRAITS.keys()
    unasked = TRAITS.keys() - asked
    assert unasked <= {"sizes"}, unasked


def test_operands_of_which_stable_forms_are_looked_for():
    """Traits of both sides decide: a sum of a tangent, a root of an exponential, 1 less 1 / x."""
    x = ag.tensor(0.5, requires_grad=True)
    least = {"1 + tanh": 1 + ag.tanh(x), "sqrt(sigmoid)": ag.sqrt(ag.sigmoid(x)),
             "sqrt(exp)": ag.sqrt(ag.exp(x)), "y - -tanh": x - -ag.tanh(x), "1 - 1/x": 1 - 1 / x}
    assert all(map(_may_be_unstable, [y.node for y in least.values()]))
    plain = x + x * 2, x - x * 2, ag.sqrt(x * 2), x - (x + x) / 2, x * ag.tanh(x), x
    assert not any(map(_may_be_unstable, [y.node for y in plain]))


def test_rows_are_what_they_say():
    assert not any({"cheap", "heavy"} <= row.traits for row in TABLE.values())
    assert "heavy" in TABLE["exp"].traits and "cheap" in TABLE["add"].traits
    values = np.array([0, 1, 5, 9, 2], "int64"), np.array([3, 1, 0, 7, 2], "int64")
    for row in TABLE.values():
        if "commutative" in row.traits:
            pair = [v > 0 for v in values] if row.kinds == "b" else values
            np.testing.assert_array_equal(row.perform(*pair), row.perform(*pair[::-1]))


def test_movements_hand_on_elements():
    x = ag.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True)
    moved = {"reshape": x.reshape(2, 6), "permute_dims": x.T, "broadcast_to": x[None] + 0 * x,
             "getitem": x[1:], "gather": x[np.array([2, 0])], "diagonal": ag.diagonal(x)}
    for name, y in moved.items():
        op = y.node.op
        if op.name == name:
            assert "movement" in op.traits
            assert set(y.numpy().ravel()) <= set(x.numpy().ravel())
    assert moved["permute_dims"].node.op.traits >= {"permutation", "cheap"}
