"""Of many cases that are alike, ``make test`` runs a share, and ``make test-all`` all."""

from __future__ import annotations

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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of functions marked by ``share``; those that are named by an id stay."""
    if EVERY or any("[" in name for name in config.args):
        return
    kept, left, seen = [], [], set()
    for item in items:
        mark = item.get_closest_marker("share")
        function = item.nodeid.partition("[")[0]
        if mark is None or function not in seen or counts(item.nodeid, *mark.args):
            kept.append(item)
            seen.add(function)
        else:
            left.append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
