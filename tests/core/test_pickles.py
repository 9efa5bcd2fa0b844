"""Small things that programs pickle along with others, at every protocol and in other processes."""

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
