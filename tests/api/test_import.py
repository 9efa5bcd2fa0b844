"""What `import agnesi` brings along, and how long it takes."""

import re
import subprocess
import sys
from pathlib import Path

_LOADED = """
import sys
import numpy
before = set(sys.modules)
import agnesi
print(*sorted({m.partition(".")[0] for m in set(sys.modules) - before}))
"""


def _run(code: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"],
        capture_output=True, text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_nothing_heavy_is_imported():
    loaded = set(_run(_LOADED).split())
    assert "agnesi" in loaded
    assert not loaded & {"llvmlite", "scipy", "ctypes", "asyncio", "multiprocessing", "statistics"}


def test_what_a_first_eager_program_does_not_need_is_loaded_later():
    """Each module takes a fifth of a millisecond; what parameters take is read when it is asked."""
    _run("""
import numpy as np
import agnesi as ag
from agnesi.core import options
loaded = {m for m in sys.modules if m.startswith("agnesi.")}
assert len(loaded) < 150, len(loaded)
for away in ("api.control", "autodiff.vmap", "compiler.tracing", "ops.convolution", "ops.signal"):
    assert not any(m.startswith(f"agnesi.{away}") for m in loaded), away
assert options.declared.cache_info().currsize < 5
w = ag.tensor(np.ones((4, 4), np.float32), requires_grad=True)
y = (ag.ones((4, 4)) @ w).tanh()
(ag.where(y > 0, y, 0).sum(axis=0) + y[0].mean()).reshape(2, 2).sum().backward()
assert w.grad.shape == (4, 4)
assert ag.tensor([[1, 2], [3, 4]]).shape == (2, 2)
assert "numpy.ma" not in sys.modules
assert {m for m in sys.modules if m.startswith("agnesi.")} == loaded
""")


def test_rooms_load_at_first_use():
    code = "import agnesi, sys; assert 'agnesi.nn' not in sys.modules; agnesi.nn; agnesi.symbolic"
    _run(code)


def test_every_late_name_is_there():
    import agnesi

    assert [n for n in agnesi._LATE if getattr(agnesi, n, None) is None] == []
    assert set(agnesi._LATE) <= set(dir(agnesi))


def test_the_version_is_the_packages():
    import agnesi

    root = Path(__file__).parents[2]
    for file in ("pyproject.toml", "CITATION.cff"):
        found = re.search(r'^version *[:=] *"?([0-9.]+)', (root / file).read_text(), re.MULTILINE)
        assert found is not None and agnesi.__version__ == found[1]


def test_namespaces_stand_in_import_statements():
    """As NumPy's and JAX's do: ``from agnesi.linalg import solve``, whatever is loaded first."""
    import agnesi

    names = [n for n, module in agnesi._LATE.items() if module == f"agnesi.api.{n}"]
    assert {"fft", "linalg", "random", "special", "symbolic"} <= set(names)
    _run("".join(
        f"import agnesi.{n} as a; import agnesi.api.{n} as b; from agnesi import {n} as c\n"
        f"assert a is b is c is sys.modules['agnesi.{n}'], (a, b, c)\n" for n in names
    ))
    _run("import agnesi; kept = agnesi.fft\nfrom agnesi.fft import rfft; assert kept.rfft is rfft")


def test_methods_that_are_loaded_late_are_not_loaded_by_the_import():
    late = {f"agnesi.{n}" for n in ("api.torch.methods", "ops.sparse.coordinates", "ops.sorting")}
    _run(f"import sys, agnesi; assert not {late} & set(sys.modules)")


def test_everything_is_imported_by_a_star():
    _run("""
from agnesi import *
assert [callable(f) for f in (jit, grad, einsum, conv2d, scan, median, erf)] == [True] * 7
assert print.__module__ == "builtins" and "Any" not in globals()
from agnesi.symbolic import *
assert vector("x").ndim == 1 and arange(3).shape == concat([tile(1, 3)]).shape
assert "Any" not in globals()
""")


def test_what_a_hook_needs_is_loaded_by_its_first_use():
    """A list of tensors as the first operand of a process: who stacks it was loaded by others."""
    _run("""
import agnesi as ag
from agnesi.core.support.config import HOOKS, Hooks
idle = {n for n in vars(Hooks) if n[0] != "_"} - vars(HOOKS).keys()
assert idle == {"in_order", "constants", "recounts", "behind_effects", "stream", "threads",
                "lock", "traced_number"}, idle  # which the first trace sets
x = ag.ones((3, 4))
assert ag.abs([x, x]).shape == (2, 3, 4)
""")
