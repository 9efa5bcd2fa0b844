"""``explain()`` tells of Python loops that a scan could replace."""

import numpy as np

import agnesi as ag

W = ag.tensor(np.eye(3, dtype="float32"), requires_grad=True)


def hints(f, *args):
    f(*args)
    return [line.strip() for line in f.explain().splitlines() if "ag.scan" in line]


def line_of(f):
    return (f.function if hasattr(f, "function") else f).__code__.co_firstlineno


def test_a_loop_of_one_line():
    def f(x):
        h = x[0]
        for t in range(1, 20):
            h = ag.tanh(h @ W + x[t])
        return h

    (hint,) = hints(ag.jit(f), ag.ones((20, 3)))
    assert hint == (
        f"{__file__}:{line_of(f) + 3} was written out 19 times, each time on the last one's "
        "results; as the body of ag.scan (or ag.fori_loop) it is compiled once"
    )


def test_a_loop_over_a_function_and_its_gradient():
    def cell(h, x):
        a = h @ W
        return ag.tanh(a + x)

    def loss(x):
        h = x[0]
        for row in x:
            h = cell(h, row)
        return (h * h).sum()

    def step(x):
        W.grad = None
        loss(x).backward()
        with ag.no_grad():
            W.sub_(0.1 * W.grad)

    (hint,) = hints(ag.jit(step), ag.ones((12, 3)))
    assert f"{__file__}:{line_of(cell) + 1}-{line_of(cell) + 2} was written out 12 times" in hint


def test_several_lines_are_one_stretch():
    def f(x):
        a, b = x, x * 2
        for i in range(10):
            a = ag.sin(b) + a * 0.5
            c = a * b
            b = c - i
        return b

    (hint,) = hints(ag.jit(f), ag.ones(3))
    assert f":{line_of(f) + 3}-{line_of(f) + 5} was written out 10 times" in hint


def test_layers_with_weights_of_their_own_are_no_loop():
    net = ag.nn.Sequential(*(ag.nn.Linear(3, 3) for _ in range(12)))
    layers = [ag.ones((3, 3), requires_grad=True) for _ in range(12)]

    def f(x):
        for w in layers:
            x = ag.tanh(x @ w)
        return net(x)

    assert hints(ag.jit(f), ag.ones((2, 3))) == []


def test_short_loops_and_independent_steps_are_left_alone():
    def short(x):
        for _ in range(4):
            x = ag.sin(x)
        return x

    def apart(x):
        return sum(ag.sin(x[i]) for i in range(12)), [ag.exp(x[i]) for i in range(12)]

    assert hints(ag.jit(short), ag.ones(3)) == []
    assert all("sin" not in h for h in hints(ag.jit(apart), ag.ones((12, 3))))


def test_a_scan_is_not_written_out():
    f = ag.jit(lambda x: ag.scan(lambda h, r: (ag.tanh(h @ W + r), None), x[0], x)[0])
    assert hints(f, ag.ones((20, 3))) == []
