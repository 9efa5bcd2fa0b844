"""What the handler of a signal raises ends the call, at whatever line of ours it comes."""

import functools
import os
import random
import signal
import sys

import pytest

import agnesi as ag
from agnesi.core.support.signal_errors import ignored, is_from_signal
from tests.share import share
from tests.strikes import Striking

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
ROOT = os.path.dirname(ag.__file__)


def _signal():
    signal.raise_signal(signal.SIGUSR1)


def _compiled():
    """Trace, compile and run a new function."""
    _compiled.calls += 1
    factor = 1 + _compiled.calls / 1000

    def f(x):
        y = ag.softmax(x @ x, axis=1).sum(0) * factor
        return ag.fori_loop(0, 3, lambda i, s: s + y, y)

    with ag.config(cache=False):
        ag.jit(ag.grad(lambda x: f(x).sum()))(ag.ones((4, 4)))


_compiled.calls = 0


@pytest.mark.share(3)
def test_a_time_limit_ends_a_call_at_any_line():
    def handler(number, frame):
        raise TimeoutError

    _compiled()
    with Striking(ROOT) as lines:
        _compiled()
    assert len(lines.seen) > 5000
    places = random.Random(0).sample(list(lines.seen), 60)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        for place in share(places, 3):
            with Striking(ROOT, place, _signal) as lines:
                try:
                    _compiled()
                except TimeoutError:
                    continue
            assert place not in lines.seen, place  # where it depends on what was compiled before
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_handlers_of_all_kinds_are_known():
    def stop(text, number, frame):
        raise OSError(text)

    class Stopping:
        def __call__(self, number, frame):
            raise OSError

        def stop(self, number, frame):
            raise OSError

    for handler in (functools.partial(stop, "late"), Stopping(), Stopping().stop):
        before = signal.signal(signal.SIGUSR1, handler)
        try:
            with pytest.raises(OSError), ignored(OSError):
                signal.raise_signal(signal.SIGUSR1)
            with ignored(OSError):
                os.stat("no such file")
            assert not is_from_signal(OSError())
        finally:
            signal.signal(signal.SIGUSR1, before)
