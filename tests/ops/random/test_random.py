"""Random numbers: known answers, lowering, streams, moments."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi.core.dispatch import apply
from agnesi.ops.random import random
from agnesi.ops.random.generators import Generator
from agnesi.ops.random.noise import _CHUNK_BLOCKS, Noise
from agnesi.ops.random.philox import CHUNK, Advance, RandomBits, philox

ONES = 0xFFFFFFFF
#: From the known-answer vectors of Random123 for philox4x32-10: key, counter, result.
KNOWN = [
    ((0, 0), (0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES), (ONES,) * 4, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0xA4093822, 0x299F31D0),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_known_answers(case):
    key, counter, expected = case
    assert tuple(int(w) for w in philox(key, counter)) == expected


@pytest.mark.parametrize("n", [0, 1, 4, 7, 8, 21])
@pytest.mark.parametrize("count", [(0, 0), (ONES - 1, 0), (ONES, ONES)])
def test_lowering_is_the_same_bit_for_bit(n, count, lowered):
    state = np.array([1, 2, *count], np.uint32)
    for op in (RandomBits(n), Advance(n)):
        np.testing.assert_array_equal(lowered(op, state), op.perform(state))


def test_words_follow_the_documented_layout():
    state = np.array([3, 4, 5, 0], np.uint32)
    words = RandomBits(10).perform(state)
    for i, word in enumerate(words):
        block, place = i % 3, i // 3
        assert word == philox((3, 4), (5 + block, 0, 0, 0))[place]


def test_long_draws_are_those_of_short_ones():
    state = np.array([3, 4, ONES - 9, 0], np.uint32)
    n = 4 * CHUNK + 40
    words = RandomBits(n).perform(state)
    assert words[CHUNK + 5] == philox((3, 4), (CHUNK + 5 - 10, 1, 0, 0))[0]


def test_streams_repeat_go_on_and_do_not_overlap():
    a = Generator(7)
    first, second = random.uniform(6, generator=a), random.uniform(6, generator=a)
    assert not (first == second).any()
    saved = a.state_dict()
    third = random.normal(5, generator=a)
    a.load_state_dict(saved)
    assert (random.normal(5, generator=a) == third).all()
    again = random.uniform(6, generator=Generator(7))
    assert (again == first).all()
    assert not (random.uniform(6, generator=Generator(8)) == first).any()
    ag.manual_seed(3)
    one = random.uniform(4)
    ag.manual_seed(3)
    assert (random.uniform(4) == one).all()
    with pytest.raises(ValueError, match="state_dict"):
        a.load_state_dict({"state": np.zeros(3)})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_moments(dtype):
    g, n = Generator(0), 20000
    draws = {
        "uniform": (random.uniform(n, 2, 4, dtype=dtype, generator=g), 3, 1 / 3),
        "normal": (random.normal(n, 1, 2, dtype=dtype, generator=g), 1, 4),
        "exponential": (random.exponential(n, 3, dtype=dtype, generator=g), 3, 9),
        "gumbel": (random.gumbel(n, dtype=dtype, generator=g), 0.5772, 1.645),
    }
    for name, (x, mean, variance) in draws.items():
        values = x.numpy().astype("float64")
        assert x.dtype == dtype, name
        assert np.isfinite(values).all(), name
        assert abs(values.mean() - mean) < 5 * np.sqrt(variance / n), name
        assert abs(values.var() / variance - 1) < 0.1, name
    u = draws["uniform"][0].numpy()
    assert u.min() >= 2
    assert u.max() <= 4


def test_normal_has_the_right_tails():
    x = random.normal(100_000, generator=Generator(1)).numpy()
    for bound, share in ((1, 0.31731), (2, 0.0455), (3, 0.0027)):
        assert abs((np.abs(x) > bound).mean() - share) < 5 * np.sqrt(share / x.size)


def test_integers_bernoulli_and_dropout():
    g = Generator(0)
    x = random.randint(-3, 5, (100, 50), generator=g)
    assert x.dtype == "int64"
    assert np.abs(np.bincount(x.numpy().ravel() + 3, minlength=8) - 625).max() < 150
    assert random.randint(0, 2**32 - 1, 4, dtype="uint32", generator=g).dtype == "uint32"
    b = random.bernoulli(ag.full((5000,), 0.3), generator=g)
    assert b.dtype == "float32"
    assert abs(float(b.mean()) - 0.3) < 0.04
    mask = random.dropout_mask((40, 100), 0.75, generator=g)
    assert set(mask.numpy().ravel()) == {0, 4}
    assert abs(float(mask.mean()) - 1) < 0.15
    assert random.dropout_mask(4, 1.0, generator=g).tolist() == [0] * 4


def test_order_and_choice():
    g = Generator(0)
    assert sorted(random.permutation(50, generator=g).tolist()) == list(range(50))
    rows = random.permutation(ag.reshape(ag.arange(6), (3, 2)), generator=g)
    assert sorted(rows.tolist()) == [[0, 1], [2, 3], [4, 5]]
    assert len(set(random.choice(20, 20, replace=False, generator=g).tolist())) == 20
    drawn = random.choice(3, 3000, p=[0.2, 0.0, 0.8], generator=g).numpy()
    assert np.abs(np.bincount(drawn) / 3000 - [0.2, 0, 0.8]).max() < 0.05
    assert set(random.choice(ag.tensor([5, 9]), 40, generator=g).tolist()) == {5, 9}


def test_gradients_flow_to_the_parameters_of_a_distribution():
    mean, std = (ag.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    x = random.normal(50, mean, std, generator=Generator(0))
    x.sum().backward()
    assert mean.grad.item() == 50
    noise = random.normal(50, generator=Generator(0))
    np.testing.assert_allclose(std.grad.numpy(), noise.numpy().sum(), rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: random.uniform(2, dtype="int32"), TypeError, "float dtype"),
        (lambda: random.randint(3, 3), ValueError, "[3, 3)"),
        (lambda: random.choice(3, 4, replace=False), ValueError, "4 different numbers"),
        (lambda: random.choice(3, p=[0.5, 0.5]), ValueError, "each of 3"),
        (lambda: random.permutation(ag.tensor(3)), ValueError, "no axis"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)
    assert "test_random.py" in str(caught.value)


def test_a_generator_that_a_trace_makes_goes_on_from_call_to_call():
    made = []

    @ag.jit
    def draw():
        if not made:
            made.append(Generator(3))
        return ag.random.uniform(size=4, generator=made[0])

    first, second = draw().tolist(), draw().tolist()
    again = Generator(3)
    assert first == ag.random.uniform(size=4, generator=again).tolist()
    assert second == ag.random.uniform(size=4, generator=again).tolist()


@pytest.mark.parametrize("kind", ["unit", "open", "exponential", "normal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 3, 4, 13])
def test_lowering_of_noise(kind, dtype, n, lowered):
    op = Noise(kind, n, np.dtype(dtype))
    state = np.array([1, 2, ONES - 1, 7], np.uint32)
    tolerance = 0 if kind in ("unit", "open") else 1e-6
    np.testing.assert_allclose(lowered(op, state), op.perform(state), rtol=tolerance)


def test_noise_follows_the_documented_layout():
    state = np.array([3, 4, 5, 0], np.uint32)
    whole = Noise("unit", 11, np.dtype("float32")).perform(state)
    for i, number in enumerate(whole):
        block, place = (i % 2, i // 2) if i < 8 else (2, i - 8)
        assert number == (philox((3, 4), (5 + block, 0, 0, 0))[place] >> 8) * np.float32(2.0**-24)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["unit", "normal"])
def test_noise_is_the_same_in_pieces_at_once_and_compiled(kind, dtype):
    n = 4 * _CHUNK_BLOCKS + 4001
    op = Noise(kind, n, np.dtype(dtype))
    state = np.array([3, 4, ONES - 20, 0], np.uint32)
    pieces = op.perform(state)
    at_once = ag.jit(lambda s: apply(op, s))(ag.tensor(state)).numpy()
    np.testing.assert_array_equal(pieces, at_once)
    with ag.config(compile=False):
        numpy = op.perform(state)
    np.testing.assert_allclose(pieces, numpy, rtol=2e-5 if dtype == "float32" else 1e-12,
                               atol=1e-6 if dtype == "float32" else 1e-14)


def test_large_eager_draws_stay_the_same_however_they_are_made():
    first = random.uniform(3_000_000, generator=Generator(1)).numpy()
    for _ in range(30):  # until there is code for the whole of it
        again = random.uniform(3_000_000, generator=Generator(1)).numpy()
    np.testing.assert_array_equal(first, again)


def test_small_floats_are_below_1():
    for dtype in ("float16", ag.bfloat16):
        x = random.uniform(200_000, dtype=dtype, generator=Generator(0))
        assert x.dtype == dtype
        assert float(x.max()) < 1


def test_draws_do_not_depend_on_the_number_of_threads():
    found = []
    before = ag.get_num_threads()
    try:
        for threads in (1, 2):
            ag.set_num_threads(threads)
            g = Generator(5)
            normal, gamma = ag.jit(lambda g=g: (
                random.normal(1_000_003, generator=g),
                ag.random.standard_gamma(2.0, 200_003, generator=g),
            ))()
            found.append((normal.numpy(), gamma.numpy()))
    finally:
        ag.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_copies_of_generators_go_on_by_themselves():
    g = Generator(3)
    random.normal(3, generator=g)
    others = pickle.loads(pickle.dumps(g)), copy.deepcopy(g)
    expected = random.normal(4, generator=g).tolist()
    for other in others:
        assert random.normal(4, generator=other).tolist() == expected


def test_the_environment_may_give_the_seed():
    program = (
        "import agnesi as ag; m = ag.nn.Dropout(0.5); print(m(ag.ones(40)).tolist(), "
        "ag.random.uniform(size=2).tolist())"
    )

    def run(seed):
        environment = {**os.environ, "AGNESI_SEED": seed}
        return subprocess.run([sys.executable, "-c", program], env=environment, check=True,
                              capture_output=True, text=True).stdout

    first = run("7")
    assert first == run("7")
    assert first != run("8")
