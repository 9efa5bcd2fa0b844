"""Pooled arrays: like NumPy's, and their memory comes back."""

import gc
import pickle
import threading

import numpy as np
import pytest

from agnesi.core.support import host
from agnesi.runtime import pool

pytestmark = pytest.mark.usefixtures("little_to_collect")

LARGE = (300, 200)


@pytest.fixture(autouse=True)
def empty_pool():
    gc.collect()
    pool.trim()
    limit = pool.stats()["limit"]
    yield
    pool.set_limit(limit)


def test_large_arrays_are_pooled_and_aligned():
    before = pool.stats()
    array = pool.empty(LARGE, np.float32)  # a type, not a dtype: the slower way in
    assert array.shape == LARGE and array.dtype == np.float32
    assert array.ctypes.data % 64 == 0
    flags = array.flags
    assert flags.owndata and flags.c_contiguous and flags.writeable and flags.aligned
    assert array.base is None
    array[:] = 3
    place = array.ctypes.data
    live = pool.stats()["live"] - before["live"]
    assert live == array.nbytes
    del array, flags
    kept = pool.stats()["kept"]  # the block is larger
    assert pool.stats()["live"] == before["live"] and live < kept <= 1.3 * live
    assert pool.empty(LARGE, np.float32).ctypes.data == place
    assert pool.stats()["hits"] == before["hits"] + 1


def test_large_arrays_lie_at_different_distances_from_a_page():
    arrays = [pool.empty((1 << 17,), np.dtype("f4")) for _ in range(16)]
    assert len({array.ctypes.data % 4096 for array in arrays}) > 8


def test_views_keep_the_memory():
    array = pool.empty(LARGE, "float64")
    array[:] = np.arange(200)
    view = array[5:7, ::2].T
    del array
    others = [pool.empty(LARGE, "float64") for _ in range(3)]
    for other in others:
        other[:] = -1
    assert (view[:, 0] == np.arange(0, 200, 2)).all()


def test_numpy_may_resize_copy_and_pickle():
    array = pool.empty((5000,), "int64")
    array[:] = np.arange(5000)
    array.resize((20000,), refcheck=False)
    assert (array[:5000] == np.arange(5000)).all() and not array[5000:].any()
    array.resize((100,), refcheck=False)
    assert (pickle.loads(pickle.dumps(array)) == np.arange(100)).all()
    assert (array.copy() == np.arange(100)).all()


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((), "float32"), ((0, 3), "int8"), ((3,), "bool"), ((2, 0), "float64"), ((7, 5), "float16"),
     ((200, 200), "complex128")],
)  # fmt: skip
def test_every_shape_and_dtype(shape, dtype):
    for kind in (dtype, np.dtype(dtype), np.dtype(dtype).type):
        array = pool.empty(shape, kind)
        assert array.shape == shape and array.dtype == np.dtype(dtype)


def test_other_spellings_are_numpys():
    assert pool.empty([300, 200], "f4").shape == LARGE
    assert pool.empty(50000, "f4").shape == (50000,)
    assert pool.empty((np.int64(300), 200), np.dtype("f4")).shape == LARGE
    assert pool.allocator()(LARGE, dtype=np.dtype("f4")).shape == LARGE
    assert pool.allocator()(dtype="f4", shape=LARGE).shape == LARGE
    assert pool.empty((3,), object).tolist() == [None] * 3
    assert pool.empty((3,), ">f4").dtype == np.dtype(">f4")


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("shape", "error"),
    [((-1, 3), ValueError), ((1 << 40, 1 << 40), ValueError), ((1 << 50,), MemoryError),
     (("a",), ValueError)],
)  # fmt: skip
def test_impossible_requests(shape, error):
    with pytest.raises(error):
        pool.empty(shape, np.dtype("f8"))


def test_limit_and_trim():
    pool.set_limit(1 << 20)
    arrays = [pool.empty((1 << 18,), np.dtype("u1")) for _ in range(12)]
    assert pool.stats()["kept"] == 0
    del arrays
    assert 0 < pool.stats()["kept"] <= 1 << 20
    pool.trim()
    assert pool.stats()["kept"] == 0
    array = pool.empty((1 << 21,), np.dtype("u1"))
    del array
    assert pool.stats()["kept"] == 0, "larger than the limit"
    with pytest.raises(ValueError, match="not -1"):
        pool.set_limit(-1)


def test_full_of_old_sizes_it_makes_room_for_new_ones():
    pool.set_limit(1 << 20)
    old = [pool.empty((100_000,), np.dtype("u1")) for _ in range(8)]
    del old
    hits = pool.stats()["hits"]
    for _ in range(10):
        array = pool.empty((400_000,), np.dtype("u1"))
        del array
    assert pool.stats()["hits"] == hits + 9


def test_threads_share_it_safely():
    wrong, before = [], pool.stats()["live"]

    def work(mark):
        for turn in range(400):
            array = pool.empty((4096 + 64 * (turn % 7), 8), np.dtype("u1"))
            array[:] = mark
            if not (array == mark).all():
                wrong.append(mark)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert pool.stats()["live"] == before


def test_prepared_memory_is_handed_out_next(monkeypatch):
    monkeypatch.setattr(host, "cores", lambda bound=0: 2)
    monkeypatch.setattr(host, "uniform_memory", lambda: True)
    thread = pool.prepare(10 << 20)
    thread.join()
    before = pool.stats()
    array = pool.empty((10 << 20,), "uint8")
    assert pool.stats()["hits"] == before["hits"] + 1
    assert not array[::4096].any()


def test_nothing_is_prepared_where_that_gains_nothing(monkeypatch):
    monkeypatch.setattr(host, "cores", lambda bound=0: 2)
    monkeypatch.setattr(host, "uniform_memory", lambda: True)
    before = pool.stats()
    assert pool.prepare(1 << 20) is None
    pool.set_limit(1 << 20)
    assert pool.prepare(10 << 20) is None
    pool.set_limit(before["limit"])
    pool.set_bound(1 << 30)
    try:
        assert pool.prepare(10 << 20) is None
    finally:
        pool.set_bound(0)
    monkeypatch.setattr(host, "cores", lambda bound=0: 1)
    assert pool.prepare(10 << 20) is None
    assert pool.stats()["misses"] == before["misses"]
