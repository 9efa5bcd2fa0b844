"""Streams of random numbers: threads share them, forked processes have their own."""

import os
import subprocess
import sys
import threading
from collections import Counter

import pytest

import agnesi as ag

DRAWS = {
    "uniform": lambda: ag.random.uniform(size=4),
    "normal": lambda: ag.random.normal(size=4),
    "integers": lambda: ag.random.integers(2**60, size=4),
    "permutation": lambda: ag.random.permutation(20),
    "gamma": lambda: ag.random.gamma(2.0, size=4),
    "compiled": ag.jit(lambda: ag.random.uniform(size=4)),
}


@pytest.fixture
def hasty():
    """Threads that are exchanged often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def _together(work, threads=8):
    ready = threading.Barrier(threads)

    def run():
        ready.wait()
        work()

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


@pytest.mark.share(6)
@pytest.mark.parametrize("draw", DRAWS)
def test_threads_get_numbers_of_their_own(draw, hasty):
    DRAWS[draw]()
    found = []
    _together(lambda: found.extend([tuple(DRAWS[draw]().tolist()) for _ in range(60)]))
    assert len(found) == 480
    assert [k for k, n in Counter(found).items() if n > 1] == []


def test_threads_share_out_the_numbers_of_one_seed(hasty):
    generator = ag.random.Generator(7)
    alone = {ag.random.uniform(generator=generator).item() for _ in range(400)}
    generator.manual_seed(7)
    found = []
    _together(lambda: found.extend([
        ag.random.uniform(generator=generator).item() for _ in range(50)]))
    assert set(found) == alone


PROGRAM = """
import os, sys, threading
import agnesi as ag
sys.setswitchinterval(1e-6)
made, ready = [], threading.Barrier(8)
def look():
    ready.wait()
    made.append(ag.random.default_generator())
threads = [threading.Thread(target=look) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert len(set(map(id, made))) == 1
"""

def test_one_default_generator_is_made():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True,
                   env={**os.environ, "AGNESI_SEED": "1"})


def _forked(work):
    """What ``work`` gives in a forked process, as text."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        text = "failed"
        try:
            text = repr(work())
        finally:
            os.write(there, text.encode())
            os._exit(0)
    os.close(there)
    with os.fdopen(here) as lines:
        text = lines.read()
    os.waitpid(child, 0)
    return text


def _draw():
    return [ag.random.uniform(size=3).tolist(), DRAWS["compiled"]().tolist()]


def test_forked_processes_have_their_own_streams():
    DRAWS["compiled"]()
    ag.manual_seed(3)
    workers = [_forked(lambda: [_draw(), _forked(_draw), _draw()]) for _ in range(4)]
    workers.append(repr([_draw(), _draw()]))
    numbers = [n for text in workers for n in text.replace("[", " ").replace("]", " ")
               .replace(",", " ").replace("'", " ").split()]
    assert len(numbers) == 4 * 21 + 14
    assert len(set(numbers)) == len(numbers)


def test_a_worker_has_the_stream_of_a_seed_on_request():
    ag.manual_seed(5)
    expected = repr(_draw())

    def work():
        ag.manual_seed(5)
        return _draw()

    assert _forked(work) == expected


def test_a_fork_while_a_thread_draws_does_not_hang():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            ag.random.uniform(size=3)

    threads = [threading.Thread(target=draw) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        texts = [_forked(lambda: ag.random.uniform(size=3).tolist()) for _ in range(8)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(set(texts)) == 8
    assert "failed" not in texts


SEEDED = """
import os
import subprocess
import agnesi as ag
def draw():
    here, there = os.pipe()
    if os.fork() == 0:
        os.write(there, repr(ag.random.uniform(size=2).tolist()).encode())
        os._exit(0)
    os.close(there)
    return os.fdopen(here).read()
print(draw(), draw(), ag.random.uniform(size=2).tolist())
"""


def test_workers_of_a_seeded_program_differ_and_are_the_same_in_each_run():
    runs = [
        subprocess.run([sys.executable, "-c", SEEDED], check=True, capture_output=True, text=True,
                       env={**os.environ, "AGNESI_SEED": "1"}).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].replace("[", " ").replace("]", " ").replace(",", " ").split())) == 6


def test_states_are_taken_and_given_back_and_kept_for_a_block():
    state = ag.get_rng_state()
    assert state.dtype == "uint8"
    draw = ag.jit(lambda: ag.rand(3))
    first, second = ag.rand(3), draw()
    ag.set_rng_state(state)
    with ag.random.fork_rng(devices=[]):
        ag.random.manual_seed(5)
        assert ag.rand(3).tolist() != first.tolist()
    assert draw().tolist() == first.tolist() and ag.rand(3).tolist() == second.tolist()
    ag.set_rng_state(state)
    with ag.random.fork_rng(enabled=False):
        ag.rand(3)
    assert ag.rand(3).tolist() == second.tolist()
    ag.cuda.set_rng_state_all(ag.cuda.get_rng_state_all())
    with pytest.raises(ValueError, match="must be uint32"):
        ag.set_rng_state(ag.ones(3))


@pytest.mark.parametrize("draw", ["rand((600, 600))", "random.normal(0.0, 1.0, (600, 600))",
                                  "nn.functional.dropout(x, 0.5)", "randint(0, 9, (600, 600))"])
def test_plans_of_long_draws_do_not_hang(draw):
    """They are made and run with the state's lock, and long draws run beside the main thread."""
    program = ("import agnesi as ag\nx = ag.ones((600, 600))\n"
               f"for _ in range(25):\n    y = ag.{draw}\nprint(y.shape)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=100, check=True)
    assert done.stdout == "(600, 600)\n"


def test_a_generator_is_taken_back_and_copied():
    g = ag.Generator().manual_seed(3)
    state = g.get_state()
    first = ag.rand(3, generator=g)
    assert state.dtype == ag.uint8 and g.set_state(state) is g
    assert ag.rand(3, generator=g).tolist() == first.tolist()
    copy = g.clone_state()
    assert ag.rand(3, generator=copy).tolist() == ag.rand(3, generator=g).tolist()
    with pytest.raises(ValueError, match=r"the saved state is"):
        g.set_state(ag.zeros(3))


def test_generators_are_made_with_the_device():
    for g in (ag.Generator("cpu"), ag.Generator(device="cpu"), ag.Generator(ag.device("cpu"))):
        assert ag.rand(2, generator=g.manual_seed(3)).tolist() == ag.rand(
            2, generator=ag.Generator(3)).tolist()
        assert g.device == "cpu" and g.device.type == "cpu"
    with pytest.raises(ValueError, match="there is one device"):
        ag.Generator(device="cuda")
    with pytest.raises(ValueError, match="a seed is an integer, and not 'cuda'; where a device is "
                                         "meant, there is one, 'cpu'"):
        ag.Generator("cuda")
