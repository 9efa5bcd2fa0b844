"""Collectives between two processes: values, derivatives, order, and what goes wrong."""

import os
import signal

import numpy as np
import pytest

import agnesi as ag
from agnesi import distributed as dist
from agnesi.api.processes import memory
from tests.distributed import programs
from tests.distributed.programs import KINDS

FEW = ("sum", "gather", "scatter", "exchange", "broadcast")


def serial(name, dtype, shape, rank):
    stack = np.stack([programs.given(dtype, shape, r) for r in range(2)])
    found = KINDS[name][1](ag.tensor(stack.astype("float64")), rank).numpy()
    return found.astype(dtype)


@pytest.mark.share(8)
@pytest.mark.parametrize("dtype, shape, names", [
    ("float32", (4, 3), tuple(KINDS)),
    ("float64", (2, 5), ("sum", "max", "min", "prod")),
    ("int64", (2, 5), ("sum", "max", "prod", "gather", "scatter")),
    ("int32", (2, 5), ("sum", "min")),
    ("float16", (2, 7), ("sum", "mean", "max", "scatter", "exchange")),
    ("uint8", (2, 7), ("sum", "max", "gather")),
    ("float32", (2, 0), ("sum", "gather")),
    ("float32", (2, 1_050_003), ("sum", "max")),  # results go past the caches
    ("float32", (2, 70_001), FEW),  # more than a slot holds, and no multiple of a vector
    ("float64", (6, 33_333), FEW),
])
def test_values(workers, dtype, shape, names):
    for rank, found in enumerate(workers.run(programs.values, dtype, shape, names)):
        for name, both in found.items():
            for y in both:
                assert y.dtype == dtype
                np.testing.assert_allclose(y, serial(name, dtype, shape, rank), rtol=1e-6)


def test_derivatives_are_those_of_the_stack_of_all_processes(workers):
    shape = (4, 3)
    stack = ag.tensor(np.stack([programs.given("float64", shape, r) + 0.25 * r for r in range(2)]))
    found = workers.run(programs.gradients, shape, tuple(KINDS))
    for name in KINDS:
        wanted = ag.grad(lambda s, name=name: programs.weighted(name, s))(stack).numpy()
        total = ag.jvp(lambda s, name=name: programs.weighted(name, s), (stack,),
                       (ag.ones(stack.shape, dtype="float64"),))[1]
        for rank in range(2):
            eager, compiled, declared, _, batched, inside = found[rank][name]
            for y in (eager, compiled, declared):
                np.testing.assert_allclose(y, wanted[rank], rtol=1e-12, err_msg=name)
            both = ag.grad(lambda s, name=name: programs.weighted(name, s))(stack + 1).numpy()
            np.testing.assert_allclose(inside, [wanted[rank], both[rank]], rtol=1e-12, err_msg=name)
            rows = [KINDS[name][1](s, rank).numpy() for s in (stack, stack + 1)]
            np.testing.assert_allclose(batched, np.stack(rows), rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(sum(found[r][name][3] for r in range(2)), total, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 100_000])
def test_letters_bring_gradients_back(workers, n):
    (zero, back, again), (value, other, _) = workers.run(programs.letters, n)
    w = np.arange(1.0, n + 1)
    assert zero == 0
    np.testing.assert_allclose(value, (3 * w * w).sum())
    assert other is None
    np.testing.assert_allclose(back, 6 * w)
    np.testing.assert_allclose(again, 6 * w)


def test_letters_that_cross_have_derivatives(workers):
    for rank, ((gradients, tangents, products), linear) in enumerate(
            workers.run(programs.crossing)):
        x = np.arange(1.0, 4)
        slope = 3 * (2 - rank) * (x + rank) ** 2  # of the other one's loss
        for ys, wanted in ((gradients, slope), (tangents, 2 * (x + 1 - rank)),
                           (products, 3 * slope)):
            for y in ys:
                np.testing.assert_allclose(y, wanted, rtol=1e-12)
        np.testing.assert_array_equal(linear, np.ones(3))


def test_a_letter_that_is_not_expected_is_refused(workers):
    text = workers.run(programs.other_letter)[1]
    assert "what rank 0 sent is not what rank 1 receives" in text
    assert "rank 0: send float32[2, 3] at" in text and "rank 1: recv float32[6] at" in text


def test_none_is_dropped_merged_or_turned(workers):
    x = [np.arange(6.0).reshape(3, 2) + r for r in range(2)]
    for rank, (count, (total, big, carry)) in enumerate(workers.run(programs.calls)):
        assert count == 8  # three sums, a gather, a barrier, three in the loop
        np.testing.assert_allclose(total, 2 * (x[0] + x[1]))
        np.testing.assert_allclose(big, 2 * np.concatenate(x))
        wanted = [y[0] for y in x]
        for i in range(3):
            wanted = [sum(wanted) / 2 + y[i] for y in x]
        np.testing.assert_allclose(carry, wanted[rank])


@pytest.mark.parametrize("how", ["shape", "dtype", "op", "root", "order"])
def test_all_are_told_what_differs_and_go_on(workers, how):
    for eager, compiled in workers.run(programs.differ, how):
        for text in (eager, compiled):
            assert "do not agree" in text
            assert "rank 0: " in text and "rank 1: " in text
            assert text.count("programs.py:") >= 3
    texts = workers.run(programs.differ, how)
    parts = {"shape": ("[4, 2]", "[3, 2]"), "dtype": ("float32", "float64"),
             "op": ("all_reduce[max]", "all_reduce[min]"), "root": ("broadcast", "broadcast"),
             "order": ("all_gather", "barrier")}[how]
    assert all(part in text for part in parts for pair in texts for text in pair)


def test_what_travels_in_the_same_way_is_told_apart(workers):
    parts = [("all_reduce[mean] float32[4, 2]", "all_reduce[sum] float32[4, 2]"),
             ("all_reduce[max] float16", "all_reduce[min] float16"),
             ("all_reduce[sum] of complex64 in float32[4, 2, 2]", "all_reduce[sum] float32[4, 2,"),
             ("all_gather float32", "all_gather[axis 1] float32"),
             ("reduce_scatter[max] float16", "all_to_all float16"),
             ("all_to_all float32", "all_to_all[joined at axis 1] float32"),
             ("broadcast[from 0]", "broadcast[from 1]"),
             ("new_group([0, 1])", "new_group([1, 0])"),
             ("weight float32[1, 2], bias", "weight (not trained) float32[1, 2], bias")]
    for texts, total in workers.run(programs.differ_in_what_is_asked):
        assert total == 2
        for text, (first, second) in zip(texts, parts, strict=True):
            one, two = text.split("rank 1: ")
            assert first in one and second in two


@pytest.mark.parametrize("how, first, second", [
    ("recv", "recv float32[3]", "all_reduce[sum] float32[3]"),
    ("send", "send float32[3]", "barrier"), ("both", "recv float32[3]", "recv float32[3]")])
def test_processes_that_wait_for_each_other_are_told(workers, how, first, second):
    for text, seconds in workers.run(programs.blocked, how):
        assert "ranks 0, 1 wait for each other" in text and seconds < 8
        assert f"rank 0: {first} at" in text and f"rank 1: {second}" in text
        assert text.count("programs.py:") >= 3


def test_one_that_reduces_beside_its_step_and_one_elsewhere_are_told(workers):
    for text, seconds in workers.run(programs.blocked_beside):
        assert "ranks 0, 1 wait for each other" in text and seconds < 8
        assert "rank 0: barrier" in text and "rank 1: all_reduce[sum] float32[4] at" in text


def test_a_forked_process_is_told_that_it_is_no_rank(workers):
    for text, values in workers.run(programs.forked):
        assert "all_reduce: this process was forked from one of the group" in text
        assert values == [2.0] * 3


def test_memory_of_a_group_that_is_not_made_is_given_back(workers):
    (text, left), (_, none) = workers.run(programs.not_made)
    assert "do not agree" in text and left == [False] and none == []


def test_what_is_no_axis_is_told_by_its_type():
    with pytest.raises(TypeError, match=r"axis must be an integer, not float32\[3\]"):
        dist.all_gather([ag.zeros(3)] * 2, ag.ones(3))  # as in PyTorch
    with pytest.raises(ValueError, match="timeout must be a number of seconds"):
        dist.init(timeout=-1)


def test_a_missing_process_is_named_with_both_lines(workers):
    (text, seconds), (other, _) = workers.run(programs.late, 0.4)
    assert "rank 1 did not come within 0.4 seconds" in text
    assert "rank 0 waits in all_reduce[sum] float32[3] at" in text and "programs.py:" in text
    assert 0.3 < seconds < 5
    assert "rank 1 did not come" in other  # who comes too late is told the same


def test_a_process_outside_of_a_group_takes_no_part(workers):
    inside, outside = workers.run(programs.outside)
    assert inside[0] == [[1.0] * 3] * 6 and not inside[1] and inside[4] == (True, 0, 1)
    assert outside[0] == [[2.0] * 3, [2.0] * 3, [1.0] * 3] * 2 and outside[4] == (False, -1, -1)
    assert len(outside[1]) >= 5 and len(outside[2]) == 9
    for text in (*outside[1], *outside[2]):
        assert "rank 1 is not among the ranks [0]" in text and "programs.py:" in text
    assert inside[3] == outside[3] == [3.0] * 3


@pytest.mark.parametrize("program", [programs.raises, programs.leaves])
def test_who_waits_for_one_that_does_not_come_is_told(workers, program):
    error = KeyError if program is programs.raises else dist.CollectiveError
    with pytest.raises(error, match=r"no such thing|has left the group"):
        workers.run(program)
    assert workers.run(dist.rank) == [0, 1]  # with a new group


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_code_comes_from_the_cache_and_a_killed_process_is_reported():
    with dist.Workers(2, timeout=10.0) as first:
        first.run(programs.counted, ag.ones(5))
    with dist.Workers(2, timeout=10.0) as two:
        found = two.run(programs.counted, ag.ones(5))
        assert found == [(4.375, False)] * 2  # its code is in the cache
        pid = two._processes[1].pid
        with pytest.raises(dist.CollectiveError, match=rf"worker 1 \(process {pid}\) was killed"):
            two.run(programs.killed, signal.SIGKILL)
        with pytest.raises(dist.CollectiveError, match="worker 1"):
            two.run(dist.rank)


def test_shared_memory_is_for_its_user_alone(tmp_path):
    path = dist.make_group(2)
    try:
        assert os.stat(path).st_mode & 0o777 == 0o600
        os.chmod(path, 0o640)
        with pytest.raises(PermissionError, match="of this user alone"):
            memory.open_segment(path, 2)
        os.chmod(path, 0o600)
        with pytest.raises(ValueError, match="another number of processes than 3"):
            memory.open_segment(path, 3)
        link = tmp_path / "link"
        link.symlink_to(path)
        with pytest.raises(OSError):
            memory.open_segment(str(link), 2)
        memory.open_segment(path, 2).close()
    finally:
        os.unlink(path)
    with pytest.raises(ValueError, match="rank must be 0 to 1"):
        dist.shutdown()
        dist.init(2, 2, path)
    with pytest.raises(dist.CollectiveError, match=r"is gone.*does not come back after shutdown"):
        dist.init(0, 2, path)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_memory_of_killed_processes_is_removed_once_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "folder", lambda: str(tmp_path))
    own = memory.own_name("tensor")
    nobody = own.replace(f"-{os.getpid()}-", "-4194305-")  # a number beyond those of processes
    paths = [own, nobody, f"{nobody[:-1]}x", nobody[:-1] + hex(int(nobody[-1], 16) ^ 1)[2:],
             nobody[:-1] + hex(int(nobody[-1], 16) ^ 2)[2:]]
    files = [memory.create(path, 64) for path in paths]
    for path in paths[:4]:
        os.utime(path, (0, 0))
    for file in files[:3] + files[4:]:
        os.close(file)
    memory.sweep.__wrapped__()  # all but the second are its own, of another form, open, or new
    os.close(files[3])
    assert [os.path.exists(path) for path in paths] == [True, False, True, True, True]


def test_a_group_of_one_needs_nobody():
    x = ag.tensor(np.arange(6.0).reshape(2, 3))
    for name, (f, alone) in KINDS.items():
        if name == "broadcast":
            continue
        wanted = alone(x.reshape((1, 2, 3)), 0).numpy()
        np.testing.assert_allclose(f(x).numpy(), wanted)
        np.testing.assert_allclose(ag.jit(f)(x).numpy(), wanted)
    for bad, text in ((lambda: dist.broadcast(x, 1), "root must be a rank"),
                      (lambda: dist.send(x, 0), "cannot send to itself"),
                      (lambda: dist.all_reduce(x, "median"), "op must be one of"),
                      (lambda: dist.all_reduce(ag.arange(3), "mean"), "is no int64")):
        with pytest.raises((ValueError, TypeError), match=text):
            bad()
