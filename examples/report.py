"""The report of a training: one HTML file without any other, its pictures drawn as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

COLOURS = ("#888888", "#d0552b")
WIDTH, HEIGHT, LEFT, BOTTOM = 460, 240, 46, 26

PAGE = """<!doctype html>
<meta charset="utf-8"><title>agnesi: digits</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; background: #fff }}
td, th {{ padding: .2rem 1.2rem .2rem 0; text-align: right }} td:first-child {{ text-align: left }}
pre {{ background: #f5f5f2; padding: .8rem; overflow-x: auto; font-size: 12px; line-height: 1.35 }}
svg {{ margin-right: 1rem }} text {{ font: 12px system-ui, sans-serif; fill: #555 }}
summary {{ cursor: pointer; margin: .6rem 0 }}
</style>
<h1>Handwritten digits</h1>
<p>{source}. One training step, run eagerly and compiled by <code>@ag.jit</code>, from the same
first weights on the same batches.</p>
{table}
<h2>Training</h2>
{curves}
<h2>Test digits</h2>
<p>Below each digit what the compiled model says: green is right, red is wrong (with the true
label). Wrong ones come first.</p>
{digits}
<h2>What the compiler made of the step</h2>
<p>{summary}</p>
<details open><summary>Kernels and memory</summary><pre>{plan}</pre></details>
<details><summary>Graph, after rewriting</summary><pre>{graph}</pre></details>
<details><summary>Why it was compiled, and what that cost</summary><pre>{explain}</pre></details>
"""


def write(path: str, source: str, runs: Sequence[Any], images: np.ndarray, labels: np.ndarray,
          predicted: np.ndarray, step: Any) -> None:
    """Write the report of an eager and a compiled run to ``path``."""
    plan = step.plan()
    kernels = len(plan.layout.kernels)
    page = PAGE.format(
        source=escape(source),
        table=_table(runs),
        curves=_chart("loss (logarithmic)", runs, lambda run: np.log10(run.losses), _power)
        + _chart("test accuracy", runs, lambda run: np.asarray(run.accuracies), "{:.1%}".format),
        digits=_digits(images, labels, predicted),
        summary=f"Forward pass, backward pass and update became {kernels} kernels in one native "
        f"function. Every value in an array of its own would take {plan.eager_bytes:,} bytes; the "
        f"plan needs {plan.planned_bytes:,}.",
        plan=escape(str(plan)), graph=escape(str(step.graph)), explain=escape(step.explain()),
    )
    Path(path).write_text(page, encoding="utf-8")


def _table(runs: Sequence[Any]) -> str:
    head = "<tr><th></th><th>test accuracy</th><th>steps per second</th><th>first step</th></tr>"
    rows = "".join(
        f"<tr><td style='color:{colour}'>&#9632; {run.name}</td><td>{run.accuracies[-1]:.2%}</td>"
        f"<td>{run.rate:,.0f}</td><td>{1e3 * run.first:.1f} ms</td></tr>"
        for run, colour in zip(runs, COLOURS, strict=True)
    )
    return f"<table>{head}{rows}</table>"


# -- curves -------------------------------------------------------------------------------------
def _power(exponent: float) -> str:
    return f"{10**exponent:.2g}"


def _chart(title: str, runs: Sequence[Any], values: Callable[[Any], np.ndarray],
           shown: Callable[[float], str]) -> str:
    """Curves over the epochs, the compiled one drawn thin over the eager one."""
    curves = [values(run) for run in runs]
    low, high = min(c.min() for c in curves), max(c.max() for c in curves)
    high = high if high > low else low + 1
    epochs = len(curves[0])

    def x(i: float) -> float:
        return LEFT + (WIDTH - LEFT - 8) * i / max(epochs - 1, 1)

    def y(value: float) -> float:
        return 24 + (HEIGHT - BOTTOM - 24) * (high - value) / (high - low)

    parts = [f'<text x="{LEFT}" y="14">{title}</text>']
    for tick in np.linspace(low, high, 5):
        parts.append(
            f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - 8}" stroke="#ddd"/>'
            f'<text x="{LEFT - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{shown(tick)}</text>'
        )
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 6}">epoch 1</text>')
    parts.append(f'<text x="{WIDTH - 8}" y="{HEIGHT - 6}" text-anchor="end">{epochs}</text>')
    for curve, colour, thick in zip(curves, COLOURS, (5, 1.5), strict=True):
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(curve))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
        )
    return f'<svg width="{WIDTH}" height="{HEIGHT}">{"".join(parts)}</svg>'


# -- digits -------------------------------------------------------------------------------------
def _digits(images: np.ndarray, labels: np.ndarray, predicted: np.ndarray, count: int = 60,
            columns: int = 12, size: int = 56) -> str:
    """A grid of images with their predictions, wrong ones first."""
    chosen = np.argsort(predicted == labels, kind="stable")[:count]
    cell = size + 24
    parts = []
    for place, i in enumerate(chosen):
        row, column = divmod(place, columns)
        right = predicted[i] == labels[i]
        told = f"{predicted[i]}" if right else f"{predicted[i]}, not {labels[i]}"
        parts.append(
            f'<g transform="translate({column * (size + 16)} {row * cell})">'
            f"{_image(images[i], size)}"
            f'<text x="{size / 2}" y="{size + 15}" text-anchor="middle" '
            f'style="fill:{"#1a7f37" if right else "#c00"}">{told}</text></g>'
        )
    height = -(-len(chosen) // columns) * cell
    return f'<svg width="{columns * (size + 16)}" height="{height}">{"".join(parts)}</svg>'


def _image(pixels: np.ndarray, size: int) -> str:
    """A square image as runs of equal grey, which keeps the file small."""
    side = round(len(pixels) ** 0.5)
    scale = size / side
    parts = [f'<rect width="{size}" height="{size}" fill="#fff" stroke="#ddd"/>']
    for row, line in enumerate(np.round(pixels.reshape(side, side) * 15).astype(int)):
        edges = [0, *(np.flatnonzero(np.diff(line)) + 1), side]
        for start, stop in pairwise(edges):
            if line[start]:
                grey = f"{15 - line[start]:x}" * 3
                parts.append(
                    f'<rect x="{start * scale:g}" y="{row * scale:g}" fill="#{grey}" '
                    f'width="{(stop - start) * scale:g}" height="{scale:g}"/>'
                )
    return "".join(parts)
