"""Work beside the main thread: it is interrupted at any moment, and the process then ends at once,
with its status and what it printed.
"""

import signal
import subprocess
import sys
import threading
import time

import pytest

from agnesi.core.support import worker_threads

PROGRAM = """
import ctypes, signal, sys
import numpy as np
import agnesi as ag

x = ag.tensor(np.full((3000, 3000), {value}))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    while True:
        x @ x
except KeyboardInterrupt:
    ctypes.CDLL(None).printf(b"%s\\n", b"printed by C")
    print("printed by Python")
    sys.exit(7)
"""


@pytest.mark.parametrize("value", ["1.0", "1 + 1j"])
def test_a_process_ends_beside_interrupted_products(value):
    # Where it did not, it waited for ever: OpenBLAS joins its threads as it is unloaded.
    found = subprocess.run([sys.executable, "-c", PROGRAM.format(value=value)],
                           capture_output=True, text=True, timeout=120, check=False)
    assert (found.returncode, found.stderr) == (7, "")
    assert sorted(found.stdout.split("\n")) == ["", "printed by C", "printed by Python"]


def test_signals_that_do_not_end_a_wait_are_found():
    # As those that come between Python's last look and its wait for a lock.
    begun, end = threading.Event(), threading.Event()

    def work():
        begun.set()
        return end.wait(60)

    def send():
        begun.wait()
        time.sleep(0.1)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    # Not SIGINT, which is ignored where the tests run in the background of a shell.
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    thread = threading.Thread(target=send)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            assert not worker_threads.aside(1 << 30, work), "its end was waited for"
    finally:
        end.set()
        thread.join()
        signal.signal(signal.SIGUSR1, before)
