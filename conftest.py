"""What holds for all tests: a compile cache of their own, programs verified, no traces left."""

import functools
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agnesi.core.support import host
from agnesi.core.support.config import config
from agnesi.runtime import pool

SOURCE = Path(__file__).parent / "src"

#: Files that stand for modules of ``api`` in import statements, and must be imported as such.
collect_ignore = [*Path(__file__).parent.glob("src/agnesi/[!_]*.py")]


def pytest_collect_file(file_path):
    """Examples stand in docstrings as users read them, whichever files are collected: public
    modules make them so when they are imported."""
    if SOURCE in file_path.parents:
        for name in ("tests.docstrings.public", "agnesi.compat.autograd.misc",
                     "agnesi.distributed"):
            import_module(name)


def pytest_report_header():
    from agnesi.api.linalg import backend

    return f"linear algebra: {backend()}"


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Processes of one run have one cache: none compiles what another did."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    cache = folder / "cache" / "agnesi"
    with config(verify=True, cache=True, cache_dir=str(cache)):
        yield


@pytest.fixture(autouse=True, scope="session")
def loaded_compiler():
    """What a test compiles does not depend on how much was done in others before."""
    from agnesi.compiler import warmup

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warmup, "LOADING", 0)
        patch.setattr(warmup, "TRACING", 0)
        warmup.WORK.begin()
        yield


@functools.cache
def cores(bound):
    """Cores at most ``bound``: to read the system's files takes a tenth of a millisecond."""
    return host.cores(bound)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Limits that a test sets, as one that calls every function, end with it.

    No fixture does this: to set one up takes longer than many a test.
    """
    before = pool.stats()["limit"]
    done = yield
    pool.set_limit(before)
    pool.set_bound(0)
    threads = sys.modules.get("agnesi.runtime.threads")
    if threads is not None:
        count = cores(config.threads)
        if not count == config.threads == threads.get_num_threads():
            threads.set_num_threads(count)
    return done
