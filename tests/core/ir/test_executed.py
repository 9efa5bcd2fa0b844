"""The order of nodes: that of the program where an operation waits for other processes."""

import pytest

import agnesi as ag
from agnesi.core.dispatch import graph_node
from agnesi.core.ir.node import creation, executed, toposort
from agnesi.core.support.config import HOOKS
from agnesi.distributed.operations import Collective


@pytest.fixture
def several_processes(monkeypatch):
    monkeypatch.setattr(HOOKS, "in_order", True)


def _crossed(between=lambda y: y):
    """Results in another order than that in which they were computed."""
    x = ag.symbolic.vector("x")
    late = between(ag.exp(x))
    early = ag.tanh(x)
    return [graph_node(early), graph_node(late)]


def test_what_waits_for_nobody_keeps_the_order_of_what_depends_on_what(several_processes):
    roots = _crossed()
    assert executed(roots) == toposort(roots)
    assert [n.op.name for n in executed(roots) if n.op] == ["tanh", "exp"]


@pytest.mark.parametrize("where", ["graph", "body"])
def test_what_waits_has_the_order_of_the_program(several_processes, where):
    def waits(y):
        op = Collective("all_reduce", "sum", 0, 0, 2, -1, "a line", "", True)
        return ag.core.dispatch.apply_many(op, ag.tensor(0, dtype="int8"), y)[1]

    def loop(y):
        return ag.scan(lambda c, _: (waits(c), None), y, length=3)[0]

    roots = _crossed(waits if where == "graph" else loop)
    serials = [creation(n) for n in executed(roots)]
    assert serials == sorted(serials)
    assert [creation(n) for n in toposort(roots)] != sorted(serials)
