"""Small things that programs pickle along with others, at every protocol and in other processes."""

import copy
import pickle
import subprocess
import sys

import pytest

import agnesi as ag

STRUCTURE = """
import pickle, sys, agnesi as ag
structure = pickle.loads(bytes.fromhex(sys.argv[1]))
assert structure in {ag.tree.flatten({"a": [1, 2], "b": (3,)})[1]}
"""


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_devices_and_structures_at_every_protocol(protocol):
    structure = ag.tree.flatten({"a": [1, 2], "b": (3,)})[1]
    hash(structure)
    for thing in (ag.device("cpu"), ag.device("cpu", 0), ag.device("cuda:1"), structure):
        again = pickle.loads(pickle.dumps(thing, protocol))
        assert (again, type(again), repr(again)) == (thing, type(thing), repr(thing))


def test_structures_are_found_in_other_processes():
    structure = ag.tree.flatten({"a": [1, 2], "b": (3,)})[1]
    hash(structure)
    subprocess.run([sys.executable, "-c", STRUCTURE, pickle.dumps(structure).hex()], check=True)


def square(x):
    return (x * x).sum()


@ag.grad
def slope(x):
    return (x**3).sum()


class Half(ag.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = ag.nn.Parameter(ag.tensor([0.5, 2.0]))
        self.rows = ag.vmap(self.row)

    def row(self, x):
        return x * self.weight

    @ag.checkpoint
    def forward(self, x):
        return self.rows(x)


X = ag.tensor([[1.0, 2.0], [3.0, 4.0]])
#: Functions that transformations make, and what they are given.
MADE = {
    "grad": (ag.grad(square), X),
    "grad of the library's": (ag.grad(ag.sum), X),
    "value_and_grad": (ag.value_and_grad(square), X),
    "grad_and_value": (ag.func.grad_and_value(square), X),
    "vmap": (ag.vmap(ag.sin), X),
    "vmap, out_axes": (ag.vmap(ag.cos, 1, 1, randomness="same"), X),
    "vmap of grad": (ag.vmap(ag.grad(square)), X),
    "jacobian": (ag.jacobian(ag.sin), X),
    "jacfwd": (ag.jacfwd(ag.tanh), X),
    "jacrev": (ag.jacrev(ag.tanh), X),
    "hessian": (ag.hessian(square), X),
    "vectorize": (ag.vectorize(square, signature="(n)->()"), X),
    "checkpoint": (ag.checkpoint(square), X),
    "jit": (ag.jit(ag.vmap(ag.grad(square))), X),
    "decorated": (slope, X),
    "jit of decorated": (ag.jit(slope), X),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", MADE)
def test_functions_that_transformations_make(kind, protocol):
    function, x = MADE[kind]
    again = pickle.loads(pickle.dumps(function, protocol))
    assert again.__name__ == function.__name__
    assert repr(again).partition(" at 0x")[0] == repr(function).partition(" at 0x")[0]
    assert str(again(x)) == str(function(x))


def test_what_a_decorator_made_is_found_by_its_name():
    assert pickle.loads(pickle.dumps(slope)) is slope
    assert copy.copy(slope) is copy.deepcopy(slope) is slope


def test_copies_of_modules_transform_their_own_methods():
    module = Half()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        module.weight.data = ag.tensor([7.0, 7.0])
        assert other(X).tolist() == [[0.5, 4.0], [1.5, 8.0]]
        module.weight.data = ag.tensor([0.5, 2.0])
    assert module(X).tolist() == [[0.5, 4.0], [1.5, 8.0]]
