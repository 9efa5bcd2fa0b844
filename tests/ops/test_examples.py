"""The examples of elementwise functions: doctest does not find texts that are put together."""

import doctest
import inspect

import pytest

from agnesi.api import functions
from agnesi.ops import elementwise

ROWS = {
    f.__name__: f
    for f in vars(functions).values()
    if inspect.isfunction(f) and inspect.unwrap(f).__globals__ is vars(elementwise)
}


def test_there_are_rows():
    assert len(ROWS) > 60


@pytest.mark.parametrize("name", ROWS)
def test_example(name):
    test = doctest.DocTestParser().get_doctest(ROWS[name].__doc__, {}, name, None, None)
    assert len(test.examples) == 2
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=told.append).failed == 0, "".join(told)
