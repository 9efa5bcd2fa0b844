"""What bodies of loops change in place: values, gradients, and whether it is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agnesi as ag

ROWS = np.arange(10.0).reshape(5, 2)


def counting(b: Any, c: Any, w: Any) -> None:
    with ag.no_grad():
        b += 1


def averaging(b: Any, c: Any, w: Any) -> None:
    b += (c.detach() - b) * 0.5


def nested(b: Any, c: Any, w: Any) -> None:
    ag.scan(lambda d, r: (d, averaging(b, r, w)), 0.0, c.detach()[None, :])


def branching(b: Any, c: Any, w: Any) -> None:
    ag.cond(c.sum() > 3, lambda: averaging(b, c, w), lambda: counting(b, c, w))


def recording(b: Any, c: Any, w: Any) -> None:
    b[...] = b * w + c


CHANGES = {
    "operand": lambda x, b: ag.cond(x[0] > 0, lambda v: v.add_(1), lambda v: v, b),
    "around": lambda x, b: ag.cond(x[0] > 0, lambda: b.add_(1), lambda: b),
    "both": lambda x, b: ag.cond(x[0] > 0, lambda v: (v.add_(1), b * 1)[1], lambda v: v * 1, b),
    "view": lambda x, b: ag.cond(x[0] > 0, lambda v: v[:1].add_(1), lambda v: v[:1], b),
    "twice": lambda x, b: ag.cond(x[0] > 0, lambda v, w: (v.add_(1), w * 1)[1],
                                  lambda v, w: w * 1, b[:1], b),
    "fresh": lambda x, b: ag.cond(x[0] > 0, lambda v: v.add_(1), lambda v: v * 1, b * 2),
    "nested": lambda x, b: ag.cond(x[0] > 0, lambda v: ag.cond(
        v[0] > 0, lambda w: w.add_(1), lambda w: w.mul_(3), v), lambda v: v, b),
    "carry": lambda x, b: ag.scan(lambda c, r: (ag.cond(r > 1, lambda v: v.add_(r), lambda v: v,
                                                        c), r), b, x)[0],
    "around a loop": lambda x, b: ag.scan(lambda c, r: (c, b.add_(r)), 0.0, x)[1],
    "gradient": lambda x, b: ag.grad(lambda b: (ag.cond(
        x[0] > 0, lambda v: v.mul_(v * 1), lambda v: v * 1, b * 1) * 3).sum())(b),
    "size": lambda x, b: ag.cond(x[0] > 0, lambda v, n: v.reshape(n, 1), lambda v, n: -v[:, None],
                                 b, 2),
    "function": lambda x, b: ag.cond(x[0] > 0, lambda v, f: f(v), lambda v, f: -v, b, ag.square),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("f", CHANGES.values(), ids=CHANGES)
def test_operands_of_branches_are_as_what_is_around(f: Callable[..., Any]) -> None:
    for sign in (1.0, -1.0):
        seen = []
        for run in (lambda g: g, ag.jit):
            x, b = ag.tensor([1.0, 2.0, 3.0]) * sign, ag.tensor([1.0, 2.0])
            seen.append([run(f)(x, b).tolist(), x.tolist(), b.tolist()])
        assert seen[0] == seen[1]


@pytest.mark.share(2)
@pytest.mark.parametrize("checkpoint", [True, 1, 2, 5, 7])
@pytest.mark.parametrize("change", [counting, averaging, nested, branching, recording])
def test_checkpoints_leave_states_as_loops_without_leave_them(
    change: Callable[..., None], checkpoint: bool | int
) -> None:
    def run(checkpoint: bool | int) -> Any:
        w = ag.tensor([0.5, -0.25], dtype="float64", requires_grad=True)
        buffer = ag.zeros(2, dtype="float64")

        def step(c, r):
            change(buffer, c, w)
            return c * w + r, (c, r)

        for _ in range(2):
            c, (ys, rows) = ag.scan(step, ROWS[0], ag.tensor(ROWS), checkpoint=checkpoint)
            (c.sum() + ys.sum() + (buffer * w).sum()).backward()
            buffer = buffer.detach().clone()
        flags = [t.requires_grad for t in (c, ys, rows, buffer)]
        return flags, [t.detach().numpy() for t in (c, ys, buffer, w.grad)]

    (flags, values), (expected_flags, expected) = run(checkpoint), run(False)
    assert flags == expected_flags
    for a, b in zip(values, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("checkpoint", [True, 2, 7])
def test_a_computed_tensor_is_changed_on(checkpoint: bool | int) -> None:
    """It has a record before the loop, which goes on behind it."""
    def run(checkpoint: bool | int) -> list[Any]:
        w = ag.tensor([0.5, -0.25], dtype="float64", requires_grad=True)
        h = w * 3

        def step(c, r):
            h[...] = h * 0.5 + c
            return c * w + r + h, h * w

        c, ys = ag.scan(step, ROWS[0], ag.tensor(ROWS), checkpoint=checkpoint)
        (c.sum() + ys.sum() + (h * h).sum()).backward()
        return [c.tolist(), ys.tolist(), h.tolist(), w.grad.tolist()]

    for a, b in zip(run(checkpoint), run(False), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])
def test_views_from_outside_look_again_in_every_step(way: Callable[..., Any]) -> None:
    state = ag.zeros((4, 2), dtype="float64")

    def f(x):
        row = state[1]
        corner = row[:1]

        def step(c, r):
            row.add_(r)
            state[2] = row * 2
            corner.mul_(0.5)
            return c + state.sum(), (state[1:3].sum(), row)

        return *ag.scan(step, 0.0, x), row * 1

    expected, total, rows = np.zeros((4, 2)), 0.0, []
    for r in ROWS:
        expected[1] += r
        expected[2] = expected[1] * 2
        expected[1, 0] *= 0.5
        total += expected.sum()
        rows.append((expected[1:3].sum(), expected[1].copy()))
    total_found, (sums, seen), row = way(f)(ag.tensor(ROWS))
    np.testing.assert_allclose(total_found.item(), total)
    np.testing.assert_allclose(sums.numpy(), [s for s, _ in rows])
    np.testing.assert_allclose(seen.numpy(), [s for _, s in rows])
    np.testing.assert_allclose(row.numpy(), expected[1])
    np.testing.assert_allclose(state.numpy(), expected)


WAYS = pytest.mark.parametrize("way", [lambda f: f, ag.jit], ids=["eager", "jit"])


@WAYS
def test_a_carry_is_not_the_buffer_that_was_returned_for_it(way: Callable[..., Any]) -> None:
    buffer = ag.zeros(2, dtype="float64")

    def step(c, r):
        return buffer.add_(r), c

    def grow(c):
        return c + buffer.mul_(1.5)

    c, ys = way(lambda x: ag.scan(step, x[0], x))(ag.tensor(ROWS))
    sums = np.cumsum(ROWS, 0)
    np.testing.assert_array_equal(ys.numpy(), [ROWS[0], *sums[:-1]])
    buffer.fill_(1.0)
    np.testing.assert_array_equal(c.numpy(), sums[-1])
    found = way(lambda b: ag.while_loop(lambda c: c.sum() < 10, grow, b))(buffer)
    assert found.tolist() == [1 + 1.5 + 1.5**2 + 1.5**3] * 2
    assert buffer.tolist() == [1.5**3] * 2


@WAYS
@pytest.mark.parametrize("checkpoint", [False, 2])
@pytest.mark.parametrize("what", ["row", "sequence", "non-sequence"])
def test_what_a_body_is_given_stays(
    way: Callable[..., Any], what: str, checkpoint: bool | int
) -> None:
    def f(x, w):
        changed = {"row": lambda r, v: r, "sequence": lambda r, v: x[3],
                   "non-sequence": lambda r, v: v}[what]

        def step(c, r, v):
            changed(r, v).mul_(2)
            return c + r * v, None

        return ag.scan(step, 0.0 * x[0], x, non_sequences=(w,), checkpoint=checkpoint)[0]

    with pytest.raises(ag.TraceError, match="scan: the body changes a row or non-sequence in "
                                            "place; change a copy of it"):
        way(f)(ag.tensor(ROWS), ag.tensor([1.0, 2.0], dtype="float64"))


@pytest.mark.share(2)
@WAYS
@pytest.mark.parametrize("how", [
    {"checkpoint": 2}, {"checkpoint": True}, {"truncate_gradient": 2},
    {"truncate_gradient": 3, "checkpoint": 1},
])
def test_numbers_begin_with_the_same_dtype_in_parts_of_a_loop(
    way: Callable[..., Any], how: dict[str, Any]
) -> None:
    def f(x, **how):
        return ag.scan(lambda c, r: ((c[0] + r, c[1] * 2), c), (0, 1), x, **how)

    for x in (ROWS[:, 0], ROWS[:, 0].astype("float32")):
        (c, n), (cs, ns) = way(lambda x: f(x, **how))(ag.tensor(x))
        (expected, _), (rows, _) = f(ag.tensor(x))
        assert c.dtype == cs.dtype == x.dtype and n.dtype == ns.dtype == "int64"
        assert c.item() == expected.item() and cs.tolist() == rows.tolist()
        assert n.item() == 32 and ns.tolist() == [1, 2, 4, 8, 16]


@WAYS
def test_strict_loops_of_as_many_steps_as_a_tensor_tells(way: Callable[..., Any]) -> None:
    w = ag.tensor(2.0)

    def f(x, n):
        return ag.scan(lambda c, _: (c * w, None), x, length=n, strict=True)[0]

    def g(x, n):
        return ag.scan(lambda c, _, w: (c * w, None), x, length=n, non_sequences=(w,),
                       strict=True)[0]

    assert way(g)(ag.tensor(3.0), ag.tensor(2)).item() == 12
    with pytest.raises(ag.TraceError, match=r"strict=True .* also uses w, float32"):
        way(f)(ag.tensor(3.0), ag.tensor(2))
