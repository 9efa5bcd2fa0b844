"""Docstrings of functions with PyTorch's names, put together from a line for each part.

The description of a parameter stands once, under its name, for all functions that have it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from agnesi.core.public import planned, public

F = TypeVar("F", bound=Callable[..., Any])

#: "kind | text" by the name of the parameter.
_WORDS = {
    "x": "array_like | Of any shape.",
    "axis": "int | An axis, counted from the end where negative; also written ``dim``.",
    "keepdims": "bool | Whether the reduced axis stays, with size 1; also written ``keepdim``.",
    "dtype": "dtype, optional | The dtype of the result.",
    "device": 'str, optional | Only "cpu", which is the default.',
    "requires_grad": "bool | Whether gradients are computed for it.",
    "generator": "Generator, optional | Where the random numbers come from; by default "
                 ":func:`agnesi.random.default_generator`.",
    "out": "Tensor, optional | Takes the result: a tensor of its shape, of a dtype that holds it.",
    "beta": "number | The factor of ``input``.",
    "alpha": "number | The factor of the product.",
    "input": "array_like | What is added to; it broadcasts to the shape of the product.",
    "index": "array_like of int | A vector of places along the axis.",
    "mask": "array_like of bool | Broadcasts with ``x``.",
}


def _entry(name: str, words: str) -> str:
    kind, _, text = words.partition(" | ")
    return f"{name} : {kind}\n    {text}"


def _section(title: str, entries: list[str]) -> str:
    return "\n\n" + "\n".join([title, "-" * len(title), *entries]) if entries else ""


def docstring(function: Any, gives: str, kin: str, example: str, raises: str = "",
              words: dict[str, str] | None = None, skip: int = 0) -> str:
    """The whole docstring of a function that has its summary; parts are "kind | text"."""
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*",
                             inspect.Parameter.VAR_KEYWORD: "**"}
    known = {**_WORDS, **(words or {})}
    shown = list(inspect.signature(function).parameters.values())[skip:]
    parameters = [_entry(stars.get(p.kind, "") + p.name, known[p.name]) for p in shown]
    kind, _, text = gives.partition(" | ")
    errors = [line.partition(" | ") for line in raises.splitlines()]
    return (function.__doc__ + _section("Parameters", parameters)
            + _section("Returns", [f"{kind}\n    {text}"] if kind else [])
            + _section("Raises", [f"{name}\n    {why}" for name, _, why in errors])
            + _section("See Also", [kin] if kin else [])
            + _section("Examples", [">>> import agnesi as ag", example] if example else []))


def torch(gives: str, kin: str, example: str, raises: str = "", **words: str) -> Callable[[F], F]:
    """A public function with a name of PyTorch's, documented by these texts."""

    def decorate(function: F) -> F:
        function.__doc__ = docstring(function, gives, kin, example, raises, words)
        made = public(function)
        return made if gives.partition(" ")[0] in ("bool", "int") else planned(made)

    return decorate
