"""Operations whose values C code computes, as Theano's programs write them: ``c_code``, ``COp``.

The code sees NumPy's arrays as ``PyArrayObject *`` under the names that it is given, and is
compiled as C++ by the system's compiler when it is first needed; errors name the user's file.
"""

from __future__ import annotations

import inspect
import os
import re
import sysconfig
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.ops.base import Op
from agnesi.compat.theano.ops.params import (
    arguments,
    packed,
    params_of,
    params_type_of,
    substitutions,
)
from agnesi.compat.theano.types import Apply
from agnesi.compiler import c_source
from agnesi.core.support.errors import at

#: What may stand behind ``#section`` in a file of an operation.
SECTIONS = ("support_code", "support_code_apply", "support_code_struct", "init_code",
            "init_code_apply", "init_code_struct", "cleanup_code_struct", "code", "code_cleanup")
_SECTION = re.compile(r"^[ \t]*#section[ \t]+(\w+)[ \t]*$", re.MULTILINE)
_HEADERS = ("<Python.h>", "<numpy/arrayobject.h>", "<iostream>", "<math.h>", "<stdlib.h>",
            "<string.h>", "<stdint.h>", "<stddef.h>")
#: The name by which code tells its functions from those of other nodes.
_NAME = "of_node"


class COp(Op):
    """Base of operations in a file of C code, in sections: ``#section support_code_apply``.

    :param func_files: The files; relative ones lie beside the file that defines the class.
    :type func_files: str or list of str
    :param func_name: The function that computes: of the inputs, and of the addresses of the
        outputs; it returns 0 where it went well.  Without one there is a section ``code``.
    """

    def __init__(self, func_files: Any, func_name: str | None = None) -> None:
        given = func_files if isinstance(func_files, (list, tuple)) else [func_files]
        self.func_name = func_name
        self.func_files = [self.get_path(f) for f in given]
        self._parts: dict[str, str] = {}
        for path in self.func_files:
            if not os.path.isfile(path):
                raise FileNotFoundError(at(f"{type(self).__name__}: there is no file {path} of C "
                                           "code"))
            with open(path, encoding="utf-8") as file:
                self._read(path, file.read())
        if func_name is None and "code" not in self._parts:
            raise ValueError(at(f"{type(self).__name__}: no file has a #section code; name the "
                                "function that computes, COp(files, name)"))
        if func_name is not None and "code" in self._parts:
            raise ValueError(at(f"{type(self).__name__}: the files have a #section code, and "
                                f"{func_name} computes, too: one of them does"))

    @classmethod
    def get_path(cls, f: str) -> str:
        """The path of a file that lies beside the file that defines the class."""
        if os.path.isabs(f):
            return f
        return os.path.abspath(os.path.join(os.path.dirname(inspect.getfile(cls)), f))

    def _read(self, path: str, text: str) -> None:
        marks = list(_SECTION.finditer(text))
        if not marks:
            raise ValueError(at(f"{type(self).__name__}: {path} has no sections; write #section "
                                "support_code_apply before the code"))
        ends = [*(m.start() for m in marks[1:]), len(text)]
        for mark, end in zip(marks, ends, strict=True):
            line = text.count("\n", 0, mark.end()) + 1
            if mark[1] not in SECTIONS:
                raise ValueError(at(f"there is no #section {mark[1]}; there are "
                                    f"{', '.join(SECTIONS)}\n  at {path}:{line}"))
            file = path.replace("\\", "\\\\").replace('"', '\\"')
            self._parts[mark[1]] = (self._parts.get(mark[1], "")
                                    + f'\n#line {line + 1} "{file}"\n{text[mark.end() + 1: end]}\n')

    def c_support_code(self) -> str:
        """What stands before everything."""
        return self._parts.get("support_code", "")

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """What stands before the function, and may use the macros of dtypes."""
        return (_macros(node, name) + self._parts.get("support_code_apply", "")
                + self._parts.get("support_code_struct", ""))

    def c_init_code(self) -> list[str]:
        """What runs once."""
        return [self._parts.get(k, "") for k in ("init_code", "init_code_apply",
                                                 "init_code_struct")]

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str],
               sub: dict[str, str]) -> str:
        """The code of one call."""
        if self.func_name is not None:
            given = ", ".join((*inputs, *(f"&{y}" for y in outputs), *arguments(sub)))
            return f"if ({self.func_name}({given}) != 0) {sub['fail']}"
        names = "".join(f"#define {kind}_{k} {x}\n" for kind, xs in (
            ("INPUT", inputs), ("OUTPUT", outputs)) for k, x in enumerate(xs))
        if "params" in sub:
            names += f"#define PARAMS {sub['params']}\n"
        return (f"\n#define FAIL {sub['fail']}\n{names}{self._parts['code']}"
                + self._parts.get("code_cleanup", ""))


ExternalCOp = COp


def _macros(node: Apply, name: str) -> str:
    """The macros that code reads dtypes from."""
    lines = [f"#define APPLY_SPECIFIC(str) str##_{name}"]
    for kind, variables in (("INPUT", node.inputs), ("OUTPUT", node.outputs)):
        for k, x in enumerate(variables):
            dtype = np.dtype(x.dtype)
            lines += [f"#define DTYPE_{kind}_{k} npy_{dtype.name}",
                      f"#define TYPENUM_{kind}_{k} {dtype.num}",
                      f"#define ITEMSIZE_{kind}_{k} {dtype.itemsize}"]
    return "\n".join(lines) + "\n"


def _asked(op: Any, method: str, *args: Any) -> list[str]:
    """What a method of an operation returns: lines, or nothing where there is no such method."""
    found = getattr(op, method, None)
    found = [] if found is None else found(*args)
    return [found] if isinstance(found, str) else list(found or ())


def program(op: Any, node: Apply) -> str:
    """The text that is compiled for a node."""
    ins, outs = ([f"{kind}{k}" for k in range(len(variables))] for kind, variables in (
        ("agnesi_in_", node.inputs), ("agnesi_out_", node.outputs)))
    headers = [h if h[0] in '<"' else f"<{h}>" for h in _asked(op, "c_headers")]
    params = params_type_of(op)
    code = op.c_code(node, _NAME, ins, outs,
                     {"fail": "{goto agnesi_failure;}", **substitutions(op)})
    end = '\n#line 1 "operation.cpp"\n'
    return "\n".join((
        *(f"#include {h}" for h in (*_HEADERS, *headers)),
        params.struct() if params else "",
        *_asked(op, "c_support_code"), *_asked(op, "c_support_code_apply", node, _NAME), end,
        'extern "C" PyObject *agnesi_start(void) {', "  import_array();",
        *_asked(op, "c_init_code"), end, "  Py_RETURN_NONE;", "}",
        'extern "C" PyObject *agnesi_run(PyObject *inputs, PyObject *outputs, '
        "PyObject *params) {", *(params.unpacking() if params else ()),
        *(f"  PyArrayObject *{x} = (PyArrayObject *)PyList_GET_ITEM(inputs, {k});"
          for k, x in enumerate(ins)),
        *(f"  PyArrayObject *{y} = NULL;" for y in outs), "  {", code, end, "  }",
        *(f"  if ({y}) {{ PyList_SetItem(outputs, {k}, (PyObject *){y}); {y} = NULL; }}"
          for k, y in enumerate(outs)),
        "  Py_RETURN_NONE;", "  goto agnesi_failure;", "agnesi_failure:",
        *(f"  Py_XDECREF({y});" for y in outs),
        "  if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, \"the C code failed\");",
        "  return NULL;", "}", ""))


def run(op: Any, node: Apply, inputs: Sequence[Any], storage: Sequence[Any]) -> None:
    """Compute a node's outputs by its C code."""
    folders = [sysconfig.get_paths()["include"], np.get_include(), *_asked(op, "c_header_dirs")]
    flags = [*(f"-I{folder}" for folder in folders), *_asked(op, "c_compile_args"),
             *(f"-L{folder}" for folder in _asked(op, "c_lib_dirs")),
             *(f"-l{library}" for library in _asked(op, "c_libraries"))]
    code = c_source.extension(program(op, node), tuple(flags), type(op).__name__)
    found: list[Any] = [None] * len(storage)
    params = packed(params_type_of(op), params_of(op, node))
    code.agnesi_run([np.asarray(x) for x in inputs], found, params)
    for k, (cell, value) in enumerate(zip(storage, found, strict=True)):
        if value is None:
            raise TypeError(at(f"{type(op).__name__}: the C code gives output {k} no array"))
        cell[0] = value
