"""The native module: valid on every platform, and careful about what it relies on."""

import os
import subprocess
import sys

import llvmlite.binding as llvm
import numpy as np
import pytest

from agnesi.core.support import host
from agnesi.runtime import support


@pytest.mark.parametrize(
    ("system", "kind"),
    [("linux", "x86_64"), ("linux", "aarch64"), ("linux", "riscv64"), ("darwin", "arm64"),
     ("win32", "AMD64")],
)  # fmt: skip
def test_source_is_valid_everywhere(monkeypatch, system, kind):
    monkeypatch.setattr(host, "ARCHITECTURE", kind)
    monkeypatch.setattr(host, "SYSTEM", system)
    text = support.source()
    assert ("@syscall" in text) == (system == "linux" and kind != "riscv64")
    module = llvm.parse_assembly(text, llvm.create_context())
    module.verify()
    names = {f.name for f in module.functions if not f.is_declaration}
    assert {"entry", "empty", "parallel_for", "pool_alloc", "wait", "wake", "spawn"} <= names


def test_unknown_layouts_are_refused(monkeypatch):
    assert support._layouts_agree()
    monkeypatch.setattr(support, "_layouts_agree", lambda: False)
    with pytest.raises(RuntimeError, match=f"NumPy \\({np.__version__}\\) lays out"):
        support.native.__wrapped__()


def test_unsupported_interpreters_are_refused(monkeypatch):
    monkeypatch.setattr(support, "SUPPORTED", False)
    with pytest.raises(RuntimeError, match="CPython with the GIL"):
        support.native.__wrapped__()


_FORK = """
import os, signal
from agnesi.runtime import support
support.ahead()
pid = os.fork()
if not pid:
    signal.alarm(50)
    support.native()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
assert not status, status
support.native()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_waits_for_code_that_is_being_made(tmp_path):
    env = {**os.environ, "AGNESI_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", _FORK], env=env, capture_output=True, text=True,
                          check=False)
    assert not done.returncode, done.stderr


def test_a_sort_is_the_first_native_code_of_a_process():
    """What it calls of the native module is there, though no program was compiled."""
    code = (f"import sys, numpy as np; sys.path[:] = {sys.path!r}; import agnesi as ag\n"
            "x = np.random.default_rng(0).random(1_100_000)\n"
            "assert (ag.sort(ag.tensor(x)).numpy() == np.sort(x)).all()\n"
            "assert 'agnesi.runtime.support' in sys.modules")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
