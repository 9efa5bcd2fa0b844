"""Clusters keep an order without cycles while they join and merge; programs where that matters."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.ir.node import Node
from agnesi.runtime.machine import native
from agnesi.schedule.clustering.cluster import Cluster, Order
from agnesi.schedule.clustering.node_facts import facts_of


class Graph:
    """Clusters made at random, with all dependences written down beside them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.order = Order()
        self.order.looks = 1 << 40
        self.clusters: list[Cluster] = []
        self.reads: set[tuple[int, int]] = set()
        self.count = 0

    def alive(self) -> list[Cluster]:
        return [c for c in dict.fromkeys(self.clusters) if c.merged is None]

    def open(self) -> None:
        node = Node(None, (), (), np.dtype("float64"))
        users = {c for c in self.alive() if self.rng.random() < 0.15}
        cluster = Cluster(self.count, node, users, facts_of([node], native())[id(node)])
        self.order.opened()
        self.clusters.append(cluster)
        self.reads |= {(u.number, cluster.number) for u in users}
        self.count += 1

    def needs(self, a: Cluster, b: Cluster) -> bool:
        """Whether ``a`` reads ``b``, maybe through others: by the list of reads alone."""
        name = {i: c.now().number for i, c in enumerate(self.clusters)}
        reads = {(name[x], name[y]) for x, y in self.reads if name[x] != name[y]}
        seen, stack = set(), [a.number]
        while stack:
            at = stack.pop()
            for x, y in reads:
                if x == at and y not in seen:
                    seen.add(y)
                    stack.append(y)
        return b.number in seen

    def check(self) -> None:
        ranks = [c.rank for c in self.alive()]
        assert len(set(ranks)) == len(ranks)
        for x, y in self.reads:
            user, maker = self.clusters[x].now(), self.clusters[y].now()
            assert user is maker or user.rank < maker.rank


@pytest.mark.parametrize("seed", range(60))
def test_order_is_kept(seed):
    graph = Graph(seed)
    for _ in range(25):
        graph.open()
        some = graph.rng.sample(graph.alive(), min(len(graph.alive()), graph.rng.choice([2, 3])))
        if len(some) > 1:
            free = not any(graph.needs(a, b) for a, b in permutations(some, 2))
            assert graph.order.independent(some) == free
            if free and graph.rng.random() < 0.6:
                graph.order.unite(some)
        graph.check()
        maker, *users = graph.rng.sample(graph.alive(), min(len(graph.alive()), 3))
        users = {u for u in users if u is not maker}
        cycle = any(graph.needs(maker, u) for u in users)
        assert graph.order.below(users, maker) == (not cycle)
        graph.check()
        if users and not cycle:
            graph.count += 1
            maker.fill([Node(None, (), (), np.dtype("float64"))], users)
            graph.reads |= {(u.number, maker.number) for u in users}
            graph.clusters.append(maker)  # the root's number stands for the cluster
        graph.check()


def test_without_looks_left_the_answer_is_safe():
    graph = Graph(0)
    for _ in range(30):
        graph.open()
    graph.order.looks = -1
    for a, b in permutations(graph.alive(), 2):
        assert not (graph.order.independent([a, b]) and graph.needs(a, b))
        assert not (graph.order.below({a}, b) and graph.needs(b, a))
        graph.check()


# -- programs ------------------------------------------------------------------------------------
A = np.array([[-0.5], [-1.0], [0.7]])
B = np.array([[-1.1]])


def outer_and_sorted(a, b):
    first = ag.einsum("i,j->ij", a[0], a[0]).tanh().sum()
    return first + (b[:, 0] * a).tanh().sum() + (2 * ag.sort(b, axis=0)).tanh().sum()


def squares_and_rows(a, b):
    return (a[0] * a[0]).tanh().sum() + (b[:, 0] * a).tanh().sum()


@pytest.mark.parametrize("function", [outer_and_sorted, squares_and_rows])
@pytest.mark.parametrize("optimizer", ["fast_run", "fast_compile", "None"])
def test_merges_make_no_cycles(function, optimizer):
    """Levels beside a search that stopped early let a cluster depend on itself: wrong gradients."""
    both = ag.value_and_grad(function, (0, 1))
    value, (da, db) = ag.jit(both, optimizer=optimizer)(ag.tensor(A), ag.tensor(B))
    wanted, (wa, wb) = both(ag.tensor(A), ag.tensor(B))
    np.testing.assert_allclose(value.numpy(), wanted.numpy(), 1e-12)
    np.testing.assert_allclose(da.numpy(), wa.numpy(), 1e-12)
    np.testing.assert_allclose(db.numpy(), wb.numpy(), 1e-12)


@pytest.mark.parametrize("size, loops", [(1 << 14, 4), (64, 1)])
def test_a_number_in_common_does_not_join_large_loops(size, loops):
    """Four loops over different arrays: together they would read too many at once."""
    arrays = [np.full(size, k, "float32") for k in range(4)]
    step = ag.jit(lambda rate, xs: [x * ag.sqrt(rate + 1) for x in xs])
    for found, x in zip(step(np.float32(3), arrays), arrays, strict=True):
        np.testing.assert_array_equal(found, x * 2)
    kernels = [line for line in str(step.plan()).splitlines() if ": loops multiply" in line]
    assert len(kernels) == loops


def test_sums_of_rows_and_of_columns_are_no_one_kernel() -> None:
    """A loop over rows that adds up columns, too, has no vectors; those of squares became one."""
    def sums(a: ag.Tensor, b: ag.Tensor) -> tuple[ag.Tensor, ag.Tensor]:
        c = ag.where(a > b, (a - b) * a, 0.5 * b)
        return c.sum(-1), c.sum(-2)

    f = ag.jit(sums)
    a, b = (ag.tensor(np.random.default_rng(i).normal(size=(2, 80, 80))) for i in range(2))
    for x, y in zip(f(a, b), sums(a, b), strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=1e-12)
    assert "sum, sum" not in str(f.plan())
