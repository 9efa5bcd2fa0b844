"""Whole checkpoints: all or nothing, whole after any kill, and trainings that go on bit by bit."""

import os
import signal
import sys

import numpy as np
import pytest

import agnesi as ag
from agnesi import nn, optim, saving
from agnesi.compiler import tapes
from agnesi.saving.checkpoints import live_state
from tests.saving import older_counts


class Training:
    """A model with dropout, its optimizer, a schedule and a step, eager or compiled."""

    def __init__(self, compiled=False, hidden=8, lr=0.05):
        self.generator = ag.random.default_rng(5)
        self.model = nn.Sequential(
            nn.Linear(4, hidden), nn.BatchNorm1d(hidden), nn.Tanh(), nn.Linear(hidden, 3)
        )
        self.optimizer = optim.AdamW(self.model.parameters(), lr=lr)
        self.schedule = optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 20)
        self.step = ag.jit(self.one) if compiled else self.one

    def one(self):
        x, noise = self.generator.normal(size=(6, 4)), self.generator.random((6, 4))
        self.optimizer.zero_grad()
        loss = (self.model(x * (noise > 0.3)) ** 2).mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, steps):
        for _ in range(steps):
            self.step()
            self.schedule.step()
        return self

    @property
    def parts(self):
        return {n: getattr(self, n) for n in ("generator", "model", "optimizer", "schedule")}

    def bits(self):
        return [
            np.asarray(getattr(v, "array", v)).tobytes()
            for part in self.parts.values()
            for v in live_state(part).values()
        ]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_training_goes_on_bit_by_bit(compiled, tmp_path):
    ag.set_num_threads(1)
    first = Training(compiled).run(3)
    saving.save_checkpoint(tmp_path / "c", **first.parts, step=3)
    first.run(4)
    ag.set_num_threads(2)
    second = Training(compiled).run(2)
    assert saving.load_checkpoint(tmp_path / "c", **second.parts) == {"step": 3}
    second.run(4)
    assert second.bits() == first.bits()


def test_eager_steps_change_to_compiled_code_as_in_another_process(tmp_path, monkeypatch):
    """How often eager work was wanted is counted anew at a checkpoint."""
    first, compiled = Training(), []
    for _ in range(2):
        saving.save_checkpoint(tmp_path / "c", **first.parts)
        for _ in range(400):
            first.step()
        compiled.append(len(tapes._found))
    second = Training()
    second.step()
    saving.load_checkpoint(tmp_path / "c", **second.parts)
    for _ in range(400):
        second.step()
    assert second.bits() == first.bits()
    assert min(compiled) > 0


@pytest.mark.parametrize("last", [20, 21])
def test_batches_of_several_sizes_go_on_bit_by_bit(tmp_path, last):
    """Which sizes change is found out anew at a checkpoint: code for one rounds differently."""
    def training():
        ag.manual_seed(0)
        net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 3))
        optimizer = optim.SGD(net.parameters(), lr=0.1)

        @ag.jit
        def step(x):
            optimizer.zero_grad()
            (net(x) ** 2).mean().backward()
            optimizer.step()

        return net, step

    def run(step, begin, end):
        for i in range(begin, end):
            rows = 17 if i % 7 == 6 else 32
            step(ag.tensor(np.random.default_rng(i).standard_normal((rows, 20), np.float32)))

    first, step = training()
    run(step, 0, last)
    saving.save_checkpoint(tmp_path / "c", net=first)
    run(step, last, 30)
    second, step = training()
    saving.load_checkpoint(tmp_path / "c", net=second)
    run(step, last, 30)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_data_comes_back_as_it_was(tmp_path):
    data = {
        "numbers": [1, 2.5, -0.0, float("inf"), 10**40, True, None, "é"],
        "nests": {"a": ({"b": []}, (1,)), 3: [{}], ("x", 1): "$tensor"},
        "odd": {"$tensor": 5},
        "many": {"a.b": 1, "a": {"b": 2}},
    }
    arrays = {"array": np.arange(3), "wide": np.array([1 + 2j, 3]), "number": np.float32(1.5)}
    tensor = ag.tensor([1.0, 2.0])
    saving.save_checkpoint(
        tmp_path / "c",
        **data,
        **arrays,
        nest={"array.0": tensor, "array": [tensor]},
        tensor=tensor,
        again=tensor,
    )
    found = saving.load_checkpoint(tmp_path / "c")
    assert {n: found[n] for n in data} == data
    assert str(found["numbers"]) == str(data["numbers"])
    for name, value in arrays.items():
        assert type(found[name]) is type(value) and (found[name] == value).all(), name
    assert isinstance(found["tensor"], ag.Tensor) and found["again"].tolist() == [1, 2]
    assert found["nest"]["array"][0].tolist() == found["nest"]["array.0"].tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"x\.0\.a is <function"):
        saving.save_checkpoint(tmp_path / "c", x=[{"a": test_data_comes_back_as_it_was}])
    assert saving.load_checkpoint(tmp_path / "c")["many"] == data["many"]


def test_states_that_grow_come_back(tmp_path):
    def problem():
        w = ag.tensor([3.0, -2.0], requires_grad=True)
        optimizer = optim.LBFGS([w], max_iter=2)

        def loss():
            optimizer.zero_grad()
            found = ((w - 1) ** 4).sum()
            found.backward()
            return found

        return nn.ParameterDict({"w": w}), optimizer, lambda: optimizer.step(loss)

    model, optimizer, step = problem()
    step()
    saving.save_checkpoint(tmp_path / "c", model=model, optimizer=optimizer)
    step()
    other, again, resumed = problem()
    saving.load_checkpoint(tmp_path / "c", model=other, optimizer=again)
    resumed()
    assert other["w"].tolist() == model["w"].tolist()


def refuse(self, state):
    raise ValueError("not this one")


class Refusing:
    """An object whose state cannot be loaded."""

    def state_dict(self):
        return {"a": 1}

    load_state_dict = refuse


def test_all_parts_load_or_none(tmp_path):
    first = Training().run(2)
    saving.save_checkpoint(tmp_path / "c", **first.parts, other=Refusing(), data=1)
    parts = {**Training().run(1).parts}
    cases = [
        ({**parts, "other": Refusing()}, ValueError, "not this one"),
        ({"other": Refusing(), **parts}, ValueError, "not this one"),
        (
            {**parts, "model": Training(hidden=9).model},
            ValueError,
            r"model: 0.weight is float32\[9, 4\]",
        ),
        (
            {**parts, "model": nn.Linear(4, 8)},
            KeyError,
            "checkpoint's model is not one of this object",
        ),
        (
            {**parts, "optimizer": optim.SGD(parts["model"].parameters(), lr=0.1)},
            KeyError,
            "'mean.0'",
        ),
        (
            {**parts, "optimizer": optim.AdamW(parts["model"].parameters(), amsgrad=True)},
            KeyError,
            "largest.0",
        ),
        (
            {**parts, "schedule": optim.lr_scheduler.StepLR(parts["optimizer"], 2)},
            KeyError,
            "step_size",
        ),
        ({**parts, "loader": Refusing()}, KeyError, r"no states of \['loader'\]"),
        ({**parts, "data": Refusing()}, KeyError, r"no states of \['data'\]"),
    ]

    def bits(parts):
        return [
            np.asarray(getattr(v, "array", v)).tobytes()
            for p in parts.values()
            if not isinstance(p, Refusing)
            for v in live_state(p).values()
        ]

    for mixed, error, told in cases:
        before = bits({**mixed, **parts})
        with pytest.raises(error, match=told):
            saving.load_checkpoint(tmp_path / "c", **mixed)
        assert bits({**mixed, **parts}) == before, told
    saving.load_checkpoint(tmp_path / "c", **parts)
    assert bits(parts) == bits(first.parts)


def test_every_flipped_bit_is_found(tmp_path):
    path = tmp_path / "c"
    weight = nn.ParameterDict({"w": ag.tensor([1.0, 2.0])})
    saving.save_checkpoint(path, model=weight, epoch=1)
    whole = path.read_bytes()
    weight["w"].array[:] = 5
    rng = np.random.default_rng(0)
    for at in [*range(len(whole)), *rng.integers(0, len(whole), 64)]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(saving.FileFormatError):
            saving.load_checkpoint(path, model=weight)
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        with pytest.raises(saving.FileFormatError):
            saving.load_checkpoint(path, model=weight)
    assert weight["w"].tolist() == [5, 5]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "tells no parts"),
        ("[]", "tells no parts"),
        ("{}", "tells no parts"),
        ('{"version":2,"parts":{}}', "version 2"),
        ('{"version":1,"parts":{"a":{}}}', "tells no parts"),
        ('{"version":1,"parts":{"a":{"state":false,"value":{"$tensor":"x"}}}}', "no tensor 'x'"),
        ('{"version":1,"parts":{"a":{"state":false,"value":{"$tensor":3}}}}', "names a tensor 3"),
        (
            '{"version":1,"parts":{"a":{"state":false,"value":{"$call":"os.system"}}}}',
            "unknown '\\$call'",
        ),
        ('{"version":1,"parts":{"a":{"state":false,"value":{"$items":[[[],1]]}}}}', "has a key"),
        ('{"version":1,"parts":{"a":{"state":false,"value":{"$tensor":["w"]}}}}', "no complex"),
        (
            '{"version":1,"parts":{"a":{"state":false,"value":' + "[" * 5000 + "]" * 5000 + "}}}",
            ".",
        ),
    ],
)
def test_hostile_descriptions_are_refused(text, told, tmp_path):
    saving.save_file({"w": ag.ones(2)}, tmp_path / "c", {"agnesi.checkpoint": text})
    with pytest.raises(saving.FileFormatError, match=told):
        saving.load_checkpoint(tmp_path / "c")
    saving.save_file({"w": ag.ones(2)}, tmp_path / "c")
    with pytest.raises(saving.FileFormatError, match="no checkpoint, but tensors only"):
        saving.load_checkpoint(tmp_path / "c")


def dying_at(event, job):
    """Do a job in a child that is killed (-9) at its n-th call of a C function; whether it was."""
    child = os.fork()
    if child == 0:
        left = [event]

        def watch(frame, kind, what):
            if kind == "c_call":
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(watch)
        try:
            job()
        finally:
            sys.setprofile(None)
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_kill_at_any_call_leaves_a_whole_checkpoint(tmp_path):
    keeper = saving.Checkpoints(tmp_path, keep=2)
    net = nn.ParameterDict({"w": ag.zeros(3)})
    keeper.save(1, model=net)
    keeper.save(2, model=net)
    net["w"].array[:] = 3
    event, ends = 0, set()
    while dying_at(event, lambda: keeper.save(3, model=net)):
        found = nn.ParameterDict({"w": ag.ones(3)})
        step = keeper.load(model=found)["step"]
        assert found["w"].tolist() == [3.0 if step == 3 else 0.0] * 3
        assert not list(tmp_path.glob(".*"))  # what the killed one left is removed
        ends.add(step)
        if step == 3:
            keeper.path(3).unlink()
            keeper.save(1, model=nn.ParameterDict({"w": ag.zeros(3)}))
        event += 17
    assert ends == {2, 3} and event > 60
    assert keeper.steps() == [2, 3]


def test_the_last_ones_are_kept_and_a_damaged_one_is_passed_over(tmp_path):
    keeper = saving.Checkpoints(tmp_path / "run", keep=2)
    with pytest.raises(FileNotFoundError, match="no checkpoint in"):
        keeper.load()
    generator = ag.random.default_rng(0)
    for step in (1, 2, 10):
        generator.random(1)
        path = keeper.save(step, generator=generator, note=f"step {step}")
    assert keeper.steps() == [2, 10] and path.name == "step-0000000010.safetensors"
    assert keeper.load(2) == {"step": 2, "note": "step 2"}
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="(?s)cut off.*earlier checkpoint is taken"):
        assert keeper.load(generator=generator)["step"] == 2
    with pytest.raises(saving.FileFormatError):
        keeper.load(10)
    keeper.path(2).write_bytes(b"")
    with pytest.warns(UserWarning), pytest.raises(saving.FileFormatError, match="fewer than"):
        keeper.load()
    assert saving.Checkpoints(tmp_path / "run", keep=None, name="other").steps() == []
    with pytest.raises(ValueError, match="at least 1"):
        saving.Checkpoints(tmp_path, keep=0)


def test_two_writers_of_a_folder_do_not_disturb_each_other(tmp_path):
    from agnesi.core.support.atomic import replacing

    with replacing(tmp_path / "a") as file:
        file.write(b"one")
        with replacing(tmp_path / "a") as other:
            other.write(b"two")
        assert (tmp_path / "a").read_bytes() == b"two"
    assert (tmp_path / "a").read_bytes() == b"one"
    with pytest.raises(RuntimeError), replacing(tmp_path / "a"):
        raise RuntimeError
    assert os.listdir(tmp_path) == ["a"]


def test_counters_that_all_parameters_of_a_group_shared_are_loaded():
    fresh, whole = older_counts.parts(), older_counts.advance(older_counts.parts(), 5)
    saving.load_checkpoint(older_counts.FILE, **fresh)
    older_counts.advance(fresh, 2)
    for name, part in fresh.items():
        if isinstance(part, nn.Module):
            for p, expected in zip(part.parameters(), whole[name].parameters(), strict=True):
                np.testing.assert_allclose(p.numpy(), expected.numpy(), rtol=1e-6)
