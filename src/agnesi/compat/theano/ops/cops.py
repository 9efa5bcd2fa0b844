"""Operations in files of C code with sections, as Theano's programs write them: ``COp``."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Sequence
from typing import Any

from agnesi.compat.theano.ops.base import Op
from agnesi.compat.theano.ops.c_code import macros
from agnesi.compat.theano.ops.params import arguments
from agnesi.compat.theano.types import Apply
from agnesi.core.support.errors import at

#: What may stand behind ``#section`` in a file of an operation.
SECTIONS = ("support_code", "support_code_apply", "support_code_struct", "init_code",
            "init_code_apply", "init_code_struct", "cleanup_code_struct", "code", "code_cleanup")
_SECTION = re.compile(r"^[ \t]*#section[ \t]+(\w+)[ \t]*$", re.MULTILINE)


class COp(Op):
    """Base of operations in a file of C code, in sections: ``#section support_code_apply``.

    :param func_files: The files; relative ones are beside the file that defines the class.
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
        """The path of a file that is beside the file that defines the class."""
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
        return (macros(node, name) + self._parts.get("support_code_apply", "")
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
