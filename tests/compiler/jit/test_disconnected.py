"""What results of a jitted call do not depend on has no gradient, as eagerly: neither zeros, nor
silence where eager code raises."""

import pytest

import agnesi as ag

W = ag.tensor([[0.5, -0.2], [0.3, 0.8]], requires_grad=True)
B = ag.tensor([0.1, 0.2], requires_grad=True)


def behind_detach(x):
    return (x @ W).detach() * B


def beside_detach(x):
    return x * B + W.detach().sum()


def rounded(x):
    return (x * B).round()


def in_place(x):
    y = x.detach() * 1
    y += B
    y[0] = W.detach()[0]
    return y


def asked(x):
    return x * 2 if W.requires_grad else x * B


@pytest.mark.parametrize("f", [behind_detach, beside_detach, rounded, in_place, asked])
def test_gradients_are_none_or_refused_as_eagerly(f):
    found = []
    for g in (f, ag.jit(f)):
        found.append([])
        for n in (1.0, 2.0):
            x = ag.tensor([[n, 2.0], [3.0, 4.0]], requires_grad=True)
            total = g(x).sum()
            found[-1] += ag.autograd.grad(total, [x, W, B], retain_graph=True, allow_unused=True)
            for one in (x, W, B):
                try:
                    ag.autograd.grad(total, one, retain_graph=True)
                except ag.GradientError:
                    found[-1].append("refused")
    eager, jitted = found
    assert [type(g) for g in eager] == [type(g) for g in jitted]
    assert all(a is None or a == "refused" or ag.allclose(a, b)
               for a, b in zip(eager, jitted, strict=True))


@pytest.mark.parametrize("changed", [W, B])
def test_what_no_gradient_flows_to_is_still_read_by_others(changed):
    jitted, x = ag.jit(behind_detach), ag.tensor([[1.0, 2.0]], requires_grad=True)
    y, before = jitted(x), changed.detach().clone()
    with ag.no_grad():
        changed.mul_(2)
    try:
        if changed is W:
            with pytest.raises(ag.GradientError, match="changed in place afterwards"):
                y.sum().backward()
        else:
            y.sum().backward()
            assert ag.allclose(B.grad, (x @ W).detach().sum(0))
    finally:
        with ag.no_grad():
            changed.copy_(before)
        B.grad = None


def test_other_memory_of_what_was_read_is_noticed():
    w = ag.tensor([2.0, 3.0])
    x = ag.ones(2, requires_grad=True)
    y = ag.jit(lambda x: (x * w).exp())(x)
    w.data = w.data * 10
    with pytest.raises(ag.GradientError, match="changed in place afterwards"):
        y.sum().backward()


def test_second_derivatives_through_branches_of_jitted_calls():
    def f(x):
        return ag.cond(x.sum() > 0, lambda v: v @ W, lambda v: v * B, x)

    x = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
    for sign in (1, -1, 1):
        eager, jitted = (ag.hessian(lambda v, g=g: (g(v) ** 2).sum())(x * sign)
                         for g in (f, ag.jit(f)))
        assert ag.allclose(eager, jitted)


def test_other_memory_of_an_argument_is_noticed():
    k, x = ag.tensor([5.0, 6.0]), ag.ones(2, requires_grad=True)
    jitted = ag.jit(lambda x, k: (x * k).sum())
    for requires in (False, True):
        y = jitted(x, k.requires_grad_(requires))
        k.data = ag.tensor([7.0, 8.0])
        with pytest.raises(ag.GradientError, match="changed in place afterwards"):
            y.backward()
    jitted(x, k).backward()
    assert (x.grad.tolist(), k.grad.tolist()) == ([7.0, 8.0], [1.0, 1.0])


def several(a, b, c):
    return {"p": a * 2, "q": [b * 3, c.detach() * W[0], (a + c).round()]}


def test_each_of_several_results_has_gradients_where_it_depends():
    found = []
    for run in (several, ag.jit(several)):
        xs = [ag.tensor([1.0, 2.0 + i], requires_grad=True) for i in range(3)]
        results = run(*xs)
        for y in (results["p"], *results["q"]):
            gs = ag.autograd.grad(y.sum(), [*xs, W], allow_unused=True)
            found.append([None if g is None else g.tolist() for g in gs])
        with pytest.raises(ag.GradientError, match="does not depend on"):
            ag.autograd.grad(results["p"].sum(), [xs[1]])
    assert found[:4] == found[4:]
    assert [[g is None for g in gs] for gs in found[:4]] == [
        [False, True, True, True], [True, False, True, True], [True, True, True, False],
        [False, True, False, True]]


def test_what_is_only_changed_in_place_has_no_gradient():
    w, b = (ag.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))

    @ag.jit
    def f(x):
        with ag.no_grad():
            w.mul_(0.5)
        return x * b

    for _ in range(2):
        gs = ag.autograd.grad(f(ag.ones(2)).sum(), [w, b], allow_unused=True)
        assert gs[0] is None and gs[1].tolist() == [1.0, 1.0]
