"""Steps of ordinary Python: elements as numbers, names that are assigned anew, questions about an
argument's class."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value

#: What is asked of a number of Python's.
_QUESTIONS = (
    "isinstance({n}, float)", "type({n}) in (int, float)", "not hasattr({n}, 'shape')",
    "{n} in {{0.5, 1.0, 2.0}}", "len(str({n})) > 3", "{n}.__class__ is int", "np.isscalar({n})",
)


def _place(p: Pool, x: Value) -> str:
    """The key of one element."""
    return ", ".join(str(p.below(2 * n) - n) for n in x.shape)


def element(p: Pool, x: Value) -> Line | None:
    """One element, which keeps its value."""
    return Line(f"{x}[{_place(p, x)}]") if x.ndim and x.size else None


def swapped(p: Pool, x: Value) -> Line | None:
    """Two elements, one after the other, in each other's place."""
    if x.spread or not x.ndim or not x.size or (p.smooth and not x.name.startswith("v")):
        return None
    i, j = _place(p, x), _place(p, x)
    return Line(f"{x}[{i}], {x}[{j}] = {x}[{j}], {x}[{i}]", statement=True)


def again(p: Pool, x: Value) -> Line | None:
    """An element's name, assigned to anew."""
    if x.ndim or x.number or x.kind == "b" or not x.name.startswith("v"):
        return None
    return Line(p.one([f"{x} += 1", f"{x} *= 2", f"{x} -= {p.alike(x)}"]), statement=True)


def asked(p: Pool, x: Value) -> Line | None:
    """A choice of Python's by what a number of its own is."""
    numbers = [v for v in p.values if v.number]
    if not numbers or x.kind in "b":
        return None
    question = p.one(_QUESTIONS).format(n=p.one(numbers).name)
    return Line(f"({x} if {question} else {x} + {x})")


MAKERS = (element, element, swapped, again, asked)
