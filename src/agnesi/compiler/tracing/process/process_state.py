"""State of the process that code reads through libraries: contexts, filters, folders, the clock.

Whether code reads such state is seen in the module and the names that it has.  An answer that
stays as a rule is a source, which is read again before each call; what has another answer in each
call lets the function run eagerly.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType, ModuleType, UnionType
from typing import Any, NamedTuple

from agnesi.compiler.tracing.containers.contents import Answer, Printing
from agnesi.compiler.tracing.obstacles import OnlyEagerError
from agnesi.compiler.tracing.sources import Source
from agnesi.core.support.config import STATE
from agnesi.core.support.exports import module_of
from agnesi.core.support.foreign import imported


class Question(NamedTuple):
    """A query about the process that code makes by using certain names of a module; without names,
    by any use of it.
    """

    what: str
    names: frozenset[str] = frozenset()
    #: The answer, for the module; None where each call has another one.
    ask: Any = None

    def applies_to(self, names: frozenset[str]) -> bool:
        """Return whether code that uses these names makes this query."""
        return not self.names or not self.names.isdisjoint(names)


def context_of(module: Any) -> tuple[Any, ...]:
    """Return the settings of the current ``decimal`` context that affect results."""
    found = module.getcontext()
    return (*[getattr(found, part) for part in _PARTS], tuple(found.traps.items()))


_PARTS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _asks(what: str, names: str, ask: Callable[[Any], tuple[Any, ...]] | None = None) -> Question:
    return Question(what, frozenset(names.split()), ask)


def _recording(module: Any) -> tuple[Any, ...]:
    return STATE.recording,


class _Recording(Answer):
    """A guard on whether gradients are recorded; each call checks that itself."""

    __slots__ = ()

    def condition(self, name: Callable[[Any], str]) -> str:
        return ""


class _Decimals(Answer):
    """A guard on the current context of the module ``decimal``."""

    __slots__ = ()

    def condition(self, name: Callable[[Any], str]) -> str:
        module: Any = sys.modules["decimal"]
        held, otherwise = module.getcontext().copy(), super().condition(name)
        if not self.holds():
            return otherwise
        found, current = f"{name(None)}_", f"{name(module.getcontext)}()"
        parts = [f"{found}.{part} == {name(getattr(held, part))}" for part in _PARTS]
        parts.append(f"{found}.traps == {name(held)}.traps")  # which are in the context
        parts[0] = parts[0].replace(found, f"({found} := {current})", 1)
        return f"({' and '.join(parts)} or {otherwise})"


_KINDS = {_recording: _Recording, context_of: _Decimals}
_FILES = _asks("asks the file system", """
    exists lexists is_file is_dir isfile isdir islink stat lstat getsize getmtime listdir scandir
    walk iterdir glob rglob iglob read_text read_bytes write_text write_bytes access""")
_QUESTIONS: dict[str, tuple[Question, ...]] = {
    "agnesi": (_asks("whether gradients are recorded", "is_grad_enabled", _recording),),
    "datetime": (_asks("reads the clock", "now today utcnow"),),
    "decimal": (_asks("the context of decimal", "", context_of),),
    "gc": (_asks("asks the garbage collector", """isenabled get_count get_objects
        get_referrers enable disable collect freeze unfreeze set_threshold"""),),
    "glob": (_FILES,),
    "importlib": (_asks("imports by a text", "import_module reload"),),
    "inspect": (_asks("looks at its callers", "stack currentframe"),
                _asks("asks objects past their classes", "getattr_static getmembers_static")),
    "locale": (_asks("the locale", "", lambda m: (m.setlocale(m.LC_ALL),)),),
    "numpy": (_asks("opens files", "loadtxt genfromtxt fromregex savetxt"),
              _asks("NumPy's treatment of errors", "geterr", lambda m: tuple(m.geterr().items())),
              _asks("NumPy's options of printing", "get_printoptions array2string array_repr",
                    lambda m: (repr(m.get_printoptions()),))),
    "os": (_FILES, _asks("the current folder", "getcwd", lambda m: (m.getcwd(),)),
           _asks("draws random bytes", "urandom getrandom")),
    "pathlib": (_FILES, _asks("the current folder", "cwd", lambda m: (str(m.Path.cwd()),))),
    "pprint": (_asks("prints", "pprint pp"),),
    "secrets": (_asks("draws random numbers", ""),),
    "sys": (_asks("looks at its callers", "_getframe"),
            _asks("looks up modules by texts", "modules"),
            _asks("Python's limit of recursion", "getrecursionlimit",
                  lambda m: (m.getrecursionlimit(),)),
            _asks("Python's interval of threads", "getswitchinterval",
                  lambda m: (m.getswitchinterval(),))),
    "threading": (_asks("the thread", "current_thread get_ident get_native_id",
                        lambda m: (m.current_thread(), m.current_thread().name)),
                  _asks("the number of threads", "active_count", lambda m: (m.active_count(),))),
    "traceback": (_asks("prints", "print_exc print_exception print_last print_stack print_tb"),),
    "uuid": (_asks("draws random numbers", "uuid1 uuid4"),),
    "warnings": (_asks("the filters of warnings", "warn warn_explicit filters",
                       lambda m: tuple(m.filters)),),
}
_ALL_NAMES = frozenset().union(*(q.names for some in _QUESTIONS.values() for q in some))
#: Internal modules, by the public one that documents them.
_ALIASES = {"posix": "os", "nt": "os", "genericpath": "os", "posixpath": "os", "ntpath": "os",
            "_decimal": "decimal", "_locale": "locale", "pathlib._local": "pathlib"}
#: Readings of the clock, and log records: where the module is a global name, calls of it are seen
#: (``numbers.py``).
_BY_LOCAL_NAMES = {
    "time": _asks("reads the clock", """time time_ns perf_counter perf_counter_ns monotonic
        monotonic_ns process_time process_time_ns localtime gmtime ctime strftime"""),
    "warnings": _asks("warns", "warn warn_explicit")}
#: Modules whose numbers and words do not change.
_CONSTANT = frozenset(("agnesi", "math", "numpy", "scipy"))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), tuple, list, dict, set)


def home(value: Any) -> ModuleType | None:
    """Return the module that defines a function or class, or an object's class, by its public name.
    """
    is_owner = isinstance(value, (type, FunctionType, BuiltinFunctionType))
    name = module_of(value if is_owner else type(value))
    return sys.modules.get(_ALIASES.get(name, name))


def answers(module: Any, names: frozenset[str], local: bool = False
            ) -> Iterator[tuple[Any, Callable[[], Source]]]:
    """Yield a key and a factory of the source for each query about the process that code makes by
    using ``names`` of a module.

    ``local``: none of these names is a global of the code's own module.

    :raises OnlyEagerError: If the answer differs in each call.
    """
    name = getattr(module, "__name__", "")
    name = _ALIASES.get(name, name)
    found = [q for q in _QUESTIONS.get(name, ()) if q.applies_to(names)]
    if local and name in _BY_LOCAL_NAMES and _BY_LOCAL_NAMES[name].applies_to(names):
        found.append(_BY_LOCAL_NAMES[name])
    for question in found:
        if question.ask is None:
            raise OnlyEagerError(f"it {question.what}")
        ask = functools.partial(question.ask, module)
        kind = _KINDS.get(question.ask, Answer)
        yield (name, question.what), functools.partial(kind, question.what, ask, tuple)


def answers_of(value: Any, names: AbstractSet[str]) -> Iterator[tuple[Any, Callable[[], Source]]]:
    """Yield the same for a value: for a function by its own name, for other values by the names
    that their class has; see :func:`answers`.
    """
    module = home(value)
    if getattr(module, "__name__", "") not in _QUESTIONS:  # of nearly all objects, in each trace
        return iter(())
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        return answers(module, frozenset((value.__name__,)))
    kind = value if isinstance(value, type) else type(value)
    return answers(module, frozenset(n for n in _ALL_NAMES & names if hasattr(kind, n)))


def printing() -> Iterator[tuple[Any, Callable[[], Source]]]:
    """Yield the key and factory of the guard on NumPy's print options."""
    table = imported("numpy._core.printoptions")
    variable = getattr(table, "format_options", None)
    what = "NumPy's options of printing"
    if isinstance(variable, ContextVar):
        yield ("numpy", what), functools.partial(Printing, what, variable)
    else:
        yield ("numpy", what), functools.partial(
            Answer, what, lambda: (repr(sys.modules["numpy"].get_printoptions()),), tuple)


def is_plain(module: Any, value: Any) -> bool:
    """Return whether an attribute of a library's module is a number, text or container that may
    change.
    """
    return type(value) in _PLAIN and module.__name__.partition(".")[0] not in _CONSTANT


class State(Answer):
    """The state of an object of a library's class, which tracing must not change."""

    __slots__ = ("restore",)

    def __init__(self, path: str, value: Any, ask: Callable[[Any], Any],
                 restore: Callable[[Any, Any], Any]) -> None:
        self.restore = functools.partial(restore, value)
        super().__init__(path, lambda: (ask(value),), tuple)

    def restored(self) -> bool:
        """Restore the state; return whether it had changed."""
        if self.holds():
            return False
        self.restore(*self.value)
        return True




def _settings(log: Any) -> tuple[Any, ...]:
    """Return the settings by which a logger decides whether a record is handled, and by whom."""
    log = getattr(log, "logger", log)  # of an adapter
    return (log.level, log.disabled, log.propagate, log.manager.disable, log.getEffectiveLevel(),
            *log.handlers, None, *log.filters)


def _set_again(log: Any, before: tuple[Any, ...]) -> None:
    log = getattr(log, "logger", log)
    level, log.disabled, log.propagate, log.manager.disable, _, *lists = before
    log.setLevel(level)
    end = lists.index(None)
    log.handlers[:], log.filters[:] = lists[:end], lists[end + 1:]


_LEVELS = _settings, _set_again
_COUNT = lambda s: s._value, lambda s, count: setattr(s, "_value", count)
#: How to read the state of objects of libraries, and to restore it, by their classes.
_STATES: dict[tuple[str, str], tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    ("threading", "Event"): (lambda e: e.is_set(), lambda e, was: e.set() if was else e.clear()),
    ("_thread", "lock"): (lambda lock: lock.locked(),
                          lambda lock, was: lock.acquire(False) if was else lock.release()),
    ("threading", "Semaphore"): _COUNT, ("threading", "BoundedSemaphore"): _COUNT}


def state_of(value: Any, path: str) -> Callable[[], State] | None:
    """Return the factory of the guard on the state of a library's object, or of the object of a
    bound method; None if it has none.
    """
    value = value.__self__ if isinstance(value, BuiltinFunctionType) else value
    kind = module_of(type(value)), type(value).__name__
    is_log = kind[0] == "logging" and hasattr(value, "getEffectiveLevel")
    how = _LEVELS if is_log else _STATES.get(kind)
    return None if how is None else functools.partial(State, path, value, *how)


def refuse_states(sources: Iterable[Source]) -> None:
    """Restore all states; raise OnlyEagerError if any had changed, because the eager run must
    change it.
    """
    changed = [p.path for p in sources if isinstance(p, State) and p.restored()]
    if changed:
        raise OnlyEagerError(f"it changes {changed[0]}", "Change that outside")


def kinships(kind: type, kinds: Any) -> Iterator[tuple[Any, Callable[[], Source]]]:
    """Yield a key and a factory of a guard for each abstract class among ``kinds`` with which
    ``kind`` may be registered.
    """
    stack = [kinds]
    while stack:
        other = stack.pop()
        if isinstance(other, (tuple, UnionType)):
            stack += other if isinstance(other, tuple) else other.__args__
        elif isinstance(other, type) and type(other) is not type and isinstance(
                getattr(type(other), "__instancecheck__", None), FunctionType):
            what = f"whether {kind.__name__} is a {other.__name__}"
            yield (kind, other), functools.partial(
                Answer, what, functools.partial(_is_kin, kind, other), tuple)


def _is_kin(kind: type, other: Any) -> tuple[bool | None]:
    """Return whether a class is a subclass of another; None if the query raises."""
    try:
        return issubclass(kind, other),
    except TypeError:
        return None,
