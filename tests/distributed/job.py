"""A job for the launcher: trains a number, keeps it in a file, and fails as it is told."""

import os
import signal
import sys
from pathlib import Path

import agnesi as ag
from agnesi import distributed as dist


def main() -> None:
    folder, how = Path(sys.argv[1]), sys.argv[2]
    dist.init(timeout=20)
    rank, saved = dist.rank(), folder / "saved"
    first, x = (int(v) for v in saved.read_text().split()) if saved.exists() else (0, 0)
    print(f"begin at {first} after {dist.restart_count()} restarts", flush=True)
    for i in range(first, 6):
        x = int(dist.all_reduce(ag.tensor(x + 1), "max"))
        if rank == 0:
            saved.write_text(f"{i + 1} {x}")
        dist.barrier()
        if i == 2 and rank == 1 and dist.restart_count() == 0:
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "exit":
                sys.exit(3)
            if how == "raise":
                raise ValueError("this rank does not like 2")
    print(f"end with {x}", flush=True)


if __name__ == "__main__":
    main()
