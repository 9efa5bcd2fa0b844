"""Actors of Ray as ranks of a group, the parameter server, and functions over Ray's datasets."""

import os
from pathlib import Path

import numpy as np
import pytest
import ray
import ray.data

import agnesi as ag
from agnesi import distributed as dist
from agnesi.distributed import ray as starting
from tests.distributed import programs

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own


def total(x):
    f = ag.jit(dist.all_reduce)
    return f(ag.tensor(x + dist.rank())).tolist()


def dies():
    if dist.rank() == 1:
        os._exit(1)
    dist.all_reduce(ag.ones(3))


def raises():
    if dist.rank() == 1:
        raise KeyError("not here")
    dist.all_reduce(ag.ones(3))


def other_parameters(server):
    dist.RayCentral([ag.ones(3)], server, timeout=60)


class Average(dist.Rule):
    """A rule of a user's."""

    def exchange(self, local, centre, last):
        middle = (local + centre) / 2
        return middle, middle


def converge(server, every, steps):
    w = ag.tensor([5.0, -3.0], requires_grad=True)
    central = dist.RayCentral([w], server, every, timeout=60)
    goal = ag.tensor([1.0, 2.0]) + (1.0 if dist.rank() else -1.0)
    met = 0
    for _ in range(steps):
        with ag.no_grad():
            w.sub_(0.15 * (w.detach() - goal))
        met += central.sync()
    dist.barrier()
    return central.values()[0], met


class Noted:
    """Ray, and the paths of the memory that actors have made for groups."""

    def __init__(self):
        self.paths = set()

    def __getattr__(self, name):
        return getattr(ray, name)

    def get(self, references, **options):
        found = ray.get(references, **options)
        if isinstance(found, str) and "-group-" in found:
            self.paths.add(Path(found))
        return found


@pytest.fixture(scope="module")
def workers():
    """Two actors that all tests share, as starting Ray takes seconds; they leave no memory."""
    noted = Noted()
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        with dist.RayWorkers(2, timeout=60.0) as found:
            found._ray = noted
            yield found
    finally:
        ray.shutdown()
    assert noted.paths and not any(path.exists() for path in noted.paths)


@pytest.mark.long
def test_rules_meet_in_an_actor(workers):
    server = dist.RayCentral.serve(Average())
    for centre, met in workers.run(converge, server, 2, 60):
        assert abs(centre - [1.0, 2.0]).max() < 1.05  # between both halves' goals
        assert met == 30
    with pytest.raises((ValueError, dist.CollectiveError), match=r"float32\[2\].*float32\[3\]"):
        workers.run(other_parameters, server)
    ray.kill(server)
    with pytest.raises(dist.CollectiveError, match="parameter server of Ray has died"):
        workers.run(converge, server, 1, 1)
    with pytest.raises(TypeError, match=r"must be a dist\.Rule"):
        dist.RayCentral.serve(3)


@pytest.mark.long
def test_actors_that_differ_are_told_so_and_go_on(workers):
    for how in ("shape", "dtype", "op", "root", "order"):
        for texts in workers.run(programs.differ, how):
            assert len(texts) == 2  # eager and compiled
            for text in texts:
                assert "do not agree" in text and "rank 0: " in text and "rank 1: " in text
    for text, _ in workers.run(programs.blocked, "recv"):
        assert "ranks 0, 1 wait for each other" in text
    assert workers.run(programs.counted, ag.ones(5))[0][0] == 4.375


def test_actors_are_ranks_and_are_started_again(workers):
    assert workers.run(total, 2.0) == [5.0, 5.0]
    assert workers.map(abs, [-1, 2, -3]) == [1, 2, 3]
    with pytest.raises(dist.CollectiveError, match="actor of rank 1 died"):
        workers.run(dies)
    assert workers.run(total, 2.0) == [5.0, 5.0]
    with pytest.raises(KeyError, match="not here"):  # not that rank 0 waits for it
        workers.run(raises)
    assert workers.run(total, 2.0) == [5.0, 5.0]


def end_odd(i):
    return os._exit(1) if i == 3 else i


@pytest.mark.long
def test_an_error_in_a_map_leaves_actors_that_work(workers):
    with pytest.raises(ZeroDivisionError):
        workers.map(lambda i: 1 // i, [2, 0, 3])
    assert workers.run(total, 2.0) == [5.0, 5.0]
    with pytest.raises(dist.CollectiveError, match=r"the actor of rank \d died"):
        workers.map(end_odd, range(5))
    assert workers.map(abs, [-1, 2, -3]) == [1, 2, 3]
    assert workers.run(total, 2.0) == [5.0, 5.0]
    with pytest.raises(ValueError, match="each must have a tuple of arguments for each of 2"):
        workers.run(abs, each=[(1,)])


def test_actors_that_cannot_be_started_are_named(workers, monkeypatch):
    monkeypatch.setattr(starting, "_START_SECONDS", 0.5)
    with pytest.raises(dist.CollectiveError, match=r"ranks \[0\] within 0.5 .*num_cpus=9; "):
        dist.RayWorkers(1, threads=9, timeout=0.5)
    one = dist.RayWorkers.__new__(dist.RayWorkers)
    one._actors = []
    with pytest.raises(RuntimeError, match="closed"):
        one.map(abs, [1])


def test_actors_are_placed_on_one_machine_with_a_core_each(workers):
    places = ray.get([actor.node.remote() for actor in workers._actors])
    assert places == [ray.get_runtime_context().get_node_id()] * 2
    assert ray.available_resources()["CPU"] == 1
    assert workers.run(ag.get_num_threads) == [1, 1]


@pytest.mark.long
def test_who_handles_that_a_group_is_given_up_has_a_new_one_next_time(workers):
    assert all("wait for each other" in text for text, _ in workers.run(programs.blocked, "recv"))
    assert workers.run(total, 2.0) == [5.0, 5.0]


def row_sums(batch):
    return {"sum": batch["data"].sum(1)}


@pytest.mark.long
def test_batches_of_a_dataset_are_mapped_where_ray_runs_them(workers):
    dataset = ray.data.from_numpy([np.arange(6.0).reshape(3, 2), np.ones((2, 2))])
    found = dist.map_blocks(ag.jit(row_sums), dataset).take_all()
    assert [row["sum"] for row in found] == [1, 5, 9, 2, 2]
