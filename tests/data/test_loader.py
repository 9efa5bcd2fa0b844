"""The loader: orders, batches, transforms, workers, and going on in the middle of an epoch."""

import multiprocessing
import os
import signal
import threading
import time
from collections import namedtuple
from itertools import chain

import numpy as np
import pytest

import agnesi as ag
from agnesi import data, nn, optim, saving
from agnesi.compiler import eager
from agnesi.data import samplers

ROWS = np.arange(44, dtype=np.float32).reshape(11, 4)
PAIRS = data.TensorDataset(ROWS, np.arange(11))


class Plain(data.Dataset):
    """Samples one by one."""

    def __len__(self):
        return 11

    def __getitem__(self, index):
        return ROWS[index], index


def noisy(x, y, generator):
    return x + generator.normal(size=x.shape).astype(np.float32), y


def labels(loader):
    return [y.tolist() for _, y in loader]


def values(loader):
    return [np.asarray(x).tolist() for x, _ in loader]


@pytest.mark.parametrize(
    "dataset",
    [
        PAIRS,
        Plain(),
        data.Subset(PAIRS, range(11)),
        data.ConcatDataset([data.Subset(PAIRS, [0, 1, 2]), data.Subset(PAIRS, range(3, 11))]),
    ],
)
def test_batches_in_order(dataset):
    loader = data.DataLoader(dataset, batch_size=4)
    assert labels(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]] and len(loader) == 3
    x, y = next(iter(loader))
    assert isinstance(x, ag.Tensor) and (x.dtype, x.shape) == (ag.float32, (4, 4))
    assert (np.asarray(x) == ROWS[:4]).all() and y.dtype == ag.int64
    loader = data.DataLoader(dataset, batch_size=4, drop_last=True)
    assert labels(loader) == [[0, 1, 2, 3], [4, 5, 6, 7]] and len(loader) == 2
    alone = data.DataLoader(dataset, batch_size=None)
    assert len(alone) == 11 and [int(y) for _, y in alone] == list(range(11))
    assert next(iter(alone))[0].shape == (4,)
    pair = namedtuple("pair", "x y")
    deep = data.DataLoader([pair(ROWS[0], [np.int64(3), {"z": ROWS[1]}])], batch_size=None)
    (one,) = deep
    assert type(one) is pair and all(isinstance(t, ag.Tensor) for t in (
        one.x, one.y[0], one.y[1]["z"]))


def test_batches_in_order_are_views_that_nobody_writes_to():
    x, _ = next(iter(data.DataLoader(PAIRS, batch_size=4)))
    assert np.shares_memory(x.array, ROWS)
    with pytest.raises((ValueError, RuntimeError)):
        x += 1
    assert ROWS[0, 0] == 0
    step = ag.jit(lambda x: (x * 2).sum())
    assert [float(step(x)) for (x,) in data.DataLoader(data.TensorDataset(ROWS), 4)] == [
        240.0,
        752.0,
        900.0,
    ]


def test_datasets_have_names_or_one_array():
    named = data.TensorDataset({"x": ROWS, "y": np.arange(11)})
    batch = next(iter(data.DataLoader(named, batch_size=2, shuffle=True)))
    assert list(batch) == ["x", "y"] and batch["x"].shape == (2, 4)
    assert next(iter(data.DataLoader(ag.tensor(ROWS), 3))).shape == (3, 4)
    assert named[1]["y"].tolist() == 1 and "x: float32[11, 4]" in repr(named)
    with pytest.raises(ValueError, match=r"float64\[2\], float64\[3\]"):
        data.TensorDataset(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="same number of rows"):
        data.TensorDataset(np.float64(1))


def test_shuffled_epochs_differ_and_repeat():
    def epochs(**keywords):
        loader = data.DataLoader(PAIRS, batch_size=3, shuffle=True, **keywords)
        return [labels(loader), labels(loader)]

    first, second = epochs(generator=7)
    assert first != second and first != labels(data.DataLoader(PAIRS, batch_size=3))
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(11))
    assert epochs(generator=7) == [first, second] != epochs(generator=8)
    ag.manual_seed(3)
    once = epochs()
    ag.manual_seed(3)
    assert epochs() == once


class Told(Plain):
    """Samples that tell which worker makes them."""

    def __getitem__(self, index):
        info = data.get_worker_info()
        return (-1, 0, 0) if info is None else (info.id, info.num_workers, len(info.dataset))


def test_a_worker_knows_itself():
    def told(**way):
        return {tuple(map(int, row)) for batch in data.DataLoader(Told(), 3, **way)
                for row in zip(*batch, strict=True)}

    assert told() == {(-1, 0, 0)}
    assert set() != told(num_workers=2) <= {(0, 2, 11), (1, 2, 11)}  # one may do all


def test_datasets_behind_and_beside_each_other():
    assert list(data.ChainDataset([Counted(), [5]]))[-2:][1] == 5
    pairs = data.StackDataset(PAIRS, list("abcdefghijk"))
    assert len(pairs) == 11 and pairs[2][1] == "c" and pairs[2][0][1] == 2
    assert data.StackDataset(x=PAIRS)[1]["x"][1] == 1
    assert data.ConcatDataset([PAIRS, PAIRS]).cumulative_sizes == [11, 22]
    assert PAIRS.tensors[1].tolist() == list(range(11))
    for wrong in (dict, lambda: {"x": PAIRS, "y": [1]}):
        with pytest.raises(ValueError, match="StackDataset takes datasets of the same length"):
            data.StackDataset(**wrong())
    with pytest.raises(ValueError, match="ChainDataset: datasets must be a list or"):
        data.ChainDataset([3])


class Counted(data.IterableDataset):
    """The pairs as a stream."""

    def __iter__(self):
        return zip(ROWS, range(11), strict=True)


WAYS = [
    {},
    {"num_workers": 2, "worker_type": "thread"},
    {"num_workers": 1},
    {"num_workers": 2, "prefetch_factor": 1, "persistent_workers": True},
]


def test_results_do_not_depend_on_who_makes_them():
    def run(way):
        loader = data.DataLoader(Plain().map(noisy), 3, shuffle=True, generator=1, **way)
        found = [values(loader), values(loader)]
        assert loader.epoch == 2
        return found

    first, *others = map(run, WAYS)
    assert first[0] != first[1] and all(other == first for other in others)


@pytest.mark.share(2)
@pytest.mark.parametrize("way", WAYS[:3])
@pytest.mark.parametrize("kind", ["shuffled", "stream", "buckets"])
def test_a_loader_goes_on_in_the_middle(kind, way):
    def make():
        if kind == "stream":
            return data.DataLoader(Counted().map(noisy), 3, generator=2, **way)
        dataset = PAIRS.map(noisy)
        if kind == "buckets":
            buckets = data.BucketBatchSampler(np.arange(11) % 3, 3, batches_per_bucket=2)
            return data.DataLoader(dataset, batch_sampler=buckets, generator=2, **way)
        return data.DataLoader(dataset, 3, shuffle=True, generator=2, **way)

    first = make()
    got, state = [], None
    for x, _ in first:
        got.append(np.asarray(x).tolist())
        if len(got) == 2:
            state = first.state_dict()
    second = make()
    second.load_state_dict(state)
    assert values(second) == got[2:] and len(got) == 4
    assert second.epoch == first.epoch == 1
    assert values(second) == values(first)


def test_a_training_goes_on_in_the_middle_of_an_epoch(tmp_path):
    def parts():
        ag.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 5), nn.Dropout(0.3), nn.Linear(5, 1))
        return {
            "model": model,
            "optimizer": optim.Adam(model.parameters(), lr=0.01),
            "loader": data.DataLoader(PAIRS.map(noisy), 3, shuffle=True),
            "generator": ag.random.default_generator(),
        }

    def train(model, optimizer, loader, generator, stop=None):
        for k, (x, _) in enumerate(loader):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
            if k == stop:
                saving.save_checkpoint(
                    tmp_path / "c",
                    model=model,
                    optimizer=optimizer,
                    loader=loader,
                    generator=generator,
                )
        return [t.tolist() for t in model.state_dict().values()]

    whole = train(**parts(), stop=1)
    again = parts()
    ag.manual_seed(5)
    saving.load_checkpoint(tmp_path / "c", **again)
    assert train(**again) == whole


def test_a_stopped_loop_begins_anew():
    loader = data.DataLoader(PAIRS, 4)
    next(iter(loader))
    assert len(labels(loader)) == 3
    for broken in ({"epoch": 1}, {"epoch": 0, "batch": 0}):
        with pytest.raises(KeyError):
            loader.load_state_dict(broken)
    with pytest.raises(TypeError, match="mapping"):
        loader.load_state_dict(3)


def test_orders_are_all_numbers_evenly():
    counts = np.zeros((6, 6))
    generator = ag.random.default_rng(0)
    for _ in range(600):
        counts[np.arange(6), samplers.shuffled(6, generator)] += 1
    assert (counts.sum(0) == 600).all() and counts.min() > 60 and counts.max() < 145
    assert sorted(samplers.shuffled(70_000, generator)) == list(range(70_000))
    assert samplers.shuffled(0, generator).tolist() == []


def test_samplers():
    order = data.RandomSampler(range(5), replacement=True, num_samples=40)
    assert len(order) == 40 and set(order) <= set(range(5))
    again = list(data.RandomSampler(range(5), num_samples=12))
    assert len(again) == 12 and sorted(again[:5]) == sorted(again[5:10]) == list(range(5))
    with pytest.raises(ValueError, match="no samples of which num_samples=6"):
        data.RandomSampler([], num_samples=6)
    weighted = data.WeightedRandomSampler([0, 1, 0, 3], 4000)
    counts = np.bincount(list(weighted), minlength=4)
    assert counts[0] == counts[2] == 0 and abs(counts[3] / 4000 - 0.75) < 0.05
    assert sorted(data.WeightedRandomSampler([1, 1, 0, 5], 3, replacement=False)) == [0, 1, 3]
    for bad in ([-1, 2], [0, 0], [[1]]):
        with pytest.raises(ValueError, match="weights must be"):
            data.WeightedRandomSampler(bad, 1)
    with pytest.raises(ValueError, match="fewer than num_samples=3"):
        data.WeightedRandomSampler([1, 0, 1], 3, replacement=False)
    lengths = np.random.default_rng(0).integers(1, 100, 95)
    buckets = data.BucketBatchSampler(lengths, 8, batches_per_bucket=6)
    batches = list(buckets)
    assert len(batches) == len(buckets) and sorted(np.concatenate(batches)) == list(range(95))
    padded = sum(len(b) * lengths[b].max() for b in batches) / lengths.sum()
    assert padded < 1.25 and list(map(list, batches)) != list(map(list, buckets))
    exact = data.BucketBatchSampler(lengths, 8, drop_last=True, batches_per_bucket=6)
    assert len(list(exact)) == len(exact) and {len(b) for b in exact} == {8}
    assert labels(data.DataLoader(PAIRS, 2, sampler=[3, 1, 2])) == [[3, 1], [2]]
    assert labels(data.DataLoader(PAIRS, batch_sampler=[[3], [1, 2]])) == [[3], [1, 2]]
    assert len(data.DataLoader(PAIRS, batch_sampler=[[3], [1, 2]])) == 2


class Short(data.Sampler):
    """An order of many blocks, each of 7 numbers."""

    def __init__(self, count):
        self.count = count

    def order(self, generator):
        return data.Blocks(lambda own, n: own.integers(0, 11, n).numpy(), self.count, generator, 7)

    def __len__(self):
        return self.count


def test_orders_in_blocks_are_the_same_however_they_are_read():
    order = Short(40).order(ag.random.default_rng(3))
    whole = list(order)
    assert len(whole) == len(order) == 40 and whole[:7] != whole[7:14]
    for begin in range(-3, 41, 3):
        for end in (begin, begin + 1, begin + 9, None):
            assert list(order[begin:end]) == whole[begin:end]
    assert list(order[::-3]) == whole[::-3] and order[-1] == whole[-1]
    with pytest.raises(IndexError):
        order[40]

    def loader(**way):
        return data.DataLoader(PAIRS, 3, sampler=Short(40), generator=2, **way)

    batches = labels(loader())
    assert [len(b) for b in batches] == [3] * 13 + [1]
    assert labels(loader(num_workers=2, worker_type="thread")) == batches
    begun = loader()
    for first, _ in enumerate(begun, 1):
        rest = loader()
        rest.load_state_dict(begun.state_dict())
        assert first == 14 or labels(rest) == batches[first:]


def test_orders_longer_than_memory():
    """As minGPT's trainer draws them."""
    endless = data.RandomSampler(range(11), replacement=True, num_samples=10**13)
    weighted = data.WeightedRandomSampler([0, 1, 0, 3], 10**13)
    again = data.RandomSampler(range(11), num_samples=10**13)
    for sampler in (endless, weighted, again):
        loader = data.DataLoader(PAIRS, 4, sampler=sampler, generator=0)
        assert len(loader) == 10**13 // 4
        next(iter(loader))
        got = []
        for way in ({}, {"num_workers": 1, "worker_type": "thread"}):
            far = data.DataLoader(PAIRS, 4, sampler=sampler, **way)
            far.load_state_dict({**loader.state_dict(), "batch": 2 * 10**12 - 1})
            got.append(next(iter(far))[1].tolist())
        assert got[0] == got[1] and len(got[0]) == 4


def test_random_split():
    parts = data.random_split(PAIRS, [8, 3], ag.random.default_rng(0))
    assert sorted([*parts[0].indices, *parts[1].indices]) == list(range(11))
    assert list(map(len, data.random_split(range(11), [0.5, 0.5]))) == [6, 5]
    for bad in ([5, 5], [0.5, 0.4], [1.5, -0.5]):
        with pytest.raises(ValueError, match="must sum to"):
            data.random_split(PAIRS, bad)
    with pytest.raises(IndexError, match="from 0 to 10"):
        data.Subset(PAIRS, [11])


def test_samples_of_all_kinds_are_collated():
    samples = [({"a": np.float32(1), "b": "x"}, [1, True], ag.ones(2), 2.5, 1j)] * 3
    batch = data.default_collate(samples)
    assert batch[0]["a"].dtype == ag.float32 and batch[0]["b"] == ["x"] * 3
    assert batch[1][0].dtype == ag.int64 and batch[1][1].dtype == ag.bool
    assert batch[2].shape == (3, 2) and batch[3].dtype == ag.float32
    assert batch[4].dtype == ag.complex64
    with pytest.raises(ag.ShapeError, match=r"float64\[2\], float64\[3\].*PadCollate"):
        data.default_collate([np.ones(2), np.ones(3)])
    with pytest.raises(ValueError, match=r"different lengths: \[1, 2\]"):
        data.default_collate([(1,), (1, 2)])


def test_padding():
    pad = data.PadCollate(padding_value=-1, multiple_of=4, lengths=True)
    (x, y), lengths = pad([(np.ones((3, 2)), 5), (np.zeros((1, 2)), 6)])
    assert x.shape == (2, 4, 2) and y.tolist() == [5, 6] and lengths.tolist() == [3, 1]
    assert (x.numpy()[1, 1:] == -1).all() and (x.numpy()[0, :3] == 1).all()
    assert data.PadCollate()([[1.5], [2.5]])[0].tolist() == [1.5, 2.5]
    with pytest.raises(ag.ShapeError, match="axes"):
        pad([np.ones(2), np.ones((2, 2))])
    with pytest.raises(ValueError, match="multiple_of"):
        data.PadCollate(multiple_of=0)


def test_memory_mapped_arrays_stay_on_disk(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for shuffle in (False, True):
        loader = data.DataLoader(data.TensorDataset(rows, np.arange(11)), 4, shuffle=shuffle)
        for x, y in loader:
            assert type(x.array) is np.ndarray and (x.numpy() == ROWS[y.numpy()]).all()


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(7))


class Sized(Stream):
    def __len__(self):
        return 7


def tenfold(x):
    return 10 * x, os.getpid()


def test_streams_are_read_once_and_changed_by_workers():
    here = os.getpid()
    for way in WAYS:
        batches = list(data.DataLoader(Stream().map(tenfold), 3, **way))
        assert [x.tolist() for x, _ in batches] == [[0, 10, 20], [30, 40, 50], [60]]
        pids = {p for _, pid in batches for p in pid.tolist()}
        assert (here in pids) == (way.get("worker_type") == "thread" or not way)
    assert [int(x) for x in data.DataLoader(Stream(), batch_size=None)] == list(range(7))
    assert len(list(data.DataLoader(Stream(), 3, drop_last=True))) == 2
    with pytest.raises(TypeError, match="no length"):
        len(data.DataLoader(Stream()))
    for size, drop, batches in ((3, False, 3), (3, True, 2), (7, True, 1), (None, False, 7)):
        loader = data.DataLoader(Sized(), size, drop_last=drop)
        assert len(loader) == len(list(loader)) == batches
    with pytest.raises(ValueError, match="comes in its own order"):
        data.DataLoader(Stream(), shuffle=True)


@pytest.mark.parametrize(
    ("keywords", "error", "told"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1 or None, not 0"),
        ({"batch_size": 2.5}, TypeError, "batch_size"),
        ({"num_workers": -1}, ValueError, "num_workers"),
        ({"worker_type": "fiber"}, ValueError, "'process' or 'thread'"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "not both"),
        ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "stands for"),
        ({"collate_fn": 3}, TypeError, "collate_fn must be a function"),
        ({"generator": "x"}, TypeError, "generator must be"),
        ({"dataset": 3}, TypeError, "len and"),
    ],
)
def test_wrong_arguments_are_named(keywords, error, told):
    with pytest.raises(error, match=told):
        data.DataLoader(**{"dataset": PAIRS, **keywords})


# -- workers that fail --------------------------------------------------------------------------
def failing(x, y):
    if y == 5:
        raise KeyError("five")
    return x, y


class Deadly(Plain):
    """One of its samples kills, ends or delays the process that fetches it."""

    def __init__(self, how):
        self.how = how

    def __getitem__(self, index):
        if index == 5:
            if self.how == "sleep":
                time.sleep(60)
            elif self.how == "exit":
                os._exit(3)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


@pytest.mark.parametrize("way", WAYS)
def test_errors_of_transforms_arrive_in_their_turn(way):
    loader = data.DataLoader(Plain().map(failing), 2, **way)
    got = []
    with pytest.raises(KeyError, match="five") as error:
        got.extend(y.tolist() for _, y in loader)
    assert got == [[0, 1], [2, 3]]
    if way and way.get("worker_type") != "thread":
        assert "raised it while it made batch 2" in error.value.__notes__[0]


def with_function(x, y):
    return (lambda: x) if y == 5 else x


def test_a_batch_that_cannot_be_pickled_is_an_error_of_that_batch():
    """It ended the worker."""
    loader = data.DataLoader(Plain().map(with_function), 2, num_workers=1, collate_fn=list)
    got = []
    with pytest.raises(Exception, match=r"(pickle|local object).*lambda") as error:
        got.extend(loader)
    assert len(got) == 2
    assert "raised it while it made batch 2" in error.value.__notes__[0]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("kill", r"DataLoader worker \d \(pid \d+\) was killed by SIGKILL.*batch 2"),
        ("exit", r"worker \d \(pid \d+\) ended with status 3.*batch 2"),
        ("sleep", r"worker \d \(pid \d+\) did not make batch 2 within 0.3 seconds"),
    ],
)
def test_a_lost_worker_is_an_error_that_names_it(how, told):
    loader = data.DataLoader(
        Deadly(how), 2, num_workers=2, timeout=0.3 if how == "sleep" else 20, prefetch_factor=1
    )
    before, others = threading.active_count(), {*multiprocessing.active_children()}
    with pytest.raises(RuntimeError, match=told):
        list(loader)
    assert not {*multiprocessing.active_children()} - others
    deadline = time.time() + 5
    while time.time() < deadline and threading.active_count() > before:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_errors_of_workers_name_the_loop_that_waits(kind):
    ragged = [np.zeros(3), np.zeros(4)]
    with pytest.raises(ag.ShapeError, match="different shapes") as told:
        for _ in data.DataLoader(ragged, 2, num_workers=1, worker_type=kind):
            pass
    assert f"at {__file__}:" in str(told.value)


def test_workers_end_with_the_loop_and_with_the_loader():
    def ours():
        return {p.pid for p in multiprocessing.active_children()} - before

    before = {p.pid for p in multiprocessing.active_children()}
    loader = data.DataLoader(Plain(), 2, num_workers=2, persistent_workers=True)
    assert len(labels(loader)) == 6
    kept = ours()
    next(iter(loader))
    assert labels(loader)[0] == [0, 1]
    assert ours() == kept and len(kept) == 2
    del loader
    assert not ours()
    for _ in data.DataLoader(Plain(), 2, num_workers=1, worker_init_fn=print):
        break
    assert not ours()


@pytest.mark.parametrize("often", [False, True], ids=["seldom", "often"])
def test_rows_of_what_no_cache_holds(often, monkeypatch):
    """Batches that are wanted often are gathered by compiled code."""
    monkeypatch.setattr(eager, "_COMPILE_MULTIPLY_ADDS", 0 if often else 1 << 60)
    x = np.arange(4100 * 1024, dtype=np.float32).reshape(4100, 1024)
    dataset, places = data.TensorDataset(x, np.arange(4100)), np.array([4099, 7, -1, 7, 0])
    rows, numbers = dataset.take(places)
    assert np.array_equal(rows, x[places]) and numbers.tolist() == [4099, 7, 4099, 7, 0]
    assert dataset.take(np.zeros(0, np.int64))[0].shape == (0, 1024)
    for place in (4100, -4101):
        with pytest.raises(IndexError, match="there are 4100 samples, numbered from 0 on"):
            dataset.take([0, place])


def test_samplers_that_iterate():
    """PyTorch's programs give samplers an ``__iter__``."""
    class Backwards(data.RandomSampler):
        def __iter__(self):
            return iter(range(10, -1, -1))

    class Pairs(data.Sampler):
        def __iter__(self):
            return ([k, k + 5] for k in range(5))

        def __len__(self):
            return 5

    loader = data.DataLoader(PAIRS, 6, sampler=Backwards(PAIRS))
    assert labels(loader) == [[10, 9, 8, 7, 6, 5], [4, 3, 2, 1, 0]]
    assert labels(data.DataLoader(PAIRS, batch_sampler=Pairs())) == [[k, k + 5] for k in range(5)]


def test_datasets_are_joined_named_by_type_and_streams_are_datasets():
    class Rows(data.Dataset[int]):
        def __init__(self, count):
            self.count = count

        def __len__(self):
            return self.count

        def __getitem__(self, index):
            return index

    class Sized(data.IterableDataset[int]):
        def __len__(self):
            return 3

        def __iter__(self):
            return iter([1, 2, 3])

    assert issubclass(data.IterableDataset, data.Dataset)
    assert data.DataLoader[int].__origin__ is data.DataLoader
    assert data.Sampler[list[int]].__origin__ is data.Sampler
    for both, right in ((Rows(3) + Rows(2), [[0, 1], [2, 0], [1]]),
                        (Sized() + Sized(), [[1, 2], [3, 1], [2, 3]]), (Sized(), [[1, 2], [3]])):
        assert [b.tolist() for b in data.DataLoader(both, batch_size=2)] == right


def test_another_word_for_the_number_of_workers_is_told():
    with pytest.raises(TypeError, match="use `num_workers`"):
        data.DataLoader([1, 2, 3], workers=2)
