"""Shards, stages, centres, stores and handles: all are equal to the serial run."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import time
from multiprocessing.reduction import ForkingPickler

import dask.array
import dask.bag
import dask.dataframe
import numpy as np
import pandas
import pytest

import agnesi as ag
from agnesi import distributed as dist
from agnesi.api.processes import sharing
from tests.distributed import sharded, training

pytestmark = pytest.mark.usefixtures("little_to_collect")


@pytest.mark.parametrize("stage, compiled", [(1, False), (2, False), (3, True)])
def test_zero_is_equal_to_one_process(workers, stage, compiled):
    losses, wanted = training.train("mlp", "adam", [6, 5, 1, 6], False)
    one = sharded.zero(stage, False)
    for found in (*workers.run(sharded.zero, stage, compiled), one):
        np.testing.assert_allclose(found[0], losses, rtol=1e-5)
        for name, value in wanted.items():
            np.testing.assert_allclose(found[1][name], value, atol=1e-6, err_msg=name)
        assert found[2] <= one[2] / 2 + 100 or found is one


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero_leaves_frozen_parameters_and_forgets_gradients(stage):
    net = ag.nn.Linear(3, 2)
    net.bias.requires_grad = False
    before = {name: value.numpy().copy() for name, value in net.state_dict().items()}
    zero = dist.Zero(net, lambda ps: ag.optim.SGD(ps, lr=0.1), stage)
    (zero.module()(ag.ones((2, 3))) ** 2).mean().backward()
    zero.zero_grad()
    with pytest.warns(UserWarning, match="changes nothing"):
        zero.step()
    for name, value in before.items():
        np.testing.assert_array_equal(zero.state_dict()[f"model.{name}"], value)
    (zero.module()(ag.ones((2, 3))) ** 2).mean().backward()
    zero.step()
    after = zero.state_dict()
    np.testing.assert_array_equal(after["model.bias"], before["bias"])
    assert not np.array_equal(after["model.weight"], before["weight"])


@pytest.mark.parametrize("make, name, told", [
    (lambda net: dist.Zero(net, lambda ps: ag.optim.SGD(ps, lr=0.1)), "backward", "loss.backward"),
    (lambda net: dist.Pipeline(ag.nn.Sequential(net)), "parameters", "stage"),
    (lambda net: dist.Mesh((-1,), ("data",)), "get_group", "group"),
    (lambda net: dist.Central(net, dist.ASGD()), "sync_params", "sync"),
    (lambda net: dist.ShardedBatches([1, 2], 1), "set_epoch", "an order of its own"),
    (lambda net: dist, "nccl", "no GPU tensors"),
    (lambda net: dist, "is_nccl_available", "no GPU tensors"),
    (lambda net: dist, "get_backend", "who launched"),
])
def test_names_of_other_libraries_are_told(make, name, told):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; use .*{told}"):
        getattr(make(ag.nn.Linear(2, 2)), name)


@pytest.mark.parametrize("ask", [
    lambda: dist.init("nccl"), lambda: dist.init(backend="nccl"),
    lambda: dist.all_reduce(ag.ones(2), backend="nccl"), lambda: dist.Workers(2, backend="nccl"),
])
def test_there_is_no_backend_to_choose(ask):
    with pytest.raises(TypeError, match=r"who launched the processes says .* NCCL"):
        ask()


def test_a_process_that_is_not_started_is_named():
    with dist.Workers(2, timeout=20) as workers:
        os.kill(workers._processes[1].pid, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(dist.CollectiveError, match=r"worker 1 .* was killed by SIGKILL"):
                workers.run(dist.rank)
        assert workers._processes[0].is_alive()  # it was told, as it waited


def test_what_cannot_be_pickled_is_told(workers):
    with pytest.raises(TypeError, match="is pickled, so a function must be one of a module"):
        workers.map(_NO_NAME, [1.0])


_NO_NAME = lambda x: x  # noqa: E731


def test_shards_are_read_by_another_number_of_processes(workers, tmp_path):
    folder = tmp_path / "step1"
    wanted = workers.run(sharded.saved, folder)[0]
    assert sorted(p.name for p in folder.iterdir()) == [
        f"shard-0000{r}-of-00002.safetensors" for r in range(2)]
    assert sharded.loaded(folder) == wanted
    assert workers.run(sharded.loaded, folder) == [wanted, wanted]
    with pytest.raises(FileExistsError, match="is there already"):
        sharded.saved(folder)
    (folder / "shard-00001-of-00002.safetensors").unlink()
    with pytest.raises(ValueError, match=r"lacks the shards of ranks \[1\]"):
        sharded.loaded(folder)
    with pytest.raises(FileNotFoundError):
        sharded.loaded(tmp_path / "step2")


def test_loaders_share_out_batches(workers):
    whole = sharded.read()
    assert whole[0] != whole[1]
    first, second = workers.run(sharded.read)
    for epoch in range(2):
        both = [a + b for a, b in zip(first[epoch], second[epoch], strict=True)]
        assert both == whole[epoch]


def test_zero_refuses_what_looks_at_whole_parameters():
    with pytest.raises(ValueError, match="Lamb looks at whole parameters"):
        dist.Zero(training.net("mlp"), lambda ps: ag.optim.Lamb(ps, lr=0.1))
    with pytest.raises(ValueError, match="stage must be 1, 2 or 3"):
        dist.Zero(training.net("mlp"), lambda ps: ag.optim.SGD(ps, lr=0.1), 4)


@pytest.mark.parametrize("compiled", [False, True])
def test_tensor_parallel_layers_are_equal_to_whole_ones(workers, compiled):
    y, grads = sharded.whole()
    for found, mine in workers.run(sharded.tensor_parallel, compiled):
        np.testing.assert_allclose(found, y, rtol=1e-5, atol=1e-6)
        for name, g in grads.items():
            np.testing.assert_allclose(mine[name], g, rtol=1e-4, atol=1e-5, err_msg=name)


def test_meshes_cut_and_join(workers):
    x = np.arange(24.0).reshape(4, 6)
    for rank, (part, back, sums, place, error) in enumerate(workers.run(sharded.mesh)):
        np.testing.assert_array_equal(part, x[:, 3 * rank: 3 * rank + 3])
        np.testing.assert_array_equal(back, x)
        assert sums == [rank + 1.0, 3.0] and place == {"data": 0, "model": rank}
        assert "an axis of 3 elements is no multiple of 2 processes along 'model'" in error
    with pytest.raises(ValueError, match="no grid of 1 processes"):
        dist.Mesh((2, 2), ("a", "b"))


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_pipeline_is_equal_to_the_sequence(workers, pieces):
    losses, weights, out = sharded.serial()
    (first, mine, none), (second, theirs, found) = workers.run(sharded.pipeline, pieces)
    np.testing.assert_allclose(first, losses, rtol=1e-6)
    assert first == second and none is None
    np.testing.assert_allclose(found, out, rtol=1e-5, atol=1e-6)
    for p, wanted in zip([*mine, *theirs], weights, strict=True):
        np.testing.assert_allclose(p, wanted, atol=1e-6)


def test_a_store_is_equal_to_serial_descent(workers):
    wanted = sharded.store()
    for found in workers.run(sharded.store):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with pytest.raises(KeyError, match="the store has no 'v'"):
        dist.KVStore().push("v", ag.ones(2))
    values = dist.KVStore(lambda key, total, value: value - total)  # which gives the new value
    values.init("w", ag.ones(2))
    values.push("w", ag.tensor([0.5, 2.0]))
    assert values.pull("w").tolist() == [0.5, -1.0]
    with pytest.raises(ValueError, match=r"'w' is float32\[2\], not float32\[1\]"):
        values.push("w", ag.ones(1))


class Average(dist.Rule):
    """A rule of a user's."""

    def exchange(self, local, centre, last):
        middle = (local + centre) / 2
        return middle, middle


@pytest.mark.parametrize("rule, every", [
    (dist.ASGD(), 5), (dist.EASGD(0.3), 1), (Average(), 2)])
def test_rules_converge_on_a_convex_problem(workers, rule, every):
    for centre, steps in workers.run(sharded.converge, rule, every, 150):
        np.testing.assert_allclose(centre, [1.0, 2.0], atol=1.05)  # between both halves' goals
        assert abs(centre - [5.0, -3.0]).max() > 2
        assert steps == 300


def test_the_centre_follows_the_papers_equations():
    """EASGD (Zhang et al., 2015), equations 5 and 6 without the gradient; ASGD as Downpour."""
    values = np.array([4.0, 8.0], np.float32)
    for rule, wanted in ((dist.EASGD(0.25), (7.0, 5.0)), (dist.ASGD(), (8.0, 8.0))):
        w = ag.tensor(values[:1].copy(), requires_grad=True)
        central = dist.Central([w], rule)
        with ag.no_grad():
            w.copy_(ag.tensor(values[1:]))
        assert central.sync()
        assert (float(w), float(central.values()[0][0])) == wanted


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_a_worker_killed_in_its_exchange_is_survived():
    with dist.Workers(2, timeout=10.0) as two:
        two._join()
        for rank in range(2):
            two._send(rank, ("call", 1, pickle.dumps((sharded.killed_in_exchange, (12,)))))
        assert two._ends[0].recv() == (1, True, [4.0])
        assert "was killed by SIGKILL" in str(two._lost(1))


@pytest.mark.parametrize("rule", [dist.EASGD(0.3), Average()])
def test_parts_are_exchanged_as_the_whole_is(workers, rule):
    """Both rules move as much to the centre as they take, whoever meets a part first."""
    for parts, before, after in workers.run(sharded.exchanged_in_parts, rule, 1, 20):
        assert parts > 3
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_parts_are_whole_where_a_worker_is_killed():
    with dist.Workers(2, timeout=10.0) as two:
        two._join()
        for rank in range(2):
            two._send(rank, ("call", 1, pickle.dumps((sharded.killed_among_parts, (60,)))))
        _, fine, (values, least) = two._ends[0].recv()
        assert fine and set(values) == {1} and len(values) > 5 and least >= 60
        assert "was killed by SIGKILL" in str(two._lost(1))


def test_values_that_were_about_to_be_the_centre_are_it(monkeypatch):
    """As one leaves it who was killed when all new values were written."""
    w = ag.tensor(np.zeros(200_000), requires_grad=True)
    central = dist.Central([w], Average())
    with monkeypatch.context() as patch:
        patch.setattr(central, "_finish", lambda: None)
        central._write({w.dtype: np.full(w.shape, 2.0)})
        assert not central._present.any() and central._next.all()
    np.testing.assert_array_equal(central.values()[0], 2.0)
    central.sync()
    np.testing.assert_array_equal(w.detach().numpy(), 1.0)
    np.testing.assert_array_equal(central.values()[0], 1.0)


def interrupted(items, seconds):
    """Items whose reader is interrupted when the first ones are at work."""
    yield from items
    time.sleep(seconds)
    raise KeyboardInterrupt


def test_answers_belong_to_their_calls(workers):
    """Whatever a call has left undone, the next one has its own results."""
    with pytest.raises(TypeError, match="must be one of a module"):
        workers.run(pow, each=[(2, 3), (2, lambda: 3)])
    assert workers.run(pow, each=[(2, 3), (3, 3)]) == [8, 27]
    with pytest.raises(TypeError, match="must be one of a module"):
        workers.map(abs, [1, 2, 3, lambda: 4])
    with pytest.raises(ZeroDivisionError):
        workers.map(abs, (1 // (3 - i) for i in range(5)))
    with pytest.raises(KeyboardInterrupt):
        workers.map(time.sleep, interrupted([0.2, 0.2], 0.05))
    assert workers.map(abs, [-1, 2, -3]) == [1, 2, 3]
    with pytest.raises(ValueError, match="each must have a tuple of arguments for each of 2"):
        workers.run(pow, 2, each=[(3,)])
    closed = dist.Workers(1)
    closed.close()
    for call in (closed.run, closed.map):
        with pytest.raises(RuntimeError, match="closed"):
            call(abs, [1])


def test_handles_share_memory_through_pipes(workers):
    handle = dist.SharedHandle(ag.tensor([1.0, 2.0, 3.0]))
    path = handle.path
    assert os.stat(path).st_mode & 0o777 == 0o600
    back = workers.map(sharded.scaled, [handle, handle])
    np.testing.assert_array_equal(handle.get().numpy(), [4.0, 8.0, 12.0])
    seen = back[0].get()
    handle.get().mul_(0.5)
    data = pickle.dumps(back[1])
    del handle, back
    gc.collect()
    assert os.path.exists(path)  # for what is on its way
    late = pickle.loads(data)
    np.testing.assert_array_equal(late.get().numpy(), [2.0, 4.0, 6.0])
    del late
    gc.collect()
    deadline = time.monotonic() + 20  # the worker lets go of its own behind its answer
    while os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not os.path.exists(path)
    np.testing.assert_array_equal(seen.numpy(), [2.0, 4.0, 6.0])  # it is still mapped
    with pytest.raises(FileNotFoundError, match=r"SharedHandle of float32\[3\] came .* given back"):
        pickle.loads(data)


def _added(x, net):
    with ag.no_grad():
        x.add_(1)
        net.weight.fill_(7)


def test_tensors_are_moved_into_shared_memory():
    x, net = ag.zeros(3), ag.nn.Linear(2, 2)
    assert not x.is_shared() and not net.weight.is_shared()
    assert x.share_memory_() is x and net.share_memory() is net
    assert x.is_shared() and x[1:].is_shared() and net.bias.is_shared()
    process = multiprocessing.get_context("fork").Process(target=_added, args=(x, net))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert x.tolist() == [1.0] * 3 and net.weight.tolist() == [[7.0] * 2] * 2
    # what queues and processes that are spawned get is the same memory
    other, weight = pickle.loads(ForkingPickler.dumps((x, net.weight)))
    other.mul_(5)
    assert x.tolist() == [5.0] * 3 and other.is_shared() and weight.requires_grad
    ag.jit(net)(ag.ones(1, 2)).sum().backward()
    ag.optim.SGD(net.parameters(), lr=1.0).step()
    assert weight.tolist() == [[6.0] * 2] * 2
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x + 0):
        assert not copied.is_shared() and copied.tolist() == [5.0] * 3
    x.data = ag.ones(3)
    assert not x.is_shared() and not pickle.loads(ForkingPickler.dumps(x)).is_shared()
    assert x.share_memory_().is_shared() and other.tolist() == [5.0] * 3
    paths = [handle.path for handle in sharing._handles.values()]
    del x, other, net, weight, process
    gc.collect()
    assert not any(map(os.path.exists, paths))


def test_blocks_are_mapped(workers):
    blocks = [np.full((n + 1, 2), float(n)) for n in range(5)]
    wanted = [2.0 * (n + 1) * n * n for n in range(5)]
    compiled = ag.jit(sharded.squares)
    for found in (dist.map_blocks(compiled, iter(blocks)),
                  dist.map_blocks(sharded.squares, blocks, workers=workers)):
        assert [float(f["sum"]) for f in found] == wanted
        assert [f["rows"] for f in found] == [1, 2, 3, 4, 5]

    with pytest.raises(TypeError, match="drop_axis are options of collections of Dask or Ray"):
        dist.map_blocks(compiled, blocks, drop_axis=1)
    with pytest.raises(TypeError, match="blocks must be arrays"):
        dist.map_blocks(compiled, 3)


def test_blocks_of_dask_are_mapped_where_dask_runs_them():
    whole = np.random.default_rng(0).standard_normal((10, 3))
    array = dask.array.from_array(whole, chunks=(4, 3))
    doubled = dist.map_blocks(ag.jit(lambda block: block * 2), array)
    sums = ag.jit(lambda block: block.sum(1))
    rows = dist.map_blocks(sums, array, drop_axis=1)
    assert isinstance(doubled, dask.array.Array) and rows.chunks == ((4, 4, 2),)
    with dask.config.set(scheduler="threads"):
        np.testing.assert_array_equal(doubled.compute(), whole * 2)
        np.testing.assert_allclose(rows.compute(), whole.sum(1), rtol=1e-15)
    with dask.config.set(scheduler="processes", num_workers=1):  # the function is pickled
        np.testing.assert_allclose(rows.compute(), whole.sum(1), rtol=1e-15)
    with pytest.raises(ValueError, match=r"makes float64\[1\] of a block float64\[1, 1\], and Dask "
                                         r"expects 2 axes: .* by drop_axis="):
        dist.map_blocks(sums, array).compute()
    framed = dist.map_blocks(lambda x: x[:, None, None], array, new_axis=[1, 2],
                             chunks=((4, 4, 2), 1, 1, 3))
    np.testing.assert_array_equal(framed.compute(), whole[:, None, None])
    powers = dist.map_blocks(lambda x, power: x ** power, array, power=2)
    np.testing.assert_allclose(powers.compute(), whole ** 2, rtol=1e-15)


def test_tables_and_bags_of_dask_are_mapped():
    whole = np.random.default_rng(0).standard_normal((10, 3))
    table = dask.dataframe.from_pandas(pandas.DataFrame(whole), npartitions=3)
    rows = dist.map_blocks(ag.jit(lambda block: block.sum(1)), table, drop_axis=1)
    np.testing.assert_allclose(rows.compute(), whole.sum(1), rtol=1e-15)
    bag = dask.bag.from_sequence([*whole], npartitions=2)
    with dask.config.set(scheduler="threads"):
        found = dist.map_blocks(ag.jit(lambda row: row.sum()), bag).compute()
    np.testing.assert_allclose(found, whole.sum(1), rtol=1e-15)
