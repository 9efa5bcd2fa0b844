"""Compiled functions where nothing can be compiled: the same results, and one warning."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.core.support.tree import flatten
from tests.compiler.ways import interpreted


def programs() -> dict[str, Any]:
    """Name to (function, its arguments' shapes)."""
    w = ag.tensor(np.linspace(-1, 1, 12).reshape(4, 3), requires_grad=True)
    mean = ag.zeros(4, dtype="float64")

    def step(x, lr):
        w.grad = None
        loss = (ag.tanh(x @ w) ** 2).mean()
        loss.backward()
        with ag.no_grad():
            w.sub_(w.grad, alpha=lr)
            mean.mul_(0.9).add_(x.mean(0))
        return loss, w * 1, mean * 1

    def changes(x):
        x[1:] *= 2
        row = x[0]
        row += 1
        return x.sum()

    def several(x):
        top, _ = ag.topk(x, 2)
        return {"sorted": ag.sort(x, 1), "top": top, "complex": x * (1 + 1j), "none": None}

    return {
        "step": lambda x: step(x, 0.1),
        "changes": changes,
        "several": several,
        "gradient": ag.grad(lambda x: (ag.softmax(x, 1) * x).sum()),
        "whole numbers": lambda x: (x * 3).astype("int8") // 2,
        "empty": lambda x: x[:0].sum(0),
    }


def everything() -> dict[str, Any]:
    """What each program gives on its second call, and leaves in its argument."""
    found = {}
    for name, function in programs().items():
        x = ag.tensor(np.random.default_rng(0).normal(size=(5, 4)))
        run = ag.jit(function)
        run(x)
        found[name] = [v.numpy().tolist() for v in (*_leaves(run(x)), x)]
    s, v = ag.shared(np.ones(3)), T.vector("v")
    f = ag.function([v], {"y": s * v}, updates={s: s + v})
    f([1.0, 2.0, 3.0])
    found["function"] = [f(v=[1.0, 1.0, 1.0])["y"].tolist(), s.get_value().tolist()]
    return found


def _leaves(result: Any) -> list[Any]:
    return [r.real if r.dtype.kind == "c" else r for r in flatten(result)[0]]


def close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert len(values) == len(found[name]), name
        for a, b in zip(found[name], values, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=name)


def test_the_interpreter():
    expected = everything()
    with interpreted():
        found = everything()
        f = ag.jit(lambda x: x + 1)
        assert f(ag.ones(2)).tolist() == [2, 2] and "add" in str(f.graph)
        with pytest.raises(RuntimeError, match="runs on the interpreter"):
            f.ir()
    close(found, expected)


def test_the_setting_compile():
    expected = everything()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ag.config(compile=False):
            found = everything()
    close(found, expected)


@pytest.mark.parametrize("pack", [lambda x: x, lambda x: {"x": x}])
def test_the_setting_compile_holds_for_what_is_compiled(pack):
    told = SimpleQueue()  # which happens once, when the function is traced

    def seen():
        return [told.get() for _ in range(told.qsize())]

    @ag.jit
    def double(x):
        x = x["x"] if isinstance(x, dict) else x
        told.put(x.node is None)
        return x * 2

    for _ in range(2):
        double(pack(ag.ones(2)))
    assert seen() == [False]
    with ag.config(compile=False):
        assert double(pack(ag.ones(2))).tolist() == [2, 2]
        assert double(pack(ag.ones(3))).tolist() == [2, 2, 2]
    assert seen() == [True, True]
    assert double(pack(ag.ones(2))).tolist() == [2, 2] and seen() == []
    assert len(double.specialisations) == 1


def test_the_setting_compile_holds_for_declared_functions():
    s, v = ag.shared(np.zeros(3)), T.vector("v")
    f = ag.function([v], v * 2 + s, updates={s: s + v})
    for n, compiled in enumerate([True, True, False, False, True, True, False, True]):
        with ag.config(compile=compiled):
            assert f(np.ones(3)).tolist() == [2.0 + n] * 3
    with ag.config(compile=False):
        g = ag.function([v], v * 2)
        assert g([1.0]).tolist() == [2.0]
        with pytest.raises(RuntimeError, match="runs on the interpreter"):
            g.ir()
    for n in (1, 2, 5, 9):
        assert g(np.ones(n)).tolist() == [2.0] * n
    with ag.config(compile=False):
        assert g(np.ones(7)).tolist() == [2.0] * 7
    assert g(np.ones(7)).tolist() == [2.0] * 7


HIDDEN = """
import json, sys, warnings
sys.modules["llvmlite"] = None
sys.path[:0] = {path!r}
from tests.compiler import test_interpreter as tests
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = tests.everything()
told = [str(w.message) for w in caught if "llvmlite" in str(w.message)]
print(json.dumps([found, told]))
"""


def test_llvmlite_is_missing():
    code = HIDDEN.format(path=[p for p in sys.path if p])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found, told = json.loads(done.stdout)
    close(found, everything())
    assert len(told) == 1
    assert told[0].startswith("llvmlite is not installed: compiled functions run on the NumPy")
