"""Options by which a layer's weights were made: what writing one of them later would leave behind.

A class has a rule for each of its attributes of that kind in ``_rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from agnesi.core.op import typed
from agnesi.core.support.errors import at, warn

#: Raises or warns where a new value of an attribute does not change a module.
Rule: TypeAlias = Callable[[Any, str, Any], None]


def fixed(module: Any, name: str, value: Any) -> None:
    """The rule of options which decide what weights there are, or what is done with them."""
    kind = type(module).__name__
    raise AttributeError(at(f"{kind}.{name} was used when the layer was made, and cannot become "
                            f"{typed(value)}: make another one, {kind}(..., {name}={value!r})"))


def sizes_of(parameter: str, *axes: int | None) -> Rule:
    """The rule of options which repeat sizes of a parameter: of one axis, of those from one on
    (``axis, None``), or whether it is there.  They may be written before the parameter is."""

    def rule(module: Any, name: str, value: Any) -> None:
        weight = getattr(module, parameter, None)
        if weight is None or not axes:
            agrees = not axes and bool(value) == (weight is not None)
        elif len(axes) == 1:
            agrees = value in (size := weight.shape[axes[0]], size * getattr(module, "groups", 1))
        else:
            agrees = value == weight.shape[axes[0]:]
        if not agrees:
            kind, what = type(module).__name__, "None" if weight is None else typed(weight)
            warn(f"{kind}.{name} = {value!r} changes no weights: {parameter} is {what}; assign "
                 f"other weights, too, or make another layer, {kind}(..., {name}={value!r})")

    return rule


def rules(names: str = "", **others: Rule) -> Mapping[str, Rule]:
    """The rules of a class: of fixed options, and others."""
    return dict.fromkeys(names.split(), fixed) | others


def check_fixed(module: Any, name: str, held: Any, value: Any) -> None:
    """Raise or warn where an option of a layer of ours does not change by assignment."""
    rule = type(module)._rules.get(name)
    if rule is None or value is held or (not hasattr(value, "shape") and value == held):
        return
    rule(module, name, value)
