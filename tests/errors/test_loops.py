"""Golden texts of errors of loops: the leaf, both types, the fix, and this file's line.

Each case is written once and run three ways: on values, on symbolic variables, and under jit.
"""

import numpy as np
import pytest

import agnesi as ag
from agnesi import symbolic as T

W = ag.tensor(np.eye(3, dtype="float32"))


def single(c):
    return c


def pair(c, r):
    return c, r


def nothing(*args):
    return args[0], None


CASES = [
    (lambda x: ag.scan(lambda c, r: ({"h": c["h"].sum()}, None), {"h": x[0]}, x), ag.ShapeError,
     "scan: init['h'] begins as float32[3], but the body returns float32[] for it; the shape must "
     "stay: begin with shape (), or change the body"),
    (lambda x: ag.scan(lambda c, r: ((c[0].astype("float64"), c[1]), None), (x[0], 0), x),
     ag.DTypeError,
     "scan: init[0] begins as float32[3], but the body returns float64[3] for it; the dtype must "
     "stay: begin with dtype 'float64', or return .astype('float32')"),
    (lambda x: ag.scan(lambda c, r: ((c, c), None), [x[0]], x), TypeError,
     "scan: the carry begins as [float32[3]], but the body returns ([float32[3]], [float32[3]]); "
     "return the same nest, with the next value of each leaf"),
    (lambda x: ag.scan(lambda c, r: c, x[0], x), TypeError,
     "scan: the body must return (next carry, result of this step), not Tensor; return carry, "
     "None if there is nothing to stack"),
    (lambda x: ag.scan(nothing, (), {"a": x, "b": x[1:]}), ag.ShapeError,
     "scan: the sequences differ in their numbers of rows: xs['a'] float32[4, 3], xs['b'] "
     "float32[3, 3]; cut them"),
    (lambda x: ag.scan(nothing, (), x.sum()), ag.ShapeError,
     "scan: xs is float32[], a scalar without rows; a list is a nest of sequences, "
     "ag.tensor([...]) makes one of its elements"),
    (lambda x: ag.scan(nothing, x), TypeError,
     "scan needs xs to run over, or length, the number of steps"),
    (lambda x: ag.scan(nothing, (), x, 5), ag.ShapeError,
     "scan: length is 5, but the sequences have 4 rows"),
    (lambda x: ag.scan(nothing, x, length=-1), ag.ShapeError,
     "scan: length must not be negative: -1"),
    (lambda x: ag.scan(nothing, "a", x), TypeError,
     "scan: init is 'a'; loops carry tensors, arrays and numbers"),
    (lambda x: ag.scan(nothing, x, x, until=lambda c: c.sum()), TypeError,
     "scan: what until() returns must be a bool scalar, not float32[]; compare numbers (x > 0) "
     "and reduce with .any() or .all()"),
    (lambda x: ag.scan(nothing, x, x, until=lambda c: c.sum() > 0, checkpoint=True), ValueError,
     "scan: until does not go with checkpoint, which must know where the last step is"),
    (lambda x: ag.scan(lambda c, r: (c + r @ W, None), x[0], x, strict=True), ag.TraceError,
     "scan: with strict=True the body may only use what it is given, but it also uses W, "
     "float32[3, 3]; pass it with non_sequences"),
    (lambda x: ag.scan(nothing, x, x, truncate_gradient=-1), ValueError,
     "scan: truncate_gradient must be at least 0, not -1; leave it out for none"),
    (lambda x: ag.scan(nothing, x, x, checkpoint=-2), ValueError,
     "scan: checkpoint must be at least 1, not -2; leave it out for none"),
    (lambda x: ag.scan(nothing, x, x, length=3.0), TypeError,
     "scan: length must be an integer, not 3.0"),
    (lambda x: ag.scan(nothing, x, x, non_sequences=W), TypeError,
     "scan: non_sequences must be a tuple, as (w,) is one, not float32[3, 3]"),
    (lambda x: ag.scan(nothing, x, x, unroll=2), TypeError,
     "scan() got an unexpected keyword argument 'unroll'; use nothing: the compiler sees to it"),
    (lambda x: ag.scan(single, x, x), TypeError,
     "scan: single() takes 1 positional argument but 2 were given; it is called as f(carry, x, "
     "*non_sequences)"),
    (lambda x: ag.map(pair, x), TypeError,
     "map: pair() missing 1 required positional argument: 'r'; it is called as f(x)"),
    (lambda x: ag.while_loop(pair, single, (x, x)), TypeError,
     "while_loop: pair() missing 1 required positional argument: 'r'; it is called as "
     "condition(carry): a nest is one argument"),
    (lambda x: ag.cond(x.sum() > 0, x, x), TypeError,
     "cond: then must be a function (lambda: x gives a value, ag.where chooses between two), not "
     "float32[4, 3]; the order is cond(condition, then, otherwise, *operands)"),
    (lambda x: ag.fori_loop(0, x.sum(), nothing, x), TypeError,
     "fori_loop: upper must be an integer scalar, not float32[]"),
    (lambda x: ag.fori_loop(0, 2.5, nothing, x), TypeError,
     "fori_loop: upper must be an integer, not 2.5"),
    (lambda x: ag.fori_loop(0, 3, lambda i, c: c[0], x), ag.ShapeError,
     "fori_loop: init begins as float32[4, 3], but the body returns float32[3] for it; the shape "
     "must stay: begin with shape (3,), or change the body"),
    (lambda x: ag.while_loop(lambda c: c > 2, lambda c: c, x), TypeError,
     "while_loop: the condition must be a bool scalar, not bool[4, 3]; compare numbers (x > 0) "
     "and reduce with .any() or .all()"),
    (lambda x: ag.while_loop(lambda c: c.sum() >= 0, lambda c: c[0], x), ag.ShapeError,
     "while_loop: init begins as float32[4, 3], but the body returns float32[3] for it; the shape "
     "must stay: begin with shape (3,), or change the body"),
    (lambda x: ag.cond(x, lambda: x, lambda: x), TypeError,
     "cond: the condition must be a bool scalar, not float32[4, 3]; compare numbers (x > 0) and "
     "reduce with .any() or .all()"),
]
#: Those that show only where both branches are looked at, or nothing has a value.
TRACED = [
    (lambda x: ag.cond(x.sum() > 0, lambda: (x, x), lambda: (x, x[0])), ag.ShapeError,
     "cond: the result[1] is float32[4, 3] from the first branch, but float32[3] from the second; "
     "both must be of one type: convert one of them"),
    (lambda x: ag.cond(x.sum() > 0, lambda: x, lambda: x.astype("float64")), ag.DTypeError,
     "cond: the result is float32[4, 3] from the first branch, but float64[4, 3] from the second; "
     "both must be of one type: convert one of them"),
    (lambda x: ag.cond(x.sum() > 0, lambda: {"a": x}, lambda: {"b": x}), TypeError,
     "cond: the branches return different nests: result['a'], but result['b']"),
    (lambda x: ag.scan(lambda c, r: (c, r.add_(1)), x[0], x), ag.TraceError,
     "scan: the body changes a row or non-sequence in place; change a copy of it"),
    (lambda x: ag.while_loop(lambda c: c.add_(1).sum() < 0, lambda c: c, x), ag.TraceError,
     "while_loop: the condition changes tensors in place, or prints, calls back or communicates; "
     "let the body do that, and carry what the condition reads"),
]


def told(f, make):
    with pytest.raises((TypeError, ValueError)) as caught:
        make(f)
    return type(caught.value), str(caught.value)


def line_of(f):
    lines = {number for _, _, number in f.__code__.co_lines() if number}
    return range(min(lines), max(lines) + 1)


def check(f, kind, text, make):
    found, message = told(f, make)
    body, _, place = message.rpartition("\n  at ")
    assert (found, body) == (kind, text)
    file, _, line = place.rpartition(":")
    assert file == __file__ and int(line) in line_of(f)


X = np.ones((4, 3), "float32")
MODES = {
    "eager": lambda f: f(ag.tensor(X)),
    "jit": lambda f: ag.jit(f)(ag.tensor(X)),
    "symbolic": lambda f: f(T.tensor("float32", (4, 3))),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f, kind, text", CASES)
def test_loops(f, kind, text, mode):
    check(f, kind, text, MODES[mode])


@pytest.mark.parametrize("mode", ["jit", "symbolic"])
@pytest.mark.parametrize("f, kind, text", TRACED)
def test_traced_loops(f, kind, text, mode):
    check(f, kind, text, MODES[mode])


def test_errors_of_the_body_are_left_as_they_are():
    def f(x):
        return ag.scan(lambda c, r: (c @ ag.ones((4, 4)), None), x[0], x)

    for make in MODES.values():
        found, message = told(f, make)
        assert found is ag.ShapeError and message.startswith("matmul(float32[3], float32[4, 4]):")

    def own(x):
        def step(c, r):
            raise ValueError("mine")

        return ag.scan(step, x[0], x)

    for make in MODES.values():
        assert told(own, make) == (ValueError, "mine")


def test_python_cannot_read_values_in_a_body():
    def f(x):
        return ag.scan(lambda c, r: (c + 1 if r.sum() > 0 else c, None), 0, x)

    assert f(ag.tensor(X))[0] == 4
    with pytest.raises(ag.TraceError, match=r"ag\.cond\(condition, then, otherwise\)"):
        ag.jit(f)(ag.tensor(X))


def test_graphs_do_not_change_tensors_by_themselves():
    x, total = T.tensor("float32", (4, 3)), ag.zeros(3)
    with pytest.raises(ag.TraceError, match="the body changes float32"):
        ag.scan(lambda c, r: (total.add_(r), None), x[0], x)
    np.testing.assert_array_equal(total, np.zeros(3))


def test_gradients_may_not_be_left_behind():
    w = ag.ones(3, requires_grad=True)

    def step(c, r):
        (w * r).sum().backward()
        return c, None

    with pytest.raises(ag.TraceError, match="leaves a gradient with float32"):
        ag.jit(lambda x: ag.scan(step, (), x))(ag.tensor(X))
    assert w.grad is None


def test_values_do_not_leave_a_body_by_the_back_door():
    kept = []

    def step(c, r):
        kept.append(r * 2)
        return c, None

    def outside(x):
        ag.scan(step, (), x)
        return kept[-1] + 1

    with pytest.raises(ag.TraceError, match="when an earlier jit-compiled call or the body of a"):
        ag.jit(outside)(ag.tensor(X))

    def inside(c, r):
        ag.scan(step, (), ag.ones((2, 3)) * r)
        return c + kept[-1], None

    with pytest.raises(ag.TraceError, match="a value from the body of another loop or branch"):
        ag.jit(lambda x: ag.scan(inside, x[0], x))(ag.tensor(X))


def test_recursion_has_an_end_eagerly_only():
    def factorial(n):
        return ag.cond(n > 1, lambda: n * factorial(n - 1), lambda: n)

    assert factorial(ag.tensor(5.0)) == 120
    with pytest.raises(ag.TraceError, match="a function that calls itself in a branch has no end"):
        ag.jit(factorial)(ag.tensor(5.0))


def test_names_in_strict_errors():
    x, v, a = T.tensor("float32", (4, 3)), T.vector("v", "float32"), ag.ones(3)
    with pytest.raises(ag.TraceError, match=r"it also uses a, float32\[3\];"):
        ag.scan(lambda c, r: (c + v[0] + a, None), x[0], x, strict=True)
    with pytest.raises(ag.TraceError, match=r"it also uses a, float32\[3\]"):
        T.scan(lambda r: r + a, x, strict=True)


def test_theano_words():
    x, k = T.tensor("float32", (4, 3)), T.lscalar("k")
    steps = ag.jit(
        lambda x: T.scan(lambda c: c + 1, outputs_info=x[0], n_steps=x.sum().astype(int))[0])
    assert steps(ag.ones(3)).tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(TypeError, match="n_steps must be an integer, not float32"):
        T.scan(lambda c: c + 1, outputs_info=x[0], n_steps=x)
    with pytest.raises(ag.MissingInputError, match="k decides the size of a result"):
        ag.function([x], T.scan(lambda c: c + 1, outputs_info=x[0], n_steps=k)[0])
    with pytest.raises(ValueError, match=r"taps of an output look back: \[-1, 0\] must be < 0"):
        T.scan(lambda a, b: a, outputs_info={"initial": x, "taps": [-1, 0]}, n_steps=3)
    with pytest.raises(ValueError, match=r"taps of an output are different: \[-1, -1\]"):
        T.scan(lambda a, b: a, outputs_info={"initial": x, "taps": [-1, -1]}, n_steps=3)
    with pytest.raises(ag.ShapeError, match=r"taps \[-5\] need 5 first rows, but initial is"):
        T.scan(lambda a: a, outputs_info={"initial": x, "taps": [-5]}, n_steps=3)
    with pytest.raises(TypeError, match="returns 1 outputs, but outputs_info tells of 2"):
        T.scan(lambda r, c: c, x, [x[0], None])
    with pytest.raises(TypeError, match="needs sequences to run over, or n_steps"):
        T.scan(lambda c: c, outputs_info=x[0])
    with pytest.raises(TypeError, match="ifelse: the condition must be a bool scalar"):
        T.ifelse(x, x, x)
    with pytest.raises(ag.ShapeError, match="ifelse: the result is"):
        T.ifelse(x.sum(), x, x[0])
