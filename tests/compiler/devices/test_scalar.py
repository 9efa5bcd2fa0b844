"""The scalar target: one lane, one thread, loops in the place of tiles; a reference."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn
from agnesi.core.backend import BACKENDS
from agnesi.core.ir.kernels import Convolution, Product, nested
from agnesi.testing.samples import cases
from tests.share import share

pytest.importorskip("llvmlite")

CASES = dict(cases())
#: Types of vectors, and what runs on several threads.
VECTORS = re.compile(r"<\d+ x [^>]*>")


def compiled(function, *args):
    """The results on the scalar target, and the code."""
    with ag.config(target="scalar", cache=False):
        fast = ag.jit(function)
        result = fast(*args)
    (versions,) = fast.versions._made.values()
    return result, versions[-1].compiled


def check_scalar(made):
    """No vectors, no tiles, no threads."""
    assert VECTORS.findall(made.recipe.text) == []
    kernels = list(nested(made.scheduled.layout.kernels))
    assert not any(isinstance(k, Product | Convolution) for k in kernels)
    assert not any(step.parallel for step in made.scheduled.steps)


@pytest.mark.share(8)
@pytest.mark.parametrize("name", share(CASES, 12, "scalar"))
def test_operations(name):
    case = CASES[name]
    operands = [ag.asarray(a) for a in case.samples[0]]
    with ag.config(compile=False):
        expected = case.function(*operands)
    result, made = compiled(case.function, *operands)
    assert result.dtype == expected.dtype
    close = {"rtol": 1e-9, "atol": 1e-9} if result.dtype.itemsize >= 8 else {"rtol": 1e-4}
    np.testing.assert_allclose(result.numpy().astype(complex), expected.numpy().astype(complex),
                               **close)
    check_scalar(made)


def network():
    ag.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(80, 7), nn.LogSoftmax(dim=-1))


def step(target):
    """The loss and the gradients of a network, compiled for a target."""
    model, x = network(), np.random.default_rng(1).standard_normal((4, 3, 8, 8)).astype("f")
    labels = np.array([0, 3, 6, 2])

    def loss(x):
        value = -model(x)[ag.arange(4), labels].mean()
        value.backward()
        return value

    with ag.config(target=target, cache=False):
        value = ag.jit(loss)(x)
    return [value.numpy(), *(p.grad.numpy() for p in model.parameters())]


def test_a_network_is_as_on_the_native_target():
    for one, other in zip(step("scalar"), step("native"), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_loops_sizes_and_states_are_as_on_the_native_target():
    def rows(x, n):
        total = ag.zeros(x.shape[1:])
        for k in range(3):
            total = total + x[k % n] * k
        return ag.scan(lambda c, v: (c * 0.5 + v, c.sum()), total, x)

    x = ag.tensor(np.arange(35.0).reshape(7, 5))
    with ag.config(target="scalar", cache=False):
        fast = ag.jit(rows)
        for n in (7, 6, 5):  # the second version takes the size at run time
            for got, want in zip(fast(x[:n], 2), rows(x[:n], 2), strict=True):
                np.testing.assert_allclose(got.numpy(), want.numpy())


@pytest.mark.native_plans
def test_the_target_belongs_to_the_key():
    backends = [BACKENDS[name]() for name in ("native", "scalar")]
    assert len({b.key() for b in backends}) == 2
    x, f = ag.tensor([1.0, 2.0]), lambda x: ag.exp(x).sum()
    _, scalar = compiled(f, x)
    with ag.config(cache=False):
        native = ag.jit(f)
        native(x)
    ((version,),) = native.versions._made.values()
    assert scalar._cache_name() != version.compiled._cache_name()
    assert scalar.recipe.key != version.compiled.recipe.key


def test_the_environment_chooses_it():
    code = ("import agnesi as ag; f = ag.jit(lambda x: (x @ x).sum()); f(ag.ones((9, 9)));"
            "print(ag.config.target, f.plan())")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                         env={**os.environ, "AGNESI_TARGET": "scalar"})
    assert run.stdout.startswith("scalar") and "product" not in run.stdout


def test_there_is_no_other():
    with pytest.raises(ValueError, match=r"config.target must be one of \('native', 'scalar'\)"):
        ag.config(target="vector")
