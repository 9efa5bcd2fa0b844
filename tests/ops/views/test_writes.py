"""A write into what shares memory with its operand shows there, or raises, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.support.errors import TraceError
from tests.share import share

MODULES = {"": (ag, np), "linalg": (ag.linalg, np.linalg), "fft": (ag.fft, np.fft)}
#: What operands are, and what may follow them.
OPERANDS = {
    "cube": np.arange(24.0).reshape(2, 3, 4),
    "line": np.arange(6.0), "one row": np.arange(4.0).reshape(1, 4),
    "complex": np.arange(6.0).reshape(2, 3) * (1 + 2j),
}
MORE: list[tuple[Any, ...]] = [
    (), (0,), (2,), (0, 1), (1, 0), (0, 0, 1), (0, 1, 2), ((-1,),), ((1, 2, 0),), ((5, 2, 3, 4),),
]
#: They write, ask or count, or give what is no tensor; ``numpy`` and its like leave.
ASIDE = frozenset("""
    print ensure callback copyto put put_along_axis putmask place fill_diagonal numpy data storage
    clear_cache set_num_threads limit_memory keep_memory manual_seed backward zero_grad cleargrad
    seed empty
    checkpoint cond scan while_loop fori_loop map jit vmap grad function apply_along_axis
    frombuffer from_dlpack from_numpy retain_grad unchain_backward requires_grad_ empty_like
""".split())


def forms() -> list[tuple[str, str, str, tuple[Any, ...]]]:
    """Functions and methods, operands and further arguments whose results share memory with
    the operand, here or in NumPy."""
    seen: set[int] = set()
    found: list[tuple[str, str, str, tuple[Any, ...]]] = []
    for module, (ours, theirs) in {**MODULES, "method": (ag.Tensor, np.ndarray)}.items():
        for name in share(sorted(set(dir(ours)) - ASIDE), 3, module):
            f, g = getattr(ours, name, None), getattr(theirs, name, None)
            if name.startswith("_") or name.endswith("_") or not callable(f) or isinstance(f, type):
                continue
            if id(f) in seen:
                continue
            seen.add(id(f))
            every = [(module, name, operand, more) for operand, array in OPERANDS.items()
                     for more in MORE if shares(f, ag.asarray(array.copy()), more) or (
                         callable(g) and takes(f, array, more) and shares(g, array.copy(), more))]
            found += {*every[:1], *every[-1:]}
    return found


def takes(f: Any, array: np.ndarray, more: tuple[Any, ...]) -> bool:
    try:
        return bool(pieces(f(ag.asarray(array.copy()), *more)))
    except Exception:
        return False


def pieces(result: Any) -> list[Any]:
    return [r for r in (result if isinstance(result, (tuple, list)) else [result])
            if isinstance(r, (ag.Tensor, np.ndarray)) and r.size]


def shares(f: Any, x: Any, more: tuple[Any, ...]) -> bool:
    try:
        results = pieces(f(x, *more))
        return any(r is not x and np.shares_memory(np.asarray(r), np.asarray(x)) for r in results)
    except Exception:
        return False


def outcome(way: Any, f: Any, array: np.ndarray, more: tuple[Any, ...]) -> Any:
    """What the operand is after a write into the result, or the error of the write."""
    x = ag.asarray(array.copy())

    def write(x: Any) -> Any:
        result = pieces(f(x, *more))[0]
        result.fill_(77)
        return result * 1

    try:
        way(write)(x)
    except TraceError:
        return None
    except ValueError as error:
        assert "change" in str(error)
        return "an error"
    return x.tolist()


def test_writes_show_in_both_modes_or_are_refused_in_both() -> None:
    wrong, written, refused = [], 0, 0
    for module, name, operand, more in forms():
        f = getattr(ag.Tensor if module == "method" else MODULES[module][0], name)
        array = OPERANDS[operand]
        eager, compiled = (outcome(way, f, array, more) for way in (
            lambda f: f, lambda f: ag.jit(f, optimizer="fast_compile")))
        if compiled is None:
            continue
        if eager != compiled:
            wrong.append((module, name, operand, more, eager, compiled))
        elif eager == "an error":
            refused += 1
        elif eager != array.tolist():
            written += 1
        elif "cop" not in (f.__doc__ or ""):
            wrong.append((module, name, operand, more, "a copy, which nobody says"))
    assert written > 15 and refused > 1
    assert wrong == []


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
@pytest.mark.parametrize("look", [
    lambda x: ag.sliding_window_view(x, 2)[0], lambda x: ag.unfold(x, 0, 2),
    lambda x: ag.broadcast_to(x, (2, *x.shape)),
])
def test_what_is_only_to_be_read_follows_its_base(way: Any, look: Any) -> None:
    def run(x: Any) -> Any:
        y = look(x)
        x += 1
        return y * 1

    x = ag.asarray(np.arange(16.0).reshape(4, 4)) if "slid" not in look.__name__ else ag.ones(4)
    try:
        expected = look(x + 1)
    except Exception:
        x = ag.asarray(np.arange(4.0))
        expected = look(x + 1)
    assert way(run)(x).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="read-only memory"):
        way(lambda x: look(x).fill_(9))(x)


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_view_never_copies(way: Any) -> None:
    x = ag.ones((2, 3))
    way(lambda x: x.view(-1).fill_(9))(x)
    assert x.tolist() == [[9] * 3] * 2
    with pytest.raises(ValueError, match="reshape copies it"):
        way(lambda x: x.T.view(-1))(x)


def test_views_of_strided_arguments_are_refused_as_eagerly():
    f = ag.jit(lambda x: x.view(16) + 1)
    x = ag.tensor(np.arange(16.0).reshape(4, 4))
    assert f(x).tolist() == (x.view(16) + 1).tolist()
    for strided in (x.T, x.T.clone().T, ag.arange(64.0).reshape(8, 8)[::2, ::2]):
        with pytest.raises(ValueError, match="does not lie in memory"):
            f(strided)


@pytest.mark.parametrize("change", [
    lambda y: y.__iadd__(1), lambda y: y.__imul__(ag.arange(2.0)), lambda y: y[1:].__isub__(3),
    lambda y: y.add_(1).__itruediv__(2),
])
def test_elements_of_unknown_number_are_changed_under_all_names(change: Any) -> None:
    def f(x: Any) -> Any:
        y = x[x > 3]
        other, part, change_of = y, y[0], y * 2
        change(y)
        return other, part, change_of, x

    x = ag.arange(6.0)
    for e, c in zip(f(x), ag.jit(f)(x), strict=True):
        assert e.tolist() == c.tolist()

    def g(x: Any) -> Any:
        y = x[x > 3]
        other = y
        change(y)
        return (other * other).sum()

    assert ag.jit(ag.grad(g))(x).tolist() == ag.grad(g)(x).tolist()


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_a_value_that_replaces_all_is_copied(way):
    def f(x, value):
        y = ag.index_put(x, ..., value)
        y += 1
        return y

    value = ag.tensor([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(way(f)(ag.zeros((2, 3)), value), [[2.0, 3.0, 4.0]] * 2)
    np.testing.assert_array_equal(way(f)(ag.zeros(3), value), [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(value, [1.0, 2.0, 3.0])


#: Copies of a view whose base was changed since.
READ = {
    "array": ag.array, "tensor": lambda v: ag.tensor(v, dtype=v.dtype), "copy": ag.copy,
    "astype": lambda v: v.astype("float64"), "part of a list": lambda v: ag.tensor([v, v]),
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
@pytest.mark.parametrize("view", [lambda a: a[1], lambda a: a.T, lambda a: a.reshape(-1)])
def test_a_copy_sees_what_the_base_became(view, read):
    def f(a):
        v = view(a)
        a += 1
        return read(v)

    given = [[1.0, 4.0], [2.0, 3.0]]
    assert ag.jit(f)(ag.tensor(given)).tolist() == f(ag.tensor(given)).tolist()


@pytest.mark.parametrize("way", [lambda f: f, ag.jit])
def test_copies_leave_out_leading_axes_as_assignments_do(way):
    def f(x, y):
        x, z = x * 1, x * 1
        z[...] = y
        return x.copy_(y), z

    for x, y in ((ag.zeros(3), ag.ones((1, 3))), (ag.zeros(()), ag.ones(1))):
        assert all(r.tolist() == ag.ones(r.shape).tolist() for r in way(f)(x, y))
    with pytest.raises(ag.ShapeError, match="broadcast"):
        way(lambda x, y: ag.copy(x).copy_(y))(ag.zeros(3), ag.ones((2, 3)))
