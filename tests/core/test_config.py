"""Settings: their checks, blocks, and the environment."""

import pytest

from agnesi.core.config import Config, config


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
