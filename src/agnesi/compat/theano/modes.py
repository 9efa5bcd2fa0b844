"""Modes of functions: how much is rewritten, and what is looked at while a function runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from agnesi.compat.theano.config import config as settings
from agnesi.compat.theano.types import applied
from agnesi.compiler.compilation.compiled import Settings, check_rules
from agnesi.core.interpret import watched
from agnesi.core.op import Item, name_at, typed
from agnesi.core.support.config import config
from agnesi.core.support.errors import at

#: Above this, values are too big for ``NanGuardMode``.
_LARGEST_MAGNITUDE = 1e10


#: Theano's names of groups of rules that are passes here.
_OURS = {"inplace": ("write_in_place", "update_in_place"), "inplace_opt": (
    "write_in_place", "update_in_place"), "local_elemwise_fusion": ("fusion",)}
#: Names of optimizers that do less, and ours.
_PRESETS = {"none": "None", "fast_compile": "fast_compile", "fast_compile_fast": "fast_compile"}


class Mode:
    """How a function is compiled: by the optimizer's name; the linker is always LLVM."""

    def __init__(self, linker: Any = None, optimizer: Any = "default") -> None:
        self.linker, self.optimizer = linker, optimizer
        self._tags: dict[str, tuple[str, ...]] = {"include": (), "exclude": ()}

    def including(self, *tags: str) -> Mode:
        """A mode with which rules of these names, tags or stages run, too (``"unsafe"``)."""
        return self._with("include", tags)

    def excluding(self, *tags: str) -> Mode:
        """A mode with which rules of these names, tags or stages, and passes, do not run."""
        return self._with("exclude", tags)

    register = including

    def _with(self, kind: str, tags: tuple[str, ...]) -> Mode:
        made = copy(self)
        made._tags = {**self._tags, kind: self._tags[kind] + tags}
        return made

    def choices(self) -> dict[str, list[str]]:
        """What to include and exclude, as agnesi's functions take it: flags' tags are among them,
        Theano's other names are passed over, as Theano does."""
        chosen = {kind: [*tags, *str(getattr(settings, f"optimizer_{kind[:-1]}ing") or "").split(
            ":")] for kind, tags in self._tags.items()}
        return {kind: [t for name in names for t in _OURS.get(name, (name,)) if _known(kind, t)]
                for kind, names in chosen.items() if any(names)}

    @property
    def preset(self) -> dict[str, str]:
        """The optimizer, as agnesi's functions take it, where it is not the usual one."""
        name = settings.optimizer if self.optimizer == "default" else self.optimizer
        found = _PRESETS.get(str(name).lower())
        return {} if found is None else {"optimizer": found}

    def around(self, compiled: Any, reference: Callable[[], Any]) -> Any:
        """What a function calls: compiled code, or what watches it.

        :param compiled: Of agnesi's.
        :type compiled: Function
        :param reference: Makes a function of the results and new values, as they are written, that
            updates none.
        """
        return compiled


def _known(kind: str, name: str) -> bool:
    """Whether a function can include or exclude something of this name."""
    try:
        check_rules(Settings(include=[name]) if kind == "include" else Settings(exclude=[name]))
    except ValueError:
        return False
    return True


class _Watching(Mode):
    """A mode in which every operation's value is looked at, one by one, by NumPy."""

    def __init__(self, optimizer: Any = "default", linker: Any = None) -> None:
        super().__init__(linker, optimizer)

    def around(self, compiled: Any, reference: Callable[[], Any]) -> Any:
        def call(*args: Any, **keywords: Any) -> Any:
            with config(compile=False), watched(self.watcher(compiled)):
                return compiled(*args, **keywords)

        return Around(compiled, call)

    def watcher(self, compiled: Any) -> Callable[[Any, Any], None]:
        """What is called with each node and its value."""
        raise NotImplementedError


def _is_big(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = abs(x) > _LARGEST_MAGNITUDE
    return found


class NanGuardMode(_Watching):
    """Refuse NaN, infinities and big values of any operation, and name it.

    :param nan_is_error, inf_is_error, big_is_error: What is refused; where ``big_is_error``,
        magnitudes above 1e10.
    :type nan_is_error: bool, optional
    """

    def __init__(self, nan_is_error: bool = True, inf_is_error: bool = True,
                 big_is_error: bool = True, optimizer: Any = "default", linker: Any = None) -> None:
        super().__init__(optimizer, linker)
        self._refused = [(name, test) for name, test, asked in (
            ("NaN", np.isnan, nan_is_error), ("an infinity", np.isinf, inf_is_error),
            ("a big value", _is_big, big_is_error)) if asked]

    def watcher(self, compiled: Any) -> Callable[[Any, Any], None]:
        def watch(node: Any, value: Any) -> None:
            for part in value if isinstance(value, tuple) else (value,):
                array = np.asarray(part)
                if array.dtype.kind not in "fc":
                    continue
                for name, test in self._refused:
                    if test(array).any():
                        maker = node.name or "a constant" if node.op is None else (
                            f"{name_at(node.op.name, node.where)}"
                            f"({', '.join(map(typed, node.inputs))})")
                        raise AssertionError(at(f"{name} is a value of {maker}", node.where))

        return watch


class MonitorMode(_Watching):
    """Call functions before and behind each operation.

    :param pre_func, post_func: Called as ``f(i, node, fn)``, or with the graph in front if they
        take four: ``fn.inputs`` and ``fn.outputs`` hold a list with the value of each.
    :type pre_func: callable, optional
    """

    def __init__(self, pre_func: Any = None, post_func: Any = None, optimizer: Any = "default",
                 linker: Any = None) -> None:
        super().__init__(optimizer, linker)
        self.pre_func, self.post_func = pre_func, post_func

    def watcher(self, compiled: Any) -> Callable[[Any, Any], None]:
        known: dict[Any, Any] = {}
        count = 0

        def watch(node: Any, value: Any) -> None:
            nonlocal count
            known[node] = value
            if node.op is None or type(node.op) is Item:  # a result, which came with the others
                return
            apply_node = applied(node)
            results = value if node.op.outputs > 1 else (value,)
            fn = _Thunk([[known.get(n)] for n in node.inputs], [[v] for v in results])
            for f in (self.pre_func, self.post_func):
                if f is not None:
                    given = (count, apply_node, fn)
                    f(*((compiled.graph, *given) if _takes_four(f) else given))
            count += 1

        return watch


class _Thunk:
    """The values that an operation reads and gives."""

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.inputs, self.outputs = inputs, outputs


def _takes_four(f: Any) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds for p in inspect.signature(f).parameters.values()) > 3


class DebugModeError(Exception):
    """A function computes something else than what was written."""


class BadOptimization(DebugModeError):  # noqa: N818 - Theano's name
    """A result is not what the graph as written computes."""


class DebugMode(Mode):
    """Compare each result with that of the graph as written, computed by NumPy."""

    def __init__(self, optimizer: Any = "default", **ignored: Any) -> None:
        super().__init__(None, optimizer)

    def around(self, compiled: Any, reference: Callable[[], Any]) -> Any:
        plain, shared = reference()

        def call(*args: Any, **keywords: Any) -> Any:
            with config(compile=False):
                wanted = list(plain(*args, **keywords))
            found = compiled(*args, **keywords)
            values = [] if found is None else found if isinstance(found, tuple) else [found]
            self._compare([*values, *(s.get_value(borrow=True) for s in shared)], wanted)
            return found

        return Around(compiled, call)

    def _compare(self, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
            a, b = np.asarray(a), np.asarray(b)
            exact = a.dtype.kind not in "fc"
            close = 0.0 if exact else float(np.sqrt(np.finfo(a.dtype).eps))
            if a.shape != b.shape or not np.allclose(a, b, close, close, equal_nan=not exact):
                raise BadOptimization(f"result {i} of the function is {a}, and {b} where it is "
                                      "computed as it is written")


class Around:
    """A compiled function that is called by way of another one."""

    def __init__(self, compiled: Any, call: Callable[..., Any]) -> None:
        self._compiled, self._call = compiled, call

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._call(*args, **keywords)

    def __getitem__(self, key: Any) -> Any:
        return self._compiled[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._compiled[key] = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)


#: What names of modes stand for that look at values.
_NAMED = {"DEBUGMODE": DebugMode, "DEBUG_MODE": DebugMode, "NANGUARDMODE": NanGuardMode}


def mode_of(mode: Any) -> Mode:
    """The mode that a name stands for; where it is None, ``config.mode``."""
    mode = settings.mode if mode is None else mode
    if str(mode).upper() == "MODE":
        return Mode()
    if isinstance(mode, str):
        kind = _NAMED.get(mode.upper())
        return Mode(optimizer=mode) if kind is None else kind()
    return mode if isinstance(mode, Mode) else Mode()
