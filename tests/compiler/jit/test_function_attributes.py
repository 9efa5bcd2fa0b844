"""Attributes of a jitted function are those of the function, whose code may read and set them."""

import copy
import pickle

import pytest

import agnesi as ag


@ag.jit
def counted(x):
    counted.calls += 1
    counted.seen.append(x.shape[0])
    counted.last = x.sum()
    return x * counted.calls


counted.calls, counted.seen = 0, []


def test_state_kept_in_attributes_is_followed():
    counted.calls, counted.seen = 0, []
    for n in (1, 2, 2, 3):
        calls = counted.calls + 1
        assert counted(ag.ones(n)).tolist() == [calls] * n
        assert (counted.calls, counted.last.item()) == (calls, n)
    assert counted.seen == [1, 2, 2, 3] == counted.function.seen
    counted.calls = 10
    assert counted(ag.ones(1)).item() == 11 == counted.function.calls


def test_of_one_jitted_function_in_another():
    counted.calls = 0
    outer = ag.jit(lambda x: counted(x) + counted.calls)
    assert [outer(ag.ones(1)).item() for _ in range(3)] == [2, 4, 6]


def test_memories_in_attributes():
    @ag.jit
    def masked(x):
        if x.shape not in masked.memory:
            masked.memory[x.shape] = ag.ones(x.shape) * 2
        return x * masked.memory[x.shape]

    masked.memory = {}
    for n in (1, 2, 1, 2):
        assert masked(ag.ones(n)).tolist() == [2] * n
    assert list(masked.memory) == [(1,), (2,)]
    masked.memory = {(1,): ag.zeros(1)}
    assert masked(ag.ones(1)).item() == 0


def test_modules_share_theirs():
    model = ag.nn.Linear(2, 1)
    model.note = "a"
    jitted = ag.jit(model)
    model.note = "b"
    assert jitted.note == "b"
    jitted.note = "c"
    assert model.note == "c"


def test_they_are_deleted_and_missed():
    f = ag.jit(lambda x: x + 1)
    f.extra = 1
    del f.extra
    for missing in (lambda: f.extra, lambda: f.function.extra):
        with pytest.raises(AttributeError, match="extra"):
            missing()
    with pytest.raises(AttributeError):
        del f.extra
    f.keep_grads, f.mode = f.keep_grads, f.mode
    assert "mode" not in vars(f.function)
    assert copy.copy(counted)(ag.ones(1)).item() == counted.calls
    assert pickle.loads(pickle.dumps(counted)) is counted
