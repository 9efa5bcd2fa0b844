"""Keys of indexing, as text."""

from __future__ import annotations

from typing import Any

from tests.fuzz.values import Draw


def slices_of(d: Draw, x: Any) -> str:
    """A slice or an integer for each axis of a value."""
    return ", ".join([*(_part(d, n) for n in x.shape), "..."][: x.ndim + d.below(2)])


def _part(d: Draw, n: int) -> str:
    k = d.below(n + 1)
    return d.one([":", ":", ":", "::-1", f"{k}:", f":{-(k % 3) or ''}:2", f"{n}:0:-2",
                  str(k % n - n * d.below(2)) if n else ":0", ":1", "1:"])


def key_of(d: Draw, shape: tuple[int, ...]) -> str:
    """A key: integers, slices, None, an ellipsis, arrays of integers that broadcast, masks."""
    common = d.one([(), (1,), (2,), (3,), (2, 3), (0,), (2, 1)])
    entries: list[str] = []
    axis, dotted = 0, False
    while axis < len(shape):
        if d.below(10) == 0:
            entries.append("None")
        n = shape[axis]
        kind = d.one(["slice", "slice", ":", "stop", "mask", *([] if dotted else ["dots"]),
                      *(["int", "array", "array"] if n else ["empty"])])
        if kind == "stop":
            break
        width = 1
        if kind == "dots":
            entries.append("...")
            dotted, width = True, d.below(len(shape) - axis + 1)
        elif kind == "mask":
            width = 1 + d.below(min(2, len(shape) - axis))
            entries.append(_mask(d, shape[axis: axis + width]))
        else:
            entries.append(_entry(d, kind, n, common))
        axis += width
    return ", ".join(entries) + ("," if len(entries) == 1 and d.chance(0.5) else "") or "..."


def _entry(d: Draw, kind: str, n: int, common: tuple[int, ...]) -> str:
    if kind == "slice":
        bounds = [d.one(["", str(d.below(2 * n + 5) - n - 2)]) for _ in range(2)]
        return f"{bounds[0]}:{bounds[1]}:{d.one(['', '1', '2', '3', '-1', '-2'])}"
    if kind == "array":
        return f"np.array({d.rng.integers(-n, n, common).tolist()}, 'int64').reshape({common})"
    return {":": ":", "empty": "np.zeros(0, 'int64')"}.get(kind) or str(d.below(2 * n) - n)


def _mask(d: Draw, part: tuple[int, ...]) -> str:
    return f"np.array({(d.rng.random(part) < 0.5).tolist()}, bool).reshape({part})"
