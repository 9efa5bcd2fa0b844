"""The same training in one process and in two."""

import numpy as np

import agnesi as ag
from agnesi import distributed as dist

nn = ag.nn


def net(kind):
    ag.manual_seed(7)
    if kind == "conv":
        return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(),
                             nn.Linear(12, 2))
    if kind == "norm":
        return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def batches(kind, sizes):
    rng = np.random.default_rng(3)
    shape = (2, 4, 4) if kind == "conv" else (5,)
    return [(ag.tensor(rng.standard_normal((n, *shape)).astype("float32")),
             ag.tensor(rng.standard_normal((n, 2)).astype("float32"))) for n in sizes]


def optimizer(name, model):
    return {"sgd": lambda: ag.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
            "adam": lambda: ag.optim.Adam(model.parameters(), lr=0.01)}[name]()


def train(kind, name, sizes, compiled, clip=False, accumulate=1, **options):
    """Weights and running statistics after some steps, and the losses, of the whole batches."""
    model = net(kind)
    opt = optimizer(name, model)
    if dist.rank() == 1:  # weights begin as those of rank 0
        with ag.no_grad():
            model.parameters().__next__().mul_(3.0)
    elif kind == "conv":  # its memory has another order of axes than in rank 1
        filters = model[0].weight.numpy().transpose(2, 3, 1, 0).copy().transpose(3, 2, 0, 1)
        model[0].weight.array = filters
    parallel = dist.data_parallel(model, opt, **options)

    def backward(x, y):
        x, y = parallel.split(x, y)
        loss = ((model(x) - y) ** 2).sum(axis=1).mean() / accumulate
        loss.backward()
        return parallel.mean(loss)

    def step(*pairs):
        opt.zero_grad()
        losses = [backward(x, y) for x, y in pairs]
        if clip:
            parallel.reduce()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        return sum(losses)

    run = ag.jit(step) if compiled else step
    data = batches(kind, sizes)
    losses = []
    for i in range(0, len(data), accumulate):
        pairs = data[i: i + accumulate]
        losses.append(float(run(*pairs)))
    parallel.close()
    return losses, {k: v.numpy() for k, v in model.state_dict().items()}


def other_model():
    """Models of other shapes, of other lengths, and other parameters of a centre."""
    rank, found = dist.rank(), []
    longer = nn.Sequential(*[nn.Linear(2, 2) for _ in range(2 + rank)])
    wide = nn.Linear(3 + rank, 1)
    for make in (lambda: dist.data_parallel(wide, ag.optim.SGD(wide.parameters(), lr=0.1)),
                 lambda: dist.data_parallel(longer, ag.optim.SGD(longer.parameters(), lr=0.1)),
                 lambda: dist.Zero(longer, lambda ps: ag.optim.SGD(ps, lr=0.1)),
                 lambda: dist.Central(longer, dist.ASGD())):
        try:
            make()
        except dist.CollectiveError as error:
            found.append(str(error))
    return found


def decorated(compiled):
    """A step that knows nothing of other processes."""
    model = net("mlp")
    opt = optimizer("sgd", model)

    @dist.data_parallel(model, opt)
    def step(x, y):
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).sum(axis=1).mean()
        loss.backward()
        opt.step()
        return loss

    run = ag.jit(step) if compiled else step
    losses = [float(run(x, y)) for x, y in batches("mlp", [6, 5, 1, 6])]
    return losses, {k: v.numpy() for k, v in model.state_dict().items()}


def shards():
    """Each process reads examples of its own, and says how many."""
    model = net("mlp")
    opt = optimizer("sgd", model)
    parallel = dist.data_parallel(model, opt)
    (x, y), = batches("mlp", [7])
    x, y = (x[:5], y[:5]) if dist.rank() == 0 else (x[5:], y[5:])
    parallel.count(len(x))
    ((model(x) - y) ** 2).sum(axis=1).mean().backward()
    opt.step()
    parallel.close()
    return {k: v.numpy() for k, v in model.state_dict().items()}


def narrow(dtype, compiled):
    """A parameter of halves or complex numbers after a step, and the gradient of a gathered one."""
    class Square(ag.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = ag.nn.Parameter(ag.tensor(np.array([1, 2]).astype(dtype)))

        def forward(self, x):
            return (abs(self.w) ** 2 * x).mean()

    net = Square()
    opt = ag.optim.SGD(net.parameters(), lr=0.25)
    parallel = dist.data_parallel(net, opt)

    def step(x):
        loss = net(parallel.split(x))
        loss.backward()
        opt.step()
        return ag.grad(lambda w: (abs(dist.all_gather(w)) ** 2).sum())(net.w)

    x = ag.ones((4, 2), dtype="float16" if dtype == "float16" else "float32")
    return [y.numpy() for y in ((ag.jit(step) if compiled else step)(x), net.w)]
