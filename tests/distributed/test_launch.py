"""The launcher watches the processes of a program as one job."""

import os
import subprocess
import sys
from pathlib import Path

from agnesi import distributed as dist
from agnesi.__main__ import main
from agnesi.distributed.processes import launch as launching

JOB = Path(__file__).with_name("job.py")
SHARED = Path("/dev/shm")


def test_one_that_fails_ends_the_job_with_its_name(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(launching, "_POLL_SECONDS", 1.0)  # by then rank 0 has failed of it
    before, logs = _segments(), tmp_path / "logs"
    code = dist.launch([sys.executable, str(JOB), str(tmp_path), "exit"], 2, logs=str(logs),
                       grace=10)
    assert code == 3
    out, err = capfd.readouterr()
    assert out == "" and "agnesi launch: rank 1 (process " in err and "ended with code 3" in err
    texts = [(logs / f"rank{rank}.log").read_text() for rank in range(2)]
    assert all(text.startswith("begin at 0 after 0 restarts\n") for text in texts)
    assert "agnesi.core.support.errors.CollectiveError: " in texts[0]  # who waits is told
    assert "rank 1" in texts[0].split("CollectiveError: ")[1]
    assert _segments() <= before


def test_one_that_is_killed_is_started_again_from_what_was_saved(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "agnesi", "launch", "-n", "2", "--threads", "1", "--restarts", "1",
         str(JOB), str(tmp_path), "kill"], capture_output=True, text=True, timeout=60,
        env=dict(os.environ))
    assert "rank 1 (process " in run.stderr and "was killed by SIGKILL" in run.stderr
    assert "starting again (1 of 1)" in run.stderr
    assert run.returncode == 0
    assert "[1] begin at 0 after 0 restarts" in run.stdout
    assert "[0] begin at 3 after 1 restarts" in run.stdout and "[1] end with 6" in run.stdout


def _segments() -> set[str]:
    return {p.name for p in SHARED.glob("agnesi-*-group-*")} if SHARED.exists() else set()


def test_a_command_that_names_python_is_run_as_it_is(capfd):
    code = main(["launch", "-n", "1", sys.executable, "-c", "print('ran')"])
    assert code is None and "[0] ran" in capfd.readouterr().out
