"""What states have for each parameter: PyTorch's optimizers read all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import optim

#: What PyTorch's optimizers look up in the state of a parameter that they go on with.
READ = {
    "Adadelta": "acc_delta square_avg step", "RMSprop": "square_avg step",
    "Rprop": "prev step step_size", "ASGD": "ax eta mu step", "Adagrad": "sum step",
    "Adam": "exp_avg exp_avg_sq step", "Adamax": "exp_avg exp_inf step",
    "NAdam": "exp_avg exp_avg_sq mu_product step", "RAdam": "exp_avg exp_avg_sq step",
    "LBFGS": "H_diag d n_iter old_dirs old_stps prev_flat_grad ro t",
}


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("jit", [False, True])
def test_states_have_what_pytorch_reads(name: str, jit: bool) -> None:
    w = ag.tensor([1.0, -2.0], dtype="float64", requires_grad=True)
    options: dict[str, Any] = {"t0": 1} if name == "ASGD" else {}
    optimizer = getattr(optim, name)([w], **options)

    def closure() -> ag.Tensor:
        optimizer.zero_grad()
        loss = (w * w * w * w).sum()
        loss.backward()
        return loss

    step = ag.jit(lambda: optimizer.step(closure)) if jit and name != "LBFGS" else (
        lambda: optimizer.step(closure))
    for _ in range(3):
        step()
    found = optimizer.state_dict()["state"][0]
    assert set(READ[name].split()) <= found.keys()
    if name == "LBFGS":
        assert [len(found[k]) for k in ("old_dirs", "old_stps", "ro")] == [len(found["ro"])] * 3
        np.testing.assert_allclose(
            np.array(found["ro"][-1]),
            1 / np.dot(np.array(found["old_dirs"][-1]), np.array(found["old_stps"][-1])))
    else:
        assert int(found["step"]) == 3
    if name == "ASGD":
        assert float(found["mu"]) == 0.5
    again = getattr(optim, name)([w], **options)
    again.load_state_dict(optimizer.state_dict())
    same = again.state_dict()["state"][0]
    assert same.keys() == found.keys()
    assert all(np.array_equal(np.asarray(same[k]), np.asarray(v)) for k, v in found.items())
