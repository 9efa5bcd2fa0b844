"""What the processes of the tests run."""

import functools
import os
import sys
import time
import warnings

import numpy as np

import agnesi as ag
from agnesi import distributed as dist
from agnesi.api.processes import memory

#: Collectives of a tensor with 2 rows and more, and the same of the stack of all processes'.
KINDS = {
    "sum": (lambda x: dist.all_reduce(x), lambda s, r: s.sum(0)),
    "mean": (lambda x: dist.all_reduce(x, "mean"), lambda s, r: s.mean(0)),
    "max": (lambda x: dist.all_reduce(x, "max"), lambda s, r: s.max(0)),
    "min": (lambda x: dist.all_reduce(x, "min"), lambda s, r: s.min(0)),
    "prod": (lambda x: dist.all_reduce(x, "prod"), lambda s, r: s.prod(0)),
    "gather": (lambda x: dist.all_gather(x), lambda s, r: ag.concatenate([*s])),
    "gather1": (lambda x: dist.all_gather(x, axis=1), lambda s, r: ag.concatenate([*s], axis=1)),
    "stack": (lambda x: dist.all_gather(x, axis=None), lambda s, r: s),
    "scatter": (lambda x: dist.reduce_scatter(x), lambda s, r: s.sum(0)[_part(s, r)]),
    "scatter mean": (lambda x: dist.reduce_scatter(x, "mean"),
                     lambda s, r: s.mean(0)[_part(s, r)]),
    "scatter max": (lambda x: dist.reduce_scatter(x, "max"), lambda s, r: s.max(0)[_part(s, r)]),
    "exchange": (lambda x: dist.all_to_all(x),
                 lambda s, r: ag.concatenate([q[_part(s, r)] for q in s])),
    "exchange1": (lambda x: dist.all_to_all(x, 0, 1),
                  lambda s, r: ag.concatenate([q[_part(s, r)] for q in s], axis=1)),
    "broadcast": (lambda x: dist.broadcast(x, 1), lambda s, r: s[1]),
}


def _part(stack, rank):
    n = stack.shape[1] // stack.shape[0]
    return slice(rank * n, (rank + 1) * n)


def given(dtype, shape, rank):
    """Values that differ between processes, some of them equal."""
    x = np.random.default_rng(rank).integers(-3, 4, shape)
    return (x if np.dtype(dtype).kind in "if" else abs(x)).astype(dtype)


def values(dtype, shape, names):
    """Eagerly, and all of them in one compiled function."""
    x = ag.tensor(given(dtype, shape, dist.rank()))
    compiled = ag.jit(lambda x: {name: KINDS[name][0](x) for name in names})(x)
    return {name: (KINDS[name][0](x).array, compiled[name].array) for name in names}


def gradients(shape, names):
    """Gradients of a weighted sum: eager, compiled, in a declared graph, forwards, batched; values
    batched.

    Those that are compiled are all in one function.
    """
    rank = dist.rank()
    x = ag.tensor(given("float64", shape, rank) + 0.25 * rank)
    weights = {name: _weights(KINDS[name][0](x).shape, rank) for name in names}

    def loss(name):
        return lambda v: (KINDS[name][0](v * v) * weights[name]).sum()

    v = ag.symbolic.tensor("float64", shape, "v")
    declared = ag.function([v], [ag.grad(loss(name))(v) for name in names])(x)
    compiled = ag.jit(lambda x: [ag.grad(loss(name))(x) for name in names])(x)
    found = {}
    for i, name in enumerate(names):
        f = KINDS[name][0]
        tangent = ag.jvp(loss(name), (x,), (ag.ones(shape, dtype="float64"),))[1]
        batched = ag.vmap(f)(ag.stack([x, x + 1]))
        eager = ag.grad(loss(name))(x)
        inside = ag.vmap(ag.grad(loss(name)))(ag.stack([x, x + 1]))
        found[name] = [np.asarray(y) for y in (
            eager, compiled[i], declared[i], tangent, batched, inside)]
    return found


def _weights(shape, rank):
    n = int(np.prod(shape))
    return ag.tensor(np.arange(1.0, n + 1).reshape(shape) * (rank + 1))


def weighted(name, stack):
    """The sum of all processes' losses, in one process."""
    parts = [KINDS[name][1](stack * stack, r) for r in range(2)]
    return sum((y * _weights(y.shape, r)).sum() for r, y in enumerate(parts))


def letters(n):
    """A tensor goes to the other process and comes back, with its gradient."""
    w = ag.tensor(np.arange(1.0, n + 1), requires_grad=True)

    @ag.jit
    def step(w):
        if dist.rank() == 0:
            y = dist.send(w * w, to=1)
            return 0 * y.sum()
        y = dist.recv(w, source=0)
        return (3 * y).sum()

    eager = step.__wrapped__(w)
    eager.backward()
    compiled = ag.grad(step)(w.detach())
    return float(eager), None if w.grad is None else w.grad.numpy(), compiled.numpy()


def crossing():
    """Derivatives of letters that cross: each process gives back first what it got last."""
    rank, x = dist.rank(), ag.tensor(np.arange(1.0, 4) + dist.rank())

    def exchanged(x):
        if rank == 0:
            mine, theirs = dist.send(x, to=1), dist.recv(x * 1, source=1)
        else:
            theirs, mine = dist.recv(x * 1, source=0), dist.send(x, to=0)
        return theirs + 0 * mine

    def loss(x):
        return ((rank + 1) * exchanged(x) ** 3).sum()

    def moved(x):
        return ag.jvp(exchanged, (x,), (2 * x,))[1]

    def curved(x):
        return ag.grad(lambda x: (ag.grad(loss)(x) * x).sum())(x)

    v = ag.symbolic.tensor("float64", (3,), "v")
    linear = ag.function([v], ag.grad(lambda x: exchanged(x).sum())(v))
    linear(x)  # each call sends, although the gradient needs nothing of the call
    declared = [ag.function([v], f(v))(x) for f in (ag.grad(loss), moved, curved)]
    found = [[f(x), ag.jit(f)(x), of_graph, ag.vmap(f)(ag.stack([x, x]))[1]] for f, of_graph in
             zip((ag.grad(loss), moved, curved), declared, strict=True)]
    return [[np.asarray(y) for y in ys] for ys in found], linear(x)


def calls():
    """How many collectives a program does whose results nobody needs, or that are equal."""
    group = dist.init()

    @ag.jit
    def f(x):
        dist.all_reduce(x)
        a, b = dist.all_reduce(x), dist.all_reduce(x)
        big = dist.all_gather(x * 2)
        dist.barrier()

        def body(c, row):
            return dist.all_reduce(c) / 2 + row, c

        c, _ = ag.scan(body, x[0], x)
        return a + b, big, c

    x = ag.tensor(np.arange(6.0).reshape(3, 2) + dist.rank())
    f(x)
    before = group._native.calls
    results = [y.numpy() for y in f(x)]
    return group._native.calls - before, results


def differ(how):
    """Processes that do not agree; all must be told, and may go on."""
    rank = dist.rank()
    x = ag.ones((4, 2))
    pairs = {
        "shape": (lambda x: dist.all_reduce(x), lambda x: dist.all_reduce(x[:3])),
        "dtype": (lambda x: dist.all_reduce(x), lambda x: dist.all_reduce(x.astype("float64"))),
        "op": (lambda x: dist.all_reduce(x, "max"), lambda x: dist.all_reduce(x, "min")),
        "root": (lambda x: dist.broadcast(x, 0), lambda x: dist.broadcast(x, 1)),
        "order": (lambda x: (dist.all_gather(x), dist.barrier()),
                  lambda x: (dist.barrier(), dist.all_gather(x))),
    }
    found = []
    for run in (pairs[how][rank], ag.jit(pairs[how][rank])):
        try:
            run(x)
            found.append("")
        except dist.CollectiveError as error:
            found.append(str(error))
        dist.barrier()
    return found


def differ_in_what_is_asked():
    """What travels in the same way, but is something else: errors, and whether all go on."""
    x, h = ag.ones((4, 2)), ag.ones((4, 2), dtype="float16")
    layer = ag.nn.Linear(2, 1)
    some = [layer.weight, layer.bias][dist.rank():]
    found = []
    for pair in (
            (lambda: dist.all_reduce(x, "mean"), lambda: dist.all_reduce(x, "sum")),
            (lambda: dist.all_reduce(h, "max"), lambda: dist.all_reduce(h, "min")),
            (lambda: dist.all_reduce(x.astype("complex64")), lambda: dist.all_reduce(
                ag.ones((4, 2, 2)))),
            (lambda: dist.all_gather(x), lambda: dist.all_gather(x, axis=1)),
            (lambda: dist.reduce_scatter(h, "max"), lambda: dist.all_to_all(h)),
            (lambda: dist.all_to_all(x), lambda: dist.all_to_all(x, 0, 1)),
            (lambda: dist.broadcast(x, 0), lambda: dist.broadcast(x, 1)),
            (lambda: dist.new_group([0, 1]), lambda: dist.new_group([1, 0])),
            (lambda: dist.data_parallel(layer, ag.optim.SGD(some, lr=0.1)),) * 2):
        try:
            pair[dist.rank()]()
            found.append("no error")
        except dist.CollectiveError as error:
            found.append(str(error))
    return found, float(dist.all_reduce(1.0))


def counted(x):
    """A result, and whether LLVM had to be loaded for it."""
    return float(squared(x)), "agnesi.runtime.llvm_api" in sys.modules


@ag.jit
def squared(x):
    return (x * x - 0.125).sum()


def other_letter(group=None):
    """What is sent is not what is expected."""
    try:
        if dist.rank() == 0:
            dist.send(ag.ones((2, 3)), to=1, group=group)
        else:
            dist.recv(ag.ones(6), source=0, group=group)
    except dist.CollectiveError as error:
        return str(error)


def blocked_beside():
    """One process in a step that reduces beside it, the other one elsewhere."""
    net = ag.nn.Linear(3, 1)
    optimizer = ag.optim.SGD(net.parameters(), lr=0.1)
    parallel = dist.data_parallel(net, optimizer, dist.new_group([0, 1]))

    @ag.jit
    def step(x):
        net(x).mean().backward()
        optimizer.step()

    step(ag.ones((2, 3)))
    began = time.monotonic()
    try:
        if dist.rank() == 0:
            dist.barrier(parallel.group)
        else:
            step(ag.ones((2, 3)))
    except dist.CollectiveError as error:
        return str(error), time.monotonic() - began


def forked():
    """What a process is told that is forked from a rank, and uses its group."""
    inward, outward = os.pipe()
    child = os.fork()
    if not child:
        try:
            dist.all_reduce(ag.ones(3))
        except dist.CollectiveError as error:
            os.write(outward, str(error).encode())
        os._exit(0)
    os.close(outward)
    os.waitpid(child, 0)
    with os.fdopen(inward) as file:
        return file.read(), dist.all_reduce(ag.ones(3)).tolist()


def not_made():
    """Whether memory of a group is left that the others do not make."""
    made = []
    own_name = memory.own_name
    memory.own_name = lambda kind: made.append(own_name(kind)) or made[-1]
    try:
        dist.init().part([0, 1]) if dist.rank() == 0 else dist.barrier()
    except dist.CollectiveError as error:
        return str(error), [os.path.exists(path) for path in made]
    finally:
        memory.own_name = own_name


def blocked(how):
    """Processes that wait for each other, for things that neither will do."""
    x, rank = ag.ones(3), dist.rank()

    def sends(x):
        for _ in range(3):  # two letters can lie unread
            dist.send(x, to=1)

    began = time.monotonic()
    sides = {
        "recv": (lambda x: dist.recv(x, 1), lambda x: dist.all_reduce(x)),
        "send": (sends, lambda x: dist.barrier()),
        "both": (lambda x: dist.recv(x, 1), lambda x: dist.recv(x, 0)),
    }[how]
    try:
        ag.jit(sides[rank])(x)
    except dist.CollectiveError as error:
        return str(error), time.monotonic() - began


def outside():
    """What rank 1 gets of a group of rank 0 alone; rank 0 gets its own values."""
    group, x, found = dist.new_group([0]), ag.ones(3) * (1 + dist.rank()), []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for f in (dist.all_reduce, dist.broadcast):
            one = functools.partial(f, group=group)
            found += [one(x), ag.jit(one)(x), ag.vjp(one, x)[1](ag.ones(3))[0]]
        dist.barrier(group)
    found = [y.tolist() for y in found]
    refused = []
    for f in (dist.all_gather, dist.reduce_scatter, dist.all_to_all, dist.same_state,
              lambda x, group: dist.send(x, 0, group), lambda x, group: dist.recv(x, 0, group),
              lambda x, group: dist.new_group([0], group),
              lambda x, group: dist.KVStore(group=group),
              lambda x, group: dist.ShardedBatches([1], 1, group=group)):
        try:
            f(ag.nn.Linear(1, 1) if f is dist.same_state else x, group=group)
        except ValueError as error:
            refused.append(str(error))
    whole = dist.all_reduce(x).tolist()  # all do the same of the world
    numbers = bool(group), dist.rank(group), dist.world_size(group)
    return found, [str(w.message) for w in told], refused, whole, numbers


def raises():
    if dist.rank() == 1:
        raise KeyError("rank 1 has no such thing")
    dist.all_reduce(ag.ones(3))


def leaves():
    if dist.rank() == 1:
        return dist.shutdown()
    dist.all_reduce(ag.ones(3))


def late(timeout):
    """One process is late; the other waits for it in compiled code."""
    group = dist.init()
    group.timeout = timeout
    f = ag.jit(lambda x: dist.all_reduce(x))
    f(ag.ones(3))
    began = time.monotonic()
    if dist.rank() == 1:
        time.sleep(4 * timeout)
    try:
        f(ag.ones(3))
        return "", 0.0
    except dist.CollectiveError as error:
        return str(error), time.monotonic() - began


def killed(signal):
    f = ag.jit(lambda x: dist.all_reduce(x))
    f(ag.ones(3))
    if dist.rank() == 1:
        os.kill(os.getpid(), signal)
    try:
        for _ in range(1000):
            f(ag.ones(3))
    except dist.CollectiveError as error:
        return str(error)
