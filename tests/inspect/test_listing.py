"""Graphs as text and as drawings."""

import pytest

import agnesi as ag
from agnesi import symbolic as T
from agnesi.inspect import listing, pprint, to_dot


def graph():
    x = T.fmatrix("x", shape=("batch", 3))
    w = ag.tensor([[1.0, 2.0]] * 3, name="w")
    return T.exp(x @ w * 2)


def test_a_line_for_each_value():
    lines = listing(graph()).splitlines()
    assert lines[0] == "%0 = input x: float32[batch, 3]"
    assert lines[1] == "%1 = tensor w: float32[3, 2]"
    assert lines[2].startswith("%2 = matmul(%0, %1): float32[batch, 2]  # test_listing.py:")
    assert lines[3].startswith("%3 = constant 2.0: float32[]") or "2.0" in lines[3]
    assert lines[-1] == "return %5"


def test_recorded_runs_and_several_results(capsys):
    w = ag.tensor([1.0, 2.0], requires_grad=True, name="w")
    y = w * w
    pprint([y, y.sum()])
    text = capsys.readouterr().out
    assert text.startswith("%0 = tensor w: float32[2]\n%1 = multiply(%0, %0): float32[2]")
    assert text.endswith("return %1, %2\n")


def test_compiled_functions():
    f = ag.jit(lambda x: x * 2 + 1)
    f(ag.ones(3))
    assert listing(f).startswith("%0 = input") and "return" in listing(f)
    assert listing(f) == listing(f.graph)


def test_drawing():
    dot = to_dot(graph())
    assert dot.count("->") == 5 and dot.startswith("digraph {") and dot.endswith("}")


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="not int"):
        listing(3)


def test_bodies_of_loops_are_shown():
    x = T.fvector("x", shape=(3,))
    total, _ = ag.scan(lambda c, r: (ag.tanh(c + r), None), x[0] * 0, x)
    text = ag.inspect.listing(total)
    assert "    body:\n    %0 = input: float32[]\n    %1 = input: float32[]\n    %2 = add(" in text
    f = ag.function([x], total)
    f([1.0, 2.0, 3.0])
    assert "    body:\n    %0 = input" in str(f.graph)
