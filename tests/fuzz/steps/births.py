"""Steps whose results have a size that values tell, and choices of Python's by values."""

from __future__ import annotations

import re

from tests.fuzz.pool import Line, Pool, Value

#: What only runs where the values of a step are known to Python, or decide a size.
DECIDED = re.compile(r"\bif ag\.|\bint\(ag\.|\bfloat\(ag\.|\.item\(\)|\]\[ag\.ravel\(|ag\.unique\(|"
                     r"ag\.(argwhere|compress|flatnonzero)\([^=]*\)$|\)\[\(|in range\(int",
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


MAKERS = (born, decided)
