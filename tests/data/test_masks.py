"""Masked arrays are refused by name wherever arrays come in: nothing drops a mask silently."""

import numpy as np
import pytest

import agnesi as ag


def masked(*shape):
    return np.ma.masked_array(np.ones(shape), mask=np.eye(*shape, dtype=bool)
                              if len(shape) == 2 else np.arange(shape[0]) % 2 == 0)


class Exporting:
    def __array__(self, dtype=None, copy=None):
        return masked(3)


def into_module():
    layer = ag.nn.Linear(2, 2)
    layer.load_state_dict({**layer.state_dict(), "weight": masked(2, 2)})


def into_optimizer():
    p = ag.nn.Parameter(ag.ones(3))
    optimizer = ag.optim.Adam([p])
    p.grad = ag.ones(3)
    optimizer.step()
    state = optimizer.state_dict()
    slots = next(iter(state["state"].values()))
    name = next(n for n, v in slots.items() if getattr(v, "shape", ()) == (3,))
    slots[name] = masked(3)
    optimizer.load_state_dict(state)


@pytest.mark.parametrize("door", [
    into_module, into_optimizer,
    lambda: ag.data.TensorDataset(masked(3, 2)),
    lambda: next(iter(ag.data.DataLoader([masked(2), masked(2)], batch_size=2))),
    lambda: next(iter(ag.data.DataLoader([masked(2)], batch_size=None))),
    lambda: ag.save({"a": masked(3)}, "never"),
    lambda: ag.frombuffer(masked(3), dtype="float64"),
    lambda: ag.tensor(Exporting()), lambda: ag.asarray(Exporting()),
    lambda: ag.ones(3) + Exporting(),
], ids=range(10))
def test_a_mask_is_refused(door, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match="mask"):
        door()
    assert not [*tmp_path.iterdir()]
