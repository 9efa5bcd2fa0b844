"""Of many cases that are alike, ``make test`` runs a share, and ``make test-all`` all."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from agnesi.core.support.config import config as settings
from tests.collected import freeze
from tests.share import EVERY, counts

#: Folders of tests about what the compiler plans for the native target.
_NATIVE = ("codegen", "schedule")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # looking through what is collected takes up to a quarter of the time
    tests = Path(__file__).parent
    odd = os.environ.get("PYTEST_XDIST_WORKER", "0")[-1] in "13579"
    if odd and any(config.rootpath / name == tests for name in config.args):
        _rewrite(config, sorted(tests.rglob("test_*.py"), reverse=True))


def _rewrite(config: pytest.Config, files: list[Path]) -> None:
    """Rewrite the assertions of files that no process has rewritten yet, and run none of them.

    Each process of a run collects all tests, in one order. In a fresh clone every other one begins
    with the last file here, and they meet halfway: hardly a file is rewritten twice.
    """
    loader = config.pluginmanager.rewrite_hook
    for file in files:
        spec = spec_from_file_location(file.stem, file, loader=loader)
        assert spec is not None
        module = module_from_spec(spec)
        module.__dict__["__builtins__"] = {}  # the first import ends it: there is no __import__
        with suppress(Exception):
            loader.exec_module(module)


def pytest_collection_finish() -> None:
    freeze()
    gc.enable()


@pytest.fixture(autouse=settings.target != "native")
def native_plans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
                 ) -> Iterator[None]:
    """What tests say of kernels holds for the native target, also while others run on another.

    Processes that they start read the environment.
    """
    package = request.path.relative_to(Path(__file__).parent).parts[0]
    native = package in _NATIVE or request.node.get_closest_marker("native_plans")
    if not native:
        yield
        return
    monkeypatch.setenv("AGNESI_TARGET", "native")
    with settings(target="native"):
        yield


@pytest.fixture(scope="module")
def little_to_collect() -> None:
    """For files that call Python's collector: it does not look through what other tests left."""
    freeze()


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests to ``make test-all``, and to whoever names them."""
    if EVERY or any("::" in name for name in config.args):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item.get_closest_marker("long") is None]
