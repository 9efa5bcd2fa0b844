"""Python's numbers that a jitted function computes: users' loops agree with eager runs, with a
version for each way of Python and none for each value."""

import contextlib
import io
import math
import warnings
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import agnesi as ag
from agnesi import optim

Point = namedtuple("Point", "x y")


class Run:
    """What loops keep."""

    def __init__(self):
        self.losses, self.rows, self.total, self.count, self.stale = [], [], 0.0, 0, 0
        self.best, self.average, self.state = float("inf"), None, "cold"
        self.pair = [0.0, 0]
        self.hidden, self.point = (ag.zeros(2), ag.zeros(2)), Point(ag.zeros(()), 0)
        self.speeds, self.squares = [ag.zeros(2)], {0: ag.zeros(2)}
        self.w = ag.tensor([1.0, 2.0], dtype="float64", requires_grad=True)
        self.optimizer = optim.SGD([self.w], lr=0.1)

    def kept(self):
        return (self.losses, self.rows, self.total, self.count, self.stale, self.best, self.average,
                self.state, self.pair, *[t.tolist() for t in self.hidden], self.point.y,
                self.point.x.tolist(), self.w.tolist())

    def log(self, value):
        self.losses.append(float(value))


def appended(run, x):
    run.losses.append(float(x.sum()))
    run.rows.append((x.max().item(), "a"))
    run.log(x.min())
    return x * 2


def best(run, x):
    value = x.sum().item()
    if value < run.best:
        run.best, run.stale = value, 0
    else:
        run.stale += 1
    return x


def totals(run, x):
    run.total += x.sum().item() * len(x)
    run.count += int((x > 0.5).sum())
    return run.total / (run.count + 1), run.count // 2, run.count % 3


def averaged(run, x):
    value = x.sum().item()
    run.average = value if run.average is None else 0.9 * run.average + 0.1 * value
    return {"loss": value, "scaled": x * value, "share": 1 / (value + 1)}


def in_list(run, x):
    value = x.sum().item()
    run.pair[0] = 0.9 * run.pair[0] + 0.1 * value
    run.pair[1] += 1
    return x - run.pair[0]


def by_hand(run, x):
    loss = ((run.w * x).sum() - 1) ** 2
    for i, g in enumerate(ag.autograd.grad(loss, [run.w])):
        run.speeds[i] = 0.9 * run.speeds[i] + g
        run.squares[i] = 0.9 * run.squares[i] + g * g
        with ag.no_grad():
            run.w -= 0.1 * run.speeds[i] / (1 + run.squares[i])
    return loss.detach()


def recurrent(run, x):
    h, c = run.hidden
    c = 0.5 * c + x
    run.hidden = h, c = ag.tanh(c) + h, c
    run.point = run.point._replace(x=run.point.x + h.sum(), y=run.point.y + 1)
    return h * run.point.y


def trained(run, x):
    run.optimizer.zero_grad()
    loss = ((run.w * x).sum() - 1) ** 2
    loss.backward()
    run.optimizer.step()
    run.losses.append(loss.item())


def checked(run, x):
    loss = x.mean()
    if math.isnan(loss.item()) or not np.isfinite(loss.item()):
        raise ValueError("no number")
    run.state = "hot" if loss.item() > 0.5 else "cold"
    return math.exp(loss.item()), math.sqrt(float(loss)), loss


def typed(run, x):
    v, n = x.sum().item(), int((x > 0.5).sum())
    return (type(v).__name__, type(n).__name__, isinstance(v, float), isinstance(n, (int, str)),
            isinstance(v, ag.Tensor), abs(-v), min(v, 9.0), sum([v, n]), v == "a", n is None)


def divided(run, x):
    try:
        return 1.0 / float((x * (x[0] > 0.4)).sum())
    except ZeroDivisionError:
        return -1.0


def clipped(run, x):
    norm = float((x * x).sum().sqrt())
    return x * (1.0 / norm) if norm > 1.0 else x


LOOPS = [(appended, 1), (best, 8), (totals, 4), (averaged, 4), (trained, 1), (in_list, 4),
         (by_hand, 4), (recurrent, 4), (checked, 4), (typed, 3), (divided, 2), (clipped, 2)]


@pytest.mark.share(2)
@pytest.mark.parametrize(("function", "versions"), LOOPS, ids=lambda v: getattr(v, "__name__", ""))
def test_loops_of_users_make_no_version_for_each_value(function, versions):
    rng = np.random.default_rng(0)
    xs = [ag.tensor(rng.random(2)) for _ in range(20)]
    eager, run = Run(), Run()
    compiled = ag.jit(lambda x: function(run, x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in xs:
            wanted, found = function(eager, x), compiled(x)
            _agree((found, run.kept()), (wanted, eager.kept()))
    assert len(compiled.specialisations) <= versions, compiled.explain()


#: What Python does with a number, and in how many versions for numbers of all kinds.
USES = {
    "places": (lambda x: round(x.sum().item(), 2), 1),
    "many places": (lambda x: round(x.sum().item(), 10), 1),
    "no places": (lambda x: round(x.sum().item(), 0), 1),
    "to a whole": (lambda x: (round(x.sum().item()), round(int(x.argmax()), 3)), 1),
    "directions": (lambda x: (math.floor(x.sum().item()), math.ceil(x.sum().item()),
                              math.trunc(x.sum().item())), 1),
    "powers": (lambda x: (x.sum().item() ** 2, x.sum().item() ** 3.0, 2 ** x.sum().item(),
                          abs(x.sum().item()) ** 0.5, int(x.argmax()) ** 3), 1),
    "inverse": (lambda x: abs(x.sum().item()) ** -1, 2),
    "powers of tensors": (lambda x: (abs(x) ** x[0].item(), abs(x[0].item()) ** x), 1),
    "divmod": (lambda x: (*divmod(x.sum().item(), 2), *divmod(7, x.sum().item())), 2),
    "lists": (lambda x: (x.tolist(), sum(x.tolist()), x.reshape((2, 1, 2)).tolist(),
                         ag.argsort(x).tolist(), x.sum().tolist()), 1),
}
#: Ties, errors of Python's, and numbers that float64 does not hold.
ODD = [[0.5, 1, 1, 0], [0.0, 0, 0, 0], [1e200, 1, 2, 3], [np.nan, 1, 2, 3], [np.inf, 1, 2, 3],
       [2.675, 0, 0, 0], [-0.004, 0, 0, 0]]


@pytest.mark.share(2)
@pytest.mark.parametrize("use", USES)
def test_powers_rounding_and_lists_are_those_of_python(use):
    function, versions = USES[use]
    compiled, rng = ag.jit(function), np.random.default_rng(0)
    xs = [ag.tensor(rng.normal(size=4) * 3) for _ in range(10)]
    for x in xs:
        _agree(compiled(x), function(x))
    assert len(compiled.specialisations) <= versions, compiled.explain()
    for row in ODD:
        x = ag.tensor(np.array(row))
        try:
            wanted = function(x)
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                compiled(x)
        else:
            _agree(compiled(x), wanted)


def _agree(found, wanted):
    (a, tree), (b, other) = map(ag.tree.flatten, (found, wanted))
    assert tree == other
    for u, v in zip(a, b, strict=True):
        assert type(u) is type(v)
        if isinstance(u, (str, int)):
            assert u == v
        else:
            np.testing.assert_allclose(np.asarray(u), np.asarray(v), 1e-12)


def test_what_prints_or_makes_text_runs_eagerly_with_one_warning_that_names_the_line():
    def printed(x):
        print("loss", x.sum())
        return x

    def number(x):
        print(f"loss {x.sum().item():.3f}", float(x[0]))
        return x

    def text(x):
        return f"{float(x.sum()):.2f}"

    for function in (printed, number, text):
        outputs = []
        for call in (function, ag.jit(function)):
            said = io.StringIO()
            with contextlib.redirect_stdout(said), warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                results = [call(ag.tensor([float(i), 1.0])) for i in range(12)]
            outputs.append((said.getvalue(), [v if isinstance(v, str) else v.tolist()
                                              for v in results]))
        assert outputs[0] == outputs[1] and len(seen) == 1
        line = function.__code__.co_firstlineno + 1
        assert f"{__file__}:{line}" in str(seen[0].message)


def test_texts_of_whole_numbers_keys_and_rounding_have_a_version_for_each():
    table = {"e0": 1.0, "e1": 2.0}

    def chosen(x):
        return x * table[f"e{int(x.argmax())}"], round(float(x.max()), 1), {x.argmax().item(): 1}

    compiled = ag.jit(chosen)
    for row in ([1.0, 2.0], [2.0, 1.0], [1.0, 2.0]):
        _agree(compiled(ag.tensor(row)), chosen(ag.tensor(row)))
    assert len(compiled.specialisations) == 2


def test_no_gradient_flows_through_numbers_and_code_is_its_own_again():
    def loss(x):
        return (x * x.sum().item()).sum() * float(x[0])

    x, code = ag.tensor([1.0, 2.0], requires_grad=True), loss.__code__
    assert ag.jit(ag.grad(loss))(x).tolist() == ag.grad(loss)(x).tolist() == [3.0, 3.0]
    assert loss.__code__ is code
    with pytest.raises(ValueError, match="user"):
        ag.jit(_failing)(x)
    assert "float" in _failing.__code__.co_names and _failing.__code__ is _CODE


def _failing(x):
    raise ValueError(f"user {float(1)}")


_CODE = _failing.__code__


def test_functions_of_one_text_are_told_apart() -> None:
    """Their codes are equal, and each has its own again after it was traced."""
    text = "def f(x):\n    return x * float(x.sum()) if isinstance(x, object) else x"
    x, found = ag.tensor([1.0, 2.0]), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(3):
            names: dict[str, Any] = {}
            exec(compile(text, f"made {i}", "exec"), names)
            own = names["f"].__code__
            found.append(ag.jit(names["f"]))
            for _ in range(2):
                assert found[-1](x).tolist() == [3, 6]
            assert names["f"].__code__ is own and own.co_filename == f"made {i}"
        assert [len(f.specialisations) for f in found] == [1, 1, 1]


def _bits(n, k, x):
    return (n & 12, 3 | n, n ^ k, n << k % 5, 1 << k % 7, n >> k % 3, ~n, k & int(x.sum()),
            n.conjugate() + n.real + n.imag, True ^ k, x + (n << 1))


@pytest.mark.parametrize("refused", [lambda n: n << n - 90, lambda n: n & 0.5, lambda n: ~(n * 0.5),
                                     lambda n: n >> 0.5])
def test_bits_of_whole_numbers_are_those_of_python_and_errors_too(refused):
    """They were tensors."""
    state = {"n": 0, "k": 0}

    def step(x):
        state["n"], state["k"] = state["n"] * 3 % 1000 + 7, state["k"] + 1
        return _bits(state["n"], state["k"], x)

    xs = [ag.full((2,), float(i)) for i in range(8)]
    wanted = [step(x) for x in xs]
    state.update(n=0, k=0)
    compiled = ag.jit(step)
    for x, values in zip(xs, wanted, strict=True):
        _agree(compiled(x), values)
    assert [type(v) for v in state.values()] == [int, int]
    with pytest.raises((TypeError, ValueError)):
        ag.jit(lambda x: refused(int(x.sum())))(xs[1])


def test_shifts_beyond_64_bits_are_those_of_python():
    state = {"n": 1}

    def step(x):
        state["n"] = state["n"] << 9
        return x * (state["n"] >> 60)

    compiled = ag.jit(step)
    for i in range(1, 10):
        compiled(ag.ones(2))
        assert state["n"] == 1 << 9 * i
