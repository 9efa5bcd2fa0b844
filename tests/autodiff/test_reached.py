"""What no branch that ran reads, and no step, has no gradient: compiled steps find that out at run
time, as eager ones do."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi as ag

OPERANDS = [np.array([1.0, 2.0]), np.array([3.0, 0.5]), np.array([0.7, 1.5])]
CHOICES = [(1.0, 1.0), (0.0, 1.0), (2.0, 0.0), (1.0, 1.0)]


def branch(p, q, x, y, z):
    return ag.cond(p > 0, lambda: (x * x).sum(), lambda: (y * y).sum())


def two(p, q, x, y, z):
    return branch(p, q, x, y, z) + branch(q, p, z, y, x)


def nested(p, q, x, y, z):
    return ag.cond(p > 0, lambda: branch(q, p, x, y, z), lambda: (z * x).sum())


def behind(p, q, x, y, z):
    u = ag.cond(p > 0, lambda: x * x, lambda: y * y)
    return ag.cond(q > 0, lambda: (u * z).sum(), lambda: (z * z).sum())


def one_of_three(p, q, x, y, z):
    return ag.switch(p.astype(int), [lambda x, y, z: (x * 2).sum(), lambda x, y, z: (y * y).sum(),
                                     lambda x, y, z: (z * x).sum()], x, y, z)


def slopes(p, q, x, y, z):
    return (ag.cond(p > 0, lambda: ag.sqrt(x - 1), lambda: y)
            * ag.cond(q > 0, lambda: ag.log(z), lambda: y)).sum()


def whiled(p, q, x, y, z):
    return ag.while_loop(lambda c: c[0] < p, lambda c: (c[0] + 1, c[1] * y), (0.0 * q, x))[1].sum()


def counted(p, q, x, y, z):
    return ag.scan(lambda c, _: (c * y, c), x, length=p.astype(int))[0].sum()


def empty(p, q, x, y, z):
    return ag.scan(lambda c, row: (c * y, c), x, ag.zeros((0, 2)))[0].sum()


def loop_in_branch(p, q, x, y, z):
    return ag.cond(p > 0, lambda: whiled(q, p, x, y, z), lambda: z.sum())


def _shown(gradients):
    return [None if g is None else g.numpy().round(9).tolist() for g in gradients]


def _outside(f, jitted):
    run = ag.jit(f) if jitted else f
    for p, q in CHOICES:
        xs = [ag.tensor(v, requires_grad=True) for v in OPERANDS]
        run(ag.tensor(p), ag.tensor(q), *xs).backward()
        yield _shown([x.grad for x in xs])


def _inside(f, jitted):
    xs = [ag.tensor(v, requires_grad=True) for v in OPERANDS]

    def step(p, q):
        f(p, q, *xs).backward()

    run = ag.jit(step) if jitted else step
    for p, q in CHOICES:
        for x in xs:
            x.grad = None
        run(ag.tensor(p), ag.tensor(q))
        yield _shown([x.grad for x in xs])


def _asked(f, jitted):
    def step(p, q, *operands):
        xs = [x.detach().requires_grad_() for x in operands]
        return ag.autograd.grad(f(p, q, *xs), xs, allow_unused=True)

    run = ag.jit(step) if jitted else step
    for p, q in CHOICES:
        yield _shown(run(ag.tensor(p), ag.tensor(q), *map(ag.tensor, OPERANDS)))


def _stepped(f, jitted):
    xs = [ag.tensor(v, requires_grad=True) for v in OPERANDS]
    optimizer = ag.optim.Adam(xs, lr=0.01, weight_decay=0.1)

    def step(p, q):
        optimizer.zero_grad()
        f(p, q, *xs).backward()
        optimizer.step()

    run = ag.jit(step) if jitted else step
    for p, q in CHOICES:
        run(ag.tensor(p), ag.tensor(q))
        yield _shown(xs)


@pytest.mark.parametrize(("f", "way"), [
    *((f, _inside) for f in (branch, two, nested, behind, one_of_three, whiled, counted, empty)),
    (slopes, _outside), (loop_in_branch, _outside), (empty, _asked), (branch, _asked),
    (branch, _stepped)])
def test_what_did_not_run_gives_no_gradient(f, way):
    assert repr(list(way(f, True))) == repr(list(way(f, False)))  # NaN among them


def test_a_tensor_that_only_the_other_branch_reads_is_refused():
    def step(p, q, *operands):
        xs = [x.detach().requires_grad_() for x in operands[:2]]
        return ag.autograd.grad(branch(p, q, *xs, operands[2]), xs)

    for run in (step, ag.jit(step)):
        with pytest.raises(ag.GradientError, match="does not depend on float64"):
            run(ag.tensor(1.0), ag.tensor(1.0), *map(ag.tensor, OPERANDS))


def test_gradients_of_functions_are_zeros_in_one_version():
    step = ag.jit(ag.grad(branch, argnums=(2, 3)))
    for p, q in CHOICES:
        plain = ag.grad(branch, argnums=(2, 3))(p, q, *OPERANDS)
        assert _shown(step(ag.tensor(p), ag.tensor(q), *OPERANDS)) == _shown(plain)
    assert len(step.specialisations) == 1
