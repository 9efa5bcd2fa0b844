"""Products whose number of rows is a run-time value: how rows are cut into tiles."""

import re

import numpy as np
import pytest

import agnesi as ag
from agnesi.codegen.kernels.tiling import OpenRows
from agnesi.core.ir.extents import Extent


@pytest.mark.parametrize("height", range(1, 31))
def test_rows_left_over_are_made_of_each_height_once_at_most(height):
    parts = OpenRows(height, 1, Extent.named("n", 2, 512, height)).parts
    assert list(parts) == sorted(set(parts), reverse=True)
    for rest in range(height):
        taken = [p for p in parts if rest & max(p, 3) == p]
        assert sum(taken) == rest
        assert sum(p <= 3 for p in taken) <= 1


@pytest.mark.parametrize("times", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("height", [5, 8, 10, 12, 16, 20])
def test_rows_that_come_in_multiples_have_the_tiles_that_occur(height, times):
    n = Extent.named("n", 2, 512, height)
    used = set()
    parts = OpenRows(height, 1, n * times).parts
    for rest in {number * times % height for number in range(2, 200)}:
        taken = [p for p in parts if rest & max(p, 3) == p]
        assert sum(taken) == rest
        used.update(taken)
    assert used == set(parts)


def _grown(function, sizes, make):
    f = ag.jit(function)
    for n in sizes:
        f(*make(n))
    assert "n0" in f.specialisations[-1].signature
    return f


def _operands(n, width, columns, turned):
    steps = np.arange(n * width, dtype=np.float32)
    b = np.cos(np.arange(width * columns, dtype=np.float32) * 0.37)
    shape = (columns, width) if turned else (width, columns)
    return ag.tensor(np.sin(steps * 0.7).reshape(n, width)), ag.tensor(b.reshape(shape))


@pytest.mark.share(4)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("width", "columns"), [(48, 40), (70, 10), (7, 33), (256, 64)])
def test_any_number_of_rows(width, columns, turned):
    f = _grown(lambda a, b: ag.maximum(a @ (b.T if turned else b) + 1.0, 0.0), (40, 60),
               lambda n: _operands(n, width, columns, turned))
    for n in [*range(2, 40), 63, 64, 65, 100, 129, 300]:
        a, b = _operands(n, width, columns, turned)
        right = b.array.T if turned else b.array
        np.testing.assert_allclose(
            f(a, b), np.maximum(a.array @ right + 1, 0), rtol=1e-4, atol=1e-4)
    assert len(f.specialisations) == 2


@pytest.mark.parametrize(("turned", "most"), [(False, 3), (True, 5)])
def test_code_for_any_number_of_rows_is_not_much_more(turned, most):
    def tiles(sizes):
        f = ag.jit(lambda a, b: a @ (b.T if turned else b))
        for n in sizes:
            f(*_operands(n, 256, 256, turned))
        return len(re.findall(r"call <16 x float> @llvm.fmuladd", f.ir()))

    # Whole tiles, then 4, 3, 2 and 1 rows, of which low ones have sums in several chains; of
    # turned operands vectors along k for few rows.
    assert tiles((40, 60)) <= most * tiles((60,))


@pytest.mark.share(6)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("rows", "width"), [(256, 256), (33, 70), (500, 784)])
def test_any_number_of_columns(rows, width, turned, threads):
    def operands(n):
        w, x = _operands(rows, width, n, turned)
        return w, x

    with ag.config(threads=threads):
        f = _grown(lambda w, x: (w @ (x.T if turned else x)) * 2.0, (40, 60, 70), operands)
        for n in [*range(2, 44), 63, 64, 65, 100, 129, 300]:
            w, x = operands(n)
            right = x.array.T if turned else x.array
            np.testing.assert_allclose(f(w, x), 2.0 * (w.array @ right), rtol=1e-3, atol=1e-3)


@pytest.mark.share(4)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_any_number_of_rows_shared_by_threads(turned, threads):
    with ag.config(threads=threads):
        f = _grown(lambda a, b: a @ (b.T if turned else b), (40, 60),
                   lambda n: _operands(n, 784, 500, turned))
        for n in [*range(2, 44), 95, 96, 97, 98, 129, 300]:
            a, b = _operands(n, 784, 500, turned)
            right = b.array.T if turned else b.array
            np.testing.assert_allclose(f(a, b), a.array @ right, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_products_to_a_sum_of_a_large_result(threads):
    """The gradient to a large matrix: the turned operand goes in strips, in blocks of lines."""
    def operands(n):
        return _operands(n, 1500, 100, False)[0], _operands(n, 100, 100, False)[0]

    with ag.config(threads=threads):
        f = _grown(lambda a, b: a.T @ b, (300, 400), operands)
        for n in (2, 3, 17, 255, 256, 300, 448, 449, 1000):
            a, b = operands(n)
            np.testing.assert_allclose(f(a, b), a.array.T @ b.array, rtol=1e-3, atol=1e-2)
