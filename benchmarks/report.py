"""The measurements as text: a table for each suite, and the issue's table of goals at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.harness import OURS, Result, geometric_mean

#: What threads should gain for each added one, from how long a step on, if the best peer gains it.
_GAIN, _LONG = 0.8, 5e-3


def seconds(value: float | None) -> str:
    """A time in the unit that suits it."""
    if value is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def amount(value: float | None, unit: str) -> str:
    """Seconds, or bytes, in the unit that suits them."""
    if unit == "s" or value is None:
        return seconds(value)
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}B"
    return f"{value:.0f} B"


def suite_table(title: str, results: Sequence[Result]) -> str:
    """One row a case: ours, the best peer, the ratio, the goal, the physical limit, all peers.

    Peers have a column each, unless most have no figure in most cases: then one column has those of
    each case by name.  A ratio with ~ before it was measured on a machine too busy to trust it;
    then the ratio of the shortest rounds follows in brackets.
    """
    peers = list(dict.fromkeys(n for r in results for n in r.seconds if n != OURS))
    rate = ["items/s"] if any(r.items for r in results) else []
    named = 2 * sum(len(r.seconds) for r in results) < len(peers) * len(results)
    columns = ["all peers"] if named else peers
    head = ["case", "agnesi", *rate, "ratio", "goal", "met", "best peer", "% of limit", *columns]
    rows = [head, *(_row(r, None if named else peers, bool(rate)) for r in results)]
    threads = f"{results[0].threads} thread{'s' if results[0].threads > 1 else ''}"
    return "\n".join([f"{title} ({threads})", *_aligned(rows), *_reasons(results)])


def _row(result: Result, peers: Sequence[str] | None, rate: bool) -> list[str]:
    fraction = result.bound / result.ours if result.bound and result.ours else None
    per_second = f"{result.items / result.ours:,.0f}" if result.items and result.ours else "-"
    return [
        result.case,
        amount(result.ours, result.unit),
        *([per_second] if rate else []),
        ratio_text(result),
        goal_text(result),
        {True: "yes", False: "NO", None: "-"}[result.met],
        result.best_peer or "-",
        "-" if fraction is None else f"{100 * fraction:.0f}",
        *_times(result, peers),
    ]


def _times(result: Result, peers: Sequence[str] | None) -> list[str]:
    """A cell for each of the peers; without these, one cell with the times of all by name."""
    if peers is not None:
        return [amount(result.seconds.get(name), result.unit) for name in peers]
    return [", ".join(f"{name} {amount(time, result.unit)}"
                      for name, time in result.seconds.items() if name != OURS)]


def line(result: Result) -> str:
    """A result in one line: all times, the ratio and its goal, and why a library has none."""
    times = [f"{n} {amount(s, result.unit)}" for n, s in result.seconds.items()]
    times += [f"{name} {why}" for name, why in result.absent.items()]
    return (f"{result.case}: {', '.join(times)}; ratio {ratio_text(result)} "
            f"of {goal_text(result)}")


def ratio_text(result: Result) -> str:
    if result.ratio is None:
        return "-"
    if result.noisy:
        return f"~{result.ratio:.2f}x ({result.least_ratio:.2f}x)"
    return f"{result.ratio:.2f}x"


def goal_text(result: Result) -> str:
    parts = []
    if result.goal is not None:
        parts.append(f">={result.goal:g}x")
    if result.limit is not None:
        parts.append(f"<={seconds(result.limit)}")
    return " ".join(parts) or "-"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = (cell.ljust(width) if head == "all peers" else cell.rjust(width)
                for head, cell, width in zip(rows[0][1:], row[1:], widths[1:], strict=True))
        lines.append("  ".join([first, *rest]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return lines


def _reasons(results: Iterable[Result]) -> list[str]:
    """Why a library has no figure, once for each library and reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for name, reason in result.absent.items():
            reasons.setdefault((name, reason), []).append(result.case)
    return [
        f"  {name}: {reason} [{cases[0]}{f' and {len(cases) - 1} more' if cases[1:] else ''}]"
        for (name, reason), cases in reasons.items()
    ]


def summary(tables: Iterable[tuple[str, Sequence[Result]]]) -> str:
    """One row a suite and thread count: goals met, the typical and the worst ratio."""
    rows = [
        ["workload", "threads", "goals", "met", "median ratio", "worst ratio", "of limit", "worst"]
    ]
    for title, results in tables:
        ratios = sorted((r.ratio, r.case) for r in results if r.ratio is not None)
        judged = [r.met for r in results if r.goal is not None or r.limit is not None]
        shares = [r.bound / r.ours for r in results if r.bound and r.ours]
        rows.append(
            [
                title,
                str(results[0].threads),
                ", ".join(dict.fromkeys(map(goal_text, results))),
                f"{sum(m is True for m in judged)} of {len(judged)}",
                f"{ratios[len(ratios) // 2][0]:.2f}x" if ratios else "-",
                f"{ratios[0][0]:.2f}x" if ratios else "-",
                f"{100 * geometric_mean(shares):.0f} %" if shares else "-",
                ratios[0][1] if ratios else "-",
            ]
        )
    return "\n".join(_aligned(rows))


def scaling(tables: Iterable[tuple[str, Sequence[Result]]]) -> str:
    """One row a case that several numbers of threads ran: what they gain over the first one.

    The goal is there where the best peer, the fastest one of each run, reaches it; a gain is told
    by the medians, and in brackets by the shortest rounds.  Empty where nothing can be compared.
    """
    rows = [["case", "threads", "agnesi", "goal", "met", "best peer"]]
    alone: dict[tuple[str, str], Result] = {}
    for title, results in tables:
        for result in results:
            first = alone.setdefault((title, result.case), result)
            if first is not result and _long(first) and result.ours and result.best_peer:
                rows.append(_scaled(first, result))
    return "\n".join(_aligned(rows)) if rows[1:] else ""


def _long(result: Result) -> bool:
    """Whether a case takes long enough for threads to matter."""
    return result.unit == "s" and result.best_peer is not None and (result.ours or 0.0) > _LONG


def _scaled(first: Result, result: Result) -> list[str]:
    goal = 1 + _GAIN * (result.threads / first.threads - 1)
    ours, least = first.seconds[OURS] / result.seconds[OURS], first.least[OURS] / result.least[OURS]
    peer = first.seconds[first.best_peer or ""] / result.seconds[result.best_peer or ""]
    judged = peer >= goal
    return [
        result.case,
        f"{result.threads} over {first.threads}",
        f"{ours:.2f}x ({least:.2f}x)",
        f">={goal:g}x" if judged else "-",
        ("yes" if ours >= goal else "NO") if judged else "-",
        f"{peer:.2f}x",
    ]
