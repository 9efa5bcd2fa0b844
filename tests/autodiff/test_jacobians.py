"""Options of Jacobians: what else a function gives, and rows in parts."""

import pytest

import agnesi as ag

X = ag.tensor([1.0, 2.0, 3.0])


def squares(x):
    return x**2, {"sum": x.sum(), "name": "squares"}


@pytest.mark.parametrize("run", [lambda f: f, ag.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("mode", [ag.jacfwd, ag.jacrev])
def test_what_else_a_function_gives_follows_the_derivatives(mode, run):
    slopes, other = run(lambda x: mode(squares, has_aux=True)(x))(X)
    assert slopes.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    assert float(other["sum"]) == 6 and other["name"] == "squares"
    assert not other["sum"].requires_grad


def test_what_else_a_function_gives_follows_value_and_tangent():
    value, tangent, other = ag.jvp(squares, (X,), (X,), has_aux=True)
    assert value.tolist() == [1, 4, 9] and tangent.tolist() == [2, 8, 18]
    assert float(other["sum"]) == 6
    with pytest.raises(TypeError, match=r"jacrev: .* must return \(value, something else\)"):
        ag.jacrev(lambda x: x, has_aux=True)(X)


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_rows_are_computed_in_parts(size):
    def f(x, y):
        return {"product": ag.outer(x, y), "twice": x * 2}

    some, whole = (ag.tree.leaves(ag.jacrev(f, (0, 1), **options)(X, X + 1))
                   for options in ({"chunk_size": size}, {}))
    assert [a.tolist() for a in some] == [b.tolist() for b in whole]
    again = ag.jacfwd(ag.jacrev(lambda x: x.sum() * x**2, chunk_size=size))(X)
    assert again.tolist() == ag.jacfwd(ag.jacrev(lambda x: x.sum() * x**2))(X).tolist()


def test_a_part_has_a_row():
    with pytest.raises(ValueError, match="chunk_size must be positive, not 0"):
        ag.jacrev(squares, chunk_size=0)
