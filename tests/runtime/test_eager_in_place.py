"""The native end of changes in place writes, numbers and refuses what Python's does."""

import gc
import sys
import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi.api.tensor import inplace
from agnesi.core.programs import unchanging
from agnesi.core.support.config import HOOKS
from agnesi.runtime import eager

NATIVE = eager.builtin("written")
MAKERS = {
    "floats": lambda: ag.tensor(np.linspace(-2, 3, 12, dtype="float32").reshape(3, 4)),
    "doubles": lambda: ag.tensor(np.linspace(-2, 3, 12).reshape(3, 4)),
    "halves": lambda: ag.tensor(np.linspace(-2, 3, 12, dtype="float16").reshape(3, 4)),
    "integers": lambda: ag.tensor(np.arange(-5, 7).reshape(3, 4)),
    "bytes": lambda: ag.tensor(np.arange(12, dtype="uint8").reshape(3, 4)),
    "bools": lambda: ag.tensor(np.arange(12).reshape(3, 4) % 3 == 0),
    "complex": lambda: ag.tensor((np.arange(12) + 2j).reshape(3, 4)),
    "bfloats": lambda: ag.ones(3, 4).bfloat16(),
    "transposed": lambda: ag.tensor(np.linspace(-2, 3, 12, dtype="float32").reshape(4, 3)).T,
    "view": lambda: ag.tensor(np.linspace(-2, 3, 24, dtype="float32").reshape(6, 4))[::2],
    "element": lambda: ag.tensor([[2.0, 3.0]])[0, 0],
    "read-only": lambda: ag.broadcast_to(ag.ones(4), (3, 4)),
    "large": lambda: ag.ones(300, 400),
    "leaf": lambda: ag.ones(3, 4, requires_grad=True),
    "result": lambda: ag.ones(3, 4, requires_grad=True) * 2,
    "none": lambda: ag.zeros(0, 4),
}
FLOWING = ("leaf", "result")
OTHERS = {
    "2.5": lambda x: 2.5, "-0.0": lambda x: -0.0, "3": lambda x: 3, "True": lambda x: True,
    "1j": lambda x: 1j, "huge": lambda x: 1 << 70, "300": lambda x: 300, "nan": lambda x: np.nan,
    "1e300": lambda x: 1e300, "itself": lambda x: x,
    "row": lambda x: x.detach()[0] if x.size > 1 else x,
    "reversed": lambda x: x.detach().flip(0) if x.ndim else x, "wide": lambda x: ag.ones(5),
    "deep": lambda x: ag.ones(2, 3, 4), "double": lambda x: ag.ones(4, dtype="float64"),
    "list": lambda x: [1, 2, 3, 4], "numpy": lambda x: np.float32(2),
    "wants": lambda x: ag.ones(4, requires_grad=True), "None": lambda x: None,
    "text": lambda x: "a",
}
CHANGES = {
    "add_": lambda x, y: x.add_(y), "mul_": lambda x, y: x.mul_(y), "div_": lambda x, y: x.div_(y),
    "+=": lambda x, y: x.__iadd__(y), "**=": lambda x, y: x.__ipow__(y),
    "//=": lambda x, y: x.__ifloordiv__(y), "fmod_": lambda x, y: x.fmod_(y),
    "alpha": lambda x, y: x.sub_(y, alpha=0.5), "fill_": lambda x, y: x.fill_(y),
    "copy_": lambda x, y: x.copy_(y), "clamp_": lambda x, y: x.clamp_(-1, y),
    "lerp_": lambda x, y: x.lerp_(y, 0.25), "lt_": lambda x, y: x.lt_(y),
    "masked_fill_": lambda x, y: x.masked_fill_(x.detach() > 0, y),
}
ALONE = {
    name: lambda x, _, name=name: getattr(x, name)()
    for name in ("relu_", "exp_", "sqrt_", "zero_", "neg_", "sigmoid_", "sign_", "round_", "abs_")
}


def values(x):
    """What compares quickly, and shows a few numbers where it differs."""
    array = x.detach().numpy()
    return str(array.tolist()) if array.size < 100 else array.tobytes()


def outcome(way, change, maker, other):
    """What a change leaves behind: the values, whose the result is, the records, what was said."""
    HOOKS.written = way
    x = MAKERS[maker]()
    y, at = other(x), None if x._version is None else x._version[0]
    base = None if x._view is None else x._view.base
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = change(x, y)
        except Exception as error:
            found = error
    text = str(found) if isinstance(found, Exception) else found is x
    node = None if x.node is None or x.node.op is None else x.node.op.label()
    changed = x._version is not None and x._version[0] != at
    return (values(x), str(x.dtype), type(found).__name__, text, node, x._requires_grad,
            changed, None if base is None else values(base), [str(w.message) for w in said])


@pytest.fixture(autouse=True)
def kept():
    before = HOOKS.written
    yield
    HOOKS.written = before


@pytest.mark.parametrize("maker", MAKERS)
def test_changes_are_those_of_python(maker):
    for name, change in (CHANGES | ALONE).items():
        for kind, other in OTHERS.items() if name in CHANGES else [("3", OTHERS["3"])]:
            for recording in (True, False) if maker in FLOWING or kind == "wants" else (True,):
                with ag.enable_grad() if recording else ag.no_grad():
                    expected, found = [outcome(way, change, maker, other)
                                       for way in (inplace.written, NATIVE)]
                assert found == expected, (name, kind, recording)


def test_what_is_written_at_once_is_numbered_and_seen_by_records():
    HOOKS.written = NATIVE
    w = ag.ones(3, requires_grad=True)
    x = ag.tensor([1.0, 2.0, 3.0])
    for change in (lambda: x.add_(1), lambda: x.fill_(2.0), lambda: x.copy_(ag.ones(3)),
                   lambda: x.clamp_(0, 1), lambda: x[1:].mul_(2.0)):
        loss = (w * x).sum()
        change()
        with pytest.raises(ag.GradientError, match="changed in place"):
            loss.backward()
    view = x[:2]
    x.fill_(7.0)
    assert view.tolist() == [7.0, 7.0]
    view.mul_(view)
    assert x.tolist() == [49.0, 49.0, 7.0]
    x[1:].copy_(x[:-1])  # in memory that overlaps
    assert x.tolist() == [49.0, 49.0, 49.0]


def test_transforms_and_watchers_are_told():
    HOOKS.written = NATIVE
    x = ag.tensor([1.0, 2.0])

    def step(v):
        total = v * 1
        total.add_(1.0)
        total += v
        return total.relu_()

    assert ag.vmap(step)(ag.stack([x, -x])).tolist() == [[3.0, 5.0], [0.0, 0.0]]
    assert ag.jit(step)(x).tolist() == [3.0, 5.0]
    assert ag.grad(lambda v: step(v).sum())(x).tolist() == [2.0, 2.0]
    with unchanging():
        y = x
        y += 1
        assert y is not x and x.tolist() == [1.0, 2.0]
    element = x[0]
    element += 1.0
    assert x.tolist() == [1.0, 2.0] and element.item() == 2.0


def test_references_balance():
    HOOKS.written = NATIVE
    x, y, row = ag.ones(3), ag.ones(3), inplace._COPY
    known = (ag.exp(ag.ones(1, requires_grad=True)).node.op, np.exp, *row[2:])

    def runs():
        x.add_(y), x.mul_(2.0), x.zero_(), x.copy_(y), x.clamp_(0, 1), x.exp_()
        for bad in (ag.ones(4), None, "a"):
            NATIVE(row, x, bad)
        NATIVE((known[0], _failing, *row[2:]), x)

    for _ in range(40):
        runs()
    watched = [x, y, x.array, y.array, row, np.dtype("float32"), known[0], None, _failing]
    gc.collect()
    before = [*map(sys.getrefcount, watched)]
    for _ in range(100):
        runs()
    gc.collect()
    after = [*map(sys.getrefcount, watched)]
    assert all(abs(a - b) < 50 for a, b in zip(after, before, strict=True)), (before, after)


def _failing(x, out):
    raise ValueError("no")


def test_errors_of_functions_and_interrupts():
    x, bits = ag.ones(3), inplace._COPY[2:]
    op = ag.exp(ag.ones(1, requires_grad=True)).node.op
    assert NATIVE((op, _failing, *bits), x) is NotImplemented and x._version is None

    def stopped(x, out):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        NATIVE((op, stopped, *bits), x)
    calls = []

    def within(x, out):  # the silent context is in use
        calls.append(1)
        ag.tensor(x).mul_(ag.tensor(x))
        return out

    assert NATIVE((op, within, *bits), x) is x and len(calls) == 1
