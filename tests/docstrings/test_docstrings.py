"""Docstrings say what a function takes, gives and refuses, and who its kin are."""

import inspect
from typing import Any

import pytest

from tests.docstrings.lint import complaints
from tests.docstrings.numpydoc import parse
from tests.docstrings.public import METHODS, PUBLIC, STATIC


def test_there_are_public_functions():
    assert len(PUBLIC) > 1100
    assert len(METHODS) > 200


def test_functions_and_classes_say_all():
    wrong = {name: found for name, value in sorted(PUBLIC.items())
             if (found := complaints(name, value))}
    assert wrong == {}


def test_methods_say_all():
    wrong = {name: found for name, value in sorted(METHODS.items())
             if (found := complaints(name, value, method=True, static=id(value) in STATIC))}
    assert wrong == {}


def test_what_is_public_has_examples():
    assert [name for name, value in sorted(PUBLIC.items())
            if "Examples\n--------\n>>> " not in (inspect.getdoc(value) or "")] == []


def _untyped(value: Any) -> list[str]:
    """The parameters that anything could be given to, as far as their types say."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # made by C
        return []
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return [p.name for p in parameters if p.annotation in ("Any", Any)
            and p.kind not in several and p.name not in ("self", "trainer")]


def test_parameters_have_types():
    """What may be anything is an ``object``. Callbacks get a trainer, of a class that knows them:
    their subclasses name it."""
    wrong = {name: found for name, value in sorted((PUBLIC | METHODS).items())
             if (found := _untyped(value))}
    assert wrong == {}


# -- the lint itself ----------------------------------------------------------------------------
def told(x: Any, axis: int = 0, *, out: Any = None) -> Any:
    """What it does.

    Parameters
    ----------
    x : array_like
        Of any shape.
    axis : int
        Which axis.
    out : Tensor, optional
        Takes the result.

    Returns
    -------
    Tensor
        Of the shape of ``x``.

    Raises
    ------
    ValueError
        If the axis is odd.

    See Also
    --------
    sum, nn.Linear
    """
    if axis % 2:
        raise ValueError("odd")
    return x


def test_lint_passes_what_says_all():
    assert complaints("agnesi.told", told) == []


@pytest.mark.parametrize(("old", "new", "complaint"), [
    ("axis : int\n    Which axis.\n", "", "Parameters: without axis"),
    ("axis : int\n", "axes : int\n", "Parameters: there is no axes"),
    ("x : array_like\n    Of any shape.\naxis : int\n    Which axis.\n",
     "axis : int\n    Which axis.\nx : array_like\n    Of any shape.\n",
     "Parameters: in another order, or twice: axis, x, out"),
    ("axis : int\n", "axis\n", "Parameters: no type of axis"),
    ("x : array_like\n", "x : array_like, optional\n", "Parameters: x is not optional"),
    ("axis : int\n", "axis : tuple\n", "Parameters: axis is int, not tuple"),
    ("    Which axis.\n", "", "Parameters: nothing is said of axis"),
    ("Returns\n-------\nTensor\n    Of the shape of ``x``.\n\n", "",
     "without Returns"),
    ("ValueError\n", "IndexError\n", "Raises: without ValueError"),
    ("ValueError\n", "Mistake\n", "Raises: Mistake is no error"),
    ("See Also\n--------\nsum, nn.Linear", "", "without See Also"),
    ("nn.Linear", "nn.Lineal", "See Also: there is no nn.Lineal"),
])
def test_lint_finds(old, new, complaint, monkeypatch):
    text = inspect.getdoc(told)
    assert old in text
    monkeypatch.setattr(told, "__doc__", text.replace(old, new))
    assert complaint in complaints("agnesi.told", told)


def test_lint_finds_sections_in_another_order():
    doc = parse("What.\n\nReturns\n-------\nint\n    One.\n\nParameters\n----------\nx : int\n")
    assert list(doc.sections) == ["Returns", "Parameters"]
    assert [e.names for e in doc.entries("Parameters")] == [["x"]]
