"""``theano.config``: floatX, and settings that have no meaning here but may be read and set."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from configparser import RawConfigParser
from contextlib import contextmanager, suppress
from typing import Any

from agnesi.core.support.config import config as ours
from agnesi.core.support.config import settings_of
from agnesi.core.support.errors import at
from agnesi.core.support.migration_hints import nearest

#: What Theano's programs read, and what it is there.
_DEFAULTS: dict[str, Any] = {
    "device": "cpu", "mode": "Mode", "optimizer": "fast_run", "compute_test_value": "off",
    "exception_verbosity": "low", "linker": "cvm", "cxx": "", "blas.ldflags": "",
    "openmp": False, "allow_gc": True, "profile": False, "on_unused_input": "raise",
    "cast_policy": "custom", "int_division": "int", "intermediate_numeric": "raise",
    "base_compiledir": "", "compiledir": "", "warn_float64": "ignore", "traceback.limit": 8,
    "print_active_device": False, "gpuarray.preallocate": 0.0, "print_test_value": False,
    "warn.ignore_bug_before": "0.9", "scan.allow_gc": False, "nocleanup": False,
}
#: Names of Theano's and PyTensor's other settings, which are off unless a program sets them.
_OTHERS = frozenset("""
allow_output_prealloc assert_no_cpu_op autocast_float autocast_float_as
check_input check_stack_trace compiledir_format compiler_verbose compute_test_value_opt
contexts cublas.lib cycle_detection deterministic enable_initial_driver_test
experimental.local_alloc_elemwise experimental.local_alloc_elemwise_assert
experimental.unpickle_gpu_on_cpu force_device gcc_version_str gpucorr.cudnn_convolution_first
init_gpu_device magma.enabled magma.include_path magma.library_path
on_opt_error on_shape_error openmp_elemwise_minsize optimizer_excluding optimizer_including
optimizer_requiring optimizer_verbose optimizer_verbose_ignore optdb.max_use_ratio
optdb.position_cutoff print_global_stats profile_memory profile_optimizer pycuda.init
reoptimize_unpickled_function sched_affinity seed tensor.cmp_sloppy
tensor.insert_inplace_optimizer_validate_nb tensor.local_elemwise_fusion traceback.compile_limit
unittests.rseed unpickle_function warn_float64 scan.allow_output_prealloc scan.debug
vm.lazy numpy.seterr_all numpy.seterr_divide numpy.seterr_over numpy.seterr_under
numpy.seterr_invalid
""".split())
#: First parts of names after which anything may follow.
_SECTIONS = ("warn", "lib", "DebugMode", "NanGuardMode", "dnn", "nvcc", "conv", "metaopt", "cuda",
             "gpuarray", "gcc", "cmodule", "profiling", "compile", "blas", "ctc", "numba",
             "unittests", "experimental", "magma")

#: Settings that are one of some words.
_WORDS = {name: frozenset(words.split()) for name, words in {
    "exception_verbosity": "low high", "on_unused_input": "raise warn ignore",
    "cast_policy": "custom numpy+floatX", "int_division": "int raise floatX",
    "warn_float64": "ignore warn raise pdb",
    "optimizer": "o4 o3 o2 o1 unsafe fast_run fast_compile merge None",
    "linker": "c|py py c c|py_nogc cvm cvm_nogc vm vm_nogc jax numba pytorch mlx",
}.items()}
#: What is called with the new value of a setting, by its name; it may refuse the value.
ON_CHANGE: dict[str, Callable[[Any], None]] = {}
_DEVICE = re.compile(r"(cpu|gpu\d*|cuda\d*|opencl\d+:\d+)")


class _Section:
    """Settings under one name, as ``config.scan.allow_gc``."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        name = f"{self._name}{key}"
        if name == "floatX":
            return ours.symbolic_float
        if name == "config":  # of theano.configdefaults and theano.configparser, which it is, too
            return self
        if any(known.startswith(f"{name}.") for known in (*_DEFAULTS, *_OTHERS)) or (
                name in _SECTIONS):
            return _Section(f"{name}.")
        if name not in _DEFAULTS and name not in _OTHERS and (
                name.partition(".")[0] not in _SECTIONS):
            raise AttributeError(at(f"theano.config has no setting {name!r}{_near(name)}"))
        return _DEFAULTS.get(name, False)

    def __setattr__(self, key: str, value: Any) -> None:
        name = f"{self._name}{key}"
        if name == "floatX":
            if value not in (kinds := ("float16", "float32", "float64")):
                raise ValueError(at(f"theano.config.floatX must be one of {kinds}, not {value!r}"))
            ours.symbolic_float = value
        else:
            if name not in _DEFAULTS and name not in _OTHERS and (advice := _near(name)):
                raise AttributeError(at(f"theano.config has no setting {name!r}{advice}"))
            if name in ON_CHANGE:
                ON_CHANGE[name](value)
            words = _WORDS.get(name)
            if words is not None and str(value) not in words:
                raise ValueError(at(f"theano.config.{name} must be one of {sorted(words)}, not "
                                    f"{value!r}"))
            if name == "device" and _DEVICE.fullmatch(str(value)) is None:
                raise ValueError(at("theano.config.device must be 'cpu', or 'cuda' or 'gpu', "
                                    f"perhaps with a number, which are the processor here, not "
                                    f"{value!r}"))
            _DEFAULTS[name] = value

    @contextmanager
    def change_flags(self, *advice: Any, **values: Any) -> Iterator[None]:
        """A block (or decorator) in which settings are others; a dict is given by position, names
        with dots have ``__`` in their place."""
        new = {k.replace("__", "."): v for given in (*advice, values) for k, v in given.items()}
        old = {k: ours.symbolic_float if k == "floatX" else _DEFAULTS.get(k, False) for k in new}
        try:
            for k, v in new.items():
                setattr(self, k, v)
            yield
        finally:
            for k, v in old.items():
                setattr(self, k, v)


class _Cased(RawConfigParser):
    """A reader of files whose names keep their case: floatX."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


def _value(text: str) -> Any:
    """A value as flags and files of settings write it."""
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() in words and text not in ("0", "1"):
        return words[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _settings_of_files() -> Iterator[tuple[str, str]]:
    """Settings of the files that THEANORC names (``~/.theanorc`` by default), then of THEANO_FLAGS,
    which wins; PyTensor's names of both go, too."""
    for library in ("THEANO", "PYTENSOR"):
        flags, files = settings_of(library)
        parser = _Cased()
        parser.read(map(os.path.expanduser, files.split(os.pathsep)))
        for section in parser.sections():
            first = "" if section == "global" else f"{section}."
            yield from ((f"{first}{key}", text) for key, text in parser.items(section))
        for flag in flags.split(","):
            name, sign, text = flag.partition("=")
            if sign:
                yield name.strip(), text.strip()


def read_settings() -> None:
    """Let settings be what the environment says; names that are unknown say nothing, as there."""
    for name, text in _settings_of_files():
        known = name in ("floatX", *_DEFAULTS, *_OTHERS) or name.partition(".")[0] in _SECTIONS
        if known:
            setattr(config, name, _value(text))


def _near(name: str) -> str:
    """The setting that was probably meant."""
    found = nearest(name, ("floatX", *_DEFAULTS, *_OTHERS), 0.8)
    return f"; did you mean {found!r}?" if found else ""


#: The settings.
config = _Section("")
