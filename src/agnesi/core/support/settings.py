"""The settings there are: their environment variables, what they are at first, and may be."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from agnesi.core.support.errors import at, shown, warn


def _flag(text: str) -> bool:
    off, on = ("", "0", "false", "no", "off"), ("1", "true", "yes", "on")
    if text.lower() not in off + on:
        raise ValueError("it must be 0 or 1")
    return text.lower() in on


def _openmp_bound(text: str) -> int:
    """``OMP_NUM_THREADS`` may hold a number for each level of nesting; the first counts."""
    first = text.split(",")[0].strip()
    return int(first) if first.isdigit() else 0


def _folder(value: Any) -> str:
    """A folder by its full path, so that it stays the same when the working folder changes.

    What needs a home or a working folder that is not there stays as it is: no full path.
    """
    try:
        text = os.fsdecode(value)
        if b"\0" in os.fsencode(text):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"config.cache_dir must be the path of a folder, not {value!r}") from None
    found = os.path.expanduser(text)
    with contextlib.suppress(OSError):
        return os.path.abspath(found) if found and not found.startswith("~") else found
    return found


#: Settings, their environment variables and how to read them; a later row wins.
VARIABLES: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("default_float", "AGNESI_DEFAULT_FLOAT", str),
    ("symbolic_float", "AGNESI_SYMBOLIC_FLOAT", str),
    ("optimizer", "AGNESI_OPTIMIZER", str),
    ("save_dtype", "AGNESI_SAVE_DTYPE", str),
    ("algebra", "AGNESI_ALGEBRA", str),
    ("compile", "AGNESI_COMPILE", _flag),
    ("verify", "AGNESI_VERIFY", _flag),
    ("cache", "AGNESI_CACHE", _flag),
    ("cache_dir", "AGNESI_CACHE_DIR", str),
    ("conv_algorithm", "AGNESI_CONV_ALGORITHM", str),
    ("conv_forward", "AGNESI_CONV_FORWARD", str),
    ("conv_input", "AGNESI_CONV_INPUT", str),
    ("conv_weight", "AGNESI_CONV_WEIGHT", str),
    ("conv_exclude", "AGNESI_CONV_EXCLUDE", str),
    ("lapack", "AGNESI_LAPACK", str),
    ("target", "AGNESI_TARGET", str),
    ("seed", "AGNESI_SEED", int),
    ("threads", "OMP_NUM_THREADS", _openmp_bound),
    ("threads", "AGNESI_NUM_THREADS", int),
)
#: Variables by which launchers speak to processes, and those of this library's own tests.
_OTHERS = frozenset(f"AGNESI_{name}" for name in (
    "RANK WORLD_SIZE GROUP RESTART MEMBER EVERY_CASE FUZZ TEST TEST_BOX TEST_NUMBER".split()))
#: The initial value of each setting.
DEFAULTS: dict[str, Any] = {
    "default_float": "float32",
    "symbolic_float": "float64",
    "optimizer": "fast_run",
    "save_dtype": "",
    "algebra": "exact",
    "compile": True,
    "verify": False,
    "cache": True,
    "cache_dir": "",
    "conv_algorithm": "auto",
    "conv_forward": "",
    "conv_input": "",
    "conv_weight": "",
    "conv_exclude": "",
    "lapack": "",
    "target": "native",
    "seed": None,
    "threads": 0,
}
_CONVOLVE = (
    "implicit_gemm", "direct", "unfold", "fft", "reference",
    "auto", "guess_once", "guess_on_shape_change", "time_once", "time_on_shape_change",
)
#: What settings may be.
CHOICES = {
    "conv_algorithm": _CONVOLVE,
    **dict.fromkeys(("conv_forward", "conv_input", "conv_weight"), ("", *_CONVOLVE)),
    "default_float": ("float16", "float32", "float64"),
    "symbolic_float": ("float16", "float32", "float64"),
    "algebra": ("exact", "real"),
    "target": ("native", "scalar"),
    "optimizer": ("None", "fast_compile", "fast_run"),
    "save_dtype": ("", "float16", "bfloat16", "float32"),
}


def instead(name: str) -> str:
    """For an error: the setting with a similar name, or the names of all."""
    import difflib  # late: few need it

    if name == "update":  # JAX's function
        return "write ag.config.name = value, such as ag.config.default_float = 'float64'"
    if name == "floatX":  # Theano's
        return "default_float is the dtype of tensors, symbolic_float that of declared variables"
    near = difflib.get_close_matches(name, DEFAULTS, 1, 0.75)
    return f"did you mean {near[0]!r}?" if near else f"there are {sorted(DEFAULTS)}"


def initial(environment: Mapping[str, str]) -> dict[str, Any]:
    """The values of all settings at first; a warning where a variable is no setting's."""
    values, known = dict(DEFAULTS), set(_OTHERS)
    for name, variable, parse in VARIABLES:
        known.add(variable)
        if variable in environment:
            values[name] = _read(name, variable, parse, environment[variable])
    for variable in environment:
        if variable.startswith("AGNESI_") and variable not in known:
            warn(f"the environment variable {variable} sets nothing; {_like(variable)}")
    return values


def _like(variable: str) -> str:
    """For a warning: the variable with a similar name, or the names of all."""
    import difflib  # late: few need it

    known = [name for _, name, _ in VARIABLES if name.startswith("AGNESI_")]
    own = {name.removeprefix("AGNESI_"): name for name in known}
    short = variable.removeprefix("AGNESI_")
    near = difflib.get_close_matches(short, own, 1, 0.6) or [name for name in own if short in name]
    return f"did you mean {own[near[0]]}?" if near else f"there are {', '.join(sorted(known))}"


def _read(name: str, variable: str, parse: Callable[[str], Any], text: str) -> Any:
    """The value of a setting that an environment variable gives."""
    try:
        return checked(name, parse(text))
    except ValueError as error:
        reason = str(error) if "must be" in str(error) else "it must be an integer"
        raise ValueError(f"the environment variable {variable} is {text!r}: {reason}") from None


def _is_seed(value: Any) -> bool:
    """Return whether a value may be a seed: None, a number of at least 0, or several of them."""
    several = value if isinstance(value, (list, tuple)) else [value]
    return value is None or all(isinstance(n, (int, np.integer)) and n >= 0 for n in several)


#: By the type of a setting's initial value: the values that it accepts, in words and as a check.
_KINDS: dict[type, tuple[str, Callable[[Any], bool]]] = {
    bool: ("True or False", lambda v: isinstance(v, (bool, np.bool_)) or v in (0, 1)),
    str: ("a text", lambda v: isinstance(v, str)),
    type(None): ("an integer of at least 0, or None", _is_seed),
}


def checked(name: str, value: Any) -> Any:
    """The value of a setting as it is kept; an error where it cannot have that value."""
    if name not in DEFAULTS:
        raise AttributeError(at(f"config has no setting {name!r}; {instead(name)}"))
    if name.endswith("_float"):
        with contextlib.suppress(TypeError):  # what it may be is said below
            value = np.dtype(value).name
    if name == "optimizer" and value is None:
        value = "None"
    if name == "cache_dir":
        value = _folder(value)
    if name == "threads" and (not isinstance(value, int) or value < 0):
        raise ValueError(at(f"config.threads must be a number of threads or 0, not {shown(value)}"))
    kind = _KINDS.get(type(DEFAULTS[name]))
    if kind is not None and not kind[1](value):
        raise ValueError(at(f"config.{name} must be {kind[0]}, not {shown(value)}"))
    if name in CHOICES and value not in CHOICES[name]:
        raise ValueError(at(f"config.{name} must be one of {CHOICES[name]}, not {shown(value)}"))
    return value
