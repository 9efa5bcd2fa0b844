"""The examples of functions that are made: doctest does not find texts that are put together."""

import doctest
import inspect

import pytest

from agnesi.api import functions
from agnesi.nn import functional
from agnesi.ops.base import elementwise

ROWS = {
    f.__name__: f
    for f in vars(functions).values()
    if inspect.isfunction(f) and inspect.unwrap(f).__globals__ is vars(elementwise)
}


def test_there_are_rows():
    assert len(ROWS) > 60


RANKED = {
    f"{name}{rank}d": name
    for name in ("max_pool", "avg_pool", "sum_pool", "lp_pool", "max_unpool", "adaptive_max_pool",
                 "adaptive_avg_pool", "dropout")
    for rank in (1, 2, 3)
}


def check(function):
    name = function.__name__
    test = doctest.DocTestParser().get_doctest(function.__doc__, {}, name, None, None)
    assert len(test.examples) > 1
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=told.append).failed == 0, "".join(told)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", ROWS)
def test_example(name):
    check(ROWS[name])


@pytest.mark.parametrize("name", RANKED)
def test_functions_by_number_of_axes_tell_their_parameters(name):
    function = getattr(functional, name)
    check(function)
    expected = inspect.signature(getattr(functional, RANKED[name])).parameters
    assert list(inspect.signature(function).parameters) == list(expected)
