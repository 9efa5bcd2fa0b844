"""House rules that no tool checks: sizes, late imports, docstrings, leftovers."""

import ast
import functools
import gc
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src/agnesi").rglob("*.py"))
WRITTEN = [
    path
    for folder in ("src", "tests", "benchmarks", "examples", "tools", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".pyi", ".ll", ".md")
]
FILE_LINES, FUNCTION_LINES = 500, 60
#: What is heavy, optional or only needed to compile; all else is imported at the top of a file.
LATE = (
    "agnesi.codegen", "agnesi.compiler", "agnesi.rewrite", "agnesi.runtime", "agnesi.schedule",
    "PIL", "dataclasses", "difflib", "importlib", "llvmlite", "logging", "matplotlib", "ml_dtypes",
    "numpy._core", "pandas", "platform", "pyarrow", "scipy", "signal", "sklearn", "statistics",
    "tensorboardX", "tqdm",
    # What ``import agnesi``, or the first call of a compiled function, would load without need.
    "agnesi.api.tensor.no_value", "agnesi.api.tensor.scipy_calls", "agnesi.autodiff.checkpoint",
    "agnesi.ops.arrays.replicate", "agnesi.ops.base.gather", "agnesi.ops.base.scans",
    "agnesi.ops.contractions.halves", "agnesi.ops.convolution", "agnesi.ops.elementwise.complexes",
    "agnesi.ops.indexing.join", "agnesi.ops.indexing.masked", "agnesi.ops.indexing.ranges",
    "agnesi.ops.indexing.spans", "copy",
)
IN_THE_ROOT = {
    ".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile",
    "README.md", "SECURITY.md", "conftest.py", "pyproject.toml",
}
#: The kinds of files that a folder of the root holds, and all below it.
KINDS = {
    "benchmarks": {".py"}, "docs": {".md", ".svg"}, "examples": {".py"},
    "src": {".ll", ".py", ".pyi"}, "tests": {".agnesi", ".md", ".py", ".safetensors", ".txt"},
    "tools": {".py"},
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


@pytest.fixture(autouse=True, scope="module")
def millions_of_nodes():
    """None is garbage while these tests run, and the tests that follow need not carry them along.
    """
    gc.disable()
    yield
    for kept in (trees, nodes, functions):
        kept.cache_clear()
    gc.enable()


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dotted(path: Path) -> str:
    """The name under which a source is imported."""
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@functools.cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    return list(ast.walk(tree))


@functools.cache
def functions(tree: ast.Module) -> list[Function]:
    return [node for node in nodes(tree) if isinstance(node, Function)]


def told(node: ast.Module | ast.ClassDef | Function) -> int:
    """Lines of a docstring."""
    if ast.get_docstring(node) is None:
        return 0
    text = node.body[0]
    return (text.end_lineno or 0) - text.lineno + 1


def length(function: Function) -> int:
    """Lines of a function, its docstring left out."""
    return (function.end_lineno or 0) - function.lineno + 1 - told(function)


def lines_of(path: Path) -> int:
    """Lines of a file, docstrings left out."""
    parts = (ast.Module, ast.ClassDef, Function)
    texts = sum(told(node) for node in nodes(trees()[path]) if isinstance(node, parts))
    return len(path.read_text(encoding="utf-8").splitlines()) - texts


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def test_there_are_sources():
    assert len(SOURCES) > 100


def test_imports_by_name_go_down():
    """What import-linter cannot see: modules that are imported when a function runs."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = contract["tool"]["importlinter"]["contracts"]
    packages = next(c for c in contracts if c["name"] == "packages")
    level = {package.strip(): n for n, layer in enumerate(reversed(packages["layers"]))
             for package in layer.split("|")}
    up = []
    for path in SOURCES:
        package = path.relative_to(ROOT / "src/agnesi").parts[0]
        for target in re.findall(r'import_module\(f?"agnesi\.(\w+)',
                                 path.read_text(encoding="utf-8")):
            if package in level and target != package and level[target] >= level[package]:
                up.append((name_of(path), target))
    assert up == []


def test_imports_by_name_make_no_circles():
    """A module that another one imports when a function runs does not need that one in turn.

    Public names are looked up in the package itself; ``nn`` looks up its own.
    """
    modules = {dotted(p): p for p in SOURCES}
    needs = {
        name: {found for node in trees()[path].body for n in imported(node)
               for found in (n, n.rpartition(".")[0]) if found in modules}
        for name, path in modules.items()
    }
    late = [
        (name, target) for name, path in modules.items()
        for target in re.findall(r'import_module\("(agnesi\.[\w.]+)"\)', path.read_text("utf-8"))
        if name.split(".")[1] != "nn"
    ]
    for name, target in late:
        needs[name] = needs[name] | {target}

    def reached(start: str) -> set[str]:
        found, waiting = set(), [start]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += needs.get(name, ())
        return found

    assert len(late) > 10
    assert [(name, target) for name, target in late if name in reached(target)] == []


def test_files_are_short():
    lines = {name_of(p): lines_of(p) for p in SOURCES}
    assert {name: n for name, n in lines.items() if n > FILE_LINES} == {}


def test_functions_are_short():
    lines = {
        f"{name_of(path)}:{f.name}": length(f) for path, tree in trees().items()
        for f in functions(tree)
    }
    assert {name: n for name, n in lines.items() if n > FUNCTION_LINES} == {}


def test_who_reads_data_of_tensors():
    """``x.data`` is PyTorch's, a tensor without history; the array that a tensor holds is
    ``x.array``, and code that reads the other is slow and never sees None."""
    packages = {"core", "ops", "autodiff", "rewrite", "schedule", "codegen", "compiler", "optim"}
    readers = {
        f"{name_of(path)}:{node.lineno}" for path, tree in trees().items()
        if path.relative_to(ROOT / "src/agnesi").parts[0] in packages
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and node.attr == "data"
        and not (isinstance(node.value, ast.Attribute) and node.value.attr == "ctypes")
    }
    assert readers == set()


def test_imports_are_at_the_top():
    late = [
        f"{name_of(path)}: {name}" for path, tree in trees().items()
        for node in nodes(tree) for name in imported(node)
        if any(f.lineno < node.lineno <= (f.end_lineno or 0) for f in functions(tree))
        and not any(name == known or name.startswith(known + ".") for known in LATE)
    ]
    assert late == []


def test_only_config_reads_the_environment():
    readers = {name_of(p) for p in SOURCES if re.search(r"\benviron\b|\bgetenv\b", p.read_text())}
    assert readers == {"src/agnesi/core/support/config.py"}


def test_one_file_asks_about_the_machine():
    """What code is made for is a value that is handed on: ``core.target.Target``."""
    words = (r"\bplatform\.|sys\.platform|\buname\b|cpu_count|sched_getaffinity|\bsysconf\b"
             r"|GetHostCPU|\bsys\.maxsize >|\"/proc/(?!self)|\"/sys/")
    asking = {name_of(p) for p in SOURCES if re.search(words, p.read_text(encoding="utf-8"))}
    # LLVM names the processor; the declaration of its functions names those that do.
    llvm = {"src/agnesi/runtime/llvm.py", "src/agnesi/runtime/llvm_api.py"}
    assert asking == {"src/agnesi/core/support/host.py", *llvm}


def test_who_asks_for_the_native_target():
    """Whoever compiles for it is given it, but for what this process calls itself."""
    asking = {name_of(p) for p in SOURCES if "machine.native()" in p.read_text(encoding="utf-8")}
    package = "src/agnesi/compiler/"
    assert {name for name in asking if not name.startswith(f"{package}devices/")} == {
        f"{package}library/functions.py", f"{package}library/generated.py"}
    widths = {name_of(p) for p in SOURCES if "vector_bits" in p.read_text(encoding="utf-8")}
    assert widths == {"src/agnesi/core/target.py", "src/agnesi/runtime/machine.py",
                      "src/agnesi/compiler/devices/cpu/backend.py"}


def test_who_asks_for_the_names_of_operations():
    """Planning asks for traits; rewrite rules, and the two that know a few functions by sight, are
    about named ones."""
    free = ("ops", "rewrite", "compat", "testing")
    exact = {f"src/agnesi/{name}.py"
             for name in ("schedule/clustering/sparsity", "compiler/reports/precision")}
    word = re.compile(r"\bop\.name$|\bop_name$")
    asking = {
        name_of(path) for path, tree in trees().items()
        if path.relative_to(ROOT / "src/agnesi").parts[0] not in free
        for node in nodes(tree) if isinstance(node, ast.Compare)
        and any(word.search(ast.unparse(side)) and not ast.unparse(other).isupper()
                for side, other in zip((node.left, *node.comparators),
                                       (*node.comparators, node.left), strict=True))
    }
    assert asking <= exact


def test_no_fork_while_a_library_is_opened():
    """The loader's lock, which another thread holds meanwhile, would stay locked in the child."""
    names = {"CDLL", "PyDLL", "LoadLibrary", "dlopen"}
    opening = [
        f"{name_of(path)}:{f.name}" for path, tree in trees().items()
        for n in nodes(tree) if isinstance(n, ast.Attribute) and n.attr in names
        for f in functions(tree) if f.lineno < n.lineno <= (f.end_lineno or 0)
        and "unforked()" not in map(ast.unparse, f.decorator_list)
    ]
    assert opening == []


def test_computed_attributes_take_no_lock_of_their_class():
    """That of functools would be taken for ever in a child that another thread forked meanwhile."""
    assert not [name_of(path) for path, tree in trees().items() for node in nodes(tree)
                if (isinstance(node, ast.Attribute) and node.attr == "cached_property")
                or (isinstance(node, ast.ImportFrom) and node.module == "functools"
                    and "cached_property" in [a.name for a in node.names])]


def test_errors_of_handlers_of_signals_are_not_swallowed():
    """Who goes on after any error lets those through: ``core/support/signal_errors.py``."""
    rooms = ("api", "autodiff", "codegen", "compiler", "core", "ops", "rewrite", "runtime",
             "schedule")
    apart = {"compiler/reports", "runtime/support.py", "api/processes/handles.py"}
    passing = {"raise_if_from_signal", "is_from_signal"}
    found = []
    for path, tree in trees().items():
        name = name_of(path).removeprefix("src/agnesi/")
        if not name.startswith(rooms) or name.startswith(tuple(apart)):
            continue
        for node in nodes(tree):
            if (isinstance(node, ast.ExceptHandler)
                    and ast.unparse(node.type or node) == "Exception"):
                inside = [n for part in node.body for n in ast.walk(part)]
                if not any(isinstance(n, ast.Raise) or getattr(n, "id", "") in passing
                           for n in inside):
                    found.append(f"{name}:{node.lineno}")
            elif isinstance(node, ast.With) and any(
                    "suppress(Exception" in ast.unparse(item.context_expr) for item in node.items):
                found.append(f"{name}:{node.lineno}")
    assert found == []


def test_files_are_written_whole():
    """Who is stopped, or finds the disk full, leaves what was there: ``core/support/atomic.py``."""
    writers = {"save", "savefig", "savez", "savez_compressed", "savetxt", "tofile", "write_bytes",
               "write_text"}
    safe = ("replacing(", "by_name(", "tempfile.TemporaryDirectory(")
    torn = []
    for path, tree in trees().items():
        inside = {n for block in nodes(tree) if isinstance(block, ast.With)
                  and ast.unparse(block.items[0].context_expr).startswith(safe)
                  for n in ast.walk(block)}
        for call in (n for n in nodes(tree) if isinstance(n, ast.Call) and n not in inside):
            name = ast.unparse(call.func)
            modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
            opens = name == "open" and any(set(ast.unparse(m)) & set("wax+") for m in modes)
            owner, _, method = name.rpartition(".")
            writes = method in writers and (method != "save" or owner in ("np", "pillow"))
            if opens or writes:
                torn.append(name_of(path))
    assert set(torn) == {"src/agnesi/distributed/processes/launch.py"}  # adds to a log


def test_who_asks_whether_a_trace_runs():
    """``core`` and what is written out flat, where a call more would show; all else asks there."""
    flat = {f"src/agnesi/{name}.py"
            for name in ("api/tensor/inplace", "ops/base/elementwise_nodes", "ops/base/elementwise",
                         "ops/base/select", "ops/base/totals",
                         "ops/indexing/direct_writes")}
    words = r"\b(STATE|MODE\.get\(\)|mode)\.trace\b"
    asking = {name_of(p) for p in SOURCES if re.search(words, p.read_text())}
    assert {name for name in asking if not name.startswith("src/agnesi/core/")} == flat


def test_axes_have_no_numbers_of_their_own():
    """An axis is named by a dimension, or is fresh (``core.ir.loops.fresh_axis``)."""
    named = []
    for path, tree in trees().items():
        names = [name for n in nodes(tree) for name in imported(n)]
        for call in nodes(tree) if "agnesi.core.ir.loops.Axis" in names else ():
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Axis":
                names = [n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)]
                if not names or any(n.isupper() for n in names):
                    named.append(f"{name_of(path)}:{call.lineno}")
    assert named == []


def test_nothing_is_left_to_do():
    words = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    assert [name_of(p) for p in WRITTEN if words.search(p.read_text(encoding="utf-8"))] == []


def test_modules_classes_and_functions_have_docstrings():
    bare = []
    for path, tree in trees().items():
        if path.parent.name == "vmath":  # its functions are those of their name
            continue
        if tree.body and ast.get_docstring(tree) is None:
            bare.append(name_of(path))
        bare += [
            f"{name_of(path)}:{node.name}" for node in tree.body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"
            and ast.get_docstring(node) is None
            and not any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)
        ]
    assert bare == []


def test_architecture_names_files_and_packages_that_exist():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|ll|toml))`", text))
    assert len(named) > 30
    assert text.count("\n") <= 200
    places = (ROOT / "src/agnesi", ROOT)
    assert [n for n in named if not any((p / n).exists() for p in places)] == []
    packages = {p.parent.name for p in (ROOT / "src/agnesi").glob("*/__init__.py")}
    table = text[text.index("| package |"): text.index("Imports go one way")]
    assert set(re.findall(r"`(\w+)`(?=,| \|)", table)) >= packages


def test_architecture_names_what_its_files_have():
    """Names in parentheses behind a file, such as ``arena.py`` (``assign_offsets``)."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    missing, known = [], 0
    for file, inner in re.findall(r"`([\w/]+\.(?:py|ll))` \(((?:[^()]|\([^()]*\))*)\)", text):
        path = next(p / file for p in (ROOT / "src/agnesi", ROOT) if (p / file).exists())
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r"`([A-Za-z_][\w.]*)`", inner):
            known += 1
            missing += [(file, name) for part in name.split(".") if not name.endswith(".py")
                        and not re.search(rf"\b{part}\b", source)]
    assert known > 20
    assert missing == []


def test_texts_name_files_that_exist():
    """In docstrings, comments and pages; names are read from the folders around the text, too."""
    pattern = re.compile(r"`((?:\w+/)*\w+\.(?:py|ll|pyi))`")
    pages = [p for p in (*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md")]
    missing = []
    for path in (*SOURCES, *pages):
        near = [p for p in path.parents if p.is_relative_to(ROOT)]
        for name in set(pattern.findall(path.read_text(encoding="utf-8"))):
            if not any((p / name).exists() for p in (*near, ROOT / "src/agnesi")):
                missing.append(f"{name_of(path)}: {name}")
    assert missing == []


def test_only_files_that_belong_here_are_kept():
    """Neither scratch files nor results: every folder names the kinds of files that it holds."""
    if not (ROOT / ".git").exists():  # a release has no list of its files
        return
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout
    paths = [Path(name) for name in listed.splitlines()]
    assert [p.name for p in paths if len(p.parts) == 1 and p.name not in IN_THE_ROOT] == []
    kept = [p for p in paths if len(p.parts) > 1 and p.parts[0] != ".ci"]
    assert [str(p) for p in kept if p.parts[0] not in KINDS] == []
    assert [str(p) for p in kept
            if p.suffix not in KINDS[p.parts[0]] and p.name != "py.typed"] == []


def test_folders_are_small():
    """But for the top, where the public modules are."""
    many = {name_of(folder): count for top in ("src/agnesi", "tests")
            for folder in (ROOT / top).rglob("*")
            if folder.is_dir() and folder.name != "__pycache__"
            and (count := sum(p.name != "__pycache__" for p in folder.iterdir())) > 25}
    assert many == {}


def test_pictures_are_of_what_runs_now():
    """In a process of its own: what other tests have loaded or compiled draws other calls."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("AGNESI_")}
    drawn = subprocess.run([sys.executable, "-m", "tools.pictures", "--check"], cwd=ROOT, env=kept,
                           capture_output=True, text=True, check=False)
    assert drawn.returncode == 0, drawn.stderr


#: Names that say neither what is counted nor in which unit.
VAGUE = set("""
    AHEAD ALONE APART BIG BLOCK BYTES CHEAPLY CLOSE DEAR DEEP EACH ENOUGH FAR FEW FEWEST LARGE LEAST
    LIMIT LITTLE LONG MANY MOST MUCH NARROW NEAR NEAREST OFTEN PATIENCE ROOM ROW SEVERAL SHORT SMALL
    SOON TIMES TOGETHER TURNS WIDE WORK WORTH
""".split())
#: Words that have been said otherwise before, as patterns, and the field's own.
OLD_WORDS = {
    r"second cache": "second-level cache",
    r"first cache": "first-level cache",
    r"call(?:s|ed)? near": "prefetch",
    r"dear(?:er|est)?": "expensive",
    r"lone numbers?": "scalar",
    r"from turn to turn": "from iteration to iteration",
    r"(?:first|last) turn": "first, last iteration",
    r"in haste|hasty": "fast compile",
}
#: Parts of names that say neither what a value is nor where it comes from.
VAGUE_PARTS = {"lend", "lending", "lends", "lent", "lie", "lies", "tells", "told", "untold"}
#: The same below the public names, where an iteration, a transposed matrix, a workspace, an
#: address, an index, a query, a probability, a right-hand side, a visited node or NaN has the
#: field's name.
VAGUE_PARTS_OF_CODE = {"asked", "chance", "chances", "drive", "handed", "met", "place", "places",
                       "room", "rooms", "spot", "strange", "tell", "theirs", "turn", "turned",
                       "turns"}
#: Public names, of NumPy's and of a report's rows, and what changes in place.
PUBLIC_NAMES = {"place", "Place", "places"}
PUBLIC_IN = {"src/agnesi/ops/arrays/numpy_selection.py",
             "src/agnesi/compiler/reports/memory_plan.py"}
IN_PLACE = re.compile(r"(?:^|_)in_?place(?:_|$)")
BELOW_NAMES = ("core", "ops", "rewrite", "codegen", "schedule", "compiler", "runtime")
#: Words that are said otherwise in the prose of these folders: returned, passed, interleaved,
#: workspace.
VAGUE_WORDS = r"\b(told|tells?|spots?|by turns|rooms?)\b"


def is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return is_number(value.left) and is_number(value.right)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def test_constants_say_what_they_count():
    vague = []
    for path, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.Assign):
                target, value = node.targets[0], node.value
                several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                pairs = zip(target.elts, value.elts, strict=True) if several else [(target, value)]
                vague += [f"{name_of(path)}:{node.lineno}: {t.id}" for t, v in pairs
                          if isinstance(t, ast.Name) and t.id.strip("_") in VAGUE and is_number(v)]
    assert vague == []


def test_constants_have_comments():
    """Each number says what is counted, above it, beside it or below it; those without a blank line
    between them share one.  Mathematical functions are named by their constants."""
    bare = []
    for path, tree in trees().items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
            if (not isinstance(node, ast.Assign) or not is_number(node.value) or is_text(after)
                    or path.relative_to(ROOT / "src/agnesi").parts[0] not in (*BELOW_NAMES, "api")
                    or path.parent.name == "vmath"):
                continue
            first = node.lineno - 1
            while first and re.match(r"[A-Za-z_]", lines[first - 1]) and "=" in lines[first - 1]:
                first -= 1
            if not lines[first - 1].startswith("#") and "#" not in lines[node.lineno - 1]:
                bare.append(f"{name_of(path)}:{node.lineno}: {lines[node.lineno - 1]}")
    assert bare == []


def is_text(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def test_old_words_are_gone():
    """From names, comments and docstrings; messages and what pages say to users are prose."""
    old = re.compile(rf"\b({'|'.join(OLD_WORDS)})\b")
    said = [f"{name_of(path)}: {found[0]}" for path in SOURCES
            for found in old.finditer(path.read_text(encoding="utf-8"))]
    said += [f"{name_of(path)}: {found[0]}" for folder in BELOW_NAMES
             for path in (ROOT / "src/agnesi" / folder).rglob("*.py")
             for found in re.finditer(VAGUE_WORDS, path.read_text(encoding="utf-8"))]
    assert said == []


def prose_of(path: Path) -> str:
    """Docstrings and comments of a file."""
    parts = (ast.Module, ast.ClassDef, Function)
    texts = [ast.get_docstring(n, clean=False) or "" for n in nodes(trees()[path])
             if isinstance(n, parts)]
    return "\n".join([*texts, *re.findall(r"(?m)(?:^|\s)#:? .*", path.read_text(encoding="utf-8"))])


def test_prose_names_what_it_is_about():
    """Docstrings and comments; messages are for users.

    Values are stored, laid out, adjacent or nested, and facts are queried, checked or requested.
    """
    refused = r"\b([Ll]ies?|[Nn]obody|[Tt]old|[Tt]ells?|[Ww]hoever|[Ss]omebody|spots?)\b"
    vague = [f"{name_of(path)}: {found[0]}" for path in SOURCES
             for found in re.finditer(refused, prose_of(path))]
    vague += [f"{name_of(path)}: {found[0]}" for folder in BELOW_NAMES
              for path in (ROOT / "src/agnesi" / folder).rglob("*.py")
              for found in re.finditer(r"(?<!`)\b[Aa]sk(s|ed|ing)?\b(?!`|\()", prose_of(path))]
    assert vague == []


def names_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr


def test_names_say_what_values_are():
    vague = []
    for path, tree in trees().items():
        below = path.relative_to(ROOT / "src/agnesi").parts[0] in BELOW_NAMES
        refused = VAGUE_PARTS | (VAGUE_PARTS_OF_CODE if below else set())
        vague += [f"{name_of(path)}: {name}" for name in dict.fromkeys(names_in(tree))
                  if not refused.isdisjoint(IN_PLACE.sub("_", name.lower()).split("_"))
                  and not (name in PUBLIC_NAMES and name_of(path) in PUBLIC_IN)]
    assert vague == []
