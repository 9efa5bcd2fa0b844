"""Traits of operations: what planning and rules ask in the place of names."""

import numpy as np

import agnesi as ag
from agnesi.core.ir.costs import TRAITS
from agnesi.core.op import Op
from agnesi.ops.base.elementwise import TABLE


def every(kind=Op):
    for sub in kind.__subclasses__():
        yield sub
        yield from every(sub)


def test_they_are_known():
    found = {c: c.traits for c in every() if isinstance(c.traits, frozenset)}
    assert len(found) > 100
    rows = [row.traits for row in TABLE.values()]
    assert all(traits <= TRAITS for traits in (*found.values(), *rows))
    assert all("movement" in t for t in found.values() if t & {"permutation", "broadcast"})


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
