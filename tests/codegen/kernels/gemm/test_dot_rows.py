"""With `short_epilogues`, tiles along k are summed up in a loop over their rows: less code."""

import re

import numpy as np
import pytest

import agnesi as ag


def operands(m, n, k, dtype="float32"):
    rng = np.random.default_rng(m + n + k)
    return [ag.tensor(rng.standard_normal(s).astype(dtype)) for s in ((m, k), (n, k), (n,))]


def layer(x, w, b):
    return ag.tanh(x @ w.T + b)


def text(function):
    return function.specialisations[-1].compiled.recipe.text


@pytest.mark.share(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(40, 500, 784), (33, 52, 797), (5, 300, 900), (62, 3, 8000)])
def test_values_are_those_of_numpy(sizes, dtype):
    x, w, b = operands(*sizes, dtype)
    found = ag.jit(layer, optimizer="fast_compile")(x, w, b)
    expected = np.tanh(x.numpy().astype("float64") @ w.numpy().T + b.numpy())
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4 if dtype == "float32" else 1e-10)


def test_rows_whose_number_comes_with_the_call():
    f = ag.jit(layer, optimizer="fast_compile")
    for m in (60, 61, 59, 7, 1, 63):
        x, w, b = operands(m, 50, 784)
        np.testing.assert_allclose(f(x, w, b), np.tanh(x.numpy() @ w.numpy().T + b.numpy()),
                                   atol=1e-4)
    assert len(f.specialisations) < 4


def test_there_is_less_code():
    args = operands(8, 500, 784)
    small, fast = ag.jit(layer, optimizer="fast_compile"), ag.jit(layer)
    np.testing.assert_allclose(small(*args).numpy(), fast(*args).numpy(), atol=1e-5)
    shuffles, others = (len(re.findall("shufflevector", text(f))) for f in (small, fast))
    assert shuffles <= others / 2


@pytest.mark.parametrize(("rows", "called"), [(40, False), (60, True)])
def test_the_library_does_what_has_many_rows(rows, called):
    args = operands(rows, 500, 784)
    small = ag.jit(layer, optimizer="fast_compile")
    np.testing.assert_allclose(small(*args), layer(*args), atol=1e-4)
    assert ("gemm" in text(small)) is called
