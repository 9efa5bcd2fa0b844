"""All rules in the order of trial: the user's first ones, the built-in ones, the user's last."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Collection

from agnesi.core.support.errors import at, shown
from agnesi.core.support.foreign import imported
from agnesi.rewrite.rules import STAGES, Book, Rule

_FIRST, _STABLE, _LAST = STAGES
#: The files of rules in the order of trial, with the stages and tags that a preset may request.
_FILES = {
    "control.rules": STAGES,
    "algebra.canonical": (_FIRST,),
    "algebra.simplify": (_FIRST,),
    "arrays.movement": (_FIRST,),
    "arrays.reductions": (_FIRST,),
    "algebra.stable": (_STABLE,),
    "forms.divided_differences": (_STABLE,),
    "algebra.finite_differences": (_STABLE,),
    "algebra.cancellations": (_STABLE,),
    "algebra.complements": (_STABLE, _LAST),
    "forms.compositions": (_STABLE,),
    "algebra.logarithms": (_STABLE,),
    "algebra.powers": (_STABLE, _LAST),
    "algebra.gammas": (_STABLE,),
    "algebra.quotients": (_FIRST, _STABLE),
    "algebra.proportions": (_STABLE,),
    "algebra.fractions": (_STABLE,),
    "algebra.signed_logarithms": (_STABLE,),
    "algebra.near_one": (_STABLE,),
    "algebra.removable": (_STABLE,),
    "algebra.specialize": (_LAST,),
    "algebra.squares": (_STABLE, _LAST),
    "arrays.overlays": (_LAST,),
    "arrays.adjacent_slices": (_LAST,),
    "arrays.product_dtypes": (_LAST,),
    "arrays.algorithms": STAGES,
    "arrays.scatter": (_LAST, "memory"),
    "arrays.products": (_LAST, "memory"),
    "control.steps": (_LAST,),
    "arrays.pools": (_FIRST, _LAST, "memory"),
}
#: Rules registered by users, to be tried before and after the built-in ones.
OWN = {"first": Book(), "last": Book()}


@functools.cache
def built_in(stages: tuple[str, ...] = STAGES, files: tuple[str, ...] | None = None
             ) -> tuple[Rule, ...]:
    """The library's own rules in files that have some of the stages and tags requested, or in some
    of these ``files`` only.

    They are made when a graph is first rewritten: they are written with operators, which tensors
    have only once the package is imported.
    """
    found: list[Rule] = []
    for name, words in _FILES.items():
        if not set(words).isdisjoint(stages) and (files is None or name in files):
            found += importlib.import_module(f"agnesi.rewrite.{name}").BOOK.rules
    return tuple(found)


def files_of(names: Collection[str]) -> list[str]:
    """The files that have rules of these names, of those that were loaded."""
    modules = {name: imported(f"agnesi.rewrite.{name}") for name in _FILES}
    return [name for name, module in modules.items()
            if module is not None and any(rule.name in names for rule in module.BOOK.rules)]


def rules(stages: tuple[str, ...] = STAGES) -> list[Rule]:
    """All rules there are now, or those of some stages, in the order in which they are tried.

    Others may be among them.

    :param stages: Names of stages.
    :returns: The user's among them.
    :see: rewrite.rewrite_rule, rewrite.rewrite

    >>> from agnesi import rewrite
    >>> len(rewrite.rules()) > 50
    True
    """
    return [*OWN["first"].rules, *built_in(stages), *OWN["last"].rules]


def custom_rules() -> bool:
    """Return whether a user has registered rules.

    :returns: Whether there are any.
    :see: rewrite.rewrite_rule, rewrite.forget_rule

    >>> from agnesi import rewrite
    >>> rewrite.custom_rules()
    False
    """
    return any(book.rules for book in OWN.values())


def check_new(rule: Rule, position: str) -> None:
    """Refuse a rule of a name that there is, or a position that there is not."""
    if position not in OWN:
        raise ValueError(at(f"position must be 'first' or 'last', not {position!r}"))
    if any(r.name == rule.name for r in rules()):
        raise ValueError(at(f"there is a rewrite rule {rule.name!r} already; forget_rule takes "
                            "one's own out again"))


def register(rule: Rule, position: str) -> Rule:
    """Add a rule of a user's."""
    check_new(rule, position)
    OWN[position].add(rule)
    return rule


def forget(name: str) -> None:
    """Take a rule of a user's out."""
    for book in OWN.values():
        for rule in book.rules:
            if rule.name == name:
                book.rules.remove(rule)
                return
    raise ValueError(at(f"there is no rewrite rule of one's own with the name {shown(name)}"))
