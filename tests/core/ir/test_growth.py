"""Whether a size grows faster with run-time sizes than another: by the powers in its monomials."""

import pytest

from agnesi.core.ir.extents import Extent
from agnesi.core.ir.growth import grows_no_faster, powers

N, M = Extent.named("n", 1, None, 5), Extent.named("m", 1, None, 7)


@pytest.mark.parametrize(("size", "other", "holds"), [
    (3, N, True),
    (N, 100, False),
    (7 * N * N + N * M, N * N * M, True),
    (N * N * M, 9 * N * N + 9 * N * M, False),
    (N * N * N, N * N, False),
    (N // 4 * N, N * N, True),
    (N * N, N // 4, False),
    ((N + M) * (N + M), N * N + N * M + M * M, True),
    ((N + M) * (N + M), N * N + M * M, False),
])
def test_growth(size, other, holds):
    assert grows_no_faster(size, other) == holds


def test_powers():
    assert [dict(p) for p in powers(5)] == [{}]
    assert sorted(sum(p.values()) for p in powers(N * N * M + 3 * N + 1)) == [0, 1, 3]
    assert {N: 1, M: 1} in [dict(p) for p in powers((N // 8) * M)]
