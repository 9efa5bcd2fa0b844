"""A process forked while other threads compile: the child compiles, too, and does not hang.

``AGNESI_FORKS=200 pytest tests/runtime/test_forks.py`` makes so many.
"""

import os
import subprocess
import sys

import pytest

from agnesi.core.cached import cached_property

FORKS = int(os.environ.get("AGNESI_FORKS", "8"))
PROGRAM = '''
import os, signal, sys, threading, time
import agnesi as ag

stop = False

def compile_on(seed):
    n = seed * 1000
    while not stop:
        n += 1
        constant = float(n)
        ag.jit(lambda x: (ag.tanh(x * constant) @ ag.exp(x)).sum())(ag.ones((n % 7 + 2,) * 2))

threads = [threading.Thread(target=compile_on, args=(i,), daemon=True) for i in range(4)]
for thread in threads:
    thread.start()
failed = []
for i in range(int(sys.argv[1])):
    time.sleep(0.01 * (i % 7))
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        right = float(ag.jit(lambda x: (x * i + 1).sum())(ag.ones(3))) == 3 * i + 3
        os._exit(0 if right else 1)
    if os.waitpid(child, 0)[1]:
        failed.append(i)
stop = True
print("failed", failed)
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_forked_beside_compiling_threads_do_not_hang(tmp_path):
    environment = {**os.environ, "AGNESI_CACHE_DIR": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", PROGRAM, str(FORKS)], env=environment,
                           capture_output=True, text=True, timeout=60 + 10 * FORKS)
    assert found.stdout == "failed []\n", found.stderr


def test_cached_properties_are_computed_once():
    class Circle:
        computed = 0

        @cached_property
        def area(self):
            """Its area."""
            self.computed += 1
            return 3.0

    circle = Circle()
    assert (circle.area, circle.area, circle.computed) == (3.0, 3.0, 1)
    assert Circle.area.__doc__ == "Its area."
