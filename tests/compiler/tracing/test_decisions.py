"""Python decides by computed values inside ``jit``: each way is a version, and all agree with
eager runs."""

import math
import re
import warnings

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi import symbolic as T
from tests.compiler.ways import interpreted


@pytest.fixture(autouse=True)
def strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def double(*values):
    return ag.tensor(np.array(values, "float64"))


def agree(found, wanted):
    """Whether results are the same, types and signs of zeros included."""
    found, wanted = ag.tree.flatten(found), ag.tree.flatten(wanted)
    assert found[1] == wanted[1]
    for a, b in zip(found[0], wanted[0], strict=True):
        assert type(a) is type(b)
        if isinstance(a, ag.Tensor):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-6, 1e-12)
        else:
            assert repr(a) == repr(b)


def called(function, calls, versions=None):
    """The compiled function, after calls that did as the plain one does."""
    compiled = ag.jit(function)
    for args in calls:
        agree(compiled(*args), function(*args))
    if versions is not None:
        assert len(compiled.specialisations) == versions, compiled.explain()
    return compiled


# -- uses ----------------------------------------------------------------------------------------
def chosen(x):
    if x.sum() > 1:
        return x * 2
    return x.sum()


def halved(x):
    error, turns = x.sum(), 0
    while error > 1:
        error, turns = error / 2, turns + 1
    return error, turns


def repeated(x):
    y = x
    for _ in range(int(x.max())):
        y = y * 2
    return y


def indexed(x):
    table = [ag.exp, ag.sin, lambda v: v * 3]
    return table[int(x.argmax())](x)


def scaled(x):
    return x * math.erf(x.sum().item())


def listed(x):
    return [v for v in x if v > 0], [0.5 if v else -0.5 for v in (x > 1).tolist()]


def joined(x):
    return 1 if 0 < x.sum() < 3 and not (x == 2).any() else x * 2


def chained(x):
    return max(x.sum(), x.prod() + 1) * 1, sorted([x[0], x[1]])[0] * 1


def element(x):
    return x[1:] * x.item(0) + x.reshape(1, -1).item(0, 1)


CASES = [
    (chosen, [(1, 1), (0, 1), (2, 2), (0, 0)], 2),
    (halved, [(1, 0), (5, 0), (2, 0), (5, 0), (60, 40)], 4),
    (repeated, [(1.5, 0), (1, 0), (3.2, 1), (-0.5, -3), (0, -0.5)], 3),
    (indexed, [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 2, 1)], 3),
    (scaled, [(4, 0), (9, 0), (4, 0)], 2),
    (listed, [(1, -1), (1, 2), (-1, 2), (3, -2)], 4),
    (joined, [(1, 1), (2, 0), (3, 3), (-1, 0), (1, 1)], 4),
    (chained, [(2, 3), (3, 2), (5, 4), (1, 5)], 3),
    (element, [(1, 2), (1, 2), (2, 2)], 1),
]


@pytest.mark.share(2)
@pytest.mark.parametrize(("function", "rows", "versions"), CASES, ids=lambda v: getattr(
    v, "__name__", ""))
def test_python_decides(function, rows, versions):
    called(function, [(double(*r),) for r in (*rows, *reversed(rows))], versions)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float32",
                                   "complex64"])
def test_values_of_all_types_arrive_exactly(dtype):
    def told(x):
        return complex(x.item()), bool(x), x * 1

    rows = [0, 1, 0] if dtype == "bool" else [0, 3, 100, 3]
    called(told, [(ag.tensor(v).astype(dtype),) for v in rows], len(set(rows)))


def test_zeros_of_both_signs_no_numbers_and_long_integers():
    def told(x, n):
        return complex(float(x.sum())), hash(int(n * 1)), bool(x.sum()), x * 1

    large = ag.tensor(2**62 + 1)
    rows = [0.0, -0.0, float("nan"), 0.0, float("nan"), float("inf")]
    called(told, [(double(v), large + i // 5) for i, v in enumerate(rows)], 4)
    compiled = ag.jit(lambda x: -int(x.sum()))
    assert compiled(double(2.5)) == -2
    for value, error in ((float("nan"), ValueError), (float("inf"), OverflowError)):
        with pytest.raises(error):
            compiled(double(value))


def plainly(x):
    total = x.sum()
    log = {"sum": float(total), "count": [int((x > 0).sum()), x.argmax().item()]}
    return x * 2, log


def assigned(x):
    for _ in range(2):
        y = (x * x).sum().item()
    return y if x.ndim else None, y


def whole(x):
    return float(x.max())


@pytest.mark.parametrize("function", [plainly, assigned, whole])
def test_numbers_that_are_only_returned_are_results(function):
    called(function, [(double(i, -1),) for i in range(12)], 1)
    called(function, [(double(i, -1).float(),) for i in range(3)], 1)


def largest(x):
    return max([x.sum().item(), 0.0])


def ordered(x):
    return sorted(x, key=lambda v: float(v))[0]


def added(x):
    return sum(map(lambda v: v.item(), x))


def rooted(x):
    return math.cbrt(x.prod())


def compared(x):
    y = x.sum().item()
    return (y, 1) if y > 5 else (y, 2)


def keyed(x):
    return {x.sum().item(): 1}


def helped(x):
    return abs(whole(x))


def shown(x):
    y = x.sum().item()
    return [v for v in locals().values() if type(v) is float]


def cubed(x):
    return x.sum().item() ** 3


@pytest.mark.parametrize(("function", "versions"), [
    (largest, 1), (ordered, 1), (added, 1), (compared, 2), (helped, 1), (shown, 1),
    (rooted, 3), (keyed, 3), (cubed, 1)])
def test_numbers_decide_where_python_needs_their_values(function, versions):
    called(function, [(double(*r),) for r in ((4, 9), (9, 16), (1, 4), (4, 9))], versions)


def test_gradients_flow_beside_numbers_that_are_returned():
    w = ag.tensor([1.0, 2.0], requires_grad=True)

    @ag.jit
    def step(x):
        y = (w * x).sum()
        return y, y.item()

    for i in range(3):
        y, value = step(ag.tensor([1.0, float(i)]))
        y.backward()
        assert value == 1 + 2 * i and w.grad.tolist() == [1, i]
        w.grad = None
    assert len(step.specialisations) == 1


def test_a_parameter_and_a_number_of_python_decide_too():
    scale, count = ag.tensor(2.0, dtype="float64"), 0

    def told(x, rate=0.5):
        nonlocal count
        count += 1
        y = x * float(scale) if rate > 0.1 else x
        return y + 1 if count % 3 else y

    compiled = ag.jit(told)
    for i in range(20):
        rate = 0.01 if i in (4, 5, 15) else 0.5
        if i == 9:
            scale.fill_(3.0)
        before = count
        found = compiled(double(i), rate)
        assert count == before + 1
        count = before
        agree(found, told(double(i), rate))
    assert len(compiled.specialisations) < 10, compiled.explain()


def test_sizes_are_open_on_every_way():
    rng = np.random.default_rng(0)

    def told(x):
        y = x * 2 if x.mean() > 0 else x - 1
        return y.sum(1) if int(abs(y).max()) > 3 else y

    calls = [(ag.tensor(rng.normal(size=(n, 3))),) for n in (*range(4, 40, 3), *range(5, 60, 5))]
    compiled = called(told, calls)
    assert len(compiled.specialisations) < 14, compiled.explain()


def test_sizes_that_values_tell_belong_to_a_way():
    def cut(x, n, m):
        return x[:n] * 2 if x.sum() > 0 else x[:m]

    def made(x, n):
        return ag.zeros((n,)) + 1 if n > 0 else x

    def before(x, n):
        y = x[:n]
        return y * 2 if y.sum() > 3 else y

    def masked(x):
        return x[x > 0] if x.sum() > 0 else x[x < -1] * 2

    def refused(x, n):
        return x[:ag.ensure(n, n > 0, "none")] if n != 0 else x

    x, tensor = double(1, 2, 3, 4), ag.tensor
    compiled = called(cut, [(x * (-1) ** i, tensor(i % 4), tensor(i % 3)) for i in range(24)])
    assert len(compiled.specialisations) < 8, compiled.explain()
    compiled = called(masked, [((x - i % 3) * (-1) ** i,) for i in range(24)])
    assert len(compiled.specialisations) < 8, compiled.explain()
    called(refused, [(x, tensor(n)) for n in (2, 0, 2, 0, 0)], 2)
    called(made, [(x, tensor(n)) for n in (2, -1, 3, -2, 2, 0)], 3)
    compiled = called(before, [(x, tensor(i % 5)) for i in range(10)])
    assert len(compiled.specialisations) < 7
    with pytest.raises(ag.ShapeError, match="must not be negative"):
        ag.jit(lambda x, n: ag.zeros((n,)) if x.sum() > 0 else x)(x, tensor(-1))


def test_a_branch_asks_for_a_size_behind_a_decision():
    def f(x, n):
        y = x
        for _ in range(int(n)):
            y = y + x
        return ag.cond(y.sum() > 0, lambda v: v[v == v].sum(), lambda v: v.sum() * 2, y)

    called(f, [(double(1, -2, i), ag.tensor(n)) for i, n in ((3, 1), (-3, 1), (3, 2), (0, 0))], 3)


# -- gradients and state -------------------------------------------------------------------------
def test_gradients_on_both_sides_of_a_decision():
    def loss(w, x):
        y = ((w * x) ** 2).sum()
        return y * 2 if y > 1 else y + w.sum()

    def before(w, x):
        return ag.value_and_grad(loss)(w, x)

    def behind(w, x):
        value, grad = ag.value_and_grad(lambda w: ((w * x) ** 2).sum())(w)
        return (w - 0.1 * grad, value) if value > 1 else (w, value)

    def forward(w, x):
        return ag.jvp(lambda w: loss(w, x), (w,), (x,))

    calls = [(double(1, v), double(0.5, 1)) for v in (0.1, 2, 0.2, 3)]
    for function in (before, behind, forward, ag.jit(loss)):
        called(function, calls, 2)
    compiled = ag.jit(loss)
    for w, x in calls:
        agree(ag.grad(compiled)(w, x), ag.grad(loss)(w, x))
    agree(ag.hessian(compiled)(*calls[1]), ag.hessian(loss)(*calls[1]))


class Model:
    """All that a step may change."""

    def __init__(self):
        ag.manual_seed(1)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))
        self.optimizer = optim.Adam(self.net.parameters(), lr=0.1)
        self.table = ag.zeros(3, dtype="float32")
        self.count, self.seen = 0, []

    def step(self, x):
        self.optimizer.zero_grad()
        loss = (self.net(x) ** 2).mean()
        self.table.add_(1)
        if loss > 0.3:
            loss.backward()
            self.optimizer.step()
            self.count += 1
            self.seen.append(loss.detach())
        elif ag.random.uniform() < 0.5:
            self.table[0] = loss.detach()
            return loss * 2
        return loss

    def kept(self):
        return [*self.net.parameters(), self.table, self.count, *self.seen,
                ag.random.default_generator().state]


def test_a_way_that_is_left_has_changed_nothing():
    rng = np.random.default_rng(2)
    xs = [ag.tensor(rng.normal(size=(2, 3)) * s, dtype="float32") for s in (1, 3, 0.1, 2, 0.2) * 4]
    eager = Model()
    wanted = [[eager.step(x).detach(), *[ag.asarray(v) + 0 for v in eager.kept()]] for x in xs]
    model = Model()
    step = ag.jit(lambda x: model.step(x))
    for x, row in zip(xs, wanted, strict=True):
        found = [step(x).detach(), *map(ag.asarray, model.kept())]
        for a, b in zip(found, row, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 1e-6)
    assert 2 <= len(step.specialisations) <= 8


def test_what_the_other_way_does_neither_fails_nor_runs_nor_prints(capsys):
    ag.print("x")  # what loads its package
    capsys.readouterr()

    def told(x):
        s = x.sum()
        ag.print("before {}", s)
        if s > 0:
            m = ag.linalg.cholesky(ag.eye(2, dtype="float64") * s)
            y = ag.ensure(x, s > 0, "not positive")
            y = ag.while_loop(lambda v: v.sum() > 1, lambda v: v / s.clip(2), y)
            ag.print("above {}", s)
            return y + m[0]
        ag.print("below")
        return x / ag.ensure(s, s <= 0, "positive")

    calls = [(double(*r),) for r in ((1, 2), (-1, -2), (3, 1), (-1, 0.5), (2, 2))]
    plain = [told(*c) for c in calls]
    lines = capsys.readouterr().out
    compiled = ag.jit(told)
    for c, wanted in zip(calls, plain, strict=True):
        agree(compiled(*c), wanted)
    assert capsys.readouterr().out == lines and len(compiled.specialisations) == 2


def test_errors_of_a_way_are_python_s_own():
    def told(x):
        assert x.sum() > 0, "not positive"
        if x.max() > 5:
            raise OverflowError("too large")
        return x * 2

    compiled = called(told, [(double(1),)])
    for value, error in ((-1, AssertionError), (6, OverflowError), (-2, AssertionError)):
        with pytest.raises(error, match=r"not positive|too large"):
            compiled(double(value))
    agree(compiled(double(2)), double(4))


def test_inside_of_other_functions():
    inner = ag.jit(chosen)

    def nested(x):
        return inner(x) + (1 if x.max() > 1 else 2)

    def mapped(x):
        s = x.sum()
        return ag.vmap(lambda row: row * 2 if s > 3 else row)(x)

    called(nested, [(double(*r),) for r in ((2, 2), (0, 0), (3, 3), (0.9, 0.9), (0, 0))], 3)
    called(mapped, [(double(*r),) for r in ((2, 2), (0, 0), (3, 3))], 2)
    for function, text in (
        (lambda x: ag.vmap(lambda v: v if v > 0 else -v)(x), "ag.vmap"),
        (lambda x: ag.scan(lambda c, v: (c + 1 if v > 0 else c, c), x[0], x), "body of a loop"),
        (lambda x: ag.cond(x[0] > 0, lambda v: v if v[0] > 1 else -v, lambda v: v, x), "branch"),
    ):
        with pytest.raises(ag.TraceError, match=f"(?s)needs the value of.*{text}"):
            ag.jit(function)(double(1, 2))
    with pytest.raises(ag.TraceError, match="declared graph"):
        bool(T.dscalar("x") > 0)


def test_other_ways_to_run():
    calls = [(double(*r),) for r in ((1, 1), (0, 1), (2, 2))]
    for c in calls:
        agree(ag.jit(chosen, mode="compare")(*c), chosen(*c))
    for settings in ({"optimizer": "fast_compile"}, {"include": ["unsafe"]}):
        compiled = ag.jit(chosen, **settings)
        for c in calls:
            agree(compiled(*c), chosen(*c))
    with pytest.raises(ag.TraceError, match=r"Python decides in chosen .* bool\(\) at"):
        ag.jit(chosen).c_function(np.zeros(2))
    with interpreted():
        called(chosen, calls, 2)


# -- limits --------------------------------------------------------------------------------------
def line_of(function, text):
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_many_ways_from_one_line_run_eagerly():
    compiled = ag.jit(scaled)
    place = re.escape(f"{__file__}:{line_of(scaled, 'erf')}")
    with pytest.warns(RuntimeWarning, match=f"float.. at {place}.*ag.cond.*ag.while_loop") as seen:
        for i in range(14):
            agree(compiled(double(i, 1)), scaled(double(i, 1)))
    assert len(seen) == 1 and len(compiled.specialisations) == 9

    def long(x):
        while x < 300:
            x = x + 1
        return x

    with pytest.warns(RuntimeWarning, match=f"more than 100 times at .*:{line_of(long, 'while')}"):
        agree(ag.jit(long)(double(0)[0]), double(300)[0])

    def asked(x):
        return x if ag.callback(lambda v: v > 0, x > 0, x, effect=True) else -x

    compiled = ag.jit(asked)
    with pytest.warns(RuntimeWarning, match="by what an effect returned"):
        agree(compiled(double(1)[0]), double(1)[0])
    agree(compiled(double(-1)[0]), double(1)[0])


def test_independent_lines_have_ways_of_their_own():
    def told(x):
        y = x + 1 if x[0] > 0 else x - 1
        y = y * 2 if x[1] > 0 else y * 3
        return y / 2 if x[2] > 0 else y / 3

    signs = [[(1, -1)[i >> k & 1] for k in range(3)] for i in range(8)]
    called(told, [(double(*s),) for s in signs * 2], 8)


def test_explain_shows_the_tree():
    def told(x):
        if x.sum() > 0:
            return x * int(x.max())
        return x

    compiled = called(told, [(double(v),) for v in (1, -1, 2)], 3)
    first, second = line_of(told, "if x"), line_of(told, "return x *")
    tree = compiled.explain().partition("  ways, by what Python decided:\n")[2]
    assert [line.replace(f"{__file__}:", "") for line in tree.splitlines()] == [
        f"    bool() at {first}", "      True", f"        int() at {second}", "          1: 0",
        "          2: 2", "      False: 1"]
    assert "Python decided otherwise than bool() at" in compiled.explain()
