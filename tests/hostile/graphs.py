"""Graph files that were made up: each is one error that names the file, or a graph that may run.

Structure, attributes, dtypes, sizes, indices and arrays are changed, and the declared types are
made to follow, as somebody would who knows the format.
"""

from __future__ import annotations

import copy
import faulthandler
import json
import mmap
import os
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import agnesi as ag
from agnesi import saving
from agnesi.core.ir.dims import Dim
from agnesi.core.support.config import config
from agnesi.saving.graphs.operations import OPERATIONS
from tests.hostile.attempt import Forked, Trial, limit_time
from tests.saving.corpus import graphs, whole_programs

#: Attempts that one process makes.
TOGETHER = 100
#: Seconds of work that a file may take to be refused or read, and its graph to be compiled and run.
READING, RUNNING = 5, 60
#: Seconds after which a graph with a loop that may never end is interrupted.
ENDLESS = 5
#: Bytes that reading a file may take, beyond what the process had, and running its graph.
_READ_BYTES, _RUN_BYTES = 256 << 20, 3 << 30
#: What may stand in the place of anything.
STRANGE: tuple[Any, ...] = (
    None, True, False, -1, -2, 0, 1, 2, 3, 7, 64, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62,
    -(1 << 62), (1 << 63) - 1, -(1 << 63), 1 << 64, 10**30, 0.5, 2.5, -0.0, 1e300, "", "x", "add",
    "os.system", [], [[]], [0], [1, 0], [0, 0], [-1], [5], [1 << 40], [0, 1, 2, 3], {}, {"size": 0},
    {"size": 1}, {"size": 10**9}, {"float": "nan"}, {"float": "-inf"}, {"complex": [0, 1]},
    {"body": {"rows": [], "inputs": [], "outputs": []}}, {"dtype": "object"}, {"dtype": "float32"},
    {"dtype": "bool"}, {"dtype": "int8"}, {"dtype": "bfloat16"}, {"dtype": "complex128"},
    {"dtype": "uint64"}, {"dtype": "V8"}, {"dtype": "datetime64[s]"}, {"dtype": "float128"},
    {"record": "Windows", "fields": []},
    {"record": "Windows", "fields": [[0, 0], [0, 0], [0, 0]]},
)
_DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "uint32", "uint64", "float16",
           "bfloat16", "float32", "float64", "complex64", "complex128")
#: Numbers that places and sizes never are.
_FAR = (-1, 1 << 20, 1 << 40, -(1 << 40), (1 << 63) - 1, -(1 << 63))


class File(NamedTuple):
    """A file that is right: its graph, metadata and arrays."""

    name: str
    told: Any
    metadata: dict[str, str]
    arrays: dict[str, np.ndarray]


def corpus(folder: Path, made: Iterable[tuple[str, Any]]) -> list[File]:
    """Files of graphs."""
    path, found = folder / "right.agnesi", []
    folder.mkdir(parents=True, exist_ok=True)
    for name, (inputs, outputs) in made:
        try:
            ag.save(outputs, path, inputs=inputs, weights=True)
        except TypeError:
            continue  # an operation that files cannot have
        with saving.open_file(path) as file:
            metadata, arrays = dict(file.metadata), {k: np.asarray(file[k]) for k in file}
        found.append(File(name, json.loads(metadata["agnesi.graph"]), metadata, arrays))
    return found


def by_operation(files: list[File]) -> dict[str, list[File]]:
    """Which of them have an operation."""
    found: dict[str, list[File]] = {}
    for file in files:
        for name in dict.fromkeys(operations(file.told["rows"])):  # in the same order always
            found.setdefault(name, []).append(file)
    return found


def operations(rows: Any) -> Iterator[str]:
    """The operations of rows, and of the graphs that they hold."""
    for row in rows:
        if "op" in row:
            yield row["op"]
        for value in row.get("fields", {}).values():
            if isinstance(value, dict) and "body" in value:
                yield from operations(value["body"]["rows"])


# -- changes --------------------------------------------------------------------------------------
def places(told: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """All places in plain data, the whole of it left out."""
    if path:
        yield path
    parts = told.items() if isinstance(told, dict) else (
        enumerate(told) if isinstance(told, list) else ())
    for key, value in parts:
        yield from places(value, (*path, key))


def at(told: Any, path: tuple[Any, ...]) -> Any:
    """What stands at a place."""
    for key in path:
        told = told[key]
    return told


def changed(value: Any, chance: random.Random) -> Any:
    """Something else in the place of a value: mostly of its own kind."""
    if chance.random() < 0.3:
        return chance.choice(STRANGE)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice((value + 1, value - 1, -value, 2 * value, value + 64, 0, 1, *_FAR))
    if isinstance(value, float):
        return chance.choice((0.0, -value, 1e308, 1e-320, value * 3))
    if isinstance(value, str):
        return chance.choice((*_DTYPES, *OPERATIONS, value[:-1], value + "x"))
    if isinstance(value, list) and value:
        k = chance.randrange(len(value))
        return chance.choice((value[:k] + value[k + 1:], [*value, value[k]], value[::-1],
                              [*value, chance.choice((0, -1, 1))], [value[k]] * len(value)))
    if isinstance(value, dict) and value:
        key = chance.choice([*value])
        if key == "dtype" and len(value) == 1:
            return {"dtype": chance.choice(_DTYPES)}
        return {**value, key: changed(value[key], chance)}
    return chance.choice(STRANGE)


def disturb(file: File, name: str, chance: random.Random) -> tuple[Any, dict[str, np.ndarray], str]:
    """A graph with one to three changes, mostly of rows with an operation, its arrays, and what was
    done."""
    told, arrays, done = copy.deepcopy(file.told), dict(file.arrays), []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if arrays and chance.random() < 0.2:
            key = chance.choice([*arrays])
            arrays[key] = _other_array(arrays[key], chance)
            done.append(f"array {key} is {arrays[key].dtype}{list(arrays[key].shape)}")
            continue
        every = [*places(told)]
        inner = [p for p in every if "fields" in p[:-1]]
        leaves = [p for p in every if p[-1] in ("dtype", "shape") or p[-2:-1] == ("shape",)]
        rows = [p for p in every if "in" in p[:-1] or p[-1] in ("op", "in")]
        own = [p for p in every if p[0] == "rows" and len(p) > 2 and p[2] != "type"
               and isinstance(told["rows"][p[1]], dict) and told["rows"][p[1]].get("op") == name]
        groups = [g for g in (own, own, own, own, inner, leaves, rows, every) if g]
        path = chance.choice(chance.choice(groups))
        value = changed(at(told, path), chance)
        at(told, path[:-1])[path[-1]] = value
        done.append(f"{path} is {str(value)[:60]}")
    return told, arrays, "; ".join(done)


def _other_array(array: np.ndarray, chance: random.Random) -> np.ndarray:
    way = chance.randrange(5)
    if way == 0:
        return array.astype(chance.choice(("int8", "int64", "float32", "uint32", "bool")))
    if way == 1:
        return array.reshape(-1)[: max(0, array.size - 1)].copy()
    if way == 2:
        return np.repeat(array[None], 3, 0)
    result = array.copy()
    if result.size and result.dtype.kind in "iu":
        result.reshape(-1)[chance.randrange(result.size)] = np.array(
            chance.choice(_FAR)).astype(result.dtype)
    elif result.size and result.dtype.kind in "fc":
        result.reshape(-1)[chance.randrange(result.size)] = chance.choice((np.nan, np.inf, 0))
    return result


#: The type that a row has, in the error about one that tells another.
_TYPE = re.compile(r"row (\d+) \(.*its result is (\[\[.*?\]\]), but ")


def followed(told: Any, message: str) -> bool:
    """Let a row tell the type that it has; whether that was what was wrong."""
    found = _TYPE.search(message)
    if not found:
        return False
    rows = told["rows"]
    for outer in _TYPE.findall(message)[:-1]:
        del outer
    k = int(found[1])
    if not isinstance(rows, list) or k >= len(rows) or not isinstance(rows[k], dict):
        return False
    kind = json.loads(found[2].replace("'", '"'))
    if rows[k].get("type") == kind:
        return False
    rows[k]["type"] = kind
    return True


# -- attempts -------------------------------------------------------------------------------------
class EndlessError(BaseException):
    """A loop was interrupted, which may be right to go on for ever."""


def interrupt(*_: Any) -> None:
    """The handler of the signal that comes then."""
    raise EndlessError


class Limits:
    """Bounds on memory and time of what this process does."""

    def __init__(self) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for end in (signal.SIGPROF, signal.SIGALRM):  # where it hangs is printed
            faulthandler.register(end, chain=True)
        signal.signal(signal.SIGVTALRM, interrupt)

    @staticmethod
    def used() -> int:
        """Bytes of addresses that the process has now."""
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()

    def set(self, bytes_: int, seconds: int) -> None:
        """From now on so many more bytes, and so many seconds of work."""
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (self.used() + bytes_, hard))
        limit_time(seconds)


def read(file: File, name: str, path: Path, chance: random.Random) -> tuple[Any, str, str]:
    """A graph from a changed file or None, what was changed, and what is wrong with that."""
    told, arrays, done = disturb(file, name, chance)
    texts = {k: v for k, v in file.metadata.items() if k not in ("agnesi.crc32", "agnesi.header")}
    for _ in range(6):
        saving.save_file(arrays, path, {**texts, "agnesi.graph": json.dumps(told)})
        try:
            return ag.load(path), done, ""
        except ag.FileFormatError as error:
            if path.name not in str(error) or "\n" in str(error).split("\n  at ")[0]:
                return None, done, f"says {error}"
            if not followed(told, str(error)):
                return None, done, ""
        except Exception as error:
            return None, done, f"{type(error).__name__}: {error}"
    return None, done, ""


#: What a graph that was read may raise when it runs.
_CLEAR = (ValueError, TypeError, IndexError, MemoryError, RuntimeError, ZeroDivisionError,
          ArithmeticError, OverflowError, NotImplementedError)
_UNCLEAR = (RecursionError, AssertionError, UnicodeError)


def run(graph: Any, chance: random.Random) -> str:
    """What is wrong with running it; arguments are such that wrong places are far away."""
    known: dict[Any, int] = {}
    arguments = []
    try:
        for x in (*graph.inputs, *(p for p in graph.parameters.values() if p.array is None)):
            shape = [known.setdefault(n, chance.choice((0, 1, 3, 4, 6))) if isinstance(n, Dim)
                     else n for n in x.shape]
            if np.prod(shape, dtype=float) > 1 << 24:
                return ""
            arguments.append(_argument(shape, x.dtype, chance))
        with config(optimizer="fast_compile" if chance.random() < 0.7 else "default"):
            graph.function()(*arguments)
    except _UNCLEAR as error:
        return f"{type(error).__name__}: {error}"
    except _CLEAR:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _argument(shape: Any, dtype: Any, chance: random.Random) -> np.ndarray:
    made = np.random.default_rng(chance.randrange(1 << 30))
    values = made.integers(0, 3, shape) if chance.random() < 0.6 else made.choice(
        np.array(_FAR), shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(values).astype(dtype)


def attempts(files: dict[str, list[File]], folder: Path, seeds: range, now: mmap.mmap,
             runs: float) -> Any:
    """What fails of attempts in one process, how many were refused, and how many were run."""
    limits, failures, refused, ran = Limits(), [], 0, 0
    folder.mkdir(exist_ok=True)
    np.seterr(all="ignore")
    names = [*files]
    for seed in seeds:
        chance = random.Random(seed)
        now[:16] = struct.pack("qq", seed, 0)
        name = chance.choice(names)
        file = chance.choice(files[name])
        limits.set(_READ_BYTES, READING)
        graph, done, wrong = read(file, name, folder / "m.agnesi", chance)
        refused += graph is None
        if graph is not None and chance.random() < runs:
            now[:16] = struct.pack("qq", seed, 1)
            limits.set(_RUN_BYTES, RUNNING)
            loops = "While" in operations(file.told["rows"])  # no elements never sum to 100
            signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS if loops else 0)
            try:
                wrong, ran = run(graph, chance), ran + 1
            except EndlessError:
                ran += 1
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if wrong:
            failures.append(f"attempt {seed}, {name} in {file.name}: {done}: {wrong}")
    return failures, refused, ran


def graph_files(count: int, folder: Path, first: int = 0, runs: float = 0.25,
                made: Iterable[tuple[str, Any]] | None = None) -> Trial:
    """Change files, read them, and run some of the graphs that are read."""
    folder.mkdir(parents=True, exist_ok=True)
    right, failures = corpus(folder, graphs() if made is None else made), []
    files = by_operation(right)
    if made is None and OPERATIONS.keys() - files.keys():
        failures.append(f"no graph has {OPERATIONS.keys() - files.keys()}")
    notes = {"files": len(right), "refused": 0, "run": 0}
    now, seed, stop = mmap.mmap(-1, 16), first, first + count
    with config(cache_dir=folder / "cache"):
        while seed < stop:
            seeds = range(seed, min(seed + TOGETHER, stop))
            found, failure = Forked(
                lambda seeds=seeds: attempts(files, folder, seeds, now, runs)).end()
            seed = seeds.stop
            if failure:
                last, running = struct.unpack("qq", now[:16])
                failures.append(f"attempt {last}, {'run' if running else 'read'}: {failure}")
                seed = last + 1
            else:
                failures += found[0]
                notes["refused"] += found[1]
                notes["run"] += found[2]
    return Trial("made up graphs", count, failures, notes)


def main(first: str, count: str, runs: str = "0.25", which: str = "") -> None:
    """``python -m tests.hostile.graphs FIRST COUNT [RUNS [whole]]``: attempts from a number on, a
    share of which is run; ``whole`` leaves out the graphs of single operations."""
    with tempfile.TemporaryDirectory(prefix="agnesi-hostile-") as name:
        trial = graph_files(int(count), Path(name) / "graphs", int(first), float(runs),
                            whole_programs() if which else None)
    print(trial, *trial.failures, sep="\n    ", flush=True)
    os._exit(bool(trial.failures))


if __name__ == "__main__":
    main(*sys.argv[1:])
