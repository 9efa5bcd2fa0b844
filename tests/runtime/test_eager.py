"""The native end of eager operations makes the tensors and records that Python's makes."""

import gc
import sys
import threading

import numpy as np
import pytest

import agnesi as ag
from agnesi.core import dispatch
from agnesi.core.support.config import HOOKS
from agnesi.ops.base import elementwise
from agnesi.runtime import eager, support

W = ag.tensor(np.ones((3, 4), "float32"), requires_grad=True)
V = ag.tensor(np.full((3, 4), 2, "float32"), requires_grad=True)
X = ag.tensor(np.full((3, 4), 3, "float32"))
CASES = {
    "both": lambda: W * V,
    "first": lambda: W * X,
    "second": lambda: X / W,
    "same": lambda: W * W,
    "new leaf": lambda: W * ag.tensor(np.ones(4, "float32")),
    "result": lambda: ag.exp(W),
    "none": lambda: ag.exp(X),
    "number": lambda: 1 - W,
    "view": lambda: W.reshape(2, 6),
    "of views": lambda: W.T * V.T,
    "changed view": lambda: changed(),
    "reduction": lambda: W.max(axis=0),
    "three": lambda: ag.where(X > 0, W, X),
    "product": lambda: W @ X.T,
    "flags": lambda: W > V,
    "scalar": lambda: ag.exp(W[0, 0]),
    "float zero": lambda: W * -0.0,
    "whole zero": lambda: W - 0,
    "other dtype": lambda: W * ag.tensor(np.ones(4)),
    "promoted": lambda: ag.tensor([1, 2]) * 0.5,
    "rounded": lambda: ag.ones(2).half() * 0.5,
    "large": lambda: ag.ones(100, 1000) * 2,
    "spread": lambda: W + ag.ones(2, 1, 4),
    "integers": lambda: ag.tensor([1, 2]) + 1,
}
NATIVE = eager.builtin("finished")
MAPPED = eager.builtin("mapped")


def changed():
    base = W * 1
    view = base[1]
    base += 1
    return view * view


@pytest.fixture
def native():
    before = HOOKS.finished, HOOKS.mapped
    HOOKS.finished, HOOKS.mapped = NATIVE, MAPPED
    yield NATIVE
    HOOKS.finished, HOOKS.mapped = before


def told(t):
    """All that a tensor and its record say."""
    node = t.node
    found = [t.tolist(), t.dtype, t._requires_grad, t._view is not None, t._version, t._grad]
    if node is None:
        return found
    inputs = [(n.op and n.op.label(), n.value is not None, n.version) for n in node.inputs]
    return [*found, node.op.label(), inputs, node.shape, node.dtype, node.weak, node.requires_grad,
            node.serial < 0, node.value is not None, node.version, node.handle, node.name,
            node.outputs, node.where]


@pytest.mark.parametrize("name", CASES)
def test_records_are_those_of_python(name, native):
    run = CASES[name]
    HOOKS.finished, HOOKS.mapped = dispatch.finished, elementwise.mapped
    expected = told(run())
    HOOKS.finished, HOOKS.mapped = native, MAPPED
    found = told(run())
    if "view" in name:  # counters hold references, and other numbers of changes
        expected[4] = found[4] = None
        for record in (expected, found):
            record[7:8] = [[part[:2] for part in record[7]]]
    assert found == expected
    with ag.no_grad():
        assert CASES[name]()._requires_grad is False or name == "changed view"


@pytest.mark.parametrize("word", support.words())
def test_every_word_of_native_code_is_found(word):
    """A slot that was renamed would leave eager operations to Python, without an error."""
    assert eager._word(word, [])


def test_lines_and_serials(native):
    first, second = W * V, W * V
    assert second.node.serial < first.node.serial < 0
    code, instruction, name = first.node.where
    assert code is test_lines_and_serials.__code__ and instruction >= 0 and name == ""


def test_references_balance(native):
    for run in CASES.values():
        for _ in range(40):
            run()
    del W._version[1:]
    watched = [W, V, X, W.node, V.node, W.array, np.dtype("float32"), ag.exp(W).node.op]
    for _ in range(3):  # a plan that is made meanwhile holds the dtype, once
        gc.collect()
        before = [*map(sys.getrefcount, watched)]
        for run in CASES.values():
            for _ in range(100):
                run()
        del W._version[1:]
        gc.collect()
        after = [*map(sys.getrefcount, watched)]
        if after == before:
            break
    assert after == before


def test_odd_calls_are_pythons(native):
    assert native(np.float32(3), W.node and ag.exp(W).node.op, (X,)).tolist() == 3
    with pytest.raises(TypeError):
        native(1)


def test_threads_record_at_once(native):
    failed = []

    def work():
        for _ in range(300):
            (W * V + W).sum().node.inputs[0].inputs[0].op.name == "multiply" or failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed


def test_rows_inside_rows_and_their_errors(native):
    exp, calls = ag.exp(W).node.op, []

    def within(x):  # the silent context is in use
        calls.append(x)
        return ag.log(ag.tensor(x) * 2 - 6).array

    row = (exp, within, *elementwise.ready(exp)[2:])
    for way in (elementwise.mapped, MAPPED):
        with np.errstate(divide="raise"):
            assert np.isneginf(way(row, X).numpy()).all()
            assert np.isneginf((X.sign() - 1).log().numpy()).all()
    assert len(calls) == 2

    def failing(x):
        raise ValueError("no")

    assert MAPPED((exp, failing, *row[2:]), X) is NotImplemented
    for bad in (None, "a", [1.0], 1 << 2000, np.float32(2), ag.ones(3)):
        assert MAPPED(elementwise.ready(elementwise.TABLE["multiply"]), X, bad) is NotImplemented
    with pytest.raises(ag.ShapeError, match=r"multiply\(float32\[3, 4\], float32\[3\]\)"):
        X * ag.ones(3)
    with pytest.raises(KeyboardInterrupt):
        MAPPED((exp, _interrupted, *row[2:]), X)
    assert (X * 2).tolist() == [[6.0] * 4] * 3


def _interrupted(x):
    raise KeyboardInterrupt


def test_plans_call_c_functions_without_warnings(native):
    x, zero = ag.tensor([1.0, -1.0]), ag.zeros(2, 2)
    runs = (lambda: ag.sum(x * np.inf), lambda: ag.matmul(zero / 0, zero), lambda: x[0:1] / 0,
            lambda: (x * 1e30).astype("int8"), lambda: ag.prod(x * 3e38))
    before, HOOKS.replayed = HOOKS.replayed, eager.builtin("replayed")
    try:
        with np.errstate(all="raise"):
            expected = [run().tolist() for run in runs]
            for _ in range(40):
                found = [run().tolist() for run in runs]
    finally:
        HOOKS.replayed = before
    assert str(found) == str(expected)
