"""What batches come from: datasets of other kinds, and workers that tell their errors."""

import gc
import pickle
import threading

import numpy as np
import pytest

import agnesi as ag
from agnesi import data
from agnesi.data.fetch import Task
from tests.data.test_loader import PAIRS, ROWS, Plain, labels, noisy


def test_workers_that_are_not_forked_get_all_by_pickle():
    for dataset in (PAIRS, Plain(), Plain().map(noisy), PAIRS.map(noisy, batched=True)):
        task = Task(0, (1, 2, 0), np.array([3, 1]))
        fetch = data.DataLoader(dataset, 2)._fetch
        for ours, theirs in zip(fetch(task), pickle.loads(pickle.dumps(fetch))(task), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    loader = data.DataLoader(range(5), 2, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4]]


def test_what_takes_otherwise_gives_its_samples_one_by_one():
    """Arrays, tables and others have a ``take`` of their own."""
    class First(list):
        def take(self, n):
            return self[:n]

    for source in (ROWS, ag.tensor(ROWS), First(ROWS)):
        for dataset in (data.Subset(source, [3, 0, 9]), data.random_split(source, [3, 8])[0]):
            wanted = np.stack([np.asarray(dataset[k]) for k in range(3)])
            found = np.concatenate([np.asarray(b) for b in data.DataLoader(dataset, 2)])
            np.testing.assert_array_equal(found, wanted)
            assert found.shape == (3, 4)
    assert [b.tolist() for b in data.DataLoader(First([5, 6, 7]), 2)] == [[5, 6], [7]]
    with pytest.raises(TypeError, match=r"batch_sampler must give lists .*, not 3"):
        list(data.DataLoader(PAIRS, batch_sampler=[[0, 1], 3]))
    for wrong, told in (("rows.csv", "not a text, 'rows.csv'; data.read_csv"),
                        (Frame(), r"data.from_frame\(frame, target=")):
        with pytest.raises(TypeError, match=told):
            data.DataLoader(wrong, 2)


class Frame:
    """As a table of pandas."""

    __module__ = "pandas"
    columns = ("a", "b")

    def __len__(self):
        return 1

    def __getitem__(self, name):
        raise KeyError(name)


def test_forked_workers_leave_those_of_other_loaders_alone():
    held = [data.DataLoader(Plain(), 2, num_workers=1, persistent_workers=True)]
    wanted = labels(held[0])

    def forget(k):
        held.clear()
        gc.collect()

    assert labels(data.DataLoader(Plain(), 2, num_workers=1, worker_init_fn=forget)) == wanted
    assert labels(held[0]) == wanted


class OddError(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, code, text):
        super().__init__(code)
        self.text = text


def odd(x, y):
    raise OddError(7, "seven")


def begins_badly(k):
    raise LookupError(f"no data for worker {k}")


def test_an_iteration_whose_workers_another_one_took_over_says_so():
    loader = data.DataLoader(Plain(), 2, num_workers=1, persistent_workers=True)
    older, newer = iter(loader), iter(loader)
    next(older)
    first = next(newer)[1].tolist()
    with pytest.raises(RuntimeError, match="a newer iteration has begun"):
        list(older)
    with pytest.raises(KeyError, match=r"none of a loader: it lacks \['epoch', 'batch'"):
        loader.load_state_dict({"words": None, "generator": None})
    assert [first, *(y.tolist() for _, y in newer)] == labels(loader)


def test_what_workers_raise_and_how_late_they_are_is_told():
    with pytest.raises(RuntimeError, match=r"worker 0 \(pid \d+\) failed: .*OddError: 7"):
        list(data.DataLoader(Plain().map(odd), 2, num_workers=1))
    with pytest.raises(LookupError, match="no data for worker 0"):
        list(data.DataLoader(Plain(), 2, num_workers=1, worker_init_fn=begins_badly))
    done = threading.Event()
    late = Plain().map(lambda x, y: done.wait(5))
    with pytest.raises(RuntimeError, match=r"did not make its batch within 0.05 seconds"):
        list(data.DataLoader(late, 2, num_workers=1, worker_type="thread", timeout=0.05))
    done.set()
    with pytest.raises(TypeError, match=r"not bool\[11\]; numpy.flatnonzero\(mask\) gives those"):
        data.Subset(PAIRS, np.arange(11) < 3)


def test_columns_that_are_numbered_are_taken_by_number(tmp_path):
    (tmp_path / "x.csv").write_text("1,2,0\n3,4,1\n")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS[:, :3])
    for target in (2, "2", np.int64(2)):
        x, y = data.from_frame(frame, target).take([0, 1])
        assert x.shape == (2, 2) and y.tolist() == ROWS[:2, 2].tolist()
        x, y = data.read_csv(tmp_path / "x.csv", target, header=None).take([0, 1])
        assert x.tolist() == [[1, 2], [3, 4]] and y.tolist() == [0, 1]
    assert data.from_frame(frame, columns=[1, 0])[0][0].tolist() == ROWS[0, [1, 0]].tolist()


def test_a_column_of_a_table_has_samples_by_number():
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([1.0, 2.0, 3.0])
    assert [b.tolist() for b in data.DataLoader(column, 2)] == [[1, 2], [3]]


def test_a_subclass_writes_its_tensors():
    class Doubled(data.TensorDataset):
        def __init__(self, *tensors):
            super().__init__(*tensors)
            self.tensors = [2 * t for t in tensors]

    assert Doubled(ag.arange(3.0), ag.arange(3))[2] == (4, 4)


def test_tables_take_dtypes_by_all_their_names():
    for dtype in ("bfloat16", ag.float64, np.float16):
        found = ag.data.from_frame({"a": [1.0, 2.0]}, dtype=dtype)
        assert found.tensors[0].dtype == ag.zeros(1, dtype=dtype).dtype
    with pytest.raises(ag.DTypeError, match="unsupported dtype 'int128'; choose one of"):
        ag.data.from_frame({"a": [1.0]}, dtype="int128")
