"""Names of other libraries: the error tells what stands for them here, and that exists."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.core import elsewhere

W = ag.tensor([1.0, -2.0], requires_grad=True)
OWNERS: dict[str, Any] = {
    "module 'agnesi'": ag, "module 'agnesi.nn'": nn, "module 'agnesi.optim'": optim,
    "module 'agnesi.nn.functional'": nn.functional, "module 'agnesi.random'": ag.random,
    "Tensor": W, "Module": nn.ReLU(), "Optimizer": optim.SGD([W], 0.1),
}
NAMES = [(owner, name) for owner, table in elsewhere._TABLES.items() for name in table]
KNOWN: dict[str, Any] = {
    "ag": ag, "nn": nn, "optim": optim, "numpy": np, "x": W, "p": W,
    "f": ag.function([], ag.shared(1.0) + 1), "model": OWNERS["Module"],
    "optimizer": OWNERS["Optimizer"],
}
KNOWN["f"]()


def test_every_owner_is_there() -> None:
    assert set(OWNERS) == set(elsewhere._TABLES)
    assert len(NAMES) > 150


@pytest.mark.parametrize(("owner", "name"), NAMES)
def test_what_is_told_exists(owner: str, name: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(OWNERS[owner], name)
    text = str(caught.value)
    assert f"has no attribute {name!r}; use " in text
    for code in re.findall("`([^`]+)`", text):
        tree = ast.parse("a @ b" if code == "@" else code)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert hasattr(KNOWN.get(node.value.id, W), node.attr), code
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                eval(ast.unparse(node), KNOWN)


def test_other_names_are_as_unknown_as_ever() -> None:
    for owner, found in OWNERS.items():
        with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$") as caught:
            found.nonsense  # noqa: B018
        if not owner.startswith("module"):
            assert caught.value.name == "nonsense" and caught.value.obj is found


def test_classes_are_named_as_they_are() -> None:
    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            return self.hidden(x)

    with pytest.raises(AttributeError, match=r"^'Net' object has no attribute 'hidden'$"):
        Net()(W)
    with pytest.raises(AttributeError, match=r"^'SGD' object .* 'param_groups'; use `optimizer.lr"):
        optim.SGD([W], 0.1).param_groups  # noqa: B018


def test_objects_are_copied_and_pickled_as_before() -> None:
    for found in (W, nn.Linear(2, 3), optim.SGD([W], 0.1)):
        assert type(copy.deepcopy(found)) is type(found)
        assert type(pickle.loads(pickle.dumps(found))) is type(found)


def test_what_is_told_is_right() -> None:
    x, y = ag.tensor([-1.0, 0.5, 30.0]), ag.tensor([0.0, 1.0, 1.0])
    p = 1 / (1 + np.exp(-x.numpy().astype("float64")))
    loss = -np.where(y == 1, np.log(p), np.log(1 - p)).mean()
    np.testing.assert_allclose((ag.softplus(x) - x * y).mean(), loss, rtol=1e-6)
    assert ag.eye(3)[ag.tensor([2, 0])].tolist() == [[0, 0, 1], [1, 0, 0]]

    parameters = [ag.ones(3, requires_grad=True), ag.ones(4, requires_grad=True)]

    @ag.jit
    def clipped(limit: Any) -> Any:
        for p in parameters:
            p.zero_grad()
        sum((p * p).sum() for p in parameters).backward()
        norm = ag.sqrt(sum((p.grad**2).sum() for p in parameters))
        for p in parameters:
            p.grad = p.grad * ag.minimum(1.0, limit / norm)
        return norm, [p.grad for p in parameters]

    norm, grads = clipped(1.0)
    np.testing.assert_allclose(norm, np.sqrt(28), rtol=1e-6)
    np.testing.assert_allclose(sum((g**2).sum() for g in grads), 1, rtol=1e-6)
