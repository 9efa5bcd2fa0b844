"""C source to functions, by the system's compiler; its errors name the user's file and line.

A source is plain, and defines ``int32_t NAME(void **arrays, int64_t *sizes)``, or it has sections:
``#section support_code`` stands as it is, ``#section code`` is the body of that function, in which
operands and results are typed pointers by their names.
"""

from __future__ import annotations

import ctypes
import functools
import linecache
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from agnesi.core.support.errors import at, location
from agnesi.core.support.forks import unforked
from agnesi.core.support.record import record

COMPILERS = ("cc", "gcc", "clang")
CXX_COMPILERS = ("c++", "g++", "clang++")
_CXX_FLAGS = ("-O2", "-march=native", "-ffp-contract=off", "-shared", "-fPIC", "-fpermissive", "-w")
_FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC",
          "-Werror=implicit-function-declaration")
_HEAD = "#include <stdint.h>\n#include <stddef.h>\n#include <math.h>\n#include <string.h>\n"
_TYPES = {
    "bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float",
    "float64": "double", "complex64": "float _Complex", "complex128": "double _Complex",
    **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)},
}
_SECTION = re.compile(r"^[ \t]*#section[ \t]+(\w+)[ \t]*$", re.MULTILINE)
_SECTIONS = ("support_code", "code")


@record
class Source:
    """C text and where it stands.

    :ivar text: The source.
    :ivar file, line: The user's file and the line of it in which the text begins.
    """

    text: str
    file: str
    line: int


def source_of(given: Any, where: Any) -> Source:
    """C source from a text in the user's program, or from a file: a path, or its text.

    :raises FileNotFoundError: If there is no such file.
    """
    if isinstance(given, os.PathLike) or (given.endswith(".c") and len(given.split("\n")) == 1):
        path = os.path.abspath(given)
        if not os.path.isfile(path):
            raise FileNotFoundError(at(f"there is no file {path} of C source"))
        with open(path, encoding="utf-8") as file:
            return Source(file.read(), path, 1)
    name, _, line = location(where).rpartition(":")
    return Source(given, name or "source", _begin(given, name, int(line) if line.isdigit() else 1))


def _begin(text: str, file: str, line: int) -> int:
    """The line of a file in which a text begins; the given one where it is not found."""
    first = next((k for k, part in enumerate(text.split("\n")) if part.strip()), 0)
    wanted = text.split("\n")[first:][:3]
    lines = [part.rstrip("\n") for part in linecache.getlines(file)]
    for k in range(len(lines)):
        if all(a.strip() and a in b for a, b in zip(wanted[:1], lines[k:], strict=False)) and (
                lines[k + 1: k + len(wanted)] == wanted[1:] or len(wanted) < 3):
            return k + 1 - first
    return line


def is_sectioned(source: Source) -> bool:
    """Return whether a source has sections."""
    return _SECTION.search(source.text) is not None


@functools.cache
def compiler() -> str:
    """The system's C compiler, or "" where there is none."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), "")


def program(source: Source, name: str, names: Sequence[str], dtypes: Sequence[str],
            ndims: Sequence[int]) -> str:
    """The whole text that is compiled.

    ``names`` are those of operands and results, whose ``dtypes`` and ``ndims`` follow; ``name`` is
    that of the function of sections.

    :raises ValueError: If a section has a name that there is not, there is no ``code``, or an
        operand has the name of a result.
    """
    if not is_sectioned(source):
        return f"{_HEAD}{_line(source, source.line)}{source.text}\n"
    parts = _sections(source)
    twice = next((x for x in names if names.count(x) > 1), None)
    if twice is not None:
        raise ValueError(at(f"{twice} is a result in the C source, and an operand, too: give the "
                            f"operand another name\n  at {source.file}:{source.line}"))
    body = [f"int32_t {name}(void **arrays, int64_t *sizes) {{"]
    first = 0
    for k, (title, dtype, ndim) in enumerate(zip(names, dtypes, ndims, strict=True)):
        counted = " * ".join(f"sizes[{first + a}]" for a in range(ndim)) or "1"
        body += [f"  {_TYPES[dtype]} *{title} = arrays[{k}];",
                 f"  const int64_t *{title}_shape = sizes + {first};",
                 f"  const int64_t {title}_size = {counted};"]
        first += ndim
    line, text = parts["code"]
    support = "".join(f"{_line(source, at)}{more}\n" for at, more in (
        [parts["support_code"]] if "support_code" in parts else []))
    return "\n".join((f"{_HEAD}{support}", *body, f"{_line(source, line)}{text}", "  return 0;",
                      "}", ""))


def _line(source: Source, line: int) -> str:
    escaped = source.file.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {line} "{escaped}"\n'


def _sections(source: Source) -> dict[str, tuple[int, str]]:
    """Each section's first line and text."""
    found: dict[str, tuple[int, str]] = {}
    marks = list(_SECTION.finditer(source.text))
    for mark, end in zip(marks, [*(m.start() for m in marks[1:]), len(source.text)], strict=True):
        line = source.line + source.text.count("\n", 0, mark.end()) + 1
        if mark[1] not in _SECTIONS:
            raise ValueError(at(f"there is no #section {mark[1]}; there are "
                                f"{' and '.join(_SECTIONS)}\n  at {source.file}:{line - 1}"))
        found[mark[1]] = line, source.text[mark.end() + 1: end]
    if "code" not in found:
        raise ValueError(at(f"the C source has no #section code\n  at {source.file}:{source.line}"))
    return found


@functools.cache
def compiled(text: str, function: str, name: str) -> tuple[int, Any]:
    """The address of a function of a program, and the library that it lives in; ``name`` is that
    of the operation, for errors.

    :raises RuntimeError: If there is no compiler.
    :raises ValueError: If it does not compile, or has no function of the name; the text is the
        compiler's.
    """
    if not compiler():
        raise RuntimeError(at(
            f"{name} is C source, and there is no compiler ({', '.join(COMPILERS)}) to be found: "
            "install one, or give c= the address of a function"))
    found = _library(text, name, compiler(), ".c", _FLAGS, _opened)
    try:
        pointer = getattr(found, function)
    except AttributeError:
        raise ValueError(at(f"the C source defines no function {function}(void **arrays, int64_t "
                            "*sizes)")) from None
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0, found


@functools.cache
def extension(text: str, flags: tuple[str, ...], name: str) -> Any:
    """The library of C++ code that works with Python's objects; ``agnesi_start`` has run.

    :raises RuntimeError: If there is no compiler.
    :raises ValueError: If it does not compile; the text is the compiler's.
    """
    found = next((path for known in CXX_COMPILERS if (path := shutil.which(known))), "")
    if not found:
        raise RuntimeError(at(f"{name} is C code, and there is no compiler "
                              f"({', '.join(CXX_COMPILERS)}) to be found: install one, or write "
                              f"{name}.perform in Python"))
    library = _library(text, name, found, ".cpp", (*_CXX_FLAGS, *flags), _opened_with_objects)
    library.agnesi_start.restype = library.agnesi_run.restype = ctypes.py_object
    library.agnesi_run.argtypes = (ctypes.py_object,) * 3
    library.agnesi_start()
    return library


def _library(text: str, name: str, program: str, suffix: str, flags: Sequence[str],
             opened: Callable[[str], Any]) -> Any:
    """The library that a compiler makes of a text; ``opened`` opens it."""
    with tempfile.TemporaryDirectory() as folder:
        path, library = os.path.join(folder, f"source{suffix}"), os.path.join(folder, "source.so")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        shared = [flag for flag in flags if flag.startswith(("-l", "-L"))]
        others = [flag for flag in flags if flag not in shared]
        done = subprocess.run([program, *others, path, "-o", library, *shared, "-lm"], text=True,
                              capture_output=True, check=False)
        if done.returncode:
            raise ValueError(at(f"the C source of {name} does not compile:\n"
                                f"{_format_messages(done.stderr)}"))
        try:
            return opened(library)
        except OSError as error:
            why = str(error).rpartition(": ")
            raise ValueError(at(f"the C source of {name} uses what no library defines: "
                                f"{why[2]}")) from None


def _format_messages(text: str) -> str:
    """Return a compiler's messages about the user's code, errors first."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if ": error:" in line or ": fatal error:" in line]
    return "\n".join(f"  {line}" for line in (errors or lines)[:10])


@unforked()
def _opened(path: str) -> ctypes.CDLL:
    return ctypes.CDLL(path)


@unforked()
def _opened_with_objects(path: str) -> ctypes.PyDLL:
    return ctypes.PyDLL(path)
