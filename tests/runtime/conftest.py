"""An empty cache folder for the tests that ask for one."""

import pytest

from agnesi.core.support.config import config


@pytest.fixture
def fresh_cache(tmp_path):
    with config(cache_dir=str(tmp_path / "agnesi")):
        yield tmp_path / "agnesi"
