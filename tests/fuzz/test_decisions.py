"""Random programs in which Python decides by computed values, with state and draws: compiled calls
give what plain ones give, and leave the same state."""

import linecache
import random

import numpy as np
import pytest

import agnesi as ag

VALUES = [
    "x * 2", "x + s", "x - 1", "ag.sin(x)", "x * S.w", "x[::-1]",
    "x[: ag.asarray(2) + S.count % 2]", "x[x > -0.5].sum() + x", "ag.cumsum(x)", "ag.sort(x)",
    "x + ag.random.normal(size=x.shape, dtype='float64')", "x[ag.argsort(x)]",
    "ag.scan(lambda c, v: (c + v, c * v), s, x)[1]", "ag.grad(lambda v: (v * v * s).sum())(x)",
    "ag.vmap(lambda v: v * s)(x)", "ag.fori_loop(0, 3, lambda i, c: c * 0.5 + x, x)",
]
NUMBERS = ["x.sum() / 5", "x.mean()", "s * 0.5", "x.max()"]
CONDITIONS = [
    "x.sum() > 0", "s > 1", "x.max() > x.mean() * 2", "x[0] > x[1]", "S.count % 3 == 0",
    "S.w.sum() > 1", "ag.random.uniform(dtype='float64') < 0.5", "(x > 0).any() and s < 2",
    "not (x > 2).all()", "int(x.max()) > 1", "S.k > 0.5",
]
EFFECTS = [
    "S.w.add_(0.1)", "S.w.mul_(0.9)", "S.count += 1", "S.k = S.k * 0.5 + 0.3",
    "S.seen.append(s * 1)",
    "x = ag.ensure(x, abs(x) < 1e9, 'large')",
    "x = ag.linalg.cholesky(ag.eye(x.shape[0], dtype='float64') * (abs(s) + 1))[0] * x",
]
LOOP = ["turns = 0", "while abs(x).max() > 4 and turns < 3:", "    x, turns = x / 2, turns + 1"]
RESULTS = ["x", "x, s", "x.sum(), float(s)", "x if s > 0 else (x, s)"]


class State:
    def __init__(self):
        ag.manual_seed(5)
        self.w, self.k = ag.tensor(1.5, dtype="float64"), 0.9
        self.count, self.seen = 0, []

    def kept(self):
        return [self.w, self.count, self.k, *self.seen]


def statements(r, depth):
    """Lines of one statement; branches hold others."""
    kind = r.random()
    if kind < 0.6 or depth > 2:
        return [f"x = {r.choice(VALUES)}" if kind < 0.35 or depth > 2 else
                f"s = {r.choice(NUMBERS)}" if kind < 0.42 else r.choice(EFFECTS)]
    if kind < 0.65:
        return LOOP
    lines = [f"if {r.choice(CONDITIONS)}:", *block(r, depth, 3)]
    if r.random() < 0.6:
        lines += ["else:", *block(r, depth, 2)]
    elif r.random() < 0.3:
        lines.append("    return x * 3")
    return lines


def block(r, depth, most):
    return ["    " + line for _ in range(r.randint(1, most)) for line in statements(r, depth + 1)]


def program(seed):
    """The text of a function ``f(x)`` over a state ``S``."""
    r = random.Random(seed)
    lines = ["s = x.mean()", *(v for _ in range(r.randint(3, 6)) for v in statements(r, 0))]
    return "\n    ".join(["def f(x):", *lines, f"return {r.choice(RESULTS)}\n"])


def runs(text, name, xs, compiled):
    state = State()
    scope = {"ag": ag, "S": state}
    exec(compile(text, name, "exec"), scope)
    f = ag.jit(scope["f"]) if compiled else scope["f"]
    for x in xs:
        found = ag.tree.flatten(f(ag.tensor(x)))[0]
        yield [np.array(getattr(v, "array", v)) for v in (*found, *state.kept())], [
            type(v) for v in found]


@pytest.mark.share(5)
@pytest.mark.parametrize("seed", range(8))
def test_random_decisions(seed):
    text, name = program(seed), f"<decisions {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    rng = np.random.default_rng(seed)
    xs = [rng.normal(size=rng.integers(2, 7) if seed % 2 else 3) * rng.choice([0.3, 1, 3])
          for _ in range(12)]
    both = [[*runs(text, name, xs, compiled)] for compiled in (True, False)]
    for (found, kinds), (wanted, plain_kinds) in zip(*both, strict=True):
        assert kinds == plain_kinds, text
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, 1e-7, 1e-9, err_msg=text)
