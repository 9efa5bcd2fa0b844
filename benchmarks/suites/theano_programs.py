"""The models of Theano's tutorials in its own words, beside PyTensor: steps, and first compiling.

`python -m benchmarks.suites.theano_programs LIBRARY PROGRAM` prints the seconds that a library
takes from the first word of a program to the end of its first step, beyond those of a later step.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.harness import OURS, Case, Contender, Context, Result
from benchmarks.models.theano_programs import PROGRAMS, Words
from benchmarks.suites.compile import caches_in

TITLE = "models of Theano's tutorials, in its words"
THREADS = (1,)
#: What PyTensor takes over what we take: for a step, and for the first one.
STEPS, FIRST = 2.0, 10.0
#: Programs whose first compiling is measured in a short run: PyTensor takes minutes for all.
_QUICK = ("logistic_sgd", "rnnslu")
#: How many seconds a library may take to compile a program, and in a short run: PyTensor takes
#: up to 4 minutes.
LIMIT, SHORT = 600, 120


class TooLongError(BaseException):
    """A library took too long to compile: none of what it catches."""


def run(context: Context) -> list[Result]:
    results = []
    for name in PROGRAMS:
        results += context.measure_all([_case(name, context.quick)])
        if name in _QUICK or not context.quick:
            results += _first_steps(context, name)
    return results


def _case(name: str, quick: bool) -> Case:
    make, is_random = PROGRAMS[name]

    def contender(words: Callable[[], Words]) -> Contender:
        with _at_most(SHORT if quick else LIMIT):
            step, args = make(words())
            first = step(*args)  # numba compiles now
        # another library draws other numbers: those are checked to be finite
        return Contender(step, args, answer=lambda: np.isfinite(first) if is_random else first)

    def expect() -> Any:
        step, args = make(_pytensor("py", "fast_compile"))
        return np.isfinite(step(*args)) if is_random else step(*args)

    contenders = {OURS: partial(contender, _agnesi)} | {
        library: partial(contender, words) for library, words in PEERS.items()}
    return Case(f"{name}, a step", expect, contenders, rtol=1e-3, atol=1e-4, goal=STEPS)


@contextmanager
def _at_most(limit: int) -> Iterator[None]:
    """Raise TimeoutError where the body takes longer than so many seconds."""
    def late(number: int, frame: Any) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit)
    try:
        yield
    except TooLongError:
        raise TimeoutError(f"takes longer than {limit} s to compile") from None
    finally:
        signal.alarm(0)


# ------------------------------------------------------------------------------------------ words
def _agnesi(optimizer: str = "") -> Words:
    import agnesi.compat.theano as theano
    from agnesi.compat.theano import tensor as T
    from agnesi.compat.theano.tensor.shared_randomstreams import RandomStreams

    streams = RandomStreams(1)
    mode = theano.compile.mode.Mode(optimizer=optimizer) if optimizer else None
    return Words(
        theano, T,
        lambda inputs, output, updates, givens: theano.function(
            inputs, output, updates=updates, givens=givens, mode=mode),
        T.nnet.sigmoid, T.nnet.softmax,
        lambda size, p: streams.binomial(size=size, n=1, p=p, dtype="float32"),
    )


def _pytensor(linker: str, optimizer: str = "fast_run") -> Words:
    pytensor = peers.pytensor()
    tt = pytensor.tensor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from pytensor.tensor.random.utils import RandomStream

        streams = RandomStream(1)

    def function(inputs: Any, output: Any, updates: Any, givens: Any) -> Any:
        mode = pytensor.compile.mode.Mode(linker=linker, optimizer=optimizer)
        return pytensor.function(inputs, output, updates=updates, givens=givens, mode=mode)

    return Words(pytensor, tt, function, tt.sigmoid, partial(tt.special.softmax, axis=-1),
                 lambda size, p: streams.binomial(1, p, size=size).astype("float32"))


#: Our own ways to compile, by the names of their optimizers.
WAYS = {name: partial(_agnesi, name) for name in ("None", "fast_compile")}
PEERS = {"pytensor numba": partial(_pytensor, "numba"), "pytensor c": partial(_pytensor, "cvm")}


# -------------------------------------------------------------------------------------- compiling
def _first_steps(context: Context, name: str) -> list[Result]:
    """First steps in processes of their own, with caches that are empty."""
    result = Result.empty(context, f"{name}, first compiling", goal=FIRST)
    if not re.search(context.cases, result.case):
        return []
    for library in (OURS, *PEERS):
        context.note(f"{name}, {library}, compiling")
        times, limit = 3 if library == OURS else 1, SHORT if context.quick else LIMIT
        try:
            result.add(library, [_in_a_process(library, name, limit) for _ in range(times)])
        except subprocess.TimeoutExpired:
            result.add(library, [limit])
            result.absent[library] = f"was stopped after {limit} s, its least time"
        except RuntimeError as error:
            result.absent[library] = str(error)
    context.done(result)
    return [result]


def _in_a_process(library: str, name: str, limit: int) -> float:
    """What `_first_step` gives in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.suites.theano_programs", library, name],
            env=caches_in(folder), capture_output=True, text=True, check=False, timeout=limit,
        )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def _first_step(library: str, name: str) -> float:
    """Seconds of a program and its first step in this process, beyond those of a later one."""
    words = {OURS: _agnesi, **WAYS, **PEERS}[library]()
    start = time.perf_counter()
    step, args = PROGRAMS[name][0](words)
    step(*args)
    first = time.perf_counter() - start
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        step(*args)
        seconds.append(time.perf_counter() - start)
    return first - min(seconds)


if __name__ == "__main__":
    print(json.dumps(_first_step(*sys.argv[1:])))
