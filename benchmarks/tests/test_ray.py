"""Actors of Ray as ranks of a group: values, a map, one that dies and one that raises."""

import pytest
import ray

import agnesi as ag
from agnesi import distributed as dist


def total(x):
    f = ag.jit(dist.all_reduce)
    return f(ag.tensor(x + dist.rank())).tolist()


def dies():
    import os

    if dist.rank() == 1:
        os._exit(1)
    dist.all_reduce(ag.ones(3))


def raises():
    if dist.rank() == 1:
        raise KeyError("not here")
    dist.all_reduce(ag.ones(3))


def test_actors_are_ranks_and_are_started_again():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with dist.RayWorkers(2, timeout=30.0) as workers:
            assert workers.run(total, 2.0) == [5.0, 5.0]
            assert workers.map(abs, [-1, 2, -3]) == [1, 2, 3]
            with pytest.raises(dist.CollectiveError, match="actor of rank 1 died"):
                workers.run(dies)
            assert workers.run(total, 2.0) == [5.0, 5.0]
            with pytest.raises((KeyError, dist.CollectiveError), match="not here"):
                workers.run(raises)
            assert workers.run(total, 2.0) == [5.0, 5.0]
    finally:
        ray.shutdown()
