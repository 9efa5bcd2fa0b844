"""Programs in C that compute values of operations, made from the methods by which
Theano's operations describe them: ``c_code``, ``c_support_code``, ``c_headers``.

The code sees NumPy's arrays as ``PyArrayObject *`` under the names that it is given, and is
compiled as C++ by the system's compiler when it is first needed; errors name the user's file.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from typing import Any

import numpy as np

from agnesi.compat.theano.ops.params import packed, params_of, params_type_of, substitutions
from agnesi.compat.theano.types import Apply
from agnesi.compiler import c_source
from agnesi.core.support.errors import at

_HEADERS = ("<Python.h>", "<numpy/arrayobject.h>", "<iostream>", "<math.h>", "<stdlib.h>",
            "<string.h>", "<stdint.h>", "<stddef.h>")
#: The name by which code distinguishes its functions from those of other nodes.
_NAME = "of_node"


def macros(node: Apply, name: str) -> str:
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
