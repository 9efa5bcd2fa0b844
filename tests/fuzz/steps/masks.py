"""Steps with masks, sizes that values tell, and branches that have no number."""

from __future__ import annotations

from tests.fuzz.pool import Line, Pool, Value


def guarded(p: Pool, x: Value) -> Line | None:
    """A choice whose other side is not defined, guarded once or twice."""
    if x.kind != "f":
        return None
    inside = f"ag.where({x} > 0, {x}, 1)"
    return Line(p.one([
        f"ag.where({x} > 0, ag.log({inside}), {x})", f"ag.where({x} > 0, ag.sqrt({inside}), 0)",
        f"ag.where({x} == 0, 1, {x} / ag.where({x} == 0, 1, {x}))",
        f"ag.where({x} > 0, ag.where({x} > 1, ag.log({inside}), {x} - 1), 2 * {x})",
        f"ag.where(ag.isnan({x}), 0, {x})",
        *([] if p.smooth else [f"ag.where({x} > 0, ag.log({x}), {x})",
                               f"ag.where({x} != 0, 1 / {x}, 0)",
                               f"ag.nan_to_num({x} / {x})"])]), False)


def selected(p: Pool, x: Value) -> Line | None:
    """What is left where a mask is true: numbers that do not depend on how many that is."""
    if p.kind != "whole" or not x.ndim or x.kind in "bc":
        return None
    y = p.alike(x)
    mask = p.one([f"{y} > 0", f"{x} == {y}", f"{y} % 2 == 0"])
    return Line(p.one([
        f"{x}[{mask}].sum()", f"ag.nonzero({mask}, size={x.size})[0].sum()",
        f"ag.sum({x}[{mask}] * 2)",
        f"ag.max({x}[{mask}], initial=1)", f"ag.count_nonzero({mask}) + {x}",
        f"ag.extract({mask}, {x}).sum()", f"ag.flatnonzero({mask}, size={x.size}).sum()",
        f"ag.cumsum({x}[{mask}])[-1:].sum()"]))


def written(p: Pool, x: Value) -> Line | None:
    """Where a mask is true, a number or another value."""
    if x.spread or x.kind in "bc" or p.smooth or not x.ndim:
        return None
    y = p.alike(x)
    mask = f"{y} > 0" if p.chance(0.6) else f"{x} == {y}"
    return Line(p.one([f"{x}[{mask}] = {y}[{mask}]", f"{x}[{mask}] += {1 + p.below(3)}",
                       f"{x}[{mask}] *= 2", f"{x}[({mask}).any(-1)] = {p.below(3)}"
                       if x.ndim > 1 else f"{x}[{mask}] = 0"]), statement=True)


def through(p: Pool, x: Value) -> Line | None:
    """A value, written through views of it."""
    if x.spread or not x.ndim or x.kind == "b" or (p.smooth and not x.name.startswith("v")):
        return None
    n, c = x.shape[0], 1 + p.below(3)
    places = [f"{x}.T[...]", f"{x}[::-1][:{1 + p.below(3)}]", f"{x}[..., ::-2]",
              f"{x}[{p.below(n + 1)}:][:1]", f"{x}.T[::2]", f"{x}[..., None][..., 0]",
              f"{x}.reshape(-1)[::2]", f"{x}.reshape(-1)[:{1 + p.below(4)}][::-1]"]
    if x.ndim > 1:
        places += [f"ag.swapaxes({x}, 0, -1)[0:1]", f"{x}[:, :1].T[...]", f"{x}[::-1, ::-1][:1]"]
    form = p.one(["{0} += {1}", "{0} *= {1}", "{0} = {1}", "{0} -= {0} * {1}"])
    return Line(form.format(p.one(places), c), statement=True)


MAKERS = (guarded, guarded, selected, written, through, through)
