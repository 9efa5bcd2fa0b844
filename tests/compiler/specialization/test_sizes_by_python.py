"""Sizes that data determines, by computations that Python's numbers decide about."""

import warnings

import numpy as np
import pytest

import agnesi as ag

#: The number whose ones make a result, by what a number of Python's is in it, and its values.
COUNTS = {
    "an axis": (lambda x, k: ag.amax(x, k).sum(), (0, 1)),
    "an index": (lambda x, k: x[k].sum(), (0, -1)),
    "a bound": (lambda x, k: x[:, k:].sum(), (0, 1)),
    "a shift": (lambda x, k: ag.roll(x, k, 1)[1, 1] + 1, (0, 1)),
    "a factor": (lambda x, k: x.sum() * k, (1, 2)),
    "in a loop": (lambda x, k: x[0, 0] + ag.scan(
        lambda c, _: (c * k, None), ag.tensor(1), ag.arange(3))[0], (1, 2)),
    "in a branch": (lambda x, k: ag.cond(
        x.sum() > 3, lambda x: x.sum() * k, lambda x: x.sum(), x), (1, 2)),
    "several": (lambda x, k: sum(x[i, i] for i in k), ((0, 1), (2,))),
}


class Holder:
    pass


@pytest.mark.parametrize("name", COUNTS)
def test_other_numbers_of_pythons_give_other_sizes(name):
    count, numbers = COUNTS[name]
    held = Holder()

    def made(x):
        return ag.ones(count(x, held.number))

    compiled = ag.jit(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for held.number in (*numbers, *numbers):
            for n in (3, 4, 5):
                x = ag.arange(n * n).reshape(n, n)
                assert compiled(x).shape == made(x).shape


def _entry(values, key, value):
    values[key] = value


HELD, WEIGHTS = {"rows": [0], "key": 0}, np.array([0, 1])
#: What a function of an array reads of Python besides, and what changes it.
READ = {
    "an entry of a list": (lambda x: x[HELD["rows"][0]].sum(),
                           lambda k: _entry(HELD["rows"], 0, k)),
    "the length of a list": (lambda x: x[len(HELD["rows"]) - 1].sum(),
                             lambda k: _entry(HELD, "rows", [0] * (k + 1))),
    "an entry of a dict": (lambda x: x[HELD["key"]].sum(), lambda k: _entry(HELD, "key", k)),
    "an element of an array": (lambda x: x[int(WEIGHTS[0])].sum(),
                               lambda k: _entry(WEIGHTS, 0, k)),
}


@pytest.mark.parametrize("name", READ)
def test_other_things_that_python_reads_give_other_sizes(name):
    count, put = READ[name]
    compiled = ag.jit(lambda x: ag.ones(count(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (0, 1, 0, 1):
            put(k)
            for n in (3, 4, 5):
                x = ag.arange(n * n).reshape(n, n)
                assert compiled(x).shape == (int(count(x)),)
