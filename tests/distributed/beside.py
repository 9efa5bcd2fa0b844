"""Collectives beside compiled programs, as the processes of the tests run them."""

import signal
import time

import numpy as np

import agnesi as ag
from agnesi import distributed as dist
from agnesi.distributed.overlap import Pending
from tests.distributed import training

nn = ag.nn


def train(overlap, compress=False):
    """Weights after some steps, what was hidden, and the kernels of the step in their order."""
    ag.manual_seed(1)
    net = nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(40, 40), nn.Tanh())])
    opt = ag.optim.SGD(net.parameters(), lr=0.1)
    parallel = dist.data_parallel(net, opt, bucket_bytes=5000, overlap=overlap, compress=compress)

    @ag.jit
    def step(x, y):
        x, y = parallel.split(x, y)
        loss = ((net(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return parallel.mean(loss)

    rng = np.random.default_rng(0)
    for n in (6, 6):
        x, y = (ag.tensor(rng.standard_normal((n, 40)).astype("float32")) for _ in range(2))
        step(x, y)
    kernels = [line for line in str(step.plan()).splitlines() if line[:1].isdigit()]
    hidden = parallel.hidden()
    parallel.close()
    return [p.numpy() for p in net.parameters()], hidden, kernels


def differ():
    """One of several begun sums differs: all are told, at its end, and may go on."""
    group = dist.init()
    group.overlap()

    @ag.jit
    def both(x, y):
        pending = [Pending("all_reduce", v, group, True) for v in (x, y, x)]
        return [p.result() for p in pending]

    found = []
    for n in (3 + dist.rank(), 5):
        try:
            found.append([y.tolist() for y in both(ag.ones(2), ag.ones(n))])
        except dist.CollectiveError as error:
            found.append(str(error))
    return found


def late(how):
    """One process does not come to what the other waits for; seconds until that is told."""
    group = dist.init()
    group.overlap()
    group.beside.timeout = 0.4
    f = ag.jit(lambda x: Pending("all_reduce", x * 2, group, True).result() + 1)
    f(ag.ones(3))
    if dist.rank() == 1:
        time.sleep(2)
    elif how == "signal":
        group.beside.timeout = 20.0
        signal.signal(signal.SIGALRM, _raise)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.monotonic()
    try:
        f(ag.ones(3))
        return "", 0.0
    except (dist.CollectiveError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}", time.monotonic() - began


def _raise(*_):
    raise TimeoutError("by a signal")


def mlp(overlap):
    return training.train("mlp", "adam", [6, 1], True, overlap=overlap, bucket_bytes=150)
