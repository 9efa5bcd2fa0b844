"""Which library BLAS and LAPACK come from: NumPy's own, one that the user names, or none."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from agnesi.core.ir import foreign
from agnesi.core.ir.foreign import Argument
from agnesi.core.public import public
from agnesi.core.support.config import config
from agnesi.core.support.forks import unforked

#: First letters of the functions for a dtype.
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
#: How libraries spell functions, with the IR type of their integers.
_SPELLINGS = (("scipy_{}_64_", "i64"), ("{}_64_", "i64"), ("scipy_{}_", "i32"), ("{}_", "i32"))
#: What returns a library's name: a function without arguments that gives a text.
_CONFIG_FUNCTIONS = (
    "scipy_openblas_get_config64_", "openblas_get_config64_", "scipy_openblas_get_config",
    "openblas_get_config", "openblas_get_config_64_", "bli_info_get_version_str")
_OPENMP = 2  # OpenBLAS says so
#: By an exported symbol that only it has: the name of each BLAS library.
_MARKS = {"mkl_get_max_threads": "MKL", "ATL_buildinfo": "ATLAS", "appleblas_sgemm": "Accelerate"}


@cache
@unforked()
def _opened(file: str) -> Any:
    """A shared library; by default NumPy's module, through which we find what it is linked to."""
    if file == "none":
        return None
    try:
        return ctypes.CDLL(file or import_module("numpy.linalg._umath_linalg").__file__)
    except (OSError, ImportError):
        if file:
            raise ValueError(f"config.lapack: there is no library {file!r}") from None
        return None


@cache
def _in(file: str, name: str) -> tuple[int | None, str]:
    for pattern, kind in _SPELLINGS:
        function = getattr(_opened(file), pattern.format(name), None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value, kind
    return None, "i64"


def _found(name: str) -> tuple[int | None, str]:
    """The address of a function, and the IR type of its integers."""
    return _in(config.lapack, name)


def address(name: str) -> int | None:
    """Where a function is in this process, if it is there."""
    return _found(name)[0]


def has(name: str, dtype: np.dtype) -> bool:
    """Return whether there is a function for a dtype."""
    return address(LETTERS[dtype.name] + name) is not None


def index_type() -> str:
    """The dtype of the library's integers."""
    return {"i64": "int64", "i32": "int32"}[_found("dgetrf")[1]]


def symbol(name: str, dtype: np.dtype) -> str:
    """Return a function's symbol in the library; one with integers of another size is not used."""
    return f"lapack of {index_type()}:{LETTERS[dtype.name]}{name}"


def _resolver(integers: str) -> Any:
    return lambda name: address(name) if index_type() == integers else None


for _integers in ("int32", "int64"):
    foreign.RESOLVERS[f"lapack of {_integers}"] = _resolver(_integers)


def counts() -> tuple[int, int] | None:
    """Where NumPy's library has its number of threads, and takes another: for all who call it.

    None where that is not possible, or counts for the calling thread only.
    """
    kind, set_threads, taken = (
        _in("", f"openblas_{name}")[0]
        for name in ("get_parallel", "get_num_threads", "set_num_threads")
    )
    if kind is None or set_threads is None or taken is None:
        return None
    openmp = ctypes.CFUNCTYPE(ctypes.c_int)(kind)() == _OPENMP
    return None if openmp else (set_threads, taken)


def size(n: Any) -> Argument:
    """A size as the library wants it."""
    return Argument(_found("dgetrf")[1], n)


@public
def backend() -> str:
    """The library that linear algebra calls, also from compiled code.

    ``agnesi.config.lapack`` (or ``AGNESI_LAPACK``) chooses it: "" is the one that NumPy has loaded;
    a file, as "libmkl_rt.so", another one; with "none" there is none, and small systems are solved
    by generated code, all else by NumPy's functions.  It counts for what is compiled afterwards.

    :returns: Its name, version and the size of its integers.
    :see: config, linalg.solve

    >>> with ag.config(lapack="none"):
    ...     print(ag.linalg.backend())
    generated code and NumPy
    """
    if address("dgetrf") is None:
        return "generated code and NumPy"
    bits = 64 if index_type() == "int64" else 32
    return f"{_name(_opened(config.lapack))}, {bits}-bit integers"


def _name(library: Any) -> str:
    for candidate in _CONFIG_FUNCTIONS:
        function = getattr(library, candidate, None)
        if function is not None:
            function.restype, function.argtypes = ctypes.c_char_p, ()
            return function().decode().strip()
    for mark, name in _MARKS.items():
        if hasattr(library, mark):
            return name
    return "LAPACK"
