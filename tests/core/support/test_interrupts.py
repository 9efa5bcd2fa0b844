"""An interrupt at any line leaves nothing switched: gradients, traces, settings, intervals."""

import gc
import os
import subprocess
import sys
import threading

import pytest

import agnesi as ag
from agnesi import nn, optim
from agnesi.compiler import regions
from agnesi.compiler.tracing import hooks
from agnesi.core.support import gc_pause
from agnesi.core.support.config import MODE, TRACES, WITNESSES, Mode, config
from tests.share import share
from tests.strikes import Striking

ROOT = os.path.dirname(ag.__file__)
#: Files whose lines switch something, and undo it.
SWITCHES = tuple(os.path.join(ROOT, *name.split("/")) for name in (
    "core/support/config.py", "core/support/undo.py", "core/support/tracing.py",
    "core/support/gc_pause.py", "runtime/llvm.py",
    "compiler/tracing/reads.py", "compiler/tracing/hooks.py", "compiler/tracing/trace.py",
    "compiler/specialization/specialization.py",
    "compiler/jit.py", "autodiff/recording.py", "autodiff/reverse.py", "autodiff/checkpoint.py",
    "autodiff/bodies.py", "autodiff/transforms.py", "autodiff/vmap.py", "api/control/traced.py"))


def _switched():
    """What an interrupt might leave behind."""
    for thread in threading.enumerate():
        if thread.name == "agnesi-llvm":
            thread.join()  # it generates code at its own pace
    mode = MODE.get()
    return {
        **{name: getattr(mode, name) for name in Mode.__slots__},
        "settings": repr(config), "float": config._float_dtype, "compiles": config._compiles,
        "witnesses": WITNESSES.running, "traces": TRACES.running, "hooks": len(hooks._HOOKED),
        "interval": sys.getswitchinterval(), "collector": gc.isenabled(),
        "stopped": len(gc_pause._blocks), "waiting": regions._WITHIN.get(),
    }


def _eager_step():
    layer = nn.Linear(3, 2)
    optimizer = optim.Adam(layer.parameters(), lr=0.1)

    def step():
        with ag.config(default_float="float64"):
            optimizer.zero_grad()
            (layer(ag.ones((4, 3), dtype="float32")) ** 2).mean().backward()
            with ag.no_grad():
                optimizer.step()
                with ag.enable_grad():
                    _ = ag.grad(lambda x: (x * x).sum())(layer.weight)
        ag.vmap(lambda x: x * 2)(ag.ones(3))

    return step


def _checkpointed():
    w, state = ag.ones(3, requires_grad=True), ag.zeros(3)

    def body(x):
        with ag.no_grad():
            state.add_(1.0)
        return (x * w + state).tanh()

    def step():
        ag.checkpoint(body, ag.ones(3)).sum().backward()
        ag.scan(lambda s, x: (s + x * w, s), ag.zeros(3), ag.ones((2, 3)))

    return step


def _compiling():
    layer = nn.Linear(3, 2)

    def step():
        def loss(x):
            y = (layer(x) ** 2).mean()
            y.backward()
            return ag.fori_loop(0, 3, lambda i, s: s + y, y)

        layer.zero_grad()
        with ag.config(cache=False, conv_exclude=str(len(MADE))):
            MADE.append(ag.jit(loss))
            MADE[-1](ag.ones((4, 3)))

    return step


MADE = []


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("make", "files", "each"), [(_eager_step, SWITCHES, 1), (_checkpointed, SWITCHES, 1),
                                (_compiling, SWITCHES[:6], 4)],
    ids=["eager step", "checkpoint", "compilation"])
def test_an_interrupt_at_any_line_leaves_nothing_switched(make, files, each):
    step = make()
    step()
    before = _switched()
    with Striking(files) as lines:
        step()
    assert _switched() == before
    assert len(lines.seen) > 40
    interrupted, places = 0, share(list(lines.seen)[::each], 3, make.__name__)
    for place in places:
        try:
            with Striking(files, place):
                step()
        except KeyboardInterrupt:
            interrupted += 1
        assert _switched() == before, place
    assert interrupted > 0.9 * len(places)
    step()


@pytest.mark.parametrize("after", [3, 40, 90])
def test_an_import_that_was_interrupted_is_made_again(after):
    """The package is gone then, and most modules in it are loaded already."""
    code = f"""
import sys

class Stopping:
    left = {after}

    def find_spec(self, name, *rest):
        self.left -= name.startswith("agnesi.")
        if not self.left:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stopping())
try:
    import agnesi
except KeyboardInterrupt:
    assert "agnesi" not in sys.modules
else:
    raise AssertionError("there are fewer modules")
sys.meta_path.pop(0)
import agnesi as ag
assert not ag.jit(lambda x: ag.nn.functional.relu(x) + ag.special.erf(x))(ag.zeros(2)).any()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def _no_gradient():
    ag.no_grad(lambda: ag.ones(2) * 2)()


def _backward():
    w = ag.ones(3, requires_grad=True)
    (w * ag.ones(3)).sum().backward()


def _region():
    double = regions.Regions(lambda x: x * 2, wanted=True)
    double((ag.ones(3, requires_grad=True),), {})


def _waiting_region():
    product = regions.Regions(lambda x, y: (x @ y).tanh())
    for _ in range(regions.BEFORE + 1):
        product((ag.ones((64, 64)), ag.ones((64, 64))), {})


@pytest.mark.parametrize(("file", "line", "run"), [
    ("autodiff/recording.py", "MODE.set(mode)", _no_gradient),
    ("autodiff/reverse.py", "MODE.set(mode)", _backward),
    ("compiler/regions.py", "MODE.set(mode)", _region),
    ("compiler/regions.py", "_WITHIN.set(False)", _waiting_region)])
def test_an_interrupt_before_the_mode_is_restored(file, line, run):
    path = os.path.join(ROOT, *file.split("/"))
    with open(path) as text:
        lines = [i for i, found in enumerate(text, 1) if found.strip() == line]
    before, reached = _switched(), 0
    for _ in range(5):
        with Striking((path,), (path, lines[0])):
            try:
                run()
            except KeyboardInterrupt:
                reached += 1
        assert _switched() == before
    assert reached
