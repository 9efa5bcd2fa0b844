"""A compiled call that an error ends has changed nothing, wherever in a step it fails."""

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi import symbolic as T

GOOD, BAD = ag.tensor(2), ag.tensor(7)


class State:
    """All that a step changes."""

    def __init__(self):
        ag.manual_seed(3)
        self.weight = ag.tensor(np.linspace(0.5, 1.5, 6), requires_grad=True)
        self.running = ag.zeros(6, dtype="float64")
        self.table = ag.zeros((4, 6), dtype="float64")
        self.optimizer = optim.Adam([self.weight], lr=0.1)
        self.count = 0
        self.last = ag.zeros(6, dtype="float64")
        self.seen = {"mean": ag.zeros((), dtype="float64")}

    def kept(self):
        """Copies of it, and the draws that come next."""
        held = [ag.random.default_generator().state, self.weight, self.running, self.table,
                self.last, self.seen["mean"], *vars(self.optimizer).values()]
        tensors = [v for v in ag.tree.flatten(held)[0] if isinstance(v, ag.Tensor)]
        return [np.array(t.array) for t in tensors] + [self.count]


def in_place(s, x):
    with ag.no_grad():
        s.running.mul_(0.9).add_(x)
    return x * 2


def train(s, x):
    s.optimizer.zero_grad()
    loss = ((s.weight - x) ** 2).sum()
    loss.backward()
    s.optimizer.step()
    return x + loss.detach()


def rows(s, x):
    s.table[1] = x
    s.table[2:].add_(x)
    return x + s.table[1]


def loop(s, x):
    def turn(i, c):
        s.table.mul_(0.5)
        return c + s.table[1]

    return ag.fori_loop(0, 3, turn, x)


def attributes(s, x):
    s.count += 1
    s.last = x * 3
    s.seen["mean"] = x.mean()
    return x + 1


def draw(s, x):
    return x + ag.random.uniform(size=6, dtype="float64")


PARTS = [in_place, train, rows, loop, attributes, draw]


def condition(x, i):
    return ag.ensure(x, i < 4, "too far")


def index(x, i):
    return x + ag.arange(4.0, dtype="float64")[i]


def refuse(a, i):
    if i > 3:
        raise ZeroDivisionError("the user's own")
    return a * 1


def python(x, i):
    return ag.callback(refuse, x, x, i)


def looped(x, i):
    return ag.fori_loop(0, 3, lambda k, c: ag.ensure(c, i + k < 7, "too far"), x)


def chosen(x, i):
    return ag.cond(i > 3, lambda c: ag.ensure(c, i < 4, "too far"), lambda c: c * 1, x)


def matrix(x, i):
    """LAPACK's own refusal."""
    return x + ag.linalg.cholesky(ag.eye(3, dtype="float64") * (5.0 - i)).sum()


FAILING = [condition, index, python, looped, chosen, matrix]


def step(at, fail):
    """All parts, with one that may fail behind so many of them."""

    def run(s, i):
        x = ag.ones(6, dtype="float64")
        for n, part in enumerate([*PARTS, None]):
            if n == at:
                x = fail(x, i)
            if part is not None:
                x = part(s, x)
        return x

    return run


@pytest.mark.share(16)
@pytest.mark.parametrize(("at", "fail"), [
    (at, FAILING[(at + shift) % len(FAILING)]) for at in range(len(PARTS) + 1) for shift in (0, 3)])
def test_a_step_that_fails_has_changed_nothing(at, fail):
    plain = step(at, fail)
    eager = State()
    wanted = [plain(eager, GOOD).detach().numpy() for _ in range(3)]
    state = State()
    compiled = ag.jit(lambda i: plain(state, i))
    for n in range(3):
        before = state.kept()
        with pytest.raises((ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError)):
            compiled(BAD)
        _equal(state.kept(), before)
        np.testing.assert_allclose(compiled(GOOD).detach().numpy(), wanted[n], rtol=1e-12)
    _equal(state.kept(), eager.kept(), rtol=1e-12)


def _equal(found, wanted, rtol=0.0):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol)


@pytest.mark.share(8)
@pytest.mark.parametrize(("optimizer", "n"), [("fast_run", 70_000), ("fast_compile", 5)])
@pytest.mark.parametrize("fail", FAILING)
def test_updates_of_a_function(fail, n, optimizer):
    """The condition is told by an argument, by a new value of a variable, or by an output."""
    for told in ("argument", "update", "output"):
        a, b, c = (ag.shared(np.full(n, v)) for v in (1.0, 2.0, 3.0))
        i, new = T.lscalar("i"), a * 2 + b
        x = {"argument": b + 1, "update": new * 1.5, "output": (a + b) / 2}[told]
        checked = fail(x, i)
        out = (a + b).sum()
        f = ag.function([i], [out, checked.sum()] if told == "output" else out,
                        updates={a: new, b: checked, c: c + 1}, optimizer=optimizer)
        f(2)
        before = [v.get_value() for v in (a, b, c)]
        for _ in range(2):
            with pytest.raises((ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError)):
                f(7)
            for v, old in zip((a, b, c), before, strict=True):
                np.testing.assert_array_equal(v.get_value(), old)


def test_read_only_arguments_are_refused_before_anything_is_written():
    total = ag.zeros(3)

    @ag.jit
    def add(x, y):
        total.add_(1)
        x.add_(1)
        y.add_(1)

    x, y = ag.ones(3), ag.ones(3)
    add(x, y)
    y.array.flags.writeable = False
    line = add.__wrapped__.__code__.co_firstlineno + 4
    with pytest.raises(ValueError, match=rf"(?s)^add: float32\[3\] lies in read-only .*:{line}$"):
        add(x, y)
    assert total.tolist() == [1, 1, 1]
    assert x.tolist() == y.tolist() == [2, 2, 2]


def test_a_gradient_is_there_until_a_step_has_used_it():
    w = ag.ones(3, requires_grad=True)
    (w * 3).sum().backward()
    model = nn.Linear(3, 1)

    @ag.jit
    def train(i):
        w.grad = None
        (w * ag.ensure(i, i < 4)).sum().backward()
        with ag.no_grad():
            w.sub_(w.grad)
        return model(w.detach())

    with pytest.raises(ValueError, match="condition"):
        train(BAD)
    assert w.grad.tolist() == [3, 3, 3]
    assert w.tolist() == [1, 1, 1]
