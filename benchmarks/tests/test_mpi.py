"""Collectives through MPI, whose C functions compiled code calls: values, gradients, errors.

Once between processes that know that they are on one machine, and once as if they were not.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MPIEXEC = Path(sys.executable).with_name("mpiexec")
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin",
               "AGNESI_NUM_THREADS": "1"}
PROGRAM = """
import sys
import numpy as np
import agnesi as ag
from agnesi import distributed as dist
from agnesi.distributed.processes import mpi
from tests.distributed import beside as beside_, programs, sharded, training

near = sys.argv[2] == "near"
if not near:
    mpi._board = lambda *_: None
assert dist.init(timeout=20).near == near
rank, shape = dist.rank(), (4, 3)
found = programs.values("float32", shape, tuple(programs.KINDS))
large = programs.values("float64", (2, 70_001), ("sum", "gather", "scatter"))
grads = programs.gradients(shape, ("sum", "max", "gather", "scatter", "exchange", "broadcast"))
errors = [programs.differ(how) for how in ("shape", "dtype", "op", "root", "order")]
model = training.other_model()[:2]
letters = programs.letters(1000)
beside = beside_.differ()[0]
overlapped, hidden, _ = beside_.train(True)
apart, _, _ = beside_.train(False)
assert all((a == b).all() for a, b in zip(overlapped, apart)) and 0 <= hidden <= 1
losses, weights = training.train("mlp", "sgd", [6, 5, 1], True)
grid = sharded.mesh()
letter = programs.other_letter(dist.new_group([0, 1]))
missing = programs.late(0.5) if near else ("", 0.0)  # no more is known of other machines
texts = dict(model=np.array(model), beside=np.array(beside), late=np.array(missing[0]),
             letter=np.array(str(letter)))
np.savez(f"{sys.argv[1]}/{rank}.npz", **texts, errors=np.array(errors), losses=losses, grid=grid[1],
         letters=np.array(0.0) if letters[1] is None else letters[1],
         **{f"value {k}": np.stack(v) for k, v in {**found, **{f"{k} large": v for k, v in
            large.items()}}.items()}, **{f"grad {k}": np.stack(v[:3]) for k, v in grads.items()},
         **{f"weight {k}": v for k, v in weights.items()})
"""


@pytest.fixture(scope="module", params=["near", "far"])
def both(request, tmp_path_factory):
    """What two processes found, that mpiexec has started."""
    folder = tmp_path_factory.mktemp("mpi")
    program = folder / "program.py"
    program.write_text(PROGRAM)
    run = subprocess.run(
        [str(MPIEXEC), "-n", "2", sys.executable, str(program), str(folder), request.param],
        cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=90,
        stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr[-3000:]
    return request.param, [np.load(folder / f"{rank}.npz") for rank in range(2)]


def test_values_and_gradients_are_those_of_one_process(both):
    import agnesi as ag
    from tests.distributed import programs
    from tests.distributed.test_collectives import serial

    stack = ag.tensor(np.stack([programs.given("float64", (4, 3), r) + 0.25 * r for r in range(2)]))
    _, both = both
    for rank, found in enumerate(both):
        for name in (n for n in found if n.startswith("value ")):
            kind, shape = name[6:].removesuffix(" large"), ("float32", (4, 3))
            if name.endswith("large"):
                shape = ("float64", (2, 70_001))
            for y in found[name]:
                np.testing.assert_allclose(y, serial(kind, *shape, rank), rtol=1e-6, err_msg=name)
        for name in (n for n in found if n.startswith("grad ")):
            wanted = ag.grad(lambda s, n=name: programs.weighted(n[5:], s))(stack).numpy()
            for g in found[name]:
                np.testing.assert_allclose(g, wanted[rank], rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(both[0]["letters"], 6 * np.arange(1.0, 1001))
    np.testing.assert_array_equal(both[1]["grid"], np.arange(24.0).reshape(4, 6))


def test_processes_that_differ_are_told_so_and_go_on(both):
    for found in both[1]:
        for text in (*found["errors"].ravel(), *found["model"]):
            assert "do not agree" in text and "rank 0: " in text and "rank 1: " in text


def test_who_is_late_is_named_with_both_lines(both):
    how, both = both
    if how == "near":
        late = str(both[0]["late"])
        assert "rank 1 did not come within 0.5 seconds" in late
        assert "rank 0 waits in all_reduce[sum] float32[3] at" in late
        assert late.count("programs.py:") >= 2
    assert "rank 0: send float32[2, 3] at" in str(both[1]["letter"])
    assert "rank 1: recv float32[6] at" in str(both[1]["letter"])
    for found in both:
        assert "float32[3]" in str(found["beside"]) and "float32[4]" in str(found["beside"])


def test_data_parallel_training_is_that_of_one_process(both):
    from tests.distributed import training

    losses, weights = training.train("mlp", "sgd", [6, 5, 1], False)
    for found in both[1]:
        np.testing.assert_allclose(found["losses"], losses, rtol=1e-5)
        for name, value in weights.items():
            np.testing.assert_allclose(found[f"weight {name}"], value, atol=1e-6)


FAILING = """
import os, signal, sys, time
import agnesi as ag
from agnesi import distributed as dist
from agnesi.distributed.processes import mpi

_, how, where = sys.argv
if where == "far":
    mpi._board = lambda *_: None
dist.init(timeout=20 if how in ("raise", "kill") else 1)
dist.barrier()
try:
    if dist.rank() == 1:
        if how == "raise":
            raise KeyError("not here")
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "leave":
            sys.exit(0)
        time.sleep(2.5)
    if how == "letter":
        dist.recv(ag.ones(3), source=1) if dist.rank() == 0 else dist.barrier()
    dist.all_reduce(ag.ones(3))
except dist.CollectiveError as error:
    print("told:", error, flush=True)
    if how != "handled":
        raise
"""


@pytest.mark.parametrize("where", ["near", "far"])
@pytest.mark.parametrize("how", ["raise", "kill", "late", "handled", "leave", "letter"])
def test_a_job_ends_where_one_fails(tmp_path, how, where):
    """None waits for ever: neither for one that is gone, nor for what it began and gave up."""
    program = tmp_path / "failing.py"
    program.write_text(FAILING)
    run = subprocess.run(
        [str(MPIEXEC), "-n", "2", sys.executable, str(program), how, where], cwd=ROOT,
        env=ENVIRONMENT, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert (run.returncode == 0) == (how == "handled" and where == "near")
    if how == "raise":
        assert "KeyError: 'not here'" in run.stderr
        assert where == "far" or "told: rank 1 has left the group" in run.stdout
    elif how != "kill":
        assert "told: " in run.stdout
        assert ("ends all processes" in run.stderr) == (how == "handled" and where == "far")


def test_without_mpi4py_it_is_said_what_to_install(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('no mpi4py')")
    program = "from agnesi import distributed as dist; dist.init()"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
        env={**ENVIRONMENT, "PMI_SIZE": "2", "PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"})
    assert run.returncode == 1 and "pip install mpi4py" in run.stderr
