"""The benchmark harness: wrong answers are never timed, ratios and goals are read correctly."""

from __future__ import annotations

import contextlib
import time
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import __main__ as main
from benchmarks import limits, picture, recorded, report, suites, without, worker
from benchmarks.harness import Case, Contender, Context, Result, check_answer, to_numpy
from benchmarks.simulation import relative_rate
from benchmarks.suites import _mlp, elementwise, matmul, rows, theano_programs


def result(seconds: dict[str, float], **more: object) -> Result:
    return Result("suite", "case", 1, seconds, dict(seconds), {}, {}, **more)


def measure(**contenders: object) -> Result:
    x = np.arange(4, dtype=np.float32)
    case = Case("x + 1", lambda: x + 1, contenders)
    return Context("suite", 1, quick=True).measure(case)


def test_a_wrong_or_missing_contender_is_reported_and_not_timed():
    x = np.arange(4, dtype=np.float32)

    def missing():
        raise ImportError("no such library")

    got = measure(
        right=lambda: Contender(np.add, (x, np.float32(1))),
        wrong=lambda: Contender(np.subtract, (x, np.float32(1))),
        wide=lambda: Contender(np.add, (x, np.float64(1))),
        missing=missing,
    )
    assert set(got.seconds) == {"right"}
    assert got.absent["wrong"].startswith("wrong: wrong is off by up to 2")
    assert "float64[4], the reference float32[4]" in got.absent["wide"]
    assert got.absent["missing"] == "missing: no such library"


def test_rows_that_are_long_in_coming_are_shown_before_their_table(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    context = Context("suite", 1, quick=True, done=worker.shown())
    x = np.arange(4, dtype=np.float32)
    case = Case("x + 1", lambda: x + 1, {"agnesi": lambda: Contender(np.add, (x, np.float32(1)))})
    context.measure(case)
    assert "x + 1" not in capsys.readouterr().err
    clock[0] = worker.PATIENCE
    context.measure(case)
    assert capsys.readouterr().err.startswith("  x + 1: agnesi ")


def test_a_peer_that_takes_too_long_to_compile_is_absent():
    def slow() -> Contender:
        with theano_programs._at_most(1):
            while True:  # PyTensor's rewriter goes on behind what a rule raises
                with contextlib.suppress(Exception):
                    time.sleep(5)

    x = np.arange(4, dtype=np.float32)
    got = measure(right=lambda: Contender(np.add, (x, np.float32(1))), slow=slow)
    assert set(got.seconds) == {"right"}
    assert "takes longer than 1 s" in got.absent["slow"]
    assert "slow failed: TimeoutError: takes longer" in report.line(got)


def test_ratio_is_best_rival_over_ours():
    got = result({"agnesi": 2.0, "agnesi eager": 0.5, "a": 3.0, "b": 6.0}, goal=2.0)
    assert (got.best_peer, got.ratio, got.met) == ("a", 1.5, False)
    got.rivals = ("b",)
    assert (got.best_peer, got.ratio, got.met) == ("b", 3.0, True)


def test_another_way_of_ours_is_a_rival_where_it_is_named():
    seconds = {"agnesi": 2.0, "agnesi apart": 3.0, "numpy": 1.0}
    assert result(seconds).ratio == 0.5
    assert result(seconds, rivals=("agnesi apart",)).ratio == 1.5


def test_simulated_workers_wait_for_the_centre():
    assert relative_rate(4, 1.0, 0.0, 1, 1) == 1.0
    assert relative_rate(1, 1.0, 0.5, 1, 1) == pytest.approx(1 / 1.5)
    assert relative_rate(16, 1.0, 0.01, 1, 1) == pytest.approx(1 / 1.01, 1e-3)
    assert relative_rate(4, 1.0, 1.0, 1, 1) == pytest.approx(0.25)  # it is never idle
    assert relative_rate(4, 1.0, 1.0, 40, 1) == pytest.approx(0.5, 1e-2)  # each part mostly is
    assert relative_rate(16, 1.0, 1.0, 1, 100) > 0.98


def test_a_spread_of_the_rounds_is_told():
    context = Context("suite", 1, quick=True)
    got = Result.empty(context, "case", goal=1.0)
    got.add("agnesi", [1.0, 1.0, 1.0])
    got.add("a", [2.0, 5.0, 8.0])
    assert (got.ratio, got.least_ratio, got.noisy) == (5.0, 2.0, True)
    assert report.ratio_text(got) == "~5.00x (2.00x)"


def test_peers_of_few_cases_share_a_column():
    runs = [result({"agnesi": 1.0, name: 2.0}) for name in "abcdef"]
    head, _, first = report.suite_table("suite", runs).splitlines()[1:4]
    assert head.endswith("all peers") and first.endswith("a 2 s")
    assert report.suite_table("suite", runs[:1]).splitlines()[1].split()[-1] == "a"


def test_threads_are_judged_where_the_best_peer_gains_by_them():
    def run(threads, agnesi, peer, other):
        got = result({"agnesi": agnesi, "peer": peer, "other": other})
        got.threads = threads
        return got

    def told(*runs):
        return [line.split() for line in report.scaling(("suite", [r]) for r in runs).splitlines()]

    row = ["case", "2", "over", "1"]
    assert told(run(1, 1.0, 3.0, 4.0), run(2, 0.5, 2.9, 1.6))[2:] == [
        [*row, "2.00x", "(2.00x)", ">=1.8x", "yes", "1.88x"]]
    assert told(run(1, 1.0, 2.0, 4.0), run(2, 0.8, 1.0, 4.0))[2:] == [
        [*row, "1.25x", "(1.25x)", ">=1.8x", "NO", "2.00x"]]
    assert told(run(1, 1.0, 2.0, 4.0), run(2, 0.8, 1.5, 4.0))[2:] == [
        [*row, "1.25x", "(1.25x)", "-", "-", "1.33x"]]
    assert report.scaling([("suite", [run(1, 4e-3, 1.0, 1.0)]),
                           ("suite", [run(2, 2e-3, 1.0, 1.0)])]) == ""


def test_goals_are_undecided_without_our_figure_and_need_all_parts():
    assert result({"a": 1.0}, goal=1.0).met is None
    assert result({"agnesi": 1.0, "a": 2.0}, goal=1.0, limit=0.5).met is False
    assert result({"agnesi": 1.0}, limit=2.0).met is True
    assert result({"agnesi": 1.0, "a": 2.0}).met is None


def test_bound_is_the_slower_of_moving_and_computing():
    peaks = {"bandwidth": {"1000": 1e3, "100000": 1e2}, "flops": {"float32": 1e4}}
    assert limits.bound(peaks, 100_000, 0) == pytest.approx(1000)
    assert limits.bound(peaks, 1000, 10**6) == pytest.approx(100)
    assert limits.bandwidth_at(peaks["bandwidth"], 10_000) == pytest.approx(550)
    assert limits.bound(peaks, 0, 0) is None


def test_times_are_printed_in_their_unit():
    assert [report.seconds(t) for t in (None, 2.5, 0.0123, 4.5e-6, 3e-8)] == [
        "-", "2.5 s", "12.3 ms", "4.5 us", "30 ns",
    ]  # fmt: skip


def all_cases():
    yield from elementwise._cases((10, 1000))
    yield from rows._cases((5, 64))
    for turns in ("NN", "NT", "TN", "TT"):
        yield matmul._case((3, 5, 2), "float32", turns)


@pytest.mark.parametrize("case", list(all_cases()), ids=lambda case: case.name)
def test_numpys_forms_agree_with_the_references(case):
    forms = [name for name in case.contenders if name.startswith("numpy")]
    assert forms
    for name in forms:
        check_answer(name, case, case.contenders[name](), to_numpy(case.expect()))


def test_the_hand_written_step_follows_the_gradient():
    problem = _mlp.make((6, 5, 4, 3), batch=7)
    weights = [w.copy() for w in problem.weights]
    step = _mlp.numpy_step(weights)
    base = step(problem.x, problem.y)
    # To first order a step of gradient descent lowers the loss by |update|² / rate.
    moved = sum(((a - b) ** 2).sum() for a, b in zip(weights, problem.weights, strict=True))
    assert base - step(problem.x, problem.y) == pytest.approx(moved / _mlp.RATE, rel=0.1)


def test_the_picture_has_a_bar_from_one_to_the_median_of_each_suite():
    def table(title, *ratios):
        return title, [result({"agnesi": 1.0, "a": ratio}) for ratio in ratios]

    drawn = picture.draw(
        [table("sums & means", 0.5, 4.0, 8.0), table("slow", 0.8), table("none")], "a processor")
    root = ElementTree.fromstring(drawn)
    bars = [e for e in root if e.tag.endswith("rect")]
    assert ["slow" in bar.get("class") for bar in bars] == [False, True]
    assert [e.text.strip() for e in root if e.text and "&" in e.text] == ["sums & means"]
    one = next(float(e.get("x1")) for e in root if e.get("class") == "one")
    assert float(bars[0].get("x")) == one
    assert abs(float(bars[1].get("x")) + float(bars[1].get("width")) - one) < 0.2
    assert "not run" not in drawn
    assert "not run: rows" in picture.draw([table("one", 2.0)], "a processor", ["rows"])
    assert picture.draw([table("none")], "a processor") == ""


def test_the_newest_results_of_each_suite_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "NAMES", ("rows", "calls"))

    def write(moment, cpu, suite, ratio):
        case = Result(suite, "case", 1, {"agnesi": 1.0, "a": ratio}, {}, {}, {})
        path = tmp_path / f"bench-{moment}.json"
        main.write(path, {"cpu": cpu}, True, [], [(suite.title(), [case])])

    write("1", "ours", "rows", 1.0)
    assert recorded.newest(tmp_path, "ours")[1] == ["calls"]
    write("2", "ours", "rows", 2.0)
    write("3", "other", "rows", 3.0)
    write("4", "ours", "calls", 4.0)
    tables, missing = recorded.newest(tmp_path, "ours")
    assert not missing
    assert {title: [r.ratio for r in found] for title, found in tables} == {
        "Rows": [2.0], "Calls": [4.0]}


def test_special_cases_are_found_and_switched():
    """Their functions are named by text, so that a renamed one is noticed here."""
    places = [without.found(place) for place, _ in without.CASES.values()]
    before = [getattr(*place) for place in places]
    switches = without.Switches()
    with switches.installed():
        assert all(getattr(*p) is not b for p, b in zip(places, before, strict=True))
        module, name = without.found(without.CASES["gemm: short sums"][0])
        switches.off = "gemm: short sums"
        assert not getattr(module, name)(None, None)
    assert [getattr(*place) for place in places] == before
