"""All rules in the order of trial: the user's first ones, the built-in ones, the user's last."""

from __future__ import annotations

import functools
import importlib

from agnesi.rewrite.rules import Book, Rule

_FILES = (
    "loops", "whiles", "branches", "canonical", "algebra", "movement", "reductions", "stable",
    "softmaxes", "quotients", "specialize", "overlays", "matrices", "algorithms", "scatter",
    "products", "steps", "pools",
)
#: Rules registered by users, to be tried before and after the built-in ones.
OWN = {"first": Book(), "last": Book()}


@functools.cache
def built_in() -> tuple[Rule, ...]:
    """The library's own rules, made when a graph is first rewritten.

    They are written with operators, which tensors have only once the package is imported.
    """
    found: list[Rule] = []
    for name in _FILES:
        found += importlib.import_module(f"agnesi.rewrite.{name}").BOOK.rules
    return tuple(found)


def rules() -> list[Rule]:
    """All rules there are now, in the order in which they are tried."""
    return [*OWN["first"].rules, *built_in(), *OWN["last"].rules]


def custom_rules() -> bool:
    """Whether a user has registered rules."""
    return any(book.rules for book in OWN.values())


def register(rule: Rule, position: str) -> Rule:
    """Add a rule of a user's."""
    if position not in OWN:
        raise ValueError(f"position must be 'first' or 'last', not {position!r}")
    if any(r.name == rule.name for r in rules()):
        raise ValueError(f"there is a rewrite rule {rule.name!r} already")
    OWN[position].add(rule)
    return rule


def forget(name: str) -> None:
    """Take a rule of a user's out."""
    for book in OWN.values():
        for rule in book.rules:
            if rule.name == name:
                book.rules.remove(rule)
                return
    raise ValueError(f"there is no rewrite rule of one's own with the name {name!r}")
