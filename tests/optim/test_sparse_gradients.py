"""Sparse gradients of tables: the rows in use, and steps that change no others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.compiler.jit import Jit

IDS = np.array([[1, 4, 1], [3, 7, 4]])
TOOLS: dict[str, Callable[[Any], optim.Optimizer]] = {
    "SGD": lambda p: optim.SGD(p, 0.1),
    "momentum": lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.2),
    "nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
    "upwards": lambda p: optim.SGD(p, 0.01, maximize=True),
    "Adagrad": lambda p: optim.Adagrad(p, 0.1, lr_decay=0.1),
    "SparseAdam": lambda p: optim.SparseAdam(p, 0.1),
}
LAYERS: dict[str, Callable[[bool], tuple[Any, Any]]] = {
    "rows": lambda sparse: (nn.Embedding(9, 3, padding_idx=3, sparse=sparse), (IDS,)),
    "bags": lambda sparse: (nn.EmbeddingBag(9, 3, sparse=sparse), (IDS,)),
    "sums": lambda sparse: (nn.EmbeddingBag(9, 3, mode="sum", padding_idx=3, sparse=sparse),
                            (IDS.reshape(-1), [0, 2])),
    "nothing": lambda sparse: (nn.Embedding(9, 3, sparse=sparse), (IDS[:0],)),
}


def trained(layer: str, tool: str, sparse: bool, compiled: bool) -> Iterator[np.ndarray]:
    """The table after some steps on other rows each."""
    ag.manual_seed(0)
    model, (ids, *rest) = LAYERS[layer](sparse)
    optimizer = TOOLS[tool](model.parameters())

    def step(ids: ag.Tensor) -> None:
        optimizer.zero_grad()
        (model(ids, *rest) ** 2 + model(ids, *rest)).sum().backward()
        optimizer.step()

    run = ag.jit(step) if compiled else step
    for k in range(3):
        run(ag.tensor((ids + k * (ids != 3)) % 9))
    yield model.weight.numpy()


@pytest.mark.share(6)
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("layer", LAYERS)
def test_steps_are_those_for_dense_gradients(layer: str, tool: str) -> None:
    found = [next(trained(layer, tool, sparse, compiled))
             for sparse in (True, False) for compiled in (True, False)]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-5, atol=1e-6)


def test_gradients_have_the_rows_in_use() -> None:
    layer = nn.Embedding(9, 2, padding_idx=3, sparse=True)
    (layer(IDS) * ag.tensor([1.0, 2.0])).sum().backward()
    g: Any = layer.weight.grad
    assert g.is_sparse and g.shape == (9, 2) and g.nnz == 5
    whole = g.coalesce()
    assert whole.indices().tolist() == [[1, 4, 7]]
    assert whole.values().tolist() == [[2, 4], [2, 4], [1, 2]]
    layer(IDS[0]).sum().backward()  # sparse gradients add up
    assert layer.weight.grad.is_sparse
    assert layer.weight.grad.to_dense()[1].tolist() == [4, 6]
    (layer.weight**2).sum().backward()  # and become dense beside dense ones
    assert isinstance(layer.weight.grad, ag.Tensor)


def test_what_is_no_parameter_gets_dense_gradients() -> None:
    w = ag.tensor(np.ones((5, 2)), requires_grad=True)

    def loss(w: ag.Tensor) -> ag.Tensor:
        return (nn.functional.embedding([1, 1, 2], w * 2, sparse=True) ** 3).sum()

    def plain(w: ag.Tensor) -> ag.Tensor:
        return ((w * 2)[[1, 1, 2]] ** 3).sum()

    loss(w).backward()
    for found, wanted in ((w.grad, ag.grad(plain)(w)), (ag.grad(loss)(w), ag.grad(plain)(w)),
                          (ag.hessian(loss)(w), ag.hessian(plain)(w)),
                          (ag.jvp(loss, (w,), (w,))[1], ag.jvp(plain, (w,), (w,))[1])):
        assert isinstance(found, ag.Tensor)
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-12)


def test_hooks_and_compiled_gradients_are_dense() -> None:
    layer = nn.Embedding(4, 2, sparse=True)
    ag.jit(lambda i: layer(i).sum().backward())(ag.tensor([1, 1]))
    assert isinstance(layer.weight.grad, ag.Tensor)
    assert layer.weight.grad.tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]
    other, seen = nn.Embedding(4, 2, sparse=True), []
    with other.weight.register_hook(lambda g: seen.append(g)):
        other([1, 1]).sum().backward()
    assert seen[0].tolist() == layer.weight.grad.tolist()


def test_gradients_are_clipped_by_their_sums() -> None:
    tables = [nn.Embedding(6, 2, sparse=sparse) for sparse in (True, False)]
    tables[1].load_state_dict(tables[0].state_dict())

    def clipped(table: nn.Embedding) -> list[np.ndarray]:
        found = []
        for clip in (lambda: nn.utils.clip_grad_norm_(table.parameters(), 1.0),
                     lambda: nn.utils.clip_grad_value_(table.parameters(), 0.3)):
            table.zero_grad()
            (table([1, 1, 2]) ** 2).sum().backward()
            clip()
            found.append(copy.copy(table.weight.grad))
        return [np.asarray(g.to_dense()) for g in found]

    for a, b in zip(*map(clipped, tables), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize(("tool", "text"), [
    (lambda p: optim.Adam(p), "Adam takes no sparse gradients.*SparseAdam"),
    (lambda p: optim.SGD(p, weight_decay=0.1), "weight_decay would change all rows"),
    (lambda p: optim.Adagrad(p, weight_decay=0.1), "weight_decay would change all rows"),
])
def test_what_would_change_all_rows_is_refused(tool: Any, text: str) -> None:
    layer = nn.Embedding(4, 2, sparse=True)
    optimizer = tool(layer.parameters())
    layer([1]).sum().backward()
    with pytest.raises(TypeError, match=text):
        optimizer.step()


@pytest.mark.parametrize("tool", ["SGD", "Adagrad", "SparseAdam"])
def test_compiled_steps_need_no_memory_for_the_table(tool: str) -> None:
    """What a step computes has the size of the batch: nothing of the table is copied."""
    layer = nn.Embedding(10_000, 8, sparse=True)
    optimizer = TOOLS[tool](layer.parameters())

    @ag.jit
    def step(ids: ag.Tensor) -> None:
        optimizer.zero_grad()
        (layer(ids) ** 2).sum().backward()
        optimizer.step()

    step(ag.tensor([1, 5, 1]))
    assert isinstance(step, Jit)
    line = next(s for s in str(step.plan()).splitlines() if "in the arena" in s)
    assert int(line.split(" of them in the arena")[0].split(" bytes, ")[-1]) < 10_000, line


def test_half_precision_tables_are_trained_through_their_masters() -> None:
    ag.manual_seed(0)
    found = []
    for sparse in (True, False):
        ag.manual_seed(0)
        layer = nn.Embedding(5, 2, sparse=sparse, dtype="float16")
        tool = optim.SGD(layer.parameters(), 0.1)
        (layer([1, 1, 3]) ** 2).sum().backward()
        tool.step()
        found.append(layer.weight.numpy())
    np.testing.assert_array_equal(*found)
