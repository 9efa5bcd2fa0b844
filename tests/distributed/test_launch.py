"""The launcher watches the processes of a program as one job."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agnesi import distributed as dist
from agnesi.__main__ import main
from agnesi.distributed.processes import launch as launching
from agnesi.distributed.processes import world

JOB = Path(__file__).with_name("job.py")


@pytest.mark.long
def test_one_that_fails_ends_the_job_with_its_name(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(launching, "_POLL_SECONDS", 1.0)  # by then rank 0 has failed of it
    logs, made = tmp_path / "logs", []
    monkeypatch.setattr(world, "make_group", lambda n: made.append(dist.make_group(n)) or made[-1])
    code = dist.launch([sys.executable, str(JOB), str(tmp_path), "exit"], 2, logs=str(logs),
                       grace=10)
    assert code == 3
    out, err = capfd.readouterr()
    assert out == "" and "agnesi launch: rank 1 (process " in err and "ended with code 3" in err
    texts = [(logs / f"rank{rank}.log").read_text() for rank in range(2)]
    assert all(text.startswith("begin at 0 after 0 restarts\n") for text in texts)
    assert "agnesi.core.support.errors.CollectiveError: " in texts[0]  # who waits is told
    assert "rank 1" in texts[0].split("CollectiveError: ")[1]
    assert len(made) == 1 and not Path(made[0]).exists()


def test_one_that_is_killed_is_started_again_from_what_was_saved(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "agnesi", "launch", "-n", "2", "--threads", "1", "--restarts", "1",
         str(JOB), str(tmp_path), "kill"], capture_output=True, text=True, timeout=60,
        env=dict(os.environ))
    assert "rank 1 (process " in run.stderr and "was killed by SIGKILL" in run.stderr
    assert "starting again (1 of 1)" in run.stderr
    assert run.returncode == 0
    assert "[1] begin at 0 after 0 restarts" in run.stdout
    assert "[0] begin at 3 after 1 restarts" in run.stdout
    for rank in range(2):  # groups of one machine need none
        assert f"[{rank}] end with 6, 0 sockets" in run.stdout


def test_a_command_that_names_python_is_run_as_it_is(capfd):
    code = main(["launch", "-n", "1", sys.executable, "-c", "print('ran')"])
    assert code is None and "[0] ran" in capfd.readouterr().out


CHILD = """
import subprocess, sys
import pytest

from agnesi import distributed as dist
if len(sys.argv) > 1:
    print("child", dist.rank(), dist.world_size())
else:
    dist.init(timeout=20)
    subprocess.run([sys.executable, __file__, "child"], check=True, timeout=30)
    print("rank", dist.rank(), dist.world_size(), float(dist.all_reduce(1.0)))
"""


@pytest.mark.long
def test_what_a_rank_starts_is_no_rank(tmp_path, capfd):
    program = tmp_path / "program.py"
    program.write_text(CHILD)
    assert dist.launch([sys.executable, str(program)], 2) == 0
    out = capfd.readouterr().out
    assert out.count("child 0 1") == 2
    assert "rank 0 2 2.0" in out and "rank 1 2 2.0" in out


STUBBORN = """
import os, signal, sys, time
from agnesi import distributed as dist
def told(number, frame):
    print(f"told {number}", flush=True)
    sys.exit() if sys.argv[1:] == ["polite"] else None
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, told)
dist.init(timeout=20)
print("ready", os.getpid(), flush=True)
time.sleep(30)
time.sleep(30)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("how, signals, code", [
    ("polite", [signal.SIGTERM], 143), ("stubborn", [signal.SIGINT] * 2, 130),
    ("polite", [signal.SIGKILL], -9)])
def test_processes_end_with_their_launcher(tmp_path, how, signals, code):
    program = tmp_path / "program.py"
    program.write_text(STUBBORN)
    job = subprocess.Popen(
        [sys.executable, "-m", "agnesi", "launch", "-n", "1", str(program), how],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    worker = int(job.stdout.readline().split()[-1])
    began = time.monotonic()
    for number in signals:
        job.send_signal(number)
        time.sleep(0.1)
    out, err = job.communicate(timeout=20)
    assert job.returncode == code and "Traceback" not in err
    assert how == "stubborn" or signals[0] == signal.SIGKILL or "told 15" in out
    while not ended(worker):
        assert time.monotonic() - began < 8
        time.sleep(0.05)


def ended(pid):
    """Whether a process has ended, perhaps without anybody who asked."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("variables, text", [
    ({"AGNESI_RANK": "0"}, "the variable AGNESI_WORLD_SIZE, which a launcher sets, is ''"),
    ({"PMI_SIZE": "many"}, "the variable PMI_SIZE, which a launcher sets, is 'many'"),
    ({"AGNESI_RANK": "0", "AGNESI_WORLD_SIZE": "2", "AGNESI_GROUP": "/none"},
     "/none, the shared memory of the group, is gone")])
def test_wrong_variables_are_named(monkeypatch, variables, text):
    dist.shutdown()
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((ValueError, dist.CollectiveError), match=text):
        dist.init()
