"""Settings: their checks, blocks, and the environment."""

import asyncio
import contextvars
import copy
import pickle
import threading

import pytest

import agnesi as ag
from agnesi.core.support.config import HOOKS, Config, config


@pytest.fixture
def environment(monkeypatch):
    for name in ("OMP_NUM_THREADS", "AGNESI_NUM_THREADS", "AGNESI_COMPILE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("openmp", "own", "threads"),
    [(None, None, 0), ("3", None, 3), ("4,2", None, 4), ("x", None, 0), ("3", "1", 1),
     ("3", "0", 0)],
)
def test_threads_come_from_the_environment(environment, openmp, own, threads):
    if openmp is not None:
        environment.setenv("OMP_NUM_THREADS", openmp)
    if own is not None:
        environment.setenv("AGNESI_NUM_THREADS", own)
    assert Config().threads == threads


@pytest.mark.parametrize(("text", "value"), [("0", False), ("off", False), ("1", True)])
def test_flags_come_from_the_environment(environment, text, value):
    environment.setenv("AGNESI_COMPILE", text)
    assert Config().compile is value


@pytest.mark.parametrize(("variable", "meant"), [
    ("AGNESI_THREADS", "did you mean AGNESI_NUM_THREADS?"), ("AGNESI_CACHEDIR", "AGNESI_CACHE_DIR"),
    ("AGNESI_FLOAT", "did you mean AGNESI_DEFAULT_FLOAT?"), ("AGNESI_XYZW", "there are AGNESI_ALG"),
])
def test_unknown_variables_are_named(environment, variable, meant):
    environment.setenv(variable, "1")
    with pytest.warns(UserWarning, match=f"variable {variable} sets nothing; ") as caught:
        Config()
    assert meant in str(caught[0].message) and caught[0].filename == __file__


def test_variables_that_are_known_do_not_warn(environment, recwarn):
    for name in ("AGNESI_SEED", "AGNESI_RANK", "AGNESI_EVERY_CASE", "OMP_THREADS"):
        environment.setenv(name, "1")
    assert Config().seed == 1
    assert not recwarn.list


@pytest.mark.parametrize(("variable", "text", "reason"), [
    ("AGNESI_NUM_THREADS", "many", "it must be an integer"),
    ("AGNESI_SEED", "-1", "config.seed must be an integer of at least 0"),
    ("AGNESI_TARGET", "gpu", "config.target must be one of"),
    ("AGNESI_COMPILE", "perhaps", "it must be 0 or 1"),
])
def test_wrong_variables_are_named(environment, variable, text, reason):
    environment.setenv(variable, text)
    with pytest.raises(ValueError, match=f"variable {variable} is '{text}': .*{reason}"):
        Config()


@pytest.mark.parametrize(
    "setting", [{"threads": -1}, {"threads": 1.5}, {"optimizer": "fast"},
                {"default_float": "int32"}]
)
def test_wrong_values_are_refused(setting):
    (name, value), = setting.items()
    before = getattr(config, name)
    with pytest.raises(ValueError, match=f"config.{name} must be"):
        setattr(config, name, value)
    assert getattr(config, name) == before


def test_unknown_settings_are_refused():
    with pytest.raises(AttributeError, match="no setting 'colour'"), config(colour="red"):
        pass


def test_a_block_ends_with_the_old_settings():
    before = config.default_float
    with pytest.raises(KeyError), config(default_float="float64"):
        assert config.float_dtype == "float64"
        raise KeyError
    assert config.default_float == before
    assert config.float_dtype == before


# -- threads and tasks ------------------------------------------------------------------------
def test_blocks_go_for_their_thread():
    wrong, ready = [], threading.Barrier(4)

    def work(name):
        ready.wait()
        for _ in range(200):
            with ag.config(default_float=name):
                found = config.default_float, config.float_dtype.name, ag.ones(2).dtype.name
            if found != (name, name, name) or config.default_float != "float32":
                wrong.append(found)

    names = ["float16", "float32", "float64", "float32"]
    _run([threading.Thread(target=work, args=(name,)) for name in names])
    assert wrong == []


def test_compiled_functions_follow_the_block_of_their_thread():
    f = ag.jit(lambda x: x * ag.ones(2))
    x = ag.ones(2, dtype="float16")
    kinds = {"float32", "float64"}
    for name in kinds:
        with ag.config(default_float=name):
            assert f(x).dtype.name == name
    found, ready = [], threading.Barrier(2)

    def work(name):
        ready.wait()
        with ag.config(default_float=name):
            found.append({(name, f(x).dtype.name) for _ in range(50)})

    _run([threading.Thread(target=work, args=(name,)) for name in kinds])
    assert set().union(*found) == {(name, name) for name in kinds}
    assert f(x).dtype.name == config.default_float


def test_one_thread_does_not_compile():
    f = ag.jit(lambda x: x * 2)
    x = ag.ones(2)
    f(x)
    entered, over, seen = threading.Event(), threading.Event(), []

    def plain():
        with ag.config(compile=False):
            seen.append(config.compiles)
            entered.set()
            over.wait()

    thread = threading.Thread(target=plain)
    thread.start()
    entered.wait()
    seen.append(config.compiles)
    f(x)
    over.set()
    thread.join()
    assert seen == [False, True]


def test_what_is_assigned_goes_for_all():
    seen = []
    config.conv_exclude = "fft"
    try:
        _run([threading.Thread(target=lambda: seen.append(config.conv_exclude))])
    finally:
        config.conv_exclude = ""
    assert seen == ["fft"]


def test_what_is_assigned_in_a_block_ends_with_it():
    with ag.config(conv_exclude="a"):
        config.conv_exclude = "b"
        assert config.conv_exclude == "b"
    assert config.conv_exclude == ""


def test_blocks_go_for_their_task():
    async def work(name, switch):
        seen = set()
        with ag.config(default_float=name), switch():
            for _ in range(5):
                await asyncio.sleep(0)
                seen.add((config.default_float, ag.is_grad_enabled()))
        return seen

    async def all_of_them():
        return await asyncio.gather(
            work("float64", ag.no_grad), work("float16", ag.enable_grad),
            work("float32", ag.no_grad))

    assert asyncio.run(all_of_them()) == [
        {("float64", False)}, {("float16", True)}, {("float32", False)}]
    assert ag.is_grad_enabled()


def test_tasks_go_on_with_the_settings_of_the_block_in_which_they_began():
    async def work():
        await asyncio.sleep(0)
        made = ag.zeros(1), ag.jit(lambda: ag.zeros(1))()
        return config.default_float, *(str(t.dtype) for t in made)

    async def begun():
        with ag.config(default_float="float64"):
            task = asyncio.create_task(work())
        assert ag.zeros(1).dtype == "float32"
        return await task

    assert asyncio.run(begun()) == ("float64",) * 3
    with ag.config(threads=1, default_float="float64"):
        context = contextvars.copy_context()
    assert context.run(lambda: ag.zeros(1).dtype) == "float64"
    del context
    assert config._float_dtype == "float32"  # what compiled calls compare


def test_threads_begin_with_gradients():
    with ag.no_grad():
        seen = []
        _run([threading.Thread(target=lambda: seen.append(ag.is_grad_enabled()))])
    assert seen == [True]


def test_a_block_that_begins_while_another_ends_has_its_settings(monkeypatch):
    ended, block, seen = ag.config(default_float="float32"), ag.config(default_float="float64"), []
    ready = threading.Event()

    def begun():
        with block:
            seen.append(ag.ones(1).dtype.name)
            ready.wait(5)
            seen.append(ag.ones(1).dtype.name)

    class Blocks(dict):
        """Settings of all blocks, beside which a thread begins one when they have been read."""

        def values(self):
            found = list(super().values())
            if threading.current_thread() is threading.main_thread() and not thread.ident:
                thread.start()
                thread.join(0.2)
            return found

    thread = threading.Thread(target=begun)
    ended.__enter__()
    monkeypatch.setitem(config.__dict__, "_blocks", Blocks(config._blocks))
    ended.__exit__(None, None, None)
    ready.set()
    thread.join()
    assert seen == ["float64", "float64"]


def test_blocks_of_threads_bound_the_pool_in_turn(monkeypatch):
    told = []
    monkeypatch.setattr(HOOKS, "threads", told.append)
    base = config.threads
    first, second = ag.config(threads=1), ag.config(threads=2)
    first.__enter__()
    _run([threading.Thread(target=second.__enter__)])
    first.__exit__(None, None, None)
    _run([threading.Thread(target=lambda: second.__exit__(None, None, None))])
    assert told == [1, 2, 2, base]


def test_settings_as_a_decorator():
    @ag.config(default_float="float64")
    def made():
        return ag.ones(1).dtype.name

    assert [made(), made(), ag.ones(1).dtype.name] == ["float64", "float64", "float32"]


def test_copies_of_the_settings_are_the_settings():
    assert copy.copy(config) is copy.deepcopy(config) is config
    assert pickle.loads(pickle.dumps(config)) is config


def _run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
