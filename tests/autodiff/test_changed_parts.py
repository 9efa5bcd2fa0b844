"""Changes in place of one part of a memory leave the rest of it readable for gradients."""

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.storage import changes


class Assign(ag.autograd.Function):
    """As adaptive solvers fill the table of their stages."""

    @staticmethod
    def forward(ctx, table, value, index):
        ctx.index = index
        table.data[index] = value
        return table

    @staticmethod
    def backward(ctx, g):
        return g, g[ctx.index], None


def stages(a, y, assign):
    """A step of an explicit Runge-Kutta method, whose stages are filled in or joined."""
    table = [ag.tanh(y @ a)] if assign is None else assign(
        ag.empty(*y.shape, 4, dtype=y.dtype), ag.tanh(y @ a), (..., 0))
    for i in range(3):
        known = ag.stack(table, -1) if assign is None else table[..., : i + 1]
        stage = ag.tanh((y + (known * ag.arange(1.0, i + 2.0, dtype=y.dtype)).sum(-1)) @ a)
        if assign is None:
            table.append(stage)
        else:
            table = assign(table, stage, (..., i + 1))
    return ((ag.stack(table, -1) if assign is None else table) ** 2).sum()


def test_stages_of_a_solver_fill_a_table_whose_first_columns_gradients_read():
    slopes, found = np.random.default_rng(0).standard_normal((2, 2)), []
    for assign in (Assign.apply, None):
        a = ag.array(slopes).requires_grad_()
        y = ag.array(np.arange(6.0).reshape(3, 2))
        for _ in range(2):
            stages(a, y, assign).backward()
        found.append(a.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-12)


WRITES = [
    lambda b: b.__setitem__((slice(None), 1), 5.0),
    lambda b: b.__setitem__((0, 2), 5.0),
    lambda b: b.__setitem__((..., 3), ag.ones(2)),
    lambda b: [b.__setitem__((slice(None), 1 + i % 3), 5.0) for i in range(20)],
]


@pytest.mark.parametrize("write", WRITES)
def test_writes_beside_a_column_leave_it_readable_and_writes_into_it_are_an_error(write):
    for into, column in ((False, 0), (True, 1), (True, 2), (True, 3)):
        w, b = ag.ones(2, requires_grad=True), ag.ones(2, 4)
        read = b[:, column]
        loss = (read * w).sum()
        before = b.numpy().copy()
        write(b)
        if into and not np.array_equal(before[:, column], b.numpy()[:, column]):
            with pytest.raises(ag.GradientError, match="in place afterwards"):
                loss.backward()
        elif not into:
            loss.backward()
            np.testing.assert_array_equal(w.grad.numpy(), np.ones(2))


def test_a_change_of_everything_among_changes_of_parts_is_an_error():
    for whole in (lambda b: b.fill_(2.0), ag.jit(lambda b: b.mul_(2.0)), lambda b: b.data.zero_()):
        w, b = ag.ones(2, requires_grad=True), ag.ones(2, 4)
        loss = (b[:, 0] * w).sum()
        b[:, 1] = 3.0
        whole(b)
        b[:, 2] = 3.0
        with pytest.raises(ag.GradientError, match="in place afterwards"):
            loss.backward()


def test_only_the_last_changes_are_known():
    w, b = ag.ones(2, requires_grad=True), ag.ones(2, 4)
    loss = (b[:, 0] * w).sum()
    for _ in range(changes._MOST_CHANGES + 1):
        b[:, 1] = 3.0
    assert len(b._version[1].parts) == changes._MOST_CHANGES
    with pytest.raises(ag.GradientError, match="in place afterwards"):
        loss.backward()


def test_views_of_a_view_that_becomes_constant_have_no_gradient():
    def f(x):
        x = x * 1.0
        row = x[1]
        part = row[1:]
        row[...] = 7.0
        assert not part.requires_grad
        return (part * part).sum() + (x * x).sum()

    x = ag.tensor(np.arange(6.0).reshape(2, 3))
    found = ag.grad(f)(x)
    assert not found.requires_grad
    np.testing.assert_array_equal(found, [[0.0, 2.0, 4.0], [0.0, 0.0, 0.0]])
