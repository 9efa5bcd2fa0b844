"""Of many cases that are alike, ``make test`` runs a share, and ``make test-all`` all."""

from __future__ import annotations

import pytest

from tests.share import EVERY, counts


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "share(n): one in n of a function's cases runs, all with AGNESI_EVERY_CASE=1")


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
