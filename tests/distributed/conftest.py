"""Two processes that all tests share."""

from collections.abc import Iterator

import pytest

from agnesi import distributed as dist


@pytest.fixture(scope="session")
def workers() -> Iterator[dist.Workers]:
    with dist.Workers(2, timeout=10.0) as found:
        yield found
