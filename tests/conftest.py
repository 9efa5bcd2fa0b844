"""Of many cases that are alike, ``make test`` runs a share, and ``make test-all`` all."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from agnesi.core.support.config import config as settings
from tests.share import EVERY, counts

#: Folders of tests about what the compiler plans for the native target.
_NATIVE = ("codegen", "schedule")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "share(n): one in n of a function's cases runs, all with AGNESI_EVERY_CASE=1")
    config.addinivalue_line(
        "markers", "native_plans: compiles for the native target, whatever AGNESI_TARGET says")


@pytest.fixture(autouse=True)
def native_plans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
                 ) -> Iterator[None]:
    """What tests say of kernels holds for the native target, also while others run on another.

    Processes that they start read the environment.
    """
    room = request.path.relative_to(Path(__file__).parent).parts[0]
    native = room in _NATIVE or request.node.get_closest_marker("native_plans")
    if settings.target == "native" or not native:
        yield
        return
    monkeypatch.setenv("AGNESI_TARGET", "native")
    with settings(target="native"):
        yield


@pytest.fixture(scope="module")
def little_to_collect() -> Iterator[None]:
    """For files that call Python's collector: it looks through what they make, not through all
    tests, modules and what other tests left, which takes most of a second each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Leave out cases of functions marked by ``share``; those that are named by an id stay.

    They are never made: of all cases there are twice as many as run, and to make and to carry them
    takes each process of a run seconds.
    """
    yield
    function = metafunc.definition
    mark, cases = function.get_closest_marker("share"), metafunc._calls
    if mark is None or EVERY or any("[" in name for name in metafunc.config.args):
        return
    cases[1:] = [c for c in cases[1:] if counts(f"{function.nodeid}[{c.id}]", *mark.args)]
