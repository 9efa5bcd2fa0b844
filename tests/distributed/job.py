"""A job for the launcher: counts in both processes, keeps how far it is, and fails as it is told.

Arguments: a folder; "exit", or "kill" with a rank and seconds; how many steps of how many seconds.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import agnesi as ag
from agnesi import distributed as dist


def open_sockets() -> int:
    """How many file descriptors of this process are sockets, of any family."""
    folder, found = "/proc/self/fd", []
    for fd in os.listdir(folder) if os.path.isdir(folder) else ():
        with contextlib.suppress(OSError):  # the folder itself, which was open while it was read
            found.append(os.readlink(os.path.join(folder, fd)))
    return sum(name.startswith("socket:") for name in found)


def main() -> None:
    folder, how, *rest = Path(sys.argv[1]), *sys.argv[2:]
    victim, after, steps, pause = (float(v) for v in rest or (1, 0, 6, 0))
    dist.init(timeout=20)
    rank, saved = dist.rank(), folder / "saved"
    first, x = (int(v) for v in saved.read_text().split()) if saved.exists() else (0, 0)
    print(f"begin at {first} after {dist.restart_count()} restarts", flush=True)
    failing = rank == victim and dist.restart_count() == 0
    if failing and rest:
        timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    for i in range(first, int(steps)):
        x = int(dist.all_reduce(ag.tensor(x + 1), "max"))
        if rank == 0:
            (folder / "new").write_text(f"{i + 1} {x}")
            os.replace(folder / "new", saved)
        dist.barrier()
        time.sleep(pause)
        if i == 2 and failing and not rest:
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            sys.exit(3)
    print(f"end with {x}, {open_sockets()} sockets", flush=True)


if __name__ == "__main__":
    main()
