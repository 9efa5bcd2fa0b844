"""What a compilation leaves behind: nothing that waits for the collector of garbage."""

import gc

import numpy as np

import agnesi as ag
from agnesi.schedule.clustering.node_facts import NodeFacts


def test_the_facts_of_nodes_end_with_the_schedule():
    def step(x):
        for k in range(20):
            x = ag.concat([ag.tanh(x * k), (x - k).sum(0, keepdims=True)])
        return x, x @ ag.ones((len(x), 2)), ag.cumsum(x)

    gc.collect()
    gc.disable()
    try:
        with ag.config(cache=False):
            ag.jit(step)(ag.ones(5))
        assert not [thing for thing in gc.get_objects() if type(thing) is NodeFacts]
    finally:
        gc.enable()


def test_each_state_is_compared_once():
    ps = [ag.ones(3, requires_grad=True) for _ in range(4)]
    opt = ag.optim.Adam(ps, lr=0.1)

    @ag.jit
    def step():
        opt.zero_grad()
        loss = sum((p * p).sum() for p in ps)
        loss.backward()
        opt.step()
        return loss

    step()
    (version,) = step.versions.ready
    assert len({id(t) for t, *_ in version.state}) == len(version.state) >= 12


def test_state_that_becomes_read_only_behind_the_trace_is_still_read():
    x = ag.tensor(np.ones(3))
    f = ag.jit(lambda y: x + y)
    assert f(ag.ones(3)).tolist() == [2, 2, 2]
    x.add_(1)
    x.array.flags.writeable = False
    assert f(ag.ones(3)).tolist() == [3, 3, 3] and f(ag.ones((2, 3))).tolist() == [[3] * 3] * 2
