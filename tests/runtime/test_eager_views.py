"""Views that native plans lay into memory are those of NumPy; new tensors that are made at once are
those of the whole functions."""

import gc
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.calls import plans
from agnesi.core.support.config import HOOKS
from agnesi.runtime import eager

NATIVE = eager.builtin("replayed")
OPERANDS = {
    "matrix": lambda: ag.tensor(np.arange(12, dtype="float32").reshape(3, 4)),
    "transposed": lambda: ag.tensor(np.arange(12, dtype="float64").reshape(4, 3)).T,
    "steps": lambda: ag.tensor(np.arange(48).reshape(6, 8))[::2, 7:0:-2],
    "vector": lambda: ag.tensor(np.arange(12, dtype="int16")),
    "row": lambda: ag.tensor(np.arange(4, dtype="complex64").reshape(1, 4)),
    "number": lambda: ag.tensor(np.float32(3)),
    "none": lambda: ag.zeros(0, 4),
    "read-only": lambda: read_only(np.arange(12, dtype="float32").reshape(3, 4)),
    "spread": lambda: ag.broadcast_to(ag.tensor(np.arange(4, dtype="float32")), (3, 4)),
    "leaf": lambda: ag.ones(3, 4, requires_grad=True),
    "foreign": lambda: ag.from_numpy(np.frombuffer(bytearray(48), "float32").reshape(3, 4)),
}
VIEWS = {
    "T": lambda x: x.T, "t": lambda x: x.t(), "mT": lambda x: x.mT,
    "permute": lambda x: x.permute(1, 0), "reshape": lambda x: x.reshape(-1),
    "view": lambda x: x.view(2, 6), "flatten": lambda x: x.flatten(),
    "unsqueeze": lambda x: x.unsqueeze(0), "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(2, 3, 4), "new axis": lambda x: x.expand(1, *x.shape),
    "broadcast": lambda x: ag.broadcast_to(x, (5, 3, 4)), "same": lambda x: x.expand(*x.shape),
    "first": lambda x: x[0], "last": lambda x: x[-1], "slice": lambda x: x[1:3],
    "backwards": lambda x: x.flip(0), "column": lambda x: x[..., 1], "element": lambda x: x[1, 2],
    "narrow": lambda x: x.narrow(0, 1, 2), "swap": lambda x: x.swapaxes(0, -1),
    "rows": lambda x: ag.unbind(x)[1], "chunk": lambda x: ag.chunk(x, 2)[0],
    "row of": lambda x: x[1].T, "diagonal": lambda x: x.diagonal(), "clone": lambda x: x.clone(),
    "double": lambda x: x.double(), "to": lambda x: x.to("int64"), "copy": lambda x: x.copy(),
}


def read_only(data):
    data.setflags(write=False)
    return ag.from_numpy(data)


@pytest.fixture(autouse=True)
def kept():
    before = HOOKS.replayed
    yield
    HOOKS.replayed = before


def told(view, x):
    """How a result lies in memory and in the record."""
    try:
        t = view(x)
    except Exception as error:
        return [type(error).__name__, str(error)]
    data, node = t.array, t.node
    base = None if t._view is None else t._view.base is x
    at = data.ctypes.data - x.array.ctypes.data if np.shares_memory(data, x.array) else None
    return [t is x, data.tolist(), data.shape, data.strides, str(data.dtype), data.flags.writeable,
            data.flags.c_contiguous, data.flags.owndata, at, base, t._view and t._view.op.label(),
            t._requires_grad, node and node.op and node.op.label(), t._version is x._version]


@pytest.mark.parametrize("name", VIEWS)
def test_views_lie_as_those_of_python(name):
    for kind, make in OPERANDS.items():
        HOOKS.replayed = lambda *call: NotImplemented
        expected = told(VIEWS[name], make())
        for way in (NATIVE, plans.replayed):
            HOOKS.replayed = way
            found = [told(VIEWS[name], make()) for _ in range(20)]
            assert found == [expected] * 20, (kind, way)


def test_plans_of_memory_that_may_not_be_written():
    HOOKS.replayed = NATIVE
    data = np.arange(6, dtype="float32").reshape(2, 3)
    locked = data.copy()
    locked.setflags(write=False)
    for order in ((data, locked), (locked, data)):
        rows = 1 + order[0].flags.writeable  # so that each has a plan of its own
        for array in order:
            for _ in range(20):
                view = ag.from_numpy(array).reshape(rows, -1)
                assert view.array.flags.writeable is array.flags.writeable
                spread = ag.from_numpy(array).expand(4, 2, 3)
                assert not spread.array.flags.writeable


def test_changes_show_in_views_and_gradients_flow_through_them():
    HOOKS.replayed = NATIVE
    for _ in range(20):
        x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
        spread, turned = x.expand(2, 2, 2), x.T
        x.mul_(2.0)
        turned[0, 1] = 9.0
        assert spread[1].tolist() == [[2.0, 4.0], [9.0, 8.0]] and x[1, 0].item() == 9.0
        with pytest.raises(ValueError, match="read-only"):
            spread.add_(1.0)
        w = ag.tensor([1.0, 2.0], requires_grad=True)
        (w.expand(3, 2) * w.detach()).sum().backward()
        assert w.grad.tolist() == [3.0, 6.0]
        y = w * 1
        z = y.expand(2, 2)
        y.mul_(3.0)
        z.sum().backward()
        assert w.grad.tolist() == [9.0, 12.0]


def test_families_forget_views_that_are_gone():
    HOOKS.replayed = NATIVE
    x = ag.ones(4)
    for _ in range(2000):
        x[1:]
    assert len(x._version) < 70
    views = [x[1:] for _ in range(300)]
    assert len(x._version) > 300 and len(views) == 300


def test_new_tensors_are_those_of_the_whole_functions():
    numbers = [0.5, -0.0, 1e300, float("nan"), 3, -1, 1 << 40, 1 << 70, True, 1j, None, "a",
               [1.0, 2.0], [1, 2], [1, 2.0], [True], [], [[1.0], [2.0]], [1 << 70], [1e300],
               (1.0, 2.0),
               [np.float32(2)], range(3), np.float32(2), np.arange(3), np.arange(3, dtype=">i4"),
               np.arange(6.0).reshape(2, 3).T, np.ma.array([1.0]), np.array(["a"]),
               np.longdouble(2), np.zeros(2, "longdouble"), np.zeros(2, "float16"),
               np.zeros(2, "M8[s]"), np.zeros(3, [("a", "f4")]), np.zeros((), "bool"), ag.ones(2),
               np.matrix([[1.0]]),
               read_only(np.ones(2)).array]
    for function, extra in ((ag.tensor, {"name": None}), (ag.asarray, {"copy": None}),
                            (ag.from_numpy, {})):
        for given in numbers:
            for floats in ("float32", "float64"):
                with ag.config(default_float=floats):
                    found, expected = [_made(call, given) for call in (
                        lambda x, f=function: f(x),
                        lambda x, f=function, k=extra: f(x, **k) if k else f(array=x))]
                assert found == expected, (function.__name__, given)
    for sizes in ((), (3,), (2, 3), ((2, 3),), (0,), (-1,), (2.5,), ([2, 3],), (1 << 50, 1 << 50)):
        found, expected = [_made(call, sizes) for call in (
            lambda s: ag.zeros_like(ag.empty(*s)), lambda s: ag.zeros(*s))]
        assert found == expected or "Error" in found[0], sizes
    assert ag.jit(lambda: ag.tensor([1.0, 2.0]) + ag.empty(2) * 0)().tolist() == [1.0, 2.0]


def _made(call, given):
    try:
        t = call(given)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n  at")[0].split(": ", 1)[-1]]
    shares = isinstance(given, np.ndarray) and np.shares_memory(t.array, given)
    return [str(t.tolist()), str(t.dtype), t.shape, t._requires_grad, shares,
            t.array.flags.c_contiguous, t.array.flags.writeable, t is given]


def test_references_balance():
    HOOKS.replayed = NATIVE
    x, m = ag.ones(4), ag.ones(2, 2)

    def runs():
        x[1:], x.expand(3, 4), m.T, x.reshape(2, 2), x[0]

    for _ in range(60):
        runs()
    watched = [x, m, x.array, m.array, None, np.dtype("float32")]
    gc.collect()
    before = [*map(sys.getrefcount, watched)]
    for _ in range(300):
        runs()
    gc.collect()
    after = [*map(sys.getrefcount, watched)]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)


def test_masks_and_lists_choose_and_write_at_once():
    x, mask = ag.arange(6.0), ag.tensor([True, False, False, True, True, False])
    for _ in range(20):
        assert x[mask].tolist() == [0.0, 3.0, 4.0] and x[[1, -1]].tolist() == [1.0, 5.0]
        y = x.clone()
        view, before = y[:3], y._version and y._version[0]
        y[mask] = -0.0
        y[ag.tensor([1, 2])] = 7
        assert str(y.tolist()) == "[-0.0, 7.0, 7.0, -0.0, -0.0, 5.0]"
        assert view.tolist()[1:] == [7.0, 7.0] and y._version[0] != before
        with pytest.raises(IndexError, match="out of bounds"):
            x[[1, 9]]
        with pytest.raises(IndexError):
            y[mask[:4]] = 1.0
        w = ag.ones(6, requires_grad=True)
        z = w * 1
        z[mask] = 0.0
        (z * x).sum().backward()
        assert w.grad.tolist() == [0.0, 1.0, 2.0, 0.0, 0.0, 5.0] and x[mask]._requires_grad is False
        assert w[mask]._requires_grad
    assert ag.jit(lambda v: v[[1, 2]] * 2)(x).tolist() == [2.0, 4.0]
