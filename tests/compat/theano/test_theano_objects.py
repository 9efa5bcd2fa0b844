"""Python's objects and lists of arrays as variables, in Theano's words."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano import typed_list

ONES, THREE = np.ones(2), np.arange(3.0)


def test_an_object_goes_through_a_function_unchanged():
    o, x = theano.generic("o"), T.dvector("x")
    held = {"rate": 0.5}
    for value in (held, [1, 2], None, ()):
        assert theano.function([o], o)(value) is value
    same, double = theano.function([o, x], [o, x * 2])(held, ONES)
    assert same is held and double.tolist() == [2, 2]
    with pytest.raises(TypeError, match="takes no value before the call"):
        theano.function([theano.In(o, value=held)], o)
    found = theano.function([o, theano.In(x, name="v")], {"o": o, "x": x})(v=ONES, o=held)
    assert found["o"] is held and found["x"].tolist() == [1, 1]


def test_lists_of_arrays():
    kind = typed_list.TypedListType(T.dvector)
    assert kind == typed_list.TypedListType(T.dvector("x").type) and "vector" in repr(kind)
    a, b, x, i = kind("a"), kind("b"), T.dvector("x"), T.lscalar("i")
    f = theano.function([a, b, x, i], [
        a, a.append(x), a.extend(b), a.insert(i, x), a.remove(a[0]), a.reverse(), a[i:],
        typed_list.make_list([x, x * 2])])
    found = f([ONES, THREE], [THREE], ONES * 5, 1)
    wanted = [[ONES, THREE], [ONES, THREE, ONES * 5], [ONES, THREE, THREE],
              [ONES, ONES * 5, THREE], [THREE], [THREE, ONES], [THREE], [ONES * 5, ONES * 10]]
    for mine, theirs in zip(found, wanted, strict=True):
        assert [v.tolist() for v in mine] == [v.tolist() for v in theirs]
    g = theano.function([a, x, i], [typed_list.length(a) + 1, a.count(x), a.ind(x), a[i] * 2,
                                    typed_list.make_list([x])[0].sum()])
    assert [v.tolist() for v in g([THREE, ONES, ONES], ONES, 0)] == [4, 2, 1, [0, 2, 4], 2]


def test_lists_are_of_one_type():
    kind = typed_list.TypedListType(T.dvector)
    a, x = kind("a"), T.dvector("x")
    with pytest.raises(TypeError, match="the list is of"):
        a.append(T.dmatrix())
    f = theano.function([a], a)
    for wrong, text in (([np.ones((2, 2))], r"input a of .* is no"), (ONES, "a list of arrays")):
        with pytest.raises(TypeError, match=text):
            f(wrong)
    with pytest.raises(ValueError, match="no entry of the list is equal"):
        theano.function([a, x], a.ind(x))([ONES], THREE)
    with pytest.raises(IndexError, match="out of range"):
        theano.function([a], a[3])([ONES])
    with pytest.raises(TypeError, match="without objects among its inputs"):
        theano.function([x], typed_list.length(typed_list.make_list([x])))(ONES)


def test_updates_and_givens_may_be_iterators():
    s, x = theano.shared(np.zeros(2)), T.dvector("x")
    f = theano.function([x], x * 1, updates=zip([s], [s + 1], strict=True),
                        givens=zip([x], [x * 2], strict=True))
    assert f(ONES).tolist() == [2, 2] and f.copy()(ONES).tolist() == [2, 2]
    assert s.get_value().tolist() == [2, 2]


def test_a_variable_is_found_among_arrays():
    x = T.dvector("x")
    assert x in [ONES, x] and [THREE, ONES, x].index(x) == 2
    for array in (THREE, np.float64(1)):
        assert array != x and (array == x) is False


def test_typed_lists_are_non_sequences():
    rows, v, n = typed_list.TypedListType(T.dvector)("rows"), T.dvector("v"), T.lscalar("n")
    sums, _ = theano.scan(lambda i, total, xs, w: total + (xs[i] * w[0]).sum(),
                          sequences=T.arange(typed_list.length(rows)), outputs_info=n * 1.0,
                          non_sequences=[rows, v])
    last, _ = theano.reduce(lambda i, total, w, xs: total + (xs[i] * w[0]).sum(),
                            T.arange(typed_list.length(rows)), n * 1.0, [v, rows])
    f = theano.function([rows, v, n], [sums, last, T.grad(last, v)])
    found = f([np.ones(2), np.arange(3.0)], [2.0, 5.0], 1)
    assert [x.tolist() for x in found] == [[5, 11], 11, [5, 0]]
