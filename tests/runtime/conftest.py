"""A cache folder of its own for the tests of this room, and IR bodies that they share."""

import pytest

from agnesi.core.config import config


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    with config(cache=True, cache_dir=str(tmp_path_factory.mktemp("cache") / "agnesi")):
        yield


@pytest.fixture
def fresh_cache(tmp_path):
    with config(cache_dir=str(tmp_path / "agnesi")):
        yield tmp_path / "agnesi"
