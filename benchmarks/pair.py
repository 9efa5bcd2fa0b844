"""Two processes that do one workload together, by one library: `-m benchmarks.pair LIB WORK`.

The first reads lines from its standard input, each a number of calls, and answers each with the
seconds that one took; the second does the same calls.  Asked for no calls, it answers with the part
of the communication that was hidden since it was asked last.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.models import convnets, language
from benchmarks.suites import _training, convnets_small
from benchmarks.suites import language as models

#: Libraries, and whether `mpiexec` starts their processes.
LIBRARIES = {"agnesi": False, "torch gloo": False, "agnesi mpi": True, "mpi4py": True,
             "agnesi alone": False, "torch alone": False, "agnesi apart": False,
             **{f"agnesi {rule} every {n}": False for rule in ("ASGD", "EASGD") for n in (1, 100)}}
NAP = 0.001  # seconds between two looks of a process that has nothing to do


class Pair:
    """The processes, as the suite sees them."""

    def __init__(self, library: str, work: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        arguments = ["-m", "benchmarks.pair", library, work, self.folder.name]
        env = peers.environment(1)
        if LIBRARIES[library]:
            starter = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", sys.executable]
            commands = [[*starter, *arguments]]
        else:
            both = 1 if library.endswith("alone") else 2
            path = os.path.join(self.folder.name, "store")
            if both == 2 and library.startswith("agnesi"):
                path = _memory()
            commands = [[sys.executable, *arguments, str(r), path] for r in range(both)]
        self.processes = [
            subprocess.Popen(c, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for c in commands
        ]  # fmt: skip
        if self._read() != "ready":
            self.close()
            raise ImportError(f"{library} did not start")

    def _read(self) -> str:
        assert self.processes[0].stdout is not None
        return self.processes[0].stdout.readline().strip()

    def seconds(self, calls: int) -> float:
        """Seconds for each of so many calls."""
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{calls}\n")
            process.stdin.flush()
        return float(self._read())

    def hidden(self) -> float:
        """The part of the communication during which the first process did not wait for it."""
        return self.seconds(0)

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.folder.cleanup()


def _memory() -> str:
    from agnesi import distributed

    return distributed.make_group(2)


def main() -> None:
    library, work, _, *rest = sys.argv[1:]
    rank, path = (int(rest[0]), rest[1]) if rest else (-1, "")
    if library in ("mpi4py", "agnesi mpi"):
        calls, turns = _by_mpi(library, work)
    else:
        start = _agnesi if library.startswith("agnesi") else _torch
        how = library.removeprefix("agnesi").removeprefix("torch").removeprefix(" gloo").strip()
        calls, turns = start(rank, path, work, how), _lines
    if rank <= 0 and os.environ.get("PMI_RANK", "0") == "0":
        print("ready", flush=True)
    for count in turns():
        seconds = _time(calls, count) if count else calls.hidden()
        if rank <= 0 and os.environ.get("PMI_RANK", "0") == "0":
            print(seconds, flush=True)


def _lines() -> Any:
    for line in sys.stdin:
        yield int(line)


def _time(call: Callable[[], Any], count: int) -> float:
    if count > 1:  # both begin together; a single call is long enough
        call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _checked(value: Any, size: int) -> None:
    if not (np.asarray(value) == size).all():
        raise ValueError("the sum is wrong")


def _agnesi(rank: int, path: str, work: str, how: str = "") -> Any:
    ag = peers.agnesi()
    from agnesi import distributed as dist

    if rank >= 0 and how != "alone":
        dist.init(rank, 2, path)
    if work.startswith("all_reduce"):
        x = ag.ones(int(work.split()[1]) // 4)
        f = ag.jit(dist.all_reduce)
        _checked(f(x).numpy(), dist.world_size())
        return lambda: f(x)
    model, step, args = _training.agnesi_function(_task(work))
    if not how:
        return _parallel_step(ag, dist, model, _half(args, rank))
    one = ag.jit(step)
    if "ASGD" not in how:
        return lambda: one(*args)
    rule, _, every = how.split()
    central = dist.Central(model, getattr(dist, rule)(), every=int(every))

    def call() -> None:
        one(*args)
        central.sync()

    return call


def costs(work: str, rule: str, rounds: int) -> tuple[float, float, int]:
    """Seconds of a step, and of a meeting with the centre, and in how many parts that is.

    Medians of one process, for ``benchmarks.simulation``.
    """
    from agnesi import distributed as dist

    model, step, args = _training.agnesi_function(_task(work))
    one, central = peers.agnesi().jit(step), dist.Central(model, getattr(dist, rule)())
    steps, meetings = [], []
    for _ in range(rounds + 2):
        for call, taken in ((lambda: one(*args), steps), (central.sync, meetings)):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return statistics.median(steps[2:]), statistics.median(meetings[2:]), len(central._parts)


def _parallel_step(ag: Any, dist: Any, model: Any, batch: Any) -> Any:
    optimizer = ag.optim.SGD(model.parameters(), lr=_training.RATE)
    parallel = dist.data_parallel(model, optimizer)

    @ag.jit
    def step(words: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = ag.nn.functional.cross_entropy(model(words), labels)
        loss.backward()
        optimizer.step()
        return loss

    def call() -> None:
        step(*batch)

    call.hidden = parallel.hidden  # type: ignore[attr-defined]
    return call


def _half(args: Any, rank: int) -> tuple[Any, Any]:
    """This process's columns of a batch of words, or its images, and their labels."""
    inputs, labels = args
    axis = 1 if inputs.ndim == 2 else 0
    n = inputs.shape[axis] // 2
    mine = slice(n * rank, n * (rank + 1))
    if axis == 0:
        return inputs[mine], labels[mine]
    return inputs[:, mine], labels.reshape(inputs.shape)[:, mine].reshape(-1)


def _task(work: str) -> Any:
    images = next((net for net in convnets.IMAGENET if net.name == work), None)
    if images is not None:
        return convnets_small.task_of(images)
    return models.text_task(next(t for t in language.MODELS if t.name == work))


def _torch(rank: int, path: str, work: str, how: str = "") -> Callable[[], Any]:
    torch = peers.torch()
    import torch.distributed as dist

    if how != "alone":
        dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    if work.startswith("all_reduce"):
        x = torch.zeros(int(work.split()[1]) // 4)
        one = torch.ones(8)
        dist.all_reduce(one)
        _checked(one.numpy(), 2)
        return lambda: dist.all_reduce(x)
    task = _task(work)
    contender = _training.with_torch(task)
    if how == "alone":
        return lambda: contender.fn(*contender.args)
    model = torch.nn.parallel.DistributedDataParallel(_training.torch_module(task))
    optimizer = torch.optim.SGD(model.parameters(), lr=_training.RATE, foreach=True)
    words, labels = _half(contender.args, rank)

    @torch.enable_grad()
    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(words), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _by_mpi(library: str, work: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    from mpi4py import MPI

    comm, n = MPI.COMM_WORLD, int(work.split()[1]) // 4
    if library == "mpi4py":
        given, found = np.ones(n, np.float32), np.empty(n, np.float32)
        comm.Allreduce(given, found)
        _checked(found, 2)
        call: Callable[[], Any] = lambda: comm.Allreduce(given, found)  # noqa: E731
    else:
        from agnesi import distributed as dist

        dist.init(check=False)
        call = _agnesi(-1, "", work)

    def turns() -> Any:
        """The first tells the second, which sleeps meanwhile: the library's own wait would not."""
        if comm.rank == 0:
            for line in sys.stdin:
                comm.send(int(line), 1)
                yield int(line)
            comm.send(0, 1)
            return
        while True:
            while not comm.Iprobe(0):
                time.sleep(NAP)
            count = comm.recv(source=0)
            if not count:
                return
            yield count

    return call, turns


if __name__ == "__main__":
    main()
