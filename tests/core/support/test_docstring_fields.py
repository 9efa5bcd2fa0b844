"""Docstrings of fields are numpydoc where they are read."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

from agnesi import distributed
from agnesi.api.streams.mrg import MRG_RandomStreams
from agnesi.core.public import public
from agnesi.core.support.docstrings import SHARED, numpydoc
from agnesi.core.tensor import Tensor
from tests.docstrings.numpydoc import parse
from tests.docstrings.public import METHODS, PUBLIC


def shown(function: Any) -> str:
    numpydoc(function)
    return inspect.getdoc(function) or ""


def test_fields_become_sections_in_the_order_of_the_signature():
    def f(x: TensorLike, *rest: Any, axis: Axis = None, order: int | None = None,  # noqa: F821
          out: Tensor | None = None) -> list[Tensor]:
        """First line.

        More.

        :param *rest: Others, of which
            there may be none.
        :type *rest: number or str
        :param x: Any.
        :param order: Of what.
        :returns: Parts.
        :raises ValueError: If not.
        :see: g, h

        >>> ag.f(1)
        2
        """

    assert shown(f).rstrip() == """First line.

More.

Parameters
----------
x : array_like
    Any.
*rest : number or str
    Others, of which
    there may be none.
axis : int or tuple of int, optional
    Axes to reduce over, negative ones counted from the end; all by default. Also written
    ``dim``.
order : int, optional
    Of what.
out : Tensor, optional
    Takes the result: a tensor of its shape, of a dtype that holds it.

Returns
-------
list of Tensor
    Parts.

Raises
------
ValueError
    If not.
IndexError
    If an axis is out of range.

See Also
--------
g, h

Examples
--------
>>> import agnesi as ag
>>> ag.f(1)
2"""


def test_what_is_written_goes_before_what_is_shared():
    def f(a, b, axis: int = 0) -> tuple[Tensor, Tensor]:
        """Two.

        :param a, b: Both.
        :type a, b: array_like
        :returns values: One.
        :returns count:
        :rtype: int
        :raises IndexError: Seldom.

        >>> from agnesi import f
        """

    doc = parse(shown(f))
    assert [(e.names, e.kind) for e in doc.entries("Parameters")] == [
        (["a", "b"], "array_like"), (["axis"], "int")]
    assert [(e.names, e.kind, e.text) for e in doc.entries("Returns")] == [
        (["values"], "Tensor", "One."), (["count"], "int", "")]
    assert [e.text for e in doc.entries("Raises")] == ["Seldom."]
    assert doc.sections["Examples"] == [">>> from agnesi import f"]


@pytest.mark.parametrize("text", [None, "A line.", "A line.\n\n    Returns\n    -------\n    int"])
def test_other_docstrings_stay(text: str | None):
    def f() -> int:
        return 1

    f.__doc__ = text
    numpydoc(f)
    assert f.__doc__ == text


def test_every_way_to_read_shows_numpydoc():
    """What is written in C and takes any text, such as ``re``, reads ``str`` of it."""
    def f(x: int) -> int:
        """Of one.

        :param x: One.
        :returns: Another.
        """
        return x

    numpydoc(f)
    doc: Any = f.__doc__
    shown = "Of one.\n\nParameters\n----------\nx : int\n    One."
    for text in (str(doc), f"{doc}", "" + doc, doc + "", doc[:], doc.expandtabs(),
                 "".join(doc), doc.replace("no such", ""), "\n".join(doc.splitlines())):
        assert inspect.cleandoc(text).startswith(shown) and ":param" not in text
    assert "Parameters" in doc and ":param" not in doc and len(doc) == len(str(doc))
    assert repr(doc) == repr(str(doc)) and isinstance(doc, str)
    assert inspect.getdoc(f) == inspect.cleandoc(str(doc))
    assert functools.wraps(f)(lambda x: x).__doc__ is doc


def test_no_field_is_left_in_what_users_read():
    fields = (":param", ":type", ":returns", ":rtype", ":raises", ":see")
    left = [name for name, f in PUBLIC.items()
            if any(line.startswith(fields) for line in (inspect.getdoc(f) or "").splitlines())]
    assert left == []


def test_each_shared_text_is_read_somewhere():
    read = [*PUBLIC.values(), *METHODS.values(), *vars(distributed).values(),
            *vars(MRG_RandomStreams).values()]
    texts = " ".join(" ".join((inspect.getdoc(f) or "").split()) for f in read)
    assert [key for key, shared in SHARED.items()
            if " ".join(shared.text.split()) not in texts] == []


@public
def _first(x: Any, y: Any) -> Tensor:
    """One.

    :param x: Of any shape.
    :param y: A number.
    :type y: float
    :returns: A sum.
    :raises ValueError: If not.
    :see: g
    """
    return x + y


@public
def _second(x: Any, y: Any) -> Tensor:
    """Two.

    :like: _first
    :param x: A vector.
    """
    return x - y


def test_a_function_has_the_fields_of_the_one_that_it_is_like_but_its_own():
    assert inspect.getdoc(_second) == inspect.cleandoc("""
        Two.

        Parameters
        ----------
        x : object
            A vector.
        y : float
            A number.

        Returns
        -------
        Tensor
            A sum.

        Raises
        ------
        ValueError
            If not.
        """)


def test_examples_import_what_they_use():
    def f() -> None:
        """First line.

        :see: g

        >>> nn.f(np.ones(3))
        >>> y.data.ag.np
        """

    f.__module__ = "agnesi.nn.layers"
    assert shown(f).rpartition("--\n")[2].splitlines()[:3] == [
        ">>> import numpy as np", ">>> from agnesi import nn", ">>> nn.f(np.ones(3))"]
