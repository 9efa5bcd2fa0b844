"""Twenty steps of every optimizer and schedule beside PyTorch's, with groups of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import peers

ag = peers.agnesi()
torch = peers.torch()

#: Name, options, and options of the second group.
OPTIMIZERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("SGD", {"lr": 0.02, "momentum": 0.9, "nesterov": True}, {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.02}, {"betas": (0.5, 0.9), "amsgrad": True}),
    ("AdamW", {"lr": 0.02}, {"weight_decay": 0.3}),
    ("NAdam", {"lr": 0.02}, {"momentum_decay": 0.1}),
    ("RAdam", {"lr": 0.02}, {"weight_decay": 0.1}),
    ("Adamax", {"lr": 0.02}, {"betas": (0.5, 0.9)}),
    ("Adagrad", {"lr": 0.02}, {"lr_decay": 0.1}),
    ("Adadelta", {"lr": 0.5}, {"rho": 0.5}),
    ("RMSprop", {"lr": 0.02}, {"centered": True, "momentum": 0.5}),
    ("Rprop", {"lr": 0.02}, {"lr": 0.01}),
    ("ASGD", {"lr": 0.02}, {"lambd": 0.1}),
    ("Adafactor", {"lr": 0.02}, {"weight_decay": 0.1}),
    ("LBFGS", {"lr": 0.5}, {}),
    ("LBFGS", {"lr": 1.0, "line_search_fn": "strong_wolfe", "max_iter": 4}, {}),
]


def nets() -> tuple[Any, Any]:
    """The same model twice, in double precision."""
    torch.manual_seed(0)
    nn = torch.nn
    theirs = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).double()
    nn = ag.nn
    ours = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2)).to("float64")
    ours.load_state_dict({n: t.numpy() for n, t in theirs.state_dict().items()})
    return ours, theirs


def closure_of(net: Any, tool: Any, x: Any, y: Any) -> Any:
    def closure() -> Any:
        tool.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    return closure


def groups(net: Any, options: dict[str, Any]) -> Any:
    if not options:
        return net.parameters()
    return [{"params": net[0].parameters()}, {"params": net[2].parameters(), **options}]


@pytest.mark.parametrize(("name", "options", "second"), OPTIMIZERS)
def test_twenty_steps_are_pytorchs(name: str, options: Any, second: Any) -> None:
    ours, theirs = nets()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 4)), rng.normal(size=(8, 2))
    one = getattr(ag.optim, name)(groups(ours, second), **options)
    two = getattr(torch.optim, name)(groups(theirs, second), **options)
    with torch.enable_grad():
        for step in range(20):
            if step == 10:  # another one goes on from PyTorch's state
                one = getattr(ag.optim, name)(groups(ours, second), **options)
                one.load_state_dict(two.state_dict())
                assert one.state_dict()["state"].keys() == two.state_dict()["state"].keys()
            one.step(closure_of(ours, one, ag.tensor(x), ag.tensor(y)))
            two.step(closure_of(theirs, two, torch.from_numpy(x), torch.from_numpy(y)))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("name", "options"), [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"momentum": 0.9, "nesterov": True}), ("SGD", {"maximize": True}),
    ("Adagrad", {}), ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("SparseAdam", {}), ("SparseAdam", {"betas": (0.5, 0.9), "maximize": True}),
])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("bags", [False, True])
def test_sparse_gradients_give_pytorchs_steps(name: str, options: Any, compiled: bool,
                                              bags: bool) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(9, 3))
    kind = "EmbeddingBag" if bags else "Embedding"
    one = getattr(ag.nn, kind)(9, 3, padding_idx=2, sparse=True, dtype="float64")
    two = getattr(torch.nn, kind)(9, 3, padding_idx=2, sparse=True, dtype=torch.float64)
    one.weight.data[:] = table
    two.weight.data[:] = torch.from_numpy(table)
    ours = getattr(ag.optim, name)(list(one.parameters()), lr=0.1, **options)
    theirs = getattr(torch.optim, name)(list(two.parameters()), lr=0.1, **options)

    def step(ids: ag.Tensor) -> None:
        ours.zero_grad()
        (one(ids) ** 2).sum().backward()
        ours.step()

    run = ag.jit(step) if compiled else step
    for k in range(6):
        ids = (np.array([[1, 4, 1], [2, 7, 4]]) + k // 2) % 9
        run(ag.tensor(ids))
        theirs.zero_grad()
        with torch.enable_grad():
            (two(torch.from_numpy(ids)) ** 2).sum().backward()
        theirs.step()
    np.testing.assert_allclose(one.weight.numpy(), two.weight.detach().numpy(), rtol=1e-7,
                               atol=1e-14)


def test_sparse_steps_and_muon_are_pytorchs() -> None:
    rng = np.random.default_rng(0)
    table, ids = rng.normal(size=(6, 3)), np.array([1, 4, 1])
    ours = ag.tensor(table, requires_grad=True)
    theirs = torch.tensor(table, requires_grad=True)
    one, two = ag.optim.SparseAdam([ours], 0.1), torch.optim.SparseAdam([theirs], 0.1)
    with torch.enable_grad():
        for _ in range(20):
            one.zero_grad(), two.zero_grad()
            (ag.nn.functional.embedding(ids, ours) ** 2).sum().backward()
            (torch.nn.functional.embedding(torch.from_numpy(ids), theirs, sparse=True) ** 2
             ).sum().backward()
            one.step(), two.step()
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-7)
    start = rng.normal(size=(5, 3)).astype("float32")
    ours, theirs = ag.tensor(start, requires_grad=True), torch.tensor(start, requires_grad=True)
    one, two = ag.optim.Muon([ours], 0.1), torch.optim.Muon([theirs], 0.1)
    with torch.enable_grad():
        for _ in range(5):
            one.zero_grad(), two.zero_grad()
            (ours**2).sum().backward(), (theirs**2).sum().backward()
            one.step(), two.step()
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), atol=0.03)  # theirs: bfloat16


SCHEDULES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("StepLR", (3,), {}), ("MultiStepLR", ([2, 5],), {}), ("ExponentialLR", (0.8,), {}),
    ("CosineAnnealingLR", (7,), {}), ("CosineAnnealingWarmRestarts", (3, 2), {}),
    ("LinearLR", (), {}), ("ConstantLR", (), {}), ("PolynomialLR", (6, 2.0), {}),
    ("OneCycleLR", ([1.0, 2.0], 12), {}), ("CyclicLR", ([0.1, 0.2], [1.0, 2.0], 3), {}),
    ("LambdaLR", ([lambda e: 0.9**e, lambda e: 0.5**e],), {}),
    ("MultiplicativeLR", (lambda e: 0.9,), {}),
]


@pytest.mark.parametrize(("name", "args", "keywords"), SCHEDULES)
def test_rates_of_groups_are_pytorchs(name: str, args: Any, keywords: Any) -> None:
    found = []
    for library in (ag, torch):
        tensors = [library.zeros(1, requires_grad=True) for _ in range(2)]
        tool = library.optim.SGD([{"params": [tensors[0]]}, {"params": [tensors[1]], "lr": 0.5}],
                                 lr=0.1, momentum=0.9)
        schedule = getattr(library.optim.lr_scheduler, name)(tool, *args, **keywords)
        rates = []
        for _ in range(10):
            rates.append([g["lr"] for g in tool.param_groups])
            tool.step()
            schedule.step()
        found.append(rates)
    np.testing.assert_allclose(*found, rtol=1e-9)
