"""Whether a result is a view or a copy: NumPy's answer, eagerly and compiled, seen by changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag
from tests.share import EVERY

#: Steps that look into memory or copy, alike for arrays and tensors; the shape is (2, 3, 4) first.
STEPS: dict[str, Any] = {
    "reshape": lambda m, x: m.reshape(x, (-1,)),
    "two axes": lambda m, x: m.reshape(x, (x.shape[-1], -1)),
    "transpose": lambda m, x: m.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "swap": lambda m, x: m.moveaxis(x, 0, -1),
    "reversed": lambda m, x: x[::-1],
    "every other": lambda m, x: x[..., ::2],
    "tail": lambda m, x: x[1:] if x.shape[0] > 1 else x,
    "expand": lambda m, x: m.expand_dims(x, 0),
    "squeeze": lambda m, x: m.squeeze(x),
    "same dtype": lambda m, x: m.astype(x, x.dtype, copy=False),
    "asarray": lambda m, x: m.asarray(x),
    "real": lambda m, x: m.real(x),
    "product": lambda m, x: x.reshape((-1,)) * 2,
    "ravel": lambda m, x: m.ravel(x),
    # computed: elementwise results lie in memory as their operands do
    "twice": lambda m, x: x * 2,
    "with rows": lambda m, x: x + m.reshape(m.arange(x.size, dtype="float32"), x.shape),
    "with columns": lambda m, x: x * turned(m, m.reshape(m.arange(x.size, dtype="float32"),
                                                         x.shape[::-1])),
    "with one row": lambda m, x: x - m.arange(x.shape[-1], dtype="float32"),
    "choice": lambda m, x: m.where(x > 5, x, -x),
    "other dtype": lambda m, x: m.astype(m.astype(x, "float64"), "float32"),
    "spread": lambda m, x: m.broadcast_to(x, (2, *x.shape)) + 1,
}


def turned(m: Any, x: Any) -> Any:
    return m.permute_dims(x, tuple(range(x.ndim))[::-1])


#: Steps whose results always lie in row-major order, unlike some of NumPy's.
OURS: dict[str, Any] = {
    "sum": lambda x: x.sum(0, keepdims=True),
    "mean": lambda x: x.mean(-1) if x.ndim > 1 else x,
    "running": lambda x: ag.cumsum(x, 0),
    "sorted": lambda x: ag.sort(x, -1),
    "softmax": lambda x: ag.softmax(x, -1),
    "joined": lambda x: ag.concatenate([x, x]),
    "rows": lambda x: x[[0, -1]],
    "picked": lambda x: ag.expand_dims(x[ag.asarray(0)], 0),
    "below": lambda x: ag.tril(x) if x.ndim > 1 else x,
    "diagonal": lambda x: ag.diagonal(x) if x.ndim > 1 else x,
    "flip": lambda x: ag.flip(x),
    "imaginary": lambda x: ag.imag(x * 1j),
    "ones": lambda x: ag.ones_like(x),
}
#: How the argument lies in memory.
LAYOUTS: dict[str, Any] = {
    "rows": lambda a: a.copy(),
    "columns": lambda a: a.copy(order="F"),
    "steps": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "turned": lambda a: a.transpose(1, 2, 0).copy().transpose(2, 0, 1),
}


def program(m: Any, names: list[str], when: int) -> Any:
    """A chain of steps on ``x``; what one of them gives is changed before the others are taken."""
    def run(x: Any) -> Any:
        seen = [x]
        for i, name in enumerate(names):
            seen.append(STEPS[name](m, seen[-1]))
            if i == when:
                seen[-1][...] = seen[-1] + 100
                seen[i // 2][...] = seen[i // 2] * 3
        return tuple(v * 1 for v in seen)

    return run


@settings(deadline=None, max_examples=100 if EVERY else 30)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4), st.data(),
       st.sampled_from(sorted(LAYOUTS)))
def test_changes_show_where_numpy_shows_them(names: list[str], data: Any, layout: str) -> None:
    when = data.draw(st.integers(0, len(names) - 1))
    array = np.arange(24.0, dtype="float32").reshape(2, 3, 4)
    expected_x = LAYOUTS[layout](array)
    expected = program(np, names, when)(expected_x)
    for way in (lambda f: f, ag.jit):
        x = ag.asarray(LAYOUTS[layout](array), copy=False)
        found = way(program(ag, names, when))(x)
        np.testing.assert_array_equal(x, expected_x)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@settings(deadline=None, max_examples=100 if EVERY else 30)
@given(st.lists(st.sampled_from(sorted(OURS) + sorted(STEPS)), min_size=1, max_size=4), st.data(),
       st.sampled_from(["reshape", "ravel", "two axes"]), st.sampled_from(sorted(LAYOUTS)))
def test_changes_show_in_compiled_functions_where_they_do_eagerly(
        names: list[str], data: Any, last: str, layout: str) -> None:
    names = [*names, last]
    when = data.draw(st.integers(0, len(names) - 1))
    earlier = data.draw(st.integers(0, when + 1))

    def run(x: Any) -> Any:
        seen = [x]
        for i, name in enumerate(names):
            seen.append(OURS[name](seen[-1]) if name in OURS else STEPS[name](ag, seen[-1]))
            if i == when:
                seen[-1][..., 0] = 100
                seen[-1][...] += 7
                seen[earlier][...] = seen[earlier] * 3
        return tuple(v * 1 for v in seen)

    found = []
    for way in (run, ag.jit(run)):
        array = LAYOUTS[layout](np.arange(24.0, dtype="float32").reshape(2, 3, 4))
        try:
            found.append((*way(ag.asarray(array, copy=False)), array))
        except ValueError as error:  # diagonals are read-only
            assert "read-only" in str(error)
            found.append(())
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("side", [3, 300])
def test_a_flat_look_at_what_was_computed_from_columns_is_a_copy(side: int) -> None:
    """Whatever its size: large results come from a pool."""
    def run(x: Any) -> Any:
        t = x.T * 2
        y = t.reshape(-1)
        y[0] = 100
        y += 1
        return t, y

    for way in (run, ag.jit(run)):
        t, y = way(ag.zeros((2, side, side))[0])
        assert not t.any() and y[:2].tolist() == [101, 1]


def added_to_a_flat_copy(x: Any) -> Any:
    y = ag.reshape(x, (-1,))
    y += 100
    return y


@pytest.mark.parametrize("layouts", [("rows", "columns"), ("columns", "rows")])
def test_one_function_for_arguments_of_several_layouts(layouts: tuple[str, str]) -> None:
    compiled = ag.jit(added_to_a_flat_copy)
    for layout in layouts * 2:
        x = ag.asarray(LAYOUTS[layout](np.ones((2, 3, 4))), copy=False)
        assert compiled(x).tolist() == [101] * 24
        assert float(x[0, 0, 0]) == (101 if layout == "rows" else 1)


def test_contiguous_copies_what_is_not() -> None:
    def run(x: Any) -> Any:
        y = x.contiguous()
        y += 1
        return y.is_contiguous(), y

    for layout in LAYOUTS:
        for way in (run, ag.jit(run)):
            x = ag.asarray(LAYOUTS[layout](np.zeros((2, 3, 4))), copy=False)
            assert way(x)[0] and float(x[0, 0, 0]) == (layout == "rows")
            x = ag.zeros((2, 3))
            assert way(x.T)[1].tolist() == [[1, 1]] * 3 and not x.any()


@pytest.mark.parametrize("key", [[0, -1], ag.tensor([True, True]), ag.tensor([0, 1])])
def test_picked_rows_lie_in_order_whatever_their_source(key: Any) -> None:
    """A flat view of them is one, eagerly and compiled."""
    def run(x: Any) -> Any:
        y = x[key]
        y.reshape(-1)[0] = 100
        return y * 1

    array = np.arange(24.0).reshape(2, 3, 4).copy(order="F")
    for way in (run, ag.jit(run)):
        assert way(ag.asarray(array, copy=False))[0, 0, 0] == 100
