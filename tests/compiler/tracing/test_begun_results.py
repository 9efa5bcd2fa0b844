"""Results of jitted functions that require gradients by leaves that the function made."""

import warnings

import pytest

import agnesi as ag

W = ag.tensor([1.5, 2.0], requires_grad=True)
LAYER = ag.nn.Linear(2, 1)


def computed(x):
    return x.detach().requires_grad_() * 2


def the_leaf(x):
    return x.detach().requires_grad_()


def beside_others(x):
    v = x.detach().requires_grad_()
    return v * 2, v * W, x * W, x * 2


def leaf_and_computed(x):
    v = x.detach().requires_grad_()
    return v, LAYER(v)


def sampled(x):
    v = x.detach().requires_grad_()
    slope, = ag.autograd.grad((v ** 3).sum(), v, create_graph=True)
    return v - 0.1 * slope


def trained(x):
    v = x.detach().requires_grad_()
    (v ** 2 * W.detach()).sum().backward()
    return v.grad, v * 3


def kinds(found):
    return [(t.requires_grad, t.is_leaf) for t in ag.tree.leaves(found)]


@pytest.mark.parametrize("f", [computed, the_leaf, beside_others, leaf_and_computed, sampled,
                               trained])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_require_gradients_as_eager_ones_do(f):
    jitted = ag.jit(f)
    for i, recording in enumerate([True, True, False, True, False, True]):
        if not recording and f in (sampled, trained):
            continue  # both raise
        x, gradients = ag.tensor([1.0, 2.0]) * (i + 1), []
        with ag.set_grad_enabled(recording):
            results = [g(x) for g in (f, jitted)]
        assert kinds(results[0]) == kinds(results[1])
        for found in results:
            W.grad = LAYER.weight.grad = None
            leaves = [t for t in ag.tree.leaves(found) if t.requires_grad]
            if leaves:
                sum(t.sum() for t in leaves).backward()
            ends = (W, LAYER.weight, *(t for t in leaves if t.is_leaf))
            gradients.append([None if t.grad is None else t.grad.tolist() for t in ends])
        assert gradients[0] == gradients[1]


def test_only_a_returned_leaf_that_others_depend_on_runs_eagerly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for f in (computed, the_leaf, beside_others, sampled, trained):
            ag.jit(f)(ag.ones(2))
    with pytest.warns(RuntimeWarning, match="made require gradients.*Return the gradients"):
        ag.jit(leaf_and_computed)(ag.ones(2))
