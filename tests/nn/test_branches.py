"""Modules side by side and in graphs, layers made of several, and chains of tags."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn


def drawn(*shape: int) -> Any:
    return ag.tensor(np.random.default_rng(0).normal(size=shape))


def agree(f: Any, *xs: Any) -> Any:
    """The value, the same compiled; and a gradient that agrees with differences."""
    found, fast = f(*xs), ag.jit(f)(*xs)
    np.testing.assert_allclose(found.numpy(), fast.numpy(), rtol=1e-9, atol=1e-12)
    ag.testing.check_grads(f, xs, order=1)
    return found


def lines(*sizes: tuple[int, int]) -> list[nn.Linear]:
    return [nn.Linear(a, b, dtype="float64") for a, b in sizes]


def test_modules_stand_side_by_side() -> None:
    a, b, c = lines((3, 2), (3, 4), (3, 1))
    x = drawn(5, 3)
    beside = nn.Concat(1, a, b)
    np.testing.assert_allclose(agree(beside, x).numpy(),
                               np.concatenate([a(x).numpy(), b(x).numpy()], 1))
    table = nn.ConcatTable(a, nn.ConcatTable(b, c))
    one, (two, three) = table(x)
    assert (one.shape, two.shape, three.shape) == ((5, 2), (5, 4), (5, 1))
    each = nn.ParallelTable(a, nn.ParallelTable(b, c))((x, (x, x)))
    np.testing.assert_array_equal(each[1][1].numpy(), three.numpy())
    slices = nn.Parallel(1, 1, a, b)
    y = agree(slices, drawn(5, 2, 3))
    np.testing.assert_allclose(y.numpy()[:, 2:], b(drawn(5, 2, 3)[:, 1]).numpy())
    assert [n for n, _ in beside.named_parameters()][:2] == ["0.weight", "0.bias"]
    longer = (beside + nn.ModuleList([c]))[1:]
    assert type(longer) is nn.Concat and longer(x).shape == (5, 5) and longer[1] is c
    slices.append(c)
    with pytest.raises(ag.ShapeError, match="3 modules need as many slices along axis 1"):
        slices(drawn(5, 2, 3))
    with pytest.raises(ValueError, match="2 modules need as many entries"):
        nn.ParallelTable(a, b)((x,))


def test_a_diamond_and_a_loop() -> None:
    left, right, out = lines((3, 2), (3, 2), (2, 1))
    net = nn.Graph({"y": (out, "sum"), "sum": (lambda a, b: a * b, "left", "right"),
                    "left": (left, "x"), "right": (right, "x")}, ["x"], ["y", "sum"])
    x = drawn(5, 3)
    _, total = net(x)
    np.testing.assert_allclose(total.numpy(), left(x).numpy() * right(x).numpy())
    agree(lambda x: net(x)[0], x)
    assert net.order == ["left", "right", "sum", "y"]
    assert {n for n, _ in net.named_parameters()} >= {"nodes.y.weight", "nodes.left.bias"}
    cell = nn.RNNCell(3, 4, dtype="float64")
    loop = nn.Graph({"h": (cell, "x", "h@before")}, ["x"], "h")

    def unrolled(xs: Any) -> Any:
        state = {"h": ag.zeros((5, 4), dtype="float64")}
        for t in range(5):
            y, state = loop(xs[t], state=state)
        return y

    steps = drawn(5, 5, 3)
    h = ag.zeros((5, 4), dtype="float64")
    for t in range(5):
        h = cell(steps[t], h)
    np.testing.assert_allclose(agree(unrolled, steps).numpy(), h.numpy())
    for nodes, text in (({"a": (left, "b")}, "unknown"),
                        ({"a": (left, "b"), "b": (left, "a")}, "need each other")):
        with pytest.raises(ValueError, match=text):
            nn.Graph(nodes, ["x"], "a")
    with pytest.raises(ValueError, match="the first step needs state"):
        loop(x)
    with pytest.raises(ValueError, match="2 are given"):
        net(x, x)


def test_layers_made_of_several() -> None:
    most = nn.Maxout(3, 2, 4, dtype="float64")
    x = drawn(5, 3)
    pieces = most.linear(x).numpy().reshape(5, 2, 4)
    np.testing.assert_array_equal(agree(most, x).numpy(), pieces.max(-1))
    inception = nn.Inception(3, 2, 1, 3, 1, 2, 1, dtype="float64")
    image = drawn(1, 3, 4, 5)
    y = inception(image)
    assert y.shape == (1, 8, 4, 5)
    np.testing.assert_allclose(y.numpy()[:, :2], np.maximum(inception.conv1(image).numpy(), 0))
    np.testing.assert_allclose(ag.jit(inception)(image).numpy(), y.numpy(), rtol=1e-9, atol=1e-12)


def test_a_gate_chooses_experts() -> None:
    experts = lines((3, 2), (3, 2), (3, 2))
    net = nn.MixtureOfExperts(experts, 3, top_k=2, dtype="float64")
    x = drawn(6, 3)
    weights = net.weights(x).numpy()
    assert ((weights > 0).sum(1) == 2).all()
    np.testing.assert_allclose(weights.sum(1), 1)
    scores = net.gate(x).numpy()
    assert (weights[np.arange(6), scores.argmin(1)] == 0).all()
    mixed = sum(weights[:, [i]] * e(x).numpy() for i, e in enumerate(experts))
    np.testing.assert_allclose(agree(net, x).numpy(), mixed)
    assert float(net.balance(x)) > 0.5
    net.gate.weight.array[...] = 0
    np.testing.assert_allclose(nn.MixtureOfExperts.balance(net, x).numpy(), 1.5)
    with pytest.raises(ValueError, match="top_k must be between 1 and 3"):
        nn.MixtureOfExperts(experts, 3, top_k=4)


def test_chains_of_tags_are_summed_over_and_found() -> None:
    field = nn.CRF(3, dtype="float64")
    rng = np.random.default_rng(0)
    for p in field.parameters():
        p.array[...] = rng.normal(size=p.shape)
    scores, tags = rng.normal(size=(4, 2, 3)), rng.integers(0, 3, (4, 2))
    mask = np.array([[1, 1], [1, 1], [1, 1], [1, 0]], bool)
    first, last, moves = (t.numpy() for t in (
        field.start_transitions, field.end_transitions, field.transitions))

    def score(b: int, way: Any) -> Any:
        own = sum(scores[t, b, tag] for t, tag in enumerate(way))
        return first[way[0]] + last[way[-1]] + own + sum(
            moves[i, j] for i, j in itertools.pairwise(way))

    likely = agree(lambda e: field(e, tags, mask, "none"), ag.tensor(scores)).numpy()
    best = field.decode(ag.tensor(scores), mask).numpy()
    for b, n in ((0, 4), (1, 3)):
        ways = list(itertools.product(range(3), repeat=n))
        total = np.log(sum(np.exp(score(b, way)) for way in ways))
        np.testing.assert_allclose(likely[b], score(b, tags[:n, b]) - total)
        assert tuple(best[:n, b]) == max(ways, key=lambda way, b=b: score(b, way))
        assert (best[n:, b] == -1).all()
    np.testing.assert_array_equal(
        ag.jit(lambda e: field.decode(e, mask))(ag.tensor(scores)).numpy(), best)
    turned = nn.CRF(3, batch_first=True, dtype="float64")
    turned.load_state_dict(field.state_dict())
    np.testing.assert_allclose(
        turned(ag.tensor(scores.swapaxes(0, 1)), tags.T, mask.T, "mean").numpy(), likely.mean())
    np.testing.assert_allclose(field(ag.tensor(scores), tags, mask, "token_mean").numpy(),
                               likely.sum() / 7)
    assert field.decode(ag.tensor(scores[:1])).shape == (1, 2)
    with pytest.raises(ag.ShapeError, match="tags must be"):
        field(ag.tensor(scores), tags.T)
    with pytest.raises(ag.ShapeError, match="emissions must be"):
        field.decode(ag.zeros((4, 2, 5)))
