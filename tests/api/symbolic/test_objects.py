"""Objects and strings as symbolic variables: T3, F6 and F15 of the mission."""

from __future__ import annotations

import types

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.compiler import objects

WORDS = np.array(["b", "a", "c", "a"])


def test_an_object_goes_through_a_graph_unchanged():
    o, x = T.generic("o"), T.dscalar("x")
    held = {"rate": 0.5}
    f = ag.function([o, x], {"o": o, "scaled": T.value_of(o["rate"]) * x}, name="f")
    assert f(held, 4.0)["o"] is held and f(x=4.0, o=held)["scaled"] == 2.0
    assert f.name == "f" and "callback" in str(f.graph)
    assert not objects._OBJECTS


def test_attributes_items_calls_and_comparisons_of_objects():
    o, x, i = T.generic("o"), T.dscalar("x"), T.lscalar("i")
    scale, rows, apply = (o.attr(name) for name in ("scale", "rows", "apply"))
    f = ag.function([o, x, i], [
        scale, rows[i], rows[i:], apply(x, times=scale), T.value_of(apply(x + 1)), scale == 3,
        scale != i, T.value_of(rows, "int64", (None,)).sum(), o.attr("rows.__len__")()])
    found = f(types.SimpleNamespace(
        scale=3, rows=[5, 6], apply=lambda v, times=1: float(v) * times),
        2.0, 1)
    assert found[:4] == (3, 6, [6], 6.0)
    assert [v.tolist() for v in found[4:8]] == [3.0, True, True, 11] and found[8] == 2
    with pytest.raises(AttributeError, match="no attribute"):
        f(object(), 2.0, 1)
    with pytest.raises(TypeError, match="no truth before the call"):
        bool(o)
    with pytest.raises(TypeError, match="cannot be iterated over"):
        list(o)
    with pytest.raises(AttributeError, match=r"write o\.attr\('scale'\)"):
        _ = o.scale


def test_strings_are_indexed_joined_compared_and_numbered():
    s, t, i = T.strings("s"), T.strings("t"), T.iscalar("i")
    f = ag.function([s, t, i], [
        s[0], s[i], s[1:], s[s == "a"], s[ag.tensor([0, 0])], s.concatenate(t), s + t, "<" + s,
        s < t, s != t, s.map_ids(["a", "b"], default=-1), T.sum(s == "a"), s.shape[0] * 2])
    for a in (WORDS, WORDS[:1], WORDS.astype(object), np.repeat(WORDS, 3)):
        b = a[::-1].copy()
        found = f(a, b, 0)
        joined, longer = (np.array([x + y for x, y in zip(p, q, strict=True)])
                          for p, q in ((a, b), (["<"] * len(a), a)))
        ids = [{"a": 0, "b": 1}.get(w, -1) for w in a]
        expected = (a[0], a[0], a[1:], a[a == "a"], a[[0, 0]], np.concatenate([a, b]), joined,
                    longer, a < b, a != b, ids, (a == "a").sum(), 2 * len(a))
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    matrix = T.strings("m", ndim=2)
    rows = np.array([["a", "b"], ["c", "a"]])
    found = ag.function([matrix], [matrix[:, 0], matrix.map_ids({"a": 7, "b": 8, "c": 9})])(rows)
    assert found[0].tolist() == ["a", "c"] and found[1].tolist() == [[7, 8], [9, 7]]


def test_embeddings_of_words_learn():
    s = T.strings("s")
    w = ag.shared(np.arange(6.0).reshape(3, 2))
    loss = T.sum(w[s.map_ids({"a": 0, "b": 1}, default=2)] ** 2)
    step = ag.function([s], loss, updates={w: w - 0.25 * T.grad(loss, w)})
    assert step(["a", "x"]) == 42.0
    assert w.get_value().tolist() == [[0, 0.5], [2, 3], [2, 2.5]]
    assert step(["b", "b", "b"]) == 39.0


def test_wrong_objects_are_told_with_the_input_and_the_line():
    s = T.strings("s")
    f = ag.function([s], s.map_ids(["a"]))
    for value, text in [([1, 2], r"input s of function takes strings or objects, not int64\[2\]"),
                        ("a", r"input s of function is 1-dimensional; an array of shape \(\)"),
                        ([["a"]], r"an array of shape \(1, 1\) does not fit")]:
        with pytest.raises(TypeError, match=rf"(?s){text}.*test_objects.py"):
            f(value)
    with pytest.raises(ValueError, match="'q' is not among the 1 words"):
        f(["q"])
    with pytest.raises(TypeError, match="strings are compared with strings, not 3"):
        _ = s == 3
    assert not objects._OBJECTS
