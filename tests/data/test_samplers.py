"""Samplers with generators of their own."""

import numpy as np

import agnesi as ag
from agnesi import data


def test_samplers_have_generators_for_loaders_without_one():
    rows = data.TensorDataset(np.arange(20))
    for make in (lambda g: data.RandomSampler(data_source=rows, generator=g),
                 lambda g: data.SubsetRandomSampler([3, 5, 7, 11, 13], generator=g),
                 lambda g: data.WeightedRandomSampler(np.ones(20), 8, generator=g)):
        once, again = ([int(n) for n in make(ag.random.Generator(3))] for _ in range(2))
        assert once == again
        loaders = [data.DataLoader(rows, 2, sampler=make(ag.random.Generator(5))) for _ in "ab"]
        first, second = ([x.tolist() for x, in loader] for loader in loaders)
        assert first == second
        going = iter(loaders[0])
        seen = [next(going)[0].tolist() for _ in range(2)]
        loaders[1].load_state_dict(loaders[0].state_dict())
        assert seen + [x.tolist() for x, in loaders[1]] == seen + [x.tolist() for x, in going]


def test_seeds_serve_as_generators():
    rows = data.TensorDataset(np.arange(20))
    for make in (lambda g: data.RandomSampler(rows, generator=g),
                 lambda g: data.SubsetRandomSampler([3, 5, 7, 11, 13], generator=g),
                 lambda g: data.WeightedRandomSampler(np.ones(20), 8, generator=g),
                 lambda g: data.random_split(rows, [0.5, 0.5], generator=g)[0].indices):
        assert [int(n) for n in make(3)] == [int(n) for n in make(ag.random.Generator(3))]
