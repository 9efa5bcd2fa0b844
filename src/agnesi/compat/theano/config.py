"""``theano.config``: floatX, and settings that have no meaning here but may be read and set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from agnesi.core.support.config import config as ours

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
        if any(known.startswith(f"{name}.") for known in _DEFAULTS) or name in (
                "warn", "lib", "DebugMode", "NanGuardMode", "dnn", "nvcc", "conv", "metaopt"):
            return _Section(f"{name}.")
        return _DEFAULTS.get(name, False)

    def __setattr__(self, key: str, value: Any) -> None:
        name = f"{self._name}{key}"
        if name == "floatX":
            ours.symbolic_float = value
        else:
            if name == "compute_test_value":
                import_module("agnesi.compat.theano.testvalues").switch(value)
            _DEFAULTS[name] = value

    @contextmanager
    def change_flags(self, *told: Any, **values: Any) -> Iterator[None]:
        """A block (or decorator) in which settings are others; a dict is told by place, names
        with dots have ``__`` in their place."""
        new = {k.replace("__", "."): v for given in (*told, values) for k, v in given.items()}
        old = {k: ours.symbolic_float if k == "floatX" else _DEFAULTS.get(k, False) for k in new}
        try:
            for k, v in new.items():
                setattr(self, k, v)
            yield
        finally:
            for k, v in old.items():
                setattr(self, k, v)


#: The settings.
config = _Section("")
