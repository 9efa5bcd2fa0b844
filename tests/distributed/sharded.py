"""Training with shards, stages and shared centres, as processes do it and as one does."""

import os
import signal
import threading
import time

import numpy as np

import agnesi as ag
from agnesi import distributed as dist
from tests.distributed import training

nn = ag.nn


def zero(stage, compiled, sizes=(6, 5, 1, 6), again=True):
    """Weights after some steps, half of them behind saving and loading."""
    model = training.net("mlp")
    make = lambda ps: ag.optim.Adam(ps, lr=0.01)  # noqa: E731
    state = dist.Zero(model, make, stage)

    def step(x, y):
        x, y = state.split(x, y)
        loss = ((state.module()(x) - y) ** 2).sum(axis=1).mean()
        loss.backward()
        state.step()
        return state.mean(loss)

    run = ag.jit(step) if compiled else step
    data = training.batches("mlp", sizes)
    losses = [float(run(*pair)) for pair in data[: len(data) // 2]]
    saved = state.state_dict()
    state = dist.Zero(training.net("mlp"), make, stage)
    state.load_state_dict(saved)
    run = ag.jit(step) if compiled else step
    losses += [float(run(*pair)) for pair in data[len(data) // 2:]]
    kept = sum(t.array.nbytes for t in state.optimizer.parameters)
    return losses, {k[6:]: v for k, v in state.state_dict().items() if k[:6] == "model."}, kept


def saved(folder):
    """Shards in a folder, written together."""
    model = training.net("norm")
    state = dist.Zero(model, lambda ps: ag.optim.Adam(ps, lr=0.01), 2)
    for x, y in training.batches("norm", [6]):
        ((state.module()(x) - y) ** 2).mean().backward()
        state.step()
    dist.save_sharded(folder, state)
    return {k: v.tolist() for k, v in state.state_dict().items()}


def loaded(folder):
    state = dist.Zero(training.net("norm"), lambda ps: ag.optim.Adam(ps, lr=0.5), 3)
    dist.load_sharded(folder, state)
    return {k: v.tolist() for k, v in state.state_dict().items()}


def read():
    """What a loader gives this process, in two epochs."""
    dataset = ag.data.TensorDataset(ag.arange(7))
    batches = dist.ShardedBatches(ag.data.RandomSampler(dataset), 4)
    loader = ag.data.DataLoader(dataset, batch_sampler=batches, generator=5)
    return [[x.tolist() for x, in loader] for _ in range(2)]


def tensor_parallel(compiled):
    """Outputs and gradients of cut layers, those of the weights put together again."""
    ag.manual_seed(3)
    group = dist.init()
    table, one, two = nn.Embedding(10, 6), nn.Linear(6, 8), nn.Linear(8, 4)
    parts = nn.Sequential(dist.ShardedEmbedding(table, group),
                          dist.ColumnLinear(one, gather=False, group=group), nn.Tanh(),
                          dist.RowLinear(two, group), dist.ColumnLinear(nn.Linear(4, 2)))
    words = ag.tensor(np.arange(12).reshape(3, 4) % 10)

    def step(words):
        y = parts(words)
        (y * y).sum().backward()
        return y

    y = (ag.jit(step) if compiled else step)(words)
    found = {name: p.grad for name, p in parts.named_parameters()}
    whole = {
        "0.weight": dist.all_gather(found["0.weight"]),
        "1.weight": dist.all_gather(found["1.weight"]), "1.bias": dist.all_gather(found["1.bias"]),
        "3.weight": dist.all_gather(found["3.weight"]).T, "3.bias": found["3.bias"],
        "4.weight": dist.all_gather(found["4.weight"]), "4.bias": dist.all_gather(found["4.bias"]),
    }
    return y.numpy(), {name: g.numpy() for name, g in whole.items()}


def whole():
    """The same layers in one piece."""
    ag.manual_seed(3)
    table, one, two = nn.Embedding(10, 6), nn.Linear(6, 8), nn.Linear(8, 4)
    model = nn.Sequential(table, one, nn.Tanh(), two, nn.Linear(4, 2))
    y = model(ag.tensor(np.arange(12).reshape(3, 4) % 10))
    (y * y).sum().backward()
    return y.numpy(), {name: p.grad.numpy() for name, p in model.named_parameters()}


def mesh():
    """Sums along the axes of a grid, and a tensor cut along both and put together."""
    grid = dist.Mesh((1, -1), ("data", "model"))
    x = ag.tensor(np.arange(24.0).reshape(4, 6))
    part = dist.shard(x, ("data", "model"), grid)
    back = dist.unshard(part, ("data", "model"), grid)
    sums = [float(dist.all_reduce(ag.tensor(dist.rank() + 1.0), group=grid.group(name)))
            for name in ("data", "model")]
    try:
        dist.shard(ag.ones((2, 3)), (None, "model"), grid)
    except ag.ShapeError as error:
        return part.numpy(), back.numpy(), sums, grid.at, str(error)


def pipeline(pieces, n=5):
    model = training.net("mlp")
    pipe = dist.Pipeline(model, pieces)
    opt = ag.optim.SGD(pipe.stage.parameters(), lr=0.1)
    (x, y), = training.batches("mlp", [n])
    losses = []
    for _ in range(2):
        opt.zero_grad()
        losses.append(float(pipe.backward(x, y, ag.nn.functional.mse_loss)))
        opt.step()
    out = pipe(x)
    weights = [p.numpy() for p in pipe.stage.parameters()]
    return losses, weights, None if out is None else out.numpy()


def serial(n=5):
    model = training.net("mlp")
    opt = ag.optim.SGD(model.parameters(), lr=0.1)
    (x, y), = training.batches("mlp", [n])
    losses = []
    for _ in range(2):
        opt.zero_grad()
        loss = ag.nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        losses.append(float(loss))
    return losses, [p.detach().numpy() for p in model.parameters()], model(x).detach().numpy()


def store():
    """SGD by push and pull; each process has half of the examples."""
    (x, y), = training.batches("mlp", [6])
    mine = slice(3 * dist.rank(), 3 * dist.rank() + 3) if dist.world_size() > 1 else slice(6)
    values = dist.KVStore(lambda key, total, value: value.sub_(0.1 * total))
    values.init("w", ag.zeros((5, 2)))
    for _ in range(3):
        grad = ag.grad(lambda w: ((x[mine] @ w - y[mine]) ** 2).sum() / 6)(values.pull("w"))
        values.push("w", grad)
    return values.pull("w").numpy()


def converge(rule, every, steps):
    """A convex problem, of which each process sees half, at its own pace."""
    w = ag.tensor([5.0, -3.0], requires_grad=True)
    central = dist.Central([w], rule, every)
    goal = ag.tensor([1.0, 2.0]) + (1.0 if dist.rank() else -1.0)
    step = ag.jit(lambda: w.sub_(0.05 * (w.detach() - goal)))
    for i in range(steps):
        with ag.no_grad():
            step()
        central.sync()
        with central.notes() as notes:
            notes["steps"] = notes.get("steps", 0) + 1
        if dist.rank() and i % 7 == 0:
            time.sleep(0.001)
    dist.barrier()
    with central.notes() as notes:
        return central.values()[0], notes["steps"]


def killed_in_exchange(pieces):
    """One process is killed while it meets the centre; the other goes on."""
    class Deadly(dist.EASGD):
        def exchange(self, local, centre, last):
            if dist.rank() == 1 and self.count == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
            return super().exchange(local, centre, last)

    rule = Deadly(0.5)
    rule.count = 0
    w = ag.tensor([4.0], requires_grad=True)
    central = dist.Central([w], rule, timeout=10)
    for _ in range(pieces):
        central.sync()
        time.sleep(0.002)
    return central.values()[0]


def scaled(handle):
    """A handle that came through a pipe: changed in place, and sent on."""
    handle.get().mul_(2.0)
    return handle


def squares(block):
    return {"sum": (block * block).sum(), "rows": block.shape[0]}


def exchanged_in_parts(rule, every, steps):
    """Sums over both workers and the centre, before and after, of parameters of several parts."""
    rank = dist.rank()
    given = np.random.default_rng(rank)
    shapes = (300, 700), (5,), (400, 333), (3, 2)
    ws = [ag.tensor(given.standard_normal(s), requires_grad=True) for s in shapes]
    ws[2] = ag.tensor(np.asfortranarray(ws[2].detach().numpy()), requires_grad=True)
    before = [w.detach().numpy().copy() for w in ws]
    central = dist.Central(ws, rule, every)
    start = central.values()
    for w, value in zip(ws, before, strict=True):
        with ag.no_grad():
            w.copy_(ag.tensor(value))
    dist.barrier()
    for _ in range(steps):
        central.sync()
    dist.barrier()
    found = [[dist.all_reduce(w.detach()).numpy() for w in ws], central.values()]
    sums = [dist.all_reduce(ag.tensor(b)).numpy() + c for b, c in zip(before, start, strict=True)]
    return len(central._parts), sums, [a + c for a, c in zip(*found, strict=True)]


def killed_among_parts(rounds):
    """Rank 1 is killed somewhere in its exchanges; whatever part was met is met as a whole."""
    w = ag.tensor(np.zeros(600_000), requires_grad=True)
    central = dist.Central([w], dist.ASGD(), timeout=10)
    done = 0
    while dist.rank() or done < rounds:
        with ag.no_grad():
            w.add_(1.0)
        central.sync()
        done += 1
        if dist.rank() and done == 5:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
    (centre,) = central.values()
    return [np.unique(centre[part.places[0][1][0]: part.places[0][1][1]]).size
            for part in central._parts], float(centre.min())
