"""Settings of Theano's programs from flags, files and assignments."""

from __future__ import annotations

import numpy as np
import pytest

import agnesi.compat.theano as theano
import agnesi.compat.theano.tensor as T
from agnesi.compat.theano.config import read_settings


def preset():
    x = T.vector("x")
    f = theano.function([x], T.exp(x) * 2)
    np.testing.assert_allclose(f(np.ones(2, x.dtype)), 2 * np.e, rtol=1e-6)
    return x.dtype, f._compiled.settings.preset


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    monkeypatch.setenv("THEANORC", str(tmp_path / "none"))
    monkeypatch.setenv("THEANO_FLAGS", "")
    with theano.config.change_flags({"scan.allow_gc": False}, floatX="float64", mode="Mode",
                                    optimizer="fast_run"):
        yield


@pytest.mark.parametrize(("flags", "wanted"), [
    ("", ("float64", "fast_run")),
    ("floatX=float32,optimizer=fast_compile,device=cpu", ("float32", "fast_compile")),
    ("mode=FAST_COMPILE, lib.cnmem=0.9,of_nobody=3", ("float64", "fast_compile")),
    ("optimizer=None", ("float64", "None")),
])
def test_flags_of_the_environment(monkeypatch, flags, wanted):
    monkeypatch.setenv("THEANO_FLAGS", flags)
    read_settings()
    assert preset() == wanted


def test_files_are_read_before_flags(monkeypatch, tmp_path):
    (tmp_path / "rc").write_text("[global]\nfloatX = float32\nmode = FAST_COMPILE\n"
                                 "[scan]\nallow_gc = True\n")
    monkeypatch.setenv("THEANORC", str(tmp_path / "rc"))
    read_settings()
    assert preset() == ("float32", "fast_compile") and theano.config.scan.allow_gc is True
    monkeypatch.setenv("THEANO_FLAGS", "floatX=float64")
    read_settings()
    assert preset() == ("float64", "fast_compile")


def test_flags_that_mean_nothing_are_refused(monkeypatch):
    monkeypatch.setenv("THEANO_FLAGS", "floatX=float80")
    with pytest.raises(ValueError, match="floatX must be one of"):
        read_settings()


def test_modes_without_optimizer_do_not_rewrite():
    x = T.vector("x")
    f = theano.function([x], T.exp(x), mode=theano.Mode(optimizer=None))
    assert f._compiled.settings.preset == "None"
