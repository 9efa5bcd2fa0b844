"""What the library runs that is not its own code: nothing from files that the user did not name."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import agnesi

ROOT = Path(agnesi.__file__).parent
#: Where text or bytes become code, objects or processes, and what they are made of.
RUN = {
    "api/custom/expressions.py: exec":
        "an expression that the user wrote in the call, read as a tree",
    "api/custom/expressions.py: compile": "the same",
    "codegen/kernels/conv/parameter_table.py: eval":
        "names of fields of a plan, from the code around it",
    "compiler/binding/call_adapter.py: exec": "a text made here, of numbers and names of keywords",
    "compiler/binding/call_adapter.py: compile": "the same",
    "compat/theano/graphs/d3viz.py: subprocess": "Graphviz, on a text made here",
    "compat/theano/graphs/d3viz.py: subprocess.run": "the same",
    "compiler/compilation/copies.py: pickle.loads": "bytes in a pickle that the user loads",
    "compat/chainer/serializers.py: np.load": "arrays of a file, with allow_pickle=False",
    "compat/theano/tensor/io.py: np.load": "an array of a file, with allow_pickle=False",
    "compat/theano/misc.py: pickle.load": "the file that a program for Theano hands it",
    "compiler/c_source.py: subprocess": "the system's C compiler, on a text that the user gave",
    "compiler/c_source.py: subprocess.run": "the same",
    "distributed/processes/launch.py: subprocess": "the program that the user launches",
    "distributed/processes/launch.py: subprocess.Popen": "the program that the user launches",
    "distributed/processes/workers.py: pickle.loads":
        "a function and its arguments, from the process that started this one",
    "data/messages.py: pickle.loads": "a batch from a worker process of this process's own",
    "data/worker.py: pickle.loads": "an error from such a worker",
    "core/support/record.py: compile": "a constructor, of a class's fields",
    "core/support/record.py: exec": "the same",
}
NAMES = {"eval", "exec", "compile", "__import__", "execfile", "runpy", "input"}
MODULES = {
    "pickle": {"load", "loads", "Unpickler"}, "marshal": {"load", "loads"}, "shelve": {"open"},
    "np": {"load", "fromfile", "memmap"}, "numpy": {"load", "fromfile", "memmap"},
    "os": {"system", "popen", "execv", "execve", "execvp", "spawnv", "posix_spawn"},
    "subprocess": None, "socket": None, "urllib": None, "http": None, "yaml": None, "torch": None,
    "joblib": None, "dill": None, "cloudpickle": None, "codeop": None,
}
#: Whether a file needs to be looked at more closely.
WORDS = re.compile(
    rf"(?<![.\w])({'|'.join(NAMES)})\("
    rf"|^\s*(import|from)\b.*\b({'|'.join({*MODULES} - {'np', 'numpy', 'os'})})\b"
    r"|\b(np|numpy)\.(load|fromfile|memmap)\(|from numpy import\b.*\b(load|fromfile|memmap)\b"
    r"|\bos\.(system|popen|exec|spawn|posix_spawn)", re.MULTILINE)
PROGRAM = """
import json, sys
seen = []
told = ("open", "exec")
sys.addaudithook(lambda event, args: seen.append((event, event in told and repr(args[0]))))
import numpy as np
import agnesi as ag
f = ag.jit(lambda x: ag.sort(x * 2, 1).sum() + ag.tensor([1.0, 2.0]))
f(ag.ones((3, 4)))
print(json.dumps(seen))
"""


def runs(path):
    """Calls in a file that make code, objects or processes of something, and such imports."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text if WORDS.search(text) else "")
    here = path.relative_to(ROOT).as_posix()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Call):
            f = node.func
            if isinstance(f, ast.Name) and f.id in NAMES:
                names = [f.id]
            elif isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name):
                known = MODULES.get(f.value.id, ())
                names = [f"{f.value.id}.{f.attr}"] if known is None or f.attr in known else []
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if MODULES.get(a.name.split(".")[0], 1) is None]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            known = MODULES.get(node.module.split(".")[0], ())
            names = [f"{node.module}.{a.name}" for a in node.names
                     if known is None or a.name in known]
        yield from (f"{here}: {name}" for name in names)


def test_nothing_else_runs_text_or_bytes():
    """A new place needs a line above that says what it runs; one that is gone has none."""
    found = {run for path in ROOT.rglob("*.py") for run in runs(path)}
    assert found == set(RUN)


def test_the_search_finds_what_it_looks_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "x.py"
    path.write_text("import subprocess, os\nfrom pickle import load\nfrom urllib import request\n"
                    "eval('1')\nos.system('x')\nnp.load('x')\nx.eval()\nre.compile('x')\n")
    assert sorted(runs(path)) == [
        "x.py: eval", "x.py: np.load", "x.py: os.system", "x.py: pickle.load", "x.py: subprocess",
        "x.py: urllib.request"]


def test_a_process_that_finds_its_code_on_disk_unpickles_nothing(tmp_path):
    """Python itself tells what is opened, unpickled, executed and connected to."""
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "AGNESI_CACHE_DIR": str(tmp_path), "PYTHONPATH": path}
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, text=True,
                               capture_output=True)
        assert found.returncode == 0, found.stderr
    seen = json.loads(found.stdout)
    kinds = {event for event, _ in seen}
    assert "open" in kinds and any(str(tmp_path) in what for event, what in seen if event == "open")
    assert not [e for e in kinds if e.startswith(("pickle.", "socket.", "subprocess.", "os.exec",
                                                  "os.system", "urllib.", "http."))]
    wrong = [what for event, what in seen if event == "exec" and str(tmp_path) in what]
    assert wrong == []
