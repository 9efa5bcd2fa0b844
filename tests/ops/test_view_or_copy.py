"""Whether a result is a view or a copy: NumPy's answer, eagerly and compiled, seen by changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agnesi as ag

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


@settings(deadline=None, max_examples=60)
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
