"""The measured ratios as a picture (SVG): one bar for each suite, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from textwrap import shorten

from benchmarks.harness import Result

_WIDTH, _LINE, _TEXT, _MARGIN = 760, 22, 330, 24
_LETTERS = 45  # of a title, in the width of _TEXT
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128)
_STYLE = (
    "text{font:13px sans-serif;fill:#333}.small{font-size:11px;fill:#777}.bar{fill:#2f6f9f}"
    ".slow{fill:#b5533c}.range{stroke:#999;stroke-width:1.5}.grid{stroke:#ddd}.one{stroke:#555}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.one{stroke:#bbb}}"
)
Row = tuple[str, float, float, float, int]


def draw(tables: Iterable[tuple[str, Sequence[Result]]], machine: str,
         missing: Sequence[str] = ()) -> str:
    """A bar from 1 to the median ratio of each suite's cases, a line from the least to the most.

    Parameters
    ----------
    tables : iterable of (str, sequence of Result)
        Title and results of each suite; those of one thread are drawn.
    machine : str
        What they were measured on.
    missing : sequence of str
        Suites that were not run there; the picture names them.

    Returns
    -------
    str
        The picture; empty where no suite has a ratio.
    """
    rows = sorted(filter(None, map(_row, tables)), key=lambda row: -row[1])
    if not rows:
        return ""
    low = min(0.5, *(row[2] for row in rows))
    high = max(4.0, *(row[3] for row in rows))

    def place(ratio: float) -> float:
        share = math.log(ratio / low) / math.log(high / low)
        return _TEXT + share * (_WIDTH - _TEXT - _MARGIN)

    height = (len(rows) + 3) * _LINE
    parts = [_grid(t, place(t), height) for t in _TICKS if low <= t <= high]
    parts += [_bar(row, k, place) for k, row in enumerate(rows)]
    note = f"time of the fastest other library / ours, one thread; {machine}"
    note += f"; not run: {', '.join(missing)}" if missing else ""
    parts.append(f'<text class="small" x="8" y="{height - 6}">{escape(note)}</text>')
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{_STYLE}</style>", *parts,
        "</svg>", "",
    ])


def _row(table: tuple[str, Sequence[Result]]) -> Row | None:
    """Title, median, least and greatest ratio of a suite, and the number of its cases."""
    title, results = table
    ratios = sorted(r.ratio for r in results if r.ratio is not None and r.threads == 1)
    if not ratios:
        return None
    return title, ratios[len(ratios) // 2], ratios[0], ratios[-1], len(ratios)


def _grid(ratio: float, x: float, height: int) -> str:
    kind = "one" if ratio == 1 else "grid"
    return (
        f'<line class="{kind}" x1="{x:.1f}" y1="{_LINE}" x2="{x:.1f}" y2="{height - _LINE}"/>'
        f'<text class="small" x="{x:.1f}" y="14" text-anchor="middle">{ratio:g}x</text>'
    )


def _bar(row: Row, k: int, at: Callable[[float], float]) -> str:
    title, middle, least, most, count = row
    y = (k + 1.3) * _LINE
    left, right = sorted((at(1.0), at(middle)))
    kind = "bar" if middle >= 1 else "bar slow"
    return (
        f'<text x="8" y="{y + 11:.1f}">{escape(shorten(title, _LETTERS, placeholder="..."))} '
        f'<tspan class="small">({count})</tspan></text>'
        f'<line class="range" x1="{at(least):.1f}" y1="{y + 7:.1f}" x2="{at(most):.1f}" '
        f'y2="{y + 7:.1f}"/>'
        f'<rect class="{kind}" x="{left:.1f}" y="{y:.1f}" width="{max(right - left, 1):.1f}" '
        f'height="14"><title>{escape(title)}: median {middle:.2f}x, {least:.2f}x to {most:.2f}x'
        "</title></rect>"
    )
