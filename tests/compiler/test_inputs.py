"""Inputs of ag.function: defaults, what they become, names, and inputs that nothing needs."""

import pickle

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T


def test_inputs_remember_what_they_become():
    x, s = T.scalars("x", "s")
    f = ag.function([x, ag.In(s, value=1, update=s + x)], s * 10 + x)
    assert [f(1.0), f(2.0), f(x=1.0)] == [11, 22, 41] and f["s"] == f[s] == f[1] == 5
    assert f(1.0, 100.0) == 1001 and f[s] == 101  # a value that is given comes first
    f[s] = 3
    assert f(0.0, s=7) == 70 and f(0.0) == 70
    again = pickle.loads(pickle.dumps(f))
    assert again(1.0) == 71 == f(1.0) and again["s"] == 8
    with pytest.raises(KeyError, match="x has no value between calls"):
        f["x"]
    with pytest.raises(KeyError, match="no input 'z'"):
        f["z"]


def test_remembered_inputs_stand_anywhere():
    s, t, v = T.scalar("s"), T.vector("t"), T.vector("v")
    f = ag.function([ag.In(s, value=1, update=s + v.sum()), v, ag.In(t, value=[0.0], update=v)],
                    s * v + t.sum())
    assert f(v=[1.0]).tolist() == [1] and f(v=[2.0]).tolist() == [5]
    assert f(3.0, [1.0]).tolist() == [5] and f["s"] == 4
    assert f(3.0, [1.0, 2.0], [10.0]).tolist() == [13, 16] and f["t"].tolist() == [1, 2]
    np.testing.assert_array_equal(f(v=[1.0, 1.0]), [9, 9])


def test_defaults_are_for_calls_without_a_value():
    x, s, w = T.vector("x"), T.scalar("s"), ag.shared(5.0)
    f = ag.function([x, ag.In(s, 2.5, name="factor")], s * x)
    assert [f([1.0])[0], f([1.0], 3)[0], f([1.0], factor=4)[0], f([1.0])[0]] == [2.5, 3, 4, 2.5]
    f["factor"] = 8
    assert f([1.0])[0] == 8 and f["factor"] == 8
    g = ag.function([x, ag.In(s, value=w)], s * x)
    assert g([1.0])[0] == 5
    w.set_value(6.0)
    assert g([1.0])[0] == 6 and g([1.0], 2.0)[0] == 2
    with pytest.raises(ag.DTypeError, match="input s of function"):
        ag.function([ag.In(s, value=1j)], s)
    with pytest.raises(ag.ShapeError, match="0-dimensional"):
        ag.function([ag.In(s, value=np.ones(2))], s)
    with pytest.raises(ValueError, match="no value that begins"):
        ag.In(s, update=s + 1)
    with pytest.raises(TypeError, match="In: variable must be agnesi's Tensor, not 3"):
        ag.In(3)


@pytest.mark.parametrize("name", ["self", "args", "keywords", "a b-c", "class", "1", "ü", ""])
def test_inputs_have_any_name(name):
    x, y = T.vector(name), T.vector("y")
    f = ag.function([x, y], x * 2 + y, name=name or "f")
    for _ in range(2):
        assert f(y=[1.0], **{name: [3.0]}).tolist() == [7]
    assert str(f.graph)


def test_names_that_are_there_twice_go_by_position():
    x, y = T.vector("v"), T.vector("v")
    f = ag.function([x, y], x - y)
    assert f([3.0], [1.0]).tolist() == f([3.0], v=[1.0]).tolist() == [2]
    with pytest.raises(TypeError, match="2 inputs of the name 'v'"):
        f(v=[1.0])


def test_inputs_that_nothing_needs():
    x, y = T.vector("x"), T.vector("y")
    assert ag.function([x, y], x * 2)([1.0], [2.0]).tolist() == [2]
    with pytest.raises(ag.UnusedInputError, match=r"input y: leave it out.*\n  at .*test_inputs"):
        ag.function([x, y], x * 2, on_unused_input="raise")
    with pytest.warns(UserWarning, match="input y"):
        ag.function([x, y], x * 2, on_unused_input="warn")
    with pytest.raises(ValueError, match="on_unused_input must be"):
        ag.function([x], x, on_unused_input="no")
    for used in (x * y.shape[0], ag.zeros(y.shape) + x.sum(), ag.arange(y.shape[0] * 2) + x.sum()):
        f = ag.function([x, y], used, on_unused_input="raise")
        f([1.0, 2.0], [1.0, 2.0])
    n = T.lscalar("n")
    for used in (ag.zeros((n, 2)), T.scan(lambda v: v * 2, outputs_info=x, n_steps=n + 1)[0][-1]):
        ag.function([x, n], [used, x], on_unused_input="raise")([1.0], 3)
    w = ag.shared(0.0)
    ag.function([y], None, updates={w: y.sum()}, on_unused_input="raise")([1.0])


def test_clones_of_values_are_copies_that_know_their_gradients():
    def f(x):
        y = ag.clone(x, memory_format=None)
        y += 1
        return x * y

    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for g in (f, ag.jit(f)):
        assert g(x).tolist() == [2, 6]
        x.grad = None
        g(x).sum().backward()
        assert x.grad.tolist() == [3, 5]
    assert ag.clone(x).requires_grad and x.tolist() == [1, 2]


def test_arrays_in_the_place_of_variables():
    x, i = T.vector("x"), T.ivector("i")
    for value in (np.ones(2), [1.0, 1.0], ag.ones(2, dtype="float64"), np.ones(2, "int8")):
        assert ag.function([], x * 2, givens={x: value})().tolist() == [2, 2]
        assert ag.clone(x * 2, {x: value}).eval().tolist() == [2, 2]
        assert ag.clone([x * 2, x], [(x, value)])[0].eval().tolist() == [2, 2]
    assert ag.clone(i + 1, {i: [1, 2]}).eval().tolist() == [2, 3]
    for wrong in ({"x": 1}, 3):
        with pytest.raises(TypeError, match="clone: replace"):
            ag.clone(x * 2, wrong)
    with pytest.raises(ag.DTypeError, match="dtypes differ"):
        ag.clone(i + 1, {i: [1.5]})


def test_what_is_known_before_the_first_call():
    x, fixed = T.vector("x"), T.vector("x", shape=(3,))
    f = ag.function([x], ag.exp(x) * 2)
    assert "exp(" in str(f.graph) and "0 specialisations" in f.explain()
    g = ag.function([fixed], ag.exp(fixed) * 2)
    assert "exp" in str(g.plan()) + str(g.graph) and "1 specialisation" in g.explain()
    np.testing.assert_allclose(g(np.zeros(3)), [2, 2, 2])
    assert len(g.specialisations) == 1
    for options in ({"exclude": ["nonsense"]}, {"include": ["nonsense"]}):
        with pytest.raises(ValueError, match=r"name or tag 'nonsense'.*\n  at .*test_inputs"):
            ag.function([x], x * 2, **options)
    with pytest.raises(MemoryError, match="memory_limit"):
        ag.function([fixed], ag.exp(fixed).sum(), memory_limit=8)


def test_ends_of_loops_over_rows():
    x, y = T.vector("x"), T.vector("y")
    total, updates = T.reduce(lambda a, so_far: so_far * 10 + a, x, 0.0)
    assert updates == {} and total.eval({x: [1.0, 2.0, 3.0]}) == 123
    assert T.foldr(lambda a, so_far: so_far * 10 + a, x, 0.0)[0].eval({x: [1.0, 2.0, 3.0]}) == 321
    (s, p), _ = T.foldl(lambda a, b, s, p: [s + a, p * b], [x, y], [0.0, 1.0])
    f = ag.function([x, y], [s, p, T.grad(p, y)])
    found = f([1.0, 2.0], [3.0, 4.0])
    assert found[:2] == (3, 12) and found[2].tolist() == [4, 3]
    assert T.foldl(lambda a, s, k: s + k * a, ag.tensor([1.0, 2.0]), 0.0, 10)[0].item() == 30
    assert f([], [])[:2] == (0, 1) and total.eval({x: []}) == 0  # what the loop begins with
    rows, _ = T.reduce(lambda a: a * 2, x, None)
    with pytest.raises(IndexError, match="out of range for axis 0 of size 0"):
        rows.eval({x: []})
