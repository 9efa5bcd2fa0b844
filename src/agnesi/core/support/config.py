"""Every setting of the library, typed, with its environment variable; the only reader of them."""

from __future__ import annotations

import os
import reprlib
import sys
import weakref
from collections.abc import Callable
from contextlib import ContextDecorator, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar

import numpy as np

from agnesi.core.support.errors import at
from agnesi.core.support.forks import Lock
from agnesi.core.support.settings import CHOICES as CHOICES
from agnesi.core.support.settings import checked, initial, instead
from agnesi.core.support.undo import Block


def cache_home() -> str:
    """The folder of caches by XDG_CACHE_HOME; empty where it is unset, or no full path."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return home if os.path.isabs(home) else ""


def settings_of(library: str) -> tuple[str, str]:
    """Flags and files of settings of another library: ``THEANO_FLAGS``, ``THEANORC``."""
    files = os.environ.get(f"{library}RC", f"~/.{library.lower()}rc")
    return os.environ.get(f"{library}_FLAGS", ""), files


class Hooks:
    """Hooks by which the compiler serves operations, which are below it; see ``compiler/eager.py``.
    """

    #: Runs an operation on arrays as compiled code, or gives None: ``run(op, arrays, work)``.
    run: Callable[..., np.ndarray | None] = staticmethod(lambda op, arrays, work: None)
    #: The same of a pointwise operation on arrays of one shape.
    each: Callable[..., np.ndarray | None] = staticmethod(lambda op, arrays, work, few=0: None)
    #: Compiled code of an operation, to be called with arrays.
    native: Callable[..., Callable[..., np.ndarray]] | None = None
    #: What stands for Python's float in a traced function, given a tensor that has its value.
    traced_number: Callable[[Any], Any] = staticmethod(lambda x: x)
    #: Whether there is a compiler.
    compiles: Callable[[], bool] = staticmethod(lambda: False)
    #: A function whose calls ``(args, keywords)`` are compiled where that pays, or at the first one
    #: where the second argument says that they are wanted so.
    regions: Callable[..., Callable[..., Any]] = staticmethod(
        lambda function, wanted=False: lambda args, keywords: function(*args, **keywords))
    #: Whether other processes wait for operations of this one, in the order of the program.
    in_order = False
    #: The cotangents of a backward pass over eager records from compiled code, or None:
    #: ``taped(order, seeds, wrt)``.
    taped: Callable[..., dict[Any, Any] | None] = staticmethod(lambda order, seeds, wrt: None)
    #: The tensor of an eager operation's result: ``finished(array, op, operands)``.
    finished: Callable[..., Any] = staticmethod(lambda data, op, xs: None)
    #: Shared tensors of Python numbers, by dtype and number (``ops.base.convert.constant``).
    constants: ClassVar[dict[Any, Any]] = {}  # native code looks into it
    #: The result of a row (``ops.base.elementwise.ready``) on eager operands, or NotImplemented:
    #: ``mapped(row, *operands)``.
    mapped: Callable[..., Any] = staticmethod(lambda *call: NotImplemented)
    #: A tensor once a row's result is in its memory, or NotImplemented:
    #: ``written(row, x, *operands)`` (``api.tensor.inplace``).
    written: Callable[..., Any] = staticmethod(lambda *call: NotImplemented)
    #: The result of a public function's call by its plan, or NotImplemented:
    #: ``replayed(plans, args, keywords)``.
    replayed: Callable[..., Any] = staticmethod(lambda *call: NotImplemented)
    #: Load the native versions of ``finished``, ``mapped``, ``written`` and ``replayed``.
    hasten: Callable[[], None] = staticmethod(lambda: None)
    #: The operations that a public function applies to its operands, as a
    #: ``core.calls.plans.Plan``, or None: ``plan(function, args, keywords, operands)``.
    plan: Callable[..., Any] = staticmethod(lambda *call: None)
    #: A compiled region instead of a plan that was wanted often, or the plan:
    #: ``compiled_plan(plan, function, args, keywords, operands)``.
    compiled_plan: Callable[..., Any] = staticmethod(lambda plan, *call: plan)
    #: Restarts counts of how often eager work is wanted; ``recounts`` is how often that was done.
    recount: Callable[[], None] = staticmethod(lambda: None)
    recounts = 0
    #: An array's values in order or their indices, or None: ``sort(x, axis, descending,
    #: positions)``, and of values the first and the last index that are wanted.
    sort: Callable[..., np.ndarray | None] = staticmethod(lambda *args: None)
    #: The result of an operation on the device of its operands: ``execute(op, xs)``.
    execute: Callable[..., Any] = staticmethod(lambda op, xs: None)
    #: A condition that is looked at once the effects before it in the trace are done.
    behind_effects: Callable[[Any], Any] = staticmethod(lambda condition: condition)
    #: A value once a condition holds, or its sizes are those wanted, else an error (``ops.base``).
    ensured: Callable[..., Any] = staticmethod(lambda name, x, condition, message: x)
    ensured_sizes: Callable[..., Any] = staticmethod(lambda name, x, *sizes: x)
    #: The operands of an operation, with Python numbers among them as tensors where it takes those.
    strong: Callable[[Any, Any], Any] = staticmethod(lambda op, xs: xs)
    #: Results of a call that failed for unknown sizes: ``deferred(function, args, keywords)``.
    deferred: Callable[..., Any] = staticmethod(lambda function, args, keywords: NotImplemented)
    #: The state of a stream for a symbolic program, which begins with numbers of a generator.
    stream: Callable[[Any], Any] = staticmethod(lambda generator: generator.state)
    #: The size that an integer scalar of a program stands for: ``size(tensor, name)``.
    size: Callable[[Any, str], Any] = staticmethod(lambda x, name: x)
    #: Positions under a mask of which there are as many as each step of a body finds.
    positions: Callable[[Any], Any] = staticmethod(lambda mask: None)
    #: Elements of an axis, each as often as a vector says, which each step computes:
    #: ``repeated(x, counts, axis)``.
    repeated: Callable[..., Any] = staticmethod(lambda x, counts, axis: None)
    #: The product of factors of which such elements are rows, columns, or summed over, or None.
    unsized_product: Callable[[Any, Any], Any] = staticmethod(lambda a, b: None)
    #: ``unsized_item(x, key)``: such elements indexed by a key, or None if they cannot be.
    unsized_item: Callable[[Any, Any], Any] = staticmethod(lambda x, key: None)
    #: Tensors of one shape along a new first axis: ``stack(parts)``.
    stack: Callable[[Any], Any] = staticmethod(lambda parts: None)
    #: A tensor of the usual dtype: of data, or of sizes, as PyTorch's class makes one.
    tensor: Callable[..., Any] = staticmethod(lambda *data: None)
    #: The methods of functions of two operands, such as ``reduce``, by their names.
    folds: Callable[[], dict[str, Callable[..., Any]]] = staticmethod(dict)
    #: Calls in PyTorch's words that give what PyTorch gives, by the names of functions.
    foreign_forms: Callable[[], dict[str, Callable[..., Any]]] = staticmethod(dict)
    #: Stable forms of results by what they were: ``stable(roots, ends, since, exclude)``.
    stable: Callable[..., dict[Any, Any]] = staticmethod(lambda roots, ends, since, exclude: {})
    #: Called with the most threads that compiled code may use from now on, 0 for all cores.
    threads: Callable[[int], None] = staticmethod(lambda most: None)
    #: A block that no compiled call begins which uses an array's memory: ``lock(array)``.
    lock: Callable[[Any], Any] = nullcontext
    #: What gives gradients of a declared expression: ``gradients(y)(wrt)``; None for all else.
    gradients: Callable[[Any], Any] = staticmethod(lambda y: None)


HOOKS = Hooks()


#: Held while settings of all threads are counted, and what follows from them is written down.
_PUBLISHING = Lock()


class Config:
    """Settings of the library; attributes can be set for all, or for a ``with`` block.

    What is assigned to an attribute goes for all threads and tasks.  A block, ``with
    ag.config(...)``, goes for the thread or ``asyncio`` task that enters it, and for tasks that are
    made in it, but not for threads that are started in it.  Within a block, an assignment changes
    what the block set, and its end undoes both.

    :ivar default_float: (str) dtype of Python floats and of creation functions ("float32"; also
        "float16", "float64").
    :ivar symbolic_float: (str) dtype of symbolic variables that name none, as in ``T.matrix()``
        ("float64", as in Theano).
    :ivar optimizer: (str) Rewrite preset of compiled functions: "fast_run", "fast_compile" or
        "None".
    :ivar algebra: (str) What rewrite rules of ``ag.jit`` take for granted: "exact" keeps NaN,
        infinities and signs of zero as the Python computes them, but where a result nearer to the
        exact one exists; "real" simplifies as with real numbers, so that ``x / x`` is 1.
    :ivar save_dtype: (str) Type in which compiled functions keep large values that are idle while
        memory is short: activations, mostly, between forward and backward pass.  "float16" halves
        that memory and rounds gradients; values above 65504 overflow.  "" keeps them as they are.
    :ivar compile: (bool) False runs functions of ``ag.jit`` as the Python that they are, where
        ``print`` and a debugger see values, and those of ``ag.function`` on the NumPy interpreter.
    :ivar verify: (bool) True checks the program after each pass of the scheduler, and that it
        computes little twice: for tests of the compiler, which take some longer then.
    :ivar cache, cache_dir: (bool, str) Use of the compile cache on disk, and its folder, with ``~``
        for the home folder ("" means ``agnesi`` in XDG_CACHE_HOME or the platform's folder of
        caches).  The code in it runs as your own, so a folder or file that others may write is not
        read: ``python -m agnesi cache show`` shows it.
    :ivar conv_algorithm: (str) How convolutions are computed: "auto", "implicit_gemm", "direct",
        "unfold", "fft", "reference", or a policy: "guess_once", "guess_on_shape_change",
        "time_once", "time_on_shape_change" (see :func:`agnesi.conv2d`).
    :ivar conv_forward, conv_input, conv_weight: (str) The same for the convolution itself and for
        its gradients alone.
    :ivar conv_exclude: (str) Names of algorithms, with commas between them, that are not used.
    :ivar lapack: (str) Where linear algebra finds BLAS and LAPACK: "" is the library that NumPy has
        loaded, a file another one, "none" none (see ``agnesi.linalg.backend``).
    :ivar target: (str) What functions that are compiled from now on are made for: "native", the
        processor with its vectors and threads, or "scalar", the same with one lane and one thread,
        and loops instead of tiles: many times slower, a reference when compiled results are in
        doubt.
    :ivar seed: (int or None) Where the default generator of random numbers begins, if it is set
        before the first draw; None takes the system's entropy.
    :ivar threads: (int) The most threads that compiled code uses, from the next call on; 0 means as
        many as there are cores, which is the most it can name.  ``ag.set_num_threads`` may request
        more.  The threads are the process's: blocks in several threads bound them for all, the last
        one does.

    >>> import agnesi as ag
    >>> with ag.config(default_float="float64"):
    ...     print(ag.ones(2).dtype)
    float64
    """

    # Slots, because native code compares what they hold.
    __slots__ = ("__dict__", "_compiles", "_float_dtype")

    _compiles: bool | None  # None while a block somewhere says something else
    _float_dtype: np.dtype | None

    def __init__(self) -> None:
        values = initial(os.environ)
        self.__dict__["_values"] = values
        self.__dict__["_blocks"] = {}
        #: Settings of blocks that are over, which contexts may have that were copied in them.
        self.__dict__["_copied"] = {}
        self._publish()

    @property
    def compiles(self) -> bool:
        """Whether functions are compiled."""
        known = self._compiles
        return bool(self.compile) if known is None else known

    @property
    def float_dtype(self) -> np.dtype:
        """The dtype of floats without one: that of ``symbolic_float`` in symbolic programs, else
        that of ``default_float``."""
        mode = MODE.get()
        if mode.symbolic and (mode.trace is None or not mode.trace.of_values):
            return np.dtype(self.symbolic_float)
        known = self._float_dtype
        return np.dtype(self.default_float) if known is None else known

    def __getattr__(self, name: str) -> Any:
        here = _HERE.get()
        if here is not None and name in here:
            return here[name]
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"config has no setting {name!r}; {instead(name)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        value = checked(name, value)
        here = _HERE.get()
        if here is not None and name in here:  # the end of the block undoes it
            here[name] = value
        else:
            self.__dict__["_values"][name] = value
        self._publish(name)

    def _publish(self, *changed: str) -> None:
        """Cache the float dtype and whether functions are compiled, if all threads and tasks agree;
        pass on the number of threads.
        """
        with _PUBLISHING.lock:  # what one has counted does not hold when another has published
            copied = [ref() for ref in list(self._copied.values())]
            blocks = [b for b in (*self._blocks.values(), *copied) if b is not None]
            values = self._values
            floats = {values["default_float"], *(b.get("default_float") for b in blocks)} - {None}
            compiling = {bool(b["compile"]) for b in (values, *blocks) if "compile" in b}
            super().__setattr__("_float_dtype", np.dtype(*floats) if len(floats) == 1 else None)
            super().__setattr__("_compiles", compiling.pop() if len(compiling) == 1 else None)
        if "threads" in changed:
            threads = [b["threads"] for b in list(self._blocks.values()) if "threads" in b]
            HOOKS.threads((threads or [values["threads"]])[-1])

    def _leave(self, values: _Values) -> None:
        """End a block; tasks that were created in it keep its settings."""
        def gone(_: Any, key: int = id(values)) -> None:
            self._copied.pop(key, None)
            self._publish()

        self._copied[id(values)] = weakref.ref(values, gone)

    def __call__(self, *words: Any, **settings: Any) -> Settings:
        """Change settings for the length of a ``with`` block, in this thread or task."""
        if words:
            raise TypeError(at(f"config takes names as in threads=4, not {reprlib.repr(words[0])}"))
        return Settings(**settings)

    def __dir__(self) -> list[str]:
        return sorted(self._values)

    def __repr__(self) -> str:
        return "config(" + ", ".join(f"{k}={getattr(self, k)!r}" for k in self._values) + ")"

    def __reduce__(self) -> str:
        return "config"  # copies and pickles are the one object


class _Values(dict[str, Any]):
    """Settings of a block, with those of the blocks around it."""

    __slots__ = ("__weakref__",)


#: Settings changed by ``with`` blocks in this thread or task; inner blocks override outer ones.
_HERE: ContextVar[_Values | None] = ContextVar("agnesi settings", default=None)


#: References to what an attribute alone holds, with the one that counting takes.
_OWN_REFERENCES = 2


class Settings(Block, ContextDecorator):
    """A ``with`` block, or a function, with other settings in this thread or task."""

    _mine: _Values | None = None

    def __init__(self, **settings: Any) -> None:
        self._settings = {name: checked(name, value) for name, value in settings.items()}
        self._before: _Values | None = None

    def _recreate_cm(self) -> Settings:
        return Settings(**self._settings)

    def begin(self) -> Config:
        self._before = _HERE.get()
        self._mine = _Values({**(self._before or {}), **self._settings})
        config._blocks[id(self)] = self._mine
        _HERE.set(self._mine)
        config._publish(*self._settings)
        return config

    def end(self) -> None:
        if self._mine is not None:
            if _HERE.get() is self._mine:
                _HERE.set(self._before)
            config._blocks.pop(id(self), None)
            if sys.getrefcount(self._mine) > _OWN_REFERENCES:
                config._leave(self._mine)
            config._publish(*self._settings)
            self._mine = None


config = Config()


class Mode:
    """The state of a thread or task: recording for gradients, and the trace that runs, if any.

    It never changes: tasks begin with that of who made them, and :class:`switched` sets another.
    """

    __slots__ = (
        "around", "autocast", "examples", "fixed", "line", "placing", "reads", "recording", "ruled",
        "symbolic", "trace", "watch",
    )

    def __init__(self) -> None:
        #: The mode of the enclosing block.
        self.around: Mode | None = None
        self.recording = True
        #: The dtype of ``amp.autocast``, which some functions compute in; None outside of it.
        self.autocast: np.dtype | None = None
        self.trace: Any = None
        #: What takes down which attributes the traced function reads, if it is traced for ``jit``.
        self.reads: Any = None
        #: The innermost function that is evaluated on one example for many (``autodiff/vmap.py``).
        self.examples: Any = None
        #: Whether tensors never change in place: ``x += 1`` makes a new one, as of an expression.
        self.fixed = False
        #: Whether nodes take down the user's line; rewriting gives new ones that of the old.
        self.placing = True
        #: The user's line for all nodes of a block, where that is known before they are made.
        self.line: Any = None
        #: Functions whose forward rule, given by the user, runs now.
        self.ruled: tuple[Any, ...] = ()
        #: Whether what runs writes down a symbolic program, whose floats are ``symbolic_float``;
        #: None if no program is being written, False if symbols stand for concrete values.
        self.symbolic: bool | str | None = None
        #: Called with tensors right before they are changed in place, for traces.
        self.watch: Any = None

    def copy(self) -> Mode:
        """Return a copy, to be changed before it is set."""
        new = _new(Mode)
        new.around = self
        new.recording = self.recording
        new.autocast = self.autocast
        new.trace = self.trace
        new.reads = self.reads
        new.examples = self.examples
        new.fixed = self.fixed
        new.placing = self.placing
        new.line = self.line
        new.ruled = self.ruled
        new.symbolic = self.symbolic
        new.watch = self.watch
        return new

    def is_within(self, other: Mode) -> bool:
        """Return whether this mode is ``other``, or was set by a ``with`` block inside of
        ``other``'s."""
        mode: Mode | None = self
        while mode is not None and mode is not other:
            mode = mode.around
        return mode is other


_new = Mode.__new__
_FIRST = Mode()
#: The mode of this thread or task; to be read by ``MODE.get()`` where every nanosecond counts.
MODE: ContextVar[Mode] = ContextVar("agnesi mode", default=_FIRST)
MODE.set(_FIRST)  # what is set is found sooner than a default


class State:
    """The fields of the present mode."""

    recording = property(lambda self: MODE.get().recording)
    autocast = property(lambda self: MODE.get().autocast)
    trace = property(lambda self: MODE.get().trace)
    reads = property(lambda self: MODE.get().reads)
    examples = property(lambda self: MODE.get().examples)
    fixed = property(lambda self: MODE.get().fixed)
    placing = property(lambda self: MODE.get().placing)
    line = property(lambda self: MODE.get().line)
    ruled = property(lambda self: MODE.get().ruled)
    symbolic = property(lambda self: MODE.get().symbolic)
    watch = property(lambda self: MODE.get().watch)


STATE: Any = State()


class Switch:
    """A context that sets fields of the mode; it may be nested and entered again.

    If an interrupt strikes while the mode is restored, that is repeated when the object is deleted.
    """

    __slots__ = ("_stack",)

    changes: Any  # names of fields and their values within
    #: The mode within a block that is in no other one, where it is always the same.
    first: Mode | None = None
    _stack: Any  # modes before and within, and the same of the block around

    def __enter__(self) -> None:
        before = MODE.get()
        new = self.first
        if new is None or before is not _FIRST:
            new = before.copy()
            for name, value in self.changes.items():
                setattr(new, name, value)
        self._stack = before, new, self._stack
        try:
            MODE.set(new)
        except BaseException:
            self._leave()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        before, mine, around = self._stack
        if MODE.get() is mine:
            MODE.set(before)
            self._stack = around
        else:
            self._leave()

    def undo(self) -> None:
        """End the block, if it is entered."""
        if self._stack is not None:
            self._leave()

    def _leave(self) -> None:
        before, mine, around = self._stack
        now = MODE.get()
        if not now.is_within(mine):  # the block around this one is over, as in a generator
            now = now.copy()
            now.around = None
            for name in self.changes:
                setattr(now, name, getattr(before, name))
            before = now
        MODE.set(before)
        self._stack = around

    def __del__(self) -> None:
        if getattr(self, "_stack", None) is not None:  # __init__ may have been interrupted, too
            before, mine, self._stack = self._stack
            if MODE.get().is_within(mine):
                MODE.set(before)


#: How code of users names the environment.
ENVIRONMENT_NAMES = frozenset(("environ", "getenv"))


def environment() -> dict[Any, Any]:
    """The dict in which Python keeps the variables of the process."""
    found: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]
    return found


def shows_environment(value: Any) -> bool:
    """Return whether an object is the mapping by which Python reads and changes these variables."""
    return value is os.environ


def inherited(**changes: str) -> dict[str, str]:
    """A copy of the variables that the process began with, for one that it starts."""
    return {**os.environ, **changes}


def bequeath(name: str, value: str) -> None:
    """Set an environment variable that processes started from here inherit."""
    os.environ[name] = value


def first_mode(**changes: Any) -> Mode:
    """Return the mode of an outermost block with these changes."""
    mode = _FIRST.copy()
    for name, value in changes.items():
        setattr(mode, name, value)
    return mode


def settled(recording: bool) -> Mode:
    """Return the present mode with another ``recording``, without setting it."""
    mode = MODE.get()
    if mode is _FIRST:
        return mode if recording else _SILENT
    new = mode.copy()
    new.around, new.recording = mode.around, recording
    plain = all(getattr(new, name) is getattr(_FIRST, name) for name in Mode.__slots__)
    return _FIRST if plain else new


#: The first mode without recording.
_SILENT = first_mode(recording=False)
_SILENT.around = None


class switched(Switch):  # noqa: N801 - used as a function
    """Set fields of the mode for a ``with`` block."""

    __slots__ = ("changes",)

    def __init__(self, **changes: Any) -> None:
        self._stack = None
        self.changes = changes


class Count:
    """Counts the blocks of a kind that are entered in all threads, each once."""

    __slots__ = ("_present", "running")

    def __init__(self) -> None:
        self.running = 0
        self._present: dict[int, bool] = {}

    def add(self, block: object) -> None:
        """Count a block."""
        self._present[id(block)] = True
        self.running = len(self._present)

    def remove(self, block: object) -> None:
        """Stop counting a block, if it was counted."""
        self._present.pop(id(block), None)
        self.running = len(self._present)


#: Runs that want to see every operation or change: traces for functions, and checkpoints.  Compiled
#: functions go the slow way while there are any.
WITNESSES = Count()
#: Traces.  While there are none, operations need not look for that of their thread.
TRACES = Count()


class witnessed(Block):  # noqa: N801 - used as a function
    """A context in which every operation or change is observed."""

    def begin(self) -> None:
        WITNESSES.add(self)

    def end(self) -> None:
        WITNESSES.remove(self)


class traced(switched):  # noqa: N801 - used as a function
    """A ``with`` block whose operations are recorded in a trace; nothing else sets
    ``mode.trace``."""

    __slots__ = ()

    def __init__(self, trace: Any, **changes: Any) -> None:
        super().__init__(trace=trace, **changes)

    def __enter__(self) -> None:
        TRACES.add(self)
        super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        TRACES.remove(self)

    def __del__(self) -> None:
        super().__del__()
        TRACES.remove(self)
