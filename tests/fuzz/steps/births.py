"""Steps whose results have a size that values tell, and choices of Python's by values."""

from __future__ import annotations

import re

from tests.fuzz.pool import Line, Pool, Value

#: What only runs where the values of a step are known to Python, or decide a size.
DECIDED = re.compile(r"\bif ag\.|\bint\(ag\.|\bfloat\(ag\.|\.item\(\)|\]\[ag\.ravel\(|ag\.unique\(|"
                     r"ag\.repeat\(.*ag\.clip\(|ag\.(argwhere|compress|flatnonzero)\([^=]*\)$|"
                     r"\)\[\(|in range\(int|"
                     r"ag\.max\(ag\.clip\([^)]*\)\.astype\('int64'\)\)",
                     re.MULTILINE)


def born(p: Pool, x: Value) -> Line | None:
    """Elements that a mask names, as many as there are."""
    if p.kind != "whole" or not x.ndim or x.kind in "bc":
        return None
    y = p.alike(x)
    mask = p.one([f"{y} > 0", f"{x} == {y}", f"{y} % 2 == 0"])
    return Line(p.one([
        f"({x})[({mask})]", f"({x})[({mask})] * 2", f"ag.unique({x})",
        f"ag.flatnonzero({mask})", f"ag.compress(({mask}).reshape(-1), {x}.reshape(-1))",
        f"({x})[({mask}).any(-1)]" if x.ndim > 1 else f"({x})[({mask})][::-1]",
        f"ag.argwhere({mask})", f"ag.concat([({x})[({mask})], {x}.reshape(-1)[:2]])",
        f"ag.cumsum(({x})[({mask})])", f"ag.sort(({x})[({mask})])"]))


def decided(p: Pool, x: Value) -> Line | None:
    """What Python does by numbers that were computed."""
    y = p.pick()
    if p.kind != "whole" or x.kind in "bc" or y.kind in "bc" or not y.size:
        return None
    count = f"int(ag.max(ag.clip({y}, 0, 3)))"
    return Line(p.one([
        f"({x} if ag.sum({y}) > 0 else {x} * 2)", f"{x} * int(ag.max(ag.clip({y}, 0, 2)))",
        f"({x} if ag.all({y} == {y}) else -{x})", f"sum([{x} * i for i in range({count})], {x})",
        f"({x} if ag.min({y}).item() < 1 else {x} + 1)",
        f"ag.concat([{x}.reshape(-1)[:3]] * (1 + {count}))" if x.ndim else f"{x} + {count}",
        f"{x}.reshape(-1)[{count}:]" if x.ndim else f"ag.full((2,), {count})"]))


def _place(p: Pool, x: Value, y: Value, axis: int) -> str:
    """A place on an axis that values give: an integer of Python's, or a tensor."""
    most = max(x.shape[axis] - 1, 0)
    tensor = f"ag.max(ag.clip({y}, 0, {min(most, 2)}).astype('int64'))"
    return p.one([f"int({tensor})", tensor])


#: Views from a place ``k`` on, or at it, of axis ``a``; ``f`` is what stands before it in a key.
VIEWS = (
    "{x}[{f}{k}:]", "{x}[{f}{k}:]", "{x}[{f}:{k} + 1]", "{x}[{f}{k}::2]", "{x}[{f}::-1][{f}{k}:]",
    "{x}[{f}int({k})]", "{x}[{f}{k}:{k} + 1]", "{x}[None, {f}{k}:]", "{x}[{f}{k}:].T",
    "ag.select({x}, {a}, int({k}))", "ag.narrow({x}, {a}, {k}, 1)", "{x}[{f}{k}:].reshape(-1)",
    "ag.swapaxes({x}[{f}{k}:], 0, -1)", "{x}[{f}{k}:].unfold({a}, 1, 1)",
    "ag.expand_dims({x}[{f}{k}:], 0)",
)
#: What changes a part from a place on.
CHANGES = (
    "{v} += 1", "{v} *= {v}", "{v}[...] = 2", "{v}.fill_(1)", "{v}.neg_()", "{v}[...] -= 1",
    "{v}.mul_(2)", "{v}.copy_({v} + 1)",
)


def _part(p: Pool, x: Value) -> str | None:
    y = p.pick()
    if p.kind != "whole" or not x.ndim or not x.size or y.kind in "bc" or not y.size:
        return None
    axis = p.below(x.ndim)
    return p.one(VIEWS).format(x=x, a=axis, f=":, " * axis, k=_place(p, x, y, axis))


def part(p: Pool, x: Value) -> Line | None:
    """A view whose place values give."""
    text = _part(p, x)
    return Line(text, view=True) if text else None


def part_changed(p: Pool, x: Value) -> Line | None:
    """Such a view changed in place."""
    text = None if x.spread or x.number or x.kind in "bc" else _part(p, x)
    if not text:
        return None
    return Line(p.one(CHANGES if text[-1] == "]" else CHANGES[2:]).format(v=text), statement=True)


MAKERS = (born, decided, part, part_changed)
